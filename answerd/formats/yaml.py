"""The YAML family: cloud-init, autoinstall and other YAML documents. Layers merge as nodes, never as values.

The consumer decides what a scalar means, under YAML 1.1 or 1.2: ``0644``, ``yes`` and ``1.10`` are written as they were
read, letter for letter: libyaml's emitter would put quotes around ``12:30`` in brackets and so make a text of it, and
PyYAML's serializer resolves by YAML 1.1 what a consumer may read under YAML 1.2. Only the comments at the top of the
document are kept in a merge; anchors and directives (``%YAML``) are not.

A text of several documents (Talos, Kubernetes manifests) that is no layer is served as it is written, and only the
scalars with placeholders are written again, each in its place. Such texts merge document by document. User-data of
cloud-init that is no cloud-config, such as a script, is served as it is written, too (`answerd.formats.user_data`).
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple, TypeGuard
from urllib.parse import quote

from answerd.formats import text as text_family
from answerd.formats.control import CONTROL_KEYS, Language, overlay_number
from answerd.formats.family import (
    LONGEST_KEY,
    NO_BRANCHES,
    Branches,
    ControlFault,
    KeySlot,
    KeyText,
    MergeError,
    ParseError,
    Path,
    Prepared,
    RawControl,
    RawValue,
    Slot,
    branches,
    fragments,
    key_slots,
    position,
    typed_slot_of,
)
from answerd.formats.template import Template, TemplateReader
from answerd.formats.user_data import CONFIG, TEMPLATE, Kind, is_served_whole, kind_of
from answerd.formats.yaml_read import (
    BOOLEAN,
    NULL,
    STRING,
    Mapping,
    Node,
    Scalar,
    Sequence,
    filled_scalar,
    read,
    scalar_tag,
)
from answerd.short_texts import with_lines

_STEP = 2
"""Columns by which the content of a block is indented."""

_UNSAFE = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff"
"""Control characters, characters that some YAML parsers take for a line break or a byte order mark, and
noncharacters."""
_UNSAFE_IN_LINE = re.compile(f"[\n{_UNSAFE}]")
_UNSAFE_IN_BLOCK = re.compile(f"[{_UNSAFE}]")
_TO_ESCAPE = re.compile(f'["\\\\\t\n{_UNSAFE}]')
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_STANDARD_TAG = re.compile(r"tag:yaml\.org,2002:([\w-]+)\Z", re.ASCII)
_LOCAL_TAG = re.compile(r"![\w./:-]*\Z", re.ASCII)


def write(root: Node) -> list[str | Slot]:
    """Return the text of a document that ends in a newline, cut at its templated scalars. An empty block map gives no
    text."""
    if isinstance(root, Mapping) and not (root.pairs or root.flow or root.tag):
        return []
    writer = _Writer()
    if _is_block(root):
        if root.tag:
            writer.put(_tag(root) + "\n")
        writer.entries(root, 0, begun=False)
    else:
        writer.inline(root, 0)
        writer.put("\n")
    return writer.fragments


def write_in_place(scalar: Scalar, margin: int | None) -> list[str | Slot]:
    """Return a scalar that is written again in its place in a text, without the end of its last line.

    ``margin`` is the column in which the lines of a block begin, None where it is no block or the column is not known.
    """
    tag = _tag(scalar) + " " if scalar.tag else ""
    if isinstance(scalar.text, Template) and scalar.text.typed:
        return [typed_slot_of(scalar.text.typed, _double_quoted)]
    if scalar.style in _BLOCK_STYLES:
        spell = functools.partial(_block_in_place, style=scalar.style, margin=margin)
        return [tag, spell(scalar.text) if isinstance(scalar.text, str) else Slot(scalar.text, spell)]
    return [tag + '"', *fragments(scalar.text, escape), '"']


def _block_in_place(text: str, style: str, margin: int | None) -> str:
    """Return a block in its original column. Where its first line begins with a blank, an indicator would have to state
    the distance from the column of its parent, which is not known here: it is written in double quotes instead."""
    if margin is None or text[:1] in ("", " ", "\t", "\n"):
        return _double_quoted(text)
    return _scalar(text, style, margin - _STEP)


class _Writer:
    """Writes nodes in order. ``indent`` is the column of the entry that contains a node."""

    def __init__(self) -> None:
        self.fragments: list[str | Slot] = []
        self.put = self.fragments.append

    def entries(self, node: Sequence | Mapping, indent: int, *, begun: bool) -> None:
        """Write the entries of a block collection, each on its own lines. ``begun``: the first entry's indentation is
        written."""
        margin = " " * indent
        if isinstance(node, Sequence):
            for item in node.items:
                self.put("-" if begun else margin + "-")
                begun = False
                if _is_block(item) and not item.tag:
                    self.put(" " * (_STEP - 1))
                    self.entries(item, indent + _STEP, begun=True)
                else:
                    self._after_indicator(item, indent)
            return
        slots = _key_slots(node)
        for key, value in node.pairs.values():
            simple = _simple_key(key)
            if not begun:
                self.put(margin)
            begun = False
            if slot := _slot_of_key(key, slots):
                self.fragments += ['"', slot, '"']
            elif simple is None:
                self.put("?")
                self._after_indicator(key, indent)
                self.put(margin)
            else:
                self.put(simple)
            self.put(":")
            self._after_indicator(value, indent)

    def _after_indicator(self, node: Node, indent: int) -> None:
        """Write the value after ``key:``, ``-`` or ``?``, to the end of its last line."""
        if _is_block(node):
            self.put(f" {_tag(node)}\n" if node.tag else "\n")
            self.entries(node, indent + _STEP, begun=False)
            return
        if node.tag or not isinstance(node, Scalar) or node.style or node.text:
            self.put(" ")
            self.inline(node, indent)
        self.put("\n")

    def inline(self, node: Node, indent: int) -> None:
        """Write a scalar or a flow collection."""
        if node.tag:
            self.put(_tag(node) + " ")
        if not isinstance(node, Scalar):
            self._flow(node, indent)
        elif isinstance(node.text, str):
            self.put(_scalar(node.text, node.style, indent))
        elif node.text.typed:
            self.put(typed_slot_of(node.text.typed, _double_quoted))
        elif node.style in _BLOCK_STYLES:
            self.put(Slot(node.text, functools.partial(_scalar, style=node.style, indent=indent)))
        else:
            self.fragments += ['"', *fragments(node.text, escape), '"']

    def _flow(self, node: Sequence | Mapping, indent: int) -> None:
        opening, closing = "[]" if isinstance(node, Sequence) else "{}"
        self.put(opening)
        if isinstance(node, Sequence):
            for position, item in enumerate(node.items):
                self.put(", " if position else "")
                self._flow_value(item, indent)
        else:
            slots = _key_slots(node)
            for position, (key, value) in enumerate(node.pairs.values()):
                self.put(", " if position else "")
                simple = _simple_key(key)
                if slot := _slot_of_key(key, slots):
                    self.fragments += ['"', slot, '"']
                    simple = ""
                elif simple is None:
                    self.put("? ")
                    self._flow_value(key, indent)
                    simple = " "
                self.put(simple + ": ")
                self._flow_value(value, indent)
        self.put(closing)

    def _flow_value(self, node: Node, indent: int) -> None:
        if isinstance(node, Scalar) and not (node.style or node.text):
            self.put(_empty(node))
        else:
            self.inline(node, indent)


def _is_block(node: Node) -> TypeGuard[Sequence | Mapping]:
    """Return whether a node is written on lines of its own; an empty collection never is."""
    if isinstance(node, Scalar) or node.flow:
        return False
    return bool(node.items if isinstance(node, Sequence) else node.pairs)


def _simple_key(key: Node) -> str | None:
    """Return a key without placeholders as it is written before its colon; None where YAML wants it after ``?``."""
    if not isinstance(key, Scalar) or not isinstance(key.text, str) or key.style in _BLOCK_STYLES:
        return None
    if not (key.style or key.text):
        return _empty(key)
    text = (_tag(key) + " " if key.tag else "") + _scalar(key.text, key.style, 0)
    return text if len(text) <= LONGEST_KEY else None


def _key_slots(node: Mapping) -> dict[str, KeySlot]:
    """Return the slots of the keys of a map that have placeholders. A filled key is a string, so keys of other types
    are no other spelling of it."""
    texts = [key.text for name, (key, _) in node.pairs.items() if isinstance(key, Scalar) and name[0] == STRING]
    return key_slots([text for text in texts if isinstance(text, str)], escape)


def _slot_of_key(key: Node, slots: dict[str, KeySlot]) -> KeySlot | None:
    return slots.get(key.text) if slots and isinstance(key, Scalar) and isinstance(key.text, KeyText) else None


def _empty(scalar: Scalar) -> str:
    """Return an empty plain scalar for a place that cannot be empty; its tag still holds."""
    return f'{_tag(scalar)} ""' if scalar.tag else "null"


def _tag(node: Node) -> str:
    tag = node.tag or ""
    standard = _STANDARD_TAG.match(tag)
    if standard:
        return f"!!{standard[1]}"
    return tag if _LOCAL_TAG.match(tag) else f"!<{quote(tag, safe='!:/;?@&=+$,.~*()-_')}>"


def _scalar(text: str, style: str, indent: int) -> str:
    """Return a text in its style, or in double quotes where that style cannot represent it."""
    if style in _BLOCK_STYLES:
        return _double_quoted(text) if not text or _UNSAFE_IN_BLOCK.search(text) else _block(text, style, indent)
    if style == '"' or _UNSAFE_IN_LINE.search(text):
        return _double_quoted(text)
    if style == "'" or text.startswith(("---", "...")):  # a plain scalar could end the document
        return "'" + text.replace("'", "''") + "'"
    return text


def escape(text: str) -> str:
    """Return a text as it is written between double quotes, under YAML 1.1 and 1.2."""
    return _TO_ESCAPE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    return _SHORT_ESCAPES.get(character) or f"\\u{ord(character):04x}"


def _double_quoted(text: str) -> str:
    return f'"{escape(text)}"'


def _block(text: str, style: str, indent: int) -> str:
    """Return a literal or folded block: header and lines, without the last line's end."""
    body, newline = (text[:-1], True) if text.endswith("\n") else (text, False)
    chomping = "" if newline else "-"
    if newline and (not body or body.endswith("\n")):
        chomping = "+"
    indicator = str(_STEP) if text[0] in " \t\n" else ""  # else a parser would take the first line's blanks for it
    margin = " " * (indent + _STEP)
    header = f"{style}{indicator}{chomping}\n"
    if style == "|":
        return header + _indented(body.split("\n"), margin)
    return header + _indented(_folded_lines(body), margin)


