"""Nodes that are cut off from each other and joined again: random lives, against what was acknowledged
(`tests.support.node_world`), and what such lives found, each as short as it can be told."""

from __future__ import annotations

from itertools import permutations

import pytest

from answerd.installs.events import Event, Kind
from answerd.installs.states import State
from tests.support.hardware_world import Step
from tests.support.node_world import NodeWorld, memory_of, shortest, violation, walk
from tests.support.thorough import drawn

pytestmark = pytest.mark.long

LENGTH = 120
A, B = 0, 1
WITHOUT_ROW, WITH_ROW = 1, 2
BY_MAC, BY_SERIAL, BY_BOTH = 0, 1, 2
LAST_GIVEN = 1


@pytest.mark.parametrize("nodes", [2, 3])
def test_nothing_acknowledged_is_lost_and_nobody_is_installed_by_a_joining(nodes: int) -> None:
    for seed in drawn(range(24)):
        steps = walk(seed, LENGTH)
        found = violation(steps, nodes)
        if found is not None:
            least = shortest(steps, nodes) or found
            pytest.fail("\n".join([f"seed {seed}: {least[1]}", *least[2].story]))


def joined(board: int, *steps: tuple[str, int, int]) -> list[bool]:
    """Have steps happen to one board of two nodes: what, at which node, and a choice. Return whether each node gives it
    the installer once they have heard of each other."""
    world = NodeWorld(2)
    for verb, node, choice in steps:
        world.do(Step(verb, node, board, choice))
    world.judge()
    for node in (A, B, A):
        world.do(Step("heal", node, board, 0))
    return [node.would_give(said) for node in world.nodes for said in world.boards[board].requests]


def test_what_a_refused_request_says_closes_nothing_against_a_later_order_elsewhere() -> None:
    gives = joined(
        WITH_ROW,
        ("ask", B, BY_MAC),
        ("installed", A, LAST_GIVEN),  # A knows of no serial number
        ("arm", B, 0),  # B knows of no report
        ("ask", A, BY_SERIAL),
    )
    assert all(gives)


def test_a_repetition_after_an_order_that_the_giving_did_not_know_is_a_giving_of_both() -> None:
    gives = joined(
        WITHOUT_ROW,
        ("arm", A, 0),
        ("cut", B, 0),
        ("ask", A, BY_MAC),
        ("exchange", A, 0),
        ("arm", B, 0),
        ("heal", B, 0),
        ("ask", B, BY_MAC),
        ("installed", B, LAST_GIVEN),
    )
    assert not any(gives)


def test_a_report_that_the_node_of_a_forget_did_not_know_counts_also_where_it_knew_a_later_arm() -> None:
    gives = joined(
        WITHOUT_ROW,
        ("ask", A, BY_MAC),
        ("installed", B, LAST_GIVEN),
        ("arm", A, 0),
        ("forget", A, 0),
    )
    assert not any(gives)


def test_a_report_of_what_was_given_on_two_arms_counts_where_one_of_them_was_replaced_before() -> None:
    gives = joined(
        WITH_ROW,
        ("cut", B, 0),
        ("arm", A, 0),
        ("exchange", A, 0),
        ("arm", A, 0),  # takes the place of the one before
        ("arm", B, 0),
        ("heal", B, 0),  # and hears of the first one only
        ("ask", B, BY_MAC),
        ("installed", A, LAST_GIVEN),
    )
    assert not any(gives)


def test_a_report_of_what_was_given_after_a_forget_elsewhere_counts_where_that_forgot_its_attempt() -> None:
    gives = joined(
        WITHOUT_ROW,
        ("cut", A, 0),
        ("arm", B, 0),
        ("exchange", B, 0),
        ("forget", B, 0),
        ("forget", A, 0),
        ("heal", A, 0),  # hears of the arm, and not of B's forget
        ("ask", A, BY_MAC),
        ("exchange", B, 0),
        ("exchange", A, 0),
        ("installed", A, LAST_GIVEN),
    )
    assert not any(gives)


