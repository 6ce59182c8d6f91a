"""Every answer before anybody asks: the set's problems, and each machine and member rendered and judged (SPEC 12, 13).

``answerd check`` and ``GET /check`` both come here. It renders with the same `resolve` as the server, from a machine's
identity alone, so what needs a fact that only a request brings is a note and not a failure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from answerd.answers.catalogue import Catalogue, no_pause
from answerd.answers.problems import load_problems
from answerd.answers.provenance import origins, placed
from answerd.answers.resolve import Answer, resolve
from answerd.answers.trials import trials
from answerd.errors import AnswerError, CannotFill
from answerd.facts import SHORTEST_BODY_IDENTITY
from answerd.validators import Finding, Tools, Verdict, validate

TOOL_RUNS = 8
"""Answers of one format that are handed to the installers' own tools: each run costs a process, up to a second."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found, sorted. ``problems`` fail it, ``notes`` do not. ``rendered`` counts the answers tried."""

    problems: tuple[str, ...]
    notes: tuple[str, ...]
    rendered: int = 0


def check(
    catalogue: Catalogue,
    tools: Tools | None = None,
    progress: Callable[[int, int], None] | None = None,
    pause: Callable[[], None] = no_pause,
) -> Report:
    """Try everything that can be tried without a request.

    ``tools`` are the installers' own programs, looked for on PATH when not given. ``progress`` is told how many answers
    of how many are done; ``pause`` is called now and then, so that a server can answer requests meanwhile.
    """
    problems = set(load_problems(catalogue, pause))
    notes = set(_standing_notes(catalogue))
    tried = list(trials(catalogue))
    judge = _Judge(Tools.find() if tools is None else tools)
    for count, trial in enumerate(tried, 1):
        try:
            answer = resolve(catalogue, trial.facts, trial.extensions, (trial.document,))
            verdict = judge.verdict(answer)
            problems.update(f"{trial.label}: {finding}" for finding in judge.placed(verdict.findings, answer))
            notes.update(f"{trial.label}: {warning}" for warning in judge.placed(verdict.warnings, answer))
        except CannotFill as error:
            if error.missing:
                notes.add(f"{trial.label}: not tried whole, only a request has the fact {error.label!r}")
            else:
                problems.add(f"{trial.label}: {error.reason}")
        except AnswerError as error:
            # What the set's own problems say already is not said again for each machine that meets it.
            if error.reason not in problems:
                problems.add(f"{trial.label}: {error.reason}")
        if progress:
            progress(count, len(tried))
        pause()
    return Report(tuple(sorted(problems)), tuple(sorted(notes | judge.notes)), len(tried))


def _standing_notes(catalogue: Catalogue) -> Iterator[str]:
    for document in catalogue.documents.values():
        if document.is_shared:
            if document.control.match and not document.control.members:
                yield f"{document.key}: selects by match, so it was not tried"
        elif document.identity and len(document.identity) < SHORTEST_BODY_IDENTITY:
            yield (
                f"{document.key}: a name of under {SHORTEST_BODY_IDENTITY} letters and digits "
                "is not recognised in a JSON body"
            )


class _Judge:
    """The validators, with what they have to say about themselves collected in ``notes``."""

    def __init__(self, tools: Tools) -> None:
        self.tools = tools
        self.notes: set[str] = set()
        self._tool_runs: dict[str, int] = {}
        self._verdicts: dict[tuple[str, bytes], Verdict] = {}

    def verdict(self, answer: Answer) -> Verdict:
        """What an installer would say to the answer. Answers with one text are judged once."""
        extension = answer.format.extension
        name = extension, hashlib.sha256(answer.body).digest()
        verdict = self._verdicts.get(name)
        if verdict is None:
            verdict = self._verdicts[name] = self._judged(extension, answer.body.decode())
        return verdict

    def _judged(self, extension: str, text: str) -> Verdict:
        runs = self._tool_runs[extension] = self._tool_runs.get(extension, 0) + 1
        if runs == TOOL_RUNS + 1:
            self.notes.add(
                f"{extension}: the installer's own tool, if there is one, was asked about {TOOL_RUNS} answers only"
            )
        tools = self.tools if runs <= TOOL_RUNS else Tools.none()
        verdict = validate(text, extension, tools=tools)
        self.notes.update(f"{extension}: {note}" for note in verdict.notes)
        return verdict

    def placed(self, findings: tuple[Finding, ...], answer: Answer) -> list[str]:
        """Findings with the document and line that each is about."""
        if not findings:
            return []
        found = origins(answer, standing=not all(finding.path for finding in findings))
        return [placed(finding.message, finding.path, finding.line, answer, found) for finding in findings]
