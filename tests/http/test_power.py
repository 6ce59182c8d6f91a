"""Machines that are installed anew through their BMCs: examples/power against simulated ones (docs/power.md)."""

from __future__ import annotations

import json
import os
import re
import shlex
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from uuid import UUID

import pytest

from tests.support.bmcs import PASSWORD, USER, Certificate, Rack, Started, certificate, ipmi, redfish
from tests.support.service import PROGRAM, Service, environment
from tests.support.waiting import PATIENCE, wait_until

CHECKOUT = Path(__file__).parents[2]
REINSTALL, NETBOOT = CHECKOUT / "examples/power/reinstall", CHECKOUT / "examples/power/netboot.py"
GROUP = "#!ipxe\n# answer: match rack=R*\n# answer: once armed\nkernel vmlinuz {{ report }}\n"
MACS = {f"web-0{n}": f"52:54:00:00:00:0{n}" for n in range(1, 5)}
UUIDS = {name: str(UUID(int=n)) for n, name in enumerate(MACS, 1)}

EXAMPLE_SECONDS = 5 * PATIENCE
"""For an example: it takes a few seconds on an idle machine."""

Serving = Callable[..., Service]


@pytest.fixture
def rack(serving: Serving, tmp_path: Path) -> Iterator[Rack]:
    service = serving({"groups/rack.ipxe": GROUP}, SERVICE_STATE_PATH=tmp_path / "state.db")
    rack = Rack(service, MACS)
    yield rack
    rack.close()


