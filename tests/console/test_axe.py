"""Each page judged by axe-core, in both colour schemes and three widths, none wider than its window.

Rules: docs/console.md#pages.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
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
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
EVERY_SIZE: list[tuple[int, Scheme]] = [(width, scheme) for width in (400, 1024, 1600) for scheme in SCHEMES]
SOME_SIZES: list[tuple[int, Scheme]] = [(400, "dark")]

RUN = """async () => {
  const found = await axe.run(document, {resultTypes: ["violations", "incomplete"]});
  // A contrast that cannot be told; but for the editor, whose colours test_editing measures, and cells behind a column
  // that stays.
  const isClear = (node) => document.querySelector(node.target[0])?.closest(".cm-editor, .sheet");
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


def test_axe_finds_nothing_serious_and_no_page_scrolls_sideways(opened: Open, width: int, scheme: Scheme) -> None:
    axe = (VENDOR / "axe.min.js").read_text("utf-8")
    findings = {}
    widths = {}
    with opened(width=width, scheme=scheme) as page:
        for name, path in PAGES.items():
            page.goto(path)
            widths[name] = page.evaluate("document.documentElement.scrollWidth")
            page.evaluate(axe)  # by the debugger, which the page's policy does not bind
            findings[name] = [finding for finding in page.evaluate(RUN) if finding[0] in ("serious", "critical")]
        page.context.clear_cookies()
        page.goto("/console/login")
        page.evaluate(axe)
        findings["log in"] = [finding for finding in page.evaluate(RUN) if finding[0] in ("serious", "critical")]
    assert {name: found for name, found in findings.items() if found} == {}
    assert {name: wide for name, wide in widths.items() if wide > width} == {}


def test_axe_is_the_file_that_was_made() -> None:
    (entry,) = json.loads((VENDOR / "vendor.json").read_text("utf-8"))["files"]
    content = (VENDOR / entry["file"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == entry["sha256"]
    assert [package["license"] for package in entry["packages"]] == ["MPL-2.0"]
    assert "== axe-core\n" in (VENDOR / "LICENSES.txt").read_text("utf-8")
