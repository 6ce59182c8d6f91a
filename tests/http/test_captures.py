"""Captured requests and their replay (docs/captures.md), with what real installers send."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from answerd import captures
from answerd.cli import main
from tests.support.replies import Reply, request_bytes
from tests.support.service import Service, environment, run, write_tree
from tests.support.waiting import wait_until

Serving = Callable[..., Service]

WRITTEN_SECONDS = 90.0
PROXMOX_BODY = (
    '{"$schema":{"version":"1.0"},"product":{"fullname":"Proxmox VE","product":"pve","enable_btrfs":true},'
    '"iso":{"release":"8.0","isorelease":"2"},"dmi":{"baseboard":{"serial":"BS-7","name":"X11","asset_tag":"Asset-9"},'
    '"chassis":{"sku":"CSKU","asset_tag":"ChassisAsset","serial":"CH-1"},"system":{"sku":"SKU-1",'
    '"serial":"SN\\"x/../é","uuid":"12345678-1234-5678-9abc-def012345678","name":"Blade 9000 & Co"}},'
    '"network_interfaces":[{"link":"eno0","mac":"52:54:00:AB:CD:EF"},{"link":"eno1","mac":"52:54:00:AB:CD:F0"}]}'
).encode()


def raw(head: str, body: bytes = b"") -> bytes:
    return "\r\n".join(head.strip().split("\n")).encode("latin-1") + b"\r\n\r\n" + body


CLIENTS = {
    "iPXE of 2019": raw(
        "GET /boot.ipxe?mac=52%3A54%3A00%3Aab%3Acd%3Aef HTTP/1.1\nConnection: keep-alive\n"
        "User-Agent: iPXE/1.0.0+git-20190125.36a4c85-5.1\nHost: 10.0.2.2:18081"
    ),
    "iPXE": raw("GET /boot.ipxe?mac=52:54:00:ab:cd:ef&undef=&product=Blade%209000%20%26%20Co HTTP/1.1\nHost: a"),
    "iPXE, & left raw": raw("GET /boot.ipxe?mac=52-54-00-ab-cd-ef&product=Blade%209000%20&%20Co+x HTTP/1.1\nHost: a"),
    "iPXE, raw path": raw("GET /../../etc/x?mac=52:54:00:ab:cd:ef HTTP/1.1\nHost: a"),
    "iPXE, escaped path": raw("GET /%2e%2e/boot%2fx?mac=52:54:00:ab:cd:ef HTTP/1.1\nHost: a"),
    "iPXE params": raw(
        "POST /ipxe HTTP/1.1\nHost: a\nContent-Type: application/x-www-form-urlencoded\nContent-Length: 72",
        b"mac=52%3A54%3A00%3Aab%3Acd%3Aef&serial=X&product=Blade%209000%20%26%20Co",
    ),
    "debian-installer": raw(
        "GET /debian/preseed?mac=52:54:00:ab:cd:ef&serial=SN-TEST-001 HTTP/1.1\nHost: 10.0.2.2:18082\n"
        "User-Agent: debian-installer\nAccept: */*\nAccept-Encoding: identity\nConnection: Keep-Alive"
    ),
    "debian-installer by itself": raw("GET /d-i/bookworm/preseed.cfg HTTP/1.1\nHost: a"),
    "cloud-init": raw(
        "GET /ubuntu/meta-data HTTP/1.1\nHost: 127.0.0.1:18085\nUser-Agent: Cloud-Init/22.4.2\n"
        "Accept-Encoding: gzip, deflate\nAccept: */*\nConnection: keep-alive"
    ),
    "cloud-init, seed with a query": raw("GET /ubuntu/?mac=52:54:00:ab:cd:ef&file=meta-data HTTP/1.1\nHost: a"),
    "cloud-init, a serial with a slash": raw("GET /ubuntu/SN/%C3%A9/user-data HTTP/1.1\nHost: a"),
    "Proxmox 9.2": raw(
        f"POST /pve/answer HTTP/1.1\naccept-encoding: gzip\ncontent-length: {len(PROXMOX_BODY)}\n"
        "user-agent: ureq/3.0.11\nhost: 127.0.0.1:18083\ncontent-type: application/json; charset=utf-8\n"
        "accept: application/json, application/toml;q=0.5",
        PROXMOX_BODY,
    ),
    "Proxmox 8, content type cut off": raw(
        f"POST /pve/answer HTTP/1.1\nhost: a\ncontent-length: {len(PROXMOX_BODY)}\n"
        "content-type: application/json; charset=utf-\naccept: */*",
        PROXMOX_BODY.replace(b"AB:CD", b"ab:cd"),
    ),
    "Anaconda": raw(
        "GET /ks?a=1 HTTP/1.1\nHost: 127.0.0.1:18087\nUser-Agent: curl/7.88.1\nAccept: */*\n"
        "X-RHN-Provisioning-MAC-0: eno0 52:54:00:ab:cd:ef\nX-RHN-Provisioning-MAC-1: eno1 52:54:00:ab:cd:f0\n"
        "X-System-Serial-Number: VMware-56 4d x"
    ),
    "Ignition": raw(
        "GET /base.ign?mac=52:54:00:ab:cd:ef HTTP/1.1\nHost: 127.0.0.1:18086\nUser-Agent: Ignition/2.26.0\n"
        "Accept: application/vnd.coreos.ignition+json;version=3.6.0, */*;q=0.1\nAccept-Encoding: identity"
    ),
    "Talos": raw("GET /talos?code=1&hostname=n&mac=52%3A54%3A00%3Aab%3Acd%3Aef&uuid=1-2 HTTP/1.1\nHost: a"),
    "AutoYaST": raw("GET /suse/rules/rules.xml HTTP/1.1\nHost: a"),
    "AutoYaST by MAC": raw("GET /suse/525400ABCDEF HTTP/1.1\nHost: a"),
    "OpenBSD": raw("GET /52:54:00:ab:cd:ef-install.conf HTTP/1.1\nHost: a"),
    "a body in chunks": raw(
        "POST /pve HTTP/1.1\nHost: a\nTransfer-Encoding: chunked",
        b'5\r\n{"a":\r\n1a\r\n["52:54:00:ab:cd:ef", 12]}\r\n0\r\n\r\n',
    ),
    "a body that is nothing": raw(
        "POST /ks HTTP/1.1\nHost: a\nContent-Length: 26", b"\x00\xff\xfe mac=52:54:00:ab:cd:ef\n"
    ),
    "HTTP/1.0": b"GET /ks?mac=52:54:00:ab:cd:ef HTTP/1.0\r\n\r\n",
    "header in latin-1": raw("GET /ks?mac=52:54:00:ab:cd:ef HTTP/1.1\nHost: a\nX-System-Serial-Number: S\xe9"),
}

ECHO = "{{ mac | default('-') }} {{ peer }} {{ serial | default('-') }} {{ path | default('-') }}"
ECHO += " {{ user_agent | default('-') }} {{ machine | default('-') }}"
FILES = {
    "525400abcdef.toml": f'a = "{ECHO.replace(chr(39), chr(92) + chr(34))}"\n',
    "525400abcdef.yaml": f'a: "{ECHO.replace(chr(39), chr(92) + chr(34))}"\n',
    "525400abcdef.ks": f"# {ECHO}\n",
    "525400abcdef.ipxe": f"#!ipxe\necho {ECHO}\n",
    "525400abcdef.preseed": f"d-i a/b string {ECHO}\n",
    "525400abcdef.autoyast": f"<a>{ECHO.replace(chr(39), chr(34))}</a>\n",
    "default.toml": "served = 'default'\n",
}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "captures"


def captured(directory: Path, count: int = 1) -> list[Path]:
    """The ``.meta`` files, once so many are written: nothing tells when but looking, and a new file is empty first."""
    until = time.monotonic() + WRITTEN_SECONDS
    while len(metas := sorted(meta for meta in directory.glob("*.meta") if meta.stat().st_size)) < count:
        assert time.monotonic() < until, f"{len(metas)} captures, not {count}"
        time.sleep(0.01)
    return metas


def replayed(meta: Path, service_answers: Path) -> tuple[int, bytes, str]:
    done = run("render", "--replay", str(meta), SERVICE_ANSWERS_DIR=service_answers)
    store, _, printed = done.stderr.decode().partition("\n")
    assert store.startswith("# store: files:")
    return done.returncode, done.stdout, printed


@dataclass(frozen=True)
class Recorded:
    """What one client was answered, and its capture. ``answers`` is what the service serves from."""

    reply: Reply
    meta: Path
    answers: Path


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Recorded]:
    """Every client's request, sent to one service."""
    answers, directory = tmp_path_factory.mktemp("answers"), tmp_path_factory.mktemp("captures")
    write_tree(answers, FILES)
    found: dict[str, Recorded] = {}
    with Service(SERVICE_ANSWERS_DIR=answers, SERVICE_CAPTURE_DIR=directory) as service:
        before: set[Path] = set()
        for name, request in CLIENTS.items():
            reply = service.send(request)
            metas = set(captured(directory, len(before) + 1))
            (meta,) = metas - before
            found[name] = Recorded(reply, meta, answers)
            before = metas
    return found


