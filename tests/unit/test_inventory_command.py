"""``answerd inventory``: listing rows with what claims them, and adding rows. Rules: docs/cli.md#inventory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from answerd.captures import Capture, write
from answerd.cli import main
from answerd.store.sqlite import SqliteStore
from answerd.store.transfer import import_directory
from tests.support.hardware import LSHW, PROXMOX, VIRSH
from tests.support.service import write_tree

FILES: dict[str, str | bytes] = {
    "inventory.csv": "id,mac,serial,uuid,role\nweb-01,98:fa:9b:50:d8:10,,,web\nweb-02,98:fa:9b:50:d8:12,,,\n",
    "inventory/lab.csv": "id,kind\r\nlab-1,web\r\n",
    "groups/web.ks": "# answer: match role=web\nlang en\n",
    "web-01.toml": "x = 1\n",
}

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(params=["files", "sqlite"])
def run(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Runs the command on ``FILES`` in each store: exit status, standard output, standard error."""
    (tmp_path / "answers").mkdir()
    write_tree(tmp_path / "answers", FILES)
    monkeypatch.setenv("SERVICE_STORE", request.param)
    monkeypatch.setenv("SERVICE_ANSWERS_DIR", str(tmp_path / "answers"))
    monkeypatch.setenv("SERVICE_DB_PATH", str(tmp_path / "answers.db"))
    monkeypatch.chdir(tmp_path)
    if request.param == "sqlite":
        import_directory(tmp_path / "answers", SqliteStore(tmp_path / "answers.db"))

    def run_it(*arguments: str) -> tuple[int, str, str]:
        status = main(["inventory", *arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return run_it


def store_inventory(home: Path, text: str) -> None:
    """Put an inventory with faults, which the admin API would refuse, in place of the one in ``FILES``."""
    (home / "answers" / "inventory.csv").write_text(text)
    if (home / "answers.db").exists():
        (home / "answers.db").unlink()
        import_directory(home / "answers", SqliteStore(home / "answers.db"))


def rows(run: Run, *arguments: str) -> list[Any]:
    status, out, _ = run("--json", *arguments)
    assert status == 0
    printed = json.loads(out)
    assert list(printed) == ["rows"]
    return list(printed["rows"])


def test_rows_are_listed_with_what_claims_them(run: Run) -> None:
    first, second, third = rows(run)
    assert first == {
        "place": "inventory.csv:2",
        "row": {"id": "web-01", "mac": "98:fa:9b:50:d8:10", "serial": "", "uuid": "", "role": "web"},
        "labels": {"id": "web-01", "mac": "98:fa:9b:50:d8:10", "serial": "", "uuid": "", "role": "web"},
        "claimed_by": ["machine web-01 (toml)", "group web (ks)"],
    }
    assert (second["place"], second["claimed_by"]) == ("inventory.csv:3", [])
    assert (third["place"], third["row"]) == ("inventory/lab.csv:2", {"id": "lab-1", "kind": "web"})
    _, out, _ = run()
    head, *lines = out.splitlines()
    assert head.split() == ["place", "id", "mac", "serial", "uuid", "role", "kind", "claimed", "by"]
    assert lines[0].endswith("machine web-01 (toml), group web (ks)")


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (["role=web"], ["web-01"]),
        (["id=web*"], ["web-01", "web-02"]),
        (["ID=WEB-01", "id=web-02"], ["web-01", "web-02"]),
        (["id=web*", "role=w?b"], ["web-01"]),
        (["mac=98fa9b50d812"], ["web-02"]),
        (["kind=*"], ["lab-1"]),
        (["role=db"], []),
    ],
)
def test_filters_choose_rows(run: Run, filters: list[str], found: list[str]) -> None:
    assert [row["row"]["id"] for row in rows(run, *filters)] == found


@pytest.mark.parametrize("wrong", ["role", "rol=web", "=web", "mac=--", "role=", "add"])
def test_a_wrong_filter_is_a_wrong_command_line(run: Run, wrong: str) -> None:
    status, out, err = run(wrong)
    assert (status, out) == (2, "")
    assert "answerd: " in err


