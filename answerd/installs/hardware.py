"""What a request, a report and an order name, and what follows: a machine is its hardware, and a name is a label.

Rules: docs/install-once.md#what-a-machine-is.

State belongs to each *hardware identity*: a MAC address, the system's serial number, its UUID. Each event names some of
them, and the state of an identity is the `Fold` of the events that name it. A name (of a row, a document, a member)
stands in only where neither request nor row has a hardware identity; otherwise it only refuses.

`Ties` remember which identities came together. A serial number and a UUID belong to a board and stay with it; a MAC
address belongs to a card, which may move to another board, and then the ties of its old place end.

- `judged` says by which identities a request is judged: what is closed for one of them is refused.
- `named_by_order` and `named_by_report` say which identities an operator's order and a machine's report are about.
- `former` finds the machine that had the name of a row whose own identities are new.
- `in_conflict` finds the row of which one identity is installed and another one is under way.

Every look-up costs as much as the request has identities: `MOST_TIES` bounds what one of them is tied to.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from answerd.identity import identity_of, record_identity
from answerd.installs.fold import NOTHING, Fold
from answerd.installs.ids import begun_at, milliseconds
from answerd.installs.states import Order, Record, State

MAC: Final = "m"
SERIAL: Final = "s"
UUID: Final = "u"
NAME: Final = "n"

Names = Mapping[str, str]
"""Identities, each with a letter for its kind, `MAC` to `NAME`, and its text as it was spelled."""

NOBODY: Final[Names] = MappingProxyType({})

MOST_TIES: Final = 64
"""Identities that one is tied to; the newest are kept."""

LAST_SECONDS: Final = 60.0
"""How long an identity's last request stays what it was where a later one only says less or more of what is tied."""

MOST_NAMED: Final = 128
"""Identities that one event names: those of a row, and of a request, which has at most 64."""

_CONTRADICT_INSTALLED: Final = (State.ARMED, State.INSTALLING, State.COPIED, State.FAILED)
"""The states that, beside an installed identity, make a row a conflict."""

RowOf = Callable[[str], object | None]
"""Returns the row of the inventory that has an identity."""


class Asked(NamedTuple):
    """A request, as far as it says which machine asks. ``carried`` are its hardware identities, ``row_names`` those of
    its ``row``; ``label`` is the name of the row, or of the document or member that claims it. Where that is no name
    but a hardware identity that the request carries, ``spelled`` is it, as the operator spells it."""

    carried: Names = NOBODY
    row: object | None = None
    row_names: Names = NOBODY
    label: str = ""
    spelled: str = ""

    @property
    def title(self) -> str:
        """How the machine is called, and what an operator orders to let it in."""
        return self.label or self.spelled or next((text[1:] for text in self.names.values()), "")

    @property
    def names(self) -> Names:
        """What a giving names: the identities of the row and of the request; the label where there are none."""
        if not self.row_names:
            return self.carried or ({identity_of(self.label): NAME + self.label} if self.label else NOBODY)
        if self.carried.keys() <= self.row_names.keys():
            return self.row_names
        return {**self.row_names, **self.carried}

    @property
    def named(self) -> tuple[str, ...]:
        """The identities that a row, a document or a member names; none where the machine is a stranger."""
        if self.row_names:
            return tuple(self.row_names)
        found = self.label or self.spelled
        return (record_identity(found),) if found else ()

    @property
    def is_found_by_board(self) -> bool:
        """Whether the request carries a serial number or UUID of its row."""
        return any(text[0] in (SERIAL, UUID) and identity in self.row_names for identity, text in self.carried.items())


class Tie(NamedTuple):
    """What one identity came with. ``at`` is when that last changed, ``moved`` when a MAC address came to the board
    that it is in, ``serial`` and ``uuid`` those that it last came with, ``others`` all that it is tied to and itself,
    the newest last; ``last`` is what its last request carried."""

    at: float = 0.0
    moved: float = 0.0
    serial: str = ""
    uuid: str = ""
    others: tuple[str, ...] = ()
    last: tuple[str, ...] = ()


_UNTIED: Final = Tie()


