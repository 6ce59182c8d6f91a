"""Proofs about many nodes on one PostgreSQL database: nodes are killed, their files are rolled back and copied,
clocks are set, connections are lost, the database stalls and fails over.

Rules: docs/many-nodes.md. An operator writes documents whose text is a number that only grows, machines ask for them at
every node all the while. An answer is wrong where it is an error, a text that nobody wrote, or older than what the same
node has acknowledged before. In the end the nodes are upgraded one by one, to a version with another schema.
"""

from __future__ import annotations

import os
import random
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from answerd.installs.states import Rules
from answerd.store.postgres_connection import PostgresServer
from answerd.store.sqlite import SqliteFile
from answerd.store.state_sync import DatabaseStates, states_path
from answerd.store.state_tables import run
from tests.load.startup import CAN_BE_ALTERED, STEPS, Startup
from tests.load.torture.crowds import ask_all
from tests.load.torture.figures import Figure, exactly, measured, under
from tests.load.torture.node_installs import GROUP, Installs
from tests.support.node_world import shortest, violation, walk
from tests.support.postgres import MISSING, Cluster, binaries, clusters, home_of
from tests.support.processes import is_alive, with_descendants
from tests.support.service import Service
from tests.support.waiting import PATIENCE, wait_until

TOKEN = "a-token-for-torture-0123456789"
AGREE_SECONDS = 30.0
PAUSE_SECONDS = 0.005
PROMOTED_SECONDS = 10.0
"""Within which writes go on after a promotion."""

SEEN_SECONDS = 2.0
"""Within which nodes of the version before see that the database has another schema: half a second, and the load."""

WALK_LENGTH = 120
"""Steps of a walk in process."""

BOTH_SECONDS = 2.0
"""Within which two nodes have what thousands of machines reported at once."""

UNDER_WAY_SECONDS = 0.5
"""After which a write that was acknowledged before that has told so."""

_TEXT = re.compile(rb"# (\d+)\n\Z")


@dataclass
class Node:
    """One node, which may be killed and started again on its replica. ``acknowledged`` has the newest number of each
    machine that it took; it is emptied where the database may have lost writes."""

    url: str
    replica: Path
    workers: int
    startup: Startup
    service: Service | None = None
    acknowledged: dict[int, int] = field(default_factory=dict)
    said: str = ""  # to the last write

    def start(self) -> None:
        """Start it. Others ask it once it is ready: before that, 503 is right."""
        service = Service(
            **self.startup.settings,
            SERVICE_STORE="postgres",
            SERVICE_DB_URL=self.url,
            SERVICE_REPLICA_PATH=self.replica,
            SERVICE_WORKERS=self.workers,
            SERVICE_ADMIN_ADDR="127.0.0.1:0",
            SERVICE_ADMIN_TOKEN=TOKEN,
            SERVICE_TIMEOUT_SECS=10,
            SERVICE_INSTALL_STARTS=100,  # a step of the clock may begin one
        )
        try:
            wait_until(lambda: service.get("/ready").status == 200, 20)
        except BaseException:
            service.stop()
            raise
        self.service = service

    def kill(self) -> None:
        """Kill it, as a power failure would; its processes see that their parent is gone. On return they have ended:
        what one of them still acknowledges must not be unknown to the node that is started next."""
        service, self.service = self.service, None
        assert service is not None
        pids = with_descendants(service.process.pid)
        service.process.send_signal(signal.SIGKILL)
        service.process.wait(PATIENCE)
        wait_until(lambda: not any(is_alive(pid) for pid in pids))
        self.acknowledged.clear()

    def status(self) -> int:
        """The status of its readiness."""
        assert self.service is not None
        return self.service.get("/ready").status

    def answer(self, machine: int) -> int | None:
        """The number in the answer to a machine; None where the node is down. Raises `ValueError` for anything
        else."""
        service = self.service
        if service is None:
            return None
        try:
            reply = service.get(f"/ks?mac={mac(machine)}")
        except OSError:
            if self.service is not service or service.process.poll() is not None:
                return None  # it was killed meanwhile
            raise
        found = _TEXT.fullmatch(reply.body)
        if self.service is not service:
            return None
        if reply.status != 200 or found is None:
            raise ValueError(f"{reply.status} {reply.body[:80]!r}")
        return int(found[1])

    def put(self, machine: int, number: int) -> int | None:
        """Write a machine's document; the status, None where there was no response."""
        service = self.service
        if service is None:
            return None
        target = f"/machines/{mac(machine)}?format=ks"
        try:
            reply = service.ask_admin("PUT", target, b"# %d\n" % number, Authorization=f"Bearer {TOKEN}")
        except OSError:
            return None
        status, self.said = reply.status, reply.text
        if status == 200 and self.service is service:
            self.acknowledged[machine] = number
        return status


