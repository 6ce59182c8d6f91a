"""The reasoning behind an answer, or behind its absence, step by step for a person (``answerd render --why``).

Every claim that `answerd.answers.select` examines is examined here with the same functions: `Question.holds_for`, the
`rank` of a claim, the catalogue's indexes. The outcome is not computed here: it is the result of `resolve`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from answerd.answers.catalogue import Catalogue, GroupClaim
from answerd.answers.compose import once_of
from answerd.answers.gates import refusal_sentence
from answerd.answers.near_misses import near_macs
from answerd.answers.provenance import needing
from answerd.answers.ranking import Rank, asks_for, join_shortened, rank, request_has, shortened
from answerd.answers.resolve import Answer, resolve
from answerd.answers.select import Question, Selection, question_of, select
from answerd.answers.sources import NO_SOURCES, Sources
from answerd.documents import Document
from answerd.errors import AnswerError, CannotFill, NotClaimed, UnreadableClaim
from answerd.facts import Facts
from answerd.formats.control import Control, Criterion
from answerd.formats.family import Once, Path
from answerd.identity import Kind, brief, identifier_fault, printable

MOST_PATHS = 10
"""Paths of one ``unset`` or ``append`` that are named."""

MOST_MATCHES = 50
"""Groups that select by ``match`` and do not hold, up to which each is listed."""

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
    assumed: Collection[Document] = (),
    *,
    sources: Sources = NO_SOURCES,
) -> Reasoning:
    """Return the reasoning about a request. Takes the arguments of `resolve`. Never raises `AnswerError`."""
    acceptable = facts.extensions if extensions is None else extensions
    outcome: Answer | AnswerError
    try:
        outcome = resolve(catalogue, facts, extensions, assumed, sources=sources)
    except AnswerError as error:
        outcome = error
    try:
        facts, row_steps = _with_row(catalogue, facts)
    except AnswerError as error:
        steps = [*_request(facts), Step("row", f"no answer: {error.reason}"), Step("answer", f"none: {error.reason}")]
        return Reasoning(tuple(steps), outcome)
    if sources.gates is not None:
        facts.state_source = sources.gates.state
    steps = [*_request(facts), *row_steps, _formats(facts, acceptable, by_name=extensions is not None)]
    considered = _Considered(catalogue, question_of(facts, acceptable, assumed))
    steps += considered.steps
    if facts.side_file and isinstance(considered.outcome, NotClaimed | UnreadableClaim):
        steps.append(Step("side file", f"no document names {facts.side_file}: what follows is asked as for user-data"))
        considered = _Considered(catalogue, Question(facts.asking_for_user_data(), acceptable, assumed))
        steps += considered.steps
    steps += _layers(considered.outcome)
    if isinstance(considered.outcome, Selection):
        steps += _install(catalogue, considered.outcome, facts, sources)
    if isinstance(outcome, CannotFill) and isinstance(considered.outcome, Selection):
        places = dict.fromkeys(map(str, needing(considered.outcome.layers, outcome.label)))
        steps += [Step("placeholder", f"{place} needs the fact {brief(outcome.label)!r}") for place in places]
    if isinstance(outcome, NotClaimed) or (isinstance(outcome, Answer) and outcome.selection.default):
        steps += [Step("similar", sentence) for sentence in near_macs(catalogue, facts)]
    steps.append(Step("answer", f"none: {outcome.reason}" if isinstance(outcome, AnswerError) else outcome.composition))
    return Reasoning(tuple(steps), outcome)


def _install(catalogue: Catalogue, selection: Selection, facts: Facts, sources: Sources) -> Iterator[Step]:
    """Yield the decision of the states of installs about an answer with ``once``."""
    once = once_of(selection.layers)
    if once is None or once is Once.OFF or sources.gates is None:
        return
    deciding = next(layer for layer in reversed(selection.layers) if layer.control.once is not None)
    try:
        asking = sources.gates.ask(catalogue, selection, facts, once, without_start=True)
        state = sources.gates.state(facts)
    except AnswerError as error:
        yield Step("install", f"once in {deciding.key}, and no answer: {error.reason}")
        return
    refused = refusal_sentence(asking) if asking.decision.refusal is not None else "open"
    details = (f"the record is called {brief(asking.visitor.name or '')}", f"state {state}, {ASSUMED}: {refused}")
    yield Step("install", f"once in {deciding.key}: the gate of the {asking.asked.gate}", details)


def _with_row(catalogue: Catalogue, facts: Facts) -> tuple[Facts, list[Step]]:
    """Return the facts with those of the request's row, and the steps about the row. Raises `AnswerError`."""
    inventory = catalogue.inventory
    if inventory is None:
        return facts, []
    known = inventory.facts(facts)
    if known.row is None:
        return facts, [Step("row", "no row of the inventory has one of these identities")]
    columns = ", ".join(map(shortened, known.row.values()))
    sentence = f"{inventory.place(known.row)} is the row of this machine: its values count for {columns}"
    found = [identity for identity in known.row.identities() if identity in facts.identities]
    return known, [Step("row", sentence, (f"found by {join_shortened(found)}",))]