def _indented(lines: Iterable[str], margin: str) -> str:
    return "\n".join([margin + line if line else "" for line in lines])


def _folded_lines(body: str) -> list[str]:
    """Return the lines of a folded block, with an additional break between lines that a reader would join with a
    blank."""
    lines: list[str] = []
    joins = False
    for line in body.split("\n"):
        if line:
            if joins and line[0] not in " \t":
                lines.append("")
            joins = line[0] not in " \t"
        lines.append(line)
    return lines


_BLOCK_STYLES = ("|", ">")


# --- streams ----------------------------------------------------------------------------------------------------------

_BLOCK_HEADER = re.compile(r"[|>][+-]?(?P<indicator>[1-9])?[+-]?[^\n]*\n")
_FIRST_LINE = re.compile(r"(?:[ \t]*\r?\n)*(?P<margin> *)[^ \r\n]")


def _cut(stream: Stream, text: str, reader: TemplateReader, replaced: dict[int, Scalar]) -> tuple[str | Slot, ...]:
    """Return the text of a stream, cut at its placeholders; those of keys are read already. Other scalars with
    placeholders are added to ``replaced``, by the ``id()`` of those that they replace."""
    pieces: list[str | Slot] = []
    done = seen = 0
    for scalar, is_key, slots in (found for root in stream.roots if root is not None for found in _scalars(root)):
        start, end = scalar.start, scalar.end
        if start < seen:  # an alias stands for it
            continue
        seen = start + 1
        if slot := _slot_of_key(scalar, slots):
            pieces += [text[done:start] + (f"&{scalar.anchor} " if scalar.anchor else "") + '"', slot, '"']
            done = end
            continue
        filled = scalar if is_key or "{{" not in str(scalar.text) else filled_scalar(scalar, str(scalar.text), reader)
        if filled is scalar:
            continue
        replaced[id(scalar)] = filled
        margin = None
        if scalar.style in _BLOCK_STYLES:
            # The text from the end of a block to the next token is the indentation of that token.
            end = text.rfind("\n", start, end) + 1 or end
            margin = _margin(text[start:end])
        pieces.append(text[done:start] + (f"&{scalar.anchor} " if scalar.anchor else ""))
        pieces += write_in_place(filled, margin)
        if scalar.style in _BLOCK_STYLES:
            pieces.append("\n")
        done = end
    return (*pieces, text[done:])


