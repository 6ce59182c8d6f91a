"""Turn layers into an answer that is ready to be filled: merge, serialise, cut at the placeholders.

Rules: docs/merging.md, docs/templates.md.

This happens once for each stack of layers. The result is stored on the top document, by the layers below it: it is
valid only for that stack. A machine's document keeps the last one; a group, which overlays make the top of several
stacks, keeps those that occur. The top document itself is not stored in its result, because only the garbage collector
frees a document that refers to itself, and it does not look at documents (`answerd.server.os_support`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeVar

from answerd.answers.catalogue import Catalogue
from answerd.answers.select import SelectionRequest, rank, sound_overlays
from answerd.documents import LARGE_TEXT, Document, RawDocument, Stacks
from answerd.errors import AnswerError, AnswerTooLarge, BrokenDocument, EmptyAnswer
from answerd.facts import facts_of
from answerd.formats.family import MergeError, Once, Prepared, Tree
from answerd.identity import Kind
from answerd.long_work import run_long
from answerd.short_texts import join_limited

Layers = tuple[Document, ...]

_T = TypeVar("_T")

_MOST_NAMED: Final = 4
"""Layers that a sentence names."""

_MOST_STACKS: Final = 1_000
"""Stacks with one group on top whose answers are kept: requests may vary which overlays hold."""

_MOST_CHARACTERS: Final = 8 * 1024 * 1024
"""Characters of the layers of all these stacks."""

_MOST_TREES: Final = 32
"""Stacks with one group on top whose trees are kept."""

_MOST_CHARACTERS_OF_TREES: Final = 1024 * 1024
"""Characters of the layers of these: a tree takes some twenty times the memory of its text."""


MOST_LOOKED_AT: Final = 2 * 1024 * 1024
"""Characters of documents whose trees are there at a time, where answers are made to be compared."""


def prepared_answer(layers: Layers, *, may_be_blank: bool = False) -> Prepared:
    """Return the answer of a stack, lowest layer first, ready to be filled.

    Raises `BrokenDocument`, and `EmptyAnswer` unless it ``may_be_blank``: cloud-init reads an empty side file as a file
    without content, all other installers take an empty answer for success.
    """
    top = layers[-1]
    below = layers[:-1]
    kept = top.prepared
    # Documents are compared by object identity, so equal tuples are the same versions of the same documents.
    if kept is None or kept[0] != below:
        kept = top.prepared = (below, _of_stack(layers))
    prepared = kept[1]
    if prepared.is_blank and not may_be_blank:
        raise EmptyAnswer(f"the answer of {layer_names(layers)} is empty")
    return prepared


class PassingAnswers:
    """Makes answers that are looked at once: nothing is kept on their documents, but for the trees of the groups that
    were used last.

    A tree takes up to a hundred times the memory of its text, so those of thousands of documents are made and dropped
    one after the other.
    """

    def __init__(self) -> None:
        self._groups: OrderedDict[Document, int] = OrderedDict()
        self._characters = 0
        self.refused = 0
        """Answers that were not made because their documents are too large together."""

    def prepared(self, layers: Layers) -> Prepared:
        """Return what `prepared_answer` does. Raises as it does, and `AnswerTooLarge` where the layers together have
        more than `MOST_LOOKED_AT` characters."""
        if _size(layers) > MOST_LOOKED_AT:
            self.refused += 1
            raise AnswerTooLarge(
                f"the documents of {layer_names(layers)} have more than {MOST_LOOKED_AT:,} characters together: their "
                "answer is not made here"
            )
        top = layers[-1]
        kept = top.prepared
        try:
            return prepared_answer(layers)
        finally:
            top.prepared = kept
            for layer in layers:
                if layer.is_group:
                    self._note(layer)
                else:
                    layer.forget_tree()
            self._forget(MOST_LOOKED_AT)

    def end(self) -> None:
        """Drop all trees."""
        self._forget(0)

    def _note(self, group: Document) -> None:
        self._characters -= self._groups.pop(group, 0)
        size = self._groups[group] = len(group.raw.text)
        self._characters += size

    def _forget(self, most: int) -> None:
        while self._groups and self._characters > most:
            group, size = self._groups.popitem(last=False)
            self._characters -= size
            group.forget_tree()
            group.stacks = None


def _of_stack(layers: Layers) -> Prepared:
    """Return the answer of a stack; that of a stack with a group on top is kept beside those of its other stacks."""
    top, below = layers[-1], layers[:-1]
    stacks = top.stacks
    if stacks is not None and below in stacks.prepared:
        return stacks.prepared[below]
    size = _size(layers)
    prepared = run_long(lambda: _prepare(layers)) if size > LARGE_TEXT else _prepare(layers)
    if top.is_group:
        stacks = top.stacks = top.stacks or Stacks()
        _keep(stacks.prepared, below, prepared, min(_MOST_STACKS, _MOST_CHARACTERS // (size + 1)))
    else:
        top.forget_tree()  # needed again only when the layers below it change
    return prepared


def _size(layers: Layers) -> int:
    return sum([len(layer.raw.text) for layer in layers])


def _keep(of_stacks: dict[Layers, _T], below: Layers, made: _T, most: int) -> None:
    """Keep the result of a stack, and drop the oldest of more than ``most``. One is always kept."""
    while len(of_stacks) >= max(most, 1):
        of_stacks.pop(next(iter(of_stacks)), None)
    of_stacks[below] = made


def forget_outdated(document: Document, in_force: Mapping[RawDocument, Document]) -> None:
    """Drop results that were made of layers no longer in force: they would keep these layers in memory."""
    if document.prepared and not _are_in_force(document.prepared[0], in_force):
        document.prepared = None
    if document.stacks is not None:
        for of_stacks in (document.stacks.prepared, document.stacks.merged):
            for below in [below for below in of_stacks if not _are_in_force(below, in_force)]:
                of_stacks.pop(below, None)


def _are_in_force(layers: Layers, in_force: Mapping[RawDocument, Document]) -> bool:
    return all(in_force.get(layer.raw) is layer for layer in layers)


def _prepare(layers: Layers) -> Prepared:
    top = layers[-1]
    if len(layers) == 1 and top.content.verbatim:
        return Prepared([top.text])
    prepared = top.family.prepare(_merged(layers))
    prepared.once = once_of(layers)
    return prepared


def once_of(layers: Layers) -> Once | None:
    """Return the value of the control key ``once`` in the highest layer that has it; None where none has it."""
    return next((layer.control.once for layer in reversed(layers) if layer.control.once is not None), None)


def _merged(layers: Layers) -> Tree:
    """Return the tree of a stack. The tree of a stack with a group on top is kept with that group: more is laid over
    it."""
    height, tree = 1, layers[0].tree
    for at in range(len(layers) - 1, 0, -1):
        stacks = layers[at].stacks
        if stacks is not None and layers[:at] in stacks.merged:
            height, tree = at + 1, stacks.merged[layers[:at]]
            break
    for at in range(height, len(layers)):
        top = layers[at]
        tree = _laid_over(tree, top, layers[at - 1])
        if top.is_group:
            stacks = top.stacks = top.stacks or Stacks()
            most = min(_MOST_TREES, _MOST_CHARACTERS_OF_TREES // (_size(layers[: at + 1]) + 1))
            _keep(stacks.merged, layers[:at], tree, most)
    return tree


def _laid_over(lower: Tree, top: Document, below: Document) -> Tree:
    """Merge a document over the layers below it, of which ``below`` is the highest. Raises `BrokenDocument`."""
    if top.control.unset:
        lower = top.family.unset(lower, top.control.unset)
    try:
        return Tree(top.family.merge(lower, top.tree, top.control.append))
    except MergeError as error:
        raise BrokenDocument(f"{top.key} cannot be laid over {below.key}: {error}") from None


def layer_names(layers: Layers) -> str:
    """Return the names of the documents of a stack, its top document first."""
    return join_limited([str(layer.key) for layer in reversed(layers)], _MOST_NAMED, " over ")


# Answers are prepared before they are requested: the stack of layers that each machine will most likely get. A request
# whose stack is not prepared prepares it itself. What depends on a request's facts (which group's match holds) is not
# guessed.

_IN_A_BLOCK = 32
"""Answers whose bytes are put together: some 64 KB."""


def warm_up(catalogue: Catalogue, before: Catalogue | None = None) -> None:
    """Prepare the stack of every machine, default and claiming group.

    ``before`` is a catalogue that has been prepared: then only what is new costs anything, or everything where a group
    is new. An answer that cannot be prepared is left for the request that meets it, which gets the reason. Answers that
    were made of a group's former version, and are not among those stacks, are dropped. A defect of this program at one
    document keeps no other from being prepared; the first one is raised at the end.
    """
    block: list[Prepared] = []
    defect: Exception | None = None
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
            except Exception as error:
                defect = defect or error
        if len(block) >= _IN_A_BLOCK:
            Prepared.pack(block)
            block.clear()
    Prepared.pack(block)
    if defect is not None:
        raise defect


def _to_prepare(catalogue: Catalogue, before: Catalogue | None) -> Iterable[Document]:
    """Yield the documents whose stack may differ from the one ``before``."""
    if before is None:
        return catalogue.documents.values()
    added = list(catalogue.documents.keys_not_in(before.documents))
    removed = before.documents.keys_not_in(catalogue.documents)
    if any(raw.key.kind is Kind.GROUP for raw in (*added, *removed)):
        return catalogue.documents.values()
    return [catalogue.documents[raw] for raw in added]


def _stacks(catalogue: Catalogue, document: Document) -> Iterator[Layers]:
    if document.is_group:
        if document.control.overlay is None and (document.control.members or document.control.match):
            yield catalogue.chain(document)
        return
    group = _expected_group(catalogue, document)
    chain = catalogue.chain(group) if group else ()
    if not catalogue.has_overlays:
        yield (*chain, document)
        return
    facts = catalogue.facts(facts_of(filter(None, (document.key.identifier,))))
    extension = document.key.format
    overlays = sound_overlays(catalogue, SelectionRequest(facts, (extension,)), extension)
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