@pytest.fixture
def operator(tmp_path: Path) -> dict[str, str]:
    """The environment of a person at the server."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "answerd").write_text("#!/bin/sh\nexec " + shlex.join(PROGRAM) + ' "$@"\n')
    (programs / "answerd").chmod(0o755)
    return environment(
        SERVICE_ANSWERS_DIR=tmp_path / "answers",
        SERVICE_STATE_PATH=tmp_path / "state.db",
        PATH=f"{programs}:{os.environ['PATH']}",
        PYTHONPATH=CHECKOUT,
        BMC_USER=USER,
        BMC_PASSWORD=PASSWORD,
        IPMITOOL="ipmitool -I lanplus -C 3",  # the newest that ipmi_sim knows: ipmitool asks 10 s for a list
    )


def write_table(home: Path, bmcs: Mapping[str, str], racks: Mapping[str, str]) -> None:
    rows = [f"{name},{MACS[name]},{racks[name]},{bmc}" for name, bmc in bmcs.items()]
    (home / "answers" / "inventory.csv").write_text("\n".join(["id,mac,Rack,BMC", *rows, ""]))


def run_example(
    example: Path, *arguments: str, environ: Mapping[str, str], **changed: str
) -> subprocess.CompletedProcess[str]:
    command = [str(example), *arguments]
    return subprocess.run(
        command, env={**environ, **changed}, capture_output=True, text=True, check=False, timeout=EXAMPLE_SECONDS
    )


def lines(done: subprocess.CompletedProcess[str]) -> tuple[str, re.RegexFlag]:
    """What a program said on its standard error, for an expression whose ``^`` is the beginning of a line."""
    return done.stderr, re.MULTILINE


def test_a_rack_is_installed_anew_by_redfish(rack: Rack, operator: Mapping[str, str], tmp_path: Path) -> None:
    pair = certificate(tmp_path)
    trusting = {**operator, "SSL_CERT_FILE": str(pair.certificate)}
    with ExitStack() as bmcs:
        one = bmcs.enter_context(redfish(tmp_path / "one", rack, pair, {"web-01": "Off"}, UUIDS))
        states = {"web-02": "On", "web-03": "On", "web-04": "On"}
        several = bmcs.enter_context(redfish(tmp_path / "several", rack, pair, states, UUIDS))
        systems = {name: f"{several}/redfish/v1/Systems/{UUIDS[name]}" for name in states}
        write_table(tmp_path, {"web-01": one, **systems}, dict.fromkeys(MACS, "R12") | {"web-04": "R13"})
        done = run_example(REINSTALL, "--where", "rack=R12", environ=trusting)
        assert done.returncode == 0, done.stderr
        assert sorted(rack.started) == [Started(name, "Pxe") for name in ("web-01", "web-02", "web-03")]
        assert set(re.findall(r"^(.*): Redfish (.*)$", done.stdout, re.MULTILINE)) == {
            ("web-01", "On"),
            ("web-02", "ForceRestart"),
            ("web-03", "ForceRestart"),
        }
        assert done.stdout.endswith("3 machines: 3 installed\n")

        write_table(tmp_path, {"web-02": several, "web-03": systems["web-03"]}, dict.fromkeys(MACS, "R12"))
        ambiguous = run_example(NETBOOT, "web-02", "web-03", environ=trusting)
        assert (ambiguous.returncode, ambiguous.stdout.partition(":")[0]) == (1, "web-03")
        assert re.search(r"^web-02 was not started: ValueError: the BMC has 3 systems; .*Systems/0", *lines(ambiguous))
        refused = run_example(NETBOOT, "web-02", "web-03", environ=trusting, BMC_PASSWORD="wrong")
        assert (refused.returncode, refused.stdout) == (2, "")
        assert sorted(re.findall("^(.*) was not started: HTTPError: HTTP Error 401", *lines(refused))) == [
            "web-02",
            "web-03",
        ]
        assert "wrong" not in refused.stderr


def test_a_rack_is_installed_anew_by_ipmi(rack: Rack, operator: Mapping[str, str], tmp_path: Path) -> None:
    with ExitStack() as bmcs:
        cells = {
            name: bmcs.enter_context(ipmi(tmp_path / name, rack, name, is_on=is_on))
            for name, is_on in (("web-01", True), ("web-02", False))
        }
        write_table(tmp_path, cells, dict.fromkeys(MACS, "R12"))
        done = run_example(REINSTALL, "--where", "rack=R12", environ=operator)
        assert done.returncode == 0, done.stderr
        assert sorted(rack.started) == [Started("web-01", "Pxe"), Started("web-02", "Pxe")]
        assert set(re.findall(r"^(.*): IPMI power (.*)$", done.stdout, re.MULTILINE)) == {
            ("web-01", "cycle"),
            ("web-02", "on"),
        }
        assert done.stdout.endswith("2 machines: 2 installed\n")

        refused = run_example(NETBOOT, "web-01", environ=operator, BMC_PASSWORD="wrong")
        assert (refused.returncode, refused.stdout) == (2, "")
        assert re.search("^web-01 was not started: .", *lines(refused))
        assert len(rack.started) == 2


@pytest.mark.parametrize("names", [["web-01", "web-02"], ["web-03"], []], ids=["no BMC", "no row", "no name"])
def test_no_machine_is_started_where_one_has_no_bmc(
    rack: Rack, operator: Mapping[str, str], tmp_path: Path, names: list[str]
) -> None:
    write_table(tmp_path, {"web-01": "127.0.0.1:9", "web-02": ""}, dict.fromkeys(MACS, "R12"))
    done = run_example(NETBOOT, *names, environ=operator)
    assert (done.returncode, done.stdout, rack.started) == (2, "", [])
    assert not names or f"column bmc: {names[-1]}\n" in done.stderr


class CarefulBmc(BaseHTTPRequestHandler):
    """A BMC that takes a change only with the ETag of what it changes."""

    TAG = 'W/"17"'
    SYSTEM = "/redfish/v1/Systems/1"
    reset: str | None = None
    asked = 0

    def do_GET(self) -> None:
        reset = {"#ComputerSystem.Reset": {"target": f"{self.SYSTEM}/Actions/ComputerSystem.Reset"}}
        self.reply(200, {"PowerState": "Off", "Actions": reset})

    def do_PATCH(self) -> None:
        self.reply(204 if self.headers["If-Match"] == self.TAG else 412)

    def do_POST(self) -> None:
        type(self).reset = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["ResetType"]
        self.reply(204)

    def reply(self, status: int, body: object = None) -> None:
        type(self).asked += self.headers["Authorization"] is not None
        self.send_response(status)
        self.send_header("ETag", self.TAG)
        self.end_headers()
        if body is not None:
            self.wfile.write(json.dumps(body).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def careful(tmp_path: Path) -> Iterator[tuple[str, Certificate]]:
    pair = certificate(tmp_path)
    CarefulBmc.asked, CarefulBmc.reset = 0, None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*pair)
    with ThreadingHTTPServer(("127.0.0.1", 0), CarefulBmc) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"https://127.0.0.1:{server.server_address[1]}{CarefulBmc.SYSTEM}", pair
        server.shutdown()


@pytest.mark.parametrize("trust", ["the certificate", "any", "the system's"])
def test_a_bmc_gets_its_etag_and_no_password_unless_it_is_trusted(
    rack: Rack, operator: Mapping[str, str], tmp_path: Path, careful: tuple[str, Certificate], trust: str
) -> None:
    url, pair = careful
    write_table(tmp_path, {"web-01": url}, dict.fromkeys(MACS, "R12"))
    changed = {"the certificate": {"SSL_CERT_FILE": str(pair.certificate)}, "any": {"REDFISH_UNVERIFIED": "1"}}
    done = run_example(NETBOOT, "web-01", environ=operator, **changed.get(trust, {}))
    if trust in changed:
        assert (done.returncode, done.stdout, CarefulBmc.asked) == (0, "web-01: Redfish On\n", 3), done.stderr
        assert CarefulBmc.reset == "On"
    else:
        assert (done.returncode, done.stdout, CarefulBmc.asked) == (2, "", 0)
        assert "CERTIFICATE_VERIFY_FAILED" in done.stderr


MACHINES = 2_000
PER_RACK = 50
IPMITOOL = """#!/bin/sh
case "$*" in
*' power status') echo 'Chassis Power is on' ;;
*' power cycle') exec '{python}' - "$@" <<'END' ;;
import re, sys, urllib.request
name = sys.argv[sys.argv.index("-H") + 1].removesuffix("-bmc")
address, broken = "http://{address}", {broken!r}
script = urllib.request.urlopen(address + "/ipxe/" + name).read().decode()
open("{log}", "a").write(name + "\\n")
report = re.search("/report/[^ ]+", script)[0].strip()
with open("{log}") as log:
    fails = name in broken and log.read().split().count(name) == 1
