"""The reasoning behind an answer, or behind its absence, step by step for a person (``answerd render --why``).

`answerd.answers.select` records the choices that it makes; this module puts them into sentences. The outcome is the
result of `resolve`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from answerd.answers.catalogue import Catalogue
from answerd.answers.compose import once_of
from answerd.answers.explain import needing
from answerd.answers.gates import refusal_sentence
from answerd.answers.near_misses import asks_for, near_names, request_has
from answerd.answers.resolve import Answer, resolve
from answerd.answers.secret_names import redacted_cell
from answerd.answers.select import Considered, Rank, Selection, SelectionRequest, rank, select, selection_request
from answerd.answers.sources import NO_SOURCES, Sources
from answerd.documents import Document
from answerd.errors import AnswerError, CannotFill, NotClaimed, UnreadableClaim
from answerd.facts import Facts
from answerd.formats.control import Control
from answerd.formats.family import Once, Path
from answerd.formats.patterns import Criterion
from answerd.identity import Kind, folded, identifier_fault
from answerd.installs.sentences import kind_and_text
from answerd.shared_values import HARDWARE
from answerd.short_texts import brief, join_brief, printable

MOST_PATHS = 10
"""Paths of one ``unset`` or ``append`` that are named."""

MOST_MATCHES = 50
"""Groups that select by ``match`` and do not hold, up to which each is listed."""

_LONGEST_NAMES = 200
"""Characters of the identities of a machine that are shown."""

NEEDS = "placeholder"
"""The heading of the steps that name the places which need a fact that the request lacks."""

ASSUMED = "which is assumed, because no machine asks"
"""Said of the state of an install: whoever tries an answer chooses it."""

_LOSES_BY = ("it has fewer criteria", "its name comes later", "its format comes later")
"""Why a claim loses to another, by the first part of their ranks that differs."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was considered: its ``heading``, the sentence, and lines of detail below it."""

    heading: str
    sentence: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reasoning:
    """All steps in their order, and the outcome: an answer, or the reason why there is none."""

    steps: tuple[Step, ...]
    outcome: Answer | AnswerError

    def lines(self) -> list[str]:
        """Return lines for a console: each heading once, its steps aligned below one another."""
        width = max((len(step.heading) for step in self.steps), default=0)
        lines: list[str] = []
        before = ""
        for step in self.steps:
            heading = step.heading if step.heading != before else ""
            lines.append(f"{heading:{width}}  {step.sentence}".rstrip())
            lines += [f"{'':{width}}    {detail}" for detail in step.details]
            before = step.heading
        return lines


def reasoning(
    catalogue: Catalogue,
    facts: Facts,
    extensions: tuple[str, ...] | None = None,
    *,
    sources: Sources = NO_SOURCES,
) -> Reasoning:
    """Return the reasoning about a request. Takes the arguments of `resolve`. Never raises `AnswerError`."""
    acceptable = facts.extensions if extensions is None else extensions
    outcome: Answer | AnswerError
    try:
        outcome = resolve(catalogue, facts, extensions, sources=sources)
    except AnswerError as error:
        outcome = error.with_traceback(None)  # which leads to this frame: a cycle
    try:
        facts, row_steps = _with_row(catalogue, facts)
    except AnswerError as error:
        steps = [*_request(facts), Step("row", f"no answer: {error.reason}"), Step("answer", f"none: {error.reason}")]
        return Reasoning(tuple(steps), outcome)
    if sources.gates is not None:
        facts.state_source = partial(sources.gates.state, catalogue)
    steps = [*_request(facts), *row_steps, _formats(facts, acceptable, by_name=extensions is not None)]
    considered = _Selecting(catalogue, selection_request(facts, acceptable))
    steps += considered.steps
    if facts.side_file and isinstance(considered.outcome, NotClaimed | UnreadableClaim):
        steps.append(Step("side file", f"no document names {facts.side_file}: what follows is asked as for user-data"))
        considered = _Selecting(catalogue, SelectionRequest(facts.asking_for_user_data(), acceptable))
        steps += considered.steps
    steps += _layers(considered.outcome)
    if isinstance(considered.outcome, Selection):
        steps += _install(catalogue, considered.outcome, facts, sources)
    if isinstance(outcome, CannotFill) and isinstance(considered.outcome, Selection):
        steps += _empty_cell(catalogue, facts, outcome.label)
        places = dict.fromkeys(map(str, needing(considered.outcome.layers, outcome.label)))
        steps += [Step(NEEDS, f"{place} needs the fact {brief(outcome.label)!r}") for place in places]
    if isinstance(outcome, NotClaimed) or (isinstance(outcome, Answer) and outcome.selection.default):
        steps += [Step("similar", sentence) for sentence in near_names(catalogue, facts)]
    steps.append(Step("answer", f"none: {outcome.reason}" if isinstance(outcome, AnswerError) else outcome.composition))
    return Reasoning(tuple(steps), outcome)


