"""debian-installer of Debian 12 and 13 in QEMU: its preseed by MAC address, and both report lines of its page.

Rules: docs/installers/debian-installer.md.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.installers.conftest import Unpack
from tests.installers.machines import INSTALLER_SECONDS, MEMORY, Machine, user_network
from tests.installers.tiny_mirrors import ACCEPTED, SAYS, tiny_mirror
from tests.support.installer_pages import DASHES, MAC, PAGES, documents
from tests.support.service import Service, run

DOCUMENT = documents(PAGES["debian-installer"])[f"{DASHES}.preseed"]


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """A web server for the mirror; its host and port as a machine in QEMU's own network sees them."""
    files = tmp_path / "web"
    files.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=files)) as server:
        serving_files = threading.Thread(target=server.serve_forever)
        serving_files.start()
        yield f"10.0.2.2:{server.server_port}"
        server.shutdown()
        serving_files.join()


@pytest.mark.parametrize("release", [12, 13])
def test_it_takes_its_preseed_and_reports_progress_and_the_end(
    release: int, unpacked: Unpack, web: str, serving: Callable[..., Service], tmp_path: Path
) -> None:
    """The installer runs `late_command` itself, by `finish-install`, and begins the machine again."""
    tree = unpacked(f"debian-installer-{release}-netboot-amd64", release=release)
    images = tree / f"usr/lib/debian-installer/images/{release}/amd64/text/debian-installer/amd64"
    state = tmp_path / "state.db"
    tiny_mirror(tmp_path / "web", release, tmp_path)
    document = "# answer: once\n" + DOCUMENT.replace("mirror.example.org", web) + ACCEPTED
    service = serving({f"{DASHES}.preseed": document}, SERVICE_STATE_PATH=state)
    assert service.address
    url = f"http://10.0.2.2:{service.address[1]}/debian/preseed?mac={MAC}"
    kernel = ["-m", MEMORY, "-no-reboot", "-kernel", f"{images}/linux", "-initrd", f"{images}/initrd.gz"]
    words = ["-append", f"console=ttyS0 auto=true priority=critical url={url} ---"]
    with Machine(tmp_path, *kernel, *words, *user_network(MAC, rom="", first=False)) as machine:
        said = machine.wait_for_end(INSTALLER_SECONDS)
    assert f"{SAYS}node1" in said
    asked = [found for line in service.log if (found := re.search(r" (GET|POST) (\S+) body=\d+ (\d+) ", line))]
    steps = [
        (method, target.partition("?")[0].rpartition("/")[2], status)
        for method, target, status in map(re.Match.groups, asked)
    ]
    assert steps == [("GET", "preseed", "200"), ("POST", "progress", "200"), ("POST", "installed", "200")]
    printed = run("installs", "--json", SERVICE_STATE_PATH=state, SERVICE_ANSWERS_DIR=tmp_path / "answers")
    (record,) = json.loads(printed.stdout)["installs"]
    assert (record["state"], record["starts"]) == ("installed", 1)
