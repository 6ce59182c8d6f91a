"""answerd compared with the programs that people use or write in its place (loadtest/rivals/), on the same requests.

Knows how each rival is started. One that is not installed is named and left out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path

from loadtest.bench import shapes
from loadtest.bench.figures import Bar, Effort, Figure, Spread
from loadtest.bench.generator import Order
from loadtest.bench.load import Contestant, alternate, generating
from loadtest.bench.loading import once
from loadtest.bench.processes import SERVICE_CORE, Process
from loadtest.bench.servers import Server, answerd, free_port, hello, nginx, nginx_program, wait_for_port
from loadtest.bench.shapes import Shape
from loadtest.bench.stores import stored
from loadtest.bench.throughput import FLEET, contest, ratio
from loadtest.fleet import (
    RACK,
    Machine,
    merged_document,
    rack_document,
    selecting_fleet,
    templated_document,
    verbatim_document,
)

CHECKOUT = Path(__file__).parents[2]
PYTHON = CHECKOUT / ".venv-rivals" / "bin" / "python"
"""The interpreter that has the rivals' packages (loadtest/rivals/README.md)."""

SOURCES = CHECKOUT / ".venv-rivals" / "sources"
"""Where the sources of rivals are that are no packages."""

AHEAD = Bar(at_least=1.5)
"""answerd against the fastest rival that makes an answer from documents."""

_NOT_SET_UP = ("matchbox", "Cobbler", "autopve", "pxe-pilot")
"""loadtest/rivals/missing.md"""

GROUPS = 1_000
"""Groups with ``match`` of one contestant."""

_WIKI = "Proxmox' example server (aiohttp)"
_WIKI_MACHINES = 100
"""It reads the names of all its files for each interface, so a large fleet would take it seconds a request."""

_WIKI_START = """\
import runpy, sys
from aiohttp import web
run = web.run_app
web.run_app = lambda app, **_: run(app, host="127.0.0.1", port=int(sys.argv[2]), backlog=4096)
runpy.run_path(sys.argv[1], run_name="__main__")
"""
"""Starts it on a port of ours: its own is fixed."""

_TEMPLATING = {
    "FastAPI + uvicorn": (
        "uvicorn",
        ["loadtest.rivals.fastapi_app:app", "--no-access-log", "--log-level", "warning", "--backlog", "4096", "--port"],
    ),
    "Flask + gunicorn (gevent)": (
        "gunicorn",
        ["--worker-class", "gevent", "--workers", "1", "--log-level", "warning", "--backlog", "4096",
         "loadtest.rivals.flask_app:app", "--bind"],
    ),
}  # fmt: skip
"""The module that is run, and its arguments up to the port."""


def rivals(effort: Effort) -> list[Figure]:
    """Measure every installed rival, under a Proxmox installer's POST of 3 KB or an Anaconda's GET: the cost of a
    request, all machines at once, memory, and the time to start."""
    with ExitStack() as running:
        starts: dict[str, float] = {}
        contestants, missing = _contestants(running, starts)
        for name in missing:
            print(f"missing: {name}", file=sys.stderr)
        turns = alternate(contestants, effort.rounds, effort.seconds)
        others = [figure for contestant in contestants for figure in _at_once(contestant, effort.rounds)]
        for contestant in contestants:
            label = contestant.label
            _, proportional = contestant.server.process.memory()
            others.append(Figure(f"{label}: memory of all processes", once(proportional), "MB"))
            others.append(Figure(f"{label}: from its start until it listens", once(starts[label]), "s"))
    figures = list(chain.from_iterable(contest(label, rounds) for label, rounds in turns.items()))
    ours = "answerd templated, 3 KB POST"
    for rival in turns:
        if "POST" in rival and rival != ours:
            is_like_ours = rival.partition(",")[0] in (*_TEMPLATING, _WIKI)
            figures += ratio(ours, turns[ours], rival, turns[rival], AHEAD if is_like_ours else None)
    return figures + others


