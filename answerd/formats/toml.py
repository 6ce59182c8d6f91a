"""The TOML family: tomli reads, a writer of plain trees writes (Proxmox ``answer.toml``).

tomli is the standard library's tomllib, compiled: a third of the time. Its releases from 2.4 on read TOML 1.1, and a
document that only 1.1 allows, served as it was written, would stop an installer: so 2.3. tomlkit would keep every
comment of a merged answer but costs 1.5 ms a parse and as much a dump (measured).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, time

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
    return Prepared(list(_table(tree, ())))


def _table(table: plain.Map, path: Path) -> Iterator[str | Hole]:
    values = [(key, value) for key, value in table.items() if not _is_section(value)]
    sections = [(key, value) for key, value in table.items() if _is_section(value)]
    if path and (values or not sections):
        yield f"[{_dotted(path)}]\n"
    for key, value in values:
        yield f"{_key(key)} = "
        yield from _value(value)
        yield "\n"
    first = not (values or path)
    for key, value in sections:
        if isinstance(value, dict):
            if not first:
                yield "\n"
            yield from _table(value, (*path, key))
            first = False
            continue
        for element in value:
            yield "" if first else "\n"
            first = False
            yield f"[[{_dotted((*path, key))}]]\n"
            yield from _element(element, (*path, key))


def _element(table: plain.Map, path: Path) -> Iterator[str | Hole]:
    """One element of an array of tables, below its ``[[header]]``."""
    fragments = _table(table, path)
    header = f"[{_dotted(path)}]\n"
    for position, fragment in enumerate(fragments):
        if position or fragment != header:
            yield fragment


def _is_section(value: object) -> bool:
    """Whether a value is written under a header of its own: a table, or an array of nothing but tables."""
    return isinstance(value, dict) or (
        isinstance(value, list) and bool(value) and all(isinstance(element, dict) for element in value)
    )


def _value(value: object) -> Iterator[str | Hole]:
    if isinstance(value, Template):
        yield '"'
        yield from fragments(value, escape)
        yield '"'
    elif isinstance(value, list):
        yield "["
        for position, element in enumerate(value):
            yield ", " if position else ""
            yield from _value(element)
        yield "]"
    elif isinstance(value, dict):
        yield "{"
        for position, (key, element) in enumerate(value.items()):
            yield f"{', ' if position else ' '}{_key(key)} = "
            yield from _value(element)
        yield " }" if value else "}"
    else:
        yield _scalar(value)


def _scalar(value: object) -> str:
    if isinstance(value, str):
        return f'"{escape(value)}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return repr(value)  # int and float: the shortest text that reads back as the same number, inf and nan included


def escape(text: str) -> str:
    """A text as it stands between the quotes of a TOML basic string."""
    if not _TO_ESCAPE.search(text):
        return text
    return _TO_ESCAPE.sub(lambda found: _SHORT_ESCAPES.get(found[0], f"\\u{ord(found[0]):04x}"), text)


def _key(key: str) -> str:
    return key if _BARE_KEY.match(key) else f'"{escape(key)}"'


def _dotted(path: Path) -> str:
    return ".".join(_key(key) for key in path)
