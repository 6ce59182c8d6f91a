"""The file store: which files are documents, when a change counts, and how a write lands.

Rules: docs/formats.md#the-files.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from answerd.answers.problems import load_problems
from answerd.documents import Key
from answerd.identity import Kind
from answerd.store import Changes, file_io, files, watch
from answerd.store.file_io import write_atomically
from answerd.store.files import FileStore
from answerd.store.layout import flat_name
from answerd.store.loader import Loader, loaded
from tests.support.unprivileged import NOBODY
from tests.support.writes import delete

LONG_AGO = time.time() - 3600


def write(path: Path, text: str | bytes = "x = 1\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def nobody_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have stores look at everything, as on a network file system."""
    monkeypatch.setattr(watch, "_file_system_of", lambda directory, table: "nfs")


@pytest.fixture(autouse=True, params=["reported by the kernel", "looking at everything"])
def every_way_of_watching(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "looking at everything":
        nobody_tells(monkeypatch)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    directory = tmp_path / "answers"
    directory.mkdir()
    return directory


def keys(root: Path) -> list[str]:
    """What a store finds, as ``kind:identifier.format``."""
    changes = FileStore(root).changes()
    assert changes
    return sorted(f"{raw.key.kind}:{raw.key.identifier}.{raw.key.format}" for raw in changes.added)


class Watched:
    """A store that has looked once already, and its set as it is known now."""

    def __init__(self, root: Path) -> None:
        self.loader = Loader(FileStore(root))
        self.loader.refresh()

    def poll(self) -> bool:
        return self.loader.refresh()

    def texts(self) -> dict[str, str]:
        return {raw.source: raw.text for raw in self.loader.catalogue.documents}

    def faults(self) -> dict[str, str]:
        return {raw.source: raw.fault for raw in self.loader.catalogue.documents if raw.fault}


def test_a_list_has_as_many_machines_as_were_asked_for_and_each_with_all_its_documents(root: Path) -> None:
    for name in ("a.ks", "a.toml", "b.ks", "c.ks"):
        os.utime(write(root / name), (LONG_AGO, LONG_AGO))
    store = FileStore(root)
    store.changes()
    assert [entry.key.identifier for entry in store.entries(Kind.MACHINE, limit=1)] == ["a", "a"]
    assert [entry.key.identifier for entry in store.entries(Kind.MACHINE, after="a", limit=2)] == ["b", "c"]


@pytest.mark.parametrize(
    ("file", "key"),
    [
        ("98-fa-9b-50-d8-10.toml", "machine:98-fa-9b-50-d8-10.toml"),
        ("98-fa-9b-50-d8-10.preseed", "machine:98-fa-9b-50-d8-10.preseed"),
        ("node.1.example.TOML", "machine:node.1.example.toml"),
        ("7ABC123/proxmox.toml", "machine:7ABC123.toml"),
        ("7ABC123/boot.ipxe", "machine:7ABC123.ipxe"),
        ("7ABC123/default.Ks", "machine:7ABC123.ks"),
        ("default.toml", "default:.toml"),
        ("DEFAULT.Yml", "default:.yml"),
        ("default/anything.toml", "default:.toml"),
        ("Default/x.toml", "default:.toml"),
        ("groups/rack-a.toml", "group:rack-a.toml"),
        ("groups/rack-a/anything.toml", "group:rack-a.toml"),
        ("GROUPS/rack-a.toml", "group:rack-a.toml"),
        ("groups/default.toml", "group:default.toml"),
        ("groups/default/x.toml", "group:default.toml"),
        ("a:b.json", "machine:a:b.json"),
    ],
)
def test_a_file_is_a_document_by_its_place(root: Path, file: str, key: str) -> None:
    write(root / file)
    assert keys(root) == [key]


@pytest.mark.parametrize(
    "file",
    [
        ".hidden.toml",
        "node.toml~",
        "._node.toml",
        ".#node.toml",
        "node.toml.bak",
        "node.txt",
        "node",
        "toml",
        "README.md",
        ".git/config.toml",
        "dir~/node.toml",
        "groups/.x.toml",
        "groups/..data/x.toml",
        "7ABC123/.x.toml",
        "7ABC123/sub/x.toml",
        "groups/rack/sub/x.toml",
        "default/sub/x.toml",
    ],
)
def test_a_file_is_no_document(root: Path, file: str) -> None:
    write(root / file)
    assert keys(root) == []


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("my node.toml", "ASCII"),
        ("nodé.toml", "ASCII"),
        ("-.-.toml", "letter or digit"),
        (f"{'a' * 201}.toml", "200"),
        ("groups.toml", "reserved"),
        ("Groups.ks", "reserved"),
        ("inventory.toml", "reserved"),
        ("InvenTory/x.ks", "reserved"),
        ("my dir/x.toml", "ASCII"),
        ("groups/my group.toml", "ASCII"),
        ("a\nb.toml", "ASCII"),
        (os.fsdecode(b"\xff\xfe.toml"), "ASCII"),
    ],
)
def test_a_name_that_cannot_be_an_identifier_is_a_problem_that_names_the_file(
    root: Path, file: str, words: str
) -> None:
    write(root / file)
    problems = load_problems(loaded(FileStore(root)))
    assert len(problems) == 1
    assert words in problems[0]
    assert problems[0].isprintable()
    problems[0].encode()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("node.toml", "node/x.toml"),
        ("node/a.toml", "node/b.toml"),
        ("node.toml", "node.TOML"),
        ("node-1.toml", "NODE1.toml"),
        ("default.toml", "Default.toml"),
        ("default.toml", "default/x.toml"),
        ("groups/g.toml", "groups/g/x.toml"),
        ("groups/g.toml", "Groups/G.toml"),
    ],
)
def test_two_files_for_one_document_are_one_problem_that_names_both(root: Path, first: str, second: str) -> None:
    write(root / first)
    write(root / second)
    problems = load_problems(loaded(FileStore(root)))
    assert len(problems) == 1
    assert first in problems[0]
    assert second in problems[0]


