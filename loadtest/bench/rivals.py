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
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path

from loadtest.bench import shapes
from loadtest.bench.figures import Bar, Effort, Figure
from loadtest.bench.load import Contestant, alternate
from loadtest.bench.processes import SERVICE_CORE, Process
from loadtest.bench.servers import Server, answerd, free_port, hello, nginx, nginx_program, wait_for_port
from loadtest.bench.stores import stored
from loadtest.bench.throughput import FLEET, contest, ratio
from loadtest.fleet import RACK, Machine, merged_document, rack_document, templated_document, verbatim_document

CHECKOUT = Path(__file__).parents[2]
PYTHON = CHECKOUT / ".venv-rivals" / "bin" / "python"
"""The interpreter that has the rivals' packages (loadtest/rivals/README.md)."""

AHEAD = Bar(at_least=1.5)
"""answerd against the fastest rival that makes an answer from documents."""

_NOT_SET_UP = ("matchbox", "Cobbler", "autopve", "pxe-pilot", "Proxmox answer servers")
"""loadtest/rivals/missing.md"""

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
    """Measure every installed rival, under a Proxmox installer's POST of 3 KB or an Anaconda's GET."""
    with ExitStack() as running:
        contestants, missing = _contestants(running)
        for name in missing:
            print(f"missing: {name}", file=sys.stderr)
        turns = alternate(contestants, effort.rounds, effort.seconds)
    figures = list(chain.from_iterable(contest(label, rounds) for label, rounds in turns.items()))
    ours = "answerd templated, 3 KB POST"
    for rival in turns:
        if "POST" in rival and rival != ours:
            bar = AHEAD if rival.partition(",")[0] in _TEMPLATING else None
            figures += ratio(ours, turns[ours], rival, turns[rival], bar)
    return figures


def _contestants(running: ExitStack) -> tuple[list[Contestant], list[str]]:
    """Start every contestant's server. Return the contestants, and the names of those that are missing."""
    machines = [Machine(number) for number in range(FLEET)]
    racks = [rack_document(machine.rack) for machine in machines[::RACK]]
    templated = running.enter_context(stored(chain(racks, map(templated_document, machines))))
    verbatim = running.enter_context(stored(map(verbatim_document, machines)))
    ours = running.enter_context(answerd(templated.settings))
    verbatim_server = running.enter_context(answerd(verbatim.settings))
    bare, bottle = (running.enter_context(hello(kind)) for kind in ("bare", "bottle"))
    contestants = [
        Contestant("answerd templated, 3 KB POST", ours, shapes.TEMPLATED_POST, FLEET),
        Contestant("pywsgi hello, 3 KB POST", bare, shapes.ALIKE_POST, FLEET),
        Contestant("pywsgi + Bottle hello, 3 KB POST", bottle, shapes.ALIKE_POST, FLEET),
        Contestant("answerd verbatim, GET", verbatim_server, shapes.VERBATIM_GET, FLEET),
    ]
    missing = list(_NOT_SET_UP)
    if nginx_program():
        content = verbatim_document(machines[0])[1].encode()
        static = running.enter_context(nginx(content))
        contestants.append(Contestant("nginx, a file of the same size, GET", static, shapes.STATIC_GET, FLEET))
    else:
        missing.append("nginx")
    data = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="answerd-bench-")))
    write_table(data, machines)
    for name, (module, arguments) in _TEMPLATING.items():
        if is_installed(module):
            server = running.enter_context(_templating(module, arguments, data))
            contestants.append(Contestant(f"{name}, 3 KB POST", server, shapes.TEMPLATED_POST, FLEET))
        else:
            missing.append(f"{name} (loadtest/rivals/README.md)")
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
