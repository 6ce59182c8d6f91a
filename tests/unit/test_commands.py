"""The commands, called in this process: exit statuses, the store's line, absent stores, near misses (docs/cli.md)."""

from __future__ import annotations

import json
import re
import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from answerd import __version__, captures, cli
from answerd.captures import Capture
from answerd.commands import NAMES, CommandError, command, documents, usage_of
from answerd.commands.history import parse_document_name
from answerd.commands.remote import AdminApi
from answerd.identity import Kind
from answerd.installs.sentences import command as command_for_shell
from tests.support.service import write_tree
from tests.support.shell import Shell

RACK = {
    "answers/groups/lab.toml": 'members = ["pc-1", "pc-2"]\nx = 1\n',
    "answers/node1.toml": "x = 1\n",
    "answers/node1.ipxe": "#!ipxe\n",
    "answers/node1.seed": "d-i a/b string c\n",
}


# --- help ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_a_command_fits_80_columns_and_has_an_example(shell: Shell, name: str) -> None:
    done = shell(name, "--help")
    assert done.status == 0
    assert "\n".join(done.out) + "\n" == command(name).__doc__
    assert [line for line in done.out if len(line) > 80] == []
    examples = done.out[done.out.index("Examples:") + 1 :]
    assert any(line.startswith(f"  answerd {name}") or f" answerd {name}" in line for line in examples)


@pytest.mark.parametrize("name", NAMES)
def test_docopt_takes_for_options_what_the_help_lists_as_options(name: str) -> None:
    """A line of another paragraph that begins with an option would be one more to docopt."""
    text = command(name).__doc__.partition("Usage:\n")[2].partition("\n\n")[2]
    listed = text.partition("Options:\n")[2].partition("\n\n")[0]
    begin_so = [line for line in text.splitlines() if line.strip().startswith("-")]
    assert begin_so == [line for line in listed.splitlines() if line.startswith("  -")]
    named = re.findall(r"--[a-z0-9-]+", " ".join(usage_of(name)))
    assert {*named} <= {line.split()[0] for line in begin_so}


def usages_with_repeated_options() -> list[tuple[str, list[str]]]:
    """Each usage of a command that has options which may be repeated: its required words, and these options."""
    found = []
    for name in NAMES:
        text = command(name).__doc__.partition("Usage:\n")[2].partition("\n\n")[0]
        for usage in re.split(r"^  answerd ", text, flags=re.MULTILINE)[1:]:
            required, count = usage, 1
            while count:
                required, count = re.subn(r"\[[^\[\]]*\](?:\.\.\.)?", "", required)
            repeated = re.findall(r"\[(--[a-z-]+) [A-Z]+\]\.\.\.", usage)
            if repeated:
                found.append((required.replace("...", ""), repeated))
    return found


@pytest.mark.parametrize(("required", "repeated"), usages_with_repeated_options())
def test_each_value_of_an_option_that_may_be_repeated_counts_once(required: str, repeated: list[str]) -> None:
    words = [word if word.startswith("-") or word.islower() else "x" for word in required.split()]
    given = {option: [f"{option}={number}" for number in range(3)] for option in repeated}
    options = [word for option, values in given.items() for value in values for word in (option, value)]
    found = cli.parse(words[0], [*words[1:], *options])
    assert {option: found[option] for option in given} == given


def test_the_overview_fits_80_columns_and_names_every_command(shell: Shell) -> None:
    for option in ("--help", "-h"):
        done = shell(option)
        assert (done.status, "\n".join(done.out) + "\n") == (0, cli.__doc__)
    assert [line for line in done.out if len(line) > 80] == []
    commands = done.out[done.out.index("Commands:") + 1 : done.out.index("Options:") - 1]
    assert tuple(line.split()[0] for line in commands) == NAMES
    assert shell("--version").out == [f"answerd {__version__}"]