class Ties:
    """Which identities came together. ``texts`` has each identity's kind and text."""

    def __init__(self) -> None:
        self.of: dict[str, Tie] = {}
        self.texts: dict[str, str] = {}

    def learn(self, names: Names) -> None:
        for identity, text in names.items():
            if self.texts.setdefault(identity, text)[0] == NAME:  # what is not known to be hardware yet
                self.texts[identity] = text

    def is_mac(self, identity: str) -> bool:
        return self.texts.get(identity, NAME)[0] == MAC

    def is_board(self, identity: str) -> bool:
        return self.texts.get(identity, NAME)[0] in (SERIAL, UUID)

    def is_news(self, together: Names, at: float) -> bool:
        """Return whether `observe` would learn something that is worth to be written."""
        serial, uuid = board_in(together)
        clique = tuple(together)
        seen: set[int] = set()
        for identity in clique:
            tie = self.of.get(identity)
            if tie is None or (self.is_mac(identity) and _is_other_board(tie, serial, uuid)):
                return True
            if id(tie) in seen:  # most have one in common
                continue
            seen.add(id(tie))
            if not together.keys() <= {*tie.others} or (at - tie.at > LAST_SECONDS and tie.last != clique):
                return True
        return False

    def observe(self, together: Names, at: float) -> None:
        """Take in that identities came together; the first serial number and UUID are those that the request says."""
        self.learn(together)
        clique, of = tuple(together), self.of
        if not any(identity in of for identity in clique):
            self.of.update(dict.fromkeys(clique, Tie(at, 0.0, *board_in(together), clique, clique)))
            return
        board = board_in(together)
        made: dict[tuple[Tie, bool], Tie] = {}
        same: dict[Tie, Tie] = {}
        for identity in clique:
            before = of.get(identity, _UNTIED)
            key = before, self.is_mac(identity) and _is_other_board(before, *board)
            if key not in made:
                after = _after(*key, clique, *board, at)
                made[key] = same.setdefault(after, after)
            of[identity] = made[key]

    def moves(self, mac: str, serial: str, uuid: str) -> bool:
        """Return whether a MAC address that comes with a serial number and a UUID (empty: none) has moved."""
        return _is_other_board(self.of.get(mac, _UNTIED), serial, uuid)

    def moved(self, identity: str) -> float:
        """Return when an identity came to where it is; 0 where it never moved."""
        return self.of.get(identity, _UNTIED).moved if self.is_mac(identity) else 0.0

    def tied(self, identity: str, without: Container[str] = ()) -> Iterator[str]:
        """Yield what an identity is tied to, without itself and some others. A tie ends for both when one has moved
        away."""
        for other in self.of.get(identity, _UNTIED).others:
            if other not in without and other != identity and identity in self.of.get(other, _UNTIED).others:
                yield other

    def board(self, mac: str) -> list[str]:
        """Return the serial number and UUID that a MAC address last came with."""
        tie = self.of.get(mac, _UNTIED)
        return [identity for identity in (tie.serial, tie.uuid) if identity]

    def last_asked(self, identity: str) -> tuple[str, ...]:
        """Return what the last request with an identity carried."""
        return self.of.get(identity, _UNTIED).last

    def drop(self, identity: str) -> None:
        self.of.pop(identity, None)
        self.texts.pop(identity, None)

    def named(self, identities: Iterable[str]) -> dict[str, str]:
        """Return identities with their texts."""
        return {identity: self.texts.get(identity, NAME + identity) for identity in identities}


def board_in(names: Names) -> tuple[str, str]:
    """Return the first serial number and UUID; empty where there is none."""
    serial = uuid = ""
    for identity, text in names.items():
        if text[0] == SERIAL:
            serial = serial or identity
        elif text[0] == UUID:
            uuid = uuid or identity
    return serial, uuid


def _is_other_board(tie: Tie, serial: str, uuid: str) -> bool:
    """Return whether a serial number and a UUID are of another board than that of a tie."""
    if (serial and serial == tie.serial) or (uuid and uuid == tie.uuid):
        return False
    return bool((serial and tie.serial) or (uuid and tie.uuid))


def _after(tie: Tie, has_moved: bool, clique: tuple[str, ...], serial: str, uuid: str, at: float) -> Tie:
    others = tie.others
    if not set(clique) <= set(others):
        others = (*[other for other in others if other not in clique], *clique)[-MOST_TIES:]
    if at < tie.at:  # it comes late
        if has_moved:
            return tie._replace(moved=max(tie.moved, at))
        return tie._replace(serial=tie.serial or serial, uuid=tie.uuid or uuid, others=others)
    if has_moved:
        return Tie(at, at, serial, uuid, clique, clique)
    return Tie(at, tie.moved, serial or tie.serial, uuid or tie.uuid, others, clique)


