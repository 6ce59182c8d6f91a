"""The states of a machine take time in proportion to its hardware identities: strangers choose how many they say.

Measured as in `tests.cost.test_growth`. A step that is linear takes 4 times as long for 4 times the identities.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import pytest

from answerd.answers.operator_names import OrderedMachine
from answerd.formats.family import Once
from answerd.installs.events import content_of, event_from, summary_of
from answerd.installs.hardware import MAC, SERIAL, Asked, Names, named_by_order
from answerd.installs.records import InstallMemory, ReportedOn, no_row
from answerd.installs.states import Gate, Order, ReportKind, Requested, Rules

FEW, MANY = 16, 64
BAR = 9.0
WORTH_MEASURING = 0.0005
MOST_LOOKS = 8
REPEATED = 5
AT = 1_000.0


class Machine:
    """A machine with so many ports, which says them in requests of ``at_once`` with its serial number."""

    def __init__(self, ports: int) -> None:
        self.memory = InstallMemory(Rules())
        self.macs = {f"9000{number:08x}": f"{MAC}{number:012x}" for number in range(ports)}
        self.names: Names = {"k1": f"{SERIAL}K1", **self.macs}
        self.now = AT

    def ask(self, names: Names, document: str = "rack.ks") -> ReportedOn:
        """Ask for a document; return what its report URL says."""
        self.now += 0.001
        requested = Requested(document, Gate.ANSWERS, Once.ON, self.now)
        decision = self.memory.ask(Asked(names), requested)
        for event in decision.events:
            self.memory.apply(event)
        return ReportedOn(decision.giving, decision.identity, decision.attempt)

    def report(self, subject: ReportedOn, word: ReportKind) -> None:
        """Report."""
        self.now += 0.001
        self.memory.apply(self.memory.reported(subject, word, self.now, "message", None))

    def order(self, order: Order) -> OrderedMachine:
        """Order it by its serial number."""
        names = named_by_order(self.memory, "K1", SERIAL, None, None, order, no_row)
        self.memory.apply(self.memory.ordered(order, "K1", names, self.now, ""))
        return OrderedMachine("K1", names)


Steps = dict[str, Callable[[], object]]


def steps_of(ports: int) -> Steps:
    """What may happen to a machine with so many ports."""
    machine = Machine(ports)
    parts = [dict([*machine.macs.items()][at : at + 8]) for at in range(0, ports, 8)]

    def ask_in_parts() -> None:
        for part in parts:
            machine.ask({"k1": f"{SERIAL}K1", **part})

    subject = machine.ask(machine.names)
    events = [
        event._replace(record="k1")
        for document in ("a", "b", "c")
        for event in machine.memory.ask(Asked(machine.names), Requested(document, Gate.ANSWERS, Once.ON, AT)).events
    ]
    content = content_of(summary_of(events, "k1")).decode()

    def end() -> None:
        machine.report(subject, ReportKind.INSTALLED)

    return {
        "asks in parts": ask_in_parts,
        "asks": lambda: machine.ask(machine.names, f"{machine.now}.ks"),
        "asks again": lambda: machine.ask(machine.names),
        "reports progress": lambda: machine.report(subject, ReportKind.PROGRESS),
        "reports a failure": lambda: machine.report(subject, ReportKind.FAILED),
        "reports success": end,
        "asks when it is installed": lambda: machine.ask(machine.names, f"{machine.now}.ks"),
        "is disarmed": lambda: machine.order(Order.DISARM),
        "is armed": lambda: machine.order(Order.ARM),
        "is summed up": lambda: summary_of(events, "k1"),
        "is read": lambda: event_from("k1", "K1", "summary", AT, content),
    }


def measured(ports: int) -> dict[str, float]:
    """The processor time of each step."""
    times: dict[str, float] = {}
    for name, step in steps_of(ports).items():
        gc.disable()
        began = time.thread_time()
        for _ in range(REPEATED):
            step()
        times[name] = time.thread_time() - began
        gc.enable()
    return times


def test_no_step_of_an_install_grows_faster_than_the_identities_of_the_machine() -> None:
    growth: dict[str, float] = {}
    for _ in range(MOST_LOOKS):
        few, many = measured(FEW), measured(MANY)
        for step in few:
            ratio = many[step] / few[step] if many[step] > WORTH_MEASURING else 0.0
            growth[step] = min(ratio, growth.get(step, ratio))
        too_fast = {step: f"{ratio:.1f} times as long" for step, ratio in growth.items() if ratio > BAR}
        if not too_fast:
            return
    pytest.fail(f"for {MANY // FEW} times the identities: {too_fast}")
