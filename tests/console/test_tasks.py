"""Tasks of an operator, each in at most so many clicks from the first page; typing is not counted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.console.browsing import Windows, clicks, retype, window
from tests.console.lab import DOCUMENTS, NODES, Lab, populate
from tests.support.service import run, write_tree
from tests.support.waiting import wait_until

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


def apply(busy: Lab, directory: Path, documents: Mapping[str, str]) -> None:
    """Change documents together."""
    write_tree(directory, documents)
    settings = {name: busy.settings[name] for name in ("SERVICE_STORE", "SERVICE_DB_PATH")}
    done = run("apply", str(directory), **settings)
    assert done.returncode == 0, done.stderr.decode()


def test_a_document_is_mended_with_a_verdict_before(operator: Page) -> None:
    with clicks(5) as click:
        click(link(operator, "Documents"))
        click(link(operator, "ubuntu"))
        retype(operator, "version: 1", "1", "x")  # its click is the edit
        click(button(operator, "Preview what changes"))
        verdict = operator.locator(".verdict", has_text="would be refused by the installer")
        verdict.get_by_text("autoinstall.version").first.wait_for()
        retype(operator, "version: x", "x", "1")
        retype(operator, "locale: en_US", "en_US.UTF-8", "de_DE.UTF-8")
        click(button(operator, "Preview what changes"))
        operator.get_by_text("No installer would refuse an answer that changes").wait_for()
        click(button(operator, "Save it"))
        operator.get_by_text("Saved as version").wait_for()


def test_what_changed_last_week(operator: Page) -> None:
    with clicks(1) as click:
        click(link(operator, "History"))
    changes = operator.get_by_role("region", name="Changes")
    imported = changes.locator("tr", has_text="documents:").last
    imported.get_by_text(re.compile(r"^[\d,]+ machines?$")).wait_for()
    imported.get_by_role("link", name=re.compile(r"^\d+ added, difference")).click()
    changes.locator(".diff .add").first.wait_for()


def test_an_earlier_version_is_restored(operator: Page, busy: Lab, tmp_path: Path) -> None:
    for text in ("# answer: member r4\n# first\n", "# answer: member r4\n# second\n"):
        apply(busy, tmp_path / "set", {"groups/rack-4.ks": text})
    session = busy.session()
    # The list of documents shows those that are in force.
    wait_until(lambda: "# second" in busy.page(session, "/resolve/r4").text)
    with clicks(4) as click:
        click(link(operator, "Documents"))
        click(link(operator, "rack-4"))
        click(operator.get_by_role("link", name=re.compile("^Restore revision")))
        operator.get_by_text("1 machine gets another answer").wait_for()
        click(button(operator, "Save it"))
        operator.get_by_text("Saved as version").wait_for()
    assert "# first" in operator.locator("textarea").input_value()


def test_a_change_of_several_documents_is_taken_back(operator: Page, busy: Lab, tmp_path: Path) -> None:
    apply(busy, tmp_path / "set", {"later-1.ks": "# one\n", "later-2.ks": "# two\n"})
    with clicks(3) as click:
        click(link(operator, "History"))
        made = operator.locator("tr", has_text="later-1").filter(has_text="2 documents")
        click(made.get_by_role("link", name=re.compile("^Take back all")))
        operator.get_by_text("2 machines lose their answer").wait_for()
        click(button(operator, "Take it back"))
        operator.get_by_text("is taken back by revision").wait_for()
    session = busy.session()
    assert [busy.page(session, f"/machines/later-{number}?format=ks").status for number in (1, 2)] == [404, 404]


def test_a_rack_of_machines_is_adopted(operator: Page, busy: Lab) -> None:
    for number in range(1, 4):
        busy.service.get(f"/ks?mac=00:00:5e:00:55:{number:02x}&serial=RACK-{number}{number}{number}")
    session = busy.session()
    wait_until(lambda: "RACK-333" in busy.page(session, "/console/adopt").text)
    with clicks(4) as click:
        click(operator.locator(".tile", has_text="unknown"))
        click(link(operator, "Adopt many …"))
        operator.get_by_label("Names").fill("cn{n:04}")
        operator.get_by_label("Only those that said").fill("serial=RACK-*")
        click(button(operator, "See what they become"))
        operator.get_by_role("region", name="What they become").wait_for()
        click(button(operator, "Adopt 3 machines"))
        operator.get_by_text("Saved as version").wait_for()
    rows = operator.locator("#inventory tbody tr")
    assert [rows.nth(at).locator("td").first.inner_text() for at in range(rows.count())] == [
        "cn0001", "cn0002", "cn0003",
    ]  # fmt: skip


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
        click(operator.locator("a.adopt").first)
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
