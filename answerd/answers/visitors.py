"""The machines of recent requests, by the requests' bytes, so that the same request again costs little.

An installer asks for the same document several times. Its machine follows from the request, the answer set, the
documents that answer, and the identities of records; it stays the same while none of these changes. Must not know
states: a record is looked up anew for each request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from answerd.answers.catalogue import Catalogue
from answerd.answers.select import Selection
from answerd.documents import Document
from answerd.facts import Facts, Statement
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

    ``document`` names the highest layer. ``found`` are the records of the machine. ``brings_nothing``: it has records,
    and they know all that the request says of the machine. ``quiet``: the first and the last time at which the document
    is given to it once more without a note. ``token`` is that of its report URL, once it was made.
    """

    top: Document
    group: Document | None
    visitor: Visitor
    document: str
    index: int = -1
    found: Sequence[Remembered] = ()
    brings_nothing: bool = False
    quiet: tuple[float, float] = NEVER
    token: str | None = None

    def note(self, found: Sequence[Remembered], memory: InstallMemory) -> None:
        """Note the records that a memory holds for the machine."""
        self.index, self.found = memory.index, found
        self.brings_nothing = _is_known(found, self.visitor)
        self.quiet, self.token = NEVER, None

    def is_up_to_date(self, memory: InstallMemory) -> bool:
        """Return whether the memory holds these records still, and no others, for the machine."""
        is_current = self.index == memory.index
        for remembered in self.found:  # `all` of a generator takes ten times as long
            is_current &= remembered.is_current
        return is_current


class RecentVisitors:
    """The machines of recent requests; of one set, and one memory."""

    def __init__(self) -> None:
        self._catalogue: Catalogue | None = None
        self._memory: InstallMemory | None = None
        self._known: dict[Statement, KnownVisitor] = {}

    def find(
        self, catalogue: Catalogue, selection: Selection, memory: InstallMemory, facts: Facts
    ) -> KnownVisitor | None:
        """Return the machine that asks; None where the request is new, or has another answer than it had."""
        if self._catalogue is not catalogue or self._memory is not memory:
            self._known.clear()
            self._catalogue, self._memory = catalogue, memory
        try:
            known = self._known.get(facts.statement())
        except TypeError:  # a request that came from no socket may have a list
            return None
        if known is None or known.top is not selection.layers[-1] or known.group is not selection.group:
            return None
        return known

    def keep(self, facts: Facts, known: KnownVisitor) -> None:
        """Keep the machine of a request."""
        statement = facts.statement()
        path, query, body, _, identities, header_facts, _ = statement
        size = len(path) + len(query) + len(body) + sum(len(value) for _, value in header_facts)
        if size > MOST_REQUEST_BYTES or not isinstance(identities, tuple):
            return
        if len(self._known) >= MOST_REQUESTS and statement not in self._known:
            del self._known[next(iter(self._known))]
        self._known[statement] = known


def _is_known(found: Sequence[Remembered], visitor: Visitor) -> bool:
    """Return whether a request has records, and they know all that it says of its machine."""
    wanted, group = visitor.identities.keys(), visitor.group
    return bool(found) and all(
        remembered.identities.keys() >= wanted and (group is None or remembered.group == group) for remembered in found
    )
