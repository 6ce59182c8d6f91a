"""How long a text of Jinja lets nothing else run: between one time that it gives way and the next.

Each filter, test, method and operator with the longest values that a text can make. Measured in processor time of this
thread, as a multiple of a piece of ordinary work that is measured right beside it, so that it holds on any machine. The
limits that this holds up are in `answerd.formats.jinja_words`.
"""

from __future__ import annotations

import gc
import random
import time

import pytest

from answerd.answers.compose import prepared_answer
from answerd.documents import Document, Key, RawDocument
from answerd.errors import AnswerTooLarge, CannotFill
from answerd.formats.family import Prepared
from answerd.formats.jinja_words import FOR_EACH_ITEM, METHODS, MOST_AT_ONCE, TESTS, WORDS
from answerd.identity import Kind
from answerd.long_work import give_way_by
from tests.support.lookups import Said
from tests.support.thorough import is_thorough

ORDINARY = "{% for i in range(10000) %}{{ i }}\n{% endfor %}"
"""A piece of ordinary work: 12 ms where a bare answer of docs/performance.md takes 0.1 ms."""

MOST_PIECES_HELD = 4.0
"""Pieces of ordinary work for which nothing else may run: 50 ms there. The longest of all cases takes 1.7."""

ONE_OF = 8
"""An ordinary run draws one of so many texts of a word, with ``--thorough`` each is tried."""

MOST_LOOKS = 6
"""Times that a text is measured before it is believed to hold others up."""

_ITEMS = MOST_AT_ONCE // FOR_EACH_ITEM
_LONG = MOST_AT_ONCE // 2 - 64

TEXTS = {
    "letters": f"'x' * {_LONG}",
    "letters that grow": f"'ß' * {_LONG}",
    "words": f"'aB ' * {_LONG // 3}",
    "lines": f"'\\n' * {_LONG}",
    "short lines": f"'ab\\r\\n' * {_LONG // 4}",
    "parts of a slug": f"'a-' * {_LONG // 2}",
    "digits": f"'1' * {_LONG}",
    "a fraction": f"'1.' ~ '1' * {_LONG}",
    "hexadecimal digits": f"'1:' * {_LONG // 2}",
    "emoji": f"'\U0001f600' * {_LONG}",
    "commas": f"',' * {_LONG}",
    "signs of a URL": f"'é/' * {_LONG // 2}",
    "per cent": "'%s' * 200",
}
LISTS = {
    "numbers": f"[1] * {_ITEMS}",
    "all numbers of a range": f"range({_ITEMS})",
    "half of them": "range(50000) | map('string') | list",
    "texts": f"['a b,c'] * {_ITEMS}",
    "different texts": "range(16000) | map('string') | list",
    "addresses": f"['52:54:00:00:00:01'] * {_ITEMS}",
    "networks": f"['10.0.0.5/24'] * {_ITEMS}",
    "long texts": "['x' * 60000 ~ 'a', 'x' * 60000 ~ 'b'] * 1000",
    "very long texts": f"['x' * {_LONG - 99} ~ 'a', 'x' * {_LONG - 99} ~ 'b'] * {_ITEMS // 2}",
    "lists": "[[1] * 1000] * 1000",
}
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "default": ("'x'",),
    "d": ("'x'",),
    "replace": ("'x', 'y'", "'x', 'yz'", "'a', ''", "'x' * 40 ~ 'y' ~ 'x' * 40, 'z'"),
    "truncate": ("15", "100000"),
    "split": ("','", "'x' * 40 ~ 'y' ~ 'x' * 40"),
    "join": ("", "', '", "'x' * 1000"),
    "batch": ("1", "3", "100000"),
    "center": ("", "999"),
    "indent": ("", "999", "0, true"),
    "int": ("", "0, 16"),
    "map": ("'default', 'x'", "'abs'", "'upper'", "'string'", "'int'", "'length'", "'first'", "'colons'", "'round'"),
    "round": ("", "15"),
    "select": (),
    "reject": (),
    "sort": ("", "true"),
    "sum": ("", "1.5"),
    "format": ("1", "'x' * 1000"),
}
"""The arguments of filters that have some."""

