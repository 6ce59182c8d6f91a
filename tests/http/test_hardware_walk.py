"""A machine is its hardware, with the real program: short walks of `tests.support.hardware_world`; long ones are the
part `hardware` of scripts/torture."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hardware_service import RealProgram
from tests.support.hardware_world import violation, walk

LENGTH = 50


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("kind", ["files", "sqlite"])
def test_a_walk_with_the_real_program(kind: str, workers: int, tmp_path: Path) -> None:
    with RealProgram(tmp_path, kind, workers) as site:
        found = violation(site, walk(workers, LENGTH))
    assert found is None, str(found)
