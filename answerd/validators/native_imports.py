"""Imports of large libraries when they are first needed, whatever thread needs them."""

from __future__ import annotations

import _thread
import importlib
import sys
from typing import Any


def _native_lock() -> Any:
    """Return a lock for which a thread waits itself.

    gevent makes locks wait in the loop of the thread, those of imports too, and that loop may never wake up. So two
    threads that import the same module for the first time do so one after the other.
    """
    monkey = sys.modules.get("gevent.monkey")
    return monkey.get_original("_thread", "allocate_lock")() if monkey else _thread.allocate_lock()


_importing = _native_lock()


def module(name: str) -> Any:
    """Return a module. Raises `ImportError`."""
    with _importing:
        return importlib.import_module(name)
