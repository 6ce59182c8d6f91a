"""What ``check`` finds that is valid and probably not meant (docs/check.md#oversights), in every store."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerd.answers.lint import misspelled_extension
from answerd.answers.sent_labels import LABELS_SENT_BY
from answerd.check import check
from answerd.suggestion import differs_by_one
from answerd.validators import Tools
from tests.support.fleet import Fleet

PROBLEMS: dict[str, tuple[Mapping[str, str], str]] = {
    "a label that is nearly a known one": ({"node1.toml": 'x = "{{ usr }}"\n'}, "did you mean 'user'?"),
    "behind a label that only a request has": (
        {"node1.toml": 'x = "{{ serial }}"\ny = "{{ seriel | upper }}"\n'},
        "did you mean 'serial'?",
    ),
    "in a group that selects by match": ({"groups/g.ks": "# answer: match serial=*\n{{ hostnam }}\n"}, "'hostname'?"),
    "nearly a label that a match names": (
        {"groups/g.toml": 'match.frobnicator = "*"\n', "node1.toml": 'x = "{{ frobnicatr }}"\n'},
        "did you mean 'frobnicator'?",
    ),
    "a list's label": ({"node1.toml": 'x = "{{ network_interface.0.mac }}"\n'}, "'network_interfaces."),
    "a MAC address with 11 digits": ({"98-fa-9b-50-d8-1.toml": "x = 1\n"}, "11 hexadecimal digits and not 12"),
    "a MAC address with 13 digits": ({"98-fa-9b-500-d8-10.toml": "x = 1\n"}, "13 hexadecimal digits and not 12"),
    "a machine's file among the groups": ({"groups/98-fa-9b-50-d8-10.toml": "x = 1\n"}, "move it out of groups/"),
    "an address that is no peer": ({"groups/g.ks": "# answer: match peer=lab-7\ntext\n"}, "no IP address"),
    "a name with a wildcard that is no peer": ({"groups/g.ks": "# answer: match peer=lab-*\ntext\n"}, "no IP address"),
    "a network with bits beyond its prefix": (
        {"groups/g.ks": "# answer: match peer=10.0.0.7/8\ntext\n"},
        "bits beyond",
    ),
    "a network with a wildcard": ({"groups/g.ks": "# answer: match peer=10.*/16\ntext\n"}, "is no network"),
    "a network with a prefix that is too long": (
        {"groups/g.ks": "# answer: match peer=::/129\ntext\n"},
        "is no network",
    ),
    "the second pattern of two": ({"groups/g.yaml": "match: {peer: ['::1', x]}\nx: 1\n"}, "match peer, pattern 2"),
    "a path with a slash before it": (
        {"groups/g.ks": "# answer: match path=/ks/*\ntext\n"},
        "without slashes at its ends",
    ),
    "a file with a slash": ({"groups/g.ks": "# answer: match file=ks/second\ntext\n"}, "match path has the whole path"),
    "a state that there is not": (
        {"groups/g.ks": "# answer: match state=done\ntext\n"},
        "none of the states new, armed",
    ),
    "a label that the service sets": ({"groups/g.ks": "# answer: match group=web\ntext\n"}, "after the documents"),
    "in a machine's document": ({"node1.toml": 'x = 1\nmatch.peer = "node1"\n'}, "can never hold"),
    "extend in TOML": ({"node1.toml": 'extend = "lab"\n', "groups/lab.toml": "x = 1\n"}, "did you mean extends?"),
    "extend in YAML": ({"node1.yaml": "extend: lab\n", "groups/lab.yaml": "x: 1\n"}, "did you mean extends?"),
    "extend in JSON": ({"node1.json": '{"extnds": "lab"}\n', "groups/lab.json": "{}\n"}, "did you mean extends?"),
}

NOTES: dict[str, tuple[Mapping[str, str], str]] = {
    "a label that nothing sends and none is near": (
        {"groups/g.toml": 'members = ["node1", "node2"]\nx = "{{ zzyzx }}"\n'},
        "nothing is known to send 'zzyzx'",
    ),
    "PXELINUX's prefix": ({"01-98-fa-9b-50-d8-10.ks": "lang x\n"}, "name it 98-fa-9b-50-d8-10"),
    "a preseed with two extensions": (
        {"98-fa-9b-50-d8-10.preseed.cfg": "d-i a/b string c\n"},
        "name the file 98-fa-9b-50-d8-10.preseed",
    ),
    "a name after a MAC address": ({"98-fa-9b-50-d8-10.lab.ks": "lang C\n"}, "name the file 98-fa-9b-50-d8-10.ks"),
    "a MAC address without separators and with a letter O": ({"98fa9b5Od810.toml": "x = 1\n"}, "write 0 or 1"),
    "a member with 11 digits": ({"groups/g.toml": 'members = ["98fa9b50d81"]\nx = 1\n'}, "11 hexadecimal digits"),
    "extend of what is no group": ({"node1.toml": 'extend = "nothing"\n'}, "did you mean extends?"),
    "a part of a MAC address": ({"groups/g.ks": "# answer: match mac=52:54:00\ntext\n"}, "for a part of one write *"),
    "no hexadecimal digit": ({"groups/g.ks": "# answer: match mac=52:54:OO:*\ntext\n"}, "no other letters than a to f"),
    "an address with a prefix": ({"groups/g.ks": "# answer: match ip=10.0.0.7/8\ntext\n"}, "compared as a text"),
    "a kickstart's script with Windows' line ends": (
        {"node1.ks": "lang C\r\n%post --log=/x\r\ncurl -O http://192.0.2.1/x\r\n%end\r\n%pre\r\n%end\r\n"},
        "line 2 begins a script with Windows' line ends (CRLF)",
    ),
    "a preseed's script with Windows' line ends": (
        {"groups/g.preseed": "d-i preseed/late_command string wget http://192.0.2.1/x\r\n"},
        "line 1 begins a script with Windows' line ends (CRLF)",
    ),
    "the hash of the examples": ({"node1.ks": "rootpw --iscrypted $6$EXAMPLE$x\n"}, "openssl passwd -6"),
}

SOUND: dict[str, Mapping[str, str]] = {
    "scripts with line feeds, and Windows' line ends without scripts": {
        "node1.ks": "lang C\r\n%packages\r\n%end\r\n",
        "node2.ks": "%post\ntrue\n%end\n",
        "node3.json": "{}\r\n",
    },
    "labels that installers send": {
        "node1.toml": 'x = "{{ mac }} {{ dmi.system.serial }} {{ network_interfaces.3.mac }}"\n'
    },
    "a default": {"node1.toml": "x = \"{{ usr | default('root') }}\"\n"},
    "a label that a match names": {"node1.toml": 'x = "{{ usr }}"\n', "groups/g.toml": 'match.usr = "*"\ny = 1\n'},
    "a column of the inventory": {"node1.toml": 'x = "{{ usr }}"\n', "inventory.csv": "id,usr\nnode1,a\n"},
    "patterns of addresses": {
        "groups/g.yaml": "match: {peer: [10.0.0.0/8, '10.*', '2001:db8::*', '2001:DB8::/32', '::1', '*']}\nx: 1\n"
    },
    "patterns of what the service knows": {
        "groups/g.yaml": "match: {path: [ks/*, ks], file: second, segment: k?, state: [NEW, arm*]}\nx: 1\n"
    },
    "patterns of MAC addresses": {"groups/g.yaml": "match: {mac: [52-54-00-*, 525400ABCDEF, '*9']}\nx: 1\n"},
    "addresses with prefixes of a table": {
        "groups/g.ks": "# answer: match addr=10.0.0.7/8\ntext\n",
        "inventory.csv": "id,addr\nnode9,10.0.0.7/8\n",
    },
    "a MAC address": {"98-fa-9b-50-d8-10.toml": "x = 1\n", "98fa9b50d811.ks": "x\n"},
    "a serial number of 11 digits": {"12345678901.toml": "x = 1\n"},
    "a host name": {"office-lab-01.toml": "x = 1\n", "deadbeef.toml": "x = 1\n"},
    "a group named like a machine that is extended": {
        "groups/98-fa-9b-50-d8-10.toml": "x = 1\n",
        "node1.toml": 'extends = "98-fa-9b-50-d8-10"\n',
    },
    "a key below a table": {"node1.toml": '[users]\nextend = "lab"\n', "groups/lab.toml": "x = 1\n"},
    "a key of the installer": {"node1.yaml": "#cloud-config\nusers: []\nhostname: a\n"},
}


@pytest.mark.parametrize(("documents", "words"), PROBLEMS.values(), ids=PROBLEMS)
def test_what_is_surely_not_meant_is_a_problem(fleet: Fleet, documents: Mapping[str, str], words: str) -> None:
    (problem,) = fleet.write(documents).check().problems
    assert words in problem


@pytest.mark.parametrize(("documents", "words"), NOTES.values(), ids=NOTES)
def test_what_is_perhaps_not_meant_is_a_note(fleet: Fleet, documents: Mapping[str, str], words: str) -> None:
    report = fleet.write(documents).check()
    assert report.problems == ()
    assert any(words in note for note in report.notes)


@pytest.mark.parametrize("documents", SOUND.values(), ids=SOUND)
def test_what_is_meant_is_left_alone(fleet: Fleet, documents: Mapping[str, str]) -> None:
    report = fleet.write(documents).check()
    sentences = [*report.problems, *report.notes]
    words = ("did you mean", "known to send", "write 0", "hexadecimal", "groups/", "CRLF", "goes on")
    assert [sentence for sentence in sentences if any(word in sentence for word in words)] == []


def test_a_check_leaves_the_prepared_answers_as_they_are(fleet: Fleet) -> None:
    fleet.write({"groups/g.toml": 'x = "{{ usr }}"\n', "node1.toml": 'extends = "g"\ny = "{{ usr }}"\n'})
    before = fleet.text("/?host=node1&usr=a")
    (node,) = fleet.loader.catalogue.machines["node1"]
    prepared = node.prepared
    fleet.check()
    assert node.prepared is prepared
    assert fleet.text("/?host=node1&usr=a") == before


def test_a_problem_says_how_many_machines_it_hits(fleet: Fleet) -> None:
    machines = {f"node{number}.toml": 'extends = "lab"\n' for number in range(12)}
    report = fleet.write({"groups/lab.toml": 'extends = "ghost"\n', **machines, "other.toml": "x = 1\n"}).check()
    (problem,) = report.problems
    assert len(report.machines[problem]) == 12
    report = fleet.write({"groups/lab.toml": 'x = "{{ usr }}"\ny = "{{ zzyzx }}"\n'}).check()
    (problem,) = report.problems
    note = next(note for note in report.notes if "zzyzx" in note)
    assert (len(report.machines[problem]), len(report.machines[note])) == (12, 12)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("node1.tolm", "toml"),
        ("node1.tml", "toml"),
        ("a/node1.yamll", "yaml"),
        ("node1.KSS", "ks"),
        ("node1.txt", None),
        ("node1.toml", None),
        ("README.md", None),
        ("notes.bak", None),
        (".tml", None),
        ("node1", None),
    ],
)
def test_an_extension_that_is_one_letter_off_is_named(name: str, meant: str | None) -> None:
    assert misspelled_extension(name) == meant


def one_edit_apart(first: str, second: str) -> bool:
    """The same by trying every edit."""
    letters = set(first + second)
    edits = {first[:at] + first[at + 1 :] for at in range(len(first))}
    edits |= {first[:at] + letter + first[at:] for at in range(len(first) + 1) for letter in letters}
    edits |= {first[:at] + letter + first[at + 1 :] for at in range(len(first)) for letter in letters}
    edits |= {first[:at] + first[at + 1] + first[at] + first[at + 2 :] for at in range(len(first) - 1)}
    return second in edits - {first}


@given(st.text("abc", max_size=5), st.text("abc", max_size=5))
def test_one_letter_is_what_trying_every_edit_finds(first: str, second: str) -> None:
    assert differs_by_one(first, second) == one_edit_apart(first, second)


def test_the_table_of_labels_is_that_of_the_program() -> None:
    page = (Path(__file__).parents[2] / "docs" / "templates.md").read_text("utf-8")
    section = page.partition("\n## Labels that installers send\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| (`.+) \|$", section, re.MULTILINE)
    assert {who: frozenset(re.findall(r"`([^`]+)`", labels)) for who, labels in rows} == LABELS_SENT_BY


def test_a_missing_secret_is_a_problem_whatever_else_an_answer_lacks(fleet: Fleet) -> None:
    report = fleet.write({"node1.toml": 'x = "{{ serial }}"\ny = "{{ secret.gone }}"\n'}).check()
    (problem,) = report.problems
    assert "secret" in problem
    assert any("'serial'" in note for note in report.notes)


def test_a_document_of_many_labels_in_single_braces_has_a_bounded_number_of_notes(fleet: Fleet) -> None:
    labels = [f"c{at}" for at in range(14)]
    text = "".join(f"{{ {label} }} {{ {label} }}\n" for label in labels)
    fleet.write({"inventory.csv": f"id,{','.join(labels)}\n", "groups/g.cfg": f"# answer: match site=*\n{text}"})
    found = [note for note in fleet.check().notes if "single braces" in note]
    assert len(found) == 11
    assert sum("in single braces, and once more, which" in note for note in found) == 10
    assert 'group "g" (cfg): has 4 more labels in single braces' in found


_ROWS = "id,mac,proxy\npc-1,52:54:00:00:00:01,p\npc-2,52:54:00:00:00:02,\n"


@pytest.mark.parametrize(
    ("documents", "label", "machines"),
    [
        ({"groups/g.yaml": "match: {id: '*'}\nx: '{{ name }}'\n"}, "name", {"pc-1", "pc-2"}),
        ({"groups/g.yaml": "match: {id: '*'}\nx: '{{ proxy }}'\n"}, "proxy", {"pc-2"}),
        ({"groups/g.yaml": "match: {proxy: '*'}\nx: a\n", "pc-2.yaml": "x: '{{ proxy }}'\n"}, "proxy", {"pc-2"}),
        ({"groups/g.yaml": "match: {id: '*'}\nx: '{{ zzyzx }}'\n"}, "zzyzx", {"pc-1", "pc-2"}),
        ({"groups/g.yaml": "match: {id: '*'}\nx: '{{ name | default(proxy) }}'\n"}, "name", {"pc-2"}),
        ({"groups/g.yaml": "match: {id: '*'}\nx: '{{ proxy }} {{ name }}'\n"}, "name", {"pc-1", "pc-2"}),
    ],
    ids=[
        "custom of boot scripts",
        "an empty cell",
        "of a machine's document",
        "sent by nobody",
        "of two labels",
        "two facts",
    ],
)
def test_a_fact_that_no_request_will_bring_is_a_problem_of_a_strict_check(
    fleet: Fleet, documents: Mapping[str, str], label: str, machines: set[str]
) -> None:
    report = fleet.write({"inventory.csv": _ROWS, **documents}).check()
    said = [note for note in report.notes if f"'{label}'" in note and "nothing is known to send" in note]
    assert set[str]().union(*(report.machines[note] for note in said)) == machines
    assert report.problems == ()
    assert not any("the facts" in note for note in said)  # each is counted by itself
    assert set(said) <= set(check(fleet.loader.catalogue, Tools.none(), strict=True).problems)


@pytest.mark.parametrize(
    "documents",
    [
        {"groups/g.yaml": "match: {id: '*'}\nx: '{{ serial }}'\n"},
        {"groups/g.toml": "match.id = '*'\nx = '{{ name }}'\n"},
        {"groups/g.yaml": "match: {id: '*'}\nx: '{{ name | default(serial) }}'\n"},
        {"groups/g.yaml": "match: {id: '*'}\nx: '{{ name }}'\n", "groups/h.yaml": "match: {name: lab}\n"},
        {
            "groups/g.yaml": "match: {id: '*'}\nx: '{{ zzyzx }} {{ proxy }}'\n",
            "groups/l.ipxe": "#!ipxe\n# answer: match id=*\nchain http://192.0.2.1/yaml?Zzyzx=${a}&proxy=${b}\n",
        },
        {"default.yaml": "x: '{{ name }}'\n", "groups/g.yaml": "match: {id: '*'}\nx: a\n"},
    ],
    ids=["of iPXE", "of Proxmox", "one of two labels", "named in a match", "in a loader's URL", "of a default"],
)
def test_a_fact_that_a_request_may_bring_is_no_problem_of_a_strict_check(
    fleet: Fleet, documents: Mapping[str, str]
) -> None:
    fleet.write({"inventory.csv": _ROWS, **documents})
    report = check(fleet.loader.catalogue, Tools.none(), strict=True)
    assert [problem for problem in report.problems if "known to send" in problem or "500" in problem] == []
