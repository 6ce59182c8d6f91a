"""A tree of YAML nodes to text, so that every consumer reads the same values as in the layers themselves.

A plain scalar is written again letter for letter: libyaml's emitter would put quotes around ``12:30`` in brackets and
so make a text of it, and PyYAML's serializer resolves by YAML 1.1 what a consumer may read under YAML 1.2. Knows
nothing of events, layers or control keys.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import TypeGuard
from urllib.parse import quote

from answerd.formats.family import Slot, fragments, typed_slot_of
from answerd.formats.template import Template
from answerd.formats.yaml_nodes import Mapping, Node, Scalar, Sequence

_STEP = 2
"""Columns by which the content of a block is indented."""
_LONGEST_SIMPLE_KEY = 1000
"""Characters of a key without ``?``. YAML's own limit is 1024, and parsers count differently."""

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
        for key, value in node.pairs.values():
            simple = _simple_key(key)
            if not begun:
                self.put(margin)
            begun = False
            if simple is None:
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
            for position, (key, value) in enumerate(node.pairs.values()):
                self.put(", " if position else "")
                simple = _simple_key(key)
                if simple is None:
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
    """Return a key as it is written before its colon; None where YAML wants it after ``?``. Keys are never
    templates."""
    if not isinstance(key, Scalar) or not isinstance(key.text, str) or key.style in _BLOCK_STYLES:
        return None
    if not (key.style or key.text):
        return _empty(key)
    text = (_tag(key) + " " if key.tag else "") + _scalar(key.text, key.style, 0)
    return text if len(text) <= _LONGEST_SIMPLE_KEY else None


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
