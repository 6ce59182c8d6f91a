"""TOML answers: well-formed, and the Proxmox schema where the document has a section of such an answer.

``[network]`` without ``[global]`` is an unfinished Proxmox answer, not a document of another kind.
"""

from __future__ import annotations

import re
import tomllib

from answerd.formats.toml import fixed_sentence
from answerd.validators import proxmox
from answerd.validators.proxmox_keys import TABLES
from answerd.validators.verdict import Remarks

SECTIONS = tuple(key.name for key in TABLES[""])
"""The top-level tables of a Proxmox answer."""

_PLACE = re.compile(r" \(at line (\d+), column (\d+)\)$")


def judge(text: str, release: str | None, product: str | None, remarks: Remarks) -> bool:
    """Judge a TOML text. Return whether it is a Proxmox answer, which Proxmox's own tool can judge too."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        refuse_syntax(str(error), remarks)
        document = {}
    except ValueError:
        remarks.refuse("not TOML: it holds a number or a date that is out of range")
        document = {}
    except RecursionError:
        remarks.refuse("not TOML: nested too deeply to be read")
        document = {}
    remarks.judged_by("TOML syntax")
    if "global" not in document and not any(isinstance(document.get(name), dict) for name in SECTIONS):
        return False
    proxmox.judge(document, release, product, remarks)
    return True


def refuse_syntax(message: str, remarks: Remarks) -> None:
    """Add tomllib's message as a finding, with its place as the finding's."""
    place = _PLACE.search(message)
    column = f" (column {place[2]})" if place else ""
    line = int(place[1]) if place else None
    remarks.refuse(f"not TOML: {fixed_sentence(_PLACE.sub('', message))}{column}", line=line)
