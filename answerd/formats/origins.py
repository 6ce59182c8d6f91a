"""The lines of the values of a text, and the layer that each value of a merged tree came from.

Every value of a layer is marked with the layer's number and its line; then the family's own ``unset`` and ``merge``
carry the marks along, so the result always agrees with the merge. There is a small class for each family, which marks
its tree and reads the marks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from answerd.formats import dict_tree
from answerd.formats import json as json_family
from answerd.formats import text as text_family
from answerd.formats import toml as toml_family
from answerd.formats import xml as xml_family
from answerd.formats import yaml as yaml_family
from answerd.formats.family import Path
from answerd.formats.positions import Lines, json_lines, toml_lines
from answerd.formats.template import Template
from answerd.formats.xml_read import WHITE, Element, Text
from answerd.formats.yaml_read import Mapping, Node, Scalar


class Leaf(NamedTuple):
    """A value of a tree that contains no others: a scalar, an empty map or list, an attribute, a line of text.

    ``path``: keys and list positions (from 0) as texts; element names and ``@attribute`` in XML, ``user[2]`` where
    siblings repeat; the line number in text. ``layer`` and ``line`` (from 1) say where it came from, None where a merge
    left no mark. ``text`` is the value, unquoted; ``value`` is only for comparing.
    """

    path: Path
    layer: int | None
    line: int | None
    text: str
    value: object = None


Marked = Any
"""A tree of a family with marks in place of its values, or within them: the family's functions accept it, and only this
module reads the marks."""


class Marking(Protocol):
    def mark(self, source: str, layer: int) -> Marked:
        """Return the tree of a text without control keys, every value marked. Raises `ParseError`."""

    def leaves(self, tree: Marked) -> Iterator[Leaf]:
        """Yield the leaves of a marked tree, merged or not, in their order."""


class _Plain:
    """TOML and JSON: a `Leaf` replaces each value that is neither map nor list. `answerd.formats.dict_tree` replaces
    what is neither, so a leaf can represent a value."""

    def __init__(self, family: Any, lines: Callable[[str], Lines]) -> None:
        self.family = family
        self.lines = lines

    def mark(self, source: str, layer: int) -> Marked:
        """Return the tree with leaves that have no path, which a merge may change."""
        _, tree = self.family.control(self.family.parse(source))
        return _marked_plain(tree, layer, self.lines(source), ())

    def leaves(self, tree: Marked) -> Iterator[Leaf]:
        return _plain_leaves(tree, ())


class _Map(dict_tree.Map):
    """A map of a single layer, and the leaf that it is while it is empty; a merge makes a plain map of it."""

    empty: Leaf


class _List(list[Any]):
    """An array of a single layer, in the same way."""

    empty: Leaf


def _marked_plain(value: Any, layer: int, lines: Lines, path: Path) -> Any:
    line = line_of(path, lines)
    if not isinstance(value, dict | list):
        return Leaf((), layer, line, str(value), type(value).__name__)
    marked: _Map | _List
    if isinstance(value, dict):
        marked = _Map({key: _marked_plain(each, layer, lines, (*path, key)) for key, each in value.items()})
    else:
        marked = _List([_marked_plain(each, layer, lines, (*path, str(at))) for at, each in enumerate(value)])
    marked.empty = Leaf((), layer, line, "", _kind(value))
    return marked


def _plain_leaves(tree: Marked, path: Path) -> Iterator[Leaf]:
    if isinstance(tree, Leaf):
        yield tree._replace(path=path)
    elif tree:
        for key, below in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from _plain_leaves(below, (*path, str(key)))
    else:
        yield (
            tree.empty._replace(path=path)
            if isinstance(tree, _Map | _List)
            else Leaf(path, None, None, "", _kind(tree))
        )


def _kind(empty: dict_tree.Map | list[Any]) -> str:
    return "{}" if isinstance(empty, dict) else "[]"


def line_of(path: Path, lines: Lines) -> int | None:
    """Return the line of a path, or of its nearest parent that has a line."""
    for length in range(len(path), -1, -1):
        line = lines.get(path[:length])
        if line is not None:
            return line
    return None


class _Line(int):
    """A line number with its layer: it moves with its node."""

    layer: int

    @classmethod
    def of(cls, line: int, layer: int) -> _Line:
        marked = cls(line)
        marked.layer = layer
        return marked


def _layer(line: int) -> int | None:
    return line.layer if isinstance(line, _Line) else None


class _Yaml:
    """YAML: nodes have their lines, and merges never modify a node."""

    def mark(self, source: str, layer: int) -> Marked:
        _, tree = yaml_family.control(yaml_family.parse(source))
        if isinstance(tree, yaml_family.Whole):
            marked = text_family.control(_marked_lines(source, layer))[1]
            return tree._replace(pieces=tuple(str(part) for one in marked for part in (one.interpreter, one.body)))
        if isinstance(tree, yaml_family.Stream):
            return tree._replace(roots=tuple(root and _marked_node(root, layer) for root in tree.roots))
        return tree if tree.root is None else tree._replace(root=_marked_node(tree.root, layer))

    def leaves(self, tree: Marked) -> Iterator[Leaf]:
        """Yield the scalars and the empty collections. The documents of a stream are counted like the items of a
        list."""
        if isinstance(tree, yaml_family.Whole):
            return _line_leaves("".join(map(str, tree.pieces)))
        if not isinstance(tree, yaml_family.Stream):
            return _node_leaves(tree.root, ()) if tree.root is not None else iter(())
        numbered = ((str(position), root) for position, root in enumerate(tree.roots) if root is not None)
        return (leaf for position, root in numbered for leaf in _node_leaves(root, (position,)))


def _marked_node(node: Node, layer: int) -> Node:
    line = _Line.of(node.line, layer)
    if isinstance(node, Scalar):
        return node._replace(line=line)
    if isinstance(node, Mapping):
        pairs = {name: (key, _marked_node(value, layer)) for name, (key, value) in node.pairs.items()}
        return node._replace(pairs=pairs, line=line)
    return node._replace(items=tuple(_marked_node(item, layer) for item in node.items), line=line)


def _node_leaves(node: Node, path: Path) -> Iterator[Leaf]:
    layer = _layer(node.line)
    if isinstance(node, Scalar):
        yield Leaf(path, layer, node.line, str(node.text), (bool(node.style), node.tag))
    elif isinstance(node, Mapping):
        for key, value in node.pairs.values():
            yield from _node_leaves(value, (*path, str(key.text) if isinstance(key, Scalar) else "(a key of several)"))
        if not node.pairs:
            yield Leaf(path, layer, node.line, "", "{}")
    else:
        for position, item in enumerate(node.items):
            yield from _node_leaves(item, (*path, str(position)))
        if not node.items:
            yield Leaf(path, layer, node.line, "", "[]")


class _Word(str):
    """A text or an attribute's value with the place it came from."""

    layer: int
    line: int

    @classmethod
    def of(cls, value: str, layer: int, line: int) -> _Word:
        word = cls(value)
        word.layer, word.line = layer, line
        return word


