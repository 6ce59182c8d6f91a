"""The common part of the small services that people write themselves: a table of machines and one Jinja2 template. They
find the machine by the first known MAC address in the query or in a Proxmox installer's body. The table and the
template are files in the directory that RIVAL_DATA names.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader

DATA = Path(os.environ["RIVAL_DATA"])
MACHINES: dict[str, dict[str, str]] = json.loads((DATA / "machines.json").read_text("utf-8"))
TEMPLATE = Environment(loader=FileSystemLoader(DATA), autoescape=False).get_template("answer.j2")


def answer(mac: str | None, body: bytes) -> str | None:
    """Return the answer of a machine; None for a machine that is not in the table."""
    macs = [mac] if mac else []
    if body:
        said: dict[str, Any] = json.loads(body)
        macs += [interface["mac"] for interface in said.get("network_interfaces", ())]
    for address in macs:
        machine = MACHINES.get(address.lower())
        if machine:
            return TEMPLATE.render(machine, mac=address)
    return None
