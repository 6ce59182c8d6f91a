"""Changes that the kernel does not report, and directories that vanish, move or cannot be read any more."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from answerd.answers.problems import load_problems
from answerd.answers.resolve import resolve
from answerd.documents import Key
from answerd.errors import AnswerError
from answerd.facts import Facts, Request
from answerd.identity import Kind
from answerd.server.answer_set import Preparation
from answerd.store import NoSetYet, StoreError, watch
from answerd.store.files import FileStore
from answerd.store.loader import Loader
from answerd.store.sqlite import SqliteStore
from answerd.store.watch import FULL_LOOK_SECONDS, Watch
from tests.support.service import write_tree
from tests.support.unprivileged import as_nobody, reachable
from tests.support.waiting import PROGRAM_SECONDS
from tests.support.writes import put


@pytest.fixture(autouse=True, params=["reported by the kernel", "looking at everything"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    way = str(request.param)
    if way == "looking at everything":
        monkeypatch.setattr(watch, "_file_system_of", lambda directory, table: "nfs")
    return way


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "answers"
    root.mkdir()
    return root


class Watched:
    """A store on a directory, and the set in force after as many looks as a change needs."""

    def __init__(self, root: Path) -> None:
        self.store = FileStore(root)
        self.loader = Loader(self.store)
        self.settle()

    def settle(self) -> dict[str, str]:
        for _ in range(3):
            self.loader.refresh()
        return self.texts()

    def texts(self) -> dict[str, str]:
        return {raw.source: raw.text for raw in self.loader.catalogue.documents}

    def problems(self) -> list[str]:
        return load_problems(self.loader.catalogue)

    def fault(self) -> str:
        """Why the store cannot be read; several looks say the same."""
        reasons = set()
        for _ in range(3):
            with pytest.raises(StoreError) as caught:
                self.loader.refresh()
            reasons.add(str(caught.value))
        [reason] = reasons
        return reason

    def ask(self, target: str) -> str:
        """The answer's text, or the reason why there is none."""
        try:
            return resolve(self.loader.catalogue, Facts(Request(target, "", [], b"", ""))).body.decode()
        except AnswerError as error:
            return f"{type(error).__name__}: {error}"


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that reports nothing."""
    monkeypatch.setattr(Watch, "_reported", lambda watch: set())


# --- what the kernel does not report ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("deaf")
def test_asked_for_everything_a_store_sees_what_nobody_reported(root: Path, way: str) -> None:
    write_tree(root, {"a.ks": "old", "sub/b.ks": "b"})
    watched = Watched(root)
    write_tree(root, {"a.ks": "newer", "sub/b.ipxe": "c"})
    if way == "reported by the kernel":
        assert watched.settle() == {"a.ks": "old", "sub/b.ks": "b"}
    watched.store.force_full_poll()
    assert watched.settle() == {"a.ks": "newer", "sub/b.ks": "b", "sub/b.ipxe": "c"}


@pytest.mark.parametrize(
    "written",
    [{"a.ks": "newer"}, {"sub/c.ipxe": "c"}, {"new/c.ks": "c"}, {}],
    ids=["a file", "a new file", "a new directory", "a removed file"],
)
@pytest.mark.usefixtures("deaf")
def test_once_a_minute_a_store_looks_at_everything(
    root: Path, written: dict[str, str | bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(root, {"a.ks": "old", "sub/b.ks": "b"})
    watched = Watched(root)
    write_tree(root, written)
    if not written:
        (root / "a.ks").unlink()
    later = time.monotonic() + FULL_LOOK_SECONDS
    monkeypatch.setattr(time, "monotonic", lambda: later)
    found = {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*.*")}
    # The second look, which believes what the first saw, comes without anybody's report.
    assert watched.settle() == found


def test_a_database_is_compared_as_a_whole_when_that_is_asked_for(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "answers.db")
    loader = Loader(store)
    loader.refresh()
    with store.writing() as transaction:
        put(transaction, Key(Kind.MACHINE, "a", "ks"), "old")
        transaction.commit()
    loader.refresh()
    with closing(sqlite3.connect(tmp_path / "answers.db")) as other, other:
        other.execute("DROP TRIGGER document_updated")
        other.execute("UPDATE documents SET text = 'x'")
    loader.refresh()
    assert [raw.text for raw in loader.catalogue.documents] == ["old"]
    store.force_full_poll()
    loader.refresh()
    assert [raw.text for raw in loader.catalogue.documents] == ["x"]


# --- mounts ----------------------------------------------------------------------------------------------------------

TABLE = rb"""1 1 8:1 / / rw - ext4 /dev/sda1 rw
2 1 0:5 / /proc rw - proc proc rw
3 1 0:42 / /srv/r\303\251ponses\040a rw - ext4 x rw
4 3 0:43 / /srv/r\303\251ponses\040a/groups rw shared:1 master:2 - nfs4 nas:/x rw
5 1 0:44 / /over rw - overlay overlay rw
6 1 0:45 / /over/ext rw - nfs x rw
7 1 0:46 / /over/ext rw - ext4 x rw
"""


def test_the_mount_table_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(watch, "mount_table", lambda: TABLE)
    assert watch.mounts_below(Path("/srv/réponses a")) == {"groups"}
    assert watch.mounts_below(Path("/srv/réponses")) == set()
    places = ("/srv/réponses a/x", "/srv/réponses a/groups/x", "/x", "/over/x", "/over/ext/x")
    kinds = [watch._file_system_of(Path(place), TABLE) for place in places]
    assert kinds == ["ext4", "nfs4", "ext4", "overlay", "ext4"], "the later mount covers the earlier"


MOUNTING = """
import pathlib, subprocess, sys
from answerd.store.files import FileStore
from answerd.store.loader import Loader
from answerd.answers.problems import load_problems
root, other = map(pathlib.Path, sys.argv[1:])
loader = Loader(FileStore(root))
def settle():
    for _ in range(3):
        loader.refresh()
    print(sorted((raw.source, raw.text) for raw in loader.catalogue.documents), len(load_problems(loader.catalogue)))
