"""Adopting machines with the real program: over the command line and the admin API, from the first question to the
answer. Rules: docs/inventory.md#adopting-machines."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pytest

from answerd.commands.own_changes import user_name
from answerd.server.roles import hash_of
from tests.support.processes import killed_at_last
from tests.support.replies import Reply
from tests.support.service import PROGRAM, Service, environment, run, write_tree
from tests.support.stores import STORES, stored
from tests.support.terminals import new_terminal, read_until
from tests.support.waiting import wait_until

CHECKOUT = Path(__file__).parents[2]

TOKEN, READER = "of-the-inventory-0123456789", "of-the-reader-0123456789abc"
ADMIN = "of-the-administrator-0123456789"
HEADER = "id,mac,serial,uuid\n"
DOCUMENTS: dict[str, str | bytes] = {
    "groups/gpu.ks": "# answer: match role=gpu\n{{ id }} {{ serial }}\n",
    "inventory.csv": "id,mac,serial,role\nspare-1,,,gpu\nspare-2,,,gpu\n",
    "default.ipxe": "#!ipxe\nsleep 60\n",
}


_T = TypeVar("_T")


def shuffled(things: Iterable[_T], seed: int) -> list[_T]:
    found = [*things]
    Random(seed).shuffle(found)
    return found


def mac(number: int) -> str:
    return f"98:fa:9b:50:d8:{number:02x}"


def ask(service: Service, number: int, path: str = "/ks") -> Reply:
    return service.get(f"{path}?mac={mac(number)}&serial=7ABC10{number}&product=R750xa")


def url_of(service: Service) -> str:
    """The URL of a service's admin API."""
    assert service.admin is not None
    return f"http://127.0.0.1:{service.admin[1]}"


def database(directory: Path) -> dict[str, Any]:
    """The settings of a service with a database, and a token that may adopt."""
    (directory / "tokens").write_text(
        f"rows inventory {hash_of(TOKEN.encode())}\nreader read {hash_of(READER.encode())}\n"
        f"all admin {hash_of(ADMIN.encode())}\n"
    )
    (directory / "tokens").chmod(0o600)
    return {
        "SERVICE_STORE": "sqlite",
        "SERVICE_DB_PATH": directory / "answers.db",
        "SERVICE_ADMIN_ADDR": "127.0.0.1:0",
        "SERVICE_TOKENS_FILE": directory / "tokens",
    }