class Machines:
    """What is known of all hardware identities: their states, and which came together. ``by_identity`` has the fold and
    the record of each identity that an event names; ``labels`` the identities that were given, ordered or refused under
    a name, the newest last."""

    def __init__(self) -> None:
        self.ties = Ties()
        self.by_identity: dict[str, Held] = {}
        self.labels: dict[str, Label] = {}

    def fold(self, identity: str) -> Fold:
        held = self.by_identity.get(identity)
        return held.fold if held is not None else NOTHING


class Label(NamedTuple):
    """The identities that were given, ordered or refused under a name: the ``last`` ones, and when, and those before,
    each with the time when it was last among them."""

    last: tuple[str, ...]
    at: float
    earlier: Mapping[str, float] = MappingProxyType({})


def note_label(labels: dict[str, Label], label: str, identities: Iterable[str], at: float) -> None:
    """Take in that identities were given, ordered or refused under a name."""
    name = record_identity(label)
    last = tuple(identities)[:MOST_TIES]
    if name and last and name not in last:
        join_label(labels, name, Label(last, at))


def join_label(labels: dict[str, Label], name: str, other: Label) -> None:
    """Take in what else is known of a name. What comes late, or twice, leads to the same."""
    before = labels.get(name)
    if before is None:
        labels[name] = other
    elif before.last == other.last and not other.earlier:
        labels[name] = before._replace(at=max(before.at, other.at))
    else:
        old, new = (before, other) if before.at <= other.at else (other, before)
        earlier: dict[str, float] = {}
        for one, at in (*old.earlier.items(), *((one, old.at) for one in old.last), *new.earlier.items()):
            if one not in new.last:
                earlier[one] = max(at, earlier.get(one, at))
        kept = sorted(earlier.items(), key=lambda one: (one[1], one[0]), reverse=True)[:_MOST_OF_A_LABEL]
        labels[name] = Label(new.last, new.at, dict(kept))


_MOST_OF_A_LABEL: Final = 16


class Held(NamedTuple):
    """The fold of an identity, and its record."""

    fold: Fold
    record: Record


class Judged(NamedTuple):
    """The identities by which a request is judged. ``own`` are those that it names; ``more`` can only refuse."""

    own: tuple[str, ...]
    more: tuple[str, ...] = ()
    let_through: tuple[str, ...] = ()
    """MAC addresses that are closed, and do not count because they came from another board: their state begins anew."""


def judged(machines: Machines, asked: Asked, row_of: RowOf) -> Judged:
    """Return the identities by which a request is judged.

    All that it carries, those of its row, and, where it carries no serial number or UUID, those of the board that its
    MAC addresses last came with. A MAC address that no row has, and that comes from another board, does not count where
    the row was found by serial number or UUID. What an identity is tied to can refuse it too, where that was closed
    after the last order about the identity itself.
    """
    own = dict.fromkeys((*asked.row_names, *asked.carried))
    board = board_in(asked.carried)
    let_through: list[str] = []
    if any(board):
        let_through = _come_from_elsewhere(machines, asked, board, row_of, own)
    else:
        _add_boards(machines, asked, own)
    more: dict[str, None] = {}
    closed = _closed_beside(machines, own)
    for identity in [*own] if closed else ():
        _inherit(machines, identity, asked, board, row_of, closed, more)
    if asked.label:
        name = record_identity(asked.label)
        if not own:
            own[name] = None
        elif name in machines.by_identity:
            more[name] = None
    return Judged(tuple(own), tuple([one for one in more if one not in own]), tuple(let_through))


CLOSED: Final = frozenset({State.INSTALLED, State.COPIED, State.EXHAUSTED})


def _come_from_elsewhere(
    machines: Machines, asked: Asked, board: tuple[str, str], row_of: RowOf, own: dict[str, None]
) -> list[str]:
    """Remove from ``own`` the MAC addresses that no row has, and that come from another board than that of the row that
    was found by serial number or UUID. Return those of them that are closed."""
    found: list[str] = []
    if not (asked.row_names and asked.is_found_by_board):
        return found
    for identity, text in asked.carried.items():
        held = machines.by_identity.get(identity)
        if text[0] != MAC or identity in asked.row_names or held is None or row_of(identity) is not None:
            continue
        ties = machines.ties
        if ties.moves(identity, *board) or held.record.since <= ties.moved(identity):
            del own[identity]
            if held.record.state in CLOSED:
                found.append(identity)
    return found


