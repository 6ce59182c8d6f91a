"""The states of one machine's install: everything that decides whether it may install is in this file.

Rules: docs/install-once.md.

A machine that boots from the network first would install itself again at every boot, unless the service remembers it.
The service keeps a `Record` of each machine. It changes when the machine asks for a document with ``once``, which is
given or refused; when the machine says, through a URL that was written into its answer, how its install went; and when
an operator arms, disarms or forgets it.

Two gates, one state. Only the script of a boot loader can send a machine to its disk; an installer that is refused
merely stops. Each document with ``once`` is at one of two gates, the loader's or the answers', and `GATES` says for
each state which of them is open.

Attempts and starts. An operator's ``arm`` begins an *attempt*. Within it, each time that the machine begins to install
is a *start*. Nobody reports a start, so it is recognised: the first document after `NEW`, `ARMED` or `FAILED` begins
one, and a document that is asked for again a while after it was first given in this start begins the next, because an
installer asks for a document several times within seconds, and a machine that was rebooted asks for it again after
minutes. An attempt has a bounded number of starts (`Rules.starts`), so every loop ends, also one in which all reports
are lost: the start that would be one too many is refused and leads to `EXHAUSTED`.

State belongs to each hardware identity, as the fold of the events that name it (`answerd.installs.fold`), so the order
of their arrival does not matter; by which identities a request is judged is in `answerd.installs.hardware`. This module
says what follows from a record: whether a document is given, and in which start.

Two things always hold (``tests/unit/test_install_states.py`` walks all states to their end to show it):

- After ``installed``, no document is given at a gate that `GATES` calls closed before an operator arms the machine.
- A document that is not given is refused by a `Refusal`, which names the rule.

Silence changes no state. A machine that says nothing for a while is shown as silent (`is_silent`) and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from answerd.formats.family import Once


class State(StrEnum):
    NEW = "new"
    """There is no record, or it was forgotten."""
    ARMED = "armed"
    """An operator said that the machine may install."""
    INSTALLING = "installing"
    """The machine was given a document with ``once``."""
    COPIED = "copied"
    """The machine reported that it goes on from its disk (Windows, AutoYaST)."""
    INSTALLED = "installed"
    """The machine reported success, or an operator disarmed it."""
    FAILED = "failed"
    """The machine reported a failure. The next document begins a new start."""
    EXHAUSTED = "exhausted"
    """All starts were used, and none succeeded."""
    CONFLICT = "conflict"
    """One hardware identity of the machine's row is installed, and another one is under way: two machines, or a card
    that moved. Only what is shown together can be in this state."""


class Gate(StrEnum):
    """A gate at which a document with ``once`` is given or refused."""

    LOADER = "loader"
    """Scripts of boot loaders: a machine that is refused can boot from its disk."""
    ANSWERS = "answers"
    """Answers of installers: a machine that is refused stops."""


class Opening(StrEnum):
    OPEN = "open"
    CLOSED = "closed"
    GRACE = "grace"
    """Open for a while after the machine's own report, for documents that it was not given before: some installers
    fetch files at their very end."""


GATES: Mapping[State, Mapping[Gate, Opening]] = MappingProxyType(
    {
        State.NEW: {Gate.LOADER: Opening.OPEN, Gate.ANSWERS: Opening.OPEN},
        State.ARMED: {Gate.LOADER: Opening.OPEN, Gate.ANSWERS: Opening.OPEN},
        State.INSTALLING: {Gate.LOADER: Opening.OPEN, Gate.ANSWERS: Opening.OPEN},
        State.COPIED: {Gate.LOADER: Opening.CLOSED, Gate.ANSWERS: Opening.OPEN},
        State.INSTALLED: {Gate.LOADER: Opening.CLOSED, Gate.ANSWERS: Opening.GRACE},
        State.FAILED: {Gate.LOADER: Opening.OPEN, Gate.ANSWERS: Opening.OPEN},
        State.EXHAUSTED: {Gate.LOADER: Opening.CLOSED, Gate.ANSWERS: Opening.CLOSED},
        State.CONFLICT: {Gate.LOADER: Opening.CLOSED, Gate.ANSWERS: Opening.CLOSED},
    }
)
"""The gates that are open in each state. After an operator's ``disarm`` there is no grace. At an open gate a document
with ``once = "armed"`` still waits for an operator."""


WEAKEST_FIRST: Final = (
    State.NEW,
    State.ARMED,
    State.INSTALLING,
    State.COPIED,
    State.FAILED,
    State.EXHAUSTED,
    State.INSTALLED,
)
"""A report leads to its state where the present state is a weaker one. A new start leads to `State.INSTALLING`, from
`BETWEEN_STARTS` only. What an operator orders begins a new attempt, or counts whatever the state is."""

BETWEEN_STARTS: Final = frozenset({State.NEW, State.ARMED, State.FAILED})
"""States in which the next document begins a start."""

UNDER_WAY: Final = frozenset({State.INSTALLING, State.COPIED})
"""States in which a machine is expected to report, and may be silent."""


class Refusal(StrEnum):
    """The rule by which a document is refused."""

    COPIED = "the machine goes on from its disk"
    INSTALLED = "the machine is installed"
    DISARMED = "an operator disarmed the machine"
    EXHAUSTED = "all starts were used"
    NOT_ARMED = "the document waits for an operator to arm the machine"
    CONFLICT = "one identity of the row is installed, and another one is under way"
    FORMER = "the name of the row was that of another machine, which is installed"


class ReportKind(StrEnum):
    INSTALLED = "installed"
    COPIED = "copied"
    FAILED = "failed"
    PROGRESS = "progress"


class Order(StrEnum):
    ARM = "arm"
    DISARM = "disarm"
    FORGET = "forget"


@dataclass(frozen=True, slots=True)
class Rules:
    """The limits, as settings give them; times in seconds."""

    grace: float = 900
    start: float = 120
    """How long after a document was first given the same document begins the next start."""
    starts: int = 5
    silence: float = 3_600

    @property
    def heard_again(self) -> float:
        """How long a document that is given once more need not be noted: an installer asks for it several times in a
        row. A machine is called silent too early by this at most."""
        return min(30.0, self.silence / 100)


class Requested(NamedTuple):
    """A machine asks for ``document``, a text that names it, at ``at``. ``without_start``: it is a file of NoCloud that
    the service makes up beside the document. It is judged like the document and never begins a start. ``peer`` is the
    address that the request came from, ``group`` and ``overlays`` are documents of its answer."""

    document: str
    gate: Gate
    once: Once
    at: float
    without_start: bool = False
    peer: str = ""
    group: str | None = None
    overlays: tuple[str, ...] = ()


class Record(NamedTuple):
    """The state of one identity, or of a machine. ``since`` is when it came into ``state``. ``attempts`` are the orders
    that began its attempt, none for the first one. ``was_armed``: the attempt began with an operator's ``arm``.
    ``by_operator``: `State.INSTALLED` is what an operator said, not a report. ``starts`` are those of the attempt.
    ``given`` are the documents of the present start, with the time of the first giving. ``heard`` is the time of the
    machine's last request or report. ``message`` and ``percent`` are its last news, or came with its state. ``recent``
    are documents of earlier starts, with the time of the first giving: those that a process which did not know of the
    present start yet may have given in it as a repetition. ``giving`` is the id of what was given last.
    """

    name: str
    attempts: tuple[str, ...] = ()
    state: State = State.NEW
    since: float = 0
    was_armed: bool = False
    by_operator: bool = False
    starts: int = 0
    given: Mapping[str, float] = {}
    heard: float = 0
    message: str | None = None
    percent: float | None = None
    recent: Mapping[str, float] = {}
    giving: str = ""


class Judgement(NamedTuple):
    """The decision about a document that a machine asks for. ``refusal``: the rule by which it is refused, None where
    it is given. ``start``: the number of the start that the giving belongs to; 0 where it belongs to none.
    ``exhausts``: it is refused because it would have begun a start too many."""

    refusal: Refusal | None = None
    start: int = 0
    exhausts: bool = False


def judge(record: Record, asked: Requested, rules: Rules) -> Judgement:
    """Return whether a machine with this record is given a document."""
    refusal = refusal_of(record, asked, rules)
    if refusal is not None:
        return Judgement(refusal)
    if record.state in BETWEEN_STARTS:
        begins = True
    else:
        first = record.given.get(asked.document)
        begins = record.state in UNDER_WAY and first is not None and asked.at - first > rules.start
    if begins and record.starts >= rules.starts:
        return Judgement(Refusal.EXHAUSTED, exhausts=not asked.without_start)
    if begins:
        return Judgement(start=record.starts + 1)
    if record.state not in UNDER_WAY:  # the grace period, which stays open for a file that is asked for twice
        return Judgement()
    return Judgement(start=max(1, record.starts))


def is_repeated(record: Record, asked: Requested, rules: Rules) -> bool:
    """Return whether a document is given once more within the same start, shortly after the machine was heard of, which
    is not worth an event."""
    first = record.given.get(asked.document)
    return (
        first is not None
        and record.state in UNDER_WAY
        and asked.at - record.heard <= rules.heard_again
        and asked.at - first <= rules.start
        and refusal_of(record, asked, rules) is None
    )


def refusal_of(record: Record, asked: Requested, rules: Rules) -> Refusal | None:
    """Return the rule by which the state closes the gate to a document; None where the gate is open to it."""
    opening = GATES[record.state][asked.gate]
    if opening is not Opening.OPEN and (opening is Opening.CLOSED or not _in_grace(record, asked, rules)):
        return refusal_in(record)
    if not record.was_armed and asked.once is Once.ARMED:
        return Refusal.NOT_ARMED
    return None


def is_silent(record: Record, now: float, rules: Rules) -> bool:
    """Return whether a machine that is expected to report has said nothing for too long."""
    return record.state in UNDER_WAY and now - record.heard > rules.silence


SILENT: Final = "silent"
"""What operators ask for as if it were a state: the machines that are silent, whichever state they have."""

STATE_WORDS: Final = (*(state.value for state in State), SILENT)
"""The words by which operators select machines."""


def is_counted_as(record: Record, word: str, now: float, rules: Rules) -> bool:
    """Return whether one of `STATE_WORDS` selects a machine. A silent one is selected by its state too."""
    return is_silent(record, now, rules) if word == SILENT else record.state == word


def _in_grace(record: Record, asked: Requested, rules: Rules) -> bool:
    if record.by_operator or asked.document in record.given or asked.document in record.recent:
        return False
    return asked.at - record.since <= rules.grace


def refusal_in(record: Record) -> Refusal:
    """Return the rule by which a state closes a gate."""
    if record.state is State.CONFLICT:
        return Refusal.CONFLICT
    if record.state is State.INSTALLED:
        return Refusal.DISARMED if record.by_operator else Refusal.INSTALLED
    return Refusal.COPIED if record.state is State.COPIED else Refusal.EXHAUSTED
