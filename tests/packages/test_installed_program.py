"""The program of the installed Debian package: tests that see a program only from outside run against it.

Run by scripts/test-packages, as root, where debootstrap is. Rules: docs/packages.md#debian-and-ubuntu.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packages import CHECKOUT
from tests.packages.chroot import System, needs_chroot
from tests.support import service
from tests.support.waiting import BUILD_SECONDS

pytestmark = needs_chroot

SUITES = {
    "answers, admin API and installs": [
        "tests/http/test_answer_endpoint.py",
        "tests/http/test_malformed_requests.py",
        "tests/http/test_admin_api.py",
        "tests/http/test_installs.py",
        "tests/http/test_secrets.py",
    ],
    "signals, workers and the service manager": [
        "tests/http/test_running.py",
        "tests/http/test_shutdown.py",
        "tests/http/test_systemd.py",
        "tests/http/test_tls.py",
        "tests/http/test_workers.py",
    ],
    "durability and torture": [
        "tests/http/test_durability.py",
        "tests/load/torture/test_short_forms.py",
    ],
}
"""The files of tests, by what they show."""

LEFT_OUT = {
    "stalls_no_request": "slows the program down by a module in PYTHONPATH, which the installed program does not read",
    "stopped_while_it_still_loads": "the same",
    "while_the_documents_are_loaded": "the same",
    "while_workers_load": "the same",
    "imports_nothing": "the interpreter logs its imports for a variable, which the installed program does not read",
}
"""Tests of those files that cannot be, by a part of their names, and why."""


@pytest.mark.parametrize("suite", SUITES)
def test_the_installed_program_passes(suite: str, installed: System) -> None:
    command = shlex.join(installed.command("/usr/bin/answerd"))
    chosen = " and ".join(f"not {name}" for name in LEFT_OUT)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-q", "-rs", "-k", chosen, *SUITES[suite]],
        cwd=CHECKOUT,
        env=os.environ | {service.COMMAND: command},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=BUILD_SECONDS,
    )
    print(done.stdout[-3_000:])
    assert done.returncode == 0


def test_the_program_that_is_tested_runs_in_that_system(
    installed: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "PROGRAM", installed.command("/usr/bin/answerd"))
    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT))  # the installed program does not look there
    with service.Service(SERVICE_ANSWERS_DIR=tmp_path) as running:
        assert Path(f"/proc/{running.process.pid}/root").resolve() == installed.root
        opened = Path(f"/proc/{running.process.pid}/maps").read_text()
    assert "/usr/lib/answerd/" in opened
    assert str(CHECKOUT) not in opened
