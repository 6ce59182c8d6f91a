"""Nodes behind a pooler in transaction mode: docs/many-nodes.md#poolers-and-related-databases."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from answerd.documents import Key
from answerd.formats.family import Once
from answerd.identity import Kind
from answerd.installs.states import Gate, ReportKind, Requested, State
from answerd.store.loader import loaded
from answerd.store.postgres import PostgresStore
from answerd.store.states import Waiting
from tests.support import pgbouncer
from tests.support.installs import Reported
from tests.support.nodes import ThreadedNode
from tests.support.postgres import MISSING, Cluster, binaries, clusters, home_of
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.skipif(binaries() is None, reason=MISSING),
    pytest.mark.skipif(pgbouncer.program() is None, reason=pgbouncer.MISSING),
]

MACHINE = Key(Kind.MACHINE, "aa:bb", "toml")


@pytest.fixture
def url() -> Iterator[str]:
    with clusters() as parent:
        cluster = Cluster(home_of(parent, "primary")).start()
        with pgbouncer.pooled(home_of(parent, "pooler"), cluster.database()) as pooled:
            yield pooled
        cluster.stop(signal.SIGQUIT)


def test_documents_states_and_reports_go_through_it_and_changes_are_found_by_looking(url: str, tmp_path: Path) -> None:
    nodes = [ThreadedNode(url, tmp_path / f"{number}.db") for number in range(2)]
    first, second = nodes
    try:
        for node in nodes:
            wait_until(lambda node=node: node.revision is not None)  # type: ignore[misc]
        for number in range(8):  # psycopg prepares what ran five times, unless it is told not to
            writer, reader = nodes[number % 2], nodes[1 - number % 2]
            revision = writer.write(MACHINE, f"n = {number}\n")
            if number > 5:
                wait_until(lambda reader=reader, revision=revision: reader.revision == revision)  # type: ignore[misc]
        wait_until(lambda: first.texts() == second.texts() == {MACHINE: "n = 7\n"})
        assert {raw.key: raw.text for raw in loaded(PostgresStore(url)).documents} == {MACHINE: "n = 7\n"}
        attempt = first.arm("web-01")
        wait_until(lambda: second.attempts() == {"web-01": attempt})
        second.writer.write("web-01", Requested("web.ks", Gate.ANSWERS, Once.ON, 1.5))
        second.writer.write("web-01", Reported(ReportKind.INSTALLED, 1, 2.0))
        second.states.wake_up()
        wait_until(lambda: first.writer.state("web-01") is State.INSTALLED)
        wait_until(lambda: second.states.waiting() == Waiting())
        assert [event.kind.value for event in first.states.history(["web01"])].count("installed") == 1
    finally:
        for node in nodes:
            node.close()
    assert [node.lines for node in nodes] == [[], []]
