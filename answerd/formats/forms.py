"""The values of a label as patterns compare them.

A module of its own because a class that extends a builtin cannot be compiled (docs/performance.md#the-compiled-build).
"""

from __future__ import annotations


class Forms(list[str]):
    """The values of one label as patterns compare them (`answerd.identity.normalize`)."""

    __slots__ = ("_joined",)

    @property
    def joined(self) -> str:
        """All of them, each between two line ends. Computed once."""
        try:
            return self._joined
        except AttributeError:
            self._joined: str = "\n".join(["", *self, ""])
            return self._joined
