"""The TOML family: tomli reads, a writer of plain trees writes (Proxmox ``answer.toml``).

tomli is the standard library's tomllib, translated to C: a third of the time. Its releases from 2.4 on read TOML 1.1,
and a document that only 1.1 allows would stop an installer when it is served as it was written: so 2.3. tomlkit would
keep every comment of a merged answer but needs 1.5 ms to parse it and as much to write it (measured).
"""

from __future__ import annotations

import re
import sys
import tomllib
from datetime import date, datetime, time
from typing import Any, Final

import tomli

from answerd.formats import dict_tree
from answerd.formats.family import DEEPEST, ParseError, Prepared, Slot, fragments, key_slots, typed_slot_of
from answerd.formats.template import Template

name = "toml"
templates_off = "template = false"
control = dict_tree.take_control
placeholders = dict_tree.placeholders
unset = dict_tree.unset
not_arrays = dict_tree.not_arrays
merge = dict_tree.merge

_AT_ONCE: Final = 32_768
"""Characters of a text that tomli reads in 40 ms at most. No other thread runs meanwhile, because tomli is C code."""

_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_MOST_PARTS: Final = 1_000
"""Parts of a dotted key. tomli takes no more; the standard library's parser takes any number, in time that grows with
their square: minutes for a line of 256 KB."""

_DOT = re.compile(r"(?<![ \t])[ \t]*+\.[ \t]*+")
_ENDLESS_KEY = re.compile(rf"""(?<![\w."'-])(?:(?:[\w-]++|"[^"]*+"|'[^']*+')\.){{{_MOST_PARTS}}}""")
"""In a line without blanks beside dots. It is tried once for each run of parts, however long."""

_TO_ESCAPE = re.compile(r'["\\\x00-\x1f\x7f]')
_LONG_INTEGER = re.compile(r"(?<![0-9A-Za-z_])0[xob][0-9A-Fa-f_]{2000}")
_MOST_BITS = 12_000
"""Bits of an integer: Python writes no decimal number of more than 4,300 digits."""

_LONGEST_HEADER = 256
"""Characters of a header. It is repeated for each table below it, so a table with a longer header is written inline."""

_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


_OVERLAY = re.compile(r"""(?<![\w.-])overlay["']?[ \t]*=""")


def spells_overlay(text: str) -> bool:
    return _OVERLAY.search(text) is not None


def parse(text: str) -> dict_tree.Map:
    """Return a plain tree. Raises `ParseError` with line and column, also for input that only hostile texts contain."""
    if len(text) > _AT_ONCE:
        _refuse_endless_key(text)
    try:
        tree = _read(text)
    except (tomli.TOMLDecodeError, tomllib.TOMLDecodeError) as error:
        place = _PLACE.search(str(error))
        line, column = (place[1], place[2]) if place else (None, None)
        raise ParseError(
            fixed_sentence(_PLACE.sub("", str(error))),
            int(line) if line else text.count("\n") + 1,
            int(column) if column else len(text) - text.rfind("\n"),
        ) from None
    except RecursionError:
        raise ParseError("it is nested too deeply") from None
    except ValueError:
        raise ParseError("it holds a number or a date that is out of range") from None
    if dict_tree.is_too_deep(tree):
        raise ParseError(f"it is nested more than {DEEPEST} levels deep")
    if _LONG_INTEGER.search(text) and _has_long_integer(tree):
        raise ParseError("it holds an integer of more than 3,600 digits")
    return tree


def _read(text: str) -> dict_tree.Map:
    """Return what tomli reads, or for a long text the same parser of the standard library, which is Python: other
    threads run while it reads, and it takes twice as long. (That of Python 3.15 reads TOML 1.1.) Raises what they
    raise.

    tomli looks at each character of a string in double quotes, and searches a string in single quotes for its end.
    Where a text has no single quote, no backslash and no three quotes in a row, both kinds of quotes mean the same.
    """
    if len(text) > _AT_ONCE and sys.version_info < (3, 15):
        return tomllib.loads(text)
    if "'" not in text and "\\" not in text and '"""' not in text:
        try:
            return tomli.loads(text.replace('"', "'"))
        except tomli.TOMLDecodeError:
            pass  # its sentence is about the other quotes
    return tomli.loads(text)


def _refuse_endless_key(text: str) -> None:
    """Raise `ParseError` where a line has a dotted key of more than `_MOST_PARTS` parts. So many words that are joined
    by dots, with nothing else between them, are refused inside of a text too."""
    if text.count(".") < _MOST_PARTS:
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") < _MOST_PARTS:
            continue
        has_blanks = " ." in line or ". " in line or "\t" in line
        if _ENDLESS_KEY.search(_DOT.sub(".", line) if has_blanks else line):
            raise ParseError("it is nested too deeply", number)


