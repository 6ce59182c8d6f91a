"""What an installer would refuse of an answer that lacks a fact, whatever that fact is.

Rules: docs/check.md#answers-that-lack-a-fact. The answer is made with values that stand in for what it lacks.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from typing import Final, NamedTuple

from answerd.answers.answer_secrets import known_values
from answerd.answers.cases import CheckCase
from answerd.answers.catalogue import Catalogue
from answerd.answers.compose import prepared_answer
from answerd.answers.explain import needing
from answerd.answers.missing_labels import labels_needed
from answerd.answers.resolve import Answer, completed_facts, filled
from answerd.answers.select import Selection, select, selection_request
from answerd.answers.sources import Sources, Values
from answerd.check.judging import Judge
from answerd.documents import Document
from answerd.errors import AnswerError, CannotFill
from answerd.facts import Facts
from answerd.formats import FORMATS
from answerd.identity import Kind
from answerd.shared_values import MAC, UUID, kind_of
from answerd.validators import Tools

_VALUES: Final = ("a1", "192.0.2.7", "7")
"""A name, an address (RFC 5737) and a number: most rules take one of them."""

_OF_KIND: Final = {MAC: "52:54:00:00:00:07", UUID: "6f1d2c3b-4a59-4687-9b0a-1c2d3e4f5a6b"}

_OF_FILES: Final = frozenset({"file", "path", "segment"})
"""The labels of what is asked for."""


class Tried(NamedTuple):
    """An answer with a stand-in for what it lacks, and what is said to the rest of it: findings and warnings, each with
    its place, as `answerd.check.judging.Judge.placed` returns them."""

    answer: Answer
    findings: tuple[str, ...]
    warnings: tuple[str, ...]


class StandIns:
    """Judges answers that lack facts. What is on a line with a placeholder of such a fact does not count."""

    def __init__(self, catalogue: Catalogue, sources: Sources) -> None:
        self._catalogue = catalogue
        self._sources = sources
        self._judge = Judge(Tools.none(), catalogue)  # a program may say no line, and it quotes the value
        self._formats_of_machines = {
            document.key.format for document in catalogue.documents.values() if document.key.kind is Kind.MACHINE
        }

    def tried(self, trial: CheckCase) -> Tried | None:
        """Return the answer of a case that lacks facts, with the value that least is said to. None where no value fills
        its placeholders."""
        try:
            facts = completed_facts(self._catalogue, trial.facts, self._sources)
            selection = select(self._catalogue, selection_request(facts, trial.extensions, trial.assumed))
            return self._best(trial, selection, facts)
        except AnswerError:
            return None

    def tried_alone(self, group: Document) -> Tried | None:
        """Return the same of a group that selects by ``match``. None where it may be a part of an answer: as an
        overlay, below a document of a machine, or as a file that another one names."""
        is_part = group.control.overlay is not None or group.key.format in self._formats_of_machines
        if is_part or any(criterion.label in _OF_FILES for criterion in group.control.match):
            return None
        trial = CheckCase(str(group.key), "", group.key.format, group)
        try:
            return self._best(trial, Selection(self._catalogue.chain(group), group=group), trial.facts)
        except AnswerError:
            return None

    def _best(self, trial: CheckCase, selection: Selection, facts: Facts) -> Tried | None:
        values = Values(selection, facts, self._sources, self._catalogue)
        needed = labels_needed(prepared_answer(selection.layers, may_be_blank=True))
        lacking = sorted({label for labels in needed for label in labels if not _has(values, label)})
        found: list[Tried] = []
        for value in _VALUES:
            told = [(label, _OF_KIND.get(kind_of(label), value)) for label in lacking]
            with suppress(AnswerError):
                found.append(self._with(replace(trial, told=(*trial.told, *told)), selection, lacking))
                if not found[-1].findings:
                    break
        return min(found, key=lambda tried: len(tried.findings), default=None)

    def _with(self, case: CheckCase, selection: Selection, lacking: Collection[str]) -> Tried:
        facts = completed_facts(self._catalogue, case.facts, self._sources)
        values = Values(selection, facts, self._sources, self._catalogue)
        body = filled(prepared_answer(selection.layers, may_be_blank=True), selection, values)
        answer = Answer(body, selection, FORMATS[case.extension], None, facts.row, values=values)
        verdict = self._judge.verdict(answer, lambda: known_values(self._catalogue, answer, case.facts, self._sources))
        if not verdict.findings and not verdict.warnings:
            return Tried(answer, (), ())
        places = {place for label in lacking for place in needing(selection.layers, label)}
        return Tried(
            answer,
            tuple(self._judge.placed(verdict.findings, answer, but_at=places)),
            tuple(self._judge.placed(verdict.warnings, answer, but_at=places)),
        )


def _has(values: Values, label: str) -> bool:
    """Return whether a label has a value. Raises `CannotFill` for a secret that is missing."""
    try:
        return values.first(label) is not None
    except CannotFill as error:
        if not error.missing:
            raise
        return False
