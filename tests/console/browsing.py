"""Debian's Chromium, driven by Playwright: started once, a window of its own for each test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from tests.console.lab import Lab

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Playwright

Scheme = Literal["light", "dark"]

SWITCHES = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-color-profile=srgb"]
"""Root cannot have Chromium's sandbox; only pages of this service are opened."""

REPORT = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
"""


def chromium() -> str | None:
    """Return the path of Chromium; None where it is not installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


def start(playwright: Playwright) -> Browser:
    """Start Chromium without a window."""
    return playwright.chromium.launch(executable_path=chromium(), args=SWITCHES)


class Faults:
    """What went wrong on the pages of a window: errors of scripts, refusals of the policy, files that did not come."""

    def __init__(self, page: Page) -> None:
        self.found: list[str] = []
        page.on("console", lambda message: self._note(message.type, message.text))
        page.on("pageerror", lambda error: self.found.append(f"script: {error}"))
        page.on("requestfailed", self._failed)

    def _note(self, kind: str, text: str) -> None:
        # Chromium writes a line for each reply of 400 and more; a test that provokes one looks at the reply itself.
        if kind == "error" and not text.startswith("Failed to load resource: the server responded"):
            self.found.append(f"console: {text}")

    def _failed(self, request: Any) -> None:
        if "ERR_ABORTED" not in (request.failure or ""):  # a page was left while it was loading something
            self.found.append(f"request: {request.url} {request.failure}")


@contextmanager
def window(
    browser: Browser,
    lab: Lab,
    *,
    width: int = 1024,
    height: int = 900,
    scheme: Scheme = "light",
    session: str = "",
    scripts: bool = True,
    scale: float = 1,
) -> Iterator[Page]:
    """Open a window; fail when anything went wrong on its pages."""
    context = browser.new_context(
        base_url=lab.url,
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        java_script_enabled=scripts,
        device_scale_factor=scale,
        reduced_motion="reduce",
    )
    context.set_default_timeout(10_000)
    if session:
        context.add_cookies([{"name": "answerd_session", "value": session, "url": lab.url}])
    if scripts:
        context.add_init_script(REPORT)
    page = context.new_page()
    faults = Faults(page)
    try:
        yield page
        if scripts:
            faults.found += [f"policy: {violation}" for violation in page.evaluate("window.violations ?? []")]
        if faults.found:
            raise AssertionError(f"{page.url}: {faults.found}")
    finally:
        context.close()