# --- wrong command lines ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["rendr", "a"], "did you mean render?", id="a command that nearly exists"),
        pytest.param(["--verson"], "did you mean --version?", id="an option of the program that nearly exists"),
        pytest.param(["frobnicate"], "answerd --help", id="a command that does not exist"),
        pytest.param(["render", "--quary", "a=b"], "did you mean --query?", id="an option that nearly exists"),
        pytest.param(["check", "--jsno"], "did you mean --json?", id="letters that have changed places"),
        pytest.param(["check", "--frob"], "answerd check --help", id="an option that does not exist"),
        pytest.param(["diff"], "answerd diff --help", id="an argument that is missing"),
        pytest.param(["config", "x"], "answerd config --help", id="an argument too many"),
        pytest.param(["serve", "x"], "answerd serve --help", id="an argument of serve"),
        pytest.param(["render", "a", "--format", "ipex"], "did you mean ipxe?", id="a format that nearly exists"),
        pytest.param(["render", "a", "--explain=yaml"], "render --help", id="an explanation that does not exist"),
        pytest.param(["render", "a", "--json"], "--explain", id="json without an explanation"),
        pytest.param(["check", "nowhere"], "nowhere does not exist", id="check of a directory that is not there"),
        pytest.param(["render", "a", "--dir", "nowhere"], "nowhere", id="render of a directory that is not there"),
        pytest.param(["render", "--replay", "nowhere.meta"], "answerd captures", id="a capture that is not there"),
        pytest.param(["render", "--body", "nowhere"], "nowhere", id="a body that is not there"),
        pytest.param(["diff", "nowhere"], "nowhere", id="diff with what is not there"),
        pytest.param(["import", "nowhere"], "nowhere", id="import of what is not there"),
        pytest.param(["import", "--prune", "answers/node1.toml"], "is no directory", id="import of a file"),
        pytest.param(["validate-answer", "--format", "tmol", "x"], "did you mean toml?", id="a format to judge by"),
        pytest.param(["validate-answer", "nowhere.toml"], "nowhere", id="validate-answer of what is not there"),
    ],
)
def test_a_wrong_command_line_is_status_2_and_one_line(shell: Shell, arguments: list[str], words: str) -> None:
    write_tree(shell.place, RACK)
    shell.set(SERVICE_ANSWERS_DIR="answers", SERVICE_DB_PATH="new.db")
    done = shell(*arguments)
    assert (done.status, done.out) == (2, [])
    [line] = done.err
    assert words in line
    assert not Path("new.db").exists()


@pytest.mark.parametrize(
    ("arguments", "part", "value"),
    [
        *((f"{name} -- -dash9 web-01", "ID", ["-dash9", "web-01"]) for name in ("arm", "disarm", "forget", "wait")),
        ("installs --json -- -dash9", "ID", ["-dash9"]),
        ("install --json -- --json", "ID", ["--json"]),
        ("arm -- -- --state", "ID", ["--", "--state"]),
        ("render --why -- -dash9", "<id>", "-dash9"),
        ("history -- -dash9.ks", "KEY", "-dash9.ks"),
        ("inventory -- add", "FILTER", ["add"]),
        ("check -- -answers", "DIR", "-answers"),
        ("validate-answer --format ks -- -", "FILE", "-"),
    ],
)
def test_two_dashes_end_the_options_and_are_no_argument(arguments: str, part: str, value: str | list[str]) -> None:
    name, *words = arguments.split()
    assert cli.parse(name, words)[part] == value


def test_the_order_that_a_refusal_prints_of_a_machine_with_a_dash_is_taken(shell: Shell) -> None:
    write_tree(shell.place, {"answers/inventory.csv": "id,mac\n-dash9,52:54:00:00:00:10\n"})
    shell.set(SERVICE_STORE="sqlite", SERVICE_DB_PATH="new.db")
    assert shell("import", "answers").status == 0
    done = shell(*shlex.split(command_for_shell("arm", ["-dash9"]))[1:])
    assert (done.status, done.out) == (0, ["-dash9 armed"]), done.err


