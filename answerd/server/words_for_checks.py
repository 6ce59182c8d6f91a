"""What machines last said, for checks of the whole set, whose results are kept (docs/check.md#what-machines-last-said).

Machines ask all the time, and a check of 20,000 rows takes seconds. So what they said since a check begins another one
only after a pause, which is in proportion to what that check took: a moment for a small set, minutes for a large one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from answerd.answers.last_words import LastWords
from answerd.server.threads import in_thread
from answerd.store import StoreError
from answerd.store.states import States, words_known

PAUSE = 50
"""The pause after a check, in times of what the check took: checks for new words then take 2 % of a processor."""


class WordsForChecks:
    """The last words of machines with a service, for checks of one kind."""

    def __init__(self, states: States | None, clock: Callable[[], float] = time.monotonic) -> None:
        """``states`` has the last contacts, None where none are kept."""
        self._states = states
        self._clock = clock
        self._version = 0.0
        self._due = 0.0

    def version(self) -> float:
        """Return a number that is another one where the next check is to use newer words. Used by the loop."""
        if self._states is not None and self._clock() >= self._due:
            try:
                self._version = in_thread(self._states.contacts_written)
            except StoreError:
                pass  # what was read last counts; the log has the fault
        return self._version

    @contextmanager
    def taken(self) -> Iterator[LastWords]:
        """Read the words for the check that the block makes, in its thread."""
        began, self._due = self._clock(), math.inf
        try:
            yield words_known(self._states)
        finally:
            ended = self._clock()
            self._due = ended + PAUSE * (ended - began)
