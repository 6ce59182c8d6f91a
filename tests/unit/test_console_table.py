"""The tables of the console: found, filtered, sorted and paged, of one set and of the states of a moment."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import gevent
import pytest
from gevent.monkey import get_original
from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.answers.catalogue import Catalogue
from answerd.answers.claims import claims_of
from answerd.answers.operator_names import remembered_machines
from answerd.answers.sources import NO_SOURCES
from answerd.console import differences, document_list, editing, jobs, machine_lines, table
from answerd.console.backend import Backend, CurrentStates
from answerd.console.changes import CHANGES_LISTED, ChangesWanted, DocumentChange, MadeChange, Touched
from answerd.console.document_list import DOCUMENT_SORTS, DocumentsView
from answerd.console.documents import DocumentPages
from answerd.console.first_page import FirstPage, shown_request
from answerd.console.history import HistoryPages
from answerd.console.inventories import InventoryPages
from answerd.console.jobs import Checked
from answerd.console.machine_lines import natural
from answerd.console.page_request import PageRequest
from answerd.console.pages import Pages
from answerd.console.session import Session
from answerd.console.table import MachinesFound, MachinesView, Table, Tables
from answerd.documents import Key, RawDocument
from answerd.identity import Kind, identity_of
from answerd.installs.events import Event
from answerd.installs.events import Kind as EventKind
from answerd.installs.hardware import NAME
from answerd.installs.records import InstallMemory
from answerd.installs.shown import UnknownMachine
from answerd.installs.states import Rules, State
from answerd.server.request_feed import FedLine
from answerd.server.roles import Role
from answerd.store.nodes import Node
from tests.support.installs import forget, known, memory_of
from tests.support.waiting import PATIENCE


def backend_of(catalogue: Callable[[], Catalogue] = Catalogue, **parts: Any) -> Backend:
    """Return the parts of a console, with these."""
    return Backend(catalogue, NO_SOURCES, tuple, lambda _: Checked(()), "a store", "answerd 0", (), **parts)


def documents_of(catalogue: Callable[[], Catalogue], tables: Tables | None = None) -> DocumentPages:
    """The pages of documents of an answer set."""
    backend = backend_of(catalogue)
    return DocumentPages(backend, tables or Tables(catalogue), InventoryPages(backend))


def asked(path: str, **query: str) -> PageRequest:
    given = {name: [value] for name, value in query.items()}
    return PageRequest("GET", path, given, {}, "", "", "http", {}, Session("", "", "", Role.READ))


NOW = 1_000.0
RULES = Rules(silence=60)


def group(name: str, text: str, extension: str = "yaml") -> RawDocument:
    return RawDocument(Key(Kind.GROUP, name, extension), text)


def rows(*lines: str) -> RawDocument:
    return RawDocument(Key(Kind.INVENTORY, "default", "csv"), "\n".join(["id,serial,os,rack", *lines, ""]))


LAB = Catalogue().changed(
    [
        rows("web-1,S1,ubuntu,r1", "web-2,S2,ubuntu,r1", "db-1,S3,rocky,r2", "odd-1,S4,,"),
        group("ubuntu", "match: {os: ubuntu}\n"),
        group("rocky", "# answer: match os=rocky\n", "ks"),
        group("boot", "# answer: match os=*\n", "ipxe"),
        group("second", "match: {serial: S2}\n"),
        group("rack", "members: [db-1, other]\n", "yml"),
        RawDocument(Key(Kind.MACHINE, "web-1", "toml"), 'extends = "special"\n'),
        group("special", "x = 1\n", "toml"),
    ]
)


def states_of(memory: InstallMemory, sightings: Iterable[UnknownMachine] = (), now: float = NOW) -> CurrentStates:
    machines = {identity_of(one.record.name): one for one in remembered_machines(Catalogue(), memory)}
    return CurrentStates(
        memory, [*sightings], now, RULES, lambda one: (one.record.message or "").replace("hunter2", "*"), machines
    )


def names(found: MachinesFound) -> str:
    return " ".join(machine.name for machine in found.machines)


def found_by(view: MachinesView, *records: Event, catalogue: Catalogue = LAB) -> str:
    return names(Table(catalogue).machines(view, states_of(memory_of(*records, rules=RULES)) if records else None))


# --- what the set names -----------------------------------------------------------------------------------------------


def test_a_machine_has_the_groups_that_claim_its_row_those_of_loaders_last() -> None:
    shown = Table(LAB).machines(MachinesView(), None)
    assert {machine.name: (machine.groups, machine.formats, machine.origin) for machine in shown.machines} == {
        "web-1": ("special, ubuntu, boot", "toml, yaml, ipxe", "document"),
        "web-2": ("second, ubuntu, boot", "yaml, ipxe", "inventory"),
        "db-1": ("rack, rocky, boot", "yml, ks, ipxe", "member"),
        "odd-1": ("", "", "inventory"),
        "other": ("rack", "yml", "member"),
    }
    assert shown.groups == ["boot", "rack", "rocky", "second", "special", "ubuntu"]
    assert shown.columns == ["id", "serial", "os", "rack"]


ROWS = rows(
    "Rack10-a,S1,rocky,r10",
    "rack2-b,S2,Rocky Linux,r2",
    "rack2-A,S3,ubuntu,r2",
)
INVENTORY = Key(Kind.INVENTORY, "default", "csv")


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (MachinesView(group="ubuntu"), "web-1 web-2"),
        (MachinesView(group="boot"), "db-1 web-1 web-2"),
        (MachinesView(group="rack"), "db-1 other"),
        (MachinesView(group="ubuntu", format="toml"), "web-1"),
        (MachinesView(format="ipxe"), "db-1 web-1 web-2"),
        (MachinesView("second"), "web-2"),
        (MachinesView(sort="group"), "odd-1 other db-1 web-2 web-1"),
        (MachinesView("rocky"), "db-1"),
        (MachinesView("S-2"), "web-2"),
        (MachinesView("os:ubuntu"), "web-1 web-2"),
        (MachinesView("OS:UBUNTU web-2"), "web-2"),
        (MachinesView("os=ubuntu rack=r1"), "web-1 web-2"),
        (MachinesView("os:u*"), "web-1 web-2"),
        (MachinesView("os:rocky os:ubuntu rack:r1"), "web-1 web-2"),
        (MachinesView("rack:r2"), "db-1"),
        (MachinesView("rack:r"), ""),
        (MachinesView("rack:%"), ""),
        (MachinesView("nothing:r2"), ""),
        (MachinesView('"web-1" group:ubuntu'), "web-1"),
        (MachinesView("web ubuntu"), "web-1 web-2"),
        (MachinesView(sort="rack", descending=True), "db-1 web-1 web-2 odd-1 other"),
        (MachinesView(page=7), "db-1 odd-1 other web-1 web-2"),
    ],
    ids=str,
)
def test_machines_are_searched_filtered_and_sorted(view: MachinesView, expected: str) -> None:
    assert found_by(view) == expected


@pytest.mark.parametrize(
    "search", ["aa:bb:cc:dd:ee:0f", "AA-BB-CC-DD", "aabb.ccdd.ee0f", "mac:AABBCCDDEE0F", "ccddee0f"]
)
def test_a_mac_address_is_found_in_any_spelling(search: str) -> None:
    catalogue = Catalogue().changed(
        [RawDocument(INVENTORY, "id,mac\nweb-1,aa:bb:cc:dd:ee:0f\nweb-2,aa:bb:c0:dd:ee:0e\n")]
    )
    assert found_by(MachinesView(search), catalogue=catalogue) == "web-1"


def test_names_and_cells_sort_naturally() -> None:
    catalogue = Catalogue().changed([ROWS])
    assert found_by(MachinesView(), catalogue=catalogue) == "rack2-A rack2-b Rack10-a"
    assert found_by(MachinesView(sort="rack", descending=True), catalogue=catalogue) == "Rack10-a rack2-A rack2-b"
    assert [*map(natural, ("aabbccddee01", "00-16-3e-00-00-9a"))] == ["aabbccddee01", "00-16-3e-00-00-9a"]


def test_a_filter_says_the_search_without_it() -> None:
    shown = Table(LAB).machines(MachinesView('web os:ubuntu rack:"r1" other', group="boot"), None)
    assert [(word.label, word.value, word.rest) for word in shown.filters] == [
        ("os", "ubuntu", 'web rack:"r1" other'),
        ("rack", "r1", "web os:ubuntu other"),
        ("group", "boot", 'web os:ubuntu rack:"r1" other'),
    ]


def test_a_secret_of_a_row_is_neither_shown_nor_found() -> None:
    catalogue = Catalogue().changed([RawDocument(INVENTORY, "id,root_password,rack\nweb-1,hunter2,r1\n")])
    made = Table(catalogue)
    assert names(made.machines(MachinesView("web"), None)) == "web-1"
    for search in ("hunter", "root_password:hunter2", "root_password:h*"):
        assert names(made.machines(MachinesView(search), None)) == ""
    assert made.machines(MachinesView(columns=["root_password"]), None).machines[0].cells == ["(secret)"]
    assert made.machines(MachinesView(columns=["rack"]), None).machines[0].cells == ["r1"]


def test_many_machines_are_paged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "ON_A_PAGE", 2)
    made = Table(LAB)
    pages = [made.machines(MachinesView(page=number), None) for number in (1, 2, 3, 9)]
    assert [names(one) for one in pages] == ["db-1 odd-1", "other web-1", "web-2", "web-2"]
    assert {(one.found, one.total, one.pages) for one in pages} == {(5, 5, 3)}
    filtered = made.machines(MachinesView("os:*u*", page=2), None)
    assert (names(filtered), filtered.found, filtered.total, filtered.pages) == ("web-1 web-2", 2, 5, 1)
    assert made.names(MachinesView("os:ubuntu"), None) == ["web-1", "web-2"]


CELLS = st.sampled_from(["", "a", "b", "ab"])
MATCHES = st.dictionaries(
    st.sampled_from(["os", "rack", "serial", "nic"]), st.sampled_from(["a", "*b", "?", "*", "S1"])
)


@settings(deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS), max_size=6), st.lists(MATCHES.filter(bool), max_size=4))
def test_the_groups_of_a_row_are_those_that_claim_it(
    lines: list[tuple[str, str]], matches: list[dict[str, str]]
) -> None:
    catalogue = Catalogue().changed(
        [
            rows(*(f"m{number},S{number},{os},{rack}" for number, (os, rack) in enumerate(lines))),
            *(group(f"g{number}", f"match: {match!r}\n") for number, match in enumerate(matches)),
        ]
    )
    groups_of = machine_lines._groups_of_rows(catalogue)
    assert catalogue.inventory is not None
    for row in catalogue.inventory.rows():
        found = [key.identifier for key in groups_of(row, row.cells())]
        assert found == sorted(document.key.identifier for document in claims_of(catalogue, row).groups)


def test_the_page_of_a_group_shows_whom_it_claims() -> None:
    request = asked("/console/document", kind="group", name="ubuntu", format="yaml")
    shown = documents_of(lambda: LAB).show(request).body.decode()
    assert '<a href="/console/machines?group=ubuntu">2 machines</a>' in shown
    assert re.findall('<span class="whole">(.*?)</span>', shown) == ["web-1", "web-2"]


# --- states -----------------------------------------------------------------------------------------------------------

RECORDS = (
    known("m0", State.INSTALLING, 990),
    known("m1", State.INSTALLING, 100),
    known("m2", State.FAILED, 300),
)
MACHINES = Catalogue().changed([RawDocument(Key(Kind.MACHINE, f"m{at}", "toml"), "x = 1\n") for at in (0, 2, 3)])


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (MachinesView(sort="state"), "m2 m0 m3 m1"),
        (MachinesView(sort="state", descending=True), "m1 m3 m0 m2"),
        (MachinesView(sort="since"), "m3 m1 m2 m0"),
        (MachinesView(sort="since", descending=True), "m0 m2 m1 m3"),
        (MachinesView(state="silent"), "m1"),
        (MachinesView(state="new"), "m3"),
        (MachinesView("state:failed state:silent"), "m1 m2"),
        (MachinesView("since:1m"), "m0"),
        (MachinesView("since:12min state:failed"), "m2"),
        (MachinesView("since:11min state:failed"), ""),
        (MachinesView("since:soon"), ""),
    ],
    ids=str,
)
def test_machines_are_sorted_and_filtered_by_states(view: MachinesView, expected: str) -> None:
    assert found_by(view, *RECORDS, catalogue=MACHINES) == expected


def test_a_machine_that_no_document_or_row_leads_to_a_group_has_the_group_of_its_last_answer() -> None:
    records = [
        known(name, State.INSTALLED, 1.0, (), given)
        for name, given in (("odd-1", "pattern"), ("new-1", "pattern"), ("web-1", "elsewhere"))
    ]
    assert found_by(MachinesView(group="pattern"), *records) == "new-1 odd-1"
    assert found_by(MachinesView(group="elsewhere"), *records) == ""
    assert found_by(MachinesView(sort="group"), *records) == "new-1 odd-1 other db-1 web-2 web-1"


def test_the_table_follows_the_states() -> None:
    memory, made = memory_of(rules=RULES), Table(MACHINES)

    def counts(now: float = NOW) -> dict[str, int]:
        return dict(made.counts(states_of(memory, now=now)))

    assert counts() == {"new": 3}
    for record in RECORDS[:2]:
        memory.apply(record)
    assert counts(120) == {"new": 2, "installing": 2}
    assert counts() == {"new": 2, "installing": 1, "silent": 1}
    memory.apply(RECORDS[2])
    assert counts() == {"new": 1, "installing": 1, "silent": 1, "failed": 1}
    for name in ("m1", "m2"):
        forget(memory, name)
    assert counts() == {"new": 2, "installing": 1}, "m1 was known by its record only"
    memory = memory_of(*RECORDS[1:], rules=RULES)  # read again
    assert counts() == {"new": 2, "silent": 1, "failed": 1}


def test_machines_that_nothing_claims_come_and_go() -> None:
    made, memory = Table(MACHINES), memory_of(rules=RULES)
    sightings = [UnknownMachine(name, 1.0, 2.0, 1, "{}", name == "7ABC-1") for name in ("7ABC-1", "7ABC-2", "m0")]
    shown = made.machines(MachinesView(state="unknown"), states_of(memory, sightings)).machines
    assert [(one.name, one.origin, one.message) for one in shown] == [
        ("7ABC-1", "unknown", "answered by the default"),
        ("7ABC-2", "unknown", ""),
    ]
    assert dict(made.counts(states_of(memory, sightings[1:]))) == {"new": 3, "unknown": 1}
    memory.apply(known("7ABC-2", State.INSTALLING, NOW))
    assert dict(made.counts(states_of(memory))) == {"new": 3, "installing": 1}
    assert [one.origin for one in made.machines(MachinesView("7ABC"), states_of(memory)).machines] == ["install"]


def failed(memory: InstallMemory, name: str, at: float, message: str) -> None:
    names = {name: NAME + name}
    memory.apply(Event(name, name, EventKind.GIVEN, at, names, start=1, giving="g", detail="group nodes (ks)"))
    memory.apply(Event(name, name, EventKind.FAILED, at + 1, names, start=1, giving="g", message=message))


def test_why_machines_failed_is_found_and_shown_without_secrets() -> None:
    memory = memory_of(rules=RULES)
    failed(memory, "m0", 10, "No disk, password hunter2")
    failed(memory, "m2", 20, "no network")
    made, states = Table(MACHINES), states_of(memory)
    assert names(made.machines(MachinesView("NO DISK"), states)) == "m0"
    assert names(made.machines(MachinesView("hunter"), states)) == ""
    assert [(one.machines[0].name, one.machines[0].message) for one in made.failures(states, 9)] == [
        ("m2", "no network"),
        ("m0", "No disk, password *"),
    ]


def test_failures_are_gathered_by_their_cause_and_found_by_it() -> None:
    memory = memory_of(rules=RULES)
    for at, message in enumerate(("disk 1 of 8 GB is too small", "no network", "Disk 2 of 16 GB is too small")):
        failed(memory, f"m{at}", 10.0 * at, message)
    made, states = Table(MACHINES), states_of(memory)
    causes = made.failures(states, 9)
    assert [([machine.name for machine in one.machines], one.count) for one in causes] == [
        (["m2", "m0"], 2),
        (["m1"], 1),
    ]
    assert names(made.machines(MachinesView(f"cause:{causes[0].cause}"), states)) == "m0 m2"
    assert names(made.machines(MachinesView("cause:0"), states)) == ""


# --- the table of the set in force ------------------------------------------------------------------------------------


class HeldTable(Table):
    """A table that takes as long to make as a test wants."""

    release = get_original("threading", "Event")()

    def __init__(self, catalogue: Catalogue) -> None:
        self.release.wait(PATIENCE)
        super().__init__(catalogue)


def test_no_page_waits_for_a_table_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    in_force = [LAB]
    tables = Tables(lambda: in_force[0])
    monkeypatch.setattr(table, "Table", HeldTable)
    monkeypatch.setattr(HeldTable, "release", get_original("threading", "Event")())
    assert tables.current(patience=0.01) is None
    HeldTable.release.set()
    first = tables.current(patience=30)
    assert first is not None
    assert first.catalogue is LAB
    HeldTable.release.clear()
    in_force[0] = MACHINES
    assert tables.current(patience=0.01) is first
    HeldTable.release.set()
    second = tables.current(patience=30)
    assert second is not None
    assert second.catalogue is MACHINES
    assert tables.current(patience=0) is second
    monkeypatch.setattr(jobs, "SMALL_SET", 1)
    assert Tables(lambda: MACHINES).current() is None, "no page waits for that of a large set"


def test_a_list_of_the_set_before_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "SMALL_SET", 1)
    in_force = [DOCUMENTS]
    tables = Tables(lambda: in_force[0])
    pages = documents_of(lambda: in_force[0], tables)
    group = asked("/console/document", kind="group", name="base", format="toml")
    assert b"This is being looked up" in pages.show(group).body
    assert tables.current(patience=30) is not None
    assert b"delay" not in pages.show_all(asked("/console/documents")).body
    in_force[0] = LAB
    assert b'hx-get="/console/documents" hx-trigger="load delay' in pages.show_all(asked("/console/documents")).body


def test_the_table_is_let_go_some_time_after_the_last_page(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = Tables(lambda: LAB)
    assert tables.current(patience=30) is not None
    # From now on, or a slow machine still makes it when the time is over.
    monkeypatch.setattr(table, "USED_SECONDS", 0.05)
    assert tables.current(patience=30) is not None
    with gevent.Timeout(30):
        while tables._made.ended is not None:
            gevent.sleep(0.01)
    assert tables.current(patience=30) is not None


# --- documents --------------------------------------------------------------------------------------------------------


def raw(kind: Kind, name: str, extension: str, text: str) -> RawDocument:
    return RawDocument(Key(kind, name, extension), text)


DOCUMENTS = Catalogue().changed(
    [
        raw(Kind.INVENTORY, "default", "csv", "id\nm1\n"),
        raw(Kind.DEFAULT, "", "ks", "lang C\n"),
        raw(Kind.GROUP, "base", "toml", "x = 1\n"),
        raw(Kind.GROUP, "rack", "toml", 'extends = "base"\nmembers = ["m1"]\n'),
        raw(Kind.GROUP, "broken", "yaml", "a: [\n"),
        raw(Kind.MACHINE, "m2", "toml", 'extends = "base"\n'),
        raw(Kind.MACHINE, "m1", "yaml", "members: [x]\n"),
    ]
)


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        ({}, "default - base broken rack"),
        ({"kind": "machine"}, "m1 m2"),
        ({"kind": "group"}, "base broken rack"),
        ({"kind": "inventory"}, "default"),
        ({"search": "m"}, "m1 m2"),
        ({"search": "no such"}, ""),
        ({"sort": "identifier"}, "- base broken default rack"),
        ({"sort": "identifier", "descending": True}, "rack default broken base -"),
        ({"sort": "kind", "descending": True}, "default base broken rack -"),
        ({"sort": "format"}, "default - base rack broken"),
        ({"sort": "extends", "descending": True}, "rack - base broken default"),
        ({"sort": "extended_by", "descending": True}, "base - broken default rack"),
        ({"sort": "problems", "descending": True}, "broken - base default rack"),
        ({"sort": "problems", "descending": True, "kind": "machine"}, "m1 m2"),
    ],
    ids=str,
)
def test_documents_are_found_sorted_and_filtered(view: dict[str, str | bool], expected: str) -> None:
    page = Table(DOCUMENTS).documents.page(DocumentsView(**view))  # type: ignore[arg-type]
    assert " ".join(line.identifier or "-" for line in page.documents) == expected


def test_a_line_says_what_a_document_claims_and_who_extends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Table(DOCUMENTS)
    lines = {line.identifier: line[3:7] for line in made.documents.page(DocumentsView()).documents}
    assert lines == {
        "default": ("", "1 row", 0, 0),
        "": ("", "", 0, 0),
        "base": ("", "", 2, 0),
        "rack": ("base", "1 member", 0, 0),
        "broken": ("", "", 0, 1),
    }
    assert made.documents.extending(Key(Kind.GROUP, "BASE", "toml")) == ["m2", "rack"]
    assert made.documents.extending(Key(Kind.GROUP, "base", "yaml")) == []
    monkeypatch.setattr(document_list, "ON_A_PAGE", 2)
    third = made.documents.page(DocumentsView(page=3))
    assert ([line.identifier for line in third.documents], third.found, third.pages) == (["rack"], 5, 3)


def listed(**query: str) -> str:
    return documents_of(lambda: DOCUMENTS).show_all(asked("/console/documents", **query)).body.decode()


def test_each_heading_leads_to_that_order_and_then_to_its_reverse() -> None:
    first = listed(q="a", kind="group")
    links = re.findall(r'<a href="(/console/documents\?[^"]+)">([^<]+)</a></th>', first)
    assert [name for _, name in links] == ["Document", "Kind", "Format", "Extends", "Extended by", "Problems"]
    assert links[0][0] == "/console/documents?q=a&amp;kind=group&amp;sort=identifier"
    assert links[5][0] == "/console/documents?q=a&amp;kind=group&amp;sort=problems&amp;desc=1"
    assert first.count('aria-sort="none"') == len(DOCUMENT_SORTS)
    again = listed(sort="identifier")
    assert '<th class="" aria-sort="ascending"><a href="/console/documents?sort=identifier&amp;desc=1">' in again
    assert 'aria-sort="descending"><a href="/console/documents?sort=problems">' in listed(sort="problems", desc="1")
    unknown, plain = (re.sub(r'<p class="printed">.*?</p>', "", text) for text in (listed(sort="claims"), listed()))
    assert unknown == plain


# --- other pages ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [0, 1])
def test_the_history_leads_to_older_changes_where_there_are_any(more: int) -> None:
    class Edited(editing.Editing):
        def __init__(self) -> None:
            pass

        def changes(self, wanted: ChangesWanted) -> Sequence[MadeChange]:
            key = Key(Kind.MACHINE, "m1", "ks")
            count = CHANGES_LISTED + more
            return [MadeChange([DocumentChange(count - at, 1.0, "ada", "changed", "", key)]) for at in range(count)]

        def touched(self) -> tuple[Mapping[tuple[int, str], Touched], bool]:
            return {}, True

    shown = HistoryPages(backend_of(editing=Edited())).show(asked("/console/history")).body.decode()
    assert shown.count(">changed</a></td>") == CHANGES_LISTED
    assert ('before=2">Older</a>' in shown, "Older" in shown) == (bool(more), bool(more))


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
    shown = FirstPage(backend_of(age=lambda: age), Tables(Catalogue)).overview(asked("/console/overview")).body
    assert (b"of all nodes was" in shown, (words or b"") in shown) == (words is not None, True)


def test_the_page_of_settings_lists_the_nodes_of_a_shared_database() -> None:
    """docs/many-nodes.md#the-list-of-nodes."""
    nodes = [Node("site-a", "1.0", 1_795_252_440.0, 3.2, 0, 0), Node("site-<b>", "0.9", 1_795_252_400.0, 43.0, 7, 2)]
    shown = Pages(backend_of(nodes=lambda: nodes), Tables(Catalogue)).settings(asked("/console/settings")).body.decode()
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr><td.*?</tr>", shown)]
    assert [[row[0], row[1], *row[3:]] for row in rows] == [
        ["site-a", "1.0", "3 s", "0", "0"],
        ["site-&lt;b&gt;", "0.9", "43 s", "7", "2"],
    ]


@pytest.mark.parametrize(("before", "after", "sign"), [(None, "x", "+"), ("x", None, "-")])
def test_of_a_large_change_the_first_lines_are_shown(before: str | None, after: str | None, sign: str) -> None:
    def lines_of(lines: int) -> list[str]:
        old, new = (None if text is None else "\n".join([text] * lines) for text in (before, after))
        return differences.difference(old, new, "csv", {})

    most = differences.LINES_SHOWN
    assert lines_of(2) == [f"{sign}x"] * 2
    assert lines_of(most) == [f"{sign}x"] * most
    assert lines_of(most + 2) == [*[f"{sign}x"] * most, "@@ 2 more lines @@"]


def test_the_machine_of_a_refused_request_is_not_taken_from_its_sentence() -> None:
    said = 'm3 waits for an operator; "answerd arm m3" lets it install'
    line = FedLine(1.0, "127.0.0.1", "GET", "/ipxe", 200, f"format=ipxe group=waits refused: {said} for m3")
    shown = shown_request(line)
    assert (shown.machine, shown.words) == ("m3", f"got ipxe by group waits refused: {said}")
