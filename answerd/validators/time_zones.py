"""The time zones that Linux knows, from the zone database of this system or the package tzdata."""

from __future__ import annotations

import functools
import importlib.resources
import pathlib
import zoneinfo
from collections.abc import Iterable
from typing import Any

from answerd.validators.verdict import Remarks


@functools.lru_cache(maxsize=1)
def known_zones() -> frozenset[str]:
    """Return all zones and aliases; empty where no database is installed. Read once: it walks the whole database."""
    return frozenset(zoneinfo.available_timezones())


@functools.lru_cache(maxsize=1)
def canonical_zones() -> frozenset[str]:
    """Return the zones of ``zone.tab``: without aliases (``US/Eastern``, ``Etc/UTC``). Empty where there is none."""
    tables: Iterable[Any] = [pathlib.Path(folder) / "zone.tab" for folder in zoneinfo.TZPATH]
    try:
        tables = [*tables, importlib.resources.files("tzdata") / "zoneinfo" / "zone.tab"]
    except ModuleNotFoundError:
        pass
    for table in tables:
        try:
            rows = table.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            continue
        return frozenset(row.split("\t")[2] for row in rows if row.count("\t") > 1 and not row.startswith("#"))
    return frozenset()


def unknown_zone(name: str, remarks: Remarks) -> str | None:
    """Return a sentence's end that says that a zone does not exist, with the nearest one if the remark is going to be
    listed; None where it exists."""
    zones = known_zones()
    if not zones or name in zones:
        return None
    return f"there is no such time zone{remarks.did_you_mean(name, zones)}"
