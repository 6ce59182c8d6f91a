"""The nodes of a YAML tree: text, style and tag of every scalar as written, style of every collection.

Immutable, so that aliases and layers share them. Knows when two keys are equal; knows nothing of how a node is read or
written.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import yaml

from answerd.formats.template import Template
from answerd.formats.template_reading import TemplateReader
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


_WORDS = ("true", "false", "yes", "no", "on", "off", "y", "n")
_PATTERNS = {
    STANDARD + "int": r"[-+]?(?:0[box])?[0-9A-Fa-f_]+(?::[0-9]+)*",
    STANDARD + "float": r"[-+]?[0-9._eE:+-]+",
    STANDARD + "timestamp": r"[0-9TtZz.: +-]+",
    STANDARD + "binary": r"[0-9A-Za-z+/=\s]+",
}
"""A value of each type, with 1 in place of each placeholder. Broad: what does not match is never of the type."""


def tag_fault(scalar: Scalar) -> str | None:
    """Return why no value of its placeholders can make a scalar one of its tag's type; None where some can, as for a
    tag that is not YAML's own, and where a filter makes the type."""
    tag, text = scalar.tag, scalar.text
    if tag is None or not tag.startswith(STANDARD) or tag == STRING or isinstance(text, str) or text.typed:
        return None
    if tag == BOOLEAN:
        pattern = "".join([re.escape(part.lower()) if isinstance(part, str) else ".+" for part in text.parts])
        fits = any(re.fullmatch(pattern, word) for word in _WORDS)
    else:
        sample = "".join([part if isinstance(part, str) else "1" for part in text.parts])
        fits = tag in _PATTERNS and re.fullmatch(_PATTERNS[tag], sample.strip()) is not None
    return None if fits else f"cannot make this value one of the type !!{tag.removeprefix(STANDARD)}"


def filled_scalar(scalar: Scalar, text: str, reader: TemplateReader) -> Scalar:
    """Return a scalar with this text, whose placeholders are read; the same scalar where it has none."""
    read = reader(text, has_types=True)
    if read == text:
        return scalar
    if scalar.tag is not None and (fault := tag_fault(scalar._replace(text=read))):
        reader.refuse(text, fault)
    # PyYAML would read a quoted number after "!" as a number.
    tag = None if scalar.tag == NON_SPECIFIC else scalar.tag
    if isinstance(read, Template) and read.typed:
        return scalar._replace(text=read, style="", tag=None)
    return scalar._replace(text=read, style=scalar.style or '"', tag=tag)


def identity(key: Node) -> Identity:
    """Return the identity of a key, whatever its style. The order of a map that is a key does not matter."""
    if isinstance(key, Scalar):
        return (scalar_tag(key), key.text)
    if isinstance(key, Sequence):
        return (key.tag, *map(identity, key.items))
    return (key.tag, frozenset((name, identity(value)) for name, (_, value) in key.pairs.items()))
