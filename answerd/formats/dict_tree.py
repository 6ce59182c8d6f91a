"""Trees of plain maps, lists and scalars, as TOML and JSON have them: control keys, merge, unset, placeholders.

A plain tree is dict, list, str and whatever scalars the family reads; a `Template` may replace a str. Nothing here
modifies a tree that it is given.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from answerd.formats.control import CONTROL_KEYS
from answerd.formats.family import DEEPEST, NO_BRANCHES, Branches, KeyText, Path, RawControl, RawValue, branches
from answerd.formats.template import TemplateReader

Map = dict[str, Any]


def is_too_deep(value: Any, left: int = DEEPEST) -> bool:
    """Return whether maps and lists are nested more than ``left`` levels deep."""
    if isinstance(value, dict):
        inner: Iterable[Any] = value.values()
    elif isinstance(value, list):
        inner = value
    else:
        return False
    if not left:
        return True
    return any(not isinstance(below, str) and is_too_deep(below, left - 1) for below in inner)


def take_control(tree: Map) -> tuple[RawControl, Map]:
    """Return the control keys at the top of a map, and the map without them."""
    written = {key: RawValue(tree[key]) for key in CONTROL_KEYS if key in tree}
    if not written:
        return RawControl(), tree
    return RawControl(written), {key: value for key, value in tree.items() if key not in written}


def merge(lower: Map, upper: Map, append: Iterable[Path] = ()) -> Map:
    """Merge maps key by key; any other value is replaced whole. The lower keys come first, in their order.

    An array at a path in ``append`` is appended to the array below it.
    """
    return _merged(lower, upper, branches(append) if append else NO_BRANCHES)


def _merged(lower: Map, upper: Map, append: Branches) -> Map:
    merged = dict(lower)
    for key, value in upper.items():
        below = merged.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            merged[key] = _merged(below, value, append.get(key) or NO_BRANCHES if append else NO_BRANCHES)
        elif append and append.get(key, NO_BRANCHES) is None and isinstance(below, list) and isinstance(value, list):
            merged[key] = [*below, *value]
        else:
            merged[key] = value
    return merged


def not_arrays(tree: Map, paths: Iterable[Path]) -> list[Path]:
    """Return the ``paths`` that have no array."""
    return [path for path in paths if not isinstance(_at(tree, path), list)]


def _at(tree: Any, path: Path) -> Any:
    """Return the value at a path; None where there is none."""
    for key in path:
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree


def unset(tree: Map, paths: Iterable[Path]) -> Map:
    """Return the map without the values at ``paths``; the same map where there are none."""
    return _without(tree, branches(paths))


def _without(tree: Map, gone: Branches) -> Map:
    if gone.keys().isdisjoint(tree.keys()):
        return tree
    left: Map = {}
    for key, value in tree.items():
        below = gone.get(key, NO_BRANCHES)
        if below is not None:
            left[key] = _without(value, below) if below and isinstance(value, dict) else value
    return left


def placeholders(tree: Any, reader: TemplateReader) -> Any:
    """Return the tree with every key and every string value read by ``reader``."""
    if isinstance(tree, dict):
        return {
            key if "{{" not in key else KeyText.of(key, reader): value
            if type(value) is str and "{{" not in value
            else placeholders(value, reader)
            for key, value in tree.items()
        }
    if isinstance(tree, list):
        return [placeholders(value, reader) for value in tree]
    return reader(tree, has_types=True) if type(tree) is str and "{{" in tree else tree