def mac(machine: int) -> str:
    """The MAC address of a machine."""
    return f"5254{machine:08x}"


class Lab:
    """Nodes, those who ask them, and an operator. Counts what went wrong."""

    def __init__(self, nodes: list[Node], machines: int, seed: int) -> None:
        self.nodes = nodes
        self.machines = machines
        self.random = random.Random(seed)
        self.answers = 0
        self.refused = 0
        self.wrong: list[str] = []
        self.attempted: dict[int, int] = dict.fromkeys(range(machines), 0)
        self.acknowledged: dict[int, int] = {}
        self.writes = 0
        self.slowest = 0.0
        self.overslept = 0.0  # what the machine's load adds to a wait
        self.files: Counter[str] = Counter()
        self.written_at = 0.0
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._number = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Machines ask and the operator writes, for the time of the block."""
        threads = [threading.Thread(target=self._ask, args=(node,), daemon=True) for node in self.nodes]
        threads.append(threading.Thread(target=self._operate, daemon=True))
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._end.set()
            for thread in threads:
                thread.join(30)

    def write(self, node: Node, machine: int) -> bool:
        """Write the next number of a machine; whether that was acknowledged."""
        self._number += 1
        self.attempted[machine] = self._number
        status = node.put(machine, self._number)
        if status == 200:
            self.acknowledged[machine] = self._number
            self.writes += 1
            self.written_at = time.monotonic()
            return True
        if status not in (None, 503):
            self._fault(f"a write was answered with {status} {node.said}")
        self.refused += 1
        return False

    def forget_acknowledged(self) -> dict[int, int]:
        """Begin anew with what was acknowledged: the database may have lost some of it. Return what there was."""
        before, self.acknowledged = dict(self.acknowledged), {}
        for node in self.nodes:
            node.acknowledged.clear()
        return before

    def _operate(self) -> None:
        while not self._end.wait(0.01):
            node, machine = self.random.choice(self.nodes), self.random.randrange(self.machines)
            if not self.write(node, machine):
                self._end.wait(0.1)

    def _ask(self, node: Node) -> None:
        chosen = random.Random(self.random.random())
        while not self._sleeps():
            machine = chosen.randrange(self.machines)
            at_least = node.acknowledged.get(machine, 0)
            began = time.monotonic()
            try:
                found = node.answer(machine)
            except (OSError, ValueError) as error:
                self._fault(f"machine {machine}: {error}")
                continue
            if found is None:
                continue
            with self._lock:
                self.answers += 1
                self.slowest = max(self.slowest, time.monotonic() - began)
            if found > self.attempted[machine]:
                self._fault(f"machine {machine} got {found}, which nobody wrote")
            if found < at_least and node.acknowledged.get(machine, 0) >= at_least:
                self._fault(f"machine {machine} got {found} after {at_least} was acknowledged")

    def _sleeps(self) -> bool:
        """Wait between two questions; return whether the run is over."""
        began = time.monotonic()
        is_over = self._end.wait(PAUSE_SECONDS)
        with self._lock:
            self.overslept = max(self.overslept, time.monotonic() - began - PAUSE_SECONDS)
        return is_over

    def _fault(self, fault: str) -> None:
        with self._lock:
            self.wrong.append(fault)


@dataclass(frozen=True)
class Trouble:
    """What is done to them: ``kills`` of nodes over ``seconds``, and a ``stall`` of the database, in seconds."""

    kills: int = 10
    seconds: float = 20.0
    stall: float = 60.0


_MUCH = Trouble()


def apart(
    scratch: Path,
    *,
    nodes: int = 3,
    workers: int = 2,
    machines: int = 2_000,
    installing: int = 200,
    trouble: Trouble = _MUCH,
    seed: int = 1,
) -> list[Figure]:
    """Nodes on a primary and a standby, while machines ask and install: nodes are killed, the primary stalls, the
    standby is promoted, and the nodes are upgraded."""
    if binaries() is None:
        return [Figure("nodes", "not run", MISSING)]
    with clusters() as parent:
        primary = Cluster(home_of(parent, "primary")).start()
        name = primary.database().rpartition("/")[2]
        standby = Cluster(home_of(parent, "standby"), standby_of=primary).start()
        hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
        url = f"postgresql://answerd@{hosts}/{name}?target_session_attrs=read-write"
        running = [
            Node(url, scratch / f"{number}.db", workers, Startup(scratch / f"startup-{number}"))
            for number in range(nodes)
        ]
        try:
            for node in running:
                node.start()
            installs = Installs(running, installing, TOKEN)
            return _torn(Lab(running, machines, seed), installs, primary, standby, trouble)
        finally:
            for node in running:
                if node.service is not None:
                    node.service.stop()
            for cluster in (primary, standby):
                cluster.stop(signal.SIGQUIT)


def walked(scratch: Path, walks: int = 300, seed: int = 1_000) -> list[Figure]:
    """Walks over two and three nodes in process that are cut off and joined in every order, with orders, installs and
    reports on each (`tests.support.node_world`)."""
    del scratch
    figures = []
    for nodes in (2, 3):
        violations = 0
        for number in range(seed, seed + walks):
            steps = walk(number, WALK_LENGTH)
            if violation(steps, nodes) is None:
                continue
            violations += 1
            found = shortest(steps, nodes)
            print(f"walk {number}, {nodes} nodes:", *([found[1], *found[2].story] if found else []), sep="\n  ")
        proof = f"{nodes} nodes in process"
        figures += [measured(proof, "steps", walks * WALK_LENGTH), exactly(proof, "violations", violations, 0)]
    return figures


def crowd(scratch: Path, *, machines: int = 2_000, workers: int = 2) -> list[Figure]:
    """Machines that all report at once, half of them to each of two nodes."""
    if binaries() is None:
        return [Figure("a crowd on two nodes", "not run", MISSING)]
    with clusters() as parent:
        database = Cluster(home_of(parent, "database")).start()
        url = database.database()
        running = [Node(url, scratch / f"{at}.db", workers, Startup(scratch / f"startup-{at}")) for at in range(2)]
        try:
            for node in running:
                node.start()
            return _reported_at_once(running, Installs(running, machines, TOKEN))
        finally:
            for node in running:
                if node.service is not None:
                    node.service.stop()
            database.stop(signal.SIGQUIT)


def _reported_at_once(nodes: list[Node], installs: Installs) -> list[Figure]:
    proof = "a crowd on two nodes"
    _put_script(nodes[0], installs)
    first = installs.machines[0].mac
    wait_until(lambda: all(_service(node).get(f"/ipxe?mac={first}").status == 200 for node in nodes))
    with ThreadPoolExecutor(8) as pool:
        urls = [
            *pool.map(lambda at: _report_url(nodes[at % 2], installs.machines[at].mac), range(len(installs.machines)))
        ]
    began = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        parts = [pool.submit(_report, nodes[at], urls[at::2]) for at in range(2)]
        outcomes: Counter[str] = Counter()
        for part in parts:
            outcomes.update(part.result())
    acknowledged = time.monotonic()
    wait_until(lambda: all(_installed(node) == len(urls) for node in nodes), AGREE_SECONDS)
    return [
        exactly(proof, "reports that were acknowledged", outcomes["200"], len(urls)),
        exactly(proof, "answers with 500", outcomes["500"], 0),
        measured(proof, "the last one is acknowledged after", acknowledged - began, "s"),
        under(proof, "both nodes have all of them after that in", time.monotonic() - acknowledged, BOTH_SECONDS, "s"),
    ]


def _service(node: Node) -> Service:
    assert node.service is not None
    return node.service


def _report_url(node: Node, address: str) -> str:
    found = re.search(r"/report/[\w.-]+", _service(node).get(f"/ipxe?mac={address}").text)
    assert found is not None
    return found[0]


def _report(node: Node, urls: list[str]) -> Counter[str]:
    requests = [f"POST {url}/installed HTTP/1.1\r\nHost: s\r\nContent-Length: 0\r\n\r\n".encode() for url in urls]
    address = _service(node).address
    assert address is not None
    return ask_all(address, requests, len(requests))


def _installed(node: Node) -> int:
    """The number of reports of success that a node has."""
    with SqliteFile(states_path(node.replica)).connected() as database:
        (count,) = run(database, "SELECT count(*) FROM events WHERE kind = 'installed'").fetchone()
    return int(count)


def _torn(lab: Lab, installs: Installs, primary: Cluster, standby: Cluster, trouble: Trouble) -> list[Figure]:
    url = lab.nodes[0].url
    proof = f"{len(lab.nodes)} nodes"
    _put_script(lab.nodes[0], installs)  # before the others: who has those has this too
    for machine in range(lab.machines):
        wait_until(lambda machine=machine: lab.write(lab.nodes[0], machine), 30)  # type: ignore[misc]
    if _wait_until_equal(lab, url):
        raise AssertionError("the nodes do not have the documents, before anything was done to them")
    with lab.running(), installs.running():
        _kill_nodes(lab, installs, trouble)
        lost_by_kills = _lost(lab.acknowledged.copy(), url)
        with installs.calm.trouble():
            primary.pause()
            slowest, overslept, lab.slowest, lab.overslept = lab.slowest, lab.overslept, 0.0, 0.0
            time.sleep(trouble.stall)
            while_away, overslept_then = lab.slowest, lab.overslept
            primary.resume()
            before = lab.writes
            wait_until(lambda: lab.writes > before, 30)
        lost_by_stall = _lost(lab.acknowledged.copy(), url)
        with installs.calm.trouble():
            primary.stop(signal.SIGQUIT)
            before_promotion = lab.forget_acknowledged()
            began, written = time.monotonic(), lab.writes
            standby.promote()
            wait_until(lambda: lab.writes > written, 60)
            went_on = time.monotonic() - began
        lost_by_promotion = _lost(before_promotion, url)
        time.sleep(min(trouble.seconds, 2.0))
        upgrade = _upgrade(lab, installs, trouble, proof) if CAN_BE_ALTERED else []
        time.sleep(min(trouble.seconds, 2.0))
        lost_by_upgrade = _lost(lab.acknowledged.copy(), url)
    differ = _wait_until_equal(lab, url)
    return [
        measured(proof, "answers", lab.answers),
        measured(proof, "acknowledged writes", lab.writes),
        measured(proof, "refused writes", lab.refused),
        *(measured(proof, f"files of states that were {what}", count) for what, count in sorted(lab.files.items())),
        measured(proof, "times a clock was set", trouble.kills),
        exactly(proof, "wrong answers", len(lab.wrong), 0),
        *(Figure(proof, "the first of them", fault[:200]) for fault in lab.wrong[:1]),
        measured(proof, "slowest answer", 1_000 * slowest, "ms"),
        measured(proof, "a sleeping client woke up late by", 1_000 * overslept, "ms"),
        measured(proof, f"slowest answer while the database stalls for {trouble.stall:g} s", 1_000 * while_away, "ms"),
        measured(proof, "a sleeping client woke up late then by", 1_000 * overslept_then, "ms"),
        exactly(proof, f"acknowledged writes lost by {trouble.kills} kills", lost_by_kills, 0),
        exactly(proof, "acknowledged writes lost by the stall", lost_by_stall, 0),
        under(proof, "writes go on after the promotion", went_on, PROMOTED_SECONDS, "s"),
        measured(proof, "writes that the asynchronous standby did not have", lost_by_promotion),
        *upgrade,
        exactly(proof, "acknowledged writes lost by the upgrade", lost_by_upgrade, 0),
        exactly(proof, "nodes that differ at the end", differ, 0),
        *_figures_of(installs, proof, DatabaseStates(PostgresServer(url), Rules())),
    ]


def _put_script(node: Node, installs: Installs) -> None:
    service = node.service
    assert service is not None
    target = f"/groups/{GROUP}?format=ipxe"
    reply = service.ask_admin("PUT", target, installs.document, Authorization=f"Bearer {TOKEN}")
    assert reply.status == 200, reply.body


def _figures_of(installs: Installs, proof: str, shared: DatabaseStates) -> list[Figure]:
    differ = installs.differ()
    not_installed, lost = installs.forgotten(shared)
    return [
        *(measured(proof, f"machines that install: {what}", count) for what, count in sorted(installs.counts.items())),
        *installs.faults(proof),
        exactly(proof, "acknowledged reports of success that do not count in the end", not_installed, 0),
        exactly(proof, "acknowledged reports that the history does not have", lost, 0),
        exactly(proof, "machines whose state differs between nodes at the end", differ, 0),
    ]


def _kill_nodes(lab: Lab, installs: Installs, trouble: Trouble) -> None:
    for number in range(trouble.kills):
        node = lab.nodes[number % len(lab.nodes)]
        with installs.calm.trouble():
            node.kill()
            lab.files[_exchange_file(node, lab)] += 1
            node.start()
        lab.random.choice(lab.nodes).startup.set_clock(lab.random.choice(STEPS))
        time.sleep(trouble.seconds / trouble.kills)
        with installs.calm.trouble():
            _drop_connections(node.url)


def _upgrade(lab: Lab, installs: Installs, trouble: Trouble, proof: str) -> list[Figure]:
    """Upgrade one node, then the others. The figures say what those did before that."""
    first, *older = lab.nodes
    with installs.calm.trouble():
        first.kill()
        first.startup.upgrade()
        first.start()  # it brings the database up to date
        began = time.monotonic()
        wait_until(lambda: all(node.status() == 503 for node in older))
        saw = time.monotonic() - began
        time.sleep(UNDER_WAY_SECONDS)
        seen = time.monotonic()
        for node in older:
            node.acknowledged.clear()
        time.sleep(min(trouble.seconds, 2.0))
        writes = sum(len(node.acknowledged) for node in older)
        reports = sum(at > seen and node in older for at, node in installs.reported())
        starts = 0
        for node in older:
            node.kill()
            try:
                node.start()
            except AssertionError as error:
                if "use the newer version that wrote it" not in str(error):
                    raise
            else:
                starts += 1
                node.kill()
        for node in older:
            node.startup.upgrade()
            node.start()
    return [
        under(proof, "nodes of the version before see the newer schema", saw, SEEN_SECONDS, "s"),
        exactly(proof, "writes that they acknowledge then", writes, 0),
        exactly(proof, "reports that they acknowledge then", reports, 0),
        exactly(proof, "nodes of the version before that start on the newer schema", starts, 0),
    ]


def _exchange_file(node: Node, lab: Lab) -> str:
    """Put an earlier copy of its states, or a copy of another node's, in the place of a killed node's: what happens
    where machines are restored from images. What it has acknowledged and not delivered would be lost with its file, so
    such a file is kept. Return what was done."""
    own, other = states_path(node.replica), lab.random.choice(lab.nodes)
    earlier, copy = own.with_suffix(".earlier"), own.with_suffix(".copy")
    source = earlier if other is node else states_path(other.replica)
    with SqliteFile(own).connected() as database:
        if run(database, "SELECT 1 FROM events WHERE shared IS NULL LIMIT 1").fetchone():
            return "kept"
    if source.exists():
        SqliteFile(source).copy_to(copy)
    SqliteFile(own).copy_to(earlier)
    if not copy.exists():
        return "kept"
    SqliteFile(own).remove()
    os.replace(copy, own)
    return "rolled back" if other is node else "copied from another node"


def _drop_connections(url: str) -> None:
    query = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'answerd' AND pid <> pg_backend_pid()"
    )
    with PostgresServer(url).connected() as database:
        run(database, query).fetchall()


def _stored(url: str) -> dict[str, int]:
    """The numbers in the database, by MAC address, whatever schema that has."""
    with PostgresServer(url).connected() as database:
        rows = run(database, "SELECT identifier, text FROM documents WHERE kind = 'machine'").fetchall()
    return {identifier: int(text[2:]) for identifier, text in rows}


def _lost(acknowledged: dict[int, int], url: str) -> int:
    """How many machines have an older number in the database than was acknowledged before."""
    stored = _stored(url)
    return sum(stored.get(mac(machine), 0) < number for machine, number in acknowledged.items())


def _wait_until_equal(lab: Lab, url: str) -> int:
    """Wait until every node answers what is in the database; how many nodes do not in the end."""

    def equal(node: Node) -> Callable[[], bool]:
        def is_equal() -> bool:
            stored = _stored(url)
            last = max(stored, key=lambda identifier: stored[identifier])
            sample = lab.random.sample(range(lab.machines), min(200, lab.machines))
            # Who has the newest has all. It is asked for so often that each worker of the node is asked.
            sample += [machine for machine in range(lab.machines) if mac(machine) == last] * (10 * node.workers)
            try:
                return all(node.answer(machine) == stored.get(mac(machine)) for machine in sample)
            except ValueError:  # it does not have that machine yet
                return False

        return is_equal

    differ = 0
    for node in lab.nodes:
        try:
            wait_until(equal(node), AGREE_SECONDS)
        except AssertionError:
            differ += 1
    return differ
