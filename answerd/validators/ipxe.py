"""iPXE scripts: only the first line can be judged, and it decides.

A 200 whose body does not begin with ``#!ipxe`` and white space is no script to iPXE: on BIOS machines it is run as a
boot program and the machine hangs.
"""

from __future__ import annotations

import re

from answerd.validators.verdict import Remarks

_MAGIC = re.compile(r"#!ipxe\s")


def judge(text: str, remarks: Remarks) -> None:
    """Judge an iPXE script by its first line. Nothing may precede it, not even a byte order mark."""
    if not _MAGIC.match(text):
        remarks.refuse("the first line must be '#!ipxe': anything else is run as a boot program", line=1)
    remarks.judged_by("iPXE first line")
