"""What installers would newly refuse of the answers that a change of the set makes others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from answerd.answers.affected import Affected
from answerd.answers.cases import CheckCase, check_cases, row_cases
from answerd.answers.catalogue import Catalogue
from answerd.answers.causes import without_row
from answerd.answers.last_words import NO_WORDS, LastWords
from answerd.answers.resolve import Answer, resolve
from answerd.answers.sources import Sources
from answerd.check.judging import Judge, Webhooks
from answerd.errors import AnswerError, CannotFill, NotClaimed
from answerd.validators import Tools

_NUMBER = re.compile(r"[0-9]+")

MOST_REFUSALS = 100
"""Causes that are told."""


class Refused(NamedTuple):
    """Why an installer refuses answers: the ``cause``, the ``first`` of them, and how many ``answers`` there are.
    ``is_new``: no installer refused them for it before the change."""

    cause: str
    first: str
    answers: int
    is_new: bool = True

    def __str__(self) -> str:
        return f"{self.first}{f' and {self.answers - 1} more' if self.answers > 1 else ''}: {self.cause}"


def refusals(
    before: Catalogue,
    after: Catalogue,
    sources: Sources,
    progress: Callable[[int, int], None] | None = None,
    *,
    words: LastWords = NO_WORDS,
    compares: bool = False,
) -> list[Refused]:
    """Return why installers would refuse answers that a change of the set makes others, the new causes first. By the
    built-in rules; what only a request tells is not tried.

    ``compares``: the answers before the change are judged too, to tell what is new; else all is. ``progress`` and
    ``words`` are as for `answerd.check.check`.
    """
    affected = Affected(before, after, words)
    if not affected:
        return []
    of_rows = (case for of_row in row_cases(after, affected, words) for case in of_row.cases)
    tried = [*check_cases(after, affected, words), *of_rows]
    judge, webhooks = Judge(Tools.none(), after), Webhooks(sources)
    judge_before = Judge(Tools.none(), before)
    first: dict[tuple[str, bool], tuple[str, str]] = {}
    alike: Counter[tuple[str, bool]] = Counter()

    def causes_in(judge: Judge, answer: Answer) -> list[str]:
        findings = [*judge.verdict(answer, tuple).findings, *filter(None, [webhooks.finding(answer)])]
        return judge.placed(tuple(findings), answer)

    for count, trial in enumerate(tried, 1):
        if progress:
            progress(count, len(tried))
        answer = _outcome(after, trial, sources)
        was = _outcome(before, trial, sources)
        if isinstance(answer, str):
            causes = [answer] if answer and answer != was else []
        elif not isinstance(was, str) and was.body == answer.body and was.format is answer.format:
            continue
        else:
            causes = causes_in(judge, answer)
        known: set[str] = set()
        if compares and causes and not isinstance(was, str):
            known = {_unnumbered(cause) for cause in causes_in(judge_before, was)}
        for cause in causes:
            name = without_row(cause), _unnumbered(cause) not in known
            if name in first or len(first) < MOST_REFUSALS:
                first.setdefault(name, (trial.label, cause))
                alike[name] += 1
    found = [
        Refused(name[0] if alike[name] > 1 else cause, label, alike[name], name[1])
        for name, (label, cause) in first.items()
    ]
    return sorted(found, key=lambda one: not one.is_new)


def _unnumbered(cause: str) -> str:
    """Return a cause without its numbers: a line that is added above moves what is below it."""
    return _NUMBER.sub("", cause)


def _outcome(catalogue: Catalogue, trial: CheckCase, sources: Sources) -> Answer | str:
    """Return an answer, or the reason why there is none; an empty one where a request would have to tell."""
    try:
        return resolve(catalogue, trial.facts, trial.extensions, trial.assumed, sources=sources)
    except CannotFill as error:
        return "" if error.missing else error.general
    except NotClaimed:
        return ""
    except AnswerError as error:
        return error.reason
