"""The states of one machine's install: everything that decides whether it may install is in this file.

Rules: docs/install-once.md. Knows no database, no request, no clock: time comes in with each event, in seconds.

A machine that boots from the network first would install itself again at every boot, unless the service remembers it.
The service keeps a `Record` of each machine. It changes by three sorts of events:

- `Asked`: the machine asks for a document with ``once``. It is given the document, or refused.
- `Reported`: the machine, through a URL that was written into its answer, says how its install went.
- `Ordered`: an operator arms, disarms or forgets the machine.

Two gates, one state. Only the script of a boot loader can send a machine to its disk; an installer that is refused
merely stops. Each document with ``once`` is at one of two gates, the loader's or the answers', and `GATES` says for
each state which of them is open.

Attempts and starts. An operator's ``arm`` begins an *attempt*. Within it, each time that the machine begins to install
is a *start*. Nobody reports a start, so it is recognised: the first document after `NEW`, `ARMED` or `FAILED` begins
one, and a document that is asked for again a while after it was first given in this start begins the next, because an
installer asks for a document several times within seconds, and a machine that was rebooted asks for it again after
minutes. An attempt has a bounded number of starts (`Rules.starts`), so every loop ends, also one in which all reports
are lost: the start that would be one too many is refused and leads to `EXHAUSTED`.

Order of arrival. Reports are delayed, repeated and overtaken. Within a start ``installed`` outdoes ``failed``, which
outdoes ``copied``, so the state does not depend on the order in which they arrive. A report counts for the present
start, whichever start of the attempt it comes from: a late ``failed`` is outdone by the ``installed`` that follows. A
report of another attempt changes nothing. An ``Asked`` may be worked in late too, because it is written behind the
answer: one that is older than the state begins no start, and what it gave counts as given before the report.

Two things always hold (``tests/unit/test_install_states.py`` walks all states to their end to show it):

- After ``installed``, no document is given at a gate that `GATES` calls closed before an operator arms the machine.
- A document that is not given is refused by a `Refusal`, which names the rule.

Silence changes no state. A machine that says nothing for a while is shown as silent (`is_silent`) and nothing else.

More than 400 lines, because the rules of all states and events are read together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from answerd.formats.family import Once


class State(StrEnum):
    """The state of a machine's install."""

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


class Gate(StrEnum):
    """A gate at which a document with ``once`` is given or refused."""

    LOADER = "loader"
    """Scripts of boot loaders: a machine that is refused can boot from its disk."""
    ANSWERS = "answers"
    """Answers of installers: a machine that is refused stops."""


class Opening(StrEnum):
    """Whether a gate is open."""

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
    }
)
"""The gates that are open in each state. After an operator's ``disarm`` there is no grace. At an open gate a document
with ``once = "armed"`` still waits for an operator."""


class StateChange(StrEnum):
    """The effect of an event on the state, once starts are counted: the columns of `TRANSITIONS`."""

    START = "start"
    """A document was given that begins a start."""
    TOO_MANY = "one start too many"
    """A document was refused because it would begin a start above the limit."""
    COPIED = "copied"
    FAILED = "failed"
    FAILED_LAST = "failed on the last start"
    INSTALLED = "installed"
    ARM = "arm"
    DISARM = "disarm"
    FORGET = "forget"


_BY_OPERATOR: Final = {StateChange.ARM: State.ARMED, StateChange.DISARM: State.INSTALLED, StateChange.FORGET: State.NEW}

TRANSITIONS: Mapping[State, Mapping[StateChange, State]] = MappingProxyType(
    {
        State.NEW: {
            StateChange.START: State.INSTALLING,
            StateChange.TOO_MANY: State.EXHAUSTED,
            StateChange.COPIED: State.COPIED,
            StateChange.FAILED: State.FAILED,
            StateChange.FAILED_LAST: State.EXHAUSTED,
            StateChange.INSTALLED: State.INSTALLED,
            **_BY_OPERATOR,
        },
        State.ARMED: {
            StateChange.START: State.INSTALLING,
            StateChange.TOO_MANY: State.EXHAUSTED,
            StateChange.COPIED: State.COPIED,
            StateChange.FAILED: State.FAILED,
            StateChange.FAILED_LAST: State.EXHAUSTED,
            StateChange.INSTALLED: State.INSTALLED,
            **_BY_OPERATOR,
        },
        State.INSTALLING: {
            StateChange.START: State.INSTALLING,
            StateChange.TOO_MANY: State.EXHAUSTED,
            StateChange.COPIED: State.COPIED,
            StateChange.FAILED: State.FAILED,
            StateChange.FAILED_LAST: State.EXHAUSTED,
            StateChange.INSTALLED: State.INSTALLED,
            **_BY_OPERATOR,
        },
        State.COPIED: {
            StateChange.START: State.COPIED,
            StateChange.TOO_MANY: State.EXHAUSTED,
            StateChange.COPIED: State.COPIED,
            StateChange.FAILED: State.FAILED,
            StateChange.FAILED_LAST: State.EXHAUSTED,
            StateChange.INSTALLED: State.INSTALLED,
            **_BY_OPERATOR,
        },
        State.INSTALLED: {
            StateChange.START: State.INSTALLED,
            StateChange.TOO_MANY: State.INSTALLED,
            StateChange.COPIED: State.INSTALLED,
            StateChange.FAILED: State.INSTALLED,
            StateChange.FAILED_LAST: State.INSTALLED,
            StateChange.INSTALLED: State.INSTALLED,
            **_BY_OPERATOR,
        },
        State.FAILED: {
            StateChange.START: State.INSTALLING,
            StateChange.TOO_MANY: State.EXHAUSTED,
            StateChange.COPIED: State.FAILED,
            StateChange.FAILED: State.FAILED,
            StateChange.FAILED_LAST: State.EXHAUSTED,
            StateChange.INSTALLED: State.INSTALLED,
            **_BY_OPERATOR,
        },
        State.EXHAUSTED: {
            StateChange.START: State.EXHAUSTED,
            StateChange.TOO_MANY: State.EXHAUSTED,
            StateChange.COPIED: State.EXHAUSTED,
            StateChange.FAILED: State.EXHAUSTED,
            StateChange.FAILED_LAST: State.EXHAUSTED,
            StateChange.INSTALLED: State.INSTALLED,
            **_BY_OPERATOR,
        },
    }
)
"""The next state, by the present state and what happened."""

