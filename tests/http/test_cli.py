"""The commands, as the real program: docs/cli.md."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.service import run, write_tree

Run = Callable[..., subprocess.CompletedProcess[bytes]]

FLEET = {
    "98fa9b50d810.toml": "own = \"{{ serial | default('none') }}\"\n",
    "98fa9b50d810.ks": "lang fr_FR\n",
    "groups/rack.toml": 'members = ["98:fa:9b:50:d8:10", "node2"]\nrack = 1\n',
    "groups/select.toml": 'x = "{{ product }}"\n[match]\nproduct = "R6*"\n',
    "node3.toml": 'x = "{{ serial }}"\n',
    "node4.yaml": "#cloud-config\nhostname: n4\n",
    "default.ipxe": "#!ipxe\n",
    "192.0.2.7.cfg": "x\n",
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("answers")
    write_tree(directory, FLEET)
    return directory


@pytest.fixture(scope="module")
def command(answers: Path) -> Run:
    """Runs one command on the fleet."""

    def start(*arguments: str, stdin: bytes = b"", **settings: object) -> subprocess.CompletedProcess[bytes]:
        return run(*arguments, stdin=stdin, **{"SERVICE_ANSWERS_DIR": answers, **settings})

    return start


MAC = "98:fa:9b:50:d8:10"


@pytest.mark.parametrize(
    ("arguments", "stdin", "answer", "composition"),
    [
        (["98-FA-9B-50-D8-10"], b"", 'rack = 1\nown = "none"\n', "# format=toml machine=98fa9b50d810 group=rack"),
        (
            ["--query", f"mac={MAC}&serial=S1"],
            b"",
            'rack = 1\nown = "S1"\n',
            "# format=toml machine=98fa9b50d810 group=rack",
        ),
        (["--query", f"path=/rhel/ks&mac={MAC}"], b"", "lang fr_FR\n", "# format=text machine=98fa9b50d810"),
        (["--query", f"mac={MAC}&path=%2Frhel"], b"", 'rack = 1\nown = "none"\n', None),
        ([MAC, "--query", "serial=S2"], b"", 'rack = 1\nown = "S2"\n', None),
        ([MAC, "--body", "-"], b'{"dmi": {"serial": "S3"}}', 'rack = 1\nown = "S3"\n', None),
        ([MAC, "--header", "X-System-Serial-Number: S4"], b"", 'rack = 1\nown = "S4"\n', None),
        (
            ["--header", f"X-RHN-Provisioning-MAC-0: eth0 {MAC}", "--header", "x-system-serial-number:S5"],
            b"",
            'rack = 1\nown = "S5"\n',
            None,
        ),
        (
            ["--body", "-", "--header", "Content-Type: application/x-www-form-urlencoded"],
            b"product=R%36+20",
            'x = "R6 20"\n',
            "# format=toml group=select",
        ),
        (
            ["--query", "path=/ubuntu/node4/meta-data"],
            b"",
            'instance-id: "node4"\n',
            "# format=yaml machine=node4 nocloud=meta-data",
        ),
        (["node2"], b"", "rack = 1\n", "# format=toml group=rack"),
        (["--query", "product=R6é"], b"", 'x = "R6é"\n', None),
        ([], b"", "#!ipxe\n", "# format=text default"),
        (["192.0.2.7"], b"", "x\n", None),
    ],
)
def test_render_prints_the_answer_and_how_it_came_about(
    command: Run, arguments: list[str], stdin: bytes, answer: str, composition: str | None
) -> None:
    done = command("render", *arguments, stdin=stdin)
    assert (done.returncode, done.stdout.decode()) == (0, answer), done.stderr.decode()
    if composition:
        assert composition in done.stderr.decode().splitlines()


def test_render_reads_a_body_from_a_file(command: Run, tmp_path: Path) -> None:
    body = tmp_path / "request.json"
    body.write_text(json.dumps({"network_interfaces": [{"mac": MAC.upper()}]}))
    assert command("render", "--body", str(body), "--query", "path=/rhel").stdout == b"lang fr_FR\n"


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["unknown", "--query", "path=/pve"], 1, "no document claims"),
        (["--query", "path=/pve&mac=11:22:33:44:55:66"], 1, "mac=11:22:33:44:55:66"),
        (["node3"], 1, "'serial'"),
        (["node3", "--query", "serial=a%0ab"], 1, "control character"),
        ([MAC, "--body", "/nowhere/at/all"], 2, "/nowhere/at/all"),
        ([MAC, "--header", "nonsense"], 2, "nonsense"),
    ],
)
def test_render_fails_with_the_reason(command: Run, arguments: list[str], status: int, words: str) -> None:
    done = command("render", *arguments)
    assert done.returncode == status
    assert done.stdout == b""
    assert words in done.stderr.decode()
    assert len([line for line in done.stderr.splitlines() if not line.startswith(b"# store: ")]) == 1


def test_check_is_content_with_a_sound_set_and_tells_what_it_could_not_try(command: Run) -> None:
    done = command("check")
    text = done.stdout.decode()
    assert done.returncode == 0, text
    for words in ("'serial'", 'group "select" (toml)', "cfg"):
        assert words in text
    printed = json.loads(command("check", "--json").stdout)
    assert printed["problems"] == []
    assert any("'serial'" in note for note in printed["notes"])


def test_check_names_what_is_broken_and_exits_1(tmp_path: Path) -> None:
    write_tree(
        tmp_path,
        {
            "node1.toml": 'extends = "ghost"\n',
            "node2.toml": "x = = 1\n",
            "groups/a.toml": 'extends = "a"\n',
            "my node.toml": "x = 1\n",
            "node5.ipxe": "echo\n",
            "node6.toml": b"x = '\xff'\n",
            b"node\xff.toml".decode("utf-8", "surrogateescape"): "x = 1\n",
        },
    )
    done = run("check", SERVICE_ANSWERS_DIR=tmp_path)
    text = done.stdout.decode()
    assert done.returncode == 1
    for words in ("ghost", "node2", "cycle", "my node", "node5", "node6.toml", "UTF-8"):
        assert words in text
    as_json = run("check", "--json", SERVICE_ANSWERS_DIR=tmp_path)
    assert as_json.returncode == 1
    printed = json.loads(as_json.stdout)
    assert printed["problems"] == sorted(printed["problems"])
    assert len(printed["problems"]) == 7


def test_check_notes_tables_that_are_not_read(tmp_path: Path) -> None:
    table = "a table is inventory.csv or inventory/NAME.csv, saved as CSV"
    not_read = {
        "Machines.CSV": table,
        "assets.xls": table,
        "groups/inventory.csv": table,
        "groups/rack/lab.ods": table,
        "inventory.cvs": table,
        "inventory.ods": table,
        "inventory.tsv": table,
        "inventory.txt": table,
        "inventory.xlsx": table,
        "inventory/lab.xlsx": table,
        "machines.columns": "what the columns of a table mean is inventory.columns or inventory/NAME.columns",
    }
    others = {
        "inventory.csv": "id\nn1\n",
        "inventory.columns": 'columns = { "id" = "id" }\n',
        "inventory/site.CSV": "id\nn2\n",
        "inventory.toml": "x = 1\n",
        "inventory.csv~": "id\n",
        ".inventory.csv.swp": "id\n",
        "inventory.md": "notes\n",
        "inventory.sh": "#!/bin/sh\n",
        "inventory.csv.bak": "id\n",
        "inventory/README.md": "notes\n",
        "notes.txt": "notes\n",
    }
    write_tree(tmp_path, {**dict.fromkeys(not_read, "id\nn3\n"), **others})
    done = run("check", "--json", SERVICE_ANSWERS_DIR=tmp_path)
    notes = [note for note in json.loads(done.stdout)["notes"] if note.startswith("file ")]
    assert notes == [f"file {name} is not read: {reason}" for name, reason in sorted(not_read.items())]


def test_check_notes_files_of_machines_that_are_no_documents(tmp_path: Path) -> None:
    mac, other = "98-fa-9b-50-d8-10", "98fa.9b50.d811"
    made_up = "cloud-init gets a made-up meta-data: for one of your own write a document whose match names file"
    meant = [
        ("98fa9b50d812", "98fa9b50d812", "it has no extension: give it that of its format"),
        (mac, f"{mac}.ks.txt", f"name it {mac}.ks"),
        (mac, f"{mac}.kickstart", f"name it {mac}.ks"),
        (mac, f"{mac}.pre", f"name it {mac}.preseed"),
        (mac, f"{mac}.bu", f"translate it with butane, as {mac}.ign"),
        (mac, f"{mac}.toml.j2", f"name it {mac}.toml"),
        (mac, f"{mac}/user-data", f"name it {mac}/user-data.yaml"),
        (mac, f"{mac}/meta-data", made_up),
        (other, f"{other}.autoinstall", f"name it {other}.yaml"),
        ("web-01", "web-01.kickstart", "name it web-01.ks"),
        ("web_02", "web_02.ks.txt", "name it web_02.ks"),
        ("web-03", "web-03/user-data", "name it web-03/user-data.yaml"),
    ]
    others = [
        *(f"{mac}.txt", f"{mac}.md", f"{mac}.ks.bak", f"{mac}/notes.txt", f"{mac}/more/user-data"),
        *("nobody.kickstart", "nobody/user-data", "user-data", "groups/web-01.kickstart", "web-01.txt"),
    ]
    documents = {"inventory.csv": "id\nweb-02\n", "web-03.ks": "lang C\n", "groups/g.ks": "# answer: member web-01\n"}
    write_tree(tmp_path, {**dict.fromkeys([*(name for _, name, _ in meant), *others], "x\n"), **documents})
    done = run("check", "--json", SERVICE_ANSWERS_DIR=tmp_path)
    notes = [note for note in json.loads(done.stdout)["notes"] if note.startswith("file ")]
    assert sorted(notes) == sorted(
        f"file {name} is no document, so machine {machine} does not get it: {remedy}" for machine, name, remedy in meant
    )


VALID_TOML = b"""[global]
keyboard = "fr"
country = "fr"
fqdn = "n1.example.com"
mailto = "ops@example.com"
timezone = "Europe/Paris"
root-password-hashed = "$6$x$y"
[network]
source = "from-dhcp"
[disk-setup]
filesystem = "ext4"
disk-list = ["sda"]
"""


@pytest.mark.parametrize(
    ("arguments", "stdin", "status"),
    [
        (["--format", "toml"], VALID_TOML, 0),
        (["--format", "TOML"], VALID_TOML, 0),
        (["--format", "toml"], VALID_TOML + b"nonsense = 1\n", 1),
        (["--format", "toml"], b"x = = 1\n", 1),
        (["--format", "toml"], b"\xff", 1),
        (["--format", "ipxe"], b"#!ipxe\n", 0),
        (["--format", "ipxe"], b"echo\n", 1),
        (["--format", "cfg"], b"x\n", 2),
        (["--format", "txt"], b"x\n", 2),
        ([], b"x\n", 2),
    ],
)
def test_validate_answer_by_its_exit_status(command: Run, arguments: list[str], stdin: bytes, status: int) -> None:
    done = command("validate-answer", *arguments, stdin=stdin)
    assert done.returncode == status, done.stdout + done.stderr
    assert done.stdout + done.stderr


@pytest.mark.parametrize(("name", "status"), [("a.toml", 0), ("a.ipxe", 1), ("a.IPXE", 1), ("a.txt", 2), ("a", 2)])
def test_validate_answer_takes_the_format_from_the_file(command: Run, tmp_path: Path, name: str, status: int) -> None:
    (tmp_path / name).write_bytes(VALID_TOML)
    assert command("validate-answer", str(tmp_path / name)).returncode == status
    assert command("validate-answer", "--format", "toml", str(tmp_path / name)).returncode == 0


def test_config_tells_every_setting_and_where_it_came_from(command: Run, tmp_path: Path) -> None:
    file = tmp_path / "answerd.env"
    file.write_text("SERVICE_TIMEOUT_SECS=33\n")
    file.chmod(0o600)
    done = command("config", SERVICE_ENV_FILE=file, SERVICE_ANSWER_TOKEN="a-secret-of-16-characters")
    assert done.returncode == 0
    lines = {line.split()[0]: line for line in done.stdout.decode().splitlines()}
    assert "33" in lines["SERVICE_TIMEOUT_SECS"]
    assert "file" in lines["SERVICE_TIMEOUT_SECS"]
    assert "environment" in lines["SERVICE_ANSWERS_DIR"]
    assert "default" in lines["SERVICE_WORKERS"]
    assert "(set)" in lines["SERVICE_ANSWER_TOKEN"]
    assert b"a-secret" not in done.stdout + done.stderr


def test_config_fails_where_the_store_the_tokens_or_the_log_file_cannot_be_opened(command: Run, tmp_path: Path) -> None:
    database = tmp_path / "answers.db"
    database.write_text("this is no database, " * 50)
    for settings in (
        {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": database},
        {"SERVICE_TOKENS_FILE": tmp_path / "missing"},
        {"SERVICE_LOG_FILE": tmp_path / "missing" / "answerd.log"},
        {"SERVICE_LOG_FILE": tmp_path},
    ):
        done = command("config", **settings)
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr
        assert str(tmp_path) in done.stderr.decode()
    assert command("config", SERVICE_LOG_FILE=tmp_path / "answerd.log").returncode == 0
    assert not (tmp_path / "answerd.log").exists()


@pytest.mark.parametrize("kind", ["files", "sqlite"])
def test_nodes_says_that_a_store_has_none(kind: str) -> None:
    done = run("nodes", SERVICE_STORE=kind)
    assert (done.returncode, done.stdout.decode().partition(":")[0]) == (0, f"SERVICE_STORE={kind} has no nodes")
    assert json.loads(run("nodes", "--json", SERVICE_STORE=kind).stdout) == {"nodes": []}