# --- the store -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments", [["render", "node1"], ["check"], ["diff", "answers"]], ids=["render", "check", "diff"]
)
def test_the_first_line_on_standard_error_names_the_store(shell: Shell, arguments: list[str]) -> None:
    write_tree(shell.place, RACK)
    shell.set(SERVICE_ANSWERS_DIR="answers")
    assert shell(*arguments).err[0] == "# store: files:answers, 4 documents"
    write_tree(shell.place, {"few/node1.toml": "x = 1\n"})
    shell.set(SERVICE_ANSWERS_DIR="few")
    assert shell(*arguments).err[0] == "# store: files:few, 1 document"


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["render", "node1"], 1), (["check"], 1), (["check", "--json"], 1), (["diff", "answers"], 2)],
    ids=["render", "check", "check for programs", "diff"],
)
@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"SERVICE_ANSWERS_DIR": "absent"}, "SERVICE_ANSWERS_DIR"),
        ({"SERVICE_ANSWERS_DIR": "answers/node1.toml"}, "is not a directory"),
        ({"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": "typo/x.db"}, "SERVICE_DB_PATH"),
        ({"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": "empty.db"}, "SERVICE_DB_PATH"),
    ],
    ids=["a directory that is absent", "a file for a directory", "a database that is absent", "an empty file"],
)
def test_an_absent_store_is_an_error_and_stays_absent(
    shell: Shell, arguments: list[str], status: int, settings: dict[str, str], named: str
) -> None:
    write_tree(shell.place, RACK | {"empty.db": ""})
    before = sorted(Path().rglob("*"))
    shell.set(**settings)
    done = shell(*arguments)
    assert (done.status, done.out, len(done.err)) == (status, [], 1)
    assert named in done.err[0]
    assert "no document claims" not in done.err[0]
    assert sorted(Path().rglob("*")) == before


