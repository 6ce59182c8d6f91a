"""The states of an install, walked to their end beside a slow and literal reading of docs/install-once.md."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.formats.family import Once
from answerd.installs.fold import NOTHING, record_of
from answerd.installs.shown import last_step
from answerd.installs.states import (
    GATES,
    STATE_WORDS,
    WEAKEST_FIRST,
    Gate,
    Opening,
    Order,
    Record,
    Refusal,
    ReportKind,
    Requested,
    Rules,
    State,
    is_counted_as,
    is_silent,
)
from tests.support.install_oracle import Oracle
from tests.support.installs import ONE, Happening, Known, Ordered, Outcome, Reported, step
from tests.support.thorough import drawn, examples, is_thorough

pytestmark = pytest.mark.long

RULES = Rules(grace=2, start=2, starts=2, silence=4)


def both(known: Known, oracle: Oracle, event: Happening, rules: Rules = RULES) -> Outcome:
    """One event for the machine and for the oracle, which must agree."""
    outcome = step(known, event, rules)
    if isinstance(event, Requested):
        assert (outcome.refusal is None) == oracle.ask(event), (known, event)
    elif isinstance(event, Reported):
        oracle.report(event)
    else:
        oracle.order(event)
    after = outcome.record
    assert (after.state.value, outcome.known.attempt) == (oracle.state, oracle.attempt), (known, event)
    # A report after an operator's word is evidence of a start all the same, and changes nothing else.
    assert after.by_operator or after.starts == oracle.starts, (known, event)
    return outcome


# --- the tables ------------------------------------------------------------------------------------------------------


def test_every_state_has_its_gates_and_its_strength() -> None:
    assert set(GATES) == set(State)
    assert sorted(WEAKEST_FIRST) == sorted(set(State) - {State.CONFLICT})
    for state in State:
        assert set(GATES[state]) == set(Gate), state


# --- every event in every state that can be reached ------------------------------------------------------------------

Documents = tuple[tuple[str, Gate, Once], ...]
DOCUMENTS: Documents = (
    ("loader", Gate.LOADER, Once.ON),
    ("answer", Gate.ANSWERS, Once.ON),
    ("late", Gate.ANSWERS, Once.ON),
    ("waits", Gate.ANSWERS, Once.ARMED),
    ("loader that waits", Gate.LOADER, Once.ARMED),
)
PAIRS = (
    [*combinations(DOCUMENTS, 2)]
    if is_thorough()
    else drawn([(DOCUMENTS[0], DOCUMENTS[1]), (DOCUMENTS[0], DOCUMENTS[3]), (DOCUMENTS[3], DOCUMENTS[4])])
)
"""Two of them; an ordinary run draws from a loader with an answer, an open one with one that waits, two that wait."""

AGES = 4
"""Times further back than this make no difference: more than `RULES` speaks of."""


def events_at(attempt: int, now: float, documents: Documents) -> list[Happening]:
    """Everything that may happen at a moment."""
    asked = [Requested(name, gate, once, now, looks) for name, gate, once in documents for looks in (False, True)]
    attempts = {attempt, attempt - 1}
    reported = [Reported(word, one, now) for word in ReportKind for one in attempts]
    return [*asked, *reported, *(Ordered(order, now) for order in Order)]


def seen_from(known: Known, record: Record, now: float) -> tuple[object, ...]:
    """What of a record makes a difference from now on."""
    ages = tuple(sorted((name, min(AGES, now - at)) for name, at in record.given.items()))
    recent = tuple(sorted((name, min(AGES, now - at)) for name, at in record.recent.items()))
    return (
        record.state,
        min(AGES, now - record.since),
        record.was_armed,
        record.by_operator,
        record.starts,
        ages,
        recent,
        known.attempt > 1,
    )


def closed_for_good(record: Record, asked: Requested) -> bool:
    """Whether `GATES` calls the gate closed, the grace for what was given before or by an operator's word apart."""
    opening = GATES[record.state][asked.gate]
    given = asked.document in record.given or asked.document in record.recent
    used = record.by_operator or given or asked.at - record.since > RULES.grace
    return opening is Opening.CLOSED or (opening is Opening.GRACE and used)


def oracle_of(known: Known, record: Record) -> Oracle:
    """The oracle, as far as a record goes."""
    oracle = Oracle(RULES)
    oracle.attempt, oracle.state = known.attempt, record.state.value
    oracle.operator_armed, oracle.operator_disarmed = record.was_armed, record.by_operator
    oracle.starts, oracle.first_given, oracle.recent = record.starts, dict(record.given), dict(record.recent)
    oracle.reported_at = oracle.changed_at = record.since
    return oracle


