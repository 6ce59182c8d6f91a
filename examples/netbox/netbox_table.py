#!/usr/bin/env python3
"""Writes the devices of NetBox as a table of machines: netbox_table.py FILE [FILTER]...

A FILTER is one of NetBox's for devices: ``site=fra1``, ``status=planned``; several of one name mean any of them. The
address and the token are in NETBOX_URL and NETBOX_TOKEN. What the columns hold: docs/netbox.md.
"""

from __future__ import annotations

import csv
import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import parse_qsl, urlencode
from urllib.request import Request, urlopen

COLUMNS = ("id", "mac", "serial", "site", "rack", "role", "platform", "addr")
PAGE = 500
"""Objects that NetBox is asked for at a time; its own limit is 1,000."""
SECONDS = 60


def main(arguments: list[str]) -> int:
    """Write the table; 1 where NetBox cannot be asked or has no such device, 2 for a wrong command line."""
    if not arguments or any("=" not in each for each in arguments[1:]):
        print(__doc__, file=sys.stderr)
        return 2
    target, filters = Path(arguments[0]), parse_qsl("&".join(arguments[1:]), keep_blank_values=True)
    try:
        rows = list(table(filters))
    except (URLError, OSError, ValueError, LookupError, TypeError) as error:
        print(f"NetBox could not be read, {target} is as it was: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    if not rows:
        print(f"NetBox has no such device, {target} is as it was", file=sys.stderr)
        return 1
    # In one step, so that the service never reads half a table.
    written = target.with_name(f".{target.name}.new")
    with written.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    written.replace(target)
    print(f"{target}: {len(rows)} machines")
    return 0


def table(filters: list[tuple[str, str]]) -> Iterator[dict[str, str]]:
    """A row for each device that has a name."""
    macs: dict[int, list[str]] = defaultdict(list)
    for interface in objects("dcim/interfaces", [("mgmt_only", "false")]):
        # NetBox 4.2 and later have several addresses of an interface, those before one.
        known = interface.get("mac_addresses") or [interface]
        macs[interface["device"]["id"]] += [each["mac_address"] for each in known if each.get("mac_address")]
    for device in objects("dcim/devices", filters):
        if device["name"]:
            yield {
                "id": device["name"],
                "mac": " ".join(macs[device["id"]]),
                "serial": device["serial"],
                "site": named(device, "site", "slug"),
                "rack": named(device, "rack", "name"),
                "role": named(device, "role", "slug") or named(device, "device_role", "slug"),
                "platform": named(device, "platform", "slug"),
                "addr": named(device, "primary_ip4", "address"),
            }


def named(device: Mapping[str, Any], field: str, label: str) -> str:
    """What is in a field of a device that is an object of its own, or null."""
    return str((device.get(field) or {}).get(label) or "")


def objects(kind: str, filters: list[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """All objects of a kind, page by page."""
    url, token = os.environ["NETBOX_URL"].rstrip("/"), os.environ["NETBOX_TOKEN"]
    scheme = "Bearer" if token.startswith("nbt_") else "Token"  # tokens of NetBox 4.5 and later begin so
    query = [*filters, ("limit", str(PAGE))]
    offset = 0
    while True:
        target = f"{url}/api/{kind}/?{urlencode([*query, ('offset', str(offset))])}"
        request = Request(target, headers={"Accept": "application/json"})
        request.add_unredirected_header("Authorization", f"{scheme} {token}")
        with urlopen(request, timeout=SECONDS) as response:
            page = json.load(response)
        yield from page["results"]
        offset += len(page["results"])
        if page["next"] is None or not page["results"]:
            return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
