"""The report lines of the pages, run by the programs that run them on the machine: what the record says then.

Not here: the lines of debian-installer, which its own test runs, and of iPXE, which test_ipxe runs.
Rules: docs/installers/index.md#what-holds-for-all-reports.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.installers.conftest import SYSTEM_PATH, program
from tests.support.installer_pages import DASHES, MAC, PAGES, documents
from tests.support.service import Service, run

pytestmark = pytest.mark.quick

Lines = Callable[[str, Path], list[str]]
"""Takes what was served and a scratch directory; returns a command."""


@dataclass(frozen=True)
class Case:
    """Where a page's report line is, and the state after it. ``command`` takes it from what was served."""

    target: str
    command: Lines
    state: str
    message: str | None = None
    needs: str = "curl"


def section(name: str) -> Lines:
    """A section of a kickstart, as Anaconda writes it to a file and runs it."""

    def command(served: str, scratch: Path) -> list[str]:
        (scratch / "anaconda.log").write_text("the disk is too small\n")
        script = scratch / "script"
        found = re.search(rf"^{name}.*?\n(.*?)^%end", served, re.MULTILINE | re.DOTALL)
        assert found
        script.write_text(found[1].replace("/tmp/anaconda.log", str(scratch / "anaconda.log")))
        return ["sh", "-e", str(script)]

    return command


def source_of(name: str) -> Lines:
    """A script of an AutoYaST profile, by its file name."""

    def command(served: str, scratch: Path) -> list[str]:
        for element in ElementTree.fromstring(served).iter("{http://www.suse.com/1.0/yast2ns}script"):
            parts = {part.tag.rpartition("}")[2]: part.text or "" for part in element}
            if parts["filename"] == name:
                return ["sh", "-e", "-c", parts["source"]]
        raise AssertionError(name)

    return command


def post_script(served: str, scratch: Path) -> list[str]:
    """Agama's script, which it makes executable and runs."""
    script = scratch / "installed.sh"
    script.write_text(json.loads(served)["scripts"]["post"][0]["content"])
    script.chmod(0o755)
    return [str(script)]


def unit(served: str, scratch: Path) -> list[str]:
    """The unit's command, as systemd reads it: words, and no shell."""
    contents = json.loads(served)["systemd"]["units"][0]["contents"]
    (line,) = re.findall(r"^ExecStart=(.*)$", contents, re.MULTILINE)
    return shlex.split(line)


def windows_command(word: str) -> Lines:
    """A command of an answer file, without a shell too."""

    def command(served: str, scratch: Path) -> list[str]:
        (line,) = [
            element.text or ""
            for element in ElementTree.fromstring(served).iter()
            if f"/{word}" in (element.text or "")
        ]
        return shlex.split(line.replace("curl.exe", "curl"))

    return command


def stage(argument: str) -> Lines:
    """XenServer's script, with what the installer gives it."""

    def command(served: str, scratch: Path) -> list[str]:
        script = scratch / "complete"
        script.write_text(served)
        script.chmod(0o755)
        return [str(script), argument]

    return command


def site(served: str, scratch: Path) -> list[str]:
    """OpenBSD's script, with NetBSD's ftp, from which OpenBSD's comes."""
    return ["sh", "-e", "-c", served.replace("ftp ", "tnftp ")]


CASES = {
    "anaconda %pre": Case("/ks", section("%pre"), "installing", "started"),
    "anaconda %post": Case("/ks", section("%post"), "installed"),
    "anaconda %onerror": Case("/ks", section("%onerror"), "failed", "the disk is too small"),
    "autoyast chroot-scripts": Case(f"/autoyast?mac={MAC}", source_of("copied.sh"), "copied"),
    "autoyast init-scripts": Case(f"/autoyast?mac={MAC}", source_of("installed.sh"), "installed"),
    "agama post": Case(f"/json/agama?mac={MAC}", post_script, "installed"),
    "ignition unit": Case(f"/ignition?mac={MAC}", unit, "installed"),
    "windows specialize": Case(f"/windows/unattend.xml?mac={MAC}", windows_command("copied"), "copied"),
    "windows log-on": Case(f"/windows/unattend.xml?mac={MAC}", windows_command("installed"), "installed"),
    "xenserver 0": Case(f"/cfg/complete?mac={MAC}", stage("0"), "installed"),
    "xenserver 1": Case(f"/cfg/complete?mac={MAC}", stage("1"), "failed"),
    "openbsd site": Case(f"/cfg/site?mac={MAC}", site, "installed", needs="tnftp"),
}


def record(state: Path, answers: Path) -> dict[str, Any]:
    """What the service remembers of the machine."""
    (found,) = json.loads(run("installs", "--json", SERVICE_STATE_PATH=state, SERVICE_ANSWERS_DIR=answers).stdout)[
        "installs"
    ]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_line_reports_what_the_page_says(name: str, serving: Callable[..., Service], tmp_path: Path) -> None:
    case = CASES[name]
    program(case.needs, case.needs)
    state = tmp_path / "state.db"
    service = serving(documents(PAGES[name.split(maxsplit=1)[0]]), SERVICE_STATE_PATH=state)
    assert service.address
    host = f"127.0.0.1:{service.address[1]}"
    loader = f"GET /ipxe?mac={MAC} HTTP/1.1\r\nHost: {host}\r\n\r\n"
    service.send(loader.encode())  # a machine begins there, if its page has a script
    asked = f"GET {case.target} HTTP/1.1\r\nHost: {host}\r\nX-RHN-Provisioning-MAC-0: eno0 {MAC}\r\n\r\n"
    reply = service.send(asked.encode())
    assert reply.status == 200, reply.text
    assert f"http://{host}/report/" in reply.text
    command = case.command(reply.text, tmp_path)
    done = subprocess.run(
        command, env={"PATH": SYSTEM_PATH}, capture_output=True, timeout=60, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    service.wait_for_log(r" /report/\S+ .* 200 reported ")
    found = record(state, tmp_path / "answers")
    assert (found["machine"].replace(":", "-"), found["state"]) == (DASHES, case.state)
    assert case.message is None or found["message"] == case.message
