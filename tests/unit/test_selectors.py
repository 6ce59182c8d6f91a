"""The selector index says what trying every selector would (SPEC 7)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerd.answers.selectors import SelectorIndex, holds
from answerd.facts import Facts, Request
from answerd.formats.control import Criterion, Pattern

labels = st.sampled_from(["serial", "product", "vendor"])
words = st.text(alphabet="aB1-", min_size=1, max_size=3).filter(lambda word: word.strip("-"))
patterns = st.text(alphabet="aB1*?-", min_size=1, max_size=4).filter(lambda text: text.strip("-"))
criteria = st.dictionaries(labels, st.lists(patterns, min_size=1, max_size=3), min_size=1).map(
    lambda match: tuple(Criterion(label, tuple(map(Pattern, texts))) for label, texts in match.items())
)
requests = st.lists(st.tuples(labels, words), max_size=6).map(
    lambda facts: Facts(Request(query="&".join(f"{label}={value}" for label, value in facts)))
)


@given(st.lists(criteria, max_size=12), requests)
def test_the_index_agrees_with_trying_all(selectors: list[tuple[Criterion, ...]], facts: Facts) -> None:
    index = SelectorIndex(enumerate(selectors))
    assert sorted(index.holding(facts)) == [number for number, match in enumerate(selectors) if holds(match, facts)]


@given(criteria, requests)
def test_two_owners_of_one_selector_both_hold(match: tuple[Criterion, ...], facts: Facts) -> None:
    assert len(SelectorIndex([("a", match), ("b", match)]).holding(facts)) in (0, 2)


@given(patterns, words)
def test_a_pattern_is_a_wildcard_over_the_letters_and_digits(pattern: str, value: str) -> None:
    def form(text: str) -> str:
        return re.sub(r"[^a-z0-9*?]", "", text.lower())

    expected = re.fullmatch(form(pattern).replace("*", ".*").replace("?", "."), re.sub("[*?]", "", form(value)))
    facts = Facts(Request(query=f"x={value}"))
    assert holds([Criterion("x", (Pattern(pattern),))], facts) == bool(expected)


@pytest.mark.parametrize(
    ("pattern", "value", "matches"),
    [
        ("7ABC*", "7abc-123", True),
        ("7ABC*", "7ABC", True),
        ("7ABC*", "17ABC", False),
        ("PowerEdge R6?0", "PowerEdge  R620", True),
        ("PowerEdge R6?0", "PowerEdge R60", False),
        ("Dell Inc.", "dell-inc", True),
        ("*", "---", True),
        ("?", "-", False),
        ("[ab]*", "ab1", True),  # brackets are punctuation
        ("[ab]*", "a", False),
        ("Ä*", "ärmel", True),
        ("*a*a*a*a*a*a*a*a*a*b", "a" * 20_000, False),
    ],
)
def test_patterns(pattern: str, value: str, matches: bool) -> None:
    facts = Facts(Request(query=f"x={value}".encode().decode("latin-1")))
    assert holds([Criterion("x", (Pattern(pattern),))], facts) is matches


def test_a_request_without_the_label_never_satisfies_a_criterion() -> None:
    assert not holds([Criterion("serial", (Pattern("*"),))], Facts(Request(query="mac=1")))


def test_any_value_of_a_label_will_do_and_every_criterion_must_hold() -> None:
    facts = Facts(Request(query="mac=aa&mac=bb&serial=1"))
    assert holds([Criterion("mac", (Pattern("bb"),)), Criterion("serial", (Pattern("x"), Pattern("1")))], facts)
    assert not holds([Criterion("mac", (Pattern("bb"),)), Criterion("serial", (Pattern("2"),))], facts)


@pytest.mark.parametrize("text", ["", "-", ".:_", "\u0301"])
def test_a_pattern_of_punctuation_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="punctuation"):
        Pattern(text)
