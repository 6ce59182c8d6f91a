"""A fault that lasts is logged when it comes, when it changes and when it is over, and not at each try in between."""

from __future__ import annotations

from collections.abc import Callable


class FaultLog:
    """The log lines of one thing that works or does not."""

    def __init__(self, log: Callable[[str], None], over: str = "") -> None:
        """``log`` takes a line; ``over`` is the line that it works again, empty for none. ``fault`` is
        the present one, empty where it works."""
        self._log = log
        self._over = over
        self.fault = ""

    def note(self, fault: str) -> bool:
        """Note the result of a try: the line about its fault, empty where it worked. Return whether that is new."""
        if fault == self.fault:
            return False
        self.fault = fault
        if fault or self._over:
            self._log(fault or self._over)
        return True
