"""Secrets in the real program: in the answer, and nowhere else (docs/secrets.md)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.service import Service, run, write_tree
from tests.support.waiting import wait_until

TOKEN = "admin-token-for-tests-0123456789"
CANARY = "S3cretCanary"
DIGITS = "470811470811"
SECRETS: dict[str, str | bytes] = {
    "plain": f"{CANARY}\n",
    "own/plain": f"own{CANARY}\n",
    "lines": f"first\n{CANARY}\tlast\n",
    "digits": f"{DIGITS}\n",
    "bell": f"{CANARY}\x07",
    "odd": f"{CANARY}\ufffe",
    "large": CANARY * 10_000,
    "bytes": CANARY.encode() + b"\xff",
    "quotes": f"\"'<&{CANARY}]]>\\",
}
SHOWN: dict[str, str] = {
    "own.toml": (
        'password = "{{ secret.plain }}"\nx = "{{ secret.lines | upper }}"\nn = "{{ secret.digits | number }}"\n'
    ),
    "own.json": (
        '{"x": "a {{ secret.quotes }} b", "l": "{{ secret.lines | split(\'a\') | list }}", "p": "{{ secret.plain }}"}'
    ),
    "own.yaml": (
        "#cloud-config\nx: '{{ secret.quotes }}'\nkey: |\n  {{ secret.plain }}\nbogus_key: '{{ secret.lines }}'\n"
    ),
    "own.xml": '<r a="{{ secret.quotes }}"><b>{{ secret.plain }}</b><![CDATA[{{ secret.lines }}]]></r>',
    "own.ks": "rootpw {{ secret.plain }}\nbogus {{ secret.lines }}\nlang {{ secret.quotes }} --{{ secret.digits }}\n",
    "own.preseed": "d-i x/{{ secret.plain }} nothing {{ secret.quotes }}\n",
    "node2.ign": '{"ignition": {"version": "{{ secret.plain }}"}}',
    "node1.toml": (
        '[global]\nkeyboard = "{{ secret.plain }}"\nfqdn = "{{ secret.quotes }}"\nmailto = "{{ secret.lines }}"\n'
    ),
}
REFUSED: dict[str, str] = {
    "bad1.ks": "{{ secret.plain | bare }}\n",
    "bad2.ks": "{{ secret.bell }}\n",
    "bad3.ks": "{{ secret.large }}\n",
    "bad4.ks": "{{ secret.bytes }}\n",
    "bad5.xml": "<r>{{ secret.odd }}</r>",
    "bad6.toml": 'x = "{{ secret.plain | number }}"\n',
    "bad7.ks": "{{ secret.plain | host }} {{ secret.none }}\n",
    "bad8.ks": '{{ secret.none | default("{{ secret.plain }}") }}\n',
}


def tells(text: str) -> list[str]:
    """The secrets that a text shows, whatever became of their letter case."""
    return [secret for secret in (CANARY, DIGITS) if secret.casefold() in text.casefold()]


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    directory = tmp_path / "secrets"
    for place, content in SECRETS.items():
        path = directory / place
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(0o600)
    return directory


def files_of(directory: Path) -> Iterator[str]:
    for path in directory.rglob("*"):
        if path.is_file():
            yield path.read_bytes().decode("utf-8", "replace")


def test_a_secret_shows_in_the_answer_and_nowhere_else(
    serving: Callable[..., Service], tmp_path: Path, secrets: Path
) -> None:
    captures = tmp_path / "captures"
    database = tmp_path / "db" / "answers.db"
    service = serving(
        SERVICE_STORE="sqlite",
        SERVICE_DB_PATH=database,
        SERVICE_ADMIN_ADDR="127.0.0.1:0",
        SERVICE_ADMIN_TOKEN=TOKEN,
        SERVICE_SECRETS_DIR=secrets,
        SERVICE_CAPTURE_DIR=captures,
    )

    def admin(method: str, target: str, body: str = "") -> str:
        return service.ask_admin(method, target, body.encode(), Authorization=f"Bearer {TOKEN}").text

    shown: list[str] = []
    said: list[str] = []
    for name, text in {**SHOWN, **REFUSED}.items():
        identifier, _, extension = name.partition(".")
        said.append(admin("PUT", f"/machines/{identifier}?format={extension}", text))
        alias = {"toml": "pve", "ign": "ignition"}.get(extension, extension)
        answer = service.get(f"/{alias}/{identifier}?secret.plain=mine")
        (shown if answer.status == 200 else said).append(answer.text)
        resolved = admin("GET", f"/resolve/{identifier}?path=/{alias}/{identifier}")
        (shown if answer.status == 200 else said).append(resolved)
        said.append(admin("GET", f"/resolve/x?path=/{alias}/{identifier}&explain=1"))
    said.append(admin("GET", "/check"))
    said.append(admin("GET", "/machines"))
    assert len(shown) == 2 * len(SHOWN)
    assert [text for text in shown if CANARY.casefold() not in text.casefold()] == []
    assert [text for text in said if tells(text)] == []
    assert '"(secret)' in "".join(said)
    assert "secret 'none' is missing" in "".join(said)
    wait_until(lambda: sum(meta.stat().st_size > 0 for meta in captures.glob("*.meta")) == len(SHOWN) + len(REFUSED))
    service.stop()
    for written in (*files_of(captures), *files_of(database.parent), "\n".join(service.log)):
        assert tells(written) == []
    assert any("secret 'none' is missing" in line for line in service.log)


def test_commands_show_no_secret_but_in_the_answer(tmp_path: Path, secrets: Path) -> None:
    answers, other = tmp_path / "answers", tmp_path / "other"
    documents = {**SHOWN, **REFUSED}
    write_tree(answers, documents)
    write_tree(other, {name: text.replace("secret.plain", "secret.lines") for name, text in documents.items()})
    settings: dict[str, Any] = {"SERVICE_ANSWERS_DIR": answers, "SERVICE_SECRETS_DIR": secrets}

    exact = run("render", "own", "--format", "toml", **settings)
    assert f'password = "own{CANARY}"' in exact.stdout.decode()
    assert f"n = {DIGITS}\n" in exact.stdout.decode()
    assert tells(exact.stderr.decode()) == []
    said = [
        run("render", "own", "--format", "ks", "--why", "--explain", **settings),
        run("render", "own", "--format", "json", "--explain=json", **settings),
        run("render", "node1", "--why", "--explain", **settings),
        run("check", **settings),
        run("diff", "--show-secrets", str(other), **settings),
        run("config", **settings),
    ]
    for done in said:
        assert tells((done.stdout + done.stderr).decode()) == []
        assert b"Traceback" not in done.stderr
    shown = json.loads(json.loads(said[1].stdout)["answer"])
    assert shown == {"x": "a (secret) b", "l": "(secret)\n(secret)", "p": "(secret)"}
    assert "own.ks:1 | " in said[0].stdout.decode()
    problems = said[3].stdout.decode()
    assert re.search(r'machine "bad7" \(ks\): .*secret', problems)
    assert "{{ secret.lines }}" in said[4].stdout.decode()


def test_a_changed_secret_counts_soon_and_what_others_can_read_is_logged(
    serving: Callable[..., Service], tmp_path: Path, secrets: Path
) -> None:
    service = serving(
        {"default.ks": "{{ secret.plain }}\n", "own.ks": "{{ secret.plain }}\n"},
        SERVICE_SECRETS_DIR="",
        CREDENTIALS_DIRECTORY=secrets,
        SERVICE_WORKERS=2,
    )
    assert service.get("/ks").text == f"{CANARY}\n"
    assert service.get("/ks/OWN").text == f"own{CANARY}\n"
    (secrets / "plain").write_text("changed\n")
    wait_until(lambda: {service.get("/ks").text for _ in range(8)} == {"changed\n"})
    (secrets / "OWN").mkdir(mode=0o755)
    assert "can read" in service.wait_for_log("warning: secrets: directories")
    assert "OWN/ and own/" in service.wait_for_log("problem: secrets: 2 directories for one identity")
    wait_until(lambda: {service.get("/ks/own").status for _ in range(8)} == {500})
    assert service.get("/ks").status == 200
    (secrets / "plain").unlink()
    wait_until(lambda: {service.get("/ks").status for _ in range(8)} == {500})


def test_a_directory_that_is_not_there_is_a_warning_at_the_start(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    service = serving({"default.ks": "{{ secret.x }}\n"}, SERVICE_SECRETS_DIR=tmp_path / "none")
    assert "cannot be read" in service.wait_for_log("warning: the secrets directory")
    assert "is missing" in service.get("/ks").text
