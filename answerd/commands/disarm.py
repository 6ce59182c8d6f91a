"""``answerd disarm``: an operator's order about the installs of machines (docs/install-once.md#commands)."""

from __future__ import annotations

from answerd.commands import Arguments
from answerd.commands.machines import give_order, order_help
from answerd.installs.states import Order

HELP = order_help(
    Order.DISARM,
    "Let machines install no more.",
    """
        The machines count as installed from now on, and get nothing that installs them until they are armed.

        An ID is a name of a record, a row, a document or a member, any identity of a machine, or a MAC address.
        """,
    "Keep a machine as it is.",
)


def run(arguments: Arguments) -> int:
    """Order the machines, and print their names. Exit status 1 if a name is unknown."""
    return give_order(arguments, Order.DISARM, "disarmed")
