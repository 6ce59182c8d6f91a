"""What a validator says: findings, warnings and notes, and who judged. Values and one collector; it knows no format.

A *finding* makes the answer invalid: the installer would refuse it, or would leave a machine that cannot be used.
A *warning* is worth an operator's look and refuses nothing. A *note* is about the judging itself: a tool that is not
installed, a release that is not known.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from answerd.identity import shown


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
"""Characters of one message; a value that is quoted in it may be longer than anybody reads."""


def one_line(text: str) -> str:
    """The text fit for a console: one line, nothing in it that a terminal would obey or an encoder refuse."""
    line = shown(text)
    return line if len(line) <= MESSAGE_LIMIT else line[:MESSAGE_LIMIT] + "…"


class Report:
    """Collects a verdict while an answer is being read."""

    def __init__(self) -> None:
        self._findings: list[Finding] = []
        self._warnings: list[Finding] = []
        self._notes: list[str] = []
        self._judges: list[str] = []

    def refuse(self, message: str, path: str = "", line: int | None = None) -> None:
        """The answer is invalid, and why."""
        self._findings.append(Finding(one_line(message), one_line(path), line))

    def warn(self, message: str, path: str = "", line: int | None = None) -> None:
        """Worth a look; refuses nothing."""
        self._warnings.append(Finding(one_line(message), one_line(path), line))

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
            tuple(dict.fromkeys(self._findings)),
            tuple(dict.fromkeys(self._warnings)),
            tuple(dict.fromkeys(self._notes)),
            tuple(dict.fromkeys(self._judges)),
        )


def hint(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'keyboard'?`` for the nearest of the known names, else nothing."""
    nearest = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {nearest[0]!r}?" if nearest else ""
