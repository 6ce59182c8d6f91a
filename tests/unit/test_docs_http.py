"""docs/http.md has every status that the answer endpoint sends, and the limits that the code has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from answerd.server import answer_app
from answerd.server.http import bodies, handler, parser, server
from answerd.server.http.server import Limits
from answerd.server.statuses import ANSWER_STATUSES
from tests.support.pages import rows

PAGE = (Path(__file__).parents[2] / "docs" / "http.md").read_text("utf-8")


def section(heading: str) -> str:
    """Return what is below a heading, up to the next of its level."""
    found = PAGE.partition(f"\n## {heading}\n")[2]
    assert found, heading
    return found.partition("\n## ")[0]


def test_the_table_has_every_status_that_is_sent_and_no_other() -> None:
    table = {int(cells[0]) for cells in rows(section("Statuses"), 3) if cells[0].isdigit()}
    assert table == ANSWER_STATUSES


def test_every_status_but_200_has_its_place_in_the_order() -> None:
    table = {cells[0] for cells in rows(section("Statuses"), 3) if cells[0].isdigit()}
    assert set(re.findall(r"\b[45]\d\d\b", section("Order of statuses"))) == table - {"200"}


@pytest.mark.parametrize(
    ("what", "limit"),
    [
        ("request line, without its line end", parser.MAX_REQUEST_LINE),
        ("header lines with their line ends", parser.MAX_HEADER_BLOCK),
        ("body, without the framing of chunks", answer_app.LARGEST_BODY),
        ("extensions and trailers of a chunked body", bodies.OVERHEAD_ALLOWED),
        ("what a client sends after its response", handler.LINGER_BYTES),
    ],
)
def test_a_limit_is_that_of_the_code(what: str, limit: int) -> None:
    table = {cells[0]: cells[1] for cells in rows(section("Limits"), 3)}
    assert f"{limit:,} bytes" in table[what]


def test_the_bounds_of_clients_that_are_still_sending_are_those_of_the_code() -> None:
    text = section("Clients that are still sending")
    assert f"{server.LINGER_SECONDS:g} seconds or {handler.LINGER_BYTES:,} bytes" in text
    assert f"{Limits().max_lingering:,} connections" in text


def test_the_bound_of_refusals_under_tls_is_that_of_the_code() -> None:
    assert f"at most {server.SHED_UNDER_TLS} clients" in section("503 and Retry-After")
