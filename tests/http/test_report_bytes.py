"""Reports as the bytes that installers put on the wire, one case for each, sent to the real program."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from answerd.installs.states import Rules
from answerd.store.states import open_state_file
from tests.support.service import Service
from tests.support.states import StateWriter

SCRIPT = "#!ipxe\n# answer: match serial=*\n# answer: once\nkernel vmlinuz report={{ report }}\n"

FORM = "Content-Type: application/x-www-form-urlencoded"
CURL = ("User-Agent: curl/7.88.1", "Accept: */*")
WGET = ("User-Agent: Wget/1.21.3", "Accept: */*", "Accept-Encoding: identity", "Connection: Keep-Alive")
BUSYBOX = ("User-Agent: Wget", "Connection: close")
CURTIN = (
    "Accept-Encoding: identity",
    "Content-Type: application/json",
    "User-Agent: Curtin/23.1.1",
    "Connection: close",
)
CLOUD_INIT = ("User-Agent: Cloud-Init/24.1", "Accept-Encoding: gzip, deflate", "Accept: */*", "Connection: keep-alive")
PROXMOX = (
    "accept-encoding: gzip",
    "user-agent: ureq/3.0.11",
    "content-type: application/json; charset=utf-8",
    "accept: */*",
)
OAUTH = (
    'Authorization: OAuth oauth_nonce="17", oauth_timestamp="1795271424", oauth_version="1.0", '
    'oauth_signature_method="PLAINTEXT", oauth_consumer_key="52-54-00", oauth_token="tk", oauth_signature="cs%26ts"'
)


class Case(NamedTuple):
    """What a client sends: a method, what follows the token, the query, headers and body; without a body there is no
    Content-Length either. ``state`` and ``message`` are the record's afterwards."""

    method: str
    after: str
    headers: tuple[str, ...]
    body: bytes | None
    state: str
    message: str | None = None


def webhook(schema: str, key: str = "$schema", **others: Any) -> bytes:
    """Proxmox' webhook, as compact as the installer writes it."""
    nic: dict[str, Any] = {"mac": "98:fa:9b:50:d8:10", "address": "192.0.2.5/24", "is-management": True}
    nic |= {"udev-properties": {"ID_NET_NAME_MAC": "enx98fa9b50d810"}}
    if schema == "1.2":
        nic["name"] = "eno1"
    body = {
        key: {"version": schema},
        "debian-version": "13.1",
        "product": {"fullname": "Proxmox VE", "short": "pve", "version": "9.2.1"},
        "iso": {"release": "9.2", "isorelease": "1"},
        "kernel-version": {"sysname": "Linux", "release": "6.14.8-2-pve", "version": "#1 SMP", "machine": "x86_64"},
        "boot-info": {"mode": "efi", "secureboot": True},
        "cpu-info": {"cores": 8, "cpus": 16, "flags": "fpu vme", "hvm": True, "model": "Xeon", "sockets": 1},
        "dmi": {"system": {"serial": "7ABC123", "uuid": "4c4c4544-0042-3510-8052-b4c04f573732", "name": "R640"}},
        "filesystem": "zfs (RAID1)",
        "fqdn": "pve1.example.org",
        "machine-id": "9f0c2a3f5be84d0fb0d1f57ac0b0d0c1",
        "disks": [{"size": 512110190592, "is-bootdisk": True, "udev-properties": {"ID_SERIAL": "S1"}}],
        "network-interfaces": [nic],
        "ssh-public-host-keys": {
            "ecdsa": "ecdsa-sha2-nistp256 AAAA",
            "ed25519": "ssh-ed25519 AAAA",
            "rsa": "ssh-rsa AAAA",
        },
    }
    return json.dumps(body | others, separators=(",", ":")).encode()


def event(name: str, kind: str, **more: str) -> bytes:
    """An event as curtin's reporter writes it: `json.dumps` with its default separators."""
    sent = {"name": name, "description": "", "event_type": kind, "origin": "curtin", "timestamp": 1795271424}
    return json.dumps(sent | {"level": "INFO"} | more).encode()


UNKNOWN_KEYS = {"ecdsa": "unknown", "ed25519": "unknown", "rsa": "unknown"}
NOT_GATHERED: dict[str, Any] = {"machine-id": "unknown", "ssh-public-host-keys": UNKNOWN_KEYS, "disks": []}
PHONE_HOME = (
    b"pub_key_rsa=ssh-rsa+AAAAB3NzaC1yc2E%3D+root%40node1%0A&pub_key_ecdsa=N%2FA&pub_key_ed25519=ssh-ed25519+AAAAC3%3D%0A"
    b"&instance_id=iid-1&hostname=node1&fqdn=node1.example.org"
)
ANACONDA_LOG = b"12:00:01,000 INF anaconda: starting\n12:00:02,000 ERR storage: no usable disks\n"

