"""The operator's commands as they are typed: render --explain and --why, check, diff, validate-answer, import."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.support.admin import Admin
from tests.support.service import PROGRAM, environment, run, write_tree
from tests.support.terminals import new_terminal
from tests.support.waiting import PATIENCE

BASE = '[global]\nkeyboard = "de"\ncountry = "at"\nfqdn = "{{ machine }}.example.com"\nmailto = "a@example.com"\n'
BASE += 'timezone = "Europe/Vienna"\nroot-password-hashed = "$6$abcdefgh$' + "x" * 86 + '"\n'
BASE += '[network]\nsource = "from-dhcp"\n[disk-setup]\nfilesystem = "ext4"\ndisk-list = ["sda"]\n'
FILES = {
    "groups/base.toml": f'match = {{never = "x"}}\n{BASE}',
    "node1.toml": 'extends = "base"\n[global]\ncountry = "de"\n',
    "node1.preseed": "d-i a/b string c\n",
}


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    write_tree(tmp_path / "answers", FILES)
    return tmp_path / "answers"


def printed(answers: Path, *arguments: str, status: int = 0, stdin: bytes = b"") -> str:
    done = run(*arguments, stdin=stdin, SERVICE_ANSWERS_DIR=answers)
    assert done.returncode == status, done.stderr.decode()
    return done.stdout.decode()


def said(answers: Path, *arguments: str, status: int = 0) -> str:
    done = run(*arguments, SERVICE_ANSWERS_DIR=answers)
    assert done.returncode == status, done.stderr.decode()
    return done.stderr.decode()


# --- render ----------------------------------------------------------------------------------------------------------


def test_render_explain_has_each_line_beside_its_document_and_line(answers: Path) -> None:
    rows = printed(answers, "render", "--query", "path=/pve&host=node1", "--explain").splitlines()
    places = {line.split(" = ")[0]: place.strip() for place, _, line in (row.partition(" | ") for row in rows)}
    assert places["keyboard"] == "groups/base.toml:3"
    assert places["country"] == "node1.toml:3"
    exact = tomllib.loads(printed(answers, "render", "--query", "path=/pve&host=node1"))
    assert exact["global"].pop("root-password-hashed").startswith("$6$")
    explained = tomllib.loads("\n".join(row.partition(" | ")[2] for row in rows))
    assert explained["global"].pop("root-password-hashed") == "(secret)"
    assert explained == exact


def test_the_release_of_the_installer_that_asks_decides(answers: Path, tmp_path: Path) -> None:
    body = tmp_path / "body.json"
    body.write_text(json.dumps({"product": {"product": "pve"}, "iso": {"release": "9.0"}, "host": "node1"}))
    with (answers / "groups/base.toml").open("a") as base:
        base.write("[network.interface-name-pinning]\nenabled = true\n")
    old = said(answers, "render", "--query", "path=/pve", "--body", str(body), "--explain")
    place = r"^# invalid: network\.interface-name-pinning.*9\.0.*\(groups/base\.toml:15\)$"
    assert re.search(place, old, re.MULTILINE)
    assert "# invalid" not in said(answers, "render", "--query", "path=/pve&host=node1", "--explain")


# --- validate-answer -------------------------------------------------------------------------------------------------


def test_validate_answer_judges_by_the_release(answers: Path) -> None:
    answer = printed(answers, "render", "--query", "path=/pve&host=node1").encode()
    assert "valid" in printed(answers, "validate-answer", "--format", "toml", stdin=answer)
    answer += b"[network.interface-name-pinning]\nenabled = true\n"
    for release, status, word in (("9.1", 0, "valid, as far"), ("9.0", 1, "invalid: ")):
        options = ("--format", "toml", "--release", release, "--product", "pve")
        assert word in printed(answers, "validate-answer", *options, status=status, stdin=answer)


# --- check -----------------------------------------------------------------------------------------------------------


def test_check_ends_with_a_summary_that_says_what_next(answers: Path) -> None:
    last = printed(answers, "check").splitlines()[-1]
    assert re.match(r"2 answers tried, 0 problems, \d+ notes; answerd render ID --explain", last)


def test_check_names_key_layer_and_rule_of_a_finding(answers: Path) -> None:
    (answers / "node2.toml").write_text('extends = "base"\n[global]\nkeyboard = "xx"\n')
    shown = printed(answers, "check", status=1)
    assert re.search(r'^problem: machine "node2" \(toml\): global\.keyboard.*\(node2\.toml:3\)$', shown, re.MULTILINE)
    assert re.search(r"^3 answers tried, 1 problem that hits 1 machine, .*; mend the problems", shown, re.MULTILINE)


def test_check_names_each_of_a_few_that_have_one_cause(answers: Path) -> None:
    for number in range(2):
        (answers / f"rack{number:02}.toml").write_text('extends = "base"\n')
    (answers / "groups/base.toml").write_text(f'match = {{never = "x"}}\n{BASE}'.replace("country", "contry"))
    problems = [line for line in printed(answers, "check", status=1).splitlines() if line.startswith("problem")]
    [of_group] = [line for line in problems if "global.contry" in line]
    assert of_group.startswith(
        'problem: machine "node1" (toml), machine "rack00" (toml) and machine "rack01" (toml): global.contry: '
    )


def test_check_tells_one_cause_once(answers: Path) -> None:
    for number in range(12):
        (answers / f"rack{number:02}.toml").write_text('extends = "base"\n[network]\nsource = "fom-dhcp"\n')
    (answers / "groups/base.toml").write_text(f'match = {{never = "x"}}\n{BASE}'.replace("country", "contry"))
    problems = [line for line in printed(answers, "check", status=1).splitlines() if line.startswith("problem")]
    several = 'problem: machine "node1" (toml) and 12 more (--json lists them): global.contry: '
    [of_group] = [line for line in problems if "global.contry" in line]
    assert of_group.startswith(several)
    assert of_group.endswith("(groups/base.toml:4) (13 machines)")
    [of_machines] = [line for line in problems if "network.source" in line]
    assert of_machines.startswith('problem: machine "rack00" (toml) and 11 more (--json lists them): network.source: ')
    assert of_machines.endswith("(rack00.toml:3) (12 machines)")
    shown = json.loads(printed(answers, "check", "--json", status=1))
    assert len([problem for problem in shown["problems"] if "global.contry" in problem]) == 13


def test_check_tells_a_few_places_of_one_cause_each(answers: Path) -> None:
    for number in range(3):
        (answers / f"rack{number:02}.toml").write_text('extends = "base"\n[network]\nsource = "fom-dhcp"\n')
    problems = [line for line in printed(answers, "check", status=1).splitlines() if line.startswith("problem")]
    assert [line[-len("(rack00.toml:3)") :] for line in problems] == [
        f"(rack{number:02}.toml:3)" for number in range(3)
    ]


def test_check_asks_a_program_about_what_the_rules_take_only(answers: Path, tmp_path: Path) -> None:
    program = tmp_path / "proxmox-auto-install-assistant"
    program.write_text("#!/bin/sh\necho refused by itself\n")
    program.chmod(0o755)
    (answers / "node2.toml").write_text('extends = "base"\n[global]\nkeyboard = "xx"\n')
    path = f"{tmp_path}:{os.environ['PATH']}"
    problems = json.loads(run("check", "--json", SERVICE_ANSWERS_DIR=answers, PATH=path).stdout)["problems"]
    assert [problem for problem in problems if "node1" in problem and "refused by itself" in problem]
    assert [problem for problem in problems if "node2" in problem and "global.keyboard" in problem]
    assert len(problems) == 2


def on_a_terminal(*arguments: str, **settings: object) -> str:
    """What a command prints to a terminal."""
    leader, follower = new_terminal()
    environ = {
        "TERM": "xterm",
        **{name: value for name, value in environment(**settings).items() if name != "NO_COLOR"},
    }
    environ |= {name: str(value) for name, value in settings.items() if name == "NO_COLOR"}
    process = subprocess.Popen([*PROGRAM, *arguments], env=environ, stdout=follower, stderr=follower, stdin=follower)
    os.close(follower)
    pieces = []
    with contextlib.suppress(OSError):  # how Linux says that the other end has closed
        while piece := os.read(leader, 65_536):
            pieces.append(piece)
    os.close(leader)
    process.wait(PATIENCE)
    return b"".join(pieces).decode()


def test_check_on_a_terminal_has_colours(answers: Path) -> None:
    assert "\033[32m2 answers tried" in on_a_terminal("check", SERVICE_ANSWERS_DIR=answers)


def test_no_color_is_honoured(answers: Path) -> None:
    assert "\033[32m" not in on_a_terminal("check", SERVICE_ANSWERS_DIR=answers, NO_COLOR=1)


# --- diff ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def other(tmp_path: Path) -> Path:
    changed = FILES | {"groups/base.toml": FILES["groups/base.toml"].replace('"de"', '"fr"').replace("xxx", "yyy")}
    write_tree(tmp_path / "other", changed)
    return tmp_path / "other"


def test_diff_says_who_then_how_and_masks_secrets(answers: Path, other: Path) -> None:
    shown = printed(answers, "diff", str(other), status=1)
    lines = shown.splitlines()
    assert lines[0] == f"1 of 2 answers differ, files:{answers} and files:{other}"
    assert lines[1] == "changed  node1 (toml)  +2 -2"
    assert '-keyboard = "de"' in lines
    assert '+keyboard = "fr"' in lines
    assert "$6$" not in shown
    assert "+root-password-hashed = (secret, changed)" in shown.replace('"', "")


def test_diff_with_a_database(answers: Path, other: Path, tmp_path: Path) -> None:
    database = tmp_path / "other.db"
    assert run("import", str(other), SERVICE_DB_PATH=database).returncode == 0
    shown = printed(answers, "diff", str(database), status=1)
    assert shown.splitlines()[0] == f"1 of 2 answers differ, files:{answers} and sqlite:{database}"


# --- the admin API ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["/resolve/node1?explain=1", "/resolve?host=node1&explain=1&path=/pve"])
def test_the_admin_api_explains_in_json(tmp_path: Path, target: str) -> None:
    admin = Admin(tmp_path / "a.db")
    admin.ask("PUT", "/groups/base", FILES["groups/base.toml"])
    admin.ask("PUT", "/machines/node1", FILES["node1.toml"])
    reply = admin.ask("GET", target)
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    assert reply.headers["x-answer-source"] == reply.json["composition"] == "format=toml machine=node1 group=base"
    country = next(value for value in reply.json["values"] if value["key"] == "global.country")
    assert (country["source"], country["line"]) == ("machine node1 (toml)", 3)


def test_explain_is_no_fact_of_a_machine(tmp_path: Path) -> None:
    admin = Admin(tmp_path / "a.db")
    admin.ask("PUT", "/default", 'a = "{{ explain | default("none") }}"\n'.replace('"none"', "'none'"))
    assert admin.ask("GET", "/resolve?x=1&explain=1").json["answer"] == 'a = "none"\n'
    assert admin.ask("GET", "/resolve?x=1&explain=2").body == b'a = "2"\n'