body = b"sda: no space left" if fails else b""
urllib.request.urlopen(address + report + ("/failed" if fails else "/installed"), data=body).read()
END
esac
"""
"""Switches a machine on, in place of the program of that name: it asks for its script and reports."""


def put_ipmitool(home: Path, service: Service, broken: list[str]) -> None:
    """Put the program in place whose machines install at once, but for those that are ``broken`` at first."""
    assert service.address is not None
    host, port = service.address
    program = home / "programs" / "ipmitool"
    program.write_text(
        IPMITOOL.format(python=sys.executable, address=f"{host}:{port}", broken=broken, log=home / "switched-on")
    )
    program.chmod(0o755)


def test_a_rack_of_fifty_among_two_thousand_is_installed_anew_by_a_short_script(
    serving: Serving, operator: Mapping[str, str], tmp_path: Path
) -> None:
    script = REINSTALL.read_text("utf-8")
    assert script.count("\n") <= 15
    assert not re.search(r"\b(sed|jq|awk|grep|SERVICE_LOG)\b", script)
    rows = [f"cn{n:04},52:54:00:00:{n >> 8:02x}:{n & 255:02x},R{n // PER_RACK},cn{n:04}-bmc" for n in range(MACHINES)]
    files = {"groups/rack.ipxe": GROUP, "inventory.csv": "\n".join(["id,mac,rack,bmc", *rows, ""])}
    service = serving(files, SERVICE_STATE_PATH=tmp_path / "state.db")
    broken = ["cn0603", "cn0641"]
    put_ipmitool(tmp_path, service, broken)
    script = script.replace("--timeout 2h", "--timeout 2h --grace 0")  # two minutes are long for a test
    command = ["sh", "-c", script, str(REINSTALL), "--where", "rack=R12"]
    done = subprocess.run(command, env=operator, capture_output=True, text=True, timeout=EXAMPLE_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    rack = [f"cn{n:04}" for n in range(600, 650)]
    assert sorted((tmp_path / "switched-on").read_text().split()) == sorted([*rack, *broken])
    said = done.stdout.splitlines()
    assert re.findall(r"^answerd: (cn\d+).*: sda: no space left$", *lines(done)) == broken
    assert [line for line in said if line.startswith("50 machines")] == [
        "50 machines: 48 installed, 2 failed",
        "50 machines: 50 installed",
    ]
    assert len([line for line in said if line.endswith(" armed")]) == 52


def reinstall(operator: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script with a wait of one second: what its BMCs start has reported by then."""
    script = REINSTALL.read_text("utf-8").replace("--timeout 2h", "--timeout 1 --grace 0")
    command = ["sh", "-c", script, str(REINSTALL), *arguments]
    return subprocess.run(command, env=operator, capture_output=True, text=True, timeout=EXAMPLE_SECONDS, check=False)


