"""The machines of recent requests, by the requests' bytes, so that the same request again costs little.

An installer asks for the same document several times. Its machine follows from the request, the answer set, the
documents that answer, and the identities of records; it stays the same while none of these changes. Must not know
states: a record is looked up anew for each request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from answerd.answers.catalogue import Catalogue
from answerd.answers.select import Selection
from answerd.documents import Document
from answerd.facts import Request
from answerd.identity import identity_of
from answerd.installs.memory import InstallMemory, Remembered, Visitor
from answerd.installs.states import NEVER

MOST_REQUESTS: Final = 4_096
"""Requests that are kept."""

MOST_REQUEST_BYTES: Final = 6_144
"""Bytes of a request that is kept; those of installers have up to 5 KB."""


@dataclass(slots=True, eq=False)
class KnownVisitor:
    """The machine of a request, and what this follows from besides the set: the highest layer of its answer, its group,
    and the records of the memory when it had this index.

    ``document`` names the highest layer. ``found`` are the records of the machine, ``names`` the identities of their
    names. ``brings_nothing``: it has records, and they know all that the request says of the machine. ``quiet``: the
    first and the last time at which the document is given to it once more without a note.
    """

    top: Document
    group: Document | None
    visitor: Visitor
    document: str
    found_at: int = -1
    found: Sequence[Remembered] = ()
    names: Sequence[str] = ()
    brings_nothing: bool = False
    quiet: tuple[float, float] = NEVER

    def note(self, found: Sequence[Remembered], memory: InstallMemory) -> None:
        """Note the records that a memory holds for the machine."""
        self.found_at, self.found = memory.index, found
        self.names = [identity_of(remembered.record.name) for remembered in found]
        self.brings_nothing = _is_known(found, self.visitor)
        self.quiet = NEVER


_Sent = tuple[str, str, Sequence[tuple[str, str]], bytes, str, Sequence[str]]
"""Everything that a request says, to be compared."""


def _sent(request: Request) -> _Sent:
    return request.path, request.query, request.headers, request.body, request.peer, request.identities


class RecentVisitors:
    """The machines of recent requests; of one set, and one memory."""

    def __init__(self) -> None:
        self._catalogue: Catalogue | None = None
        self._memory: InstallMemory | None = None
        self._known: dict[_Sent, KnownVisitor] = {}

    def find(
        self,
        catalogue: Catalogue,
        selection: Selection,
        memory: InstallMemory,
        request: Request,
        records: Callable[[str | None], list[Remembered]],
    ) -> KnownVisitor | None:
        """Return the machine that asks, with its records as ``records`` finds them by the visitor's name; None where
        the request is new, or has to be examined again."""
        if self._catalogue is not catalogue or self._memory is not memory:
            self._known.clear()
            self._catalogue, self._memory = catalogue, memory
        try:
            known = self._known.get(_sent(request))
        except TypeError:  # a request that came from no socket may have lists
            return None
        if known is None or known.top is not selection.layers[-1] or known.group is not selection.group:
            return None
        if known.found_at != memory.index:
            known.note(records(known.visitor.name), memory)
            return known
        by_name = memory.by_name
        for name, remembered in zip(known.names, known.found, strict=True):
            if by_name[name] is not remembered:
                known.note([by_name[name] for name in known.names], memory)
                break
        return known

    def keep(self, request: Request, known: KnownVisitor) -> None:
        """Keep the machine of a request."""
        if not isinstance(request.headers, tuple) or not isinstance(request.identities, tuple):
            return
        size = len(request.path) + len(request.query) + len(request.body)
        if size + sum(len(name) + len(value) for name, value in request.headers) > MOST_REQUEST_BYTES:
            return
        sent = _sent(request)
        if len(self._known) >= MOST_REQUESTS and sent not in self._known:
            del self._known[next(iter(self._known))]
        self._known[sent] = known


def _is_known(found: Sequence[Remembered], visitor: Visitor) -> bool:
    """Return whether a request has records, and they know all that it says of its machine."""
    wanted, group = visitor.identities.keys(), visitor.group
    return bool(found) and all(
        remembered.identities.keys() >= wanted and (group is None or remembered.group == group) for remembered in found
    )