TEST_ARGUMENTS = {
    "in": ("[1, 2, 3]", "'x' * 1000", "range(1000)"),
    "divisibleby": ("3",),
    **dict.fromkeys(("eq", "equalto", "==", "ne", "!=", "lt", "lessthan", "<", "gt", "greaterthan", ">"), ("1", "'x'")),
    **dict.fromkeys(("le", "<=", "ge", ">="), ("1", "'x'")),
}
_LOOKED_FOR = "'x' * 40 ~ 'y' ~ 'x' * 40"
METHOD_ARGUMENTS = {
    **dict.fromkeys(("endswith", "find", "partition", "removeprefix", "removesuffix"), (_LOOKED_FOR,)),
    **dict.fromkeys(("rpartition", "startswith"), (_LOOKED_FOR,)),
    **dict.fromkeys(("strip", "lstrip", "rstrip"), ("", "'xyzabcdefghijklm'")),
    "join": (f"['a'] * {_ITEMS}", f"range({_ITEMS})"),
    "replace": ("'x', 'y'", f"{_LOOKED_FOR}, 'z'"),
    "split": ("", "','", "'x', 3"),
}
_TWO = f"{{% set a = 'x' * {_LONG} ~ 'a' %}}{{% set b = 'x' * {_LONG} ~ 'b' %}}"
_MAP = "{% set n = namespace(m={}) %}{% set m = {" + ", ".join(f"{n}: {n}" for n in range(900)) + "} %}"
OTHERS = {
    "an empty loop": "{% for i in range(60000) %}{% endfor %}",
    "a loop that writes": "{% for i in range(60000) %}{{ i }}{% endfor %}",
    "loops within loops": "{% for i in range(300) %}{% for j in range(300) %}{{ i * j }} {% endfor %}{% endfor %}",
    "a loop that leaves out": "{% for i in range(60000) if i is divisibleby(59999) %}{{ i }}{% endfor %}",
    "a loop that looks ahead": "{% for i in range(60000) %}{{ loop.last }}{% endfor %}",
    "a loop that knows its length": "{% for i in range(60000) %}{{ loop.length }}{% endfor %}",
    "a macro": "{% macro m(x) %}{{ x }}{% endmacro %}{% for i in range(50000) %}{{ m(i) }}{% endfor %}",
    "a macro in a loop of macros": (
        "{% macro m() %}{% for i in range(300) %}x{% endfor %}{% endmacro %}"
        "{% for i in range(300) %}{{ m() }}{% endfor %}"
    ),
    "many parts": "{% for i in range(5000) %}" + "{{ i + 1 }}" * 200 + "{% endfor %}",
    "a block of many parts": "{% set x %}{% for i in range(60000) %}" + "{{ i }}" * 90 + "{% endfor %}{% endset %}",
    "a block of many pieces": "{% set x %}{% for i in range(60000) %}"
    + "a{% if i %}b{% endif %}" * 90
    + "{% endfor %}{% endset %}",
    "a macro of many parts": "{% macro m() %}{% for i in range(9000) %}"
    + "{{ i }} " * 90
    + "{% endfor %}{% endmacro %}{{ m() | length }}",
    "texts that are compared": _TWO + "{% for i in range(10000) %}{% if a == b %}{% endif %}{% endfor %}",
    "texts that are ordered": _TWO + "{% for i in range(10000) %}{% if a < b %}{% endif %}{% endfor %}",
    "texts that are compared in a chain": _TWO + "{% for i in range(10000) %}{{ 'a' < a < b < 'z' }}{% endfor %}",
    "a text in a list": _TWO + f"{{{{ b in [a] * {_ITEMS} }}}}",
    "no text in a list": _TWO + f"{{{{ b not in [a] * {_ITEMS} }}}}",
    "a text in a list, in a loop": _TWO + "{% for i in range(10000) %}{{ b in [a, a, a] }}{% endfor %}",
    "a text in a list, tested": _TWO + f"{{{{ [b] | select('in', [a] * {_ITEMS}) | list | length }}}}",
    "texts that are tested": _TWO + f"{{{{ ([a] * {_ITEMS}) | select('eq', b) | list | length }}}}",
    "a text in a text": _TWO + "{% for i in range(10000) %}{{ b in a }}{% endfor %}",
    "a text in a text of its kind": _TWO + "{{ ('x' * 40 ~ 'y' ~ 'x' * 40) in a }}",
    "a long name in a map": _TWO + "{% set m = {a: 1} %}{% set c = a[:-1] ~ 'a' %}"
    "{% for i in range(10000) %}{{ m[c] }}{% endfor %}",
    "a long name in a map, by its method": _TWO + "{% set m = {a: 1} %}{% set c = a[:-1] ~ 'a' %}"
    "{% for i in range(10000) %}{{ m.get(c) }}{% endfor %}",
    "maps that are made": _MAP + "{% for i in range(1000) %}{% set x = m.items() %}{% endfor %}",
    "maps of long names": _TWO + "{% for i in range(10000) %}{% set x = {a: 1, b: 2} %}{% endfor %}",
    "parts of a text": _TWO + "{% for i in range(1000) %}{% set x = a[1:] %}{% endfor %}",
    "parts of a text, backwards": _TWO + "{% for i in range(1000) %}{% set x = a[::-1] %}{% endfor %}",
    "parts of a list": f"{{% set l = [1] * {_ITEMS} %}}{{% for i in range(1000) %}}{{% set x = l[1:] %}}{{% endfor %}}",
    "lists put together": f"{{% set l = [1] * {_ITEMS // 2} %}}{{% set l = l + l %}}{{{{ l | length }}}}",
    "texts put together": _TWO + "{{ a ~ b ~ a ~ b ~ a ~ b }}",
    "a text that is repeated": f"{{{{ 'abc' * {MOST_AT_ONCE // 3} }}}}",
    "a list that is repeated": f"{{{{ ([1] * {_ITEMS}) | length }}}}",
    "a block": _TWO + "{% set x %}{% for i in range(90) %}{{ a }}{% endfor %}{% endset %}{{ x | length }}",
    "a block with a filter": _TWO + "{% set x | upper %}{{ a }}{% endset %}{{ x | length }}",
    "wide formats": "{{ ('%999d' * 200) % " + f"({', '.join(['1'] * 200)})" + " }}",
    "powers": "{% for i in range(50000) %}{{ 99 ** 38 }}{% endfor %}",
    "quotients": "{% for i in range(50000) %}{{ (2 ** 255) // 3 % 7 }}{% endfor %}",
    "all of one label": "{% for i in range(9000) %}{% set x = values('mac') %}{% endfor %}",
    "a label in a loop": "{% for i in range(50000) %}{{ role }}{{ facts['role'] }}{% endfor %}",
}
FACTS = {"mac": [f"52:54:00:00:{n >> 8:02x}:{n & 255:02x}" for n in range(1_000)], "role": ["gpu"]}


