"""scripts/serve in a fresh clone: it installs, and answers what it prints."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

from tests.packages import copy_commit
from tests.support.processes import killed_at_last
from tests.support.waiting import PATIENCE

MOST_SECONDS_AFTER_PIP = 10.0
"""3 on an idle machine."""


def test_a_fresh_clone_listens_soon_after_pip_has_ended(tmp_path: Path) -> None:
    copy_commit(tmp_path / "clone")
    of_caller = ("SERVICE_", "PYTHON", "ANSWERD_")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(of_caller)}
    with killed_at_last(
        subprocess.Popen(
            [tmp_path / "clone/scripts/serve"],
            env=environ | {"SERVICE_LISTEN_ADDR": "127.0.0.1:0"},
            stderr=subprocess.PIPE,
            text=True,
        )
    ) as service:
        assert service.stderr
        listening = next((line for line in service.stderr if " listening on " in line), "")
        after_pip = time.time() - (tmp_path / "clone/.venv/.installed").stat().st_mtime
        assert re.search(r"listening on 127\.0\.0\.1:\d+, store=files:.*/examples/answers ", listening)
        assert after_pip < MOST_SECONDS_AFTER_PIP
        service.terminate()
        service.wait(PATIENCE)