def test_an_absent_store_names_the_services_settings_that_were_not_read(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(shell.place, {"answerd.env": "SERVICE_ANSWERS_DIR=answers\n", **RACK})
    monkeypatch.setattr(documents, "SYSTEM_ENV_FILE", Path("answerd.env"))
    shell.set(SERVICE_ANSWERS_DIR="absent")
    assert (
        shell("check")
        .err[0]
        .endswith("answerd.env exists and was not read: set SERVICE_ENV_FILE=answerd.env to use its settings")
    )
    for arguments in (["captures"], ["export", "out"]):
        shell.set(SERVICE_DB_PATH="absent.db")
        assert "set SERVICE_ENV_FILE=answerd.env" in shell(*arguments).err[0]
    monkeypatch.delenv("SERVICE_ANSWERS_DIR")
    shell.set(SERVICE_ENV_FILE="answerd.env")
    assert shell("render", "node1", "--format", "toml").status == 0


def test_a_command_without_a_place_for_states_names_the_services_settings_that_were_not_read(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(shell.place, {"answerd.env": "SERVICE_STATE_PATH=installs.db\n", **RACK})
    monkeypatch.setattr(documents, "SYSTEM_ENV_FILE", Path("answerd.env"))
    shell.set(SERVICE_ANSWERS_DIR="answers")
    advice = "# warning: answerd.env exists and was not read: set SERVICE_ENV_FILE=answerd.env to use its settings"
    for arguments in (["check"], ["render", "node1", "--format", "toml"], ["installs"]):
        assert shell(*arguments).err[1] == advice
    assert advice not in shell("check", "answers").err  # a directory of its own
    shell.set(SERVICE_ENV_FILE="answerd.env")
    assert advice not in shell("check").err


def test_export_of_an_absent_database_creates_none(shell: Shell) -> None:
    shell.set(SERVICE_DB_PATH="absent.db")
    done = shell("export", "out")
    assert (done.status, len(done.err)) == (1, 1)
    assert sorted(Path().iterdir()) == []


def test_import_creates_a_database_and_says_what_is_new(shell: Shell) -> None:
    write_tree(shell.place, RACK)
    shell.set(SERVICE_STORE="sqlite", SERVICE_DB_PATH="made/x.db")
    assert "4 documents imported into made/x.db: 4 new, 0 changed, 0 unchanged;" in shell("import", "answers").out[0]
    Path("answers/node1.toml").write_text("x = 2\n")
    Path("answers/node1.ipxe").unlink()
    assert ": 0 new, 1 changed, 2 unchanged;" in shell("import", "answers").out[0]
    assert ": 0 new, 0 changed, 3 unchanged, 1 removed;" in shell("import", "--prune", "answers").out[0]
    assert shell("check").err[0].endswith("x.db, 3 documents")


def test_a_backup_without_a_document_that_it_cannot_hold_names_it_and_fails(shell: Shell) -> None:
    write_tree(shell.place, RACK | {"answers/bad.ks": b"\xff"})
    shell.set(SERVICE_ANSWERS_DIR="answers")
    done = shell("backup", "without.db")
    assert done.status == 1
    assert [line for line in done.err if line.startswith("not in the backup: bad.ks: ")]
    Path("answers/bad.ks").unlink()
    assert shell("backup", "whole.db").status == 0


# --- directories and formats -----------------------------------------------------------------------------------------


def test_check_and_render_take_a_directory_in_place_of_the_settings(shell: Shell) -> None:
    write_tree(shell.place, RACK | {"broken/node1.toml": "x = = 1\n"})
    shell.set(SERVICE_ANSWERS_DIR="answers")
    assert shell("check", "broken").status == 1
    assert shell("check", "answers").status == 0
    shell.set(SERVICE_STORE="sqlite", SERVICE_DB_PATH="absent.db")
    done = shell("render", "pc-1", "--dir", "answers")
    assert (done.status, done.out) == (0, ["x = 1"])


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        ("ipxe", "#!ipxe"),
        ("toml", "x = 1"),
        ("PVE", "x = 1"),
        (".ipxe", "#!ipxe"),
        ("seed", "d-i a/b string c"),
        ("debian", "d-i a/b string c"),
    ],
)
def test_render_asks_for_a_format_as_an_alias_would(shell: Shell, asked: str, line: str) -> None:
    write_tree(shell.place, RACK)
    done = shell("render", "node1", "--format", asked, "--dir", "answers")
    assert (done.status, done.out) == (0, [line])
    assert shell("render", "node1", "--format", "ks", "--dir", "answers").status == 1


# --- diff ------------------------------------------------------------------------------------------------------------

LAB = {
    "a/groups/lab.toml": 'name = "{{ hostname }}"\nx = 1\ny = 1\n',
    "a/web.toml": "z = 1\n",
    **{f"a/pc-{number:03}.toml": f'extends = "lab"\nhost = "pc-{number:03}"\n' for number in range(1, 121)},
}


def test_diff_shows_machines_with_the_same_change_together(shell: Shell) -> None:
    write_tree(shell.place, LAB)
    write_tree(shell.place, {name.replace("a/", "b/", 1): text.replace("y = 1", "y = 2") for name, text in LAB.items()})
    write_tree(shell.place, {"b/web.toml": "z = 2\n", "b/new.toml": "z = 2\n"})
    shell.set(SERVICE_ANSWERS_DIR="a")
    done = shell("diff", "b")
    assert done.status == 1
    assert done.out[0].startswith("122 of 122 answers differ, ")
    assert [line.split() for line in done.out[1:4]] == [
        ["new", "new", "(toml)", "+1", "-0"],
        ["changed", "120", "machines:", "pc-001", "…", "pc-120", "(toml)", "+1", "-1"],
        ["changed", "web", "(toml)", "+1", "-1"],
    ]
    assert done.out.count("-y = 1") == 1
    summary = shell("diff", "--summary", "b")
    assert (summary.status, summary.out) == (1, done.out[:4])
    printed = json.loads("\n".join(shell("diff", "--json", "b").out))
    assert [(change["format"], len(change["names"])) for change in printed["changes"]] == [
        ("toml", 1),
        ("toml", 120),
        ("toml", 1),
    ]
    assert {"-y = 1", "+y = 2"} <= {*printed["changes"][1]["diff"]}
    summary_json = json.loads("\n".join(shell("diff", "--json", "--summary", "b").out))
    assert not any("diff" in change for change in summary_json["changes"])


