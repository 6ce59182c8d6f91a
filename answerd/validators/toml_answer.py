"""TOML answers: well-formed, and the Proxmox schema where the document has ``[global]``."""

from __future__ import annotations

import re
import tomllib

from answerd.validators import proxmox
from answerd.validators.verdict import Report

_PLACE = re.compile(r" \(at line (\d+), column (\d+)\)$")


def judge(text: str, release: str | None, product: str | None, report: Report) -> bool:
    """Judge a TOML text; tells whether it is a Proxmox answer, which Proxmox's own tool may judge too."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        refuse_syntax(str(error), report)
        document = {}
    except RecursionError:
        report.refuse("not TOML: nested too deeply to be read")
        document = {}
    report.judged_by("TOML syntax")
    if "global" not in document:
        return False
    proxmox.judge(document, release, product, report)
    return True


def refuse_syntax(message: str, report: Report) -> None:
    """tomllib's message, its place taken out of the sentence."""
    place = _PLACE.search(message)
    column = f" (column {place[2]})" if place else ""
    line = int(place[1]) if place else None
    report.refuse(f"not TOML: {_PLACE.sub('', message)}{column}", line=line)
