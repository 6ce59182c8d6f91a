"""Gates on the way of a request: what is given, what is refused, and what a refused machine gets instead."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from urllib.parse import urlencode

import pytest

from answerd.answers.answer_secrets import redacted_answer
from answerd.answers.operator_names import (
    machine_named,
    machines_without_record,
    ordered_machine,
    remembered_machines,
)
from answerd.answers.resolve import resolve
from answerd.errors import AnswerError, BrokenDocument, CannotFill, GateClosed
from answerd.facts import Facts, Request
from answerd.installs.records import Remembered
from answerd.installs.states import Order, ReportKind
from tests.support.fleet import Fleet
from tests.support.installs import RememberedInstalls

IPXE = "#!ipxe\n# answer: once\nkernel vmlinuz report={{ report }}\n"
KS = "# answer: once\nlang C\n"


class Lab:
    """A fleet that remembers installs."""

    def __init__(self, fleet: Fleet, installs: RememberedInstalls) -> None:
        self.fleet = fleet.remembering(installs)
        self.installs = installs

    def write(self, files: Mapping[str, str]) -> Lab:
        """Store documents."""
        self.fleet.write(files)
        return self

    def text(self, target: str, **request: object) -> str:
        """The answer's text."""
        return self.fleet.text(target, **({"host": "server"} | request))

    def refusal(self, target: str, **request: object) -> str:
        """Why there is no answer."""
        with pytest.raises(GateClosed) as raised:
            self.text(target, **request)
        return raised.value.reason

    def url(self, target: str, **request: object) -> str:
        """The report's URL in an answer."""
        found = re.search(r"http://\S+/report/[\w.-]+", self.text(target, **request))
        assert found is not None
        return found[0]

    def state(self, name: str) -> str:
        """The state of a record."""
        return str(next(one.record.state for one in self.machines() if one.record.name == name))

    def machines(self) -> list[Remembered]:
        """All machines of which anything is known."""
        return remembered_machines(self.fleet.loader.catalogue, self.installs.memory)

    def order(self, name: str, order: Order) -> None:
        """Arm, disarm or forget a machine by any of its names."""
        self.installs.order(name, order, self.fleet.loader.catalogue)


@pytest.fixture
def lab(fleet: Fleet) -> Lab:
    """An empty lab, in each store in turn."""
    return Lab(fleet, RememberedInstalls())


LOADERS = {
    "pxelinux": (
        "/pxelinux.cfg/01-52-54-00-00-00-01",
        "# answer: once\nDEFAULT x\n# {{ report }}\n",
        ["DEFAULT disk", "LABEL disk", "  LOCALBOOT -1"],
        ["SAY {}"],
    ),
    "grub": ("/grub.cfg-01-52-54-00-00-00-01", "# answer: once\nboot\n# {{ report }}\n", ["fi", "exit"], ["echo '{}'"]),
}


@pytest.mark.parametrize(("path", "document", "end", "shown"), LOADERS.values(), ids=LOADERS)
def test_a_loader_that_is_refused_shows_why_and_goes_on_with_the_next_device(
    lab: Lab, path: str, document: str, end: list[str], shown: list[str]
) -> None:
    extension = path[1:].partition(".")[0]
    lab.write({f"525400000001.{extension}": document})
    lab.installs.report(lab.text(path).split()[-1])
    why = "525400000001 is installed since 2026-11-21T09:14Z"
    lines = lab.text(path).splitlines()
    assert lines[0] == f"# {why}"
    assert lines[2] == shown[0].format(why)
    assert lines[3] == shown[0].format("To let it install again: answerd arm 525400000001")
    assert lines[-len(end) :] == end
    lab.write({f"groups/out.{extension}": "# answer: match state=installed\nown\n"})
    assert lab.text(path) == "own\n"


def test_given_while_it_installs_and_closed_by_the_report(lab: Lab) -> None:
    lab.write({"node1.ipxe": IPXE + "set password {{ token | default('swordfish') }}\n", "node1.ks": KS})
    url = lab.url("/ipxe/node1")
    assert lab.url("/ipxe/node1") == url
    assert lab.text("/ks/node1") == "lang C\n"
    lab.installs.report(url)
    script = lab.text("/ipxe/node1").splitlines()
    assert script[0] == "#!ipxe"
    assert script[1] == "echo node1 is installed since 2026-11-21T09:14Z"
    assert script[-1] == "exit 1"
    facts = Facts(Request("/ipxe/node1", "", (("Host", "server"),)))
    refused = resolve(lab.fleet.loader.catalogue, facts, sources=lab.fleet.sources)
    shown = redacted_answer(lab.fleet.loader.catalogue, refused, facts, lab.fleet.sources)
    assert shown.splitlines() == script  # not the document that was refused
    assert lab.refusal("/ks/node1") == (
        'node1 is installed since 2026-11-21T09:14Z; "answerd arm node1" lets it install again'
    )
    lab.order("node1", Order.ARM)
    assert lab.url("/ipxe/node1") != url