def test_a_machine_that_fails_is_started_again_though_another_never_asks(
    rack: Rack, operator: Mapping[str, str], tmp_path: Path
) -> None:
    put_ipmitool(tmp_path, rack.service, broken=["web-02"])
    rows = "".join(f"{name},{MACS[name]},R12,{name}-bmc\n" for name in ("web-01", "web-02"))
    table = f"Device,MAC,Rack,BMC address\n{rows}web-03,{MACS['web-03']},R12,127.0.0.1:bad\n"
    (tmp_path / "answers/inventory.csv").write_text(table)
    (tmp_path / "answers/inventory.columns").write_text('columns = { "Device" = "id", "BMC address" = "bmc" }\n')
    done = reinstall(operator, "--where", "rack=R12")
    assert done.returncode == 3, done.stderr
    assert sorted((tmp_path / "switched-on").read_text().split()) == ["web-01", "web-02", "web-02"]
    assert "3 machines: 1 armed, 2 installed" in done.stdout.splitlines()
    assert done.stderr.splitlines()[-1] == "armed still: answerd disarm web-03"


def test_nobody_waits_where_no_machine_was_started(rack: Rack, operator: Mapping[str, str], tmp_path: Path) -> None:
    write_table(tmp_path, {"web-01": "127.0.0.1:bad", "web-02": "127.0.0.1:bad"}, dict.fromkeys(MACS, "R12"))
    done = reinstall(operator, "--where", "rack=R12")
    assert done.returncode not in (0, 3)
    assert "2 machines" not in done.stdout
    assert done.stderr.splitlines()[-1] == "armed still: answerd disarm web-01 web-02"


def test_machines_that_are_chosen_by_their_state_are_followed_when_they_leave_it(
    rack: Rack, operator: Mapping[str, str], tmp_path: Path
) -> None:
    write_table(tmp_path, {name: f"{name}-bmc" for name in MACS}, dict.fromkeys(MACS, "R12"))
    put_ipmitool(tmp_path, rack.service, broken=["web-02"])  # the second start succeeds
    subprocess.run(["answerd", "arm", "web-02"], env=operator, check=True, timeout=EXAMPLE_SECONDS)
    asked = f"/ipxe?mac={MACS['web-02']}"
    wait_until(lambda: "/report/" in rack.service.get(asked).text)
    report = re.search(r"/report/\S+", rack.service.get(asked).text)
    assert report is not None
    assert rack.service.get(f"{report[0]}/failed").status == 200
    done = reinstall(operator, "--state", "failed")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "switched-on").read_text().split() == ["web-02", "web-02"]
    assert done.stdout.splitlines()[-1] == "1 machine: 1 installed"
    assert "armed still" not in done.stderr


@pytest.mark.parametrize(
    ("chosen", "status", "words"),
    [
        ((), 2, "choose machines of this service"),
        (("--from", "http://127.0.0.1:1", "web-01"), 2, "choose machines of this service"),
        (("--state", "failed"), 1, "there is no such machine"),
    ],
)
def test_nothing_is_armed_where_no_machine_is_chosen(
    rack: Rack, operator: Mapping[str, str], tmp_path: Path, chosen: Sequence[str], status: int, words: str
) -> None:
    write_table(tmp_path, {"web-01": "web-01-bmc"}, dict.fromkeys(MACS, "R12"))
    put_ipmitool(tmp_path, rack.service, broken=[])
    subprocess.run(["answerd", "disarm", "web-01"], env=operator, check=True, timeout=EXAMPLE_SECONDS)
    done = reinstall(operator, *chosen)
    assert (done.returncode, done.stdout) == (status, "")
    assert words in done.stderr.splitlines()[-1]
    assert not (tmp_path / "switched-on").exists()


@pytest.mark.parametrize("example", [REINSTALL, NETBOOT])
def test_the_examples_say_how_they_are_used(example: Path, operator: Mapping[str, str]) -> None:
    done = run_example(example, "--help", environ=operator)
    assert (done.returncode, done.stderr, example.name in done.stdout) == (0, "", True)
