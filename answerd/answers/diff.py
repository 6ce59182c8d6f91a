"""Compare the answers of two answer sets, and show how they differ (``answerd diff``).

Every answer that can be tried without a request is made from both sets, as ``answerd check`` makes them; a placeholder
that only a request can fill stays in the answer. Pure: needs two catalogues and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any, NoReturn

from answerd.answers.affected import Affected, changed_documents
from answerd.answers.answer_secrets import named_values
from answerd.answers.cases import CheckCase, check_cases, machines_told, row_cases, unaffected_names
from answerd.answers.catalogue import Catalogue
from answerd.answers.compose import MOST_LOOKED_AT, Layers, PassingAnswers, prepared_answer
from answerd.answers.last_words import NEVER_TOLD, NO_WORDS, LastWords, WordsKnown, no_words, tried_with_words
from answerd.answers.line_diff import unified
from answerd.answers.missing_labels import labels_needed
from answerd.answers.redaction import redacted_pair, secrets_of
from answerd.answers.select import Selection, SelectionRequest, select
from answerd.answers.sources import FINGERPRINT, REPORT, Sources, Values
from answerd.documents import Document, NameInKind
from answerd.errors import AnswerError, CannotFill
from answerd.facts import STATE, Facts
from answerd.formats.family import Once, Prepared
from answerd.formats.filters import LARGEST_ANSWER, Lookup, too_large
from answerd.formats.template import SECRETS
from answerd.identity import identity_of
from answerd.installs.states import State
from answerd.inventory.row import Row
from answerd.short_texts import brief, join_brief

Progress = Callable[[int, int], None]


def _as_written(label: str) -> NoReturn:
    raise CannotFill("a difference shows it as it is written", label, missing=True)


_UNFILLED = Sources(
    secret=lambda name, _: _as_written(SECRETS + name),
    report=lambda *_: _as_written(REPORT),
    state=lambda *_: _as_written(STATE),
    certificate=lambda: _as_written(FINGERPRINT),
)
"""A difference is between documents, so values that the service fills in stay in the answer as placeholders."""


@dataclass(frozen=True, slots=True)
class Side:
    """The answer of one set: ``text``, or the ``reason`` why there is none. ``layers`` are its documents, lowest first;
    ``named`` are the values that facts named like a secret have in it. ``lacking``, of a first answer, are the labels
    for which there is a value only where the machine's request has one."""

    text: str | None
    reason: str = ""
    layers: tuple[Document, ...] = ()
    named: Collection[str] = ()
    lacking: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its documents."""
        return tuple(str(layer.key) for layer in self.layers)

    def without_text(self) -> Side:
        """Return the side with an empty text where it has one."""
        return Side(None if self.text is None else "", self.reason, self.layers, lacking=self.lacking)

    def secrets(self) -> Iterator[str]:
        """Yield what its text may hold of secrets that only its documents, or the row, name like one."""
        yield from self.named
        for layer in self.layers:
            yield from secrets_of(layer.text, layer.key.format)


@dataclass(frozen=True, slots=True)
class Difference:
    """A name in a format that is answered differently. A side is None where its set does not know the name.

    ``name`` is ``98fa9b50d810 (toml)`` or ``default (toml)``.
    """

    name: str
    identifier: str
    format: str
    before: Side | None
    after: Side | None

    @property
    def change(self) -> str:
        """``new``, ``gone`` or ``changed``."""
        if self.before is None:
            return "new"
        return "gone" if self.after is None else "changed"

    def unified(self, *, show_secrets: bool = False) -> list[str]:
        """Return a unified diff, without newlines at the ends and without the two heading lines."""
        before, after = _shown(self.before), _shown(self.after)
        if not show_secrets:
            before, after = redacted_pair(before, after, self.format, self.secrets())
        lines = unified(before.split("\n"), after.split("\n"))
        return lines or ["(secrets have changed places, or white space at the end)"]

    def without_texts(self) -> Difference:
        """Return it as far as it is told without the texts of the answers: empty ones stand in their place."""
        sides = [None if side is None else side.without_text() for side in (self.before, self.after)]
        return replace(self, before=sides[0], after=sides[1])

    def secrets(self) -> set[str]:
        """Return the secrets that its texts do not name like one by themselves."""
        return {secret for side in (self.before, self.after) if side for secret in side.secrets()}


@dataclass(frozen=True, slots=True)
class Change:
    """Differences that are the same change: their lines that begin with ``+`` or ``-`` are equal.

    ``lines`` is the unified diff of the first, including its context lines; nothing where `Changes` has no room for it.
    ``counts``: how many lines are added and how many are removed, in each answer.
    """

    differences: tuple[Difference, ...]
    lines: tuple[str, ...]
    counts: tuple[int, int]

    @property
    def first(self) -> Difference:
        """The difference whose lines are shown."""
        return self.differences[0]

    @property
    def name(self) -> str:
        """``pc-001 (toml)``, ``3 machines: a, b, c (toml)`` or ``120 machines: pc-001 … pc-120 (toml)``."""
        if len(self.differences) == 1:
            return self.first.name
        names = [difference.identifier or "default" for difference in self.differences]
        shown = ", ".join(names) if len(names) <= MOST_NAMED else f"{names[0]} … {names[-1]}"
        return f"{len(names)} machines: {shown} ({self.first.format})"


MOST_NAMED = 5
"""Machines of a change that are all named; of more, the first and the last."""


class Changes:
    """Differences as they are found, grouped by change, in the order of their first names.

    To hide secrets takes longer than to make two answers, and a changed group is the same change for each of its
    machines. So secrets are hidden in the first of those whose lines are equal before, and may hold the same of the
    secrets that other lines or documents tell.
    """

    def __init__(self, *, show_secrets: bool = False, most: int | None = None) -> None:
        """``most``: characters of all diffs together that are kept; None: all are, and the texts of the answers."""
        self._show_secrets = show_secrets
        self._room = most
        self._groups: dict[bytes, tuple[list[Difference], tuple[str, ...], tuple[int, int]]] = {}
        self._alike: dict[bytes, bytes] = {}
        self.without_lines = 0
        """Changes whose lines are not kept."""

    def add(self, difference: Difference) -> None:
        """Add the next difference."""
        lines = difference.unified(show_secrets=True)
        edits = _edits(difference, lines)
        secrets = () if self._show_secrets else sorted(_possibly_in("\n".join(edits), difference.secrets()))
        alike = _digest((*edits, "", *secrets))
        key = self._alike.get(alike)
        if key is None:
            if not self._show_secrets:
                lines = difference.unified()
                edits = _edits(difference, lines)
            key = self._alike[alike] = _digest(edits)
            if key not in self._groups:
                added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
                self._groups[key] = [], self._kept(lines), (added, removed)
        self._groups[key][0].append(difference if self._room is None else difference.without_texts())

    def _kept(self, lines: Sequence[str]) -> tuple[str, ...]:
        if self._room is not None:
            # Of a short line its object takes more than its characters.
            size = sum(max(len(line), _LEAST_OF_A_LINE) for line in lines)
            if size > self._room:
                self.without_lines += 1
                return ()
            self._room -= size
        return tuple(lines)

    def found(self) -> list[Change]:
        """Return the changes."""
        return [Change(tuple(differences), lines, counts) for differences, lines, counts in self._groups.values()]


_LEAST_OF_A_LINE = 50
"""Characters that a line of a diff counts at least."""


def _digest(parts: Iterable[str]) -> bytes:
    digest = sha256()
    for part in parts:
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return digest.digest()


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison: how many answers were compared, which differ (sorted), and notes: about those that
    could not be tried, and about how the others were. ``told``: the machines that were tried with what they last said.
    ``made``: the changes, where they were made at once, without secrets; then the differences have no texts any
    more."""

    compared: int
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]
    told: tuple[str, ...] = ()
    made: tuple[Change, ...] | None = None

    def changes(self, *, show_secrets: bool = False) -> list[Change]:
        """Return the differences, grouped by change (`Changes`)."""
        if self.made is not None:
            return [*self.made]
        changes = Changes(show_secrets=show_secrets)
        for difference in self.differences:
            changes.add(difference)
        return changes.found()

    def as_json(self, *, show_secrets: bool = False, summary: bool = False) -> dict[str, Any]:
        """Return the comparison as JSON (docs/explain.md#what-a-change-would-change); ``summary``: without diffs."""
        return {
            "compared": self.compared,
            "differences": [_difference_as_json(difference) for difference in self.differences],
            "changes": [
                {
                    "change": change.first.change,
                    "format": change.first.format,
                    "names": [difference.name for difference in change.differences],
                    "added": change.counts[0],
                    "removed": change.counts[1],
                    **({} if summary else {"diff": list(change.lines)}),
                }
                for change in self.changes(show_secrets=show_secrets)
            ],
            "notes": list(self.notes),
            "last_words": list(self.told),
        }