def test_a_higher_layer_decides(lab: Lab) -> None:
    lab.write(
        {
            "groups/base.ks": "# answer: once\nbase\n",
            "node1.ks": "# answer: extends base\n# answer: once off\none\n",
            "node2.ks": "# answer: extends base\ntwo\n",
            "node3.ks": "# answer: extends base\n# answer: once armed\nthree\n",
        }
    )
    for name in ("node1", "node2"):
        lab.order(name, Order.DISARM)
    assert lab.text("/ks/node1") == "base\none\n"
    assert "installed" in lab.refusal("/ks/node2")
    assert lab.refusal("/ks/node3") == 'node3 is new and waits for an operator; "answerd arm node3" lets it install'


def test_the_two_gates_of_copied(lab: Lab) -> None:
    lab.write({"node1.ipxe": IPXE, "node1.unattend": '<r><answer-meta once="true"/><x>1</x></r>'})
    lab.write({"node1.cfg": "# answer: once loader\nlinux\n"})
    lab.installs.report(lab.url("/ipxe/node1"), ReportKind.COPIED)
    assert "node1 is copied" in lab.text("/ipxe/node1")
    assert "goes on from its disk" in lab.refusal("/cfg/node1")
    assert "<x>1</x>" in lab.text("/windows/node1")


def test_where_a_gate_is_closed_only_a_document_that_names_the_state_may_answer(lab: Lab) -> None:
    lab.write(
        {
            "node1.ipxe": IPXE,
            "node2.ipxe": IPXE,
            "node3.ipxe": IPXE,
            "default.ipxe": "#!ipxe\nwipe-default\n",
            "groups/all.ipxe": "#!ipxe\n# answer: match mac=*\nwipe-group\n",
            "groups/members.ipxe": "#!ipxe\n# answer: member node1, node2\nwipe-members\n",
            "groups/disk.ipxe": "#!ipxe\n# answer: match state=installed\nsanboot\n",
            "groups/copied.ipxe": "#!ipxe\n# answer: match state=copied\n# answer: once\nkernel again\n",
            "groups/disk.ks": "# answer: match state=installed\nother format\n",
        }
    )
    lab.installs.report(lab.url("/ipxe/node1?mac=98fa9b50d810"))
    lab.installs.report(lab.url("/ipxe/node2?mac=98fa9b50d811"), ReportKind.COPIED)
    assert lab.text("/ipxe/node1?mac=98fa9b50d810") == "#!ipxe\nsanboot\n"
    assert lab.text("/ipxe/node2?mac=98fa9b50d811").endswith("exit 1\n")
    lab.order("node3", Order.DISARM)
    assert lab.text("/ipxe/node3") == "#!ipxe\nsanboot\n"


def test_a_request_that_carries_identities_of_two_machines_is_refused_what_one_is_refused(lab: Lab) -> None:
    lab.write({"groups/all.ks": "# answer: match serial=*\n# answer: once\nlang C\n"})
    lab.order("98:fa:9b:50:d8:10", Order.DISARM)
    assert lab.text("/ks?serial=S00002") == "lang C\n"
    refusal = lab.refusal("/ks?serial=S00002&mac=98-fa-9b-50-d8-10")
    order = "answerd arm S00002 98:fa:9b:50:d8:10"
    assert refusal == f'S00002 is installed since 2026-11-21T09:14Z; "{order}" lets it install again'


NAMES = {
    "the row's id": ("/ks?mac=98:fa:9b:50:d8:10", "web-01"),
    "the row's first identity": ("/ks?mac=98:fa:9b:50:d8:12", "98fa9b50d812"),
    "the machine document": ("/ks?serial=5555&node=node-7", "node-7"),
    "the member, where the request does not carry it": ("/ks?serial=5555&node=member-1", "member-1"),
    "a member that is its MAC address": ("/ks?mac=98fa9b50d8ff&serial=5555", "98:FA:9B:50:D8:FF"),
    "the serial number": ("/ks?role=db&mac=98fa9b50d8aa&serial=7ABC123&uuid=4c4c4544-0000", "7ABC123"),
    "the uuid": ("/ks?role=db&mac=98fa9b50d8aa&uuid=4c4c4544-0000", "4c4c4544-0000"),
    "the first MAC address": ("/ks?role=db&mac=98fa9b50d8aa&mac=98fa9b50d8ab", "98fa9b50d8aa"),
    "a serial number of many does not count": ("/ks?role=db&serial=Default%20string&mac=98fa9b50d8aa", "98fa9b50d8aa"),
}


