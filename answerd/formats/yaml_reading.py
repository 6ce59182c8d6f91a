"""YAML text to a tree of nodes.

Built from libyaml's events, not from ``yaml.compose``: that ends the process on a hundred thousand ``[``, expands
nothing itself, and does not report whether a tag was written or resolved. Aliases and ``<<`` are resolved here. Knows
nothing of control keys, layers or how a node is written again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import yaml
from yaml.reader import ReaderError

from answerd.formats.family import DEEPEST, ParseError, line_and_column
from answerd.formats.yaml_nodes import STANDARD, Identity, Mapping, Node, Scalar, Sequence, identity

MOST_ALIASED = 10_000
"""The most nodes that all aliases of a document together may represent."""
_CHARACTERS_A_NODE = 100
"""A long text counts as a node for each of these and for each of its lines: aliases to it multiply it just as well."""

MOST_TAG_DIRECTIVES = 100
"""The most ``%TAG`` lines of a document: libyaml compares each with all before it."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same events without libyaml, ten times as slow
_MERGE: Identity = (STANDARD + "merge", "<<")
_NOT_YAML = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PLAIN_ANYWHERE = re.compile(r"(?:\w[\w ./+-]*)?\Z")
_QUOTE_IT = "write a value with a placeholder in quotes: '{{ label }}'"


def events(text: str) -> Iterator[Any]:
    """Yield libyaml's events of a text."""
    return iter(yaml.parse(text, Loader=_LOADER))


def is_scalar(event: Any) -> bool:
    """Return whether an event is a scalar."""
    return isinstance(event, yaml.ScalarEvent)


def starts_mapping(event: Any) -> bool:
    """Return whether an event begins a map."""
    return isinstance(event, yaml.MappingStartEvent)


def starts_sequence(event: Any) -> bool:
    """Return whether an event begins a list."""
    return isinstance(event, yaml.SequenceStartEvent)


def ends_collection(event: Any) -> bool:
    """Return whether an event ends a map or a list."""
    return isinstance(event, yaml.CollectionEndEvent)


def read(text: str) -> list[Node | None]:
    """Return the roots of a text's documents, None for an empty document. Raises `ParseError`."""
    if text.startswith("%TAG") + text.count("\n%TAG") > MOST_TAG_DIRECTIVES:
        raise ParseError(f"it has more than {MOST_TAG_DIRECTIVES} %TAG directives")
    composer = _Composer(text)
    try:
        for event in events(text):
            composer.take(event)
    except ReaderError as error:
        raise _not_yaml(text, error.reason) from None
    except UnicodeEncodeError as error:
        raise _not_yaml(text, error.reason) from None
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(text, error) from None
    return composer.roots


def _not_yaml(text: str, reason: str) -> ParseError:
    found = _NOT_YAML.search(text)
    if found is None:
        return ParseError(reason)
    reason = f"the character U+{ord(found[0]):04X} must be written as an escape in quotes"
    return ParseError(reason, *line_and_column(text, found.start()))


def _syntax_error(text: str, error: yaml.MarkedYAMLError) -> ParseError:
    mark = error.problem_mark or error.context_mark
    reason = fixed_sentence(error)
    if error.context:
        reason += f" {error.context}"
        if error.context_mark is not None:
            reason += f" that began on line {error.context_mark.line + 1}"
    if mark is None:
        return ParseError(reason)
    line_end = text.find("\n", mark.index)
    if text.find("{{", text.rfind("\n", 0, mark.index) + 1, len(text) if line_end < 0 else line_end) >= 0:
        reason += f"; {_QUOTE_IT}"
    elif text.startswith("\t", mark.index):
        reason += "; YAML is indented with blanks, never with a tab"
    return ParseError(reason, mark.line + 1, mark.column + 1)


def fixed_sentence(error: yaml.MarkedYAMLError) -> str:
    """Return libyaml's problem, one of its fixed sentences. PyYAML's own parser quotes the document in some of its
    messages."""
    return str(error.problem) if yaml.__with_libyaml__ else "not well-formed"


class _Open:
    """A collection whose end has not been read yet."""

    __slots__ = ("began", "children", "flow", "height", "start")

    def __init__(self, start: Any, began: int) -> None:
        self.start, self.began = start, began
        self.flow = bool(start.flow_style)
        self.children: list[Node] = []
        self.height = 1


class _Anchored(NamedTuple):
    """A node with an anchor: how many nodes it represents, and how deep it is."""

    node: Node
    size: int
    height: int


