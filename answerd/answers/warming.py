"""Prepare answers before they are requested: the stack of layers that each machine will most likely get.

An optimisation only: a request whose stack is not prepared prepares it itself. What depends on a request's facts (which
group's ``match`` holds) is not guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from answerd.answers.catalogue import Catalogue
from answerd.answers.compose import Layers, forget_outdated, prepared_answer
from answerd.answers.ranking import rank
from answerd.answers.select import Question, overlays_holding
from answerd.documents import Document
from answerd.errors import AnswerError
from answerd.facts import facts_of
from answerd.formats.family import Prepared
from answerd.identity import Kind

_IN_A_BLOCK = 32
"""Answers whose bytes are put together: some 64 KB."""


def warm_up(catalogue: Catalogue, before: Catalogue | None = None) -> None:
    """Prepare the stack of every machine, default and claiming group.

    ``before`` is a catalogue that has been prepared: then only what is new costs anything, or everything where a group
    is new. An answer that cannot be prepared is left for the request that meets it, which gets the reason. Answers that
    were made of a group's former version, and are not among those stacks, are dropped.
    """
    block: list[Prepared] = []
    if catalogue.has_overlays:  # an overlay's stacks may have any default and any group below it
        for group in catalogue.claims:
            forget_outdated(group, catalogue.documents)
    for document in _to_prepare(catalogue, before):
        forget_outdated(document, catalogue.documents)
        if document.content.readable:
            try:
                block += [prepared_answer(layers) for layers in _stacks(catalogue, document)]
            except AnswerError:
                pass
        if len(block) >= _IN_A_BLOCK:
            Prepared.pack(block)
            block.clear()
    Prepared.pack(block)


def _to_prepare(catalogue: Catalogue, before: Catalogue | None) -> Iterable[Document]:
    """Yield the documents whose stack may differ from the one ``before``."""
    if before is None:
        return catalogue.documents.values()
    added = list(catalogue.documents.keys_not_in(before.documents))
    removed = before.documents.keys_not_in(catalogue.documents)
    if any(raw.key.kind is Kind.GROUP for raw in chain(added, removed)):
        return catalogue.documents.values()
    return [catalogue.documents[raw] for raw in added]


def _stacks(catalogue: Catalogue, document: Document) -> Iterator[Layers]:
    if document.is_shared:
        if document.control.overlay is None and (document.control.members or document.control.match):
            yield catalogue.chain(document)
        return
    group = _expected_group(catalogue, document)
    chain = catalogue.chain(group) if group else ()
    if not catalogue.has_overlays:
        yield (*chain, document)
        return
    facts = catalogue.facts(facts_of(filter(None, (document.key.identifier,))))
    claims = overlays_holding(catalogue, Question(facts, (document.key.format,)), (document.key.format,))
    overlays = [claim.document for claim in claims]
    yield (*chain, *overlays, document) if document.key.identifier else (*chain, document, *overlays)


def _expected_group(catalogue: Catalogue, document: Document) -> Document | None:
    """Return the group that a machine or a default names, else a group that has the machine as a member without a
    ``match``."""
    extended = catalogue.extended_by(document)
    if extended:
        return extended
    extension = document.key.format
    groups = [
        claim.document
        for claim in catalogue.members.get(document.identity, ())
        if claim.document.key.format == extension and not claim.match
    ]
    return min(groups, key=lambda group: rank(group.key, (), (extension,)), default=None)
