"""Commands on terminals of another encoding, in closed pipes and on full disks: one line, no stack trace."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import termios
from pathlib import Path
from typing import Any

import pytest

from answerd.store.sqlite import SqliteStore
from tests.support.processes import is_asleep, killed_at_last
from tests.support.service import PROGRAM, environment, run, write_tree
from tests.support.terminals import new_terminal, read_until
from tests.support.waiting import wait_until

CHECKOUT = Path(__file__).parents[2]
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


def printed_at(columns: int, *arguments: str, **settings: Any) -> list[str]:
    """The lines that a command prints to a terminal of so many columns."""
    terminal, its_end = new_terminal()
    termios.tcsetwinsize(its_end, (40, columns))
    environ = environment(NO_COLOR=1, **settings)
    environ.pop("COLUMNS", None)
    program = subprocess.Popen([*PROGRAM, *arguments], env=environ, stdout=its_end, stderr=subprocess.DEVNULL)
    os.close(its_end)
    with killed_at_last(program):
        lines = read_until(terminal, None).decode().splitlines()
    os.close(terminal)
    return lines


def test_a_table_that_is_wider_than_a_narrow_terminal_has_a_block_for_each_row(tmp_path: Path) -> None:
    names = [f"web-{number}.a-rack-of-the-first-floor" for number in (1, 2)]
    inventory = "id,mac\n" + "".join(f"{name},98:fa:9b:50:d8:0{at}\n" for at, name in enumerate(names))
    write_tree(tmp_path / "answers", {"inventory.csv": inventory})
    here: dict[str, Any] = {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": tmp_path / "answers.db"}
    assert run("import", str(tmp_path / "answers"), **here).returncode == 0
    assert run("arm", names[0], **here).returncode == 0
    narrow = printed_at(45, "installs", "--state", "armed", **here)
    assert narrow[0] == f"{names[0]}  armed"
    since = narrow[1].split()
    assert (narrow[1][:2], since[0], len(since)) == ("  ", "since:", 2)
    assert [line.split() for line in narrow[2:-1]] == [["starts:", "0"]]
    assert max(map(len, narrow)) <= 45
    settings = printed_at(45, "config", **here)
    at = settings.index("SERVICE_DB_PATH")
    assert settings[at + 1 : at + 3] == [f"  {tmp_path / 'answers.db'}", "  environment"]
    wide = printed_at(120, "installs", "--state", "armed", **here)
    piped = run("installs", "--state", "armed", COLUMNS=45, **here).stdout.decode().splitlines()
    assert wide == piped
    assert piped[0].split()[:2] == ["MACHINE", "STATE"]


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


NUMBERS = {
    "19 digits": "9" * 19,
    "20 digits": "9" * 20,
    "5,000 digits": "9" * 5_000,
    "2 to the 63rd": str(2**63),
    "below zero": "-1",
    "zero": "0",
    "a fraction": "1.5",
    "with an exponent": "1e3",
    "of another script": "٣",
    "superscript": "²",
    "no number": "x",
    "empty": "",
}
TAKING_NUMBERS = {
    "history": ["history", "--limit"],
    "restore-document": ["restore-document", "x.ks", "--revision"],
    "wait": ["wait", "x", "--timeout"],
}


@pytest.mark.parametrize("number", NUMBERS.values(), ids=list(NUMBERS))
@pytest.mark.parametrize("command", TAKING_NUMBERS.values(), ids=TAKING_NUMBERS)
def test_a_number_of_the_command_line_has_a_bound_and_a_sentence(
    place: Path, command: list[str], number: str, in_memory: Path
) -> None:
    settings: dict[str, Any] = {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": in_memory / "answers.db"}
    write_tree(in_memory / "few", {"x.ks": "lang en\n"})
    run("import", str(in_memory / "few"), **settings)
    done = run(*command[:-1], f"{command[-1]}={number}", **settings)
    if command[0] == "wait" and number in ("0", "1.5", "٣"):  # times
        assert done.returncode == 3
        return
    assert done.returncode == 2
    sentence = done.stderr.decode().splitlines()[-1]
    assert sentence.startswith(f"answerd: {command[-1]} ")


QUESTIONS = {
    "Ctrl-D": (b"\x04", 1),
    "Ctrl-C": (b"\x03", 130),
    "no": (b"no\n", 1),
    "nothing": (b"\n", 1),
    "yes": (b"y\n", 0),
}
"""What a person types at a question, and the exit status."""


@pytest.mark.parametrize(("typed", "status"), QUESTIONS.values(), ids=QUESTIONS)
def test_a_question_takes_any_key(typed: bytes, status: int, tmp_path: Path) -> None:
    write_tree(tmp_path / "answers", {"x.ks": "lang en\n"})
    SqliteStore(tmp_path / "answers.db").close()
    ours, theirs = new_terminal()
    environ = environment(SERVICE_STORE="sqlite", SERVICE_DB_PATH=tmp_path / "answers.db")
    with killed_at_last(
        subprocess.Popen(
            [*PROGRAM, "apply", str(tmp_path / "answers")],
            env=environ | {"PYTHONPATH": str(CHECKOUT)},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
    ) as command:
        os.close(theirs)
        said = read_until(ours, b"[y/N] ")
        if typed == b"\x03":  # this process's terminal is another
            # A signal between the question and the reading would only be seen at the next key.
            wait_until(lambda: is_asleep(command.pid))
            command.send_signal(signal.SIGINT)
        else:
            os.write(ours, typed)
        said += read_until(ours, None)
        assert command.wait(60) == status
    os.close(ours)
    assert b"Traceback" not in said
    assert (b"nothing was applied" in said) == (status == 1)
    assert len(SqliteStore(tmp_path / "answers.db").keys()) == (status == 0)


@pytest.mark.parametrize("asks", [["apply", "--yes", "--to", "URL", "answers"], ["installs", "--from", "URL"]])
def test_an_interrupt_ends_a_command_that_waits_for_a_service(asks: list[str], tmp_path: Path) -> None:
    write_tree(tmp_path / "answers", {"x.ks": "lang en\n"})
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with killed_at_last(
            subprocess.Popen(
                [*PROGRAM, *(url if word == "URL" else word for word in asks)],
                env=environment(SERVICE_ADMIN_TOKEN="token-0123456789abcdef", PYTHONPATH=CHECKOUT),
                cwd=tmp_path,
                stderr=subprocess.PIPE,
                text=True,
            )
        ) as command:
            with silent.accept()[0] as client:
                client.recv(1)
                wait_until(
                    lambda: is_asleep(command.pid)
                )  # a signal just before it reads would be seen at the next byte
                command.send_signal(signal.SIGINT)
                assert command.wait(60) == 130
            assert command.stderr
            assert command.stderr.read() == ""
