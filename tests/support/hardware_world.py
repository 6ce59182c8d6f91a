"""A site as it really is: boards, cards that move between them, rows that people write, orders by any name.

Shares nothing with the rules of the product but its words. `World` knows which board asks, whatever the request says of
it, and judges what the service does (`World.judge`):

- A board whose install was acknowledged is never given the installer by a request that carries an identity that it said
  before, unless an operator's order named it.
- A board that never installed and is refused gets a sentence whose order, followed, lets it in.

Questionable steps that a site brings on itself do not count: an order by an identity that another board has or had, and
a row that mixed two boards.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

SHARED_SERIALS = ("Default string", "To Be Filled By O.E.M.", "0123456789", "Not Applicable")
SHARED_UUID = "03000200-0400-0500-0006-000700080009"


class Reply(NamedTuple):
    """What a machine gets. ``url`` is where it reports; empty where it was refused. ``order`` are the names after the
    ``arm`` that the refusal prints, ``text`` is all of it. ``is_fault``: the set has a fault that concerns it."""

    is_given: bool
    url: str = ""
    order: tuple[str, ...] = ()
    text: str = ""
    is_fault: bool = False


class Site(Protocol):
    """The service."""

    def ask(self, path: str, said: dict[str, list[str]]) -> Reply:
        """A request of a machine."""

    def report(self, url: str, word: str) -> bool:
        """Whether the report of a machine was acknowledged."""

    def order(self, verb: str, names: tuple[str, ...]) -> set[str] | None:
        """The identities that an operator's order named, as it prints them; None where it was not taken."""

    def table(self, rows: list[dict[str, str]]) -> None:
        """Put the operator's table in force."""

    def passes(self, seconds: float) -> None:
        """Time passes."""

    def restart(self) -> None:
        """Stop and start the service."""


@dataclass(eq=False)
class Board:
    """One machine. ``requests`` are the identities of its own that came together in a request, with those of its row
    where it was given something. ``done`` are those that are tied to its acknowledged install, however many requests
    lead from one to the other. ``had`` is all that it ever had. ``urls``: of what it was given since it was ordered
    last, each with the request that it came to. ``is_excused``: an operator's order named it, or a row mixed it with
    another board; ``is_mixed``: it was given something by a row that has another board's card too. ``old_urls`` are
    those from before the last order."""

    number: int
    serial: str
    uuid: str
    macs: list[str]
    loader: tuple[str, ...]
    installer: tuple[str, ...]
    requests: list[set[str]] = field(default_factory=list)
    done: set[str] = field(default_factory=set)
    had: set[str] = field(default_factory=set)
    was_ever_done: bool = False
    is_excused: bool = False
    is_mixed: bool = False
    urls: list[tuple[str, set[str]]] = field(default_factory=list)
    old_urls: set[str] = field(default_factory=set)

    def tied_to(self, own: set[str]) -> set[str]:
        """All identities that its requests tie to some."""
        found, grows = set(own), True
        while grows:
            more = {one for request in self.requests if request & found for one in request}
            grows = not more <= found
            found |= more
        return found

    def identities(self) -> set[str]:
        """All identities that it has now, those of firmware that was never filled in apart."""
        found = {*self.macs}
        if self.serial not in SHARED_SERIALS:
            found.add(self.serial)
        if self.uuid != SHARED_UUID:
            found.add(self.uuid)
        return found


class Violation(AssertionError):
    """Something happened that must never happen."""


class Step(NamedTuple):
    """One thing that happens, which can be done again: a verb and numbers that choose."""

    verb: str
    first: int = 0
    second: int = 0
    third: int = 0


