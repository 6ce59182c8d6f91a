"""What a request, a report and an order name: the rules of docs/install-once.md#what-a-machine-is, one by one."""

from __future__ import annotations

from contextlib import suppress

import pytest

from answerd.answers.operator_names import (
    machine_named,
    refused_by_name,
    remembered_machines,
    rows_in_conflict,
    still_refused,
)
from answerd.errors import BrokenDocument, CannotFill, GateClosed, StatesUnknown
from answerd.installs.hardware import SERIAL, Asked
from answerd.installs.records import MOST_CARRIED, Refused
from answerd.installs.sentences import script, sentence
from answerd.installs.states import Order, Record, Refusal, ReportKind, Rules, State
from tests.support.fleet import Fleet
from tests.support.installs import RememberedInstalls, known, memory_of

SCRIPT = "#!ipxe\n# answer: match file=ipxe\n# answer: once\nkernel {{ report }}\n"
WAITS = "#!ipxe\n# answer: match file=wait.ipxe\n# answer: once armed\nkernel {{ report }}\n"


class Site:
    """Machines that ask for one script, in process."""

    def __init__(self, fleet: Fleet) -> None:
        self.installs = RememberedInstalls()
        self.fleet = fleet.remembering(self.installs)
        self.installs.catalogue = lambda: self.fleet.loader.catalogue
        self.fleet.write({"groups/rack.ipxe": SCRIPT, "groups/wait.ipxe": WAITS})

    def table(self, *rows: str) -> None:
        """Write the inventory."""
        self.fleet.write({"inventory.csv": "\n".join(["id,mac,serial", *rows, ""])})

    def ask(self, query: str, file: str = "ipxe") -> str:
        """The report's URL where the script is given; empty where it is refused."""
        self.installs.clock += 1
        try:
            text = self.fleet.text(f"/{file}?{query}", host="s")
        except GateClosed:
            return ""
        return next((word for word in text.split() if "/report/" in word), "")

    def screen(self, query: str) -> list[str]:
        """The lines that a refused machine shows."""
        return self.fleet.text(f"/ipxe?{query}", host="s").splitlines()

    def done(self, query: str) -> None:
        """A machine installs."""
        url = self.ask(query)
        assert url, "it is refused"
        self.installs.clock += 1
        self.installs.report(url, ReportKind.INSTALLED)

    def order(self, name: str, order: Order = Order.ARM) -> None:
        """An operator's order."""
        self.installs.clock += 1
        self.installs.order(name, order, self.fleet.loader.catalogue)

    def states(self) -> dict[str, State]:
        """The states by the names of machines."""
        found = remembered_machines(self.fleet.loader.catalogue, self.installs.memory)
        return {one.record.name: one.record.state for one in found}


@pytest.fixture
def site(fleet: Fleet) -> Site:
    """A site without machines."""
    return Site(fleet)


A, B, C = "mac=98:fa:9b:00:00:0a", "mac=98:fa:9b:00:00:0b", "mac=98:fa:9b:00:00:0c"
MAC_A, MAC_B, MAC_C = (text[4:] for text in (A, B, C))


def test_a_renamed_row_takes_its_state_along_and_its_old_name_begins_anew(site: Site) -> None:
    site.table(f"web-1,{MAC_A},")
    site.done(A)
    site.table(f"old-1,{MAC_A},", f"web-1,{MAC_B},")
    assert site.ask(A) == ""
    assert site.ask(B)
    site.order("web-1")
    assert site.ask(A) == ""
    assert site.states() == {"old-1": State.INSTALLED, "web-1": State.ARMED}


def test_a_row_that_gains_an_address_finds_its_state_by_any_other(site: Site) -> None:
    site.done(f"{A}&serial=S1")
    site.table(f"web-1,{MAC_B},S1")
    assert site.ask(B) == ""


def test_a_report_closes_what_came_with_what_it_was_given_to(site: Site) -> None:
    url = site.ask(A)
    assert site.ask(f"{A}&serial=S1000") == url, "it is the same giving"
    assert site.ask(f"serial=S1000&{B}") == url
    site.installs.report(url)
    for query in (A, B, "serial=S1000"):
        assert site.ask(query) == "", query


