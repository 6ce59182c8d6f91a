"""Load on one server, and its cost: requests a second, CPU time on both sides, faults."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from subprocess import PIPE

from loadtest.bench.figures import Spread
from loadtest.bench.generator import Order, Outcome
from loadtest.bench.servers import GENERATOR_CORE, START_SECONDS, Process, Server
from loadtest.bench.shapes import UNCLAIMED_GET, Shape
from loadtest.fleet import Machine

CONNECTIONS = 64
"""At a time, in a throughput round."""

SAMPLE = 10_000
"""Distinct machines that a throughput round goes through, spread over the whole fleet."""

LATE_SECONDS = 30
"""When wrk counts an answer as a fault. By default that is 2: a machine that stands still for so long in a round makes
one fault of each connection."""

_POLL_SECONDS = 0.005
_RESULT = re.compile(r"^RESULT (\d+) (\d+) (\d+) (\d+) (\d+) (\d+) (\d+)$", re.MULTILINE)
_FAULTS = (
    "with another status",
    f"later than {LATE_SECONDS} s",
    "not connected",
    "broken off while they were read",
    "broken off while the request was sent",
)
"""What wrk counts, in the order of `_RESULT`."""


class WrongAnswers(Exception):
    """A server answered something else than it should. One line with a sample."""


@dataclass(frozen=True)
class Contestant:
    """A server under one kind of request. ``label`` names its rows.

    ``machines`` is the size of its fleet; at most every ``every``-th of them asks.
    """

    label: str
    server: Server
    shape: Shape
    machines: int = 1
    every: int = 1

    @property
    def step(self) -> int:
        """Between two machines of the sample."""
        return max(self.every, self.machines // SAMPLE)

    def order(self) -> Order:
        """Return the order for the bundled generator, without a number or a time yet."""
        shape = self.shape
        return Order(self.server.port, shape.parts, shape.proof, self.machines, self.step, connections=CONNECTIONS)


@dataclass(frozen=True)
class Round:
    """One round of a contestant."""

    requests: int
    seconds: float
    service_cpu: float
    generator_cpu: float

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds

    @property
    def cost(self) -> float:
        """CPU time of the service, microseconds a request."""
        return self.service_cpu / self.requests * 1e6

    @property
    def generator_ceiling(self) -> float:
        """Requests a second at which the generator's core would be full."""
        return self.requests / self.generator_cpu

    @property
    def generator_busy(self) -> float:
        """Share of its core that the generator had."""
        return self.generator_cpu / self.seconds


def generator_name() -> str:
    """Return the name of the program that makes the load in throughput rounds."""
    return "wrk" if shutil.which("wrk") else "the bundled generator"


def ask(port: int, request: bytes, timeout: float = 30.0) -> bytes:
    """Send one request over a connection of its own, and return the whole response."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


def wait_until_loaded(server: Server) -> None:
    """Wait until the answer set is in force: only then can the service answer that nothing claims a request."""
    response = ask_once_up(server, UNCLAIMED_GET.request(Machine(0)))
    if not response.startswith(b"HTTP/1.1 404 "):
        raise RuntimeError(f"an unclaimed request was answered with {response[:100]!r}")


def ask_once_up(server: Server, request: bytes) -> bytes:
    """Return the response to one request, sent as soon as the server accepts connections."""
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            return ask(server.port, request, timeout=START_SECONDS)
        except OSError:
            if time.monotonic() > until or server.process.child.poll() is not None:
                raise
            time.sleep(_POLL_SECONDS)


def carry_out(order: Order) -> Outcome:
    """Run the bundled generator to its end. Raises `WrongAnswers`."""
    with generating(order) as outcome:
        result = outcome()
    if result.wrong:
        raise WrongAnswers(f"{result.wrong} of {result.requests} answers were wrong, one of them: {result.sample!r}")
    return result


@contextmanager
def generating(order: Order) -> Iterator[Callable[[], Outcome]]:
    """Run the bundled generator during a block; the function that is yielded waits for its outcome."""
    with tempfile.TemporaryFile("w+") as written:
        json.dump(asdict(order), written)
        written.seek(0)
        command = [sys.executable, "-m", "loadtest.bench.generator"]
        with Process(command, GENERATOR_CORE, stdin=written, stdout=PIPE, stderr=None) as process:

            def outcome() -> Outcome:
                text, _ = process.child.communicate()
                if process.child.returncode:
                    raise RuntimeError("the bundled generator failed, see above")
                return Outcome(**json.loads(text))

            yield outcome


def make_warm(contestant: Contestant) -> None:
    """Ask once for every machine of the sample, each answer checked. Raises `WrongAnswers`."""
    with explained(contestant):
        carry_out(contestant.order())


@contextmanager
def explained(contestant: Contestant) -> Iterator[None]:
    """Add to `WrongAnswers` whose they were, and what the server's log says of them."""
    try:
        yield
    except WrongAnswers as error:
        told = "; ".join(contestant.server.refusals())
        raise WrongAnswers(f"{contestant.label}: {error}; its log: {told or 'nothing'}") from None