def test_text_is_kept_exactly_and_what_is_not_utf_8_is_a_problem(root: Path) -> None:
    write(root / "a.ks", "\ufeffé\r\nx\n\n".encode())
    write(root / "b.ks", b"ok\xff")
    watched = Watched(root)
    assert watched.texts()["a.ks"] == "\ufeffé\r\nx\n\n"
    assert "0xff at offset 2" in watched.faults()["b.ks"]
    assert "b.ks" in load_problems(watched.loader.catalogue)[0]


def test_a_change_counts_when_two_looks_agree_about_it(root: Path) -> None:
    path = write(root / "n.toml", "x = 1\n")
    watched = Watched(root)
    write(path, "x = 22\n")
    assert not watched.poll()
    assert watched.texts() == {"n.toml": "x = 1\n"}
    write(path, "x = 333\n")
    assert not watched.poll()
    assert watched.poll()
    assert watched.texts() == {"n.toml": "x = 333\n"}
    assert not watched.poll()
    write(root / "new.toml")
    assert not watched.poll()
    assert watched.poll()
    assert watched.texts() == {"n.toml": "x = 333\n", "new.toml": "x = 1\n"}


def test_a_file_that_never_rests_keeps_its_former_text(root: Path) -> None:
    path = write(root / "n.toml", "x = 1\n")
    watched = Watched(root)
    for length in range(2, 12):
        write(path, "#" * length)
        assert not watched.poll()
    assert watched.texts() == {"n.toml": "x = 1\n"}


def test_a_removed_file_counts_when_two_looks_agree_about_it(root: Path) -> None:
    path = write(root / "n.toml")
    watched = Watched(root)
    path.unlink()
    assert not watched.poll()
    write(path)
    watched.poll()
    watched.poll()
    assert watched.texts() == {"n.toml": "x = 1\n"}
    path.unlink()
    watched.poll()
    assert watched.poll()
    assert watched.texts() == {}


