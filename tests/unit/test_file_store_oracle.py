"""The file store beside a slow, literal reading of the layout, under random sequences of file operations."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from answerd.formats import ALL_EXTENSIONS
from answerd.store import StoreError, watch
from answerd.store.files import FileStore
from answerd.store.loader import Loader
from tests.support.thorough import examples
from tests.support.unprivileged import as_nobody, reachable

FAULT = None
"""In place of a text: the document cannot be opened."""

LOOKS = 6
"""Two looks believe a change, two more what it was found with, and a hard link asks for a look at everything."""

LEADING = ("groups", "inventory")
"""A link of such a name that leads nowhere may have led to documents."""

Found = dict[str, str | None]


class Unlisted(Exception):
    """A part of the tree cannot be listed."""


@dataclass
class Oracle:
    """What must be in force, from the tree as it is and from what was in force at the last settled moment."""

    root: Path
    found: Found = field(default_factory=dict)
    listed: set[str] = field(default_factory=set)
    is_unlisted: bool = False

    def settle(self) -> Found:
        """Walk the tree. Where a part of it cannot be listed, all stays as it was."""
        walk = Oracle(self.root)
        try:
            for name in walk._names(""):
                walk._entry(name, self.listed, may_nest=name.lower() == "groups")
        except Unlisted:
            self.is_unlisted = True
        else:
            self.found, self.listed, self.is_unlisted = walk.found, walk.listed, False
        return self.found

    def _entry(self, name: str, before: set[str], *, may_nest: bool) -> None:
        path = self.root / name
        if path.is_symlink() and not path.exists() and (name in before or name.lower() in LEADING):
            raise Unlisted
        if not path.is_dir():
            self._file(name)
            return
        for below in self._names(name):
            if may_nest:
                self._entry(f"{name}/{below}", before, may_nest=False)
            elif not (path / below).is_dir():
                self._file(f"{name}/{below}")

    def _names(self, name: str) -> list[str]:
        try:
            names = os.listdir(self.root / name)
        except PermissionError:
            raise Unlisted from None
        self.listed.add(name)
        return sorted(entry for entry in names if not entry.startswith(".") and not entry.endswith("~"))

    def _file(self, name: str) -> None:
        stem, dot, extension = name.rpartition("/")[2].rpartition(".")
        if not stem or not dot or extension.lower() not in ALL_EXTENSIONS:
            return
        try:
            is_file = stat.S_ISREG((self.root / name).stat().st_mode)
            is_kernels = os.path.realpath(self.root / name).startswith(("/proc/", "/sys/", "/dev/"))
            self.found[name] = (self.root / name).read_text() if is_file and not is_kernels else FAULT
        except OSError:
            self.found[name] = FAULT


FILES = [
    *["a.ks", "A.ks", "a/x.ks", "a/y.KS", "a/x.toml", "default.ks", "Default/x.ks", "groups/g.ks", "groups/g/x.ks"],
    *["groups/g/x.toml", "GROUPS/h.ks", "inventory/x.ks", "inventory.csv", ".h.ks", "b.ks~", "a~/x.ks", "a/.x.ks"],
    *["a/deep/x.ks", "groups/g/deep/x.ks", "b.bak", "ks"],
]
DIRECTORIES = ["a", "b", "groups", "GROUPS", "groups/g", "default", "a.ks", "inventory"]
LINKED = [
    *["../out/file.ks", "../out/none.ks", "../out/d1", "../out/d2", "../out/none", "a.ks", "a", "b.ks"],
    *["/dev/null", "/proc/self/environ"],
]
DOCUMENTS = [name for name in FILES if name.endswith("ks") and "~" not in name and "." in name and "/." not in name]
WRITTEN_OUTSIDE = ["out/file.ks", "out/d1/x.ks", "out/d2/y.ks"]

ANY = st.sampled_from(FILES + DIRECTORIES)
OPERATIONS = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(FILES), st.none()),
    st.tuples(st.just("write"), st.sampled_from(FILES), st.none()),
    st.tuples(st.just("outside"), st.sampled_from(WRITTEN_OUTSIDE), st.none()),
    st.tuples(st.just("remove"), ANY, st.none()),
    st.tuples(st.just("remove outside"), st.sampled_from(WRITTEN_OUTSIDE), st.none()),
    st.tuples(st.just("mkdir"), st.sampled_from(DIRECTORIES), st.none()),
    st.tuples(st.just("rename"), ANY, ANY),
    st.tuples(st.just("link"), st.sampled_from(["../out/file.ks", *DOCUMENTS]), st.sampled_from(DOCUMENTS)),
    st.tuples(st.just("symlink"), st.sampled_from(LINKED), ANY),
    st.tuples(st.just("pipe"), st.sampled_from(FILES), st.none()),
    st.tuples(st.just("chmod"), ANY, st.sampled_from([0o000, 0o700])),
)
WRITTEN_THROUGH_A_HARD_LINK = [
    (("link", "../out/file.ks", "a.ks"), True),
    (("outside", "out/file.ks", None), True),
    (("write", "default.ks", None), True),
    (("link", "default.ks", "../out/later.ks"), False),  # which nothing reports
    (("link", "default.ks", "groups/g.ks"), True),
    (("link", "default.ks", "A.ks"), True),
    (("outside", "out/later.ks", None), True),
]
LINKS_TO_FILES_AND_DIRECTORIES = [
    (("symlink", "../out/file.ks", "b.ks"), True),
    (("symlink", "../out/d1", "a"), True),
    (("symlink", "../out/d1", "groups"), True),
    (("outside", "out/d1/x.ks", None), True),
    (("remove", "groups", None), True),
]
"""What random operations seldom come to."""

_numbers = count(1)


def operate(root: Path, what: str, name: str, other: object) -> None:
    """Do one operation. Raises OSError where the tree as it is does not allow it."""
    path = root / name
    if what == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():  # writing to a pipe would wait for a reader
            remove(path)
        path.write_text("#" * next(_numbers))  # each text has a length of its own
    elif what == "outside":
        (root.parent / name).write_text("#" * next(_numbers))
    elif what == "remove":
        remove(path)
    elif what == "remove outside":
        (root.parent / name).unlink()
    elif what == "mkdir":
        if not path.is_dir():
            path.unlink(missing_ok=True)
        path.mkdir(parents=True)
    elif what == "rename":
        path.rename(root / str(other))
    elif what == "link":
        os.link(root / name, root / str(other), follow_symlinks=False)
    elif what == "symlink":
        link = root / str(other)
        remove(link) if os.path.lexists(link) else None
        link.symlink_to(root / name if not name.startswith(("/", "..")) else name.replace("..", str(root.parent)))
    elif what == "pipe":
        os.mkfifo(path)
    else:
        assert isinstance(other, int)
        # What a link leads to may be /dev/null, or lie outside the tree.
        path.chmod(other) if not path.is_symlink() else None


def remove(path: Path) -> None:
    """Remove a file or a whole directory."""
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def in_force(loader: Loader) -> tuple[Found, bool]:
    """What the store has handed out, and whether it says that a part cannot be listed."""
    is_unlisted = False
    for _ in range(LOOKS):
        try:
            loader.refresh()
        except StoreError as error:
            is_unlisted = "cannot be listed" in str(error)
    found = {raw.source: FAULT if raw.fault else raw.text for raw in loader.catalogue.documents}
    return found, is_unlisted


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A directory that a user without rights can reach, unlike those below pytest's own."""
    directory = Path(tempfile.mkdtemp(prefix="answerd-oracle-"))
    yield directory
    subdirectories = [Path(above) / name for above, names, _ in os.walk(directory) for name in names]
    for subdirectory in subdirectories:
        subdirectory.chmod(0o700) if not subdirectory.is_symlink() else None
    shutil.rmtree(directory)


