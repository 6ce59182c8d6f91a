"""Some of the long proofs in small, so that they keep working; workers are in ``tests/http/test_workers.py``.

Times are measured and not judged here.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.load.torture import cost, fuzz, installs, listener, memory, nodes
from tests.load.torture.__main__ import PARTS, main
from tests.load.torture.figures import Figure, exactly, table, under
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


class LateNode:
    """A node that has the documents after some requests; until then it answers 404."""

    workers = 1

    def __init__(self, stored: dict[int, int], late: int) -> None:
        self.stored = stored
        self.late = late

    def answer(self, machine: int) -> int:
        self.late -= 1
        if self.late >= 0:
            raise ValueError("404 b'no document claims mac=...'")
        return self.stored[machine]


@pytest.mark.parametrize(("late", "differ"), [(0, 0), (3, 0), (10**9, 1)])
def test_nodes_that_have_the_documents_later_are_waited_for(
    late: int, differ: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = {machine: machine + 1 for machine in range(5)}
    monkeypatch.setattr(nodes, "_stored", lambda _url: {nodes.mac(machine): one for machine, one in stored.items()})
    monkeypatch.setattr(nodes, "AGREE_SECONDS", 0.2)
    lab = nodes.Lab([LateNode(stored, late)], len(stored), seed=1)  # type: ignore[list-item]
    assert nodes._wait_until_equal(lab, "") == differ


def test_a_figure_that_misses_its_bar_shows_in_the_table() -> None:
    rows = table([under("p", "m", 51.0, 50.0, "ms"), exactly("p", "n", 3, 3)]).splitlines()
    assert [row.split("|")[5].strip() for row in rows[2:]] == ["FAILED", "ok"]
    assert len({len(row) for row in rows}) == 1


def test_a_proof_that_breaks_off_is_a_figure_that_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_scratch: Path) -> list[Figure]:
        raise OSError("no more files")

    monkeypatch.setitem(PARTS, "cost", [broken])
    assert main(["cost"]) == 1
    assert "OSError: no more files" in capsys.readouterr().out


def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no-such-part"]) == 2
    assert "listener|workers|fuzz|memory|cost|durability|installs|nodes|all" in capsys.readouterr().err