def test_a_rewrite_of_the_same_size_within_one_tick_of_the_clock_is_seen(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody_tells(monkeypatch)
    now = time.time_ns()
    # A file system whose times are as coarse as its clock: nothing but the text differs.
    for module in (file_io, files):
        monkeypatch.setattr(module, "state_of", lambda status: (status.st_size, now, now, 1))
    monkeypatch.setattr(time, "time_ns", lambda: now)
    path = write(root / "n.toml", "x = 1\n")
    watched = Watched(root)
    write(path, "x = 2\n")
    monkeypatch.setattr(time, "time_ns", lambda: now + 3_000_000_000)
    assert watched.poll()
    assert watched.texts() == {"n.toml": "x = 2\n"}
    write(path, "x = 3\n")
    assert not watched.poll(), "once settled, a file with the same times is not read again"


@pytest.mark.parametrize("how", ["in place", "by rename"])
def test_a_rewrite_with_the_same_size_and_the_time_put_back_is_seen(root: Path, how: str) -> None:
    path = write(root / "n.toml", "x = 1\n")
    os.utime(path, (LONG_AGO, LONG_AGO))
    watched = Watched(root)
    if how == "in place":
        write(path, "x = 2\n")
    else:
        write(root / ".new", "x = 2\n").rename(path)
    os.utime(path, (LONG_AGO, LONG_AGO))
    watched.poll()
    watched.poll()
    assert watched.texts() == {"n.toml": "x = 2\n"}


def test_a_touch_changes_no_document(root: Path) -> None:
    path = write(root / "n.toml")
    watched = Watched(root)
    before = watched.loader.catalogue
    path.touch()
    for _ in range(3):
        assert not watched.poll()
    assert watched.loader.catalogue is before


def test_only_the_documents_that_changed_are_handed_out_again(root: Path) -> None:
    for number in range(5):
        write(root / f"n{number}.toml", f"x = {number}\n")
    store = FileStore(root)
    assert store.changes()
    write(root / "n3.toml", "x = 33\n")
    assert store.changes() is None
    changes = store.changes()
    assert changes
    assert [raw.source for raw in changes.added] == [raw.source for raw in changes.removed] == ["n3.toml"]
    assert [raw.text for raw in (*changes.removed, *changes.added)] == ["x = 3\n", "x = 33\n"]


def test_a_configmap_mount_is_followed_when_it_is_swapped(tmp_path: Path, root: Path) -> None:
    def mount(version: str, text: str) -> None:
        write(root / f"..{version}" / "n1.toml", text)
        write(root / f"..{version}" / "default.toml", text)
        (root / "..data_tmp").symlink_to(f"..{version}")
        (root / "..data_tmp").rename(root / "..data")

    mount("2026_01", "x = 1\n")
    for name in ("n1.toml", "default.toml"):
        (root / name).symlink_to(f"..data/{name}")
    watched = Watched(root)
    assert watched.texts() == {"n1.toml": "x = 1\n", "default.toml": "x = 1\n"}
    mount("2026_02", "x = 2\n")
    watched.poll()
    watched.poll()
    assert watched.texts() == {"n1.toml": "x = 2\n", "default.toml": "x = 2\n"}


def test_the_directory_itself_may_be_a_link_that_changes(tmp_path: Path, root: Path) -> None:
    write(tmp_path / "v1" / "n.toml", "x = 1\n")
    write(tmp_path / "v2" / "n.toml", "x = 2\n")
    link = tmp_path / "current"
    link.symlink_to("v1")
    watched = Watched(link)
    (tmp_path / "new").symlink_to("v2")
    (tmp_path / "new").rename(link)
    watched.poll()
    watched.poll()
    assert watched.texts() == {"n.toml": "x = 2\n"}


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_dangling(path: Path) -> None:
    path.symlink_to("nowhere")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (make_fifo, "not a regular file"),
        (make_dangling, "No such file"),
    ],
    ids=["a pipe", "a dangling link"],
)
def test_what_cannot_be_opened_is_a_problem_and_does_not_hold_the_look_up(
    root: Path, make: Callable[[Path], None], words: str
) -> None:
    make(root / "n1.toml")
    watched = Watched(root)
    assert words in watched.faults()["n1.toml"]
    assert not watched.poll()
    (root / "n1.toml").unlink()
    write(root / "n1.toml")
    watched.poll()
    watched.poll()
    assert watched.faults() == {}
    assert watched.texts() == {"n1.toml": "x = 1\n"}
    (root / "n1.toml").unlink()
    make(root / "n1.toml")
    assert not watched.poll()
    assert watched.texts() == {"n1.toml": "x = 1\n"}
    assert watched.poll()
    assert words in watched.faults()["n1.toml"]


