"""The proofs of `tests.load.durability` as figures, for the table of all."""

from __future__ import annotations

from pathlib import Path

from tests.load.apply_kills import read_while_refusing, survive_kills_while_applying
from tests.load.durability import survive_full_disk, survive_kills
from tests.load.torture.figures import Figure, exactly, measured


def kills(scratch: Path, *, times: int = 200) -> list[Figure]:
    """Writers at work while the service is killed."""
    found = survive_kills(scratch / "killed.db", times)
    proof = f"{times} kills while writing"
    return [measured(proof, "acknowledged writes", found.acknowledged), exactly(proof, "faults", len(found.faults), 0)]


def applies(scratch: Path, *, times: int = 100) -> list[Figure]:
    """Changes of many documents while the service is killed, and while others read."""
    killed = survive_kills_while_applying(scratch / "applied.db", times)
    refused = read_while_refusing(scratch / "refused.db", max(3, times // 2))
    proof = f"{times} kills while applying"
    return [
        measured(proof, "changes of which all was there", killed.kept),
        measured(proof, "changes of which nothing was there", killed.undone),
        exactly(proof, "faults", len(killed.faults), 0),
        measured("refused changes", "reads meanwhile", refused.reads),
        exactly("refused changes", "seen of them", len(refused.faults), 0),
    ]


def full_disk(scratch: Path, *, times: int = 20) -> list[Figure]:
    """Writers at work while the disk is full."""
    found = survive_full_disk(scratch / "filled.db", times)
    proof = f"{times} times a full disk"
    return [
        measured(proof, "acknowledged writes", found.acknowledged),
        measured(proof, "refused writes", len(found.refused)),
        measured(proof, "answers meanwhile", found.answered),
        exactly(proof, "faults", len(found.faults), 0),
    ]
