"""What a service is started with: a clock that can be set, or a schema that is one step ahead."""

from __future__ import annotations

import os
from pathlib import Path

from tests.support.service import CHECKOUTS, PROGRAM

STEPS = (-86_400, -600, -30, 0, 30, 600, 86_400)
"""Seconds by which the clock of a service is wrong. It runs through a step; a service that is started takes it."""

CAN_BE_ALTERED = PROGRAM == CHECKOUTS
"""An installed program reads no `PYTHONPATH`."""

_CLOCK = """\
import os, time
step, right = os.open({file!r}, os.O_RDONLY), time.time
time.time = lambda: right() + float(os.pread(step, 20, 0))
"""

_NEXT_SCHEMA = """\
from answerd.store.schema import DOCUMENTS, POSTGRES, SQLITE, Step
added = Step(dict.fromkeys([POSTGRES, SQLITE], ["ALTER TABLE documents ADD COLUMN later TEXT"]))
object.__setattr__(DOCUMENTS, "steps", (*DOCUMENTS.steps, added))
"""


class Startup:
    """A module that Python runs first, in a directory of its own."""

    def __init__(self, home: Path) -> None:
        self._module, self._step = home / "sitecustomize.py", home / "step"

    @property
    def settings(self) -> dict[str, str]:
        """What the environment of a service needs; nothing before something is altered."""
        if not self._module.exists():
            return {}
        paths = [str(self._module.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        return {"PYTHONPATH": os.pathsep.join(paths)}

    def set_clock(self, step: int) -> None:
        """Have the clock wrong by so many seconds: at once, where the service was started with such a clock."""
        if not self._step.exists():
            self._add(_CLOCK.format(file=str(self._step)))
        descriptor = os.open(self._step, os.O_CREAT | os.O_WRONLY)
        os.pwrite(descriptor, f"{step:20}".encode(), 0)
        os.close(descriptor)

    def upgrade(self) -> None:
        """Make what is started from now on the next version, whose schema of documents has one step more."""
        self._add(_NEXT_SCHEMA)

    def _add(self, lines: str) -> None:
        self._module.parent.mkdir(exist_ok=True)
        with self._module.open("a") as file:
            file.write(lines)
