"""The pages of docs/installers/: their documents load, answer what the installer asks, and are what it takes.

A document is a block of code after a line that names its file. Rules: docs/installers/index.md.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from answerd.errors import NotClaimed
from answerd.store.files import FileStore
from tests.support.fleet import Fleet
from tests.support.installer_pages import DASHES, INDEX, MAC, PAGES, documents, without_states
from tests.support.judges import proven
from tests.support.pages import rows
from tests.support.service import write_tree

PROXMOX = {"network_interfaces": [{"link": "eno1", "mac": "52:54:00:12:34:56"}], "dmi": {"system": {"serial": "S1"}}}

REQUESTS: dict[str, list[tuple[str, dict[str, Any], str]]] = {
    "proxmox": [("/proxmox", {"json": PROXMOX}, "toml"), ("/ipxe?mac=x&product=PowerEdge R640", {}, "ipxe")],
    "debian-installer": [(f"/debian/preseed?mac={MAC}", {}, "preseed")],
    "anaconda": [("/ks", {"X_RHN_Provisioning_MAC_0": f"eno0 {MAC}"}, "ks")],
    "subiquity": [(f"/ubuntu/{DASHES}/user-data", {}, "yaml"), (f"/ubuntu/{DASHES}/meta-data", {}, "yaml")],
    "cloud-init": [(f"/ubuntu/{DASHES}/user-data", {}, "yaml"), (f"/ubuntu/{DASHES}/network-config", {}, "yaml")],
    "ignition": [(f"/ignition?mac={MAC}", {}, "ign")],
    "autoyast": [(f"/autoyast?mac={MAC}", {}, "autoyast"), ("/autoyast/525400123456", {}, "autoyast")],
    "agama": [(f"/json/agama?mac={MAC}", {}, "json")],
    "windows": [(f"/windows/unattend.xml?mac={MAC}", {}, "unattend")],
    "openbsd": [(f"/{MAC}-install.conf", {}, "cfg"), (f"/cfg/site?mac={MAC}", {}, "cfg")],
    "xenserver": [(f"/xml/answer?mac={MAC}", {}, "xml"), (f"/cfg/complete?mac={MAC}", {}, "cfg")],
    "talos": [("/yaml/talos?mac=52%3A54%3A00%3A12%3A34%3A56&uuid=12345678-1234-5678-9abc-def012345678", {}, "yaml")],
    "pxelinux": [(f"/pxelinux.cfg/01-{DASHES}", {}, "pxelinux"), ("/boot/pxelinux.cfg/default", {}, "pxelinux")],
    "grub": [(f"/grub.cfg-01-{MAC}", {}, "grub"), (f"/grub.cfg-01-{DASHES}", {}, "grub"), ("/grub.cfg", {}, "grub")],
    "ipxe": [(f"/ipxe?mac={MAC}", {}, "ipxe"), ("/ipxe?mac=00:00:5e:00:53:01", {}, "ipxe")],
}
"""What each installer asks: target, rest of the request, and the format of the answer that it takes."""

SILENT = {"talos"}
"""Installers that report nothing by HTTP."""


@pytest.fixture(params=sorted(PAGES))
def page(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def fleet(page: str, tmp_path: Path) -> Fleet:
    """The documents of a page."""
    answers = tmp_path / "answers"
    answers.mkdir()
    write_tree(answers, {name: without_states(text) for name, text in documents(PAGES[page]).items()})
    made = Fleet(FileStore(answers))
    made.poll()
    return made


def test_the_documents_of_the_page_have_no_problem(fleet: Fleet) -> None:
    assert fleet.problems() == []


def test_the_installer_gets_an_answer_that_it_takes(fleet: Fleet, page: str) -> None:
    for target, rest, extension in REQUESTS[page]:
        answer = fleet.ask(target, **rest)
        verdict = proven(answer.body.decode(), extension)
        assert list(verdict.findings) == [], (target, verdict.findings)


def test_a_machine_that_nobody_means_to_install_gets_no_installation(fleet: Fleet, page: str) -> None:
    path, _, _ = REQUESTS[page][0][0].partition("?")
    stranger = path.replace(DASHES, "00-00-5e-00-53-01").replace(MAC, "00:00:5e:00:53:01")
    if page == "ipxe":  # its page has a default, which installs nothing
        assert b"exit 1" in fleet.ask(f"{stranger}?mac=00:00:5e:00:53:01").body
        return
    with pytest.raises(NotClaimed):
        fleet.ask(f"{stranger}?mac=00:00:5e:00:53:01")


def test_the_page_has_a_script_that_installs_once(page: str) -> None:
    scripts = [text for name, text in documents(PAGES[page]).items() if name.endswith((".ipxe", ".pxelinux", ".grub"))]
    installing = [text for text in scripts if re.search(r"^ *(kernel|KERNEL|linux) ", text, re.MULTILINE)]
    if page in ("cloud-init", "openbsd"):
        assert installing == []
    else:
        assert installing
        assert all("# answer: once\n" in text for text in installing) != (page in SILENT)


def test_the_page_says_how_the_installation_is_reported(page: str) -> None:
    text = "".join(documents(PAGES[page]).values())
    if page in ("ipxe", "pxelinux", "grub"):
        return  # the installer reports
    assert ("{{ report }}" in text) != (page in SILENT)


def test_the_table_names_every_page_and_its_format() -> None:
    notes = {
        re.sub(r".*\((.+)\.md\).*", r"\1", cells[0]): re.sub(r"`", "", cells[1])
        for cells in rows(INDEX, 5)
        if ".md)" in cells[0]
    }
    assert set(notes) == set(PAGES)
    assert {name: REQUESTS[name][0][2] for name in PAGES} == notes
