"""The proofs of `tests.load.durability` as figures, for the table of all."""

from __future__ import annotations

from pathlib import Path

from tests.load.durability import survive_full_disk, survive_kills
from tests.load.torture.figures import Figure, exactly, told


def kills(scratch: Path, *, times: int = 200) -> list[Figure]:
    """Writers at work while the service is killed."""
    found = survive_kills(scratch / "killed.db", times)
    proof = f"{times} kills while writing"
    return [told(proof, "acknowledged writes", found.acknowledged), exactly(proof, "faults", len(found.faults), 0)]


def full_disk(scratch: Path, *, times: int = 20) -> list[Figure]:
    """Writers at work while the disk is full."""
    found = survive_full_disk(scratch / "filled.db", times)
    proof = f"{times} times a full disk"
    return [
        told(proof, "acknowledged writes", found.acknowledged),
        told(proof, "refused writes", len(found.refused)),
        told(proof, "answers meanwhile", found.answered),
        exactly(proof, "faults", len(found.faults), 0),
    ]