def _request(facts: Facts) -> Iterator[Step]:
    if not facts.labels:
        yield Step("facts", "none: the request says nothing but the names it is asked with")
    for label, values in facts.labels.items():
        yield Step("facts", f"{shortened(label)} = {', '.join(shortened(value) for value in values)}")
    if not facts.identities:
        yield Step("identities", "none: no machine document and no group's members can claim this request")
    for identity, sent in facts.identities.items():
        yield Step("identities", identity if identity == sent else f"{identity}, sent as {shortened(sent)}")


def _formats(facts: Facts, acceptable: Sequence[str], *, by_name: bool) -> Step:
    formats = ", ".join(acceptable)
    if by_name:
        return Step("formats", f"{formats}: asked for by name")
    if facts.word is None:
        return Step("formats", f"{formats}: no segment of the path asks for a format")
    return Step("formats", f"{formats}: the path segment {shortened(facts.word)!r} asks for that")


def _layers(outcome: Selection | AnswerError) -> Iterator[Step]:
    if isinstance(outcome, Selection):
        for height, layer in enumerate(outcome.layers, 1):
            yield Step("layers", f"{height}. {document_and_source(layer)}", tuple(_what_it_does(layer.control)))


def _what_it_does(control: Control) -> Iterator[str]:
    """Yield the effects of a layer's control keys on the layers below it."""
    if control.unset:
        yield f"takes away what lies below it at {join_shortened(list(map(_keys, control.unset)), MOST_PATHS)}"
    if control.append:
        yield f"adds to the arrays below it at {join_shortened(list(map(_keys, control.append)), MOST_PATHS)}"


def _keys(path: Path) -> str:
    """Return the keys of a path, without the values of attributes by which an XML path may distinguish elements."""
    return re.sub(r"\[.*?\]", "[…]", ".".join(path))


def _quoted(group: str) -> str:
    """Return the quoted name of a group, without the text where it is no valid name: it may be a secret."""
    return "what is no group's name" if identifier_fault(Kind.GROUP, group) else f'"{group}"'


def document_and_source(document: Document) -> str:
    """Return a document and where it is stored: ``machine "98fa9b50d810" (toml), 98fa9b50d810.toml``."""
    return f"{document.key}, {printable(document.raw.source)}" if document.raw.source else str(document.key)


@dataclass(frozen=True, slots=True)
class _Claim:
    """A claim that is considered. ``refused``: why it cannot win, where it cannot."""

    document: Document
    match: tuple[Criterion, ...]
    refused: str | None