@pytest.mark.parametrize("name", CLIENTS)
def test_a_replay_answers_byte_for_byte_what_was_sent(
    recorded: dict[str, Recorded],
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    capture = recorded[name]
    for setting in os.environ.keys() - environment().keys():
        monkeypatch.delenv(setting)
    monkeypatch.setenv("SERVICE_ANSWERS_DIR", str(capture.answers))
    status = main(["render", "--replay", str(capture.meta)])
    sys.stdout.flush()
    out, err = capfdbinary.readouterr()
    store, _, printed = err.decode().partition("\n")
    assert store == f"# store: files:{capture.answers}, {len(FILES)} documents"
    if capture.reply.status == 200:
        assert (status, out) == (0, capture.reply.body)
        assert printed == f"# {captures.read(capture.meta).outcome.partition(' ')[2]}\n"
    else:
        # A header that is no valid Unicode cannot fill a placeholder.
        assert (status, capture.reply.status) == (1, 500 if name == "header in latin-1" else 404)
        assert printed == f"answerd: {capture.reply.text}"


def test_the_address_of_a_replay_is_that_of_the_request(serving: Serving, directory: Path, tmp_path: Path) -> None:
    service = serving(
        {"default.ks": "# {{ peer }}\n"}, SERVICE_CAPTURE_DIR=directory, SERVICE_TRUSTED_PROXIES="127.0.0.0/8"
    )
    reply = service.get("/ks", X_Forwarded_For="192.0.2.7")
    assert reply.text == "# 192.0.2.7\n"
    (meta,) = captured(directory)
    assert "192.0.2.7" in meta.name
    assert replayed(meta, tmp_path / "answers")[1] == reply.body


def test_tokens_are_redacted_and_a_replay_needs_none(serving: Serving, directory: Path, tmp_path: Path) -> None:
    token = "a-token-of-the-answers"
    service = serving(FILES, SERVICE_CAPTURE_DIR=directory, SERVICE_ANSWER_TOKEN=token)
    reply = service.get("/toml?x=1", Authorization=f"Bearer {token}", Cookie="session=hidden")
    assert reply.status == 200
    (meta,) = captured(directory)
    written = meta.read_text() + meta.with_suffix(".body").read_text()
    assert token not in written
    assert "hidden" not in written
    assert ["Authorization", "(redacted)"] in [
        [name.title(), value] for name, value in json.loads(meta.read_text())["headers"]
    ]
    assert replayed(meta, tmp_path / "answers")[1] == reply.body


@pytest.mark.parametrize("header", ["AUTHORIZATION", "x-auth-token", "X-Api-Key", "Proxy-authorization", "Cookie2"])
def test_a_header_that_holds_a_secret_is_redacted_however_it_is_spelled(tmp_path: Path, header: str) -> None:
    line = "GET http://user:hidden@answers.example/ks?mac=1@2 HTTP/1.1"
    capture = captures.Capture("2026-08-24T08:43:37Z", "", line, [(header, "Bearer hidden"), ("Host", "a")], b"", "200")
    meta = captures.write(tmp_path, capture)
    assert "hidden" not in meta.read_text()
    assert captures.read(meta).request_line == "GET http://(redacted)@answers.example/ks?mac=1@2 HTTP/1.1"
    assert captures.read(meta).headers == [("Host", "a")]


def test_captures_are_for_their_owner_alone(serving: Serving, directory: Path) -> None:
    directory.mkdir(mode=0o755)
    serving(FILES, SERVICE_CAPTURE_DIR=directory).post("/toml", b"body")
    (meta,) = captured(directory)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}
    assert meta.with_suffix(".body").read_bytes() == b"body"


