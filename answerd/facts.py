"""What a request says of itself: labels with values, and the identities it carries (SPEC 6).

Reads a request's parts, given as text and bytes; knows no socket and no document. What a request is asked for is
worked out when it is first asked, and only then: most answers need an identity and two labels.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from urllib.parse import unquote_to_bytes

import orjson

from answerd.formats import ALIASES, ALL_EXTENSIONS, split_extension
from answerd.identity import find_macs, identity, mac_digits, match_form, without_pxelinux_prefix

OWN_LABELS = frozenset({"peer", "user_agent"})
"""Labels that the service sets: a request's own values for them are ignored."""

RESERVED_LABELS = frozenset({"machine", "group"})
"""Labels that the selection sets, for placeholders: a request's own values are never used."""

SHORTEST_BODY_IDENTITY = 4
"""Characters in identity form: the schema version ``1.0`` of a JSON body must not be the machine ``10``."""

SIDE_FILES = ("meta-data", "vendor-data", "network-config")
"""What cloud-init asks NoCloud's URL for beside ``user-data`` (SPEC 7)."""

MOST_VALUES = 10_000
"""Values that one label keeps. An installer sends a dozen; a body of 1 MB may hold half a million."""

PATHS_COST = 1_000_000
"""What the dotted paths of one body may cost in memory: their characters, and `_PATH_COST` for each. A scalar beyond
that has its leaf name only. A real body costs about 10,000; without a bound, 1 MB of JSON (one long name over many
short values) asks for gigabytes."""

_PATH_COST = 64
_LONGEST_SHOWN = 100
_YAML_EXTENSIONS = frozenset({"yaml", "yml"})
_IGNORED = OWN_LABELS | RESERVED_LABELS
_MAC_HEADER = re.compile(r"x-rhn-provisioning-mac-\d+\Z")
_FORM = "application/x-www-form-urlencoded"
_NOT_JSON = object()


class _NumberText(str):
    """A JSON number as the request spelled it."""

    __slots__ = ()


@dataclass(frozen=True)
class Request:
    """The parts of a request that can say something, as they came.

    ``path`` and ``query`` are undecoded, bytes as Latin-1 characters (what WSGI calls native strings); so are header
    values. Header names are in lower case. ``peer`` is an IP address, or empty where there is none. ``identities`` are
    names that the caller vouches for (``answerd render ID``).
    """

    path: str = "/"
    query: str = ""
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""
    peer: str = ""
    identities: Sequence[str] = ()