BETWEEN_STARTS: Final = frozenset({State.NEW, State.ARMED, State.FAILED})
"""States in which the next document begins a start."""

UNDER_WAY: Final = frozenset({State.INSTALLING, State.COPIED})
"""States in which a machine is expected to report, and may be silent."""


HEARD_AGAIN_SECONDS: Final = 30.0
"""How long a document that is given once more need not be noted: an installer asks for it several times in a row."""

HEARD_AGAIN_SHARE: Final = 0.01
"""The same as a share of `Rules.silence`, where that is less: a machine is called silent too early by this at most."""


class Refusal(StrEnum):
    """The rule by which a document is refused."""

    COPIED = "the machine goes on from its disk"
    INSTALLED = "the machine is installed"
    DISARMED = "an operator disarmed the machine"
    EXHAUSTED = "all starts were used"
    NOT_ARMED = "the document waits for an operator to arm the machine"


class ReportKind(StrEnum):
    """The kinds of reports."""

    INSTALLED = "installed"
    COPIED = "copied"
    FAILED = "failed"
    PROGRESS = "progress"


class Order(StrEnum):
    """The orders of an operator."""

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


class Asked(NamedTuple):
    """A machine asks for ``document``, a text that names it, at ``at``. ``without_start``: it is a file of NoCloud that
    the service makes up beside the document. It is judged like the document and never begins a start."""

    document: str
    gate: Gate
    once: Once
    at: float
    without_start: bool = False


class Reported(NamedTuple):
    """A machine reports, with the URL of one attempt."""

    word: ReportKind
    attempt: int
    at: float
    message: str | None = None
    percent: float | None = None


class Ordered(NamedTuple):
    """An operator orders."""

    order: Order
    at: float


Event = Asked | Reported | Ordered


@dataclass(frozen=True, slots=True)
class Record:
    """The record of one machine. ``since`` is when it came into ``state``. ``attempt`` counts from 1. ``was_armed``:
    the attempt began with an operator's ``arm``. ``by_operator``: `State.INSTALLED` is what an operator said, not a
    report. ``starts`` are those of the attempt. ``given`` are the documents of the present start, with the time of the
    first giving. ``heard`` is the time of the machine's last request or report. ``message`` and ``percent`` are its
    last news, or came with its state.
    """

    name: str
    attempt: int = 1
    state: State = State.NEW
    since: float = 0
    was_armed: bool = False
    by_operator: bool = False
    starts: int = 0
    given: Mapping[str, float] = field(default_factory=dict)
    heard: float = 0
    message: str | None = None
    percent: float | None = None


class Outcome(NamedTuple):
    """The outcome of an event. ``refusal``: the rule by which a document is refused, None where it is given.
    ``counts``: the event changed the state, or news that came with it; a report that does not is noted in the history
    only."""

    record: Record
    refusal: Refusal | None = None
    counts: bool = True


def step(record: Record, event: Event, rules: Rules) -> Outcome:
    """Return the outcome of an event on a record. Every event is defined in every state."""
    if isinstance(event, Asked):
        return _asked(record, event, rules)
    if isinstance(event, Reported):
        return _reported(record, event, rules)
    return Outcome(_ordered(record, event))


def quiet_period(record: Record, asked: Asked, rules: Rules) -> tuple[float, float]:
    """Return the first and the last time at which a document is given once more within the same start and the machine
    was heard of just before: `step` would change nothing but ``heard``, and that by too little to matter. The first is
    after the last where there is no such time. The time of ``asked`` does not count."""
    first = record.given.get(asked.document)
    if first is None or asked.without_start or record.state not in UNDER_WAY or refusal_of(record, asked, rules):
        return math.inf, -math.inf
    again = min(HEARD_AGAIN_SECONDS, HEARD_AGAIN_SHARE * rules.silence)
    return max(first, record.heard), min(first + rules.start, record.heard + again)


