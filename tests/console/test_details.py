"""Small things that make a page safe to use: focus, narrow and magnified windows, print, what a choice implies.

Rules: docs/console.md.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import pytest

from tests.console.lab import PAGES

if TYPE_CHECKING:
    from playwright.sync_api import Page

    Open = Callable[..., AbstractContextManager[Page]]

OVERLAPS = """() => {
  const bar = document.querySelector(".selection").getBoundingClientRect();
  return [...document.querySelectorAll("#rows tr")].filter((row) => {
    const at = row.getBoundingClientRect();
    return at.top < bar.bottom && at.bottom > bar.top && at.height;
  }).length;
}"""
"""How many rows of the table of machines the bar with the orders covers."""


def test_a_question_says_what_is_hit_and_the_focus_is_on_the_harmless_button(page: Page) -> None:
    page.goto("/console/machine?id=web-001")
    page.get_by_role("button", name="Arm …").first.click()
    page.get_by_role("heading", name="Arm 1 machine?").wait_for()
    assert page.evaluate("document.activeElement.innerText") == "Cancel"
    table = page.get_by_role("region", name="Which machines")
    heads = table.locator("th").all_inner_texts()
    cells = table.locator("tbody td").all_inner_texts()
    told = dict(zip(heads, cells, strict=True))
    assert {"Machine", "Place", "Address", "Disk"} <= told.keys()
    assert (told["Machine"], told["Address"]) == ("web-001", "10.20.0.11/22")
    question = table.bounding_box()
    button = page.get_by_role("button", name="Arm 1 machine").bounding_box()
    assert question is not None
    assert button is not None
    assert question["y"] < button["y"], "the names stand above the button"
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/machine?id=web-001")


@pytest.mark.parametrize("width", [360, 390])
def test_the_menu_of_a_telephone_is_one_line_and_the_first_machine_is_in_sight(opened: Open, width: int) -> None:
    with opened(width=width, height=740) as page:
        page.goto(PAGES["machines"])
        links = page.locator("header nav a")
        tops = {round(box["y"]) for at in range(links.count()) if (box := links.nth(at).bounding_box())}
        assert len(tops) == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        first = page.locator("#rows tr").first.bounding_box()
        assert first is not None
        assert first["y"] < 430, "below the search, which is four lines"


def test_on_a_telephone_the_buttons_of_machines_are_in_sight_and_cover_nothing_at_the_end(opened: Open) -> None:
    with opened(width=360, height=740) as page:
        page.goto(PAGES["machines"])
        assert page.evaluate("document.documentElement.scrollHeight") > 2 * 740, "the end is far away"
        for name in ("Arm …", "Disarm …", "Forget …"):
            box = page.get_by_role("button", name=name, exact=True).bounding_box()
            assert box is not None
            assert 0 <= box["x"] <= 360 - box["width"]
            assert box["y"] + box["height"] <= 740
        bar = page.locator(".selection").bounding_box()
        assert bar is not None
        assert bar["height"] < 740 / 5
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        last, bar = page.locator("#rows tr").last.bounding_box(), page.locator(".selection").bounding_box()
        assert last is not None
        assert bar is not None
        assert last["y"] + last["height"] <= bar["y"] + 1


def test_magnified_to_200_percent_the_bar_of_orders_covers_no_machine(opened: Open) -> None:
    with opened(width=720, height=450) as page:
        page.goto(PAGES["machines"])
        assert page.locator(".selection").evaluate("(bar) => getComputedStyle(bar).position") == "static"
        assert page.evaluate(OVERLAPS) == 0


def test_what_is_printed_has_its_date_its_filter_and_whole_times(page: Page) -> None:
    page.goto("/console/machines?q=state:failed")
    page.emulate_media(media="print")
    printed = page.locator(".printed")
    assert printed.is_visible()
    assert "UTC" in printed.inner_text()
    assert "q=state%3Afailed" in printed.inner_text()
    since = page.locator("#rows td > span[title]").first
    assert "UTC" in str(since.get_attribute("title"))
    assert since.evaluate("(time) => getComputedStyle(time, '::after').content") != "none"
    page.emulate_media(media="screen")


def test_a_new_inventory_is_a_table_as_soon_as_it_is_chosen(page: Page) -> None:
    page.goto(PAGES["new"])
    kind, extension = page.get_by_label("Kind"), page.get_by_label("Format")
    assert extension.input_value() == "toml"
    page.on("dialog", lambda dialog: dialog.accept())  # the page is left with a choice
    kind.select_option("inventory")
    assert extension.input_value() == "csv"
    kind.select_option("group")
    assert extension.input_value() == "toml"
