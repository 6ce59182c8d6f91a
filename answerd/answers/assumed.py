"""States of installs that are only assumed: for answers that no machine gets (``render``, ``check``).

Rules: docs/install-once.md#answers-that-are-only-tried.
"""

from __future__ import annotations

from collections.abc import Sequence

from answerd.answers.gates import Gates
from answerd.facts import Facts
from answerd.installs.events import Event
from answerd.installs.records import InstallMemory
from answerd.installs.states import Record, Rules, State
from answerd.installs.tokens import WORTHLESS

_RULES = Rules()


class AssumedInstalls:
    """An `answerd.answers.gates.InstallSource` that stores nothing: every machine has the same state, and tokens are
    not valid."""

    key = WORTHLESS

    def __init__(self, url: str, state: State = State.ARMED, now: float = 0) -> None:
        """``url`` is how the service would be reached; ``now`` is in seconds."""
        self._url = url
        self._now = now
        is_new = state is State.NEW
        begun = state not in (State.NEW, State.ARMED)
        # No grace period: no answer was given before.
        self._memory = InstallMemory(
            _RULES,
            assumed=Record(
                "",
                state=state,
                since=now,
                was_armed=not is_new,
                by_operator=state is State.INSTALLED,
                starts=int(begun),
                heard=now,
            ),
        )

    def current(self) -> InstallMemory:
        """Return a memory in which every machine is in the state."""
        return self._memory

    def now(self) -> float:
        return self._now

    def base_url(self, _facts: Facts) -> str:
        return self._url

    def given(self, _events: Sequence[Event]) -> None:
        """Store nothing."""

    def noted(self, _events: Sequence[Event]) -> None:
        """Store nothing."""


def assumed_gates(url: str, state: State = State.ARMED, now: float = 0) -> Gates:
    """Return gates at which every machine is in one state."""
    return Gates(AssumedInstalls(url, state, now))