def _add_boards(machines: Machines, asked: Asked, own: dict[str, None]) -> None:
    """Add to ``own`` the boards of MAC addresses that come alone, as far as these are open: `_inherit` has the closed
    ones."""
    for identity, text in asked.carried.items():
        if text[0] == MAC:
            for board in machines.ties.board(identity):
                held = machines.by_identity.get(board)
                if held is None or held.record.state not in CLOSED:
                    own[board] = None


def _closed_beside(machines: Machines, own: Mapping[str, None]) -> dict[str, Held]:
    """Return the closed identities that some are tied to, without these."""
    found: dict[str, Held] = {}
    for tie in {id(tie): tie for one in own if (tie := machines.ties.of.get(one)) is not None}.values():
        for other in tie.others:
            held = machines.by_identity.get(other) if other not in own else None
            if held is not None and held.record.state in CLOSED:
                found[other] = held
    return found


def _inherit(
    machines: Machines,
    identity: str,
    asked: Asked,
    board: tuple[str, str],
    row_of: RowOf,
    closed_ones: Mapping[str, Held],
    more: dict[str, None],
) -> None:
    """Add those of the closed identities that one is tied to, and that count for it."""
    ties, known = machines.ties, machines.by_identity
    tie = ties.of.get(identity)
    if tie is None:
        return
    held = known.get(identity)
    ordered = held.fold.cut if held is not None and held.fold.cut >= ties.moved(identity) else 0.0
    for other in tie.others:
        closed = closed_ones.get(other)
        if closed is None or closed is held or other in more:
            continue
        if closed.record.since < max(ordered, ties.moved(other)) or identity not in ties.of[other].others:
            continue  # an order came after it, or it was closed in another board
        if identity in asked.carried and ties.is_mac(identity) and ties.moves(identity, *board):
            continue
        row = row_of(other)
        if (row is None or row is asked.row or asked.row is None) and not came_with_several_rows(
            machines, other, row_of
        ):
            more[other] = None


def is_of_one_machine(ties: Ties, given: Names, names: Names) -> bool:
    """Return whether a request is of the machine to which something was given before: its MAC addresses have not moved
    away from any of the identities that were ``given``."""
    if given.keys() <= names.keys():
        return True
    board, found = board_in(names), set(names)
    for one in names:
        if not (ties.is_mac(one) and ties.moves(one, *board)):
            found.update([*ties.tied(one, without=found)])
    return all(one in found for one in given)


def named_by_order(
    machines: Machines, typed: str, kind: str, row_names: Names | None, row: object | None, order: Order, row_of: RowOf
) -> Names:
    """Return what an order names: the identities of the row that ``typed`` denotes, and what is tied to them, except
    those that another row has; ``disarm`` names those too. Without a row: the identity, or, for a name (``kind`` is
    `NAME`), the name and what it was last given or refused with. ``row_names`` are those of the ``row``, None without
    one."""
    ties = machines.ties
    own = identity_of(typed)
    if row_names:
        names = dict(row_names)
        if own not in names and own in machines.by_identity:
            names[own] = ties.texts.get(own, NAME + typed)
    else:
        names = {own: ties.texts.get(own, kind + typed)}
        if kind == NAME:
            label = machines.labels.get(own)
            names |= ties.named(label.last if label is not None else ())
    for identity in [*names]:
        for other in ties.tied(identity, without=names):
            if order is Order.DISARM or _is_still_tied(ties, other, row, row_of):
                names[other] = ties.texts[other]
    if order is not Order.DISARM:
        names = {one: text for one, text in names.items() if one in (row_names or ()) or _is_free(one, row, row_of)}
        names = names or {own: kind + typed}
    return names if len(names) <= MOST_NAMED else dict([*names.items()][:MOST_NAMED])


def _is_still_tied(ties: Ties, identity: str, row: object | None, row_of: RowOf) -> bool:
    """Return whether no other row has an identity, or anything that its last request carried."""
    return all(_is_free(one, row, row_of) for one in (identity, *ties.last_asked(identity)))


def _is_free(identity: str, row: object | None, row_of: RowOf) -> bool:
    other = row_of(identity)
    return other is None or other is row


