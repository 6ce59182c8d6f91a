"""Installs over a real socket: what is acknowledged is in force everywhere and for good, and no token is shown."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from html import unescape
from pathlib import Path
from select import select
from typing import Any
from urllib.parse import urlencode

import pytest
from prometheus_client.parser import text_string_to_metric_families

from answerd.identity import identity_of
from answerd.installs.tokens import token_fingerprint
from answerd.server.roles import hash_of
from tests.support.console import TOKEN as CONSOLE_TOKEN
from tests.support.console import Running, etag_of, started
from tests.support.disks import fill
from tests.support.processes import killed_at_last
from tests.support.replies import Reply, chunked, exchange, post, receive
from tests.support.service import PROGRAM, Service, environment, run, write_tree
from tests.support.stores import DATABASES, STORES, stored
from tests.support.terminals import new_terminal, read_until
from tests.support.waiting import PATIENCE, wait_until

CHECKOUT = Path(__file__).parents[2]
IPXE = "#!ipxe\n# answer: once\nkernel vmlinuz {{ report }}\n"


def url_in(text: str) -> str:
    """The path of a report's URL in an answer."""
    found = re.search(r"http://answers\.example\.com:8000(/report/[\w.-]+)", text)
    assert found is not None, text
    return found[1]


def sent(method: str, path: str, *headers: str, body: str = "") -> bytes:
    """A request as a client writes it."""
    lines = [f"{method} {path} HTTP/1.1", "Host: answers.example.com:8000", *headers, "", body]
    return "\r\n".join(lines).encode()


