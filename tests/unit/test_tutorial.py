"""docs/tutorial.md: its documents and its table install ten machines, each as its row says, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from answerd.boot import DIALECTS
from answerd.store.files import FileStore
from answerd.validators import Tools, validate
from tests.support.fleet import Fleet
from tests.support.installer_pages import without_states
from tests.support.service import write_tree

TEXT = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text("utf-8")
FILES = dict(re.findall(r"`/srv/answers/([\w./-]+)`:\n\n```\w+\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))
MACHINES = [f"52:54:00:10:00:{number:02x}" for number in range(1, 11)]


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    """The files of the tutorial; the secret is written in."""
    answers = tmp_path / "answers"
    answers.mkdir()
    hashed = {
        name: without_states(text).replace("{{ secret.root-password-hash }}", "$6$x$y") for name, text in FILES.items()
    }
    write_tree(answers, hashed)
    made = Fleet(FileStore(answers))
    made.poll()
    return made


def test_the_files_of_the_tutorial_have_no_problem(fleet: Fleet) -> None:
    assert set(FILES) == {"inventory.csv", "default.ipxe", "groups/debian.ipxe", "groups/debian.preseed"}
    assert fleet.problems() == []


def test_each_of_the_ten_machines_gets_its_own_answer(fleet: Fleet) -> None:
    names = {}
    for mac in MACHINES:
        text = fleet.text(f"/debian/preseed?mac={mac}")
        assert validate(text, "preseed", tools=Tools.none()).findings == ()
        (names[mac],) = re.findall(r"get_hostname string (\S+)", text)
        assert "kernel ${base}/linux" in fleet.text(f"/ipxe?mac={mac}&serial=S&uuid=u")
    assert list(names.values()) == [f"node-{number:02}" for number in range(1, 11)]
    assert "partman-auto/disk string /dev/nvme0n1\n" in fleet.text(f"/debian/preseed?mac={MACHINES[9]}")


def test_a_machine_that_is_not_in_the_table_boots_from_its_disk(fleet: Fleet) -> None:
    assert fleet.text("/ipxe?mac=00:00:5e:00:53:01").endswith("exit 1\n")


def test_the_dialect_of_the_tutorial_exists() -> None:
    assert set(re.findall(r"answerd boot-config (\w+)", TEXT)) <= set(DIALECTS)
