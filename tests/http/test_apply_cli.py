"""answerd apply, history, restore-document, token, backup and restore: on a database and on a running service."""

from __future__ import annotations

import json
import signal
import sqlite3
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from answerd.cli import main
from answerd.documents import Key
from answerd.formats.family import Once
from answerd.identity import Kind
from answerd.installs.states import Gate, Requested, Rules, State
from answerd.server.roles import parse_token_file
from answerd.store import HistoryFilter
from answerd.store.sqlite import SqliteStore
from answerd.store.states import open_state_file
from tests.support.replies import exchange
from tests.support.service import Service, run, write_tree
from tests.support.states import StateWriter
from tests.support.waiting import wait_until
from tests.support.writes import put

TOKEN = "apply-admin-token-0123456789"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    path = tmp_path / "repository"
    write_tree(path, {"n1.toml": 'extends = "base"\n', "groups/base.toml": "x = 1\n", "README.md": "ours"})
    return path


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "answers.db"
    monkeypatch.setenv("SERVICE_STORE", "sqlite")
    monkeypatch.setenv("SERVICE_DB_PATH", str(path))
    return path


def texts(database: Path) -> dict[str, str]:
    return {
        f"{stored.key.identifier}.{stored.key.format}": stored.body.decode() for stored in SqliteStore(database).all()
    }


def test_a_directory_is_applied_as_one_change(
    directory: Path, database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["apply", "--note", "first", str(directory)]) == 0
    output = capsys.readouterr()
    assert output.out == "applied: 2 new, 0 changed, 0 unchanged, 0 removed; 0 problems\n"
    assert output.err.splitlines()[0] == f"# store: sqlite:{database}, 0 documents"
    assert "README.md" in output.err
    assert texts(database) == {"n1.toml": 'extends = "base"\n', "base.toml": "x = 1\n"}

    assert main(["apply", str(directory)]) == 0
    assert capsys.readouterr().out.startswith("applied: 0 new, 0 changed, 2 unchanged")
    assert [entry.author.note for entry in SqliteStore(database).history(HistoryFilter())] == ["first", "first"]


