"""locust: a mixed fleet. Proxmox, kickstart, NoCloud and iPXE machines side by side, in the shares of a usual site."""

from __future__ import annotations

from locust import task

from loadtest.installers import Installer

BETWEEN_MACHINES = (5.0, 30.0)
"""Seconds until the next machine of the same kind begins."""


class Site(Installer):
    """Machines that begin one after the other, of any kind."""

    def install_one(self, kind: str) -> None:
        """Install the next machine of a kind."""
        self.install(self.next_machine(kind))
        self.pause(BETWEEN_MACHINES)

    @task(4)
    def proxmox(self) -> None:
        """Install a hypervisor: one POST."""
        self.install_one("proxmox")

    @task(3)
    def kickstart(self) -> None:
        """Install a server whose headers name it."""
        self.install_one("kickstart")

    @task(2)
    def nocloud(self) -> None:
        """Fetch cloud-init's four files."""
        self.install_one("nocloud")

    @task(1)
    def chain(self) -> None:
        """Fetch a boot script, and the answer that it chains to after booting."""
        self.install_one("chain")