_FIXED_SENTENCES: tuple[tuple[str, str], ...] = (
    ("Cannot declare", "This table is declared already"),
    ("Cannot mutate", "This table or array is closed: nothing can be added to it here"),
    ("Cannot redefine", "This table is there already"),
    ("Duplicate inline table key", "This key is there already"),
    ("Expected '='", "Expected '=' after a key"),
    ("Expected", "Expected another character here"),
    ("Found invalid character", "Invalid character"),
    ("Illegal character", "Illegal character"),
    ("Unescaped", "Unescaped '\\' in a string"),
)


def fixed_sentence(message: str) -> str:
    """Return tomli's (and tomllib's) message without its quotations: in a document that does not parse, a word that
    looks like a key may be a value whose quotes are wrong."""
    known = next((sentence for beginning, sentence in _FIXED_SENTENCES if message.startswith(beginning)), None)
    return known or (message if message.replace(" ", "").isalpha() else "not TOML")


def _has_long_integer(value: object) -> bool:
    """Return whether an integer, written in another base, has more digits than can be written again."""
    if isinstance(value, dict | list):
        return any(map(_has_long_integer, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int) and value.bit_length() > _MOST_BITS


def prepare(tree: dict_tree.Map) -> Prepared:
    """Return the document as TOML: of each table the values first, then its tables, in the tree's order."""
    written: _Written = []
    _write_table(tree, "", written)
    return Prepared(written)


_Written = list[str | Slot]
"""A list to append to: nested generators cost twice as much, and every answer is written here."""


def _write_table(table: dict_tree.Map, header: str, written: _Written, *, headed: bool = True) -> None:
    """Write a table below its header, which is empty for the root; ``headed``: the header has to be written, or is
    written already."""
    sections: list[tuple[str, Any]] = []
    needs_header = headed and bool(header)
    slots = key_slots(table, escape)  # below such a key tables are inline, because a header is a text
    for key, value in table.items():
        is_text = isinstance(value, str)  # most values: one text for the whole line
        if not is_text and key not in slots and _is_section(value) and len(header) + len(key) <= _LONGEST_HEADER:
            sections.append((key, value))
            continue
        if needs_header:
            written.append(f"[{header}]\n")
            needs_header = False
        if slots and key in slots:
            written += ('"', slots[key], '" = ')
            _write_value(value, written)
            written.append("\n")
        elif is_text:
            written.append(f'{_key(key)} = "{escape(value)}"\n')
        else:
            written.append(f"{_key(key)} = ")
            _write_value(value, written)
            written.append("\n")
    if needs_header and not sections:
        written.append(f"[{header}]\n")
    first = len(sections) == len(table) and not header
    for key, value in sections:
        below = f"{header}.{_key(key)}" if header else _key(key)
        for element in (value,) if isinstance(value, dict) else value:
            if not first:
                written.append("\n")
            first = False
            if element is value:
                _write_table(element, below, written)
            else:
                written.append(f"[[{below}]]\n")
                _write_table(element, below, written, headed=False)


def _is_section(value: object) -> bool:
    """Return whether a value is written under a header of its own: a table, or an array of only tables."""
    return isinstance(value, dict) or (
        isinstance(value, list) and bool(value) and all(isinstance(element, dict) for element in value)
    )


def _write_value(value: object, written: _Written) -> None:
    if isinstance(value, str):
        written.append(_string(value))
    elif isinstance(value, Template) and value.typed:
        written.append(typed_slot_of(value.typed, _string))
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
        slots = key_slots(value, escape)
        for key, element in value.items():
            written += (before, '"', slots[key], '" = ') if key in slots else (f"{before}{_key(key)} = ",)
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


def _string(text: str) -> str:
    return f'"{escape(text)}"'


def escape(text: str) -> str:
    """Return a text as it is written between the quotes of a TOML basic string."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return text
    return _TO_ESCAPE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    return _SHORT_ESCAPES.get(character) or f"\\u{ord(character):04x}"


def _key(key: str) -> str:
    # A bare key is ASCII letters, digits, "-" and "_"; most are identifiers, which takes half the time to find out.
    if key.isascii() and (key.isidentifier() or key.replace("-", "a").replace("_", "a").isalnum()):
        return key
    return f'"{escape(key)}"'
