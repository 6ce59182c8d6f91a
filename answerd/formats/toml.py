"""The TOML family: tomli reads, a writer of plain trees writes (Proxmox ``answer.toml``).

tomli is the standard library's tomllib, compiled: a third of the time. Its releases from 2.4 on read TOML 1.1, and a
document that only 1.1 allows, served as it was written, would stop an installer: so 2.3. tomlkit would keep every
comment of a merged answer but costs 1.5 ms a parse and as much a dump (measured).
"""

from __future__ import annotations

import re
from datetime import date, datetime, time
from functools import lru_cache

import tomli

from answerd.formats import plain
from answerd.formats.family import DEEPEST, Hole, ParseError, Path, Prepared, Tree, WrittenControl, fragments
from answerd.formats.template import Template, TemplateReader

name = "toml"
merge = plain.merge
unset = plain.unset

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+\Z")
_TO_ESCAPE = re.compile(r'["\\\x00-\x1f\x7f]')
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def parse(text: str) -> Tree:
    """A plain tree. Raises `ParseError` with line and column, also for what only a hostile text holds."""
    try:
        tree = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise ParseError(error.msg, error.lineno, error.colno) from None
    except RecursionError:
        raise ParseError("it is nested too deeply") from None
    except ValueError as error:  # a number or a date that Python cannot hold
        raise ParseError(str(error)) from None
    if plain.is_too_deep(tree):
        raise ParseError(f"it is nested more than {DEEPEST} levels deep")
    return tree


def control(tree: Tree) -> tuple[WrittenControl, Tree]:
    """The control keys at the top of the document."""
    return plain.take_control(tree)


def placeholders(tree: Tree, reader: TemplateReader) -> Tree:
    """Templates in string values, in arrays and inline tables too."""
    return plain.placeholders(tree, reader)


def prepare(tree: Tree) -> Prepared:
    """The document as TOML: of each table the values first, then its tables, in the tree's order."""
    written: _Written = []
    _write_table(tree, (), written)
    return Prepared(written)


_Written = list[str | Hole]
"""Filled by appending: generators within generators cost twice as much, and every answer goes through here."""


def _write_table(table: plain.Map, path: Path, written: _Written, *, headed: bool = True) -> None:
    """A table below its header; ``headed``: its header stands there already, or it has to be written."""
    sections = [(key, value) for key, value in table.items() if _is_section(value)]
    has_values = len(sections) < len(table)
    if path and headed and (has_values or not sections):
        written.append(f"[{_dotted(path)}]\n")
    if has_values:
        for key, value in table.items():
            if not _is_section(value):
                written.append(f"{_key(key)} = ")
                _write_value(value, written)
                written.append("\n")
    first = not (has_values or path)
    for key, value in sections:
        below = (*path, key)
        for element in (value,) if isinstance(value, dict) else value:
            if not first:
                written.append("\n")
            first = False
            if element is value:
                _write_table(element, below, written)
            else:
                written.append(f"[[{_dotted(below)}]]\n")
                _write_table(element, below, written, headed=False)


def _is_section(value: object) -> bool:
    """Whether a value is written under a header of its own: a table, or an array of nothing but tables."""
    return isinstance(value, dict) or (
        isinstance(value, list) and bool(value) and all(isinstance(element, dict) for element in value)
    )


def _write_value(value: object, written: _Written) -> None:
    if isinstance(value, str):
        written.append(f'"{escape(value)}"')
    elif isinstance(value, Template):
        written.append('"')
        written += fragments(value, escape)
        written.append('"')
    elif isinstance(value, list):
        before = "["
        for element in value:
            written.append(before)
            _write_value(element, written)
            before = ", "
        written.append("]" if value else "[]")
    elif isinstance(value, dict):
        before = "{ "
        for key, element in value.items():
            written.append(f"{before}{_key(key)} = ")
            _write_value(element, written)
            before = ", "
        written.append(" }" if value else "{}")
    else:
        written.append(_scalar(value))


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return repr(value)  # int and float: the shortest text that reads back as the same number, inf and nan included


def escape(text: str) -> str:
    """A text as it stands between the quotes of a TOML basic string."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return text
    return _TO_ESCAPE.sub(lambda found: _SHORT_ESCAPES.get(found[0], f"\\u{ord(found[0]):04x}"), text)


_LONGEST_KNOWN = 100
"""Characters of a key whose spelling is kept: a document may hold one of 256 KB."""


def _spelled(key: str) -> str:
    return key if _BARE_KEY.match(key) else f'"{escape(key)}"'


_known_key = lru_cache(maxsize=4_096)(_spelled)


def _key(key: str) -> str:
    return _known_key(key) if len(key) <= _LONGEST_KNOWN else _spelled(key)


def _dotted(path: Path) -> str:
    return ".".join(map(_key, path))
