"""The virtual environment of a checkout is made anew also where it is active (scripts/environment)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.pages import CHECKOUT
from tests.support.waiting import PROGRAM_SECONDS

pytestmark = pytest.mark.long


def test_an_environment_that_is_active_is_made_anew(tmp_path: Path) -> None:
    made = tmp_path / "made"
    script = (
        f'source "{CHECKOUT}/scripts/environment"; environment={made}; make_environment; touch {made}/before; '
        f"PATH={made}/bin:$PATH; hash -r; make_environment; python -c 'import sys; print(sys.prefix)'"
    )
    ran = subprocess.run(["bash", "-euc", script], check=True, stdout=subprocess.PIPE, timeout=PROGRAM_SECONDS)
    assert ran.stdout.decode().split() == [str(made)]
    assert not (made / "before").exists()
