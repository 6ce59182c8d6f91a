"""A backup of every store, restored into every store: whole, or refused with everything as it was."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from answerd.installs.states import Rules
from answerd.store.schema import DOCUMENTS
from answerd.store.states import open_state_file
from tests.support import postgres
from tests.support.service import write_tree
from tests.support.shell import Shell

pytestmark = pytest.mark.long

SET: dict[str, str | bytes] = {
    "groups/rack.ks": "# answer: members m1 m2\nlang fr\n",
    "aa-bb-cc-dd-ee-01.toml": "x = 1\n",
    "default.ks": "# ä\r\n",
    "inventory.csv": "id,mac\nweb-01,aa:bb:cc:dd:ee:02\n",
}
KINDS = ("files", "sqlite", "postgres")


@pytest.fixture(scope="module")
def cluster() -> Iterator[postgres.Cluster]:
    with postgres.clusters() as parent:
        running = postgres.Cluster(postgres.home_of(parent, "restoring")).start()
        yield running
        running.stop()


@pytest.fixture
def use(shell: Shell, request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Names a store in the settings: ``use("sqlite", "second")``."""
    databases: dict[str, str] = {}

    def chosen(kind: str, name: str) -> None:
        place = shell.place / name
        shell.set(SERVICE_STORE=kind, SERVICE_ANSWERS_DIR=place / "answers", SERVICE_STATE_PATH=place / "state.db")
        shell.set(SERVICE_DB_PATH=place / "answers.db")
        if kind == "postgres":
            if postgres.binaries() is None:
                pytest.skip(postgres.MISSING)
            if name not in databases:
                databases[name] = request.getfixturevalue("cluster").database()
            shell.set(SERVICE_DB_URL=databases[name])

    return chosen


def fill(shell: Shell, kind: str, name: str) -> None:
    """Put the documents into the present store."""
    write_tree(shell.place / name / "answers", SET)
    if kind != "files":
        assert shell("import", str(shell.place / name / "answers")).status == 0


def content(shell: Shell, kind: str, name: str) -> dict[str, bytes]:
    """The documents of the present store, by their flat names."""
    place = shell.place / name / "answers"
    if kind != "files":
        place = shell.place / f"export of {name}"
        assert shell("export", "--force", str(place)).status == 0
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def as_bytes(files: dict[str, str | bytes]) -> dict[str, bytes]:
    return {name: text if isinstance(text, bytes) else text.encode() for name, text in files.items()}


@pytest.mark.parametrize("target", KINDS)
@pytest.mark.parametrize("source", KINDS)
def test_a_backup_of_any_store_is_restored_whole_into_any(
    shell: Shell, use: Callable[[str, str], None], source: str, target: str
) -> None:
    use(source, "one")
    fill(shell, source, "one")
    assert shell("backup", "backup.db").status == 0

    use(target, "other")
    done = shell("restore", "backup.db")

    assert done.status == 0, done.err
    assert done.out[-1].startswith("4 documents ")
    assert content(shell, target, "other") == as_bytes(SET)


def dumped(path: Path) -> None:
    """Make a database file anew from its own text, as ``.dump`` of sqlite3 writes it."""
    copy = path.with_suffix(".copy")
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as made:
        made.executescript("\n".join(source.iterdump()))
        made.commit()
    copy.rename(path)


