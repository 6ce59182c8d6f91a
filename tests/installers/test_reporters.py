"""What cloud-init, curtin and subiquity report by themselves, sent by their own code: what the record says then.

curtin and subiquity are in no package of Debian: INSTALLER_SOURCES names a directory with their checkouts, `curtin` and
`subiquity`. Rules: docs/install-once.md#reports.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.installers.conftest import SYSTEM_PATH, SYSTEM_PYTHON, Unpack, installer_source
from tests.support.installer_pages import DASHES, PAGES, documents
from tests.support.service import Service, run

pytestmark = pytest.mark.quick

CLOUD_INIT = """
import inspect, json, logging, sys, tempfile
import yaml
from cloudinit import helpers, reporting
from cloudinit.cloud import Cloud
from cloudinit.config import cc_phone_home
from cloudinit.reporting import events
from cloudinit.sources import DataSourceNoCloud
class Paths(helpers.Paths):
    pass
where = tempfile.mkdtemp()
source = DataSourceNoCloud.DataSourceNoCloudNet({}, None, Paths({"cloud_dir": where, "run_dir": where}))
source.metadata = {"instance-id": "iid-1", "local-hostname": "node1.example.org"}
config = yaml.safe_load(open(sys.argv[1]))
reporting.update_configuration(config["reporting"])
with events.ReportEventStack("modules-final", "running modules for final", reporting_enabled=True):
    with events.ReportEventStack("modules-final/config-x", "running config-x", reporting_enabled=True):
        pass
reporting.flush_events()
if sys.argv[2] == "home":
    cloud = Cloud(source, source.paths, config, None, None)
    given = {"name": "x", "cfg": config, "_cfg": config, "cloud": cloud, "log": logging.getLogger(), "args": []}
    wanted = inspect.signature(cc_phone_home.handle).parameters
    cc_phone_home.handle(**{name: given[name] for name in wanted})
"""

SUBIQUITY = """
import sys, types
from types import SimpleNamespace
import yaml
sources, document, way = sys.argv[1:]
package = types.ModuleType("subiquity.server.controllers")
package.__path__ = [sources + "/subiquity/subiquity/server/controllers"]  # its other modules need the whole installer
sys.modules["subiquity.server.controllers"] = package
from subiquity.server.controllers.reporting import ReportingController
from subiquitycore.context import Context, Status
app = SimpleNamespace(interactive=False, add_event_listener=lambda listener: None)
controller = object.__new__(ReportingController)
controller.app, controller.config = app, {}
controller.load_autoinstall_data(yaml.safe_load(open(document))["autoinstall"]["reporting"])
controller.start()
class Named:
    level = "INFO"
    def __init__(self, name):
        self.name = name
    def full_name(self):
        return self.name
install, shutdown = Named("subiquity/Install/install"), Named("subiquity/Shutdown/shutdown")
controller.report_start_event(Named("subiquity/Meta/status_GET"), "")
controller.report_start_event(install, "")
if way == "well":
    controller.report_finish_event(install, "", Status.SUCCESS)
    controller.report_info_event(Named("subiquity/Late/run"), "a line")
elif way == "done":
    controller.report_start_event(shutdown, "")
elif way == "failed":
    controller.report_finish_event(install, "Command failed", Status.FAIL)
else:
    controller.report_error_event(Named("subiquity/Error"), "the autoinstall is broken")
"""

CURTIN = """
import sys
import yaml
from curtin.reporter import events, update_configuration
update_configuration(yaml.safe_load(open(sys.argv[1]))["autoinstall"]["reporting"])
with events.ReportEventStack("subiquity/Install/install", "installing", reporting_enabled=True):
    with events.ReportEventStack("cmd-install", "curtin", reporting_enabled=True):
        pass