def _empty_cell(catalogue: Catalogue, facts: Facts, label: str) -> Iterator[Step]:
    """Yield the row of the machine where it has a column for a fact that is missing: there it is filled in."""
    row, wanted = facts.row, folded(label)
    if row is not None and catalogue.inventory is not None and wanted in row.layout.labels:
        columns = " and ".join(repr(brief(column)) for column in row.layout.columns_of(wanted))
        place = catalogue.inventory.place(row)
        yield Step(NEEDS, f"{place} has no value for {brief(wanted)!r}: fill in its column {columns}")


def _install(catalogue: Catalogue, selection: Selection, facts: Facts, sources: Sources) -> Iterator[Step]:
    """Yield the decision of the states of installs about an answer with ``once``."""
    once = once_of(selection.layers)
    if once is None or once is Once.OFF or sources.gates is None:
        return
    deciding = next(layer for layer in reversed(selection.layers) if layer.control.once is not None)
    try:
        asking = sources.gates.ask(catalogue, selection, facts, once, without_start=True)
        state = sources.gates.state(catalogue, facts)
    except AnswerError as error:
        yield Step("install", f"once in {deciding.key}, and no answer: {error.reason}")
        return
    refused = refusal_sentence(asking) if asking.decision.refused is not None else "open"
    names = ", ".join(kind_and_text(text) for text in asking.asked.names.values())
    details = (f"the machine is {brief(names, _LONGEST_NAMES)}", f"state {state}, {ASSUMED}: {refused}")
    yield Step("install", f"once in {deciding.key}: the gate of the {asking.gate}", details)


def _with_row(catalogue: Catalogue, facts: Facts) -> tuple[Facts, list[Step]]:
    """Return the facts with those of the request's row, and the steps about the row. Raises `AnswerError`."""
    inventory = catalogue.inventory
    if inventory is None:
        return facts, []
    known = inventory.facts(facts)
    if known.row is None:
        return known, [Step("row", "no row of the inventory has one of these identities")]
    columns = ", ".join(map(brief, known.row.values()))
    sentence = f"{inventory.place(known.row)} is the row of this machine: its values count for {columns}"
    found = [identity for identity in known.row.identities() if identity in facts.identities]
    return known, [Step("row", sentence, (f"found by {join_brief(found)}",))]


def _request(facts: Facts) -> Iterator[Step]:
    if not facts.labels:
        yield Step("facts", "none: the request says nothing but the names it is asked with")
    for label, values in facts.labels.items():
        yield Step("facts", f"{brief(label)} = {', '.join(brief(redacted_cell(label, value)) for value in values)}")
    if not facts.identities:
        yield Step("identities", "none: no machine document and no group's members can claim this request")
    for label in HARDWARE:
        if facts.said.hides(label):
            yield Step("facts", f"no {label}: many machines have the value that the request sends")
    for identity, sent in facts.identities.items():
        yield Step("identities", identity if identity == sent else f"{identity}, sent as {brief(sent)}")


