"""Installers as locust users: the requests of each kind, their order and pauses, and the check that the answer is the
machine's own. The base of the other scripts here; knows locust and the fleet, and nothing of how the service works.
"""

from __future__ import annotations

import itertools
import random
import re
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence

import gevent
from locust import FastHttpUser, events

from loadtest.fleet import (
    CLOUD_INIT_HEADERS,
    IPXE_HEADERS,
    KINDS,
    PROXMOX_HEADERS,
    Machine,
    anaconda_headers,
    kind_of,
    proxmox_body,
)

BOOT_SECONDS = (15.0, 40.0)
"""From the boot script to the installer's own request: kernel and initrd are fetched and started."""

BETWEEN_FILES_SECONDS = (0.02, 0.2)
"""Between two of NoCloud's files."""

PRESEED_HEADERS = {"User-Agent": "debian-installer", "Accept": "*/*", "Accept-Encoding": "identity"}

_CHAINED = re.compile(r"^chain (\S+)$", re.MULTILINE)
_turns: dict[str, Iterator[int]] = {}


def add_options(parser: ArgumentParser) -> None:
    """Options of all scripts here, beside locust's own."""
    parser.add_argument("--machines", type=int, default=1000, help="Machines in the fleet (see loadtest.fleet)")
    parser.add_argument("--pace", type=float, default=1.0, help="10 makes every pause a tenth of a real installer's")


events.init_command_line_parser.add_listener(add_options)  # type: ignore[no-untyped-call]


class Installer(FastHttpUser):
    """A machine that is being installed. Subclasses decide when; `install` sends the requests."""

    abstract = True

    def pause(self, between: tuple[float, float]) -> None:
        """Wait as this machine would: some seconds between two bounds, at the run's pace."""
        gevent.sleep(random.uniform(*between) / self.environment.parsed_options.pace)

    def next_machine(self, kind: str = "") -> Machine:
        """Return the next machine of the fleet in turn, of one kind or of any."""
        total = self.environment.parsed_options.machines
        first, step = (KINDS.index(kind), len(KINDS)) if kind else (0, 1)
        turn = _turns.setdefault(kind, itertools.cycle(range(first, total, step)))
        return Machine(next(turn))

    def install(self, machine: Machine) -> None:
        """Send all requests of a machine once."""
        _INSTALLS[kind_of(machine)](self, machine)

    def get(self, name: str, target: str, headers: Mapping[str, str], *own: str) -> str:
        """Send a GET; it fails unless the answer holds every text of ``own``."""
        return self._judged(name, "GET", target, headers, own)

    def post(self, name: str, target: str, headers: Mapping[str, str], body: bytes, *own: str) -> str:
        """Send a POST, checked in the same way."""
        return self._judged(name, "POST", target, headers, own, data=body.decode())

    def _judged(
        self,
        name: str,
        method: str,
        target: str,
        headers: Mapping[str, str],
        own: Sequence[str],
        *,
        data: str | None = None,
    ) -> str:
        with self.client.request(
            method, target, name=name, headers=dict(headers), data=data, catch_response=True
        ) as response:
            text = response.text or ""
            if response.status_code != 200:
                response.failure(f"status {response.status_code}: {text[:200].strip()}")
            elif missing := [name for name in own if name not in text]:
                response.failure(f"not its own answer: {missing[0]} is not in it")
            else:
                response.success()
            return text


def _install_proxmox(user: Installer, machine: Machine) -> None:
    body = proxmox_body(machine)
    user.post("proxmox", "/proxmox", PROXMOX_HEADERS, body, f"{machine.host}.lab", f"mac={machine.identifier}")


def _install_kickstart(user: Installer, machine: Machine) -> None:
    user.get("kickstart", "/ks", anaconda_headers(machine), machine.host, machine.mac, machine.serial)


def _install_nocloud(user: Installer, machine: Machine) -> None:
    seed = f"/ubuntu/{machine.identifier}/"
    for file, own in (
        ("network-config", ()),
        ("meta-data", (machine.identifier,)),
        ("user-data", ("#cloud-config", machine.host)),
        ("vendor-data", ()),
    ):
        user.get(f"nocloud {file}", seed + file, CLOUD_INIT_HEADERS, *own)
        user.pause(BETWEEN_FILES_SECONDS)


def _install_by_chain(user: Installer, machine: Machine) -> None:
    script = user.get("ipxe", f"/ipxe/boot?mac={machine.mac}", IPXE_HEADERS, "#!ipxe", machine.host)
    chained = _CHAINED.search(script)
    if chained:
        user.pause(BOOT_SECONDS)
        user.get("preseed, chained", chained[1], PRESEED_HEADERS, machine.host, machine.mac)


_INSTALLS: dict[str, Callable[[Installer, Machine], None]] = {
    "proxmox": _install_proxmox,
    "kickstart": _install_kickstart,
    "nocloud": _install_nocloud,
    "chain": _install_by_chain,
}
