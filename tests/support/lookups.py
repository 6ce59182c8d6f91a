"""The values of labels, without a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence


class Said:
    """A lookup that gives each label the value that a function has for it, or the values that a mapping has."""

    def __init__(self, said: Callable[[str], str | None] | Mapping[str, Sequence[str]]) -> None:
        self._said = said

    def first(self, label: str) -> str | None:
        return next(iter(self.values(label)), None)

    def values(self, label: str) -> Sequence[str]:
        if isinstance(self._said, Mapping):
            return self._said.get(label, ())
        value = self._said(label)
        return () if value is None else (value,)
