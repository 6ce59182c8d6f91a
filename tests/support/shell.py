"""The command line in this process."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from answerd.cli import main


@dataclass(frozen=True)
class Done:
    """A command's exit status, and the lines of its two outputs."""

    status: int
    out: list[str]
    err: list[str]


class Shell:
    """Runs commands with settings of their own, in an empty directory."""

    def __init__(self, place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.place, self.capsys, self.monkeypatch = place, capsys, monkeypatch
        monkeypatch.chdir(place)
        for name in [name for name in os.environ if name.startswith("SERVICE_")]:
            monkeypatch.delenv(name)

    def set(self, **settings: object) -> None:
        for name, value in settings.items():
            self.monkeypatch.setenv(name, str(value))

    def __call__(self, *arguments: str) -> Done:
        status = main(list(arguments))
        out, err = self.capsys.readouterr()
        return Done(status, out.splitlines(), err.splitlines())