def _with_keys(node: Node, reader: TemplateReader) -> Node:
    """Return a node with the placeholders of keys read."""
    if isinstance(node, Mapping):
        return node._replace(
            pairs={
                name: (_filled_key(key, reader), _with_keys(value, reader)) for name, (key, value) in node.pairs.items()
            }
        )
    if isinstance(node, Sequence):
        return node._replace(items=tuple(_with_keys(item, reader) for item in node.items))
    return node


def _filled_key(key: Node, reader: TemplateReader) -> Node:
    if not isinstance(key, Scalar) or "{{" not in str(key.text) or scalar_tag(key) != STRING:
        return key
    text = KeyText.of(str(key.text), reader)
    return key._replace(text=text, style='"', tag=None) if isinstance(text, KeyText) else key


def _scalars(node: Node, *, is_key: bool = False) -> Iterator[tuple[Scalar, bool, dict[str, KeySlot]]]:
    """Yield the scalars of a node in their order, each with whether it is a key, or within one; and for a key of a map
    the slots of that map's keys."""
    if isinstance(node, Scalar):
        yield node, is_key, {}
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from _scalars(item, is_key=is_key)
    else:
        slots = _key_slots(node)
        for key, value in node.pairs.values():
            if isinstance(key, Scalar):
                yield key, True, slots
            else:
                yield from _scalars(key, is_key=True)
            yield from _scalars(value, is_key=is_key)


