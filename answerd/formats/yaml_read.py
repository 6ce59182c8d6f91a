"""YAML text to nodes: text, style and tag of every scalar as written, style of every collection.

libyaml's events make the nodes, so nothing is lost that a merge has to keep. Nodes are immutable: aliases and layers
share them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import yaml
from yaml.reader import ReaderError

from answerd.formats.family import DEEPEST, ParseError, line_and_column
from answerd.formats.template import Template, TemplateReader
from answerd.memo import remembered

STANDARD = "tag:yaml.org,2002:"
STRING, BOOLEAN, NULL = STANDARD + "str", STANDARD + "bool", STANDARD + "null"
NON_SPECIFIC = "!"
"""The tag ``!``: it means "no tag", and PyYAML and YAML 1.2 draw different conclusions from it, so it is kept."""

_LONGEST_SCALAR = 100  # characters of a plain scalar whose type is worked out once for all documents
_RESOLVER: Any = yaml.resolver.Resolver()


class Scalar(NamedTuple):
    """A scalar. ``style`` is YAML's indicator, ``'``, ``"``, ``|`` or ``>``, and empty for a plain scalar.

    It is written from ``start`` to ``end``, its anchor and tag included; a block ends where the next token begins.
    """

    text: str | Template
    style: str
    tag: str | None
    line: int
    column: int
    start: int = 0
    end: int = 0
    anchor: str | None = None


class Sequence(NamedTuple):
    """A list. ``flow``: whether it is written in brackets; then everything in it can be written in brackets too."""

    items: tuple[Node, ...]
    flow: bool
    tag: str | None
    line: int
    column: int


class Mapping(NamedTuple):
    """A map: the key and value nodes by the key's `identity`, in their order."""

    pairs: dict[Identity, tuple[Node, Node]]
    flow: bool
    tag: str | None
    line: int
    column: int


Node = Scalar | Sequence | Mapping
Identity = tuple[Any, ...]
"""The identity of a key: tag and text, so that ``1`` and ``"1"`` differ."""


@remembered(4_096, len, _LONGEST_SCALAR)
def _resolved(plain: str) -> str:
    return str(_RESOLVER.resolve(yaml.ScalarNode, plain, (True, False)))


def scalar_tag(scalar: Scalar) -> str:
    """Return the tag of a scalar: as written, else by the rules of YAML 1.1 for a plain scalar."""
    if scalar.tag not in (None, NON_SPECIFIC):
        return str(scalar.tag)
    return STRING if scalar.style or scalar.tag or isinstance(scalar.text, Template) else _resolved(scalar.text)


_WORDS = ("true", "false", "yes", "no", "on", "off", "y", "n")
_PATTERNS = {
    STANDARD + "int": r"[-+]?(?:0[box])?[0-9A-Fa-f_]+(?::[0-9]+)*",
    STANDARD + "float": r"[-+]?[0-9._eE:+-]+",
    STANDARD + "timestamp": r"[0-9TtZz.: +-]+",
    STANDARD + "binary": r"[0-9A-Za-z+/=\s]+",
}
"""A value of each type, with 1 in place of each placeholder. Broad: what does not match is never of the type."""


def tag_fault(scalar: Scalar) -> str | None:
    """Return why no value of its placeholders can make a scalar one of its tag's type; None where some can, as for a
    tag that is not YAML's own, and where a filter makes the type."""
    tag, text = scalar.tag, scalar.text
    if tag is None or not tag.startswith(STANDARD) or tag == STRING or isinstance(text, str) or text.typed:
        return None
    if tag == BOOLEAN:
        pattern = "".join([re.escape(part.lower()) if isinstance(part, str) else ".+" for part in text.parts])
        fits = any(re.fullmatch(pattern, word) for word in _WORDS)
    else:
        sample = "".join([part if isinstance(part, str) else "1" for part in text.parts])
        fits = tag in _PATTERNS and re.fullmatch(_PATTERNS[tag], sample.strip()) is not None
    return None if fits else f"cannot make this value one of the type !!{tag.removeprefix(STANDARD)}"


def filled_scalar(scalar: Scalar, text: str, reader: TemplateReader) -> Scalar:
    """Return a scalar with this text, whose placeholders are read; the same scalar where it has none."""
    read = reader(text, has_types=True)
    if read == text:
        return scalar
    if scalar.tag is not None and (fault := tag_fault(scalar._replace(text=read))):
        reader.refuse(text, fault)
    # PyYAML would read a quoted number after "!" as a number.
    tag = None if scalar.tag == NON_SPECIFIC else scalar.tag
    if isinstance(read, Template) and read.typed:
        return scalar._replace(text=read, style="", tag=None)
    return scalar._replace(text=read, style=scalar.style or '"', tag=tag)


