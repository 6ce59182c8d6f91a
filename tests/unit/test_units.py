"""The samples for systemd and logrotate."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from answerd.server import os_support
from answerd.server.sockets import BACKLOG
from tests.support.waiting import PROGRAM_SECONDS

ETC = Path(__file__).parents[2] / "etc"
HIGHEST_EXPOSURE = 1.5


def unit(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=False, interpolation=None, comment_prefixes="#")
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string((ETC / name).read_text("utf-8"))
    return parser


def test_the_service_tells_that_it_is_ready_and_lives() -> None:
    service = unit("answerd.service")["Service"]
    assert (service["Type"], service["NotifyAccess"], service["KillMode"]) == ("notify", "main", "mixed")
    assert int(service["WatchdogSec"]) >= 10
    assert "AF_UNIX" in service["RestrictAddressFamilies"]  # the manager's socket


def test_the_socket_is_the_answer_endpoints() -> None:
    socket = unit("answerd.socket")["Socket"]
    assert socket["FileDescriptorName"] == os_support.ANSWERS
    assert int(socket["Backlog"]) == BACKLOG


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed: apt install systemd"
)
def test_the_service_is_rated_as_well_confined() -> None:
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", ETC / "answerd.service"],
        capture_output=True,
        text=True,
        check=False,
        timeout=PROGRAM_SECONDS,
    )
    found = re.search(r"exposure level for answerd.service: (\d+\.\d+)", done.stdout)
    assert found, done.stderr
    assert float(found[1]) < HIGHEST_EXPOSURE


LOGROTATE = shutil.which("logrotate", path=f"{os.environ['PATH']}:/usr/sbin")


@pytest.mark.skipif(LOGROTATE is None, reason="logrotate is not installed: apt install logrotate")
def test_logrotate_rotates_by_its_sample(tmp_path: Path) -> None:
    assert LOGROTATE
    logs = tmp_path / "logs"
    logs.mkdir(0o750)
    (logs / "answerd.log").write_text("of last week\n")
    text = (ETC / "answerd.logrotate").read_text("utf-8").replace("/var/log/answerd/", f"{logs}/")
    text = re.sub(r"su answerd answerd\n|(?<=create 0640) answerd answerd", "", text)
    text, reloads = re.subn(r"^ *systemctl .* reload .*$", f"touch {tmp_path}/reloaded", text, flags=re.MULTILINE)
    copy = tmp_path / "answerd"
    copy.write_text(text)
    copy.chmod(0o644)
    subprocess.run([LOGROTATE, "--force", "--state", tmp_path / "state", copy], check=True, timeout=PROGRAM_SECONDS)
    assert (logs / "answerd.log.1").read_text() == "of last week\n"
    assert (logs / "answerd.log").stat().st_mode & 0o777 == 0o640
    assert reloads == 1
    assert (tmp_path / "reloaded").exists()
