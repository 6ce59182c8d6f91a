"""Installs in a browser: fifty machines watched to their end, orders, history, and machines that nothing claims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.console.browsing import Windows
from tests.console.lab import NODES, Lab
from tests.support.thorough import is_thorough

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "installing" in metafunc.fixturenames:
        stores = ["sqlite", "files"] if is_thorough() else ["files"]
        metafunc.parametrize("installing", stores, indirect=True, scope="module")


@pytest.fixture(scope="module")
def installing(
    browser: Browser, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Lab]:
    with Lab(tmp_path_factory.mktemp("installing"), request.param, SERVICE_WORKERS=2) as lab:
        yield lab


@pytest.fixture
def operator(windows: Windows, installing: Lab) -> Iterator[Page]:
    with windows.lend(installing, session=installing.session()) as page:
        yield page


def tile(page: Page, word: str, count: int) -> None:
    """Wait until the first page counts so many machines in a state, without being loaded again."""
    page.locator(".tile", has_text=word).locator("b", has_text=f"{count}").wait_for()


def test_fifty_machines_are_watched_to_their_end(operator: Page, installing: Lab) -> None:
    with operator.expect_response("**/events") as events:
        operator.goto("/console/")
    assert events.value.status == 200
    reports = {name: installing.install(name) for name in NODES}
    tile(operator, "installing", 50)
    operator.locator("#requests tbody tr").nth(29).wait_for()  # they are shown by another event than the tiles
    assert operator.locator("#requests tbody tr").count() == 30
    for name, path in reports.items():
        if name != NODES[-1]:
            assert installing.service.get(f"{path}/installed").status == 200
    installing.service.get(f"{reports[NODES[-1]]}/failed?message=no+disk")
    tile(operator, "installed", 49)
    tile(operator, "failed", 1)
    token = reports[NODES[0]].rpartition("/")[2]
    assert token not in operator.content()
    failed = operator.get_by_role("region", name="Failed last")
    assert "no disk" in failed.inner_text()
    operator.locator(".tile", has_text="failed").click()
    assert operator.locator("tbody a").first.inner_text() == NODES[-1]
    operator.get_by_role("link", name=NODES[-1]).click()
    assert "no disk" in operator.get_by_role("region", name="History").inner_text()
    answer = operator.locator(".answer").inner_text()  # as an armed machine would get it; the URL is worth nothing
    assert "/report/" in answer
    assert token not in answer


def test_a_stretch_is_selected_with_the_shift_key_and_stays_so_while_the_table_follows(
    operator: Page, installing: Lab
) -> None:
    operator.goto("/console/machines?q=node-")
    boxes = operator.locator("tbody input[type=checkbox]")
    boxes.nth(2).click()
    boxes.nth(6).click(modifiers=["Shift"])
    assert [boxes.nth(at).is_checked() for at in range(9)] == [2 <= at <= 6 for at in range(9)]
    assert operator.get_by_text("5 selected").is_visible()
    path = installing.install("node-50")
    installing.service.get(f"{path}/progress?message=packages&percent=20")
    operator.locator("tbody tr", has_text="node-50").get_by_text("packages").wait_for()
    assert [boxes.nth(at).is_checked() for at in range(9)] == [2 <= at <= 6 for at in range(9)]
    assert operator.get_by_text("5 selected").is_visible()
    assert operator.evaluate("document.activeElement.value") == "node-07"


def test_all_machines_of_a_view_are_selected_until_one_is_taken_out(operator: Page) -> None:
    operator.goto("/console/machines?q=LAB0")
    matching = operator.get_by_label("matching")
    matching.check()
    boxes = operator.locator("tbody input[type=checkbox]")
    assert [boxes.count(), operator.locator("tbody input:checked").count()] == [100, 100]
    boxes.nth(3).uncheck()
    assert not matching.is_checked()
    assert operator.get_by_text("99 selected").is_visible()
