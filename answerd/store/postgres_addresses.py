"""The addresses of a database by its URL: in which order they are tried, and with which parameters.

Rules: docs/many-nodes.md#when-the-database-is-away. Names are looked up here and not by libpq or psycopg, whose
look-ups have no bound. Knows parameters of libpq. Must not know connections.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from time import monotonic
from typing import Any

from answerd.store.host_names import addresses_of

CONNECT_SECONDS = 2
"""How long one address may take to accept a connection, and one name to be looked up."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One address. ``where`` names it in a message; ``parameters`` are libpq's and psycopg's. ``fault``: why there is
    no address, where there is none."""

    where: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    fault: str = ""


def attempts(url: str, settings: Mapping[str, Any], until: float) -> Iterator[Attempt]:
    """Yield the addresses of a URL in order, each when it is needed. ``settings`` are parameters that the URL may
    change; ``until`` is when there is no time any more (monotonic clock)."""
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415 - an extra of the package

    given = conninfo_to_dict(url)
    parameters = {**settings, **{name: value for name, value in given.items() if value is not None}}
    hosts, addresses, ports = (_listed(parameters, name) for name in ("host", "hostaddr", "port"))
    count = max(len(hosts), len(addresses), 1)
    if len(ports) not in (0, 1, count) or (hosts and addresses and len(hosts) != len(addresses)):
        yield Attempt(",".join(hosts) or "localhost", fault="it names more or fewer ports or addresses than hosts")
        return
    for number in _order(count, parameters):
        host, address = _at(hosts, number), _at(addresses, number)
        port = _at(ports, number % len(ports)) if ports else ""
        where = f"{host or address or 'localhost'}{f':{port}' if port else ''}"
        listed = {"host": host, "port": port}
        one = {name: value for name, value in (parameters | listed).items() if value or name not in listed}
        if address or not host or host.startswith(("/", "@")):
            yield Attempt(where, one | ({"hostaddr": address} if address else {}))
            continue
        try:
            found = [host] if _is_address(host) else addresses_of(host, min(CONNECT_SECONDS, until - monotonic()))
        except OSError as error:
            yield Attempt(where, fault=str(error))
            continue
        for address in found:
            yield Attempt(where if address == host else f"{where} ({address})", one | {"hostaddr": address})


def _listed(parameters: Mapping[str, Any], name: str) -> list[str]:
    value = parameters.get(name) or os.environ.get(f"PG{name.upper()}") or ""
    return str(value).split(",") if value else []


def _at(values: list[str], number: int) -> str:
    return values[number] if number < len(values) else ""


def _order(count: int, parameters: Mapping[str, Any]) -> list[int]:
    numbers = list(range(count))
    if parameters.get("load_balance_hosts") == "random":
        random.shuffle(numbers)
    return numbers


def _is_address(host: str) -> bool:
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
