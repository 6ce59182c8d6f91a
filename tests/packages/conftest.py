"""The packages of this checkout, built once for all tests of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from release import wheel


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the source archive and the wheel."""
    target = tmp_path_factory.mktemp("dist")
    wheel.build(target)
    return target
