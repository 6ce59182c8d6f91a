"""The addresses of a database by its URL, in the order in which they are tried.

libpq goes through the hosts of a URL by itself, and stops at the first that accepts a connection. A node passes a
server by that is from before a fail-over (`answerd.store.lineage`), so it tries address after address.
"""

from __future__ import annotations

import os
import random
import socket
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

CONNECT_SECONDS = 2
"""How long one address may take to accept a connection."""


class Attempt(NamedTuple):
    """One address. ``where`` names it in a message; ``parameters`` are libpq's. ``fault``: why there is none."""

    where: str
    parameters: Mapping[str, Any] = {}
    fault: str = ""


def attempts(url: str, settings: Mapping[str, Any]) -> Iterator[Attempt]:
    """Yield the addresses of a URL, each when it is needed. ``settings`` are parameters that the URL may change."""
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415 - an extra of the package

    parameters = {**settings, **{name: value for name, value in conninfo_to_dict(url).items() if value is not None}}
    listed = [
        str(parameters.pop(name, "") or os.environ.get(f"PG{name.upper()}", "")).split(",")
        for name in ("host", "hostaddr", "port")
    ]
    count = max(map(len, listed))
    if any(len(values) not in (1, count) for values in listed):
        yield Attempt(",".join(listed[0]), fault="it names more or fewer ports or addresses than hosts")
        return
    places = list(zip(*(values * (count // len(values)) for values in listed), strict=True))
    if parameters.get("load_balance_hosts") == "random":
        random.shuffle(places)
    for host, address, port in places:
        where = f"{host or address or 'localhost'}{f':{port}' if port else ''}"
        one = parameters | {name: value for name, value in (("host", host), ("port", port)) if value}
        if address or not host or host.startswith(("/", "@")):
            yield Attempt(where, one | ({"hostaddr": address} if address else {}))
            continue
        try:
            found = _native_getaddrinfo()(host, None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or error
            yield Attempt(where, fault=f"the name {host} could not be looked up: {reason}")
            continue
        for each in dict.fromkeys(str(place[0]) for *_, place in found):
            yield Attempt(where if each == host else f"{where} ({each})", one | {"hostaddr": each})


def _native_getaddrinfo() -> Any:
    """Return the function as it was before gevent replaced it: its version makes a hub for each thread that calls it.
    Does not import gevent, which commands do without."""
    patching = sys.modules.get("gevent.monkey")
    return patching.get_original("socket", "getaddrinfo") if patching is not None else socket.getaddrinfo
