"""What follows what happens changes in place: nothing that somebody reads, holds or opened is taken away.

Rules: docs/console.md#pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.console.browsing import Windows, log_in
from tests.console.lab import NODES, Lab

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def following(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with Lab(tmp_path_factory.mktemp("following")) as lab:
        yield lab


@pytest.fixture
def operator(windows: Windows, following: Lab) -> Iterator[Page]:
    with windows.lend(following, session=following.session()) as page:
        yield page


def test_an_event_closes_no_log_and_takes_no_selection_and_the_badge_follows(operator: Page, following: Lab) -> None:
    path = following.install(NODES[0])
    following.service.post(f"{path}/failed?message=no+disk", b"sda: not found\nTraceback: all of it\n")
    operator.goto(f"/console/machine?id={NODES[0]}")
    history = operator.get_by_role("region", name="History", exact=True)
    history.get_by_text("what came with it").click()
    log = history.get_by_text("Traceback: all of it")
    assert log.is_visible()
    log.evaluate("(log) => document.getSelection().selectAllChildren(log)")
    log.focus()
    assert operator.locator("#badge").inner_text() == "failed"
    following.service.get(f"{path}/installed")
    operator.locator("#badge", has_text="installed").wait_for()
    assert log.is_visible()
    assert "Traceback" in operator.evaluate("document.getSelection().toString()")
    assert operator.evaluate("document.activeElement.getAttribute('aria-label')") == "Body of the report"
    assert operator.get_by_role("region", name="Verdict").inner_text().startswith("It is installed since")


def test_the_first_page_keeps_the_focus_while_it_changes(operator: Page, following: Lab) -> None:
    path = following.install(NODES[1])
    following.service.get(f"{path}/failed?message=no+network")
    operator.goto("/console/")
    link = operator.get_by_role("region", name="Failed last").get_by_role("link", name=NODES[1], exact=True)
    link.focus()
    other = following.install(NODES[2])
    following.service.get(f"{other}/failed?message=no+memory")
    operator.get_by_role("region", name="Failed last").get_by_text("no memory").wait_for()
    assert operator.evaluate("document.activeElement.innerText") == NODES[1]
    operator.keyboard.press("Enter")
    operator.wait_for_url(f"**id={NODES[1]}")


def test_a_slash_leads_to_the_search_over_everything(operator: Page) -> None:
    operator.goto("/console/check")
    operator.keyboard.press("/")
    operator.keyboard.type(f"{NODES[3]}/")
    assert operator.evaluate("document.activeElement.value") == f"{NODES[3]}/"
    operator.keyboard.press("Backspace")
    operator.keyboard.press("Enter")
    operator.wait_for_url(f"**/console/machine?id={NODES[3]}")


def test_times_are_those_of_the_clock_on_the_wall(browser: Browser, following: Lab) -> None:
    following.install(NODES[4])
    context = browser.new_context(base_url=following.url, timezone_id="Asia/Tokyo")
    page = context.new_page()
    log_in(page, following, following.session())
    page.goto(f"/console/machine?id={NODES[4]}")
    shown = page.get_by_role("region", name="History", exact=True).locator("time").first
    assert shown.inner_text().endswith("GMT+9")
    assert shown.get_attribute("title") is not None
    assert str(shown.get_attribute("title")).endswith("UTC")
    context.close()
