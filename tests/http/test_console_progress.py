"""How far an install is: a square for each machine, and bars for each value of a column, a group, an inventory.

Rules: docs/console.md#progress.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest

from tests.support.console import Browser, started
from tests.support.service import run, write_tree
from tests.support.waiting import wait_until

MACHINES = [(f"pc-{number:02}", f"00:00:5e:00:53:{number:02x}", f"r{1 + number % 3}") for number in range(1, 31)]
TREE = {
    "groups/class.ks": "# answer: match rack=r*\n# answer: once\ntext\n%post\ncurl {{ report }}\n%end\n",
    "inventory/class.csv": "id,mac,rack\n" + "".join(f"{','.join(row)}\n" for row in MACHINES),
    "inventory/spare.csv": 'id,mac,rack\nsp-1,00:00:5e:00:53:f1,"row 9"\nsp-2,00:00:5e:00:53:f2,\n',
}


class Section(NamedTuple):
    name: str
    where: str
    sentence: str
    squares: dict[str, str]


@pytest.fixture(params=["files", "sqlite"])
def operator(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Browser]:
    write_tree(tmp_path / "answers", TREE)
    settings = {"SERVICE_STATE_PATH": tmp_path / "states.db"} if request.param == "files" else {}
    if request.param == "sqlite":
        given: dict[str, Any] = {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": tmp_path / "answers.db"}
        assert run("import", str(tmp_path / "answers"), **given).returncode == 0
    with started(tmp_path, request.param, **settings) as browser:
        browser.log_in()
        wait_until(lambda: sum(len(one.squares) for one in sections(browser)) == len(MACHINES) + 2)
        yield browser


def sections(browser: Browser, path: str = "/console/machines", **query: str) -> list[Section]:
    text = browser.get(f"{path}?{urlencode({'view': 'grid', **query})}").text
    found = []
    for name, body in re.findall(r'<li data-key="([^"]*)">(.*?)</li>', text, re.DOTALL):
        where = re.search(r'<a href="([^"]+)"><b>', body)
        sentence = re.search(r'<span class="muted">(.*?)</span>', body)
        assert sentence
        squares = re.findall(r'<a class="square (\w+)" href="[^"]*" title="([^":]+): ', body)
        named = {machine: state for state, machine in squares}
        found.append(Section(unescape(name), unescape(where[1]) if where else "", unescape(sentence[1]), named))
    return found


def install(browser: Browser, mac: str, report: str = "") -> None:
    path = re.search(r"curl http://[^/]+(\S+)", browser.service.get(f"/ks?mac={mac}").text)
    assert path
    if report:
        assert browser.service.get(f"{path[1]}/{report}").status == 200


def test_a_rack_is_a_square_for_each_machine_with_its_state_and_a_count(operator: Browser) -> None:
    for at, (_, mac, _) in enumerate(MACHINES[:12]):
        install(operator, mac, "installed" if at < 9 else "failed" if at == 9 else "")
    racks = sections(operator)
    assert [one.name for one in racks] == ["r1", "r2", "r3", "row 9", ""]
    assert sum(list(one.squares.values()).count("installed") for one in racks) == 9
    assert racks[0].squares["pc-03"] == "installed"
    assert [one.sentence for one in racks] == [
        "3 of 10 installed, 1 installing",
        "3 of 10 installed, 1 failed",
        "3 of 10 installed, 1 installing",
        "0 of 1 installed",
        "0 of 1 installed",
    ]
    assert racks[3].where == "/console/machines?" + urlencode({"q": 'rack:"row 9"', "view": "grid", "by": "rack"})
    followed = operator.get(racks[3].where).text
    assert "sp-1: new" in followed
    assert "pc-01" not in followed
    assert racks[4].where == ""
    for path in ("/console/machines?view=grid", "/console/"):
        curves = re.findall(
            r'<svg class="curve"[^>]* role="img" aria-label="([^:]*): the first ', operator.get(path).text
        )
        assert curves == ["9 of 32 installed", *(f"r{at}, 3 of 10 installed" for at in (1, 2, 3))]


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("inventory", {"class": 30, "spare": 2}),
        ("group", {"class": 30, "": 2}),
        ("rack", {"r1": 10, "r2": 10, "r3": 10, "row 9": 1, "": 1}),
        ("mac", {"r1": 10, "r2": 10, "r3": 10, "row 9": 1, "": 1}),
    ],
)
def test_progress_is_by_a_column_a_group_or_an_inventory(operator: Browser, by: str, expected: dict[str, int]) -> None:
    if by == "group":
        expected = {"class": 31, "": 1}  # row 9 begins with an r too
    found = {one.name: len(one.squares) for one in sections(operator, by=by)}
    assert found == expected
    first = {one.name: len(one.squares) for one in sections(operator, "/console/", by=by)}
    assert first == expected, "on the first page"


def test_the_machines_of_one_inventory_are_found_with_their_progress(operator: Browser) -> None:
    install(operator, MACHINES[0][1], "installed")
    found = sections(operator, q="inventory:class", by="inventory")
    assert [(one.name, one.sentence) for one in found] == [("class", "1 of 30 installed")]
    page = operator.get("/console/machines?q=inventory:class&view=grid")
    assert "30 machines" in page.text
