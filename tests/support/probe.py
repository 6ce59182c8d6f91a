"""The other clients: a process that asks steadily while something else happens, and tells how it fared.

A process of its own, so that what the torturer costs does not count as the service's slowness. Knows nothing but an
address and a request. ``python -m tests.support.probe HOST PORT INTERVAL`` asks until its standard input ends.
"""

from __future__ import annotations

import json
import select
import socket
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.replies import pieces

REQUEST = b"GET /health HTTP/1.1\r\nHost: s\r\n\r\n"
PATIENCE = 60.0  # seconds until a request that gets no answer has failed
CHECKOUT = Path(__file__).parents[2]


@dataclass
class Fared:
    """How the clients fared. Milliseconds; ``outcomes`` counts statuses, and for no status what happened."""

    outcomes: Counter[str] = field(default_factory=Counter)
    milliseconds: list[float] = field(default_factory=list)

    def percentile(self, percent: float) -> float:
        """Of the time from connect to the end of the response, over all that were answered."""
        ordered = sorted(self.milliseconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] if ordered else float("inf")

    @property
    def failures(self) -> int:
        """Requests that did not get a 200."""
        return sum(self.outcomes.values()) - self.outcomes["200"]


class Probes:
    """So many clients, each asking every ``interval`` seconds. A context manager; `results` is complete after it."""

    def __init__(self, address: tuple[str, int], clients: int = 1, interval: float = 0.01) -> None:
        self.results = Fared()
        command = [sys.executable, "-m", __spec__.name, address[0], str(address[1]), str(interval)]
        self._processes = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=CHECKOUT)
            for _ in range(clients)
        ]

    def __enter__(self) -> Probes:
        for process in self._processes:
            assert process.stdout
            process.stdout.readline()  # it has asked for the first time
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            output, _none = process.communicate(timeout=PATIENCE + 5)
            found = json.loads(output)
            self.results.outcomes.update(found["outcomes"])
            self.results.milliseconds += found["milliseconds"]


def ask(address: tuple[str, int], request: bytes = REQUEST) -> str:
    """One request; the status, or what happened instead."""
    try:
        with socket.create_connection(address, PATIENCE) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(request)
            received = b"".join(pieces(connection, PATIENCE))
    except OSError as error:
        return type(error).__name__
    return received[9:12].decode("latin-1") if received else "closed"


def main(host: str, port: str, interval: str) -> None:
    """Ask until standard input ends, then print how that went."""
    results, pause = Fared(), float(interval)
    while True:
        began = time.perf_counter()
        outcome = ask((host, int(port)))
        if outcome == "200":
            results.milliseconds.append((time.perf_counter() - began) * 1000)
        results.outcomes[outcome] += 1
        if sum(results.outcomes.values()) == 1:
            print("asked", flush=True)
        if select.select([sys.stdin], [], [], pause)[0]:
            break
    print(json.dumps({"outcomes": results.outcomes, "milliseconds": results.milliseconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
