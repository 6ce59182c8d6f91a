"""examples/hospital: departments and models as overlays. Rules: docs/overlays.md."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from answerd.answers.catalogue import Catalogue
from answerd.answers.resolve import Answer, resolve
from answerd.answers.sources import Sources
from answerd.check import check
from answerd.commands.documents import configured_sources
from answerd.facts import Facts, Request
from answerd.store.files import FileStore
from answerd.store.loader import loaded
from answerd.validators import Tools

HOSPITAL = Path(__file__).parents[2] / "examples" / "hospital"
NAME = "{urn:schemas-microsoft-com:unattend}"
ROWS = [line.split(";") for line in (HOSPITAL / "answers" / "inventory.csv").read_text("utf-8-sig").splitlines()[1:]]
DISKS = {"OptiPlex 7010": ("1", "300 500"), "EliteDesk 800": ("0", "500"), "ThinkCentre M75q": ("0", "300")}
"""The disk that a model installs to, and the size of its EFI partition."""


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return loaded(FileStore(HOSPITAL / "answers"))


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> Sources:
    monkeypatch.setenv("SERVICE_SECRETS_DIR", str(HOSPITAL / "secrets"))
    return configured_sources(by_directory=True)


def answer(catalogue: Catalogue, sources: Sources, query: str) -> Answer:
    return resolve(catalogue, Facts(Request("/windows/autounattend.xml", query)), sources=sources)


def test_the_table_is_as_excel_writes_it() -> None:
    written = (HOSPITAL / "answers" / "inventory.csv").read_bytes()
    assert written.startswith(b"\xef\xbb\xbfid;mac;")
    assert written.count(b"\r\n") == written.count(b"\n") == 61
    assert (len(ROWS), {row[3] for row in ROWS}) == (60, {"Notaufnahme", "Röntgen", "Verwaltung", "Küche"})


def test_a_strict_check_finds_nothing(catalogue: Catalogue, sources: Sources) -> None:
    report = check(catalogue, Tools.none(), sources=sources, strict=True)
    assert (report.problems, report.rendered) == ((), 60)
    assert [note for note in report.notes if "judge" not in note] == []


def test_every_pc_has_its_department_and_its_model(catalogue: Catalogue, sources: Sources) -> None:
    for identifier, mac, _, department, model, _ in ROWS:
        found = answer(catalogue, sources, f"mac={mac}")
        names = [overlay.key.identifier.partition("-")[0] for overlay in found.selection.overlays]
        assert names == ["dept", "model"]
        root = ET.fromstring(found.body)
        assert [element.text for element in root.iter(f"{NAME}ComputerName")] == [identifier]
        assert [element.text for element in root.iter(f"{NAME}Organization")] == [f"Klinikum, {department}"]
        disk, sizes = DISKS[model]
        assert [element.text for element in root.iter(f"{NAME}DiskID")] == [disk, disk]
        efi, *_ = [element.text or "" for element in root.iter(f"{NAME}Size")]
        assert efi in sizes.split()
        assert ("m75q" in found.body.decode()) == (model == "ThinkCentre M75q")
        assert [element.text for element in root.iter(f"{NAME}UILanguage")] == ["de-DE", "de-DE"]


def test_a_departments_command_leaves_those_of_the_base(tmp_path: Path, sources: Sources) -> None:
    shutil.copytree(HOSPITAL / "answers", tmp_path / "answers")
    base = tmp_path / "answers" / "groups" / "windows-pc.unattend"
    command = '<SynchronousCommand wcm:action="add"><Order>99</Order><CommandLine>x</CommandLine></SynchronousCommand>'
    end = "</UserAccounts>"
    text = base.read_text("utf-8").replace(end, f"{end}<FirstLogonCommands>{command}</FirstLogonCommands>")
    base.write_text(text, "utf-8")
    changed = loaded(FileStore(tmp_path / "answers"))
    for _, mac, _, department, _, _ in ROWS:
        commands = ET.fromstring(answer(changed, sources, f"mac={mac}").body).iter(f"{NAME}SynchronousCommand")
        orders = [command.findtext(f"{NAME}Order") for command in commands]
        assert orders == (["99", "10"] if department in {"Notaufnahme", "Röntgen"} else ["99"])


def test_sixty_pcs_are_twelve_answers_prepared(catalogue: Catalogue, sources: Sources) -> None:
    for row in ROWS:
        answer(catalogue, sources, f"mac={row[1]}")
    kept = [document.stacks.prepared for document in catalogue.documents.values() if document.stacks]
    assert sum(map(len, kept)) == 12
