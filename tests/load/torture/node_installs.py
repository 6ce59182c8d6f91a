"""Machines that install once, on nodes that share their states: who asks, who reports, and what was given.

Rules: docs/many-nodes.md#states-of-installs. A machine asks any node for its loader script, reports to any node, and
asks again. After an acknowledged `installed` the script may be given again only at a node that cannot know of the
report yet; an operator arms the machine then, at any node.
"""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, Protocol

from answerd.store.state_sync import DatabaseStates
from tests.load.torture.figures import Figure, exactly
from tests.support.replies import Reply
from tests.support.service import Service
from tests.support.waiting import wait_until

GROUP = "installing"
HEARD_SECONDS = 1.0
"""Within which a calm node hears of a report to another one."""

SETTLED_SECONDS = 5.0
"""After which a trouble is over: nodes connect again after up to a second, and catch up."""

AGREE_SECONDS = 60.0
THREADS = 8
PAUSE_SECONDS = 0.02

_REPORT = re.compile(r"/report/[\w.-]+")


class Node(Protocol):
    """A node that may be down."""

    service: Service | None


class Calm:
    """Remembers when something was wrong."""

    def __init__(self) -> None:
        self._troubles: list[list[float]] = []
        self._lock = threading.Lock()

    @contextmanager
    def trouble(self) -> Iterator[None]:
        """For the time of the block, and until nodes have caught up, they may not hear of one another."""
        with self._lock:
            self._troubles.append([time.monotonic(), float("inf")])
            mine = self._troubles[-1]
        try:
            yield
        finally:
            mine[1] = time.monotonic() + SETTLED_SECONDS

    def since(self, moment: float) -> bool:
        """Whether nothing was wrong from that moment on."""
        with self._lock:
            return all(end < moment for _, end in self._troubles)


class Wrong(StrEnum):
    """What must not happen."""

    AT_ONE_NODE = "scripts given again by the node that acknowledged the report"
    IN_CALM = "scripts given again by another node later than in 1 s, in calm"
    REFUSED = "scripts refused to a machine that was never installed, or armed more than 1 s before, in calm"
    OTHER = "other faults of installs"


class Machine:
    """A machine and its operator. ``installed`` is when and at which node its report was acknowledged, None while it
    may install; ``armed`` is when that was acknowledged, None in the first attempt; ``told`` are the messages that were
    acknowledged in this attempt."""

    def __init__(self, number: int) -> None:
        self.mac = f"5254ff{number:06x}"
        self.installed: tuple[float, Node] | None = None
        self.armed: float | None = None
        self.told: list[str] = []
        self.url = ""
        self.former: set[str] = set()  # the attempts that it was given
        self.unanswered = 0  # orders that got no answer, which may be stored and count later
        self.refusals = 0


