"""``answerd import`` and ``answerd export``: modes, odd names, huge files, a full disk and ``kill -9``."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from answerd.documents import Key, RawDocument
from answerd.identity import Kind
from answerd.store.file_io import write_atomically
from answerd.store.sqlite import SqliteStore
from tests.support.service import environment, run, write_tree
from tests.support.writes import put

SECRET = b"rootpw --iscrypted $6$x\n"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database with a machine and a group."""
    path = tmp_path / "answers.db"
    store = SqliteStore(path)
    put(store, Key(Kind.MACHINE, "n1", "ks"), SECRET.decode())
    put(store, Key(Kind.GROUP, "g", "ks"), "g\n")
    return path


def export(database: Path, out: Path, *options: str) -> subprocess.CompletedProcess[bytes]:
    return run("export", *options, str(out), SERVICE_STORE="sqlite", SERVICE_DB_PATH=database)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.fixture(params=[0o022, 0o000, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> object:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_exported_files_are_for_their_owner_only(database: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "deep"
    assert export(database, out).returncode == 0
    assert {mode(path) for path in (out.parent, out, out / "groups")} == {0o700}
    assert {mode(out / "n1.ks"), mode(out / "groups" / "g.ks")} == {0o600}


@pytest.mark.usefixtures("umask")
def test_a_file_that_is_replaced_keeps_its_mode_and_owner(database: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_tree(out, {"n1.ks": "old", "groups/g.ks": "old"})
    (out / "n1.ks").chmod(0o640)
    (out / "groups").chmod(0o750)
    owner = 12345 if os.geteuid() == 0 else os.geteuid()
    os.chown(out / "n1.ks", owner, -1)
    assert export(database, out, "--force").returncode == 0
    assert (out / "n1.ks").read_bytes() == SECRET
    assert (mode(out / "n1.ks"), mode(out / "groups")) == (0o640, 0o750)
    assert (out / "n1.ks").stat().st_uid == owner


@pytest.mark.parametrize(("may_give_group", "expected"), [(False, 0o604), (True, 0o664)])
def test_the_access_of_a_group_is_not_given_to_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, may_give_group: bool, expected: int
) -> None:
    write_tree(tmp_path, {"a.ks": "old"})
    (tmp_path / "a.ks").chmod(0o664)

    def refuse(file: int, user: int, group: int) -> None:
        if user != -1 or not may_give_group:
            raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fchown", refuse)
    write_atomically(tmp_path / "a.ks", SECRET)
    assert mode(tmp_path / "a.ks") == expected


@pytest.mark.usefixtures("umask")
def test_a_new_database_and_the_files_beside_it_are_for_their_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "new" / "answers.db"
    store = SqliteStore(path)
    store.changes()
    with store.writing() as transaction:
        put(transaction, Key(Kind.MACHINE, "n1", "ks"), "x")
        transaction.commit()
        assert {(file.name, mode(file)) for file in path.parent.iterdir()} == {
            (f"answers.db{end}", 0o600) for end in ("", "-wal", "-shm")
        }
    assert mode(path.parent) == 0o700


def test_control_characters_in_names_never_reach_the_terminal(tmp_path: Path) -> None:
    evil = "a\x1b]0;owned\x07\n.toml"
    write_tree(tmp_path, {f"answers/{evil}": "", "answers/b\x1b[2J.txt": "", "answers/n1.ks": "x"})
    (tmp_path / "answers" / "c\x1b.toml").symlink_to("nowhere")
    done = run("import", str(tmp_path / "answers"), SERVICE_STORE="sqlite", SERVICE_DB_PATH=tmp_path / "a.db")
    output = (done.stdout + done.stderr).decode()
    assert "\x1b" not in output
    assert "\x07" not in output
    assert all(
        line.startswith(("skipped: ", "not imported: ", "1 document ", "warning: no states"))
        for line in output.splitlines()
    )
    write_tree(tmp_path, {"twins/a\x1b.toml": "", "twins/b/x\x1b.ks": "", "twins/b/y.ks": ""})
    refused = run("import", str(tmp_path / "twins"), SERVICE_STORE="sqlite", SERVICE_DB_PATH=tmp_path / "a.db")
    assert b"\x1b" not in refused.stdout + refused.stderr
    assert b"two files for one identity" in refused.stderr


# --- a full disk -----------------------------------------------------------------------------------------------------


def test_an_export_to_a_full_disk_says_so_and_loses_nothing(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "answers.db")
    for name in ("a", "b", "c"):
        put(store, Key(Kind.MACHINE, name, "ks"), "#" * (200_000 if name == "b" else 10))
    out = tmp_path / "out"
    write_tree(out, {"b.ks": "old"})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        failed = export(tmp_path / "answers.db", out, "--force")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert failed.returncode == 1
    line = failed.stderr.decode().splitlines()[-1]
    assert "cannot be written: File too large; 1 of 3 documents were written" in line
    assert {path.name: path.read_text() for path in out.iterdir()} == {"a.ks": "#" * 10, "b.ks": "old"}


def test_an_import_into_a_full_disk_says_so_and_imports_nothing(database: Path, tmp_path: Path) -> None:
    write_tree(tmp_path, {f"answers/m{number}.ks": "#" * 10_000 for number in range(100)})
    before = SqliteStore(database).all()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, limits[1]))
    try:
        failed = run("import", str(tmp_path / "answers"), SERVICE_STORE="sqlite", SERVICE_DB_PATH=database)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert failed.returncode == 1
    assert f"the database {database} cannot be written: " in failed.stderr.decode()
    assert "Traceback" not in failed.stderr.decode()
    assert SqliteStore(database).all() == before


# --- kill -9 ---------------------------------------------------------------------------------------------------------

EXPORTING = """
import os, signal, sys
from answerd.store.sqlite import SqliteStore
from answerd.store.transfer import export_directory
moment, calls = int(sys.argv[3]), [0]
def dying(function):
    def call(*arguments, **more):
        calls[0] += 1
        if calls[0] == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **more)
    return call
for name in ("fchmod", "fsync", "replace"):
    setattr(os, name, dying(getattr(os, name)))
export_directory(SqliteStore(sys.argv[1]), sys.argv[2], force=True)
print(calls[0])
"""


def test_an_export_that_is_killed_leaves_whole_files_only(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "answers.db")
    new = {f"n{number}.ks": f"new {number}\n" * 100 for number in range(2)}
    with store.writing() as transaction:
        transaction.write(
            [RawDocument(Key(Kind.MACHINE, name.removesuffix(".ks"), "ks"), text) for name, text in new.items()]
        )
        transaction.commit()

    def export_until(moment: int) -> tuple[subprocess.CompletedProcess[bytes], dict[str, str]]:
        out = tmp_path / str(moment)
        write_tree(out, {"n0.ks": "old\n"})
        script = [sys.executable, "-c", EXPORTING, str(tmp_path / "answers.db"), str(out), str(moment)]
        done = subprocess.run(script, env=environment(), capture_output=True, timeout=60, check=False)
        return done, {file.name: file.read_text() for file in out.iterdir() if not file.name.startswith(".")}

    whole, found = export_until(0)
    assert (whole.returncode, found) == (0, new)
    for moment in range(1, int(whole.stdout) + 1, 2):  # each starts an interpreter
        killed, found = export_until(moment)
        assert killed.returncode == -signal.SIGKILL
        assert set(found.items()) <= {("n0.ks", "old\n"), *new.items()}
        assert "n0.ks" in found


@pytest.mark.parametrize("moment", [1, 299])
def test_an_import_that_is_killed_imports_nothing(database: Path, tmp_path: Path, moment: int) -> None:
    write_tree(tmp_path, {f"answers/n{number}.ks": "#" * 1_000 for number in range(300)})
    for number in (2, 200, 298):  # documents that are there already are written one by one
        put(SqliteStore(database), Key(Kind.MACHINE, f"n{number}", "ks"), "old")
    before = SqliteStore(database).all()
    script = (
        "import os, signal, sys\n"
        "from answerd.store.sqlite import SqliteStore\n"
        "from answerd.store.transfer import import_directory\n"
        "def progress(done, total):\n"
        f"    if done >= {moment}: os.kill(os.getpid(), signal.SIGKILL)\n"
        "import_directory(sys.argv[1], SqliteStore(sys.argv[2]), progress)\n"
    )
    arguments = [sys.executable, "-c", script, str(tmp_path / "answers"), str(database)]
    killed = subprocess.run(arguments, env=environment(), timeout=60, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert SqliteStore(database).all() == before
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_new_directories_are_on_the_disk_before_their_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def note(file: int) -> None:
        synced.append(os.path.relpath(os.readlink(f"/proc/self/fd/{file}"), tmp_path))
        fsync(file)

    monkeypatch.setattr(os, "fsync", note)
    write_atomically(tmp_path / "a" / "b" / "n1.ks", b"x")
    assert [name for name in synced if ".n1.ks." not in name] == [".", "a", "a/b"]
