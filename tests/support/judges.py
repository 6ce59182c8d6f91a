"""The installers' own programs, where they are installed, beside the rules that are built in."""

from __future__ import annotations

import functools

from answerd.validators import Tools, Verdict, validate


@functools.cache
def installed() -> Tools:
    """The programs of this system."""
    return Tools.find()


@functools.cache
def proven(text: str, extension: str) -> Verdict:
    """What an answer's program, and the rules, say of it. One text is judged once."""
    return validate(text, extension, tools=installed())
