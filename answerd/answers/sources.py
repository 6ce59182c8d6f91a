"""What fills placeholders beside the facts of a request (docs/templates.md#placeholders).

``{{ machine }}`` and ``{{ group }}`` tell the selection. ``{{ secret.NAME }}``, ``{{ report }}`` and ``{{ state }}``
come from the service: it hands over functions, and nothing here knows a file, a clock or a token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from answerd.answers.select import Selection
from answerd.errors import CannotFill
from answerd.facts import RESERVED_LABELS, Facts
from answerd.formats.template import SECRETS
from answerd.inventory.rows import Row

REPORT, STATE = "report", "state"


def _no_secret(name: str, _identifiers: Sequence[str]) -> str:
    reason = f"the secret {name!r} is missing: SERVICE_SECRETS_DIR is not set"
    raise CannotFill(reason, SECRETS + name, missing=False)


def _no_report(_selection: Selection, _facts: Facts) -> str:
    reason = "{{ report }} needs a place for the states of installs, and there is none"
    raise CannotFill(reason, REPORT, missing=False)


def _no_state(_selection: Selection, _facts: Facts) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the values of a service's own labels come from. Each function is called only for a placeholder of its own.

    ``secret`` gets the name of a secret and the identifiers of the machine, the most telling first, and returns the
    text; ``report`` returns the URL for the machine of a request, ``state`` the word for its state, None where it has
    none. All raise `CannotFill` with the reason.
    """

    secret: Callable[[str, Sequence[str]], str] = _no_secret
    report: Callable[[Selection, Facts], str] = _no_report
    state: Callable[[Selection, Facts], str | None] = _no_state


NO_SOURCES = Sources()
"""A service without secrets and without states."""


class Values:
    """The values of all labels for one answer: a `answerd.formats.template.Lookup`."""

    __slots__ = ("_facts", "_selection", "_sources")

    def __init__(self, selection: Selection, facts: Facts, sources: Sources = NO_SOURCES) -> None:
        self._selection = selection
        self._facts = facts
        self._sources = sources

    def first(self, label: str) -> str | None:
        """Return the first value of a label; None where there is none. Raises `CannotFill`."""
        if label in RESERVED_LABELS:
            return self._own(label)
        if label.startswith(SECRETS):
            return self._sources.secret(label[len(SECRETS) :], identifiers_of(self._selection, self._facts.row))
        return self._facts.first(label)

    def values(self, label: str) -> Sequence[str]:
        """Return all values of a label. Raises `CannotFill`."""
        if label in RESERVED_LABELS or label.startswith(SECRETS):
            own = self.first(label)
            return [] if own is None else [own]
        return self._facts.values(label)

    def _own(self, label: str) -> str | None:
        if label == REPORT:
            return self._sources.report(self._selection, self._facts)
        if label == STATE:
            return self._sources.state(self._selection, self._facts)
        document = self._selection.machine if label == "machine" else self._selection.group
        return document.key.identifier if document else None


def identifiers_of(selection: Selection, row: Row | None) -> Sequence[str]:
    """The identifiers by which a machine has secrets of its own, the most telling first: that of its document, then
    the ``id`` of its row."""
    of_document = [selection.machine.key.identifier] if selection.machine else []
    return [*of_document, row.id] if row is not None and row.id else of_document