def _edits(difference: Difference, lines: Sequence[str]) -> tuple[str, ...]:
    """Return what differences have in common that are the same change."""
    return (difference.change, difference.format, *(line for line in lines if line[:1] in ("+", "-")))


def _possibly_in(text: str, secrets: Iterable[str]) -> frozenset[str]:
    """Return those of some secrets that may be in a part of a text, whichever way the format of the text writes them:
    of the others it does not have all words."""
    if "\\" in text or "&" in text:
        return frozenset(secrets)
    return frozenset(
        secret for secret in secrets if all(word in text for word in re.findall("[A-Za-z0-9]{2,}", secret))
    )


def _difference_as_json(difference: Difference) -> dict[str, Any]:
    return {
        "name": difference.name,
        "identifier": difference.identifier,
        "format": difference.format,
        "change": difference.change,
        "before": _side_as_json(difference.before),
        "after": _side_as_json(difference.after),
    }


def _side_as_json(side: Side | None) -> dict[str, Any] | None:
    return None if side is None else {"layers": list(side.names), "reason": side.reason or None}


def compare(
    before: Catalogue,
    after: Catalogue,
    progress: Progress | None = None,
    *,
    most: int | None = None,
    words: LastWords = NO_WORDS,
) -> Comparison:
    """Compare the answers of two sets, each name in each format once; only those that can differ are made.

    ``progress`` gets the number of compared answers and the total, and may end the comparison by an exception.
    ``most``: no more is kept than this number of characters of diffs without secrets; trees and texts of answers are
    dropped as soon as they were compared. Without it everything is kept. ``words`` are what machines last said.
    """
    affected = Affected(before, after, words)
    at_each = partial(progress, 0, 0) if progress else _nothing
    tried = [dict(_tried(catalogue, affected, at_each, words)) if affected else {} for catalogue in (before, after)]
    names = sorted(tried[0].keys() | tried[1].keys())
    unaffected = unaffected_names(after, affected, at_each, words) - tried[0].keys() - tried[1].keys()
    passing = PassingAnswers() if most is not None else None
    prepare = prepared_answer if passing is None else passing.prepared
    changes = Changes(most=most)
    differences = []
    for count, name in enumerate(names, 1):
        difference = _difference(name, before, tried[0].get(name), after, tried[1].get(name), prepare)
        if difference is not None:
            if most is not None:
                changes.add(difference)
                difference = difference.without_texts()
            differences.append(difference)
        if progress:
            progress(count, len(names))
    notes = {*_notes(before, after)}
    told = machines_told(case for cases in tried for case in cases.values() if isinstance(case, CheckCase))
    if told:
        notes.add(tried_with_words(told))
    notes.update(_lacking_notes(differences))
    if passing is not None:
        passing.end()
        if passing.refused:
            notes.add(
                f"{passing.refused:,} answers were not made: their documents have more than {MOST_LOOKED_AT:,} "
                "characters together"
            )
        if changes.without_lines:
            notes.add(f"of {changes.without_lines:,} changes the lines are left out: they are too many")
    return Comparison(
        len(names) + len(unaffected),
        tuple(differences),
        tuple(sorted(notes)),
        tuple(told),
        None if most is None else tuple(changes.found()),
    )


