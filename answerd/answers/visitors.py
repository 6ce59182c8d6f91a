"""Who asked lately: the machines of requests that came before, byte for byte, so that asking again costs little.

An installer asks for the same document several times. Who it is follows from the request, the answer set, the documents
that answer, and the identities that records have; while none of these has changed, neither has that. Must not know
states: a record is looked up anew for each request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from answerd.answers.catalogue import Catalogue
from answerd.answers.select import Selection
from answerd.documents import Document
from answerd.facts import Request
from answerd.identity import identity_of
from answerd.installs.memory import InstallMemory, Remembered, Visitor

MOST_REQUESTS: Final = 4_096
"""Requests that are kept."""

MOST_REQUEST_BYTES: Final = 6_144
"""Bytes of a request that is kept; those of installers have up to 5 KB."""


class Known(NamedTuple):
    """Who a request is of. ``document`` names the highest layer of its answer. ``brings_nothing``: it has records, and
    they know all that it says of its machine."""

    visitor: Visitor
    document: str
    found: list[Remembered]
    brings_nothing: bool


class _Kept(NamedTuple):
    """Who a request was of, and what this follows from, beside the set: the highest layer of its answer, its group, and
    the memory's index then. ``names``: those of its records."""

    top: Document
    group: Document | None
    found_at: int
    visitor: Visitor
    document: str
    names: tuple[str, ...]
    brings_nothing: bool


class RecentVisitors:
    """The machines of the requests that came lately; of one set, and one memory."""

    def __init__(self) -> None:
        self._catalogue: Catalogue | None = None
        self._memory: InstallMemory | None = None
        self._kept: dict[Request, _Kept] = {}

    def find(
        self,
        catalogue: Catalogue,
        selection: Selection,
        memory: InstallMemory,
        request: Request,
        records: Callable[[str | None], list[Remembered]],
    ) -> Known | None:
        """Return who asks, with its records as ``records`` finds them by the visitor's name; None where the request is
        new, or has to be looked at again."""
        if self._catalogue is not catalogue or self._memory is not memory:
            self._kept.clear()
            self._catalogue, self._memory = catalogue, memory
        try:
            kept = self._kept.get(request)
        except TypeError:  # a request that came from no socket may have lists
            return None
        if kept is None:
            return None
        top, group, found_at, visitor, document, names, brings_nothing = kept
        if top is not selection.layers[-1] or group is not selection.group:
            return None
        if found_at == memory.index:
            found = [memory.by_name[name] for name in names]
            # A record never loses an identity, but the group of its last answer changes.
            return Known(visitor, document, found, brings_nothing and _is_of_group(found, visitor))
        found = records(visitor.name)
        brings_nothing = knows(found, visitor)
        self._kept[request] = _Kept(top, group, memory.index, visitor, document, _names(found), brings_nothing)
        return Known(visitor, document, found, brings_nothing)

    def keep(self, selection: Selection, request: Request, known: Known) -> None:
        """Keep who asked, as the set and the memory say that were looked at last."""
        memory = self._memory
        if memory is None or not isinstance(request.headers, tuple) or not isinstance(request.identities, tuple):
            return
        size = len(request.path) + len(request.query) + len(request.body)
        if size + sum(len(name) + len(value) for name, value in request.headers) > MOST_REQUEST_BYTES:
            return
        if len(self._kept) >= MOST_REQUESTS and request not in self._kept:
            del self._kept[next(iter(self._kept))]
        visitor, document, found, brings_nothing = known
        self._kept[request] = _Kept(
            selection.layers[-1], selection.group, memory.index, visitor, document, _names(found), brings_nothing
        )


def knows(found: list[Remembered], visitor: Visitor) -> bool:
    """Return whether a request has records, and they know all that it says of its machine."""
    wanted = visitor.identities.keys()
    return (
        bool(found)
        and all(remembered.identities.keys() >= wanted for remembered in found)
        and _is_of_group(found, visitor)
    )


def _is_of_group(found: list[Remembered], visitor: Visitor) -> bool:
    group = visitor.group
    if group is not None:
        for remembered in found:  # a generator costs as much again, and each answer with once asks this
            if remembered.group != group:
                return False
    return True


def _names(found: list[Remembered]) -> tuple[str, ...]:
    return tuple(identity_of(remembered.record.name) for remembered in found)
