"""Machines that are started through simulated BMCs: Redfish by sushy-tools, IPMI by ipmi_sim of OpenIPMI.

A machine has no operating system: once it is started from the network it asks the service for its script and reports.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.ports import free_port
from tests.support.service import Service
from tests.support.waiting import PATIENCE, PROGRAM_SECONDS, wait_until

USER, PASSWORD = "installer", "correct-horse"
NEEDED = {"sushy_tools": "sushy-tools", "ansible": "ansible-core"}
"""Modules, and the packages of PyPI that have them. scripts/test installs both; an environment may have neither."""


def skip_without(module: str) -> None:
    """Skip a test where a package of PyPI is not installed."""
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{NEEDED[module]} is not installed: pip install {NEEDED[module]}")


class Started(NamedTuple):
    """A machine that was started, and from what: `Pxe`, `Hdd`."""

    machine: str
    source: str


class Rack:
    """Machines by their names, each with its MAC address. BMCs say over HTTP (`url`) which of them was started."""

    def __init__(self, service: Service, machines: Mapping[str, str]) -> None:
        self.service, self.machines = service, machines
        self.started: list[Started] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = "http://{}:{}/".format(*self._server.server_address[:2])
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Tell no more."""
        self._server.shutdown()
        self._server.server_close()

    def start(self, machine: str, source: str) -> None:
        """Start one; return when it has reported."""
        self.started.append(Started(machine, source))
        if source == "Pxe":
            script = self.service.get(f"/ipxe?mac={self.machines[machine]}").text
            report = re.search(r"/report/\S+", script)  # none in that of a machine that is installed
            assert report is None or self.service.get(f"{report[0]}/installed").status == 200

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        rack = self

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                system = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if system.get("pending_power"):  # else it says that its boot device has changed
                    rack.start(system["name"], system.get("boot_device", "Hdd"))
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        return Handler


class Certificate(NamedTuple):
    """What the BMCs show, as files."""

    certificate: Path
    key: Path


def certificate(home: Path) -> Certificate:
    """A certificate for 127.0.0.1 that is signed by itself, as those of BMCs are."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make certificates with: apt install openssl")
    made = Certificate(home / "bmc.crt", home / "bmc.key")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=bmc"
    words = [
        *command.split(),
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-keyout",
        str(made.key),
        "-out",
        str(made.certificate),
    ]
    subprocess.run(words, check=True, capture_output=True, timeout=PROGRAM_SECONDS)
    return made


@contextmanager
def redfish(
    home: Path, rack: Rack, pair: Certificate, states: Mapping[str, str], uuids: Mapping[str, str]
) -> Iterator[str]:
    """A BMC with a system for each of some machines, whose power is in these states (`On`, `Off`); its URL."""
    skip_without("sushy_tools")
    bcrypt = pytest.importorskip("bcrypt")  # sushy-tools requires it
    home.mkdir()
    hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    (home / "htpasswd").write_text(f"{USER}:{hashed}\n")
    port = free_port()
    settings = {
        "SUSHY_EMULATOR_FAKE_DRIVER": True,
        "SUSHY_EMULATOR_LISTEN_IP": "127.0.0.1",
        "SUSHY_EMULATOR_LISTEN_PORT": port,
        "SUSHY_EMULATOR_SSL_CERT": str(pair.certificate),
        "SUSHY_EMULATOR_SSL_KEY": str(pair.key),
        "SUSHY_EMULATOR_AUTH_FILE": str(home / "htpasswd"),
        "SUSHY_EMULATOR_STATE_DIR": str(home),
        "EXTERNAL_NOTIFICATION_URL": rack.url,
        "SUSHY_EMULATOR_FAKE_SYSTEMS": [
            {"uuid": uuids[name], "name": name, "power_state": state, "external_notifier": True, "nics": []}
            for name, state in states.items()
        ],
    }
    (home / "sushy.conf").write_text("".join(f"{name} = {value!r}\n" for name, value in settings.items()))
    command = [sys.executable, "-m", "sushy_tools.emulator.main", "--config", str(home / "sushy.conf")]
    with _running(command, home / "log") as process:
        wait_until(lambda: _listens(port) or process.poll() is not None)
        yield f"https://127.0.0.1:{port}"


CHASSIS = """\
#!{python}
import json, pathlib, sys, urllib.request
state = pathlib.Path({state!r})
was = json.loads(state.read_text())
if sys.argv[2] == "get":
    print(f"{{sys.argv[3]}}:{{was[sys.argv[3]]}}")
else:
    now = was | {{sys.argv[3]: sys.argv[4]}}
    state.write_text(json.dumps(now))
    if was["power"] == "0" and now["power"] == "1":
        device = {{"pxe": "Pxe"}}.get(now["boot"], "Hdd")
        told = {{"name": {machine!r}, "boot_device": device, "pending_power": True}}
        request = urllib.request.Request({url!r}, json.dumps(told).encode(), method="PUT")
        urllib.request.urlopen(request, timeout=60).close()
"""
"""What ipmi_sim asks and orders: the chassis of one machine."""


@contextmanager
def ipmi(home: Path, rack: Rack, machine: str, *, is_on: bool) -> Iterator[str]:
    """The BMC of one machine; its address and port."""
    if shutil.which("ipmi_sim") is None:
        pytest.skip("no ipmi_sim: apt install openipmi")
    if shutil.which("ipmitool") is None:
        pytest.skip("no ipmitool: apt install ipmitool")
    home.mkdir()
    port = free_port()
    state, program = home / "chassis.json", home / "chassis"
    state.write_text(json.dumps({"power": "1" if is_on else "0", "boot": "none"}))
    program.write_text(CHASSIS.format(python=sys.executable, state=str(state), machine=machine, url=rack.url))
    program.chmod(0o755)
    (home / "lan.conf").write_text(
        textwrap.dedent(f"""\
            name "{machine}"
            set_working_mc 0x20
            startlan 1
              addr 127.0.0.1 {port}
              priv_limit admin
              allowed_auths_admin none md2 md5 straight
              guid a123456789abcdefa123456789abcdef
            endlan
            chassis_control "{program} 0x20"
            user 1 true "" "test" user 10 none md2 md5 straight
            user 2 true "{USER}" "{PASSWORD}" admin 10 none md2 md5 straight
            """)
    )
    (home / "commands").write_text(
        "mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02\nmc_enable 0x20\n"
    )
    command = ["ipmi_sim", "-n", "-c", f"{home}/lan.conf", "-f", f"{home}/commands", "-s", str(home)]
    with _running(command, home / "log") as process:
        wait_until(lambda: _is_bound(port) or process.poll() is not None)
        yield f"127.0.0.1:{port}"


@contextmanager
def _running(command: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A program; where it has ended by itself, its output is the error."""
    with log.open("wb") as written:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=written, stderr=subprocess.STDOUT)
    try:
        yield process
        assert process.poll() is None, log.read_text()
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(PATIENCE)
            raise


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _is_bound(port: int) -> bool:
    """Whether a program has this port of UDP. To try to bind it could take it from the program that is to have it."""
    sockets = Path("/proc/net/udp").read_text().splitlines()[1:]
    return any(line.split()[1].endswith(f":{port:04X}") for line in sockets)
