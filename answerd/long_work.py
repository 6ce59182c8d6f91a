"""Work on one large document, answer or request, which may take as long as a hundred requests.

A service has it done in a thread (`answerd.server.threads`), so that it delays no request; every other program does
it at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_T = TypeVar("_T")

_runners: list[Callable[[Callable[[], Any]], Any]] = []


def run_long(work: Callable[[], _T]) -> _T:
    """Return what ``work`` returns, or raise what it raises."""
    result: _T = _runners[-1](work) if _runners else work()
    return result


def run_long_work_by(runner: Callable[[Callable[[], Any]], Any]) -> None:
    """Have long work of this process done by ``runner`` from now on."""
    _runners[:] = [runner]


_pauses: list[Callable[[], None]] = []


def give_way() -> None:
    """Let others do their work, in the middle of work that goes on step by step."""
    for pause in _pauses:
        pause()


def give_way_by(pause: Callable[[], None]) -> None:
    """Have ``pause`` let others do their work from now on."""
    _pauses[:] = [pause]
