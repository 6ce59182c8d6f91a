"""The token check and the block after failures, on a clock that the tests set."""

from __future__ import annotations

import pytest

from answerd.server.bearer import TRACKED_ADDRESSES, FailureBlock, is_bearer
from tests.admin_client import Clock

TOKEN = "correct-token-0123456789"
ADDRESS = "192.0.2.1"


@pytest.mark.parametrize(
    "header",
    [
        pytest.param(f"Bearer {TOKEN}", id="as documented"),
        pytest.param(f"bEARER {TOKEN}", id="scheme in another letter case"),
        pytest.param(f"Bearer   {TOKEN} ", id="blanks around the token"),
    ],
)
def test_the_right_token_is_accepted(header: str) -> None:
    assert is_bearer(header, TOKEN)


@pytest.mark.parametrize(
    "header",
    [
        pytest.param(None, id="no header"),
        pytest.param("", id="empty header"),
        pytest.param("Bearer", id="no token"),
        pytest.param("Bearer ", id="empty token"),
        pytest.param(TOKEN, id="no scheme"),
        pytest.param(f"Basic {TOKEN}", id="another scheme"),
        pytest.param(f"Bearer {TOKEN}x", id="one character more"),
        pytest.param(f"Bearer {TOKEN[:-1]}", id="one character less"),
        pytest.param(f"Bearer {TOKEN.upper()}", id="another letter case"),
        pytest.param(f"Bearer {TOKEN}, Bearer {TOKEN}", id="two headers joined"),
        pytest.param("Bearer t\xf6ken-\xff\xfe", id="bytes that are no UTF-8"),
        pytest.param("Bearer \u20ac", id="characters that no header can hold"),
    ],
)
def test_anything_else_is_refused(header: str | None) -> None:
    assert not is_bearer(header, TOKEN)


def test_a_token_that_is_not_ascii_is_compared_as_utf8() -> None:
    token = "schlüssel-€-0123456789"

    assert is_bearer("Bearer " + token.encode().decode("latin-1"), token)
    assert not is_bearer("Bearer schl\xfcssel-0123456789", token)


def test_an_empty_token_lets_nobody_in_without_a_scheme() -> None:
    assert not is_bearer("", "")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def block(clock: Clock) -> FailureBlock:
    return FailureBlock(clock)


def fail(block: FailureBlock, times: int, address: str = ADDRESS) -> list[int]:
    return [block.failed(address) for _ in range(times)]


def test_the_fifth_failure_within_a_minute_blocks_for_a_minute(block: FailureBlock) -> None:
    assert fail(block, 5) == [0, 0, 0, 0, 60]
    assert block.seconds_left(ADDRESS) == 60


def test_four_failures_do_not_block(block: FailureBlock) -> None:
    fail(block, 4)

    assert block.seconds_left(ADDRESS) == 0


def test_failures_more_than_a_minute_apart_do_not_add_up(block: FailureBlock, clock: Clock) -> None:
    fail(block, 1)
    clock.now += 60.1

    assert fail(block, 4) == [0, 0, 0, 0]
    assert block.failed(ADDRESS) == 60


def test_five_failures_in_exactly_a_minute_block(block: FailureBlock, clock: Clock) -> None:
    fail(block, 4)
    clock.now += 60

    assert block.failed(ADDRESS) == 60


def test_what_is_left_of_a_block_counts_down_and_is_rounded_up(block: FailureBlock, clock: Clock) -> None:
    fail(block, 5)

    left = []
    for passed in (0.5, 0.5, 58.9, 0.1):
        clock.now += passed
        left.append(block.seconds_left(ADDRESS))

    assert left == [60, 59, 1, 0]


def test_each_further_block_doubles_up_to_fifteen_minutes(block: FailureBlock, clock: Clock) -> None:
    lengths = []
    for _ in range(7):
        lengths.append(fail(block, 5)[-1])
        clock.now += lengths[-1]

    assert lengths == [60, 120, 240, 480, 900, 900, 900]


def test_a_success_clears_the_run_of_failures(block: FailureBlock) -> None:
    fail(block, 4)
    block.succeeded(ADDRESS)

    assert fail(block, 5) == [0, 0, 0, 0, 60]


def test_a_success_clears_no_block_and_not_the_length_of_the_next(block: FailureBlock, clock: Clock) -> None:
    fail(block, 5)
    block.succeeded(ADDRESS)
    assert block.seconds_left(ADDRESS) == 60
    clock.now += 60
    block.succeeded(ADDRESS)

    assert fail(block, 5)[-1] == 120


def test_one_address_does_not_block_another(block: FailureBlock) -> None:
    fail(block, 5)

    assert block.seconds_left("192.0.2.2") == 0


def test_ten_thousand_addresses_are_no_more_than_the_table_holds(block: FailureBlock) -> None:
    for number in range(10_000):
        block.failed(f"10.0.{number // 250}.{number % 250}")

    assert len(block) == TRACKED_ADDRESSES


def test_a_success_leaves_no_trace_of_an_address_that_was_never_blocked(block: FailureBlock) -> None:
    fail(block, 4)
    block.succeeded(ADDRESS)

    assert len(block) == 0


def test_what_has_run_out_makes_room_before_what_has_not(clock: Clock) -> None:
    block = FailureBlock(clock, capacity=3)
    fail(block, 5, "blocked")
    fail(block, 4, "run out")
    clock.now += 59
    fail(block, 4, "still failing")
    clock.now += 2  # the block has ended by now too, and is the oldest
    fail(block, 1, "new")

    assert len(block) == 3
    assert fail(block, 1, "still failing") == [60]


def test_a_block_survives_however_many_addresses_come(clock: Clock) -> None:
    block = FailureBlock(clock, capacity=3)
    fail(block, 5)
    for number in range(100):
        fail(block, 1, f"10.0.0.{number}")

    assert block.seconds_left(ADDRESS) == 60
    assert len(block) == 3


def test_the_oldest_that_is_not_blocked_makes_room(clock: Clock) -> None:
    block = FailureBlock(clock, capacity=3)
    fail(block, 5, "blocked")
    fail(block, 4, "older")
    clock.now += 1
    fail(block, 4, "newer")
    fail(block, 1, "newest")

    assert fail(block, 1, "newer") == [60], "it was kept, with its four failures"
    assert fail(block, 1, "older") == [0], "it was forgotten"


def test_the_oldest_is_the_one_whose_last_failure_lies_farthest_back(clock: Clock) -> None:
    block = FailureBlock(clock, capacity=2)
    fail(block, 3, "came first, failed last")
    fail(block, 4, "came last, failed first")
    fail(block, 1, "came first, failed last")
    fail(block, 1, "new")

    assert fail(block, 1, "came first, failed last") == [60]


def test_where_all_are_blocked_one_more_address_is_not_tracked(clock: Clock) -> None:
    block = FailureBlock(clock, capacity=2)
    fail(block, 5, "a")
    fail(block, 5, "b")

    assert fail(block, 5, "c") == [0, 0, 0, 0, 0]
    assert (block.seconds_left("a"), block.seconds_left("b"), len(block)) == (60, 60, 2)