def test_machines_are_added_and_what_is_known_is_left_out(run: Run, tmp_path: Path) -> None:
    (tmp_path / "lshw.xml").write_bytes(LSHW)
    virsh = VIRSH.replace(b"<name>web-01</name>", b"<name>vm-01</name>")
    (tmp_path / "virsh.xml").write_bytes(virsh)
    (tmp_path / "again.xml").write_bytes(virsh)
    (tmp_path / "namesake.xml").write_bytes(VIRSH.replace(b"52:54:00:11:22:33", b"52:54:00:11:22:34"))
    (tmp_path / "body.json").write_bytes(PROXMOX)
    status, out, err = run("add", "lshw.xml", "virsh.xml", "again.xml", "namesake.xml", "body.json")
    assert status == 0
    assert "left out: namesake.xml: inventory.csv:2 is of this machine" in err
    assert "left out: lshw.xml: inventory.csv:2 is of this machine" in err
    assert "left out: again.xml: virsh.xml is of the same machine" in err
    assert "2 added, 3 left out" in out
    assert [row["row"] for row in rows(run, "id=web*", "mac=98fa9b50d820", "mac=525400112233")] == []
    added = [row["row"] for row in rows(run, "mac=98fa9b50d820", "mac=525400112233")]
    assert [(row["id"], row["mac"], row["serial"]) for row in added] == [
        ("vm-01", "52:54:00:11:22:33", "VM-0001"),
        ("", "98:fa:9b:50:d8:20", "7ABC124"),
    ]
    assert run("add", "body.json")[1] == "0 added, 1 left out\n"


def test_a_new_inventory_gets_the_identity_columns(run: Run, tmp_path: Path) -> None:
    (tmp_path / "body.json").write_bytes(PROXMOX)
    assert run("add", "--to", "new", "body.json")[0] == 0
    (row,) = rows(run, "serial=7ABC124")
    assert row["place"] == "inventory/new.csv:2"
    assert list(row["row"]) == ["id", "mac", "serial", "uuid"]


def test_what_fits_a_column_that_is_there_is_filled_in(run: Run, tmp_path: Path) -> None:
    (tmp_path / "lab.xml").write_bytes(VIRSH)
    assert run("add", "--to", "lab", "lab.xml")[0] == 0
    assert rows(run, "kind=web")[0]["row"]["id"] == "lab-1"
    status, out, _ = run("add", "--dry-run", "--to", "lab", "lab.xml")
    assert (status, out) == (0, "")


def test_a_dry_run_prints_rows_and_changes_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "body.json").write_bytes(PROXMOX)
    before = rows(run)
    status, out, _ = run("add", "--dry-run", "body.json")
    assert (status, out) == (0, ",98:fa:9b:50:d8:20,7ABC124,4c4c4544-0042-4210-8056-b4c04f4e4b34,\n")
    assert rows(run) == before


def test_a_recorded_request_is_a_machine_too(run: Run, tmp_path: Path) -> None:
    directory = tmp_path / "captures"
    directory.mkdir()
    line = "POST /pve HTTP/1.1"
    meta = write(directory, Capture("2026-11-20T21:00:00Z", "192.0.2.1", line, [], PROXMOX, "404"))
    assert run("add", str(meta))[0] == 0
    assert [row["row"]["serial"] for row in rows(run, "serial=7ABC124")] == ["7ABC124"]


