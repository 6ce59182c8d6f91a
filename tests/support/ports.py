"""Ports."""

from __future__ import annotations

import random
import socket
from pathlib import Path

_FIRST = 10_000
_GIVEN_TO_CLIENTS = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """Return a port that is free at this moment. It is none of those that the kernel gives to clients, so that no
    connection of another test takes it before a server is started on it. Hypothesis seeds the module's own numbers."""
    above = int(_GIVEN_TO_CLIENTS.read_text().split()[0])
    for port in random.SystemRandom().sample(range(_FIRST, above), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
            return port
    raise AssertionError("a hundred ports are taken")
