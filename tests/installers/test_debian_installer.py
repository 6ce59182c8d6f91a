"""debian-installer of Debian 12 and 13 in QEMU: its preseed by MAC address, and both report lines of its page.

Rules: docs/installers/debian-installer.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.installers.conftest import Unpack
from tests.installers.machines import INSTALLER_SECONDS, Machine, user_network
from tests.support.service import Service, run
from tests.unit.test_installer_pages import DASHES, MAC, PAGES, documents

DOCUMENT = documents(PAGES["debian-installer"])[f"{DASHES}.preseed"]

MEMORY = "1024"
"""Megabytes. With less the installer shows a dialog that waits."""

LATE = "/usr/lib/finish-install.d/07preseed"
"""The installer's own script that runs `preseed/late_command`: here without an installation before it."""

_REPORTED = "--post-data= {{ report }}/progress || true"


def to_the_end(preseed: str, then: str) -> str:
    """A preseed whose early command, when it has reported, goes on to the late one and ends the installer."""
    assert preseed.count(_REPORTED) == 1
    mark = 'echo "MARK host=$(debconf-get netcfg/get_hostname)" >/dev/console'
    return preseed.replace(_REPORTED, f"{_REPORTED}; {mark}; sh {LATE}; sync; {then}")


def console_of(text: str) -> str:
    """A document for iPXE whose kernel talks to the serial port."""
    assert text.count(" auto=true ") == 1
    return text.replace(" auto=true ", " console=ttyS0 auto=true ")


@pytest.mark.parametrize("release", [12, 13])
def test_it_takes_its_preseed_and_reports_progress_and_the_end(
    release: int, unpacked: Unpack, serving: Callable[..., Service], tmp_path: Path
) -> None:
    tree = unpacked(f"debian-installer-{release}-netboot-amd64", release=release)
    images = tree / f"usr/lib/debian-installer/images/{release}/amd64/text/debian-installer/amd64"
    state = tmp_path / "state.db"
    document = "# answer: once\n" + to_the_end(DOCUMENT, then="poweroff -f")
    service = serving({f"{DASHES}.preseed": document}, SERVICE_STATE_PATH=state)
    assert service.address
    url = f"http://10.0.2.2:{service.address[1]}/debian/preseed?mac={MAC}"
    kernel = ["-m", MEMORY, "-no-reboot", "-kernel", f"{images}/linux", "-initrd", f"{images}/initrd.gz"]
    words = ["-append", f"console=ttyS0 auto=true priority=critical url={url} ---"]
    with Machine(tmp_path, *kernel, *words, *user_network(MAC, rom="", first=False)) as machine:
        said = machine.wait_for_end(INSTALLER_SECONDS)
    assert "MARK host=node1" in said
    asked = [found for line in service.log if (found := re.search(r" (GET|POST) (\S+) body=\d+ (\d+) ", line))]
    steps = [
        (method, target.partition("?")[0].rpartition("/")[2], status)
        for method, target, status in map(re.Match.groups, asked)
    ]
    assert steps == [("GET", "preseed", "200"), ("POST", "progress", "200"), ("POST", "installed", "200")]
    printed = run("installs", "--json", SERVICE_STATE_PATH=state, SERVICE_ANSWERS_DIR=tmp_path / "answers")
    (record,) = json.loads(printed.stdout)["installs"]
    assert (record["state"], record["starts"]) == ("installed", 1)
