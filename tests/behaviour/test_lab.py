"""examples/lab: one table and one document for each kind of machine answer 140 machines. Rules: docs/inventory.md."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from answerd.answers.answer_secrets import redacted_answer
from answerd.answers.catalogue import Catalogue
from answerd.answers.resolve import resolve
from answerd.answers.secret_names import SECRET
from answerd.answers.sources import Sources
from answerd.check import check
from answerd.commands.documents import configured_sources
from answerd.errors import GateClosed, NotClaimed
from answerd.facts import Facts, Request
from answerd.installs.reports import Body, read_report
from answerd.installs.states import ReportKind
from answerd.inventory.row import Row
from answerd.store.files import FileStore
from answerd.store.loader import loaded
from answerd.validators import validate
from tests.support.installs import RememberedInstalls
from tests.support.judges import installed
from tests.support.thorough import drawn

pytestmark = pytest.mark.long

LAB = Path(__file__).parents[2] / "examples" / "lab"
KINDS = {"ubuntu": ("ubuntu", "user-data"), "rocky": ("ks",), "proxmox": ("proxmox",)}
"""The path that the machines of each kind ask for."""


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return loaded(FileStore(LAB / "answers"), has_states=True)


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> Sources:
    monkeypatch.setenv("SERVICE_STATE_PATH", "/nowhere/state.db")
    monkeypatch.setenv("SERVICE_SECRETS_DIR", str(LAB / "secrets"))
    return configured_sources(by_directory=True)


def rows(catalogue: Catalogue) -> list[Row]:
    assert catalogue.inventory is not None
    return list(catalogue.inventory.rows())


def answer(catalogue: Catalogue, sources: Sources, row: Row, path: str) -> str:
    """What the machine of a row gets, which says nothing but its MAC address."""
    return resolve(catalogue, Facts(Request(path, f"mac={row.values()['mac'][0]}")), sources=sources).body.decode()


def test_check_finds_no_problem_and_nothing_that_no_document_claims(catalogue: Catalogue, sources: Sources) -> None:
    report = check(catalogue, installed(), sources=sources)
    assert report.problems == ()
    assert report.rendered == 2 * 140 + 1
    assert not [note for note in report.notes if "inventory.csv" in note]


def test_every_machine_gets_its_own_answer_and_its_loader(catalogue: Catalogue, sources: Sources) -> None:
    answers = set()
    judged = drawn(rows(catalogue), share=10)
    for row in rows(catalogue):
        values = {label: found[0] for label, found in row.values().items()}
        kind = KINDS[values["os"]]
        body = answer(catalogue, sources, row, "/" + "/".join(kind[:1] + (values["id"],) * (len(kind) - 1) + kind[1:]))
        extension = {"ubuntu": "yaml", "rocky": "ks", "proxmox": "toml"}[values["os"]]
        if row in judged:
            assert validate(body, extension, tools=installed()).findings == ()
        assert values["id"] in body
        loader = answer(catalogue, sources, row, "/ipxe")
        assert f"\ngoto {values['os']}\n" in loader
        answers |= {body, loader}
    assert len(rows(catalogue)) == 140
    assert len(answers) == 280


def test_values_of_a_row_stand_where_they_belong(catalogue: Catalogue, sources: Sources) -> None:
    by_id = {row.id: row for row in rows(catalogue)}
    ubuntu = yaml.safe_load(answer(catalogue, sources, by_id["web-007"], "/ubuntu/web-007/user-data"))["autoinstall"]
    assert ubuntu["network"]["ethernets"]["lan"]["match"] == {"macaddress": "00:00:5e:00:53:07"}
    assert ubuntu["network"]["ethernets"]["lan"]["addresses"] == ["10.20.0.17/22"]
    assert answer(catalogue, sources, by_id["web-007"], "/ubuntu/web-007/meta-data") == 'instance-id: "web-007"\n'
    first = tomllib.loads(answer(catalogue, sources, by_id["pve-01"], "/proxmox"))
    other = tomllib.loads(answer(catalogue, sources, by_id["pve-02"], "/proxmox"))
    assert first["disk-setup"]["disk-list"] == ["nvme0n1", "nvme1n1"]
    assert first["global"]["root-password-hashed"] != other["global"]["root-password-hashed"]
    kickstart = answer(catalogue, sources, by_id["db-40"], "/ks")
    assert "--ip=10.20.0.130 --netmask=255.255.252.0" in kickstart


@pytest.mark.parametrize("path", ["/ubuntu/user-data", "/ks", "/proxmox"])
def test_a_machine_without_a_row_is_not_installed(catalogue: Catalogue, path: str) -> None:
    with pytest.raises(NotClaimed):
        resolve(catalogue, Facts(Request(path, "mac=00:00:5e:00:53:ff")))


PRODUCT = b'{"$schema": {"version": "1.2"}, "debian-version": "13.1", "product": {"fullname": "Proxmox VE"}}'
SHUTDOWN = b'{"name": "subiquity/Shutdown/shutdown", "event_type": "start", "origin": "curtin"}'


class Done(NamedTuple):
    """How a machine of a kind asks, what its answer says of the report, and what it sends in the end."""

    name: str
    path: str
    written: str
    word: ReportKind | None
    body: bytes


@pytest.mark.parametrize(
    "done",
    [
        Done("web-007", "/ubuntu/web-007/user-data", 'endpoint: "{}"', None, SHUTDOWN),
        Done("db-01", "/ks", "-X POST {}/installed\n", ReportKind.INSTALLED, b""),
        Done("pve-01", "/proxmox", 'url = "{}"', None, PRODUCT),
    ],
)
def test_each_kind_installs_once_and_reports_at_its_end(catalogue: Catalogue, sources: Sources, done: Done) -> None:
    installs = RememberedInstalls(url="http://10.20.0.2:8000")
    remembering = replace(sources, gates=installs.gates)
    row = {row.id: row for row in rows(catalogue)}[done.name]
    assert "\nboot\n" in answer(catalogue, remembering, row, "/ipxe")
    text = answer(catalogue, remembering, row, done.path)
    found = re.search(r"http://10\.20\.0\.2:8000/report/[\w.-]+", text)
    assert found is not None
    assert done.written.format(found[0]) in text
    report = read_report(done.word, "", (), Body(done.body))
    installs.report(found[0], report.word)
    assert report.word is ReportKind.INSTALLED
    script = answer(catalogue, remembering, row, "/ipxe")
    assert f"{done.name} is installed and goes on from its disk\n" in script
    assert "kernel" not in script
    with pytest.raises(GateClosed):
        answer(catalogue, remembering, row, done.path)


@pytest.mark.parametrize("name", ["web-007", "pve-01"])
def test_an_answer_with_a_report_and_a_secret_is_shown_without_the_secret(
    catalogue: Catalogue, sources: Sources, name: str
) -> None:
    facts = Facts(Request("/ubuntu" if name == "web-007" else "/proxmox", f"id={name}"))
    whole = resolve(catalogue, facts, sources=sources)
    shown = redacted_answer(catalogue, whole, facts, sources)
    assert SECRET in shown
    assert re.search(r"http://\S+/report/[\w.-]+", shown)
    assert len(shown.splitlines()) == len(whole.body.decode().splitlines())