@pytest.mark.parametrize("way", ["reported by the kernel", "looking at everything"])
def test_what_is_in_force_is_what_a_literal_walk_finds(
    way: str, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "looking at everything":
        monkeypatch.setattr(watch, "_file_system_of", lambda directory, table: "nfs")
    reachable(scratch)
    runs = count()

    @settings(max_examples=examples(100), database=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.tuples(OPERATIONS, st.booleans()), min_size=1, max_size=14))
    @example([(("symlink", "../out/none.ks", "inventory"), True)])
    @example([(("mkdir", "inventory", None), False), (("chmod", "inventory", 0o000), True)])
    @example([(("write", "a/x.ks", None), False), (("chmod", "a", 0o000), True), (("chmod", "a", 0o700), True)])
    @example(WRITTEN_THROUGH_A_HARD_LINK)
    @example(LINKS_TO_FILES_AND_DIRECTORIES)
    def follow(steps: list[tuple[tuple[str, str, object], bool]]) -> None:
        home = scratch / str(next(runs))
        root = home / "answers"
        for directory in (root, home / "out" / "d1", home / "out" / "d2"):
            directory.mkdir(parents=True)
        (home / "out" / "file.ks").write_text("#" * next(_numbers))
        (home / "out" / "d1" / "x.ks").write_text("#" * next(_numbers))
        loader, oracle = Loader(FileStore(root)), Oracle(root)
        assert in_force(loader) == (oracle.settle(), oracle.is_unlisted)
        for (what, name, other), settles in [*steps, (("chmod", "groups", 0o700), True)]:
            try:
                operate(root, what, name, other)
                event(what)
            except OSError:
                continue
            if settles:
                assert in_force(loader) == (oracle.settle(), oracle.is_unlisted)

    with as_nobody():
        follow()
