"""An older program writes, this one goes on: no document, history, state of an install or report's URL is lost.

The older program is that of a commit, taken out of git; it runs as a service and is asked by machines, reports and the
admin API. Then this program, and that of the installed Debian package, run on what it left. ANSWERD_UPGRADE_FROM names
another commit. Run by scripts/test-packages. Rules: docs/packages.md#upgrades.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from tests.packages import CHECKOUT
from tests.packages.chroot import needs_chroot
from tests.support import service as running
from tests.support.replies import exchange, request_bytes
from tests.support.service import Service, environment, write_tree

FROM = {"states of installs as rows": "dc3e2f981f8a0f7ec4539cb827a514d4a1fb0981"}
"""The commit whose data must survive: the last of the first schema that is brought up to date."""

IN_PLACE = [sys.executable, "-P", "-m", "answerd"]
"""The program of PYTHONPATH, wherever this is run: -P leaves the working directory out of the search."""

URL = "http://answers.example.org:8000"
TOKEN = "a-token-of-the-upgrade-0123456789"
MACHINES = 40
REPORTS = ("installed", "failed?reason=disk", "copied", "progress?message=half&percent=50")


@dataclass
class Program:
    """A program of some age, and the settings that it is run with."""

    command: list[str]
    settings: dict[str, object]

    def run(self, *arguments: str) -> Any:
        """Run a command. Return what it prints, read where it is JSON."""
        done = subprocess.run(
            [*self.command, *arguments], env=environment(**self.settings), capture_output=True, check=False, cwd="/tmp"
        )
        assert done.returncode == 0, (arguments, done.stderr.decode())
        return json.loads(done.stdout) if "--json" in arguments else done.stdout

    def serve(self, monkeypatch: pytest.MonkeyPatch) -> Service:
        """Start the service."""
        monkeypatch.setattr(running, "PROGRAM", self.command)
        return Service(SERVICE_LOG="problems", **self.settings)


@dataclass
class Left:
    """What an older program left: what it answered and printed, and the URLs that it gave out."""

    answers: dict[str, str] = field(default_factory=dict)
    urls: list[str] = field(default_factory=list)
    installs: list[dict[str, Any]] = field(default_factory=list)
    events: dict[str, dict[str, Any]] = field(default_factory=dict)
    unknown: list[dict[str, Any]] = field(default_factory=list)
    documents: dict[str, bytes] = field(default_factory=dict)


def older_tree(commit: str, where: Path) -> Path:
    """Take the program of a commit out of git. Skips the test where git does not have it."""
    wanted = ["git", "-C", str(CHECKOUT), "archive", commit, "answerd", "examples/answers"]
    done = subprocess.run(wanted, capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"git does not have {commit}: a clone with its history is needed")
    with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        archive.extractall(where, filter="data")
    return where


def written(tree: Path, answers: Path, has_states: bool) -> None:
    """Write the documents: examples, machines with other line ends, a group that gives ``once``, a table."""
    examples = {
        str(path.relative_to(tree / "examples/answers")): path.read_bytes()
        for path in (tree / "examples/answers").rglob("*")
        if path.is_file() and path.suffix != ".md"
    }
    machines = {f"52-54-00-aa-00-{n:02x}.ks": f"# {n}\r\nlang C  \n\tumläut\n" for n in range(MACHINES)}
    streams = {f"52-54-00-aa-00-{n:02x}.yaml": f"#cloud-config\nmode: 0{n % 8}44\n" for n in range(MACHINES)}
    rows = "".join(f"n{n:03},52:54:01:00:00:{n:02x},db\n" for n in range(MACHINES))
    states = {
        "groups/once.cfg": "# answer: match path=cfg/*\n# answer: once\nreport {{ report }}\n",
        "inventory.csv": "id,mac,role\n" + rows,
    }
    write_tree(answers, {**examples, **machines, **streams, **(states if has_states else {})})


def exported(program: Program, where: Path) -> dict[str, bytes]:
    program.run("export", str(where))
    return {str(path.relative_to(where)): path.read_bytes() for path in where.rglob("*") if path.is_file()}


def admin(service: Service, method: str, target: str, body: bytes = b"") -> int:
    assert service.admin
    headers = {"Authorization": f"Bearer {TOKEN}"}
    return exchange(service.admin, request_bytes(method, target, headers, body)).status


def used(program: Program, has_states: bool, in_database: bool, where: Path, monkeypatch: pytest.MonkeyPatch) -> Left:
    """Have the older program asked, told and changed; return what it says of it at its end."""
    left = Left()
    asked = [f"/ks?mac=52-54-00-aa-00-{n:02x}" for n in range(0, MACHINES, 7)]
    with program.serve(monkeypatch) as service:
        for number in range(3) if in_database else ():
            changed = f"changed {number}\n".encode()
            assert admin(service, "PUT", "/machines/52-54-00-aa-00-00?format=ks", changed) in (200, 201, 204)
        for path in [*asked, "/proxmox?mac=98-fa-9b-50-d8-10"]:
            left.answers[path] = service.get(path).text
        for number in range(MACHINES) if has_states else ():
            told = service.get(f"/cfg/x?mac=52:54:01:00:00:{number:02x}").text
            (url,) = re.findall(rf"report {URL}(\S+)", told)
            left.urls.append(url)
        for number, url in enumerate(left.urls[: MACHINES // 2]):
            service.send(request_bytes("POST", f"{url}/{REPORTS[number % len(REPORTS)]}", {}, b"log"))
        if has_states:
            service.get("/cfg/zz?mac=52:54:ff:00:00:01&serial=UNKNOWN1")
            time.sleep(1.5)  # what is noted without a report is written once a second
    if in_database:
        left.documents = exported(program, where / "exported-before")
    if has_states:
        left.installs = program.run("installs", "--json")["installs"]
        left.unknown = program.run("installs", "--unknown", "--json")["unknown"]
        left.events = {one["machine"]: program.run("install", one["machine"], "--json") for one in left.installs[::6]}
    return left


def known_of(now: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """What an object has of the keys that it had before; whether it is silent follows from the time of today."""
    return {key: now.get(key) for key in before if key != "silent"}


def judge(program: Program, left: Left, where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the newer program on what the older one left."""
    with program.serve(monkeypatch) as service:
        assert {path: service.get(path).text for path in left.answers} == left.answers
        if left.urls:
            now = program.run("installs", "--json")["installs"]
            assert [known_of(one, old) for one, old in zip(now, left.installs, strict=True)] == [
                known_of(old, old) for old in left.installs
            ]
            events = {machine: program.run("install", machine, "--json") for machine in left.events}
            for machine, old in left.events.items():
                assert known_of(events[machine], old) == known_of(old, old)
            assert [
                known_of(one, old)
                for one, old in zip(
                    program.run("installs", "--unknown", "--json")["unknown"], left.unknown, strict=True
                )
            ] == left.unknown
            reported = service.send(request_bytes("POST", f"{left.urls[-1]}/installed", {}, b""))
            assert reported.status == 200
            machine = f"n{MACHINES - 1:03}"
            assert program.run("install", machine, "--json")["state"] == "installed"
            assert "installed" in service.get(f"/cfg/x?mac=52:54:01:00:00:{MACHINES - 1:02x}").text
    if left.documents:
        assert exported(program, where / "exported-after") == left.documents
        history = program.run("history", "--json", "--limit", "10000")
        changes = history["history"] if isinstance(history, dict) else history
        assert len(changes) == len(left.documents) + 3


