"""``answerd arm``: an operator's order about the installs of machines (docs/install-once.md#commands)."""

from __future__ import annotations

from answerd.commands import Arguments
from answerd.commands.machines import give_order, order_help
from answerd.installs.states import Order

HELP = order_help(
    Order.ARM,
    "Let machines install again.",
    """
        The machines may install from now on, whatever their state is, and a new attempt begins

        An ID is a name of a record, a row, a document or a member, any identity of a machine, or a MAC address.
        """,
    " the URLs of reports of the last one change nothing any more.:Let a machine install at its next boot.",
)


def run(arguments: Arguments) -> int:
    """Order the machines, and print their names. Exit status 1 if a name is unknown."""
    return give_order(arguments, Order.ARM, "armed")
