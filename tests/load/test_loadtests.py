"""The locust scripts against the real program, for seconds: they run, and notice another machine's answer."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from loadtest.fleet import Machine, mixed_fleet, once_fleet
from loadtest.install_once import InstallingMachine, Judge
from tests.support.service import Service

# Not imported to find out: locust patches the standard library of whoever imports it.
pytestmark = pytest.mark.skipif(find_spec("locust") is None, reason="locust is not installed")

CHECKOUT = Path(__file__).parents[2]
MACHINES = 100


def run_locust(script: str, service: Service, *options: str) -> tuple[int, dict[str, dict[str, Any]], str]:
    """A script, headless: its exit status, its requests by name, and all it said."""
    assert service.address
    command = [sys.executable, "-m", "locust", "-f", f"loadtest/{script}.py", "--headless", "--json", "--only-summary"]
    host = f"http://{service.address[0]}:{service.address[1]}"
    ended = subprocess.run(
        [*command, "--host", host, "--machines", str(MACHINES), *options],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    said = ended.stdout + ended.stderr
    begin, end = ended.stdout.find("["), ended.stdout.rfind("]")
    assert 0 <= begin < end, said
    rows = json.loads(ended.stdout[begin : end + 1])
    return ended.returncode, {row["name"]: row for row in rows}, said


def test_a_rack_that_is_powered_on_gets_every_machine_its_own_answer(serving: Callable[..., Service]) -> None:
    service = serving(dict(mixed_fleet(MACHINES)))
    users = ("--users", str(MACHINES), "--spawn-rate", str(MACHINES))
    status, requests, said = run_locust("rack", service, *users, "--run-time", "100s", "--pace", "100")
    assert status == 0, said
    quarter = MACHINES // 4
    assert {name: row["num_requests"] for name, row in requests.items()} == {
        "proxmox": quarter,
        "kickstart": quarter,
        "nocloud network-config": quarter,
        "nocloud meta-data": quarter,
        "nocloud user-data": quarter,
        "nocloud vendor-data": quarter,
        "ipxe": quarter,
        "preseed, chained": quarter,
    }
    assert all(row["num_failures"] == 0 for row in requests.values())


def test_an_answer_that_is_another_machines_is_a_failure(serving: Callable[..., Service]) -> None:
    documents = dict(mixed_fleet(MACHINES))
    documents[f"{Machine(4).identifier}.toml"] = documents[f"{Machine(8).identifier}.toml"]
    service = serving(documents)
    users = ("--users", str(MACHINES), "--spawn-rate", str(MACHINES))
    status, requests, said = run_locust("rack", service, *users, "--run-time", "100s", "--pace", "100")
    assert status == 1
    assert {name: row["num_failures"] for name, row in requests.items() if row["num_failures"]} == {"proxmox": 1}
    assert f"{Machine(4).host}.lab is not in it" in said


@pytest.mark.parametrize("script", ["lab", "mixed"])
def test_a_script_that_goes_on_for_ever_runs_without_failures(script: str, serving: Callable[..., Service]) -> None:
    service = serving(dict(mixed_fleet(MACHINES)))
    users = ("--users", "20", "--spawn-rate", "20")
    for seconds in (2, 10, 60):  # on a busy machine it has hardly begun after two
        status, requests, said = run_locust(script, service, *users, "--run-time", f"{seconds}s", "--pace", "500")
        assert status == 0 or not requests, said
        assert all(row["num_failures"] == 0 for row in requests.values())
        if (number := sum(row["num_requests"] for row in requests.values())) > 20:
            break
    assert number > 20


def test_a_lab_that_installs_once_boots_from_its_disks(serving: Callable[..., Service], tmp_path: Path) -> None:
    service = serving(dict(once_fleet(MACHINES)), SERVICE_STATE_PATH=tmp_path / "state.db")
    users = ("--users", "10", "--spawn-rate", "10")
    status, requests, said = run_locust("once", service, *users, "--run-time", "100s", "--pace", "5000")
    assert status == 0, said
    assert requests["report installed"]["num_requests"] == 10
    assert requests["boots from its disk"]["num_requests"] == requests["answer, refused"]["num_requests"] == 30
    assert all(row["num_failures"] == 0 for row in requests.values())


@pytest.mark.parametrize(
    ("target", "status", "text"),
    [
        ("/ipxe/boot", 200, "#!ipxe\necho Installing node-00000007\nkernel http://10.0.0.1/vmlinuz\nboot\n"),
        ("/ks", 200, "network --hostname=node-00000007\n%post\ncurl -X POST http://s/report/abc/installed\n%end\n"),
    ],
)
def test_a_document_that_is_given_again_is_a_failure(target: str, status: int, text: str) -> None:
    faults: list[str] = []

    def ask(what: str, method: str, asked: str, judge: Judge) -> str:
        answer = (200, "OK\n") if method == "POST" else (status, text) if asked.startswith(target) else (404, "no")
        faults.append(judge(*answer))
        return answer[1]

    machine = InstallingMachine(Machine(7), ask)
    act = machine.boot if target == "/ipxe/boot" else machine.fetch_answer
    act()
    machine.report("failed")
    act()
    machine.report("installed")
    assert not any(faults)
    act()
    assert faults[-1].startswith("GIVEN AGAIN")
    machine.was_armed()
    act()
    assert faults[-1] == ""
