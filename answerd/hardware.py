"""Hardware descriptions that machines and hypervisors print, as values for a row of an inventory.

Rules: docs/inventory.md#rows-from-machines.

Pure: bytes or a request in, values out. xmltodict reads the XML, which is plain data without mixed content here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from xml.parsers.expat import ExpatError

import xmltodict

from answerd.answers.secret_names import SECRET
from answerd.facts import Facts, Request
from answerd.identity import Kind, identifier_fault, identity_of, mac_digits
from answerd.inventory.records import is_formula
from answerd.inventory.row import IDENTITY_COLUMNS
from answerd.shared_values import MAC, SERIAL, UUID, is_shared

_LOCALLY_ADMINISTERED = 0x02
"""The bit of a MAC address's first octet that says that no vendor gave it."""


class NotHardwareError(Exception):
    """A text that describes no machine. The message is one sentence without the name of the file."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """The known values of one machine: texts as they were printed, empty where there are none.

    ``name`` is one that an operator gave it, where that may be a machine's identifier. ``others`` are further values by
    case-folded label, to fill columns that are there.
    """

    macs: tuple[str, ...]
    serial: str
    uuid: str
    others: Mapping[str, str]
    name: str = ""

    @property
    def cells(self) -> dict[str, str]:
        """The values by column, without those that a spreadsheet would compute."""
        own = {"id": self.name, "mac": " ".join(self.macs), "serial": self.serial, "uuid": self.uuid}
        values = {**self.others, **{column: text for column, text in own.items() if text}}
        return {column: text for column, text in values.items() if not is_formula(text)}


def hardware_of_text(text: bytes) -> Hardware:
    """Return the machine in the output of ``lshw -xml`` or ``virsh dumpxml``, or in the body of an installer's request.
    Raises `NotHardwareError`."""
    if text.lstrip().startswith(b"<"):
        return _of_xml(text)
    return hardware_of_request(Request(body=text), needs_json=True)


def hardware_of_request(request: Request, *, needs_json: bool = False) -> Hardware:
    """Return the machine that a request describes. Raises `NotHardwareError` where ``needs_json`` and the body is not
    JSON."""
    facts = Facts(request)
    body = _json(request.body)
    if body is None and needs_json:
        raise NotHardwareError("it is neither the XML of lshw or virsh nor the JSON of an installer's request")
    own = [part for part in (body, _part(body, "system"), _part(body, "dmi", "system")) if isinstance(part, dict)]

    def value(label: str) -> str:
        of_body = (part.get(label) for part in own)
        texts = of_body if body is not None else (facts.first(label),)
        return next((text for text in texts if isinstance(text, str) and text), "")

    sent = {text for _, text in facts.parameters}
    others = {label: values[0] for label, values in facts.labels.items()}
    return _hardware(
        [*facts.values("mac"), *(text for text in facts.identities.values() if text in sent or body is None)],
        value("serial") or _header_serial(facts, body),
        value("uuid"),
        others,
    )


def hardware_of_labels(labels: Mapping[str, Sequence[str]], machine: str = "") -> Hardware:
    """Return the machine that said these labels, of a JSON body also by their paths; ``machine`` is how it is known. A
    serial number or UUID of a chassis, a board or a disk is none of the machine's."""

    def value(label: str) -> str:
        of_parts = [one for name, values in labels.items() if name.endswith(f".{label}") for one in values]
        own = [one for name in (f"dmi.system.{label}", f"system.{label}") for one in labels.get(name, ())]
        own += [one for one in labels.get(label, ()) if one not in of_parts]
        return next((text for text in own if text and text != SECRET), "")

    others = {label: values[0] for label, values in labels.items() if values and values[0] != SECRET}
    return _hardware([*labels.get("mac", ()), machine], value("serial"), value("uuid"), others)


def _header_serial(facts: Facts, body: object) -> str:
    """Return the serial number in a header or the query of a request that has a JSON body."""
    if body is None:
        return ""
    request = facts.request
    bare = Request(request.path, request.query, request.headers, b"", request.peer, request.identities)
    return Facts(bare).first("serial") or ""


