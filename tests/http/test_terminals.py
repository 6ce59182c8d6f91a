"""Commands on terminals of another encoding, in closed pipes and on full disks: one line, no stack trace."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.service import PROGRAM, environment, run, write_tree

TERMINALS = {
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "the C locale": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}
COMMANDS = {
    "check": ["check"],
    "render": ["render", "x", "--query", "path=/ks&mac=52:54:00:ab:cd:ef&name=caf\u00e9%1b", "--why", "--explain"],
    "a command that is none": ["caf\u00e9", "\x1b[31m"],
    "diff for programs": ["diff", "other", "--json"],
    "import": ["import", "answers"],
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Two directories of documents whose names and texts a terminal may not be able to show."""
    write_tree(tmp_path / "answers", {"x.ks": "# caf\u00e9\n", "default.toml": 'x = "\u00e9"\n', "caf\u00e9.ks": ""})
    write_tree(tmp_path / "other", {"x.ks": "# th\u00e9 \x1b[31m\n"})
    names = [b"a\x1b[31mb.toml", b"caf\xe9.toml"]
    for name in names:
        Path(os.fsdecode(os.fsencode(tmp_path / "answers") + b"/" + name)).write_text("x = = 1\n")
    return tmp_path


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("terminal", TERMINALS.values(), ids=TERMINALS)
def test_a_command_says_what_it_has_to_say_in_any_encoding(
    place: Path, terminal: dict[str, str], arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    settings: dict[str, Any] = {"SERVICE_ANSWERS_DIR": "answers", "SERVICE_DB_PATH": "answers.db", **terminal}
    done = run(*arguments, **settings)
    assert b"Traceback" not in done.stderr
    assert done.returncode in (0, 1, 2)
    assert b"\x1b" not in done.stdout + done.stderr
    if "--json" in arguments:
        json.loads(done.stdout.decode("ascii"))


@pytest.mark.parametrize("arguments", [["check"], ["--help"]])
def test_a_pipe_that_nobody_reads_ends_a_command_without_a_word(place: Path, arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*PROGRAM, *arguments],
        env=environment(SERVICE_ANSWERS_DIR=place / "answers"),
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    os.close(writer)
    assert [line for line in done.stderr.splitlines() if not line.startswith(b"# ")] == []
    assert done.returncode in (0, 1, 2)


def test_a_disk_that_is_full_is_told_in_one_line(place: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*PROGRAM, "check"],
            env=environment(SERVICE_ANSWERS_DIR=place / "answers"),
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    store, *output = done.stderr.splitlines()
    assert store.startswith(b"# store: files:")
    assert output == [b"answerd: standard output: No space left on device"]


def test_without_any_output_a_command_still_has_its_status(place: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" "$@" >&- 2>&-', *PROGRAM, "check"],
        env=environment(SERVICE_ANSWERS_DIR=place / "answers"),
        timeout=60,
        check=False,
    )
    assert done.returncode == 1


def test_a_set_that_says_nothing_strange_is_shown_as_it_is(tmp_path: Path) -> None:
    write_tree(tmp_path, {"caf\u00e9.ks": "x\n"})
    done = run("check", "--json", SERVICE_ANSWERS_DIR=tmp_path, PYTHONIOENCODING="utf-8")
    assert any("caf\u00e9" in problem for problem in json.loads(done.stdout)["problems"])
    assert "caf\u00e9".encode() in done.stdout