class Facts:
    """Everything a request says. Never raises: a body that cannot be read has no labels, but still identities."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.segments = [_decoded(segment) for segment in request.path.split("/") if segment]
        self.alias = next((one for segment in self.segments if (one := segment.lower()) in ALIASES), None)
        self.parameters = list(_parameters(request.query))
        self._forms: dict[str, tuple[str, ...]] = {}

    @property
    def extensions(self) -> tuple[str, ...]:
        """The formats that may answer, in the order that decides ties."""
        return ALL_EXTENSIONS if self.alias is None else ALIASES[self.alias]

    def values(self, label: str) -> Sequence[str]:
        """All values of a case-folded label, in order of arrival and each once."""
        return tuple(self.labels.get(label, ()))

    def first(self, label: str) -> str | None:
        """The value that a placeholder takes."""
        values = self.labels.get(label)
        return next(iter(values)) if values else None

    def forms(self, label: str) -> Sequence[str]:
        """The values of a label as patterns compare them, each once."""
        forms = self._forms.get(label)
        if forms is None:
            forms = self._forms[label] = tuple(dict.fromkeys(match_form(value) for value in self.labels.get(label, ())))
        return forms

    @cached_property
    def labels(self) -> Mapping[str, dict[str, None]]:
        """Every label, case-folded, with its values as the keys of a dict."""
        labels: dict[str, dict[str, None]] = {}
        for label, value in self._arrivals():
            if value and label and label not in _IGNORED:
                values = labels.get(label)
                if values is None:
                    labels[label] = {value: None}
                elif len(values) < MOST_VALUES:
                    values[value] = None
        if self.request.peer:
            labels["peer"] = {self.request.peer: None}
        for name, value in self.request.headers:
            if name == "user-agent" and value:
                labels.setdefault("user_agent", {})[_header_text(value)] = None
        return labels

    def _arrivals(self) -> Iterator[tuple[str, str]]:
        """Labels, case-folded, and values, in the order of SPEC 6."""
        if self.segments:
            yield "path", _decoded(self.request.path.strip("/"))
            yield "file", self.segments[-1]
            for segment in self.segments:
                yield "segment", segment
        for label, value in self.parameters:
            yield label.casefold(), value
        yield from self._header_facts
        if self._json is not _NOT_JSON:
            yield from _flattened(self._json)
            return
        for label, value in self._form:
            yield label.casefold(), value

    @cached_property
    def _header_facts(self) -> list[tuple[str, str]]:
        facts = []
        for name, value in self.request.headers:
            if _MAC_HEADER.match(name):
                words = _header_text(value).split()
                facts += [("mac", words[min(1, len(words) - 1)])] if words else []
            elif name == "x-system-serial-number":
                facts.append(("serial", _header_text(value).strip()))
        return facts

    @cached_property
    def _json(self) -> Any:
        return _parsed_json(self.request.body)

    @cached_property
    def _form(self) -> list[tuple[str, str]]:
        """The parameters of a body that is sent as a form, and is none of JSON's."""
        # `curl --data-binary @file` sends the newline that ends the file.
        return list(_parameters(self.request.body.decode("latin-1").rstrip("\r\n"))) if self._is_form else []

    @cached_property
    def _is_form(self) -> bool:
        return self._json is _NOT_JSON and any(
            name == "content-type" and value.partition(";")[0].strip().lower() == _FORM
            for name, value in self.request.headers
        )

    @cached_property
    def identities(self) -> Mapping[str, str]:
        """Each identity the request carries, with the text that gave it, as it was sent."""
        found: dict[str, str] = {}
        for text in self._identifying():
            one = identity(text)
            if one:
                found.setdefault(one, text)
        if self._json is not _NOT_JSON and self.request.body:
            for text in _identifying_texts(self._json):
                one = identity(text)
                if len(one) >= SHORTEST_BODY_IDENTITY:
                    found.setdefault(one, text)
        for mac in find_macs(self._searched):
            found.setdefault(identity(mac), mac)
        return found

    def _identifying(self) -> Iterator[str]:
        """The texts whose identity counts however short it is."""
        yield from self.request.identities
        for segment in self.segments:
            if segment.lower() not in ALIASES:
                stem, extension = split_extension(segment)
                for text in (segment, stem) if extension else (segment,):
                    yield from _with_and_without_prefix(text)
        for label, value in (*self.parameters, *self._form):
            if label.casefold() not in OWN_LABELS:
                yield from _with_and_without_prefix(value)
        for _, value in self._header_facts:
            yield value
        yield self.request.peer

    @property
    def _searched(self) -> bytes:
        """Everything in which a MAC address may stand: path, query and body, each decoded as what it is."""
        request = self.request
        parts = [_decoded(request.path), _decoded(request.query)]
        body = request.body
        if self._is_form:
            # Not as it came: the "2C" of an escaped comma would be the first octet of what follows it.
            parts.append(_decoded(body.decode("latin-1")))
            body = b""
        elif b"\\" in body and self._json is not _NOT_JSON:
            parts += _identifying_texts(self._json)
        return "\n".join(parts).encode("utf-8", "replace") + b"\n" + body

    @property
    def side_file(self) -> str | None:
        """Which of NoCloud's side files a yaml endpoint is asked for; None when it is none of them."""
        if self.alias is None or not _YAML_EXTENSIONS.intersection(ALIASES[self.alias]):
            return None
        return next((value for value in self.values("file") if value in SIDE_FILES), None)

    def asking_for_user_data(self) -> Facts:
        """The facts of the same request for NoCloud's ``user-data`` in place of a side file."""
        head, _, last = self.request.path.rstrip("/").rpartition("/")
        path = f"{head}/user-data" if _decoded(last) in SIDE_FILES else self.request.path
        pieces = []
        for piece in self.request.query.split("&"):
            label, _, value = piece.partition("=")
            asks = _decoded(label).casefold() == "file" and _decoded(value) in SIDE_FILES
            pieces.append(f"{label}=user-data" if asks else piece)
        return Facts(replace(self.request, path=path, query="&".join(pieces)))

    @property
    def described(self) -> str:
        """Who asks, for a console and a log: ``mac=…``, ``serial=…``, any other identity, or where it came from."""
        for label in ("mac", "serial"):
            value = self.first(label)
            if value:
                return f"{label}={value[:_LONGEST_SHOWN]}"
        for one, text in self.identities.items():
            if mac_digits(one):
                return f"mac={text}"
        return f"peer={self.request.peer}" if self.request.peer else "a request that names no machine"


