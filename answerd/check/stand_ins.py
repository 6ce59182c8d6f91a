"""What an installer would refuse of an answer that lacks facts, whatever these facts are.

Rules: docs/check.md#answers-that-lack-a-fact. The answer is made several times, each time with other values in place of
what it lacks, as long as anything is refused. What is refused each time does not depend on them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from answerd.answers.answer_secrets import known_values
from answerd.answers.cases import CheckCase
from answerd.answers.catalogue import Catalogue
from answerd.answers.compose import Layers, prepared_answer
from answerd.answers.explain import Place, naming
from answerd.answers.missing_labels import labels_needed
from answerd.answers.resolve import Answer, completed_facts, filled
from answerd.answers.select import Selection, select, selection_request
from answerd.answers.sources import Sources, Values
from answerd.check.judging import Judge
from answerd.documents import Document
from answerd.errors import AnswerError, CannotFill
from answerd.facts import Facts
from answerd.formats import FORMATS
from answerd.formats.family import Prepared
from answerd.formats.origins import Leaf
from answerd.formats.template import Placeholder
from answerd.identity import Kind
from answerd.shared_values import MAC, UUID, kind_of
from answerd.validators import Finding, Tools

_NAME: Final = "a{0}"
_ADDRESS: Final = "192.0.2.{0}"  # of RFC 5737
_SMALL: Final = "{0}"
_LARGE: Final = "10000{0}"
"""What stands in for the facts, all at a time, each with a number of its own."""

_TYPED: Final = {
    MAC: "52:54:00:00:00:{0:02x}",
    UUID: "6f1d2c3b-4a59-4687-9b0a-0000000000{0:02x}",
    "prefixed": "192.0.2.{0}/24",
    "bool": "true",
}
"""The same for a fact of which a filter, or the name of its label, says what it is."""

_OF_FILTERS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("bare", "colons", "dashes"), MAC),
    **dict.fromkeys(("host", "prefix", "netmask", "network", "broadcast"), "prefixed"),
    "bool": "bool",
}

_FIRST_NUMBER: Final = 7
_MOST: Final = 200
"""Facts that an answer may lack, where it is judged: the numbers are bytes."""

_WORD: Final = re.compile(r"[\w-]+")

_REQUESTED_BY: Final = frozenset({"file", "path", "segment"})
"""Labels that say which file is requested."""


class Said(NamedTuple):
    """The findings and warnings about an answer, each with its place (`Judge.placed`). Without those of lines with a
    placeholder of what it lacks, and without those that name the keys or commands of these lines."""

    findings: Sequence[str]
    warnings: Sequence[str]

    def common(self, other: Said) -> Said:
        """Return what both have."""
        return Said(*([one for one in mine if one in others] for mine, others in zip(self, other, strict=True)))


_NOTHING: Final = Said((), ())


class _Uncounted(NamedTuple):
    """The lines with a placeholder of what an answer lacks, and their keys or commands."""

    places: set[Place]
    names: set[str]


class StandIns:
    """Judges answers that lack facts, by the built-in rules."""

    def __init__(self, catalogue: Catalogue, sources: Sources) -> None:
        self._catalogue = catalogue
        self._sources = sources
        self._judge = Judge(Tools.none(), catalogue)  # a program may say no line, and it quotes the value
        self._last_uncounted: tuple[tuple[Layers, tuple[str, ...]], _Uncounted] | None = None
        self._apart = {  # the formats in which a group may be a part of an answer
            document.key.format
            for document in catalogue.documents.values()
            if document.key.kind is Kind.MACHINE or document.control.overlay is not None
        }

    def said(self, trial: CheckCase) -> Said:
        """Return what is said to the answer of a case that lacks facts. Nothing for a Jinja template, where any line
        may depend on them, and where no values fill its placeholders."""
        try:
            facts = completed_facts(self._catalogue, trial.facts, self._sources)
            request = selection_request(facts, trial.extensions, trial.assumed)
            return self._said(trial, select(self._catalogue, request), facts)
        except AnswerError:
            return _NOTHING

    def said_alone(self, group: Document) -> Said:
        """Return the same about a group that selects by ``match``. Nothing where it may be a part of an answer: below a
        machine's document or an overlay, as an overlay, or as a file that another one requests."""
        is_requested = any(criterion.label in _REQUESTED_BY for criterion in group.control.match)
        if is_requested or group.key.format in self._apart:
            return _NOTHING
        try:
            selection = Selection(self._catalogue.chain(group), group=group)
            trial = CheckCase(str(group.key), "", group.key.format, group)
            return self._said(trial, selection, trial.facts)
        except AnswerError:
            return _NOTHING

    def _said(self, trial: CheckCase, selection: Selection, facts: Facts) -> Said:
        if any(layer.control.is_jinja for layer in selection.layers):
            return _NOTHING
        prepared = prepared_answer(selection.layers, may_be_blank=True)
        values = Values(selection, facts, self._sources, self._catalogue)
        lacking = tuple(sorted({one for labels in labels_needed(prepared) for one in labels if not _has(values, one)}))
        if len(lacking) > _MOST:
            return _NOTHING
        kinds = {label: kind_of(label) for label in lacking} | _kinds_by_filters(prepared)
        said: Said | None = None
        for form in (_NAME, _ADDRESS, _SMALL, _LARGE):
            told = [
                (label, _TYPED.get(kinds[label], form).format(at)) for at, label in enumerate(lacking, _FIRST_NUMBER)
            ]
            try:
                one = self._said_once(replace(trial, told=(*trial.told, *told)), selection, prepared, lacking)
            except AnswerError:  # a filter takes no such value
                continue
            said = one if said is None else said.common(one)
            if not said.findings:
                break
        return said or _NOTHING

    def _said_once(self, case: CheckCase, selection: Selection, prepared: Prepared, lacking: tuple[str, ...]) -> Said:
        facts = completed_facts(self._catalogue, case.facts, self._sources)
        values = Values(selection, facts, self._sources, self._catalogue)
        body = filled(prepared, selection, values)
        answer = Answer(body, selection, FORMATS[case.extension], row=facts.row, values=values)
        verdict = self._judge.verdict(answer, lambda: known_values(self._catalogue, answer, case.facts, self._sources))
        if not verdict.findings and not verdict.warnings:
            return _NOTHING
        places, names = self._uncounted(selection.layers, lacking)
        return Said(
            *(
                self._judge.placed(tuple(one for one in remarks if not _is_about(one, names)), answer, but_at=places)
                for remarks in (verdict.findings, verdict.warnings)
            )
        )

    def _uncounted(self, layers: Layers, labels: tuple[str, ...]) -> _Uncounted:
        """Return what does not count. That of the last layers is kept: many machines have the same."""
        if self._last_uncounted is None or self._last_uncounted[0] != (layers, labels):
            is_text = layers[-1].family.name == "text"
            uncounted = _Uncounted(set(), set())
            for leaf, place in naming(layers, labels):
                uncounted.names.add(_command(leaf) if is_text else _key(leaf))
                if place is not None:
                    uncounted.places.add(place)
            self._last_uncounted = (layers, labels), uncounted
        return self._last_uncounted[1]


