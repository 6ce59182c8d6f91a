"""A site where boards, cards, rows and names change, and its operators, against what is physically true
(`tests.support.hardware_world`): no board that is installed is given the installer again, and an order lets in each one
that never was.

Walks with the rules in process, then shorter ones with the real program over files and SQLite, with one worker and two,
and restarts. A violation is printed as the shortest story that has it.
"""

from __future__ import annotations

import itertools
import tempfile
from functools import partial
from pathlib import Path

from tests.load.torture.figures import Figure, exactly, measured
from tests.support.hardware_service import RealProgram
from tests.support.hardware_site import InProcess
from tests.support.hardware_world import Found, Step, shortest, violation, walk

LENGTH = 120
"""Steps of a walk: a name is given to new hardware after some fifty."""

KINDS = [(kind, workers) for kind in ("files", "sqlite") for workers in (1, 2)]


def rules(scratch: Path, steps: int = 200_000, seed: int = 1_000_000) -> list[Figure]:
    """Walks with the rules alone."""
    del scratch
    done = violations = 0
    for number in itertools.count(seed):
        walked = walk(number, LENGTH)
        found = _by_the_rules(walked)
        done += len(found.steps if found is not None else walked)
        if found is not None:
            violations += 1
            print(f"walk {number}: {shortest(found, _by_the_rules)}")
        if done >= steps:
            break
    name = "hardware: rules"
    return [measured(name, "steps", done), exactly(name, "violations", violations, 0)]


def _by_the_rules(walked: list[Step]) -> Found | None:
    return violation(InProcess(), walked)


def program(scratch: Path, walks: int = 12, seed: int = 1) -> list[Figure]:
    """Walks with the real program, ``walks`` of each kind."""
    figures = []
    for kind, workers in KINDS:
        happen = partial(_with_the_program, scratch, kind, workers)
        violations = 0
        for number in range(seed, seed + walks):
            found = happen(walk(number, LENGTH))
            if found is not None:
                violations += 1
                print(f"walk {number}, {kind}, {workers} workers: {shortest(found, happen)}")
        name = f"hardware: {kind}, {workers} workers"
        figures += [measured(name, "steps", walks * (LENGTH + 3)), exactly(name, "violations", violations, 0)]
    return figures


def _with_the_program(scratch: Path, kind: str, workers: int, walked: list[Step]) -> Found | None:
    place = Path(tempfile.mkdtemp(dir=scratch))
    with RealProgram(place, kind, workers) as site:
        return violation(site, walked)