def _decoded(raw: str) -> str:
    """Percent-decoded UTF-8; what is not UTF-8 becomes U+FFFD."""
    if "%" not in raw and raw.isascii():
        return raw
    return unquote_to_bytes(raw.encode("latin-1", "replace")).decode("utf-8", "replace")


def _header_text(value: str) -> str:
    """A header's value as text: UTF-8 where it is that, else Latin-1."""
    if value.isascii():
        return value
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value


def _parameters(query: str) -> Iterator[tuple[str, str]]:
    """The pairs of a query string, without those that have no value: an unset iPXE setting arrives as ``undef=``."""
    if query:
        for piece in query.split("&"):
            label, _, value = piece.partition("=")
            if value:
                yield _decoded(label.replace("+", " ")), _decoded(value.replace("+", " "))


def _with_and_without_prefix(text: str) -> Iterator[str]:
    yield text
    bare = without_pxelinux_prefix(text)
    if bare:
        yield bare


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _parsed_json(body: bytes) -> Any:
    """The value of a JSON body, its numbers as they were spelled; ``_NOT_JSON`` for anything else."""
    text = body.removeprefix(b"\xef\xbb\xbf")
    if not text or text.isspace():
        return _NOT_JSON
    try:
        value = orjson.loads(text)
        if not _has_float(value):
            return value
    except ValueError:
        # orjson refuses the escape of a lone surrogate, which is junk in a DMI field and no reason to lose the rest.
        if b"\\u" not in text:
            return _NOT_JSON
    try:
        return json.loads(text, parse_float=_NumberText, parse_int=_NumberText, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return _NOT_JSON


def _has_float(value: Any) -> bool:
    """Whether a number lost its spelling: orjson reads ``1.10`` and integers over 64 bits as float."""
    pending = [value]
    while pending:
        one = pending.pop()
        if type(one) is float:
            return True
        if type(one) is dict:
            pending.extend(one.values())
        elif type(one) is list:
            pending.extend(one)
    return False


def _scalar_text(value: Any) -> str:
    """A JSON scalar as a fact's text; nothing for null."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _flattened(value: Any) -> Iterator[tuple[str, str]]:
    """Every scalar under its dotted path and, where that differs, under the last name in it that is no index.

    Names are case-folded. What the paths cost is bounded by `PATHS_COST`.
    """
    left = PATHS_COST
    # The path and leaf name of each open map or list, and its members that are still to come.
    open_parts: list[tuple[str, str, Iterator[tuple[str | int, Any]]]] = [("", "", _parts(value))]
    while open_parts:
        path, leaf, parts = open_parts[-1]
        for name, one in parts:
            step = name.casefold() if isinstance(name, str) else str(name)
            left -= len(path) + len(step) + _PATH_COST
            below = "" if left < 0 else f"{path}.{step}" if len(open_parts) > 1 else step
            leaf_below = step if isinstance(name, str) else leaf
            if isinstance(one, dict | list):
                open_parts.append((below, leaf_below, _parts(one)))
                break
            text = _scalar_text(one)
            yield below, text
            if leaf_below != below:
                yield leaf_below, text
        else:
            open_parts.pop()


def _parts(value: Any) -> Iterator[tuple[str | int, Any]]:
    """The members of a map by name, the elements of a list by index; a scalar has none."""
    if isinstance(value, dict):
        return iter(value.items())
    return iter(enumerate(value)) if isinstance(value, list) else iter(())


def _identifying_texts(value: Any) -> Iterator[str]:
    """Every string and number in a JSON value, without the request's own values of the labels that are not its own."""
    if isinstance(value, dict):
        value = {key: below for key, below in value.items() if key.casefold() not in OWN_LABELS}
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            pending.extend(reversed(one.values()))
        elif isinstance(one, list):
            pending.extend(reversed(one))
        elif one is not None and not isinstance(one, bool):
            yield _scalar_text(one)


def facts_of(identifiers: Iterable[str]) -> Facts:
    """The facts of a machine that says nothing but its names."""
    return Facts(Request(identities=tuple(identifiers)))