def came_with_several_rows(machines: Machines, identity: str, row_of: RowOf) -> bool:
    """Return whether an identity that no row has came with MAC addresses of two rows: then it denotes neither."""
    tie = machines.ties.of.get(identity)
    if tie is None or row_of(identity) is not None:
        return False
    return len({id(row) for other in tie.others if (row := row_of(other)) is not None}) > 1


def named_by_report(
    machines: Machines,
    giving: str,
    identity: str,
    given_at: float,
    attempts: Iterable[str],
    row_of: RowOf,
    past: Names,
) -> tuple[Names, tuple[str, ...]]:
    """Return what a report is about: what its giving named, what is tied to that, and what is tied to a board among
    those; and what it leaves alone of that, because it, or the board that a card is in, was ordered since. Where the
    giving is known, nothing is found by way of such an identity. ``identity`` is that of the URL; ``past`` is what the
    giving named, where an order took the place of it."""
    ties = machines.ties
    named: dict[str, str] = {identity: ties.texts.get(identity, NAME + identity), **past}
    attempt = set(attempts)
    is_known = bool(past)
    for start in machines.fold(identity).starts:
        if giving in start.givings:
            is_known = True
            named |= start.names
            attempt.add(start.attempt)
    of_several: dict[str, bool] = {}

    def is_of_several(one: str) -> bool:
        if one not in of_several:
            of_several[one] = came_with_several_rows(machines, one, row_of)
        return of_several[one]

    def is_left(one: str) -> bool:
        boards = [board for board in ties.board(one) if board in named] if ties.is_mac(one) else []
        return any(_is_ordered_since(machines.fold(part), giving, given_at, attempt) for part in (one, *boards))

    for one in [one for one in named if not (is_known and is_left(one))]:
        for other in ties.tied(one, without=named):
            if not is_of_several(other):
                named[other] = ties.texts[other]
    boards = [one for one in named if ties.is_board(one) and not is_of_several(one)]
    for one in [one for one in boards if not (is_known and is_left(one))]:
        named.update((other, ties.texts[other]) for other in [*ties.tied(one, without=named)])
    left = {one: None for one in named if is_left(one)}
    found = [(one, text) for one, text in named.items() if one not in left]
    return dict(found[:MOST_NAMED]), tuple(left)[:MOST_NAMED]


def _is_ordered_since(fold: Fold, giving: str, given_at: float, attempt: set[str]) -> bool:
    """Return whether an order about an identity itself came after a giving. One that the giving counted is at most as
    late as its id says. An order that did not know of the giving may have taken the place of its attempt before."""
    if giving in fold.past:
        return True
    if fold.cut <= given_at or milliseconds(fold.cut) <= begun_at(giving):
        return False
    if attempt and attempt <= set(fold.past):
        return True
    return any(order.at == fold.cut and order.id not in attempt for order in fold.orders)


def former(machines: Machines, label: str, row_names: Iterable[str], row_of: RowOf) -> str | None:
    """Return an installed identity that was given or ordered under a row's name, where the row itself is new: no
    identity of it has an event, and that one is neither in a row now nor tied to one that is."""
    found = machines.labels.get(identity_of(label)) if label else None
    if found is None or any(identity in machines.by_identity for identity in row_names):
        return None
    for identity in (*found.last, *found.earlier):
        held = machines.by_identity.get(identity)
        if held is None or held.record.state is not State.INSTALLED or row_of(identity) is not None:
            continue
        if any(row_of(other) is not None for other in machines.ties.tied(identity)):
            continue
        return identity
    return None


def in_conflict(
    machines: Machines, row_names: Iterable[str], row: object | None, row_of: RowOf
) -> tuple[str, str] | None:
    """Return an installed identity of a row and one that contradicts it; None where there are not both. It does where
    it is under way; or where nothing happened to it yet, and the other one was installed in another row's machine."""
    installed = under_way = new = ""
    first: Held | None = None
    for identity in row_names:
        held = machines.by_identity.get(identity)
        if held is None:
            new = new or identity
        elif held is not first:
            first = held
            if held.record.state is State.INSTALLED:
                installed = installed or identity
            elif held.record.state in _CONTRADICT_INSTALLED:
                under_way = under_way or identity
    if installed and under_way:
        return installed, under_way
    if not (installed and new):
        return None
    named = {one for start in machines.fold(installed).starts for one in start.names}
    others = (row_of(one) for one in named)
    return (installed, new) if any(other is not None and other is not row for other in others) else None