@pytest.mark.parametrize("store", ["files", "sqlite"])
def test_machines_are_adopted_on_the_command_line(serving: Callable[..., Service], store: str, tmp_path: Path) -> None:
    answers = tmp_path / "set"
    write_tree(answers, DOCUMENTS)
    settings: dict[str, Any] = {"SERVICE_STATE_PATH": tmp_path / "state.db", "SERVICE_ANSWERS_DIR": answers}
    if store == "sqlite":
        settings = database(tmp_path)
        assert run("import", str(answers), **settings).returncode == 0

    def adopt(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        return run("adopt", *arguments, **settings)

    def rows(*arguments: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(adopt("--json", *arguments).stdout)["rows"]
        return found

    service = serving(None, **settings)
    assert ask(service, 9, "/ipxe").status == 200  # the default answers it: unknown all the same
    for number in (3, 1):
        assert ask(service, number).status == 404
    wait_until(lambda: len(rows("--dry-run")) == 3)
    tried = rows("--dry-run", "--free", "--said", "serial=7ABC10*", "--count", "1")
    assert [(row["machine"], row["place"]) for row in tried] == [("7ABC109", "inventory.csv:2")]
    assert rows("--free", "--said", "serial=7ABC103")[0]["row"]["id"] == "spare-1"
    shown = adopt("--name", "cn{n:04}", "--set", "role=gpu", "--said", "serial=7ABC101")
    assert shown.returncode == 0
    assert f"cn0001,{mac(1)},7ABC101,gpu".encode() in shown.stdout
    assert shown.stdout.endswith(b"1 machine adopted, 0 left out\n")
    if store == "sqlite":
        (last,) = json.loads(run("history", "--limit", "1", "--json", **settings).stdout)["history"]
        assert (last["who"]["name"], last["note"]) == (user_name(), "adopted 1 machine")
    wait_until(lambda: ask(service, 1).text == "cn0001 7ABC101\n")
    wait_until(lambda: ask(service, 3).text == "spare-1 7ABC103\n")
    nobody = adopt("--said", "serial=7ABC101")
    assert (nobody.returncode, b"there is no machine to adopt" in nobody.stderr) == (1, True)
    wrong = adopt("--name", "cn")
    assert (wrong.returncode, b"write {n} once" in wrong.stderr) == (2, True)


@pytest.mark.parametrize("store", ["files", "sqlite"])
def test_a_dry_run_names_the_facts_that_new_answers_lack(
    serving: Callable[..., Service], store: str, tmp_path: Path
) -> None:
    answers = tmp_path / "set"
    write_tree(answers, {"inventory.csv": "id,mac,serial,role\n", "groups/gpu.ks": LACKING})
    settings: dict[str, Any] = {"SERVICE_STATE_PATH": tmp_path / "state.db", "SERVICE_ANSWERS_DIR": answers}
    if store == "sqlite":
        settings = database(tmp_path)
        assert run("import", str(answers), **settings).returncode == 0
    service = serving(None, **settings)
    for number in (1, 2):
        ask(service, number)
    wait_until(lambda: b"7ABC102" in run("installs", "--unknown", **settings).stdout)

    def notes(*arguments: str, **more: str) -> list[str]:
        done = run("adopt", "--dry-run", "--json", *arguments, **{**settings, **more})
        return [note for note in json.loads(done.stdout)["notes"] if "lack" in note]

    ways: list[tuple[tuple[str, ...], dict[str, str]]] = [((), {})]
    if store == "sqlite":
        ways.append((("--from", url_of(service)), {"SERVICE_ADMIN_TOKEN": TOKEN}))
    for arguments, more in ways:
        (note,) = notes("--name", "cn{n}", "--set", "role=gpu", *arguments, **more)
        assert note.startswith("2 new answers, such as cn1 (ks), would lack the fact 'rack': ")
        assert notes("--name", "cn{n}", "--set", "role=cpu", *arguments, **more) == []


LACKING = '# answer: match role=gpu\n{{ rack }} {{ product }} {{ place | default("x") }} {{ report }}\n'

RACK = 50
ROWS = "".join(f"{name},,,gpu\n" for name in shuffled([f"r1-{number:02}" for number in range(1, RACK + 1)], 2))


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize(
    ("options", "table", "names"),
    [
        pytest.param(
            ("--name", "cn{n:04}", "--set", "role=gpu"),
            "id,mac,serial,role\n",
            [f"cn{number:04}" for number in range(1, RACK + 1)],
            id="new rows with names from a pattern",
        ),
        pytest.param(
            ("--free",),
            "id,mac,serial,role\n" + ROWS,
            [row.partition(",")[0] for row in ROWS.splitlines()],
            id="rows that have no hardware yet, from top to bottom",
        ),
    ],
)
def test_a_rack_is_adopted_by_power_on_order_and_installs_once(
    serving: Callable[..., Service], tmp_path: Path, store: str, options: Sequence[str], table: str, names: list[str]
) -> None:
    answer = "# answer: match role=gpu\n# answer: once\n# {{ id }} {{ serial }}\n# {{ report }}\n"
    documents = {"groups/gpu.ks": answer, "inventory.csv": table, "default.ipxe": "#!ipxe\nsleep 60\n"}
    settings = stored(store, tmp_path, documents)
    service = serving(None, **settings, SERVICE_WORKERS=2)

    def told(*arguments: str) -> Any:
        done = run(*arguments, "--json", **settings)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    order = shuffled(range(1, RACK + 1), 1)
    # Those that were switched on before a machine wait, and ask again.
    requests = [one for at, number in enumerate(order) for one in (number, *order[max(at - 3, 0) : at])]
    for number in requests:
        assert ask(service, number, "/ipxe").status == 200
    wait_until(lambda: sum(one["asked"] for one in told("installs", "--unknown")["unknown"]) == len(requests))
    made = told("adopt", *options, "--count", str(RACK))
    assert made["left_out"] == []
    found = [(row["row"]["id"], row["row"]["mac"], row["row"]["role"]) for row in made["rows"]]
    assert found == [(name, mac(number), "gpu") for name, number in zip(names, order, strict=True)]
    for name, number in zip(names, order, strict=True):
        given = text_of(service, number, 200, "")
        assert given.splitlines()[0] == f"# {name} 7ABC10{number}"
        report = re.search(r"/report/[\w.-]+", given)
        assert report is not None
        assert service.post(f"{report[0]}/installed", b"").status == 200
        assert text_of(service, number, 404, f"{name} is installed since")

    def starts() -> dict[str, int]:
        return {one["machine"]: one["starts"] for one in told("installs", "--state", "installed")["installs"]}

    # In PostgreSQL the command reads the database, which hears of reports a moment later.
    wait_until(lambda: len(starts()) == RACK)
    assert starts() == dict.fromkeys(names, 1)


def text_of(service: Service, number: int, status: int, text: str) -> str:
    """The answer to a machine, which has a status and a text: from a worker that has the rows, soon all of them."""
    replies: list[Reply] = []

    def is_from_such_a_worker() -> bool:
        replies.append(ask(service, number))
        return "no document claims" not in replies[-1].text

    wait_until(is_from_such_a_worker)
    assert (replies[-1].status, text in replies[-1].text) == (status, True)
    return replies[-1].text


def test_machines_are_adopted_over_the_admin_api(serving: Callable[..., Service], tmp_path: Path) -> None:
    service = serving(None, **database(tmp_path))

    def call(method: str, path: str, body: Any = None, token: str = TOKEN, **headers: str) -> Reply:
        text = b"" if body is None else json.dumps(body).encode()
        return service.ask_admin(method, path, text, authorization=f"Bearer {token}", **headers)

    for number in (3, 1, 2):
        assert ask(service, number).status == 404
    wait_until(lambda: len(call("GET", "/unknown").json["unknown"]) == 3)
    assert call("POST", "/adopt", {}, READER).status == 403
    wanted = {"name": "cn{n:04}", "set": {"role": "gpu"}, "count": 2}
    tried = call("POST", "/adopt", {**wanted, "dry_run": True})
    assert (tried.status, tried.json["status"]) == (200, "dry run")
    first = [row["row"] for row in tried.json["rows"]]
    assert [(row["id"], row["serial"], row["role"]) for row in first] == [
        ("cn0001", "7ABC103", "gpu"),
        ("cn0002", "7ABC101", "gpu"),
    ]
    assert call("GET", "/inventory/default").status == 404  # nothing was made
    made = call("POST", "/adopt", wanted).json
    assert (made["status"], [row["row"] for row in made["rows"]], made["problems"]) == ("adopted", first, [])
    again = call("POST", "/adopt", {**wanted, "dry_run": True})
    assert [row["row"]["id"] for row in again.json["rows"]] == ["cn0003"]
    assert call("POST", "/adopt", wanted, if_match='"other"').status == 412
    assert call("POST", "/adopt", wanted, if_match=again.headers["etag"]).status == 200
    history = call("GET", "/history").json["history"]
    assert [entry["note"] for entry in history] == ["adopted 1 machine", "adopted 2 machines"]
    for body, sentence in NOT_TO_BE.items():
        refused = service.ask_admin("POST", "/adopt", body.encode(), authorization=f"Bearer {TOKEN}")
        assert (refused.status, sentence in refused.json["error"]) == (400, True), refused.json


def test_machines_are_adopted_from_a_service_elsewhere(serving: Callable[..., Service], tmp_path: Path) -> None:
    service = serving(None, **database(tmp_path))
    url = url_of(service)

    def adopt(*arguments: str, token: str = TOKEN) -> subprocess.CompletedProcess[bytes]:
        return run("adopt", "--from", url, *arguments, SERVICE_ADMIN_TOKEN=token)

    nobody = adopt("--name", "cn{n:04}")
    assert (nobody.returncode, nobody.stdout) == (1, b"")
    assert b"there is no machine to adopt" in nobody.stderr
    for number in (3, 1, 2):
        assert ask(service, number).status == 404
    wait_until(lambda: len(json.loads(adopt("--dry-run", "--json").stdout)["rows"]) == 3)
    refused = adopt("--name", "cn{n:04}", token=READER)
    assert (refused.returncode, b"answered 403" in refused.stderr) == (1, True)
    wrong = adopt("--name", "cn")
    assert (wrong.returncode, b"write {n} once" in wrong.stderr) == (2, True)
    tried = json.loads(adopt("--name", "cn{n:04}", "--count", "2", "--dry-run", "--json").stdout)
    assert [(row["name"], row["machine"]) for row in tried["rows"]] == [("cn0001", "7ABC103"), ("cn0002", "7ABC101")]
    shown = adopt("--name", "cn{n:04}", "--set", "role=gpu", "--said", "serial=7ABC103")
    assert shown.returncode == 0, shown.stderr
    assert f"cn0001,{mac(3)},7ABC103,,gpu".encode() in shown.stdout
    assert shown.stdout.endswith(b"1 machine adopted, 0 left out\n")
    filled = json.loads(adopt("--json", "--count", "1").stdout)
    assert (filled["status"], [row["machine"] for row in filled["rows"]]) == ("adopted", ["7ABC101"])
    assert adopt("--ca", "/dev/null").returncode == 2
    assert run("adopt", "--ca", "/dev/null").returncode == 2


def test_what_was_shown_is_adopted_or_nothing(serving: Callable[..., Service], tmp_path: Path) -> None:
    service = serving(None, **database(tmp_path))
    settings: dict[str, Any] = {"SERVICE_ADMIN_TOKEN": TOKEN}
    command = ["adopt", "--from", url_of(service), "--name", "cn{n:04}"]

    def row(name: str) -> Reply:
        body = json.dumps({"id": name, "mac": mac(7)}).encode()
        return service.ask_admin("PUT", f"/inventory/default/{name}", body, authorization=f"Bearer {TOKEN}")

    for number in (1, 2):
        assert ask(service, number).status == 404
    wait_until(lambda: b'"7ABC102"' in run(*command, "--dry-run", "--json", **settings).stdout)
    assert run(*command, "--count", "1", "--yes", **settings).returncode == 0
    status, said = confirmed(command, lambda: row("x1"))
    assert (status, b"the inventory was changed meanwhile: nothing was adopted" in said) == (1, True)
    status, said = confirmed(command, lambda: None)
    assert (status, b"1 machine adopted, 0 left out" in said) == (0, True)
    assert row("x1").json["status"] == "unchanged"


def test_a_machine_that_nobody_was_shown_is_not_adopted(serving: Callable[..., Service], tmp_path: Path) -> None:
    service = serving(None, **database(tmp_path))
    command = ["adopt", "--from", url_of(service), "--name", "cn{n:04}"]

    def call(method: str, path: str, body: str = "") -> Reply:
        return service.ask_admin(method, path, body.encode(), authorization=f"Bearer {ADMIN}")

    def is_known(number: int) -> bool:
        assert ask(service, number).status == 404
        return any(one["machine"] == f"7ABC10{number}" for one in call("GET", "/unknown").json["unknown"])

    def ask_meanwhile(number: int) -> None:
        wait_until(lambda: is_known(number))

    def rows() -> list[str]:
        lines = call("GET", "/inventory/default").text.splitlines()
        return [line.split(",")[2] for line in lines[1:]]

    # Where there is no inventory yet, and where there is one.
    ask_meanwhile(1)
    status, said = confirmed(command, lambda: ask_meanwhile(2))
    assert (status, b"1 machine adopted, 0 left out" in said, rows()) == (0, True, ["7ABC101"])
    status, said = confirmed(command, lambda: ask_meanwhile(3))
    assert (status, b"1 machine adopted, 0 left out" in said, rows()) == (0, True, ["7ABC101", "7ABC102"])
    assert call("DELETE", "/inventory/default").status == 200
    # An inventory that somebody made meanwhile.
    ask_meanwhile(3)
    status, said = confirmed([*command, "--count", "1"], lambda: call("PUT", "/inventory/default", HEADER))
    assert (status, b"the inventory was changed meanwhile: nothing was adopted" in said, rows()) == (1, True, [])


def test_what_was_adopted_is_said_where_it_is_not_what_was_shown(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    service = serving(None, **database(tmp_path))
    for number in (1, 2):
        assert ask(service, number).status == 404

    def call(method: str, path: str, body: str = "") -> Reply:
        return service.ask_admin(method, path, body.encode(), authorization=f"Bearer {ADMIN}")

    wait_until(lambda: len(call("GET", "/unknown").json["unknown"]) == 2)
    assert call("PUT", "/inventory/default", HEADER).status == 200
    assert call("PUT", "/inventory/other", HEADER).status == 200
    other = json.dumps({"id": "x1", "mac": mac(1)})
    command = ["adopt", "--from", url_of(service), "--name", "cn{n:04}"]
    status, said = confirmed(command, lambda: call("PUT", "/inventory/other/x1", other), 2)
    assert (status, b"1 machine adopted, " in said) == (0, True)
    after = said.partition(b"[y/N]")[2]
    assert (b"7ABC102" in after, b"cn0001" in after, b"cn0002" in after) == (True, True, False)


def confirmed(command: list[str], meanwhile: Callable[[], object], machines: int = 1) -> tuple[int, bytes]:
    """The exit status where somebody says yes, and what is shown."""
    environ = environment(SERVICE_ADMIN_TOKEN=TOKEN) | {"PYTHONPATH": str(CHECKOUT)}
    ours, theirs = new_terminal()
    line = [*PROGRAM, *command]
    with killed_at_last(subprocess.Popen(line, env=environ, stdin=theirs, stdout=theirs, stderr=theirs)) as asking:
        os.close(theirs)
        said = read_until(ours, f"Adopt {machines} machine{'' if machines == 1 else 's'}? [y/N] ".encode())
        meanwhile()
        os.write(ours, b"y\n")
        said += read_until(ours, None)
        status = asking.wait(60)
    os.close(ours)
    return status, said


NOT_TO_BE = {
    '{"nane": "x"}': "unknown field nane",
    '{"count": 0}': '"count" is no whole number above zero',
    '{"count": true}': '"count" is no number',
    '{"set": {"x": 1}}': '"set" is no object of texts',
    '{"set": {"x": "1"}}': "there is no column 'x'",
    '{"said": ["product"]}': "is no filter",
    '{"only": "7ABC101"}': '"only" is no list of texts',
    '{"only": [1]}': '"only" is no list of texts',
    '{"to": "a/b"}': '"to": ',
    '{"name": "x"}': "write {n} once",
    '{"name": "x{n}", "name": "y{n}"}': "the body is no JSON object",
    "[]": "the body is no JSON object",
}
"""Bodies that are 400, and what is said of them."""
