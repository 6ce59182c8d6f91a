"""The sources of placeholder values other than the facts of a request (docs/templates.md#placeholders).

``{{ machine }}`` and ``{{ group }}`` come from the selection. ``{{ secret.NAME }}``, ``{{ report }}``, ``{{ state }}``
and ``{{ service.fingerprint }}`` come from the service, which passes functions: this module knows no file, clock or
token.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from answerd.answers.catalogue import Catalogue
from answerd.answers.gates import Gates, OnceRequest
from answerd.answers.select import Selection
from answerd.errors import CannotFill
from answerd.facts import RESERVED_LABELS, STATE, Facts
from answerd.formats.template import SECRETS
from answerd.installs.records import Decision

REPORT: Final = "report"
FINGERPRINT: Final = "service.fingerprint"


class OwnCertificate(Protocol):
    """The certificate by which the service speaks HTTPS."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the certificate, as ``AB:CD:…``."""

    def is_trusted(self) -> bool:
        """Return whether an authority that this system knows has signed it, and it is in force. Takes 50 ms."""


def _no_secret(name: str, _identifiers: Sequence[str]) -> str:
    reason = f"the secret {name!r} is missing: SERVICE_SECRETS_DIR is not set"
    raise CannotFill(reason, SECRETS + name, missing=False)


def _no_place() -> CannotFill:
    reason = "{{ report }} needs a place for the states of installs, and there is none"
    return CannotFill(reason, REPORT, missing=False)


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of the values of the service's own labels. Each function is called only for a placeholder of its own.

    ``secret`` gets the name of a secret and the identifiers of the machine, the most specific first, and returns the
    text. ``gates`` know the states of installs, None where the service keeps none. ``report`` and ``state`` replace the
    gates' answers. All raise `CannotFill` with the reason. ``certificate`` is None for a service that speaks HTTP.
    ``problems`` are sentences about the sources themselves; ``folders`` are the directories of single machines' secrets
    by the identities that they are named after;
    ``version`` changes whenever a secret or a problem changes.
    """

    secret: Callable[[str, Sequence[str]], str] = _no_secret
    report: Callable[[Selection, Facts], str] | None = None
    state: Callable[[Selection, Facts], str | None] | None = None
    problems: Callable[[], Sequence[str]] = tuple
    folders: Callable[[], Mapping[str, Sequence[str]]] = dict
    version: Callable[[], int] = int
    gates: Gates | None = None
    certificate: Callable[[], OwnCertificate | None] = lambda: None


NO_SOURCES: Final = Sources()
"""A service without secrets and without states."""


class Values:
    """The values of all labels for one answer: an `answerd.formats.filters.Lookup`."""

    __slots__ = ("_catalogue", "_facts", "_once_request", "_selection", "_sources", "has_told_report", "told")

    def __init__(
        self,
        selection: Selection,
        facts: Facts,
        sources: Sources = NO_SOURCES,
        catalogue: Catalogue | None = None,
        once_request: OnceRequest | None = None,
    ) -> None:
        """``catalogue`` is that of the selection; without it the gates of ``sources`` give no URL. ``once_request`` is
        what they said about an answer with ``once``."""
        self._once_request = once_request
        self.has_told_report = False
        self.told: Decision | None = None
        self._catalogue = catalogue
        self._selection = selection
        self._facts = facts
        self._sources = sources

    def first(self, label: str) -> str | None:
        """Return the first value of a label; None where there is none. Raises `CannotFill`."""
        if label in RESERVED_LABELS:
            return self._own(label)
        if label.startswith(SECRETS):
            return self._sources.secret(label[len(SECRETS) :], identifiers_of(self._selection, self._facts))
        return self._facts.first(label)

    def values(self, label: str) -> Sequence[str]:
        """Return all values of a label. Raises `CannotFill`."""
        if label in RESERVED_LABELS or label.startswith(SECRETS):
            own = self.first(label)
            return [] if own is None else [own]
        return self._facts.values(label)

    def _own(self, label: str) -> str | None:
        if label == REPORT:
            return self._report()
        if label == FINGERPRINT:
            return self._fingerprint()
        if label == STATE:
            own = self._sources.state
            return self._facts.first(STATE) if own is None else own(self._selection, self._facts)
        document = self._selection.machine if label == "machine" else self._selection.group
        return document.key.identifier if document else None

    def _fingerprint(self) -> str:
        certificate = self._sources.certificate()
        if certificate is None:
            reason = "{{ service.fingerprint }} needs SERVICE_TLS_CERT and SERVICE_TLS_KEY, which are not set"
            raise CannotFill(reason, FINGERPRINT, missing=False)
        return certificate.fingerprint

    def _report(self) -> str:
        sources = self._sources
        if sources.report is not None:
            return sources.report(self._selection, self._facts)
        if sources.gates is None or self._catalogue is None:
            raise _no_place()
        self.has_told_report = True
        if self._once_request is not None:
            return sources.gates.report(self._facts, self._once_request.decision)
        if self.told is None:
            self.told = sources.gates.telling(self._catalogue, self._selection, self._facts)
        return sources.gates.report(self._facts, self.told)


def identifiers_of(selection: Selection, facts: Facts) -> Sequence[str]:
    """Return the identifiers by which a machine has secrets of its own, the most specific first: that of its document,
    then the ``id`` of its row."""
    identifiers = [selection.machine.key.identifier] if selection.machine else []
    if facts.row is not None and (of_row := facts.row_id):
        identifiers.append(of_row)
    return identifiers
