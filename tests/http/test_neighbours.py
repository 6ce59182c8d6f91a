"""Ansible, NetBox and Terraform beside the service: what is in examples/ is run against the real program."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from tests.support.bmcs import PASSWORD, USER, Rack, Started, certificate, redfish, skip_without
from tests.support.service import Service, environment
from tests.support.waiting import PATIENCE, wait_until

EXAMPLES = Path(__file__).parents[2] / "examples"
TOKEN = "neighbours-token-0123456789"
EXAMPLE_SECONDS = 5 * PATIENCE
"""For an example: it takes a few seconds on an idle machine."""

Serving = Callable[..., Service]


def run_program(*command: str | Path, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=environ, capture_output=True, text=True, check=False, timeout=EXAMPLE_SECONDS, cwd="/"
    )


@pytest.fixture
def service(serving: Serving, tmp_path: Path) -> Service:
    """A service with a database and empty tables."""
    service = serving(
        None,
        SERVICE_STORE="sqlite",
        SERVICE_DB_PATH=tmp_path / "answers.db",
        SERVICE_ADMIN_ADDR="127.0.0.1:0",
        SERVICE_ADMIN_TOKEN=TOKEN,
    )
    for target, text in (
        ("/inventory/default", "id,mac,rack,role\n"),
        ("/inventory/terraform", "id,mac,role\n"),
        ("/groups/rack?format=ipxe", "#!ipxe\n# answer: match role=*\n# answer: once armed\nkernel k {{ report }}\n"),
    ):
        assert ask(service, "PUT", target, text) == {"status": "stored", "problems": []}
    return service


def ask(service: Service, method: str, target: str, body: str = "") -> Any:
    """A request to the admin API; its JSON, or its text."""
    reply = service.ask_admin(method, target, body.encode(), Authorization=f"Bearer {TOKEN}")
    assert reply.status == 200, reply.text
    return reply.json if reply.headers["content-type"].startswith("application/json") else reply.text


def rows(service: Service, table: str) -> dict[str, dict[str, str]]:
    """The rows of a table by their names."""
    return {row["id"]: row for row in csv.DictReader(ask(service, "GET", f"/inventory/{table}").splitlines())}


def url_of(service: Service) -> str:
    assert service.admin is not None
    return "http://{}:{}".format(*service.admin)


# Ansible


def test_a_playbook_writes_rows_arms_starts_and_waits(service: Service, tmp_path: Path) -> None:
    """One run, because most of its time is ansible's own: with hosts that install, and one that fails."""
    skip_without("ansible")
    hosts = yaml.safe_load((EXAMPLES / "ansible/hosts.yml").read_text("utf-8"))
    machines = hosts["R12"]["hosts"]
    rack = Rack(service, {name: machine["mac"] for name, machine in machines.items()})
    pair = certificate(tmp_path)
    uuids = {name: f"00000000-0000-0000-0000-00000000000{n}" for n, name in enumerate(machines)}
    failing = {"mac": "98:fa:9b:50:d8:1f", "row": {"role": "web"}}  # no BMC: somebody presses the button
    with redfish(tmp_path / "bmc", rack, pair, dict.fromkeys(machines, "On"), uuids) as bmc:
        for name, machine in machines.items():
            machine["bmc"] = f"{bmc}/redfish/v1/Systems/{uuids[name]}"
        hosts["R12"]["hosts"] = {**machines, "web-03": failing}
        (tmp_path / "hosts.yml").write_text(yaml.safe_dump(hosts))
        reported = threading.Thread(target=fail_when_armed, args=(service, "web-03", failing["mac"]))
        reported.start()
        environ = environment(
            ANSWERD_API=url_of(service),
            SERVICE_ADMIN_TOKEN=TOKEN,
            BMC_USER=USER,
            BMC_PASSWORD=PASSWORD,
            SSL_CERT_FILE=pair.certificate,
            ANSIBLE_PIPELINING=1,
            ANSIBLE_HOME=tmp_path / "ansible",
            LC_ALL="C.UTF-8",
        )
        program = Path(sys.executable).parent / "ansible-playbook"
        command: list[str | Path] = [
            program,
            "-i",
            tmp_path / "hosts.yml",
            EXAMPLES / "ansible/install.yml",
            "--limit",
            "R12",
        ]
        done = run_program(*command, environ=environ)
    reported.join(PATIENCE)
    rack.close()
    assert done.returncode == 2, done.stdout + done.stderr
    assert re.findall(r"(web-\d+) +: .*failed=(\d)", done.stdout) == [("web-01", "0"), ("web-02", "0"), ("web-03", "1")]
    assert re.search(r"web-03 +: ok=2 .*failed=1 +skipped=3", done.stdout), done.stdout
    assert rows(service, "default") == {
        **{name: {"id": name, "mac": one["mac"], "rack": "R12", "role": "web"} for name, one in machines.items()},
        "web-03": {"id": "web-03", "mac": failing["mac"], "rack": "", "role": "web"},
    }
    assert sorted(rack.started) == [Started(name, "Pxe") for name in sorted(machines)]
    states = {one["machine"]: one["state"] for one in ask(service, "GET", "/installs")["installs"]}
    assert states == {**dict.fromkeys(machines, "installed"), "web-03": "failed"}


