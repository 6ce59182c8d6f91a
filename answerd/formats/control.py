"""The control keys: what they mean, and what is wrong with a value (docs/merging.md#control-keys).

Each family has its own spelling (`RawControl`); this module reads all of them, so that a rule holds in every format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from numbers import Number
from typing import Final

from answerd.formats.family import Once, Path, RawControl, RawValue
from answerd.formats.patterns import Criterion, Pattern
from answerd.identity import Kind, folded, identifier_fault, identity_of
from answerd.short_texts import brief

CONTROL_KEYS: Final[dict[str, frozenset[Kind]]] = {
    "extends": frozenset(Kind),
    "members": frozenset({Kind.GROUP}),
    "match": frozenset({Kind.GROUP, Kind.MACHINE}),
    "append": frozenset(Kind),
    "once": frozenset(Kind),
    "overlay": frozenset({Kind.GROUP}),
    "unset": frozenset(Kind),
    "template": frozenset(Kind),
}
"""Every control key and the kinds of document in which it has a meaning."""

CLAIMING_KEYS: Final = frozenset({"members", "match", "overlay"})
"""A group in which one of these is malformed might claim anything: it cannot be read.

Rules: docs/selection.md#broken-documents.
"""


HIGHEST_OVERLAY: Final = 999

UNKNOWN_OVERLAY: Final = 0
"""The number of an overlay whose number cannot be read."""

LONGEST_PATTERN: Final = 65_536
"""Characters of a pattern or a label in a ``match``: no header of a request is longer."""


@dataclass(frozen=True, slots=True)
class Control:
    """The control keys of a document, understood.

    ``members`` are identities; `spelled` returns the text of a member. ``overlay`` is the number of a group that is
    laid over other answers (docs/overlays.md), None for any other document. ``template``: whether the document is
    filled, and ``is_jinja``, whether by Jinja in place of placeholders. ``problems`` are sentences without the
    document's name. ``claims_known`` is False when ``members`` or ``match`` is malformed, or may be misspelled in a
    group, so that it is not known what the document claims.
    """

    extends: str | None = None
    members: tuple[str, ...] = ()
    match: tuple[Criterion, ...] = ()
    append: tuple[Path, ...] = ()
    once: Once | None = None
    overlay: int | None = None
    unset: tuple[Path, ...] = ()
    template: bool = True
    is_jinja: bool = False
    problems: tuple[str, ...] = ()
    claims_known: bool = True
    member_texts: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False)
    """The members whose spelling differs from their identity, by that identity."""

    def spelled(self, member: str) -> str:
        """Return the spelling of the member with this identity in the document."""
        return self.member_texts.get(member, member)


class _Wrong(ValueError):
    """The value of a control key is not valid."""


def read_control(written: RawControl, kind: Kind) -> Control:
    """Return the meaning of a document's control keys. Never raises: what is wrong is in ``problems``."""
    problems = [f"{fault.key}: {fault.reason}" if fault.key else fault.reason for fault in written.faults]
    spoiled = {fault.key for fault in written.faults}
    meaning: dict[str, object] = {}
    for key, value in written.values.items():
        place = f" ({value.place})" if value.place else ""
        if kind not in CONTROL_KEYS[key]:
            problems.append(f"{key} has no meaning in a {kind} document{place}")
            continue
        try:
            meaning[key] = _READERS[key](value)
            if key == "members":
                spelled = {identity_of(member): member for member in reversed(value.value)}
                meaning["member_texts"] = {name: text for name, text in spelled.items() if name != text}
        except _Wrong as error:
            spoiled.add(key)
            problems.append(f"{key} {error}{place}")
    if kind is Kind.GROUP and "overlay" in spoiled:
        meaning["overlay"] = UNKNOWN_OVERLAY
    if "overlay" in meaning and isinstance(extends := meaning.get("extends"), str):
        what = "a text that is no group's name" if identifier_fault(Kind.GROUP, extends) else f'"{extends}"'
        problems.append(f"an overlay extends nothing, and this one extends {what}")
    template = written.values.get("template")
    if template is not None and template.value is Language.JINJA:
        meaning["is_jinja"] = True
    hidden = kind is Kind.GROUP and any(fault.hides_claims for fault in written.faults)
    return Control(
        **meaning,  # type: ignore[arg-type]  # the readers' table gives each key the type of its field
        problems=tuple(problems),
        claims_known=not (hidden or spoiled & CLAIMING_KEYS),
    )


def _extends(written: RawValue) -> str:
    if not isinstance(written.value, str):
        raise _Wrong(f"must be the name of one group, not {_described(written.value)}")
    if not identity_of(written.value):
        raise _Wrong("names no group: its text has no letter or digit")
    if not written.value.isprintable():
        raise _Wrong("holds a control character")
    return written.value


