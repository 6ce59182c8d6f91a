"""The selector index says what trying every selector would (docs/selection.md#which-documents-answer)."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Sequence
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.answers import selectors as module
from answerd.answers.selectors import Selector, SelectorIndex, holds
from answerd.facts import Facts, Request
from answerd.formats.patterns import ComparedValues, Criterion, Pattern
from tests.support.thorough import examples

labels = st.sampled_from(["serial", "product", "vendor"])
words = st.text(alphabet="aB1-", min_size=1, max_size=3).filter(lambda word: word.strip("-"))
patterns = st.text(alphabet="aB1*?-", min_size=1, max_size=4).filter(lambda text: text.strip("-"))
octets = st.integers(0, 3).map(lambda octet: f"10.{octet >> 1}.0.{octet & 1}")
addresses = st.one_of(octets, octets.map("{}/24".format), st.sampled_from(["2001:db8::1", "2001:DB8:0:1::1", "::1"]))
networks = st.sampled_from(
    [
        "10.0.0.0/8",
        "10.0.0.0/16",
        "10.1.0.0/16",
        "10.0.0.0/15",
        "2001:db8::/32",
        "2001:db8::/64",
        "::/0",
        "10.*",
        "10.1",
    ]
)
criteria = st.dictionaries(
    labels, st.lists(st.one_of(patterns, addresses, networks), min_size=1, max_size=3), min_size=1
).map(lambda match: matching(**match))
requests = st.lists(st.tuples(labels, st.one_of(words, addresses)), max_size=6).map(
    lambda facts: Facts(Request(query="&".join(f"{label}={value}" for label, value in facts)))
)


@given(selectors=st.lists(criteria, max_size=12), facts=requests)
def test_the_index_agrees_with_trying_all(selectors: list[Selector], facts: Facts) -> None:
    index = SelectorIndex(enumerate(selectors))
    assert sorted(index.holding(facts)) == [number for number, match in enumerate(selectors) if holds(match, facts)]


long_words = st.text(alphabet="ab", min_size=1, max_size=24)
pattern_parts = st.sampled_from(["a", "b", "ab", "bba", "abab", "aaabbabaab", "*", "?"])
long_patterns = st.lists(pattern_parts, min_size=1, max_size=6)
long_criteria = st.lists(
    long_patterns.map("".join).map(lambda text: Pattern(text, "serial")), min_size=1, max_size=2
).map(lambda patterns: (Criterion("serial", tuple(patterns)),))
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
    texts = ["1", "1*", "*1", "*12?3*", "?", "*", "10.0.0.0/8", "::1"]
    index = SelectorIndex((text, (Criterion("tag", (Pattern(text), Pattern(text))),)) for text in texts)
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


def matching(**patterns: str | Sequence[str]) -> Selector:
    """What a document with such a ``match`` has."""
    return tuple(
        Criterion(label, tuple(Pattern(text, label) for text in ([texts] if isinstance(texts, str) else texts)))
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


def test_of_a_thousand_networks_one_is_tried(tried: list[Selector]) -> None:
    index = SelectorIndex(
        (number, matching(peer=f"10.{number >> 4}.{number % 16 * 16}.0/20")) for number in range(1000)
    )
    most = 0
    for number in range(1000):
        tried.clear()
        assert index.holding(Facts(Request(peer=f"10.{number >> 4}.{number % 16 * 16 + 7}.9"))) == [number]
        most = max(most, len(tried))
    assert most == 1


@given(patterns, words)
def test_under_a_label_of_hardware_a_pattern_is_a_wildcard_over_letters_and_digits(pattern: str, value: str) -> None:
    def form(text: str) -> str:
        return re.sub(r"[^a-z0-9*?]", "", text.lower())

    expected = re.fullmatch(form(pattern).replace("*", ".*").replace("?", "."), re.sub("[*?]", "", form(value)))
    facts = Facts(Request(query=f"serial={value}"))
    assert holds(matching(serial=pattern), facts) == bool(expected)


text_patterns = st.text(alphabet="aB1*?-[]!. ", min_size=1, max_size=6).filter(str.strip)
texts = st.text(alphabet="aB1-[]!. ", min_size=1, max_size=6)


@given(text_patterns, texts)
@settings(max_examples=examples(300))
def test_elsewhere_a_pattern_is_a_wildcard_over_the_text(pattern: str, value: str) -> None:
    def form(text: str) -> str:
        return re.sub(r"(?<=[a-z0-9])\.$", "", re.sub(" +", " ", text.lower()).strip(" "))

    regular = "".join({"*": ".*", "?": "."}.get(sign) or re.escape(sign) for sign in form(pattern))
    facts = Facts(Request(query=f"x={value.replace(' ', '+')}"))
    assert holds(matching(x=pattern), facts) == bool(re.fullmatch(regular, form(value)))


@pytest.mark.parametrize(
    ("label", "pattern", "value", "matches"),
    [
        ("mac", "98-fa-9b-*", "98:FA:9B:50:D8:10", True),
        ("serial", "7ABC*", "7abc-123", True),
        ("dmi.system.serial", "7ABC123", "7abc-123", True),
        ("asset_tag", "A/1", "a1", True),
        ("serial", "10.0.0.0/8", "10.0.0.1", False),
        ("serialized", "a1", "a-1", False),
        ("x", "7ABC*", "7ABC", True),
        ("x", "7ABC*", "17ABC", False),
        ("x", "9.1", "91", False),
        ("x", "10.1.*", "10.11.2.3", False),
        ("x", "PowerEdge R6?0", " poweredge  R620 ", True),
        ("x", "PowerEdge R6?0", "PowerEdge R60", False),
        ("x", "Dell Inc.", "dell inc.", True),
        ("x", "Dell Inc.", "Dell Inc", True),
        ("x", "dell inc", "Dell Inc.", True),
        ("x", "Dell Inc.*", "Dell Inc", False),
        ("x", "a*.", "ab", False),
        ("x", "a..", "a.", False),
        ("x", "-", "-", True),
        ("x", "*", "---", True),
        ("x", "?", "-", True),
        ("x", "[ab]*", "[AB]1", True),
        ("x", "[ab]*", "a", False),
        ("x", "[!a]", "b", False),
        ("peer", "10.20.0.0/16", "10.20.255.1", True),
        ("peer", "10.20.0.0/16", "10.21.0.1", False),
        ("x", "10.20.0.0/16", "10.20.0.7/24", True),
        ("x", "10.20.0.0/16", "::ffff:10.20.3.4", True),
        ("x", "::ffff:10.20.0.0/112", "10.20.3.4", True),
        ("x", "10.20.0.7", "10.20.0.7/24", True),
        ("x", "10.20.0.7/16", "10.20.0.8", False),
        ("x", "10.20.0.7/16", "10.20.0.7/16", True),
        ("x", "10.20.0.0/33", "10.20.0.0", False),
        ("x", "0.0.0.0/0", "2001:db8::1", False),
        ("x", "0.0.0.0/0", "9.1", False),
        ("x", "2001:db8::/32", "2001:DB8:0:0::5", True),
        ("x", "2001:db8::/32", "2001:db9::5", False),
        ("x", "2001:DB8:0::5", "2001:db8::5", True),
        ("x", "fe80::1", "fe80::1%eth0", True),
        ("x", "192.168.1.1", "192.16.81.1", False),
        ("x", "*.0/16", "10.20.0.0/16", True),
        ("x", "Ä*", "ärmel", True),
        ("x", "a\u0308*", "ÄRMEL", True),
        ("x", "STRASSE?", "straße1", True),
        ("x", "straße*", "Strasse 7", True),
        ("x", "*ﬀ", "SHERIFF", True),
        ("serial", "İ*", "i7", True),
        ("x", "*a*a*a*a*a*a*a*a*a*b", "a" * 1_000, False),
    ],
)
def test_patterns(label: str, pattern: str, value: str, matches: bool) -> None:
    facts = Facts(Request(peer=value)) if label == "peer" else Facts(Request(query=f"{label}={quote(value)}"))
    assert holds(matching(**{label: pattern}), facts) is matches


@pytest.mark.parametrize("text", ["-", ".:_", "\u0301"])
def test_a_pattern_of_punctuation_is_none_where_that_does_not_count(text: str) -> None:
    with pytest.raises(ValueError, match="punctuation"):
        Pattern(text, "serial")
    assert Pattern(text, "product").matches(text)


@pytest.mark.parametrize("text", ["", " ", "\t"])
@pytest.mark.parametrize("label", ["serial", "product"])
def test_an_empty_pattern_is_none(text: str, label: str) -> None:
    with pytest.raises(ValueError, match="empty"):
        Pattern(text, label)


forms = st.lists(st.text("ab1", max_size=5), max_size=14, unique=True).map(ComparedValues)


@given(st.lists(st.sampled_from(["a", "b", "ab", "bba", "1", "*", "?", "**", "?*"]), min_size=1, max_size=5), forms)
@settings(max_examples=examples(300))
def test_a_search_in_all_values_finds_what_trying_each_finds(parts: list[str], values: ComparedValues) -> None:
    pattern = Pattern("".join(parts))
    assert pattern.matches_any(values) == any(map(pattern.matches, values.forms))
    assert Criterion("x", (pattern,)).holds(values) == any(map(pattern.matches, values.forms))


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
