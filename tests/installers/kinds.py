"""A lab of machines of every kind: its documents in any version, and what each kind's installer asks and reports.

Every document of version 7 says `V7E`, and so does each row of the inventory: an answer that says two versions is made
of two. What installers send is in tests/http/test_clients.py, byte for byte; here it is enough to be recognised.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MARKS = "ID{{ id }}E V{{ version }}E"
"""What the inventory says in an answer."""


def _text(kind: str, version: int, *, first: str = "") -> str:
    return (
        f"{first}# answer: match kind={kind}\n# answer: once\nown {kind} {MARKS} V{version}E\nreport {{{{ report }}}}\n"
    )


def _mapping(kind: str, version: int, **more: Any) -> dict[str, Any]:
    own = {"match": {"kind": kind}, "once": True, "own": f"{kind} {MARKS} V{version}E", "report": "{{ report }}"}
    return own | more


def _toml(kind: str, version: int) -> str:
    made = _mapping(kind, version)
    return f'match = {{ kind = "{kind}" }}\nonce = true\n[global]\nown = "{made["own"]}"\nreport = "{made["report"]}"\n'


def _json(kind: str, version: int) -> str:
    return json.dumps(_mapping(kind, version))


def _yaml(kind: str, version: int) -> str:
    return f"#cloud-config\n{_json(kind, version)}\n"


def _ignition(kind: str, version: int) -> str:
    return json.dumps(_mapping(kind, version, ignition={"version": "3.3.0"}))


def _xml(kind: str, version: int) -> str:
    rule = f'<answer-meta once="true"><match kind="{kind}"/></answer-meta>'
    return f"<a>{rule}<own>{kind} {MARKS} V{version}E</own><report>{{{{ report }}}}</report></a>"


@dataclass(frozen=True)
class Kind:
    """One kind of installer. ``asks`` are its requests, of which the last holds the report's URL."""

    name: str
    extension: str
    document: Callable[[str, int], str]
    asks: Callable[[Machine], list[Sent]]
    reports: Callable[[Machine], list[Sent]]


@dataclass(frozen=True)
class Sent:
    """A request: ``path`` below the service, or behind the report's URL."""

    path: str
    body: bytes | None = None
    headers: tuple[str, ...] = ()

    def bytes_for(self, host: str, base: str = "") -> bytes:
        """The request as it is sent to a host."""
        method = "GET" if self.body is None else "POST"
        lines = [f"{method} {base}{self.path} HTTP/1.1", f"Host: {host}", *self.headers]
        if self.body is not None:
            lines.append(f"Content-Length: {len(self.body)}")
        return "\r\n".join([*lines, "", ""]).encode() + (self.body or b"")


@dataclass(frozen=True)
class Machine:
    """A machine by its number, from 1."""

    number: int

    @property
    def kind(self) -> Kind:
        """Its kind: they take turns."""
        return KINDS[self.number % len(KINDS)]

    @property
    def name(self) -> str:
        """Its id in the inventory."""
        return f"node-{self.number:03}"

    @property
    def mac(self) -> str:
        """Of its card. The first half is a manufacturer's: such an address names a machine."""
        return f"00:00:5e:00:{self.number >> 8:02x}:{self.number & 255:02x}"

    @property
    def serial(self) -> str:
        """Its serial number."""
        return f"LABSN{self.number:05}"

    @property
    def uuid(self) -> str:
        """Of its mainboard. Two machines with one would share their states."""
        return f"12345678-1234-5678-9abc-{self.mac.replace(':', '')}"

    @property
    def breaks_first(self) -> bool:
        """Whether its first installation fails and is reported so."""
        return self.number % 10 == 0


def _asks(*paths: str) -> Callable[[Machine], list[Sent]]:
    return lambda machine: [
        Sent(path.format(mac=machine.mac, dashes=machine.mac.replace(":", "-"), uuid=machine.uuid)) for path in paths
    ]


def _proxmox(machine: Machine) -> list[Sent]:
    body = {"network_interfaces": [{"mac": machine.mac.upper()}], "dmi": {"system": {"serial": machine.serial}}}
    return [Sent("/proxmox", json.dumps(body).encode(), ("Content-Type: application/json",))]


