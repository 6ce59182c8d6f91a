"""States that several nodes learn of: every order of arrival gives the same (docs/many-nodes.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import permutations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.formats.family import Once
from answerd.installs.events import (
    Event,
    Evidence,
    News,
    Start,
    Strength,
    content_of,
    event_from,
    evidence_of,
    fold,
    merge,
    record_of,
)
from answerd.installs.events import Kind as EventKind
from answerd.installs.states import Gate, Order, ReportKind, Requested, Rules, State, judge
from tests.support.installs import Happening, Ordered, Reported, event_of, step
from tests.support.thorough import examples

RULES = Rules(starts=2)
NEXT, MINUTES = 10.0, 200.0
"""Seconds from one event to the next: within a start, and long enough for another start."""


@dataclass(frozen=True)
class Kind:
    """A sort of event, and how long after the last one it comes."""

    name: str
    pause: float = NEXT


KINDS = (
    Kind("ks"),
    Kind("ks", MINUTES),
    Kind("ipxe"),
    Kind("copied"),
    Kind("failed"),
    Kind("installed"),
    Kind("progress"),
    Kind("arm"),
    Kind("disarm"),
    Kind("forget"),
)


def happening(kind: Kind, at: float, attempt: int) -> Happening:
    if kind.name in ("ks", "cfg", "ipxe"):
        gate = Gate.LOADER if kind.name == "ipxe" else Gate.ANSWERS
        return Requested(kind.name, gate, Once.ON, at)
    if kind.name in set(Order):
        return Ordered(Order(kind.name), at)
    return Reported(ReportKind(kind.name), attempt, at, None if kind.name == "progress" else kind.name)


def history(kinds: Iterable[Kind]) -> tuple[list[Event], Evidence]:
    """The events that are written where every event is known at once, and what they come to. Each brings an identity
    and a group of its own."""
    known, at, events = Evidence("m"), 0.0, list[Event]()
    for number, kind in enumerate(kinds):
        at += kind.pause
        event = event_of(known, happening(kind, at, known.attempt), RULES)[0]
        if event is not None:
            event = event._replace(identities={f"i{number % 3}": f"I{number}"}, group=f"g{number}", id=str(number))
            events.append(event)
            known = merge(known, evidence_of(event))
    return events, known


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(st.sampled_from(KINDS), min_size=2, max_size=6))
def test_every_order_of_the_same_events_comes_to_the_same(kinds: list[Kind]) -> None:
    events, _ = history(kinds)
    found = fold(events)
    assert all(fold(order) == found for order in permutations(events))
    assert fold([*events, *events]) == found  # what arrives twice changes nothing
    for at in range(1, len(events)):  # what arrives in parts
        first, second = fold(events[:at]), fold(events[at:])
        assert first is not None
        assert second is not None
        assert merge(first, second) == found


@settings(deadline=None, max_examples=examples(100))
@given(st.lists(st.sampled_from(KINDS), max_size=14))
def test_what_is_stored_is_read_again(kinds: list[Kind]) -> None:
    events, known = history(kinds)
    summary = content_of(Event("m", EventKind.SUMMARY, 0.0, 1, evidence=known)).decode()
    for event in events:
        content = content_of(event).decode()
        assert event_from(event.record, event.kind, event.at, event.attempt, content, None, event.id) == event
    assert event_from("m", "summary", 0.0, 1, summary).evidence == known


def test_what_was_collected_before_a_forget_is_gone_wherever_it_arrives() -> None:
    events, known = history([Kind("ks"), Kind("forget"), Kind("ipxe")])
    assert known.forgotten == 2
    assert all(fold(order) == known for order in permutations(events))
    assert {text for _, text in known.identities.values()} == {"I2"}
    assert fold(events[:2]) is not None
    assert not fold(events[:2]).is_record  # type: ignore[union-attr]


def test_the_name_as_somebody_spelled_it_is_kept() -> None:
    assert merge(Evidence("5254001122aa"), Evidence("52:54:00:11:22:aa")).name == "52:54:00:11:22:aa"


def start(number: int, word: str = "installing", at: float = 0.0) -> Evidence:
    """What a node knows of one start."""
    strength = Strength[word.upper()]
    said = News(strength, at, word) if strength else None
    return Evidence("m", 1, starts={number: Start(float(number), strength, at, {"ks": float(number)}, said)})


def armed(attempt: int) -> Evidence:
    return Evidence("m", attempt, was_armed=True, began=float(attempt))


TABLE: dict[str, tuple[Sequence[Evidence], State]] = {
    "copied beats installing": ([start(1), start(1, "copied", 2)], State.COPIED),
    "failed beats copied": ([start(1, "copied", 3), start(1, "failed", 2)], State.FAILED),
    "installed beats failed": ([start(1, "failed", 3), start(1, "installed", 2)], State.INSTALLED),
    "installed beats all of one start": (
        [start(1), start(1, "copied", 4), start(1, "failed", 3), start(1, "installed", 2)],
        State.INSTALLED,
    ),
    "a later start beats an earlier failed": ([start(1, "failed", 9), start(2)], State.INSTALLING),
    "a later start beats an earlier installing": ([start(1), start(2, "failed", 3)], State.FAILED),
    "a later start leaves an earlier copied": ([start(1, "copied", 3), start(2)], State.COPIED),
    "a later failed ends an earlier copied": ([start(1, "copied", 3), start(2, "failed", 4)], State.FAILED),
    "three starts of which each would beat another": (
        [start(1, "copied", 3), start(2, "failed", 4), start(3)],
        State.INSTALLING,
    ),
    "a late installed beats later starts": (
        [start(1, "installed", 9), start(2), start(3, "failed", 5)],
        State.INSTALLED,
    ),
    "failed on the last start": ([start(4), start(5, "failed", 6)], State.EXHAUSTED),
    "a start that is one too many": ([start(5), Evidence("m", refused=9.0), start(5, "failed", 7)], State.EXHAUSTED),
    "a late installed ends exhausted": (
        [start(5, "failed", 6), Evidence("m", refused=9.0), start(2, "installed", 8)],
        State.INSTALLED,
    ),
    "a higher attempt beats all": (
        [start(1, "installed", 9), Evidence("m", disarmed=8.0), armed(2), start(3, "failed", 5)],
        State.ARMED,
    ),
    "a report of a higher attempt beats arm of a lower one": (
        [armed(2), armed(3), Evidence("m", 3, starts={1: Start(4.0, Strength.COPIED, 5.0)})],
        State.COPIED,
    ),
    "disarm beats what is known of its attempt": (
        [start(1), Evidence("m", disarmed=1.0), start(1, "failed", 7)],
        State.INSTALLED,
    ),
}
"""What nodes know, and the state that all of it comes to."""


@pytest.mark.parametrize("rule", TABLE)
def test_every_order_of_arrival_gives_the_state_of_the_table(rule: str) -> None:
    known, state = TABLE[rule]
    found = [reduce(merge, order) for order in permutations(known)]
    assert {record_of(known, Rules()).state for known in found} == {state}
    assert all(known == found[0] for known in found)
    # What arrives twice changes nothing.
    assert reduce(merge, [*known, *known]) == found[0]


@settings(deadline=None, max_examples=examples(200))
@given(st.lists(st.tuples(st.sampled_from(KINDS[:7]), st.integers(0, 2)), max_size=10), st.randoms())
def test_nodes_that_worked_apart_come_to_one_state(happened: list[tuple[Kind, int]], random: object) -> None:
    """Three nodes, each with its own events; what they know is exchanged in any order, some of it twice."""
    nodes = [Evidence("m")] * 3
    at = 0.0
    for kind, node in happened:
        at += kind.pause
        nodes[node] = step(nodes[node], happening(kind, at, 1), RULES).evidence
    exchanged = [*nodes, *nodes]
    random.shuffle(exchanged)  # type: ignore[attr-defined]
    together = reduce(merge, exchanged)
    assert together == reduce(merge, nodes)
    if any(kind.name == "installed" for kind, _ in happened):
        assert record_of(together, RULES).state is State.INSTALLED


@settings(deadline=None, max_examples=examples(300))
@given(
    st.lists(
        st.tuples(
            st.sampled_from(("ks", "cfg", "ipxe", "failed")), st.sampled_from((0.0, 1.0, 90.0, 121.0)), st.booleans()
        ),
        min_size=1,
        max_size=10,
    ),
    st.randoms(),
)
def test_what_the_last_start_was_given_by_any_worker_is_not_given_after_the_report(
    happened: list[tuple[str, float, bool]], random: Random
) -> None:
    """Two workers. Each knows its own events, and by chance those that the other wrote less than five seconds ago."""
    rules = Rules(starts=20)
    written: list[tuple[Event, bool]] = []
    given_at: dict[str, float] = {}
    at = 0.0
    for name, pause, worker in happened:
        at += pause
        seen = [e for e, writer in written if writer is worker or at - e.at > 5 or random.random() < 0.5]
        event, refusal = event_of(fold(seen, Evidence("m")) or Evidence("m"), happening(Kind(name), at, 1), rules)
        if name == "failed":
            assert event is not None
        elif refusal is None:
            given_at[name] = at
            repeated = any(e.detail == name and e.at > at - 30 for e in seen)  # as `Judgement.is_repeated`
            event = None if repeated else event
        if event is not None:
            written.append((event, worker))
    events = [event for event, _ in written]
    known = fold(events) or Evidence("m")
    events.append(event_of(known, Reported(ReportKind.INSTALLED, 1, at), rules)[0] or events[0])
    random.shuffle(events)
    known = fold(events) or Evidence("m")
    began = known.starts[max(known.starts)].began
    for name, last in given_at.items():
        again = Requested(name, Gate.ANSWERS, Once.ON, at + 1)
        assert last < began or judge(record_of(known, rules), again, rules).refusal is not None, (name, known)


def test_a_report_of_an_attempt_that_began_at_another_node_counts() -> None:
    here = step(Evidence("m"), Reported(ReportKind.INSTALLED, 2, 5.0), RULES).evidence
    assert (here.attempt, record_of(here, RULES).state) == (2, State.INSTALLED)
    assert record_of(merge(here, armed(2)), RULES).was_armed


def test_a_message_stays_with_the_word_that_counts() -> None:
    known = reduce(merge, [start(1, "failed", 9), start(1, "installed", 2), start(2)])
    assert record_of(known, RULES).message == "installed"