events.report_start_event("subiquity/Shutdown/shutdown", "", )
"""


class Lab:
    """The service with the document of one machine, which the machine has fetched."""

    def __init__(self, serving: Callable[..., Service], document: str, scratch: Path) -> None:
        self._settings: dict[str, Any] = {
            "SERVICE_STATE_PATH": scratch / "state.db",
            "SERVICE_ANSWERS_DIR": scratch / "answers",
        }
        self.service = serving({f"{DASHES}.yaml": document}, SERVICE_STATE_PATH=scratch / "state.db")
        assert self.service.address
        self.document = scratch / "user-data"
        self._ended = 0
        host = f"127.0.0.1:{self.service.address[1]}"
        request = f"GET /ubuntu/{DASHES}/user-data HTTP/1.1\r\nHost: {host}\r\n\r\n"
        self.document.write_bytes(self.service.send(request.encode()).body)

    def report(self, script: str, *arguments: str | Path, modules: list[Path]) -> list[int]:
        """Run a reporter of an installer. Return the statuses that it got."""
        done = subprocess.run(
            [SYSTEM_PYTHON, "-c", script, *map(str, arguments)],
            env={"PATH": SYSTEM_PATH, "PYTHONPATH": ":".join(map(str, modules)), "NO_PROXY": "*"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if missing := re.search(r"ModuleNotFoundError: .*", done.stderr):
            pytest.skip(f"the reporter needs more: {missing[0]}")
        assert done.returncode == 0, done.stderr
        self._ended += 1
        self.service.get(f"/ended/{self._ended}")
        self.service.wait_for_log(f"/ended/{self._ended} ")  # the lines of a worker come in the order of its answers
        lines = [line for line in self.service.log if " POST /report/" in line]
        return [int(line.partition(" body=")[2].split()[1]) for line in lines]

    @property
    def record(self) -> dict[str, Any]:
        """What the service remembers of the machine."""
        (record,) = json.loads(run("installs", "--json", **self._settings).stdout)["installs"]
        assert isinstance(record, dict)
        return record


@pytest.fixture
def ubuntu(serving: Callable[..., Service], tmp_path: Path) -> Lab:
    """The document of subiquity's page."""
    page = documents(PAGES["subiquity"])[f"{DASHES}.yaml"]
    return Lab(serving, page.replace("#cloud-config\n", "#cloud-config\nonce: true\n"), tmp_path)


@pytest.mark.parametrize("release", [12, 13])
def test_cloud_inits_events_are_news_and_phone_home_is_the_end(
    release: int, unpacked: Unpack, serving: Callable[..., Service], tmp_path: Path
) -> None:
    modules = [unpacked("cloud-init", release=release) / "usr/lib/python3/dist-packages"]
    page = yaml.safe_load(documents(PAGES["cloud-init"])[f"{DASHES}.yaml"])
    page |= {"once": True, "reporting": {"answerd": {"type": "webhook", "endpoint": "{{ report }}"}}}
    lab = Lab(serving, f"#cloud-config\n{yaml.safe_dump(page)}", tmp_path)
    statuses = lab.report(CLOUD_INIT, lab.document, "events", modules=modules)
    assert statuses == [200] * 4
    assert (lab.record["state"], lab.record["starts"]) == ("installing", 1)
    statuses = lab.report(CLOUD_INIT, lab.document, "home", modules=modules)
    assert statuses == [200] * 9
    assert (lab.record["state"], lab.record["message"]) == ("installed", "phone_home of node1")


@pytest.mark.parametrize(
    ("way", "state", "posts"),
    [("well", "installing", 4), ("done", "installed", 3), ("failed", "failed", 3), ("broken", "failed", 3)],
)
def test_subiquitys_reporter(way: str, state: str, posts: int, ubuntu: Lab) -> None:
    sources = installer_source("subiquity").parent
    modules = [installer_source("curtin"), sources / "subiquity"]
    assert ubuntu.report(SUBIQUITY, sources, ubuntu.document, way, modules=modules) == [200] * posts
    assert ubuntu.record["state"] == state


def test_curtins_reporter(ubuntu: Lab) -> None:
    assert ubuntu.report(CURTIN, ubuntu.document, modules=[installer_source("curtin")]) == [200] * 5
    assert ubuntu.record["state"] == "installed"
