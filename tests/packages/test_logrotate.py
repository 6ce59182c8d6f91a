"""A log file that logrotate rotates by the sample, while requests are answered: each request has its line in one file.

Run by scripts/test-packages where logrotate is. Rules: docs/running.md#systemd.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.packages import CHECKOUT
from tests.support.known_port import OnAKnownPort
from tests.support.service import write_tree
from tests.support.waiting import BUILD_SECONDS, wait_until

LOGROTATE = shutil.which("logrotate", path=f"{os.environ['PATH']}:/usr/sbin")
ROTATIONS = 4
BETWEEN = 100
"""Requests between two rotations, at least."""


def lines_of(folder: Path) -> list[str]:
    """The lines of all log files of a directory."""
    texts = [
        gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for path in sorted(folder.glob("answerd.log*"))
    ]
    return b"".join(texts).decode().splitlines()


@pytest.mark.skipif(LOGROTATE is None, reason="logrotate is not installed")
@pytest.mark.parametrize("workers", [1, 2])
def test_no_line_is_lost_by_a_rotation_under_load(workers: int, tmp_path: Path) -> None:
    assert LOGROTATE
    logs = tmp_path / "logs"
    logs.mkdir(0o750)
    write_tree(tmp_path / "answers", {"default.cfg": "x\n"})
    answered: list[str] = []
    ended = threading.Event()
    settings: dict[str, Any] = {"SERVICE_ANSWERS_DIR": tmp_path / "answers", "SERVICE_LOG_FILE": logs / "answerd.log"}
    with OnAKnownPort(SERVICE_WORKERS=workers, **settings) as service:
        text = (CHECKOUT / "etc/answerd.logrotate").read_text("utf-8").replace("/var/log/answerd/", f"{logs}/")
        text = re.sub(r"su answerd answerd\n|(?<=create 0640) answerd answerd", "", text)
        text, reloads = re.subn(r"^ *systemctl .* reload .*$", f"kill -HUP {service.process.pid}", text, flags=re.M)
        assert reloads == 1
        sample = tmp_path / "answerd"
        sample.write_text(text)
        sample.chmod(0o644)

        def ask(client: int) -> None:
            while not ended.is_set():
                name = f"n={client}-{len(answered)}"
                if service.get(f"/cfg?{name}").status == 200:
                    answered.append(name)

        clients = [threading.Thread(target=ask, args=(number,)) for number in range(3)]
        for client in clients:
            client.start()
        try:
            for _ in range(ROTATIONS):
                wanted = len(answered) + BETWEEN
                wait_until(lambda wanted=wanted: len(answered) >= wanted)  # type: ignore[misc]
                subprocess.run(
                    [LOGROTATE, "--force", "--state", tmp_path / "state", sample], check=True, timeout=BUILD_SECONDS
                )
        finally:
            ended.set()
            for client in clients:
                client.join(30)
    logged = [found[1] for line in lines_of(logs) if (found := re.search(r"/cfg\?(n=\S+) ", line))]
    assert len(list(logs.glob("answerd.log.*"))) == ROTATIONS
    assert sorted(logged) == sorted(answered)
