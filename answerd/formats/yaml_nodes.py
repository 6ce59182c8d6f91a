"""The nodes of a YAML tree: text, style and tag of every scalar as written, style of every collection.

Immutable, so that aliases and layers share them. Knows when two keys are equal; knows nothing of how a node is read or
written.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import yaml

from answerd.formats.template import Template
from answerd.memo import remembered

STANDARD = "tag:yaml.org,2002:"
STRING, BOOLEAN, NULL = STANDARD + "str", STANDARD + "bool", STANDARD + "null"
NON_SPECIFIC = "!"
"""The tag ``!``: it means "no tag", and PyYAML and YAML 1.2 draw different conclusions from it, so it is kept."""

_LONGEST_SCALAR = 100  # characters of a plain scalar whose type is worked out once for all documents
_RESOLVER: Any = yaml.resolver.Resolver()


class Scalar(NamedTuple):
    """A scalar. ``style`` is YAML's indicator, ``'``, ``"``, ``|`` or ``>``, and empty for a plain scalar."""

    text: str | Template
    style: str
    tag: str | None
    line: int
    column: int


class Sequence(NamedTuple):
    """A list. ``flow``: whether it is written in brackets; then everything in it can be written in brackets too."""

    items: tuple[Node, ...]
    flow: bool
    tag: str | None
    line: int
    column: int


class Mapping(NamedTuple):
    """A map: the key and value nodes by the key's `identity`, in their order."""

    pairs: dict[Identity, tuple[Node, Node]]
    flow: bool
    tag: str | None
    line: int
    column: int


Node = Scalar | Sequence | Mapping
Identity = tuple[Any, ...]
"""The identity of a key: tag and text, so that ``1`` and ``"1"`` differ."""


@remembered(4_096, len, _LONGEST_SCALAR)
def _resolved(plain: str) -> str:
    return str(_RESOLVER.resolve(yaml.ScalarNode, plain, (True, False)))


def scalar_tag(scalar: Scalar) -> str:
    """Return the tag of a scalar: as written, else by the rules of YAML 1.1 for a plain scalar."""
    if scalar.tag not in (None, NON_SPECIFIC):
        return str(scalar.tag)
    return STRING if scalar.style or scalar.tag or isinstance(scalar.text, Template) else _resolved(scalar.text)


def identity(key: Node) -> Identity:
    """Return the identity of a key, whatever its style. The order of a map that is a key does not matter."""
    if isinstance(key, Scalar):
        return (scalar_tag(key), key.text)
    if isinstance(key, Sequence):
        return (key.tag, *map(identity, key.items))
    return (key.tag, frozenset((name, identity(value)) for name, (_, value) in key.pairs.items()))