@pytest.mark.parametrize(("target", "name"), NAMES.values(), ids=NAMES.keys())
def test_what_a_record_is_called(lab: Lab, target: str, name: str) -> None:
    lab.write(
        {
            "inventory.csv": "id,mac\nweb-01,98:fa:9b:50:d8:10\n,98:fa:9b:50:d8:12\n",
            "node-7.ks": KS,
            "groups/rack.ks": (
                "# answer: member 98:FA:9B:50:D8:FF web-01 98fa9b50d812 member-1\n# answer: once\nlang C\n"
            ),
            "groups/db.ks": "# answer: match role=db\n# answer: once\nlang C\n",
        }
    )
    lab.text(target)
    assert [remembered.record.name for remembered in lab.machines()] == [name]


def test_a_machine_that_nothing_names_never_has_a_state(lab: Lab) -> None:
    lab.write({"default.ks": KS, "default.cfg": "x {{ report }}\n"})
    for target in ("/ks", "/cfg", "/ks?serial=0", "/ks?mac=unknown"):
        with pytest.raises(CannotFill, match="which machine asks"):
            lab.text(target)
    assert lab.text("/ks?serial=7ABC123") == "lang C\n"


def collected(lab: Lab) -> set[str]:
    """The identities that were given anything."""
    return set(lab.installs.memory.by_identity)


def test_a_record_collects_mac_serial_and_uuid_of_what_it_was_given(lab: Lab) -> None:
    lab.write({"node1.ks": KS, "node1.ipxe": IPXE})
    lab.text("/ks/node1?serial=7ABC123&uuid=4C4C4544-0000&mac=98:fa:9b:50:d8:10&asset=99999")
    assert collected(lab) == {"7abc123", "4c4c45440000", "98fa9b50d810"}
    lab.text("/ipxe/node1?mac=02:00:00:00:00:01&serial=To+Be+Filled+By+O.E.M.")
    assert "020000000001" in collected(lab)  # there is no other in that request
    lab.text("/ipxe/node1?mac=02:00:00:00:00:02&mac=98:fa:9b:50:d8:10")
    assert "020000000002" not in collected(lab)  # there is another one
    lab.order("node1", Order.DISARM)
    assert "is installed" in lab.text("/ipxe/node1?mac=98:fa:9b:50:d8:10&mac=98:fa:9b:50:d8:77")
    assert "is installed" in lab.text("/ipxe/node1?mac=98:fa:9b:50:d8:77")  # it came with an installed one


def test_of_a_json_body_only_the_systems_own_serial_and_uuid_count(lab: Lab) -> None:
    lab.write({"groups/pve.toml": 'once = true\nmembers = ["98:fa:9b:50:d8:10"]\nx = 1\n'})
    body = {
        "serial": "TOP12",
        "dmi": {
            "system": {"serial": "7ABC123", "uuid": "4c4c4544"},
            "baseboard": {"serial": "BOARD1"},
            "chassis": {"serial": "CHASSIS1", "uuid": "5555aaaa"},
        },
        "disks": [{"serial": "DISK1"}],
        "network_interfaces": [{"mac": "02:42:00:00:00:01"}, {"mac": "98:FA:9B:50:D8:10"}],
    }
    lab.text("/pve", json=body)
    assert collected(lab) == {"98fa9b50d810", "top12", "7abc123", "4c4c4544"}


def test_identities_of_the_row_are_the_records_too(lab: Lab) -> None:
    lab.write({"inventory.csv": "id,mac,serial\nweb-01,98:fa:9b:50:d8:10 98:fa:9b:50:d8:11,7ABC123\n", "web-01.ks": KS})
    lab.text("/ks?mac=98:fa:9b:50:d8:10")
    assert collected(lab) == {"98fa9b50d810", "98fa9b50d811", "7abc123"}


def test_the_same_machine_is_found_by_any_identity(lab: Lab) -> None:
    lab.write({"groups/rack.ipxe": "#!ipxe\n# answer: match mac=*\n# answer: once\nboot {{ report }}\n"})
    url = lab.url("/ipxe?mac=98:fa:9b:50:d8:10&serial=7ABC123")
    assert lab.url("/ipxe?mac=98-fa-9b-50-d8-10") == url
    lab.installs.report(url)
    assert "is installed" in lab.text("/ipxe?mac=98:fa:9b:50:d8:10")