def turn(contestant: Contestant, seconds: float) -> Round:
    """Put full load on a contestant for some seconds. Raises `WrongAnswers`."""
    process = contestant.server.process
    before = process.cpu_seconds()
    generate = _with_wrk if shutil.which("wrk") else _bundled
    with explained(contestant):
        requests, took, generator_cpu = generate(contestant, seconds)
    return Round(requests, took, process.cpu_seconds() - before, generator_cpu)


def alternate(contestants: Sequence[Contestant], rounds: int, seconds: float) -> dict[str, list[Round]]:
    """Run rounds of all contestants in turn, A B C A B C, after each has been asked for everything once."""
    for contestant in contestants:
        make_warm(contestant)
    turns: dict[str, list[Round]] = {contestant.label: [] for contestant in contestants}
    for _ in range(rounds):
        for contestant in contestants:
            turns[contestant.label].append(turn(contestant, seconds))
    return turns


def _bundled(contestant: Contestant, seconds: float) -> tuple[int, float, float]:
    outcome = carry_out(replace(contestant.order(), seconds=seconds))
    return outcome.requests, outcome.seconds, outcome.cpu_seconds


def _with_wrk(contestant: Contestant, seconds: float) -> tuple[int, float, float]:
    """Make the load with wrk, which counts statuses and runs for whole seconds."""
    with tempfile.TemporaryDirectory(prefix="answerd-bench-") as name:
        script = Path(name) / "requests.lua"
        script.write_text(contestant.shape.lua(contestant.machines, contestant.step))
        duration = f"-d{max(1, round(seconds))}s"
        command = ["wrk", "-t1", f"-c{CONNECTIONS}", duration, f"--timeout={LATE_SECONDS}s", "-s", str(script)]
        children = os.times()
        with Process([*command, f"http://127.0.0.1:{contestant.server.port}"], GENERATOR_CORE, stdout=PIPE) as process:
            text, _ = process.child.communicate()
        ended = os.times()
    requests, microseconds = counted(text)
    cpu = ended.children_user + ended.children_system - children.children_user - children.children_system
    return requests, microseconds / 1e6, cpu


def counted(text: str) -> tuple[int, int]:
    """Return how many answers wrk counted, and in how many microseconds. Raises `WrongAnswers` where it counted a
    fault, or nothing."""
    found = _RESULT.search(text)
    if found is None:
        raise WrongAnswers(f"wrk said {text[-300:]!r}")
    requests, microseconds, *faults = map(int, found.groups())
    if any(faults):
        told = ", ".join(f"{count} {what}" for count, what in zip(faults, _FAULTS, strict=True) if count)
        raise WrongAnswers(f"of {requests} answers {told}")
    if not requests:
        raise WrongAnswers("no answer in a whole round")
    return requests, microseconds


def paired(upper: Sequence[Round], lower: Sequence[Round], what: Callable[[Round], float]) -> Spread:
    """Return the ratio of two contestants round by round: a pause of the machine slows both."""
    return Spread.of([what(above) / what(below) for above, below in zip(upper, lower, strict=True)])
