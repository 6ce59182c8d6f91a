"""Which records a request is of: the same ones, in the same order, however they are found."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from answerd.answers.gates import _records_of
from answerd.facts import Facts, Request
from answerd.identity import identity_of
from answerd.installs.records import (
    MOST_COLLECTED,
    MOST_OF_A_RECORD,
    MOST_UNNAMED,
    InstallMemory,
)
from answerd.installs.states import Order, ReportKind, Rules, State
from tests.support.fleet import Fleet
from tests.support.installs import RememberedInstalls, forget, known, memory_of

NAMES = [f"sn{number}0000" for number in range(6)]


@given(
    st.lists(st.lists(st.sampled_from(NAMES), max_size=4, unique=True), max_size=4),
    st.lists(st.sampled_from(NAMES), max_size=5, unique=True),
)
def test_records_come_in_the_order_of_the_request(collected: list[list[str]], sent: list[str]) -> None:
    memory = memory_of(*(known(f"host{number}", at=1.0, identities=found) for number, found in enumerate(collected)))
    request = Request(query="&".join(f"serial={text}" for text in sent))
    wanted = []
    for identity in map(identity_of, sent):
        wanted += [f"host{number}" for number, identities in enumerate(collected) if identity in identities]
    assert [one.record.name for one in _records_of(memory, Facts(request), None)] == list(dict.fromkeys(wanted))


def test_records_are_found_by_any_identity_and_never_joined() -> None:
    memory = memory_of(known("a", identities=("a", "mac1")), known("b", identities=("b", "x")))
    assert memory.intersection(["mac1", "zz"]) == {"mac1"}
    assert [one.record.name for one in memory.found_by(["x", "mac1"])] == ["b", "a"]
    assert [one.record.name for one in memory.found_by(["x", "mac1"], "a")] == ["a", "b"]
    forget(memory, "a")
    assert memory.found_by(["a", "mac1"], "a") == []
    assert memory.new("A").record.attempt == 2


def test_machines_are_counted_by_state() -> None:
    memory = memory_of(known("a", State.INSTALLED, 1.0), known("b", State.ARMED, 1.0), known("c", State.INSTALLED, 1.0))
    memory.apply(known("B", State.INSTALLING, 2.0))
    forget(memory, "a")
    forget(memory, "a")
    assert memory.by_state() == {State.INSTALLED: 1, State.INSTALLING: 1}


def test_silent_machines_are_counted_among_those_that_install() -> None:
    found = (known("a", State.INSTALLING, 1), known("b", State.COPIED, 1), known("c", State.INSTALLED, 1))
    memory = memory_of(*found, known("d", State.INSTALLING, 2), rules=Rules(silence=10))
    assert [memory.silent(now) for now in (11, 12, 13)] == [0, 2, 3]
    memory.apply(known("A", State.INSTALLED, 12))
    forget(memory, "b")
    assert memory.silent(13) == 1


# --- bounds ----------------------------------------------------------------------------------------------------------

SCRIPT = "#!ipxe\n# answer: once\nkernel {{ report }}\n"


def test_a_record_collects_64_identities_of_a_request_and_256_in_all(fleet: Fleet) -> None:
    installs = RememberedInstalls()
    lab = fleet.remembering(installs).write({"default.ipxe": SCRIPT})
    for number in range(9):
        serials = "&".join(f"serial=S{number:02}{at:03}" for at in range(100))
        lab.text(f"/ipxe?serial=FIRST&{serials}", host="s")
        (record,) = installs.memory.by_name.values()
        assert len(record.evidence.identities) == min(MOST_COLLECTED + number * (MOST_COLLECTED - 1), MOST_OF_A_RECORD)


def test_of_the_records_that_nothing_names_the_oldest_are_dropped_and_none_that_is_installed() -> None:
    memory = InstallMemory(Rules())
    for number in range(MOST_UNNAMED - 1):
        memory.apply(known(f"u{number:05}", State.INSTALLED if number < 50 else State.INSTALLING, number + 1.0))
    assert memory.evict() == []
    memory.apply(known("onemore", State.NEW, 99_999.0))
    dropped = memory.evict()
    assert dropped is not None
    assert dropped[:3] == ["onemore", "u00050", "u00051"]  # new ones first, then the oldest that never reported
    assert len(memory) == MOST_UNNAMED - len(dropped)
    for number in range(MOST_UNNAMED):
        memory.apply(known(f"i{number:05}", State.INSTALLED, 1.0))
    for name in [name for name, one in memory.by_name.items() if one.record.state is not State.INSTALLED]:
        memory.drop(name)
    assert memory.evict() is None  # no room: to drop one would install a machine again


# --- which record decides --------------------------------------------------------------------------------------------


def test_the_record_of_a_row_or_document_decides_whatever_others_have_collected(fleet: Fleet) -> None:
    """A stranger sends the serial number of a machine and reports for it."""
    installs = RememberedInstalls()
    lab = fleet.remembering(installs).write(
        {
            "default.ipxe": SCRIPT,
            "db-1.ipxe": SCRIPT,
            "inventory.csv": "id,mac\nweb-1,98:fa:9b:50:d8:10\n",
        }
    )
    stranger = lab.text("/ipxe?mac=98fa9b999901&serial=SERIAL1&serial=SERIAL2", host="s")
    installs.report(next(word for word in stranger.split() if "/report/" in word))
    assert "kernel" in lab.text("/ipxe?mac=98fa9b50d810&serial=SERIAL1", host="s")
    assert "kernel" in lab.text("/ipxe/db-1?serial=SERIAL2", host="s")
    installs.clock += 60  # and the next time, when the machine has a record
    assert "kernel" in lab.text("/ipxe?mac=98fa9b50d810&serial=SERIAL1", host="s")
    names = {remembered.record.name for remembered in installs.memory.by_name.values()}
    assert names == {"SERIAL1", "web-1", "db-1"}


def test_a_machine_that_installed_before_it_got_a_row_does_not_install_again(fleet: Fleet) -> None:
    installs = RememberedInstalls()
    lab = fleet.remembering(installs).write({"default.ipxe": SCRIPT})
    first = lab.text("/ipxe?mac=98fa9b50d810", host="s")
    installs.report(next(word for word in first.split() if "/report/" in word))
    lab.write({"inventory.csv": "id,mac\nweb-1,98:fa:9b:50:d8:10\n"})
    assert "is installed" in lab.text("/ipxe?mac=98fa9b50d810", host="s")
    installs.order("web-1", Order.ARM)
    assert "kernel" in lab.text("/ipxe?mac=98fa9b50d810", host="s")
    installs.order("web-1", Order.FORGET)
    assert "kernel" in lab.text("/ipxe?mac=98fa9b50d810", host="s")  # and the record of before does not count again


def test_a_mac_address_in_the_path_names_a_record(fleet: Fleet) -> None:
    installs = RememberedInstalls()
    lab = fleet.remembering(installs).write({"default.ipxe": SCRIPT})
    for target in ("/ipxe/01-98-fa-9b-50-d8-10", "/ipxe/98:fa:9b:50:d8:11.ipxe", "/98fa9b50d812/ipxe"):
        assert "kernel" in lab.text(target, host="s")
    assert sorted(installs.memory.by_name) == ["98fa9b50d810", "98fa9b50d811", "98fa9b50d812"]


def test_a_report_url_collects_identities_as_once_does(fleet: Fleet) -> None:
    installs = RememberedInstalls()
    lab = fleet.remembering(installs).write({"default.ks": "# {{ report }}\n"})
    url = lab.text("/ks?mac=98fa9b50d810&serial=S1000", host="s").split()[-1]
    (remembered,) = installs.memory.by_name.values()
    assert (remembered.record.state, remembered.identities) == (
        State.NEW,
        {"s1000": "S1000", "98fa9b50d810": "98fa9b50d810"},
    )
    assert len(installs.written) == 1
    assert lab.text("/ks?serial=S1000", host="s").split()[-1] == url
    assert len(installs.written) == 1  # nothing new
    installs.report(url, ReportKind.INSTALLED)
    assert installs.memory.state(installs.memory.found_by(["98fa9b50d810"])) is State.INSTALLED
