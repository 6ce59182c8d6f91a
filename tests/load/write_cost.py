"""What a PUT costs in a small set and in a large one: the same writes by turns to both, medians of one run.

``python -m tests.load.write_cost`` prints both. Writes go through the guard and to the disk, without HTTP, whose cost
does not depend on the set.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from answerd.documents import Key, RawDocument
from answerd.identity import Kind
from tests.support.admin import Admin

DOCUMENT = 'extends = "base"\n[global]\nkeyboard = "de"\nfqdn = "{name}.example"\n'
GROUPS = 10


@dataclass(frozen=True)
class WriteCost:
    """Medians in seconds of a PUT into a set of so many documents."""

    documents: int
    seconds: float


def measure_writes(sizes: tuple[int, ...] = (10, 10_000), writes: int = 100) -> list[WriteCost]:
    """The median cost of a PUT, alternately replacing a machine and adding one, for each size of set."""
    with tempfile.TemporaryDirectory() as scratch:
        fleets = [_fleet(Path(scratch) / f"{size}.db", size) for size in sizes]
        taken: list[list[float]] = [[] for _ in fleets]
        for number in range(writes):
            name = "node-1" if number % 2 else f"new-{number}"
            for fleet, times in zip(fleets, taken, strict=True):
                began = time.perf_counter()
                fleet.guard.put(Key(Kind.MACHINE, name, "toml"), DOCUMENT.format(name=f"{name}-{number}"))
                times.append(time.perf_counter() - began)
    return [WriteCost(size, statistics.median(times)) for size, times in zip(sizes, taken, strict=True)]


def _fleet(path: Path, size: int) -> Admin:
    fleet = Admin(path)
    groups = [RawDocument(Key(Kind.GROUP, "base", "toml"), "timezone = 'UTC'\n")]
    groups += [
        RawDocument(Key(Kind.GROUP, f"rack-{at}", "toml"), f"match.rack = 'r{at}'\n") for at in range(GROUPS - 1)
    ]
    machines = [
        RawDocument(Key(Kind.MACHINE, f"node-{at}", "toml"), DOCUMENT.format(name=f"node-{at}"))
        for at in range(max(0, size - GROUPS))
    ]
    with fleet.store.writing() as transaction:
        transaction.write([*groups, *machines])
        transaction.commit()
    fleet.follower.refresh()
    fleet.guard.warm_up()
    return fleet


def main() -> int:
    """Print the medians and their ratio."""
    small, large = measure_writes()
    for cost in (small, large):
        print(f"PUT into {cost.documents} documents: {cost.seconds * 1e3:.2f} ms (median)")
    print(f"ratio {large.seconds / small.seconds:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
