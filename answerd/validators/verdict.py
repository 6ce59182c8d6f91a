"""What a validator says: findings, warnings and notes, and who judged. Values and one collector; it knows no format.

A *finding* makes the answer invalid: the installer would refuse it, or would leave a machine that cannot be used.
A *warning* is worth an operator's look and refuses nothing. A *note* is about the judging itself: a tool that is not
installed, a release that is not known.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from answerd.identity import printable


@dataclass(frozen=True)
class Finding:
    """One thing a validator has to say about one place of an answer.

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
    """The judgement of one answer. ``judged_by`` names who judged; empty when nothing could (cfg, a missing parser)."""

    findings: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    judged_by: tuple[str, ...] = ()

    @property
    def judged(self) -> bool:
        """Whether anything could judge the answer at all."""
        return bool(self.judged_by)

    @property
    def valid(self) -> bool:
        """Judged by something, and nothing found."""
        return self.judged and not self.findings


MESSAGE_LIMIT = 500
"""Characters of one message; a key that is named in it may be longer than anybody reads."""

MOST_REMARKS = 20
"""Findings, and warnings, of one answer that are told one by one; of the others only their number."""

LONGEST_HINT = 60
"""Characters of a name that is compared with the known ones."""


def one_line(text: str) -> str:
    """The text fit for a console: one line, nothing in it that a terminal would obey or an encoder refuse."""
    line = printable(text)
    return line if len(line) <= MESSAGE_LIMIT else line[:MESSAGE_LIMIT] + "…"


class Report:
    """Collects a verdict while an answer is being read. No message quotes a value of the answer."""

    def __init__(self) -> None:
        self._findings: list[Finding] = []
        self._warnings: list[Finding] = []
        self._notes: list[str] = []
        self._judges: list[str] = []
        self._untold = {"findings": 0, "warnings": 0}

    def refuse(self, message: str, path: str = "", line: int | None = None) -> None:
        """The answer is invalid, and why."""
        if len(self._findings) < MOST_REMARKS:
            self._findings.append(Finding(one_line(message), one_line(path), line))
        else:
            self._untold["findings"] += 1

    def warn(self, message: str, path: str = "", line: int | None = None) -> None:
        """Worth a look; refuses nothing."""
        if len(self._warnings) < MOST_REMARKS:
            self._warnings.append(Finding(one_line(message), one_line(path), line))
        else:
            self._untold["warnings"] += 1

    def note(self, text: str) -> None:
        """About the judging, not about the answer."""
        self._notes.append(one_line(text))

    def judged_by(self, judge: str) -> None:
        """``judge`` has read the answer."""
        self._judges.append(judge)

    @property
    def refused(self) -> bool:
        """Whether there is a finding so far."""
        return bool(self._findings)

    def verdict(self) -> Verdict:
        """What was collected, each remark once, in the order it came."""
        return Verdict(
            (*dict.fromkeys(self._findings), *self._more("findings")),
            (*dict.fromkeys(self._warnings), *self._more("warnings")),
            tuple(dict.fromkeys(self._notes)),
            tuple(dict.fromkeys(self._judges)),
        )

    def _more(self, what: str) -> Iterator[Finding]:
        if self._untold[what]:
            yield Finding(f"and {self._untold[what]:,} more {what}")

    def hint(self, name: str, known: Iterable[str]) -> str:
        """`hint`, as long as it would be told."""
        return "" if len(self._findings) == MOST_REMARKS or len(self._warnings) == MOST_REMARKS else hint(name, known)


def hint(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'keyboard'?`` for the nearest of the known names, else nothing."""
    nearest = difflib.get_close_matches(name, list(known), n=1) if len(name) <= LONGEST_HINT else []
    return f"; did you mean {nearest[0]!r}?" if nearest else ""
