"""Some of the long proofs in small, so that they keep working; workers are in ``tests/http/test_workers.py``.

Times are measured and not judged here.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.load.torture import cost, fuzz, installs, listener, memory, nodes
from tests.load.torture.figures import Figure
from tests.support.postgres import MISSING, binaries
from tests.support.waiting import PATIENCE

SHORT = (
    "text: braces on one line",
    "xml: ids over ids",
    "toml: keys",
    "yaml: unset what is there",
    "filled: many filters of all values",
)

PROOFS: dict[str, Callable[[Path], list[Figure]]] = {
    "slow connections": lambda scratch: listener.trickle(scratch, count=400, timeout=2, rounds=listener.Rounds(1, 1)),
    "streams for the reader": lambda scratch: fuzz.reader(scratch, inputs=4_000, seconds=0.0),
    "answers that are not read": lambda scratch: memory.unread_answers(scratch, connections=60, workers=1),
    "different machines": lambda scratch: memory.machines(scratch, count=1_000, documents=200, workers=1),
    "versions of a group": lambda scratch: memory.group_versions(scratch, puts=40, members=500),
    "changes of files": lambda scratch: memory.changed_files(scratch, seconds=1.0),
    "worst documents": lambda scratch: cost.documents(scratch, cases=SHORT, size=65_536),
    "a lab that installs": lambda scratch: installs.killed(scratch, rounds=1, seed=4, machines=2, pace=10),
    "nodes on one database": lambda scratch: nodes.apart(
        scratch, nodes=2, workers=1, machines=5, installing=5, trouble=nodes.Trouble(kills=1, seconds=0.2, stall=0.5)
    ),
}


@pytest.mark.parametrize("proof", PROOFS)
def test_a_proof_holds_in_small(proof: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if proof == "nodes on one database" and binaries() is None:
        pytest.skip(MISSING)
    monkeypatch.setattr(memory, "TIMEOUT", 1 if proof == "answers that are not read" else 20)
    monkeypatch.setattr(memory, "LATE_SECONDS", PATIENCE)
    figures = PROOFS[proof](tmp_path)
    assert len(figures) >= 5
    assert [figure for figure in figures if not figure.holds and not is_time(figure)] == []


def is_time(figure: Figure) -> bool:
    """Return whether the figure measures the machine as well: its bar is for scripts/torture, on one that is idle."""
    return figure.bar.endswith((" ms", " s")) or figure.measure == "cases that hold others up"