def machines_losing_answers(before: Catalogue, after: Catalogue, words_known: WordsKnown = no_words) -> int:
    """Return how many machines would not be answered any more, in a format in which a document claims them before, by
    any but a default. A change of nothing but what documents say takes no answer, and costs nothing here.
    ``words_known`` returns what machines last said; it is asked only for those whose words can decide."""
    if not _may_take_answers(before, after):
        return 0
    if any(changed_documents(before, after)):  # which machines these touch may depend on what any said
        words = words_known()
        affected = Affected(before, after, words)
    else:
        affected = Affected(before, after)
        words = _deciding_words(before, after, affected, words_known)
    if not affected:
        return 0
    still = {
        (identity_of(name), extension)
        for (_, extension), asked in _tried(after, affected, _nothing, words)
        if (chosen := _Chosen.by(after, asked)) is not None and chosen.is_claimed
        for name in chosen.names
    }
    losing = set()
    for (identity, extension), asked in _tried(before, affected, _nothing, words):
        chosen = _Chosen.by(before, asked)
        if chosen is not None and chosen.is_claimed:
            names = {identity_of(name) for name in chosen.names}
            if not any((name, extension) in still for name in names):
                losing.add(identity)
    return len(losing)


def _deciding_words(before: Catalogue, after: Catalogue, affected: Affected, words_known: WordsKnown) -> LastWords:
    """Return what the machines of changed rows last said, of those whose documents may be selected by it: a ``match``
    has a label of which the row has no value."""
    if affected.identities is None:
        return words_known()
    rows = (row for one in (before, after) for row in _rows_that_say_less(one, affected.identities))
    names = {name for row in rows for name in row.names}
    return words_known(names) if names else NO_WORDS


