"""The samples for systemd and logrotate."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from answerd.server import systemd
from answerd.server.sockets import BACKLOG

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
    assert socket["FileDescriptorName"] == systemd.ANSWERS
    assert int(socket["Backlog"]) == BACKLOG


STEPS = """\
python3 -m venv /opt/answerd
/opt/answerd/bin/pip install -c requirements.txt .
useradd --system --home-dir /nonexistent --shell /usr/sbin/nologin answerd
install -d -m 2750 -g answerd /srv/answers /etc/answerd /etc/answerd/secrets
install -m 0640 -g answerd etc/answerd.env /etc/answerd.env
install -m 0644 etc/answerd.service /etc/systemd/system/
systemctl daemon-reload && systemctl enable --now answerd
"""


def test_the_head_of_the_unit_has_the_steps_to_install_it_each_on_a_line() -> None:
    head = (ETC / "answerd.service").read_text("utf-8").partition("[Unit]")[0]
    assert "".join(re.findall(r"^#   (.+\n)", head, re.MULTILINE)) == STEPS


def test_no_two_addresses_of_the_sample_settings_are_equal() -> None:
    addresses = re.findall(r"^#SERVICE_\w+_ADDR=(\S+)$", (ETC / "answerd.env").read_text("utf-8"), re.MULTILINE)
    assert len(addresses) == 4
    assert sorted(set(addresses)) == sorted(addresses)
    assert addresses[-1] in (ETC.parent / "docs/metrics.md").read_text("utf-8")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_the_service_is_rated_as_well_confined() -> None:
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", ETC / "answerd.service"],
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"exposure level for answerd.service: (\d+\.\d+)", done.stdout)
    assert found, done.stderr
    assert float(found[1]) < HIGHEST_EXPOSURE


@pytest.mark.skipif(shutil.which("logrotate") is None, reason="there is no logrotate")
def test_logrotate_reads_its_sample(tmp_path: Path) -> None:
    copy = tmp_path / "answerd"
    copy.write_text((ETC / "answerd.logrotate").read_text("utf-8").replace("su answerd answerd", ""))
    copy.chmod(0o644)
    done = subprocess.run(
        [shutil.which("logrotate") or "", "--debug", copy], capture_output=True, text=True, check=False
    )
    assert "error" not in done.stderr.lower().replace("error: unknown user", "")