def _margin(block: str) -> int | None:
    """Return the column in which the lines of a block scalar begin; None where the block has an indentation
    indicator."""
    header = _BLOCK_HEADER.search(block)
    if header is None or header["indicator"]:
        return None
    first = _FIRST_LINE.match(block, header.end())
    return len(first["margin"]) if first else None


# --- the family -------------------------------------------------------------------------------------------------------

name = "yaml"
templates_off = "template: false"

_COMMENT = re.compile("(#[^\r\n\x85\u2028\u2029]*)(?:\r\n|[\r\n\x85\u2028\u2029]|\\Z)")
"""A line that is a comment: libyaml ends a line at the same characters."""
_TRUE = ("true", "yes", "on")


class YamlDocument(NamedTuple):
    """A layer, or several merged: the comment lines at its top (each with its newline), and its content.

    ``root`` is None where the text has nothing but comments. ``is_template``: cloud-init fills it, so ``{{`` is text.
    """

    opening: str
    root: Node | None
    is_template: bool = False


class Stream(NamedTuple):
    """A text of several documents: their roots, and the text, once it is cut at its placeholders.

    ``pieces`` is empty where the text is not what is served: where it had control keys, or after a merge. ``opening``
    are the comment lines at the top.
    """

    roots: tuple[Node | None, ...]
    pieces: tuple[str | Slot, ...]
    opening: str = ""


class Whole(NamedTuple):
    """User-data that is no cloud-config: its text, cut at its placeholders. Never merged.

    ``is_filled``: a directive asks for placeholders to be read.
    """

    kind: Kind
    pieces: tuple[str | Slot, ...]
    is_filled: bool = False


YamlTree = YamlDocument | Stream | Whole
"""The tree of this family."""


