"""The deadline of each test: a pytest plugin that gives pytest-timeout its way to end a test.

What hangs may hang in C, in gevent's loop or in a fixture, where an exception is lost. So the process ends, and prints
before where it stood. Under pytest-xdist that ends the whole run (`--max-worker-restart` in pyproject.toml); there is
no standard output there, and pytest-timeout by itself would print into nothing, and no greenlet that waits.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import traceback
from collections.abc import Iterator

import pytest
from greenlet import getcurrent, greenlet
from pytest_timeout import Settings, is_debugging

GIVEN: pytest.StashKey[Settings] = pytest.StashKey()


def pytest_timeout_set_timer(item: pytest.Item, settings: Settings) -> bool:
    """Begin the time of a test."""
    timer = threading.Timer(settings.timeout, _end, (item, settings))
    timer.daemon = True
    setattr(item, "cancel_timeout", timer.cancel)  # noqa: B010 - where pytest-timeout looks for it
    item.stash[GIVEN] = settings
    timer.start()
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Begin the time anew for the fixtures: pytest-timeout takes it back when a test fails."""
    if GIVEN in item.stash:
        item.ihook.pytest_timeout_cancel_timer(item=item)
        item.ihook.pytest_timeout_set_timer(item=item, settings=item.stash[GIVEN])
    return (yield)


def _end(item: pytest.Item, settings: Settings) -> None:
    """Print what the test has printed and the stack of each thread and greenlet, and end the process."""
    if is_debugging():
        return
    try:
        capture = item.config.pluginmanager.getplugin("capturemanager")
        capture.suspend_global_capture(item)
        printed = "".join(capture.read_global_capture())
        head = f"\n{item.nodeid} did not end within {settings.timeout:g} seconds. It has printed:\n{printed}\n"
        print(head + "\n".join(_stacks()), file=sys.__stderr__, flush=True)
    finally:
        os._exit(1)


def _stacks() -> Iterator[str]:
    """The stack of each thread but this one, and of each greenlet that waits: the last call comes last."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():
        if ident != threading.get_ident():
            yield f"--- thread {names.get(ident, ident)}\n" + "".join(traceback.format_stack(frame))
    for found in gc.get_objects():
        if isinstance(found, greenlet) and found is not getcurrent() and (waits := found.gr_frame) is not None:
            yield f"--- greenlet {found!r}\n" + "".join(traceback.format_stack(waits))
