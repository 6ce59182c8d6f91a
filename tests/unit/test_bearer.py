"""The block after failures, on a clock that the tests set."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from answerd.server.bearer import TRACKED_ADDRESSES, FailureBlock, is_guess
from tests.support.admin import Clock
from tests.support.thorough import examples

TOKEN = "correct-token-0123456789"
ADDRESS = "192.0.2.1"
MANY = 2**60  # buckets, so that no two addresses share one


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def block(clock: Clock) -> FailureBlock:
    return FailureBlock(clock)


def fail(block: FailureBlock, times: int, address: str = ADDRESS) -> list[int]:
    return [block.failed(address) for _ in range(times)]


def test_a_flood_of_addresses_ends_no_block_and_takes_no_more_memory(clock: Clock) -> None:
    block = FailureBlock(clock, capacity=100)
    blocked = [f"10.1.0.{number}" for number in range(100)]
    for address in blocked:
        fail(block, 5, address)
    for number in range(20_000):
        block.failed(f"10.2.{number // 250}.{number % 250}")

    assert all(block.seconds_left(address) for address in blocked)
    assert len(block) == 100
    assert len(block._blocked_buckets) <= TRACKED_ADDRESSES


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:DB8:1:2:0::2", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("fe80::1", "fe80::2", True),
        ("192.0.2.1", "192.0.2.2", False),
    ],
)
def test_an_ipv6_address_counts_with_its_network_of_64_bits(
    block: FailureBlock, first: str, second: str, same: bool
) -> None:
    fail(block, 4, first)

    assert block.failed(second) == (60 if same else 0)
    assert bool(block.seconds_left(first)) == same


@pytest.mark.parametrize(
    ("header", "guesses"),
    [
        (None, False),
        ("", False),
        ("Bearer", False),
        ("Bearer  ", False),
        ("Basic dXNlcjpwYXNzd29yZA==", False),
        ("bearer x", True),
        (f"Bearer {TOKEN}", True),
    ],
)
def test_only_a_bearer_token_is_a_guess(header: str | None, guesses: bool) -> None:
    assert is_guess(header) == guesses


class LiteralBlock:
    """What `docs/admin-api.md` says about wrong tokens, read literally and slowly."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.failures: dict[str, list[float]] = {}  # in the order of their last failure
        self.blocks: dict[str, list[tuple[float, float]]] = {}
        self.untracked: dict[str, float] = {}

    def left(self, address: str, now: float) -> float:
        if address in self.failures:
            return max([until - now for _, until in self.blocks.get(address, [])], default=0)
        return self.untracked.get(address, now) - now

    def fail(self, address: str, now: float) -> float:
        if address not in self.failures and len(self.failures) >= self.capacity:
            free = [candidate for candidate in self.failures if self.left(candidate, now) <= 0]
            over = [candidate for candidate in free if not self.recent(candidate, now)]
            if not free:
                self.untracked[address] = now + 60
                return 60
            gone = (over or free)[0]
            del self.failures[gone]
            self.blocks.pop(gone, None)
        times = [*self.failures.pop(address, []), now]
        self.failures[address] = times
        if len(self.recent(address, now)) < 5:
            return 0
        length = min(60.0 * 2.0 ** len(self.blocks.get(address, [])), 900.0)
        self.blocks.setdefault(address, []).append((now, now + length))
        return length

    def recent(self, address: str, now: float) -> list[float]:
        begins = max((began for began, _ in self.blocks.get(address, [])), default=-1.0)
        return [when for when in self.failures[address] if now - when <= 60 and when > begins]

    def succeed(self, address: str, now: float) -> None:
        if address not in self.failures:
            return
        if address in self.blocks:
            others = {other: times for other, times in self.failures.items() if other != address}
            self.failures = {address: [], **others}
        else:
            del self.failures[address]


@settings(max_examples=examples(250))
@given(
    st.integers(1, 4),
    st.lists(
        st.tuples(st.sampled_from("abcdef"), st.sampled_from(["fail", "fail", "fail", "5", "5", "succeed"]),
                  st.sampled_from([0.25, 1, 14, 15, 16, 59.5, 60, 61, 300, 901])),
        max_size=60,
    ),
)  # fmt: skip
@example(1, [("d", "5", 0.25), ("d", "fail", 60), ("d", "succeed", 0.25), ("d", "5", 0.25)])
def test_the_table_does_what_a_literal_reading_says(capacity: int, steps: list[tuple[str, str, float]]) -> None:
    clock = Clock()
    block, literal = FailureBlock(clock, capacity, MANY), LiteralBlock(capacity)
    for address, step, seconds in steps:
        clock.now += seconds
        for other in "abcdef":
            assert block.seconds_left(other) == max(0, math.ceil(literal.left(other, clock.now))), other
        assert len(block) == len(literal.failures) <= capacity
        if block.seconds_left(address):  # answered 429, and not counted
            continue
        if step == "succeed":
            block.succeeded(address)
            literal.succeed(address, clock.now)
        for _ in range({"fail": 1, "5": 5}.get(step, 0)):
            clock.now += 0.125
            if not block.seconds_left(address):
                assert block.failed(address) == literal.fail(address, clock.now)
