"""The table of machines: its columns, sorting, pages, export, and the search over everything.

Rules: docs/console.md#machines.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.support.console import Browser, started
from tests.support.service import run, write_tree
from tests.support.waiting import wait_until

ROWS = [
    (f"pc-{number:03}", f"00:00:5e:00:{number >> 8:02x}:{number & 255:02x}", 400 - number) for number in range(1, 351)
]
TREE = {
    "groups/class.toml": '[match]\nid = "pc-*"\n[global]\nkeyboard = "de"\n',
    "groups/broken-is-not.ks": "# answer: member m1\ntext\n",
    "inventory.csv": "id,mac,rack,root_password\n"
    + "".join(f"{name},{mac},r{rack},hunter22\n" for name, mac, rack in ROWS),
}


@pytest.fixture(params=["files", "sqlite"])
def operator(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Browser]:
    write_tree(tmp_path / "answers", TREE)
    settings = {"SERVICE_STATE_PATH": tmp_path / "states.db"} if request.param == "files" else {}
    if request.param == "sqlite":
        given: dict[str, Any] = {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": tmp_path / "answers.db"}
        assert run("import", str(tmp_path / "answers"), **given).returncode == 0
    with started(tmp_path, request.param, **settings) as browser:
        browser.log_in()
        wait_until(lambda: "351 machines" in browser.get("/console/machines").text)
        yield browser


def table(browser: Browser, **query: object) -> tuple[list[str], list[list[str]]]:
    """The headings and the cells of a page of the table."""
    text = browser.get(f"/console/machines?{urlencode(query, doseq=True)}").text
    headings = [re.sub(r"<[^>]+>", "", one) for one in re.findall(r"<th [^>]*aria-sort[^>]*>(.*?)</th>", text)]
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", text.partition('<tbody id="rows"')[2], re.DOTALL)
    return headings, [
        [unescape(re.sub(r"<[^>]+>", "", cell).strip()) for cell in re.findall(r"<td [^>]*>(.*?)</td>", row, re.DOTALL)]
        for row in rows
    ]


def exported(browser: Browser, **query: object) -> list[dict[str, str]]:
    reply = browser.get(f"/console/machines.csv?{urlencode(query, doseq=True)}")
    assert reply.headers["content-type"].startswith("text/csv")
    assert "attachment" in reply.headers["content-disposition"]
    return [*csv.DictReader(io.StringIO(reply.text))]


def test_columns_are_chosen_in_the_address_and_sorted_by(operator: Browser) -> None:
    headings, _ = table(operator)
    assert headings == ["Machine", "State", "Since", "mac", "rack", "group", "last step"]
    headings, rows = table(operator, column=["rack", "root_password"], sort="rack")
    assert headings[3:] == ["rack", "root_password"]
    assert [row[-2:] for row in rows[:2]] == [["r50", "(secret)"], ["r51", "(secret)"]]
    text = operator.get("/console/machines?column=rack&column=mac&q=pc-00").text
    assert "column=rack&amp;column=mac" in text, "the links of the page keep the columns"
    _, rows = table(operator, column="rack", sort="rack", desc="1")
    assert rows[0][-1] == "r399"


def test_the_last_step_is_what_a_machine_got_also_without_once(operator: Browser) -> None:
    operator.service.get("/toml?mac=00:00:5e:00:00:07")
    wait_until(lambda: table(operator, q="pc-007", column="last step")[1][0][-1] != "")
    assert table(operator, q="pc-007", column=["last step", "address"])[1][0][-2:] == [
        'group "class" (toml)',
        "127.0.0.1",
    ]
    assert operator.service.get("/ks?mac=00:00:5e:00:00:08").status == 404
    wait_until(lambda: table(operator, q="pc-008", column="last step")[1][0][-1].startswith("404: "))
    first = table(operator, column="last step", sort="last step")[1][:2]
    assert [re.match(r"pc-\d+", row[1])[0] for row in first] == ["pc-008", "pc-007"]  # type: ignore[index]


def test_pages_have_numbers_above_and_below_the_table(operator: Browser) -> None:
    text = operator.get("/console/machines?page=2").text
    assert text.count("Page 2 of 4") == 2
    assert re.search(r'href="/console/machines\?page=4" aria-label="Page 4"', text)


def test_what_is_shown_is_exported_with_all_its_pages(operator: Browser) -> None:
    found = exported(operator, q="rack:r3*", column=["rack", "root_password"], sort="rack", desc="1")
    assert len(found) == 100
    assert found[0] == {
        "machine": "pc-001", "state": "new", "since": "", "percent": "", "message": "", "rack": "r399",
        "root_password": "(secret)",
    }  # fmt: skip
    assert len(exported(operator, page="3")) == 351
    operator.service.get("/ks?serial=%3DHYPERLINK(1)&mac=00:00:5e:00:99:01")
    wait_until(lambda: len(exported(operator)) == 352)
    assert "'=HYPERLINK(1)" in {one["machine"] for one in exported(operator, state="unknown")}


@pytest.mark.parametrize(
    ("text", "leads_to"),
    [
        ("0000.5e00.0007", "/console/machine?id=pc-007"),
        ("pc-300", "/console/machine?id=pc-300"),
        ("", "/console/machines"),
    ],
)
def test_one_search_leads_to_the_machine_that_it_finds(operator: Browser, text: str, leads_to: str) -> None:
    reply = operator.get(f"/console/search?{urlencode({'q': text})}")
    assert (reply.status, reply.headers["location"]) == (303, leads_to)


def test_one_search_finds_machines_and_documents(operator: Browser) -> None:
    text = operator.get("/console/search?q=class").text
    assert "350 machines" in text
    assert '/console/document?kind=group&amp;name=class&amp;format=toml">class</a>' in text
    assert "Nothing" in operator.get("/console/search?q=%3Cb%3E").text
