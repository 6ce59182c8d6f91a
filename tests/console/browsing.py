"""Debian's Chromium, driven by Playwright: started once, with windows that tests use in turn."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tests.console.lab import Lab
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page, Playwright

Scheme = Literal["light", "dark"]

MILLISECONDS = 2000 * PATIENCE
"""What each step in a window has."""

SWITCHES = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-color-profile=srgb"]
"""Root cannot have Chromium's sandbox; only pages of this service are opened."""

NOTHING = "/console/static/icon.svg"
"""A page without a script. For one of another site Chromium would start a process, and for the console another."""

OFFLINE = re.compile("ERR_INTERNET_DISCONNECTED|ERR_CONNECTION_REFUSED")
"""What Chromium says while a test keeps a window from the network, or has stopped the service."""

REPORT = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
"""


def chromium() -> str | None:
    """Return the path of Chromium; None where it is not installed. Debian's build without a window takes half the
    processor time for a page."""
    return next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), None)


def start(playwright: Playwright) -> Browser:
    """Start Chromium without a window."""
    return playwright.chromium.launch(executable_path=chromium(), args=SWITCHES, timeout=MILLISECONDS)


def retype(page: Page, line: str, end: str, new: str) -> None:
    """Replace the end of the line of the editor that has a text."""
    page.locator(".cm-line", has_text=line).click()
    page.keyboard.press("End")
    for _ in end:
        page.keyboard.press("Backspace")
    page.keyboard.type(new)


Click = Callable[["Locator"], None]


@contextmanager
def clicks(most: int, page: Page | None = None) -> Iterator[Click]:
    """Give a function that clicks; fail where it is used more often, or where ``page`` loads more pages."""
    clicked: list[str] = []
    loaded: list[str] = []

    def note(page: Page) -> None:
        loaded.append(page.url)

    def click(where: Locator) -> None:
        clicked.append(str(where))
        where.click()

    if page is not None:
        page.on("load", note)
    yield click
    assert len(clicked) <= most, clicked
    assert len(loaded) <= most, loaded
    if page is not None:
        page.remove_listener("load", note)


class Faults:
    """What went wrong on the pages of a window: errors of scripts, refusals of the policy, files that did not come."""

    def __init__(self, page: Page) -> None:
        self.found: list[str] = []
        page.on("console", lambda message: self._note(message.type, message.text))
        page.on("pageerror", lambda error: self.found.append(f"script: {error}"))
        page.on("requestfailed", self._failed)

    def _note(self, kind: str, text: str) -> None:
        # Chromium writes a line for each reply of 400 and more; a test that provokes one looks at the reply itself.
        if (
            kind == "error"
            and not text.startswith("Failed to load resource: the server responded")
            and not OFFLINE.search(text)
        ):
            self.found.append(f"console: {text}")

    def _failed(self, request: Any) -> None:
        failure = request.failure or ""
        if "ERR_ABORTED" not in failure and not OFFLINE.search(
            failure
        ):  # a page was left while it was loading something
            self.found.append(f"request: {request.url} {request.failure}")


@dataclass(frozen=True)
class Look:
    """What a window is: its size in pixels, its colour scheme, whether scripts run, pixels of the screen for one."""

    width: int = 1024
    height: int = 900
    scheme: Scheme = "light"
    scripts: bool = True
    scale: float = 1


def open_page(browser: Browser, lab: Lab, look: Look) -> Page:
    """Open a window with nothing in it, not even a cookie."""
    context = browser.new_context(
        base_url=lab.url,
        viewport={"width": look.width, "height": look.height},
        color_scheme=look.scheme,
        java_script_enabled=look.scripts,
        device_scale_factor=look.scale,
        reduced_motion="reduce",
    )
    context.set_default_timeout(MILLISECONDS)
    if look.scripts:
        context.add_init_script(REPORT)
    return context.new_page()


def log_in(page: Page, lab: Lab, session: str) -> None:
    """Give the window a session; none where it is empty."""
    if session:
        page.context.add_cookies([{"name": "answerd_session", "value": session, "url": lab.url}])


def judge(page: Page, faults: Faults, look: Look) -> None:
    """Fail when anything went wrong on the pages of a window."""
    if look.scripts:
        faults.found += [f"policy: {violation}" for violation in page.evaluate("window.violations ?? []")]
    if faults.found:
        raise AssertionError(f"{page.url}: {faults.found}")


@contextmanager
def window(browser: Browser, lab: Lab, *, session: str = "", look: Look = Look()) -> Iterator[Page]:
    """Open a window; fail when anything went wrong on its pages."""
    page = open_page(browser, lab, look)
    faults = Faults(page)
    log_in(page, lab, session)
    try:
        yield page
        judge(page, faults, look)
    finally:
        page.context.close()


class Windows:
    """Windows that tests use in turn: Chromium needs a second of a processor for each that it opens."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._kept: dict[tuple[str, Look], tuple[Page, Faults]] = {}

    @contextmanager
    def lend(self, lab: Lab, *, session: str = "", look: Look = Look()) -> Iterator[Page]:
        """Lend a window that holds nothing of an earlier test but files of the console; fail as `window` does."""
        key = lab.url, look
        if key not in self._kept:
            page = open_page(self._browser, lab, look)
            self._kept[key] = page, Faults(page)
        page, faults = self._kept.pop(key)
        log_in(page, lab, session)
        try:
            yield page
            judge(page, faults, look)
            page.goto(NOTHING)
            if look.scripts:
                page.evaluate("sessionStorage.clear()")
            page.context.clear_cookies()
            assert page.context.pages == [page]
            faults.found.clear()
        except BaseException:
            page.context.close()
            raise
        self._kept[key] = page, faults
