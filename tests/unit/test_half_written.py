"""A document or a secret that somebody is writing is not served half: where the kernel reports changes, it is read when
it is closed (docs/running.md#the-answers-directory)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

import pytest

from answerd.answers.problems import load_problems
from answerd.errors import CannotFill
from answerd.store import watch
from answerd.store.files import FileStore
from answerd.store.loader import Loader
from answerd.store.secrets import SecretFiles
from answerd.store.watch import FULL_LOOK_SECONDS, WRITING_SECONDS
from tests.support.service import write_tree

LOOKS = 6


class Documents:
    """A directory of documents, as it is after some looks."""

    name, other = "groups/own/x.ks", "b.ks"

    def __init__(self, root: Path) -> None:
        self.root = root
        write_tree(root, {self.name: "before", self.other: "b", "groups/own/y.toml": ""})
        self.store = FileStore(root)
        self.loader = Loader(self.store)

    def look(self) -> None:
        for _ in range(LOOKS):
            self.loader.refresh()

    def text(self, name: str) -> str | None:
        self.look()
        return {raw.source: raw.text for raw in self.loader.catalogue.documents}.get(name)

    def said(self) -> list[str]:
        return [problem for problem in load_problems(self.loader.catalogue) if "open for writing" in problem]

    def everything(self) -> None:
        self.store.force_full_poll()


class Secrets:
    """The same of a directory of secrets."""

    name, other = "web-01/root", "other"

    def __init__(self, root: Path) -> None:
        self.root = root
        write_tree(root, {self.name: "before", self.other: "b"})
        self.files = SecretFiles(str(root))

    def look(self) -> None:
        for _ in range(LOOKS):
            self.files.poll()

    def text(self, name: str) -> str | None:
        self.look()
        folder, _, secret = name.rpartition("/")
        try:
            return self.files.secret(secret, [folder] if folder else [])
        except CannotFill:
            return None

    def said(self) -> list[str]:
        return [warning for warning in self.files.warnings() if "open for writing" in warning]

    def everything(self) -> None:
        self.files._watch.ask_for_everything()


Kept = Documents | Secrets


@pytest.fixture(params=[Documents, Secrets])
def kept(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    monkeypatch.setattr(watch, "_file_system_of", lambda directory, table: "ext4")
    made: Callable[[Path], Kept] = request.param
    kept = made(tmp_path / "kept")
    assert kept.text(kept.name) == "before"
    return kept


@pytest.fixture
def half(kept: Kept) -> Iterator[TextIO]:
    """The file, open and half written."""
    with (kept.root / kept.name).open("w") as file:
        file.write("ha")
        file.flush()
        yield file


def test_a_file_is_read_when_it_is_closed(kept: Kept, half: TextIO) -> None:
    for _ in range(3):
        assert kept.text(kept.name) == "before"
        half.write("lf ")
        half.flush()
    half.close()
    assert kept.text(kept.name) == "half lf lf "
    assert kept.said() == []


def test_a_file_that_is_emptied_first_is_not_empty_meanwhile(kept: Kept) -> None:
    with (kept.root / kept.name).open("w") as file:
        assert kept.text(kept.name) == "before"
        file.write("after")
    assert kept.text(kept.name) == "after"


def test_a_new_file_is_not_there_before_it_is_closed(kept: Kept) -> None:
    new = kept.name.replace("x", "z").replace("root", "more")
    with (kept.root / new).open("w") as file:
        assert kept.text(new) is None
        file.write("ne")
        file.flush()
        assert kept.text(new) is None
        file.write("w")
    assert kept.text(new) == "new"


@pytest.mark.usefixtures("half")
def test_other_files_are_taken_meanwhile(kept: Kept) -> None:
    (kept.root / kept.other).write_text("changed")
    assert kept.text(kept.other) == "changed"
    (kept.root / kept.other).unlink()
    assert kept.text(kept.other) is None
    assert kept.text(kept.name) == "before"


@pytest.mark.usefixtures("half")
def test_a_file_that_is_renamed_into_place_counts_whoever_writes_to_the_former(kept: Kept) -> None:
    beside = kept.root / ".beside"
    beside.write_text("whole")
    beside.rename(kept.root / kept.name)
    assert kept.text(kept.name) == "whole"


@pytest.mark.usefixtures("half")
def test_a_file_that_is_removed_while_it_is_written_is_gone(kept: Kept) -> None:
    (kept.root / kept.name).unlink()
    assert kept.text(kept.name) is None


def test_a_look_at_everything_leaves_it_alone(kept: Kept, half: TextIO, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.look()
    kept.everything()
    assert kept.text(kept.name) == "before"
    (kept.root / "new-directory").mkdir()  # after which all is watched anew
    assert kept.text(kept.name) == "before"
    half.write("lf")
    half.close()
    assert kept.text(kept.name) == "half"
    assert FULL_LOOK_SECONDS > WRITING_SECONDS


def test_who_never_closes_is_named_and_read_as_he_writes(
    kept: Kept, half: TextIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kept.text(kept.name) == "before"
    later = time.monotonic() + WRITING_SECONDS + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert kept.text(kept.name) == "ha"
    (said,) = kept.said()
    assert kept.name in said
    half.write("lf")
    half.flush()
    assert kept.text(kept.name) == "half"
    assert len(kept.said()) == 1
    half.close()
    kept.look()
    assert kept.said() == []
    with (kept.root / kept.name).open("w") as file:  # the next writer has his time again
        file.write("ne")
        file.flush()
        assert kept.text(kept.name) == "half"
        file.write("w")
    assert kept.text(kept.name) == "new"


def test_a_second_name_of_a_whole_file_is_not_waited_for(kept: Kept) -> None:
    new = kept.name.replace("x", "z").replace("root", "more")
    (kept.root / ".made").write_text("whole")
    (kept.root / new).hardlink_to(kept.root / ".made")
    (kept.root / ".made").unlink()
    assert kept.text(new) == "whole"


@pytest.mark.usefixtures("half")
def test_where_the_kernel_reports_nothing_two_looks_agree(kept: Kept) -> None:
    kept.look()
    (kept.root / kept.other).unlink()
    (kept.root / kept.other).symlink_to(kept.root / kept.name)  # what a link leads to changes without a report
    assert kept.text(kept.name) == "ha"