def test_state_is_a_label_that_only_the_service_sets(lab: Lab) -> None:
    lab.write(
        {
            "groups/in.ipxe": "#!ipxe\n# answer: match state=new mac=*\nfirst {{ state }} {{ report }}\n",
            "groups/out.ipxe": "#!ipxe\n# answer: match state=installed mac=*\nexit 1\n",
            "groups/again.ipxe": "#!ipxe\n# answer: match state=armed mac=*\nagain {{ state | upper }}\n",
        }
    )
    target = "/ipxe?mac=98fa9b50d810&state=installed"
    url = lab.url(target)
    assert "first new" in lab.text(target)
    lab.installs.report(url)
    assert lab.text(target) == "#!ipxe\nexit 1\n"
    lab.order("98fa9b50d810", Order.ARM)
    assert lab.text(target) == "#!ipxe\nagain ARMED\n"
    lab.order("98fa9b50d810", Order.FORGET)
    assert lab.url(target) != url


def test_the_rows_identities_find_the_state_for_a_selector(lab: Lab) -> None:
    lab.write(
        {
            "inventory.csv": "id,mac,serial\nweb-01,98:fa:9b:50:d8:10,7ABC123\n",
            "groups/done.ipxe": "#!ipxe\n# answer: match state=installed\nexit 1\n",
            "default.ipxe": "#!ipxe\nkernel {{ state }}\n",
        }
    )
    assert lab.text("/ipxe?serial=7ABC123") == "#!ipxe\nkernel new\n"
    lab.order("web-01", Order.DISARM)
    assert lab.text("/ipxe?serial=7ABC123") == "#!ipxe\nexit 1\n"


@pytest.mark.parametrize(
    ("host", "url", "base"),
    [
        ("server", None, "http://server"),
        ("10.0.0.1:8000", None, "http://10.0.0.1:8000"),
        ("[fd00::1]:8000", None, "http://[fd00::1]:8000"),
        ("[fe80::1%eth0]:8000", None, "http://[fe80::1%eth0]:8000"),
        ("[fe80::1%25eth0]", None, "http://[fe80::1%25eth0]"),
        ("[fe80::1%eth0/x]", None, None),
        ("server", "https://answers.example.com", "https://answers.example.com"),
        ("", None, None),
        ("a b", None, None),
        ("evil/path", None, None),
        ("user@host", None, None),
        ("host:port", None, None),
    ],
)
def test_the_base_of_a_reports_url(lab: Lab, host: str, url: str | None, base: str | None) -> None:
    lab.write({"node1.ks": "curl {{ report }}\n"})
    lab.installs.url = url
    if base is None:
        with pytest.raises(CannotFill, match="SERVICE_URL"):
            lab.text("/ks/node1", host=host)
    else:
        assert lab.text("/ks/node1", host=host).startswith(f"curl {base}/report/")


def test_what_fails_to_be_filled_was_not_given(lab: Lab) -> None:
    lab.write({"node1.ks": "# answer: once\nlang {{ lang }}\n"})
    with pytest.raises(CannotFill):
        lab.text("/ks/node1")
    assert not lab.machines()


def test_noclouds_made_up_files_follow_user_data_and_begin_no_start(lab: Lab) -> None:
    lab.write({"node1.yaml": "#cloud-config\nonce: true\nx: 1\n"})
    assert lab.text("/yaml/node1/meta-data") == 'instance-id: "node1"\n'
    assert not lab.machines()
    lab.text("/yaml/node1/user-data")
    assert lab.state("node1") == "installing"
    lab.order("node1", Order.DISARM)
    for name in ("user-data", "meta-data", "vendor-data", "network-config"):
        assert "node1 is installed" in lab.refusal(f"/yaml/node1/{name}")


def test_names_on_consoles_hold_nothing_that_a_script_or_terminal_obeys(lab: Lab) -> None:
    lab.write({"default.ipxe": "#!ipxe\n# answer: once\nboot\n"})
    target = "/ipxe?serial=${cmd}%3B%20%26%26%20'%C3%A4%22"
    lab.text(target)
    (remembered,) = lab.machines()
    lab.order(remembered.record.name, Order.DISARM)
    assert "echo ??cmd?? ?? ???" in lab.text(target)


