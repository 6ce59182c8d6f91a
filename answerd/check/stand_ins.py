"""What an installer would refuse of an answer that lacks a fact, whatever that fact is.

Rules: docs/check.md#answers-that-lack-a-fact. The answer is made with values that stand in for what it lacks.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final, NamedTuple

from answerd.answers.answer_secrets import known_values
from answerd.answers.cases import CheckCase
from answerd.answers.catalogue import Catalogue
from answerd.answers.compose import prepared_answer
from answerd.answers.explain import needing
from answerd.answers.missing_labels import labels_needed
from answerd.answers.resolve import Answer, completed_facts, filled
from answerd.answers.select import Selection
from answerd.answers.sources import Sources, Values
from answerd.check.judging import Judge
from answerd.documents import Document
from answerd.errors import AnswerError
from answerd.formats import FORMATS
from answerd.identity import Kind
from answerd.shared_values import MAC, UUID, kind_of
from answerd.validators import Tools

_VALUES: Final = ("a1", "192.0.2.7", "7")
"""A name, an address (RFC 5737) and a number: most rules take one of them."""

_OF_KIND: Final = {MAC: "52:54:00:00:00:07", UUID: "6f1d2c3b-4a59-4687-9b0a-1c2d3e4f5a6b"}

_OF_FILES: Final = frozenset({"file", "path", "segment"})
"""The labels of what is asked for."""


class PlacedRemarks(NamedTuple):
    """Findings and warnings, each with its place, as `answerd.check.judging.Judge.placed` returns them."""

    findings: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


NOTHING: Final = PlacedRemarks()


class StandIns:
    """Judges answers that lack facts. What is on a line with a placeholder of such a fact does not count."""

    def __init__(self, catalogue: Catalogue, sources: Sources) -> None:
        self._catalogue = catalogue
        self._sources = sources
        self._judge = Judge(Tools.none(), catalogue)  # a program may say no line, and it quotes the value
        self._formats_of_machines = {
            document.key.format for document in catalogue.documents.values() if document.key.kind is Kind.MACHINE
        }

    def remarks(self, trial: CheckCase, selection: Selection, lacking: Collection[str]) -> PlacedRemarks:
        """Return what is said to the answer of a case that lacks the facts of some labels: with the value that least
        is said to. Nothing where no value fills its placeholders."""
        found: list[PlacedRemarks] = []
        for value in _VALUES:
            told = [(label, _OF_KIND.get(kind_of(label), value)) for label in sorted(lacking)]
            case = replace(trial, told=(*trial.told, *told))
            try:
                found.append(self._remarks_on(case, selection, lacking))
            except AnswerError:
                continue
            if found[-1] == NOTHING:
                break
        return min(found, key=lambda said: len(said.findings), default=NOTHING)

    def remarks_on_group(self, group: Document) -> PlacedRemarks:
        """Return the same about a group that selects by ``match``. Nothing where it may be a part of an answer: as an
        overlay, below a machine's document, or as a file that another one names."""
        is_part = group.control.overlay is not None or group.key.format in self._formats_of_machines
        if is_part or any(criterion.label in _OF_FILES for criterion in group.control.match):
            return NOTHING
        trial = CheckCase(str(group.key), "", group.key.format, group)
        try:
            selection = Selection(self._catalogue.chain(group), group=group)
            needed = labels_needed(prepared_answer(selection.layers))
        except AnswerError:  # a problem of the set
            return NOTHING
        return self.remarks(trial, selection, {label for labels in needed for label in labels})

    def _remarks_on(self, case: CheckCase, selection: Selection, lacking: Collection[str]) -> PlacedRemarks:
        facts = completed_facts(self._catalogue, case.facts, self._sources)
        values = Values(selection, facts, self._sources, self._catalogue)
        body = filled(prepared_answer(selection.layers, may_be_blank=True), selection, values)
        answer = Answer(body, selection, FORMATS[case.extension], None, facts.row, values=values)
        verdict = self._judge.verdict(answer, lambda: known_values(self._catalogue, answer, case.facts, self._sources))
        if not verdict.findings and not verdict.warnings:
            return NOTHING
        places = {place for label in lacking for place in needing(selection.layers, label)}
        return PlacedRemarks(
            tuple(self._judge.placed(verdict.findings, answer, but_at=places)),
            tuple(self._judge.placed(verdict.warnings, answer, but_at=places)),
        )
