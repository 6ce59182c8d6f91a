"""iPXE scripts: only their first line can be judged, and it decides.

A 200 whose body does not begin with ``#!ipxe`` and white space is no script to iPXE: on BIOS machines it is run as a
boot program and the machine hangs.
"""

from __future__ import annotations

import re

from answerd.validators.verdict import Report

_MAGIC = re.compile(r"#!ipxe\s")


def judge(text: str, report: Report) -> None:
    """Judge an iPXE script by its first line; nothing may stand before it, a byte order mark neither."""
    if not _MAGIC.match(text):
        report.refuse("the first line must be '#!ipxe': anything else is run as a boot program", line=1)
    report.judged_by("iPXE first line")
