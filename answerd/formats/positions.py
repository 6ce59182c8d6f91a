"""Where each value of a text is written: its path, its span in the text and what it says (docs/explain.md#secrets).

A small function for each family, by the family's own parser or, where that gives no positions, by its tokens. Redaction
hides spans: to search a text for a value would find another place that reads alike. Explanations need lines: those of
TOML and JSON are found by the same walks.
"""

from __future__ import annotations

import html
import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import Any, NamedTuple
from xml.parsers import expat

import tomli
from yaml.scanner import Scanner

from answerd.formats import json as json_family
from answerd.formats import toml as toml_family
from answerd.formats import xml as xml_family
from answerd.formats import yaml_read
from answerd.formats.family import Path
from answerd.formats.yaml_read import Node, Scalar, Sequence


class ValueSpan(NamedTuple):
    """A scalar, an attribute or a run of an element's text.

    ``path``: the names above it, positions in lists and among siblings as digits. It is written from ``start`` to
    ``end``, without its quotes; ``text`` is what a reader gets of it. ``spelling`` says how it is escaped: a key of
    `_UNITS`.
    """

    path: Path
    start: int
    end: int
    text: str
    spelling: str = ""


class Placed(NamedTuple):
    """A table, a key or a value of a text, and where it begins. ``value`` is None for what is no value of its own."""

    path: Path
    start: int
    value: ValueSpan | None = None


Lines = dict[Path, int]
"""The line, from 1, on which the value of a path begins. A value without a line of its own is on the line of its
parent."""


def _lines(source: str, placed: Iterable[Placed]) -> Lines:
    found: Lines = {}
    line, counted = 1, 0
    for path, start, _ in placed:
        line += source.count("\n", counted, start)
        counted = start
        found.setdefault(path, line)
    return found


def toml_lines(source: str) -> Lines:
    """Return the lines of a valid TOML text's tables, keys and elements."""
    return _lines(source, _toml_places(source))


def json_lines(source: str) -> Lines:
    """Return the lines of every value of a valid JSON text."""
    return _lines(source, _json_places(source))


def value_spans(family: str, source: str) -> list[ValueSpan]:
    """Return the values of a text in their order, control keys included; none of the text family. Raises
    `ParseError`."""
    return _SPANS[family](source)


