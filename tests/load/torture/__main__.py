"""``python -m tests.load.torture PART``: runs the long proofs of a part, prints one table, exits 1 if one fails.

After the part ``installs`` a number is how many rounds it has, after ``durability`` how many kills, after ``hardware``
how many walks of each kind, and after ``nodes`` how many walks in process, alone.
"""

from __future__ import annotations

import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.load.torture import cost, durability, fuzz, hardware, installs, listener, memory, nodes, workers
from tests.load.torture.figures import Figure, table

PARTS: dict[str, list[Callable[[Path], list[Figure]]]] = {
    "listener": [listener.idle, listener.trickle, listener.stampede],
    "workers": [workers.killing, workers.limit],
    "fuzz": [fuzz.reader, fuzz.program],
    "memory": [
        memory.amplified,
        memory.unread_answers,
        memory.refused_bodies,
        memory.slow_bodies,
        memory.machines,
        memory.blocked_addresses,
        memory.group_versions,
        memory.refused_puts,
        memory.dry_runs,
        memory.large_files,
        memory.changed_files,
        memory.changed_rows,
    ],
    "cost": [cost.documents, cost.requests, cost.files],
    "durability": [durability.kills, durability.applies, durability.full_disk],
    "installs": [installs.killed],
    "hardware": [hardware.rules, hardware.program],
    "nodes": [nodes.walked, nodes.crowd, nodes.apart],
}
"""The proofs of each part. A proof is given an empty directory and returns its figures."""

COUNTED: dict[str, Callable[[int], list[Callable[[Path], list[Figure]]]]] = {
    "durability": lambda count: [
        partial(durability.kills, times=count),
        partial(durability.full_disk, times=max(1, count // 10)),
    ],
    "installs": lambda count: [partial(installs.killed, rounds=count)],
    "nodes": lambda count: [partial(nodes.walked, walks=count)],
    "hardware": lambda count: [
        partial(hardware.rules, steps=count * hardware.LENGTH),
        partial(hardware.program, walks=count),
    ],
}
"""Those of a part that a number stands behind."""


def main(arguments: list[str]) -> int:
    """Run the parts that are named, or all."""
    if len(arguments) == 2 and arguments[0] in COUNTED and arguments[1].isdecimal():
        PARTS[arguments[0]] = COUNTED[arguments[0]](int(arguments.pop()))
    unknown = set(arguments) - PARTS.keys() - {"all"}
    if unknown or not arguments:
        print(f"usage: python -m tests.load.torture {'|'.join([*PARTS, 'all'])}", file=sys.stderr)
        return 2
    chosen = [part for part in PARTS if part in arguments or "all" in arguments]
    figures = [figure for part in chosen for proof in PARTS[part] for figure in _run(part, proof)]
    print(table(figures))
    return 0 if all(figure.holds for figure in figures) else 1


def _run(part: str, proof: Callable[[Path], list[Figure]]) -> list[Figure]:
    name = f"{part}: {getattr(proof, 'func', proof).__name__}"
    print(f"{name} ...", file=sys.stderr, flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            figures = proof(Path(scratch))
        except Exception as error:  # the other proofs are still worth running
            traceback.print_exc()
            figures = [Figure(name, "could not be finished", f"{type(error).__name__}: {error}"[:100], "-", False)]
    print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return figures


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
