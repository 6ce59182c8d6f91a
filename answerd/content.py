"""The meaning of a document's text, without the tree of its values.

A module of its own because equal contents are shared by weak references, which a compiled class cannot have
(docs/performance.md#the-compiled-build).
"""

from __future__ import annotations

from dataclasses import dataclass

from answerd.formats.control import Control


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Content:
    """The content of a document's text, without the tree of its values.

    ``verbatim``: served alone, it is served as it was written. ``problems`` are sentences without the document's name.
    ``readable`` is False when it does not parse, or when its claims are not known; then the first of ``problems`` says
    why.
    """

    control: Control
    problems: tuple[str, ...] = ()
    readable: bool = True
    verbatim: bool = False