def _rows_that_say_less(catalogue: Catalogue, identities: Collection[str]) -> Iterator[Row]:
    """Yield the rows of some identities that have no value of a label which a ``match`` asks for."""
    # The documents of machines are tried as if their match held.
    asked = {criterion.label for claim in catalogue.claims.values() for criterion in claim.match} - NEVER_TOLD - {STATE}
    if not asked or catalogue.inventory is None:
        return
    for row in {row for identity in identities for row in catalogue.inventory.rows_of(identity)}:
        if not asked <= row.values().keys():
            yield row


def _may_take_answers(before: Catalogue, after: Catalogue) -> bool:
    """Return whether a document is gone or claims other machines than before, or any row is another one."""
    if before.inventory is not after.inventory:
        return True
    removed, added = changed_documents(before, after)
    now = {document.key.name: document for document in added}
    for document in removed:
        other = now.get(document.key.name)
        if other is None or not (document.content.readable and other.content.readable):
            return True
        if _claims_of(document) != _claims_of(other):
            return True
    return False


def _claims_of(document: Document) -> tuple[object, ...]:
    """Return what decides which machines a document is for."""
    control = document.control
    match = [(criterion.label, [pattern.form for pattern in criterion.patterns]) for criterion in control.match]
    return match, control.members, control.extends, control.overlay


def _nothing() -> None: ...


def _tried(
    catalogue: Catalogue, affected: Affected, at_each: Callable[[], object], words: LastWords = NO_WORDS
) -> Iterator[tuple[NameInKind, CheckCase | Document]]:
    """Yield the affected cases of a set, by name. A document that cannot be read is yielded itself: its reason is its
    answer."""
    for document in catalogue.documents.values():
        if document.is_group or document.identity not in affected or document.is_named_like_an_alias:
            continue
        if not document.content.readable:
            yield (document.identity, document.key.format), document
    # Of the groups that have one machine as a member, the first by name: the order of documents must not matter.
    for trial in sorted(check_cases(catalogue, affected, words), key=lambda trial: trial.label, reverse=True):
        yield (identity_of(trial.identifier), trial.extension), trial
    for of_row in row_cases(catalogue, affected, words):
        at_each()
        for trial in of_row.cases:
            yield (identity_of(trial.identifier), trial.extension), trial