SENDS = (("mac",), ("mac", "serial"), ("mac", "serial", "uuid"), ("serial",), ("uuid",), ("macs", "uuid"), ("macs",))
VERBS = {
    "loader": 30,
    "installer": 20,
    "installed": 14,
    "failed": 2,
    "copied": 1,
    "arm": 5,
    "disarm": 2,
    "forget": 1,
    "arm by old name": 1,
    "rename": 3,
    "exchange": 2,
    "reuse": 2,
    "extend": 3,
    "shrink": 1,
    "remove row": 1,
    "add row": 4,
    "replace table": 1,
    "move card": 2,
    "exchange cards": 1,
    "new board": 2,
    "new firmware": 1,
    "wait": 4,
    "restart": 1,
}


@dataclass
class World:
    """The site, and what is true of it."""

    site: Site
    by_members: bool = False
    """Groups name the machines, by their names and identities, in place of a table; a machine says its name."""

    boards: list[Board] = field(default_factory=list)
    rows: list[dict[str, str]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    made: int = 0
    story: list[str] = field(default_factory=list)
    refused_after_order: int = 0

    # --- what happens ------------------------------------------------------------------------------------------------

    def do(self, step: Step) -> None:
        """Have a step happen, where it can."""
        getattr(self, "_" + step.verb.replace(" ", "_"))(step)

    def _board(self, number: int) -> Board | None:
        return self.boards[number % len(self.boards)] if self.boards else None

    def _row(self, number: int) -> dict[str, str] | None:
        return self.rows[number % len(self.rows)] if self.rows else None

    def _new_board(self, step: Step) -> None:
        if len(self.boards) >= 9:
            return
        self.made += 1
        number = self.made
        chosen = random.Random(step.first)
        serial = f"SER{number:04d}" if chosen.random() < 0.75 else chosen.choice(SHARED_SERIALS)
        uuid = f"{number:08x}-1111-4222-8333-{number:012x}" if chosen.random() < 0.8 else SHARED_UUID
        macs = [f"00:25:90:00:{number:02x}:{port:02x}" for port in (1, 2)]
        board = Board(number, serial, uuid, macs, chosen.choice(SENDS), chosen.choice(SENDS))
        board.had = board.identities()
        self.boards.append(board)
        self.story.append(f"board {number} {serial} {uuid} {macs} loader {board.loader} installer {board.installer}")

    def _new_firmware(self, step: Step) -> None:
        board = self._board(step.first)
        if board is not None:
            board.loader = SENDS[step.second % len(SENDS)]
            board.installer = SENDS[step.third % len(SENDS)]

    def _loader(self, step: Step) -> None:
        board = self._board(step.first)
        if board is not None:
            path = "/ipxe" if step.second % 5 or self.by_members else "/wait.ipxe"
            self._asks(board, path, board.loader, step.third)

    def _installer(self, step: Step) -> None:
        board = self._board(step.first)
        if board is not None:
            self._asks(board, "/ks", board.installer, step.third)

    def _asks(self, board: Board, path: str, sends: tuple[str, ...], port: int) -> Reply:
        said: dict[str, list[str]] = {}
        for what in sends:
            if what == "mac" and board.macs:
                said["mac"] = [board.macs[port % len(board.macs)]]
            elif what == "macs" and board.macs:
                said["mac"] = [*board.macs]
            elif what in ("serial", "uuid"):
                said[what] = [board.serial if what == "serial" else board.uuid]
        if not said:
            return Reply(False)
        if self.by_members and port % 3:
            said |= {"hostname": [row["id"] for row in self.rows if self._has(row, board)][:1]}
        reply = self.site.ask(path, said)
        own = {one for values in said.values() for one in values} & board.identities()
        self.story.append(f"board {board.number} asks {path} {said}: {'given' if reply.is_given else reply.text}")
        self.judge(board, path, own, reply)
        request = own | (self._of_rows(own) & board.identities() if reply.is_given else set())
        if request and not reply.is_fault:
            board.requests.append(request)
        if board.done & request and not reply.is_fault:
            board.done = board.tied_to(board.done)
        if reply.is_given and reply.url:
            board.urls.append((reply.url, request))
            self._note_mixed(board, own)
        return reply

    def _note_mixed(self, board: Board, own: set[str]) -> None:
        """Note where the row by which a board was given something has another board's identities: a card moved, and the
        row is not up to date."""
        of_row = self._of_rows(own)
        others = [other for other in self.boards if other is not board and of_row & other.identities()]
        for mixed in (board, *others) if others else ():
            mixed.is_mixed = True

    def _has(self, row: dict[str, str], board: Board) -> bool:
        return bool({*row["mac"].split(), row["serial"], row["uuid"]} & board.identities())

    def _of_rows(self, own: set[str]) -> set[str]:
        if self.by_members:
            return set()
        rows = [{*row["mac"].split(), row["serial"], row["uuid"]} for row in self.rows]
        return {one for row in rows if row & own for one in row}

    def judge(self, board: Board, path: str, own: set[str], reply: Reply) -> None:
        """Raise `Violation` where the service did what it must not."""
        if reply.is_given and path != "/ks" and not (board.is_excused or board.is_mixed) and own & board.done:
            raise Violation(f"board {board.number} was installed, and is given the installer")
        if reply.is_given or reply.is_fault or path == "/wait.ipxe" or board.was_ever_done or board.is_excused:
            return
        self._follow(board, path, own, reply)

    def _follow(self, board: Board, path: str, own: set[str], reply: Reply) -> None:
        """A board that never installed is refused: the operator types what the screen says."""
        if not reply.order:
            raise Violation(f"board {board.number} is refused without an order: {reply.text}")
        sends = {"mac": [one for one in own if one in board.macs]} if own & {*board.macs} else {}
        said = {
            **sends,
            **({"serial": [board.serial]} if board.serial in own else {}),
            **({"uuid": [board.uuid]} if board.uuid in own else {}),
        }
        for _ in range(3):
            if not self._ordered("arm", reply.order):
                raise Violation(f"the order of a refusal is not taken: {reply.order}")
            reply = self.site.ask(path, said)
            self.story.append(f"  arm {reply.order}, asks again: {'given' if reply.is_given else reply.text}")
            if reply.is_given:
                board.urls.append((reply.url, own))
                return
            if reply.is_fault:
                return
            self.refused_after_order += 1
        raise Violation(f"board {board.number} never installed, and no order lets it in: {reply.text}")

    def _reports(self, board: Board | None, word: str, which: int) -> None:
        if board is None or not board.urls:
            return
        url, request = board.urls[which % len(board.urls)] if which % 4 == 0 else board.urls[-1]
        if self.site.report(url, word) and word == "installed":
            board.was_ever_done = True
        if word == "installed" and url not in board.old_urls:
            board.is_excused = False
            board.done = board.tied_to(board.done | request)
        self.story.append(f"board {board.number} reports {word}, as it was given to {sorted(request)}")

    def _installed(self, step: Step) -> None:
        self._reports(self._board(step.first), "installed", step.second)

    def _failed(self, step: Step) -> None:
        self._reports(self._board(step.first), "failed", step.second)

    def _copied(self, step: Step) -> None:
        self._reports(self._board(step.first), "copied", step.second)

    # --- operators -----------------------------------------------------------------------------------------------

    def _typed(self, step: Step) -> str | None:
        """A name, MAC address or serial number that an operator types."""
        board, row = self._board(step.first), self._row(step.first)
        choice = step.second % 4
        if choice < 2 and row is not None:
            return row["id"]
        if board is None:
            return None
        if choice == 2 and board.macs:
            return board.macs[step.third % len(board.macs)]
        return board.serial if board.serial not in SHARED_SERIALS else None

    def _arm(self, step: Step) -> None:
        self._orders("arm", self._typed(step))

    def _disarm(self, step: Step) -> None:
        self._orders("disarm", self._typed(step))

    def _forget(self, step: Step) -> None:
        self._orders("forget", self._typed(step))

    def _arm_by_old_name(self, step: Step) -> None:
        self._orders("arm", self.names[step.first % len(self.names)] if self.names else None)

    def _orders(self, verb: str, typed: str | None) -> None:
        if typed is not None:
            self._ordered(verb, (typed,))

    def _ordered(self, verb: str, names: tuple[str, ...]) -> bool:
        named = self.site.order(verb, names)
        is_taken = named is not None
        self.story.append(f"operator: {verb} {names}{'' if is_taken else ' (unknown)'}")
        if verb != "disarm" and named is not None:
            meant = named | {one for name in names for one in self._meant(name)}
            for board in self.boards:
                if meant & (board.had | board.identities()):
                    board.is_excused, board.is_mixed = True, False
                    board.done = set()
                    board.old_urls |= {url for url, _ in board.urls}
                    board.urls.clear()
        return is_taken

    def _meant(self, name: str) -> set[str]:
        """The identities that an operator means: those of the row that has the name or identity; else what is typed,
        and for a name all that was ever under it."""
        found: set[str] = set()
        for row in self.rows:
            values = {row["id"], *row["mac"].split(), row["serial"], row["uuid"]}
            if name in values:
                found |= values
        return (found or self._under.get(name, set())) | {name}

    _under: dict[str, set[str]] = field(default_factory=dict)

    # --- the table -----------------------------------------------------------------------------------------------

    def _written(self, what: str) -> None:
        self.site.table(self.rows)
        self.story.append(f"table ({what}): {[list(row.values()) for row in self.rows]}")
        for row in self.rows:
            values = {*row["mac"].split(), row["serial"], row["uuid"]} - {""}
            self._under.setdefault(row["id"], set()).update(values)
            owners = [board for board in self.boards if values & (board.had | board.identities())]
            if len(owners) > 1:  # the row mixes two machines
                for board in owners:
                    board.is_excused = True

    def _row_of(self, board: Board, step: Step) -> dict[str, str]:
        columns = {"mac": "", "serial": "", "uuid": ""}
        choice = step.third % 6
        if choice in (0, 1, 3) and board.macs:
            columns["mac"] = board.macs[0]
        if choice == 4:
            columns["mac"] = " ".join(board.macs)
        if choice in (1, 2, 4):
            columns["serial"] = board.serial
        if choice in (3, 5):
            columns["uuid"] = board.uuid
        return columns

    def _add_row(self, step: Step) -> None:
        board = self._board(step.first)
        if board is None or self._has_row(board):
            return
        name = self._free_name(step.second)
        self.rows.append({"id": name, **self._row_of(board, step)})
        self._written("add row")

    def _has_row(self, board: Board) -> bool:
        own = board.identities()
        return any(own & {*row["mac"].split(), row["serial"], row["uuid"]} for row in self.rows)

    def _free_name(self, number: int) -> str:
        """A name of a few, which are used again."""
        taken = {row["id"] for row in self.rows}
        for offset in range(12):
            name = f"web-{(number + offset) % 12:02d}"
            if name not in taken:
                if name not in self.names:
                    self.names.append(name)
                return name
        return f"new-{number}"

    def _rename(self, step: Step) -> None:
        row = self._row(step.first)
        if row is not None:
            row["id"] = self._free_name(step.second)
            self._written("rename")

    def _exchange(self, step: Step) -> None:
        one, other = self._row(step.first), self._row(step.second)
        if one is not None and other is not None and one is not other:
            one["id"], other["id"] = other["id"], one["id"]
            self._written("exchange names")

    def _reuse(self, step: Step) -> None:
        """A row gets other hardware: that of a board that has no row."""
        row = self._row(step.first)
        free = [board for board in self.boards if not self._has_row(board)]
        if row is not None and free:
            row |= self._row_of(free[step.second % len(free)], step)
            self._written("reuse name")

    def _extend(self, step: Step) -> None:
        row = self._row(step.first)
        if row is None:
            return
        values = {*row["mac"].split(), row["serial"], row["uuid"]}
        board = next((board for board in self.boards if values & board.identities()), None)
        if board is not None:
            others = {one for other in self.rows if other is not row for one in other["mac"].split()}
            row["mac"] = " ".join(mac for mac in board.macs if mac not in others)
            row["serial"] = board.serial
            self._written("extend")

    def _shrink(self, step: Step) -> None:
        row = self._row(step.first)
        if row is not None and row["mac"] and row["serial"]:
            row["mac" if step.second % 2 else "serial"] = ""
            self._written("shrink")

    def _remove_row(self, step: Step) -> None:
        row = self._row(step.first)
        if row is not None:
            self.rows.remove(row)
            self._written("remove row")

    def _replace_table(self, step: Step) -> None:
        chosen = random.Random(step.first)
        boards = chosen.sample(self.boards, min(len(self.boards), step.second % 6))
        names = chosen.sample(range(12), len(boards))
        self.rows = []
        for board, name in zip(boards, names, strict=True):
            self.rows.append({"id": f"web-{name:02d}", **self._row_of(board, Step("", 0, 0, chosen.randrange(6)))})
        self._written("replace table")

    # --- hardware ------------------------------------------------------------------------------------------------

    def _move_card(self, step: Step) -> None:
        one, other = self._board(step.first), self._board(step.second)
        if one is None or other is None or one is other or not one.macs:
            return
        mac = one.macs.pop(step.third % len(one.macs))
        if len(other.macs) > 2:
            one.macs.append(other.macs.pop(0))
            one.had |= {*one.macs}
        other.macs.append(mac)
        other.had.add(mac)
        self.story.append(f"card {mac} moves from board {one.number} to board {other.number}")

    def _exchange_cards(self, step: Step) -> None:
        """All cards of two boards: one of the mainboards was replaced, or the chassis were mixed up."""
        one, other = self._board(step.first), self._board(step.second)
        if one is None or other is None or one is other:
            return
        one.macs, other.macs = other.macs, one.macs
        for board in (one, other):
            board.had |= {*board.macs}
        self.story.append(f"boards {one.number} and {other.number} exchange their cards")

    def _wait(self, step: Step) -> None:
        self.site.passes((1.0, 45.0, 130.0, 1000.0, 5000.0)[step.first % 5])

    def _restart(self, step: Step) -> None:
        del step
        self.site.restart()
        self.story.append("the service is started again")


def walk(seed: int, length: int) -> list[Step]:
    """The steps of one walk."""
    choose = random.Random(seed)
    verbs, weights = [*VERBS], [*VERBS.values()]
    first = [Step("new board", choose.randrange(1 << 30)) for _ in range(3)]
    drawn = choose.choices(verbs, weights, k=length)
    return [*first, *(Step(verb, *(choose.randrange(1 << 30) for _ in range(3))) for verb in drawn)]


class Found(NamedTuple):
    """A violation: the steps that lead to it, why it is one, and what happened."""

    steps: list[Step]
    why: str
    story: list[str]

    def __str__(self) -> str:
        return "\n".join([self.why, *self.story])


def violation(site: Site, steps: list[Step], *, by_members: bool = False) -> Found | None:
    """Have the steps of a walk happen at a new site; return the first violation."""
    world = World(site, by_members)
    for at, step in enumerate(steps):
        site.passes(0.01)
        try:
            world.do(step)
        except Violation as error:
            return Found(steps[: at + 1], str(error), world.story)
    return None


def shortest(found: Found, again: Callable[[list[Step]], Found | None]) -> Found:
    """Return a violation in as few steps as there need be: those without which there is none. ``again`` has steps
    happen at a new site."""
    at = len(found.steps) - 1
    while at >= 0:
        fewer = again(found.steps[:at] + found.steps[at + 1 :])
        if fewer is not None:
            found, at = fewer, min(at, len(fewer.steps))
        at -= 1
    return found