class _Xml:
    """XML: an element may come from several layers, each of its texts and attributes comes from one."""

    def mark(self, source: str, layer: int) -> Marked:
        """Return the document with each text and attribute as a `_Word`, each line as a `_Line`."""
        _, tree = xml_family.control(xml_family.parse(source))
        return replace(tree, root=_marked_element(tree.root, layer))

    def leaves(self, tree: Marked) -> Iterator[Leaf]:
        """Yield attributes, texts, and elements without either and without children."""
        return _element_leaves(tree.root, (tree.root.name,))


def _marked_element(element: Element, layer: int) -> Element:
    def word(value: str | Template) -> _Word:
        return _Word.of(str(value), layer, element.line)

    content = tuple(
        _marked_element(item, layer)
        if isinstance(item, Element)
        else Text(word(item.value), item.cdata)
        if isinstance(item, Text)
        else item
        for item in element.content
    )
    attributes = {label: word(value) for label, value in element.attributes.items()}
    line = _Line.of(element.line, layer)
    return Element(element.name, attributes, content, line, element.declared, element.scope)


def _element_leaves(element: Element, path: Path) -> Iterator[Leaf]:
    for label, value in element.attributes.items():
        yield _word_leaf((*path, f"@{label}"), value, str(value))
    children = element.elements()
    texts = [item.value for item in element.content if isinstance(item, Text)]
    said = [part for part in texts if str(part).strip(WHITE)]
    if said or (texts and not children):
        yield _word_leaf(path, (said or texts)[0], "".join(map(str, texts)))
    elif not (children or element.attributes):
        yield Leaf(path, _layer(element.line), element.line, "")
    siblings = Counter(child.name for child in children)
    seen: Counter[str] = Counter()
    for child in children:
        seen[child.name] += 1
        step = f"{child.name}[{seen[child.name]}]" if siblings[child.name] > 1 else child.name
        yield from _element_leaves(child, (*path, step))


def _word_leaf(path: Path, word: object, value: str) -> Leaf:
    return Leaf(path, word.layer, word.line, value) if isinstance(word, _Word) else Leaf(path, None, None, value)


class _Text:
    """Text: the end of each line is marked, so that the marks move with the lines."""

    def mark(self, source: str, layer: int) -> Marked:
        """Return the layer with a mark at the end of each line."""
        return text_family.control(_marked_lines(source, layer))[1]

    def leaves(self, tree: Marked) -> Iterator[Leaf]:
        """Yield the lines of the text that the layers make."""
        return _line_leaves((text_family.prepare(tree).static or b"").decode())


def _marked_lines(source: str, layer: int) -> str:
    """Return a text with a mark at the end of each line."""
    lines = source.split("\n")
    for at, line in enumerate(lines):
        if line or at < len(lines) - 1:
            end = "\r" if line.endswith("\r") else ""
            lines[at] = f"{line.removesuffix(end)}\0{layer}:{at + 1}{end}"
    return "\n".join(lines)


def _line_leaves(text: str) -> Iterator[Leaf]:
    """Yield the marked lines of a text."""
    for number, line in enumerate(text.split("\n"), 1):
        said, marked, mark = line.removesuffix("\r").rpartition("\0")
        if marked:
            layer, _, at = mark.partition(":")
            yield Leaf((str(number),), int(layer), int(at), said)


MARKINGS: dict[str, Marking] = {
    "toml": _Plain(toml_family, toml_lines),
    "json": _Plain(json_family, json_lines),
    "yaml": _Yaml(),
    "xml": _Xml(),
    "text": _Text(),
}
"""The marking of each family, by its name."""


def lines_of(family: str, answer: str) -> Lines:
    """Return the line of each leaf of an answer. Raises `ParseError` for an answer that is not of its format."""
    marking = MARKINGS[family]
    return {leaf.path: leaf.line for leaf in marking.leaves(marking.mark(answer, 0)) if leaf.line is not None}