def walk(documents: Documents) -> tuple[int, int]:
    """Let every event happen in every state that can be reached with these documents, and compare; how many states
    that were, and how many transitions with those of time."""
    new = Known()
    waiting, walked, transitions = deque([(new, record_of(ONE, new.fold, RULES), 1.0)]), set(), 0
    while waiting:
        known, record, now = waiting.popleft()
        key = seen_from(known, record, now)
        if key in walked:
            continue
        walked.add(key)
        waiting.append((known, record, now + 1))
        events = events_at(known.attempt, now, documents)
        transitions += 1 + len(events)
        for event in events:
            outcome = both(known, oracle_of(known, record), event)
            after = outcome.record
            if isinstance(event, Requested):
                if closed_for_good(record, event):
                    assert outcome.refusal is not None
                if outcome.refusal is not None:
                    assert isinstance(outcome.refusal, Refusal)
                    assert after.state in (record.state, State.EXHAUSTED)
                if event.without_start:
                    assert after == record
            if record.state is State.INSTALLED and not isinstance(event, Ordered):
                assert after.state is State.INSTALLED
            assert after.starts <= RULES.starts
            waiting.append((outcome.known, after, now))
    assert {key[0] for key in walked} == set(State) - {State.CONFLICT}, "one identity is never a conflict"
    return len(walked), transitions


@pytest.mark.parametrize("documents", PAIRS, ids=lambda pair: " and ".join(name for name, _, _ in pair))
def test_every_event_in_every_state_that_two_documents_reach_is_what_the_rules_say(documents: Documents) -> None:
    assert walk(documents)[0] > 900


def test_every_event_in_every_state_that_more_documents_reach_is_what_the_rules_say() -> None:
    """Takes a minute (``--thorough``). The numbers are in docs/install-once.md."""
    if not is_thorough():
        pytest.skip("takes a minute: --thorough")
    assert walk(DOCUMENTS[:2] + DOCUMENTS[3:4]) == (69_419, 1_249_542)


# --- every order -----------------------------------------------------------------------------------------------------


# --- long histories --------------------------------------------------------------------------------------------------

_asks = st.builds(
    lambda document, looks: (*document, looks), st.sampled_from(DOCUMENTS), st.sampled_from([False, False, True])
)
_steps = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 1, 2, 3, 7]),
        st.one_of(_asks, st.sampled_from(list(ReportKind)), st.sampled_from(list(Order))),
        st.booleans(),
    ),
    max_size=40,
)


@settings(deadline=None, max_examples=examples(150))
@given(steps=_steps, starts=st.integers(1, 3))
def test_the_two_invariants_hold_in_every_history(
    steps: list[tuple[int, tuple[str, Gate, Once, bool] | ReportKind | Order, bool]], starts: int
) -> None:
    rules = replace(RULES, starts=starts)
    known, oracle, now, since_installed = Known(), Oracle(rules), 1.0, False
    for passed, what, current in steps:
        now += passed
        record = record_of(ONE, known.fold, rules)
        event: Happening
        if isinstance(what, ReportKind):
            event = Reported(what, known.attempt if current else known.attempt - 1, now)
        elif isinstance(what, Order):
            event = Ordered(what, now)
        else:
            event = Requested(what[0], what[1], what[2], now, what[3])
        outcome = both(known, oracle, event, rules)
        if isinstance(event, Requested) and since_installed and outcome.refusal is None:
            assert GATES[record.state][event.gate] is not Opening.CLOSED
            assert record.state is State.INSTALLED
            assert event.document not in record.given
        if isinstance(event, Requested) and outcome.refusal is not None:
            assert isinstance(outcome.refusal, Refusal)
        if isinstance(event, Ordered):
            since_installed = event.order is Order.DISARM
        elif event.__class__ is Reported and event.word is ReportKind.INSTALLED and event.attempt == known.attempt:
            since_installed = True
        known = outcome.known


# --- single sentences ------------------------------------------------------------------------------------------------

_ks = Requested("ks", Gate.ANSWERS, Once.ON, 0)
_ipxe = Requested("ipxe", Gate.LOADER, Once.ON, 0)


def known_after(*events: Happening, rules: Rules = RULES) -> Known:
    """What is known of a new machine after events."""
    known = Known()
    for event in events:
        known = step(known, event, rules).known
    return known


def after(*events: Happening, rules: Rules = RULES) -> Record:
    """What a new machine is after events."""
    return record_of(ONE, known_after(*events, rules=rules).fold, rules)


def refused(known: Known, asked: Requested, at: float, rules: Rules = RULES) -> Refusal | None:
    """The rule by which a document is refused at a time."""
    return step(known, asked._replace(at=at), rules).refusal


