"""Makes the pictures of docs/console.md and the README: python -m tests.console.pictures [DIRECTORY]

Needs Playwright and Chromium, as the tests of the console do. `scripts/pictures` runs it.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.console.browsing import Look, Scheme, retype, start, window
from tests.console.lab import CHECKOUT, ONCE, Lab, populate

if TYPE_CHECKING:
    from playwright.sync_api import Page

IMAGES = CHECKOUT / "docs" / "images"


class Picture(NamedTuple):
    """One picture. ``prepare`` is done on the page before it is taken."""

    path: str
    scheme: Scheme = "light"
    width: int = 1280
    height: int = 800
    prepare: Callable[[Page], None] = lambda page: None


STORE = "document.querySelector('.head .sub').textContent = 'answerd · sqlite:/var/lib/answerd/answers.db'"


def watch(page: Page) -> None:
    """Wait until all problems are counted; the database of an example has a name that says nothing."""
    page.locator("a.tile", has_text="…").wait_for(state="detached")
    page.evaluate(STORE)


def preview(page: Page) -> None:
    """Change a value in the editor, and ask what that would change."""
    retype(page, "layout: us", "us", "de")
    page.get_by_role("button", name="Preview what changes").click()
    page.get_by_text(re.compile("get another answer")).first.wait_for()


PICTURES: Mapping[str, Picture] = {
    "console-now": Picture("/console/?by=group", height=1080, prepare=watch),
    "console-machines": Picture("/console/machines?group=nodes&sort=state", "dark"),
    "console-machine": Picture("/console/machine?id=web-001", height=1400),
    "console-preview": Picture("/console/document?kind=group&name=ubuntu&format=yaml", height=860, prepare=preview),
    "console-telephone": Picture("/console/machines?group=nodes&state=failed", "dark", 400, 720),
}


def main(directory: Path) -> None:
    """Make all pictures."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    directory.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as home,
        Lab(Path(home), documents={"groups/nodes.ks": ONCE}) as lab,
        sync_playwright() as playwright,
    ):
        populate(lab)
        browser = start(playwright)
        for name, picture in PICTURES.items():
            with window(
                browser,
                lab,
                session=lab.session(),
                look=Look(picture.width, picture.height, picture.scheme),
            ) as page:
                page.goto(picture.path)
                picture.prepare(page)
                page.wait_for_timeout(300)
                page.screenshot(path=directory / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else IMAGES)