def test_a_file_that_is_none_is_left_out_and_fails(run: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("a machine")
    (tmp_path / "body.json").write_bytes(PROXMOX)
    status, out, err = run("add", "notes.txt", "body.json")
    assert (status, out.splitlines()[-1]) == (1, "1 added, 1 left out")
    assert "left out: notes.txt: it is neither" in err
    assert run("add", "missing.xml")[0] == 2
    assert run("add", "missing.meta")[0] == 2
    assert run("add", "--to", ".x", "body.json")[0] == 2
    assert run("add")[0] == 2


def test_an_inventory_that_cannot_be_read_is_named_and_nothing_is_added(run: Run, tmp_path: Path) -> None:
    (tmp_path / "answers" / "inventory.csv").write_text('id\n"open\n')
    (tmp_path / "body.json").write_bytes(PROXMOX)
    if not (tmp_path / "answers.db").exists():
        status, _, err = run()
        assert status == 1
        assert "problem: inventory.csv:2" in err
        status, _, err = run("add", "body.json")
        assert status == 1
        assert "inventory.csv:2" in err


INTERFACES = (
    "Device,Name,MAC Address\nweb-01,eno1,98:FA:9B:50:D8:10\nweb-01,eno2,98:FA:9B:50:D8:1F\n"
    "web-03,eno1,98:FA:9B:50:D8:30\nweb-03,eno2,98:FA:9B:50:D8:31\nweb-04,eno1,x\n"
)
PORT_COLUMNS = '[columns]\nDevice = "id"\nName = "port"\n"MAC Address" = "mac"\n'


def test_a_table_with_a_row_for_each_port_gives_a_row_for_each_machine(run: Run, tmp_path: Path) -> None:
    (tmp_path / "interfaces.csv").write_text(INTERFACES, "utf-16")
    (tmp_path / "interfaces.columns").write_text(PORT_COLUMNS)
    status, out, err = run("add", "interfaces.csv")
    assert (status, out.splitlines()[-1]) == (1, "1 added, 2 left out")
    assert err.splitlines()[-2:] == [
        "left out: interfaces.csv:2: inventory.csv:2 is of this machine",
        "left out: interfaces.csv:6: column MAC Address: a value is no MAC address",
    ]
    (row,) = rows(run, "id=web-03")
    assert row["row"]["mac"] == "98:FA:9B:50:D8:30 98:FA:9B:50:D8:31"


def test_rows_that_are_there_get_what_they_lack(run: Run, tmp_path: Path) -> None:
    (tmp_path / "interfaces.csv").write_text(INTERFACES + "lab-1,eno1,98:FA:9B:50:D8:40\n")
    (tmp_path / "interfaces.columns").write_text(PORT_COLUMNS)
    status, out, err = run("add", "--fill", "interfaces.csv")
    assert (status, out.splitlines()) == (
        1,
        [
            "filled in inventory.csv: web-01,98:fa:9b:50:d8:10 98:FA:9B:50:D8:1F,,,web",
            "1 filled, 0 unchanged, 3 left out",
        ],
    )
    assert "left out: interfaces.csv:4: no row of inventory.csv is of this machine" in err
    status, out, _ = run("add", "--fill", "interfaces.csv")
    assert out == "0 filled, 1 unchanged, 3 left out\n"


def test_of_many_machines_that_are_left_out_for_one_reason_ten_are_named(run: Run, tmp_path: Path) -> None:
    switches = "".join(f"sw-{n},1,98:fa:9b:50:d9:{n:02x}\n" for n in range(13))
    (tmp_path / "ports.csv").write_text(f"id,port,mac\n{switches}web-02,1,98:fa:9b:50:d8:13\nweb-09,1,x\n")
    _, out, err = run("add", "--fill", "ports.csv")
    assert out.endswith("1 filled, 0 unchanged, 14 left out\n")
    left_out = [line for line in err.splitlines() if line.startswith("left out: ")]
    assert left_out[9:] == [
        "left out: ports.csv:11: no row of inventory.csv is of this machine",
        "left out: 3 more: no row of inventory.csv is of this machine",
        "left out: ports.csv:16: column mac: a value is no MAC address",
    ]


def test_an_inventory_without_a_column_for_addresses_gets_one(run: Run, tmp_path: Path) -> None:
    (tmp_path / "ports.csv").write_text("id,port,mac\nlab-1,1,98:fa:9b:50:d8:40\nlab-1,2,98:fa:9b:50:d8:41\n")
    assert run("add", "--fill", "--to", "lab", "--dry-run", "ports.csv")[1] == (
        "lab-1,web,98:fa:9b:50:d8:40 98:fa:9b:50:d8:41\n"
    )
    assert run("add", "--fill", "--to", "lab", "ports.csv")[0] == 0
    (row,) = rows(run, "id=lab-1")
    assert row == {
        "place": "inventory/lab.csv:2",
        "row": {"id": "lab-1", "kind": "web", "mac": "98:fa:9b:50:d8:40 98:fa:9b:50:d8:41"},
        "labels": {"id": "lab-1", "kind": "web", "mac": "98:fa:9b:50:d8:40 98:fa:9b:50:d8:41"},
        "claimed_by": [],
    }


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("id,serial,\nb,S2\nc,S3,00:aa:bb:cc:dd:ee\n", "has text in a column without a name"),
        ("id,serial\nb,S2\nc,S3,00:aa:bb:cc:dd:ee\n", "has 3 cells, and the header has 2 columns"),
    ],
)
def test_a_new_column_for_addresses_takes_no_text_that_is_there(
    run: Run, tmp_path: Path, text: str, fault: str
) -> None:
    (tmp_path / "ports.csv").write_text("serial,mac\nS2,98:fa:9b:50:d8:40\n")
    store_inventory(tmp_path, text)
    status, out, err = run("add", "--fill", "ports.csv")
    assert (status, out) == (1, "")
    assert f"no column mac can be added: inventory.csv:3 {fault}: correct it first" in err
    store_inventory(tmp_path, text.replace("00:aa:bb:cc:dd:ee", "").replace("S3,\n", "S3\n"))
    assert run("add", "--fill", "ports.csv")[0] == 0
    assert rows(run, "id=b")[0]["row"]["mac"] == "98:fa:9b:50:d8:40"


