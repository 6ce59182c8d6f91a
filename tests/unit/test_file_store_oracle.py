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
from answerd.store import watch
from answerd.store.files import FileStore
from answerd.store.opening import Loader
from tests.support.thorough import examples
from tests.support.unprivileged import as_nobody, reachable

FAULT = None
"""In place of a text: the document cannot be opened."""

LOOKS = 6
"""Two looks believe a change, two more what it was found with, and a hard link asks for a look at everything."""

CLAIMING = ("groups", "inventory")
"""Directories whose documents may claim any request: one that was never listed refuses them all."""

Found = dict[str, str | None]


@dataclass
class Oracle:
    """What must be in force, from the tree as it is and from what was in force at the last settled moment."""

    root: Path
    found: Found = field(default_factory=dict)
    listed: set[str] = field(default_factory=set)
    attached: dict[str, tuple[int, int]] = field(default_factory=dict)
    any_claim: bool = False

    def settle(self) -> Found:
        """Walk the tree."""
        before = Oracle(self.root, self.found, self.listed, self.attached)
        self.found, self.listed, self.attached, self.any_claim = {}, set(), {}, False
        for name in self._names("", before):
            self._entry(name, before, may_nest=name.lower() == "groups")
        return self.found

    def _entry(self, name: str, before: Oracle, *, may_nest: bool) -> None:
        path = self.root / name
        is_dangling = path.is_symlink() and not path.exists()
        if is_dangling and name in before.attached:
            self._keep(name, before)
        elif is_dangling and name.lower() in CLAIMING:
            self.any_claim = True
        elif not path.is_dir():
            self._file(name)
        else:
            for below in self._names(name, before):
                if may_nest:
                    self._entry(f"{name}/{below}", before, may_nest=False)
                elif not (path / below).is_dir():
                    self._file(f"{name}/{below}")
            is_failed = name not in self.listed or (name in before.attached and not os.access(path, os.R_OK))
            has_documents = any(source.startswith(f"{name}/") for source in self.found)
            identity = path.stat().st_dev, path.stat().st_ino
            if is_failed and name in before.attached:
                self.attached[name] = before.attached[name]
            elif path.is_symlink() or name in before.attached:
                if has_documents and not is_failed:
                    self.attached[name] = identity
                elif before.attached.get(name, identity) != identity:
                    self._keep(name, before)

    def _keep(self, name: str, before: Oracle) -> None:
        self.found |= {source: text for source, text in before.found.items() if source.startswith(f"{name}/")}
        self.listed |= {listed for listed in before.listed if f"{listed}/".startswith(f"{name}/")}
        self.attached[name] = before.attached[name]

    def _names(self, name: str, before: Oracle) -> list[str]:
        try:
            names = os.listdir(self.root / name)
        except PermissionError:
            self._closed(name, before)
            return []
        self.listed.add(name)
        return sorted(entry for entry in names if not entry.startswith(".") and not entry.endswith("~"))

    def _closed(self, name: str, before: Oracle) -> None:
        if name in before.listed:
            self.listed.add(name)
            self.found |= {source: FAULT for source in before.found if source.startswith(f"{name}/")}
        elif name.lower() in CLAIMING:
            self.any_claim = True
        else:
            self.found |= {f"{name}/*.{extension}": FAULT for extension in ALL_EXTENSIONS}

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
    """What the store has handed out, and whether a directory of `CLAIMING` was never listed."""
    for _ in range(LOOKS):
        loader.refresh()
    found = {raw.source: FAULT if raw.fault else raw.text for raw in loader.catalogue.documents}
    return found, bool(loader.catalogue.unlisted)


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
        assert in_force(loader) == (oracle.settle(), oracle.any_claim)
        for (what, name, other), settles in [*steps, (("chmod", "groups", 0o700), True)]:
            try:
                operate(root, what, name, other)
                event(what)
            except OSError:
                continue
            if settles:
                assert in_force(loader) == (oracle.settle(), oracle.any_claim)

    with as_nobody():
        follow()