def _formats(facts: Facts, acceptable: Sequence[str], *, by_name: bool) -> Step:
    formats = ", ".join(acceptable)
    if by_name:
        return Step("formats", f"{formats}: asked for by name")
    if facts.path.word is None:
        return Step("formats", f"{formats}: no segment of the path asks for a format")
    return Step("formats", f"{formats}: the path segment {brief(facts.path.word)!r} asks for that")


def _layers(outcome: Selection | AnswerError) -> Iterator[Step]:
    if isinstance(outcome, Selection):
        for height, layer in enumerate(outcome.layers, 1):
            yield Step("layers", f"{height}. {document_and_source(layer)}", tuple(_what_it_does(layer.control)))


def _what_it_does(control: Control) -> Iterator[str]:
    """Yield the effects of a layer's control keys on the layers below it."""
    if control.unset:
        yield f"takes away what lies below it at {join_brief(list(map(_keys, control.unset)), MOST_PATHS)}"
    if control.append:
        yield f"adds to the arrays below it at {join_brief(list(map(_keys, control.append)), MOST_PATHS)}"


def _keys(path: Path) -> str:
    """Return the keys of a path, without the values of attributes by which an XML path may distinguish elements."""
    return re.sub(r"\[.*?\]", "[…]", ".".join(path))


def _quoted(group: str) -> str:
    """Return the quoted name of a group, without the text where it is no valid name: it may be a secret."""
    return "what is no group's name" if identifier_fault(Kind.GROUP, group) else f'"{group}"'


def document_and_source(document: Document) -> str:
    """Return a document and where it is stored: ``machine "98fa9b50d810" (toml), 98fa9b50d810.toml``."""
    return f"{document.key}, {printable(document.raw.source)}" if document.raw.source else str(document.key)