def _members(written: RawValue) -> tuple[str, ...]:
    value = written.value
    if not isinstance(value, list):
        raise _Wrong(f"must be a list of machine identifiers, not {_described(value)}")
    if not value:
        raise _Wrong("is empty: name a machine, or leave the key out")
    members = []
    for place, member in enumerate(value, 1):
        if not isinstance(member, str):
            raise _Wrong(f"must hold texts: entry {place} is {_described(member)}")
        if not identity_of(member):
            raise _Wrong(f"holds a name with no letter or digit, entry {place}")
        members.append(identity_of(member))
    return tuple(dict.fromkeys(members))


def _match(written: RawValue) -> tuple[Criterion, ...]:
    value = written.value
    if not isinstance(value, Mapping):
        raise _Wrong(f"must be a map of labels to patterns, not {_described(value)}")
    if not value:
        raise _Wrong("is empty: name a label and a pattern, or leave the key out")
    criteria: dict[str, list[Pattern]] = {}
    for label, patterns in value.items():
        if not isinstance(label, str):
            raise _Wrong(f"must have texts for labels, and one is {_described(label)}")
        if not label.strip():
            raise _Wrong("has an empty label: name what the pattern is compared with")
        if len(label) > LONGEST_PATTERN:
            raise _Wrong(f"has a label of more than {LONGEST_PATTERN} characters")
        name = folded(label.strip())
        criteria.setdefault(name, []).extend(_patterns(label, name, patterns))
    return tuple(Criterion(label, tuple(patterns)) for label, patterns in criteria.items())


def _patterns(written: str, label: str, value: object) -> tuple[Pattern, ...]:
    patterns = value if isinstance(value, list) else [value]
    if not patterns:
        raise _Wrong(f"has no pattern for {brief(written)!r}")
    read = []
    for pattern in patterns:
        if not isinstance(pattern, str):
            raise _Wrong(f"must have a text or a list of texts for {brief(written)!r}, not {_described(pattern)}")
        if len(pattern) > LONGEST_PATTERN:
            raise _Wrong(f"has a pattern of more than {LONGEST_PATTERN} characters for {brief(written)!r}")
        try:
            read.append(Pattern(pattern, label))
        except ValueError as error:
            raise _Wrong(f"has {error} for {brief(written)!r}") from None
    return tuple(read)


def _append(written: RawValue) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(_paths(written)))


def _once(written: RawValue) -> Once:
    value = written.value
    once = Once.of(value) if isinstance(value, bool | str) else None
    if once is None:
        what = "another text" if isinstance(value, str) else _described(value)
        raise _Wrong(f'must be true, false, "armed" or "loader", not {what}')
    return once


def _overlay(written: RawValue) -> int:
    value = written.value
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= HIGHEST_OVERLAY:
        what = "another number" if isinstance(value, int) and not isinstance(value, bool) else _described(value)
        raise _Wrong(f"must be a number from 1 to {HIGHEST_OVERLAY}, not {what}")
    return value


def overlay_number(text: str) -> int | str:
    """Return the number that ``overlay`` has in a format whose values are texts; other texts as they are."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(HIGHEST_OVERLAY)) else text


def _paths(written: RawValue) -> tuple[Path, ...]:
    value = written.value
    if not isinstance(value, list):
        raise _Wrong(f"must be a list of dotted paths, not {_described(value)}")
    return tuple(_path(path, place) for place, path in enumerate(value, 1))


_STEP: Final = re.compile(r'"(?P<quoted>[^"]*)"|(?P<bare>[^."]+)')


def _path(text: object, place: int) -> Path:
    """Return the keys of a dotted path: ``a."b.c".d`` is three. A family with paths of its own passes them as keys."""
    if isinstance(text, tuple):
        return text
    if not isinstance(text, str):
        raise _Wrong(f"must hold dotted paths: entry {place} is {_described(text)}")
    steps: list[str] = []
    at = 0
    while True:
        step = _STEP.match(text, at)
        if not step:
            raise _Wrong(f'holds no dotted path in entry {place} (a."b.c".d for a key with a dot)')
        steps.append(step["quoted"] if step["bare"] is None else step["bare"])
        at = step.end()
        if at == len(text):
            return tuple(steps)
        if text[at] != ".":
            raise _Wrong(f'holds no dotted path in entry {place} (a."b.c".d for a key with a dot)')
        at += 1


class Language(Enum):
    """What fills a document in place of placeholders. Only a family that has it reads a value as one."""

    JINJA = "jinja"


def _template(written: RawValue) -> bool:
    if written.value is Language.JINJA:
        return True
    if not isinstance(written.value, bool):
        only = "; Jinja fills documents of the text family alone" if written.value == "jinja" else ""
        raise _Wrong(f"must be true or false, not {_described(written.value)}{only}")
    return written.value


_READERS: Final[dict[str, Callable[[RawValue], object]]] = {
    "extends": _extends,
    "members": _members,
    "match": _match,
    "append": _append,
    "once": _once,
    "overlay": _overlay,
    "unset": _paths,
    "template": _template,
}


def _described(value: object) -> str:
    """Return the kind of a value as an operator would call it; never the value, which may be a password."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "a text"
    if isinstance(value, Mapping):
        return "a map"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, tuple):  # a YAML key that is a map or a list
        return "a map or a list"
    return "a number" if isinstance(value, Number) else "a date or a time"
