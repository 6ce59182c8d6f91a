"""Rows that give two machines one static address or one host name."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from answerd.answers.inventory_index import Inventory
from answerd.inventory.row import Row

ADDRESS_LABELS = ("address", "addr", "ip", "cidr", "ipv4", "ipv6")
NAME_LABELS = ("hostname", "fqdn")


class Repetition(NamedTuple):
    """What is wrong with a row, and the names of both machines. ``is_problem``: both rows are of one inventory."""

    sentence: str
    machines: tuple[str, str]
    is_problem: bool


MOST_REPETITIONS = 1_000
"""Repetitions that are told: a table of 16 MB may have a million."""


def repetitions(inventory: Inventory) -> Iterator[Repetition]:
    """Yield a repetition for each row that gives an address or a host name of a row before it, up to
    `MOST_REPETITIONS`. No value is quoted."""
    return islice(_repetitions(inventory), MOST_REPETITIONS)


def _repetitions(inventory: Inventory) -> Iterator[Repetition]:
    first: dict[tuple[str, str], tuple[Row, str]] = {}
    for row in inventory.rows():
        if row.layout.labels.keys().isdisjoint((*ADDRESS_LABELS, *NAME_LABELS)):
            continue
        for (kind, value), label in _given(row).items():
            before, _ = first.setdefault((kind, value), (row, label))
            if before is not row:
                sentence = (
                    f"{inventory.place(row)}: {label} gives the {kind} of {inventory.place(before)}: "
                    f"two machines cannot have one {kind}"
                )
                is_problem = before.layout.source == row.layout.source
                yield Repetition(sentence, (before.name, row.name), is_problem)


def _given(row: Row) -> dict[tuple[str, str], str]:
    """Return the static addresses and host names of a row, each with the label that gives it."""
    found: dict[tuple[str, str], str] = {}
    values = row.values()
    for label in ADDRESS_LABELS:
        for value in values.get(label, ()):
            if address := _static_address(value):
                found.setdefault(("static address", address), label)
    for label in NAME_LABELS:
        for value in values.get(label, ()):
            found.setdefault(("host name", f"{label} {value.lower().rstrip('.')}"), label)
    return found


def _static_address(value: str) -> str | None:
    """Return an address without its prefix length; None of what is none, such as ``dhcp``."""
    try:
        address = ipaddress.ip_address(value.partition("/")[0].strip())
    except ValueError:
        return None
    return None if address.is_unspecified or address.is_loopback else str(address)