class _Selecting:
    """A selection: the answer of `select`, and in ``steps`` a sentence for each claim that it had to
    examine."""

    def __init__(self, catalogue: Catalogue, request: SelectionRequest) -> None:
        self.catalogue = catalogue
        self.request = request
        self.facts = request.facts
        self.steps: list[Step] = []
        self.outcome: Selection | AnswerError
        request.trace = []
        try:
            self.outcome = select(catalogue, request)
        except AnswerError as error:
            self.outcome = error.with_traceback(None)
        if request.only_naming:
            heading = "rules" if self.facts.asks_for_xml_parts else "side file"
            self._add(
                heading, f"only documents whose match names {' or '.join(map(repr, request.only_naming))} may claim it"
            )
        self.trace = {considered.step: considered for considered in request.trace}
        for considered in request.trace:
            _SENTENCES[considered.step](self, considered)

    def _add(self, heading: str, sentence: str, details: Iterable[str] = ()) -> None:
        self.steps.append(Step(heading, sentence, tuple(details)))

    def _machine(self, considered: Considered) -> None:
        if not considered.claims:
            self._add("machine", "no machine document has one of these identities")
        self._judge("machine", considered)

    def _extends(self, considered: Considered) -> None:
        machine, _ = considered.claims[0]
        name = _quoted(machine.control.extends or "")
        self._add("group", f"the machine itself extends {name}: no other group is looked at")

    def _members(self, considered: Considered) -> None:
        if self._judge("group by members", considered) and "match" not in self.trace:
            self._add("group by match", "not looked at: a claim through members beats any claim by match alone")

    def _match(self, considered: Considered) -> None:
        best = self._judge("group by match", considered)
        if not (considered.claims or self.trace["members"].claims):
            self._add("group", "no group names one of these identities, and none selects by match")
        elif not best:
            self._add("group", "none claims the request")

    def _unreadable(self, considered: Considered) -> None:
        for group, _ in considered.claims:
            self._add("unreadable", f"{document_and_source(group)} might claim this request: {group.problems[0]}")

    def _default(self, considered: Considered) -> None:
        chosen = self.outcome.default if isinstance(self.outcome, Selection) else None
        for default, _ in considered.claims:
            if default is chosen:
                fate = "answers, as nothing else claims the request"
            elif not self.request.may_have_default(default.key.format):
                fate = f"is no answer to {brief(self.facts.side_file or self.facts.path.segments[-1])}"
            else:
                fate = "is not needed" if chosen else "would answer"
            self._add("default", f"{document_and_source(default)} {fate}")
        if not considered.claims:
            self._add("default", f"there is none in {', '.join(considered.extensions)}")

    def _overlays(self, considered: Considered) -> None:
        applies = "applies" if isinstance(self.outcome, Selection) else "holds, but makes no answer by itself"
        for overlay, match, refused in self._shown("overlay", considered):
            fate = applies if refused is None else f"does not apply: {refused}"
            number = self.catalogue.claims[overlay].overlay
            sentence = f"{number}. {document_and_source(overlay)}: {fate}"
            self._add("overlay", sentence, self._details(overlay, match))

    def _judge(self, heading: str, considered: Considered) -> Document | None:
        """Add each claim and its result. Return the best of them, whether it is valid or not."""
        shown = self._shown(heading, considered)
        holding = [(document, match) for document, match, refused in shown if refused is None]
        ranks = {document: rank(document.key, match, considered.extensions) for document, match in holding}
        best = min(ranks, key=ranks.__getitem__, default=None)
        for document, match, refused in shown:
            if refused:
                fate = f"does not claim the request: {refused}"
            elif best is None or document is best:
                fate = "is the best claim" if len(holding) > 1 else "is the only claim"
            else:
                fate = f"loses to {best.key}: {_loses_by(ranks[document], ranks[best])}"
            self._add(heading, f"{document_and_source(document)}: {fate}", self._details(document, match))
        return best

    def _shown(self, heading: str, considered: Considered) -> list[tuple[Document, tuple[Criterion, ...], str | None]]:
        """Return the claims with the reason why each may not claim, without those of many that do not hold."""
        shown, refused = [], 0
        for document, match in considered.claims:
            why_not = self._refusal(document, match, considered)
            refused += why_not is not None
            if why_not is None or refused <= MOST_MATCHES:
                shown.append((document, match, why_not))
        if refused > MOST_MATCHES:
            self._add(heading, f"{refused - MOST_MATCHES} more do not hold")
        return shown

    def _refusal(self, document: Document, match: tuple[Criterion, ...], considered: Considered) -> str | None:
        if considered.step == "overlays":
            claim = self.catalogue.claims[document]  # that of its last readable version, where it is broken now
            if not (claim.members or claim.match):
                return "it has neither members nor match"
            if claim.members and self.facts.identities.keys().isdisjoint(claim.members):
                return "its members are none of these identities"
        return self.request.refusal(document, match, considered.extensions)

    def _details(self, document: Document, match: Iterable[Criterion]) -> Iterator[str]:
        """Yield each criterion of a claim with the request's values for it, and the problems of the document."""
        for criterion in match:
            if document in self.request.assumed:
                verdict = "counts as holding"
            else:
                verdict = "holds" if criterion.holds(self.facts.forms(criterion.label)) else "fails"
            yield f"{asks_for(criterion)} {verdict}: {request_has(criterion.label, self.facts)}"
        for problem in document.problems[:1]:
            yield f"it is broken, so what it claims gets no answer: {problem}"


_SENTENCES: dict[str, Callable[[_Selecting, Considered], None]] = {
    "machine": _Selecting._machine,
    "extends": _Selecting._extends,
    "members": _Selecting._members,
    "match": _Selecting._match,
    "unreadable": _Selecting._unreadable,
    "default": _Selecting._default,
    "overlays": _Selecting._overlays,
}
"""The sentences about each kind of choice."""


def _loses_by(loser: Rank, winner: Rank) -> str:
    return next(
        (why for why, low, high in zip(_LOSES_BY, loser, winner, strict=True) if low != high),
        "it has the same name and format",
    )
