"""examples/menu: machines that no document names, and a person who chooses. Rules: docs/formats.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from answerd.answers.catalogue import Catalogue
from answerd.answers.resolve import resolve
from answerd.check import check
from answerd.facts import Facts, Request
from answerd.installs.loader_scripts import GRUB_FROM_DISK
from answerd.store.files import FileStore
from answerd.store.loader import loaded
from answerd.validators import Tools
from tests.support.installer_pages import PAGES, documents

EXAMPLES = Path(__file__).parents[2] / "examples"
ASKED = {"ipxe": "/ipxe", "pxelinux": "/pxelinux.cfg/default", "grub": "/grub/grub.cfg"}
MAC = "52:54:00:00:00:07"


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return loaded(FileStore(EXAMPLES / "menu" / "answers"))


def answer(catalogue: Catalogue, path: str, query: str = "") -> str:
    return resolve(catalogue, Facts(Request(path, query))).body.decode()


def test_check_finds_no_problem(catalogue: Catalogue) -> None:
    assert check(catalogue, Tools.none()).problems == ()


@pytest.mark.parametrize("loader", ASKED)
def test_every_choice_of_a_menu_leads_to_its_document(catalogue: Catalogue, loader: str) -> None:
    menu = answer(catalogue, ASKED[loader])
    led = re.findall(r"http://192\.0\.2\.10:8000(/\w+(?:/\w+)?)\?(\S+?)[\"\s]", menu)
    assert [re.search(r"profile=(\w+)", query)[1] for _, query in led] == ["debian", "rocky"]  # type: ignore[index]
    for path, query in led:
        asked = re.sub(r"\$\{netX/mac\}|\$net_default_mac", MAC, query)
        name = "pc-525400000007" if MAC in asked else "pc-new"
        assert name in answer(catalogue, path, asked)


@pytest.mark.parametrize("document", ["answers/default.grub", "menu/answers/default.grub", "the page"])
def test_grub_starts_from_the_disk_as_a_refused_machine_does(document: str) -> None:
    text = (
        documents(PAGES["grub"])["default.grub"] if document == "the page" else (EXAMPLES / document).read_text("utf-8")
    )
    assert GRUB_FROM_DISK in re.sub("^  ", "", text, flags=re.MULTILINE) or GRUB_FROM_DISK in text
