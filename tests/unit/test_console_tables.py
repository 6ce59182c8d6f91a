"""The tables of the console follow each change of the answer set, at the cost of what has changed."""

from __future__ import annotations

import re
from collections.abc import Callable
from heapq import merge
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from answerd.answers.catalogue import Catalogue
from answerd.answers.copy_on_write import CopyOnWriteMap
from answerd.answers.sources import NO_SOURCES
from answerd.console import editing, listing, machines, named
from answerd.console.backend import Backend, Checked
from answerd.console.installs import CurrentStates
from answerd.console.listing import Listings, listing_of
from answerd.console.machines import MachineTable
from answerd.console.named import MachineEntry, NamedMachines, named_in
from answerd.console.page_request import PageRequest
from answerd.console.pages import Pages
from answerd.console.preparing import TablePreparation
from answerd.documents import Key, RawDocument
from answerd.identity import Kind
from answerd.installs.events import Event
from answerd.installs.shown import UnknownMachine
from answerd.installs.states import Rules, State
from answerd.store.nodes import Node
from tests.support.installs import forget, known, memory_of

NAMES = ("aabbccddee01", "aabbccddee02", "AA-BB-CC-DD-EE-01", "web-1", "web-2")
GROUP_TEXTS = (
    "x = 1\n",
    'members = ["web-1", "aabbccddee02"]\n',
    'members = ["other"]\n',
    'extends = "base"\n',
    'match = {id = "web-*"}\n',
    'x = 2\nmatch = {id = "web-*"}\n',
    'match = {mac = "*02"}\n',
)
MACHINE_TEXTS = ("x = 1\n", 'extends = "base"\n', 'extends = "rack"\n', "= =")
ROWS = ("web-1,aa:bb:cc:dd:ee:01", "web-2,aa:bb:cc:dd:ee:02", "web-3,aa:bb:cc:dd:ee:01", ",aa:bb:cc:dd:ee:03", "x,no")

MACHINES = st.builds(
    lambda name, extension, text: RawDocument(Key(Kind.MACHINE, name, extension), text),
    st.sampled_from(NAMES),
    st.sampled_from(["toml", "yaml"]),
    st.sampled_from(MACHINE_TEXTS),
)
GROUPS = st.builds(
    lambda name, text: RawDocument(Key(Kind.GROUP, name, "toml"), text),
    st.sampled_from(["base", "rack"]),
    st.sampled_from(GROUP_TEXTS),
)
INVENTORIES = st.builds(
    lambda rows: RawDocument(Key(Kind.INVENTORY, "default", "csv"), "\n".join(["id,mac", *rows, ""])),
    st.lists(st.sampled_from(ROWS), max_size=3, unique=True),
)
STEPS = st.lists(st.tuples(st.booleans(), st.one_of(MACHINES, GROUPS, INVENTORIES)), min_size=1, max_size=12)


def changed(catalogue: Catalogue, raw: RawDocument, *, is_there: bool) -> Catalogue:
    """The set with a document in place of the one with its key, or without that one."""
    tables = catalogue.inventory.tables if catalogue.inventory is not None else {}
    before = [document for document in (*catalogue.documents, *tables) if document.key == raw.key]
    return catalogue.changed([raw] if is_there else [], before)


def shown(found: NamedMachines) -> list[tuple[Any, ...]]:
    machines = [
        (machine.name, machine.identity, machine.formats, machine.groups, machine.known_from, machine.searched)
        for machine in found.by_name
    ]
    assert [machine.name for machine in found.by_name] == sorted(machine.name for machine in found.by_name)
    assert {identity: id(machine) for identity, machine in found.by_identity.items()} == {
        machine.identity: id(machine) for machine in found.by_name
    }
    return sorted(machines)


ONE = RawDocument(Key(Kind.MACHINE, "aabbccddee01", "toml"), "x = 1\n")
SHARED = ["id,mac", "web-1,aa:bb:cc:dd:ee:01", "web-3,aa:bb:cc:dd:ee:01"]
INVENTORY = Key(Kind.INVENTORY, "default", "csv")


@settings(max_examples=150)
@given(STEPS)
@example(
    [
        (True, ONE),
        (True, RawDocument(INVENTORY, "\n".join(SHARED))),
        (True, RawDocument(INVENTORY, "\n".join([SHARED[0], SHARED[2], SHARED[1]]))),
    ]
)
def test_a_table_that_follows_is_the_table_that_is_made_anew(steps: list[tuple[bool, RawDocument]]) -> None:
    catalogue = Catalogue().changed([RawDocument(Key(Kind.MACHINE, f"m{at}", "toml"), "x = 1\n") for at in range(3)])
    table, listings = named_in(catalogue), Listings()
    listings.update(catalogue)
    for is_there, raw in steps:
        catalogue = changed(catalogue, raw, is_there=is_there)
        if not table.follow(catalogue):
            table = named_in(catalogue)
        anew, of_all = named_in(catalogue), listing_of(catalogue)
        assert shown(table) == shown(anew)
        assert table.first_groups(9) == anew.first_groups(9)
        followed = listings.of(catalogue)
        assert [*followed.shared] == [*of_all.shared]
        assert [*followed.machine_names] == [*of_all.machine_names]
        assert {*followed.machines} == {*of_all.machines}
        assert {group: sorted(names) for group, names in followed.extending.items()} == {
            group: sorted(names) for group, names in of_all.extending.items()
        }


