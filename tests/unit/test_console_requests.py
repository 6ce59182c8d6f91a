"""What the console reads of a request before it knows who asks: nothing that takes long."""

from __future__ import annotations

import gc
import time

import pytest

from answerd.console.page_request import cookie_of, pairs
from answerd.console.protection import COOKIE


@pytest.mark.parametrize(
    ("header", "identifier"),
    [
        (f"{COOKIE}=abc", "abc"),
        (f"a=b; {COOKIE}=abc; c=d", "abc"),
        (f"a=b;{COOKIE}=abc", "abc"),
        (f'a="b\\"; {COOKIE}=abc', "abc"),
        (f"{COOKIE}x=abc", ""),
        (f"x{COOKIE}=abc", ""),
        (COOKIE, ""),
        ("", ""),
    ],
)
def test_the_session_is_found_among_cookies(header: str, identifier: str) -> None:
    assert cookie_of({"cookie": header}) == identifier


@pytest.mark.parametrize("unit", ["\\", '\\"', "\\1", ";", "a=b;", "=", '"'])
def test_a_cookie_costs_time_in_proportion_to_its_length(unit: str) -> None:
    def seconds(times: int) -> float:
        header = {"cookie": f'a="{unit * (times // len(unit))}"'}
        gc.collect()
        gc.disable()  # a collection looks at what other tests have left, too
        try:
            began = time.thread_time()
            cookie_of(header)
            return time.thread_time() - began
        finally:
            gc.enable()

    assert any(seconds(40_000) < max(0.003, 6 * seconds(10_000)) for _ in range(3))


def test_a_form_has_so_many_fields_and_no_more() -> None:
    assert pairs("a=%41&a=b&c=") == {"a": ["A", "b"], "c": [""]}
    with pytest.raises(ValueError, match="fields"):
        pairs("a=b&" * 10_001)
