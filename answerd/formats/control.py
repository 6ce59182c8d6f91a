"""The control keys: what they mean, and what is wrong with one (SPEC 5).

Families spell them (`WrittenControl`); this room reads them all alike, so that a rule holds in every format.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Number

from answerd.formats.family import Path, Written, WrittenControl
from answerd.identity import Kind, identity, match_form

CONTROL_KEYS: dict[str, frozenset[Kind]] = {
    "extends": frozenset(Kind),
    "members": frozenset({Kind.GROUP}),
    "match": frozenset({Kind.GROUP, Kind.MACHINE}),
    "unset": frozenset(Kind),
    "template": frozenset(Kind),
}
"""Every control key and the kinds of document in which it has a meaning."""

CLAIMING_KEYS = frozenset({"members", "match"})
"""A group in which one of these is malformed might claim anything: it cannot be read (SPEC 7)."""


class Forms(list[str]):
    """The values of one label as patterns compare them (`answerd.identity.match_form`)."""

    __slots__ = ("_joined",)

    @property
    def joined(self) -> str:
        """All of them, each between two line ends. Worked out once."""
        try:
            return self._joined
        except AttributeError:
            self._joined: str = "\n".join(["", *self, ""])
            return self._joined


_A_FEW = 8
"""Values that are tried one by one for less than a search in all of them costs."""


class Pattern:
    """``*`` any run, ``?`` one character; everything but letters and digits is ignored on both sides.

    ``text`` is the pattern as it was written. ``exact`` is the one form that satisfies it, None with wildcards;
    ``beginning`` what every such form begins with, ``runs`` the texts that stand in it after a wildcard.
    """

    __slots__ = ("_anchor", "_is_anchor_enough", "_matches", "beginning", "exact", "runs", "text")

    def __init__(self, text: str) -> None:
        """Raises ValueError for a pattern of nothing but punctuation."""
        form = "".join(c for c in text.casefold() if c in "*?" or c.isalnum())
        if not form:
            raise ValueError(f"the pattern {text!r} is nothing but punctuation")
        self.text = text
        self.beginning, *runs = re.split(r"[*?]+", form)
        self.runs = tuple(filter(None, runs))
        self.exact: str | None = form if self.beginning == form else None
        self._matches = re.compile(fnmatch.translate(form)).match if self.exact is None else form.__eq__
        # The longest text of the pattern as it is in `Forms.joined`, where line ends mark a value's beginning and end.
        texts = re.split(r"[*?]+", f"\n{form}\n")
        longest = max(texts, key=lambda text: len(text.strip("\n")))
        self._anchor = longest if longest.strip("\n") else ""
        self._is_anchor_enough = "?" not in form and sum(map(bool, (self.beginning, *self.runs))) == 1

    def matches(self, form: str) -> bool:
        """Whether it holds for a value in `answerd.identity.match_form`."""
        return bool(self._matches(form))

    def matches_any(self, forms: Forms) -> bool:
        """Whether it holds for any of a label's values.

        Of many values only those are tried that hold the longest text of the pattern; one search finds them all.
        """
        if len(forms) <= _A_FEW or not self._anchor:
            return any(map(self._matches, forms))
        joined, anchor = forms.joined, self._anchor
        at = joined.find(anchor)
        if self._is_anchor_enough:
            return at >= 0
        while at >= 0:
            begin = at + 1 if anchor[0] == "\n" else joined.rfind("\n", 0, at) + 1
            end = joined.find("\n", begin)
            if self._matches(joined[begin:end]):
                return True
            at = joined.find(anchor, end)
        return False


@dataclass(frozen=True, slots=True)
class Criterion:
    """One label of a ``match`` and its patterns, any of which may hold."""

    label: str
    patterns: tuple[Pattern, ...]

    def holds(self, values: Forms) -> bool:
        """Whether any of the label's values satisfies any of the patterns."""
        return any(pattern.matches_any(values) for pattern in self.patterns)


@dataclass(frozen=True, slots=True)
class Control:
    """The control keys of one document, understood.

    ``members`` are identities. ``problems`` are sentences without the document's name. ``claims_known`` is False when
    ``members`` or ``match`` is malformed, so that nobody can say what the document claims.
    """

    extends: str | None = None
    members: tuple[str, ...] = ()
    match: tuple[Criterion, ...] = ()
    unset: tuple[Path, ...] = ()
    template: bool = True
    problems: tuple[str, ...] = ()
    claims_known: bool = True


class _Wrong(ValueError):
    """A control key's value cannot be what it is."""


