"""States that several nodes learn of: every order of arrival gives the same (docs/many-nodes.md)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.formats.family import Once
from answerd.installs.events import Event, Kind, content_of, event_from, folds, summary_of
from answerd.installs.fold import MOST_PAST, Begun, Closing, Fold, merge, record_of
from answerd.installs.hardware import MAC, SERIAL, Asked
from answerd.installs.records import InstallMemory, ReportedOn
from answerd.installs.states import Gate, Order, ReportKind, Requested, Rules, State
from tests.support.thorough import examples

RULES = Rules(starts=3)
NAMES = {"s1": f"{SERIAL}S1", "02590000001a": f"{MAC}02:59:00:00:00:1a"}
ASKED = (Asked(NAMES), Asked({"s1": NAMES["s1"]}), Asked({"02590000001a": NAMES["02590000001a"]}))
MOST_PERMUTED = 4
STEPS = ("ask", "ask by serial", "ask by mac", "installed", "failed", "copied", "progress", "arm", "disarm", "forget")


class Node:
    """One node: what it knows, and what it wrote."""

    def __init__(self) -> None:
        self.memory = InstallMemory(RULES)
        self.written: list[Event] = []
        self.urls: list[ReportedOn] = []

    def does(self, step: str, at: float, url: ReportedOn | None = None) -> bool:
        """Have something happen here; return whether a document was given."""
        if step in set(Order):
            self._write(self.memory.ordered(Order(step), "web-01", NAMES, at, ""))
        elif step in set(ReportKind):
            subject = url or (self.urls[-1] if self.urls else ReportedOn("0" * 32, "s1"))
            self._write(self.memory.reported(subject, ReportKind(step), at, step, None))
        else:
            asked = ASKED[("ask", "ask by serial", "ask by mac").index(step)]
            decision = self.memory.ask(asked, Requested("ipxe", Gate.LOADER, Once.ON, at))
            for event in decision.events:
                self._write(event)
            if decision.refused is None:
                self.urls.append(ReportedOn(decision.giving, decision.identity, decision.attempt))
                return True
        return False

    def _write(self, event: Event) -> None:
        self.written.append(event)
        self.memory.apply(event)

    def hears(self, *others: Node) -> None:
        """Take what others wrote."""
        known = {event.id for event in self.written}
        for other in others:
            for event in other.written:
                if event.id not in known:
                    known.add(event.id)
                    self._write(event)

    def state(self, identity: str = "s1") -> State:
        """The state of an identity."""
        return self.memory.state_of(identity)


def joined(*nodes: Node) -> Node:
    """A node that knows what all of them wrote."""
    together = Node()
    together.hears(*nodes)
    return together


def lived(steps: Sequence[tuple[str, int, bool]]) -> list[Node]:
    """Three nodes that live through steps, each at one of them; sometimes they hear of each other."""
    nodes = [Node() for _ in range(3)]
    for number, (step, which, hears) in enumerate(steps):
        if hears:
            nodes[which].hears(*nodes)
        nodes[which].does(step, 10.0 + 130.0 * number)
    return nodes


_STEPS = st.tuples(st.sampled_from(STEPS), st.integers(0, 2), st.booleans())


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(_STEPS, min_size=2, max_size=4))
def test_every_order_of_the_same_events_comes_to_the_same(steps: list[tuple[str, int, bool]]) -> None:
    events = [*{event.id: event for node in lived(steps) for event in node.written}.values()]
    found = folds(events)
    if len(events) <= MOST_PERMUTED:
        assert all(folds(list(order)) == found for order in permutations(events))
    assert folds([*events, *events]) == found  # what arrives twice changes nothing
    for at in range(1, len(events)):  # what arrives in parts
        first, second = folds(events[:at]), folds(events[at:])
        for identity, whole in found.items():
            assert merge(first.get(identity, Fold()), second.get(identity, Fold())) == whole


@settings(deadline=None, max_examples=examples(150))
@given(st.lists(_STEPS, max_size=12), st.randoms())
def test_nodes_that_heard_everything_agree_in_whatever_order(
    steps: list[tuple[str, int, bool]], random: Random
) -> None:
    nodes = lived(steps)
    events = [*{event.id: event for node in nodes for event in node.written}.values()]
    expected: dict[str, State] | None = None
    for _ in range(3):
        random.shuffle(events)
        memory = InstallMemory(RULES)
        for event in [*events, *events[:2]]:
            memory.apply(event)
        states = {identity: held.record.state for identity, held in memory.by_identity.items()}
        expected = expected or states
        assert states == expected


@settings(deadline=None, max_examples=examples(150))
@given(st.lists(_STEPS, max_size=12))
def test_nobody_is_installed_by_a_joining(steps: list[tuple[str, int, bool]]) -> None:
    """What every node refuses, all of them together refuse."""
    nodes = lived(steps)
    together = joined(*nodes)
    for identity in NAMES:
        if all(node.state(identity) is State.INSTALLED for node in nodes):
            assert together.state(identity) is State.INSTALLED


def test_every_field_of_an_event_is_stored() -> None:
    armed = Begun("o1", Order.ARM, 0.5)
    event = Event(
        "web01", "web-01", Kind.GIVEN, 1.0, names={"web01": "nweb-01"}, asked=("web01",), attempt=(armed,), start=2,
        giving="g1", knew=("o1",), anew=("web01",), closings=(Closing("r1", 0.7, "g0", ("o1",)),), closed=("web02",),
        detail="ks", origin="ops", message="copying", percent=5.0, counts=False, group="rack", overlays=("gpu",),
        named=("web01",), after_copied=True, left=("s1",), body=b"log", id="e1",
    )  # fmt: skip
    own = {name for name in Event._fields if getattr(event, name) != Event._field_defaults.get(name)}
    assert own == set(Event._fields) - {"folds", "ties", "labels"}  # those of a summary
    assert event_from("web01", "web-01", "given", 1.0, content_of(event).decode(), b"log", "e1") == event


@settings(deadline=None, max_examples=examples(100))
@given(st.lists(_STEPS, max_size=14))
def test_what_is_stored_is_read_again(steps: list[tuple[str, int, bool]]) -> None:
    events = lived(steps)[0].written
    for event in events:
        content = content_of(event).decode()
        assert event_from(event.record, event.label, event.kind, event.at, content, None, event.id) == event
    if events:
        summary = summary_of(events, "s1")
        again = event_from("s1", summary.label, "summary", summary.at, content_of(summary).decode())
        assert again.folds == summary.folds == folds(events)
        memory, whole = InstallMemory(RULES), InstallMemory(RULES)
        memory.apply(again)
        for event in events:
            whole.apply(event)
        assert memory.ties.of == whole.ties.of
        assert memory.labels == whole.labels
        assert {one: held.fold for one, held in memory.by_identity.items()} == {
            one: held.fold for one, held in whole.by_identity.items()
        }


# --- the sentences of docs/many-nodes.md -----------------------------------------------------------------------------


def apart() -> tuple[Node, Node]:
    """Two nodes that know of an install, and hear no more of each other."""
    a, b = Node(), Node()
    a.does("ask", 1.0)
    a.does("installed", 2.0)
    b.hears(a)
    return a, b


def test_the_last_order_counts_where_an_install_is_reported_elsewhere_before_it() -> None:
    a, b = apart()
    b.does("arm", 10.0)
    b.does("ask", 11.0)
    b.does("installed", 12.0)
    a.does("arm", 20.0)
    a.does("ask", 21.0)
    together = joined(a, b)
    assert together.state() is State.INSTALLING
    assert together.does("ask", 22.0)


def test_a_disarm_closes_the_arm_that_it_did_not_know() -> None:
    a, b = apart()
    a.does("arm", 10.0)
    b.does("disarm", 11.0)
    together = joined(b, a)
    assert together.state() is State.INSTALLED
    assert not together.does("ask", 12.0)


def test_an_arm_after_a_disarm_that_it_did_not_know_counts() -> None:
    a, b = apart()
    b.does("disarm", 10.0)
    a.does("arm", 11.0)
    assert joined(a, b).state() is State.ARMED


def test_a_forget_forgets_what_it_knew_and_not_an_install_that_it_did_not_know() -> None:
    a, b = apart()
    a.does("arm", 10.0)
    a.does("ask", 11.0)
    a.does("installed", 12.0)
    b.does("forget", 13.0)
    assert b.state() is State.NEW
    together = joined(a, b)
    assert together.state() is State.INSTALLED
    assert not together.does("ask", 14.0)


def test_arms_that_did_not_know_each_other_are_one_attempt() -> None:
    a, b = apart()
    a.does("arm", 10.0)
    b.does("arm", 11.0)
    together = joined(a, b)
    assert together.does("ask", 12.0)
    together.does("installed", 13.0)
    assert together.state() is State.INSTALLED
    assert not together.does("ask", 14.0)


def test_a_report_to_a_node_that_knows_neither_order_nor_giving_closes_both() -> None:
    a, b = apart()
    a.does("arm", 10.0)
    a.does("ask", 11.0)
    b.does("installed", 12.0, a.urls[-1])
    assert joined(a, b).state() is State.INSTALLED
    assert joined(b, a).state("02590000001a") is State.INSTALLED, "what the giving named is closed too"


def test_a_report_closes_an_arm_of_before_it_that_its_node_did_not_know() -> None:
    a, b = apart()
    b.does("arm", 10.0)
    b.does("ask", 11.0)
    a.does("arm", 12.0)
    b.does("installed", 13.0)
    assert joined(a, b).state() is State.INSTALLED


def test_a_report_leaves_alone_what_was_ordered_since_of_what_its_giving_named() -> None:
    """The card is in another board by now, and the order does not name it."""
    node, other = Node(), Node()
    node.does("ask", 1.0)
    late = node.urls[-1]
    moved = Asked({"s2": f"{SERIAL}S2", "02590000001a": NAMES["02590000001a"]})
    for event in node.memory.ask(moved, Requested("ipxe", Gate.LOADER, Once.ON, 1.5)).events:
        node._write(event)
    node._write(node.memory.ordered(Order.ARM, "web-01", {"s1": NAMES["s1"]}, 2.0, ""))
    node.does("installed", 3.0, late)
    other.hears(node)
    for one in (node, other):
        assert (one.state(), one.state("02590000001a")) == (State.ARMED, State.INSTALLED)


@pytest.mark.parametrize("first", ["installed", "disarm"])
def test_a_node_with_an_old_file_says_of_the_last_attempt_what_others_say(first: str) -> None:
    """More came after the first attempt than an order lists: the file that has it was rolled back."""
    there, rolled_back = Node(), Node()
    for number in range(MOST_PAST):
        for step, at in (("arm", 0.0), ("ask", 1.0), ("installed" if number else first, 2.0)):
            there.does(step, 10.0 * number + at)
        if not number:
            rolled_back.hears(there)
    rolled_back.memory.apply(summary_of(there.written, "s1"))
    said, expected = (record_of("", node.memory.fold("s1"), RULES) for node in (rolled_back, there))
    assert len(rolled_back.memory.fold("s1").orders) > len(there.memory.fold("s1").orders), "the first attempt is past"
    assert said == expected


@pytest.mark.parametrize("word", ["failed", "copied"])
def test_a_report_of_an_earlier_attempt_changes_nothing(word: str) -> None:
    node = Node()
    node.does("ask", 1.0)
    old = node.urls[-1]
    node.does("arm", 2.0)
    node.does(word, 3.0, old)
    node.does("installed", 4.0, old)
    assert node.state() is State.ARMED
    assert not node.written[-1].counts
    assert record_of("", node.memory.fold("s1"), RULES).was_armed
    assert Kind(word) in {event.kind for event in node.written}