def test_what_comes_with_an_installed_identity_is_closed_with_it(site: Site) -> None:
    site.done(A)
    assert site.ask(f"{A}&serial=S1000") == ""
    assert site.ask("serial=S1000") == ""
    assert site.ask(f"serial=S2000&{B}"), "another machine"


def test_a_card_that_moves_to_a_row_that_is_known_by_its_board_does_not_count(site: Site) -> None:
    site.table("web-1,,S1000", "web-2,,S2000")
    site.done(f"{A}&serial=S1000")
    assert site.ask(f"{A}&serial=S2000"), "web-2 never installed"
    assert site.ask(f"{B}&serial=S1000") == ""
    assert site.ask(f"{A}&serial=S1000") == ""


def test_a_name_alone_only_refuses_and_its_sentence_opens_it(site: Site) -> None:
    site.table(f"web-1,{MAC_A},")
    site.done(A)
    site.table(f"web-1,{MAC_B},")
    assert [row.id for row, _, _ in refused_by_name(site.fleet.loader.catalogue, site.installs.memory)] == ["web-1"]
    lines = site.screen(B)
    assert lines[1].startswith("echo web-1 was installed ")
    assert lines[-2] == "echo If this is other hardware: answerd arm web-1"
    assert all(len(line) <= 85 for line in lines)
    site.order("web-1")
    assert site.ask(B)
    assert site.ask(A) == ""


def test_a_row_with_an_installed_identity_and_one_under_way_is_a_conflict(site: Site) -> None:
    site.done(A)
    assert site.ask("serial=S2000")
    site.table(f"web-1,{MAC_A},S2000")
    assert site.ask("serial=S2000") == ""
    assert site.states()["web-1"] is State.CONFLICT
    ((row, seen),) = rows_in_conflict(site.fleet.loader.catalogue, site.installs.memory)
    assert (row.id, [text for text, _ in seen.parts]) == ("web-1", [MAC_A, "S2000"])
    site.order("web-1")
    assert site.ask("serial=S2000")
    assert site.states()["web-1"] is State.INSTALLING


def test_a_row_that_has_the_card_of_another_rows_machine_never_counts_as_installed(site: Site) -> None:
    site.table(f"web-1,{MAC_A} {MAC_C},S1000")
    site.done(f"{A}&serial=S1000")
    site.table(f"web-1,{MAC_A},S1000", f"web-2,{MAC_B} {MAC_C},S2000")
    assert site.states() == {"web-1": State.INSTALLED, "web-2": State.CONFLICT}
    site.order("web-2")
    assert site.ask(f"{B}&serial=S2000")
    assert site.ask(f"{A}&serial=S1000") == ""


def test_an_order_names_what_was_seen_with_it_but_nothing_of_another_row(site: Site) -> None:
    site.table("web-1,,S1000", f"web-2,{MAC_B},")
    site.ask(f"{A}&serial=S1000", "wait.ipxe")
    memory = site.installs.memory
    site.order("web-1")
    assert memory.state_of("98fa9b00000a") is State.ARMED
    assert site.ask(A, "wait.ipxe"), "the loader says only its MAC address"


def test_after_an_order_the_last_request_is_tried_anew(site: Site) -> None:
    site.table("web-1,,S1000")
    site.ask(f"{A}&serial=S1000", "wait.ipxe")
    catalogue, memory = site.fleet.loader.catalogue, site.installs.memory
    machine = machine_named(catalogue, memory, "web-1")
    assert machine is not None
    refused = still_refused(catalogue, memory, machine, site.installs.clock)
    assert refused is not None
    assert refused.order == ("web-1",)
    site.order("web-1")
    assert still_refused(catalogue, memory, machine, site.installs.clock) is None


def test_an_order_by_a_name_that_a_row_had_before_says_that_the_row_of_today_is_refused(site: Site) -> None:
    request = f"{A}&serial=S1000&uuid=11112222-3333-4444-5555-666677778881"
    site.table(f"web-1,{MAC_A},S1000")
    site.order("web-1")
    site.done(request)
    site.table(f"web-9,{MAC_A},S1000")
    site.order("web-1")
    catalogue, memory = site.fleet.loader.catalogue, site.installs.memory
    machine = machine_named(catalogue, memory, "web-1")
    assert machine is not None
    refused = still_refused(catalogue, memory, machine, site.installs.clock)
    assert refused is not None
    assert refused.order == ("web-9",)
    assert site.ask(request) == ""
    site.order("web-9")
    assert still_refused(catalogue, memory, machine, site.installs.clock) is None
    assert site.ask(request)


