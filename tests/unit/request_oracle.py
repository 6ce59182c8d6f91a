"""What a request says, read slowly and literally from docs/selection.md: the oracle of the property tests.

No regular expression, no index, no shape: each position is looked at by itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from answerd.identity import identity_of
from answerd.shared_values import is_shared

SPELLINGS = ((":", 6, 2), ("-", 6, 2), ("", 1, 12), (".", 3, 4))
OWN = ("peer", "user_agent")
RESERVED = (*OWN, "machine", "group", "state", "report")


@dataclass(frozen=True)
class Number:
    """A JSON number by its spelling."""

    text: str


@dataclass(frozen=True)
class Map:
    """A JSON object by its pairs; a key may occur twice."""

    pairs: tuple[tuple[str, Value], ...]


Value: TypeAlias = "Number | Map | list[Value] | str | bool | None"


def is_hex(text: str) -> bool:
    return all(character in "0123456789abcdefABCDEF" for character in text)


def macs_in(text: str) -> list[str]:
    """Every MAC address in a text."""
    found = []
    for begin in range(len(text)):
        for separator, count, width in SPELLINGS:
            end = begin + count * width + (count - 1) * len(separator)
            groups = text[begin:end].split(separator) if separator else [text[begin:end]]
            if end > len(text) or len(groups) != count or any(len(group) != width for group in groups):
                continue
            if all(map(is_hex, groups)) and _stands_alone(text, begin, end, separator):
                found.append(text[begin:end])
    return found + ports_in(text)


def ports_in(text: str) -> list[str]:
    """The last eight octets of every InfiniBand address in a text, which PXELINUX writes behind ``20-``."""
    found = []
    for begin in range(len(text)):
        for separator in ":-":
            octets = text[begin : begin + 59].split(separator)
            if len(octets) != 20 or any(len(octet) != 2 or not is_hex(octet) for octet in octets):
                continue
            end = begin + 59
            is_pxelinux = separator == "-" and text[max(0, begin - 3) : begin] == "20-"
            before = begin - 3 if is_pxelinux and not text[: begin - 3][-1:].isalnum() else begin
            if _stands_alone(text, begin, end, separator) or _stands_alone(text, before, end, separator):
                found.append(separator.join(octets[12:]))
    return found


def _stands_alone(text: str, begin: int, end: int, separator: str) -> bool:
    if (begin and is_hex(text[begin - 1])) or (end < len(text) and is_hex(text[end])):
        return False
    before, after = _word(text, begin - 2, -1), _word(text, end + 1, 1)
    neighbours = []
    if begin and text[begin - 1] in ":.-":
        neighbours.append((text[begin - 1], before))
    if end < len(text) and text[end] in ":.-":
        neighbours.append((text[end], after))
    return not any(
        is_hex(word) and (len(word) >= 4 or (len(word) == 2 and between == separator)) for between, word in neighbours
    )


def _word(text: str, at: int, step: int) -> str:
    """The letters and digits that go on from a place in one direction."""
    word = ""
    while 0 <= at < len(text) and text[at].isalnum():
        word += text[at]
        at += step
    return word


def written(value: Value) -> str:
    """A value as JSON, all but ASCII escaped, lone surrogates too."""
    if isinstance(value, Number):
        return value.text
    if isinstance(value, Map):
        return "{" + ",".join(f"{json.dumps(key)}:{written(item)}" for key, item in value.pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    return json.dumps(value)


def scalars(value: Value, path: tuple[str, ...] = (), name: str = "") -> Iterator[tuple[str, str, Value]]:
    """Dotted path, name and value of every scalar, in order."""
    if isinstance(value, Map):
        for key, item in value.pairs:
            yield from scalars(item, (*path, key), key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from scalars(item, (*path, str(index)), name)
    else:
        yield ".".join(path), name, value


def keys(value: Value) -> Iterator[str]:
    if isinstance(value, Map):
        for key, item in value.pairs:
            yield key
            yield from keys(item)
    elif isinstance(value, list):
        for item in value:
            yield from keys(item)


def text_of(value: Value) -> str:
    """The text of a scalar; empty for what says nothing."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Number):
        return value.text
    return value if isinstance(value, str) else ""


def labels_of(value: Value) -> dict[str, list[str]]:
    """The values of each label of a JSON body."""
    found: dict[str, list[str]] = {}
    kept = [(path, name, text_of(scalar)) for path, name, scalar in scalars(value) if 0 < len(text_of(scalar)) <= 1024]
    for path, name, text in kept[:20_000]:
        for label in dict.fromkeys((path.casefold(), name.casefold())):
            if label in RESERVED or label.startswith("secret.") or not label:
                continue
            if is_filled_in_by_nobody(label, text):
                continue
            values = found.setdefault(label, [])
            if text not in values and len(values) < 1000:
                values.append(text)
    return found


def identities_of(value: Value) -> set[str]:
    """The identities of a JSON body."""
    found = set()
    for path, name, scalar in scalars(value):
        is_own = name.casefold() in OWN and path.split(".")[0].casefold() in OWN and _is_at_top(value, path)
        text = text_of(scalar)
        is_nobodys = is_filled_in_by_nobody(name.casefold(), text)
        is_long = len(identity_of(text)) >= 4
        if isinstance(scalar, str | Number) and len(text) <= 1024 and not is_own and is_long and not is_nobodys:
            found.add(identity_of(text))
        if isinstance(scalar, str | Number):
            found.update(own_macs_in(text))
    for key in keys(value):
        found.update(own_macs_in(key))
    return found


def own_macs_in(text: str) -> list[str]:
    """The MAC addresses in a text that one machine may have."""
    return [mac_identity(mac) for mac in macs_in(text) if not is_filled_in_by_nobody("mac", mac)]


def is_filled_in_by_nobody(label: str, text: str) -> bool:
    """Whether a value is one of those that many machines have, under a label that ends in one of four."""
    form = "".join(character for character in text.casefold() if character.isalnum())
    kinds = [kind for kind in ("mac", "serial", "uuid", "asset_tag") if label.endswith(kind)]
    return bool(kinds) and is_shared(kinds[0], form)


def _is_at_top(value: Value, path: str) -> bool:
    """Whether nothing but list indexes follows the first key of a path."""
    return isinstance(value, Map) and all(step.isdigit() for step in path.split(".")[1:])


def mac_identity(mac: str) -> str:
    return "".join(character for character in mac.lower() if character not in ":.-")
