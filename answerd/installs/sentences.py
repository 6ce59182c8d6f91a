"""The texts for a refused machine: one sentence for a console, or a boot loader's script that shows it.

Rules: docs/install-once.md#what-a-refused-machine-gets.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from answerd.installs.loader_scripts import LOADERS
from answerd.installs.states import Record, Refusal, State

_UNSAFE = re.compile(r"[^A-Za-z0-9 ._:@+-]")
_LONGEST_NAME = 100


def shown_name(name: str) -> str:
    """Return a name for scripts, logs and terminals: all but letters, digits, blanks and ``._:@+-`` becomes ``?``."""
    return _UNSAFE.sub("?", name[:_LONGEST_NAME])


def moment(at: float) -> str:
    """Return a time for a sentence, to the minute: ``2026-11-21T09:14Z``."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%MZ")


def sentence(record: Record, refusal: Refusal) -> str:
    """Return why a machine is refused, and the command that lets it install."""
    name = shown_name(record.name)
    return f'{name} {_reason(record, refusal)}; "answerd arm {name}" lets it install{_again(record, refusal)}'


def script(record: Record, refusal: Refusal, extension: str) -> bytes:
    """Return a script for a boot loader, by the format of its documents, that says why and goes on with the next boot
    device."""
    name = shown_name(record.name)
    shown = [
        f"{name} {_reason(record, refusal)}",
        f"To let it install{_again(record, refusal)}: answerd arm {name}",
    ]
    return "\n".join([*LOADERS[extension](shown), ""]).encode()


def _again(record: Record, refusal: Refusal) -> str:
    return "" if refusal is Refusal.NOT_ARMED and record.state is State.NEW else " again"


def _reason(record: Record, refusal: Refusal) -> str:
    since = f"since {moment(record.since)}" if record.state is not State.NEW else ""
    if refusal is Refusal.NOT_ARMED:
        return f"is {record.state} and waits for an operator" if since else "is new and waits for an operator"
    if refusal is Refusal.COPIED:
        return f"is copied {since} and goes on from its disk"
    if refusal is Refusal.EXHAUSTED:
        return f"is exhausted {since} after {record.starts} starts without success"
    return f"is installed {since}"
