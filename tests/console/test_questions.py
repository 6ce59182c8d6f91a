"""Questions of an operator that a page answers, each in at most so many clicks from the first page.

Rules: docs/console.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.console.browsing import Look, Windows, clicks
from tests.console.lab import DOCUMENTS, LOG, NODES, Lab, populate
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

SITE = {
    **DOCUMENTS,
    "groups/room.toml": '[match]\nsite = "room-1"\n[global]\nfqdn = "{{ desk }}.example.com"\n',
    "inventory/room.csv": (
        "id,mac,serial,site\npc-01,00:00:5e:00:53:c1,,room-1\npc-02,00:00:5e:00:57:c2,,room-1\npc-03,,7ABC-124,room-1\n"
    ),
}
MISTYPED = {
    "with scripts": ("pc-02", "mac", "00:00:5e:00:57:c2", "00:00:5e:00:57:d2"),
    "without scripts": ("pc-03", "serial", "7ABC-124", "7ABC-125"),
}
"""A row with a wrong digit, its column, what it has, and what the machine sends. A test mends it."""

FRESH = iter(NODES[42:])
"""Machines that nothing has happened to."""


@pytest.fixture(scope="module")
def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab with a machine that gets an error, and two whose rows have a wrong digit."""
    with Lab(tmp_path_factory.mktemp("questions"), documents=SITE) as lab:
        populate(lab)
        assert lab.service.get("/toml?mac=00:00:5e:00:53:c1").status == 500
        session = lab.session()
        wait_until(lambda: "got 500" in lab.page(session, "/console/machine?id=pc-01").text)
        for _, column, _, sent in MISTYPED.values():
            lab.service.get(f"/toml?{column}={sent}")

        def are_near() -> bool:
            pages = [lab.page(session, f"/console/machine?id={row}").text for row, *_ in MISTYPED.values()]
            return all("one digit off" in page for page in pages)

        wait_until(are_near)
        yield lab


@pytest.fixture(params=[True, False], ids=[*MISTYPED])
def operator(windows: Windows, site: Lab, request: pytest.FixtureRequest) -> Iterator[Page]:
    with windows.lend(site, session=site.session(), look=Look(scripts=request.param)) as page:
        page.goto("/console/")
        yield page


def verdict(page: Page) -> Locator:
    return page.get_by_role("region", name="Verdict")


def test_why_did_it_fail_and_let_it_install_again(operator: Page, site: Lab) -> None:
    """The reason in two clicks at most, and armed with the third."""
    name = next(FRESH)
    site.service.post(f"{site.install(name)}/failed?message=no%20disk%20larger%20than%2032%20GB", LOG)
    operator.goto("/console/")
    with clicks(3, operator) as click:
        with clicks(2, operator) as first:
            first(operator.get_by_role("region", name="Failed last").get_by_role("link", name=name, exact=True))
            sentence = verdict(operator).inner_text()
            assert sentence.startswith("It failed ")
            assert "no disk larger than 32 GB" in sentence
            log = operator.get_by_role("region", name="Log of the failure")
            assert log.inner_text().splitlines()[-1] == "  storage: no disk larger than 32 GB"
        click(verdict(operator).get_by_role("button", name="Let it install …"))
        click(operator.get_by_role("button", name="Arm 1 machine"))
        operator.get_by_text("1 machine armed").wait_for()
    assert verdict(operator).inner_text().startswith("It was armed ")


def test_a_machine_that_gets_500(operator: Page) -> None:
    """The verdict in one click."""
    with clicks(1, operator) as click:
        click(operator.get_by_role("region", name="Last requests").get_by_role("link", name="pc-01", exact=True).first)
        assert "got 500" in verdict(operator).inner_text()
        way = verdict(operator).get_by_role("link", name="Open group room (toml):4")
        way.wait_for()
    way.click()
    operator.wait_for_url("**line=4")
    assert "{{ desk }}" in operator.locator("textarea").input_value()


def test_a_wrong_digit(operator: Page, request: pytest.FixtureRequest) -> None:
    """Two clicks to the cell by the machine that asks; the row's own page says who asks, and leads there too."""
    row, column, written, sent = MISTYPED[request.node.callspec.id]
    with clicks(2, operator) as click:
        feed = operator.get_by_role("region", name="Last requests")
        click(feed.get_by_role("link", name=sent, exact=True).first)
        assert f"{sent} is one digit off: {row}, which never asked" in verdict(operator).inner_text()
        click(verdict(operator).get_by_role("link", name=f"Correct the row of {row}"))
        assert operator.get_by_label(column).input_value() == written
    operator.goto(f"/console/machine?id={row}")
    assert f"but one digit off, {sent} asked" in verdict(operator).inner_text()
    verdict(operator).get_by_role("link", name="Correct the row").click()
    operator.get_by_label(column).fill(sent)
    operator.keyboard.press("Enter")
    operator.get_by_text("Saved as version").wait_for()
    operator.goto(f"/console/machine?id={row}")
    assert "one digit off" not in verdict(operator).inner_text()


def test_which_of_a_class_are_done(operator: Page) -> None:
    """The count and each machine in one click."""
    progress = operator.get_by_role("region", name="Progress")
    line = progress.get_by_role("listitem").filter(has=operator.get_by_role("link", name="nodes", exact=True))
    with clicks(1, operator) as click:
        click(operator.get_by_role("link", name="group", exact=True))
        assert "31 of 50 installed" in line.inner_text()
        assert line.get_by_role("link", name=": installed").count() == 31
        assert line.get_by_role("img", name="nodes, 31 of 50 installed: the first ").is_visible()
    line.get_by_role("link", name="nodes", exact=True).click()
    grid = operator.get_by_role("region", name="Grid")
    assert grid.get_by_role("link", name="node-01: installed").inner_text() == "✓"
    failed = grid.get_by_role("link", name=f"{NODES[33]}: failed")
    assert failed.inner_text() == "✕"
    failed.focus()
    operator.keyboard.press("Enter")
    operator.wait_for_url(f"**id={NODES[33]}")
