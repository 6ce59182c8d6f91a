"""The benchmark: every figure that this project states comes from here.

Usage:
  bench [options] [<group>...]
  bench (-h | --help)

Groups (all of them when none is named):
  requests   the cost of an answer: verbatim, merged, templated
  cold       every machine asks once right after a load, against the same once more
  scale      the templated answer from fleets of different sizes
  selectors  few and many groups that claim by match
  inventory  rows of an inventory and one document, against a document for each machine
  installs   answers with once against the same without, reports, a lab that is switched on, records of a large fleet
  load       load time, reload after one change, memory, idling, in both stores
  workers    two workers against one on one core; as many as there are cores; the memory of one more
  apply      a change of 10,000 machines through the admin API, and the answers meanwhile
  console    answers while ten browsers follow the console
  pages      every page of the console with a large fleet, in both stores
  nodes      a node on PostgreSQL: answers against SQLite, changes, loading, catching up; needs PostgreSQL

Options:
  --against WHAT  Compare the answers of this checkout with those of another, in alternating rounds; other groups are
                  measured only where they are named. WHAT is a directory, or a revision, which is checked out for
                  that time. A kind of answer that lost 3 % misses its bar.
  --quick       A smoke test of a minute or two: fewer and shorter rounds, smaller fleets. Its figures mean nothing.
  --million     The fleets of "scale" include one of 1,000,000 machines.
  --rounds N    Rounds of each contestant.
  -h --help     This text.

Everything runs on 127.0.0.1, the service on the first core this process may use and the generator on the last. The exit
status is 1 when a bar was missed, except with --quick.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from docopt import docopt

from loadtest.bench import (
    applying,
    consoles,
    installs,
    inventory,
    loading,
    nodes,
    pages,
    throughput,
)
from loadtest.bench.against import against, another_checkout
from loadtest.bench.figures import FULL, QUICK, Effort, Figure, table
from loadtest.bench.load import WrongAnswers, generator_name
from loadtest.bench.servers import GENERATOR_CORE, SERVICE_CORE, CannotStart

GROUPS: dict[str, Callable[[Effort], list[Figure]]] = {
    "requests": throughput.requests,
    "cold": throughput.cold,
    "scale": throughput.scale,
    "selectors": throughput.selectors,
    "inventory": inventory.inventory,
    "installs": installs.installs,
    "load": loading.load,
    "workers": throughput.workers,
    "apply": applying.apply,
    "console": consoles.console,
    "pages": pages.pages,
    "nodes": nodes.nodes,
}

MILLION = 1_000_000
AGAINST = "against"


def main() -> int:
    """Run what the command line asks for. Returns the exit status."""
    arguments = docopt(__doc__)
    unknown = [name for name in arguments["<group>"] if name not in GROUPS]
    if unknown:
        print(f"bench: no group {', '.join(unknown)}; there are {', '.join(GROUPS)}", file=sys.stderr)
        return 2
    # What the benchmark itself does must not disturb the service; its children are moved to their own core.
    os.sched_setaffinity(0, {GENERATOR_CORE})
    signal.signal(signal.SIGTERM, _end)
    if SERVICE_CORE == GENERATOR_CORE:
        print("bench: one core for service and generator: no ratio of this run holds", file=sys.stderr)
    print(f"service on core {SERVICE_CORE}, {generator_name()} on core {GENERATOR_CORE}", flush=True)
    missed: list[str] = []
    for name in _chosen(arguments):
        began = time.monotonic()
        try:
            figures = _measured(name, arguments)
        except (CannotStart, WrongAnswers) as error:
            print(f"bench: {name}: {error}", file=sys.stderr)
            return 2
        print(f"\n{table(name, figures)}\n({time.monotonic() - began:.0f} s)", flush=True)
        missed += [f"{name}: {figure.what}" for figure in figures if figure.verdict == "MISSED"]
    if missed:
        print("\n".join([f"bench: {len(missed)} bars missed:", *missed]), file=sys.stderr)
    return 1 if missed and not arguments["--quick"] else 0


def _measured(name: str, arguments: dict[str, Any]) -> list[Figure]:
    effort = _effort(arguments)
    if name == AGAINST:
        with another_checkout(arguments["--against"]) as checkout:
            return against(checkout, effort)
    return GROUPS[name](effort)


def _chosen(arguments: dict[str, Any]) -> list[str]:
    named: list[str] = arguments["<group>"]
    return [*named, AGAINST] if arguments["--against"] else named or list(GROUPS)


def _effort(arguments: dict[str, Any]) -> Effort:
    effort = QUICK if arguments["--quick"] else FULL
    if arguments["--rounds"]:
        effort = replace(effort, rounds=int(arguments["--rounds"]))
    if arguments["--million"]:
        effort = replace(effort, sizes=(*effort.sizes, MILLION))
    return effort


def _end(*_: object) -> None:
    """Unwind at SIGTERM as at Ctrl-C, so that no process and no directory stays behind."""
    sys.exit(1)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