# --- installs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("by", "headings"), [("site", ["FROM", "SITE"]), ("rack", ["SITE", "RACK"])])
def test_no_two_columns_of_a_summary_of_sites_have_one_heading(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, by: str, headings: list[str]
) -> None:
    counts = {"machines": 1, "silent": 0, "states": {"new": 1}}
    told = {"summary": [{"value": "east", **counts}], "total": counts}
    monkeypatch.setenv("SERVICE_ADMIN_TOKEN", "token-of-a-test-0123456789")
    monkeypatch.setattr(AdminApi, "get", lambda *_: told)
    done = shell("installs", "--summary", by, "--from", "http://127.0.0.1:1")
    assert done.status == 0
    assert [line.split() for line in done.out] == [
        [*headings, "MACHINES", "NEW", "SILENT"],
        ["127.0.0.1:1", "east", "1", "1", "0"],
        ["127.0.0.1:1", "total", "1", "1", "0"],
    ]


# --- captures --------------------------------------------------------------------------------------------------------


def capture(directory: Path, moment: datetime, target: str, outcome: str) -> str:
    """Record a request; the name of its file."""
    time = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    asked = Capture(time, "192.0.2.7", f"GET {target} HTTP/1.1", [], b"", outcome)
    return captures.write(directory, asked).name


def test_captures_of_one_machine_are_listed_and_their_names_can_be_replayed(shell: Shell) -> None:
    write_tree(shell.place, RACK)
    directory = shell.place / "captures"
    captures.make_directory(directory)
    now = datetime.now(UTC)
    old = capture(directory, now - timedelta(hours=3), "/toml?mac=52:54:00:00:00:01", "404 no document claims it")
    mine = capture(directory, now - timedelta(minutes=5), "/ks?host=node1", "404 nothing")
    good = capture(directory, now, "/toml?host=node1", "200 format=toml machine=node1")
    shell.set(SERVICE_CAPTURE_DIR=directory, SERVICE_ANSWERS_DIR="answers")

    def listed(*options: str) -> list[str]:
        done = shell("captures", *options)
        assert done.err == [f"# captures: {directory}, 3 requests"]
        return [line.split()[-1] for line in done.out]

    assert listed() == [good, mine, old]
    assert listed("--machine", "525400000001") == [old]
    assert listed("--machine", "node1") == [good, mine]
    assert shell("render", "--replay", good).out == ["x = 1"]
    assert shell("render", "--replay", mine).status == 1


def test_captures_of_a_directory_that_is_not_there_fail(shell: Shell) -> None:
    assert shell("captures").status == 1
    shell.set(SERVICE_CAPTURE_DIR="absent")
    done = shell("captures")
    assert (done.status, len(done.err)) == (1, 1)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("groups/rack-a.toml", (Kind.GROUP, "rack-a", "toml")),
        ("Groups/rack-a", (Kind.GROUP, "rack-a", None)),
        ("default.ks", (Kind.DEFAULT, "", "ks")),
        ("web.example.com", (Kind.MACHINE, "web.example.com", None)),
        ("inventory.csv", (Kind.INVENTORY, "default", "csv")),
        ("inventory/lab", (Kind.INVENTORY, "lab", "csv")),
    ],
)
def test_a_document_is_named_like_its_file(name: str, meant: tuple[Kind, str, str | None]) -> None:
    assert parse_document_name(name) == meant


@pytest.mark.parametrize("name", ["rack/web-01", "rack/web-01.ks", "groups/a/b", "groups/", ".web-01"])
def test_what_no_file_is_called_names_no_document(name: str) -> None:
    with pytest.raises(CommandError, match="is no document's name"):
        parse_document_name(name)
