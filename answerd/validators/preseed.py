"""Debian preseed files: the line grammar of debconf-set-selections (owner, question, type, value).

It knows the grammar, not the questions: which question an installer asks depends on its version and its packages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from answerd.validators.password_hashes import judge_hash
from answerd.validators.time_zones import unknown_zone
from answerd.validators.tools import ToolRequest
from answerd.validators.verdict import JudgedAnswer, Remarks

TYPES = frozenset({"string", "boolean", "select", "multiselect", "note", "text", "password", "error", "title"})
"""debconf's question types; debconf-set-selections skips a line of another type, with a warning."""
FLAGS = frozenset({"seen"})
"""Words in place of a type that set a flag of the question: ``owner question seen false``."""

CRYPTED = frozenset({"passwd/root-password-crypted", "passwd/user-password-crypted"})
"""Questions that take a hash: user-setup hands it to usermod -p (Debian's installation guide, appendix B.4.5)."""

_SELECTION = re.compile(r"\s*(?P<owner>\S+)\s+(?P<question>\S+)\s+(?P<type>\S+)(?:\s(?P<value>.*))?", re.DOTALL)
_LOOKS_SELECTED = re.compile(rf"\s*[^#\s]\S*\s+[^\s/]+/\S+\s+(?:{'|'.join(sorted(TYPES))})(?:\s|\Z)")
"""A line that sets a question. What else follows a comment is the rest of a value that is out of use too."""


def judge(answer: JudgedAnswer, remarks: Remarks) -> ToolRequest:
    for line, selection, goes_on in logical_lines(answer.text, remarks):
        if selection.strip() and not selection.lstrip().startswith("#"):
            _judge_selection(line, selection, goes_on, remarks)
    remarks.judged_by("preseed line grammar")
    return ToolRequest("debconf-set-selections", answer.text, answer.format)


def logical_lines(text: str, remarks: Remarks) -> Iterator[tuple[int, str, bool]]:
    """Yield the lines, those that end in a backslash joined with the next.

    Each as (number of its first line, text, whether it was joined from several).
    """
    pieces: list[str] = []
    first, opening = 0, ""  # the first line, and its first character
    for line, raw in enumerate(text.split("\n"), 1):
        content = raw.removesuffix("\r")
        first = first or line
        if opening == "#" and _LOOKS_SELECTED.match(content):
            remarks.warn("a comment above ends in a backslash and takes this line with it", line=line)
        if content.endswith("\\"):
            pieces.append(content[:-1])
            opening = opening or content[:-1].lstrip()[:1]
            continue
        if content != content.rstrip() and content.rstrip().endswith("\\"):
            remarks.warn("white space after the backslash: the line does not go on", line=line)
        joined = "".join(pieces)
        yield first, joined + content, bool(joined)
        pieces.clear()
        first, opening = 0, ""
    if joined := "".join(pieces):
        remarks.warn("the last line ends in a backslash and nothing follows", line=first)
        yield first, joined, True


def _judge_selection(line: int, selection: str, goes_on: bool, remarks: Remarks) -> None:
    parts = _SELECTION.fullmatch(selection)
    if parts is None:
        remarks.refuse("not a preseed line: it must be 'owner question type value'", line=line)
        return
    question, type_, value = parts["question"], parts["type"], parts["value"] or ""
    if type_ in FLAGS:
        return
    if type_ not in TYPES:
        # Where a word is missing, what looks like the question may be its value, so nothing names it.
        known = remarks.did_you_mean(type_, TYPES)
        types = "" if known else f"; the types are {', '.join(sorted(TYPES))}"
        remarks.warn(f"the third word is no debconf type, the line is skipped{known}{types}", line=line)
        return
    if "/" not in question:
        remarks.warn("a question has the form template/name", line=line)
        return
    if value[:1].isspace() and not goes_on:
        remarks.warn("only one blank may precede the value, the others belong to it", question, line)
    if question == "time/zone" and value.strip() and (wrong := unknown_zone(value.strip(), remarks)):
        remarks.refuse(wrong, question, line)
    if question in CRYPTED and value.strip():
        judge_hash(value.strip(), remarks, question, line)
    if type_ == "boolean" and value.strip() not in ("true", "false"):
        remarks.warn("a boolean is true or false", question, line)
