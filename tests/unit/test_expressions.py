"""Every regular expression of the package: what it matches with each Python, and how its time grows."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import re._constants as codes  # type: ignore[import-not-found]
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import answerd
from tests.support import thorough
from tests.support.backtracking import Tree, changed, drawn, spans, tree_of

pytestmark = pytest.mark.long

Expression = re.Pattern[str]

OPENING = re.compile(r"(?<![\w.])re\.(?P<use>compile|match|fullmatch|search|finditer|findall|sub|split)\Z")


def _modules() -> Iterator[Any]:
    for found in pkgutil.walk_packages(answerd.__path__, "answerd."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def _within(value: object, depth: int = 4) -> Iterator[Expression]:
    """The expressions that a module keeps under a name, in its tables and classes too."""
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield value
    elif depth and isinstance(value, dict):
        for part in value.values():
            yield from _within(part, depth - 1)
    elif depth and isinstance(value, tuple | list | set | frozenset):
        for part in value:
            yield from _within(part, depth - 1)
    elif depth and isinstance(value, type) and value.__module__.startswith("answerd"):
        for part in vars(value).values():
            yield from _within(part, depth - 1)


def _written_in(source: str) -> Iterator[str]:
    """The expressions that a module gives to functions of `re` where it uses them."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, str)
        ):
            yield node.args[0].value


def _collected() -> dict[str, Expression]:
    """Every expression of the package, by the name of its module and its text."""
    found: dict[tuple[str, int], tuple[str, Expression]] = {}
    for module in _modules():
        short = module.__name__.removeprefix("answerd.")
        for value in vars(module).values():
            for pattern in _within(value):
                found.setdefault((pattern.pattern, pattern.flags), (short, pattern))
        source = Path(str(module.__file__)).with_suffix(".py")
        for text in _written_in(source.read_text("utf-8")) if source.exists() else ():
            pattern = re.compile(text)
            found.setdefault((pattern.pattern, pattern.flags), (short, pattern))
    return {f"{module}: {pattern.pattern[:60]!r} {at}": pattern for at, (module, pattern) in enumerate(found.values())}


EXPRESSIONS = _collected()

ONE_CHARACTER = (codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN)


def _nodes(tree: Tree) -> Iterator[tuple[Any, Any]]:
    """Each part of a tree, and the parts in it."""
    for code, argument in tree:
        yield code, argument
        for part in argument if isinstance(argument, tuple | list) else ():
            for below in part if isinstance(part, list) else (part,):
                if type(below).__name__ == "SubPattern":
                    yield from _nodes(list(below))
        if type(argument).__name__ == "SubPattern":
            yield from _nodes(list(argument))


def test_expressions_are_found_in_tables_in_classes_and_where_they_are_used() -> None:
    modules = {name.partition(":")[0] for name in EXPRESSIONS}
    assert {
        "answers.redaction",
        "answers.secret_forms",
        "formats.positions",
        "formats.json",
        "inventory.records",
        "validators.kickstart",
    } <= modules
    assert len(EXPRESSIONS) > 200
    texts = {pattern.pattern for pattern in EXPRESSIONS.values()}
    assert {r"#!ipxe\s", r"[^\r\n]+"} <= texts  # where they are used
    assert any("grub\\.pbkdf2" in text for text in texts)  # in a tuple
    assert r"&[^;]*;|\r\n" in texts  # in a tuple of a dict


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_nothing_but_a_single_character_is_repeated_without_going_back(name: str) -> None:
    """Python before 3.11.5 matches other possessive quantifiers, and atomic groups, wrongly where they have
    alternatives."""
    for code, argument in _nodes(tree_of(EXPRESSIONS[name])):
        assert code is not codes.ATOMIC_GROUP
        if code is codes.POSSESSIVE_REPEAT:
            ((repeated, _),) = argument[2]
            assert repeated in ONE_CHARACTER


LONGEST_TRIED = 60
"""Characters of a drawn text: the slow matcher may try a number of ways that doubles with each."""


@pytest.mark.parametrize("name", thorough.drawn(EXPRESSIONS))
@given(seed=st.integers(0, 2**40))
@settings(max_examples=thorough.examples(60))
def test_an_expression_matches_as_if_every_way_were_tried(name: str, seed: int) -> None:
    pattern, random = EXPRESSIONS[name], Random(seed)
    tree = tree_of(pattern)
    text = changed(random.choice(("", "\n", " ", "x", "'")) + drawn(tree, random), random)[:LONGEST_TRIED]
    for at in range(min(len(text), 12) + 1):
        match = pattern.match(text, at)
        found = tuple(match.span(number) for number in range(pattern.groups + 1)) if match else None
        assert found == spans(pattern, text, at)


SMALL, TIMES = 8_192, 4
BAR = 8.0
"""Times as long for four times the text: as far from 4, of time in proportion, as from 16."""
WORTH_MEASURING = 0.004
MOST_LOOKS = 8
UNITS = (
    "a",
    " ",
    "\t",
    "\n",
    "\\",
    "\\\n",
    '"',
    "'",
    "{{",
    "{{a",
    "<",
    "<!--",
    "[",
    "-",
    ".",
    "a.",
    "a ",
    "=",
    "#",
    "0",
)


def _taken(pattern: Expression, text: str) -> float:
    began = time.thread_time()
    pattern.match(text)
    return time.thread_time() - began


@pytest.mark.parametrize("name", thorough.drawn(EXPRESSIONS))
def test_an_expression_takes_time_in_proportion_to_the_text_at_a_place(name: str) -> None:
    """Repeated parts of texts that it matches, after a beginning that it matches: with an end that it does not."""
    pattern, random = EXPRESSIONS[name], Random(name)
    tree = tree_of(pattern)
    for at in range(30):
        text = drawn(tree, random)
        first, last = sorted((random.randint(0, len(text)), random.randint(0, len(text))))
        unit = text[first:last] if at % 2 else random.choice(UNITS)
        before, after = text[:first], random.choice(("", "\0", "!", "\n", text[last:]))
        small, large = (before + unit * (size // max(1, len(unit))) + after for size in (SMALL, SMALL * TIMES))
        looks = 0
        while (longer := _taken(pattern, large)) > WORTH_MEASURING and longer > BAR * _taken(pattern, small):
            looks += 1
            assert looks < MOST_LOOKS, (before[-40:], unit, after, longer)
