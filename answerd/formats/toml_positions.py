"""The lines of the keys, the tables and the elements of long arrays in a TOML text.

tomli reports no positions. It has already accepted the text, so a few tokens are enough here: where strings and
comments end, brackets, commas, the first ``=`` of a statement. tomli reads the names of keys. One pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import tomli

from answerd.formats.family import Path

Lines = dict[Path, int]
"""The line, from 1, on which the value of a path begins. A value without a line of its own is on the line of its
parent."""

_TOKEN = re.compile(
    r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*+"{3,5}'
    r"|'''(?:[^']|'{1,2}(?!'))*+'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*+"'
    r"|'[^'\n]*+'"
    r"|(?P<comment>\#[^\n]*+)"
    r"|(?P<sign>[\[\]{},=\n])"
    r"""|[^\s"'\#\[\]{},=]++""",
    re.DOTALL,
)
_BARE = re.compile(r"[ \t]*([A-Za-z0-9_-]+)[ \t]*\Z")


def toml_lines(source: str) -> Lines:
    """Return the lines of a TOML text's keys and tables and, where an array takes several lines, of its elements."""
    source = source.replace("\r\n", "\n")
    found: Lines = {}
    arrays: dict[Path, int] = {}
    table: Path = ()
    for statement in _statements(source):
        path = _keys(statement.key)
        if statement.is_header:
            table = _opened_table(path, statement.key.startswith("[["), arrays)
            found.setdefault(table, statement.line)
            continue
        for length in range(1, len(path) + 1):
            found.setdefault((*table, *path[:length]), statement.line)
        if statement.last_line > statement.line:
            for position, line in enumerate(statement.elements):
                found[(*table, *path, str(position))] = line
    return found


@dataclass(slots=True)
class _Statement:
    """A header, or a key with its value. ``elements`` are the lines on which the elements of an array begin.

    ``key`` is the text before the ``=``, or the whole header.
    """

    line: int
    is_header: bool
    begins: int
    key: str = ""
    last_line: int = 0
    depth: int = 0
    in_value: bool = False
    in_array: bool = False
    at_element: bool = False
    elements: list[int] = field(default_factory=list)

    def take(self, sign: str | None, line: int) -> None:
        """Take a token of the value; ``sign`` is None for a token that is no sign."""
        if self.at_element and self.depth == 1 and sign not in ("]", ","):
            self.elements.append(line)
            self.at_element = False
        if sign in ("[", "{"):
            if self.depth == 0:
                self.in_array = self.at_element = sign == "["
            self.depth += 1
        elif sign in ("]", "}"):
            self.depth -= 1
        elif sign == "," and self.depth == 1:
            self.at_element = self.in_array


def _statements(source: str) -> Iterator[_Statement]:
    """Yield the statements of a text in their order."""
    line = 1
    now: _Statement | None = None
    for token in _TOKEN.finditer(source):
        sign = token["sign"]
        if sign == "\n" or token["comment"] is not None:
            if now is not None and now.depth == 0:
                yield _ended(now, source[now.begins : token.start()], line)
                now = None
        else:
            if now is None:
                now = _Statement(line, sign == "[", token.start())
            if now.in_value:
                now.take(sign, line)
            elif sign == "=" and not now.is_header:
                now.key, now.in_value = source[now.begins : token.start()], True
        line += token[0].count("\n")
    if now is not None:
        yield _ended(now, source[now.begins :], line)


def _ended(statement: _Statement, text: str, line: int) -> _Statement:
    statement.last_line = line
    if statement.is_header:
        statement.key = text
    return statement


def _keys(written: str) -> Path:
    """Return the path that a header, or the text before an ``=``, names."""
    bare = _BARE.match(written)
    if bare:
        return (bare[1],)
    tree: Any = tomli.loads(written if written.startswith("[") else f"{written}=0")
    path: Path = ()
    while isinstance(tree, dict) and tree:
        key = next(iter(tree))
        path, tree = (*path, key), tree[key]
    return path


def _opened_table(path: Path, is_element: bool, arrays: dict[Path, int]) -> Path:
    """Return the path of a table with the positions of the elements that contain it."""
    opened: Path = ()
    for depth, key in enumerate(path, 1):
        opened = (*opened, key)
        if is_element and depth == len(path):
            arrays[opened] = arrays.get(opened, -1) + 1
        if opened in arrays:
            opened = (*opened, str(arrays[opened]))
    return opened
