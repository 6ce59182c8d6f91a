"""A YAML text of several documents (Talos, Kubernetes manifests), cut at its placeholders.

Such a text is served as it is written, with comments and directives: only the scalars with placeholders are written
again, each in its place. Knows nothing of layers: a stream is never merged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from answerd.formats.family import Slot
from answerd.formats.template_reading import TemplateReader
from answerd.formats.yaml_nodes import Scalar, filled_scalar
from answerd.formats.yaml_reading import ends_collection, events, is_scalar, starts_mapping, starts_sequence
from answerd.formats.yaml_writing import write_in_place

_BLOCK_HEADER = re.compile(r"[|>][+-]?(?P<indicator>[1-9])?[+-]?[^\n]*\n")
_FIRST_LINE = re.compile(r"(?:[ \t]*\r?\n)*(?P<margin> *)[^ \r\n]")


def cut(text: str, reader: TemplateReader) -> tuple[str | Slot, ...]:
    """Return the text of a valid stream, cut at its placeholders. Keys are unchanged."""
    pieces: list[str | Slot] = []
    done = 0
    for event in _values(text):
        if "{{" not in event.value:
            continue
        style = event.style if event.style in ("'", '"', "|", ">") else ""
        scalar = Scalar(event.value, style, event.tag, 0, 0)
        filled = filled_scalar(scalar, event.value, reader)
        if filled is scalar:
            continue
        start, end = event.start_mark.index, event.end_mark.index
        margin = None
        if style in ("|", ">"):
            # The text from the end of a block to the next token is the indentation of that token.
            end = text.rfind("\n", start, end) + 1 or end
            margin = _margin(text[start:end])
        pieces.append(text[done:start] + (f"&{event.anchor} " if event.anchor else ""))
        pieces += write_in_place(filled, margin)
        if style in ("|", ">"):
            pieces.append("\n")
        done = end
    return (*pieces, text[done:])


def _values(text: str) -> Iterator[Any]:
    """Yield the events of the scalars that are neither keys nor within a key."""
    # Of each open collection: whether the next node in it is a key, None for a list or within a key.
    next_is_key: list[bool | None] = []
    within_key: list[bool] = []
    for event in events(text):
        if ends_collection(event):
            next_is_key.pop()
            within_key.pop()
            continue
        is_node = is_scalar(event) or starts_mapping(event) or starts_sequence(event) or hasattr(event, "anchor")
        if not is_node:
            continue
        is_key = bool(within_key and within_key[-1])
        if next_is_key and next_is_key[-1] is not None:
            is_key = is_key or next_is_key[-1]
            next_is_key[-1] = not next_is_key[-1]
        if starts_mapping(event) or starts_sequence(event):
            next_is_key.append(True if starts_mapping(event) else None)
            within_key.append(is_key)
        elif is_scalar(event) and not is_key:
            yield event


def _margin(block: str) -> int | None:
    """Return the column in which the lines of a block scalar begin; None where the block has an indentation
    indicator."""
    header = _BLOCK_HEADER.search(block)
    if header is None or header["indicator"]:
        return None
    first = _FIRST_LINE.match(block, header.end())
    return len(first["margin"]) if first else None