_OVERLAY = re.compile(r"""(?<![\w.-])overlay["']?[ \t]*:""")


def spells_overlay(text: str) -> bool:
    return _OVERLAY.search(text) is not None


def parse(text: str) -> YamlTree:
    """Return the nodes of a text and the comment lines that it begins with; a `Stream` where it has several documents,
    a `Whole` where it is user-data and no cloud-config. Raises `ParseError`."""
    kind = kind_of(text)
    if kind is not None and is_served_whole(text):
        return Whole(kind, (text,))
    try:
        roots = read(text)
    except ParseError:
        if kind is TEMPLATE:  # YAML only once cloud-init has filled it
            return Whole(kind, (text,))
        raise
    roots = [None if _is_nothing(root) else root for root in roots]
    if len(roots) > 1:
        return _stream(text, roots)
    return YamlDocument("".join(_opening_comments(text)), roots[0] if roots else None, kind is TEMPLATE)


def _is_nothing(root: Node | None) -> bool:
    """Return whether a document has no content, as between two ``---``."""
    return isinstance(root, Scalar) and not (root.text or root.style or root.tag)


def _opening_comments(text: str) -> list[str]:
    """Return the comment lines from the first line on, each with a newline. Blanks before the first are no line, as for
    cloud-init."""
    lines: list[str] = []
    at = len(text) - len(text.lstrip())
    while found := _COMMENT.match(text, at):
        lines.append(found[1] + "\n")
        at = found.end()
    return lines


def _stream(text: str, roots: list[Node | None]) -> Stream:
    for root in [root for root in roots if root is not None][1:]:
        pairs = root.pairs if isinstance(root, Mapping) else {}
        for key in CONTROL_KEYS:
            if (STRING, key) in pairs:
                written = pairs[STRING, key][0]
                reason = "is a control key: of several YAML documents they stand at the top of the first"
                raise ParseError(f"{key} {reason}", written.line, written.column)
    return Stream(tuple(roots), (text,), "".join(_opening_comments(text)))


def control(tree: YamlTree) -> tuple[RawControl, YamlTree]:
    """Return the control keys at the top of the document, numbers and dates by their text."""
    if isinstance(tree, Whole):
        return _directives(tree)
    if isinstance(tree, Stream):
        first = next((at for at, root in enumerate(tree.roots) if root is not None), 0)
        written, below = control(YamlDocument("", tree.roots[first]))
        if written.is_empty or not isinstance(below, YamlDocument):
            return written, tree
        return written, Stream((*tree.roots[:first], below.root, *tree.roots[first + 1 :]), (), tree.opening)
    if not isinstance(tree.root, Mapping):
        return RawControl(), tree
    root = tree.root
    found = {key: root.pairs[STRING, key][1] for key in CONTROL_KEYS if (STRING, key) in root.pairs}
    if not found:
        return RawControl(), tree
    values = {
        key: RawValue(_READ.get(key, _texts)(value), position(value.line, value.column)) for key, value in found.items()
    }
    rest = {key: pair for key, pair in root.pairs.items() if key[0] != STRING or key[1] not in found}
    return RawControl(values), tree._replace(root=root._replace(pairs=rest))


_NO_LAYER = ("extends", "overlay", "append", "unset")
_KEY_LINE = re.compile(rf"^(?P<key>{'|'.join(CONTROL_KEYS)})[ \t]*:(?:[ \t]|$)", re.MULTILINE)


