"""Fixtures of the tests in a browser: skipped where Playwright or Chromium is missing (CONTRIBUTING.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from tests.console.browsing import Look, Windows, chromium, start
from tests.console.lab import Lab, populate

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Open = Callable[..., AbstractContextManager["Page"]]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium, once for the tests of this folder: its windows take a third of a processor while they are open."""
    if find_spec("playwright") is None:
        pytest.skip("Playwright is not installed: pip install -c requirements.txt -e '.[browser]'")
    if chromium() is None:
        pytest.skip("Chromium is not installed: apt install chromium")
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    with sync_playwright() as playwright:
        browser = start(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def windows(browser: Browser) -> Windows:
    """Windows that tests use in turn."""
    return Windows(browser)


@pytest.fixture(scope="package")
def lab(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab in a database that tests only read: some machines have installed, one has failed."""
    with Lab(tmp_path_factory.mktemp("lab")) as lab:
        populate(lab)
        yield lab


@pytest.fixture(scope="package")
def session(lab: Lab) -> str:
    """Somebody's log-in."""
    return lab.session()


@pytest.fixture
def opened(windows: Windows, lab: Lab, session: str) -> Open:
    """Opens a window with the session, or another; what else it is given is a `Look`."""
    own = session

    def open_window(session: str = own, **look: Any) -> AbstractContextManager[Page]:
        return windows.lend(lab, session=session, look=Look(**look))

    return open_window


@pytest.fixture
def page(opened: Open) -> Iterator[Page]:
    """A window of 1,024 pixels in the light scheme."""
    with opened() as page:
        yield page