class _Composer:
    """Builds nodes from the events of a text. Nodes that aliases name are shared, so that counting them costs
    nothing."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.roots: list[Node | None] = []
        self.open: list[_Open] = []
        self.anchors: dict[str, _Anchored | None] = {}
        self.size = self.aliased = 0

    def take(self, event: Any) -> None:
        """Take the next event."""
        take = _TAKE.get(type(event))
        if take is not None:
            take(self, event)

    def start_document(self, _event: Any) -> None:
        self.roots.append(None)
        self.anchors.clear()

    def scalar(self, event: Any) -> None:
        value, mark = event.value, event.start_mark
        style = event.style if event.style in ("'", '"', "|", ">") else ""
        began = self.size
        self.size += 1 + len(value) // _CHARACTERS_A_NODE + value.count("\n")
        self._place(Scalar(value, style, event.tag, mark.line + 1, mark.column + 1), event.anchor, began, 0)

    def start_collection(self, event: Any) -> None:
        if len(self.open) == DEEPEST:
            raise _refusal(f"it is nested more than {DEEPEST} levels deep", event)
        if event.anchor:
            self.anchors[event.anchor] = None
        self.open.append(_Open(event, self.size))
        self.size += 1

    def end_sequence(self, _event: Any) -> None:
        opened = self.open.pop()
        start, mark = opened.start, opened.start.start_mark
        node = Sequence(tuple(opened.children), opened.flow, start.tag, mark.line + 1, mark.column + 1)
        self._place(node, start.anchor, opened.began, opened.height)

    def end_mapping(self, _event: Any) -> None:
        opened = self.open.pop()
        start, mark = opened.start, opened.start.start_mark
        keys, values = opened.children[::2], opened.children[1::2]
        if start.flow_style and self.text.startswith("{{", mark.index) and _is_bare_placeholder(keys, values):
            raise _refusal(f"{{{{ opens two maps here, not a placeholder: {_QUOTE_IT}", start)
        pairs = _spread_merge_key(_pairs(keys, values))
        node = Mapping(pairs, opened.flow, start.tag, mark.line + 1, mark.column + 1)
        self._place(node, start.anchor, opened.began, opened.height)

    def alias(self, event: Any) -> None:
        name = event.anchor
        anchored = self.anchors.get(name)
        if anchored is None:
            what = "is inside the node that it names" if name in self.anchors else "names no anchor above it"
            raise _refusal(f"this alias {what}", event)
        self.size += anchored.size
        self.aliased += anchored.size
        if self.aliased > MOST_ALIASED:
            raise _refusal(f"its aliases expand to more than {MOST_ALIASED} nodes", event)
        if len(self.open) + anchored.height > DEEPEST:
            raise _refusal(f"its aliases nest it more than {DEEPEST} levels deep", event)
        if not _fits_flow(anchored.node):
            for opened in self.open:
                opened.flow = False
        self._place(anchored.node, None, 0, anchored.height)

    def _place(self, node: Node, anchor: str | None, began: int, height: int) -> None:
        if anchor:
            self.anchors[anchor] = _Anchored(node, self.size - began, height)
        if not self.open:
            self.roots[-1] = node
            return
        parent = self.open[-1]
        parent.children.append(node)
        parent.height = max(parent.height, height + 1)


_TAKE: dict[type, Callable[[_Composer, Any], None]] = {
    yaml.DocumentStartEvent: _Composer.start_document,
    yaml.ScalarEvent: _Composer.scalar,
    yaml.SequenceStartEvent: _Composer.start_collection,
    yaml.MappingStartEvent: _Composer.start_collection,
    yaml.SequenceEndEvent: _Composer.end_sequence,
    yaml.MappingEndEvent: _Composer.end_mapping,
    yaml.AliasEvent: _Composer.alias,
}


def _refusal(reason: str, event: Any) -> ParseError:
    return ParseError(reason, event.start_mark.line + 1, event.start_mark.column + 1)


def _pairs(keys: list[Node], values: list[Node]) -> dict[Identity, tuple[Node, Node]]:
    pairs: dict[Identity, tuple[Node, Node]] = {}
    for key, value in zip(keys, values, strict=True):
        name = identity(key)
        before = pairs.get(name)
        if before is not None:
            raise ParseError(f"this map has this key already, on line {before[0].line}", key.line, key.column)
        pairs[name] = (key, value)
    return pairs


def _spread_merge_key(pairs: dict[Identity, tuple[Node, Node]]) -> dict[Identity, tuple[Node, Node]]:
    """Insert the pairs of ``<<`` at its position; the map's own keys win over them, and the first of several maps
    wins."""
    if _MERGE not in pairs:
        return pairs
    spread: dict[Identity, tuple[Node, Node]] = {}
    for name, pair in pairs.items():
        if name == _MERGE:
            brought = (pair_below for source in _merged_maps(pair[1]) for pair_below in source.pairs.items())
            for key, value in brought:
                if key not in pairs:
                    spread.setdefault(key, value)
        else:
            spread[name] = pair
    return spread


def _merged_maps(value: Node) -> Iterator[Mapping]:
    for source in value.items if isinstance(value, Sequence) else (value,):
        if not isinstance(source, Mapping):
            raise ParseError("<< takes a map, or a list of maps", value.line, value.column)
        yield source


def _is_bare_placeholder(keys: list[Node], values: list[Node]) -> bool:
    """Return whether a flow map is the reading of ``{{ label }}`` without quotes: a map as a key, without a value."""
    return len(keys) == 1 and isinstance(keys[0], Mapping) and isinstance(values[0], Scalar) and not values[0].text


def _fits_flow(node: Node) -> bool:
    """Return whether an aliased node can certainly be written in brackets without changes."""
    if not isinstance(node, Scalar):
        return node.flow
    return node.style in ("'", '"') or (not node.style and bool(_PLAIN_ANYWHERE.match(str(node.text))))
