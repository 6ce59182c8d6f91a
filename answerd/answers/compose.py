"""Turn layers into an answer that is ready to be filled: merge, serialise, cut at the placeholders.

Rules: docs/merging.md, docs/templates.md.

This happens once for each stack of layers. The result is stored on the top document, together with the layers below it:
it is valid only for that stack. The top document itself is not stored in its result, because only the garbage collector
frees a document that refers to itself, and it does not look at documents (`answerd.server.gc_tuning`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from answerd.documents import LARGE_TEXT, Document, Offload, RawDocument, run_inline
from answerd.errors import BrokenDocument, EmptyAnswer
from answerd.formats.family import MergeError, Once, Prepared, Tree
from answerd.identity import join_limited

Layers = tuple[Document, ...]

_MOST_NAMED: Final = 4
"""Layers that a sentence names."""


def prepared_answer(layers: Layers, *, may_be_blank: bool = False, offload: Offload = run_inline) -> Prepared:
    """Return the answer of a stack, lowest layer first, ready to be filled. A large answer is composed by ``offload``.

    Raises `BrokenDocument`, and `EmptyAnswer` unless it ``may_be_blank``: cloud-init reads an empty side file as a file
    without content, all other installers take an empty answer for success.
    """
    top = layers[-1]
    below = layers[:-1]
    if top.prepared is None or not _is_made_of(top.prepared, below):
        is_large = sum([len(layer.raw.text) for layer in layers]) > LARGE_TEXT
        top.prepared = (below, offload(lambda: _prepare(layers)) if is_large else _prepare(layers))
        if not top.is_shared:
            top.forget_tree()  # needed again only when the layers below it change
    prepared = top.prepared[1]
    if prepared.is_blank and not may_be_blank:
        raise EmptyAnswer(f"the answer of {layer_names(layers)} is empty")
    return prepared


def forget_outdated(document: Document, in_force: Mapping[RawDocument, Document]) -> None:
    """Drop results that were made of layers no longer in force: they would keep these layers in memory."""
    if document.prepared and not _are_in_force(document.prepared[0], in_force):
        document.prepared = None
    if document.merged and not _are_in_force(document.merged[0], in_force):
        document.merged = None


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
    """Return the tree of a stack. The tree of a chain of groups is kept with its top group: many machines extend it."""
    height = next((at for at in range(len(layers), 1, -1) if _is_made_of(layers[at - 1].merged, layers[: at - 1])), 1)
    kept = layers[height - 1].merged
    tree = kept[1] if height > 1 and kept else layers[0].tree
    for at in range(height, len(layers)):
        top = layers[at]
        tree = _laid_over(tree, top, layers[at - 1])
        if top.is_shared:
            top.merged = (layers[:at], tree)
    return tree


def _is_made_of(kept: tuple[Layers, object] | None, below: Layers) -> bool:
    # Documents are compared by object identity, so equal tuples are the same versions of the same documents.
    return kept is not None and kept[0] == below


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