def test_a_change_of_one_document_or_row_looks_at_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    raws = [RawDocument(Key(Kind.MACHINE, f"m{at}", "toml"), "x = 1\n") for at in range(500)]
    rows = RawDocument(Key(Kind.INVENTORY, "default", "csv"), "id\n" + "".join(f"row-{at}\n" for at in range(500)))
    catalogue = Catalogue().changed([*raws, rows])
    table, listings = MachineTable(), Listings()
    table.update(catalogue)
    listings.update(catalogue)
    monkeypatch.setattr(machines, "named_in", None)
    monkeypatch.setattr(listing, "listing_of", None)
    looked: list[str] = []
    machine_of = named._machine

    def looked_at(catalogue: Catalogue, identity: str) -> object:
        looked.append(identity)
        return machine_of(catalogue, identity)

    monkeypatch.setattr(named, "_machine", looked_at)

    after = catalogue.changed([RawDocument(raws[7].key, "x = 2\n")], [raws[7]])
    table.update(after)
    listings.update(after)
    assert looked == ["m7"]

    looked.clear()
    last = after.changed([RawDocument(rows.key, rows.text.replace("row-7\n", "new-7\n"))], [rows])
    table.update(last)
    assert sorted(looked) == ["new7", "row7"]
    assert [machine.name for machine in table.shown(machines.View(search="7"), None).machines[0][:1]] == ["m107"]


def test_many_machines_that_change_are_moved_at_once() -> None:
    raws = [RawDocument(Key(Kind.MACHINE, f"m{at:03}", "toml"), "x = 1\n") for at in range(300)]
    catalogue = Catalogue().changed(raws)
    table = named_in(catalogue)
    new = [RawDocument(raw.key, 'extends = "rack"\n') for raw in raws[100:200]]
    after = catalogue.changed(new, raws[100:200])

    assert table.follow(after)
    assert shown(table) == shown(named_in(after))
    assert table.first_groups(9) == ["rack"]


def test_a_large_change_is_prepared_and_no_page_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (machines, listing):
        monkeypatch.setattr(module, "is_small", lambda catalogue: False)
    before = Catalogue().changed([RawDocument(Key(Kind.MACHINE, "m1", "toml"), "x = 1\n")])
    two = Catalogue().changed([RawDocument(Key(Kind.MACHINE, "m2", "toml"), "x = 1\n")])
    table, listings = MachineTable(), Listings()
    in_force = [before]
    made: list[object] = []

    def prepare(work: Callable[[Catalogue], None], catalogue: Catalogue) -> None:
        made.append(catalogue)
        work(catalogue)

    preparation = TablePreparation(lambda: in_force[0], [table, listings], run=prepare)
    preparation.poll()
    assert table.catalogue is listings.catalogue is before
    made.clear()

    for each in (table, listings):
        each.is_prepared_elsewhere = True
    table.update(two)
    assert [document.key.identifier for document in listings.of(two).machines] == ["m1"]
    assert [machine.name for machine, _ in table.shown(machines.View(), None).machines] == ["m1"]
    in_force[0] = two
    preparation.poll()
    assert made == [two, two]
    assert [document.key.identifier for document in listings.of(two).machines] == ["m2"]
    assert [machine.name for machine, _ in table.shown(machines.View(), None).machines] == ["m2"]


@given(st.lists(st.tuples(st.integers(0, 9), st.one_of(st.none(), st.integers(0, 3))), max_size=12))
def test_the_keys_that_differ_are_found(steps: list[tuple[int, int | None]]) -> None:
    before: CopyOnWriteMap[int, str] = CopyOnWriteMap()
    for number in range(5):
        before[number] = "first"
    after = before.copy()
    for key, value in steps:
        if value is not None:
            after[key] = str(value)
        elif key in after:
            del after[key]
    differing = {key for key in range(10) if before.get(key) is not after.get(key)}
    assert after.keys_that_differ(before) == before.keys_that_differ(after) == differing


@pytest.mark.parametrize(
    ("age", "words"),
    [
        (0.4, None),
        (61.0, b"was last read 61 seconds ago"),
        (float("inf"), b"was never read"),
    ],
)
def test_the_first_page_says_how_old_the_set_of_a_node_is(age: float, words: bytes | None) -> None:
    """docs/many-nodes.md#when-the-database-is-away."""
    backend = Backend(
        Catalogue, NO_SOURCES, tuple, lambda: Checked(()), "postgresql://db/lab", "answerd 0", (), age=lambda: age
    )
    shown = Pages(backend).overview(PageRequest("GET", "/console/overview", {}, {}, "", "", "http", {})).body
    assert (b"of all nodes was" in shown, (words or b"") in shown) == (words is not None, True)


