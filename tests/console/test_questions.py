"""Questions of an operator that a page answers, each in at most so many clicks from the first page.

Rules: docs/console.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.console.browsing import Look, Windows
from tests.console.lab import DOCUMENTS, NODES, Lab, populate
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

SITE = {
    **DOCUMENTS,
    "groups/room.toml": '[match]\nsite = "room-1"\n[global]\nfqdn = "{{ desk }}.example.com"\n',
    "inventory/room.csv": "id,mac,site\npc-01,00:00:5e:00:53:c1,room-1\npc-02,00:00:5e:00:53:c2,room-1\n",
}


@pytest.fixture(scope="module")
def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab with a machine that gets an error, and one whose row has a wrong digit."""
    with Lab(tmp_path_factory.mktemp("questions"), documents=SITE) as lab:
        populate(lab)
        assert lab.service.get("/toml?mac=00:00:5e:00:53:c1").status == 500
        lab.service.get("/toml?mac=00:00:5e:00:53:d2&serial=SN-D2")
        session = lab.session()
        wait_until(lambda: "got 500" in lab.page(session, "/console/machine?id=pc-01").text)
        wait_until(lambda: "one digit off" in lab.page(session, "/console/machine?id=pc-02").text)
        yield lab


@pytest.fixture(params=[True, False], ids=["with scripts", "without scripts"])
def operator(windows: Windows, site: Lab, request: pytest.FixtureRequest) -> Iterator[Page]:
    with windows.lend(site, session=site.session(), look=Look(scripts=request.param)) as page:
        page.goto("/console/")
        yield page


def verdict(page: Page) -> Locator:
    return page.get_by_role("region", name="Verdict")


def test_why_did_it_fail(operator: Page) -> None:
    operator.get_by_role("link", name=NODES[33], exact=True).first.click()
    sentence = verdict(operator).inner_text()
    assert sentence.startswith("It failed ")
    assert "no disk larger than 32 GB" in sentence
    log = operator.get_by_role("region", name="Log of the failure")
    assert "storage: no disk larger than 32 GB" in log.inner_text()
    verdict(operator).get_by_role("button", name="Let it install …").click()
    operator.get_by_role("heading", name="Arm 1 machine?").wait_for()


def test_a_machine_that_gets_500(operator: Page) -> None:
    operator.goto("/console/machine?id=pc-01")
    assert "got 500" in verdict(operator).inner_text()
    verdict(operator).get_by_role("link", name="Open group room (toml):4").click()
    operator.wait_for_url("**line=4")
    assert "{{ desk }}" in operator.locator("textarea").input_value()


def test_a_wrong_digit(operator: Page) -> None:
    operator.goto("/console/machine?id=pc-02")
    assert "one digit off" in verdict(operator).inner_text()
    verdict(operator).get_by_role("link", name="Correct the row").click()
    assert operator.get_by_label("mac").input_value() == "00:00:5e:00:53:c2"


def test_which_of_a_class_are_done(operator: Page) -> None:
    operator.get_by_role("link", name="group", exact=True).click()
    progress = operator.get_by_role("region", name="Progress")
    line = progress.get_by_role("listitem").filter(has=operator.get_by_role("link", name="nodes", exact=True))
    assert "31 of 50 installed" in line.inner_text()
    line.get_by_role("link", name="nodes", exact=True).click()
    grid = operator.get_by_role("region", name="Grid")
    assert grid.get_by_role("link", name="node-01: installed").inner_text() == "✓"
    failed = grid.get_by_role("link", name=f"{NODES[33]}: failed")
    assert failed.inner_text() == "✕"
    failed.focus()
    operator.keyboard.press("Enter")
    operator.wait_for_url(f"**id={NODES[33]}")