def fill(directory: Path, count: int) -> None:
    """Captures of long ago, the higher numbers younger."""
    directory.mkdir()
    for number in range(count):
        for suffix in ("body", "meta"):
            file = directory / f"2020-01-01T000000Z-192.0.2.1-{number}.{suffix}"
            file.touch()
            os.utime(file, (number, number))


def test_of_a_full_directory_the_oldest_goes(serving: Serving, directory: Path) -> None:
    fill(directory, captures.MOST_CAPTURES)
    service = serving(FILES, SERVICE_CAPTURE_DIR=directory)
    for asked in range(3):
        assert service.get(f"/toml?asked={asked}").status == 200
        service.wait_for_log(rf"asked={asked} ")
    service.stop()
    requests = [
        capture.request_line for _, capture in captures.newest_first(directory) if isinstance(capture, captures.Capture)
    ]
    assert len(requests) == 3
    old = {int(file.stem.rpartition("-")[2]) for file in directory.glob("2020-*")}
    assert old == set(range(3, captures.MOST_CAPTURES))
    assert len(list(directory.iterdir())) == 2 * captures.MOST_CAPTURES


def test_of_a_full_directory_goes_a_body_alone_and_nothing_that_is_no_capture(tmp_path: Path) -> None:
    directory = tmp_path / "captures"
    fill(directory, captures.MOST_CAPTURES - 1)
    oldest = "2019-01-01T000000Z-192.0.2.1-1"
    alone, *others = [directory / name for name in (f"{oldest}.body", f"{oldest}.txt", oldest, "0-notes.body")]
    for file in (alone, *others):
        file.touch()
    written = captures.write(directory, captures.Capture("2026-08-24T08:43:37Z", "192.0.2.7", "", [], b"", "200"))
    assert not alone.exists()
    assert all(file.exists() for file in (*others, written))
    assert len([*directory.glob("*.meta")]) == captures.MOST_CAPTURES