class Installs:
    """All machines. Counts what they did, and what went wrong."""

    def __init__(self, nodes: Sequence[Node], machines: int, token: str, seed: int = 7) -> None:
        self.nodes = nodes
        self.machines = [Machine(number) for number in range(machines)]
        self.calm = Calm()
        self.counts: Counter[str] = Counter()
        self.wrong: dict[Wrong, list[str]] = {kind: [] for kind in Wrong}
        self._token = token
        self._seed = seed
        self._end = threading.Event()
        self._lock = threading.Lock()

    @property
    def document(self) -> bytes:
        """The script of all machines."""
        members = "".join(f"# answer: member {machine.mac}\n" for machine in self.machines)
        return f"#!ipxe\n{members}# answer: once\nkernel vmlinuz {{{{ report }}}}\n".encode()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Machines install, for the time of the block."""
        parts = [self.machines[number::THREADS] for number in range(THREADS)]
        threads = [
            threading.Thread(target=self._live, args=(part, random.Random(self._seed + number)), daemon=True)
            for number, part in enumerate(parts)
            if part
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._end.set()
            for thread in threads:
                thread.join(30)

    def _live(self, machines: Sequence[Machine], choose: random.Random) -> None:
        while not self._end.wait(PAUSE_SECONDS):
            machine = choose.choice(machines)
            try:
                self._step(machine, choose)
            except (OSError, AssertionError):
                self._count("no reply")  # the node was killed, or refuses while the database is away
            except Exception as error:  # of this proof
                self._fault(Wrong.OTHER, f"{machine.mac}: {type(error).__name__}: {error}")

    def _step(self, machine: Machine, choose: random.Random) -> None:
        node = choose.choice(self.nodes)
        if machine.installed is None:
            self._install(machine, node, choose)
        elif machine.refusals < 3:
            self._boot_again(machine, node)
        elif self._arm(machine, node):
            machine.installed, machine.armed, machine.url, machine.refusals = None, time.monotonic(), "", 0
            machine.told.clear()
            self._count("armed")

    def _install(self, machine: Machine, node: Node, choose: random.Random) -> None:
        if not machine.url:
            asked = time.monotonic()
            reply = self._ask(node, machine)
            found = _REPORT.search(reply.text)
            if found is None or _attempt_of(found[0]) in machine.former:
                self._refused(machine, asked, reply)
                return
            machine.url = found[0]
            machine.former.add(_attempt_of(machine.url))
            self._count("given")
            return
        word = choose.choices(["progress", "installed"], [1, 2])[0]
        message = f"{word}-{machine.mac}-{self.counts['reports']}-{choose.randrange(10**9)}"
        service = _up(node)
        if service.post(f"{machine.url}/{word}?message={message}", b"").status != 200:
            raise AssertionError
        self._count("reports")
        machine.told.append(message)
        if word == "installed":
            machine.installed = time.monotonic(), node
            self._count("installed")

    def _refused(self, machine: Machine, asked: float, reply: Reply) -> None:
        """It may install, and got no script of its attempt: right where the node cannot have heard of ``arm`` yet."""
        if machine.armed is None:
            self._fault(Wrong.REFUSED, f"{machine.mac}: refused in its first attempt: {reply.text!r}")
        elif asked - machine.armed > HEARD_SECONDS and self.calm.since(machine.armed):
            late = f"{asked - machine.armed:.1f} s after it was armed"
            self._fault(Wrong.REFUSED, f"{machine.mac}: refused {late}, in calm: {reply.text!r}")
        else:
            self._count("asked a node that has not heard of arm yet")

    def _boot_again(self, machine: Machine, node: Node) -> None:
        assert machine.installed is not None
        at, reported_to = machine.installed
        asked = time.monotonic()
        reply = self._ask(node, machine)
        if "is installed" in reply.text:
            machine.refusals += 1
            self._count("refused")
            return
        found = _REPORT.search(reply.text)
        if machine.unanswered and found is not None and _attempt_of(found[0]) not in machine.former:
            machine.unanswered -= 1
            machine.installed, machine.armed, machine.url, machine.refusals = None, asked, found[0], 0
            machine.former.add(_attempt_of(machine.url))
            machine.told.clear()
            self._count("given by an order that got no answer")
        elif node is reported_to:
            told = f"reported {machine.url}, got {reply.text!r}"
            self._fault(Wrong.AT_ONE_NODE, f"{machine.mac}: {told}")
        elif asked - at > HEARD_SECONDS and self.calm.since(at):
            self._fault(Wrong.IN_CALM, f"{machine.mac}: {asked - at:.1f} s after its report")
        else:
            self._count("given again by a node that could not know")

    def _ask(self, node: Node, machine: Machine) -> Reply:
        reply = _up(node).get(f"/ipxe?mac={machine.mac}")
        if reply.status == 503 and "use the newer version that wrote it" in reply.text:
            self._count("503 by a node of the version before")
        elif reply.status not in (0, 200):
            self._fault(Wrong.OTHER, f"{machine.mac}: {reply.status} {reply.text[:300]!r}")
        if reply.status != 200:
            raise AssertionError
        self._count("answers")
        return reply

    def _arm(self, machine: Machine, node: Node) -> bool:
        service = _up(node)
        machine.unanswered += 1
        reply = service.ask_admin("POST", f"/installs/{machine.mac}/arm", Authorization=f"Bearer {self._token}")
        if reply.status not in (0, 200, 503):
            self._fault(Wrong.OTHER, f"{machine.mac}: arm was answered with {reply.status} {reply.text}")
        if reply.status != 200:
            return False
        machine.unanswered -= 1
        return True

    def reported(self) -> Sequence[tuple[float, Node]]:
        """Return when and where each report of success was acknowledged."""
        return [machine.installed for machine in self.machines if machine.installed is not None]

    # --- the end -----------------------------------------------------------------------------------------------------

    def faults(self, proof: str) -> Iterator[Figure]:
        """Yield how often each thing happened that must not, with the first times."""
        for kind, wrong in self.wrong.items():
            yield exactly(proof, kind, len(wrong), 0)
            for fault in wrong[:3]:
                yield Figure(proof, "one of them", fault[:400], "-", False)

    def differ(self) -> int:
        """Wait until all nodes know the same of all machines; return how many machines differ in the end."""
        found: list[Mapping[str, Any]] = []

        def are_equal() -> bool:
            found[:] = [self._listed(node) for node in self.nodes]
            return all(answer == found[0] for answer in found)

        try:
            wait_until(are_equal, AGREE_SECONDS)
        except (AssertionError, TimeoutError):
            differing = [
                [answer.get(name) for answer in found]
                for name, told in found[0].items()
                if any(answer.get(name) != told for answer in found)
            ]
            self._fault(Wrong.OTHER, f"the nodes say of one machine at the end: {differing[:1]}")
            return len(differing) or 1
        return 0

    def forgotten(self, shared: DatabaseStates) -> tuple[int, int]:
        """Return how many machines whose report was acknowledged are not installed in the end, and how many
        acknowledged reports of the present attempts the history does not have."""
        listed = self._listed(self.nodes[0])
        states = lost = 0
        for machine in self.machines:
            state = listed.get(machine.mac, {}).get("state")
            if machine.installed is not None and not machine.unanswered:
                states += state != "installed"
            if machine.told:
                noted = {event.detail for event in shared.history([machine.mac])}
                lost += sum(message not in noted for message in machine.told)
        return states, lost

    def _listed(self, node: Node) -> dict[str, Any]:
        """Return what a node says of each machine's record. Last contacts are each node's own, and whether a machine is
        silent depends on its node's clock."""
        reply = _up(node).ask_admin("GET", "/installs", Authorization=f"Bearer {self._token}")
        installs = json.loads(reply.body)["installs"]
        own = ("heard", "last_step", "silent")
        return {one["machine"]: {key: told for key, told in one.items() if key not in own} for one in installs}

    def _count(self, what: str) -> None:
        with self._lock:
            self.counts[what] += 1

    def _fault(self, kind: Wrong, fault: str) -> None:
        with self._lock:
            self.wrong[kind].append(fault)


def _attempt_of(url: str) -> str:
    """Return the order that began the attempt of a report's URL, empty for the first attempt. A node that has not heard
    of the newest order gives a URL of the attempt before, which need not be the one that another node gave. A report to
    it is one of that attempt, and leaves the newest open."""
    return url.split(".")[2]


def _up(node: Node) -> Service:
    service = node.service
    if service is None:
        raise OSError("the node is down")
    return service
