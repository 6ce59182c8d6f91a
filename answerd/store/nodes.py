"""The nodes of a shared database: each says there every few seconds which version it runs and how far it is.

Rules: docs/many-nodes.md#the-list-of-nodes. A row of ``install_settings`` for each node, named by its states file. A
table of its own would be a new schema, on which nodes that are not upgraded yet take no write.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import orjson
import peewee

from answerd.installs.shown import timestamp
from answerd.store.agreement import NO_DIGESTS, Digests, differences
from answerd.store.log import newest_write
from answerd.store.state_tables import run

REPORT_SECONDS = 5.0
"""Seconds between two reports of a node."""

KEPT_SECONDS = 7 * 86_400
"""How long a node that says nothing any more is listed."""

COMPARED_SECONDS = 60.0
"""How long a silent node is compared with the others."""

_PREFIX = "node "

# The database's own clock, so that ages do not depend on the clocks of nodes.
_NOW = "extract(epoch FROM clock_timestamp())"
_REPORT = f"""
    INSERT INTO install_settings (name, value) VALUES (?, CAST({_NOW} AS TEXT) || ' ' || ?)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value"""  # noqa: S608 - no value
_LIST = f"SELECT name, value, {_NOW} FROM install_settings WHERE name LIKE ?"  # noqa: S608
_FORGET = f"DELETE FROM install_settings WHERE name LIKE ? AND split_part(value, ' ', 1)::float8 < {_NOW} - ?"  # noqa: S608


class NodeReport(NamedTuple):
    """What a node says. ``name`` is its host's, ``revision`` the number up to which it has every change, ``waiting``
    how many events of installs it has not delivered; ``digests`` are of what decides its answers, none where it
    does not know the key of the states yet."""

    name: str
    version: str
    revision: int
    waiting: int
    digests: Digests = NO_DIGESTS


class Node(NamedTuple):
    """A node as the database knows it. Of several on one host the ``name`` has the id of the states file too.
    ``silent`` is the time since its last report in seconds, ``behind`` how many changes (of documents, and events of
    installs) it does not have, as far as it has said."""

    name: str
    version: str
    seen: float
    silent: float
    behind: int
    waiting: int
    digests: Digests = NO_DIGESTS

    def as_json(self) -> dict[str, Any]:
        return {
            "node": self.name,
            "version": self.version,
            "seen": timestamp(self.seen),
            "silent_seconds": round(self.silent, 1),
            "behind": self.behind,
            "waiting": self.waiting,
        }


def report_node(database: peewee.Database, source: str, report: NodeReport) -> None:
    run(
        database,
        _REPORT,
        (_PREFIX + source, orjson.dumps({**report._asdict(), "digests": dict(report.digests)}).decode()),
    )


def nodes_in(database: peewee.Database) -> list[Node]:
    """Return the nodes that a database knows, sorted by name."""
    newest = newest_write(database).revision
    found: list[tuple[str, Node]] = []
    for key, value, now in run(database, _LIST, (f"{_PREFIX}%",)).fetchall():
        at, _, said = value.partition(" ")
        fields = orjson.loads(said)
        silent = max(0.0, float(now) - float(at))
        if silent <= KEPT_SECONDS:
            behind = max(0, newest - fields["revision"])
            node = Node(
                fields["name"],
                fields["version"],
                float(at),
                silent,
                behind,
                fields["waiting"],
                fields.get("digests", {}),
            )
            found.append((key.removeprefix(_PREFIX), node))
    hosts = Counter(node.name for _, node in found)
    return sorted(
        node if hosts[node.name] == 1 else node._replace(name=f"{node.name} ({source})") for source, node in found
    )


def differences_of(nodes: Iterable[Node]) -> list[str]:
    """Return a sentence for each thing that decides answers and that is not the same at all nodes, but for those that
    are silent: what is wrong with them is found when they come back."""
    return differences((node.name, node.digests) for node in nodes if node.silent <= COMPARED_SECONDS)


def forget_silent_nodes(database: peewee.Database) -> None:
    """Remove the rows of nodes that are not listed any more."""
    run(database, _FORGET, (f"{_PREFIX}%", KEPT_SECONDS))