def _difference(
    name: NameInKind,
    before: Catalogue,
    asked_before: CheckCase | Document | None,
    after: Catalogue,
    asked_after: CheckCase | Document | None,
    prepare: Callable[[Layers], Prepared],
) -> Difference | None:
    """Return the difference between the answers of a name in both sets; None where they are equal.

    Layers that are the same objects, over the same row, make the same answer: then none is made. After a change of one
    document that is so for all but a few names.
    """
    first, second = _Chosen.by(before, asked_before), _Chosen.by(after, asked_after)
    if first is not None and second is not None and first.is_the_same(second):
        return None
    was = None if first is None else first.side(prepare)
    is_first = was is None or was.text is None
    would_be = None if second is None else second.side(prepare, is_first=is_first)
    if was is not None and would_be is not None and (was.text, was.reason) == (would_be.text, would_be.reason):
        return None
    of = asked_before or asked_after
    identifier = of.identifier if isinstance(of, CheckCase) else of.key.identifier if of is not None else ""
    return Difference(f"{identifier or 'default'} ({name[1]})", identifier, name[1], was, would_be)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The documents that one set chooses for a name, over the facts that it knows; or the ``reason`` why none."""

    selection: Selection | None
    facts: Facts | None
    names: tuple[str, ...] = ()
    reason: str = ""

    @classmethod
    def by(cls, catalogue: Catalogue, asked: CheckCase | Document | None) -> _Chosen | None:
        """Return what a set chooses for a case; None where it does not know the name."""
        if asked is None:
            return None
        if isinstance(asked, Document):
            return cls(None, None, reason=asked.problems[0])
        try:
            facts = catalogue.facts(asked.facts)
            if catalogue.has_states:
                facts.state_source = lambda _: State.ARMED.value
            selection = select(catalogue, SelectionRequest(facts, asked.extensions, asked.assumed))
        except AnswerError as error:
            return cls(None, None, reason=error.reason)
        return cls(selection, facts, (asked.identifier, *asked.identities))

    def is_the_same(self, other: _Chosen) -> bool:
        """Return whether both sets make the answer of the same layers and the same facts."""
        if self.selection is None or other.selection is None or self.facts is None or other.facts is None:
            return False
        layers, others = self.selection.layers, other.selection.layers
        return (
            len(layers) == len(others)
            and all(layer is another for layer, another in zip(layers, others, strict=True))
            and self.names == other.names
            and self.facts.row is other.facts.row
            and self.selection.machine is other.selection.machine
            and self.selection.group is other.selection.group
        )

    @property
    def is_claimed(self) -> bool:
        """Whether a document answers that is no default."""
        selection = self.selection
        return selection is not None and (selection.machine is not None or selection.group is not None)

    def side(self, prepare: Callable[[Layers], Prepared], *, is_first: bool = False) -> Side:
        selection, facts = self.selection, self.facts
        if selection is None or facts is None:
            return Side(None, self.reason)
        try:
            prepared, lookup = prepare(selection.layers), Values(selection, facts, _UNFILLED)
            text = _filled(prepared, lookup)
        except AnswerError as error:
            return Side(None, error.reason)
        named = named_values(prepared.slots, lookup)
        return Side(text, layers=selection.layers, named=named, lacking=_lacking(prepared, lookup) if is_first else ())


def _lacking(prepared: Prepared, lookup: Lookup) -> tuple[str, ...]:
    """Return the labels that an answer needs and that nothing fills."""

    def has(label: str) -> bool:
        try:
            return lookup.first(label) is not None
        except CannotFill:  # the service fills it in
            return True

    needed = (labels for labels in labels_needed(prepared) if not any(map(has, labels)))
    return tuple(dict.fromkeys(label for labels in needed for label in labels))


def _lacking_notes(differences: Iterable[Difference]) -> Iterator[str]:
    """Yield a note where machines are answered for the first time, by an answer that lacks facts."""
    found = [one for one in differences if one.after is not None and one.after.lacking]
    if found:
        labels = sorted({label for one in found if one.after is not None for label in one.after.lacking})
        facts = f"the fact{'s' if len(labels) > 1 else ''} {join_brief([repr(brief(label)) for label in labels])}"
        who = found[0].name if len(found) == 1 else f"{len(found):,} new answers, such as {found[0].name},"
        yield f"{who} would lack {facts}: a machine whose request does not have them gets a 500"


def _filled(prepared: Prepared, lookup: Lookup) -> str:
    """Fill an answer. A placeholder without a value stays as written, escaped like any value."""
    room = LARGEST_ANSWER
    filled: list[str] = []
    for part in prepared.parts:
        filled.append(part.decode() if isinstance(part, bytes) else part.as_written(lookup))
        room -= len(filled[-1])
        if room < 0:
            raise too_large()
    return "".join(filled)


def _shown(side: Side | None) -> str:
    if side is None:
        return ""
    return f"(no answer: {side.reason})" if side.text is None else side.text


def _notes(before: Catalogue, after: Catalogue) -> Iterator[str]:
    """Yield a note for each group that differs between the sets and whose claims depend on requests, and for each
    document whose ``once`` differs."""
    gone, new = changed_documents(before, after)
    for document in (*gone, *new):
        if not document.is_group:
            continue
        if not document.content.readable:
            yield f"{document.key} cannot be read: {document.problems[0]}"
        elif document.control.match and not document.control.members:
            yield f"{document.key} differs and selects by match: machines in no table may be claimed too"
    of_before = {document.key: document for document in gone}
    for second in new:
        first = of_before.get(second.key)
        if first is None or not (first.content.readable and second.content.readable):
            continue
        was, would_be = ((document.control.once or Once.OFF).value for document in (first, second))
        if was != would_be:
            yield f"{second.key}: once was {was} and would be {would_be}; the answers do not show it"
