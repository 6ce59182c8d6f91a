"""Several nodes in process that share a log of events, boards that ask and report at any of them, and operators: what
is true of each board, whatever the nodes have heard of each other.

Shares nothing with the rules of the product but its words. Every order and report is written down with its time and
with what its node knew. From that alone follows what must be (`NodeWorld.judge`):

- A board whose last acknowledged order or report is a `disarm` or a report of success is refused, wherever that came:
  by its own node at once, by every node once they have heard of each other.
- A board that was armed after all of these is given the installer everywhere then, unless that `arm` was forgotten:
  what the node of a `forget` did not know comes back.
- A board that every node refuses is refused after they have joined: nobody is installed by a joining.
- Nodes that have heard of each other agree, in whatever order they were joined, and have every acknowledged report.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import NamedTuple
from urllib.parse import urlencode

from answerd.answers.resolve import resolve
from answerd.answers.sources import Sources
from answerd.errors import GateClosed
from answerd.facts import Facts, Request
from answerd.installs.events import Event, Kind, summary_of
from answerd.installs.records import InstallMemory
from answerd.installs.states import Rules
from tests.support.hardware_site import InProcess, reply_of
from tests.support.hardware_world import Step, Violation
from tests.support.installs import RememberedInstalls

RULES = Rules(starts=1_000)
FIRST = 1_800_000_000.0


class Act(NamedTuple):
    """An acknowledged order or report of success. ``closes``: it is a `disarm`, or a report of what was under way as
    far as its node knew, and no repetition. ``is_report``: whether or not it closes."""

    verb: str
    at: float
    closes: bool
    is_report: bool = False


class Given(NamedTuple):
    """What a board was given. ``began`` is the time of the last order that the node knew then."""

    url: str
    began: float


@dataclass(eq=False)
class Board:
    """One machine. ``requests`` are what it may say; ``name`` is what operators type."""

    name: str
    requests: list[dict[str, list[str]]]
    acts: list[Act] = field(default_factory=list)
    forgotten: set[Act] = field(default_factory=set)
    given: list[Given] = field(default_factory=list)


class Installs(RememberedInstalls):
    """States that may be asked without consequences."""

    is_asked_only = False

    def _write(self, event: Event) -> None:
        if not self.is_asked_only:
            super()._write(event)


class Node(InProcess):
    """A node: a service with a file of its own. ``heard`` are the acts that it knows."""

    def __init__(self, name: str, rows: list[dict[str, str]]) -> None:
        super().__init__()
        self.name = name
        self.own = self.installs = Installs(clock=FIRST, catalogue=lambda: self.catalogue)
        self.own.rules = RULES
        self.sources = Sources(gates=self.own.gates)
        self.is_cut = False
        self.heard: set[tuple[str, Act]] = set()
        self.table(rows)

    def take(self, events: Sequence[Event]) -> None:
        """Take events of other nodes."""
        known = {event.id for event in self.installs.written}
        for event in events:
            if event.id not in known:
                self.installs.written.append(event)
                self.installs.memory.apply(event)

    def would_give(self, said: dict[str, list[str]]) -> bool:
        """Whether a request would be given the installer. Changes nothing."""
        self.own.is_asked_only = True
        try:
            query = urlencode([(label, value) for label, values in said.items() for value in values])
            facts = Facts(Request("/ipxe", query, (("host", "s"),)))
            answer = resolve(self.catalogue, facts, sources=self.sources)
            return reply_of(answer.body.decode(), is_given=answer.refusal is None).is_given
        except GateClosed:
            return False
        finally:
            self.own.is_asked_only = False


def memory_of(events: Sequence[Event]) -> InstallMemory:
    """What some events come to."""
    memory = InstallMemory(RULES)
    for event in events:
        memory.apply(event)
    return memory


class Database:
    """The log that nodes share."""

    def __init__(self, events: Sequence[Event] = ()) -> None:
        self.events = [*events]

    def exchange(self, node: Node, *, is_dropped: bool = False) -> None:
        """Deliver what a node has, and have it take the rest, unless the connection is lost before."""
        known = {event.id for event in self.events}
        self.events += [event for event in node.installs.written if event.id not in known]
        if not is_dropped:
            node.take(self.events)


VERBS = {
    "ask": 30,
    "installed": 16,
    "failed": 3,
    "arm": 8,
    "disarm": 4,
    "forget": 2,
    "cut": 6,
    "heal": 6,
    "exchange": 24,
    "drop": 4,
    "restart": 2,
    "sum up": 3,
    "promote": 2,
    "wait": 4,
}


class NodeWorld:
    """The nodes and the boards. ``ahead``: seconds by which the clock of each node is ahead, 0 for the others."""

    def __init__(self, nodes: int, boards: int = 4, ahead: Sequence[float] = ()) -> None:
        self.boards: list[Board] = []
        rows: list[dict[str, str]] = []
        for number in range(boards):
            mac, serial = f"00:25:90:00:00:{number:02x}", f"SER{number:04d}"
            if number % 2:
                self.boards.append(Board(mac, [{"mac": [mac]}]))
                continue
            rows.append({"id": f"web-{number:02d}", "mac": mac, "serial": serial, "uuid": ""})
            said = [{"mac": [mac]}, {"serial": [serial]}, {"mac": [mac], "serial": [serial]}]
            self.boards.append(Board(f"web-{number:02d}", said))
        self.nodes = [Node("ABC"[at], rows) for at in range(nodes)]
        self.ahead = dict(zip("ABC", ahead, strict=False))
        self.rows = rows
        self.database = Database()
        self.now = FIRST
        self.story: list[str] = []

    # --- what happens ------------------------------------------------------------------------------------------------

    def do(self, step: Step) -> None:
        """Have a step happen, where it can."""
        self.now += 0.01
        node = self.nodes[step.first % len(self.nodes)]
        board = self.boards[step.second % len(self.boards)]
        for one in self.nodes:
            one.installs.clock = self.now + self.ahead.get(one.name, 0.0)
        getattr(self, "_" + step.verb.replace(" ", "_"))(node, board, step.third)

    def _ask(self, node: Node, board: Board, choice: int) -> None:
        reply = node.ask("/ipxe", board.requests[choice % len(board.requests)])
        self.story.append(f"{board.name} asks {node.name}: {'given' if reply.is_given else reply.text}")
        if reply.is_given:
            self._require_open(node, board, reply.text)
            began = max((act.at for act in self._heard(node, board) if not act.is_report), default=0.0)
            board.given.append(Given(reply.url, began))

    def _installed(self, node: Node, board: Board, choice: int) -> None:
        self._report(node, board, choice, "installed")

    def _failed(self, node: Node, board: Board, choice: int) -> None:
        self._report(node, board, choice, "failed")

    def _report(self, node: Node, board: Board, choice: int, word: str) -> None:
        if not board.given:
            return
        given = board.given[choice % len(board.given)] if choice % 3 == 0 else board.given[-1]
        node.report(given.url, word)
        self.story.append(f"{board.name} reports {word} to {node.name}, given at {given.began - FIRST:.2f}")
        if word == "installed":
            orders = [act for act in self._heard(node, board) if not act.is_report]
            is_present = all(act.at <= given.began for act in orders)
            is_present = is_present and not any(act.closes and act.at > given.began for act in self._heard(node, board))
            self._acted(node, board, Act("installed", self.now, is_present, is_report=True))

    def _acted(self, node: Node, board: Board, act: Act) -> None:
        board.acts.append(act)
        node.heard.add((board.name, act))

    def _heard(self, node: Node, board: Board) -> list[Act]:
        return [act for name, act in node.heard if name == board.name]

    def _arm(self, node: Node, board: Board, _: int) -> None:
        self._order(node, board, "arm")

    def _disarm(self, node: Node, board: Board, _: int) -> None:
        self._order(node, board, "disarm")

    def _forget(self, node: Node, board: Board, _: int) -> None:
        self._order(node, board, "forget")

    def _order(self, node: Node, board: Board, verb: str) -> None:
        if not node.is_cut:  # an order takes what the database has first
            self._exchange(node, board, 0)
        if node.order(verb, (board.name,)) is None:
            raise Violation(f"{verb} {board.name} at {node.name} is not taken")
        self.story.append(f"{verb} {board.name} at {node.name}")
        if verb == "forget":
            board.forgotten.update(self._heard(node, board))
        self._acted(node, board, Act(verb, self.now, verb == "disarm"))

    # --- between nodes -----------------------------------------------------------------------------------------------

    def _cut(self, node: Node, _board: Board, _: int) -> None:
        node.is_cut = True
        self.story.append(f"-- {node.name} is cut off")

    def _heal(self, node: Node, board: Board, choice: int) -> None:
        node.is_cut = False
        self._exchange(node, board, choice)

    def _exchange(self, node: Node, _board: Board, _: int) -> None:
        if not node.is_cut:
            self.database.exchange(node)
            self._hear(node)
            self.story.append(f"-- {node.name} exchanges")

    def _drop(self, node: Node, _board: Board, _: int) -> None:
        if not node.is_cut:
            self.database.exchange(node, is_dropped=True)
            self.story.append(f"-- {node.name} delivers, and is lost")

    def _hear(self, node: Node) -> None:
        """The acts of the events that a node has now."""
        times = {event.at for event in node.installs.written}
        for board in self.boards:
            node.heard |= {(board.name, act) for act in board.acts if act.at in times}

    def _promote(self, _node: Node, _board: Board, choice: int) -> None:
        """The standby does not have the last events."""
        lost = min(len(self.database.events), choice % 6)
        if lost:
            del self.database.events[-lost:]
            self.story.append(f"-- the standby is promoted without the last {lost} events")

    def _restart(self, node: Node, _board: Board, choice: int) -> None:
        """Read the events again, in another order."""
        events = [*node.installs.written]
        random.Random(choice).shuffle(events)
        before, after = node.installs.memory, memory_of(events)
        for identity in {*before.by_identity} | {*after.by_identity}:
            if before.state_of(identity) is not after.state_of(identity):
                raise Violation(f"{identity} at {node.name} is another state in another order of the events")
        node.installs.memory = after
        self.story.append(f"-- {node.name} is started again")

    def _sum_up(self, node: Node, board: Board, _: int) -> None:
        """The events of a record become a summary, which is an event beside those that others have."""
        mac = board.requests[0]["mac"][0].replace(":", "")
        for record in (mac, board.requests[0].get("serial", [""])[0].lower()):
            events = [event for event in node.installs.written if event.record == record]
            if events:
                summary = summary_of(events, record)._replace(id=f"{node.name}{record}{self.now}", at=self.now - 0.001)
                node.installs.written.append(summary)
                node.installs.memory.apply(summary)
                self.story.append(f"-- {node.name} sums up {record}")

    def _wait(self, _node: Node, _board: Board, choice: int) -> None:
        self.now += (1.0, 45.0, 130.0, 1000.0)[choice % 4]

    # --- what must be ------------------------------------------------------------------------------------------------

    def _require_open(self, node: Node, board: Board, text: str) -> None:
        acts = self._heard(node, board)
        closed = max((act.at for act in acts if act.closes), default=0.0)
        if closed and all(act.at < closed for act in acts if not act.is_report and not act.closes):
            raise Violation(f"{board.name} was closed as {node.name} knows, and is given the installer: {text}")

    def judge(self) -> None:
        """Join the nodes in every order. Raise `Violation` where they do not end as they must."""
        for node in self.nodes:
            node.installs.clock = self.now + 1
        refused = [board for board in self.boards if not any(self._gives(node, board) for node in self.nodes)]
        ends = []
        spare = [Node(node.name, self.rows) for node in self.nodes]
        for order in permutations(range(len(self.nodes))):
            nodes = [self._copied(node, other) for node, other in zip(self.nodes, spare, strict=True)]
            database = Database(self.database.events)
            for at in (*order, *order, *order):
                database.exchange(nodes[at])
            self._require(nodes, refused, order)
            ends.append({board.name: self._gives(nodes[0], board) for board in self.boards})
        if any(end != ends[0] for end in ends):
            raise Violation(f"the order of joining makes a difference: {ends}")

    def _copied(self, node: Node, other: Node) -> Node:
        other.installs.written = [*node.installs.written]
        other.installs.memory = memory_of(node.installs.written)
        other.installs.clock = self.now + 1
        return other

    def _gives(self, node: Node, board: Board) -> bool:
        found = [node.would_give(said) for said in board.requests]
        if any(found) and not all(found):
            raise Violation(f"{node.name} gives {board.name} the installer for some of what it may say: {found}")
        return found[0]

    def _require(self, nodes: list[Node], refused: list[Board], order: tuple[int, ...]) -> None:
        told = f"after the nodes joined as {[nodes[at].name for at in order]}"
        for board in self.boards:
            gives = [self._gives(node, board) for node in nodes]
            if any(gives) and not all(gives):
                raise Violation(f"{board.name}: the nodes differ {told}: {gives}")
            if gives[0] and board in refused:
                raise Violation(f"every node refused {board.name}, and it is given the installer {told}")
            closed = max((act.at for act in board.acts if act.closes), default=0.0)
            opened = max((act.at for act in board.acts if not act.closes and not act.is_report), default=0.0)
            if gives[0] and closed > opened:
                raise Violation(f"{board.name} was closed last, and is given the installer {told}")
            ended = max((act.at for act in board.acts if act.closes or act.is_report), default=0.0)
            arms = [act.at for act in board.acts if act.verb == "arm" and act not in board.forgotten]
            armed = max(arms, default=0.0)
            if not gives[0] and armed > ended:
                raise Violation(f"{board.name} was armed last, and is refused {told}")
        states = [{one: held.record.state for one, held in node.installs.memory.by_identity.items()} for node in nodes]
        if any(state != states[0] for state in states):
            raise Violation(f"the nodes have other states {told}")
        for node in nodes:
            reports = {event.at for event in node.installs.written if event.kind is Kind.INSTALLED}
            for board in self.boards:
                if not {act.at for act in board.acts if act.is_report} <= reports:
                    raise Violation(f"{node.name} has not every acknowledged report {told}")


def walk(seed: int, length: int) -> list[Step]:
    """The steps of one walk."""
    choose = random.Random(seed)
    drawn = choose.choices([*VERBS], [*VERBS.values()], k=length)
    return [Step(verb, *(choose.randrange(1 << 30) for _ in range(3))) for verb in drawn]


def violation(steps: Sequence[Step], nodes: int, every: int = 20) -> tuple[int, str, NodeWorld] | None:
    """The step that goes wrong, and why; None where none does. After ``every`` steps, and in the end, the nodes are
    joined in every order, on the side."""
    world = NodeWorld(nodes)
    for at, step in enumerate(steps):
        try:
            world.do(step)
            if at % every == every - 1 or at == len(steps) - 1:
                world.judge()
        except Violation as error:
            return at, str(error), world
    return None


def shortest(steps: list[Step], nodes: int) -> tuple[int, str, NodeWorld] | None:
    """The violation of some steps in as few as there need be."""
    found = violation(steps, nodes)
    if found is None:
        return None
    steps = steps[: found[0] + 1]
    at = len(steps) - 1
    while at >= 0:
        fewer = steps[:at] + steps[at + 1 :]
        again = violation(fewer, nodes, len(fewer))
        if again is not None:
            steps, found, at = fewer[: again[0] + 1], again, min(at, again[0] + 1)
        at -= 1
    return found