def written_spans(source: str, value: ValueSpan, parts: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield where parts of a value's text, from start to end, are written; the span of the whole value where that
    cannot be told."""
    raw = source[value.start : value.end]
    if raw == value.text:
        yield from ((value.start + start, value.start + end) for start, end in parts)
        return
    folded = value.spelling == "yaml-folded"
    pieces = list(_folded_pieces(raw, value.text) if folded else _pieces(raw, value.spelling))
    if "".join(said for _, _, said in pieces) != value.text:
        yield value.start, value.end
        return
    begins = [0, *accumulate(len(said) for _, _, said in pieces)]

    def written(at: int) -> tuple[int, int]:
        """Return where the piece is written that holds a character of the text; of one that is written as it is read,
        the character alone."""
        index = bisect_right(begins, at) - 1
        start, end, said = pieces[index]
        if said != raw[start:end]:
            return value.start + start, value.start + end
        exact = value.start + start + at - begins[index]
        return exact, exact + 1

    for start, end in parts:
        yield written(start)[0], written(end - 1)[1]


def _json(source: str) -> list[ValueSpan]:
    json_family.parse(source)
    return [placed.value for placed in _json_places(source) if placed.value]


def _json_places(source: str) -> Iterator[Placed]:
    path: list[str | int] = []
    key = '""'
    for token in json_family.TOKEN.finditer(source):
        sign, start, end = token[0], *token.span()
        if sign in "}]":
            path.pop()
        elif sign == ",":
            if isinstance(path[-1], int):
                path[-1] += 1
        elif sign == ":":
            path[-1] = json.loads(key)
        elif sign[0] == '"' and path and isinstance(path[-1], str) and json_family.is_key(source, token):
            key = sign
        else:
            here = tuple(map(str, path))
            if sign in "{[":
                yield Placed(here, start)
                path.append("" if sign == "{" else 0)
            elif sign[0] == '"':
                yield Placed(here, start, ValueSpan(here, start + 1, end - 1, json.loads(sign), "json"))
            else:
                yield Placed(here, start, ValueSpan(here, start, end, sign))


_TOML_TOKEN = re.compile(
    r'(?P<text>"""(?:[^"\\]++|\\.|"{1,2}(?!"))*"{3,5}'
    r"|'''(?:[^']++|'{1,2}(?!'))*'{3,5}"
    r'|"(?:[^"\\\n]++|\\.)*"'
    r"|'[^'\n]*+')"
    r"|(?P<comment>\#[^\n]*+)"
    r"|(?P<sign>[\[\]{},=\n])"
    r"""|[^\s"'\#\[\]{},=]++""",
    re.DOTALL,
)


def _toml(source: str) -> list[ValueSpan]:
    toml_family.parse(source)
    return [placed.value for placed in _toml_places(source) if placed.value]


def _toml_places(source: str) -> Iterator[Placed]:  # noqa: PLR0912 - one case for each sign
    table: Path = ()
    arrays: dict[Path, int] = {}
    containers: list[tuple[Path, list[int] | None]] = []  # a list with the position in it, an inline table with None
    path: Path | None = None  # of the value that is read; None while a key or a header is
    begins = ends = -1  # of that key or header
    for token in _TOML_TOKEN.finditer(source):
        sign = token["sign"]
        if token["comment"] is not None:
            continue
        if sign == "\n" and not containers:
            if path is None and begins >= 0:
                table = _opened_table(source[begins:ends], arrays)
                yield Placed(table, begins)
            path, begins = None, -1
        elif sign == "\n":
            continue
        elif sign == "=":
            path = containers[-1][0] if containers else table
            for key in _toml_keys(source[begins:ends]):
                path = (*path, key)
                yield Placed(path, begins)
            begins = -1
        elif path is None and sign != "}":
            begins, ends = (token.start() if begins < 0 else begins), token.end()
        elif sign in ("[", "{"):
            containers.append((_toml_place(path or (), containers), [0] if sign == "[" else None))
            yield Placed(containers[-1][0], token.start())
            path = containers[-1][0] if sign == "[" else None
        elif sign in ("]", "}"):
            path = containers.pop()[0]
        elif sign == ",":
            position = containers[-1][1]
            if position is None:
                path = None
            else:
                position[0] += 1
        else:
            value = _toml_value(token, _toml_place(path or (), containers))
            yield Placed(value.path, token.start(), value)
    if path is None and begins >= 0:
        yield Placed(_opened_table(source[begins:ends], arrays), begins)


def _toml_place(path: Path, containers: list[tuple[Path, list[int] | None]]) -> Path:
    """Return the path of a value: in a list, with its position."""
    position = containers[-1][1] if containers else None
    return path if position is None else (*containers[-1][0], str(position[0]))


def _toml_value(token: re.Match[str], path: Path) -> ValueSpan:
    written = token[0]
    if token["text"] is None:
        return ValueSpan(path, token.start(), token.end(), written)
    quotes = 3 if written[:3] in ('"""', "'''") else 1
    start, end = token.start() + quotes, token.end() - quotes
    if quotes == 1 and "\\" not in written:
        return ValueSpan(path, start, end, written[1:-1])
    if quotes == 3:  # noqa: PLR2004 - a line end after the opening quotes is no part of the text
        start += 2 if written[3:5] == "\r\n" else written[3:4] == "\n"
    text = tomli.loads(f"v={written}")["v"]
    return ValueSpan(path, start, end, text, "toml" if written[0] == '"' else "toml-literal")


_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+\Z")


def _toml_keys(written: str) -> Path:
    if _BARE_KEY.match(written):
        return (written,)
    tree: Any = tomli.loads(f"{written}=0")
    return tuple(_only_keys(tree))


def _opened_table(header: str, arrays: dict[Path, int]) -> Path:
    """Return the path of a table, with the positions of the elements of arrays that it is in."""
    names = tuple(_only_keys(tomli.loads(header)))
    opened: Path = ()
    for depth, name in enumerate(names, 1):
        opened = (*opened, name)
        if header.startswith("[[") and depth == len(names):
            arrays[opened] = arrays.get(opened, -1) + 1
        if opened in arrays:
            opened = (*opened, str(arrays[opened]))
    return opened


def _only_keys(tree: Any) -> Iterator[str]:
    """Yield the keys of maps that hold one key each."""
    while tree and isinstance(tree, dict | list):
        if isinstance(tree, list):
            tree = tree[0]
            continue
        name = next(iter(tree))
        yield name
        tree = tree[name]


_PROPERTIES = re.compile(r"(?:[&!]\S*(?:\s+(?:#[^\n]*\n\s*)*|\Z))+")
"""Anchor and tag of a YAML node, which libyaml counts to it."""

_BLOCK_HEADER = re.compile(r"[|>](?P<indent>[1-9])?[^\n]*\n")


def _yaml(source: str) -> list[ValueSpan]:
    skipped = 1 if source.startswith("\ufeff") else 0  # libyaml does not count the byte order mark
    roots = yaml_read.read(source, spread=False)
    return [value for root in roots if root is not None for value in _yaml_values(source, root, (), skipped)]


def _yaml_values(source: str, node: Node, path: Path, skipped: int) -> Iterator[ValueSpan]:
    if isinstance(node, Scalar):
        yield _yaml_value(source, node, path, skipped)
    elif isinstance(node, Sequence):
        for position, item in enumerate(node.items):
            yield from _yaml_values(source, item, (*path, str(position)), skipped)
    else:
        for key, value in node.pairs.values():
            if isinstance(key, Scalar):
                yield from _yaml_values(source, value, (*path, str(key.text)), skipped)
            else:
                yield from _yaml_values(source, key, (*path, "?"), skipped)
                yield from _yaml_values(source, value, (*path, "?"), skipped)


def _yaml_value(source: str, scalar: Scalar, path: Path, skipped: int) -> ValueSpan:
    start, end = scalar.start + skipped, scalar.end + skipped
    if properties := _PROPERTIES.match(source, start, end):
        start = properties.end()
    text, style = str(scalar.text), scalar.style
    if style in ("'", '"'):
        return ValueSpan(path, start + 1, end - 1, text, "yaml-double" if style == '"' else "yaml-single")
    if style and (header := _BLOCK_HEADER.match(source, start, end)):
        body = source[header.end() : end].rstrip()
        text = text.rstrip()
        indent = len(body) - len(body.lstrip(" \n\r")) - (body.rfind("\n", 0, len(body) - len(body.lstrip())) + 1)
        is_plain = style == "|" and not header["indent"]
        spelling = f"yaml-literal {indent}" if is_plain else "yaml-folded"
        return ValueSpan(path, header.end(), header.end() + len(body), text, spelling)
    return ValueSpan(path, start, max(start, end), text, "yaml-plain")


_ATTRIBUTE = re.compile(r"""\s+([^\s=]+)\s*=\s*(["'])(?P<value>.*?)\2""", re.DOTALL)


def _xml(source: str) -> list[ValueSpan]:
    xml_family.parse(source)
    return _XmlSpans(source).found


class _XmlSpans:
    """Collects the values of an XML text that the family has accepted."""

    def __init__(self, source: str) -> None:
        self.found: list[ValueSpan] = []
        self._source = source
        self._encoded = source.encode()
        self._last = (0, 0)  # a place in bytes, and in characters
        self._open: list[tuple[Path, Counter[str]]] = [((), Counter())]
        """The path of each open element, and how many elements of each name are in it: to count all would give those
        below another path wherever one is added."""
        self._run: list[str] = []
        self._run_start = 0
        parser = self._parser = expat.ParserCreate("utf-8")
        parser.buffer_text = False
        parser.ordered_attributes = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        for handler in (
            "CommentHandler",
            "ProcessingInstructionHandler",
            "StartCdataSectionHandler",
            "EndCdataSectionHandler",
        ):
            setattr(parser, handler, self._close_run)
        parser.Parse(self._encoded, True)
        del self._parser  # its handlers refer to this object: only the garbage collector would free that cycle

    def _at(self) -> int:
        """Return where the present event begins, in characters."""
        offset, characters = self._last
        now = self._parser.CurrentByteIndex
        self._last = (now, characters + len(self._encoded[offset:now].decode("utf-8", "replace")))
        return self._last[1]

    def _start(self, name: str, attributes: list[str]) -> None:
        self._close_run()
        above, count = self._open[-1]
        path = (*above, name, str(count[name]))
        count[name] += 1
        self._open.append((path, Counter()))
        values = dict(zip(attributes[::2], attributes[1::2], strict=True))
        at = self._at() + 1 + len(name)
        while written := _ATTRIBUTE.match(self._source, at):
            at = written.end()
            if written[1] in values:
                path_of_it = (*path, f"@{written[1]}")
                self.found.append(ValueSpan(path_of_it, *written.span("value"), values[written[1]], "xml"))

    def _end(self, _name: str) -> None:
        self._close_run()
        self._open.pop()

    def _text(self, text: str) -> None:
        if not self._run:
            self._run_start = self._at()
        self._run.append(text)

    def _close_run(self, *_event: object) -> None:
        text = "".join(self._run)
        self._run.clear()
        if text.strip():
            self.found.append(ValueSpan(self._open[-1][0], self._run_start, self._at(), text, "xml"))


_SPANS: dict[str, Callable[[str], list[ValueSpan]]] = {
    "json": _json,
    "toml": _toml,
    "yaml": _yaml,
    "xml": _xml,
    "text": lambda _: [],
}
"""The function of each family, by its name."""

_FOLD = r"[ \t]*\r?\n(?:[ \t]*\r?\n)*[ \t]*"


def _of_nothing(_unit: str) -> str:
    return ""


def _unfolded(unit: str) -> str:
    lines = unit.count("\n")
    return " " if lines == 1 else "\n" * (lines - 1)


def _of_json(unit: str) -> str:
    return str(json.loads(f'"{unit}"'))


def _of_toml(unit: str) -> str:
    if unit == "\r\n":
        return "\n"
    return str(tomli.loads(f'v="""{unit}"""')["v"])


def _of_yaml_double(unit: str) -> str:
    if not unit.startswith("\\"):
        return _unfolded(unit)
    if unit[1] in "\r\n":
        return "\n" * (unit.count("\n") - 1)
    if unit[1] in Scanner.ESCAPE_CODES:
        return chr(int(unit[2:], 16))
    return str(Scanner.ESCAPE_REPLACEMENTS.get(unit[1], unit[1]))


def _of_yaml_single(unit: str) -> str:
    return "'" if unit == "''" else _unfolded(unit)


def _of_xml(unit: str) -> str:
    return "\n" if unit == "\r\n" else html.unescape(unit)


_UNITS: dict[str, tuple[re.Pattern[str], Callable[[str], str]]] = {
    "json": (re.compile(r"\\u[dD][89abAB]..\\u....|\\u....|\\."), _of_json),
    "toml": (re.compile(r"\\u.{4}|\\U.{8}|\\[ \t]*\r?\n\s*|\\.|\r\n"), _of_toml),
    "toml-literal": (re.compile(r"\r\n"), _of_toml),
    "yaml-double": (
        re.compile(rf"\\x..|\\u.{{4}}|\\U.{{8}}|\\\r?\n(?:[ \t]*\r?\n)*[ \t]*|\\.|{_FOLD}"),
        _of_yaml_double,
    ),
    "yaml-single": (re.compile(rf"''|{_FOLD}"), _of_yaml_single),
    "yaml-plain": (re.compile(_FOLD), _unfolded),
    "xml": (re.compile(r"&[^;]*;|\r\n"), _of_xml),
}
"""How values are spelled: what of them is not written as it is read, and what each of these says."""


_CONTENT = re.compile(r"\S[^\n]*(?<!\s)|\S")


def _folded_pieces(raw: str, text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the parts of a folded block: each line as it is, and what is between two lines as the blank or the line
    ends that a reader gets for it. They do not make up the text where the block is none."""
    done = said = 0
    for line in _CONTENT.finditer(raw):
        at = text.find(line[0], said)
        if at < 0:
            return
        if done < line.start():
            yield done, line.start(), text[said:at]
        yield *line.span(), line[0]
        done, said = line.end(), at + len(line[0])
    if done < len(raw):
        yield done, len(raw), text[said:]


def _pieces(raw: str, spelling: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and meaning of each part of a value as it is written."""
    name, _, indent = spelling.partition(" ")
    meaning: Callable[[str], str]
    if name == "yaml-literal":
        units, meaning = re.compile(rf"(?m)^ {{0,{indent}}}|\r(?=\n)"), _of_nothing
    elif name in _UNITS:
        units, meaning = _UNITS[name]
    else:
        return
    done = 0
    for unit in units.finditer(raw):
        if done < unit.start():
            yield done, unit.start(), raw[done : unit.start()]
        if unit[0]:
            yield *unit.span(), meaning(unit[0])
        done = unit.end()
    if done < len(raw):
        yield done, len(raw), raw[done:]