def _kinds_by_filters(prepared: Prepared) -> dict[str, str]:
    """Return what the first filter that tells it says of each label."""
    found: dict[str, str] = {}
    for slot in prepared.slots:
        for placeholder in slot.template.parts:
            if isinstance(placeholder, Placeholder):
                kind = next((_OF_FILTERS[name] for name, _ in placeholder.filters if name in _OF_FILTERS), "")
                for label in placeholder.labels if kind else ():
                    found.setdefault(label, kind)
    return found


def _command(line: Leaf) -> str:
    """Return the command that a line of a text begins with, case-folded; empty where there is none."""
    found = _WORD.match(line.text.lstrip())
    return found[0].casefold() if found else ""


def _key(value: Leaf) -> str:
    """Return the last key above a value that is no position in a list, case-folded; empty where there is none."""
    found = (words[0].casefold() for step in reversed(value.path) if (words := _WORD.findall(step)))
    return next((key for key in found if not key.isdigit()), "")


def _is_about(finding: Finding, names: Collection[str]) -> bool:
    """Return whether a finding names one of some keys or commands: it may compare another line with theirs."""
    return not {word.casefold() for word in _WORD.findall(finding.message)}.isdisjoint(names)


def _has(values: Values, label: str) -> bool:
    """Return whether a label has a value. Raises `CannotFill` for a secret that is missing."""
    try:
        return values.first(label) is not None
    except CannotFill as error:
        if not error.missing:
            raise
        return False
