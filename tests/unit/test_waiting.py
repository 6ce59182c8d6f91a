"""What tests wait for ends, and is waited for at least once."""

from __future__ import annotations

import ast
import itertools
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.replies import pieces
from tests.support.waiting import again_for

TESTS = Path(__file__).parents[1]

RUNS = ("run", "call", "check_call", "check_output")
CLOCKS = ("monotonic", "perf_counter", "time")
PROGRAMS = ("listener_harness.py",)
"""Files that are also a program of its own, which a test ends."""


def test_what_comes_now_and_then_does_not_defeat_the_deadline() -> None:
    ours, theirs = socket.socketpair()
    over = threading.Event()

    def send() -> None:
        while not over.wait(0.01):
            theirs.send(b": still here\n")

    with ours, theirs:
        sender = threading.Thread(target=send)
        sender.start()
        try:
            with pytest.raises(TimeoutError):
                b"".join(pieces(ours, 0.3))
        finally:
            over.set()
            sender.join()


def test_what_is_done_for_a_time_is_done_once_where_the_time_is_over_already() -> None:
    assert list(again_for(-1.0)) == [None]
    assert len(list(itertools.islice(again_for(1_000.0), 5))) == 5


@pytest.mark.parametrize(
    "line",
    [
        "subprocess.run(['true'], check=True)",
        "with subprocess.Popen(['true']): pass",
        "process.communicate(b'')",
        "self.process.wait()",
        "socket.create_connection(address)",
        "while time.monotonic() < until: pass",
        "while 3 > time.monotonic() - began: pass",
    ],
)
def test_what_waits_for_ever_or_not_at_all_is_found(line: str) -> None:
    assert list(unbounded(ast.parse(line))) == [1]


@pytest.mark.parametrize(
    "line",
    [
        "subprocess.run(['true'], check=True, timeout=PATIENCE)",
        "process.communicate(b'', timeout=5)",
        "self.process.wait(PATIENCE)",
        "socket.create_connection(address, PATIENCE)",
        "while time.monotonic() < until or not seen: pass",
        "for _ in again_for(3): pass",
    ],
)
def test_what_has_an_end_is_left_alone(line: str) -> None:
    assert not list(unbounded(ast.parse(line)))


def test_no_test_waits_for_a_program_without_an_end_or_loops_by_the_clock_alone() -> None:
    files = [file for file in TESTS.rglob("*.py") if file.name not in PROGRAMS]
    assert len(files) > 100
    found = [
        f"{file.relative_to(TESTS)}:{line}" for file in files for line in unbounded(ast.parse(file.read_text("utf-8")))
    ]
    assert not found, "give them a timeout, or use again_for of tests/support/waiting.py"


def unbounded(tree: ast.AST) -> Iterator[int]:
    """The lines of calls that wait without an end, and of loops that only the clock ends: a slow machine runs these
    not once, so that what they hold holds of nothing. Threads are joined without an end: `tests.support.deadline`."""
    for node in ast.walk(tree):
        match node:
            case ast.With(items=[ast.withitem(ast.Call(func=ast.Attribute(ast.Name("subprocess"), "Popen")))]):
                is_bounded = False  # `killed_at_last` of tests/support/processes.py
            case ast.Call(func=ast.Attribute(value=ast.Name("subprocess"), attr=called)) if called in RUNS:
                is_bounded = has_timeout(node)
            case ast.Call(func=ast.Attribute(attr="communicate")):
                is_bounded = has_timeout(node)
            case ast.Call(func=ast.Attribute(attr="wait")):
                is_bounded = bool(node.args or node.keywords)
            case ast.Call(func=ast.Attribute(value=ast.Name("socket"), attr="create_connection")):
                is_bounded = len(node.args) > 1 or has_timeout(node)
            case ast.While(test=ast.Compare() as test):
                is_bounded = not any(isinstance(part, ast.Attribute) and part.attr in CLOCKS for part in ast.walk(test))
            case _:
                continue
        if not is_bounded:
            yield node.lineno


def has_timeout(call: ast.Call) -> bool:
    return any(keyword.arg == "timeout" for keyword in call.keywords)
