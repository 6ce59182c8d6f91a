"""Identities that many records have: they tell no machine from others, and cost no request a look at all of them."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from answerd.errors import CannotFill, GateClosed
from answerd.installs.events import Event
from answerd.installs.records import MOST_ALIKE, InstallMemory
from tests.support.fleet import Fleet
from tests.support.installs import RememberedInstalls, forget, known, memory_of

BAR = 8.0
"""Linear work is 4 times as much for 4 times as many, that of all with all 16 times."""


def remembered(number: int, *shared: str) -> Event:
    own = f"n{number:07d}"
    return known(own, identities=(own, *shared))


def found(memory: InstallMemory, *identities: str, name: str | None = None) -> list[str]:
    return [one.record.name for one in memory.found_by(identities, name)]


def test_an_identity_of_a_few_records_finds_them_all_and_that_of_many_none() -> None:
    memory = memory_of(*(remembered(number, "uuid") for number in range(MOST_ALIKE)))
    assert found(memory, "uuid") == [f"n{number:07d}" for number in range(MOST_ALIKE)]
    assert not memory.is_shared("uuid")
    memory.apply(remembered(MOST_ALIKE, "uuid"))
    memory.apply(remembered(MOST_ALIKE + 1, "uuid"))
    assert memory.newly_shared == ["uuid"], "it is told once"
    assert found(memory, "uuid") == []
    assert memory.is_shared("uuid")
    assert memory.intersection(["uuid", "other"]) == {"uuid"}
    assert found(memory, "uuid", "n0000003") == ["n0000003"]


def test_an_identity_of_many_finds_the_record_that_is_called_so() -> None:
    memory = memory_of(*(remembered(number, "n0000004") for number in range(MOST_ALIKE + 1)))
    assert found(memory, "n0000004") == ["n0000004"]
    assert not memory.is_shared("n0000004")
    forget(memory, "n0000004")
    assert len(found(memory, "n0000004")) == MOST_ALIKE


class Boards:
    """A batch of boards with one UUID. The loaders ask by MAC address, so each machine has a record of its own."""

    def __init__(self, fleet: Fleet) -> None:
        self.installs = RememberedInstalls()
        self.fleet = fleet.remembering(self.installs)

    def text(self, target: str) -> str:
        """The answer."""
        return self.fleet.text(target, host="s")


@pytest.fixture
def boards(fleet: Fleet) -> Boards:
    """They are powered on."""
    boards = Boards(fleet)
    boards.fleet.write(
        {
            "groups/all.ipxe": "#!ipxe\n# answer: match mac=*\n# answer: once\nkernel {{ report }}\n",
            "groups/all.ks": "# answer: match uuid=*\n# answer: once\nlang C\n# {{ report }}\n",
        }
    )
    return boards


def mac(number: int) -> str:
    return f"0016{number:08x}"


def test_machines_with_one_uuid_install_each_by_itself(boards: Boards) -> None:
    machines = 3 * MOST_ALIKE
    for number in range(machines):
        boards.text(f"/ipxe?mac={mac(number)}")
    for number in range(machines):
        assert boards.text(f"/ks?mac={mac(number)}&uuid=4c4c4544-0001")
    assert len(boards.installs.memory) == machines
    reports = boards.text(f"/ipxe?mac={mac(machines - 1)}&uuid=4c4c4544-0001").split()
    boards.installs.report(next(word for word in reports if "/report/" in word))
    assert "is installed since" in boards.text(f"/ipxe?mac={mac(machines - 1)}&uuid=4c4c4544-0001")
    assert "kernel" in boards.text(f"/ipxe?mac={mac(machines - 2)}&uuid=4c4c4544-0001")


def test_what_has_only_an_identity_of_many_is_given_nothing(boards: Boards) -> None:
    for number in range(MOST_ALIKE + 1):
        boards.text(f"/ipxe?mac={mac(number)}")
    boards.text(f"/ks?mac={mac(0)}&uuid=4c4c4544-0001")
    assert boards.text("/ks?uuid=4c4c4544-0001")  # of a few
    for number in range(1, MOST_ALIKE + 1):
        boards.text(f"/ks?mac={mac(number)}&uuid=4c4c4544-0001")
    for _ in range(2):
        with pytest.raises(CannotFill, match="its serial, uuid and mac are those of many machines"):
            boards.text("/ks?uuid=4c4c4544-0001")


def test_a_visitor_that_was_named_by_what_is_shared_now_is_looked_at_again(boards: Boards) -> None:
    boards.fleet.write({"groups/all.preseed": "# answer: match uuid=*\n# answer: once armed\nd-i x/y string z\n"})
    with pytest.raises(GateClosed, match="waits for an operator"):
        boards.text("/debian?uuid=4c4c4544-0002")  # refused: named so, without a record
    for number in range(MOST_ALIKE + 1):
        boards.text(f"/ipxe?mac={mac(number)}")
        boards.text(f"/ks?mac={mac(number)}&uuid=4c4c4544-0002")
    with pytest.raises(CannotFill, match="those of many machines"):
        boards.text("/debian?uuid=4c4c4544-0002")


def shortest(work: Callable[[], object]) -> float:
    """The processor time of the fastest of some runs."""
    times = []
    for _ in range(5):
        began = time.thread_time()
        work()
        times.append(time.thread_time() - began)
    return min(times)


def test_the_cost_of_a_request_does_not_grow_with_the_machines_that_share_an_identity() -> None:
    few, many = (memory_of(*(remembered(number, "uuid") for number in range(count))) for count in (2_000, 8_000))

    def ask(memory: InstallMemory) -> Callable[[], object]:
        return lambda: [memory.found_by(memory.intersection(["uuid", "n0000007"])) for _ in range(2_000)]

    assert shortest(ask(many)) < 3 * shortest(ask(few))


def test_records_that_share_an_identity_are_remembered_in_linear_time() -> None:
    few, many = ([remembered(number, "uuid") for number in range(count)] for count in (2_000, 8_000))
    assert shortest(lambda: memory_of(*many)) < BAR * shortest(lambda: memory_of(*few))
