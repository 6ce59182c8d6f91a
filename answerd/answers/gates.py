"""The gates of installs, asked while a request is answered: which machine asks, whether it gets the document, and its
report URL.

Rules: docs/install-once.md. Reads the states only where an answer has ``once`` or ``{{ report }}``, or a selector names
``state``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from answerd.answers.catalogue import Catalogue
from answerd.answers.hardware_names import asked_of, row_finder
from answerd.answers.select import Selection
from answerd.errors import CannotFill
from answerd.facts import Facts
from answerd.formats.family import Once
from answerd.installs.events import Event, Kind
from answerd.installs.hardware import Asked
from answerd.installs.loader_scripts import LOADERS
from answerd.installs.records import Decision, InstallMemory, Refused
from answerd.installs.sentences import script, sentence
from answerd.installs.states import Gate, Requested
from answerd.installs.tokens import TokenSubject, report_token

_HOST: Final = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9._~%-]+)?\])(?::[0-9]{1,5})?\Z")
"""A host and a port. The zone of a link-local address is the client's own: only there the URL is used again."""


class InstallSource(Protocol):
    """Access to the installs that the service knows."""

    @property
    def key(self) -> bytes:
        """The key of tokens. Raises `answerd.errors.StatesUnknown`."""

    def current(self) -> InstallMemory:
        """Return all states, including everything that was acknowledged before. Raises
        `answerd.errors.StatesUnknown`."""

    def now(self) -> float:
        """Return the time, in seconds. It never goes back."""

    def base_url(self, facts: Facts) -> str:
        """Return the URL by which machines reach the service: ``http://answers.example.com:8000``. Raises
        `CannotFill`."""

    def given(self, events: Sequence[Event]) -> None:
        """Have it written, before the response is sent, that a document was given, or that a start was refused. Raises
        `answerd.errors.StatesUnknown`; then it must not be given."""

    def noted(self, events: Sequence[Event]) -> None:
        """Have it written what a refused machine said of itself; it may be lost. Raises nothing."""


class OnceRequest(NamedTuple):
    """A request of a machine for an answer with ``once``, and the decision of the states."""

    asked: Asked
    gate: Gate
    decision: Decision


@dataclass(frozen=True, slots=True)
class Gates:
    source: InstallSource

    def state(self, catalogue: Catalogue, facts: Facts) -> str:
        """Return the state of the machine that asks. Raises `answerd.errors.StatesUnknown`."""
        memory = self.source.current()
        return memory.state(asked_of(catalogue, None, facts, memory), row_finder(catalogue)).value

    def ask(
        self, catalogue: Catalogue, selection: Selection, facts: Facts, once: Once, *, without_start: bool = False
    ) -> OnceRequest:
        """Return the decision of the states about a request for an answer with ``once``.

        Raises `answerd.errors.StatesUnknown`, and `CannotFill` where nothing identifies the machine.
        """
        memory = self.source.current()
        top = selection.layers[-1].key
        gate = Gate.LOADER if once is Once.LOADER or is_loader(top.format) else Gate.ANSWERS
        asked = _named(catalogue, selection, facts, memory, "once")
        requested = self._requested(selection, facts, gate, once)._replace(without_start=without_start)
        decision = memory.ask(asked, requested, row_finder(catalogue))
        if decision.refused is not None and decision.events:
            if decision.events[0].kind is Kind.ASKED:
                self.source.noted(decision.events)
            else:
                self.source.given(decision.events)
        return OnceRequest(asked, gate, decision)

    def given(self, once_request: OnceRequest) -> None:
        """Write that the composed answer is given. Raises `answerd.errors.StatesUnknown`."""
        if once_request.decision.events:
            self.source.given(once_request.decision.events)

    def told(self, catalogue: Catalogue, selection: Selection, facts: Facts, decision: Decision | None) -> None:
        """Write which machine was given its report URL by an answer without ``once``: what `report` has decided.
        Raises `answerd.errors.StatesUnknown`."""
        if decision is None:
            decision = self.telling(catalogue, selection, facts)
        if decision.events:
            self.source.given(decision.events)

    def telling(self, catalogue: Catalogue, selection: Selection, facts: Facts) -> Decision:
        """Return what follows from telling a machine its report URL. Raises `CannotFill`,
        `answerd.errors.StatesUnknown`."""
        memory = self.source.current()
        asked = _named(catalogue, selection, facts, memory, "{{ report }}")
        requested = self._requested(selection, facts, Gate.ANSWERS, Once.OFF)
        return memory.told(asked, requested, row_finder(catalogue))

    def _requested(self, selection: Selection, facts: Facts, gate: Gate, once: Once) -> Requested:
        return Requested(
            document_of(selection),
            gate,
            once,
            self.source.now(),
            peer=facts.request.peer,
            group=selection.group.key.identifier if selection.group is not None else None,
            overlays=tuple([overlay.key.identifier for overlay in selection.overlays]) if selection.overlays else (),
        )

    def report(self, facts: Facts, decision: Decision) -> str:
        """Return the URL by which the machine reports. Raises `CannotFill`."""
        base = self.source.base_url(facts)
        subject = TokenSubject(decision.giving, decision.identity, decision.attempt)
        return f"{base}/report/{report_token(subject, self.source.key)}"


def document_of(selection: Selection) -> str:
    """Return the document that a giving names: that of the machine, else the group, else the default."""
    document = selection.machine or selection.group or selection.default or selection.layers[-1]
    return str(document.key)


def _named(catalogue: Catalogue, selection: Selection, facts: Facts, memory: InstallMemory, what: str) -> Asked:
    """Return which machine asks. Raises `CannotFill` where nothing identifies it."""
    asked = asked_of(catalogue, selection, facts, memory)
    if not asked.names:
        reason = (
            f"{what} needs to know which machine asks, and the request names none: it has no serial, uuid or mac of "
            "its own (values that many machines share do not count), and no machine document, row or member is its own"
        )
        raise CannotFill(reason, "report", missing=True)
    return asked


def is_loader(extension: str) -> bool:
    """Return whether documents of a format are a boot loader's scripts."""
    return extension in LOADERS


def refusal_sentence(once_request: OnceRequest) -> str:
    """Return why a document is refused. Raises `ValueError` where it is not refused."""
    return sentence(_refused(once_request))


def script_of(once_request: OnceRequest, extension: str) -> bytes:
    """Return the script that the boot loader of a format gets instead of a refused document. Raises `ValueError` where
    the document is not refused."""
    return script(_refused(once_request), extension)


def _refused(once_request: OnceRequest) -> Refused:
    refused = once_request.decision.refused
    if refused is None:
        raise ValueError("the document is not refused")
    return refused


def url_of_host(scheme: str, facts: Facts) -> str:
    """Return the URL that a request reached, from its ``Host``. Raises `CannotFill` where that is no host and port."""
    for name, value in facts.request.headers:
        if name == "host" and _HOST.match(value):
            return f"{scheme}://{value}"
    reason = "{{ report }} needs SERVICE_URL: the request has no Host that is a host and a port"
    raise CannotFill(reason, "report", missing=False)