def fail_when_armed(service: Service, name: str, mac: str) -> None:
    """A machine that fails as soon as it may install."""

    def is_armed() -> bool:
        states = {one["machine"]: one["state"] for one in ask(service, "GET", "/installs")["installs"]}
        return states.get(name) == "armed"

    wait_until(is_armed)
    report = re.search(r"/report/\S+", service.get(f"/ipxe?mac={mac}").text)
    assert report is not None
    assert service.get(f"{report[0]}/failed").status == 200


# NetBox

DEVICES = [
    {
        "id": 7,
        "name": "web-01",
        "serial": "7ABC123",
        "site": {"slug": "fra1"},
        "rack": {"name": "R12"},
        "role": {"slug": "web"},
        "platform": {"slug": "debian-13"},
        "primary_ip4": {"address": "10.0.0.5/24"},
    },
    {"id": 8, "name": None, "serial": ""},
    {"id": 9, "name": "db-01", "serial": "", "site": {"slug": "fra1"}, "rack": None, "device_role": {"slug": "db"}},
]
INTERFACES = [
    {"device": {"id": 7}, "mac_address": "98:FA:9B:50:D8:10", "mac_addresses": [{"mac_address": "98:FA:9B:50:D8:10"}]},
    {"device": {"id": 7}, "mac_address": None, "mac_addresses": [{"mac_address": "98:FA:9B:50:D8:11"}]},
    {"device": {"id": 7}, "mac_address": None, "mac_addresses": []},
    {"device": {"id": 9}, "mac_address": "98:FA:9B:50:D8:12"},
]
"""As NetBox 4.2 and later answer, and, the last of each, as those before."""
EXPECTED = {
    "web-01": {
        "id": "web-01",
        "mac": "98:FA:9B:50:D8:10 98:FA:9B:50:D8:11",
        "serial": "7ABC123",
        "site": "fra1",
        "rack": "R12",
        "role": "web",
        "platform": "debian-13",
        "addr": "10.0.0.5/24",
    },
    "db-01": {"id": "db-01", "mac": "98:FA:9B:50:D8:12", "site": "fra1", "role": "db"}
    | dict.fromkeys(("serial", "rack", "platform", "addr"), ""),
}


class NetBox(BaseHTTPRequestHandler):
    """NetBox' REST API, of which a page has at most two objects."""

    def do_GET(self) -> None:
        path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        if self.headers["Authorization"] != f"Token {TOKEN}":
            self.send_error(403)
            return
        found: list[Any] = {"/api/dcim/devices/": DEVICES, "/api/dcim/interfaces/": INTERFACES}[path]
        found = [
            one
            for one in found
            if one.get("site", {}).get("slug") in query.get("site", [one.get("site", {}).get("slug")])
        ]
        offset = int(query["offset"][0])
        page = found[offset : offset + min(2, int(query["limit"][0]))]
        following = f"http://netbox{path}?offset={offset + 2}" if offset + 2 < len(found) else None
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"count": len(found), "next": following, "results": page}).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def netbox() -> Iterator[dict[str, str]]:
    """The environment of the script."""
    with ThreadingHTTPServer(("127.0.0.1", 0), NetBox) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield environment(NETBOX_URL="http://{}:{}".format(*server.server_address[:2]), NETBOX_TOKEN=TOKEN)
        server.shutdown()


