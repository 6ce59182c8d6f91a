"""What the file store never opens or reads: too much at once, and what is not a document's file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from answerd.answers.problems import load_problems
from answerd.documents import LARGEST_DOCUMENT
from answerd.store import StoreError, file_io
from answerd.store.files import FileStore
from answerd.store.loader import Loader
from tests.support.service import write_tree


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "answers"
    root.mkdir()
    return root


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that are opened from now on."""
    paths: list[str] = []
    plain = os.open

    def note(path: str, *arguments: int) -> int:
        paths.append(path)
        return plain(path, *arguments)

    monkeypatch.setattr(file_io.os, "open", note)  # type: ignore[attr-defined]
    return paths


def settled(loader: Loader) -> dict[str, str | None]:
    """The faults of all documents, by their sources."""
    for _ in range(3):
        loader.refresh()
    return {raw.source: raw.fault for raw in loader.catalogue.documents}


def test_a_file_over_1_mb_is_a_problem_and_is_not_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tree(root, {"big.ks": "", "small.ks": "x"})
    os.truncate(root / "big.ks", 3_000_000_000)  # sparse
    sizes: list[int] = []
    plain = os.read

    def note(file: int, size: int) -> bytes:
        sizes.append(size)
        return plain(file, size)

    monkeypatch.setattr(file_io.os, "read", note)  # type: ignore[attr-defined]
    loader = Loader(FileStore(root))
    assert settled(loader) == {"big.ks": "is larger than 1,048,576 bytes (big.ks)", "small.ks": None}
    assert load_problems(loader.catalogue) == ['machine "big" (ks): is larger than 1,048,576 bytes (big.ks)']
    assert sum(sizes) < 3 * LARGEST_DOCUMENT
    (root / "big.ks").write_text("x")
    assert settled(loader) == {"big.ks": None, "small.ks": None}


@pytest.mark.parametrize(("name", "most"), [("a.ks", 1_048_576), ("inventory.csv", 16_777_216)])
@pytest.mark.parametrize(("more", "is_read"), [(0, True), (1, False)])
def test_the_limit_itself_is_allowed(root: Path, name: str, most: int, more: int, is_read: bool) -> None:
    (root / name).write_bytes(b"#" * (most + more))
    changes = FileStore(root).changes()
    assert changes is not None
    [raw] = changes.added
    assert raw.fault == (None if is_read else f"is larger than {most:,} bytes ({name})")


def test_a_group_that_grows_too_large_keeps_its_claims(root: Path) -> None:
    write_tree(root, {"groups/g.ks": "# answer: member n1\n"})
    loader = Loader(FileStore(root))
    settled(loader)
    with (root / "groups" / "g.ks").open("r+b") as group:
        group.truncate(LARGEST_DOCUMENT + 1)
    settled(loader)
    [claim] = loader.catalogue.claims.values()
    assert (claim.members, claim.document.content.readable) == (("n1",), False)


@pytest.mark.parametrize(
    "target", ["/proc/self/environ", "/proc/version", "/sys/kernel/notes", "/dev/null", "/dev/shm/x"]
)
def test_a_link_out_to_the_kernel_is_never_opened(root: Path, target: str, opened: list[str]) -> None:
    (root / "a.ks").symlink_to(target)
    (root / "via.ks").symlink_to(root / "a.ks")
    faults = settled(Loader(FileStore(root)))
    place = "/" + target.split("/")[1]
    assert faults == {
        name: f"cannot be opened: it is a link into {place}, from which nothing is read ({name})"
        for name in ("a.ks", "via.ks")
    }
    assert not [path for path in opened if path.startswith(str(root))]


@pytest.mark.parametrize(("name", "target"), [("n1", "/proc/self"), ("groups", "/dev")])
def test_a_directory_that_links_to_the_kernel_is_not_entered(root: Path, name: str, target: str) -> None:
    write_tree(root, {"default.ks": "x"})
    loader = Loader(FileStore(root))
    assert settled(loader) == {"default.ks": None}
    (root / name).symlink_to(target)
    with pytest.raises(StoreError, match=f"directory {name} cannot be listed: it is a link into /"):
        settled(loader)
    assert [raw.source for raw in loader.catalogue.documents] == ["default.ks"]