def _json(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _part(value: object, *keys: str) -> object:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _of_xml(text: bytes) -> Hardware:
    try:
        root: dict[str, Any] = xmltodict.parse(text)
    except (ExpatError, ValueError, RecursionError) as error:
        where = f" at line {error.lineno}" if isinstance(error, ExpatError) else ""
        raise NotHardwareError(f"it is no XML{where}") from None
    ((name, content),) = root.items()
    if name == "domain" and isinstance(content, dict):
        return _of_domain(content)
    nodes = content.get("node") if name == "list" and isinstance(content, dict) else content
    if name in ("list", "node") and nodes:
        return _of_nodes(list(_nodes(nodes)))
    raise NotHardwareError("its root element is none of lshw (list, node) or virsh (domain)")


def _of_domain(domain: Mapping[str, Any]) -> Hardware:
    interfaces = _each(_part(domain, "devices", "interface"))
    sysinfo = {
        _text(_part(entry, "@name")): _text(entry)
        for system in _each(_part(domain, "sysinfo", "system"))
        for entry in _each(_part(system, "entry"))
    }
    disks = [_text(_part(disk, "target", "@dev")) for disk in _each(_part(domain, "devices", "disk"))]
    name = _text(domain.get("name"))
    found = _hardware(
        [_text(_part(interface, "mac", "@address")) for interface in interfaces],
        sysinfo.get("serial", ""),
        _text(domain.get("uuid")) or sysinfo.get("uuid", ""),
        {
            "name": name,
            "hostname": name,
            "disks": " ".join(filter(None, disks)),
            "cpus": _text(domain.get("vcpu")),
            **{label: text for label, text in sysinfo.items() if label in ("manufacturer", "product", "version")},
        },
    )
    is_identifier = name and identifier_fault(Kind.MACHINE, name) is None
    return replace(found, name=name) if is_identifier and (found.macs or found.serial or found.uuid) else found


def _nodes(nodes: object) -> Iterator[Mapping[str, Any]]:
    """Yield every node of lshw's tree, each before those below it."""
    pending = list(reversed(list(_each(nodes))))
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            yield node
            pending += reversed(list(_each(node.get("node"))))


def _of_nodes(nodes: list[Mapping[str, Any]]) -> Hardware:
    """Return the machine of ``lshw -xml``. Its first node is the machine itself."""
    system = next((node for node in nodes if node.get("@class") == "system"), nodes[0])
    settings = {
        _text(_part(setting, "@id")): _text(_part(setting, "@value"))
        for setting in _each(_part(system, "configuration", "setting"))
    }
    networks = [node for node in nodes if node.get("@class") == "network"]
    disks = [node for node in nodes if node.get("@class") == "disk" and node.get("size")]
    vendor = _text(system.get("vendor"))
    return _hardware(
        [_text(node.get("serial")) for node in networks],
        _text(system.get("serial")),
        settings.get("uuid", ""),
        {
            "name": _text(system.get("@id")),
            "hostname": _text(system.get("@id")),
            "product": _text(system.get("product")),
            "vendor": vendor,
            "manufacturer": vendor,
            "version": _text(system.get("version")),
            "disks": " ".join(_device(node) for node in disks if _device(node)),
        },
    )


def _device(node: Mapping[str, Any]) -> str:
    """Return the name of a disk below ``/dev``; lshw prints several where the disk has several."""
    return _text(next(iter(_each(node.get("logicalname"))), "")).removeprefix("/dev/")


def _hardware(macs: Iterable[str], serial: str, uuid: str, others: Mapping[str, str]) -> Hardware:
    """Return the values that identify a machine: each address once, only those that a vendor gave where there are any,
    and no value that many machines share."""
    found: dict[str, str] = {}
    for mac in macs:
        digits = mac_digits(mac)
        if digits and not is_shared(MAC, digits):
            found.setdefault(digits, mac)
    given = [mac for digits, mac in found.items() if not int(digits[:2], 16) & _LOCALLY_ADMINISTERED]
    return Hardware(
        tuple(given or found.values()),
        _own(SERIAL, serial),
        _own(UUID, uuid),
        {
            label: text
            for label, text in others.items()
            if text and text.isprintable() and label not in IDENTITY_COLUMNS
        },
    )


def _own(kind: str, value: str) -> str:
    return value if not is_shared(kind, identity_of(value)) and value.isprintable() else ""


def _each(value: object) -> Iterator[Any]:
    """Return the values of an element that may occur once or several times."""
    if isinstance(value, list):
        yield from value
    elif value is not None:
        yield value


def _text(value: object) -> str:
    """Return the text of an element, without its attributes."""
    if isinstance(value, dict):
        value = value.get("#text")
    return value.strip() if isinstance(value, str) else ""
