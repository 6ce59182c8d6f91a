"""The YAML family: cloud-init, autoinstall and other YAML documents. Layers merge as nodes, never as values.

The consumer decides what a scalar means, under YAML 1.1 or 1.2: ``0644``, ``yes`` and ``1.10`` are written as they were
read. `yaml_reading` and `yaml_writing` know the syntax; this module has the functions of a family. Only the comments at
the top of the document are kept in a merge; anchors and directives (``%YAML``) are not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import NamedTuple

from answerd.formats.control import CONTROL_KEYS, overlay_number
from answerd.formats.family import (
    NO_BRANCHES,
    Branches,
    MergeError,
    ParseError,
    Path,
    Prepared,
    RawControl,
    RawValue,
    Slot,
    branches,
    position,
)
from answerd.formats.template import Template
from answerd.formats.template_reading import TemplateReader
from answerd.formats.yaml_nodes import BOOLEAN, NULL, STRING, Mapping, Node, Scalar, Sequence, filled_scalar, scalar_tag
from answerd.formats.yaml_reading import read
from answerd.formats.yaml_stream import cut
from answerd.formats.yaml_writing import write

name = "yaml"

_COMMENT = re.compile("(#[^\r\n\x85\u2028\u2029]*)(?:\r\n|[\r\n\x85\u2028\u2029]|\\Z)")
"""A line that is a comment: libyaml ends a line at the same characters."""
_SIGNIFICANT_COMMENT = re.compile(r"^(?:#cloud-config|##[ \t]*template:)", re.MULTILINE)
_TRUE = ("true", "yes", "on")


class YamlDocument(NamedTuple):
    """A layer, or several merged: the comment lines at its top (each with its newline), and its content.

    ``root`` is None where the text has nothing but comments.
    """

    opening: str
    root: Node | None


class Stream(NamedTuple):
    """A text of several documents: their roots, and the text, once it is cut at its placeholders. Never merged."""

    roots: tuple[Node | None, ...]
    pieces: tuple[str | Slot, ...]


YamlTree = YamlDocument | Stream
"""The tree of this family."""


def parse(text: str) -> YamlTree:
    """Return the nodes of a text and the comment lines from its very first line on; a `Stream` where it has several
    documents. Raises `ParseError`."""
    opening = "".join(_opening_comments(text)) if text.startswith("#") else ""
    roots = read(text)
    if len(roots) > 1:
        return _stream(text, roots)
    root = roots[0] if roots else None
    if isinstance(root, Scalar) and not (root.text or root.style or root.tag):
        root = None  # only "---"
    return YamlDocument(opening, root)


def _opening_comments(text: str) -> list[str]:
    """Return the comment lines from the first line on, each with a newline. Other threads may have turns."""
    lines: list[str] = []
    at = 0
    while found := _COMMENT.match(text, at):
        lines.append(found[1] + "\n")
        at = found.end()
    return lines


def _stream(text: str, roots: list[Node | None]) -> Stream:
    for root in roots:
        pairs = root.pairs if isinstance(root, Mapping) else {}
        for key in CONTROL_KEYS:
            if (STRING, key) in pairs:
                written = pairs[STRING, key][0]
                reason = (
                    "is a control key, and a text of several YAML documents has none: it is served as it is written"
                )
                raise ParseError(f"{key} {reason}", written.line, written.column)
    return Stream(tuple(roots), (text,))


def control(tree: YamlTree) -> tuple[RawControl, YamlTree]:
    """Return the control keys at the top of the document, numbers and dates by their text."""
    if isinstance(tree, Stream) or not isinstance(tree.root, Mapping):
        return RawControl(), tree
    root = tree.root
    found = {key: root.pairs[STRING, key][1] for key in CONTROL_KEYS if (STRING, key) in root.pairs}
    if not found:
        return RawControl(), tree
    written = {
        key: RawValue(_READ.get(key, _texts)(value), position(value.line, value.column)) for key, value in found.items()
    }
    rest = {key: pair for key, pair in root.pairs.items() if key[0] != STRING or key[1] not in found}
    return RawControl(written), tree._replace(root=root._replace(pairs=rest))


def _truth(value: Node) -> object:
    if isinstance(value, Scalar) and scalar_tag(value) == BOOLEAN:
        return str(value.text).lower() in _TRUE
    return _texts(value)


def _number(value: Node) -> object:
    text = _texts(value)
    return overlay_number(text) if isinstance(text, str) and isinstance(value, Scalar) and not value.style else text


_READ: dict[str, Callable[[Node], object]] = {"template": _truth, "once": _truth, "overlay": _number}
"""The control keys that may be true, false or a number. Of the others the text counts."""


def _texts(node: Node) -> object:
    """Return a control key's value: texts, lists and maps of texts, None for null. A key that is a collection is left
    out."""
    if isinstance(node, Sequence):
        return [_texts(item) for item in node.items]
    if isinstance(node, Mapping):
        return {_texts(key) if isinstance(key, Scalar) else (): _texts(value) for key, value in node.pairs.values()}
    return None if scalar_tag(node) == NULL else node.text


def placeholders(tree: YamlTree, reader: TemplateReader) -> YamlTree:
    """Replace values that have placeholders by templates, with a tag too. Keys are unchanged."""
    if isinstance(tree, Stream):
        return tree._replace(pieces=cut("".join(map(str, tree.pieces)), reader))
    return tree if tree.root is None else tree._replace(root=_placeholders(tree.root, reader))


def _placeholders(node: Node, reader: TemplateReader) -> Node:
    if isinstance(node, Mapping):
        pairs = {key: (written, _placeholders(value, reader)) for key, (written, value) in node.pairs.items()}
        return node._replace(pairs=pairs)
    if isinstance(node, Sequence):
        return node._replace(items=tuple(_placeholders(item, reader) for item in node.items))
    if isinstance(node.text, Template) or "{{" not in node.text:
        return node
    return filled_scalar(node, node.text, reader)


def unset(tree: YamlTree, paths: Collection[Path]) -> YamlTree:
    """Return the document without the values at ``paths``, keys by their text; the same document where there are
    none."""
    if isinstance(tree, Stream) or not isinstance(tree.root, Mapping):
        return tree
    root = _unset(tree.root, branches(paths))
    return tree if root is tree.root else tree._replace(root=root)


def _unset(node: Mapping, gone: Branches) -> Mapping:
    changed = False
    pairs = {}
    for key, (written, value) in node.pairs.items():
        kept: Node | None = value
        if isinstance(written, Scalar) and written.text in gone:
            below = gone[str(written.text)]
            kept = None if below is None else _unset(value, below) if isinstance(value, Mapping) else value
        changed = changed or kept is not value
        if kept is not None:
            pairs[key] = (written, kept)
    return node._replace(pairs=pairs) if changed else node


def not_arrays(tree: YamlTree, paths: Collection[Path]) -> Collection[Path]:
    """Return the ``paths`` that have no list; keys are found by their text."""
    root = None if isinstance(tree, Stream) else tree.root
    return [path for path in paths if not any(isinstance(node, Sequence) for node in _at(root, path))]


def _at(root: Node | None, path: Path) -> list[Node]:
    """Return the nodes at a path: several where keys of two types have one text."""
    nodes = [] if root is None else [root]
    for step in path:
        nodes = [
            value
            for node in nodes
            if isinstance(node, Mapping)
            for key, value in node.pairs.values()
            if isinstance(key, Scalar) and key.text == step
        ]
    return nodes


def merge(lower: YamlTree, upper: YamlTree, append: Collection[Path] = ()) -> YamlTree:
    """Merge maps key by key; any other value is replaced whole, including its style, except that a list at a path in
    ``append`` is appended to the list below it. A document with only comments changes nothing.

    Raises `MergeError` where one of the two is a stream.
    """
    if isinstance(lower, Stream) or isinstance(upper, Stream):
        which = "the upper" if isinstance(upper, Stream) else "the lower"
        raise MergeError(f"{which} text holds several YAML documents, which are served alone or not at all")
    takes_upper = bool(_SIGNIFICANT_COMMENT.search(upper.opening)) or not _SIGNIFICANT_COMMENT.search(lower.opening)
    opening = upper.opening if upper.opening and takes_upper else lower.opening
    if lower.root is None or upper.root is None:
        return YamlDocument(opening, lower.root if upper.root is None else upper.root)
    return YamlDocument(opening, _merge(lower.root, upper.root, branches(append)))


def _merge(lower: Node, upper: Node, append: Branches | None) -> Node:
    """Merge two nodes. ``append`` are the paths of lists below this node; None where the node itself is appended."""
    if isinstance(lower, Sequence) and isinstance(upper, Sequence) and append is None:
        flow = (lower.flow or not lower.items) and (upper.flow or not upper.items)  # no block fits between brackets
        return upper._replace(items=lower.items + upper.items, flow=flow, tag=upper.tag or lower.tag)
    if not (isinstance(lower, Mapping) and isinstance(upper, Mapping)):
        return upper
    pairs = dict(lower.pairs)
    for key, (written, value) in upper.pairs.items():
        below = pairs.get(key)
        if below is None:
            pairs[key] = (written, value)
        else:
            deeper = (
                append.get(str(written.text), NO_BRANCHES) if append and isinstance(written, Scalar) else NO_BRANCHES
            )
            pairs[key] = (below[0], _merge(below[1], value, deeper))
    flow = (lower.flow or not lower.pairs) and (upper.flow or not upper.pairs)
    return upper._replace(pairs=pairs, flow=flow, tag=upper.tag or lower.tag)


def prepare(tree: YamlTree) -> Prepared:
    """Return the comments at the top and the document in block style, with flow collections kept; a stream as it is
    written."""
    if isinstance(tree, Stream):
        return Prepared(list(tree.pieces))
    return Prepared([tree.opening, *(write(tree.root) if tree.root is not None else ())])
