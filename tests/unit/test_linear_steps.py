"""Steps that were made to grow with their input only say what the slow, literal reading of the rule says."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerd.formats import toml as toml_family
from answerd.formats import xml as xml_family
from answerd.formats.family import ParseError, branches
from answerd.formats.filters import COST, FILTERS, LONGEST_FILTERED
from answerd.formats.template import MOST_FILTERS, TemplateReader
from answerd.formats.xml_read import LONGEST_NAMESPACE, MOST_DECLARED, OUTERMOST
from answerd.formats.yaml_read import MOST_TAG_DIRECTIVES
from answerd.formats.yaml_read import read as read_yaml

STEP = st.sampled_from(["a", "b", "a[@k='1']", "a[@k='2']", "a[@k='1'][@m='1']"])
PATHS = st.lists(st.lists(STEP, min_size=1, max_size=3).map(tuple), max_size=4)
LEAF = st.tuples(st.sampled_from("ab"), st.dictionaries(st.sampled_from("km"), st.sampled_from("12"), max_size=2))


def written(children: list[Any]) -> str:
    def element(node: Any) -> str:
        (name, attributes), below = node
        said = "".join(f' {label}="{value}"' for label, value in attributes.items())
        return f"<{name}{said}>{''.join(map(element, below))}</{name}>"

    return f"<r>{''.join(map(element, children))}</r>"


TREE: st.SearchStrategy[Any] = st.recursive(
    st.tuples(LEAF, st.just([])), lambda below: st.tuples(LEAF, st.lists(below, max_size=3)), max_leaves=8
)


@given(st.lists(TREE, max_size=3), PATHS)
def test_paths_taken_away_together_are_taken_away_one_by_one(children: list[Any], drawn: list[tuple[str, ...]]) -> None:
    tree = xml_family.parse(written(children))
    paths = [xml_family.read_path("/".join(steps), OUTERMOST) for steps in drawn]
    expected = tree
    for path in paths:
        expected = xml_family.unset(expected, [path])
    assert xml_family.unset(tree, paths) == expected


def test_an_attribute_that_is_taken_away_still_tells_its_element_for_the_other_paths() -> None:
    tree = xml_family.parse('<r><a k="1"><b/></a></r>')
    paths = [xml_family.read_path(path, OUTERMOST) for path in ("a/@k", "a[@k='1']/b")]
    assert xml_family.prepare(xml_family.unset(tree, paths)).static == b"<r>\n  <a/>\n</r>\n"


KEYS = st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(tuple), max_size=6)
MAPS = st.recursive(st.just(1), lambda below: st.dictionaries(st.sampled_from("abc"), below, max_size=3), max_leaves=12)


@given(st.dictionaries(st.sampled_from("abc"), MAPS, max_size=3), KEYS)
def test_keys_taken_away_together_are_taken_away_one_by_one(
    tree: dict[str, object], paths: list[tuple[str, ...]]
) -> None:
    expected = tree
    for path in paths:
        expected = toml_family.unset(expected, [path])
    assert toml_family.unset(tree, paths) == expected
    assert branches(paths) == branches([*paths, *paths])


def test_a_placeholder_has_a_limit_of_filters() -> None:
    for count, problems in ((MOST_FILTERS, 0), (MOST_FILTERS + 1, 1)):
        reader = TemplateReader()
        reader("{{ a" + "|lower" * count + " }}")
        assert len(reader.problems) == problems


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_that_is_repeated_makes_a_value_no_longer_unless_it_has_a_bound_and_counts_more(name: str) -> None:
    tried = 0
    for value in ("525400201d0a", "192.0.2.7/24", "yes", "-12", "Straße 9 " * 1_000):
        with contextlib.suppress(ValueError):
            made = [FILTERS[name](value)]
            tried += 1
            while len(made) < MOST_FILTERS and len(made[-1]) <= len(made[0]):
                made.append(FILTERS[name](made[-1]))
            assert len(made[-1]) <= (LONGEST_FILTERED if name in COST else len(made[0]))
    assert tried


@pytest.mark.parametrize("name", ["base64", "urlencode"])
def test_a_filter_that_makes_a_value_longer_has_a_bound(name: str) -> None:
    with pytest.raises(ValueError, match=f"more than {LONGEST_FILTERED} characters"):
        FILTERS[name]("%" * LONGEST_FILTERED)


def test_a_table_with_a_long_key_is_written_inline_and_says_the_same() -> None:
    key = "k" * 300
    tree = toml_family.parse(f"[{key}]\na = 1\n[{key}.b]\nc = 'x'\n[[{key}.d]]\ne = 1\n[[{key}.d]]\n")
    text = (toml_family.prepare(tree).static or b"").decode()
    assert toml_family.parse(text) == tree
    assert text.count(key) == 1


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        pytest.param(toml_family.parse, "a = 0x" + "f" * 4_000, id="an integer that cannot be written in decimal"),
        pytest.param(
            xml_family.parse,
            "<!DOCTYPE r [<!ATTLIST r" + "".join(f" a{at} CDATA ''" for at in range(MOST_DECLARED + 1)) + ">]><r/>",
            id="a doctype with many attributes",
        ),
        pytest.param(
            xml_family.parse,
            f"<r><p:a xmlns:p='{'u' * (LONGEST_NAMESPACE + 1)}'/></r>",
            id="a long namespace, which a merge may repeat at each element",
        ),
        pytest.param(
            read_yaml,
            "".join(f"%TAG !a{at}! x\n" for at in range(MOST_TAG_DIRECTIVES + 1)) + "--- a\n",
            id="many tag directives",
        ),
    ],
)
def test_what_cannot_be_read_in_linear_time_is_refused(parse: object, text: str) -> None:
    with pytest.raises(ParseError, match="more than"):
        parse(text)  # type: ignore[operator]
