"""The program where its log is a file, or has no reader: the bound address cannot be read from standard error."""

from __future__ import annotations

from typing import Any

from tests.support.ports import free_port
from tests.support.probe import ask
from tests.support.service import Service
from tests.support.waiting import PATIENCE, wait_until


class OnAKnownPort(Service):
    """The service on a port that was free a moment ago."""

    def __init__(self, *, read_stderr: bool = True, **settings: Any) -> None:
        """``read_stderr``: false leaves the pipe of its standard error alone until `read` is called."""
        self.known = ("127.0.0.1", free_port())
        self._read_stderr = read_stderr
        super().__init__(**settings, SERVICE_LISTEN_ADDR=f"127.0.0.1:{self.known[1]}")

    def _collect(self) -> None:
        if self._read_stderr:
            self.read()

    def read(self) -> None:
        """Read standard error from now on, until it ends."""
        super()._collect()

    def wait_for_log(self, pattern: str, seconds: float = PATIENCE) -> str:
        """Once it answers, it is up; later, what `Service` does."""
        if self.address is None:
            wait_until(lambda: ask(self.known) == "200", seconds)
            self.address = self.known
            return ""
        return super().wait_for_log(pattern, seconds)
