"""`check`: every machine and member rendered and judged, from its name alone (docs/check.md), in every store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from answerd.answers.sources import Sources
from answerd.check import check, in_order
from answerd.store.secrets import SecretFiles, sources_of
from answerd.validators import Tools
from tests.support.fleet import Fleet
from tests.support.installs import RememberedInstalls

PROXMOX = f"""\
[global]
keyboard = "de"
country = "at"
fqdn = "n1.example.com"
mailto = "root@example.com"
timezone = "Europe/Vienna"
root-password-hashed = "$6$abcdefgh${"." * 86}"
[network]
source = "from-dhcp"
[disk-setup]
"""

SETS: dict[str, tuple[Mapping[str, str], list[str], list[str]]] = {
    "a clean set": ({"node1.toml": "x = 1\n", "default.ks": "lang en_US\n"}, [], []),
    "a fact that only a request has": (
        {"groups/g.toml": 'members = ["98fa9b50d810"]\nx = "{{ serial }}"\n'},
        [],
        ['group "g" (toml) for member "98fa9b50d810"', "'serial'"],
    ),
    "a machine's own missing fact": (
        {"node1.toml": 'x = "{{ serial }}"\n'},
        [],
        ['machine "node1" (toml)', "'serial'"],
    ),
    "a machine whose match would not hold": ({"node1.toml": "x = 1\nmatch.rack = '1'\n"}, [], []),
    "a machine's match does not hide what is wrong": (
        {"node1.toml": 'match.rack = "1"\ntemplate = true\n'},
        ['machine "node1" (toml)', "empty"],
        [],
    ),
    "a group that selects is not tried": (
        {"groups/g.toml": 'x = "{{ serial }}"\nmatch.serial = "*"\n'},
        [],
        ['group "g" (toml)', "not tried"],
    ),
    "a short name": ({"abc.toml": "x = 1\n"}, [], ['machine "abc" (toml)', "JSON body"]),
    "a short name with punctuation": ({"a-b-c.toml": "x = 1\n"}, [], ["JSON body"]),
    "a filter that fails for its machine": ({"node1.toml": 'x = "{{ machine | bare }}"\n'}, ["not a MAC address"], []),
    "an empty answer": ({"node1.toml": "# nothing\ntemplate = true\n"}, ["empty"], []),
    "an answer that its installer refuses": ({"node1.ipxe": "echo hi\n"}, ['machine "node1" (ipxe)', "#!ipxe"], []),
    "a member's answer that its installer refuses": (
        {"groups/g.ipxe": "# answer: member node7\necho hi\n"},
        ['group "g" (ipxe) for member "node7"', "#!ipxe"],
        [],
    ),
    "a finding about a preseed question has its line": (
        {"groups/g.preseed": "d-i a/b string c\n", "node1.preseed": "# answer: extends g\nd-i a/c boolean maybe\n"},
        [],
        ["a/c: a boolean is true or false (", ":2)"],
    ),
    "a default that its installer refuses": ({"default.ipxe": "echo hi\n"}, ["default (ipxe)"], []),
    "a format that nobody can judge": ({"node1.cfg": "x\n"}, [], ["cfg", "judge"]),
    "a merge that fails": (
        {"node1.xml": '<b><answer-meta extends="g"/></b>', "groups/g.xml": "<a/>"},
        ['machine "node1" (xml)'],
        [],
    ),
    "a member whose machine document names another group": (
        {
            "groups/g.toml": 'members = ["node1"]\nx = "{{ serial }}"\n',
            "groups/h.toml": "y = 1\n",
            "node1.toml": 'extends = "h"\n',
        },
        [],
        [],
    ),
    "a load problem is reported once": ({"groups/g.toml": 'members = ["node1"]\nextends = "ghost"\n'}, ["ghost"], []),
    "a cycle is reported once": (
        {"groups/g.toml": 'members = ["node1", "node2"]\nextends = "g"\n', "node3.toml": 'extends = "g"\n'},
        ["cycle"],
        [],
    ),
    "what is wrong whatever a missing fact is": (
        {"node1.ks": "network --hostname={{ name }}\nbootloader --locaton=mbr\n{{ bootproto }}\n"},
        ['machine "node1" (ks): bootloader: unrecognized arguments: --locaton (', ":2)"],
        ["'name'"],
    ),
    "what a missing fact may make right": (
        {
            "default.ks": "network --bootproto={{ how }} --ip={{ ip }} --onboot={{ onboot }}\n{{ command }}\n",
            "node1.preseed": "d-i netcfg/choose_interface select {{ port }}\nd-i a/b {{ kind }} c\n",
        },
        [],
        ["'ip'", "'port'"],
    ),
    "a name that two lines have from a missing fact": (
        {"default.ks": "part pv.1 --size=1\nvolgroup {{ vg }} pv.1\nlogvol / --vgname={{ vg }} --name=a --size=1\n"},
        [],
        ["'vg'"],
    ),
    "what is wrong beside facts that filters read": (
        {
            "node1.yaml": '#cloud-config\nhostname: "{{ ip | host }}"\nfqdn: "{{ nic | bare }}"\npackages: vim\n'
            'swap: {size: "{{ hdsize | number }}"}\n'
        },
        ['machine "node1" (yaml): packages: must be a list', ":4)"],
        ["'ip'", "'nic'", "'hdsize'"],
    ),
    "what is wrong beside a missing fact, in lines that a carriage return ends": (
        {"node1.yaml": '#cloud-config\rpackages: vim\rhostname: "{{ name }}"\r'},
        ['machine "node1" (yaml): packages: must be a list', ":2)"],
        ["'name'"],
    ),
    "two facts that are not equal": (
        {
            "node1.toml": PROXMOX + 'filesystem = "zfs"\nzfs.raid = "raidz-1"\n'
            'disk-list = [\n  "sda",\n  "{{ disk }}",\n  "{{ role }}",\n]\n'
        },
        [],
        ["'disk'", "'role'"],
    ),
    "a number that another line is compared with": (
        {
            "node1.toml": PROXMOX + 'filesystem = "ext4"\ndisk-list = ["sda"]\n'
            'lvm.hdsize = "{{ hdsize | number }}"\nlvm.swapsize = 8\n'
        },
        [],
        ["'hdsize'"],
    ),
    "an address that another line is compared with": (
        {
            "node1.toml": PROXMOX.replace(
                'source = "from-dhcp"',
                'source = "from-answer"\ncidr = "{{ ip | host }}/24"\ndns = "10.0.0.1"\ngateway = "10.0.0.1"\n'
                'filter.ID_NET_NAME_MAC = "*"',
            )
            + 'filesystem = "ext4"\ndisk-list = ["sda"]\n'
        },
        [],
        ["'ip'"],
    ),
    "a name that another line is compared with": (
        {"node1.ks": "part pv.1 --size=1\nvolgroup {{ vg }} pv.1\nlogvol / --vgname=vg0 --name=a --size=1\n"},
        [],
        ["'vg'"],
    ),
    "a Jinja template of which any line may depend on a fact": (
        {
            "node1.ks": "# answer: template jinja\n{% if platform == 'efi' %}\npart pv.1 --size=1\n{% endif %}\n"
            "volgroup vg pv.1\n"
        },
        [],
        ["'platform'"],
    ),
    "a document that only a missing fact chooses is not judged": (
        {
            "groups/a.ks": "# answer: match role=*\nbootloader --locaton=mbr\n",
            "default.ks": "network --hostname={{ role }}\n",
            "node1.ks": "lang a\n",
        },
        [],
        ["default (ks)", 'group "a" (ks): selects by match'],
    ),
    "what is wrong in a group that selects": (
        {"groups/g.ks": "# answer: match model=*\nnetwork --hostname={{ serial }}\nbootloader --locaton=mbr\n"},
        [],
        ['group "g" (ks): bootloader: unrecognized arguments: --locaton (', ":3)", 'group "g" (ks): selects by match'],
    ),
    "a group that selects, below machines' documents": (
        {"groups/g.ipxe": "# answer: match model=*\necho hi\n", "node1.ipxe": "#!ipxe\n"},
        [],
        ['group "g" (ipxe): selects by match'],
    ),
    "an overlay that selects": (
        {"groups/g.ipxe": "# answer: overlay 10\n# answer: match model=*\necho hi\n"},
        [],
        ['group "g" (ipxe): selects by match'],
    ),
    "a group that selects by what is asked for": (
        {"groups/g.ipxe": "# answer: match file=part.ipxe\necho hi\n"},
        [],
        ['group "g" (ipxe): selects by match'],
    ),
    "a broken document is reported once": (
        {"node1.toml": "x = = 1\n", "node2.toml": 'x = "{{ a b }}"\n'},
        ["node1", "node2"],
        [],
    ),
}


@pytest.mark.parametrize(("documents", "problems", "notes"), SETS.values(), ids=SETS.keys())
def test_what_a_check_says(fleet: Fleet, documents: Mapping[str, str], problems: list[str], notes: list[str]) -> None:
    report = fleet.write(documents).check()
    for words, lines in ((problems, report.problems), (notes, report.notes)):
        text = "\n".join(lines)
        assert [word for word in words if word not in text] == [], text
        assert bool(lines) == bool(words), text
        assert list(lines) == sorted(set(lines))


def test_it_counts_the_answers_that_it_tried(fleet: Fleet) -> None:
    fleet.write(
        {
            "groups/g.toml": 'members = ["m1m1", "m2m2", "node1"]\nx = 1\n',
            "groups/sel.toml": 'match.x = "1"\n',
            "node1.toml": "y = 1\n",
            "default.toml": "z = 1\n",
        }
    )
    assert fleet.check().rendered == 4


@pytest.mark.parametrize("is_installed", [False, True], ids=["a tool that is not there", "a tool that is"])
def test_that_a_tool_was_asked_about_some_only_is_said_of_a_tool_that_is_there(
    fleet: Fleet, tmp_path: Path, is_installed: bool
) -> None:
    fleet.write({f"node{number}.ks": f"lang l{number}\n" for number in range(10)})
    tool = tmp_path / "ksvalidator"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    tools = Tools({"ksvalidator": str(tool)} if is_installed else {})
    notes = check(fleet.loader.catalogue, tools).notes
    assert any("ksvalidator was asked about 8 answers only" in note for note in notes) == is_installed
    assert any("ksvalidator is not installed" in note for note in notes) != is_installed


def test_a_check_changes_nothing(fleet: Fleet) -> None:
    fleet.write({"node1.toml": 'x = "{{ serial }}"\nmatch.rack = "1"\n'})
    before = fleet.loader.catalogue
    assert fleet.check() == fleet.check()
    assert fleet.loader.catalogue is before
    assert fleet.text("/?h=node1&rack=1&serial=s") == 'x = "s"\n'


def test_a_secret_that_many_machines_lack_has_one_reason(fleet: Fleet, tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    secrets = SecretFiles(str(tmp_path / "secrets"))
    names = [f"node{number}" for number in range(10, 20)]
    fleet.write({f"{name}.ks": "{{ secret.root }}\n" for name in names})
    report = check(fleet.loader.catalogue, Tools.none(), sources=Sources(secret=secrets.secret))
    assert [problem.partition(": ")[0] for problem in report.problems] == [f'machine "{name}" (ks)' for name in names]
    assert len({problem.partition(": ")[2] for problem in report.problems}) == 1


def test_a_directory_of_secrets_that_is_named_after_no_machine_is_a_note(fleet: Fleet, tmp_path: Path) -> None:
    for folder in ("own-1", "PC-07", "pc-8", "98fa9b50d810", ".acme"):
        (tmp_path / "secrets" / folder).mkdir(parents=True)
    (tmp_path / "secrets" / "root").write_text("x")
    table = "id,mac\npc-07,98:fa:9b:50:d8:10\n,98:fa:9b:50:d8:11\n"
    fleet.write(
        {"inventory.csv": table, "own-1.ks": "a\n", "groups/g.ks": "# answer: match mac=*\n{{ secret.root }}\n"}
    )
    sources = sources_of(SecretFiles(str(tmp_path / "secrets")))
    notes = check(fleet.loader.catalogue, Tools.none(), sources=sources).notes
    assert [note for note in notes if note.startswith("secrets: ")] == [
        "secrets: no machine's document and no row's id is called like 98fa9b50d810/, pc-8/: rename or remove it"
    ]


@pytest.mark.parametrize(
    ("overlay", "silent"),
    [
        ('{"overlay": 10, "match": {"role": "db"}, "late": "other"}', ["1 of its 2 machines, such as n2,"]),
        ('{"overlay": 10, "match": {"role": "*"}, "late": "other"}', ["its machines"]),
        ('{"overlay": 10, "match": {"role": "db"}, "late": "{{ nowhere }}"}', []),
    ],
    ids=["one machine", "all machines", "one that cannot be tried"],
)
def test_a_machine_whose_overlay_takes_the_report_away_is_named(fleet: Fleet, overlay: str, silent: list[str]) -> None:
    lab = fleet.remembering(RememberedInstalls(url="http://answers.example.com"))
    lab.write(
        {
            "inventory.csv": "id,mac,role\nn1,00:00:5e:00:53:01,web\nn2,00:00:5e:00:53:02,db\n",
            "groups/all.ipxe": "#!ipxe\n# answer: match role=*\n# answer: once\nboot\n",
            "groups/all.json": '{"match": {"role": "*"}, "late": "{{ report }}"}',
            "groups/other.json": overlay,
        }
    )
    notes = check(lab.loader.catalogue, Tools.none(), sources=lab.sources).notes
    assert [note for note in notes if "{{ report }}" in note] == [
        f'group "all" (ipxe): once, but no answer of {who} has {{{{ report }}}}: '
        "nothing will say when an install is done"
        for who in silent
    ]


def test_sentences_are_in_the_order_of_documents_and_lines() -> None:
    sentences = [
        "inventory.csv:2: has 3 cells",
        "inventory.csv:10: has 3 cells",
        'machine "pc-2" (toml): x.z: is no number (pc-2.toml:9)',
        'machine "pc-2" (toml): x.a: is no number (pc-2.toml:10)',
        'machine "pc-2" (toml): and 20 more findings',
        'machine "pc-10" (toml): does not parse: line 1, column 8',
    ]
    assert in_order(reversed(sentences)) == sentences


@dataclass(frozen=True)
class KnownCertificate:
    """A certificate that installers know, or not."""

    is_known: bool
    fingerprint: str = "AB:" * 31 + "CD"

    def is_trusted(self) -> bool:
        return self.is_known


WEBHOOK = {
    "without": ('url = "{{ report }}"\n', "cert-fingerprint is missing"),
    "with the service's": ('url = "{{ report }}"\ncert-fingerprint = "{{ service.fingerprint | lower }}"\n', ""),
    "with the older spelling": ('url = "{{ report }}"\ncert_fingerprint = "{{ service.fingerprint }}"\n', ""),
    "with another": (f'url = "{{{{ report }}}}"\ncert-fingerprint = "{"00" * 32}"\n', "is not that of the certificate"),
    "to another service": ('url = "https://reports.example.com/a"\n', ""),
}


@pytest.mark.parametrize(("inside", "sentence"), WEBHOOK.values(), ids=WEBHOOK)
@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("is_known", [False, True])
def test_a_webhook_has_the_fingerprint_of_a_certificate_that_installers_do_not_know(
    fleet: Fleet, inside: str, sentence: str, scheme: str, is_known: bool
) -> None:
    lab = fleet.remembering(RememberedInstalls(url=f"{scheme}://127.0.0.1"))
    lab.write({"n1.toml": f"[post-installation-webhook]\n{inside}"})
    sources = replace(lab.sources, certificate=lambda: KnownCertificate(is_known))
    problems = check(lab.loader.catalogue, Tools.none(), sources=sources).problems
    found = [problem for problem in problems if "its one report" in problem]
    if sentence and scheme == "https" and not is_known:
        [problem] = found
        assert sentence in problem
        assert problem.endswith(f":{2 if 'missing' in sentence else 3})")  # of the file, or of the document
    else:
        assert found == []


def test_rows_that_only_a_default_or_a_loader_claims_are_problems_of_a_strict_check(fleet: Fleet) -> None:
    fleet.write(
        {
            "inventory.csv": "id,dept,model\npc-01,er,m1\npc-02,icu,m1\npc-03,er,m2\n",
            "groups/loader.ipxe": "#!ipxe\n# answer: match model=*\nchain x\n",
            "groups/er.ks": "# answer: match dept=er\nlang a\n",
        }
    )
    said = "inventory.csv:3: nothing but a loader claims this row"
    assert said in check(fleet.loader.catalogue, Tools.none(), strict=True).problems
    fleet.write({"default.ks": "lang a\n", "groups/loader.ipxe": "#!ipxe\n# answer: match model=m2\nchain x\n"})
    said = "inventory.csv:3: nothing but a default claims this row"
    assert said in check(fleet.loader.catalogue, Tools.none()).notes
    assert said in check(fleet.loader.catalogue, Tools.none(), strict=True).problems


_TWO_OF_ONE_ROW = {
    "inventory.csv": "id,mac,dept\nPC-101-09,a4-bb-6d-10-00-09,er\n",
    "PC-101-09.yaml": "x: new\n",
    "a4-bb-6d-10-00-09.yaml": "x: old\n",
}


def test_two_machine_documents_of_one_row_are_named_with_the_one_that_answers(fleet: Fleet) -> None:
    fleet.write(_TWO_OF_ONE_ROW)
    for query in ("id=PC-101-09", "mac=a4:bb:6d:10:00:09", "mac=a4:bb:6d:10:00:09&id=PC-101-09"):
        assert fleet.text(f"/yaml?{query}") == "x: new\n"
    report = check(fleet.loader.catalogue, Tools.none(), strict=True)
    [problem] = [one for one in report.problems if "claim this row equally" in one]
    said = 'inventory.csv:2: machine "PC-101-09" (yaml) and machine "a4-bb-6d-10-00-09" (yaml) claim this row'
    assert problem.startswith(said)
    assert "decides for PC-101-09" in problem
    assert report.machines[problem] == {"PC-101-09"}
    report = fleet.check()
    assert problem in report.notes
    assert not any("claim this row equally" in one for one in report.problems)


@pytest.mark.parametrize(
    "other",
    [
        {"a4-bb-6d-10-00-09.yaml": "match: {dept: lab}\nx: old\n"},
        {"a4-bb-6d-10-00-09.yaml": "match: {dept: er}\nx: old\n"},
        {
            "a4-bb-6d-10-00-09.yaml": "match: {state: installed}\nx: old\n",
            "PC-101-09.yaml": "match: {state: armed}\nx: a\n",
        },
    ],
    ids=["a match that does not hold", "one more criterion", "matches that exclude each other"],
)
def test_two_machine_documents_of_one_row_that_match_tells_apart_are_meant(
    fleet: Fleet, other: Mapping[str, str]
) -> None:
    report = fleet.write({**_TWO_OF_ONE_ROW, **other}).check()
    assert not any("claim this row equally" in one for one in (*report.problems, *report.notes))


def test_a_set_without_a_document_and_a_table_without_a_row_are_notes(fleet: Fleet) -> None:
    nothing = "there is no document: nothing is answered"
    assert fleet.check().notes == (nothing,)
    fleet.write({"inventory.csv": "id,mac\n"})
    no_row = "inventory.csv:1: there is no row below the header"
    assert fleet.check().notes == (no_row, nothing)
    fleet.write({"inventory.csv": "id,mac\nnode1,\n", "node1.ks": "lang C\n"})
    assert not {no_row, nothing}.intersection(fleet.check().notes)