def test_a_serial_of_two_rows_with_addresses_of_their_own_denotes_neither(site: Site) -> None:
    site.table(f"web-1,{MAC_A},R9XXX1", f"web-2,{MAC_B},R9XXX1")
    site.done(f"{A}&serial=R9XXX1")
    assert site.ask(f"{B}&serial=R9XXX1")
    assert site.ask(f"{A}&serial=R9XXX1") == ""


def test_a_serial_that_came_with_the_addresses_of_two_rows_denotes_neither(site: Site) -> None:
    site.table(f"web-1,{MAC_A},", f"web-2,{MAC_B},")
    site.ask(f"{A}&serial=R9XXX1", "wait.ipxe")
    site.ask(f"{B}&serial=R9XXX1", "wait.ipxe")
    site.done(f"{A}&serial=R9XXX1")
    assert site.ask(f"{B}&serial=R9XXX1")


def test_a_second_machine_with_the_serial_of_an_installed_one_is_let_in_by_its_order(site: Site) -> None:
    """It may be the first one with another card."""
    site.table(f"web-1,{MAC_A},", f"web-2,{MAC_B},")
    site.done(f"{A}&serial=R9XXX1")
    assert site.ask(f"{B}&serial=R9XXX1") == ""
    assert site.states()["web-2"] is State.INSTALLED
    site.order("web-2")
    assert site.ask(f"{B}&serial=R9XXX1")
    assert site.ask(f"{A}&serial=R9XXX1") == ""


# --- bounds ----------------------------------------------------------------------------------------------------------


def test_of_one_request_64_identities_count(site: Site) -> None:
    site.ask("&".join(f"serial=S{at:04}" for at in range(100)))
    assert len(site.installs.memory.by_identity) == MOST_CARRIED


@pytest.fixture
def crowded(site: Site) -> Site:
    """A site that keeps 40 identities of strangers, all of them taken by machines that were given the script."""
    site.installs.memory.strangers.most = 40
    site.installs.memory.rules = Rules(silence=1_000)
    assert site.ask("mac=52:54:00:aa:aa:01")
    for number in range(39):
        assert site.ask(f"mac=98:fa:9b:00:00:{number:02x}")
    return site


def test_strangers_push_out_nobody_who_installs(crowded: Site) -> None:
    with pytest.raises(StatesUnknown, match="no row, member or document names"):
        crowded.ask("mac=98:fa:9b:00:01:01")
    crowded.done("mac=52:54:00:aa:aa:01")
    assert not crowded.ask("mac=52:54:00:aa:aa:01")
    assert crowded.ask("mac=98:fa:9b:00:01:01"), "what was reported is no stranger any more"


def test_strangers_stand_in_the_way_of_no_machine_that_is_named(crowded: Site) -> None:
    crowded.table("web-01,98:fa:9b:00:02:01,", "web-02,98:fa:9b:00:02:03,")
    crowded.done("mac=98:fa:9b:00:02:01&mac=98:fa:9b:00:02:02&serial=S1")
    assert not crowded.ask("mac=98:fa:9b:00:02:02"), "what it said beside its row's is remembered"
    crowded.order("98:fa:9b:00:02:04")
    assert crowded.ask("mac=98:fa:9b:00:02:04")


def test_a_stranger_that_installs_goes_on_where_there_is_no_room_for_more_of_it(crowded: Site) -> None:
    crowded.done("mac=52:54:00:aa:aa:01&serial=S1")
    assert not crowded.ask("mac=52:54:00:aa:aa:01")


