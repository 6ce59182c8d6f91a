"""The remarks of a validator: findings, warnings and notes, and what judged.

A *finding* makes the answer invalid: the installer would refuse it, or would leave a machine that cannot be used.
A *warning* should be read by an operator and makes nothing invalid. A *note* is about the judging itself: a tool that
is not installed, a release that is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from answerd.short_texts import brief
from answerd.suggestion import did_you_mean


@dataclass(frozen=True)
class JudgedAnswer:
    """An answer to judge. ``text`` has no byte order mark, ``written`` is the answer as it came; ``release`` and
    ``product`` are those of the Proxmox installer, None where not known."""

    text: str
    written: str
    format: str
    release: str | None
    product: str | None


@dataclass(frozen=True)
class Finding:
    """A finding or a warning about one place of an answer.

    ``message`` is one line for the operator that names the key and the rule. ``path`` is the dotted key
    (``disk-setup.zfs.raid``), empty where the finding is about the whole text. ``line`` counts from 1, where known.
    """

    message: str
    path: str = ""
    line: int | None = None

    def __str__(self) -> str:
        return self.message if self.line is None else f"line {self.line}: {self.message}"


@dataclass(frozen=True)
class Verdict:
    """The judgement of one answer. ``judged_by`` names the rules and tools that judged; empty when none could."""

    findings: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    judged_by: tuple[str, ...] = ()

    @property
    def judged(self) -> bool:
        return bool(self.judged_by)

    @property
    def valid(self) -> bool:
        """Whether the answer was judged and there are no findings."""
        return self.judged and not self.findings


MESSAGE_LIMIT = 500
"""Characters of one message, because a key that it names may be as long as its document."""

MOST_REMARKS = 20
"""Findings, and warnings, of one answer that are listed; the others are counted."""


class _Remark(NamedTuple):
    """A finding or a warning before it is listed. ``is_quoted``: ``message`` is of another program, and may quote the
    answer."""

    message: str
    path: str
    line: int | None
    is_quoted: bool


class Remarks:
    """Collects the remarks of a verdict while an answer is read. No message of ours quotes a value of the answer; in
    those of other programs the function that ``hiding`` returns hides its secrets, once they are listed."""

    def __init__(self, hiding: Callable[[], Callable[[str], str]]) -> None:
        self._hiding = hiding
        self._findings: list[_Remark] = []
        self._warnings: list[_Remark] = []
        self._notes: dict[str, None] = {}
        self._judges: dict[str, None] = {}

    def refuse(self, message: str, path: str = "", line: int | None = None) -> None:
        """Add a finding: why the answer is invalid. The message names the path before it, where there is one."""
        self._findings.append(_Remark(message, path, line, False))

    def warn(self, message: str, path: str = "", line: int | None = None) -> None:
        self._warnings.append(_Remark(message, path, line, False))

    def quote_refusal(self, message: str, line: int | None = None) -> None:
        """Add a finding in the words of another program."""
        self._findings.append(_Remark(message, "", line, True))

    def quote_warning(self, message: str, line: int | None = None) -> None:
        self._warnings.append(_Remark(message, "", line, True))

    def note(self, text: str) -> None:
        self._notes[brief(text, MESSAGE_LIMIT)] = None

    def judged_by(self, judge: str) -> None:
        self._judges[judge] = None

    @property
    def refused(self) -> bool:
        return bool(self._findings)

    def verdict(self) -> Verdict:
        findings, warnings = self._listed(self._findings, "findings"), self._listed(self._warnings, "warnings")
        return Verdict(findings, warnings, (*self._notes,), (*self._judges,))

    def _listed(self, found: list[_Remark], what: str) -> tuple[Finding, ...]:
        """Return the first findings, each once, and how many more there are."""
        more = len(found) - MOST_REMARKS
        unlisted = [Finding(f"and {more:,} more {what}")] if more > 0 else []
        return (*dict.fromkeys(map(self._finding, found[:MOST_REMARKS])), *unlisted)

    def _finding(self, remark: _Remark) -> Finding:
        message, path, line, is_quoted = remark
        if is_quoted:
            message = self._hiding()(message)
        if path:
            message = f"{path} {message}" if message.startswith("is missing") else f"{path}: {message}"
        return Finding(brief(message, MESSAGE_LIMIT), brief(path, MESSAGE_LIMIT), line)

    @property
    def is_full(self) -> bool:
        """Whether a further remark may only be counted: what takes time to word is not worth it then."""
        return len(self._findings) >= MOST_REMARKS or len(self._warnings) >= MOST_REMARKS

    def did_you_mean(self, name: str, known: Iterable[str]) -> str:
        """Return `did_you_mean`, or nothing where a further remark would not be listed."""
        return "" if self.is_full else did_you_mean(name, known)
