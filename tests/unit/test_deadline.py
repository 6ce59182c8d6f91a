"""A test that hangs ends, its place is printed, and so does the run; no service of it is left."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import is_alive
from tests.support.waiting import PATIENCE, wait_until

CHECKOUT = Path(__file__).parents[2]

HEAD = """
import os, threading
import gevent, gevent.event
import pytest
from tests.support.service import Service
Service.forked = True
"""

WAITING = "def test_it():\n    hang_here = threading.Event().wait()\n"

IN_C = """
def test_it():
    while True:
        try:
            hang_here = os.read(os.pipe()[0], 1)
        except BaseException:
            pass
"""

IN_A_GREENLET = """
def test_it():
    other = gevent.spawn(gevent.sleep, 3_600)
    hang_here = gevent.event.Event().wait()
"""

IN_A_FIXTURE = """
@pytest.fixture
def made():
    yield
    hang_here = threading.Event().wait()

def test_it(made):
    assert False
"""

WITH_A_SERVICE = """
@pytest.fixture
def service():
    service = Service()
    open(os.path.dirname(__file__) + '/pid', 'w').write(str(service.process.pid))
    yield service

@pytest.mark.timeout(2, func_only=True)
def test_it(service):
    hang_here = threading.Event().wait()
"""


@pytest.mark.parametrize(
    ("hanging", "side_by_side"),
    [
        pytest.param(WAITING, True, id="for a lock, with pytest-xdist"),
        pytest.param(IN_C, False, id="in C, with every exception caught"),
        pytest.param(IN_A_GREENLET, False, id="in gevent's loop"),
        pytest.param(IN_A_FIXTURE, True, id="in a fixture after a failure, with pytest-xdist"),
        pytest.param(WITH_A_SERVICE, False, id="with a service that runs"),
    ],
)
def test_one_that_hangs_ends_and_its_place_is_printed(hanging: str, side_by_side: bool, tmp_path: Path) -> None:
    file = tmp_path / "test_hanging.py"
    file.write_text(HEAD + hanging)
    words = ["-m", "pytest", "-c", str(CHECKOUT / "pyproject.toml"), "-p", "tests.support.deadline", "--timeout=5"]
    done = subprocess.run(
        [
            sys.executable,
            *words,
            *(["-n2", "--dist=loadfile"] if side_by_side else []),
            "-p",
            "no:cacheprovider",
            str(file),
        ],
        cwd=CHECKOUT,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"::test_it did not end within \d seconds", done.stderr)
    assert "    hang_here = " in done.stderr, done.stderr
    if side_by_side:
        assert re.search(r"^FAILED \S*::test_it\b", done.stdout, re.MULTILINE)
    if hanging == WITH_A_SERVICE:
        pid = int((tmp_path / "pid").read_text())
        wait_until(lambda: not is_alive(pid))


def test_every_test_has_a_deadline(request: pytest.FixtureRequest) -> None:
    seconds = float(request.config.getini("timeout"))
    assert 2 * PATIENCE < seconds < 3_600  # so that what a test waits for is named first
    assert hasattr(request.node, "cancel_timeout")
