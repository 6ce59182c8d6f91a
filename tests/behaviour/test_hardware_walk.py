"""A machine is its hardware: random lives of a site with boards, cards, rows and people, against what is physically
true (`tests.support.hardware_world`). With the real program: tests/http/test_hardware_walk.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import pytest

from answerd.installs.events import Event, Kind, content_of, event_from, summary_of
from answerd.installs.records import InstallMemory
from tests.support.hardware_site import InProcess
from tests.support.hardware_world import Found, Reply, Step, shortest, violation, walk
from tests.support.thorough import examples

WALKS, LENGTH = 12, 120


def in_process(steps: list[Step]) -> Found | None:
    return violation(InProcess(), steps)


def by_members(steps: list[Step]) -> Found | None:
    return violation(InProcess(by_members=True), steps, by_members=True)


class _Clocked(InProcess):
    """A site where half a second passes before each request."""

    def ask(self, path: str, said: dict[str, list[str]]) -> Reply:
        self.passes(0.5)
        return super().ask(path, said)


def by_the_clock(steps: list[Step]) -> Found | None:
    return violation(_Clocked(), steps)


@pytest.mark.parametrize("seed", range(WALKS))
def test_an_installed_board_is_never_given_the_installer_and_an_order_lets_a_new_one_in(seed: int) -> None:
    found = in_process(walk(seed, LENGTH))
    assert found is None, str(shortest(found, in_process))


@pytest.mark.parametrize("happen", [in_process, by_members, by_the_clock])
def test_many_walks(happen: Callable[[list[Step]], Found | None]) -> None:
    for seed in (220, *range(1000, 1000 + examples(40))):  # 220 with the clock: a card was taken for a new machine
        found = happen(walk(seed, LENGTH))
        assert found is None, f"{seed}: {shortest(found, happen)}"


def summarised(events: Sequence[Event], choose: Random) -> list[Event]:
    """What a store may have kept of some events: summaries, which it wrote last, in place of the older ones."""
    kept, summaries = [*events], []
    for record in sorted({event.record for event in events}):
        own = [event for event in events if event.record == record]
        if choose.random() < 0.7:
            made = summary_of(own, record)
            summaries.append(event_from(record, made.label, made.kind, made.at, content_of(made).decode()))
            gone = own[: choose.randrange(len(own) + 1)]
            kept = [event for event in kept if event not in gone or event.kind is Kind.FORGOTTEN]
    return [*kept, *summaries]


@pytest.mark.parametrize("seed", range(WALKS))
def test_a_service_that_reads_summaries_knows_the_states_and_names_that_the_running_one_knows(seed: int) -> None:
    site = InProcess()
    assert violation(site, [step for step in walk(seed, LENGTH) if step.verb != "restart"]) is None
    running, again = site.installs.memory, InstallMemory(site.installs.rules)
    for event in summarised(site.installs.written, Random(seed)):
        again.apply(event)
    assert again.labels == running.labels
    assert {one: again.fold(one) for one in running.by_identity} == {
        one: held.fold for one, held in running.by_identity.items()
    }
