"""Ports."""

from __future__ import annotations

import random
import socket

BELOW_THOSE_OF_CLIENTS = range(12_000, 32_000)
"""The kernel gives none of these to a client that connects (net.ipv4.ip_local_port_range), so that one which is free
stays free until the program that it is for binds it."""


def free_port() -> int:
    """Return a port of 127.0.0.1 that is free."""
    while True:
        port = random.SystemRandom().choice(BELOW_THOSE_OF_CLIENTS)  # other processes that run tests choose as well
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