def test_a_report_closes_what_its_giving_named_in_whatever_order_the_events_come() -> None:
    world = NodeWorld(2)
    for verb, node, choice in (
        ("cut", A, 0),
        ("ask", A, BY_BOTH),
        ("installed", B, LAST_GIVEN),  # B knows the MAC address only
        ("disarm", A, 0),
        ("forget", A, 0),
        ("heal", B, 0),
        ("heal", A, 0),
    ):
        world.do(Step(verb, node, WITH_ROW, choice))
    events = world.nodes[A].installs.written
    assert len(events) == 4
    for shuffled in permutations(events):
        memory = memory_of(shuffled)
        states = {memory.state_of(identity) for identity in ("002590000002", "ser0002")}
        assert states == {State.INSTALLED}, [event.kind for event in shuffled]


def test_a_report_closes_what_its_giving_named_also_where_an_order_took_its_place() -> None:
    """Neither the node of the report nor that of the order knew of the serial number."""
    mac, both = {"002590000001": "m00:25:90:00:00:01"}, {"002590000001": "m00:25:90:00:00:01", "ser1": "sSER1"}
    given = Event(
        "ser1", "SER1", Kind.GIVEN, 1.0, both, start=1, giving="g", detail='group "rack" (ipxe)', id="1"
    )  # fmt: skip
    report = Event("002590000001", "", Kind.INSTALLED, 2.0, mac, start=1, giving="g", id="2")
    arm = Event("002590000001", "", Kind.ARMED, 3.0, mac, knew=("2",), id="3")
    for events in permutations([given, report, arm]):
        memory = memory_of(events)
        states = {identity: memory.state_of(identity) for identity in both}
        assert states == {"002590000001": State.ARMED, "ser1": State.INSTALLED}, [event.kind for event in events]


DAY = 86_400.0


@pytest.mark.parametrize(
    ("steps", "acknowledged_by"),
    [
        pytest.param(
            [
                ("arm", B, 0),
                ("exchange", B, 0),
                ("arm", A, 0),  # takes the place of the one of tomorrow
                ("ask", A, BY_MAC),
                ("installed", B, LAST_GIVEN),  # B has not heard of that
            ],
            B,
            id="an order took the place of one that is later by the clock",
        ),
        pytest.param(
            [
                ("arm", B, 0),
                ("exchange", B, 0),
                ("exchange", A, 0),
                ("arm", B, 0),  # A knows of the first one only
                ("ask", B, BY_MAC),
                ("installed", A, LAST_GIVEN),
            ],
            A,
            id="the clock of the report's node is behind that of the giving's",
        ),
    ],
)
@pytest.mark.parametrize("board", [WITHOUT_ROW, WITH_ROW])
def test_a_report_counts_where_the_clock_of_a_node_is_a_day_ahead(
    steps: list[tuple[str, int, int]], acknowledged_by: int, board: int
) -> None:
    world = NodeWorld(2, ahead=[0.0, DAY])
    for verb, node, choice in steps:
        world.do(Step(verb, node, board, choice))
    requests = world.boards[board].requests
    assert not any(world.nodes[acknowledged_by].would_give(said) for said in requests)
    for node in (A, B, A):
        world.do(Step("heal", node, board, 0))
    assert not any(node.would_give(said) for node in world.nodes for said in requests)


def test_an_order_counts_that_did_not_know_of_an_earlier_report_where_the_clock_of_a_node_is_a_day_ahead() -> None:
    world = NodeWorld(3, ahead=[0.0, DAY])
    c = 2

    def all_hear() -> None:
        for node in (A, B, c) * 2:
            world.do(Step("heal", node, WITH_ROW, 0))

    world.do(Step("arm", B, WITH_ROW, 0))
    all_hear()
    world.do(Step("ask", A, WITH_ROW, BY_MAC))
    all_hear()
    world.do(Step("cut", A, WITH_ROW, 0))
    world.do(Step("installed", A, WITH_ROW, LAST_GIVEN))
    world.do(Step("wait", A, WITH_ROW, 1))
    world.do(Step("arm", c, WITH_ROW, 0))  # after the report, of which it does not know
    all_hear()
    requests = world.boards[WITH_ROW].requests
    assert all(node.would_give(said) for node in world.nodes for said in requests)
