"""What several unit tests look at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from answerd.commands import documents
from answerd.formats import toml as toml_family
from tests.support.shell import Shell


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that the TOML family is given to parse from now on."""
    texts: list[str] = []
    parse = toml_family.parse

    def note(text: str) -> Any:
        texts.append(text)
        return parse(text)

    monkeypatch.setattr(toml_family, "parse", note)
    return texts


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Commands with settings of their own, in an empty directory."""
    monkeypatch.setattr(documents, "SYSTEM_ENV_FILE", tmp_path / "no" / "answerd.env")
    return Shell(tmp_path, capsys, monkeypatch)