def _anaconda(machine: Machine) -> list[Sent]:
    return [
        Sent(
            "/ks", None, (f"X-RHN-Provisioning-MAC-0: eno0 {machine.mac}", f"X-System-Serial-Number: {machine.serial}")
        )
    ]


def _said(*words: str) -> Callable[[Machine], list[Sent]]:
    return lambda machine: [Sent(f"/{word}", b"") for word in words]


def _webhook(machine: Machine) -> list[Sent]:
    body = {
        "$schema": {"version": "1.2"},
        "product": {"fullname": "Proxmox VE", "short": "pve", "version": "9.2.1"},
        "fqdn": f"{machine.name}.example.org",
        "machine-id": "9f0c",
        "disks": [],
        "network-interfaces": [{"name": "eno1", "mac": machine.mac}],
        "debian-version": "13.1",
    }
    return [Sent("", json.dumps(body).encode(), ("Content-Type: application/json; charset=utf-8",))]


def _event(name: str, kind: str, **more: str) -> Sent:
    body = {"name": name, "description": "", "event_type": kind, "origin": "curtin", "timestamp": 1, **more}
    return Sent("", json.dumps(body).encode(), ("Content-Type: application/json",))


def _events(machine: Machine) -> list[Sent]:
    finish = _event("subiquity/Install/install", "finish", result="SUCCESS")
    return [_event("subiquity/Install/install", "start"), finish, _event("subiquity/Shutdown/shutdown", "start")]


def _phone_home(machine: Machine) -> list[Sent]:
    form = f"pub_key_rsa=N%2FA&instance_id=iid-1&hostname={machine.name}&fqdn={machine.name}.example.org"
    return [Sent("", form.encode(), ("Content-Type: application/x-www-form-urlencoded",))]


NOCLOUD = tuple(f"/ubuntu/{{dashes}}/{file}" for file in ("meta-data", "vendor-data", "user-data"))

KINDS = (
    Kind("proxmox", "toml", _toml, _proxmox, _webhook),
    Kind("debian", "preseed", _text, _asks("/debian/preseed?mac={mac}"), _said("progress", "installed")),
    Kind("anaconda", "ks", _text, _anaconda, _said("progress", "installed")),
    Kind("subiquity", "yaml", _yaml, _asks(*NOCLOUD), _events),
    Kind("cloud", "yaml", _yaml, _asks(*NOCLOUD), _phone_home),
    Kind("ignition", "ign", _ignition, _asks("/ignition?mac={mac}"), _said("installed")),
    Kind("autoyast", "autoyast", _xml, _asks("/autoyast?mac={mac}"), _said("copied", "installed")),
    Kind("agama", "json", _json, _asks("/json/agama?mac={mac}"), _said("installed")),
    Kind("windows", "unattend", _xml, _asks("/windows/unattend.xml?mac={mac}"), _said("copied", "installed")),
    Kind("openbsd", "cfg", _text, _asks("/cfg/{mac}-install.conf"), _said("installed")),
    Kind("xenserver", "xml", _xml, _asks("/xml/answer?mac={mac}"), _said("progress", "installed")),
    Kind("talos", "yml", _yaml, _asks("/yaml/talos?code=&hostname=&mac={mac}&uuid={uuid}"), _said("installed")),
)


def lab(machines: list[Machine], version: int) -> list[dict[str, str]]:
    """Every document of a version, as `POST /apply` takes them."""
    header = "id,mac,serial,kind,version\n"
    rows = "".join(
        f"{machine.name},{machine.mac},{machine.serial},{machine.kind.name},{version}\n" for machine in machines
    )
    documents = [{"kind": "inventory", "identifier": "default", "format": "csv", "text": header + rows}]
    for kind in KINDS:
        loader = (
            _text(kind.name, version, first="#!ipxe\n").replace("\nown ", "\necho own ").replace("\nreport ", "\necho ")
        )
        for extension, text in (("ipxe", loader), (kind.extension, kind.document(kind.name, version))):
            documents.append({"kind": "group", "identifier": kind.name, "format": extension, "text": text})
    return [*documents, {"kind": "default", "format": "ipxe", "text": "#!ipxe\nexit 1\n"}]
