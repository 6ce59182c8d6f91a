"""The last contact of each machine: what waits to be written, what is kept, and how it is shown beside records."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from answerd.answers.contacts import LARGEST_LABELS, Asked, contact_of, key_of, without_large_body
from answerd.facts import Facts, Request
from answerd.installs.contacts import (
    KEPT_SECONDS,
    MOST_CONTACTS,
    MOST_PENDING,
    Contact,
    ContactIndex,
    Held,
    Pending,
    contact_as_json,
)
from answerd.installs.states import Rules, State
from answerd.store.states import StateFile, open_state_file

ARM = 'web-01 waits; "answerd arm web-01" lets it install'


def contact(machine: str, at: float, *identities: str, held: Held = Held.REFUSED, status: int = 200) -> Contact:
    return Contact(machine, at, identities or (machine,), "/ipxe", status, ARM, held, "{}")


def record(machine: str, *identities: str, state: State = State.NEW, heard: str | None = None) -> dict[str, Any]:
    return {
        "machine": machine,
        "identities": list(identities),
        "state": state.value,
        "heard": heard,
        "last_step": "groups/room.ks",
    }


# --- what waits to be written ----------------------------------------------------------------------------------------


def test_of_each_machine_the_newest_request_is_written_at_most_once_a_minute() -> None:
    pending: Pending[str] = Pending()
    pending.note("a", "first")
    pending.note("b", "other")
    pending.note("a", "second")
    assert pending.take(100.0, 10) == ["other", "second"]
    pending.note("a", "third")
    pending.note("a", "fourth")
    assert pending.take(100.0 + KEPT_SECONDS / 2, 10) == []
    assert pending.take(100.0 + KEPT_SECONDS, 10) == ["fourth"]
    assert pending.take(100.0 + 3 * KEPT_SECONDS, 10) == []


def test_another_outcome_is_written_at_once_and_once_a_minute() -> None:
    pending: Pending[str] = Pending()
    steps = [(0.0, "given"), (1.0, "given"), (2.0, "refused"), (3.0, "refused"), (4.0, "given"), (59.0, "refused")]
    written: list[tuple[float, str]] = []
    for at, outcome in steps:
        pending.note("a", outcome, outcome)
        written += [(at, one) for one in pending.take(100.0 + at, 10)]
    assert written == [(0.0, "given"), (2.0, "refused")]
    assert pending.take(100.0 + KEPT_SECONDS, 10) == ["refused"]
    pending.note("a", "given", "given")
    assert pending.take(100.0 + KEPT_SECONDS + 1, 10) == ["given"]


def test_few_are_written_at_a_time_and_none_is_lost_for_that() -> None:
    pending: Pending[int] = Pending()
    for number in range(25):
        pending.note(str(number), number)
    assert [pending.take(0.0, 10) for _ in range(3)] == [[*range(10)], [*range(10, 20)], [*range(20, 25)]]


def test_what_waits_and_what_was_written_is_bounded_and_the_oldest_go_first() -> None:
    pending: Pending[int] = Pending()
    for number in range(MOST_PENDING + 5):
        pending.note(str(number), number)
    assert pending.take(0.0, 2 * MOST_PENDING) == [*range(5, MOST_PENDING + 5)]
    for number in range(MOST_CONTACTS + 1):
        pending.note(f"m{number}", number)
        pending.take(1.0, 1)
    pending.note("m0", -1)  # it is not known any more that it was written a moment ago
    assert pending.take(1.0, 1) == [-1]


# --- what is kept ----------------------------------------------------------------------------------------------------


def asked(query: str, body: bytes = b"", name: str = "") -> Asked:
    return Asked(Request("/ks", query, (), body, "192.0.2.7"), name, 7.0, 404, "why", Held.NOT)


def test_a_contact_has_the_hardware_the_labels_and_no_secret() -> None:
    found = contact_of(asked("mac=98:fa:9b:50:d8:10&serial=S-1&root_password=geheim", name="web-01"))
    assert found is not None
    assert found.machine == "web-01"
    assert found.identities == ("web01", "98fa9b50d810", "s1")
    shown = contact_as_json(found)
    assert (shown["asked"], shown["status"], shown["got"]) == ("/ks", 404, "why")
    assert shown["labels"]["serial"] == ["S-1"]
    assert "geheim" not in json.dumps(shown)


def test_labels_are_kept_up_to_4_kb() -> None:
    found = contact_of(asked("mac=98:fa:9b:50:d8:10&" + "&".join(f"l{number}={'x' * 90}" for number in range(80))))
    assert found is not None
    assert LARGEST_LABELS - 200 < len(found.labels) <= LARGEST_LABELS
    assert json.loads(found.labels)["mac"] == ["98:fa:9b:50:d8:10"]


@pytest.mark.parametrize("query", ["", "product=x", "serial=None", "mac=00:00:00:00:00:00"])
def test_a_request_that_names_no_machine_leaves_no_contact(query: str) -> None:
    assert contact_of(asked(query)) is None


def test_a_large_body_is_not_held() -> None:
    small, large = asked("", b"x" * LARGEST_LABELS).request, asked("", b"x" * (LARGEST_LABELS + 1)).request
    assert without_large_body(small) is small
    assert without_large_body(large).body == b""


@pytest.fixture
def states(tmp_path: Path) -> StateFile:
    return open_state_file(str(tmp_path / "states.db"), Rules())[0]


def test_the_file_has_the_newest_of_each_machine_and_the_last_20_000(states: StateFile) -> None:
    assert states.contacts() == []
    states.note_contacts([contact("a", 2.0, "a", "s1"), contact("b", 1.0)])
    states.note_contacts([contact("a", 1.0, "s1")])  # by another process
    states.note_contacts([contact("b", 3.0, status=404)])
    assert sorted(states.contacts()) == [contact("a", 2.0, "a", "s1"), contact("b", 3.0, status=404)]
    states.note_contacts([contact(f"m{number}", 10.0 + number) for number in range(MOST_CONTACTS - 1)])
    kept = {one.machine for one in states.contacts()}
    assert len(kept) == MOST_CONTACTS
    assert {"b", "m0"} <= kept
    assert "a" not in kept


def test_the_contacts_of_some_machines_are_those_that_have_one_of_their_identities(states: StateFile) -> None:
    assert (states.contacts({"a"}), states.contacts_written()) == ([], 0.0)
    made = [contact("a", 1.0, "a", "s1"), contact("b", 2.0, "b", "s11"), contact("c", 3.0, "c", "s2")]
    states.note_contacts(made)
    assert states.contacts({"s1", "c"}) == [made[0], made[2]]
    assert states.contacts(frozenset()) == []
    written = states.contacts_written()
    states.note_contacts([contact("a", 1.5, "a", "s1")])  # no newer than that of another machine
    assert states.contacts_written() != written


def test_a_contact_is_found_by_what_its_machine_said_last(states: StateFile) -> None:
    states.note_contacts([contact("a", 1.0, "a", "m", "s1", "shared"), contact("b", 1.0, "b", "shared")])
    states.note_contacts([contact("a", 3.0, "a", "m", "s2")])
    states.note_contacts([contact("a", 2.0, "a", "m", "s3")])  # late, by another process

    def found(*identities: str) -> set[str]:
        return {one.machine for one in states.contacts({*identities})}

    assert (found("a"), found("s2")) == ({"a"}, {"a"})
    assert (found("s1"), found("s3"), found("shared")) == (set(), set(), {"b"})
    many = [contact(f"m{number}", 10.0) for number in range(MOST_CONTACTS - 1)]
    states.note_contacts(many)
    assert (found("b"), found("a", "s2")) == (set(), {"a"})
    assert found(*[one.machine for one in many]) == {one.machine for one in many}


def test_new_hardware_with_a_name_does_not_wait_for_the_minute_of_the_old_one() -> None:
    """A board is exchanged, and refused as the old one was: an operator who looks is to see it."""
    pending: Pending[str] = Pending()
    for at, mac in enumerate(("98:fa:9b:00:00:0a", "98:fa:9b:00:00:0d")):
        for query in (f"mac={mac}", f"mac={mac}&serial=S"):
            key = key_of(Facts(Request("/ipxe", query, (), b"", "")), "node0657")
            assert key is not None
            pending.note(key, mac, "refused")
            assert pending.take(float(at), 10) == ([mac] if "serial" not in query else [])


@pytest.mark.parametrize("seed", range(40))
def test_the_last_request_that_a_row_is_recognised_by_is_its_last_contact(states: StateFile, seed: int) -> None:
    """Names go from one hardware to another, as where a board is exchanged and its row is written anew."""
    draw = Random(seed)
    boxes = [(f"m{number}", f"s{number}") for number in range(4)]
    names = ["node1", "node2", "node3", "node4"]
    pending: Pending[Contact] = Pending()
    last: dict[str, float] = {}
    for at in range(1, 40):
        if draw.random() < 0.3:
            draw.shuffle(names)
        mac, serial = boxes[number := draw.randrange(len(boxes))]
        name = names[number] if draw.random() < 0.7 else ""
        query = f"mac={mac}&serial={serial}" if draw.random() < 0.5 else f"mac={mac}"
        key = key_of(Facts(Request("/ks", query, (), b"", "")), name)
        assert key is not None
        said = [identity for identity in (name, *query.removeprefix("mac=").split("&serial=")) if identity]
        pending.note(key, contact(said[0], float(at), *said), 200)
        states.note_contacts(pending.take(float(at), 10))
        last[mac] = float(at)
    states.note_contacts(pending.take(1_000.0, 1_000))
    index = ContactIndex(states.contacts())
    for name, (mac, serial) in zip(names, boxes, strict=True):
        found = index.of(record(name, mac, serial))
        assert (found.at if found is not None else None) == last.get(mac)


# --- how it is shown -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("heard", "step"),
    [
        (None, f"refused: {ARM}"),
        ("1970-01-01T00:00:09Z", f"refused: {ARM}"),
        ("1970-01-01T00:00:10Z", "groups/room.ks"),
        ("1970-01-01T00:00:11Z", "groups/room.ks"),
    ],
)
def test_the_later_one_of_event_and_contact_is_shown(heard: str | None, step: str) -> None:
    index = ContactIndex([contact("98:fa:9b:50:d8:10", 10.0, "98fa9b50d810")])
    shown = index.shown_with(record("web-01", "98-FA-9B-50-D8-10", heard=heard))
    assert shown["last_step"] == step
    assert index.shown_with(record("web-02", heard=heard))["heard"] == heard


def test_a_machine_that_was_only_refused_has_that_as_its_step() -> None:
    index = ContactIndex([contact("98:fa:9b:50:d8:10", 10.0, "98fa9b50d810")])
    shown = index.shown_with(record("web-01", "98-FA-9B-50-D8-10", heard="1970-01-01T00:00:10Z") | {"last_step": None})
    assert shown["last_step"] == f"refused: {ARM}"


def test_a_machine_has_the_newest_contact_of_its_identities() -> None:
    index = ContactIndex([contact("a", 1.0, "a", "s1"), contact("b", 2.0, "b", "s1"), contact("c", 3.0, "c")])
    found = index.of(record("web-01", "a", "s1"))
    assert found is not None
    assert found.machine == "b"


def test_a_name_that_other_hardware_has_now_is_no_contact_of_it() -> None:
    """web-01 was refused, its row is called old-01 now, and a new machine has its name."""
    index = ContactIndex([contact("web-01", 1.0, "web01", "m1", "s1")])
    old, new = record("old-01", "m1", "s1", state=State.INSTALLED), record("web-01", "m2", "s2")
    assert index.of(new) is None
    assert index.of(old) is not None
    for records in ([old, new], [new, old]):
        assert [one["machine"] for one in index.waiting(records)] == ["old-01"]
    assert [*index.waiting([new], are_all=False)] == []


@pytest.mark.parametrize(
    ("identities", "hardware"),
    [(("web01",), ("m1",)), (("web01", "s9"), ()), (("web01", "s9"), ("web-01",)), (("web01", "m1"), ("m1", "s1"))],
)
def test_a_name_counts_where_one_of_both_has_no_hardware(
    identities: tuple[str, ...], hardware: tuple[str, ...]
) -> None:
    assert ContactIndex([contact("web-01", 1.0, *identities)]).of(record("web-01", *hardware)) is not None


@pytest.mark.parametrize(
    ("state", "waits"),
    [
        (State.NEW, True),
        (State.INSTALLED, True),
        (State.EXHAUSTED, True),
        (State.CONFLICT, True),
        (State.COPIED, False),  # it goes on from its disk, and nobody waits for an order
        (State.ARMED, False),
        (State.INSTALLING, False),
        (State.FAILED, False),
    ],
)
def test_who_waits_for_an_operator(state: State, waits: bool) -> None:
    index = ContactIndex([contact("a", 1.0, "a", "web01")])
    assert bool([*index.waiting([record("web-01", state=state)])]) is waits


@pytest.mark.parametrize(
    ("held", "state", "step"),
    [
        (Held.REFUSED, State.NEW, f"refused: {ARM}"),
        (Held.REFUSED, State.INSTALLED, f"refused: {ARM}"),
        (Held.WAITS, State.NEW, f"waits: {ARM}"),
        (Held.WAITS, State.EXHAUSTED, f"waits: {ARM}"),
        (Held.WAITS, State.CONFLICT, f"waits: {ARM}"),
        (Held.WAITS, State.INSTALLED, ARM),
        (Held.WAITS, State.ARMED, ARM),
        (Held.NOT, State.NEW, ARM),
    ],
)
def test_the_last_step_of_a_machine_that_was_held(held: Held, state: State, step: str) -> None:
    index = ContactIndex([contact("a", 1.0, "a", "web01", held=held)])
    assert index.shown_with(record("web-01", state=state))["last_step"] == step


def test_those_who_wait_are_listed_once_the_last_first_with_or_without_a_record() -> None:
    contacts = [
        contact("old", 1.0, "m1", "s1"),  # the same board by another port
        contact("new", 5.0, "m2", "s1"),
        contact("bare", 6.0, "m3"),
        contact("given", 7.0, "m4", held=Held.NOT),
        contact("given", 2.0, "m4"),
    ]
    waiting = [*ContactIndex(contacts).waiting([record("web-01", "s1")])]
    assert [(one["machine"], one["state"], one["heard"]) for one in waiting] == [
        ("bare", "new", "1970-01-01T00:00:06Z"),
        ("web-01", "new", "1970-01-01T00:00:05Z"),
    ]
