"""locust: a lab that installs once. Each user is a machine: it boots, asks, installs, reports, and boots from its disk.

Start the service on the documents of ``python -m loadtest.fleet DIR --once`` with ``SERVICE_STATE_PATH``. The run is
over when every machine has installed and has booted from its disk ``--boots`` times. A script or an answer that is
given after the report of success was acknowledged is a failure.
"""

from __future__ import annotations

import random
from argparse import ArgumentParser

from locust import events, task
from locust.exception import StopUser

from loadtest.install_once import InstallingMachine, Judge
from loadtest.installers import BOOT_SECONDS, Installer

INSTALLING = (60.0, 300.0)
"""Seconds from an answer to the report."""

ASKS_AGAIN_SECONDS = (0.1, 2.0)
FAILS = 0.05
"""Share of the installs that fail and begin again."""

_finished: set[int] = set()


def add_options(parser: ArgumentParser) -> None:
    """Options beside those of all scripts."""
    parser.add_argument("--boots", type=int, default=3, help="Boots of a machine after it has installed")


events.init_command_line_parser.add_listener(add_options)  # type: ignore[no-untyped-call]


class InstallsOnce(Installer):
    """One machine of the lab."""

    @task
    def live(self) -> None:
        """Install, report, and boot from the disk."""
        installing = InstallingMachine(self.next_machine(), self._ask)
        self.pause(BOOT_SECONDS)
        self._start(installing)
        while random.random() < FAILS:
            installing.report("failed")
            self._start(installing)
        installing.progress(50)
        installing.report("installed")
        for _ in range(self.environment.parsed_options.boots):
            self.pause(BOOT_SECONDS)
            installing.boot()
            installing.fetch_answer()
        _finished.add(installing.machine.number)
        runner = self.environment.runner
        if runner is not None:
            lab = min(runner.target_user_count, self.environment.parsed_options.machines)
            if len(_finished) >= lab:
                runner.quit()
        raise StopUser

    def _start(self, installing: InstallingMachine) -> None:
        installing.boot()
        self.pause(BOOT_SECONDS)
        installing.fetch_answer()
        self.pause(ASKS_AGAIN_SECONDS)
        installing.fetch_answer()
        self.pause(INSTALLING)

    def _ask(self, what: str, method: str, target: str, judge: Judge) -> str:
        with self.client.request(method, target, name=what, catch_response=True) as response:
            text = response.text or ""
            fault = judge(response.status_code, text)
            if fault:
                response.failure(fault)
            else:
                response.success()
            return text