CASES = {
    "proxmox-8.2.7": Case("POST", "", PROXMOX, webhook("1.0", "$format-info"), "installed", "Proxmox VE 9.2.1"),
    "proxmox-8.3": Case("POST", "", PROXMOX, webhook("1.0"), "installed", "Proxmox VE 9.2.1"),
    "proxmox-8.4.3": Case("POST", "", PROXMOX, webhook("1.1", **{"reboot-mode": "reboot"}), "installed"),
    "proxmox-9.1": Case("POST", "", PROXMOX, webhook("1.2", **{"reboot-mode": "power-off"}), "installed"),
    "proxmox-9.2": Case("POST", "", PROXMOX, webhook("1.2", token="lab:secret"), "installed"),
    "proxmox-9.2.5": Case("POST", "", PROXMOX, webhook("1.2", **NOT_GATHERED), "installed"),
    "subiquity-begins": Case("POST", "", CURTIN, event("subiquity/Install/install", "start"), "installing"),
    "subiquity-done": Case("POST", "", CURTIN, event("subiquity/Shutdown/shutdown", "start"), "installed"),
    "subiquity-oauth": Case("POST", "", (*CURTIN, OAUTH), event("subiquity/Shutdown/shutdown", "start"), "installed"),
    "subiquity-failed": Case(
        "POST",
        "",
        CURTIN,
        b'{"name": "subiquity/Install/install", "description": "Command failed", "event_type": "finish", '
        b'"origin": "curtin", "timestamp": 1795271424, "level": "ERROR", "result": "FAIL"}',
        "failed",
        "finish subiquity/Install/install FAIL Command failed",
    ),
    "subiquity-late": Case("POST", "", CURTIN, event("subiquity/Late/run", "finish", result="FAIL"), "failed"),
    "subiquity-error": Case("POST", "", CURTIN, event("subiquity/Error/1795271424", "error"), "failed"),
    "cloud-init-events": Case(
        "POST",
        "",
        CLOUD_INIT,  # no Content-Type
        event("modules-final", "finish", origin="cloudinit", result="SUCCESS", duration="2.5"),
        "installing",
    ),
    "phone-home": Case("POST", "", (*CLOUD_INIT, FORM), PHONE_HOME, "installed", "phone_home of node1"),
    "curl-X-POST": Case("POST", "/installed", CURL, None, "installed"),
    "curl-d": Case("POST", "/failed", (*CURL, FORM), b"reason=no+disk", "failed", "no disk"),
    "curl-json": Case("POST", "", (*CURL, "Content-Type: application/json"), b'{"state": "copied"}', "copied"),
    "curl-json-said-form": Case("POST", "", (*CURL, FORM), b'{"state": "failed", "reason": "x"}', "failed", "x"),
    "curl-data-binary": Case(
        "POST", "/failed", (*CURL, FORM), ANACONDA_LOG, "failed", "12:00:01,000 INF anaconda: starting"
    ),
    "curl-get": Case("GET", "?state=installed&message=by+hand", CURL, None, "installed", "by hand"),
    "wget-post-data": Case("POST", "", (*WGET, FORM), b"state=installed&mac=52:54:00:00:00:01", "installed"),
    "wget-empty-post": Case("POST", "/installed", (*WGET, FORM), b"", "installed"),
    "busybox-wget": Case("GET", "/installed", BUSYBOX, None, "installed"),
    "busybox-wget-post": Case(
        "POST", "/progress", (*BUSYBOX, FORM), b"message=disks&percent=40", "installing", "disks"
    ),
    "powershell": Case(
        "POST",
        "",
        ("User-Agent: Mozilla/5.0 (Windows NT; Windows NT 10.0; en-US) WindowsPowerShell/5.1.20348.1", FORM),
        b"state=installed",
        "installed",
    ),
    "ipxe-imgfetch": Case("GET", "/progress?message=loader", ("User-Agent: iPXE/2.0.0",), None, "installing", "loader"),
    "openbsd-ftp": Case("GET", "/installed", ("User-Agent: OpenBSD ftp",), None, "installed"),
}


def raw(case: Case, path: str) -> bytes:
    """The request on the wire."""
    lines = [f"{case.method} {path}{case.after} HTTP/1.1", "Host: answers.example.com:8000", *case.headers]
    if case.body is not None:
        lines.append(f"Content-Length: {len(case.body)}")
    return "\r\n".join([*lines, "", ""]).encode() + (case.body or b"")


def test_every_installers_own_bytes_mean_what_the_table_says(serving: Callable[..., Service], tmp_path: Path) -> None:
    states = tmp_path / "state.db"
    service = serving({"groups/all.ipxe": SCRIPT}, SERVICE_STATE_PATH=states, SERVICE_URL="http://s:8000")
    for name, case in CASES.items():
        found = re.search(r"report=http://s:8000(/report/[\w.-]+)\n", service.get(f"/ipxe?serial={name}").text)
        assert found is not None, name
        reply = service.send(raw(case, found[1]))
        assert (reply.status, reply.text) == (200, "OK\n"), name
        sent = {header: reply.headers[header] for header in ("content-length", "connection", "cache-control")}
        assert sent == {"content-length": "3", "connection": "close", "cache-control": "no-store"}, name
    remembered = StateWriter(open_state_file(str(states), Rules())[0]).all()
    records = {name: one.record for name, one in remembered.items()}
    assert {name: records[name].state.value for name in CASES} == {name: case.state for name, case in CASES.items()}
    messages = {name: case.message for name, case in CASES.items() if case.message is not None}
    assert {name: records[name].message for name in messages} == messages
