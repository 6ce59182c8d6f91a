"""The selector index says what trying every selector would (docs/selection.md#which-documents-answer)."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.answers import selectors as module
from answerd.answers.selectors import Selector, SelectorIndex, holds
from answerd.facts import Facts, Request
from answerd.formats.control import Criterion, NormalizedValues, Pattern
from tests.support.thorough import examples

labels = st.sampled_from(["serial", "product", "vendor"])
words = st.text(alphabet="aB1-", min_size=1, max_size=3).filter(lambda word: word.strip("-"))
patterns = st.text(alphabet="aB1*?-", min_size=1, max_size=4).filter(lambda text: text.strip("-"))
criteria = st.dictionaries(labels, st.lists(patterns, min_size=1, max_size=3), min_size=1).map(
    lambda match: tuple(Criterion(label, tuple(map(Pattern, texts))) for label, texts in match.items())
)
requests = st.lists(st.tuples(labels, words), max_size=6).map(
    lambda facts: Facts(Request(query="&".join(f"{label}={value}" for label, value in facts)))
)


@given(selectors=st.lists(criteria, max_size=12), facts=requests)
def test_the_index_agrees_with_trying_all(selectors: list[Selector], facts: Facts) -> None:
    index = SelectorIndex(enumerate(selectors))
    assert sorted(index.holding(facts)) == [number for number, match in enumerate(selectors) if holds(match, facts)]


long_words = st.text(alphabet="ab", min_size=1, max_size=24)
pattern_parts = st.sampled_from(["a", "b", "ab", "bba", "abab", "aaabbabaab", "*", "?"])
long_patterns = st.lists(pattern_parts, min_size=1, max_size=6)
long_criteria = st.lists(long_patterns.map("".join).map(Pattern), min_size=1, max_size=2).map(
    lambda patterns: (Criterion("serial", tuple(patterns)),)
)
long_requests = st.lists(long_words, min_size=1, max_size=3).map(
    lambda values: Facts(Request(query="&".join(f"serial={value}" for value in values)))
)


@given(kept=st.lists(long_criteria, max_size=40), gone=st.lists(long_criteria, max_size=10), facts=long_requests)
def test_long_texts_between_wildcards_come_and_go(kept: list[Selector], gone: list[Selector], facts: Facts) -> None:
    before = SelectorIndex((("gone", number), match) for number, match in enumerate(gone))
    after = before.copy()
    for number, match in enumerate(kept):
        after.add(("kept", number), match)
    for number in range(len(gone)):
        after.discard(("gone", number))
    assert sorted(after.holding(facts)) == [("kept", at) for at, match in enumerate(kept) if holds(match, facts)]
    assert sorted(before.holding(facts)) == [("gone", at) for at, match in enumerate(gone) if holds(match, facts)]


def test_what_was_taken_out_leaves_nothing_behind() -> None:
    texts = ["1", "1*", "*1", "*12?3*", "?", "*"]
    index = SelectorIndex((text, (Criterion("serial", (Pattern(text), Pattern(text))),)) for text in texts)
    for text in texts:
        index.discard(text)
    index.discard("never there")
    assert [index._selectors, index._filed, index._places, index._tried] == [{}, {}, {}, {}]


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[Selector]:
    """The selectors that are tried from now on."""
    tried: list[Selector] = []

    def note(match: Iterable[Criterion], facts: Facts) -> bool:
        tried.append(tuple(match))
        return holds(match, facts)

    monkeypatch.setattr(module, "holds", note)
    return tried


def matching(**patterns: str | list[str]) -> Selector:
    """What a document with such a ``match`` has."""
    return tuple(
        Criterion(label, tuple(Pattern(text) for text in ([texts] if isinstance(texts, str) else texts)))
        for label, texts in patterns.items()
    )


@pytest.mark.parametrize(
    "pattern",
    [
        "vienna-rack-{:06}-u07",
        "vienna-rack-{:06}-*",
    ],
)
def test_of_a_thousand_selectors_a_few_are_tried(pattern: str, tried: list[Selector]) -> None:
    index = SelectorIndex((number, matching(tag=pattern.format(number))) for number in range(1000))
    most = 0
    for number in range(1000):
        tried.clear()
        assert index.holding(Facts(Request(query=f"tag=vienna-rack-{number:06}-u07"))) == [number]
        most = max(most, len(tried))
    assert most == 1


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
        ("STRASSE?", "straße1", True),
        ("straße*", "Strasse 7", True),
        ("*ﬀ", "SHERIFF", True),
        ("İ*", "i7", True),
        ("*a*a*a*a*a*a*a*a*a*b", "a" * 20_000, False),
    ],
)
def test_patterns(pattern: str, value: str, matches: bool) -> None:
    facts = Facts(Request(query=f"x={value}".encode().decode("latin-1")))
    assert holds([Criterion("x", (Pattern(pattern),))], facts) is matches


@pytest.mark.parametrize("text", ["", "-", ".:_", "\u0301"])
def test_a_pattern_of_punctuation_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="punctuation"):
        Pattern(text)


forms = st.lists(st.text("ab1", max_size=5), max_size=14, unique=True).map(NormalizedValues)


@given(st.lists(st.sampled_from(["a", "b", "ab", "bba", "1", "*", "?", "**", "?*"]), min_size=1, max_size=5), forms)
@settings(max_examples=examples(300))
def test_a_search_in_all_values_finds_what_trying_each_finds(parts: list[str], values: NormalizedValues) -> None:
    pattern = Pattern("".join(parts))
    assert pattern.matches_any(values) == any(map(pattern.matches, values.values))
    assert Criterion("x", (pattern,)).holds(values) == any(map(pattern.matches, values.values))


HOSTILE_PATTERNS = {
    "pieces in every value": [f"*7ab{number:03d}*" for number in range(200)],
    "beginnings": [f"7ab{number:03d}*" for number in range(200)],
    "many stars": ["*" + "a*" * 100 + f"b{number:03d}" for number in range(50)],
    "stars and single characters": [f"*a?b?{number:03d}*c" for number in range(200)],
    "wildcards only": ["*" * 50 + "?" * 1_000] * 50,
}


@pytest.mark.parametrize("texts", HOSTILE_PATTERNS.values(), ids=HOSTILE_PATTERNS.keys())
def test_selecting_costs_what_the_values_have_in_characters(texts: list[str]) -> None:
    """Four times the values cost four times, whatever they hold; sixteen times would be their number squared."""
    index = SelectorIndex((number, matching(serial=text)) for number, text in enumerate(texts))

    def seconds(count: int) -> float:
        values = ["7ab" + f"a{at:04d}bx7ab{at % 1000:03d}" * 8 + "a" * 800 for at in range(count)]
        best = 1e9
        for _ in range(3):
            facts = Facts(Request(body=json.dumps({"serial": values}).encode()))
            facts.forms("serial")
            started = time.process_time()
            index.holding(facts)
            best = min(best, time.process_time() - started)
        return best

    assert seconds(1_000) < 10 * seconds(250) + 0.005


def test_what_large_facts_found_is_kept_and_the_same() -> None:
    index = SelectorIndex([("a", matching(serial="7a*")), ("b", matching(serial="8*"))])
    large = Facts(Request(body=json.dumps({"serial": ["7abc"] * 5_000}).encode()))
    assert index.holding(large) == index.holding(large) == ["a"]
    assert SelectorIndex([("b", matching(serial="*c"))]).holding(large) == ["b"]
