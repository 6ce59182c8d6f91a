"""Requests as bytes with gaps: one shape for every machine of a fleet.

A generator puts a machine's MAC address and serial number into the gaps, so that a million distinct requests need no
memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from loadtest.fleet import ANACONDA_HEADERS, OUI, PROXMOX_HEADERS, WIDE, Machine, proxmox_body

_PATTERN = Machine(0x123456)
_GAPS = {
    _PATTERN.mac: "mac",
    _PATTERN.mac.upper(): "MAC",
    _PATTERN.mac.replace(":", ""): "bare",
    _PATTERN.serial: "serial",
    _PATTERN.rack: "rack",
}


@dataclass(frozen=True)
class Shape:
    """One request for any machine.

    ``parts`` are texts and, at every second place, the name of the gap between them: ``mac``, ``MAC`` (upper case),
    ``bare``, ``serial`` or ``rack``. ``proof`` is what a machine's own answer holds, with ``{host}`` for its host name
    and ``{rack}`` for its group; empty where all answers are alike.
    """

    parts: tuple[str, ...]
    proof: str = ""

    def request(self, machine: Machine) -> bytes:
        values = {"mac": machine.mac, "MAC": machine.mac.upper(), "serial": machine.serial, "rack": machine.rack}
        values["bare"] = machine.mac.replace(":", "")
        return "".join(values[part] if at % 2 else part for at, part in enumerate(self.parts)).encode("latin-1")

    def proof_of(self, machine: Machine) -> bytes:
        """Return a text that only this machine's answer holds."""
        return self.proof.format(host=machine.host, rack=machine.rack).encode()

    def lua(self, machines: int, step: int) -> str:
        """Return a script for wrk that sends the requests of every ``step``-th machine of ``machines``, in turn and for
        ever."""
        bare = OUI.replace(":", "")
        expressions = {
            "mac": f'string.format("{OUI}:%02x:%02x:%02x", a, b, c)',
            "MAC": f'string.format("{OUI.upper()}:%02X:%02X:%02X", a, b, c)',
            "bare": f'string.format("{bare}%02x%02x%02x", a, b, c)',
            "serial": 'string.format("SN%08d", n)',
            "rack": 'string.format("rack-%06d", math.floor(n / 50))',
        }
        pieces = [expressions[part] if at % 2 else json.dumps(part) for at, part in enumerate(self.parts)]
        return f"""\
local n = 0
function request()
  n = (n + {step}) % {machines}
  local a, b, c = math.floor(n / 65536) % 256, math.floor(n / 256) % 256, n % 256
  return {" .. ".join(pieces)}
end
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format("RESULT %d %d %d %d %d %d %d\\n", summary.requests, summary.duration,
    e.status, e.timeout, e.connect, e.read, e.write))
end
"""


def shape_of(
    method: str, target: str, headers: Mapping[str, str] | None = None, body: bytes = b"", proof: str = ""
) -> Shape:
    """Return the shape of the request that the machine 0x123456 would send."""
    lines = [f"{method} {target} HTTP/1.1", "host: 127.0.0.1"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    if method == "POST":
        lines.append(f"content-length: {len(body)}")
    # The installers' own headers say keep-alive or nothing; every request here has a connection of its own.
    text = "\r\n".join([*lines, "connection: close", "", ""]) + body.decode("latin-1")
    parts: list[str] = [text]
    for value, name in _GAPS.items():
        cut: list[str] = []
        for at, part in enumerate(parts):
            pieces = [part] if at % 2 else part.split(value)
            cut += [piece for number, piece in enumerate(pieces) for piece in ((name, piece) if number else (piece,))]
        parts = cut
    return Shape(tuple(parts), proof)


VERBATIM_GET = shape_of("GET", f"/ks?mac={_PATTERN.mac}", ANACONDA_HEADERS, proof="{host}")
MERGED_GET = shape_of("GET", f"/proxmox?mac={_PATTERN.mac}", ANACONDA_HEADERS, proof="{host}")
TEMPLATED_POST = shape_of("POST", "/proxmox", PROXMOX_HEADERS, proxmox_body(_PATTERN, WIDE), proof="{host}")
NARROW_POST = shape_of("POST", "/proxmox", PROXMOX_HEADERS, proxmox_body(_PATTERN), proof="{host}")
SELECTED_POST = shape_of("POST", "/proxmox", PROXMOX_HEADERS, proxmox_body(_PATTERN, WIDE), proof="{rack}")
UNCLAIMED_GET = shape_of("GET", "/proxmox?mac=02:00:00:00:00:01")
HEALTH_GET = shape_of("GET", "/health")
