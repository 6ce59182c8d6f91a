"""The values of the control key ``once`` (docs/merging.md#control-keys).

A separate module, because both the control keys and a prepared answer have it.
"""

from __future__ import annotations

from enum import StrEnum


class Once(StrEnum):
    """How often an answer may install a machine.

    ``OFF`` cancels the value of a lower layer. ``ON`` is ``true``, ``ARMED`` requires an operator's order before each
    attempt, ``LOADER`` is ``ON`` for the document of the boot loader.
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
