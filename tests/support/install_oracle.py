"""A literal reading of docs/install-once.md, which shares nothing with the rules of the product but its words."""

from __future__ import annotations

from answerd.formats.family import Once
from answerd.installs.states import Gate, Order, ReportKind, Requested, Rules
from tests.support.installs import Ordered, Reported


class Oracle:
    """Works out the state from all that ever happened, sentence by sentence, without keeping a state."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.attempt = 1
        self.state = "new"
        self.operator_armed = False
        self.operator_disarmed = False
        self.starts = 0
        self.first_given: dict[str, float] = {}
        self.recent: dict[str, float] = {}
        self.reported_at = 0.0
        self.changed_at = 0.0

    def ask(self, asked: Requested) -> bool:
        """Whether the document is given."""
        if not self.is_open(asked):
            return False
        begins = False
        if self.state in ("new", "armed", "failed"):
            begins = True
        elif self.state in ("installing", "copied") and asked.document in self.first_given:
            begins = asked.at - self.first_given[asked.document] > self.rules.start
        if begins and self.starts + 1 > self.rules.starts:
            if not asked.without_start:
                self.change("exhausted", asked.at)
            return False
        if asked.without_start:
            return True
        if begins:
            self.starts += 1
            before = {**self.recent, **self.first_given}
            self.recent = {document: at for document, at in before.items() if asked.at - at <= self.rules.start}
            self.first_given = {}
            if self.state != "copied":
                self.change("installing", asked.at)
        if self.state != "installed":
            self.first_given.setdefault(asked.document, asked.at)
        return True

    def is_open(self, asked: Requested) -> bool:
        """The table of the two gates."""
        if asked.once is Once.ARMED and not self.operator_armed:
            return False
        if asked.gate is Gate.LOADER:
            return self.state in ("new", "armed", "installing", "failed")
        if self.state == "installed":
            if self.operator_disarmed or asked.document in self.first_given or asked.document in self.recent:
                return False
            return asked.at - self.reported_at <= self.rules.grace
        return self.state != "exhausted"

    def report(self, reported: Reported) -> None:
        """Per start, ``installed`` beats ``failed`` beats ``copied``."""
        if reported.attempt != self.attempt or reported.word is ReportKind.PROGRESS:
            return
        if self.state in ("new", "armed"):
            self.starts = max(self.starts, 1)
        if reported.word is ReportKind.INSTALLED and self.state != "installed":
            self.change("installed", reported.at)
            self.reported_at = self.changed_at
        elif reported.word is ReportKind.FAILED and self.state in ("new", "armed", "installing", "copied"):
            self.change("failed" if self.starts < self.rules.starts else "exhausted", reported.at)
        elif reported.word is ReportKind.FAILED and self.state == "failed" and self.starts >= self.rules.starts:
            self.change("exhausted", reported.at)
        elif reported.word is ReportKind.COPIED and self.state in ("new", "armed", "installing"):
            self.change("copied", reported.at)

    def order(self, ordered: Ordered) -> None:
        """What an operator says."""
        if ordered.order is Order.DISARM:
            if not (self.state == "installed" and self.operator_disarmed):
                self.state, self.changed_at = "installed", ordered.at
            self.operator_disarmed = True
            return
        self.attempt += 1
        self.operator_disarmed = False
        self.first_given, self.recent, self.starts = {}, {}, 0
        self.operator_armed = ordered.order is Order.ARM
        self.state = "armed" if ordered.order is Order.ARM else "new"
        self.changed_at = ordered.at if ordered.order is Order.ARM else 0.0

    def change(self, state: str, at: float) -> None:
        """Into another state."""
        if state != self.state:
            self.state, self.changed_at = state, max(at, self.changed_at)
