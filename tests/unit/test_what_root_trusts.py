"""Root reads, writes and changes nothing through what the service's user may forge.

Directories of that user are `/var/lib/answerd`, `/var/log/answerd` and those that settings name. Rules:
docs/packages.md#debian-and-ubuntu.
"""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
from pathlib import Path

import pytest

from answerd import captures
from answerd.documents import Key, RawDocument
from answerd.identity import Kind
from answerd.store import StoreError
from answerd.store.file_io import make_directories
from answerd.store.sqlite import SqliteFile, SqliteStore
from tests.support.unprivileged import NOBODY
from tests.support.waiting import PROGRAM_SECONDS
from tests.unit.test_maintainer_scripts import Package

pytestmark = pytest.mark.long

CHECKOUT = Path(__file__).parents[2]
FORGED = "/tmp/evil.service\ndebug-shell.service\nanswerd.service\n"
STEPS = {
    "upgraded": [("prerm", "upgrade", "1.0.0"), ("postinst", "configure", "1.0.0")],
    "removed": [("prerm", "remove"), ("postrm", "remove")],
    "installed again": [("prerm", "remove"), ("postrm", "remove"), ("postinst", "configure", "1.0.0")],
    "purged": [("prerm", "remove"), ("postrm", "remove"), ("postrm", "purge")],
}
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def contents(folder: Path) -> dict[str, tuple[int, str]]:
    """The mode and the content of every file below a directory."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mode,
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
        )
        for path in (folder, *folder.rglob("*"))
    }


@pytest.mark.parametrize("steps", STEPS.values(), ids=list(STEPS))
@pytest.mark.parametrize("name", [".enabled", "enabled", "answerd.enabled", "answers.db", "units"])
@pytest.mark.parametrize("forges", ["a link", "a file"])
def test_the_scripts_of_the_package_believe_and_follow_nothing_of_the_services_user(
    steps: list[tuple[str, ...]], name: str, forges: str, tmp_path: Path
) -> None:
    package = Package(tmp_path / "root")
    package.run("postinst", "configure", "")
    others = tmp_path / "others"
    others.mkdir()
    (others / "shadow").write_text("root:*:1:0:99999:7:::\n")
    (others / "empty").mkdir()
    logs = package.root / "var/log/answerd"
    logs.mkdir(parents=True)
    for folder in (package.root / "var/lib/answerd", logs):
        if forges == "a link":
            (folder / name).symlink_to(others / "shadow")
            (folder / f"{name}.d").symlink_to(others)
        else:
            (folder / name).write_text(FORGED)
    before = contents(others)
    for script, *arguments in steps:
        package.run(script, *arguments)
    assert contents(others) == before
    assert not {unit.partition("-")[2] for unit in package.units()} - {"answerd.service"}


def test_only_units_of_the_package_are_enabled(tmp_path: Path) -> None:
    package = Package(tmp_path)
    package.run("postinst", "configure", "")
    package.run("prerm", "remove")
    (remembered,) = (tmp_path / "var/lib").glob("answerd.*")
    remembered.write_text(FORGED)
    package.run("postinst", "configure", "1.0.0")
    assert package.units() == ["enabled-answerd.service", "running-answerd.service"]


def test_no_script_of_the_checkout_imports_from_the_working_directory(tmp_path: Path) -> None:
    where = tmp_path / "anybody's"
    where.mkdir()
    for module in ("venv", "ensurepip", "pip", "compileall"):
        (where / f"{module}.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'a').write({module!r})\n")
    script = f'source "{CHECKOUT}/scripts/environment"; environment={tmp_path}/made; make_environment'
    subprocess.run(["bash", "-euc", script], cwd=where, check=True, stdout=subprocess.DEVNULL, timeout=PROGRAM_SECONDS)
    assert (tmp_path / "made/bin/python").exists()
    assert not (tmp_path / "imported").exists()


def test_the_directory_of_captures_gets_its_mode_and_not_what_a_link_names(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc").chmod(0o755)
    (tmp_path / "captures").symlink_to(tmp_path / "etc")
    with pytest.raises(OSError, match="it is a symbolic link"):
        captures.make_directory(tmp_path / "captures")
    with pytest.raises(OSError, match="it is a symbolic link"):
        captures.write(tmp_path / "captures", captures.Capture("2026-08-24T08:43:37Z", "", "GET /", [], b"", "404"))
    assert stat.S_IMODE((tmp_path / "etc").stat().st_mode) == 0o755
    assert list((tmp_path / "etc").iterdir()) == []


def test_a_backup_is_not_written_through_a_link(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "answers.db")
    (tmp_path / "backups").mkdir()
    (tmp_path / "shadow").write_text("root:*:1:0:99999:7:::\n")
    for name in ("copy.db", ".copy.db.partial"):
        (tmp_path / "backups" / name).symlink_to(tmp_path / "shadow")
    SqliteFile(tmp_path / "answers.db").copy_to(tmp_path / "backups/copy.db")
    store.close()
    assert (tmp_path / "shadow").read_text() == "root:*:1:0:99999:7:::\n"
    assert not (tmp_path / "backups/copy.db").is_symlink()
    assert SqliteStore(tmp_path / "backups/copy.db").keys() == []


@needs_root
@pytest.mark.parametrize("owner", [0, NOBODY], ids=["root's", "another user's"])
def test_root_follows_its_own_link_to_a_database_and_no_one_elses(owner: int, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    other = SqliteStore(tmp_path / "of-root.db")
    (theirs / "answers.db").symlink_to(tmp_path / "of-root.db")
    os.lchown(theirs / "answers.db", owner, owner)
    key = Key(Kind.DEFAULT, "", "ks")
    if owner:
        with pytest.raises(StoreError, match="symbolic link that another user made"):
            SqliteStore(theirs / "answers.db")
    else:
        with SqliteStore(theirs / "answers.db").writing() as transaction:
            transaction.write([RawDocument(key, "lang en\n", "")])
            transaction.commit()
    assert other.keys() == ([] if owner else [key])


@needs_root
def test_the_mode_of_a_new_directory_is_not_set_through_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner of the directory above may put a link in its place."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc").chmod(0o755)
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o2750)
    made = Path.mkdir

    def mkdir_and_be_robbed(path: Path, mode: int) -> None:
        made(path, mode)
        path.rmdir()
        path.symlink_to(tmp_path / "etc")

    monkeypatch.setattr(Path, "mkdir", mkdir_and_be_robbed)
    with pytest.raises(OSError, match="Not a directory"):
        make_directories(shared / "groups")
    assert stat.S_IMODE((tmp_path / "etc").stat().st_mode) == 0o755
