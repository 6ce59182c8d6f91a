"""locust: a rack is powered on. Every machine asks within the same second, once; then the run is over.

Give as many users as there are machines in the rack, all spawned at once: ``--users 200 --spawn-rate 200``.
"""

from __future__ import annotations

from locust import task
from locust.exception import StopUser

from loadtest.installers import Installer

SAME_SECOND = (0.0, 1.0)
_finished: set[int] = set()


class PoweredOn(Installer):
    @task
    def boot(self) -> None:
        """Power-on self-tests end within a second of one another; then the machine installs itself."""
        machine = self.next_machine()
        self.pause(SAME_SECOND)
        self.install(machine)
        _finished.add(machine.number)
        runner = self.environment.runner
        if runner is not None:
            rack = min(runner.target_user_count, self.environment.parsed_options.machines)
            if len(_finished) >= rack:
                runner.quit()
        raise StopUser
