"""Let machines install again, or no more, or forget them.

Usage:
  answerd arm ID...
  answerd arm --group G [--state S]
  answerd arm --state S
  answerd disarm ID...
  answerd disarm --group G [--state S]
  answerd disarm --state S
  answerd forget ID...
  answerd forget --group G [--state S]
  answerd forget --state S

`arm`: the machines may install from now on, whatever their state is. A new
attempt begins: the URLs of reports of the last one change nothing any more.

`disarm`: the machines count as installed from now on, and get nothing that
installs them until they are armed.

`forget`: their records and history are removed, and they are new; what they
report late changes nothing. A machine that is new may install, unless its
document waits for an operator.

An ID is a name of a record, a row, a document or a member, any identity of a
machine, or a MAC address.

Options:
  --group G  The machines of a group: its members, the machines that extend it,
             and the rows that it claims.
  --state S  The machines in a state: new, armed, installing, copied, installed,
             failed, exhausted, conflict; or those that are silent.
  -h --help  This text.

Exit status:
  0  done
  1  a name is unknown, and the others are done; a machine that was armed would
     still be refused; or the states cannot be written
  2  the command line is wrong

Examples:
  # Let a machine install at its next boot.
  answerd arm web-01
  # Keep the machines of a group as they are.
  answerd disarm --group rack-a
  # Remove the record of a machine that is gone.
  answerd forget web-01
"""

from __future__ import annotations

from collections.abc import Sequence

from answerd.answers.operator_names import Machine
from answerd.commands import FAILED, Arguments
from answerd.commands.apply import user_name
from answerd.commands.common import counted, say, state_named
from answerd.commands.installs import OpenInstalls, open_installs
from answerd.installs.hardware import Names
from answerd.installs.sentences import kind_and_text, moment, sentence, shown_name
from answerd.installs.states import STATE_WORDS, Order
from answerd.store.states import GivenOrder

_MOST_TOLD = 8
"""Identities that an order named beyond a row which are told."""

DONE = {Order.ARM: "armed", Order.DISARM: "disarmed", Order.FORGET: "forgotten"}


def run(arguments: Arguments) -> int:
    """Order the machines that the command line names, and print each. Exit status 1 if a name is unknown, or a machine
    would still be refused after ``arm``."""
    order = next(order for order in DONE if arguments[order])
    state = state_named(arguments["--state"], STATE_WORDS)
    installs = open_installs()
    names = arguments["ID"] or [remembered.record.name for remembered in installs.selected(arguments["--group"], state)]
    found = {name: installs.named(name) for name in names}
    machines = [machine for machine in found.values() if machine is not None]
    ordered = [installs.ordered(machine, order) for machine in machines]
    if ordered:
        origin = ", ".join(part for part in ("command line", user_name()) if part)
        given = GivenOrder(order, ordered, installs.now, origin)
        installs.store.order(given, (installs.memory, installs.position))
    for label, also in {one.label: one.also for one in ordered}.items():
        print(f"{shown_name(label)} {DONE[order]}{_beyond(installs, also)}")
    waiting = installs.store.waiting()
    if waiting is not None and waiting.messages:
        say(f"# {counted(waiting.messages, 'event')} of this node for the database, which its service delivers")
    unknown = [name for name, machine in found.items() if machine is None]
    for name in unknown:
        say(f"answerd: {name}: no record, row, document or member has this name, and it is no MAC address")
    refused = _say_who_is_refused(installs, machines) if order is Order.ARM and machines else False
    return FAILED if unknown or refused else 0


def _beyond(installs: OpenInstalls, also: Names) -> str:
    """Return what an order named beyond the machine's row, and when that was seen with it."""
    if not also:
        return ""
    ties = installs.memory.ties.of
    told = [
        f"{kind_and_text(text)}, seen with it on {moment(ties[one].at)}" if one in ties else kind_and_text(text)
        for one, text in [*also.items()][:_MOST_TOLD]
    ]
    more = f" and {len(also) - _MOST_TOLD} more" if len(also) > _MOST_TOLD else ""
    return f", also {'; '.join(told)}{more}"


def _say_who_is_refused(installs: OpenInstalls, machines: Sequence[Machine]) -> bool:
    """Try the last request of each machine anew, and say who is still refused, by what, and which order opens that.
    Return whether anybody is."""
    installs.read_again()
    refused = False
    for machine in machines:
        why = installs.refused(machine)
        if why is not None:
            say(f"answerd: {shown_name(machine.name)} is still refused: {sentence(why)}")
            refused = True
    return refused
