"""The machines of recent requests, so that the same request again costs little.

An installer asks for the same document several times. Its machine follows from the request, the answer set, the
documents that answer, and the identities of records; it stays the same while none of these changes. Must not know
states: a record is looked up anew for each request.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, Final

from answerd.answers.catalogue import Catalogue
from answerd.answers.select import Selection
from answerd.documents import Document
from answerd.facts import Facts, Statement
from answerd.installs.memory import InstallMemory, Remembered, Visitor

MOST_REQUESTS: Final = 4_096
"""Requests that are kept."""

MOST_REQUEST_BYTES: Final = 6_144
"""Bytes of a request that is kept; those of installers have up to 5 KB."""


class KnownVisitor:
    """The machine of a request, and what this follows from besides the set: all that the request says of its machine,
    the highest layer of its answer, its group, and the records of the memory when it had this index.

    ``document`` names the highest layer. ``found`` are the records of the machine. ``brings_nothing``: it has records,
    and they know all that the request says of the machine. ``quiet_from`` and ``quiet_until``: the first and the last
    time at which the document is given to it once more without a note. ``token`` is that of its report URL, once it was
    made.
    """

    __slots__ = (
        "brings_nothing",
        "document",
        "found",
        "group",
        "index",
        "quiet_from",
        "quiet_until",
        "statement",
        "token",
        "top",
        "visitor",
    )

    def __init__(self, statement: Statement, selection: Selection, visitor: Visitor) -> None:
        self.statement = statement
        self.top: Document = selection.layers[-1]
        self.group = selection.group
        self.visitor = visitor
        self.document = str(self.top.key)
        self.index = -1
        self.found: Sequence[Remembered] = ()
        self.brings_nothing = False
        self.quiet_from = inf
        self.quiet_until = -inf
        self.token: str | None = None

    def note(self, found: Sequence[Remembered], memory: InstallMemory) -> None:
        """Note the records that a memory holds for the machine."""
        self.index, self.found = memory.index, found
        self.brings_nothing = _is_known(found, self.visitor)
        self.quiet_from, self.quiet_until = inf, -inf
        self.token = None

    def is_up_to_date(self, memory: InstallMemory) -> bool:
        """Return whether the memory holds these records still, and no others, for the machine."""
        is_current: bool = self.index == memory.index
        for remembered in self.found:  # `all` of a generator takes ten times as long
            is_current = is_current and remembered.is_current
        return is_current


class RecentVisitors:
    """The machines of recent requests; of one set, and one memory.

    A machine with a document or a row of its own is filed under that, with its last request: to compare a body takes a
    tenth of the time that its hash takes. Any other is filed under all that its request says.
    """

    __slots__ = ("_catalogue", "_known", "_memory")

    def __init__(self) -> None:
        self._catalogue: Catalogue | None = None
        self._memory: InstallMemory | None = None
        self._known: dict[Any, KnownVisitor] = {}

    def find(
        self, catalogue: Catalogue, selection: Selection, memory: InstallMemory, facts: Facts
    ) -> KnownVisitor | None:
        """Return the machine that asks; None where the request is new, or has another answer than it had."""
        if self._catalogue is not catalogue or self._memory is not memory:
            self._known.clear()
            self._catalogue, self._memory = catalogue, memory
        statement = facts.statement()
        try:
            known = self._known.get(_filed_under(selection, facts, statement))
        except TypeError:  # a request that came from no socket may have a list
            return None
        if known is None or known.top is not selection.layers[-1] or known.group is not selection.group:
            return None
        return known if known.statement == statement else None

    def keep(self, selection: Selection, facts: Facts, known: KnownVisitor) -> None:
        """Keep the machine of a request."""
        path, query, body, _, identities, header_facts, _ = known.statement
        size = len(path) + len(query) + len(body) + sum([len(value) for _, value in header_facts])
        if size > MOST_REQUEST_BYTES or not isinstance(identities, tuple):
            return
        filed_under = _filed_under(selection, facts, known.statement)
        if len(self._known) >= MOST_REQUESTS and filed_under not in self._known:
            del self._known[next(iter(self._known))]
        self._known[filed_under] = known


def _filed_under(selection: Selection, facts: Facts, statement: Statement) -> Any:
    """Return what a request's machine is filed under: no two machines share a document or a row of their own."""
    if selection.machine is not None:
        return selection.machine
    return facts.row if facts.row is not None else statement


def _is_known(found: Sequence[Remembered], visitor: Visitor) -> bool:
    """Return whether a request has records, and they know all that it says of its machine."""
    wanted, group = visitor.identities.keys(), visitor.group
    return bool(found) and all(
        remembered.identities.keys() >= wanted and (group is None or remembered.group == group) for remembered in found
    )