def read_control(written: WrittenControl, kind: Kind) -> Control:
    """The meaning of a document's control keys. Never raises: what is wrong stands in ``problems``."""
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
        except _Wrong as error:
            spoiled.add(key)
            problems.append(f"{key} {error}{place}")
    return Control(
        **meaning,  # type: ignore[arg-type]  # the readers' table gives each key the type of its field
        problems=tuple(problems),
        claims_known=not spoiled & CLAIMING_KEYS,
    )


def _extends(written: Written) -> str:
    if not isinstance(written.value, str):
        raise _Wrong(f"must be the name of one group, not {_described(written.value)}")
    if not identity(written.value):
        raise _Wrong(f"names no group: {written.value!r}")
    if not written.value.isprintable():
        raise _Wrong(f"holds a control character: {written.value!r}")
    return written.value


def _members(written: Written) -> tuple[str, ...]:
    value = written.value
    if not isinstance(value, list):
        raise _Wrong(f"must be a list of machine identifiers, not {_described(value)}")
    if not value:
        raise _Wrong("is empty: name a machine, or leave the key out")
    members = []
    for member in value:
        if not isinstance(member, str):
            raise _Wrong(f"must hold texts: {_described(member)} is none")
        if not identity(member):
            raise _Wrong(f"holds {member!r}, which has no letter or digit")
        members.append(identity(member))
    return tuple(dict.fromkeys(members))


def _match(written: Written) -> tuple[Criterion, ...]:
    value = written.value
    if not isinstance(value, Mapping):
        raise _Wrong(f"must be a map of labels to patterns, not {_described(value)}")
    if not value:
        raise _Wrong("is empty: name a label and a pattern, or leave the key out")
    criteria: dict[str, tuple[Pattern, ...]] = {}
    for label, patterns in value.items():
        if not isinstance(label, str) or not label.strip():
            raise _Wrong(f"must have texts for labels, not {_described(label)}")
        name = label.strip().casefold()
        criteria[name] = criteria.get(name, ()) + _patterns(label, patterns)
    return tuple(Criterion(label, patterns) for label, patterns in criteria.items())


def _patterns(label: str, value: object) -> tuple[Pattern, ...]:
    patterns = value if isinstance(value, list) else [value]
    if not patterns:
        raise _Wrong(f"has no pattern for {label!r}")
    read = []
    for pattern in patterns:
        if not isinstance(pattern, str):
            raise _Wrong(f"must have a text or a list of texts for {label!r}, not {_described(pattern)}")
        if not match_form(pattern) and not set(pattern) & {"*", "?"}:
            what = "an empty pattern" if not pattern.strip() else f"the pattern {pattern!r}, nothing but punctuation,"
            raise _Wrong(f"has {what} for {label!r}")
        read.append(Pattern(pattern))
    return tuple(read)


def _unset(written: Written) -> tuple[Path, ...]:
    value = written.value
    if not isinstance(value, list):
        raise _Wrong(f"must be a list of dotted paths, not {_described(value)}")
    return tuple(_path(path) for path in value)


_STEP = re.compile(r'"(?P<quoted>[^"]*)"|(?P<bare>[^."]+)')


def _path(text: object) -> Path:
    """The keys of a dotted path: ``a."b.c".d`` is three. A family with paths of its own hands them over as keys."""
    if isinstance(text, tuple):
        return text
    if not isinstance(text, str):
        raise _Wrong(f"must hold dotted paths: {_described(text)} is none")
    steps: list[str] = []
    at = 0
    while True:
        step = _STEP.match(text, at)
        if not step:
            raise _Wrong(f'holds {text!r}, which is no dotted path (a."b.c".d for a key with a dot)')
        steps.append(step["quoted"] if step["bare"] is None else step["bare"])
        at = step.end()
        if at == len(text):
            return tuple(steps)
        if text[at] != ".":
            raise _Wrong(f'holds {text!r}, which is no dotted path (a."b.c".d for a key with a dot)')
        at += 1


def _template(written: Written) -> bool:
    if not isinstance(written.value, bool):
        raise _Wrong(f"must be true or false, not {_described(written.value)}")
    return written.value


_READERS: dict[str, Callable[[Written], object]] = {
    "extends": _extends,
    "members": _members,
    "match": _match,
    "unset": _unset,
    "template": _template,
}


def _described(value: object) -> str:
    """A value as an operator would call it."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the text {value!r}"
    if isinstance(value, Mapping):
        return "a map"
    if isinstance(value, list):
        return "a list"
    return f"the number {value}" if isinstance(value, Number) else f"a {type(value).__name__}"