def _directives(tree: Whole) -> tuple[RawControl, Whole]:
    """Return the directives among the comments of user-data that is no cloud-config, and the text without them."""
    text = "".join(map(str, tree.pieces))
    if not tree.kind.has_comments:
        return RawControl(), tree
    written, layers = text_family.control(text)
    faults = list(written.faults)
    for key in _NO_LAYER:
        if key in written.values:
            reason = f"has no meaning in {tree.kind.described}: no layer is laid over or under it"
            faults.append(ControlFault(key, f"{reason} ({written.values[key].place})"))
    if tree.kind is TEMPLATE:
        for line, found in with_lines(text, _KEY_LINE.finditer(text)):
            reason = (
                f"is no control key in a template that is no YAML before cloud-init has filled it (line {line}): write "
                "it as a comment, as in '# answer: match file=user-data'"
            )
            faults.append(ControlFault(found["key"], reason, hides_claims=True))
    kept = {key: value for key, value in written.values.items() if key not in _NO_LAYER}
    if "template" in kept and isinstance(kept["template"].value, Language):
        faults.append(ControlFault("template", f"is 'off' or 'on' in user-data ({kept.pop('template').place})"))
    is_filled = kept["template"].value is True if "template" in kept else False
    rest = "".join([str(part) for layer in layers for part in (layer.interpreter, layer.body)])
    return RawControl(kept, tuple(faults)), tree._replace(pieces=(rest,), is_filled=is_filled)


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
    """Replace keys and values that have placeholders by templates, values with a tag too."""
    if isinstance(tree, Whole):
        read = reader("".join(map(str, tree.pieces)), open_is_text=True) if tree.is_filled else None
        return tree if read is None else tree._replace(pieces=tuple(fragments(read, str)))
    if isinstance(tree, Stream):
        if not tree.pieces:
            return tree._replace(roots=tuple(root and _placeholders(root, reader) for root in tree.roots))
        filled: dict[int, Scalar] = {}
        tree = tree._replace(roots=tuple(root and _with_keys(root, reader) for root in tree.roots))
        pieces = _cut(tree, "".join(map(str, tree.pieces)), reader, filled)
        return tree._replace(pieces=pieces, roots=tuple(root and _with_filled(root, filled) for root in tree.roots))
    if tree.root is None or tree.is_template:
        return tree
    return tree._replace(root=_placeholders(tree.root, reader))


def _placeholders(node: Node, reader: TemplateReader) -> Node:
    if isinstance(node, Mapping):
        pairs = {
            key: (_filled_key(written, reader), _placeholders(value, reader))
            for key, (written, value) in node.pairs.items()
        }
        return node._replace(pairs=pairs)
    if isinstance(node, Sequence):
        return node._replace(items=tuple(_placeholders(item, reader) for item in node.items))
    if isinstance(node.text, Template) or "{{" not in node.text:
        return node
    return filled_scalar(node, node.text, reader)


def _with_filled(node: Node, filled: dict[int, Scalar]) -> Node:
    """Return a node with scalars replaced by those that are filed under their ``id()``. Keys are unchanged."""
    if isinstance(node, Scalar):
        return filled.get(id(node), node)
    if isinstance(node, Sequence):
        return node._replace(items=tuple(_with_filled(item, filled) for item in node.items))
    pairs = {key: (written, _with_filled(value, filled)) for key, (written, value) in node.pairs.items()}
    return node._replace(pairs=pairs)


def unset(tree: YamlTree, paths: Collection[Path]) -> YamlTree:
    if isinstance(tree, Stream):
        gone = branches(paths)
        roots = tuple(_unset(root, gone) if isinstance(root, Mapping) else root for root in tree.roots)
        same = all(new is old for new, old in zip(roots, tree.roots, strict=True))
        return tree if same else Stream(roots, (), tree.opening)
    if not isinstance(tree, YamlDocument) or not isinstance(tree.root, Mapping):
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
    roots = tree.roots if isinstance(tree, Stream) else (tree.root,) if isinstance(tree, YamlDocument) else ()
    return [path for path in paths if not any(isinstance(node, Sequence) for root in roots for node in _at(root, path))]


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

    Where a layer has several documents, and where both have one and the upper one's ``kind`` is another, the documents
    are merged that have the same ``apiVersion``, ``kind`` and name; the others follow. Raises `MergeError` where that
    is ambiguous, and where one of the two is user-data and no cloud-config.
    """
    if isinstance(lower, Whole) or isinstance(upper, Whole):
        which, whole = ("the upper", upper) if isinstance(upper, Whole) else ("the lower", lower)
        described = whole.kind.described if isinstance(whole, Whole) else ""
        raise MergeError(
            f"{which} text is {described}, which is served alone or not at all: let no group and no "
            "overlay of this format claim that machine"
        )
    opening, paths = _opening(lower, upper), branches(append)
    if isinstance(lower, YamlDocument) and isinstance(upper, YamlDocument):
        is_template = lower.is_template or upper.is_template
        if lower.root is None or upper.root is None:
            return YamlDocument(opening, lower.root if upper.root is None else upper.root, is_template)
        named = _named(upper.root)
        if not named.kind or named == _named(lower.root):
            return YamlDocument(opening, _merge(lower.root, upper.root, paths), is_template)
    return _merged_streams(lower, upper, opening, paths)


class _Named(NamedTuple):
    """What a document of Kubernetes or Talos is the configuration of. Without ``kind`` it is Talos' main document."""

    version: object = ""
    kind: object = ""
    name: object = ""
    namespace: object = ""