def refusal_of(record: Record, asked: Asked, rules: Rules) -> Refusal | None:
    """Return the rule by which the state closes the gate to a document; None where the gate is open to it."""
    opening = GATES[record.state][asked.gate]
    if opening is Opening.CLOSED or (opening is Opening.GRACE and not _in_grace(record, asked, rules)):
        return _refusal_in(record)
    if asked.once is Once.ARMED and not record.was_armed:
        return Refusal.NOT_ARMED
    return None


def is_silent(record: Record, now: float, rules: Rules) -> bool:
    """Return whether a machine that is expected to report has said nothing for too long."""
    return record.state in UNDER_WAY and now - record.heard > rules.silence


def _in_grace(record: Record, asked: Asked, rules: Rules) -> bool:
    if record.by_operator or asked.document in record.given:
        return False
    return asked.at - record.since <= rules.grace


def _refusal_in(record: Record) -> Refusal:
    if record.state is State.INSTALLED:
        return Refusal.DISARMED if record.by_operator else Refusal.INSTALLED
    return Refusal.COPIED if record.state is State.COPIED else Refusal.EXHAUSTED


def _asked(record: Record, asked: Asked, rules: Rules) -> Outcome:
    refusal = refusal_of(record, asked, rules)
    if refusal is not None:
        return Outcome(record, refusal, counts=False)
    begins = _begins_start(record, asked, rules)
    if begins and record.starts >= rules.starts:
        exhausted = record if asked.without_start else _entered(record, StateChange.TOO_MANY, asked.at)
        return Outcome(exhausted, Refusal.EXHAUSTED, counts=not asked.without_start)
    if asked.without_start:
        return Outcome(record, counts=False)
    heard = max(record.heard, asked.at)
    if begins:
        started = _entered(record, StateChange.START, asked.at)
        given = {asked.document: asked.at}
        return Outcome(replace(started, starts=record.starts + 1, given=given, heard=heard, message=None, percent=None))
    if record.state is State.INSTALLED and asked.at >= record.since:
        # In the grace period, which stays open for a file that is asked for twice.
        return Outcome(replace(record, heard=heard), counts=False)
    first = record.given.get(asked.document)
    if first is not None and first <= asked.at:
        return Outcome(replace(record, heard=heard), counts=False)
    return Outcome(replace(record, heard=heard, given={**record.given, asked.document: asked.at}), counts=False)


def _begins_start(record: Record, asked: Asked, rules: Rules) -> bool:
    if record.state in BETWEEN_STARTS:
        return asked.at >= record.since
    if record.state not in UNDER_WAY:
        return False
    first = record.given.get(asked.document)
    return first is not None and asked.at - first > rules.start


def _reported(record: Record, reported: Reported, rules: Rules) -> Outcome:
    if reported.attempt != record.attempt:
        return Outcome(record, counts=False)
    heard = replace(record, heard=max(record.heard, reported.at))
    if reported.word is ReportKind.PROGRESS:
        if record.state in BETWEEN_STARTS | UNDER_WAY and record.state is not State.FAILED:
            message = reported.message if reported.message is not None else record.message
            percent = reported.percent if reported.percent is not None else record.percent
            return Outcome(replace(heard, message=message, percent=percent))
        return Outcome(heard, counts=False)
    if record.state in (State.NEW, State.ARMED):
        # The document that brought the URL is not written yet, or never will be: a start was begun all the same.
        heard = replace(heard, starts=max(1, record.starts))
    changed = _entered(heard, _change_by(reported.word, heard, rules), reported.at)
    if changed.state is record.state:
        return Outcome(replace(record, heard=heard.heard), counts=False)
    return Outcome(replace(changed, message=reported.message, percent=reported.percent))


def _change_by(word: ReportKind, record: Record, rules: Rules) -> StateChange:
    if word is ReportKind.FAILED:
        return StateChange.FAILED_LAST if record.starts >= rules.starts else StateChange.FAILED
    return StateChange.INSTALLED if word is ReportKind.INSTALLED else StateChange.COPIED


def _ordered(record: Record, ordered: Ordered) -> Record:
    if ordered.order is Order.FORGET:
        return Record(record.name, record.attempt + 1)
    if ordered.order is Order.DISARM:
        if record.state is State.INSTALLED and record.by_operator:
            return record
        disarmed = _entered(record, StateChange.DISARM, ordered.at)
        return replace(disarmed, since=ordered.at, by_operator=True, message=None, percent=None)
    armed = Record(record.name, record.attempt + 1, was_armed=True, heard=record.heard)
    return replace(armed, state=TRANSITIONS[record.state][StateChange.ARM], since=ordered.at)


def _entered(record: Record, change: StateChange, at: float) -> Record:
    """Return a record in the state that a change leads to; ``since`` changes with the state only."""
    after = TRANSITIONS[record.state][change]
    return record if after is record.state else replace(record, state=after, since=max(at, record.since))
