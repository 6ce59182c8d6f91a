"""Every page in a browser: what it shows, by mouse, by keyboard, and without scripts. Rules: docs/console.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import pytest

from tests.console.browsing import Look, log_in, open_page
from tests.console.lab import LONG_NAME, PAGES, TOKEN, Lab
from tests.support.thorough import is_thorough

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    Open = Callable[..., AbstractContextManager[Page]]

CONTENT: Mapping[str, str] = {
    "now": "a.tile",
    "machines": "tbody a[href='/console/machine?id=node-01']",
    "machine": ".answer td",
    "documents": "tbody a",
    "document": "textarea:visible",
    "try": ".answer td",
    "settings": "tbody td",
}
"""What is there to be read on a page that has something to show."""

FIRST_PAINT = """() => new Promise((done) => {
  const look = () => {
    const [paint] = performance.getEntriesByName("first-contentful-paint");
    paint ? done(paint.startTime) : setTimeout(look, 20);
  };
  look();
})"""
"""Waits until something of the page is painted; then the milliseconds since the page was asked for."""

MOST_MS_TO_THE_FIRST_PAINT = 500


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_its_content_without_scripts(opened: Open, name: str) -> None:
    with opened(scripts=False) as page:
        page.goto(PAGES[name])
        assert page.locator("h1").count() == 1
        assert page.locator(CONTENT.get(name, "main")).first.is_visible()


@pytest.mark.skipif(not is_thorough(), reason="a time: scripts/test console --thorough measures it")
@pytest.mark.parametrize("name", PAGES)
def test_the_first_paint_of_a_page_comes_within_half_a_second(opened: Open, name: str) -> None:
    def painted() -> float:
        """Return the milliseconds until the first content of a new look at the page."""
        with opened() as page:
            page.goto(PAGES[name])
            return float(page.evaluate(FIRST_PAINT))

    assert any(0 < painted() < MOST_MS_TO_THE_FIRST_PAINT for _ in range(5))


# --- getting in -------------------------------------------------------------------------------------------------------


@pytest.fixture
def visitor(opened: Open) -> Iterator[Page]:
    """A window of somebody who has not logged in."""
    with opened(session="") as page:
        yield page


# --- looking ----------------------------------------------------------------------------------------------------------


def test_a_page_that_follows_says_when_the_service_is_gone_and_when_it_is_back(
    browser: Browser, lab: Lab, session: str
) -> None:
    page = open_page(browser, lab, Look())  # htmx writes an error for each request that fails
    log_in(page, lab, session)
    page.goto("/console/")
    notice = page.get_by_text("The service does not answer")
    page.route("**/console/*", lambda route: route.abort())
    notice.wait_for()
    page.unroute("**/console/*")
    notice.wait_for(state="hidden")
    page.context.close()


@pytest.mark.parametrize("width", [400, 1024])
def test_a_long_name_hides_no_line_of_an_answer(opened: Open, width: int) -> None:
    with opened(width=width) as page:
        page.goto(f"/console/machine?id={LONG_NAME}")
        line = page.locator(".answer tr", has_text="fqdn")
        text, origin = (line.locator("td").nth(at).bounding_box() for at in (1, 2))
        assert text is not None
        assert origin is not None
        is_beside = text["x"] + text["width"] <= origin["x"] + 1
        assert is_beside or text["y"] + text["height"] <= origin["y"] + 1
        assert origin["x"] + origin["width"] <= width
        assert page.locator(".answer").first.bounding_box() is not None


def test_no_line_number_breaks_on_a_telephone(opened: Open) -> None:
    with opened(width=400) as page:
        page.goto(PAGES["machine"])
        numbers = page.locator(".answer td.num")
        assert numbers.count() > 9
        lines = """(cells) => cells.map((cell) => {
          const text = document.createRange();
          text.selectNodeContents(cell);
          return text.getClientRects().length;
        })"""
        assert set(numbers.evaluate_all(lines)) == {1}


@pytest.mark.parametrize("width", [400, 1024])
def test_a_long_address_hides_no_status_of_the_last_requests(opened: Open, lab: Lab, width: int) -> None:
    lab.service.get(f"/ks?id=web-003&note={'long' * 400}")
    with opened(width=width) as page:
        page.goto("/console/")
        table = page.get_by_role("region", name="Last requests")
        line = table.locator("tbody tr", has_text="longlong").first
        status = line.locator(".state").bounding_box()
        assert status is not None
        assert status["x"] + status["width"] <= width
        assert table.evaluate("(table) => table.scrollWidth <= table.clientWidth")
        assert line.evaluate("(line) => line.offsetHeight") < 150


# --- by keyboard ------------------------------------------------------------------------------------------------------


def focused(page: Page) -> str:
    """The text of what has the focus."""
    text: str = page.evaluate(
        "(document.activeElement.getAttribute('aria-label') || document.activeElement.innerText"
        " || document.activeElement.name || '').trim()"
    )
    return text


def tab_to(page: Page, wanted: str) -> None:
    """Press Tab until something has the focus."""
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.append(focused(page))
        if seen[-1] == wanted:
            return
    raise AssertionError(f"{wanted!r} is not among {seen}")


def test_the_keyboard_alone_logs_in_finds_a_machine_and_tries_a_request(visitor: Page) -> None:
    visitor.goto("/console/login")
    visitor.locator("#token:focus").wait_for()
    visitor.keyboard.type(TOKEN)
    visitor.keyboard.press("Enter")
    visitor.wait_for_url("**/console/")
    visitor.keyboard.press("Tab")
    assert focused(visitor) == "Skip to the content"
    tab_to(visitor, "Machines")
    visitor.keyboard.press("Enter")
    visitor.wait_for_url("**/console/machines")
    tab_to(visitor, "q")
    visitor.keyboard.type("web-001")
    visitor.keyboard.press("Enter")
    visitor.wait_for_url("**q=web-001**")
    tab_to(visitor, "web-001")
    visitor.keyboard.press("Enter")
    visitor.wait_for_url("**/console/machine?id=web-001")
