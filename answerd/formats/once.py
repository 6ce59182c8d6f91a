"""What the control key ``once`` can say (docs/merging.md#control-keys).

A module of its own, because both the control keys and a prepared answer carry it.
"""

from __future__ import annotations

from enum import StrEnum


class Once(StrEnum):
    """How often an answer may install a machine.

    ``OFF`` switches off what a lower layer says. ``ON`` is ``true``, ``ARMED`` asks for an operator's word before each
    attempt, ``LOADER`` is ``ON`` at the gate of the boot loader.
    """

    OFF = "off"
    ON = "on"
    ARMED = "armed"
    LOADER = "loader"

    @classmethod
    def of(cls, value: bool | str) -> Once | None:
        """Return the meaning of ``true``, ``false``, ``"armed"`` or ``"loader"``; None for any other text."""
        if isinstance(value, bool):
            return cls.ON if value else cls.OFF
        return {"armed": cls.ARMED, "loader": cls.LOADER}.get(value)
