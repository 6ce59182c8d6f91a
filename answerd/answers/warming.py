"""Answers made before they are asked for: the stack that each machine will most likely get, prepared ahead.

Nothing depends on it: a request whose stack is not there yet makes it, that one alone. What only a request's facts can
tell (which group's ``match`` holds) is not guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from answerd.answers.catalogue import Catalogue
from answerd.answers.compose import Layers, prepared_answer
from answerd.answers.criteria import rank
from answerd.documents import Document
from answerd.errors import AnswerError


def warm_up(catalogue: Catalogue, pause: Callable[[], None]) -> None:
    """Prepare the stack of every machine, default and claiming group; calls ``pause`` after each.

    What cannot be prepared is left for the request that meets it, which is told why.
    """
    for document in catalogue.documents.values():
        if document.content.readable:
            try:
                for layers in _stacks(catalogue, document):
                    prepared_answer(layers)
            except AnswerError:
                pass
        pause()


def _stacks(catalogue: Catalogue, document: Document) -> Iterator[Layers]:
    if document.is_shared:
        if document.control.members or document.control.match:
            yield catalogue.chain(document)
        return
    group = _expected_group(catalogue, document)
    yield (*catalogue.chain(group), document) if group else (document,)


def _expected_group(catalogue: Catalogue, document: Document) -> Document | None:
    """The group that a machine or a default names, else one that has the machine for a member whatever it says."""
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
