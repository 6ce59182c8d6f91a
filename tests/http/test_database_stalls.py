"""Nodes as the real program while their database says nothing: docs/many-nodes.md#when-the-database-is-away.

One node goes through all stalls, because to start one takes longer than they do.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.postgres import MISSING, Cluster, binaries, clusters, home_of
from tests.support.processes import with_descendants
from tests.support.proxy import Proxy, proxy_to
from tests.support.replies import Reply
from tests.support.service import CHECKOUTS, PROGRAM, Service
from tests.support.waiting import PATIENCE, wait_until

pytestmark = [
    pytest.mark.skipif(binaries() is None, reason=MISSING),
    pytest.mark.skipif(PROGRAM != CHECKOUTS, reason="only a program that is run from source can be given other names"),
]

TOKEN = "0123456789abcdef"
NAME = "database.test"
SECONDS = 20
"""`SERVICE_TIMEOUT_SECS`. What has not ended by itself when the service stops is killed 2 seconds later."""
IPXE = b"#!ipxe\n# answer: once\nkernel vmlinuz {{ report }}\n"

_NAMES = """
import _socket, os, socket, time
find = _socket.getaddrinfo
def getaddrinfo(host, *arguments, **named):
    ends = time.monotonic() + 3
    while host == {name!r} and os.path.exists({hangs!r}):
        if time.monotonic() > ends:
            raise _socket.gaierror(_socket.EAI_AGAIN, "Temporary failure in name resolution")
        time.sleep(0.05)
    return find("127.0.0.1" if host == {name!r} else host, *arguments, **named)
