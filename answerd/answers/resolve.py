"""Facts to an answer: select, compose, fill. The server, ``render``, ``check`` and the admin API all come here."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from answerd.answers.catalogue import Catalogue
from answerd.answers.compose import is_blank, named, prepared_answer
from answerd.answers.select import Question, Selection, question_of, select
from answerd.answers.sources import NO_SOURCES, Sources, Values
from answerd.documents import Document
from answerd.errors import AnswerTooLarge, EmptyAnswer, NotClaimed
from answerd.facts import Facts
from answerd.formats import FORMATS, Format
from answerd.formats.family import LARGEST_ANSWER
from answerd.formats.yaml_writing import escape
from answerd.inventory.rows import Row

_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")

NO_INSTANCE = "nocloud"
"""The ``instance-id`` of a machine that nothing names (docs/selection.md#noclouds-side-files)."""


class Answer(NamedTuple):
    """One answer. ``side_file`` names NoCloud's file that was made up, where it was; then ``body`` may be empty.

    ``row`` is the inventory's row of the machine that asked, where it has one.
    """

    body: bytes
    selection: Selection
    format: Format
    side_file: str | None = None
    row: Row | None = None

    @property
    def composition(self) -> str:
        """How it came about: ``format=toml machine=98fa9b50d810 group=rack-a``, for the log and the admin API."""
        parts = [f"format={self.format.family.name}"]
        selection = self.selection
        if selection.machine:
            parts.append(f"machine={selection.machine.key.identifier}")
        if selection.group:
            parts.append(f"group={selection.group.key.identifier}")
        if selection.default:
            parts.append("default")
        if self.side_file:
            parts.append(f"nocloud={self.side_file}")
        return " ".join(parts)


def resolve(
    catalogue: Catalogue,
    facts: Facts,
    extensions: tuple[str, ...] | None = None,
    assumed: Collection[Document] = (),
    *,
    sources: Sources = NO_SOURCES,
) -> Answer:
    """The answer to a request. Raises `answerd.errors.AnswerError` with the reason when there is none.

    ``extensions`` overrides the formats that the request's path asks for. The ``match`` of a document in ``assumed``
    counts as holding. ``sources`` fill the placeholders of secrets, reports and states.
    """
    if catalogue.inventory is not None:
        facts = catalogue.inventory.facts(facts)
    acceptable = facts.extensions if extensions is None else extensions
    question = question_of(facts, acceptable, assumed)
    side_file = facts.side_file if question.only_naming else None
    if side_file is None:
        return _answer(catalogue, select(catalogue, question), facts, sources)
    try:
        return _answer(catalogue, select(catalogue, question), facts, sources, may_be_blank=True)
    except NotClaimed:
        return _side_file(catalogue, facts, side_file, acceptable, assumed, sources=sources)


def _answer(
    catalogue: Catalogue, selection: Selection, facts: Facts, sources: Sources, *, may_be_blank: bool = False
) -> Answer:
    prepared = prepared_answer(selection.layers, may_be_blank=may_be_blank, elsewhere=catalogue.elsewhere)
    body = prepared.static
    if body is None:
        values = Values(selection, facts, sources)
        body = catalogue.elsewhere(lambda: prepared.fill(values)) if prepared.takes_long else prepared.fill(values)
        if is_blank(body) and not may_be_blank:
            raise EmptyAnswer("the answer is empty once its placeholders are filled")
    if len(body) > LARGEST_ANSWER:
        raise AnswerTooLarge(f"the answer of {named(selection.layers)} has more than {LARGEST_ANSWER} bytes")
    return Answer(body, selection, FORMATS[selection.layers[-1].key.format], None, facts.row)


def _side_file(
    catalogue: Catalogue,
    facts: Facts,
    side_file: str,
    extensions: tuple[str, ...],
    assumed: Collection[Document],
    *,
    sources: Sources,
) -> Answer:
    """What cloud-init gets for a side file that no document names: enough to go on, where user-data is there."""
    facts = facts.asking_for_user_data()
    user_data = _answer(catalogue, select(catalogue, Question(facts, extensions, assumed)), facts, sources)
    selection = user_data.selection
    body = b""
    if side_file == "meta-data":
        named = _instance(catalogue, selection, facts)
        body = f'instance-id: "{escape(named or NO_INSTANCE)}"\n'.encode()
    return Answer(body, selection, user_data.format, side_file, facts.row)


def _instance(catalogue: Catalogue, selection: Selection, facts: Facts) -> str | None:
    """What names a machine to cloud-init; None where nothing does."""
    if selection.machine:
        return selection.machine.key.identifier
    if facts.row and (name := facts.row.name):
        return name
    member = claimed_member(catalogue, selection, facts)
    if member is None:
        return None
    one, sent = member
    return one if _LONE_SURROGATE.search(sent) else sent  # no YAML parser takes a lone surrogate


def claimed_member(catalogue: Catalogue, selection: Selection, facts: Facts) -> tuple[str, str] | None:
    """Return the identity in a group's ``members`` by which it claimed a request, and the text that gave it: as the
    request sent it, or as its row has it. None where no ``members`` claimed it.

    ``facts`` are those of `Inventory.facts`, with the row.
    """
    group = selection.group
    if group is None or selection.default is not None:
        return None
    for one, sent in facts.identities.items():
        if any(claim.document is group for claim in catalogue.members.get(one, ())):
            return one, sent
    return None