def identity(key: Node) -> Identity:
    """Return the identity of a key, whatever its style. The order of a map that is a key does not matter."""
    if isinstance(key, Scalar):
        return (scalar_tag(key), key.text)
    if isinstance(key, Sequence):
        return (key.tag, *map(identity, key.items))
    return (key.tag, frozenset((name, identity(value)) for name, (_, value) in key.pairs.items()))


# --- reading ----------------------------------------------------------------------------------------------------------

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
_FILL_IT = (
    "a line that begins with {%, %{, ${ or <% is a template's: have its own program fill it, and keep what that makes"
)
_STATEMENT = re.compile(r"^[ \t]*(?:\{%|%\{|<%|\$\{\w+\}[ \t]*$)", re.MULTILINE)
"""A line of Jinja, of Terraform and Packer, or of ERB. They make a text no YAML, often in the line after theirs."""


def read(text: str, *, spread: bool = True) -> list[Node | None]:
    """Return the roots of a text's documents, None for an empty document. Raises `ParseError`.

    ``spread``: whether the pairs of a ``<<`` are in the map that has it, or in the value of ``<<`` as they are written.
    """
    if text.startswith("%TAG") + text.count("\n%TAG") > MOST_TAG_DIRECTIVES:
        raise ParseError(f"it has more than {MOST_TAG_DIRECTIVES} %TAG directives")
    composer = _Composer(text, spread)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
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
    # PyYAML's own parser quotes the document in some of its messages; libyaml's are fixed.
    reason = str(error.problem) if yaml.__with_libyaml__ else "not well-formed"
    if error.context:
        reason += f" {error.context}"
        if error.context_mark is not None:
            reason += f" that began on line {error.context_mark.line + 1}"
    if mark is None:
        return ParseError(reason)
    line_end = text.find("\n", mark.index)
    line_end = len(text) if line_end < 0 else line_end
    if text.find("{{", text.rfind("\n", 0, mark.index) + 1, line_end) >= 0:
        reason += f"; {_QUOTE_IT}"
    elif _STATEMENT.search(text, 0, line_end):
        reason += f"; {_FILL_IT}"
    elif text.startswith("\t", mark.index):
        reason += "; YAML is indented with blanks, never with a tab"
    return ParseError(reason, mark.line + 1, mark.column + 1)


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

    def __init__(self, text: str, spread: bool) -> None:
        self.text, self.spread = text, spread
        self.roots: list[Node | None] = []
        self.open: list[_Open] = []
        self.anchors: dict[str, _Anchored | None] = {}
        self.size = self.aliased = 0

    def take(self, event: Any) -> None:
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
        place = (mark.line + 1, mark.column + 1, mark.index, event.end_mark.index)
        scalar = Scalar(value, style, event.tag, *place, event.anchor)
        self._place(scalar, event.anchor, began, 0)

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
        pairs = _pairs(keys, values)
        if self.spread and _MERGE in pairs:
            pairs = _spread_merge_key(pairs)
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
            reason = f"this map has this key already, on line {before[0].line}: remove one of the two"
            raise ParseError(reason, key.line, key.column)
        pairs[name] = (key, value)
    return pairs


def _spread_merge_key(pairs: dict[Identity, tuple[Node, Node]]) -> dict[Identity, tuple[Node, Node]]:
    """Insert the pairs of ``<<`` at its position; the map's own keys win over them, and the first of several maps
    wins."""
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
            raise ParseError("<< takes a map, or a list of maps: write the keys out", value.line, value.column)
        yield source


def _is_bare_placeholder(keys: list[Node], values: list[Node]) -> bool:
    """Return whether a flow map is the reading of ``{{ label }}`` without quotes: a map as a key, without a value."""
    return len(keys) == 1 and isinstance(keys[0], Mapping) and isinstance(values[0], Scalar) and not values[0].text


def _fits_flow(node: Node) -> bool:
    """Return whether an aliased node can certainly be written in brackets without changes."""
    if not isinstance(node, Scalar):
        return node.flow
    return node.style in ("'", '"') or (not node.style and bool(_PLAIN_ANYWHERE.match(str(node.text))))