class _Considered:
    """A question to a catalogue: the answer of `select`, and in ``steps`` each claim that it had to examine."""

    def __init__(self, catalogue: Catalogue, question: Question) -> None:
        self.catalogue = catalogue
        self.question = question
        self.facts = question.facts
        self.steps: list[Step] = []
        self.outcome: Selection | AnswerError
        try:
            self.outcome = select(catalogue, question)
        except AnswerError as error:
            self.outcome = error
        self._examine()

    def _add_step(self, heading: str, sentence: str, details: Iterable[str] = ()) -> None:
        self.steps.append(Step(heading, sentence, tuple(details)))

    def _examine(self) -> None:
        """Examine the claims in the order of docs/selection.md#which-documents-answer."""
        if self.question.only_naming:
            heading = "rules" if self.facts.asks_for_rules else "side file"
            self._add_step(heading, f"only documents whose match names {self.question.only_naming!r} may claim it")
        for reason in self.catalogue.unlisted:
            self._add_step("unreadable", f"{reason}: any group or row might claim this request")
        machine = self._machines()
        if machine and machine.control.extends is not None:
            name = _quoted(machine.control.extends)
            self._add_step("group", f"the machine itself extends {name}: no other group is looked at")
            self._overlays()
            return
        extensions = (machine.key.format,) if machine else self.question.extensions
        if not self._groups(extensions):
            self._unreadable_groups(extensions)
        if machine is None:
            self._defaults()
        self._overlays()

    def _overlays(self) -> None:
        """Add a step for each overlay: that it applies, or why not."""
        outcome = self.outcome
        answered = outcome.layers[-1].key.format if isinstance(outcome, Selection) else None
        named = {
            claim.document: None
            for identity in self.facts.identities
            for claim in self.catalogue.overlay_members.get(identity, ())
        }
        overlays = [claim for claim in self.catalogue.claims.values() if claim.overlay is not None]
        shown = 0
        for claim in sorted(overlays, key=lambda claim: (claim.overlay, claim.document.key)):
            document = claim.document
            if claim.members and document not in named:
                refused: str | None = "its members are none of these identities"
            elif answered is None:
                refused = self._refusal(document, claim.match, self.question.extensions)
            else:
                refused = self._refusal(document, claim.match, (answered,))
            shown += refused is not None
            if refused is not None and shown > MOST_MATCHES:
                continue
            holds = "applies" if answered else "holds, but makes no answer by itself"
            fate = holds if refused is None else f"does not apply: {refused}"
            sentence = f"{claim.overlay}. {document_and_source(document)}: {fate}"
            self._add_step("overlay", sentence, self._details(_Claim(document, claim.match, refused)))
        if shown > MOST_MATCHES:
            self._add_step("overlay", f"{shown - MOST_MATCHES} more do not apply")

    def _machines(self) -> Document | None:
        documents = [document for name in self.facts.identities for document in self.catalogue.machines.get(name, ())]
        claims = [
            _Claim(
                document,
                document.control.match,
                self._refusal(document, document.control.match, self.question.extensions),
            )
            for document in documents
        ]
        if not claims:
            self._add_step("machine", "no machine document has one of these identities")
        best = self._judge("machine", claims, self.question.extensions)
        return best.document if best else None

    def _groups(self, extensions: tuple[str, ...]) -> bool:
        """Return whether a group claims through ``members``; then groups that only select are not examined."""
        naming = [claim for identity in self.facts.identities for claim in self.catalogue.members.get(identity, ())]
        by_members = self._judge(
            "group by members", [self._group_claim(claim, extensions) for claim in naming], extensions
        )
        selecting = [
            claim
            for claim in self.catalogue.claims.values()
            if claim.match and not claim.members and claim.overlay is None and claim.document.key.format in extensions
        ]
        if by_members:
            if selecting:
                self._add_step(
                    "group by match", "not looked at: a claim through members beats any claim by match alone"
                )
            return True
        claims = [self._group_claim(claim, extensions) for claim in selecting]
        refused = [claim for claim in claims if claim.refused]
        shown = [claim for claim in claims if not claim.refused] + refused[:MOST_MATCHES]
        best = self._judge("group by match", shown, extensions)
        if len(refused) > MOST_MATCHES:
            self._add_step("group by match", f"{len(refused) - MOST_MATCHES} more do not hold")
        if not (naming or claims):
            self._add_step("group", "no group names one of these identities, and none selects by match")
        elif not best:
            self._add_step("group", "none claims the request")
        return False

    def _group_claim(self, claim: GroupClaim, extensions: tuple[str, ...]) -> _Claim:
        return _Claim(claim.document, claim.match, self._refusal(claim.document, claim.match, extensions))

    def _refusal(self, document: Document, match: tuple[Criterion, ...], extensions: Sequence[str]) -> str | None:
        """Return why a document that names the request may not claim it; None when it may."""
        if document.is_named_like_an_alias:
            return "its name is a URL segment that asks for a format, so it claims nothing"
        if document.key.format not in extensions:
            return f"its format is not one of {', '.join(extensions)}"
        if not self.question.holds_for(document, match):
            if self.question.only_naming and all(criterion.label != self.question.only_naming for criterion in match):
                return f"its match does not name {self.question.only_naming!r}"
            return "its match does not hold"
        return None

    def _judge(self, heading: str, claims: Sequence[_Claim], extensions: Sequence[str]) -> _Claim | None:
        """Record each claim and its result. Return the best of them, whether it is valid or not."""
        holding = [claim for claim in claims if not claim.refused]
        best = min(holding, key=lambda claim: _rank(claim, extensions), default=None)
        for claim in claims:
            if claim.refused:
                fate = f"does not claim the request: {claim.refused}"
            elif best is None or claim is best:
                fate = "is the best claim" if len(holding) > 1 else "is the only claim"
            else:
                fate = f"loses to {best.document.key}: {_loses_by(_rank(claim, extensions), _rank(best, extensions))}"
            self._add_step(heading, f"{document_and_source(claim.document)}: {fate}", self._details(claim))
        return best

    def _details(self, claim: _Claim) -> Iterator[str]:
        """Yield each criterion of a claim with the request's values for it, and the problems of the document."""
        for criterion in claim.match:
            if claim.document in self.question.assumed:
                verdict = "counts as holding"
            else:
                verdict = "holds" if criterion.holds(self.facts.forms(criterion.label)) else "fails"
            yield f"{asks_for(criterion)} {verdict}: {request_has(criterion.label, self.facts)}"
        for problem in claim.document.problems[:1]:
            yield f"it is broken, so what it claims gets no answer: {problem}"

    def _unreadable_groups(self, extensions: Collection[str]) -> None:
        for group in self.catalogue.unreadable:
            if group.key.format in extensions:
                self._add_step(
                    "unreadable", f"{document_and_source(group)} might claim this request: {group.problems[0]}"
                )

    def _defaults(self) -> None:
        chosen = self.outcome.default if isinstance(self.outcome, Selection) else None
        for extension in self.question.extensions:
            for default in self.catalogue.defaults.get(extension, ()):
                if default is chosen:
                    fate = "answers, as nothing else claims the request"
                elif self.question.without_default:
                    fate = f"is no answer to {shortened(self.facts.side_file or self.facts.segments[-1])}"
                elif chosen or (isinstance(self.outcome, Selection) and self.outcome.group):
                    fate = "is not needed"
                else:
                    fate = "would answer"
                self._add_step("default", f"{document_and_source(default)} {fate}")
        if not any(extension in self.catalogue.defaults for extension in self.question.extensions):
            self._add_step("default", f"there is none in {', '.join(self.question.extensions)}")


def _rank(claim: _Claim, extensions: Sequence[str]) -> Rank:
    return rank(claim.document.key, claim.match, extensions)


def _loses_by(loser: Rank, winner: Rank) -> str:
    return next(
        (why for why, low, high in zip(_LOSES_BY, loser, winner, strict=True) if low != high),
        "it has the same name and format",
    )
