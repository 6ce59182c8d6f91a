"""Let machines install again, or no more, or forget them.

Usage:
  answerd arm [--where FILTER]... [--group G] [--state S] [--yes] [ID]...
  answerd disarm [--where FILTER]... [--group G] [--state S] [ID]...
  answerd forget [--where FILTER]... [--group G] [--state S] [ID]...

`arm`: the machines may install from now on, whatever their state is. A new
attempt begins: the URLs of reports of the last one change nothing any more.
What it names beyond a row is printed, and of a machine that would still be
refused, by what, and the order that lets it in. On a terminal it asks before
several machines are armed of which one was given what installs it, or is
installed.

`disarm`: the machines count as installed from now on, and get nothing that
installs them until they are armed.

`forget`: their records and history are removed, and they are new; what they
report late changes nothing. A machine that is new may install, unless its
document waits for an operator.

An ID is a name of a record, a row, a document or a member, any identity of a
machine, or a MAC address; a list of them, cn[01-20,25]; or a pattern, 'cn05*'.
Of several IDs any is meant, and what else is given must hold too. See
docs/install-once.md#which-machines.

Options:
  --where FILTER  The machines whose rows have COLUMN=PATTERN; several of one
                  column mean any of them, of different columns all.
  --group G       The machines of a group: its members, the machines that extend
                  it, and the rows that it claims.
  --state S       The machines in a state: new, armed, installing, copied,
                  installed, failed, exhausted, conflict; or those that are
                  silent.
  --yes           Do not ask.
  -h --help       This text.

Exit status:
  0  done
  1  a name is unknown, and the others are done; no machine is as the options
     say; a machine that was armed would still be refused; or the states cannot
     be written
  2  the command line is wrong

Examples:
  # Let a machine install at its next boot.
  answerd arm web-01
  # Let the machines of a rack that failed install again.
  answerd arm --where rack=R12 --state failed
  # Let machines install that a list names, as Slurm writes it.
  answerd arm 'cn[0551-0600,0612]'
  # Keep the machines of a group as they are.
  answerd disarm --group rack-a
  # Remove the record of a machine that is gone.
  answerd forget web-01
"""

from __future__ import annotations

from collections.abc import Sequence

from answerd.answers.machine_choice import ChosenMachine
from answerd.answers.operator_names import Machine
from answerd.commands import FAILED, WRONG_USAGE, Arguments, CommandError
from answerd.commands.machines import OpenInstalls, choice_of, open_installs, say_unknown, states_counted
from answerd.commands.own_changes import user_name
from answerd.commands.terminal import can_ask, counted, said_yes, say
from answerd.installs.hardware import Names
from answerd.installs.sentences import kind_and_text, moment, sentence, shown_name
from answerd.installs.states import Order, State
from answerd.store.states import GivenOrder

_MOST_TOLD = 8
"""Identities that an order named beyond a row which are told."""

DONE = {Order.ARM: "armed", Order.DISARM: "disarmed", Order.FORGET: "forgotten"}


def run(arguments: Arguments) -> int:
    """Order the machines that the command line names, and print each. Exit status 1 if a name is unknown, or a machine
    would still be refused after ``arm``."""
    order = next(order for order in DONE if arguments[order])
    choice = choice_of(arguments)
    if choice.is_of_all:
        raise CommandError(f"name the machines to {order}, or choose them: --where, --group, --state", WRONG_USAGE)
    installs = open_installs()
    found = installs.chosen(choice)
    if not found.machines and not found.unknown:
        raise CommandError("there is no such machine: nothing was done")
    if order is Order.ARM and can_ask() and not arguments["--yes"]:
        _ask(found.machines)
    machines = [one.machine for one in found.machines]
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
    say_unknown(found.unknown)
    refused = _say_who_is_refused(installs, machines) if order is Order.ARM and machines else False
    return FAILED if found.unknown or refused else 0


def _ask(machines: Sequence[ChosenMachine]) -> None:
    """Ask whether several machines are to be wiped, where one of them has been installed or begun to be. Raises
    `CommandError` where they are not."""
    states = [one.remembered.record.state for one in machines]
    if len(states) > 1 and not {State.NEW, State.ARMED}.issuperset(states):
        count = f"{counted(len(states), 'machine')} ({states_counted(states)})"
        if not said_yes(f"Arm {count}, which wipes each when it boots from the network?"):
            raise CommandError("nothing was armed")


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