def test_several_processes_never_write_one_too_many(tmp_path: Path) -> None:
    """Three at once into a directory that has room for ten; a fourth looks all the while."""
    directory = tmp_path / "captures"
    fill(directory, captures.MOST_CAPTURES - 10)
    write = (
        "import sys; from pathlib import Path; from answerd.captures import Capture, write\n"
        "directory = Path(sys.argv[1])\n"
        "for number in range(150):\n"
        "    write(directory, Capture('2026-08-24T08:43:37Z', '192.0.2.7', 'GET / HTTP/1.1', [], b'x', '200'))\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", write, str(directory)]) for _ in range(3)]
    most = 0
    handle = os.open(directory, os.O_RDONLY)
    while any(writer.poll() is None for writer in writers):
        fcntl.flock(handle, fcntl.LOCK_EX)  # a listing is no snapshot of what changes meanwhile
        most = max(most, sum(name.endswith(".meta") for name in os.listdir(directory)))
        fcntl.flock(handle, fcntl.LOCK_UN)
        time.sleep(0.002)  # else the writers hardly get the lock
    os.close(handle)
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    assert most <= captures.MOST_CAPTURES
    assert len(list(directory.glob("*.meta"))) == captures.MOST_CAPTURES
    assert len(list(directory.glob("2026-*.meta"))) == 450


