"""Installs that are remembered in process: a clock that a test moves, and what was written is in force at once."""

from __future__ import annotations

from dataclasses import dataclass, field

from answerd.answers.gates import Asking, Gates, url_of_host
from answerd.facts import Facts
from answerd.identity import identity_of
from answerd.installs.memory import InstallMemory, RecordEvent, apply
from answerd.installs.states import Order, Ordered, Reported, ReportKind, Rules
from answerd.installs.tokens import subject_of


@dataclass
class RememberedInstalls:
    """An `answerd.answers.gates.InstallSource` without a database."""

    rules: Rules = field(default_factory=Rules)
    memory: InstallMemory = field(default_factory=InstallMemory)
    key: bytes = b"k" * 32
    clock: float = 1_795_252_440.0
    url: str | None = None

    @property
    def gates(self) -> Gates:
        """The gates of these installs."""
        return Gates(self)

    def current(self) -> InstallMemory:
        """What is remembered."""
        return self.memory

    def now(self) -> float:
        """The time of the test."""
        return self.clock

    def base_url(self, facts: Facts) -> str:
        """The setting, else the request's host."""
        return self.url or url_of_host("http", facts)

    def given(self, asking: Asking) -> None:
        """Note it at once."""
        was_refused = asking.judgement.refusal is not None
        for name in asking.names:
            identities = {} if was_refused else asking.visitor.identities
            self._apply(RecordEvent(name, asking.asked, identities, asking.visitor.group))

    def report(self, url: str, word: ReportKind = ReportKind.INSTALLED) -> None:
        """Report by a URL as an answer had it."""
        subject = subject_of(url.rpartition("/")[2], self.key)
        assert subject is not None, url
        self._apply(RecordEvent(subject.name, Reported(word, subject.attempt, self.clock)))

    def order(self, name: str, order: Order) -> None:
        """Arm, disarm or forget a machine."""
        self._apply(RecordEvent(name, Ordered(order, self.clock), {identity_of(name): name}))

    def _apply(self, happened: RecordEvent) -> None:
        name = identity_of(happened.name)
        before = self.memory.by_name.get(name)
        applied = apply(before, self.memory.forgotten.get(name, 0), happened, self.rules)
        if applied.after is not None:
            self.memory.put(applied.after)
        elif before is not None:
            self.memory.forget(name, before.record.attempt)