def _named(root: Node) -> _Named:
    def said(node: Node | None, key: str) -> Node | None:
        pair = node.pairs.get((STRING, key)) if isinstance(node, Mapping) else None
        return pair[1] if pair else None

    def text(node: Node | None) -> object:
        return node.text if isinstance(node, Scalar) else ""

    kind, version = text(said(root, "kind")), text(said(root, "apiVersion"))
    if not (kind and version):
        return _Named()
    metadata = said(root, "metadata")
    name = text(said(root, "name")) or text(said(metadata, "name"))
    return _Named(version, kind, name, text(said(metadata, "namespace")))


def _merged_streams(
    lower: YamlDocument | Stream, upper: YamlDocument | Stream, opening: str, append: Branches
) -> YamlTree:
    below, above = _roots(lower), _roots(upper)
    names, wanted = [_named(root) for root in below], [_named(root) for root in above]
    places = {name: at for at, name in enumerate(names)}
    counts = ("lower", Counter(names)), ("upper", Counter(wanted))
    for root, name in zip(above, wanted, strict=True):
        if name not in places:
            below.append(root)
            continue
        for which, count in counts:
            if count[name] > 1:
                what = "without a kind" if not name.kind else "of one kind and name"
                raise MergeError(
                    f"the {which} text has two documents {what}, of which one is on line {root.line} of the upper "
                    "text, too: which of them are to be merged is not known"
                )
        at = places[name]
        below[at] = _merge(below[at], root, append)
    return Stream(tuple(below), (), opening)


def _roots(tree: YamlDocument | Stream) -> list[Node]:
    """Return the documents of a tree, without empty ones, such as one that had nothing but control keys."""
    roots = tree.roots if isinstance(tree, Stream) else (tree.root,)
    return [root for root in roots if root is not None and (not isinstance(root, Mapping) or root.pairs or root.flow)]


def _opening(lower: YamlDocument | Stream, upper: YamlDocument | Stream) -> str:
    """Return the comments at the top of a merged document: those of the upper layer, unless only the lower one's have a
    header. Headers stand first, as cloud-init wants them: a template's, of either layer, before that of the config."""
    opening = lower.opening
    if upper.opening and (_headers(upper) or not _headers(lower)):
        opening = upper.opening
    headers = _headers(lower) | _headers(upper)
    first = [headers[kind] for kind in (TEMPLATE, CONFIG) if kind in headers]
    return "".join([*first, *(line for line in opening.splitlines(keepends=True) if kind_of(line) not in headers)])


def _headers(document: YamlDocument | Stream) -> dict[Kind, str]:
    """Return the comment lines at the top that tell cloud-init what the text is."""
    kinds = {kind_of(line): line for line in reversed(document.opening.splitlines(keepends=True))}
    return {kind: line for kind, line in kinds.items() if kind in (TEMPLATE, CONFIG)}


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
    """Return the comments at the top and the document in block style, with flow collections kept; any other text as it
    is written."""
    if isinstance(tree, YamlDocument):
        return Prepared([tree.opening, *(write(tree.root) if tree.root is not None else ())])
    if isinstance(tree, Whole) or tree.pieces:
        return Prepared(list(tree.pieces))
    written: list[str | Slot] = [tree.opening]
    for at, root in enumerate(_roots(tree)):
        written += ["---\n"] if at else []
        written += write(root)
    return Prepared(written)
