"""The memory that a listener's connections hold: bodies that arrive, and answers that wait to be read.

Knows the limits over all workers (`answerd.server.admission`) and which connections are refused where they are
exceeded. Must not know sockets, nor the response to a refused client.
"""

from __future__ import annotations

from typing import Protocol

from answerd.server.admission import SHARE, Admission


class Holder(Protocol):
    """A connection, as far as its memory is concerned. The first two attributes are set here only."""

    body_held: int
    """Bytes of its body that are counted."""
    answer_held: bytes | None
    """Its answer, where that is counted."""

    def refuse_body(self) -> None:
        """Drop its incomplete body, call `ConnectionMemory.release_body`, and tell the client to come back later."""


class ConnectionMemory:
    """The memory of one listener's connections, counted in its `Admission`."""

    def __init__(self, admission: Admission) -> None:
        self._bodies = admission.bodies
        self._answers = admission.answers
        self._large: dict[Holder, None] = {}  # incomplete bodies above their share, the last that grew at the end
        self._waiting: dict[int, int] = {}  # how many connections wait to send the same bytes, by their id
        self.body_limit = admission.bodies.limit
        self.answer_limit = admission.answers.limit

    def hold_body(self, connection: Holder, size: int) -> bool:
        """Count an incomplete body of ``size`` bytes; return False if its connection must be refused.

        Above the limit, a body larger than its share is refused. A body within its share is not: a larger one is
        refused instead.
        """
        self.keep_body(connection, size)
        if size > SHARE:
            self._large[connection] = None
            return not self._bodies.exceeded
        if self._bodies.exceeded:
            self.refuse_large_bodies()
        return True

    def keep_body(self, connection: Holder, size: int) -> None:
        """Count a complete body of ``size`` bytes, which is not refused any more."""
        self._bodies.add(size - connection.body_held)
        connection.body_held = size
        self._large.pop(connection, None)

    def release_body(self, connection: Holder) -> None:
        """Stop counting the body of a connection."""
        self.keep_body(connection, 0)

    def refuse_large_bodies(self) -> None:
        """Refuse bodies larger than their share until the limit holds, or none of them is left in this process."""
        while self._large and self._bodies.exceeded:
            next(reversed(self._large)).refuse_body()

    def has_room_for(self, answer: bytes) -> bool:
        """Return whether an answer may wait to be read, in case its client is slow.

        An answer that already waits for another client costs nothing more. A single answer may be of any size.
        """
        held = self._answers.total
        return id(answer) in self._waiting or not held or held + len(answer) <= self._answers.limit

    def hold_answer(self, connection: Holder, answer: bytes) -> None:
        """Count an answer that waits to be read; the same bytes once for all clients."""
        connection.answer_held = answer
        users = self._waiting.get(id(answer), 0)
        self._waiting[id(answer)] = users + 1
        if not users:
            self._answers.add(len(answer))

    def release_answer(self, connection: Holder) -> None:
        """Stop counting the answer of a connection."""
        answer = connection.answer_held
        if answer is None:
            return
        connection.answer_held = None
        self._waiting[id(answer)] -= 1
        if not self._waiting[id(answer)]:
            del self._waiting[id(answer)]
            self._answers.add(-len(answer))