@pytest.mark.parametrize("through", ["the database", "a service"])
def test_a_strict_change_lets_no_answer_in_force_that_its_installer_refuses(
    through: str,
    serving: Callable[..., Service],
    tmp_path: Path,
    database: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    to: list[str] = []
    if through == "a service":
        service = serve(serving, tmp_path)
        assert service.admin
        to = ["--to", "http://{}:{}".format(*service.admin)]
        monkeypatch.setenv("SERVICE_ADMIN_TOKEN", TOKEN)
    write_tree(tmp_path / "set", {"groups/web.yaml": "#cloud-config\nmembers: [web1, web2]\npackages: vim\n"})
    apply = ["apply", *to, "--yes", str(tmp_path / "set")]
    assert main([*apply, "--strict"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert 'problem: group "web" (yaml) for member "web1" and 1 more: packages: must be a list' in said.err
    assert "refused: an installer would refuse an answer of this change" in said.err
    assert main(apply) == 0
    write_tree(tmp_path / "set", {"groups/web.yaml": "#cloud-config\nmembers: [web1, web2]\npackages: [vim]\n"})
    assert main([*apply, "--strict", "--dry-run"]) == 0
    assert main([*apply, "--strict"]) == 0
    assert "applied: 0 new, 1 changed" in capsys.readouterr().out


def test_what_can_not_be_meant_is_not_applied(
    directory: Path, database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refusal(*arguments: str) -> tuple[int, str]:
        return main(["apply", "--yes", *arguments]), capsys.readouterr().err

    status, reason = refusal("--dry-run", str(directory))
    assert (status, f"the database {database} does not exist" in reason, database.exists()) == (2, True, False)
    assert refusal(str(directory / "nowhere"))[0] == refusal("--ca", "x.pem", str(directory))[0] == 2
    monkeypatch.setenv("SERVICE_STORE", "files")  # the service would not read the database
    status, reason = refusal(str(directory))
    assert (status, "SERVICE_STORE=sqlite" in reason, database.exists()) == (2, True, False)
    monkeypatch.setenv("SERVICE_STORE", "sqlite")
    main(["apply", str(directory)])
    (tmp_path / "unmounted").mkdir()
    for more in ([], ["--dry-run"], ["--to", "http://127.0.0.1:1"]):
        status, reason = refusal("--prune", *more, str(tmp_path / "unmounted"))
        assert (status, "unmounted has no document" in reason) == (1, True)
    assert len(texts(database)) == 2


def test_a_dry_run_shows_whose_answers_would_change_and_changes_nothing(
    directory: Path, database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["apply", str(directory)])
    write_tree(directory, {"groups/base.toml": "x = 2\n", "n2.toml": "y = 1\n"})
    (directory / "n1.toml").unlink()
    capsys.readouterr()

    assert main(["apply", "--dry-run", "--prune", str(directory)]) == 0
    output = capsys.readouterr().out

    assert output.splitlines()[0] == "dry run: 1 new, 1 changed, 0 unchanged, 1 removed; 0 problems"
    assert 'removed  machine "n1" (toml)' in output
    assert "gone: n1 (toml)" in output
    assert "+y = 1" in output
    assert texts(database)["base.toml"] == "x = 1\n"

    assert main(["apply", "--dry-run", "--json", str(directory)]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "dry run"


@pytest.mark.usefixtures("database")
def test_a_dry_run_names_who_loses_an_answer_and_not_its_lines(
    directory: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"pc-{n:02},52:54:00:00:00:{n:02},R1\n" for n in range(1, 10)]
    group = '[match]\nrack = "R1"\n[global]\nlanguage = "C"\n'
    write_tree(directory, {"inventory.csv": "id,mac,rack\n" + "".join(rows), "groups/r.toml": group})
    main(["apply", str(directory)])
    (directory / "inventory.csv").write_text("id,mac,rack\n" + "".join(rows[3:]))
    capsys.readouterr()

    assert main(["apply", "--dry-run", str(directory)]) == 0
    output = capsys.readouterr().out
    assert "\n3 machines would lose their answer: nothing is left to them but a default, if there is one\n" in output
    [gone] = [line for line in output.splitlines() if line.startswith("gone: ")]
    assert gone.startswith("gone: pc-01 (toml), pc-02 (toml), pc-03 (toml)  +0 -")
    assert "-language" not in output

    monkeypatch.setattr("answerd.commands.apply.MOST_GONE", 2)
    assert main(["apply", "--dry-run", str(directory)]) == 0
    assert "gone: pc-01 (toml), pc-02 (toml) and 1 more  +0 -" in capsys.readouterr().out


def test_a_change_that_breaks_the_set_is_refused_with_the_problems(
    directory: Path, database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (directory / "groups" / "base.toml").unlink()

    assert main(["apply", str(directory)]) == 1
    output = capsys.readouterr().err

    assert 'problem: machine "n1" (toml): extends unknown group "base"' in output
    assert texts(database) == {}


def serve(serving: Callable[..., Service], tmp_path: Path, **settings: object) -> Service:
    return serving(
        SERVICE_STORE="sqlite",
        SERVICE_DB_PATH=tmp_path / "served.db",
        SERVICE_ADMIN_ADDR="127.0.0.1:0",
        SERVICE_ADMIN_TOKEN=TOKEN,
        **settings,
    )


def test_a_service_is_changed_through_its_api_by_a_named_token(
    serving: Callable[..., Service],
    directory: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("")
    service = serve(serving, tmp_path, SERVICE_TOKENS_FILE=tokens)
    assert service.admin
    url = "http://{}:{}".format(*service.admin)
    assert main(["token", "ci", "--role", "admin"]) == 0
    made = capsys.readouterr()
    token = made.err.rpartition(" ")[2].strip()
    assert [named.name for named in parse_token_file(made.out)] == ["ci"]
    monkeypatch.setenv("SERVICE_ADMIN_TOKEN", token)
    apply = ["apply", "--to", url, "--note", "für rack 7", "--prune", str(directory)]

    assert main(apply) == 1, "the service does not know the token yet"
    tokens.write_text(made.out)
    service.process.send_signal(signal.SIGHUP)
    service.wait_for_log("reloading")
    assert main(apply) == 0
    assert service.get("/pve/n1").text == "x = 1\n"
    service.wait_for_log("POST /apply .*applied: 2 new, 0 changed, 0 unchanged, 0 removed by ci")
    history = json.loads(service.ask_admin("GET", "/history", Authorization=f"Bearer {token}").text)["history"]
    assert {(entry["who"]["name"], entry["note"]) for entry in history} == {("ci", "für rack 7")}

    (directory / "groups" / "base.toml").unlink()
    assert main(apply) == 1
    assert main(["apply", "--to", "http://127.0.0.1:1", str(directory)]) == 2
    assert main(["apply", "--to", "ftp://x", str(directory)]) == 2
    assert service.get("/pve/n1").text == "x = 1\n"


def test_documents_that_come_to_a_service_without_their_states_are_warned_of(
    serving: Callable[..., Service],
    directory: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    service = serve(serving, tmp_path)
    assert service.admin
    monkeypatch.setenv("SERVICE_ADMIN_TOKEN", TOKEN)
    apply = ["apply", "--to", "http://{}:{}".format(*service.admin), str(directory)]
    warning = "warning: no state of any install is known: every machine may install"
    assert main(apply) == 0
    assert warning not in capsys.readouterr().err, "nothing asks for states"
    (directory / "groups" / "rack.ks").write_text("# answer: members web-01\n# answer: once\nlang\n")
    assert main([*apply, "--dry-run"]) == 0
    assert warning not in capsys.readouterr().err
    assert main(apply) == 0
    assert warning in capsys.readouterr().err
    assert service.get("/ks/web-01").status == 200
    assert main([*apply, "--json"]) == 0
    said = capsys.readouterr()
    assert warning not in said.err
    assert "warnings" not in json.loads(said.out)


@pytest.mark.parametrize(("url", "port"), [("http://[::1]", 80), ("https://[::1]", 443), ("http://[::1]:8001", 8001)])
def test_an_ipv6_address_in_a_url_keeps_its_end(
    url: str, port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[object] = []

    def refuse(address: object, *_: object, **__: object) -> None:
        asked.append(address)
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr("socket.create_connection", refuse)
    monkeypatch.setenv("SERVICE_ADMIN_TOKEN", "a-token-for-tests-0123456789")
    assert main(["apply", "--to", url, str(tmp_path)]) == 2
    assert asked == [("::1", port)]
    assert f"{url} cannot be reached: Connection refused" in capsys.readouterr().err


def test_a_change_of_many_megabytes_is_taken_and_one_that_is_too_large_is_413(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    service = serve(serving, tmp_path)
    puts = [
        {"kind": "machine", "identifier": f"n{at}", "format": "ks", "text": f"{at}\n" + "line\n" * 50_000}
        for at in range(20)
    ]
    body = json.dumps({"put": puts}).encode() + b" " * 20_000_000  # more than 65,536 bytes for each connection
    authorization = f"Bearer {TOKEN}"

    reply = service.ask_admin("POST", "/apply", body, Authorization=authorization)
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    request = f"POST /apply HTTP/1.1\r\nHost: a\r\nAuthorization: {authorization}\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert service.admin
    again = exchange(service.admin, request.encode() + chunked)
    claimed = f"POST /apply HTTP/1.1\r\nHost: a\r\nAuthorization: {authorization}\r\nContent-Length: 67108865\r\n\r\n"

    assert (reply.status, json.loads(reply.body)["new"]) == (200, 20)
    assert (again.status, json.loads(again.body)["unchanged"]) == (200, 20)
    assert exchange(service.admin, claimed.encode()).status == 413
    unknown = service.ask_admin("POST", "/apply", body[:5_000_000], Authorization="Bearer " + "x" * 20)
    assert unknown.status == 401


def test_the_history_is_shown_and_a_document_put_back(
    directory: Path, database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["apply", "--note", "first", str(directory)])
    write_tree(directory, {"groups/base.toml": 'x = 2\nroot-password = "hunter2hunter2"\n'})
    main(["apply", str(directory)])
    capsys.readouterr()

    assert main(["history", "groups/BASE.toml"]) == 0
    output, named = capsys.readouterr()
    assert named == f"# store: sqlite:{database}, 2 documents\n"
    assert "revision 3" in output
    assert "+x = 2" in output
    assert "first" in output
    assert "hunter2" not in output
    assert main(["history", "--json", "--limit", "1"]) == 0
    assert [entry["name"] for entry in json.loads(capsys.readouterr().out)["history"]] == ["groups/base.toml"]

    revision = next(line.split()[1] for line in output.splitlines() if "new" in line)
    assert main(["restore-document", "groups/base.toml", "--revision", revision]) == 0
    assert capsys.readouterr().err.startswith(f"# store: sqlite:{database}, 2 documents\n")
    assert texts(database)["base.toml"] == "x = 1\n"
    assert main(["restore-document", "n1.toml", "--revision", revision]) == 1
    assert main(["history", "--limit", "0"]) == main(["history", "a/b.toml"]) == 2


def test_the_history_of_a_machine_has_its_row_and_its_orders(
    directory: Path, database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tree(directory, {"inventory.csv": "id,mac,rack\nweb-1,52:54:00:00:00:01,R1\n"})
    assert main(["import", str(directory)]) == 0
    write_tree(directory, {"inventory.csv": "id,mac,rack\nweb-1,52:54:00:00:00:01,R2\n"})
    assert main(["arm", "web-1"]) == 0
    assert main(["apply", str(directory)]) == 0
    capsys.readouterr()
    assert main(["history", "--json", "52:54:00:00:00:01"]) == 0
    found = json.loads(capsys.readouterr().out)["history"]
    assert [(one["kind"], one["name"]) for one in found] == [
        ("inventory", "inventory.csv"),
        ("order", "web-1"),
        ("inventory", "inventory.csv"),
    ]
    assert [line for line in found[0]["diff"] if line[0] in "+-"] == ["-rack: R1", "+rack: R2"]
    assert found[1]["diff"] == ["armed"]
    assert main(["history", "web-1"]) == 0
    heads = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line[:1] in ("r", "o")]
    assert heads == ["revision", "order", "revision"]


def test_an_apply_is_taken_back_as_one_change(
    directory: Path, database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tree(directory, {"groups/base.toml": "x = 1\n", "groups/other.toml": "x = 1\n"})
    assert main(["import", str(directory)]) == 0
    before = texts(database)
    write_tree(directory, {"groups/base.toml": "x = 2\n", "groups/new.toml": "x = 2\n"})
    (directory / "groups" / "other.toml").unlink()
    assert main(["apply", "--prune", "--note", "new hardware", str(directory)]) == 0
    capsys.readouterr()
    assert main(["history", "--summary", "--json"]) == 0
    applied, imported = json.loads(capsys.readouterr().out)["changes"]
    assert [applied[name] for name in ("new", "changed", "removed", "note")] == [1, 1, 1, "new hardware"]
    assert [imported[name] for name in ("new", "changed", "removed")] == [len(before), 0, 0]
    assert main(["history", "--summary"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2

    assert main(["restore-document", "--change", str(applied["revision"])]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"taken back: revision {applied['revision']}, 3 documents"
    assert texts(database) == before
    assert main(["restore-document", "--change", str(applied["revision"])]) == 1, "it is taken back already"
    assert main(["restore-document", "--change", "99"]) == 1
    assert main(["restore-document", "--change", "x"]) == 2


def test_a_database_needs_no_place_for_states_whatever_command_writes_it(
    directory: Path, database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    once = {"groups/base.toml": "once = true\nx = '{{ report }}'\n"}
    write_tree(directory, once)
    assert main(["import", str(directory)]) == 0
    assert "0 problems" in capsys.readouterr().out
    write_tree(directory, {"groups/base.toml": "once = true\ny = '{{ report }}'\n"})
    assert main(["apply", str(directory)]) == 0
    assert "0 problems" in capsys.readouterr().out
    assert main(["restore-document", "groups/base.toml", "--revision", "1"]) == 0
    assert {"base.toml": texts(database)["base.toml"]} == {"base.toml": once["groups/base.toml"]}


# --- backup and restore ---


def test_a_backup_is_restored_under_load(serving: Callable[..., Service], tmp_path: Path) -> None:
    service = serve(serving, tmp_path)
    environ = {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": str(tmp_path / "served.db")}
    store = SqliteStore(tmp_path / "served.db")
    put(store, Key(Kind.GROUP, "base", "toml"), "x = 1\n")
    put(store, Key(Kind.MACHINE, "n1", "toml"), 'extends = "base"\n')
    stop = threading.Event()
    answers: set[str] = set()

    def ask() -> None:
        while not stop.is_set():
            answers.add(service.get("/pve/n1").text)

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            put(store, Key(Kind.MACHINE, f"other{number % 7}", "toml"), f"y = {number}\n")

    wait_until(lambda: service.get("/pve/n1").status == 200)
    threads = [threading.Thread(target=ask), threading.Thread(target=write)]
    for thread in threads:
        thread.start()
    try:
        assert answerd(environ, "backup", str(tmp_path / "backup.db")) == 0
        put(store, Key(Kind.GROUP, "base", "toml"), "x = 2\n")
        wait_until(lambda: "x = 2\n" in answers)
        assert answerd(environ, "restore", str(tmp_path / "backup.db")) == 1, "it is not empty"
        assert answerd(environ, "restore", "--force", str(tmp_path / "backup.db")) == 0
        wait_until(lambda: service.get("/pve/n1").text == "x = 1\n")
    finally:
        stop.set()
        for thread in threads:
            thread.join()

    assert answers == {"x = 1\n", "x = 2\n"}
    with closing(sqlite3.connect(tmp_path / "backup.db")) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert copy.execute("SELECT count(*) FROM changes").fetchone()[0] >= 2
    assert (tmp_path / "backup.db").stat().st_mode & 0o777 == 0o600
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_backup_moves_between_the_stores(tmp_path: Path) -> None:
    files = {"SERVICE_STORE": "files", "SERVICE_ANSWERS_DIR": str(tmp_path / "answers")}
    write_tree(tmp_path / "answers", {"n1.toml": "x = 1\r\n", "groups/g.ks": "text\n", "inventory.csv": "id\na\n"})

    assert answerd(files, "backup", str(tmp_path / "backup.db")) == 0
    assert answerd(files, "backup", str(tmp_path / "backup.db")) == 1, "it exists"
    database = {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": str(tmp_path / "new" / "answers.db")}
    assert answerd(database, "restore", str(tmp_path / "backup.db")) == 0
    assert len(SqliteStore(tmp_path / "new" / "answers.db").all()) == 3
    assert answerd({**files, "SERVICE_ANSWERS_DIR": str(tmp_path / "out")}, "restore", str(tmp_path / "backup.db")) == 0
    assert (tmp_path / "out" / "n1.toml").read_bytes() == b"x = 1\r\n"
    assert (tmp_path / "out" / "inventory.csv").read_bytes() == b"id\na\n"


def test_the_states_beside_a_directory_are_in_its_backup(tmp_path: Path) -> None:
    write_tree(tmp_path / "answers", {"n1.toml": "x = 1\n"})
    here, there = (
        {"SERVICE_STORE": "files", "SERVICE_ANSWERS_DIR": str(tmp_path / name)} for name in ("answers", "out")
    )
    states = open_state_file(str(tmp_path / "states.db"), Rules())[0]
    StateWriter(states).write("n1", Requested("n1", Gate.LOADER, Once.ON, 1.0))

    assert answerd({**here, "SERVICE_STATE_PATH": str(tmp_path / "states.db")}, "backup", str(tmp_path / "b.db")) == 0
    restored = tmp_path / "restored.db"
    assert answerd({**there, "SERVICE_STATE_PATH": str(restored)}, "restore", str(tmp_path / "b.db")) == 0

    assert StateWriter(open_state_file(str(restored), Rules())[0]).state("n1") is State.INSTALLING

    later = {
        "SERVICE_STORE": "files",
        "SERVICE_ANSWERS_DIR": str(tmp_path / "later"),
        "SERVICE_STATE_PATH": str(restored),
    }
    assert answerd(later, "restore", str(tmp_path / "b.db")) == 1, "there are states already"
    assert not (tmp_path / "later").exists()
    assert answerd(later, "restore", "--force", str(tmp_path / "b.db")) == 0


@pytest.mark.parametrize("content", [b"", b"x = 1\n" * 1_000, b"SQLite format 3\0" + b"\0" * 4_000])
def test_a_file_that_is_no_backup_is_refused_and_nothing_is_changed(tmp_path: Path, content: bytes) -> None:
    store = SqliteStore(tmp_path / "answers.db")
    put(store, Key(Kind.DEFAULT, "", "ks"), "kept")
    (tmp_path / "backup.db").write_bytes(content)
    environ = {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": str(tmp_path / "answers.db")}

    assert answerd(environ, "restore", "--force", str(tmp_path / "backup.db")) == 1
    assert answerd(environ, "backup", "--force", str(tmp_path / "answers.db")) == 1, "the database itself"
    assert [stored.body for stored in store.all()] == [b"kept"]


def answerd(environ: Mapping[str, str], *arguments: str) -> int:
    """One command in a process of its own: it must not share this one's connections."""
    settings: dict[str, Any] = dict(environ)
    return run(*arguments, **settings).returncode
