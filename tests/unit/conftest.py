"""What several unit tests look at."""

from __future__ import annotations

from typing import Any

import pytest

from answerd.formats import toml as toml_family


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