def test_the_devices_of_netbox_are_a_table_of_machines(
    serving: Serving, netbox: Mapping[str, str], tmp_path: Path
) -> None:
    service = serving(
        {"groups/web.ks": "# answer: match role=web\nnetwork --hostname={{ id }} --ip={{ addr | host }}\n"}
    )
    table = tmp_path / "answers/inventory/netbox.csv"
    table.parent.mkdir()
    done = run_program(EXAMPLES / "netbox/netbox_table.py", table, "site=fra1", environ=netbox)
    assert (done.returncode, done.stdout) == (0, f"{table}: 2 machines\n"), done.stderr
    assert {row["id"]: row for row in csv.DictReader(table.read_text().splitlines())} == EXPECTED
    wait_until(lambda: service.get("/ks?mac=98:fa:9b:50:d8:11").text == "network --hostname=web-01 --ip=10.0.0.5\n")


@pytest.mark.parametrize(
    ("arguments", "token", "status"),
    [(["site=fra1"], "wrong", 1), (["site=nowhere"], TOKEN, 1), (["fra1"], TOKEN, 2)],
    ids=["a wrong token", "no device", "no filter"],
)
def test_a_table_stays_where_netbox_has_nothing_for_it(
    netbox: Mapping[str, str], tmp_path: Path, arguments: list[str], token: str, status: int
) -> None:
    table = tmp_path / "netbox.csv"
    table.write_text("id\nweb-01\n")
    environ = {**netbox, "NETBOX_TOKEN": token}
    done = run_program(EXAMPLES / "netbox/netbox_table.py", table, *arguments, environ=environ)
    assert (done.returncode, table.read_text()) == (status, "id\nweb-01\n")
    assert done.stderr
    assert list(tmp_path.iterdir()) == [table]


# Terraform

TERRAFORM = EXAMPLES / "terraform"
MACHINES = {
    "vm-01": {"id": "vm-01", "mac": "52:54:00:30:00:01", "role": "web"},
    "vm-02": {"id": "vm-02", "mac": "52:54:00:30:00:02", "role": "db"},
}


def test_terraform_makes_changes_and_removes_rows(service: Service, tmp_path: Path) -> None:
    program = shutil.which("terraform") or shutil.which("tofu")
    if program is None:
        pytest.skip("neither terraform nor tofu is installed, which no package of Debian has")
    shutil.copytree(TERRAFORM, tmp_path / "terraform")
    environ = environment(
        SERVICE_ADMIN_TOKEN=TOKEN, TF_VAR_api=url_of(service), CHECKPOINT_DISABLE=1, TF_CLI_CONFIG_FILE=os.devnull
    )

    def terraform(*words: str) -> str:
        command = [program, f"-chdir={tmp_path / 'terraform'}", *words, "-no-color"]
        done = run_program(*command, environ=environ)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    terraform("init")
    terraform("apply", "-auto-approve")
    assert rows(service, "terraform") == MACHINES
    machines = tmp_path / "terraform/machines.auto.tfvars"
    machines.write_text(machines.read_text().replace('"web"', '"db"').replace("vm-02", "vm-03"))
    terraform("apply", "-auto-approve")
    changed = {"vm-01": {**MACHINES["vm-01"], "role": "db"}, "vm-03": {**MACHINES["vm-02"], "id": "vm-03"}}
    assert rows(service, "terraform") == changed
    assert TOKEN not in (tmp_path / "terraform/terraform.tfstate").read_text()
    terraform("destroy", "-auto-approve")
    assert rows(service, "terraform") == {}


def test_the_requests_of_the_terraform_example(service: Service) -> None:
    """The commands that Terraform would run, also where there is none."""
    text = (TERRAFORM / "main.tf").read_text("utf-8")
    remove, write = [json.loads(f'"{found}"') for found in re.findall(r'command = "((?:\\.|[^"\\])*)"', text)]
    for name, row in MACHINES.items():
        url = f"{url_of(service)}/inventory/terraform/{name}"
        environ = environment(SERVICE_ADMIN_TOKEN=TOKEN, URL=url, ROW=json.dumps(row))
        for status in ("stored", "unchanged"):
            assert json.loads(run_program("sh", "-c", write, environ=environ).stdout)["status"] == status
        assert rows(service, "terraform")[name] == row
    assert json.loads(run_program("sh", "-c", remove, environ=environ).stdout)["status"] == "deleted"
    assert set(rows(service, "terraform")) == {"vm-01"}
    refused = run_program("sh", "-c", write, environ=environ | {"ROW": '{"rack": "R12"}'})
    assert refused.returncode != 0
