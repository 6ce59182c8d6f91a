"""locust: a rolling lab. Each user is a bench where one machine after the other is installed, tested and put aside."""

from __future__ import annotations

from locust import task

from loadtest.installers import Installer

INSTALLING_AND_TESTING = (180.0, 600.0)
"""Seconds from a machine's answer to the next machine's request on the same bench."""


class Bench(Installer):
    @task
    def roll(self) -> None:
        """Install the next machine; then it runs its tests."""
        self.install(self.next_machine())
        self.pause(INSTALLING_AND_TESTING)
