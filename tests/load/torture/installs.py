"""The proof of `tests.load.install_kills` as figures, for the table of all."""

from __future__ import annotations

from pathlib import Path

from tests.load.install_kills import MACHINES, survive
from tests.load.torture.figures import Figure, exactly, measured


def killed(
    scratch: Path, *, rounds: int = 200, seed: int = 19, machines: int = MACHINES, pace: float = 1
) -> list[Figure]:
    """A lab installs while workers and the whole service are killed, the disk is full and the clock is set."""
    found = survive(scratch / "installs.db", rounds, seed=seed, machines=machines, pace=pace)
    proof = f"{rounds} rounds of a lab that installs"
    given_again = sum("GIVEN AGAIN" in fault for fault in found.faults)
    for fault in found.faults:
        print(f"FAULT {fault}")
    return [
        measured(proof, "workers killed", found.rounds["worker"]),
        measured(proof, "services killed", found.rounds["service"]),
        measured(proof, "times a full disk", found.rounds["disk"]),
        measured(proof, "times the clock was set", found.rounds["clock"]),
        measured(proof, "installs that were reported", found.counts["installs"]),
        measured(proof, "acknowledged reports", found.counts["reports"]),
        measured(proof, "reports refused for the disk", found.counts["reports refused"]),
        measured(proof, "answers", found.counts["answers"]),
        exactly(proof, "given after an acknowledged report", given_again, 0),
        exactly(proof, "other faults", len(found.faults) - given_again, 0),
    ]
