"""From facts to an answer: select, compose, fill. Used by the server, ``render``, ``check`` and the admin API."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import Final

from answerd.answers.catalogue import Catalogue
from answerd.answers.compose import layer_names, prepared_answer
from answerd.answers.gates import OnceRequest, is_loader, refusal_sentence, script_of
from answerd.answers.select import Selection, SelectionRequest, claimed_member, select, selection_request
from answerd.answers.sources import NO_SOURCES, Sources, Values
from answerd.documents import Document
from answerd.errors import AnswerTooLarge, EmptyAnswer, GateClosed, NotClaimed, UnreadableClaim
from answerd.facts import Facts
from answerd.formats import FORMATS, Format
from answerd.formats.family import Once, Prepared, is_blank
from answerd.formats.filters import LARGEST_ANSWER
from answerd.formats.template import LONE_SURROGATE
from answerd.formats.yaml import escape
from answerd.identity import identity_of, mac_digits
from answerd.inventory.row import Row
from answerd.long_work import run_long
from answerd.shared_values import HARDWARE

NO_INSTANCE: Final = "nocloud"
"""The ``instance-id`` of a machine that has neither a name nor a hardware identity
(docs/selection.md#noclouds-side-files)."""


@dataclass(slots=True, eq=False, repr=False)
class Answer:
    """One answer. ``side_file`` names the file of NoCloud that the service made up, where it did; then ``body`` may be
    empty.

    ``row`` is the inventory's row of the machine that asked, where it has one. ``refusal`` says why the machine was
    refused the documents of ``selection``, where it was: then ``body`` is a script that the service makes up.
    ``gate`` says the same also where a document for such machines answers in their place.
    """

    body: bytes
    selection: Selection
    format: Format
    side_file: str | None = None
    row: Row | None = None
    refusal: str | None = None
    gate: str | None = None
    values: Values | None = None
    """What filled the placeholders, where there are any."""

    @property
    def composition(self) -> str:
        """The composition of the answer: ``format=toml machine=98fa9b50d810 group=rack-a``, for the log and the admin
        API."""
        return composition_of(self.format, self.selection, self.side_file, self.refusal)


def composition_of(form: Format, selection: Selection, side_file: str | None, refusal: str | None) -> str:
    """Return `Answer.composition`. A function of its own, because a server that logs no answers never needs the text,
    and one that does must not keep the answer for it."""
    composition = f"format={form.family.name}"
    if selection.machine:
        composition += f" machine={selection.machine.key.identifier}"
    if selection.group:
        composition += f" group={selection.group.key.identifier}"
    if selection.overlays:
        composition += f" overlay={','.join(overlay.key.identifier for overlay in selection.overlays)}"
    if selection.default:
        composition += " default"
    if side_file:
        composition += f" nocloud={side_file}"
    if refusal:
        composition += f" refused: {refusal}"
    return composition


def resolve(
    catalogue: Catalogue,
    facts: Facts,
    extensions: tuple[str, ...] | None = None,
    assumed: Collection[Document] = (),
    *,
    sources: Sources = NO_SOURCES,
    without_start: bool = False,
) -> Answer:
    """Return the answer to a request. Raises `answerd.errors.AnswerError` with the reason when there is none.

    ``extensions`` overrides the formats that the request's path asks for. The ``match`` of a document in ``assumed`` is
    taken to hold. ``sources`` fill the placeholders of secrets, reports and states. ``without_start``: the answer is
    not delivered, so no install begins.
    """
    facts = completed_facts(catalogue, facts, sources)
    acceptable = facts.extensions if extensions is None else extensions
    request = selection_request(facts, acceptable, assumed)
    side_file = facts.side_file if request.only_naming else None
    if side_file is None:
        return _answer(catalogue, request, sources, without_start=without_start)
    try:
        return _answer(catalogue, request, sources, may_be_blank=True, without_start=without_start)
    except (NotClaimed, UnreadableClaim):
        return _side_file(catalogue, request, side_file, sources)


def completed_facts(catalogue: Catalogue, facts: Facts, sources: Sources) -> Facts:
    """Return the facts of a request with those of its row and with the state of its install. Raises `BrokenDocument`
    where it is not known which row it has."""
    facts = catalogue.facts(facts)
    if sources.gates is not None:
        facts.state_source = partial(sources.gates.state, catalogue)
    return facts


def _answer(
    catalogue: Catalogue,
    request: SelectionRequest,
    sources: Sources,
    *,
    may_be_blank: bool = False,
    without_start: bool = False,
    after_refusal: bool = False,
) -> Answer:
    """Return the answer to a request. ``without_start``: the answer is not delivered, so no install begins.
    ``after_refusal``: an answer with ``once`` was already refused."""
    facts = request.facts
    selection = select(catalogue, request)
    prepared = prepared_answer(selection.layers, may_be_blank=may_be_blank)
    once_request = None
    if prepared.once is not None and prepared.once is not Once.OFF and sources.gates is not None:
        if after_refusal:
            raise NotClaimed("what may answer in this state has once itself")
        once_request = sources.gates.ask(catalogue, selection, facts, prepared.once, without_start=without_start)
        if once_request.decision.refused is not None:
            return _refused(catalogue, request, sources, selection, once_request)
    body, values = prepared.static, None
    if body is None:
        values = Values(selection, facts, sources, catalogue, once_request)
        body = filled(prepared, selection, values)
        if is_blank(body) and not may_be_blank:
            raise EmptyAnswer("the answer is empty once its placeholders are filled")
    if len(body) > LARGEST_ANSWER:
        raise _too_large(selection)
    if sources.gates is not None:
        if once_request is not None:
            sources.gates.given(once_request)
        elif values is not None and values.has_told_report and not (without_start or after_refusal):
            sources.gates.told(catalogue, selection, facts, values.told)
    form = FORMATS[selection.layers[-1].key.format]
    return Answer(body, selection, form, None, facts.row, values=values)


def filled(prepared: Prepared, selection: Selection, values: Values) -> bytes:
    """Return the answer of a selection with its placeholders filled. Raises `AnswerError`."""
    try:
        return run_long(lambda: prepared.fill(values)) if prepared.is_long else prepared.fill(values)
    except AnswerTooLarge:
        raise _too_large(selection) from None


def _too_large(selection: Selection) -> AnswerTooLarge:
    return AnswerTooLarge(f"the answer of {layer_names(selection.layers)} has more than {LARGEST_ANSWER} bytes")


def _refused(
    catalogue: Catalogue, request: SelectionRequest, sources: Sources, selection: Selection, once_request: OnceRequest
) -> Answer:
    """Return the answer to a machine that is refused: a document of the same format whose ``match`` names the state,
    but never the next best claim; else the sentence, or for a boot loader a script that shows it."""
    extension = selection.layers[-1].key.format
    narrowed = SelectionRequest(
        request.facts, (extension,), request.assumed, only_naming=("state",), without_default=True
    )
    reason = refusal_sentence(once_request)
    try:
        answer = _answer(catalogue, narrowed, sources, after_refusal=True)
        answer.gate = reason
        return answer
    except NotClaimed:
        pass
    if not is_loader(extension):
        raise GateClosed(reason)
    return Answer(
        script_of(once_request, extension), selection, FORMATS[extension], None, request.facts.row, reason, reason
    )


def _side_file(catalogue: Catalogue, request: SelectionRequest, side_file: str, sources: Sources) -> Answer:
    """Return the answer to cloud-init for a side file that no document is known to claim: the minimum, where there is
    user-data. Then a group that cannot be read does not keep it back, nor the document that claims the side file."""
    facts = request.facts.asking_for_user_data()
    facts.state_source = request.facts.state_source
    asked = SelectionRequest(facts, request.extensions, request.assumed)
    user_data = _answer(catalogue, asked, sources, without_start=True)
    if catalogue.unreadable:
        request.past_unreadable = True
        try:
            return _answer(catalogue, request, sources, may_be_blank=True)
        except NotClaimed:
            pass
    selection = user_data.selection
    body = b""
    if side_file == "meta-data":
        instance = _instance(catalogue, selection, facts)
        body = f'instance-id: "{escape(instance or NO_INSTANCE)}"\n'.encode()
    return Answer(body, selection, user_data.format, side_file, facts.row)


def _hardware(facts: Facts) -> tuple[str, str] | None:
    """Return the first hardware identity of a request that many machines do not share, and its text: a MAC address as
    ``52:54:00:aa:00:04`` however it was sent, so that the name stays."""
    carried = [(identity_of(value), value) for label in HARDWARE for value in facts.values(label)]
    macs = [(identity, sent) for identity, sent in facts.identities.items() if mac_digits(sent) is not None]
    for identity, sent in [*carried, *macs]:
        if identity:
            digits = mac_digits(sent)
            return identity, sent if digits is None else ":".join(re.findall("..", digits))
    return None


def _instance(catalogue: Catalogue, selection: Selection, facts: Facts) -> str | None:
    """Return the instance name of a machine for cloud-init; None where it has none."""
    if selection.machine:
        return selection.machine.key.identifier
    if facts.row and (name := facts.row.name):
        return name
    member = claimed_member(catalogue, selection, facts) or _hardware(facts)
    if member is None:
        return None
    identity, sent = member
    return identity if LONE_SURROGATE.search(sent) else sent  # no YAML parser takes a lone surrogate
