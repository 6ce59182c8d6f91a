"""Each page judged by axe-core, in both colour schemes and three widths, none wider than its window.

Rules: docs/console.md#pages.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.console.browsing import Scheme
from tests.console.lab import PAGES
from tests.support.thorough import is_thorough

if TYPE_CHECKING:
    from playwright.sync_api import Page

    Open = Callable[..., AbstractContextManager[Page]]

VENDOR = Path(__file__).parent / "vendor"
SCREENSHOTS = os.environ.get("ANSWERD_SCREENSHOTS", "")
"""A directory in which a picture of each page is put, to be looked at."""

SCHEMES: tuple[Scheme, ...] = ("light", "dark")
EVERY_SIZE: list[tuple[int, Scheme]] = [(width, scheme) for width in (400, 1024, 1600) for scheme in SCHEMES]
SOME_SIZES: list[tuple[int, Scheme]] = [(400, "dark")]

RUN = """async () => {
  for (const element of document.querySelectorAll("main *")) {  // what stays in sight covers what is judged
    if (getComputedStyle(element).position === "sticky") element.style.position = "static";
    if (element.matches(".affected")) element.style.maxHeight = "none";  // what is scrolled away cannot be judged
  }
  const found = await axe.run(document, {resultTypes: ["violations", "incomplete"]});
  // A contrast that cannot be told; but for the editor, whose colours test_editing measures, for cells outside of
  // what is seen of an inventory, and for squares and marks, whose one sign is too short to be judged: a state's badge
  // has their colours.
  const isClear = (node) => document.querySelector(node.target[0])?.closest(".cm-editor, .sheet, .square, .line-of");
  const unclear = found.incomplete.filter((one) => one.id === "color-contrast")
    .map((one) => ({...one, nodes: one.nodes.filter((node) => !isClear(node))}))
    .filter((one) => one.nodes.length);
  return [...found.violations, ...unclear].map((one) =>
    [one.impact, one.id, one.nodes.map((node) => node.html.slice(0, 200))]);
}"""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if {"width", "scheme"} <= set(metafunc.fixturenames):
        sizes = EVERY_SIZE if is_thorough() else SOME_SIZES
        metafunc.parametrize(("width", "scheme"), sizes)


def select_all(page: Page) -> None:
    """Select all machines of a page."""
    page.get_by_label("Select all machines of this page").check()


def ask_to_arm(page: Page) -> None:
    select_all(page)
    page.get_by_role("button", name="Arm …", exact=True).click()
    page.get_by_text("Disks will be wiped").wait_for()


def preview_a_loss(page: Page) -> None:
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Delete it").wait_for()


def refuse(page: Page) -> None:
    page.get_by_label("Name").fill("refused")
    page.locator(".cm-content").click()
    page.keyboard.type("x = = 1")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Not saved: ").wait_for()


PREPARED: Mapping[str, tuple[str, Callable[[Page], None]]] = {
    **{name: (path, lambda _: None) for name, path in PAGES.items()},
    "selected": ("/console/machines?q=node-", select_all),
    "confirm": ("/console/machines?q=node-", ask_to_arm),
    "preview": ("/console/document?kind=group&name=nodes&format=ks", preview_a_loss),
    "refused": ("/console/document/new?kind=group&format=toml", refuse),
}
"""Every page, and what is done on it before it is judged."""


def test_axe_finds_nothing_and_no_page_scrolls_sideways(opened: Open, width: int, scheme: Scheme) -> None:
    axe = (VENDOR / "axe.min.js").read_text("utf-8")
    findings = {}
    widths = {}
    with opened(width=width, scheme=scheme) as page:

        def judge(name: str) -> None:
            widths[name] = page.evaluate("document.documentElement.scrollWidth")
            if SCREENSHOTS:
                page.screenshot(path=Path(SCREENSHOTS) / f"{name.replace(' ', '-')}-{width}-{scheme}.png")
            page.evaluate(axe)  # by the debugger, which the page's policy does not bind
            findings[name] = page.evaluate(RUN)

        for name, (path, prepare) in PREPARED.items():
            page.goto(path)
            prepare(page)
            judge(name)
        page.context.clear_cookies()
        page.goto("/console/login")
        judge("log in")
    assert {name: found for name, found in findings.items() if found} == {}
    assert {name: wide for name, wide in widths.items() if wide > width} == {}