settle()
subprocess.run(["mount", "--bind", other, root / "groups"], check=True)
settle()
(other / "g.ks").write_text("third")
settle()
subprocess.run(["umount", root / "groups"], check=True)
settle()
(root / "groups" / "g.ks").unlink()
settle()
subprocess.run(["mount", "--bind", other, root / "groups"], check=True)
settle()
subprocess.run(["umount", root / "groups"], check=True)
settle()
subprocess.run(["mount", "--bind", other, root / "groups"], check=True)
(other / "g.ks").unlink()
settle()
"""


def test_a_mount_below_is_polled(tmp_path: Path, root: Path) -> None:
    unshare = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else [])]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*unshare, "true"], check=False, timeout=PROGRAM_SECONDS).returncode
    ):
        pytest.skip("this system lets nobody mount")
    write_tree(tmp_path, {"answers/groups/g.ks": "first", "other/g.ks": "second"})
    script = [sys.executable, "-c", MOUNTING, str(root), str(tmp_path / "other")]
    found = subprocess.run([*unshare, *script], capture_output=True, text=True, check=True, timeout=60).stdout
    first, second, third = (f"[('groups/g.ks', '{text}')] 0" for text in ("first", "second", "third"))
    assert found.splitlines() == [first, second, third, first, "[] 0", third, "[] 0", "[] 0"]


# --- the answers directory itself ------------------------------------------------------------------------------------


def test_a_directory_that_vanishes_leaves_the_set_in_force(tmp_path: Path, root: Path) -> None:
    write_tree(root, {"a.ks": "a", "groups/g.ks": "g"})
    watched = Watched(root)
    before = watched.texts()
    root.rename(tmp_path / "elsewhere")
    assert watched.fault() == f"the answers directory {root} does not exist any more: mount it, or put it back"
    root.write_text("a file")
    assert "is not a directory" in watched.fault()
    root.unlink()
    assert watched.texts() == before
    (tmp_path / "elsewhere").rename(root)
    assert watched.settle() == before


def test_an_empty_directory_in_the_place_of_another_is_a_vanished_one(tmp_path: Path, root: Path) -> None:
    write_tree(root, {"a.ks": "a"})
    watched = Watched(root)
    root.rename(tmp_path / "elsewhere")
    root.mkdir()
    (root / "lost+found").mkdir()
    assert "is empty and is not the one that was there before" in watched.fault()
    assert watched.texts() == {"a.ks": "a"}
    write_tree(root, {"b.ks": "b"})
    assert watched.settle() == {"b.ks": "b"}


def test_a_directory_that_was_emptied_is_an_empty_set(root: Path) -> None:
    write_tree(root, {"a.ks": "a", "groups/g.ks": "g"})
    watched = Watched(root)
    shutil.rmtree(root / "groups")
    (root / "a.ks").unlink()
    assert watched.settle() == {}


# --- directories reached by a link -----------------------------------------------------------------------------------


@pytest.fixture
def linked(tmp_path: Path, root: Path) -> Path:
    """A directory elsewhere that ``groups`` is a link to."""
    write_tree(tmp_path, {"disk/g.ks": "g", "answers/a.ks": "a"})
    (root / "groups").symlink_to(tmp_path / "disk")
    return tmp_path / "disk"


def test_what_a_link_led_to_stays_in_force_while_it_leads_nowhere(tmp_path: Path, root: Path, linked: Path) -> None:
    watched = Watched(root)
    linked.rename(tmp_path / "elsewhere")
    (root / "a.ks").write_text("changed")
    assert watched.fault() == "directory groups cannot be listed: the link leads nowhere"
    assert watched.texts() == {"a.ks": "a", "groups/g.ks": "g"}
    (tmp_path / "elsewhere").rename(linked)
    assert watched.settle() == {"a.ks": "changed", "groups/g.ks": "g"}
    linked.rename(tmp_path / "elsewhere")
    (root / "groups").unlink()
    assert watched.settle() == {"a.ks": "changed"}


def test_the_link_of_a_machines_directory_is_missed_where_it_led_to_one(tmp_path: Path, root: Path) -> None:
    write_tree(tmp_path, {"disk/x.ks": "own", "answers/default.ks": "wipe"})
    (root / "n1").symlink_to(tmp_path / "disk")
    (root / "notes").symlink_to("nowhere")
    watched = Watched(root)
    (tmp_path / "disk").rename(tmp_path / "elsewhere")
    assert watched.fault() == "directory n1 cannot be listed: the link leads nowhere"
    assert watched.ask("/ks/n1") == "own"


@pytest.mark.parametrize("target", ["nowhere", "/proc/self"])
def test_a_link_to_groups_that_cannot_be_followed_at_the_start_is_no_set_yet(root: Path, target: str) -> None:
    write_tree(root, {"default.ks": "wipe"})
    (root / "groups").symlink_to(target)
    loader = Loader(FileStore(root))
    for _ in range(3):
        with pytest.raises(NoSetYet, match="directory groups cannot be listed: "):
            loader.refresh()
    (root / "groups").unlink()
    assert loader.refresh()
    assert [raw.text for raw in loader.catalogue.documents] == ["wipe"]


# --- what may not be read --------------------------------------------------------------------------------------------


def test_a_file_that_may_not_be_read_any_more_is_a_problem_and_keeps_its_claims(root: Path) -> None:
    write_tree(root, {"default.ks": "default", "groups/g.ks": "# answer: member n1\ng\n", "n2.ks": "n2"})
    reachable(root)
    with as_nobody():
        watched = Watched(root)
        assert watched.ask("/ks/n1") == "g\n"
        (root / "groups/g.ks").chmod(0)
        watched.settle()
        assert any("(groups/g.ks)" in problem for problem in watched.problems())
        assert "cannot be opened: Permission denied" in watched.ask("/ks/n1")
        assert (watched.ask("/ks/n2"), watched.ask("/ks/n3")) == ("n2", "default")
        (root / "groups/g.ks").chmod(0o600)
        watched.settle()
        assert watched.problems() == []
        assert watched.ask("/ks/n1") == "g\n"


PARTS = ["groups", "groups/own", "inventory", "n1"]
FILES: dict[str, str | bytes] = {
    "default.ks": "default",
    "groups/g.ks": "# answer: member n3\ng\n",
    "groups/own/x.ks": "# answer: member n4\ng\n",
    "inventory/x.csv": "id\nn1\n",
    "n1/x.ks": "n1",
}


@pytest.mark.parametrize("mode", [0, 0o300], ids=["closed", "lets pass but not list"])
@pytest.mark.parametrize("part", PARTS)
def test_while_a_part_cannot_be_listed_nothing_changes(root: Path, part: str, mode: int) -> None:
    write_tree(root, FILES)
    reachable(root)
    with as_nobody():
        watched = Watched(root)
        before = watched.texts()
        (root / part).chmod(mode)
        (root / "default.ks").write_text("changed")
        assert watched.fault() == f"directory {part} cannot be listed: Permission denied"
        assert watched.texts() == before
        assert [watched.ask(f"/ks/n{number}") for number in (1, 2, 3, 4)] == ["n1", "default", "g\n", "g\n"]
        (root / part).chmod(0o700)
        assert watched.settle() == before | {"default.ks": "changed"}


@pytest.mark.parametrize("part", [*PARTS, ""])
def test_a_part_that_cannot_be_listed_at_the_start_is_no_set_yet(root: Path, part: str) -> None:
    write_tree(root, FILES)
    reachable(root)
    with as_nobody():
        (root / part).chmod(0)
        loader = Loader(FileStore(root))
        for _ in range(3):
            with pytest.raises(NoSetYet, match="cannot be listed: Permission denied"):
                loader.refresh()
        (root / part).chmod(0o700)
        assert loader.refresh()
        assert {raw.source: raw.text for raw in loader.catalogue.documents}.keys() == FILES.keys() - {"inventory/x.csv"}


def test_an_answers_directory_that_may_not_be_listed_any_more_leaves_the_set_in_force(root: Path) -> None:
    write_tree(root, {"a.ks": "a"})
    reachable(root)
    with as_nobody():
        watched = Watched(root)
        root.chmod(0)
        assert "Permission denied" in watched.fault()
        assert watched.texts() == {"a.ks": "a"}
        root.chmod(0o700)


def test_what_cannot_be_read_is_logged_when_it_begins_and_when_it_ends(root: Path) -> None:
    write_tree(root, {"groups/g.ks": "g"})
    reachable(root)
    lines: list[str] = []
    with as_nobody():
        watched, digest = Watched(root), Preparation()
        for mode in (0o700, 0, 0, 0o700):
            (root / "groups/g.ks").chmod(mode)
            watched.settle()
            lines += digest.update(watched.loader.catalogue, checks=True)
    problem = 'problem: group "g" (ks): cannot be opened: Permission denied (groups/g.ks)'
    assert lines == [problem, f"no longer a {problem}"]


def test_a_directory_that_holds_no_documents_may_be_closed(root: Path) -> None:
    write_tree(root, {"a.ks": "a", "lost+found/x": "", "my notes/x.csv": ""})
    reachable(root)
    with as_nobody():
        for name in ("lost+found", "my notes"):
            (root / name).chmod(0)
        watched = Watched(root)
        assert watched.settle() == {"a.ks": "a"}
        assert watched.problems() == []