def upgraded(commit: str, store: str, new: list[str], where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the older program, then the newer one on the same data."""
    tree = older_tree(commit, where / "older")
    has_states = (tree / "answerd/store/installs.py").exists()
    written(tree, where / "answers", has_states)
    settings: dict[str, object] = {"SERVICE_STORE": store, "PYTHONPATH": tree}
    if store == "sqlite":
        settings |= {"SERVICE_DB_PATH": where / "a.db", "SERVICE_ADMIN_ADDR": "127.0.0.1:0"}
        settings |= {"SERVICE_ADMIN_TOKEN": TOKEN}
    else:
        settings |= {"SERVICE_ANSWERS_DIR": where / "answers"}
    if has_states:
        settings |= {"SERVICE_URL": URL} | ({"SERVICE_STATE_PATH": where / "s.db"} if store == "files" else {})
    old = Program(IN_PLACE, settings)
    found = [sys.executable, "-P", "-c", "import answerd; print(answerd.__file__)"]
    where_from = subprocess.run(found, env=environment(PYTHONPATH=tree), capture_output=True, text=True, check=True)
    assert Path(where_from.stdout.strip()).is_relative_to(tree)
    if store == "sqlite":
        old.run("import", str(where / "answers"))
    left = used(old, has_states, store == "sqlite", where, monkeypatch)
    assert not has_states or {one["state"] for one in left.installs} >= {"installing", "installed", "failed", "copied"}
    judge(Program(new, settings | {"PYTHONPATH": CHECKOUT}), left, where, monkeypatch)


COMMITS = {"as given": os.environ["ANSWERD_UPGRADE_FROM"]} if "ANSWERD_UPGRADE_FROM" in os.environ else FROM


@pytest.mark.parametrize("store", ["files", "sqlite"])
@pytest.mark.parametrize("commit", COMMITS.values(), ids=COMMITS)
def test_an_upgrade_keeps_every_document_and_state(
    commit: str, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upgraded(commit, store, IN_PLACE, tmp_path, monkeypatch)


@needs_chroot
@pytest.mark.parametrize("store", ["files", "sqlite"])
@pytest.mark.parametrize("commit", COMMITS.values(), ids=COMMITS)
def test_an_upgrade_to_the_debian_package_keeps_them_too(
    commit: str, store: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = request.getfixturevalue("installed").command("/usr/bin/answerd")
    upgraded(commit, store, new, tmp_path, monkeypatch)
