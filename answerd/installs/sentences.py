"""The texts for a refused machine: one sentence for a console, or a boot loader's script that shows it.

Rules: docs/install-once.md#what-a-refused-machine-gets. Both say what is known of the machine, and the command that
lets it install, so that it can be typed as it stands.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from datetime import UTC, datetime

from answerd.identity import identity_of
from answerd.installs.hardware import MAC, NAME, SERIAL, UUID
from answerd.installs.loader_scripts import LOADERS
from answerd.installs.records import Refused
from answerd.installs.states import Record, Refusal, State

_UNSAFE = re.compile(r"[^A-Za-z0-9 ._:@+-]")
_PLAIN = re.compile(r"[A-Za-z0-9._:@+][A-Za-z0-9._:@+-]*\Z")
"""A name that needs no quoting, by a shell or by a person who reads it off a screen."""
_LONGEST_NAME = 100
SCREEN_WIDTH = 80
"""Columns of the screen that a boot loader writes to."""
_KINDS = {MAC: "MAC address", SERIAL: "serial", UUID: "UUID", NAME: "name"}


def shown_name(name: str) -> str:
    """Return a name for scripts, logs and terminals: all but letters, digits, blanks and ``._:@+-`` becomes ``?``."""
    return _UNSAFE.sub("?", name[:_LONGEST_NAME])


def moment(at: float) -> str:
    """Return a time for a sentence, to the minute: ``2026-11-21T09:14Z``."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%MZ")


def command(verb: str, names: Iterable[str]) -> str:
    """Return a command for a shell: ``answerd arm 'Not Applicable'``."""
    return " ".join(
        ["answerd", verb, *(["--"] if any(name.startswith("-") for name in names) else []), *map(quoted, names)]
    )


def quoted(name: str) -> str:
    return shlex.quote(name) if name.isprintable() else shown_name(name)


def kind_and_text(text: str) -> str:
    """Return an identity with its kind, ``serial S1``. ``text`` begins with the letter of the kind."""
    return f"{_KINDS.get(text[:1], 'identity')} {shown_name(text[1:])}"


def sentence(refused: Refused) -> str:
    """Return why a machine is refused, and the command that lets it install."""
    arm = command("arm", _typed(refused, quoted_names=True))
    if refused.refusal is Refusal.CONFLICT:
        return (
            f'{_conflict(refused)}; "{arm}" lets it install, "{command("disarm", _typed(refused))}" keeps it as it is'
        )
    if refused.refusal is Refusal.FORMER:
        return f'{_former(refused)}; if this is other hardware: "{arm}"'
    done = f'; if it is installed: "{command("disarm", _typed(refused, quoted_names=True))}"'
    return (
        f'{_subject(refused)} {_reason(refused.record, refused.refusal)}; "{arm}" lets it install{_again(refused)}'
        f"{done if refused.refusal is Refusal.EXHAUSTED else ''}"
    )


def script(refused: Refused, extension: str) -> bytes:
    """Return a script for a boot loader, by the format of its documents, that says why and goes on with the next boot
    device. It is plain words: ``;`` and quotation marks mean something to loaders. No line is wider than
    `SCREEN_WIDTH`."""
    if refused.refusal is Refusal.CONFLICT:
        why = [_conflict(refused)]
    elif refused.refusal is Refusal.FORMER:
        why = [_former(refused)]
    else:
        why = [f"{_subject(refused)} {_reason(refused.record, refused.refusal)}"]
    lines = [line for text in why for line in _wrapped(text)]
    orders = _typed(refused)
    lead = "If this is other hardware" if refused.refusal is Refusal.FORMER else f"To let it install{_again(refused)}"
    arm = f"answerd arm {' '.join(orders)}"
    one_line = f"{lead}: {arm}"
    lines += [one_line] if len(one_line) <= SCREEN_WIDTH else [f"{lead}:", arm]
    if refused.refusal is Refusal.EXHAUSTED:  # the report may be all that is missing, and another install wipes it
        lines += ["If it is installed:", f"answerd disarm {' '.join(orders)}"]
    return "\n".join([*LOADERS[extension](lines), ""]).encode()


def _wrapped(text: str) -> list[str]:
    """Return a text in lines that a screen shows whole; a word that is longer stays."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > SCREEN_WIDTH:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".lstrip()
    return lines


def _typed(refused: Refused, *, quoted_names: bool = False) -> list[str]:
    """Return what is to be typed after ``arm``. On a screen a name that needs quoting is replaced by an identity of the
    machine that does not, else by its letters and digits, which are the same name."""
    if quoted_names and all(name.isprintable() and name.isascii() for name in refused.order):
        return list(refused.order)
    typed = []
    for name in refused.order:
        if _PLAIN.match(name):
            typed.append(name)
        elif _PLAIN.match(refused.plain):
            typed.append(refused.plain)
        else:
            bare = identity_of(name)
            typed.append(bare if _PLAIN.match(bare) else shown_name(name))
    return list(dict.fromkeys(typed))


def _subject(refused: Refused) -> str:
    """Return the machine, and how lists call it or which of its identities refuses, where that is another."""
    label, text = shown_name(refused.label), refused.text
    if refused.listed:
        return f"{label} ({shown_name(refused.listed)})"
    if not text or text[:1] == NAME or refused.is_own or text[1:] == refused.label:
        return label
    return f"{label} ({kind_and_text(text)})"


def _conflict(refused: Refused) -> str:
    other = refused.other or refused.record
    return (
        f"{shown_name(refused.label)} is a conflict: {kind_and_text(refused.text)} {_brief(refused.record)}, "
        f"{kind_and_text(refused.other_text)} {_brief(other)}"
    )


def _former(refused: Refused) -> str:
    return (
        f"{shown_name(refused.label)} was {'disarmed' if refused.record.by_operator else 'installed'} "
        f"{moment(refused.record.since)} on {kind_and_text(refused.text)}"
    )


def _brief(record: Record) -> str:
    return f"is {record.state}" + (f" since {moment(record.since)}" if record.since else "")


def _again(refused: Refused) -> str:
    return "" if refused.refusal is Refusal.NOT_ARMED and refused.record.state is State.NEW else " again"


def _reason(record: Record, refusal: Refusal) -> str:
    since = f"since {moment(record.since)}" if record.state is not State.NEW else ""
    if refusal is Refusal.NOT_ARMED:
        return f"is {record.state} and waits for an operator" if since else "is new and waits for an operator"
    if refusal is Refusal.COPIED:
        return f"is copied {since} and goes on from its disk"
    if refusal is Refusal.EXHAUSTED:
        return f"is exhausted {since} after {record.starts} starts without success"
    return f"is installed {since}"