_socket.getaddrinfo = getaddrinfo
"""
"""Run by the interpreter at its start: while a file is there, look-ups of the name take 3 seconds and find nothing, as
those of the C library do where no name server answers."""


class Lab:
    """One node, and the way to its database."""

    def __init__(self, node: Service, proxy: Proxy, hangs: Path) -> None:
        self.node, self.proxy, self.hangs = node, proxy, hangs
        self.written = 0

    def ask(self, method: str, target: str, body: bytes = b"") -> Reply:
        return self.node.ask_admin(method, target, body, Authorization=f"Bearer {TOKEN}")

    def put(self) -> Reply:
        self.written += 1
        return self.ask("PUT", "/machines/aabbccddee02?format=ks", b"# %d\n" % self.written)

    def metric(self, name: str) -> float:
        found = re.search(rf"^{name} (\S+)$", self.ask("GET", "/metrics").text, re.MULTILINE)
        assert found is not None
        return float(found[1])

    def begin_install(self, machine: str) -> str:
        """Give a machine its script; return the path by which it reports."""
        found = re.search(r"/report/[\w.-]+", self.node.get(f"/ipxe?mac={machine}").text)
        assert found is not None
        return found[0]

    def is_refused(self, machine: str) -> bool:
        return "is installed" in self.node.get(f"/ipxe?mac={machine}").text

    def said(self, pattern: str) -> int:
        return sum(re.search(pattern, line) is not None for line in self.node.log)

    def held(self) -> dict[int, tuple[int, int]]:
        """The threads and descriptors of each process."""
        return {
            pid: (len(os.listdir(f"/proc/{pid}/task")), len(os.listdir(f"/proc/{pid}/fd")))
            for pid in with_descendants(self.node.process.pid)
        }


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    tmp_path = tmp_path_factory.mktemp("lab")
    hangs = tmp_path / "hangs"
    (tmp_path / "sitecustomize.py").write_text(_NAMES.format(name=NAME, hangs=str(hangs)))
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")]), *sys.path[:1]])
    with clusters() as parent:
        cluster = Cluster(home_of(parent, "primary")).start()
        database = cluster.database().rpartition("/")[2]
        with (
            proxy_to(cluster.port) as proxy,
            Service(
                PYTHONPATH=path,
                SERVICE_STORE="postgres",
                SERVICE_DB_URL=f"postgresql://answerd@{NAME}:{proxy.port}/{database}",
                SERVICE_REPLICA_PATH=tmp_path / "replica.db",
                SERVICE_ADMIN_ADDR="127.0.0.1:0",
                SERVICE_ADMIN_TOKEN=TOKEN,
                SERVICE_WORKERS=2,
                SERVICE_TIMEOUT_SECS=SECONDS,
                SERVICE_ADMIN_TIMEOUT_SECS=SECONDS,
            ) as node,
        ):
            yield Lab(node, proxy, hangs)
            hangs.unlink(missing_ok=True)
        cluster.stop(signal.SIGQUIT)


STALLS = ["a proxy that says nothing more", "a name that no name server answers for"]


@pytest.mark.parametrize("stall", STALLS)
def test_a_node_goes_on_while_nothing_is_said_and_comes_back_by_itself(lab: Lab, stall: str) -> None:
    machine = f"aabbccddee{10 + STALLS.index(stall)}"
    assert lab.ask("PUT", f"/machines/{machine}?format=ipxe", IPXE).status == 200
    assert lab.put().status == 200
    kept = (200, b"# %d\n" % lab.written)
    report = lab.begin_install(machine)
    wait_until(lambda: lab.metric("answerd_outbox_messages") == 0)
    before, lost = lab.held(), lab.said("answers come from the replica")

    if stall == STALLS[0]:
        lab.proxy.silence()
    else:
        lab.hangs.touch()
        lab.proxy.cut()
    wait_until(lambda: lab.said("answers come from the replica") == lost + 1)

    def answer() -> tuple[int, bytes]:
        reply = lab.node.get("/ks?mac=aabbccddee02")
        return reply.status, reply.body

    with ThreadPoolExecutor() as operators:
        ordered = operators.submit(lab.ask, "POST", "/installs/aabbccddee99/arm")
        writes = [operators.submit(lab.put), operators.submit(lab.put)]
        while not all(write.done() for write in writes):
            assert answer() == kept
            assert lab.ask("GET", "/health").status == 200
            assert lab.node.get("/ready").status == 200
        for refused in (write.result(PATIENCE) for write in writes):
            assert (refused.status, refused.headers["retry-after"]) == (503, "5")
            assert NAME in json.loads(refused.body)["error"]
        assert ordered.result(PATIENCE).status == 200
    assert lab.node.post(f"{report}/installed", b"").status == 200
    assert [lab.is_refused(machine) for _ in range(4)] == [True] * 4
    assert lab.metric("answerd_outbox_messages") > 0
    age = lab.metric("answerd_set_age_seconds")
    wait_until(lambda: lab.metric("answerd_set_age_seconds") > age)
    after = lab.held()
    assert after.keys() == before.keys()
    grown = {pid: (before[pid], after[pid]) for pid in before if after[pid][0] > before[pid][0] + 10}
    assert grown == {}  # ten are gevent's pool, whose threads are made when they are first used
    more = {pid: (before[pid], after[pid]) for pid in before if after[pid][1] > before[pid][1] + 40}
    assert more == {}  # a thread of the pool that waits has three

    if stall == STALLS[0]:
        lab.proxy.resume()
    else:
        lab.hangs.unlink()
    wait_until(lambda: lab.said("can be reached again") == lost + 1)
    wait_until(lambda: lab.put().status == 200)
    assert answer() == (200, b"# %d\n" % lab.written)
    wait_until(lambda: lab.metric("answerd_outbox_messages") == 0)
    events = json.loads(lab.ask("GET", f"/installs/{machine}").body)["events"]
    assert [event["event"] for event in events].count("installed") == 1


def test_a_node_ends_while_a_name_is_being_looked_up(lab: Lab) -> None:
    """Otherwise its replicator would be killed after its time."""
    lost = lab.said("answers come from the replica")
    lab.hangs.touch()
    lab.proxy.cut()
    wait_until(lambda: lab.said("answers come from the replica") == lost + 1)
    lab.node.process.send_signal(signal.SIGTERM)
    assert lab.node.process.wait(SECONDS) == 0
    lab.node.wait_for_log("- stopped$")
