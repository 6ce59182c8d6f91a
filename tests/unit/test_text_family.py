"""The text family: directives taken out, layers one after another, nothing else changed.

Rules: docs/merging.md.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerd.formats import text as text_family
from answerd.formats.control import Control, read_control
from answerd.formats.family import MergeError
from answerd.formats.patterns import ComparedValues
from answerd.identity import Kind


def merged(*layers: str) -> str:
    trees = [text_family.control(text_family.parse(layer))[1] for layer in layers]
    tree = trees[0]
    for upper in trees[1:]:
        tree = text_family.merge(tree, upper)
    answer = text_family.prepare(tree).static
    assert answer is not None
    return answer.decode()


def control_of(layer: str, kind: Kind = Kind.GROUP) -> Control:
    return read_control(text_family.control(text_family.parse(layer))[0], kind)


@pytest.mark.parametrize(
    ("layers", "answer"),
    [
        (["a\r\n", "b\r\n"], "a\r\nb\r\n"),
        (["a\n\n", "\nb"], "a\n\n\nb"),
        (["", "b\n"], "b\n"),
        (["a", "", "b"], "a\nb"),
        (["# answer: extends x\na\n", "b\n"], "a\nb\n"),
        (["a\n# answer: extends x", "b\n"], "a\nb\n"),
        (["a\n// answer: extends x\r\nb\n"], "a\nb\n"),
        (["  #answer:extends x\na\n"], "a\n"),
        (["#!ipxe\na\n", "b\n"], "#!ipxe\na\nb\n"),
        (["# answer: member A\n#!ipxe\na\n", "b"], "#!ipxe\na\nb"),
        (["a\n#!ipxe\n", "b"], "a\n#!ipxe\nb"),
        (["\n#!ipxe\n"], "\n#!ipxe\n"),
        (["#!ipxe\r\na\r\n", "b"], "#!ipxe\r\na\r\nb"),
        (["# a comment\n## answer: extends x\nx # answer: extends y\n"], None),
    ],
)
def test_layers_are_laid_one_after_another(layers: list[str], answer: str | None) -> None:
    assert merged(*layers) == ("".join(layers) if answer is None else answer)


@pytest.mark.parametrize("lower", ["a \\", "a \\\n", "a \\\r\n", "# answer: extends x\na\\\n", "a\nb {{ x }} \\\n"])
@pytest.mark.parametrize("between", [[], ["#!/bin/sh\n"]])
def test_a_line_that_goes_on_may_be_followed_by_nothing(lower: str, between: list[str]) -> None:
    assert merged(lower, *between).endswith(lower.rpartition("extends x\n")[2])
    with pytest.raises(MergeError, match="ends in a backslash"):
        merged(lower, *between, "b\n")


@pytest.mark.parametrize("lower", ["a \\\n\n", "a \\ \n", "a \\\nb\n", "a\n"])
def test_a_line_that_ends_may_be_followed(lower: str) -> None:
    assert merged(lower, "c\n") == f"{lower}c\n"


@pytest.mark.parametrize("comment", ["yes", "match the right disk", "once upon a time", "member", "extends a b"])
def test_a_comment_that_looks_like_a_directive_may_be_mended_or_worded_otherwise(comment: str) -> None:
    [problem] = control_of(f"lang a\n# answer: {comment}\n").problems
    assert "(line 2)" in problem
    assert "word it otherwise" in problem


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_text_without_directives_is_unchanged(document: str) -> None:
    if "answer:" not in document:
        assert merged(document) == document


@given(st.lists(st.text(alphabet="ab \n#!\r"), min_size=1, max_size=4))
def test_no_line_is_lost(layers: list[str]) -> None:
    lines = [line for layer in layers for line in layer.split("\n") if line and not line.startswith("#!")]
    assert [line for line in merged(*layers).split("\n") if line and not line.startswith("#!")] == lines


@pytest.mark.parametrize(
    ("directive", "expected"),
    [
        ("extends\tbase", {"extends": "base"}),
        ("extends 'base'", {"extends": "base"}),
        ("template on", {"template": True}),
    ],
)
def test_a_directive_is_a_control_key(directive: str, expected: dict[str, object]) -> None:
    control = control_of(f"# answer: {directive}\n")
    assert control.problems == ()
    assert {key: getattr(control, key) for key in expected} == expected


@pytest.mark.parametrize(
    ("directive", "criteria"),
    [
        ('match serial=7ABC* product="PowerEdge R6*"', {"serial": ["7abcx"], "product": ["poweredge r62"]}),
        ("match serial=A\n// answer: match product=B", {"serial": ["a"], "product": ["b"]}),
        ("match x='a=b'", {"x": ["a=b"]}),
    ],
)
def test_match_is_read_with_shell_quoting(directive: str, criteria: dict[str, list[str]]) -> None:
    control = control_of(f"# answer: {directive}\n")
    assert control.problems == ()
    assert {criterion.label for criterion in control.match} == criteria.keys()
    for criterion in control.match:
        for value in criteria[criterion.label]:
            assert criterion.holds(ComparedValues([value]))
        assert not criterion.holds(ComparedValues(["zz"]))


@pytest.mark.parametrize(
    ("directive", "words", "claims_known"),
    [
        ("membres A", "did you mean 'member'?", False),
        ("", "unknown directive", False),
        (
            "s3cret",
            "unknown directive after 'answer:' (line 1); there are extends, member, match, once, overlay, template",
            False,
        ),
        ("extends", "one group", True),
        ("extends a b", "one group", True),
        ("extends a\n# answer: extends b", "second", True),
        ("extends 'a", "line 1", True),
        ("member , ,", "empty", False),
        ("member --", "no letter or digit", False),
        ("match a=b\n# answer: match", "empty", False),
        ("match serial=", "empty pattern", False),
        ("match serial=--", "punctuation", False),
        ("match =x", "empty label", False),
        ("template maybe", "'off', 'on' or 'jinja'", True),
        ("template", "'off', 'on' or 'jinja'", True),
    ],
)
def test_a_directive_that_cannot_be_meant_is_a_problem(directive: str, words: str, claims_known: bool) -> None:
    control = control_of(f"# answer: {directive}\n")
    assert len(control.problems) == 1
    assert words in control.problems[0]
    assert control.claims_known == claims_known
    assert "line " in control.problems[0]
