"""``answerd forget``: an operator's order about the installs of machines (docs/install-once.md#commands)."""

from __future__ import annotations

from answerd.commands import Arguments
from answerd.commands.machines import give_order, order_help
from answerd.installs.states import Order

HELP = order_help(
    Order.FORGET,
    "Forget machines, as if they had never asked.",
    """
        Their records and history are removed, and they are new; what they report late changes nothing. A machine that
        is new may install, unless its document waits for an operator.

        An ID is a name of a record, a row, a document or a member, any identity of a machine, or a MAC address.
        """,
    "Remove the record of a machine that is gone.",
)


def run(arguments: Arguments) -> int:
    """Order the machines, and print their names. Exit status 1 if a name is unknown."""
    return give_order(arguments, Order.FORGET, "forgotten")