def test_without_a_place_for_states_once_and_report_are_problems_of_their_documents(fleet: Fleet) -> None:
    fleet.write({"node1.ks": KS, "node2.ks": "{{ report }}\n", "node3.ks": "lang C\n"})
    problems = "\n".join(fleet.problems())
    assert 'machine "node1" (ks): once needs' in problems
    assert 'machine "node2" (ks): {{ report }} needs' in problems
    assert "SERVICE_STATE_PATH" in problems
    with pytest.raises(BrokenDocument):
        fleet.text("/ks/node1")
    assert fleet.text("/ks/node3") == "lang C\n"


def test_a_document_without_once_is_never_refused_and_asks_no_state(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.write({"node1.ks": "lang C\n"})
    lab.order("node1", Order.DISARM)

    def fail() -> None:
        raise AnswerError("asked")

    monkeypatch.setattr(lab.installs, "current", fail)
    assert lab.text("/ks/node1") == "lang C\n"


def test_machines_without_a_record_are_those_of_rows_documents_and_members(lab: Lab) -> None:
    lab.write(
        {
            "groups/g.ipxe": "#!ipxe\n# answer: once\n# answer: member Pc-01\n{{ report }}\n",
            "groups/h.ipxe": "#!ipxe\n# answer: once\n# answer: match os=x\n{{ report }}\n",
            "pc-02.ks": "lang C\n",
            "52-54-00-00-00-03.ks": "lang C\n",
            "default.ks": "lang C\n",
            "inventory.csv": "id,mac,os\npc-03,52:54:00:00:00:03,x\npc-04,52:54:00:00:00:04,x\n,52:54:00:00:00:05,x\n",
        }
    )
    catalogue = lab.fleet.loader.catalogue

    def without() -> dict[str, list[str]]:
        found = machines_without_record(catalogue, lab.installs.memory, lab.machines())
        return {new.name: sorted(new.names) for new in found}

    assert without() == {
        "Pc-01": ["pc01"],
        "pc-02": ["pc02"],
        "pc-03": ["525400000003"],
        "pc-04": ["525400000004"],
        "525400000005": ["525400000005"],
    }
    lab.text("/ipxe?mac=52:54:00:00:00:04")
    lab.text("/ipxe/Pc-01")
    assert sorted(without()) == ["525400000005", "pc-02", "pc-03"]


@pytest.mark.parametrize("serial", ["VM 5/6 'x'", "-rf x"])
def test_the_command_on_a_screen_can_be_typed_also_where_the_only_name_needs_quoting(lab: Lab, serial: str) -> None:
    lab.write({"groups/g.ipxe": "#!ipxe\n# answer: match product=*\n# answer: once armed\nboot\n"})
    target = f"/ipxe?product=x&{urlencode({'serial': serial})}"
    *_, shown, _ = lab.text(target).splitlines()
    assert shown.startswith("echo To let it install: answerd arm ")
    _, _, typed = shown.partition("answerd arm ")
    assert shlex.split(typed) == [typed]
    lab.order(typed, Order.ARM)
    assert lab.text(target).endswith("boot\n")


@pytest.mark.parametrize("word", ["once", "once armed"])
@pytest.mark.parametrize("name", ["machine", "member"])
def test_a_machine_is_called_as_its_document_or_member_spells_its_address(lab: Lab, name: str, word: str) -> None:
    mac = "52-54-00-00-00-01"
    control = f"#!ipxe\n# answer: {word}\n{{{{ report }}}}\n"
    if name == "member":
        lab.write({"groups/g.ipxe": f"{control}# answer: member {mac}\n"})
    else:
        lab.write({f"{mac}.ipxe": control})
    target = "/ipxe?serial=SN-42&mac=52:54:00:00:00:01&uuid=11111111-2222-4333-8444-555555555555"
    if word == "once":
        lab.installs.report(lab.url(target))
    screen = lab.text(target).splitlines()
    assert screen[1].startswith(f"echo {mac} is ")
    assert screen[2].endswith(f" answerd arm {mac}")
    assert [one.record.name for one in lab.machines()] == [mac]
    catalogue, memory = lab.fleet.loader.catalogue, lab.installs.memory
    others = {"52:54:00:00:00:01": 2, "SN-42": 1, "11111111-2222-4333-8444-555555555555": 1}
    for typed, beyond in others.items():
        machine = machine_named(catalogue, memory, typed)
        assert machine is not None
        ordered = ordered_machine(catalogue, memory, machine, Order.ARM)
        assert (ordered.label, len(ordered.names), len(ordered.also)) == (mac, 3, beyond), typed
    assert not memory.strangers.heard
