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
    """Return all zones and aliases; empty where no database is installed. Read once: it walks the whole database.

    The aliases are those of ``tzdata.zi`` too: from Debian 13 on, those like ``US/Eastern`` are in a package of their
    own (tzdata-legacy), and an installer may know what this system does not have.
    """
    zones = zoneinfo.available_timezones()
    return frozenset(zones | _links() if zones else zones)


def _links() -> set[str]:
    """Return the aliases in the source of the zone database, whose lines are ``L TARGET ALIAS``."""
    found: set[str] = set()
    for folder in zoneinfo.TZPATH:
        try:
            lines = (pathlib.Path(folder) / "tzdata.zi").read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            continue
        found.update(alias for line in lines if line.startswith("L ") for alias in line.split()[2:3])
    return found


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