def groups() -> dict[str, dict[str, str]]:
    """The texts of each word with each of the longest values, and others by themselves."""
    texts = {f"a text of {name}": text for name, text in TEXTS.items()}
    found: dict[str, dict[str, str]] = {}
    for word in WORDS:
        found[f"filter {word}"] = {
            f"({given}) of {name}": _of(made, f"v | {word}({given})")
            for given in ARGUMENTS.get(word, ("",))
            for name, made in {**texts, **LISTS}.items()
        }
    for test in TESTS:
        found[f"test {test}"] = {
            f"({given}) of {name}": _of(made, f"v | select('{test}'{', ' if given else ''}{given})")
            for given in TEST_ARGUMENTS.get(test, ("",))
            for name, made in LISTS.items()
        }
    for method in METHODS[str]:
        found[f"method {method}"] = {
            f"({given}) of {name}": _of(made, f"v.{method}({given})")
            for given in METHOD_ARGUMENTS.get(method, ("",))
            for name, made in texts.items()
        }
    for method in METHODS[dict]:
        given = "1" if method == "get" else ""
        loop = f"{{% for i in range(900) %}}{{% set w = m.{method}({given}) %}}{{% endfor %}}"
        found[f"method {method} of a map"] = {"": _MAP + loop}
    return {**found, **{name: {"": text} for name, text in OTHERS.items()}}


def _of(made: str, used: str) -> str:
    return f"{{% set v = {made} %}}{{% set w = {used} %}}"


GROUPS = groups()


def prepared(text: str) -> Prepared:
    document = Document(RawDocument(Key(Kind.GROUP, "g", "ks"), f"# answer: template jinja\n{text}"), has_states=True)
    assert document.problems == ()
    return prepared_answer((document,), may_be_blank=True)


def longest_held(answer: Prepared) -> float:
    """The seconds for which an answer lets nothing else run."""
    held: list[float] = []
    since = time.thread_time()

    def paused() -> None:
        nonlocal since
        now = time.thread_time()
        held.append(now - since)
        since = now

    give_way_by(paused)
    try:
        answer.fill(Said(FACTS))
    except (CannotFill, AnswerTooLarge):
        pass
    finally:
        give_way_by(lambda: None)
    paused()
    return max(held)


def ordinary() -> float:
    """The seconds of a piece of ordinary work."""
    answer = prepared(ORDINARY)
    began = time.thread_time()
    answer.fill(Said(FACTS))
    return time.thread_time() - began


def pieces_held(text: str) -> float:
    """The pieces of ordinary work for which a text lets nothing else run: the least of some looks."""
    answer = prepared(text)
    least = float("inf")
    gc.disable()
    try:
        for _ in range(MOST_LOOKS):
            least = min(least, longest_held(answer) / ordinary())
            if least <= MOST_PIECES_HELD:
                break
    finally:
        gc.enable()
    return least


@pytest.mark.parametrize("group", GROUPS.values(), ids=list(GROUPS))
def test_nothing_is_held_up_for_long(group: dict[str, str]) -> None:
    drawn = group if is_thorough() else random.sample([*group], -(-len(group) // ONE_OF))
    held = {name: pieces_held(group[name]) for name in drawn}
    assert {name: pieces for name, pieces in held.items() if pieces > MOST_PIECES_HELD} == {}


def test_arguments_are_those_of_words_that_there_are() -> None:
    assert [*ARGUMENTS] == [word for word in ARGUMENTS if word in WORDS]
    assert [*TEST_ARGUMENTS] == [test for test in TEST_ARGUMENTS if test in TESTS]
    assert [*METHOD_ARGUMENTS] == [method for method in METHOD_ARGUMENTS if method in METHODS[str]]