def test_a_process_that_holds_the_directory_costs_captures_and_no_answer(serving: Serving, directory: Path) -> None:
    service = serving(FILES, SERVICE_CAPTURE_DIR=directory)
    held = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        body = b'{"serial": "' + b"x" * 40_000 + b'"}'  # read in a thread, as large bodies are
        assert {service.post("/toml", body).status for _ in range(30)} == {200}
        assert list(directory.glob("*.meta")) == []
    finally:
        os.close(held)
    assert len(captured(directory, 30)) == 30


def test_a_directory_that_cannot_be_written_costs_no_answer(serving: Serving, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    service = serving(FILES, SERVICE_CAPTURE_DIR=tmp_path / "file" / "captures")
    service.wait_for_log(r"capture: .*file")
    assert [service.get("/toml").status for _ in range(3)] == [200, 200, 200]


def test_a_directory_that_vanishes_costs_no_answer(serving: Serving, directory: Path) -> None:
    service = serving(FILES, SERVICE_CAPTURE_DIR=directory)
    wait_until(directory.is_dir)
    directory.rmdir()
    assert service.get("/toml").status == 200
    service.wait_for_log(r"capture: .*No such file")
    assert service.get("/toml").status == 200


def test_health_leaves_nothing(serving: Serving, directory: Path) -> None:
    service = serving(FILES, SERVICE_CAPTURE_DIR=directory)
    service.get("/health")
    service.get("/toml")
    (meta,) = captured(directory)
    assert captures.read(meta).outcome.startswith("200 ")


def test_captures_are_listed_newest_first_with_identity_and_outcome(serving: Serving, directory: Path) -> None:
    service = serving(FILES, SERVICE_CAPTURE_DIR=directory)
    service.get("/toml?mac=52:54:00:ab:cd:ef")
    captured(directory, 1)
    service.get("/ipxe?serial=S-1%1b")
    captured(directory, 2)
    listed = run("captures", SERVICE_CAPTURE_DIR=directory).stdout.decode().splitlines()
    assert len(listed) == 2
    assert "serial=S-1\\x1b" in listed[0]
    assert " 404 " in listed[0]
    assert "mac=52:54:00:ab:cd:ef" in listed[1]
    assert " 200 format=toml machine=525400abcdef " in listed[1]
    printed = json.loads(run("captures", "--json", SERVICE_CAPTURE_DIR=directory).stdout)["captures"]
    assert [capture["outcome"][:3] for capture in printed] == ["404", "200"]
    assert set(printed[0]) == {"file", "time", "peer", "identity", "request", "outcome"}


def meta_of(**keys: Any) -> str:
    """A ``.meta`` of an empty body, some of its keys otherwise."""
    sound = {"time": "2026-08-24T08:43:37Z", "peer": "192.0.2.7", "request": "GET / HTTP/1.1", "headers": []}
    return json.dumps({**sound, "body_bytes": 0, "outcome": "200", **keys})


@pytest.mark.parametrize(
    ("meta", "said"),
    [
        pytest.param("{", "is no capture", id="no JSON"),
        pytest.param('{"time": "x"}', "is no capture", id="keys are missing"),
        pytest.param("[" * 100_000, "is no capture", id="nested too deeply"),
        pytest.param("[]", "is no capture", id="a list"),
        pytest.param(meta_of(peer=2), "is no capture", id="a peer that is a number"),
        pytest.param(meta_of(time=None), "is no capture", id="no time"),
        pytest.param(meta_of(request=["GET / HTTP/1.1"]), "is no capture", id="a request that is a list"),
        pytest.param(meta_of(request="GET /\u20ac HTTP/1.1"), "is no capture", id="a request that was never bytes"),
        pytest.param(meta_of(request="GET /"), "is no request line", id="no version"),
        pytest.param(meta_of(request="\x1b[31m"), "is no request line", id="a request that a terminal obeys"),
        pytest.param(meta_of(outcome="\ud800"), "is no capture", id="a lone surrogate"),
        pytest.param(meta_of(headers=5), "is no capture", id="headers that are a number"),
        pytest.param(meta_of(headers=["ab"]), "", id="headers that are texts of two"),
        pytest.param(meta_of(headers=[["a", {}]]), "is no capture", id="a header that is a map"),
        pytest.param(meta_of(headers=[["a", "b", "c"]]), "is no capture", id="a header of three"),
        pytest.param(meta_of(body_bytes="0"), "is no capture", id="a size that is a text"),
        pytest.param(meta_of(body_bytes=True), "is no capture", id="a size that is a truth"),
        pytest.param(meta_of(body_bytes=-1), "holds 0 bytes", id="a size below nothing"),
        pytest.param(meta_of(outcome="x" * 2_000_000), "larger than", id="huge"),
        pytest.param(None, "cannot be read", id="no file"),
    ],
)
def test_what_is_no_capture_is_refused_in_one_line(tmp_path: Path, meta: str | None, said: str) -> None:
    file = tmp_path / "a.meta"
    if meta is not None:
        file.write_text(meta)
        file.with_suffix(".body").write_bytes(b"")
    done = run("render", "--replay", str(file), SERVICE_ANSWERS_DIR=tmp_path)
    assert done.returncode == (2 if meta is None else 1)
    assert said in done.stderr.decode()
    assert len([line for line in done.stderr.splitlines() if not line.startswith(b"# store: ")]) == 1
    assert b"\x1b" not in done.stderr


def test_a_replay_of_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.meta")
    (tmp_path / "b.meta").mkdir()
    for name in ("a.meta", "b.meta", "c.body"):
        done = run("render", "--replay", str(tmp_path / name), SERVICE_ANSWERS_DIR=tmp_path)
        assert done.returncode == (2 if name == "c.body" else 1)
        assert len(done.stderr.splitlines()) == 1


def test_only_problems_are_recorded_where_that_is_asked_for(serving: Serving, directory: Path) -> None:
    service = serving(FILES, SERVICE_CAPTURE_DIR=directory, SERVICE_CAPTURE="problems")
    assert [service.get(path).status for path in ("/toml", "/xml", "/toml")] == [200, 404, 200]
    service.stop()
    (meta,) = directory.glob("*.meta")
    assert captures.read(meta).request.path == "/xml"


def test_a_body_that_was_cut_off_is_told(serving: Serving, directory: Path) -> None:
    serving(FILES, SERVICE_CAPTURE_DIR=directory).post("/toml", b"whole body")
    (meta,) = captured(directory)
    meta.with_suffix(".body").write_bytes(b"whole")
    done = run("render", "--replay", str(meta))
    assert b"holds 5 bytes" in done.stderr


def test_captures_without_the_setting_say_so() -> None:
    done = run("captures")
    assert done.returncode == 1
    assert b"SERVICE_CAPTURE_DIR is not set" in done.stderr


@pytest.mark.parametrize(
    ("method", "headers", "outcome"),
    [("GET", {}, "401 "), ("PUT", {"Authorization": "Bearer an-answer-token-of-24c"}, "405 ")],
)
def test_a_request_that_is_refused_is_captured_too(
    serving: Serving, tmp_path: Path, method: str, headers: dict[str, str], outcome: str
) -> None:
    directory = tmp_path / "captures"
    service = serving(SERVICE_CAPTURE_DIR=directory, SERVICE_ANSWER_TOKEN="an-answer-token-of-24c")
    service.send(request_bytes(method, "/pve?mac=52:54:00:ab:cd:ef", headers))
    service.get("/health")
    service.stop()
    [(_, capture)] = captures.newest_first(directory)
    assert isinstance(capture, captures.Capture)
    assert capture.outcome.startswith(outcome)
    assert all("an-answer-token" not in value for _, value in capture.headers)