def test_strangers_that_were_silent_for_long_make_room(crowded: Site) -> None:
    memory = crowded.installs.memory
    crowded.installs.clock += 990
    assert crowded.ask("mac=98:fa:9b:00:00:26")
    assert crowded.ask("mac=98:fa:9b:00:01:01")
    assert len(memory.strangers.heard) <= 40
    assert memory.evicted.keys() & {"525400aaaa01", "98fa9b000026", "98fa9b000101"} == {"525400aaaa01"}
    assert memory.state_of("98fa9b000026") is State.INSTALLING
    assert "525400aaaa01" not in memory.ties.of


def test_who_says_many_identities_takes_no_more_room_than_many_strangers(site: Site) -> None:
    memory = site.installs.memory
    memory.strangers.most = 100
    for number in range(20):
        for file in ("ipxe", "wait.ipxe"):
            macs = "&".join(f"mac=98:fa:9b:{number:02x}:{file[0].encode().hex()}:{at:02x}" for at in range(60))
            site.ask(f"mac=98:fa:9b:ff:ff:01&{macs}", file)
    assert len(memory.strangers.heard) == 100
    assert len(memory.by_identity.keys() | memory.ties.of.keys()) == 100


def test_who_says_a_known_address_brings_a_bounded_number_of_others(site: Site) -> None:
    site.table("web-01,98:fa:9b:00:02:01,")
    memory = site.installs.memory
    memory.companions.most = 100
    for number in range(10):
        for file in ("ipxe", "wait.ipxe"):
            macs = "&".join(f"mac=98:fa:9b:{number:02x}:{file[0].encode().hex()}:{at:02x}" for at in range(60))
            site.ask(f"mac=98:fa:9b:00:02:01&{macs}&serial=S{number}", file)
    assert len(memory.by_identity.keys() | memory.ties.of.keys()) == 101


def test_an_installed_address_beside_that_of_another_row_closes_nothing_there(site: Site) -> None:
    site.table("web-01,98:fa:9b:00:02:01,", "web-02,98:fa:9b:00:02:02,")
    site.done("mac=98:fa:9b:00:02:01")
    with suppress(BrokenDocument, CannotFill):
        site.ask("mac=98:fa:9b:00:02:01&mac=98:fa:9b:00:02:02")
    assert site.ask("mac=98:fa:9b:00:02:02")


def test_a_look_up_costs_the_same_however_many_machines_share_a_board() -> None:
    memory = memory_of(*(known(f"n{number:05}", State.INSTALLING, 1.0, ("uuid",)) for number in range(300)))
    assert memory.state(Asked({"uuid": f"{SERIAL}uuid"}), lambda _: None) is State.INSTALLING
    assert len(memory.ties.of) == 0


INFINIBAND = "80:00:02:08:fe:80:00:00:00:00:00:00:f4:52:14:03:00:7b:cb:a1"
PORT = INFINIBAND[-23:]
SAME_PORT = [INFINIBAND, INFINIBAND.replace(":", ""), INFINIBAND.replace("80:00:02", "80:00:48"), PORT]


@pytest.mark.parametrize("table", [[], [f"ib-01,{INFINIBAND},"], [f"ib-01,{PORT},S1"]], ids=["no row", "20", "8"])
@pytest.mark.parametrize("first", SAME_PORT)
def test_an_infiniband_port_is_one_machine_however_it_is_said(site: Site, table: list[str], first: str) -> None:
    site.table(*table)
    site.done(f"mac={first}")
    assert [site.ask(f"mac={other}") for other in SAME_PORT] == [""] * len(SAME_PORT)
    for typed in SAME_PORT:
        site.order(typed)
        assert site.ask(f"mac={PORT}"), typed
        site.order(typed, Order.DISARM)
        assert not site.ask(f"mac={INFINIBAND}"), typed


@pytest.mark.parametrize(("state", "offers"), [(State.EXHAUSTED, True), (State.INSTALLED, False)])
def test_an_exhausted_machine_may_be_installed_and_only_its_report_missing(state: State, offers: bool) -> None:
    refusal = Refusal.EXHAUSTED if state is State.EXHAUSTED else Refusal.INSTALLED
    refused = Refused(refusal, Record("web-01", state=state, starts=5), "web-01", order=("web-01",))
    assert ("answerd disarm web-01" in sentence(refused)) is offers
    assert ("answerd disarm web-01" in script(refused, "ipxe").decode()) is offers
