"""Stories of installs with the real program and its commands, in every store."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tests.support.replies import Reply
from tests.support.service import Service, run
from tests.support.stores import STORES, stored
from tests.support.waiting import wait_until

DOCUMENTS = {
    "groups/rack.ipxe": "#!ipxe\n# answer: match rack=*\n# answer: once\nkernel {{ report }}\n",
    "groups/canary.toml": '[match]\nid = "canary"\n[answer]\nrack = "{{ rack }}"\n',
}
A, B, C = "98:fa:9b:00:00:0a", "98:fa:9b:00:00:0b", "98:fa:9b:00:00:0c"


class Site:
    """A service, its table, and the commands of its operator."""

    def __init__(self, store: str, directory: Path, *rows: str, files: Mapping[str, str]) -> None:
        self.store, self.answers, self.tables = store, directory / "answers", 0
        documents = {**DOCUMENTS, "inventory.csv": self._table(rows), **files}
        self.settings: dict[str, Any] = stored(store, directory, documents)
        self.service = self._started()

    def _started(self) -> Service:
        return Service(**self.settings, SERVICE_LOG="off", SERVICE_LISTEN_ADDR="127.0.0.1:0")

    def _table(self, rows: tuple[str, ...]) -> str:
        self.tables += 1
        return "\n".join(["id,mac,serial,rack", *[f"{row},R1" for row in rows], f"canary,,,R{self.tables}", ""])

    def table(self, *rows: str) -> None:
        """Put a table in force."""
        (self.answers / "inventory.csv").write_text(self._table(rows))
        if self.store != "files":
            assert self("apply", str(self.answers))[0] == 0
        wait_until(lambda: f"R{self.tables}" in self.service.get("/toml?id=canary").text)

    def restart(self) -> None:
        """End the program in order, and start it again."""
        assert self.service.stop() == 0
        self.service = self._started()

    def ask(self, query: str, path: str = "/ipxe") -> Reply:
        """What a machine gets."""
        return self.service.get(f"{path}?{query}")

    def given(self, query: str, path: str = "/ipxe") -> str:
        """The path of the URL by which a machine reports that is given what it asks for; empty where it is refused."""
        found = re.search(r"/report/[\w.-]+", self.ask(query, path).text)
        return found[0] if found is not None else ""

    def report(self, url: str, word: str = "installed", body: bytes = b"") -> None:
        """A machine reports."""
        assert url
        assert self.service.post(f"{url}/{word}", body).status == 200

    def __call__(self, *arguments: str) -> tuple[int, str]:
        """The exit status of a command, and what it prints."""
        done = run(*arguments, **self.settings)
        return done.returncode, done.stdout.decode()

    def states(self) -> dict[str, str]:
        """The states of machines by their names, as the command lists them. In PostgreSQL it reads the database, which
        hears of what the service gave and what machines reported a moment later."""
        found = json.loads(self("installs", "--json")[1])["installs"]
        states = {one["machine"]: one["state"] for one in found}
        assert len(states) == len(found), "a machine is listed twice"
        return states


@pytest.fixture(params=STORES)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """Starts a site with some rows, on each store in turn."""
    started: list[Site] = []

    def start(*rows: str, files: Mapping[str, str] = MappingProxyType({})) -> Site:
        started.append(Site(request.param, tmp_path, *rows, files=files))
        return started[-1]

    yield start
    for one in started:
        one.service.__exit__(None, None, None)


def test_a_former_name_refuses_also_after_a_restart_where_its_events_became_a_summary(
    site: Callable[..., Site],
) -> None:
    at = site(f"web-01,{A},")
    at.report(at.given(f"mac={A}"))
    at.table(f"old-01,{A},")
    assert at("arm", "old-01")[0] == 0
    wait_until(lambda: at.given(f"mac={A}"))
    url = at.given(f"mac={A}")
    for number in range(120):
        at.report(url, "progress", f"message={number}{'+copying' * 60}".encode())
    at.report(url)
    at.table(f"web-01,{C},")
    for is_restarted in (False, True):
        if is_restarted:
            at.restart()
        assert "web-01 was installed" in at.ask(f"mac={C}").text
        wait_until(lambda: "web-01 will be refused: it was installed on MAC address" in at("check")[1])


def test_an_order_to_the_name_of_a_document_is_used_up_by_the_machine_that_it_let_in(site: Callable[..., Site]) -> None:
    at = site(files={"web-01.ks": "# answer: once\n{{ report }}\n"})
    for _ in range(2):
        assert at("arm", "web-01")[0] == 0
        assert at.states() == {"web-01": "armed"}
        wait_until(lambda: at.given(f"host=web-01&mac={A}", "/ks"))
        wait_until(lambda: at.states() == {"web-01": "installing"})
        at.report(at.given(f"host=web-01&mac={A}", "/ks"))
        assert at("wait", "web-01", "--timeout", "2")[0] == 0
        assert at.states() == {"web-01": "installed"}
    for order, state in (("disarm", "installed"), ("arm", "armed")):
        assert at(order, "--state", "installed")[0] == 0
        assert at.states() == {"web-01": state}
    wait_until(lambda: at.given(f"host=web-01&mac={A}", "/ks"))


def test_a_row_that_loses_the_address_that_it_was_installed_with_keeps_its_history(site: Callable[..., Site]) -> None:
    at = site(f"web-02,{B},", f"web-03,{C},")

    def history(name: str) -> list[str]:
        return [one["event"] for one in json.loads(at("install", name, "--json")[1])["events"]]

    at.report(at.given(f"mac={B}&serial=SERIALX"))
    at.report(at.given(f"mac={C}"))
    wait_until(lambda: history("web-02") == ["given", "installed"])
    at.table(f"web-02,{A},SERIALX", f"web-03,{C},", f"web-04,{B},")
    assert history("web-02") == ["given", "installed"]
    assert at("arm", "web-02")[0] == 0
    wait_until(lambda: at.given(f"mac={A}&serial=SERIALX"))
    wait_until(lambda: history("web-02") == ["given", "installed", "armed", "given"])
    assert history("web-03") == ["given", "installed"]
    assert history("web-04") == ["given", "installed"], "what happened to its card"
