"""Twelve tasks of an operator, each in at most so many clicks from the first page; typing is not counted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.console.browsing import Windows, clicks, retype, window
from tests.console.lab import DOCUMENTS, NODES, Lab, populate

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

RACK = tuple(f"r3-{number:02}" for number in range(1, 21))
RACK_3 = f'members = {list(RACK)}\n[global]\nkeyboard = "de"\n'.replace("'", '"')


@pytest.fixture(scope="module")
def busy(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with Lab(tmp_path_factory.mktemp("tasks"), documents={**DOCUMENTS, "groups/rack-3.toml": RACK_3}) as lab:
        populate(lab)
        yield lab


@pytest.fixture
def operator(windows: Windows, busy: Lab) -> Iterator[Page]:
    with windows.lend(busy, session=busy.session()) as page:
        page.goto("/console/")
        yield page


def link(page: Page, name: str) -> Locator:
    return page.get_by_role("link", name=name, exact=True)


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def search(page: Page, text: str) -> None:
    page.get_by_label("Search").fill(text)
    page.keyboard.press("Enter")
    page.wait_for_url("**?q=*")


def test_which_machines_failed_in_the_last_hour_and_why(operator: Page) -> None:
    with clicks(1) as click:
        click(link(operator, "Failed in the last hour"))
    row = operator.locator("tbody tr")
    assert row.count() == 1
    assert NODES[33] in row.inner_text()
    assert "no disk larger than 32 GB" in row.inner_text()


def test_which_document_said_a_line_of_an_answer(operator: Page) -> None:
    with clicks(2) as click:
        click(link(operator, "Machines"))
        search(operator, "web-007")
        click(link(operator, "web-007"))
    origin = operator.locator(".answer tr", has_text="hostname").get_by_role("link").first
    assert "group ubuntu (yaml):" in origin.inner_text()
    with clicks(1) as click:
        click(origin)
    operator.wait_for_function("() => document.getSelection().toString().includes('hostname')")


def test_a_value_of_a_rack_is_changed_after_a_look_at_who_is_affected(operator: Page) -> None:
    with clicks(3) as click:
        click(link(operator, "Documents"))
        click(link(operator, "rack-3"))
        retype(operator, "keyboard", 'de"', 'fr"')  # its click is the edit
        click(button(operator, "Preview what changes"))
        operator.get_by_text("20 machines get another answer").wait_for()
    affected = operator.get_by_role("list", name="20 machines get another answer")
    assert [affected.get_by_role("link", name=name, exact=True).is_visible() for name in RACK] == [True] * 20
    button(operator, "Save it").click()
    operator.get_by_text(re.compile(r"^Saved as version \d+ · Undo …$")).wait_for()


def test_a_change_of_yesterday_is_undone(operator: Page) -> None:
    with clicks(3) as click:
        click(link(operator, "History"))
        click(operator.locator("tr", has_text='group "rack-3" (toml)').first.get_by_role("link", name="Undo"))
        operator.get_by_text("20 machines get another answer").wait_for()
        click(button(operator, "Save it"))
        operator.get_by_text("Saved as version").wait_for()
    assert operator.locator("textarea").input_value() == RACK_3


def test_an_unknown_machine_is_adopted(operator: Page) -> None:
    with clicks(3) as click:
        click(operator.locator(".tile", has_text="unknown"))
        click(operator.get_by_role("link", name="Adopt").first)
        assert operator.get_by_label("serial").input_value() == "SN-4711"
        operator.get_by_label("rack").fill("r3")
        click(button(operator, "Adopt"))
        operator.get_by_text("Saved as version").wait_for()
    assert "r3" in operator.get_by_role("region", name="Who it is").inner_text()


def test_ten_machines_are_installed_again(operator: Page) -> None:
    operator.goto("/console/machines?q=node-1+state:installed")  # a view: a link, a tile or a search leads to it
    with clicks(3) as click:
        click(operator.get_by_label("Select all machines of this page"))
        click(button(operator, "Arm …"))
        operator.get_by_text("Disks will be wiped").wait_for()
        click(button(operator, "Arm 10 machines"))
        operator.get_by_text("10 machines armed").wait_for()
    button(operator, "Undo").click()
    operator.get_by_text("10 machines disarmed").wait_for()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("5e:00:53:01", "web-001"),
        ("5E005301", "web-001"),
        ("lab0001", "web-001"),
        ("web-001", "web-001"),
        ("10.20.0.11", "web-001"),
        ("r3", RACK[0]),
        ("os=rocky", "db-01"),
        ("os:rocky", "db-01"),
        ("larger than 32", NODES[33]),
    ],
)
def test_a_machine_is_found_by_a_part_of_anything(operator: Page, text: str, found: str) -> None:
    with clicks(1) as click:
        click(link(operator, "Machines"))
        search(operator, text)
    assert found in operator.locator("tbody td.name").all_inner_texts()


def test_a_view_is_sent_to_a_colleague(operator: Page, browser: Browser, busy: Lab) -> None:
    operator.goto("/console/machines?q=os:rocky&sort=rack&desc=1&column=rack")
    shown = operator.locator("tbody td.name").all_inner_texts()
    with window(browser, busy) as colleague:  # who has to log in first
        colleague.goto(operator.url)
        colleague.get_by_label("Token").fill("0123456789abcdef")
        button(colleague, "Log in").click()
        colleague.wait_for_url("**/console/machines?*")
        assert colleague.locator("tbody td.name").all_inner_texts() == shown


def test_who_changed_a_document(operator: Page) -> None:
    with clicks(2) as click:
        click(link(operator, "Documents"))
        click(link(operator, "rack-b"))
        assert "added by root" in operator.get_by_role("region", name="History").inner_text()
    operator.goto("/console/")
    with clicks(1) as click:
        click(link(operator, "History"))
        assert "rack-b" in operator.get_by_role("region", name="Changes").inner_text()


def test_an_inventory_is_replaced(operator: Page, tmp_path: Path) -> None:
    file = tmp_path / "new.csv"
    file.write_text("id,mac,rack\nweb-001,00:00:5e:00:53:01,r9\n")
    with clicks(3) as click:
        click(operator.locator(".tile", has_text="of the inventory"))
        operator.get_by_label("a file of CSV").set_input_files(file)
        operator.get_by_label("What to do with them").select_option("replace")
        click(button(operator, "See what it changes"))
        operator.get_by_text("lose their answer").first.wait_for()
        click(button(operator, "Replace all by 1 row"))
        operator.get_by_text("Saved as version").wait_for()
    assert operator.locator("tbody tr").count() == 1


def test_thirty_rows_are_added_and_seen(operator: Page) -> None:
    rows = "".join(f"new-{number:02}\t00:00:5e:00:54:{number:02x}\tr7\n" for number in range(30))
    with clicks(4) as click:
        click(operator.locator(".tile", has_text="of the inventory"))
        operator.get_by_label("Rows with the line").fill(f"Name\tMAC address\track\n{rows}")
        click(button(operator, "See what it changes"))
        operator.get_by_text("30 rows: 30 are new").wait_for()
        click(button(operator, "Add 30 rows"))
        operator.get_by_text("Saved as version").wait_for()
    assert operator.locator("#inventory tbody tr").count() == 30
    assert "new-29" in operator.inner_text("#inventory")


def test_somebody_gets_access_that_only_reads(operator: Page) -> None:
    with clicks(2) as click:
        click(operator.get_by_role("banner").get_by_role("link", name="admin"))
        operator.get_by_label("Name of who gets it").fill("auditor")
        operator.get_by_label("Last day").fill("2999-12-31")
        click(button(operator, "Make a token"))
        operator.get_by_role("heading", name="The token of auditor").wait_for()
    assert "auditor read" in operator.inner_text("main")


def test_a_secret_is_set(operator: Page) -> None:
    with clicks(3) as click:
        click(operator.get_by_role("banner").get_by_role("link", name="admin"))
        operator.get_by_label("Name", exact=True).fill("new-hash")
        operator.get_by_label("Value").fill("$6$made-up")
        click(button(operator, "Write the secret"))
        operator.get_by_text("The secret new-hash is written").wait_for()
    assert "made-up" not in operator.content()


def test_the_tokens_of_colleagues_are_seen(operator: Page) -> None:
    with clicks(1) as click:
        click(operator.get_by_role("banner").get_by_role("link", name="admin"))
    tokens = operator.get_by_role("region", name="Tokens", exact=True)
    assert "SERVICE_ADMIN_TOKEN" in tokens.inner_text()
    assert "answerd token NAME --role ROLE" in tokens.inner_text()