def test_the_page_of_settings_lists_the_nodes_of_a_shared_database() -> None:
    """docs/many-nodes.md#the-list-of-nodes."""
    nodes = [Node("site-a", "1.0", 1_795_252_440.0, 3.2, 0, 0), Node("site-<b>", "0.9", 1_795_252_400.0, 43.0, 7, 2)]
    backend = Backend(
        Catalogue, NO_SOURCES, tuple, lambda: Checked(()), "postgresql://db/lab", "answerd 0", (), nodes=lambda: nodes
    )
    request = PageRequest("GET", "/console/settings", {}, {}, "", "", "http", {})
    shown = Pages(backend).settings(request).body.decode()
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr><td.*?</tr>", shown)]
    assert [[row[0], row[1], *row[3:]] for row in rows] == [
        ["site-a", "1.0", "3 s", "0 changes", "0 events"],
        ["site-&lt;b&gt;", "0.9", "43 s", "7 changes", "2 events"],
    ]


# --- states -----------------------------------------------------------------------------------------------------------


class Clock:
    """The clock and the rules of installs."""

    rules = Rules(silence=60)

    def now(self) -> float:
        return 1_000.0


def states_of(*records: Event) -> CurrentStates:
    memory = memory_of(*records, rules=Clock.rules)
    return CurrentStates(Clock(), memory, ())  # type: ignore[arg-type]


def test_a_machine_that_only_a_default_answered_is_marked() -> None:
    sightings = [UnknownMachine(name, 1.0, 2.0, 1, "{}", name == "7ABC-1") for name in ("7ABC-1", "7ABC-2")]
    states = CurrentStates(Clock(), memory_of(rules=Clock.rules), sightings)  # type: ignore[arg-type]
    table = MachineTable()
    table.update(Catalogue())
    lines = table.shown(machines.View(), states).machines
    assert {entry.name: install.message for entry, install in lines if install is not None} == {
        "7ABC-1": "answered by the default",
        "7ABC-2": "",
    }


RECORDS = (
    known("m0", State.INSTALLING, 990),
    known("m1", State.INSTALLING, 100),
    known("m2", State.FAILED, 300),
)


def test_words_and_times_are_those_of_each_machine() -> None:
    states, names = states_of(*RECORDS), ["m2", "m1", "m0", "nobody"]
    assert states.words(names) == ["failed", "silent", "installing", "new"]
    assert states.sinces(names) == [300, 100, 990, 0]
    assert states.words(names) == [states.of(name).shown for name in names]
    assert states.counts() == {"failed": 1, "silent": 1, "installing": 1}
    assert states_of(RECORDS[0]).words(names) == ["new", "new", "installing", "new"]


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (machines.View(sort="state"), "m2 m0 m3 m1"),
        (machines.View(sort="state", descending=True), "m1 m3 m0 m2"),
        (machines.View(sort="since"), "m3 m1 m2 m0"),
        (machines.View(sort="since", descending=True), "m0 m2 m1 m3"),
        (machines.View(state="silent"), "m1"),
        (machines.View(state="new"), "m3"),
    ],
    ids=str,
)
def test_the_table_is_sorted_and_filtered_by_states(view: machines.View, expected: str) -> None:
    raws = [RawDocument(Key(Kind.MACHINE, f"m{at}", "toml"), "x = 1\n") for at in (0, 2, 3)]
    table = MachineTable()
    table.update(Catalogue().changed(raws))
    shown = table.shown(view, states_of(*RECORDS)).machines
    assert " ".join(machine.name for machine, _ in shown) == expected


def test_others_are_looked_for_again_when_a_record_comes_or_goes() -> None:
    table, memory = MachineTable(), memory_of(rules=Clock.rules)
    table.update(Catalogue())
    for count, record in enumerate(RECORDS, 1):
        memory.apply(record)
        assert table.count(CurrentStates(Clock(), memory, ())) == count  # type: ignore[arg-type]
    forget(memory, "m1")
    assert table.count(CurrentStates(Clock(), memory, ())) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize(("before", "after", "sign"), [(None, "x", "+"), ("x", None, "-")])
def test_of_a_large_change_the_first_lines_are_shown(before: str | None, after: str | None, sign: str) -> None:
    def lines_of(lines: int) -> list[str]:
        old, new = (None if text is None else "\n".join([text] * lines) for text in (before, after))
        return editing._difference(old, new, "csv", {})

    most = editing.LINES_SHOWN
    assert lines_of(2) == [f"{sign}x"] * 2
    assert lines_of(most) == [f"{sign}x"] * most
    assert lines_of(most + 2) == [*[f"{sign}x"] * most, "@@ 2 more lines @@"]


@given(st.lists(st.integers(0, 60), max_size=60), st.lists(st.integers(0, 60), max_size=3))
def test_few_machines_are_put_among_many_as_a_merge_puts_them(many: list[int], few: list[int]) -> None:
    def entries(numbers: list[int], origin: str) -> list[MachineEntry]:
        return [MachineEntry(f"m{number:02}", str(number), known_from=origin) for number in sorted(numbers)]

    known, more = entries(many, "document"), entries(few, "install")
    with patch.object(machines, "_COPIED_AT_ONCE", 7):
        assert machines._merged(known, more) == [*merge(known, more, key=lambda machine: machine.name)]