def scraped(service: Service) -> dict[tuple[str, ...], float]:
    """What the metrics say: by name and the values of the labels, in the order of the labels' names."""
    found = re.search(r"metrics at (\S+):(\d+)", service.wait_for_log("metrics at "))
    assert found is not None
    text = exchange((found[1], int(found[2])), sent("GET", "/metrics")).text
    return {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_a_report_is_in_force_in_every_worker_and_survives_kill_9(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    settings = {"SERVICE_STATE_PATH": tmp_path / "state.db", "SERVICE_WORKERS": 2}
    service = serving({f"node{n}.ipxe": IPXE for n in range(8)}, **settings)
    for n in range(8):
        report = url_in(service.send(sent("GET", f"/ipxe/node{n}")).text)
        assert service.send(sent("POST", f"{report}/installed")).status == 200  # as curl -X POST sends it
        for _ in range(4):
            assert "exit 1" in service.send(sent("GET", f"/ipxe/node{n}")).text
    os.kill(service.process.pid, signal.SIGKILL)
    service.process.wait(PATIENCE)
    again = serving(None, **settings)
    for n in range(8):
        assert f"node{n} is installed" in again.send(sent("GET", f"/ipxe/node{n}")).text
    assert not any("was made new" in line for line in again.log)


def test_no_token_is_shown_and_the_statuses_of_reports(serving: Callable[..., Service], tmp_path: Path) -> None:
    service = serving(
        {"node1.ipxe": IPXE},
        SERVICE_STATE_PATH=tmp_path / "state.db",
        SERVICE_CAPTURE_DIR=tmp_path / "captures",
        SERVICE_ALLOW="127.0.0.1/32",
        SERVICE_METRICS_ADDR="127.0.0.1:0",
    )
    service.wait_for_log("was made new")
    report = url_in(service.send(sent("GET", "/ipxe/node1")).text)
    token = report.rpartition("/")[2]
    assert service.send(sent("HEAD", f"{report}/installed")).status == 200
    assert "vmlinuz" in service.send(sent("GET", "/ipxe/node1")).text
    refused = service.send(sent("PUT", f"{report}/installed", "Content-Length: 1", body="x"))
    assert (refused.status, refused.headers["allow"]) == (405, "GET, POST")
    unknown = service.send(sent("GET", f"{report}/done"))
    assert unknown.status == 404
    assert all(word in unknown.text for word in ("installed", "copied", "failed", "progress"))
    too_large = service.send(sent("POST", f"{report}/failed", "Content-Length: 1048577"))
    assert too_large.status == 413
    assert service.send(sent("GET", "/report/abc/installed")).status == 404
    quoting = f"message=after+{token}"
    assert service.send(sent("GET", f"/%72EPORT/{token}/INSTALLED?{quoting}")).text == "OK\n"
    service.wait_for_log(f"/{token_fingerprint(token)}/INSTALLED.* 200 reported installed for node1")
    metrics = scraped(service)
    assert (metrics["answerd_installs", "installed"], metrics["answerd_installs_silent",]) == (1, 0)
    assert (metrics["answerd_reports_total", "installed"], metrics["answerd_reports_total", "failed"]) == (1, 0)
    assert metrics["answerd_requests_total", "", "report", "200"] == 2  # HEAD too
    assert not any(token in line for line in service.log)

    def captures() -> bytes:
        return b"".join(path.read_bytes() for path in (tmp_path / "captures").iterdir())

    wait_until(lambda: f"/{token_fingerprint(token)}/INSTALLED?".encode() in captures())
    captured = captures()
    assert token.encode() not in captured
    history = run(
        "install", "node1", SERVICE_STATE_PATH=tmp_path / "state.db", SERVICE_ANSWERS_DIR=tmp_path / "answers"
    )
    assert b"node1 is installed" in history.stdout
    assert token.encode() not in history.stdout


@pytest.mark.parametrize("store", STORES)
def test_a_report_may_end_in_the_carriage_return_of_a_script_with_windows_line_ends(tmp_path: Path, store: str) -> None:
    settings = stored(store, tmp_path, {"node1.ipxe": IPXE})
    listening = {"SERVICE_CONSOLE_ADDR": "127.0.0.1:0", "SERVICE_ADMIN_TOKEN": CONSOLE_TOKEN}
    with Running(**settings, **listening) as browser:
        service = browser.service
        report = url_in(service.send(sent("GET", "/ipxe/node1")).text)
        for path in ("/copied%0D", "/copied%0d%0D", "%0D", "/installed%0D"):
            assert service.send(sent("GET", f"{report}{path}")).text == "OK\n"
            assert report.rpartition("/")[2] not in "".join(service.log)
        service.wait_for_log("200 reported installed for node1")
        for path in ("%0D/installed", "/installed%0A", "/inst%0Dalled"):
            assert service.send(sent("GET", f"{report}{path}")).status == 404


@pytest.mark.parametrize("count", [1, 2])
def test_a_report_is_taken_where_answers_are_shed(serving: Callable[..., Service], tmp_path: Path, count: int) -> None:
    settings = {"SERVICE_STATE_PATH": tmp_path / "state.db", "SERVICE_WORKERS": count, "SERVICE_MAX_CONNECTIONS": 5}
    service = serving({"node1.ipxe": IPXE}, **settings)
    address = service.address
    assert address
    report = url_in(service.send(sent("GET", "/ipxe/node1")).text)
    with ExitStack() as clients:

        def all_places_are_taken() -> bool:
            """Twice in a row: the first time a worker may not have given back the place of the last request yet."""
            if all(service.get("/ipxe/node1").status == 503 for _ in range(2)):
                return True
            clients.enter_context(socket.create_connection(address, timeout=PATIENCE)).sendall(b"GET ")
            return False

        for _ in range(5):
            clients.enter_context(socket.create_connection(address, timeout=PATIENCE)).sendall(b"GET ")
        wait_until(all_places_are_taken)
        assert service.send(sent("POST", f"{report}/installed", "Content-Length: 4", body="done")).body == b"OK\n"
        assert service.get("/ipxe/node1").status == 503


@pytest.mark.parametrize("once", ["# answer: once\n", ""], ids=["once", "a report alone"])
def test_a_head_request_begins_no_install_and_says_the_length_of_the_answer(
    serving: Callable[..., Service], tmp_path: Path, once: str
) -> None:
    """GRUB loads a file by UEFI's HTTP so: HEAD, GET."""
    state = tmp_path / "state.db"
    document = f"{once}echo {{{{ report }}}}\n"
    service = serving({"52-54-00-00-00-01.grub": document}, SERVICE_STATE_PATH=state)

    def states() -> list[str]:
        listed = run("installs", "--json", SERVICE_STATE_PATH=state, SERVICE_ANSWERS_DIR=tmp_path / "answers")
        return [record["state"] for record in json.loads(listed.stdout)["installs"]]

    path = "/grub.cfg-01-52:54:00:00:00:01"
    head = service.send(sent("HEAD", path))
    assert (head.status, head.body) == (200, b"")
    assert "installing" not in states()
    whole = service.send(sent("GET", path))
    assert whole.headers["content-length"] == head.headers["content-length"]
    assert ("installing" in states()) == bool(once)
    reported = service.send(sent("GET", f"{url_in(whole.text)}/installed"))
    assert reported.text == "OK\n"
    again = service.send(sent("HEAD", path))
    refused = service.send(sent("GET", path))
    assert again.headers["content-length"] == refused.headers["content-length"]
    assert ("is installed since" in refused.text) == bool(once)


def test_the_methods_and_the_size_of_reports(serving: Callable[..., Service], tmp_path: Path) -> None:
    service = serving({"node1.ipxe": IPXE}, SERVICE_STATE_PATH=tmp_path / "state.db")
    report = url_in(service.send(sent("GET", "/ipxe/node1")).text)
    refused = service.send(sent("PUT", f"{report}/installed"))
    assert (refused.status, refused.headers["allow"]) == (405, "GET, POST")
    assert service.send(sent("HEAD", f"{report}/installed")).status == 200
    for size, status in ((65_536, 200), (65_537, 200), (1_048_576, 200), (1_048_577, 413)):
        reply = service.post(f"{report}/progress", b"x" * size)
        assert reply.status == status
        assert status == 200 or b"1048576 bytes" in reply.body


def test_the_log_of_a_failure_is_kept_from_both_ends_and_read_from_its_end(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    state = tmp_path / "state.db"
    service = serving({"node1.ipxe": IPXE, "node2.ipxe": IPXE}, SERVICE_STATE_PATH=state)
    log = "".join(f"line {number}\n" for number in range(70_000)).encode() + b"no disk\n"
    answers = tmp_path / "answers"
    chunks = [log[at : at + 10_000] for at in range(0, len(log), 10_000)]
    for node in (1, 2):
        path = f"{url_in(service.send(sent('GET', f'/ipxe/node{node}')).text)}/failed"
        assert service.send(post(path, log) if node == 1 else chunked(path, *chunks)).status == 200
        shown = run("install", f"node{node}", "--json", SERVICE_STATE_PATH=state, SERVICE_ANSWERS_DIR=answers)
        (failed,) = [event for event in json.loads(shown.stdout)["events"] if event["event"] == "failed"]
        first, _, last = failed["body"].partition(f"\n[{len(log) - 65_536:,} bytes left out]\n")
        assert (first, last) == (log[:16_384].decode(), log[-49_152:].decode())
        assert json.loads(shown.stdout)["message"] == "no disk"
        plain = run("install", f"node{node}", SERVICE_STATE_PATH=state, SERVICE_ANSWERS_DIR=answers).stdout.decode()
        lines = [line.partition("| ")[2] for line in plain.splitlines() if "        | " in line]
        assert lines[-2:] == ["line 69999", "no disk"]
        assert "line 69960" not in lines


def test_many_long_reports_at_once_are_all_taken(serving: Callable[..., Service], tmp_path: Path) -> None:
    """Whole, they would be ten times what the bodies of this service may take."""
    settings = {"SERVICE_STATE_PATH": tmp_path / "state.db", "SERVICE_MAX_CONNECTIONS": 64}
    service = serving({"node1.ipxe": IPXE}, **settings)
    address = service.address
    assert address
    report = f"{url_in(service.send(sent('GET', '/ipxe/node1')).text)}/progress"
    request = post(report, b"x" * 1_048_576)
    with ExitStack() as clients:
        waiting = [clients.enter_context(socket.create_connection(address, timeout=PATIENCE)) for _ in range(40)]
        for client in waiting:
            client.sendall(request[:-1])
        for client in waiting:
            client.sendall(request[-1:])
        assert Counter(receive(client).status for client in waiting) == {200: 40}


def test_a_machine_that_is_refused_or_gets_an_error_is_seen(serving: Callable[..., Service], tmp_path: Path) -> None:
    room = "#!ipxe\n# answer: match product=B450\n# answer: once armed\nkernel x\n"
    waits = "#!ipxe\n# answer: match product=B451 state=new\necho waiting\n"
    begins = "#!ipxe\n# answer: match product=B452 state=new\n# answer: once\nboot\n"
    files = {
        "groups/room.ipxe": room,
        "groups/room2.ipxe": room.replace("B450", "B451"),
        "groups/waits.ipxe": waits,
        "groups/begins.ipxe": begins,
        "inventory.csv": "id,mac\nweb-01,52:54:00:00:00:10\nweb-02,52:54:00:00:00:11\nweb-03,52:54:00:00:00:12\n",
        "web-03.ks": "lang {{ nosuch }}\n",
    }
    state = tmp_path / "state.db"
    service = serving(files, SERVICE_STATE_PATH=state, SERVICE_WORKERS=2)
    here = {"SERVICE_STATE_PATH": state, "SERVICE_ANSWERS_DIR": tmp_path / "answers"}
    service.get("/ipxe?mac=52:54:00:00:00:99&product=B450&serial=S1")
    service.get("/ipxe?mac=52:54:00:00:00:98&product=B451")
    service.get("/ipxe?mac=52:54:00:00:00:10&product=B450")
    service.get("/ks?mac=52:54:00:00:00:11")
    service.get("/ks?mac=52:54:00:00:00:12")
    service.get("/ipxe?mac=52:54:00:00:00:97&product=B452")  # its document for new machines installs it
    service.get("/ks?mac=52:54:00:00:00:77")  # a stranger that nothing refused

    def listed(*arguments: str) -> dict[str, dict[str, Any]]:
        done = run("installs", *arguments, "--json", **here)  # type: ignore[arg-type]
        return {one["machine"]: one for one in json.loads(done.stdout)["installs"]}

    expected = {"S1", "52:54:00:00:00:98", "web-01"}
    wait_until(lambda: listed("--waiting").keys() == expected)
    wait_until(lambda: all(one["heard"] for one in listed("--state", "new").values()))
    waiting = listed("--waiting")
    assert waiting["52:54:00:00:00:98"]["last_step"] == 'waits: group "waits" (ipxe)'
    assert waiting["S1"]["last_step"].startswith("refused: S1 is new and waits for an operator")
    of_two = [json.loads(run("install", one, "--json", **here).stdout)["last_contact"] for one in waiting]  # type: ignore[arg-type]
    assert sorted((one["refused"], one["waits"]) for one in of_two) == [(False, True), (True, False), (True, False)]
    named = listed("--state", "new")
    assert "waits for an operator" in named["web-01"]["last_step"]
    assert named["web-02"]["last_step"].startswith("404: no document claims")
    assert named["web-03"]["last_step"].startswith("500: ")
    shown = json.loads(run("install", "web-03", "--json", **here).stdout)["last_contact"]  # type: ignore[arg-type]
    assert (shown["asked"], shown["status"], shown["refused"]) == ("/ks", 500, False)
    assert shown["labels"]["mac"] == ["52:54:00:00:00:12"]
    assert "nosuch" in shown["got"]
    plain = run("install", "52:54:00:00:00:99", **here).stdout.decode()  # type: ignore[arg-type]
    assert "last asked: " in plain
    assert "serial: S1" in plain
    assert run("arm", "web-01", **here).returncode == 0  # type: ignore[arg-type]
    assert listed("--waiting").keys() == expected - {"web-01"}


def test_a_request_that_nothing_claims_counts_for_the_machine_that_its_hardware_is_tied_to(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    """The loader says the serial number of its row, and cloud-init the address alone, which no row has."""
    script = "#!ipxe\n# answer: match product=B450\n# answer: once\nboot\n"
    table = "id,mac,serial\npc-20,52:54:00:00:00:0a,S20\n"
    service = serving({"groups/room.ipxe": script, "inventory.csv": table}, SERVICE_STATE_PATH=tmp_path / "state.db")
    here: dict[str, Any] = {"SERVICE_STATE_PATH": tmp_path / "state.db", "SERVICE_ANSWERS_DIR": tmp_path / "answers"}

    def last(name: str) -> dict[str, Any]:
        found = json.loads(run("install", name, "--json", **here).stdout)
        return {**(found["last_contact"] or {}), "step": found["last_step"]}

    asked = "/ipxe?mac=52:54:00:00:00:0b&serial=S20&product=B450"
    assert service.get(asked).status == 200
    wait_until(lambda: last("pc-20").get("status") == 200)
    began = int(time.time())
    wait_until(lambda: int(time.time()) > began)  # times are told in seconds, and of one second the event is the step
    assert service.get("/52:54:00:00:00:0b/user-data").status == 404
    assert service.get("/52:54:00:00:00:0c/user-data").status == 404  # a stranger
    wait_until(lambda: last("pc-20").get("status") == 404)
    for name in ("pc-20", "52:54:00:00:00:0b"):
        assert (last(name)["asked"], last(name)["status"]) == ("/52:54:00:00:00:0b/user-data", 404)
        assert last(name)["step"].startswith("404: no document claims")
    unknown = json.loads(run("installs", "--unknown", "--json", **here).stdout)["unknown"]
    assert {one["machine"] for one in unknown} == {"52:54:00:00:00:0b", "52:54:00:00:00:0c"}
    assert service.get("/ipxe?mac=52:54:00:00:00:0d&product=B450").status == 200  # known, without a row
    assert service.get("/52:54:00:00:00:0d/user-data").status == 404
    wait_until(lambda: last("52:54:00:00:00:0d").get("status") == 404)


def test_previews_use_what_a_machine_last_said(serving: Callable[..., Service], tmp_path: Path) -> None:
    group = "# answer: template on\n# answer: match product=R750*\nclearpart --drives={{ disks.0 }}\n"
    table = "id,mac\nweb-01,52:54:00:00:00:10\nweb-02,52:54:00:00:00:11\n"
    service = serving({"groups/dell.ks": group, "inventory.csv": table}, SERVICE_STATE_PATH=tmp_path / "state.db")
    here = {"SERVICE_STATE_PATH": tmp_path / "state.db", "SERVICE_ANSWERS_DIR": tmp_path / "answers"}

    def command(*arguments: str, status: int = 0) -> str:
        done = run(*arguments, **here)  # type: ignore[arg-type]
        assert done.returncode == status, done
        return (done.stderr + done.stdout).decode()

    def tried(*directory: str) -> int:
        printed = command("check", "--json", *directory)
        return int(json.loads(printed[printed.index("{") :])["answers"])

    assert tried() == 0
    command("render", "web-01", "--format", "ks", status=1)
    body = json.dumps({"mac": "52:54:00:00:00:10", "product": "R750xs", "disks": ["nvme0n1"]}).encode()
    assert "nvme0n1" in service.post("/ks", body).text
    wait_until(lambda: tried() == 1)
    shown = command("render", "web-01", "--format", "ks")
    assert re.search("# with what web-01 last said on 20..-", shown)
    assert "clearpart --drives=nvme0n1" in shown
    command("render", "web-01", "--query", "path=/ks", status=1)
    command("render", "web-02", "--format", "ks", status=1)
    write_tree(tmp_path / "other", {"groups/dell.ks": group + "reboot\n", "inventory.csv": table})
    shown = command("diff", str(tmp_path / "other"), status=1)
    assert "web-01 (ks)" in shown
    assert "note: web-01 was tried with what was last said" in shown
    assert tried(str(tmp_path / "answers")) == 0


def test_dry_runs_and_previews_of_the_console_use_what_a_machine_last_said(tmp_path: Path) -> None:
    table = "id,mac\nweb-01,52:54:00:00:00:10\n"
    group = "# answer: template on\n# answer: match product=R750*\n"
    write_tree(tmp_path / "answers", {"inventory.csv": table, "groups/dell.ks": f"{group}lang C\n"})
    here: dict[str, Any] = {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": tmp_path / "answers.db"}
    assert run("import", str(tmp_path / "answers"), **here).returncode == 0
    write_tree(tmp_path / "answers", {"groups/dell.ks": (text := f"{group}clearpart --drives={{{{ disks.0 }}}}\n")})
    with started(tmp_path, "sqlite", SERVICE_ADMIN_ADDR="127.0.0.1:0") as browser:
        service = browser.service
        body = json.dumps({"mac": "52:54:00:00:00:10", "product": "R750xs", "disks": ["nvme0n1"]}).encode()
        assert service.post("/ks", body).status == 200

        def ask(method: str, target: str, content: bytes = b"") -> Reply:
            return service.ask_admin(method, target, content, Authorization=f"Bearer {CONSOLE_TOKEN}")

        wait_until(lambda: json.loads(ask("GET", "/installs/web-01").text)["last_contact"])
        change = {"put": [{"kind": "group", "identifier": "dell", "format": "ks", "text": text}], "dry_run": True}
        tried = json.loads(ask("POST", "/apply", json.dumps(change).encode()).text)["answers"]
        assert tried["last_words"] == ["web-01"]
        (found,) = tried["changes"]
        assert (found["names"], "+clearpart --drives=nvme0n1" in found["diff"]) == (["web-01 (ks)"], True)
        printed = run("apply", "--dry-run", str(tmp_path / "answers"), **here).stdout.decode()
        assert "+clearpart --drives=nvme0n1" in printed
        assert "note: web-01 was tried with what was last said" in printed
        browser.log_in()
        named = {"kind": "group", "name": "dell", "format": "ks"}
        tag = etag_of(browser.get(f"/console/document?{urlencode(named)}"))
        page = unescape(browser.change(do="preview", text=text, etag=tag, **named).text)
        assert "1 machine gets another answer" in page
        assert "+clearpart --drives=nvme0n1" in page
        assert "web-01 was tried with what was last said" in page
        wrong = text.replace("clearpart --drives=", "network --bootproto=")
        refused = ask("PUT", "/groups/dell?format=ks&strict=1", wrong.encode())
        assert (refused.status, "web-01" in refused.text) == (409, True)
        gone = ask("DELETE", "/groups/dell?format=ks")
        assert json.loads(gone.text)["machines"] == 1


@pytest.mark.parametrize("store", DATABASES)
def test_the_admin_api_and_the_page_of_problems_use_what_a_machine_last_said(tmp_path: Path, store: str) -> None:
    group = "# answer: template on\n# answer: match product=R750*\nnetwork --bootproto={{ proto }}\n"
    table = "id,mac\nweb-01,52:54:00:00:00:10\n"
    settings = stored(store, tmp_path, {"inventory.csv": table, "groups/dell.ks": group})
    listening = {"SERVICE_ADMIN_ADDR": "127.0.0.1:0", "SERVICE_CONSOLE_ADDR": "127.0.0.1:0"}
    with Running(**settings, **listening, SERVICE_ADMIN_TOKEN=CONSOLE_TOKEN) as browser:
        service = browser.service

        def ask(target: str) -> Reply:
            return service.ask_admin("GET", target, Authorization=f"Bearer {CONSOLE_TOKEN}")

        def page() -> str:
            return unescape(browser.get("/console/check").text)

        browser.log_in()
        wait_until(lambda: "it was not tried" in page())
        assert ask("/check").json == {"problems": []}
        assert ask("/resolve/web-01").status == 404
        body = json.dumps({"mac": "52:54:00:00:00:10", "product": "R750xs", "proto": "pigeon"}).encode()
        assert service.post("/ks", body).status == 200
        wait_until(lambda: ask("/check").json.get("last_words") == ["web-01"])
        (problem,) = ask("/check").json["problems"]
        assert "web-01" in problem
        resolved = ask("/resolve/web-01")
        assert (resolved.status, resolved.text) == (200, "network --bootproto=pigeon\n")
        asked = json.loads(ask("/installs/web-01").text)["last_contact"]["at"]
        assert resolved.headers["x-last-words"] == asked
        explained = ask("/resolve/web-01?explain=1")
        assert (explained.json["answer"], explained.headers["x-last-words"]) == (resolved.text, asked)
        overridden = ask("/resolve/web-01?path=/ks&mac=52:54:00:00:00:10")
        assert (overridden.status, "x-last-words" in overridden.headers) == (404, False)
        wait_until(lambda: "web-01 was tried with what was last said" in page())
        assert "1 problem" in page()
        for text, status in ((group.replace("proto", "pigeons"), 409), (group.replace("R750", "R760"), 404)):
            headers = {"Authorization": f"Bearer {CONSOLE_TOKEN}"}
            assert service.ask_admin("PUT", "/groups/dell?format=ks", text.encode(), **headers).status == 200
            refused = ask("/resolve/web-01")
            assert (refused.status, refused.headers.get("x-last-words")) == (status, asked)
            assert refused.json["error"]
            assert "x-last-words" not in ask("/resolve/nobody").headers


def test_a_state_file_that_vanishes_stops_reports_and_keeps_what_is_known(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    state = tmp_path / "state.db"
    files = {
        "node1.ipxe": IPXE,
        "node2.ipxe": IPXE,
        "node1.ks": "# answer: once armed\nlang C\n",
        "plain.ks": "lang C\n",
    }
    service = serving(files, SERVICE_STATE_PATH=state)
    done, other = (url_in(service.send(sent("GET", f"/ipxe/node{n}")).text) for n in (1, 2))
    assert service.send(sent("GET", f"{done}/installed")).status == 200
    os.rename(state, tmp_path / "elsewhere.db")
    service.wait_for_log("the states of installs cannot be read")
    failed = service.send(sent("GET", f"{other}/installed"))
    assert (failed.status, "could not be stored" in failed.text) == (500, True)
    assert "node1 is installed" in service.send(sent("GET", "/ipxe/node1")).text
    assert service.send(sent("GET", "/ks/plain")).status == 200
    refused = service.send(sent("GET", "/ks/node1?serial=S1"))
    assert re.fullmatch(r'node1 is installed since \S+; "answerd arm node1" lets it install again\n', refused.text)
    assert refused.status == 404
    service.wait_for_log("lets it install again; asked for ks by serial=S1")
    os.rename(tmp_path / "elsewhere.db", state)
    service.wait_for_log("the states of installs can be read again")
    assert service.send(sent("GET", f"{other}/installed")).status == 200


def test_a_full_disk_takes_no_report_and_gives_nothing_until_there_is_space(
    serving: Callable[..., Service], small_disk: Path
) -> None:
    files = {"all.ipxe": f"# answer: match serial=*\n{IPXE}", "plain.ks": "# answer: match serial=*\nlang C\n"}
    documents = {f"groups/{name}": text for name, text in files.items()}
    service = serving(documents, SERVICE_STATE_PATH=small_disk / "state.db", SERVICE_WORKERS=2)
    report = url_in(service.send(sent("GET", "/ipxe?serial=node1")).text)
    ballast = fill(small_disk)
    wait_until(lambda: service.post(f"{report}/progress", b"").status == 503)  # the last page had some room
    for refused in (service.post(f"{report}/installed", b""), service.send(sent("GET", "/ipxe?serial=node2"))):
        assert (refused.status, refused.headers["retry-after"]) == (503, "5")
        assert "the disk is full" in refused.text
        assert "vmlinuz" not in refused.text
    assert service.send(sent("GET", "/ks?serial=node2")).status == 200
    ballast.unlink()
    assert service.post(f"{report}/installed", b"").status == 200
    assert "exit 1" in service.send(sent("GET", "/ipxe?serial=node1")).text
    assert "vmlinuz" in service.send(sent("GET", "/ipxe?serial=node2")).text


@pytest.mark.parametrize("workers", [1, 2])
def test_machines_that_wait_for_one_write_are_all_given_their_answers_or_none_is(
    serving: Callable[..., Service], small_disk: Path, workers: int
) -> None:
    """Each asks twice at once, while another program writes; the disk is full at the commit, and then it is not."""
    state = small_disk / "state.db"
    documents = {"groups/all.ipxe": f"# answer: match serial=*\n{IPXE}", "default.ks": "lang C\n"}
    service = serving(documents, SERVICE_STATE_PATH=state, SERVICE_WORKERS=workers)
    service.send(sent("GET", "/ipxe?serial=first"))
    address = service.address
    assert address
    names = [f"node{number}" for number in range(12)]

    def asked() -> Iterator[tuple[str, Reply]]:
        """The answers to all, who wait for a program that writes; the disk is as the caller leaves it then."""
        with ExitStack() as stack, closing(sqlite3.connect(state, isolation_level=None)) as program:
            program.execute("BEGIN IMMEDIATE")
            clients = [
                (name, stack.enter_context(socket.create_connection(address, timeout=PATIENCE))) for name in names * 2
            ]
            for name, client in clients:
                client.sendall(sent("GET", f"/ipxe?serial={name}", "Connection: close"))
            for _ in range(4):  # by each worker
                assert service.send(sent("GET", "/ks")).status == 200
            assert select([client for _, client in clients], [], [], 0)[0] == []
            program.execute("ROLLBACK")
            for name, client in clients:
                yield name, receive(client)

    def given() -> Counter[str]:
        with closing(sqlite3.connect(state)) as database:
            return Counter(name for (name,) in database.execute("SELECT name FROM events WHERE kind = 'given'"))

    ballast = fill(small_disk)
    for _, refused in asked():
        assert (refused.status, "the disk is full" in refused.text) == (503, True)
    assert given() == {"first": 1}
    ballast.unlink()
    urls: dict[str, set[str]] = {name: set() for name in names}
    for name, reply in asked():
        urls[name].add(url_in(reply.text))
    assert [len(found) for found in urls.values()] == [1] * len(names)
    assert given().keys() == {"first", *names}


def test_the_body_of_a_report_is_printed_with_the_history(serving: Callable[..., Service], tmp_path: Path) -> None:
    states, answers = tmp_path / "state.db", tmp_path / "answers"
    service = serving({"node1.ipxe": IPXE}, SERVICE_STATE_PATH=states)
    report = url_in(service.send(sent("GET", "/ipxe/node1")).text)
    token = report.rpartition("/")[2]
    body = f"sda: no space\n\x1b[2J {token}\nlast line\n".encode()
    assert service.post(f"{report}/failed", body).status == 200
    printed = run("install", "node1", SERVICE_STATE_PATH=states, SERVICE_ANSWERS_DIR=answers).stdout.decode()
    assert [line[10:] for line in printed.splitlines() if line.startswith("        | ")] == [
        "sda: no space",
        f"\\x1b[2J {token_fingerprint(token)}",
        "last line",
    ]
    assert 'given: machine "node1" (ipxe) from 127.0.0.1' in printed


def test_the_directory_of_the_state_file_must_exist(tmp_path: Path) -> None:
    ended = run(
        "serve",
        SERVICE_ANSWERS_DIR=tmp_path,
        SERVICE_LISTEN_ADDR="127.0.0.1:0",
        SERVICE_STATE_PATH=tmp_path / "missing" / "state.db",
    )
    assert ended.returncode == 1
    assert b"SERVICE_STATE_PATH" in ended.stderr
    assert ended.stderr.count(b"\n") == 1


def test_a_machine_that_only_the_default_answered_is_listed_as_unknown(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    documents = {"default.ipxe": "#!ipxe\nexit\n", "groups/g.ks": "# answer: member 98:fa:9b:50:d8:11\nlang en\n"}
    service = serving(documents, SERVICE_STATE_PATH=tmp_path / "state.db")
    for last in (10, 11, 12):
        assert service.send(sent("GET", f"/ipxe?mac=98:fa:9b:50:d8:{last}")).status == 200

    def listed() -> str:
        answers, states = tmp_path / "answers", tmp_path / "state.db"
        done = run("installs", "--unknown", SERVICE_STATE_PATH=states, SERVICE_ANSWERS_DIR=answers)
        return done.stdout.decode()

    wait_until(lambda: "98:fa:9b:50:d8:12" in listed())
    lines = [line for line in listed().splitlines() if ":d8:" in line]
    assert [line.split()[0][-2:] for line in sorted(lines)] == ["10", "12"]  # 11 is a member in another format
    assert all(line.endswith("ipxe (answered by the default)") for line in lines)


def test_of_a_machine_that_nothing_claims_install_prints_what_it_said_and_commands_that_lead_on(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    documents = {
        "groups/g.ks": "# answer: match role=db\nlang en\n",
        "inventory.csv": "id,mac,serial,role\ncn01,98:fa:9b:50:d8:10,7ABC-120,db\ncn02,98:fa:9b:50:d8:20,,\n",
        "cn02.ks": "lang {{ nosuch }}\n",
    }
    service = serving(documents, SERVICE_STATE_PATH=tmp_path / "state.db")
    here: dict[str, Any] = {"SERVICE_STATE_PATH": tmp_path / "state.db", "SERVICE_ANSWERS_DIR": tmp_path / "answers"}
    for _ in range(2):
        service.get("/ks?mac=98:fa:9b:50:d8:77&serial=7ABC-129&product=A%20B")
    service.get("/ks?mac=98:fa:9b:50:d8:20")
    wait_until(lambda: "7ABC-129" in run("installs", "--unknown", **here).stdout.decode())
    wait_until(lambda: b"last asked" in run("install", "cn02", **here).stdout)
    for name in ("7ABC-129", "7abc129", "98-FA-9B-50-D8-77"):
        first, *lines = run("install", name, **here).stdout.decode().splitlines()
        assert first == "7ABC-129 is unknown: nothing claims it"
        assert "    mac: 98:fa:9b:50:d8:77" in lines
        near_rows = [line.strip() for line in lines if line.startswith("  near:")]
        assert near_rows == [
            "near:        7ABC-129 is one digit off: inventory.csv:2 (cn01), which never asked, has 7ABC-120"
        ]
        told = {heading.strip(): text.strip() for heading, _, text in (line.partition(": ") for line in lines)}
        command, *why = shlex.split(told["see why"])
        assert command == "answerd"
        similar = [line for line in run(*why, **here).stderr.decode().splitlines() if "nearly the same" in line]
        assert [line.endswith("inventory.csv:2") for line in similar] == [True]
        command, *adopt = shlex.split(told["make a row"])
        assert command == "answerd"
        [row] = json.loads(run(*adopt, "--json", "--dry-run", **here).stdout)["rows"]
        assert row["machine"] == "7ABC-129"
    [asked] = [json.loads(run("install", "7ABC-129", "--json", **here).stdout)["facts"]["product"]]
    assert asked == ["A B"]
    near = run("install", "cn01", **here).stdout.decode()
    assert near.endswith("  near:        one digit off 7ABC-120, and claimed by nothing: answerd install 7ABC-129\n")
    assert "one digit off" not in run("install", "cn02", **here).stdout.decode()
    nobody = run("install", "7ABC-777", **here)
    assert (nobody.returncode, b"no record" in nobody.stderr) == (1, True)
    failed = run("install", "cn02", **here).stdout.decode()
    (why_failed,) = [line.partition(": ")[2].strip() for line in failed.splitlines() if "see why:" in line]
    assert shlex.split(why_failed) == shlex.split("answerd render --why --query path=/ks&mac=98:fa:9b:50:d8:20 cn02")


def test_the_commands_of_a_machine_ask_what_it_asked_adopt_it_alone_and_its_reason_is_whole(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    documents = {
        "pc-12.yaml": "#cloud-config\nhostname: pc-12\n",
        "groups/s.toml": '[match]\nid = "pc-13"\n[global]\nfqdn = "{{ serial }}.lab"\n',
        "inventory.csv": "id,mac\npc-12,98:fa:9b:50:d8:12\npc-13,98:fa:9b:50:d8:13\n",
    }
    service = serving(documents, SERVICE_STATE_PATH=tmp_path / "state.db")
    here: dict[str, Any] = {"SERVICE_STATE_PATH": tmp_path / "state.db", "SERVICE_ANSWERS_DIR": tmp_path / "answers"}
    assert service.get("/ks?mac=98:fa:9b:50:d8:12").status == 404
    shared = service.get("/toml?mac=98:fa:9b:50:d8:13&serial=To%20be%20filled%20by%20O.E.M.")
    assert "many machines have the value of serial that it sends" in shared.text
    service.get("/ks?mac=52:54:00:99:00:02")
    service.get("/ks/52-54-00-99-00-03")
    for spelled in ("52-54-00-99-00-01", "52:54:00:99:00:01", "52-54-00-99-00-01"):
        service.get(f"/ks?mac={spelled}")

    def told(name: str) -> dict[str, str]:
        lines = run("install", name, **here).stdout.decode().splitlines()
        return {heading.strip(): text.strip() for heading, _, text in (line.partition(": ") for line in lines)}

    wait_until(lambda: all("see why" in told(name) for name in ("pc-12", "pc-13", "525400990001", "525400990003")))
    asked = run(*shlex.split(told("pc-12")["see why"])[1:], **here)
    assert asked.returncode == 1
    assert b"no document claims" in asked.stderr
    assert "many machines have the value of serial that it sends" in told("pc-13")["and got"]
    for name in ("52:54:00:99:00:01", "52:54:00:99:00:03"):
        rows = json.loads(run(*shlex.split(told(name)["make a row"])[1:], "--json", "--dry-run", **here).stdout)["rows"]
        assert [identity_of(row["machine"]) for row in rows] == [identity_of(name)]


TOKEN = "installs-of-sites-0123456789"


def test_several_sites_are_one_list_and_one_that_is_away_is_said(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    sites = []
    for number in (1, 2):
        settings: dict[str, Any] = {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": tmp_path / f"{number}.db"}
        run("import", str(written(tmp_path / f"documents-{number}", number)), **settings)
        served = {"SERVICE_ADMIN_ADDR": "127.0.0.1:0", "SERVICE_ADMIN_TOKEN": TOKEN, "SERVICE_INSTALL_SECS": 1}
        service = serving(None, **settings, **served)
        report = url_in(service.send(sent("GET", "/ipxe/installed")).text)
        service.send(sent("POST", f"{report}/installed"))
        service.send(sent("GET", "/ipxe/stuck"))
        assert service.admin is not None
        sites.append(f"127.0.0.1:{service.admin[1]}")
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        away = f"127.0.0.1:{nobody.getsockname()[1]}"

        def listed(*options: str) -> tuple[int, list[dict[str, Any]], str]:
            several = [word for site in (sites[0], away, sites[1]) for word in ("--from", f"http://{site}")]
            done = run("installs", "--json", *options, *several, SERVICE_ADMIN_TOKEN=TOKEN)
            return done.returncode, json.loads(done.stdout)["installs"], done.stderr.decode()

        status, machines, said = listed()
        assert status == 1
        assert said.count("\n") == 1
        assert away in said
        assert [(one["site"], one["machine"]) for one in machines] == [
            (site, name) for site in sites for name in ("installed", "stuck")
        ]
        several = [word for site in (sites[0], away, sites[1]) for word in ("--from", f"http://{site}")]
        counted = run("installs", "--summary", "group", "--json", *several, SERVICE_ADMIN_TOKEN=TOKEN)
        assert (counted.returncode, away in counted.stderr.decode()) == (1, True)
        told = json.loads(counted.stdout)
        tallies, of_two = told["summary"], {"new": 2, "installing": 2, "installed": 2}
        assert [(one["site"], one["machines"]) for one in told["sites"]] == [(site, 3) for site in sites]
        assert [(one["value"], one["machines"], one["states"]) for one in told["all"]] == [("g", 6, of_two)]
        assert (told["total"]["machines"], told["total"]["states"]) == (6, of_two)
        assert [one["site"] for one in tallies] == sorted((one["site"] for one in tallies), key=sites.index)
        assert {one["site"] for one in tallies} == {*sites}
        assert {one["states"].get("installed", 0) for one in tallies if one["value"] == "g"} == {1}
        lines = run("installs", "--summary", "group", *several, SERVICE_ADMIN_TOKEN=TOKEN).stdout.decode().splitlines()
        assert lines[0].split()[:3] == ["SITE", "GROUP", "MACHINES"]
        assert [line.split()[:3] for line in lines[1:]] == [
            *([site, value, "3"] for site in sites for value in ("g", "total")),
            *(["all", value, "6"] for value in ("g", "total")),
        ]
        wait_until(lambda: len(listed("--state", "silent")[1]) == 2)
        assert [(one["machine"], one["state"], one["last_step"]) for one in listed("--state", "silent")[1]] == [
            ("stuck", "installing", 'group "g" (ipxe)')
        ] * 2
        assert [(one["machine"], one["heard"]) for one in listed("--state", "new")[1]] == [
            ("only-at-1", None),
            ("only-at-2", None),
        ]
    table = run("installs", "--from", f"http://{sites[0]}", SERVICE_ADMIN_TOKEN=TOKEN).stdout.decode().splitlines()
    assert table[0].split() == [
        "SITE",
        "MACHINE",
        "STATE",
        "SINCE",
        "HEARD",
        "LAST",
        "STEP",
        "STARTS",
        "GROUP",
        "MESSAGE",
    ]
    assert [line.split()[:3] for line in table[1:3]] == [
        [sites[0], "installed", "installed"],
        [sites[0], "stuck", "installing,"],
    ]


def written(directory: Path, number: int) -> Path:
    """A directory of documents whose machines are the same at each site but for one."""
    names = f"# answer: member installed stuck only-at-{number}\n"
    write_tree(directory, {"groups/g.ipxe": f"#!ipxe\n# answer: once\n{names}kernel vmlinuz {{{{ report }}}}\n"})
    return directory


def test_machines_that_are_only_in_a_table_are_new_on_the_command_line(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    table = {"inventory.csv": "id,mac\npc-01,52:54:00:00:00:01\npc-02,52:54:00:00:00:02\n"}
    serving(table, SERVICE_STATE_PATH=tmp_path / "state.db").stop()
    settings: dict[str, Any] = {
        "SERVICE_ANSWERS_DIR": tmp_path / "answers",
        "SERVICE_STATE_PATH": tmp_path / "state.db",
    }
    assert run("arm", "pc-02", **settings).returncode == 0
    listed = run("installs", "--state", "new", **settings).stdout.decode()
    assert [line.split()[0] for line in listed.splitlines()[1:-1]] == ["pc-01"]
    assert listed.splitlines()[-1] == "1 machine: 1 new"
    assert run("arm", "--state", "new", **settings).stdout.decode() == "pc-01 armed\n"


RACKS = {
    "inventory.csv": "id,mac,rack\n" + "".join(f"cn{n:02},52:54:00:00:00:{n:02x},R{n // 10}\n" for n in range(1, 25)),
    "groups/nodes.ipxe": "#!ipxe\n# answer: match rack=R*\n# answer: once\nkernel vmlinuz {{ report }}\n",
}


@pytest.mark.parametrize("kind", ["files", "sqlite"])
def test_a_rack_is_ordered_listed_and_waited_for_by_one_choice(
    serving: Callable[..., Service], tmp_path: Path, kind: str
) -> None:
    settings: dict[str, Any] = {
        "SERVICE_ANSWERS_DIR": tmp_path / "answers",
        "SERVICE_STATE_PATH": tmp_path / "state.db",
    }
    serving(RACKS, **settings).stop()
    if kind == "sqlite":
        settings = {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": tmp_path / "answers.db"}
        assert run("import", str(tmp_path / "answers"), **settings).returncode == 0

    def listed(*options: str) -> list[str]:
        return [
            one["machine"] for one in json.loads(run("installs", "--json", *options, **settings).stdout)["installs"]
        ]

    assert run("disarm", "--where", "rack=R1", **settings).returncode == 0
    rack = [f"cn{n}" for n in range(10, 20)]
    assert listed() == listed("--state", "installed") == rack
    assert listed("--where", "rack=R0") == [f"cn{n:02}" for n in range(1, 10)]
    assert listed("cn[08-11]", "cn2?") == [*listed("cn[08-11]"), *[f"cn{n}" for n in range(20, 25)]]
    assert listed("--group", "nodes", "--state", "installed", "cn1[0-3]") == rack[:4]
    ordered = run("arm", "--state", "installed", "cn[08-11]", **settings)
    assert ordered.stdout.decode().splitlines() == ["cn10 armed", "cn11 armed"]
    assert run("wait", "--where", "rack=R1", "--state", "installed", "--timeout", "1", **settings).returncode == 0
    late = run("wait", "--where", "rack=R1", "--timeout", "0.1s", **settings)
    assert (late.returncode, late.stderr.decode().count("is armed")) == (3, 2)
    assert run("forget", "cn[10-99]", **settings).returncode == 1  # some are not there, and the others are done
    assert listed() == []


def test_several_machines_of_which_one_is_installed_are_armed_on_a_terminal_after_a_question(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    settings: dict[str, Any] = {
        "SERVICE_ANSWERS_DIR": tmp_path / "answers",
        "SERVICE_STATE_PATH": tmp_path / "state.db",
    }
    serving(RACKS, **settings).stop()
    assert run("disarm", "cn01", "cn02", **settings).returncode == 0

    def armed(*arguments: str, reply: bytes = b"") -> tuple[int, bytes]:
        ours, theirs = new_terminal()
        line = [*PROGRAM, "arm", *arguments]
        environ = environment(**settings) | {"PYTHONPATH": str(CHECKOUT)}
        with killed_at_last(subprocess.Popen(line, env=environ, stdin=theirs, stdout=theirs, stderr=theirs)) as asking:
            os.close(theirs)
            said = read_until(ours, b"[y/N] ") if reply else b""
            os.write(ours, reply)
            said += read_until(ours, None)
            status = asking.wait(60)
        os.close(ours)
        return status, said

    status, said = armed("cn0[1-3]", reply=b"\n")
    assert (status, b"3 machines (1 new, 2 installed)" in said, b"nothing was armed" in said) == (1, True, True)
    assert b"[y/N]" not in armed("cn01")[1], "one machine is what was typed"
    assert b"[y/N]" not in armed("cn01", "cn03")[1], "neither was installed"
    assert armed("cn0[1-3]", reply=b"y\n")[0] == 0
    assert run("disarm", "cn0[1-3]", **settings).returncode == 0
    assert b"[y/N]" not in armed("--yes", "cn0[1-3]")[1]


@pytest.mark.parametrize(
    ("command", "status", "words"),
    [
        (["arm"], 2, "choose them"),
        (["forget"], 2, "choose them"),
        (["arm", "--where", "rack=R7"], 1, "no such machine"),
        (["disarm", "--state", "failed"], 1, "no such machine"),
        (["wait", "--where", "rack=R7"], 2, "no such machine"),
        (["arm", "--where", "rak=R1"], 2, "did you mean rack"),
        (["wait", "cn[1-"], 2, "bracket"),
        (["installs", "--state", "broken"], 2, "is no state"),
        (["installs", "--group", "nothing"], 1, "no group"),
        (["installs", "cn01", "cn99"], 1, "cn99: no record"),
        (["installs", "--where", "rack=R7"], 0, ""),
    ],
)
def test_a_choice_of_nobody_is_an_error_of_a_command_that_acts(
    serving: Callable[..., Service], tmp_path: Path, command: list[str], status: int, words: str
) -> None:
    settings: dict[str, Any] = {
        "SERVICE_ANSWERS_DIR": tmp_path / "answers",
        "SERVICE_STATE_PATH": tmp_path / "state.db",
    }
    serving(RACKS, **settings).stop()
    ended = run(*command, **settings)
    assert (ended.returncode, words in ended.stderr.decode()) == (status, True), ended.stderr


def test_the_admin_api_and_sites_choose_machines_as_the_command_line_does(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    write_tree(tmp_path / "racks", RACKS)
    settings: dict[str, Any] = {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": tmp_path / "answers.db"}
    run("import", str(tmp_path / "racks"), **settings)
    service = serving(None, **settings, SERVICE_ADMIN_ADDR="127.0.0.1:0", SERVICE_ADMIN_TOKEN=TOKEN)

    def asked(method: str, query: str) -> tuple[int, Any]:
        reply = service.ask_admin(method, f"/installs?{query}", Authorization=f"Bearer {TOKEN}")
        return reply.status, json.loads(reply.body)

    def names(query: str) -> list[str]:
        status, found = asked("GET", query)
        assert status == 200
        return [one["machine"] for one in found["installs"]]

    assert names("") == []
    assert names("where=rack=R2") == [f"cn{n}" for n in range(20, 25)]
    assert names("where=rack%3DR1&where=rack=R2&machine=cn[18-21]&machine=cn01") == ["cn18", "cn19", "cn20", "cn21"]
    assert names("machine=cn2*&limit=2&after=cn21") == ["cn22", "cn23"]
    assert names("machine=nobody") == []
    status, done = asked("POST", "order=disarm&where=rack=R2&machine=cn[23-26]")
    assert (status, done["unknown"]) == (200, ["cn25", "cn26"])
    assert [(one["machine"], one["state"]) for one in done["installs"]] == [
        ("cn23", "installed"),
        ("cn24", "installed"),
    ]
    status, done = asked("POST", "order=arm&group=nodes&state=installed")
    assert [(one["machine"], one["state"], one["still_refused"]) for one in done["installs"]] == [
        ("cn23", "armed", None),
        ("cn24", "armed", None),
    ]
    for query, expected in {
        "": 400,
        "order=arm": 400,
        "order=break&machine=cn01": 400,
        "order=arm&where=rak=R1": 400,
        "order=arm&machine=cn[1-": 400,
        "order=arm&state=broken": 400,
        "order=arm&group=nothing": 404,
        "order=arm&where=rack=R7": 404,
        "order=arm&machine=nobody": 404,
        "order=arm&order=arm&machine=cn01": 400,
    }.items():
        assert asked("POST", query)[0] == expected, query
    assert names("state=armed") == ["cn23", "cn24"]
    assert service.admin is not None
    sites = ["--from", f"http://127.0.0.1:{service.admin[1]}"]
    found = run(
        "installs", "--json", *sites, "--where", "rack=R2", "--where", "rack=R1", "cn2[0-3]", SERVICE_ADMIN_TOKEN=TOKEN
    )
    assert [one["machine"] for one in json.loads(found.stdout)["installs"]] == ["cn20", "cn21", "cn22", "cn23"]
    refused = run("installs", *sites, "--where", "rak=R2", SERVICE_ADMIN_TOKEN=TOKEN)
    assert (refused.returncode, "did you mean rack" in refused.stderr.decode()) == (1, True)


def reported(service: Service, name: str, word: str, message: str = "") -> None:
    """Let a machine ask for its script and report."""
    report = url_in(service.send(sent("GET", f"/ipxe/{name}")).text)
    assert service.post(f"{report}/{word}", message.encode()).status == 200


def test_a_wait_ends_when_every_machine_is_done_and_counts_them(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    settings: dict[str, Any] = {
        "SERVICE_ANSWERS_DIR": tmp_path / "answers",
        "SERVICE_STATE_PATH": tmp_path / "state.db",
        "SERVICE_INSTALL_STARTS": 2,
    }
    service = serving(RACKS, **settings)

    def waited(*options: str) -> tuple[int, str, str]:
        ended = run("wait", "cn0[1-4]", *options, **settings)
        return ended.returncode, ended.stdout.decode(), ended.stderr.decode()

    for name in ("cn01", "cn02"):
        reported(service, name, "installed")
    reported(service, "cn03", "failed", "no disk: /dev/sda")
    status, out, err = waited("--timeout", "0.2s", "--grace", "1h")
    assert (status, out) == (3, "4 machines: 1 new, 2 installed, 1 failed\n")
    assert "cn03 is failed: no disk: /dev/sda\n" in err
    assert "cn04 is new" in err
    assert waited("--fail-fast")[:2] == (1, "4 machines: 1 new, 2 installed, 1 failed\n")
    assert waited("--timeout", "0.2s", "--grace", "0")[0] == 3  # one has not begun
    reported(service, "cn04", "failed")
    assert waited("--grace", "0.1s")[:2] == (1, "4 machines: 2 installed, 2 failed\n")
    reported(service, "cn03", "failed")  # the last start that it had
    reported(service, "cn04", "installed")
    assert waited()[:2] == (1, "4 machines: 3 installed, 1 exhausted\n")  # without grace: nothing begins again
    assert run("arm", "cn03", **settings).returncode == 0
    reported(service, "cn03", "installed")
    assert waited() == (0, "4 machines: 4 installed\n", f"# store: files:{tmp_path / 'answers'}, 2 documents\n")


def test_a_machine_that_begins_again_within_its_grace_is_waited_for(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    settings: dict[str, Any] = {
        "SERVICE_ANSWERS_DIR": tmp_path / "answers",
        "SERVICE_STATE_PATH": tmp_path / "state.db",
    }
    service = serving(RACKS, **settings)
    reported(service, "cn01", "failed", "no disk")
    with ThreadPoolExecutor(1) as beside:
        waiting = beside.submit(run, "wait", "cn01", "--grace", "1h", "--timeout", f"{PATIENCE}s", **settings)
        reported(service, "cn01", "installed")
        ended = waiting.result(PATIENCE)
    assert (ended.returncode, ended.stdout) == (0, b"1 machine: 1 installed\n")


def test_how_far_racks_are_is_said_by_command_api_and_metrics(serving: Callable[..., Service], tmp_path: Path) -> None:
    table = RACKS["inventory.csv"].replace("rack\n", "rack,root_password\n").replace("R1\n", "R1,hunter22\n")
    write_tree(tmp_path / "racks", {**RACKS, "inventory.csv": table})
    (tmp_path / "tokens").write_text(
        f"grafana read {hash_of(b'reader-0123456789')}\nnight operate {hash_of(b'operator-0123456789')}\n"
    )
    settings: dict[str, Any] = {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": tmp_path / "answers.db"}
    run("import", str(tmp_path / "racks"), **settings)
    served = {"SERVICE_ADMIN_ADDR": "127.0.0.1:0", "SERVICE_TOKENS_FILE": tmp_path / "tokens"}
    service = serving(None, **settings, **served, SERVICE_ADMIN_TOKEN=TOKEN)
    reported(service, "cn10", "installed")
    reported(service, "cn21", "failed")

    def asked(target: str, token: str = TOKEN) -> Reply:
        return service.ask_admin("GET", target, Authorization=f"Bearer {token}")

    expected = {
        "by": "rack",
        "summary": [
            {"value": "R0", "machines": 9, "silent": 0, "states": {"new": 9}},
            {"value": "R1", "machines": 10, "silent": 0, "states": {"new": 9, "installed": 1}},
            {"value": "R2", "machines": 5, "silent": 0, "states": {"new": 4, "failed": 1}},
        ],
        "total": {"machines": 24, "silent": 0, "states": {"new": 22, "installed": 1, "failed": 1}},
    }
    assert json.loads(asked("/summary?by=rack").body) == expected
    assert json.loads(run("installs", "--summary", "rack", "--json", **settings).stdout) == expected
    lines = [line.split() for line in run("installs", "--summary", "rack", **settings).stdout.decode().splitlines()]
    assert lines[0] == ["RACK", "MACHINES", "NEW", "INSTALLED", "FAILED", "SILENT"]
    assert lines[-1] == ["total", "24", "22", "1", "1", "0"]
    assert json.loads(asked("/summary?by=rack&where=rack=R2&state=failed").body)["total"]["machines"] == 1
    for query in ("", "?by=", "?by=rak", "?by=rack&by=id", "?by=rack&state=broken"):
        assert asked(f"/summary{query}").status == 400, query
    assert asked("/summary?by=rack&group=nothing").status == 404
    found = {
        (sample.labels["value"], sample.labels["state"]): sample.value
        for family in text_string_to_metric_families(asked("/metrics?by=rack").text)
        for sample in family.samples
        if sample.name == "answerd_installs_by"
    }
    assert (found["R1", "installed"], found["R1", "new"], found["R2", "failed"]) == (1, 9, 1)
    assert "answerd_installs_by" not in asked("/metrics").text
    assert asked("/metrics?by=rak").status == 400
    for target in ("/summary?by=root_password", "/metrics?by=root_password"):
        assert "hunter22" in asked(target).text
    assert len(json.loads(asked("/installs?where=root_password=hunter*").body)["installs"]) == 10
    for target in (
        "/summary?by=root_password",
        "/summary?by=rack&where=ROOT_PASSWORD=h*",
        "/metrics?by=root_password",
        "/installs?where=root_password=h*",
        "/installs?where=rack=R1&where=root_password=x*",
    ):
        shown = asked(target, "reader-0123456789")
        assert (shown.status, "root_password is named like a secret" in shown.text) == (403, True), target
    refused = service.ask_admin(
        "POST", "/installs?order=arm&where=root_password=h*", Authorization="Bearer operator-0123456789"
    )
    assert refused.status == 403