def test_grace_is_for_documents_that_were_not_given_before_the_report_again_and_again() -> None:
    record = known_after(_ks, Reported(ReportKind.INSTALLED, 1, 1))
    assert refused(record, _ks, 1) is Refusal.INSTALLED
    late = _ks._replace(document="first-boot")
    for at in (1, 2, 3):
        outcome = step(record, late._replace(at=at), RULES)
        record = outcome.known
        assert outcome.refusal is None
    assert refused(record, late, 3.1) is Refusal.INSTALLED
    assert refused(record, _ipxe, 1) is Refusal.INSTALLED


def test_grace_is_not_for_documents_that_an_earlier_start_was_given_shortly_before_the_present_one() -> None:
    """A worker that did not know of the present start yet may have given them in it, and noted nothing."""
    rules = Rules(start=120, starts=5)
    second = _ks, _ipxe._replace(at=1), _ks._replace(at=121), Reported(ReportKind.INSTALLED, 1, 122)
    assert (
        refused(known_after(*second, rules=rules), _ipxe._replace(gate=Gate.ANSWERS), 123, rules) is Refusal.INSTALLED
    )
    early = _ipxe, _ks._replace(at=1), _ks._replace(at=122), Reported(ReportKind.INSTALLED, 1, 123)
    assert refused(known_after(*early, rules=rules), _ipxe._replace(gate=Gate.ANSWERS), 124, rules) is None


def test_a_late_failure_of_an_earlier_start_is_outdone_by_the_success_that_follows() -> None:
    known = known_after(_ks, _ks._replace(at=5), Reported(ReportKind.FAILED, 1, 6), rules=Rules(start=2, starts=3))
    assert record_of(ONE, known.fold, Rules(start=2, starts=3)).state is State.FAILED
    assert step(known, Reported(ReportKind.INSTALLED, 1, 7), RULES).record.state is State.INSTALLED


def test_silence_is_shown_until_the_machine_speaks_and_changes_nothing() -> None:
    record = after(_ks)
    assert not is_silent(record, 4, RULES)
    assert is_silent(record, 4.1, RULES)
    spoken = step(known_after(_ks), Reported(ReportKind.PROGRESS, 1, 5, "packages", 42.0), RULES).record
    assert not is_silent(spoken, 6, RULES)
    assert (spoken.state, spoken.message, spoken.percent) == (State.INSTALLING, "packages", 42.0)
    assert not is_silent(after(_ks, Reported(ReportKind.INSTALLED, 1, 1)), 99, RULES)
    assert not is_silent(after(Ordered(Order.ARM, 0)), 99, RULES)


def test_a_silent_machine_is_selected_by_its_state_and_as_silent() -> None:
    record = after(_ks)
    assert [word for word in STATE_WORDS if is_counted_as(record, word, 4, RULES)] == ["installing"]
    assert [word for word in STATE_WORDS if is_counted_as(record, word, 4.1, RULES)] == ["installing", "silent"]


def test_the_last_step_is_what_the_machine_did_last_in_its_present_start() -> None:
    loader = Requested("loader", Gate.LOADER, Once.ON, 0)
    happened: list[Happening] = []
    expected: list[tuple[Happening, str]] = [
        (loader, "loader"),
        (_ks._replace(at=1), _ks.document),
        (Reported(ReportKind.PROGRESS, 1, 2), "reported progress"),
        (Reported(ReportKind.FAILED, 1, 3), "reported failed"),
        (loader._replace(at=4), "loader"),
        (Reported(ReportKind.INSTALLED, 1, 4), "reported installed"),
        (Ordered(Order.ARM, 5), ""),
    ]
    assert last_step(NOTHING, Record(ONE)) == ""
    for one, said in expected:
        happened.append(one)
        assert last_step(known_after(*happened).fold, after(*happened)) == said


def test_a_report_of_an_earlier_attempt_changes_nothing() -> None:
    known = known_after(_ks, Ordered(Order.ARM, 1), _ks._replace(at=2))
    for word in ReportKind:
        outcome = step(known, Reported(word, 1, 3, "late"), RULES)
        assert outcome.known == known
        assert outcome.event is not None
        assert not outcome.event.counts


def test_the_first_reason_of_a_failure_is_kept() -> None:
    known = known_after(
        _ks, Reported(ReportKind.FAILED, 1, 1, "no disk"), Reported(ReportKind.FAILED, 1, 2, "install failed")
    )
    assert record_of(ONE, known.fold, RULES).message == "no disk"
    assert step(known, Reported(ReportKind.PROGRESS, 1, 3, "a line"), RULES).record.message == "no disk"
    assert step(known, _ks._replace(at=4), RULES).record.message is None
