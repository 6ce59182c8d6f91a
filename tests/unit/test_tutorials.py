"""The tutorials: each machine of their tables gets its loader and its answer, and no other machine gets one.

Not run here: the installers. The loaders of the tutorials are run in QEMU, from power-on to what they start
(tests/installers/test_power_on.py).
"""

from __future__ import annotations

import csv
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

from answerd.installs.states import Rules
from answerd.store.files import FileStore
from answerd.store.states import open_state_file
from tests.support.fleet import Fleet
from tests.support.installer_pages import tutorial_files, without_states
from tests.support.judges import proven
from tests.support.pages import DOCS
from tests.support.service import write_tree
from tests.support.shell import Shell

pytestmark = pytest.mark.long


class Tutorial(NamedTuple):
    """A page, what its installer asks for a MAC address, the answer's format, and what each answer must hold."""

    page: str
    target: str
    extension: str
    proof: str


TUTORIALS = [
    Tutorial("tutorial", "/debian/preseed?mac={mac}", "preseed", "get_hostname string {id}"),
    Tutorial("thirty-ubuntu", "/ubuntu/{dashes}/user-data", "yaml", "hostname: {id}"),
    Tutorial("sixty-windows", "/windows/unattend.xml?mac={mac}", "unattend", "<ComputerName>{id}</ComputerName>"),
]


def rows_of(files: dict[str, str]) -> list[dict[str, str]]:
    (table,) = [text for name, text in files.items() if name.endswith(".csv")]
    return list(csv.DictReader(table.splitlines()))


@pytest.fixture(params=TUTORIALS, ids=lambda tutorial: tutorial.page)
def tutorial(request: pytest.FixtureRequest) -> Tutorial:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def fleet(tutorial: Tutorial, tmp_path: Path) -> Fleet:
    (tmp_path / "answers").mkdir()
    files = {name: without_states(text) for name, text in tutorial_files(tutorial.page).items()}
    write_tree(tmp_path / "answers", files)
    made = Fleet(FileStore(tmp_path / "answers"))
    made.poll()
    return made


def test_each_machine_of_the_table_gets_its_loader_and_its_answer(fleet: Fleet, tutorial: Tutorial) -> None:
    assert fleet.problems() == []
    rows = rows_of(tutorial_files(tutorial.page))
    assert len(rows) > 3
    for row in rows:
        assert "kernel ${base}/" in fleet.text(f"/ipxe?mac={row['mac']}")
        text = fleet.text(tutorial.target.format(mac=row["mac"], dashes=row["mac"].replace(":", "-")))
        assert tutorial.proof.format(**row) in text.replace("'", "").replace('"', "")
        assert list(proven(text, tutorial.extension).findings) == []


def test_a_machine_that_is_not_in_the_table_boots_from_its_disk(fleet: Fleet) -> None:
    assert fleet.text("/ipxe?mac=00:00:5e:00:53:01").endswith("exit 1\n")


def test_what_installs_does_so_once_and_reports(tutorial: Tutorial) -> None:
    files = tutorial_files(tutorial.page)
    (loader,) = [text for name, text in files.items() if name.startswith("groups/") and name.endswith(".ipxe")]
    (answer,) = [text for name, text in files.items() if name.endswith(tutorial.extension)]
    assert without_states(loader) != loader
    assert "{{ report }}" in answer
    assert re.search(r'^(# answer: once|once: true)$| once="true"', answer, re.MULTILINE)  # it holds a password


def test_every_command_of_answerd_on_the_page_does_its_work(tutorial: Tutorial, shell: Shell) -> None:
    page = (DOCS / f"{tutorial.page}.md").read_text("utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines() if line.startswith("answerd ")]
    assert {command.split()[1] for command in commands} >= {"check", "render", "installs", "wait", "arm"}
    files = tutorial_files(tutorial.page)
    write_tree(shell.place / "answers", files)
    (shell.place / "secrets").mkdir(mode=0o700)
    for secret in re.findall(r"\{\{ secret\.([\w-]+) \}\}", "".join(files.values())):
        (shell.place / "secrets" / secret).write_text("$6$x$y")
    shell.set(SERVICE_ANSWERS_DIR="answers", SERVICE_STATE_PATH="installs.db", SERVICE_SECRETS_DIR="secrets")
    open_state_file("installs.db", Rules())  # as the service has made it
    machines = [row["id"] for row in rows_of(files)]
    for command in commands:
        if command.startswith("answerd wait"):  # all are done: it waits for nothing
            assert shell("disarm", *machines).status == 0
        done = shell(*shlex.split(command.partition(" > ")[0])[1:])
        assert done.status == 0, (command, done)
        if command == "answerd check":
            assert " 0 problems" in done.out[-1]
