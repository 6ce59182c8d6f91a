"""Passwords that an installer writes into /etc/shadow as they are: a plain one lets nobody log in."""

from __future__ import annotations

import re

from answerd.validators.verdict import Remarks

_VARIABLE = re.compile(r"\$[A-Za-z_]\w*|\$\{[A-Za-z_]\w*\}|\{\{.*|<%.*|@\w+@", re.DOTALL)
_HASH = re.compile(r"\$[0-9a-z-]+\$.+|[!*].*|[./0-9A-Za-z]{13}|_[./0-9A-Za-z]{19}")
"""What crypt(3) makes, its two oldest forms included, or a locked account."""


def judge_hash(password: str, remarks: Remarks, path: str, line: int | None = None) -> None:
    """Judge a password that must be a hash. No remark quotes it."""
    if _VARIABLE.fullmatch(password):
        remarks.warn("looks like a variable that another program fills: it is no hash as it stands", path, line)
    elif not _HASH.fullmatch(password):
        message = "must be a hash as `mkpasswd -m sha-512` prints it: nobody can log in with a plain password"
        remarks.refuse(message, path, line)