def test_a_row_that_says_something_else_is_not_filled(run: Run, tmp_path: Path) -> None:
    (tmp_path / "ports.csv").write_text("id,serial,port,mac\nweb-02,S2,1,98:fa:9b:50:d8:13\n")
    assert run("add", "--fill", "ports.csv")[1].endswith("1 filled, 0 unchanged, 0 left out\n")
    (tmp_path / "ports.csv").write_text("id,serial,port,mac\nweb-02,S3,1,98:fa:9b:50:d8:14\n")
    _, out, err = run("add", "--fill", "ports.csv")
    assert out == "0 filled, 0 unchanged, 1 left out\n"
    assert "left out: ports.csv:2: inventory.csv:3 has another value in column serial" in err
    (tmp_path / "ports.csv").write_text("id,port,mac\nweb-02,1,98:fa:9b:50:d8:10\n")
    _, _, err = run("add", "--fill", "ports.csv")
    assert "left out: ports.csv:2: inventory.csv:2 and :3 are of this machine" in err


@pytest.mark.parametrize(
    ("header", "row", "fault"),
    [
        ("id,serial,mac,root,hostname", "a,S1,,sda,Smith, John,web1", "has 7 cells, and the header has 5 columns"),
        ("id,serial,mac,", "a,S1,,sda", "has text in a column without a name"),
        ("id,serial,mac,uuid", "a,S1,,x", "column uuid: a UUID has 32 hex digits"),
    ],
)
def test_a_row_with_a_fault_is_not_filled(run: Run, tmp_path: Path, header: str, row: str, fault: str) -> None:
    store_inventory(tmp_path, f"{header}\n{row}\nb,S2\n")
    (tmp_path / "ports.csv").write_text("serial,mac\nS1,98:fa:9b:50:d8:40\nS2,98:fa:9b:50:d8:41\n")
    _, out, err = run("add", "--fill", "ports.csv")
    empty = "," * (len(header.rstrip(",").split(",")) - 3)
    assert out.splitlines() == [
        f"filled in inventory.csv: b,S2,98:fa:9b:50:d8:41{empty}",
        "1 filled, 0 unchanged, 1 left out",
    ]
    assert f"left out: ports.csv:2: inventory.csv:2: {fault}" in err.splitlines()
    assert f"problem: inventory.csv:2: {fault}" in run()[2].splitlines()


@pytest.mark.parametrize(
    ("columns", "place", "sentence"),
    [
        ("Device = 1", "interfaces.columns:1", "key 'Device' is unknown"),
        ('shared = ["x1"]', "interfaces.columns:1", "shared values hold for the whole set"),
        ("", "interfaces.csv:1", "say in interfaces.columns which column is which"),
        ('[columns]\nDevice = "id"\n"MAC Address" = "mac"', "interfaces.csv:1", "which column names the port"),
    ],
)
def test_a_table_that_cannot_be_read_says_what_to_write(
    run: Run, tmp_path: Path, columns: str, place: str, sentence: str
) -> None:
    (tmp_path / "interfaces.csv").write_text(INTERFACES)
    if columns:
        (tmp_path / "interfaces.columns").write_text(columns)
    status, out, err = run("add", "interfaces.csv")
    assert (status, out) == (1, "0 added, 1 left out\n")
    assert f"left out: {place}: " in err
    assert sentence in err


def test_a_table_of_ports_that_is_the_inventory_names_the_command(run: Run, tmp_path: Path) -> None:
    (tmp_path / "answers" / "inventory.csv").write_text("id,mac\na,98:fa:9b:50:d8:10\na,98:fa:9b:50:d8:11\n")
    if not (tmp_path / "answers.db").exists():
        _, _, err = run()
        assert "rows with one identity (column id), so none of them counts; if the table has a row for each port" in err