def _at_once(contestant: Contestant, rounds: int) -> Iterator[Figure]:
    """Measure all machines asking at once, each over a connection of its own, with no time between them."""
    order = order_at_once(contestant)
    delays, wrong = [], []
    for _ in range(rounds):
        with generating(order) as outcome:
            result = outcome()
        taken = sorted(seconds for _, seconds in result.delays)
        delays.append(taken[len(taken) * 99 // 100] * 1_000)
        wrong.append(float(result.wrong))
    label = f"{contestant.label}, {order.connections:,} machines at once"
    yield Figure(f"{label}: 99 % have their answer after", Spread.of(delays), "ms")
    yield Figure(f"{label}: refused, reset or wrong", Spread.of(wrong), "requests")


def order_at_once(contestant: Contestant) -> Order:
    """Return the order in which all machines that a contestant is asked for ask together: one of each group, where
    those claim."""
    asking = contestant.machines // contestant.every
    return replace(contestant.order(), step=contestant.every, connections=asking, delays=True)


def _contestants(running: ExitStack, starts: dict[str, float]) -> tuple[list[Contestant], list[str]]:
    """Start every contestant's server. Return the contestants, and the names of those that are missing; ``starts`` gets
    how many seconds each took to start."""
    contestants: list[Contestant] = []
    missing = list(_NOT_SET_UP)

    def add(
        label: str, server: AbstractContextManager[Server], shape: Shape, fleet: int = FLEET, every: int = 1
    ) -> None:
        entered = running.enter_context(server)
        starts[label] = time.monotonic() - entered.started
        contestants.append(Contestant(label, entered, shape, fleet, every))

    machines = [Machine(number) for number in range(FLEET)]
    racks = [rack_document(machine.rack) for machine in machines[::RACK]]
    templated = running.enter_context(stored(chain(racks, map(templated_document, machines))))
    verbatim = running.enter_context(stored(map(verbatim_document, machines)))
    selecting = running.enter_context(stored(selecting_fleet(GROUPS, "{rack}-*")))
    add("answerd templated, 3 KB POST", answerd(templated.settings), shapes.TEMPLATED_POST)
    label = f"answerd, {GROUPS:,} groups with match, 3 KB POST"
    add(label, answerd(selecting.settings), shapes.SELECTED_POST, GROUPS * RACK, RACK)
    add("pywsgi hello, 3 KB POST", hello("bare"), shapes.ALIKE_POST)
    add("pywsgi + Bottle hello, 3 KB POST", hello("bottle"), shapes.ALIKE_POST)
    add("answerd verbatim, GET", answerd(verbatim.settings), shapes.VERBATIM_GET)
    if nginx_program():
        add("nginx, a file of the same size, GET", nginx(verbatim_document(machines[0])[1].encode()), shapes.STATIC_GET)
    else:
        missing.append("nginx")
    data = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="answerd-bench-")))
    write_table(data, machines)
    for name, (module, arguments) in _TEMPLATING.items():
        if is_installed(module):
            add(f"{name}, 3 KB POST", _templating(module, arguments, data), shapes.TEMPLATED_POST)
        else:
            missing.append(f"{name} (loadtest/rivals/README.md)")
    program = SOURCES / "proxmox-autoinstall-server" / "server.py"
    if program.exists() and is_installed("aiohttp"):
        write_answers(data, machines[:_WIKI_MACHINES])
        add(f"{_WIKI}, 3 KB POST", _wiki(program, data), shapes.WIKI_POST, _WIKI_MACHINES)
    else:
        missing.append(f"{_WIKI} (loadtest/rivals/proxmox.md)")
    return contestants, missing


def is_installed(module: str) -> bool:
    """Return whether the rivals' environment exists and has a module."""
    if not PYTHON.exists():
        return False
    return subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0


def write_table(data: Path, machines: Sequence[Machine]) -> None:
    """Write the data for `loadtest.rivals.machines`: a table of machines, and a template as large as a merged
    answer."""
    text = rack_document(machines[0].rack)[1] + merged_document(machines[0])[1]
    for value, name in ((machines[0].host, "host"), (machines[0].network, "network"), (machines[0].rack, "rack")):
        text = text.replace(value, f"{{{{ {name} }}}}")
    (data / "answer.j2").write_text(text, "utf-8")
    table = {
        machine.mac: {"host": machine.host, "network": machine.network, "rack": machine.rack} for machine in machines
    }
    (data / "machines.json").write_text(json.dumps(table), "utf-8")


def write_answers(data: Path, machines: Sequence[Machine]) -> None:
    """Write the files of Proxmox' example server: a default, and an answer for each machine's first MAC address."""
    (data / "answers").mkdir()
    for machine in machines:
        text = rack_document(machine.rack)[1].replace("[network]", f'fqdn = "{machine.host}"\n\n[network]', 1)
        (data / "answers" / f"{machine.mac}.toml").write_text(text, "utf-8")
    (data / "default.toml").write_text(rack_document("rack")[1], "utf-8")


@contextmanager
def _wiki(program: Path, data: Path) -> Iterator[Server]:
    """Run Proxmox' example server."""
    port = free_port()
    files = {"DEFAULT_ANSWER_FILE_PATH": str(data / "default.toml"), "ANSWER_FILE_DIR": str(data / "answers")}
    started = time.monotonic()
    command = [str(PYTHON), "-c", _WIKI_START, str(program), str(port)]
    with Process(command, SERVICE_CORE, environment=os.environ | files) as process:
        wait_for_port(process, port)
        yield Server(process, port, started)


@contextmanager
def _templating(module: str, arguments: list[str], data: Path) -> Iterator[Server]:
    """Run a service of `loadtest.rivals` under the usual server of its framework."""
    port = free_port()
    bound = f"127.0.0.1:{port}" if arguments[-1] == "--bind" else str(port)
    environment = os.environ | {"RIVAL_DATA": str(data), "PYTHONPATH": str(CHECKOUT)}
    started = time.monotonic()
    command = [str(PYTHON), "-m", module, *arguments, bound]
    with Process(command, SERVICE_CORE, environment=environment, stderr=None) as process:
        wait_for_port(process, port)
        yield Server(process, port, started)
