"""The groups of machines in the console: what documents extend, and what claims by members, rows and last answers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.answers.cases import claims_of
from answerd.answers.catalogue import Catalogue
from answerd.answers.sources import NO_SOURCES
from answerd.console import row_groups
from answerd.console.backend import Backend, Checked
from answerd.console.installs import CurrentStates
from answerd.console.machines import MachineTable, View
from answerd.console.named import named_in
from answerd.console.page_request import PageRequest
from answerd.console.pages import Pages
from answerd.console.row_groups import RowGroups, may_claim_otherwise
from answerd.console.session import Session
from answerd.documents import Key, RawDocument
from answerd.identity import Kind
from answerd.installs.events import Event
from answerd.installs.states import Rules, State
from answerd.server.roles import Role
from tests.support.installs import known, memory_of


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


def test_a_machine_has_the_groups_that_claim_its_row_those_of_loaders_last() -> None:
    found = {machine.name: (machine.groups, machine.formats) for machine in named_in(LAB).by_name}
    assert found == {
        "web-1": (("special", "ubuntu", "boot"), ("toml", "yaml", "ipxe")),
        "web-2": (("second", "ubuntu", "boot"), ("yaml", "ipxe")),
        "db-1": (("rack", "rocky", "boot"), ("yml", "ks", "ipxe")),
        "odd-1": ((), ()),
        "other": (("rack",), ("yml",)),
    }


def found_by(view: View, *records: Event) -> str:
    table = MachineTable()
    table.update(LAB)
    states = CurrentStates(Clock(), memory_of(*records), ()) if records else None  # type: ignore[arg-type]
    return " ".join(machine.name for machine, _ in table.shown(view, states).machines)


class Clock:
    """The clock and the rules of installs."""

    rules = Rules()

    def now(self) -> float:
        return 1_000.0


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (View(group="ubuntu"), "web-1 web-2"),
        (View(group="boot"), "db-1 web-1 web-2"),
        (View(group="rack"), "db-1 other"),
        (View(group="ubuntu", format="toml"), "web-1"),
        (View(format="ipxe"), "db-1 web-1 web-2"),
        (View(search="second"), "web-2"),
        (View(sort="group"), "odd-1 db-1 other web-2 web-1"),
    ],
    ids=str,
)
def test_the_table_is_filtered_and_sorted_by_groups(view: View, expected: str) -> None:
    assert found_by(view) == expected


def test_a_machine_that_no_document_or_row_leads_to_a_group_has_the_group_of_its_last_answer() -> None:
    records = [
        known(name, State.INSTALLED, 1.0, (), given)
        for name, given in (("odd-1", "pattern"), ("new-1", "pattern"), ("web-1", "elsewhere"))
    ]
    assert found_by(View(group="pattern"), *records) == "new-1 odd-1"
    assert found_by(View(group="elsewhere"), *records) == ""
    assert found_by(View(sort="group"), *records) == "new-1 odd-1 db-1 other web-2 web-1"


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
    groups = RowGroups(catalogue)
    assert catalogue.inventory is not None
    for row in catalogue.inventory.rows():
        found = [key.identifier for key in groups.of(row, row.cells())]
        assert found == sorted(document.key.identifier for document in claims_of(catalogue, row).groups)


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        (group("ubuntu", "match: {os: ubuntu}\nx: 1\n"), "ubuntu", False),
        (group("ubuntu", "match: {os: other}\n"), "ubuntu", True),
        (group("ubuntu", "x: 1\n"), "ubuntu", True),
        (group("new", "match: {os: ubuntu}\n"), "", True),
        (group("rack", "members: [web-1]\n", "yml"), "rack", False),
    ],
)
def test_a_change_of_a_match_alone_has_all_rows_looked_at(new: RawDocument, old: str, expected: bool) -> None:
    after = LAB.changed([new], [raw for raw in LAB.documents if raw.key.identifier == old])
    assert may_claim_otherwise(after, LAB, 10) is expected
    assert may_claim_otherwise(LAB, after, 10) is expected


def test_few_kinds_of_rows_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_groups, "_MOST_KEPT", 1)
    assert named_in(LAB).first_groups(9) == ["boot", "rack", "rocky", "second", "special", "ubuntu"]


def test_the_page_of_a_group_shows_whom_it_claims() -> None:
    backend = Backend(lambda: LAB, NO_SOURCES, tuple, lambda: Checked(()), "files:/srv/answers", "answerd 0", ())
    query = {"kind": ["group"], "name": ["ubuntu"], "format": ["yaml"]}
    session = Session("", "", "", Role.READ)
    request = PageRequest("GET", "/console/document", query, {}, "", "", "http", {}, session)
    shown = Pages(backend).document(request).body
    assert b'<a href="/console/machines?group=ubuntu">2 machines</a>: web-1, web-2</dd>' in shown
