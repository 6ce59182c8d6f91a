"""The values of a YAML document as an installer's program reads them, and the lines that they are on."""

from __future__ import annotations

from typing import Any

import yaml

from answerd.formats import yaml_read
from answerd.formats.yaml_read import NULL, STANDARD, STRING, Node, Scalar, Sequence, scalar_tag
from answerd.validators.schema import Path

_READ_BY_PYYAML = frozenset(STANDARD + name for name in ("int", "float", "bool"))


LONGEST_NUMBER = 100
"""Characters: PyYAML reads ``1:1:1`` as a number of base 60, in time with the square of its length."""


class Other:
    """A value that is of no type of JSON: a day, bytes, what a tag names."""


OTHER = Other()


def value_of(node: Node | None) -> Any:
    """Return a node as dict, list, str, int, float, bool, None or `OTHER`. Keys are their texts."""
    if isinstance(node, Scalar):
        return _scalar(node)
    if isinstance(node, Sequence):
        return [value_of(item) for item in node.items]
    if isinstance(node, yaml_read.Mapping):
        pairs = node.pairs.values()
        return {str(key.text): value_of(value) for key, value in pairs if isinstance(key, Scalar)}
    return None


def _scalar(scalar: Scalar) -> Any:
    text = str(scalar.text)
    if len(text) > LONGEST_NUMBER and scalar.tag is None:
        return text  # to tell its type takes longer than its length
    tag = scalar_tag(scalar)
    if tag == STRING:
        return text
    if tag == NULL:
        return None
    if tag not in _READ_BY_PYYAML or len(text) > LONGEST_NUMBER:
        return OTHER
    try:
        return yaml.SafeLoader("").construct_object(yaml.ScalarNode(tag, text))
    except (ValueError, KeyError, IndexError, OverflowError, yaml.YAMLError):
        return OTHER


def line_of(root: Node | None, path: Path, is_key: bool = False) -> int | None:
    """Return the line of the value at a path, or of the last key of it; that of the nearest value above it where there
    is none."""
    node = root
    for step in path[:-1] if is_key else path:
        below = _below(node, step)
        if below is None:
            break
        node = below[1]
    else:
        if is_key and (pair := _below(node, path[-1])) is not None:
            return pair[0].line
    return node.line if node is not None else None


def _below(node: Node | None, step: str | int) -> tuple[Node, Node] | None:
    """Return the key and the value at a step, the value twice in a list."""
    if isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
        return node.items[step], node.items[step]
    if isinstance(node, yaml_read.Mapping):
        known = node.pairs.get((STRING, step))  # nearly every key is a string
        if known is not None:
            return known
        for key, value in node.pairs.values():
            if isinstance(key, Scalar) and str(key.text) == step:
                return key, value
    return None
