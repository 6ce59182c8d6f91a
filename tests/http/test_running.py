"""Starting, changing under way, stopping: docs/running.md, with the real program."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.support.service import PROGRAM, Service, environment, run, write_tree
from tests.support.waiting import PATIENCE, wait_until

Start = Callable[..., Service]


def replace(path: Path, text: str) -> None:
    """Write a file as a careful program does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(text)
    temporary.rename(path)


STARTUP_ERRORS: dict[str, tuple[Mapping[str, object], list[str]]] = {
    "a wrong setting": ({"SERVICE_STORE": "redis"}, ["SERVICE_STORE", "files", "sqlite"]),
    "an address of another machine": ({"SERVICE_LISTEN_ADDR": "192.0.2.1:8000"}, ["SERVICE_LISTEN_ADDR", "192.0.2.1"]),
    "a log file in a directory that is not there": ({"SERVICE_LOG_FILE": "/nowhere/at/all.log"}, ["SERVICE_LOG_FILE"]),
    "a settings file that is not there": ({"SERVICE_ENV_FILE": "/nowhere/env"}, ["SERVICE_ENV_FILE", "/nowhere/env"]),
    "a file of tokens that is not there": ({"SERVICE_TOKENS_FILE": "/nowhere/tokens"}, ["SERVICE_TOKENS_FILE"]),
    "a database in a place that is a file": (
        {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": "/dev/null/x.db"},
        ["/dev/null"],
    ),
}


@pytest.mark.parametrize(("settings", "words"), STARTUP_ERRORS.values(), ids=STARTUP_ERRORS.keys())
def test_what_cannot_start_says_why_on_one_line(
    tmp_path: Path, settings: Mapping[str, object], words: list[str]
) -> None:
    given: dict[str, object] = {
        "SERVICE_LISTEN_ADDR": "127.0.0.1:0",
        "SERVICE_ANSWERS_DIR": tmp_path,
        "SERVICE_DB_PATH": tmp_path / "a.db",
        **settings,
    }
    ended = run("serve", stdin=b"", **given)
    assert ended.returncode == 1
    errors = ended.stderr.decode().splitlines()
    assert len(errors) == 1, errors
    assert [word for word in words if word not in errors[0]] == []
    assert ended.stdout == b""


def test_the_first_lines_tell_how_it_runs(serving: Start, tmp_path: Path) -> None:
    service = serving({"default.toml": "x = 1\n"}, SERVICE_MAX_CONNECTIONS=77, SERVICE_TIMEOUT_SECS=7)
    line = service.wait_for_log("listening on")
    assert service.address
    assert line.endswith(
        f"listening on 127.0.0.1:{service.address[1]}, store=files:{tmp_path / 'answers'} "
        "workers=1 max_conn=77 timeout=7s log=all"
    )


def test_problems_of_the_set_are_warnings_and_it_runs(serving: Start) -> None:
    service = serving({"node1.toml": "x = = 1\n", "node2.toml": "x = 2\n"}, SERVICE_ANSWER_TOKEN="short-token")
    assert service.wait_for_log(r"Z - .*machine \"node1\" \(toml\): does not parse")
    assert service.wait_for_log(r"Z - .*warning.*SERVICE_ANSWER_TOKEN")
    assert service.get("/pve?h=node2", Authorization="Bearer short-token").status == 200


def test_a_change_on_disk_takes_effect_within_a_second(serving: Start, tmp_path: Path) -> None:
    service = serving({"node1.toml": "x = 1\n", "groups/g.toml": 'members = ["node2"]\ny = 1\n'})
    answers = tmp_path / "answers"
    for number in range(2, 5):
        replace(answers / "node1.toml", f"x = {number}\n")
        wait_until(lambda wanted=f"x = {number}\n": service.get("/?h=node1").text == wanted)  # type: ignore[misc]
    (answers / "node1.toml").unlink()
    wait_until(lambda: service.get("/?h=node1").status == 404)
    replace(answers / "node9" / "any.toml", "z = 1\n")
    wait_until(lambda: service.get("/?h=node9").text == "z = 1\n")
    (answers / "groups" / "g.toml").write_text('members = ["node3"]\ny = 2\n')
    wait_until(lambda: service.get("/?h=node3").text == "y = 2\n")
    assert service.get("/?h=node2").status == 404


def test_a_problem_that_appears_is_logged_once(serving: Start, tmp_path: Path) -> None:
    service = serving({"node1.toml": "x = 1\n"})
    replace(tmp_path / "answers" / "node1.toml", "x = = 1\n")
    assert service.wait_for_log(r"Z - .*machine \"node1\" \(toml\): does not parse")
    replace(tmp_path / "answers" / "node2.toml", "x = 2\n")
    wait_until(lambda: service.get("/?h=node2").status == 200)
    assert len([line for line in service.log if 'machine "node1"' in line and " - " in line[:25]]) == 1


def test_an_answers_directory_that_vanishes_is_logged_once_and_leaves_the_answers(tmp_path: Path) -> None:
    answers = tmp_path / "answers"
    write_tree(answers, {"default.ks": "old\n"})
    gone, back = "warning: the store cannot be read, answers stay as they are: .*does not exist", "can be read again"
    with Service(SERVICE_ANSWERS_DIR=answers, SERVICE_WORKERS=2) as service:
        answers.rename(tmp_path / "elsewhere")
        service.wait_for_log(gone)
        service.process.send_signal(signal.SIGHUP)
        service.wait_for_log("reloading")
        write_tree(tmp_path, {"elsewhere/default.ks": "new\n"})
        assert {service.get("/").text for _ in range(20)} == {"old\n"}
        (tmp_path / "elsewhere").rename(answers)
        service.wait_for_log(back)
        wait_until(lambda: {service.get("/").text for _ in range(20)} == {"new\n"})
        assert [len(re.findall(words, "\n".join(service.log))) for words in (gone, back)] == [1, 1]


def test_a_change_that_no_event_reports_is_in_force_at_sighup(tmp_path: Path) -> None:
    answers = tmp_path / "answers"
    write_tree(answers, {"a.ks": "old\n"})
    with Service(SERVICE_ANSWERS_DIR=answers) as service:
        assert service.get("/ks/a").text == "old\n"
        os.link(answers / "a.ks", tmp_path / "outside.ks")  # nothing reports this
        (tmp_path / "outside.ks").write_text("new\n")
        service.process.send_signal(signal.SIGHUP)
        wait_until(lambda: service.get("/ks/a").text == "new\n")


def test_a_configmap_that_is_swapped_takes_effect(tmp_path: Path) -> None:
    mount = tmp_path / "mount"
    write_tree(mount, {"..v1/default.toml": "x = 1\n", "..v2/default.toml": "x = 2\n"})
    (mount / "..data").symlink_to("..v1")
    (mount / "default.toml").symlink_to("..data/default.toml")
    with Service(SERVICE_ANSWERS_DIR=mount) as service:
        assert service.get("/").text == "x = 1\n"
        (mount / "..new").symlink_to("..v2")
        (mount / "..new").rename(mount / "..data")
        wait_until(lambda: service.get("/").text == "x = 2\n")


def test_answers_go_on_while_the_set_is_reloaded(serving: Start, tmp_path: Path) -> None:
    service = serving({"node1.toml": "x = 1\n"})
    write_tree(tmp_path / "answers", {f"m{number:04}.toml": 'x = "{{ machine }}"\n' for number in range(1500)})

    def is_reloaded() -> bool:
        assert service.get("/?h=node1").status == 200
        return service.get("/?h=m1499").text == 'x = "m1499"\n'

    wait_until(is_reloaded)


def test_no_argument_is_serve(tmp_path: Path) -> None:
    process = subprocess.Popen(
        PROGRAM,
        env=environment(SERVICE_LISTEN_ADDR="127.0.0.1:0", SERVICE_ANSWERS_DIR=tmp_path),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr
        assert any("listening on 127.0.0.1:" in line for line in process.stderr)
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def test_a_start_imports_nothing_of_what_is_not_configured(serving: Callable[..., Service]) -> None:
    service = serving(PYTHONPROFILEIMPORTTIME="1")  # an interpreter logs its imports then
    imported = {line.rpartition("| ")[2].strip() for line in service.log if line.startswith("import time:")}
    assert "answerd.server.worker" in imported
    not_needed = ("psycopg.", "prometheus_client", "answerd.console", "answerd.server.administration")
    assert not [name for name in imported if name.startswith(not_needed)]
