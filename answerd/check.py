"""Every answer before anybody asks: the set's problems, and each machine and member rendered and judged.

Rules: docs/check.md, docs/cli.md.

``answerd check`` and ``GET /check`` both come here. It renders with the same `resolve` as the server, from a machine's
identity alone, so what needs a fact that only a request brings is a note and not a failure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from answerd.answers.catalogue import Catalogue, no_pause
from answerd.answers.check_cases import RowCase, check_cases, row_cases
from answerd.answers.compose import prepared_answer
from answerd.answers.problems import load_problems
from answerd.answers.provenance import Placing, origins
from answerd.answers.resolve import Answer, resolve
from answerd.answers.sources import NO_SOURCES, REPORT, Sources
from answerd.documents import Document
from answerd.errors import AnswerError, CannotFill
from answerd.facts import SHORTEST_BODY_IDENTITY
from answerd.formats.once import Once
from answerd.identity import brief, identity
from answerd.inventory.rows import notes as row_notes
from answerd.validators import Finding, Tools, Verdict, validate

Spread = Callable[[list[tuple[str, str]]], Iterable[Verdict]]
"""Texts with their extensions to the verdicts on them."""

WORTH_SPREADING = 500
"""Texts from which on other processes are worth their start: pykickstart takes 4 ms a text."""

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
    spread: Spread | None = None,
    *,
    sources: Sources = NO_SOURCES,
) -> Report:
    """Try everything that can be tried without a request.

    ``tools`` are the installers' own programs, looked for on PATH when not given. ``progress`` is told how many answers
    of how many are done; ``pause`` is called now and then, so that a server can answer requests meanwhile. ``spread``
    judges many texts by the built-in rules, in their order: who has several processors may use them. ``sources`` fill
    what the facts of a request do not, and must change no state.
    """
    problems = set(load_problems(catalogue, pause))
    of_rows = list(row_cases(catalogue, pause))
    claiming = {group for of_row in of_rows for group in of_row.groups}
    notes = {*_standing_notes(catalogue, claiming), *_row_notes(catalogue, of_rows)}
    tried = [*check_cases(catalogue), *(case for of_row in of_rows for case in of_row.cases)]
    answers: list[tuple[str, Answer]] = []
    installs = _SilentInstalls()
    for trial in tried:
        try:
            answer = resolve(catalogue, trial.facts, trial.extensions, trial.assumed, sources=sources)
            answers.append((trial.label, answer))
            installs.take(trial.identifier, answer)
        except CannotFill as error:
            if error.missing:
                notes.add(f"{trial.label}: not tried whole, only a request has the fact {brief(error.label)!r}")
            else:
                problems.add(f"{trial.label}: {error.reason}")
        except AnswerError as error:
            # What the set's own problems say already is not said again for each machine that meets it.
            if error.reason not in problems:
                problems.add(f"{trial.label}: {error.reason}")
        pause()
    notes.update(installs.notes())
    judge = _Judge(Tools.find() if tools is None else tools, catalogue)
    if spread:
        judge.judge_ahead([answer for _, answer in answers], spread)
    for count, (label, answer) in enumerate(answers, 1):
        verdict = judge.verdict(answer)
        problems.update(f"{label}: {finding}" for finding in judge.placed(verdict.findings, answer))
        notes.update(f"{label}: {warning}" for warning in judge.placed(verdict.warnings, answer))
        if progress:
            progress(count, len(answers))
        pause()
    return Report(tuple(sorted(problems)), tuple(sorted(notes | judge.notes)), len(tried))


class _SilentInstalls:
    """Which documents with ``once`` install machines that have no way to say that they are done."""

    def __init__(self) -> None:
        self._machines: dict[Document, set[str]] = {}
        self._reporting: set[str] = set()

    def take(self, name: str, answer: Answer) -> None:
        """Count an answer that a machine of this name would get."""
        layers = answer.selection.layers
        machine = identity(name)
        if REPORT in prepared_answer(layers, may_be_blank=True).labels():
            self._reporting.add(machine)
        deciding = next((layer for layer in reversed(layers) if layer.control.once is not None), None)
        if deciding is not None and deciding.control.once is not Once.OFF:
            self._machines.setdefault(deciding, set()).add(machine)

    def notes(self) -> Iterator[str]:
        """Yield a note for each of these documents."""
        for document, machines in self._machines.items():
            if machines.isdisjoint(self._reporting):
                yield (
                    f"{document.key}: once, but no answer of its machines has {{{{ report }}}}: "
                    "nothing will say when an install is done"
                )


def _standing_notes(catalogue: Catalogue, claiming: Collection[Document]) -> Iterator[str]:
    """What is not tried, or cannot be claimed by every request. ``claiming`` are the groups that were tried with a
    row."""
    for document in catalogue.documents.values():
        if document.is_shared:
            if document.control.match and not document.control.members and document not in claiming:
                yield f"{document.key}: selects by match, so it was not tried"
        elif document.identity and len(document.identity) < SHORTEST_BODY_IDENTITY:
            yield (
                f"{document.key}: a name of under {SHORTEST_BODY_IDENTITY} letters and digits "
                "is not recognised in a JSON body"
            )


def _row_notes(catalogue: Catalogue, of_rows: Iterable[RowCase]) -> Iterator[str]:
    inventory = catalogue.inventory
    if inventory is None:
        return
    for row in inventory.rows():
        yield from (f"{inventory.place(row)}: {note}" for note in row_notes(row.layout, row.cells()))
    answers = "nothing but a default claims" if catalogue.defaults else "no document claims"
    yield from (f"{inventory.place(of_row.row)}: {answers} this row" for of_row in of_rows if not of_row.claimed)


def _name_of(answer: Answer) -> tuple[str, bytes]:
    """What makes two answers one to a judge."""
    return answer.format.extension, hashlib.sha256(answer.body).digest()


def built_in_verdict(answer: tuple[str, str]) -> Verdict:
    """The verdict on a text and its extension by the built-in rules; a function that another process can be given."""
    return validate(*answer, tools=Tools.none())


class _Judge:
    """The validators, with what they have to say about themselves collected in ``notes``."""

    def __init__(self, tools: Tools, catalogue: Catalogue) -> None:
        """The catalogue's ``elsewhere`` runs the built-in rules, which may take long. Programs are started here: that
        needs the loop."""
        self.tools = tools
        self.apart = catalogue.elsewhere
        self.inventory = catalogue.inventory
        self.notes: set[str] = set()
        self._tool_runs: dict[str, int] = {}
        self._verdicts: dict[tuple[str, bytes], Verdict] = {}

    def verdict(self, answer: Answer) -> Verdict:
        """What an installer would say to the answer. Answers with one text are judged once."""
        name = _name_of(answer)
        return self._verdicts.get(name) or self._keep(name, self._judged(name[0], answer.body.decode()))

    def judge_ahead(self, answers: list[Answer], spread: Spread) -> None:
        """Judge what no tool will be asked about, all at once; what is left is judged when its turn comes."""
        seen: dict[str, int] = {}
        pending: dict[tuple[str, bytes], str] = {}
        for answer in answers:
            name = _name_of(answer)
            if name not in pending and name not in self._verdicts:
                seen[name[0]] = seen.get(name[0], 0) + 1
                if seen[name[0]] > TOOL_RUNS:
                    pending[name] = answer.body.decode()
        if len(pending) >= WORTH_SPREADING:
            verdicts = spread([(text, extension) for (extension, _), text in pending.items()])
            for name, verdict in zip(pending, verdicts, strict=True):
                self._keep(name, verdict)
                self._note_tool_limit(name[0])

    def _judged(self, extension: str, text: str) -> Verdict:
        runs = self._tool_runs[extension] = self._tool_runs.get(extension, 0) + 1
        if runs > TOOL_RUNS:
            self._note_tool_limit(extension)
        return validate(text, extension, tools=self.tools if runs <= TOOL_RUNS else Tools.none(), apart=self.apart)

    def _keep(self, name: tuple[str, bytes], verdict: Verdict) -> Verdict:
        self.notes.update(f"{name[0]}: {note}" for note in verdict.notes)
        self._verdicts[name] = verdict
        return verdict

    def _note_tool_limit(self, extension: str) -> None:
        self.notes.add(
            f"{extension}: the installer's own tool, if there is one, was asked about {TOOL_RUNS} answers only"
        )

    def placed(self, findings: tuple[Finding, ...], answer: Answer) -> list[str]:
        """Findings with the document and line that each is about."""
        if not findings:
            return []
        found = origins(answer, self.inventory, standing=not all(finding.path for finding in findings))
        placing = Placing(answer, found)
        return [placing.placed(finding.message, finding.path, finding.line) for finding in findings]
