#!/usr/bin/env python3
"""Starts machines from the network, once, through their BMCs: netboot.py NAME...

The table of machines has the BMC of each in its column ``bmc``: ``https://ADDRESS`` for Redfish, ``ADDRESS`` for IPMI,
which needs ipmitool. Settings and what is printed: docs/power.md. Ends with 0 where all were started, with 1 where some
were, with 2 where none was.
"""

from __future__ import annotations

import json
import os
import shlex
import ssl
import subprocess
import sys
from base64 import b64encode
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from typing import Any
from urllib.parse import urljoin, urlsplit
from urllib.request import HTTPSHandler, OpenerDirector, ProxyHandler, Request, build_opener

AT_ONCE = 16
"""BMCs that are asked at a time. A rack whose machines all start in one moment may blow its fuse."""
SECONDS = 60
"""For one request: a BMC is slow."""


def main(names: list[str]) -> int:
    """Start the machines; print what was done for each. Return 1 where some could not be started, 2 where all."""
    if {"-h", "--help"} & {*names}:
        print(__doc__, end="")
        return 0
    bmcs = bmcs_of_table()
    unknown = [name for name in names if not bmcs.get(name)]
    if unknown or not names:
        print(f"no BMC in the table's column bmc: {', '.join(unknown)}" if names else __doc__, file=sys.stderr)
        return 2
    user, password = os.environ["BMC_USER"], os.environ["BMC_PASSWORD"]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        errors = list(pool.map(lambda name: start(name, bmcs[name], user, password), names))
    return 2 if all(errors) else 1 if any(errors) else 0


def bmcs_of_table() -> dict[str, str]:
    """The value ``bmc`` of each row that has an ``id``."""
    listed = subprocess.run(["answerd", "inventory", "--json"], stdout=subprocess.PIPE, check=True).stdout
    rows = [each["labels"] for each in json.loads(listed)["rows"]]
    return {row.get("id", ""): row.get("bmc", "") for row in rows}


def start(name: str, bmc: str, user: str, password: str) -> bool:
    """Start one machine; whether that failed."""
    try:
        did = redfish(bmc, user, password) if bmc.startswith("https://") else ipmi(bmc, user, password)
    except subprocess.CalledProcessError as error:
        reason = error.stderr.strip()
    except (OSError, HTTPException, ValueError, LookupError, TypeError, subprocess.TimeoutExpired) as error:
        reason = f"{type(error).__name__}: {error}"
    else:
        print(f"{name}: {did}\n", end="", flush=True)  # one text: lines of several threads would mix
        return False
    print(f"{name} was not started: {reason}\n", end="", file=sys.stderr, flush=True)
    return True


def redfish(bmc: str, user: str, password: str) -> str:
    """Start a machine by Redfish. ``bmc`` is the URL of the BMC or, where it has several systems, of one of them."""
    opener = opener_for_bmcs()
    credentials = {"Authorization": "Basic " + b64encode(f"{user}:{password}".encode()).decode()}
    url = bmc
    if urlsplit(bmc).path in ("", "/"):
        collection = urljoin(bmc, "/redfish/v1/Systems")
        members = [
            urljoin(bmc, each["@odata.id"]) for each in ask(opener, "GET", collection, credentials)[0]["Members"]
        ]
        if len(members) != 1:
            raise ValueError(f"the BMC has {len(members)} systems; the table needs the URL of one: {' '.join(members)}")
        url = members[0]
    system, tag = ask(opener, "GET", url, credentials)
    boot = {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": os.environ.get("REDFISH_BOOT", "Pxe")}
    # Some BMCs take a change only with the ETag of what it changes.
    ask(opener, "PATCH", url, credentials | ({"If-Match": tag} if tag else {}), {"Boot": boot})
    reset = "ForceRestart" if system["PowerState"] == "On" else "On"
    target = urljoin(url, system["Actions"]["#ComputerSystem.Reset"]["target"])
    ask(opener, "POST", target, credentials, {"ResetType": reset})
    return f"Redfish {reset}"


def opener_for_bmcs() -> OpenerDirector:
    """What asks BMCs: without a proxy, and by default only one that has a certificate that this machine trusts."""
    context = ssl.create_default_context()
    if os.environ.get("REDFISH_UNVERIFIED") == "1":
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return build_opener(ProxyHandler({}), HTTPSHandler(context=context))


def ask(
    opener: OpenerDirector, method: str, url: str, headers: Mapping[str, str], body: object = None
) -> tuple[Any, str | None]:
    """One request; the JSON of the response (None where it has no content) and its ETag."""
    request = Request(url, None if body is None else json.dumps(body).encode(), method=method)
    request.add_header("Content-Type", "application/json")
    for name, value in headers.items():
        request.add_unredirected_header(name, value)
    with opener.open(request, timeout=SECONDS) as response:
        content = response.read()
        return (json.loads(content) if method == "GET" else None), response.headers["ETag"]


def ipmi(bmc: str, user: str, password: str) -> str:
    """Start a machine by IPMI over LAN. ``bmc`` is an address, or an address and a port."""
    place = urlsplit(f"//{bmc}")
    words = shlex.split(os.environ.get("IPMITOOL", "ipmitool -I lanplus"))
    words += ["-H", place.hostname or bmc, "-p", str(place.port or 623), "-U", user, "-E", "chassis"]
    # The password is in the environment: other users of this machine can read command lines.
    environ = {**os.environ, "IPMI_PASSWORD": password}

    def chassis(*command: str) -> str:
        done = subprocess.run(
            [*words, *command], env=environ, capture_output=True, text=True, check=True, timeout=SECONDS
        )
        return done.stdout

    chassis("bootdev", *shlex.split(os.environ.get("IPMI_BOOT", "pxe")))
    power = "cycle" if chassis("power", "status").strip().endswith(" on") else "on"
    chassis("power", power)
    return f"IPMI power {power}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