def test_a_directory_that_appears_later_is_taken_up(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "later")
    assert watched.texts() == {}
    assert FileStore(tmp_path / "later").warnings() == [
        f"the answers directory {tmp_path / 'later'} does not exist: every request gets 404 until that changes"
    ]
    write(tmp_path / "later" / "n1.toml")
    watched.poll()
    watched.poll()
    assert watched.texts() == {"n1.toml": "x = 1\n"}


def test_a_file_in_place_of_the_directory_is_a_warning(tmp_path: Path) -> None:
    write(tmp_path / "file")
    assert "is not a directory" in FileStore(tmp_path / "file").warnings()[0]
    assert FileStore(tmp_path / "file").changes() == Changes()


def test_the_first_look_answers_even_when_there_is_nothing(root: Path) -> None:
    store = FileStore(root)
    assert store.changes() == Changes()
    assert store.changes() is None


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (Key(Kind.MACHINE, "n1", "toml"), "n1.toml"),
        (Key(Kind.GROUP, "g", "ks"), "groups/g.ks"),
        (Key(Kind.DEFAULT, "", "yaml"), "default.yaml"),
    ],
)
def test_a_document_is_put_in_the_flat_layout(root: Path, key: Key, name: str) -> None:
    assert flat_name(key) == name
    store = FileStore(root)
    store.put(key, "é\r\n")
    assert (root / name).read_bytes() == "é\r\n".encode()
    store.changes()
    delete(store, key)
    assert not (root / name).exists()
    store.changes()
    store.changes()
    with pytest.raises(KeyError):
        delete(store, key)


def test_a_document_is_put_where_it_stands(root: Path) -> None:
    path = write(root / "n1" / "any.toml")
    store = FileStore(root)
    store.changes()
    store.put(Key(Kind.MACHINE, "n1", "toml"), "x = 2\n")
    assert path.read_text() == "x = 2\n"
    assert [file.name for file in root.iterdir()] == ["n1"]


def test_a_write_is_whole_or_not_at_all(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(root / "n.toml", "old")
    synced: list[bytes | None] = []
    fsync = os.fsync

    def sync(handle: int) -> None:
        synced.append(None if stat.S_ISDIR(os.fstat(handle).st_mode) else Path(f"/proc/self/fd/{handle}").read_bytes())
        fsync(handle)

    monkeypatch.setattr(os, "fsync", sync)
    write_atomically(path, b"new")
    assert path.read_text() == "new"
    assert synced == [b"new", None], "the whole file, then its directory"
    assert path.stat().st_mode & 0o777 == 0o644

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"newer")
    assert path.read_text() == "new"
    assert [file.name for file in root.iterdir()] == ["n.toml"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("is_shared", [True, False])
def test_what_root_writes_the_group_can_read_where_the_directory_is_made_so(is_shared: bool, tmp_path: Path) -> None:
    answers = tmp_path / "answers"
    answers.mkdir()
    os.chown(answers, 0, NOBODY)
    answers.chmod(0o2750 if is_shared else 0o750)
    write_atomically(answers / "groups" / "lab.toml", b"x = 1\n")
    modes = {path.name: (path.stat().st_gid, path.stat().st_mode & 0o7777) for path in answers.rglob("*")}
    shared = {"groups": (NOBODY, 0o2750), "lab.toml": (NOBODY, 0o640)}
    assert modes == (shared if is_shared else {"groups": (0, 0o700), "lab.toml": (0, 0o600)})


def test_nothing_depends_on_the_order_in_which_files_were_made(tmp_path: Path) -> None:
    names = ["b.toml", "a.toml", "groups/z.toml", "groups/y.toml", "default.toml"]
    for order, directory in ((names, tmp_path / "one"), (names[::-1], tmp_path / "two")):
        for name in order:
            write(directory / name)
    first, second = (FileStore(tmp_path / name).changes() for name in ("one", "two"))
    assert first
    assert second
    assert [raw.source for raw in first.added] == [raw.source for raw in second.added]