def changed(*statements: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with closing(sqlite3.connect(path)) as database:
            database.executescript(";".join(statements))

    return change


def of_another_program(path: Path) -> None:
    """A database that has tables of the same names, and happens to have a version that this program knows."""
    path.unlink()
    changed(
        "CREATE TABLE documents (id INTEGER PRIMARY KEY, title TEXT)",
        "CREATE TABLE changes (id INTEGER PRIMARY KEY, what TEXT)",
        f"PRAGMA user_version = {DOCUMENTS.newest}",
    )(path)


def of_text(path: Path) -> None:
    path.write_text("lang en\n" * 100)


def halved(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


NO_BACKUPS: dict[str, tuple[Callable[[Path], None], str]] = {
    "a dump read back": (dumped, "schema version (user_version) is 0"),
    "version 0": (changed("PRAGMA user_version = 0"), "schema version (user_version) is 0"),
    "version -1": (changed("PRAGMA user_version = -1"), "schema version (user_version) is -1"),
    "the lowest version": (changed("PRAGMA user_version = -2147483648"), "schema version (user_version) is -21"),
    "a version before the first": (
        changed(f"PRAGMA user_version = {DOCUMENTS.first - 1}"),
        f"schema version (user_version) is {DOCUMENTS.first - 1}",
    ),
    "a newer version": (changed(f"PRAGMA user_version = {DOCUMENTS.newest + 1}"), "use the newer version"),
    "another program's tables": (of_another_program, "no column"),
    "a table less": (changed("DROP TABLE events"), "it has no table events"),
    "a column less": (changed("ALTER TABLE changes DROP COLUMN note"), "its table changes has no column note"),
    "a kind that is none": (
        changed("PRAGMA ignore_check_constraints = ON", "UPDATE documents SET kind = 'other' WHERE id = 1"),
        "",
    ),
    "text": (of_text, "is no backup"),
    "the first half of it": (halved, ""),
}


@pytest.mark.parametrize("target", KINDS)
@pytest.mark.parametrize("name", NO_BACKUPS)
def test_what_is_no_backup_changes_nothing(
    shell: Shell, use: Callable[[str, str], None], name: str, target: str
) -> None:
    spoil, sentence = NO_BACKUPS[name]
    use("sqlite", "source")
    fill(shell, "sqlite", "source")
    assert shell("backup", "backup.db").status == 0
    spoil(shell.place / "backup.db")
    use(target, "target")
    fill(shell, target, "target")
    before = content(shell, target, "target")

    for command in (["restore", "backup.db"], ["restore", "--force", "backup.db"]):
        done = shell(*command)
        assert done.status == 1
        assert done.out == []
    assert sentence in done.err[-1]
    assert content(shell, target, "target") == before == as_bytes(SET)
    if target != "files":
        imported = shell("import", "--prune", "--from-db", "backup.db")
        assert imported.status == 1
        assert content(shell, target, "target") == before


def test_a_document_that_cannot_be_taken_is_named_and_counted(
    shell: Shell, use: Callable[[str, str], None], in_every_way: str
) -> None:
    use("sqlite", "source")
    fill(shell, "sqlite", "source")
    changed(
        "INSERT INTO documents (kind, identifier, identity, format, text) VALUES ('machine', '../up', 'up', 'ks', 'x')"
    )(shell.place / "source" / "answers.db")
    assert shell("backup", "backup.db").status == 0

    use(in_every_way, "target")
    done = shell("restore", "backup.db")

    assert done.status == 1
    assert done.out[-1].startswith("4 of 5 documents ")
    assert any("../up" in line for line in done.err)
    assert content(shell, in_every_way, "target") == as_bytes(SET)


@pytest.fixture(params=["files", "postgres"])
def in_every_way(request: pytest.FixtureRequest) -> str:
    """The stores that judge each document; into SQLite the whole database is copied."""
    return str(request.param)


def states_made(shell: Shell, kind: str, name: str) -> None:
    """Make the place for states that the service of a directory would make."""
    if kind == "files":
        open_state_file(str(shell.place / name / "state.db"), Rules())


def installed(shell: Shell) -> set[str]:
    """The machines that the present store knows to be installed."""
    done = shell("installs", "--state", "installed", "--json")
    assert done.status == 0, done.err
    return {machine["machine"] for machine in json.loads("\n".join(done.out))["installs"]}


@pytest.mark.parametrize("target", KINDS)
@pytest.mark.parametrize("source", KINDS)
def test_a_restore_merges_the_states_with_those_that_are_there(
    shell: Shell, use: Callable[[str, str], None], source: str, target: str
) -> None:
    """A machine that either place knows to be installed stays so."""
    for kind, name, machine in ((source, "one", "web-01"), (target, "other", "aa-bb-cc-dd-ee-01")):
        use(kind, name)
        fill(shell, kind, name)
        states_made(shell, kind, name)
        assert shell("disarm", machine).status == 0
        if name == "one":
            assert shell("backup", "backup.db").status == 0
    assert installed(shell) == {"aa-bb-cc-dd-ee-01"}

    assert shell("restore", "backup.db").status == 1  # it is not empty
    done = shell("restore", "--force", "backup.db")

    assert done.out[-1].startswith("4 documents and 1 state of installs restored to ")
    assert installed(shell) == {"web-01", "aa-bb-cc-dd-ee-01"}
    assert shell("restore", "--force", "backup.db").status == 0  # and again
    assert installed(shell) == {"web-01", "aa-bb-cc-dd-ee-01"}


ONCE: dict[str, str | bytes] = {**SET, "groups/rack.ks": "# answer: members web-01\n# answer: once\n"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_backup_says_how_many_states_are_in_it(shell: Shell, use: Callable[[str, str], None], kind: str) -> None:
    use(kind, "one")
    fill(shell, kind, "one")
    states_made(shell, kind, "one")
    counts = []
    for at in range(2):
        done = shell("backup", f"{at}.db")
        assert done.status == 0, done.err
        counts += re.findall(r"[0-9]+ states? of installs", done.out[-1])
        assert shell("disarm", "web-01").status == 0
    assert counts == ["0 states of installs", "1 state of installs"]
    assert sorted(path.name for path in shell.place.glob("*.db*")) == ["0.db", "1.db"]


@pytest.mark.parametrize("lost", ["the file", "the setting"])
def test_a_backup_without_the_states_that_documents_need_is_written_and_fails(
    shell: Shell, use: Callable[[str, str], None], lost: str
) -> None:
    """What fails is what cron reports. A service that has no install yet has the file."""
    use("files", "one")
    write_tree(shell.place / "one" / "answers", ONCE)
    states_made(shell, "files", "one")
    assert shell("backup", "new.db").status == 0
    if lost == "the file":
        (shell.place / "one" / "state.db").unlink()
    else:
        shell.monkeypatch.delenv("SERVICE_STATE_PATH")

    done = shell("backup", "without.db")

    assert done.status == 1
    assert "the backup has no states of installs: " in done.err[-1]
    assert ("do not restart the service" in done.err[-1]) == (lost == "the file")
    assert "4 documents" in done.out[-1]
    assert (shell.place / "without.db").is_file()
    (shell.place / "one" / "answers" / "groups" / "rack.ks").write_text("# answer: members web-01\n")
    assert shell("backup", "nothing-is-missing.db").status == 0


def test_a_command_says_what_to_do_where_the_states_are_lost(shell: Shell, use: Callable[[str, str], None]) -> None:
    use("files", "one")
    fill(shell, "files", "one")
    done = shell("installs")
    assert done.status == 1
    assert "do not restart the service" in done.err[-1]
    assert "answerd restore FILE" in done.err[-1]


def test_a_refused_restore_names_what_it_would_replace_and_makes_no_states(
    shell: Shell, use: Callable[[str, str], None]
) -> None:
    """An empty file of states would open every gate at the next start."""
    use("files", "one")
    fill(shell, "files", "one")
    states_made(shell, "files", "one")
    assert shell("disarm", "web-01").status == 0
    assert shell("backup", "backup.db").status == 0
    (shell.place / "one" / "answers" / "default.ks").write_text("# of today\n")
    refused = shell("restore", "backup.db").err[-1]
    assert re.findall(r"--force (\w+)", refused) == ["replaces", "merges"]
    assert re.findall(r"replaces (.*?);", refused) == ["default.ks"]

    states = shell.place / "one" / "state.db"
    states.unlink()
    refused = shell("restore", "backup.db").err[-1]
    assert re.findall(r"--force (\w+)", refused) == ["replaces"]
    assert not states.exists()

    shell.set(SERVICE_ANSWERS_DIR=shell.place / "aside")
    assert "1 state of installs restored" in shell("restore", "backup.db").out[-1]
    use("files", "one")
    assert installed(shell) == {"web-01"}
    assert (shell.place / "one" / "answers" / "default.ks").read_text() == "# of today\n"


def test_a_restore_without_a_place_for_states_says_that_they_are_left_out(
    shell: Shell, use: Callable[[str, str], None]
) -> None:
    use("sqlite", "one")
    fill(shell, "sqlite", "one")
    assert shell("disarm", "web-01").status == 0
    assert shell("backup", "backup.db").status == 0
    use("files", "other")
    shell.monkeypatch.delenv("SERVICE_STATE_PATH")
    done = shell("restore", "backup.db")
    assert done.status == 0
    assert "warning: SERVICE_STATE_PATH is not set: 1 state of installs are not restored" in done.err[-1]


@pytest.mark.parametrize("target", KINDS[1:])
def test_an_import_takes_states_along_and_what_does_not_says_so(
    shell: Shell, use: Callable[[str, str], None], target: str
) -> None:
    write_tree(shell.place / "one" / "answers", {**SET, "groups/rack.ks": "# answer: members web-01\n# answer: once\n"})
    use("files", "one")
    states_made(shell, "files", "one")
    assert shell("disarm", "web-01").status == 0
    answers, states = str(shell.place / "one" / "answers"), str(shell.place / "one" / "state.db")

    use(target, "new")
    shell.monkeypatch.delenv("SERVICE_STATE_PATH")
    assert "warning: no state of any install is known: every machine may install" in shell("apply", answers).err
    assert any("no states of installs were taken" in line for line in shell("import", answers).err)
    assert installed(shell) == set()
    for taken in ("1 event", "0 events"):  # what both know is not taken again
        assert f"{taken} of installs taken from {states}" in shell("import", "--states", states, answers).err
        assert installed(shell) == {"web-01"}
    assert not any("may install" in line for line in shell("apply", answers).err)
    assert any("states of installs are not in a directory" in line for line in shell("export", "back").err)

    use(target, "second")
    shell.set(SERVICE_STATE_PATH=states)
    assert f"1 event of installs taken from {states}" in shell("import", answers).err
    assert installed(shell) == {"web-01"}


def test_states_that_are_taken_leave_the_key_of_reports_to_a_place_that_has_events(
    shell: Shell, use: Callable[[str, str], None]
) -> None:
    use("files", "one")
    fill(shell, "files", "one")
    states_made(shell, "files", "one")
    assert shell("disarm", "web-01").status == 0
    answers, source = str(shell.place / "one" / "answers"), shell.place / "one" / "state.db"
    own = open_state_file(str(source), Rules())[0].key()
    use("sqlite", "new")
    assert shell("import", "--states", str(source), answers).status == 0
    assert key_in(shell.place / "new" / "answers.db") == own
    use("sqlite", "used")
    fill(shell, "sqlite", "one")
    assert shell("disarm", "aa-bb-cc-dd-ee-01").status == 0
    before = key_in(shell.place / "used" / "answers.db")
    assert shell("import", "--states", str(source), answers).status == 0
    assert key_in(shell.place / "used" / "answers.db") == before != own


def key_in(database: Path) -> bytes:
    """The key of report URLs in a database."""
    with closing(sqlite3.connect(database)) as connection:
        (key,) = connection.execute("SELECT value FROM install_settings WHERE name = 'key'").fetchone()
    return bytes.fromhex(key)
