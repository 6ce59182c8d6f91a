"""Who asked lately: the machines of requests that came before, byte for byte, so that asking again costs little.

An installer asks for the same document several times. Who it is follows from the request, the answer set, the documents
that answer, and the identities that records have; while none of these has changed, neither has that. Must not know
states: a record is looked up anew for each request.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from answerd.answers.catalogue import Catalogue
from answerd.answers.select import Selection
from answerd.documents import Document
from answerd.facts import Facts, Request
from answerd.identity import identity
from answerd.installs.memory import Memory, Remembered, Visitor

MOST_REQUESTS: Final = 4_096
"""Requests that are kept."""

MOST_REQUEST_BYTES: Final = 6_144
"""Bytes of a request that is kept; those of installers have up to 5 KB."""


class Circumstances(NamedTuple):
    """What a request is judged by, beside its own bytes."""

    catalogue: Catalogue
    selection: Selection
    memory: Memory


class _Known(NamedTuple):
    """Who a request was of, and by what it was judged. ``found_at``: the memory's index then; ``names``: those of its
    records."""

    machine: Document | None
    group: Document | None
    found_at: int
    visitor: Visitor
    names: tuple[str, ...]


class RecentVisitors:
    """The machines of requests whose records know all that they say of their machine; of one set, and one memory."""

    def __init__(self) -> None:
        self._catalogue: Catalogue | None = None
        self._memory: Memory | None = None
        self._known: dict[Request, _Known] = {}

    def find(
        self, memory: Memory, catalogue: Catalogue, selection: Selection, facts: Facts
    ) -> tuple[Visitor, list[Remembered]] | None:
        """Return who asks, with its records, none of which learns an identity by this request; None where the request
        is new, or has to be looked at again."""
        if self._catalogue is not catalogue or self._memory is not memory:
            self._known.clear()
            self._catalogue, self._memory = catalogue, memory
        try:
            known = self._known.get(facts.request)
        except TypeError:  # a request that came from no socket may have lists
            return None
        if (
            known is None
            or known.found_at != memory.index
            or known.machine is not selection.machine
            or known.group is not selection.group
        ):
            return None
        return known.visitor, [memory.by_name[name] for name in known.names]

    def keep(self, request: Request, judged_by: Circumstances, visitor: Visitor, found: list[Remembered]) -> None:
        """Keep who asked, if its records have all that the request says of its machine."""
        catalogue, selection, memory = judged_by
        if self._catalogue is not catalogue or self._memory is not memory:
            return
        if not found or not all(_knows(one, visitor) for one in found):
            return
        if not isinstance(request.headers, tuple) or not isinstance(request.identities, tuple):
            return
        size = len(request.path) + len(request.query) + len(request.body)
        if size + sum(len(name) + len(value) for name, value in request.headers) > MOST_REQUEST_BYTES:
            return
        if len(self._known) >= MOST_REQUESTS and request not in self._known:
            del self._known[next(iter(self._known))]
        names = tuple(identity(one.record.name) for one in found)
        self._known[request] = _Known(selection.machine, selection.group, memory.index, visitor, names)


def _knows(one: Remembered, visitor: Visitor) -> bool:
    return one.identities.keys() >= visitor.identities.keys() and visitor.group in (None, one.group)
