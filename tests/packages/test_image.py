"""The steps of etc/Dockerfile without a container engine: its first stage, in a directory, with its paths replaced.

Run by scripts/test-packages. Rules: docs/containers.md#an-image.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packages import CHECKOUT, copy_commit
from tests.support import service as running
from tests.support.containers import instructions, values
from tests.support.waiting import BUILD_SECONDS


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that holds what the image has in /opt/answerd, built from what the build context holds."""
    where = tmp_path_factory.mktemp("image")
    copy_commit(where / "context")
    work = where / "build"
    work.mkdir()
    stages = [number for number, (word, _) in enumerate(instructions()) if word == "FROM"]
    for word, rest in instructions()[stages[0] : stages[1]]:
        if word == "COPY":
            *names, target = rest.split()
            for name in names:
                source, copy = where / "context" / name, work / target / (name if target == "./" else "")
                shutil.copytree(source, copy) if source.is_dir() else shutil.copyfile(source, copy)
        elif word == "RUN":
            python = f'"{sys.executable}" -m venv'
            step = rest.replace("/opt/", f"{where}/").replace("/build/a", f"{work}/a")
            subprocess.run(
                ["sh", "-ec", step.replace("python -m venv", python)], cwd=work, check=True, timeout=BUILD_SECONDS
            )
    return where / "answerd"


def test_the_service_of_the_image_answers_and_is_healthy(image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "PROGRAM", [str(image / "bin" / "answerd")])
    monkeypatch.delenv("PYTHONPATH", raising=False)
    with running.Service(SERVICE_ANSWERS_DIR=CHECKOUT / "examples/answers") as service:
        assert service.get("/proxmox?mac=98-fa-9b-50-d8-10").status == 200
        (check,) = values("HEALTHCHECK")
        command = json.loads(check.partition(" CMD ")[2])
        assert service.address
        command[-1] = command[-1].replace(":8000/", f":{service.address[1]}/")
        environ = os.environ | {"PATH": f"{image / 'bin'}:{os.environ['PATH']}"}
        subprocess.run(command, env=environ, check=True, timeout=20)
