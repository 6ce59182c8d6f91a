"""Layers laid over one another: docs/merging.md for TOML and text, and `unset` along a chain, in every store."""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.fleet import Fleet


def stacked(fleet: Fleet, *layers: str, extension: str = "toml") -> str:
    """The answer of layers, lowest first, the highest of which is a machine's."""
    documents = {f"groups/l{number}.{extension}": text for number, text in enumerate(layers[:-1])}
    documents[f"n1.{extension}"] = layers[-1]
    return fleet.write(documents).text("/?h=n1")


def extending(number: int, text: str) -> str:
    return f'extends = "l{number}"\n{text}'


MERGES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "maps merge key by key": ("[a]\nx = 1\ny = 1\n", "[a]\ny = 2\nz = 2\n", {"a": {"x": 1, "y": 2, "z": 2}}),
    "recursively": ("[a.b.c]\nx = 1\n", "[a.b.c]\ny = 2\n", {"a": {"b": {"c": {"x": 1, "y": 2}}}}),
    "arrays replace": ("a = [1, 2]\n", "a = [3]\n", {"a": [3]}),
    "an empty array replaces": ("a = [1, 2]\n", "a = []\n", {"a": []}),
    "arrays of tables replace": ("[[a]]\nx = 1\n[[a]]\nx = 2\n", "[[a]]\ny = 1\n", {"a": [{"y": 1}]}),
    "a map over a scalar": ("a = 1\n", "[a]\nx = 1\n", {"a": {"x": 1}}),
    "a scalar over a map": ("[a]\nx = 1\n", "a = 1\n", {"a": 1}),
    "an array over a map": ("[a]\nx = 1\n", "a = [1]\n", {"a": [1]}),
    "an empty map changes nothing": ("[a]\nx = 1\n", "[a]\n", {"a": {"x": 1}}),
    "dotted tables": ("zfs.raid = 'raid1'\nzfs.x = 1\n", "zfs.raid = 'raid10'\n", {"zfs": {"raid": "raid10", "x": 1}}),
    "inline tables": ("a = {x = 1, y = {z = 1}}\n", "[a.y]\nw = 2\n", {"a": {"x": 1, "y": {"z": 1, "w": 2}}}),
    "types are kept": (
        "i = 0x10\nf = 1.0\nb = true\nd = 2001-01-01\nt = 07:30:00\ndt = 2001-01-01T00:00:00Z\ns = '0644'\n",
        "n = 1\n",
        {
            "i": 16,
            "f": 1.0,
            "b": True,
            "d": datetime.date(2001, 1, 1),
            "t": datetime.time(7, 30),
            "dt": datetime.datetime(2001, 1, 1, tzinfo=datetime.UTC),
            "s": "0644",
            "n": 1,
        },
    ),
    "keys differ by case": ("a = 1\n", "A = 2\n", {"a": 1, "A": 2}),
    "strange keys": ('"" = 1\n"a.b" = 1\n', '"a b" = 2\n', {"": 1, "a.b": 1, "a b": 2}),
}


@pytest.mark.parametrize(("lower", "upper", "merged"), MERGES.values(), ids=MERGES.keys())
def test_one_toml_layer_over_another(fleet: Fleet, lower: str, upper: str, merged: dict[str, Any]) -> None:
    answer = tomllib.loads(stacked(fleet, lower, extending(0, upper)))
    assert answer == merged
    assert [type(value) for value in answer.values()] == [type(value) for value in merged.values()]


def test_keys_keep_the_lower_layers_order_then_the_uppers(fleet: Fleet) -> None:
    text = stacked(fleet, "z = 1\na = 1\n[t]\ny = 1\nb = 1\n", extending(0, "c = 2\na = 2\n[t]\nq = 2\nb = 2\n"))
    assert text == "z = 1\na = 2\nc = 2\n\n[t]\ny = 1\nb = 2\nq = 2\n"


def test_one_layer_without_control_key_or_placeholder_is_served_byte_for_byte(fleet: Fleet) -> None:
    text = "# a comment\r\n\r\nx   =  'y'   # another\r\n[ t ]\r\nz=1"
    assert stacked(fleet, text) == text


def test_a_comment_of_a_layer_among_several_is_not_promised(fleet: Fleet) -> None:
    assert stacked(fleet, "# lost\nx = 1 # lost\n", extending(0, "y = 2\n")) == "x = 1\ny = 2\n"


def test_a_byte_order_mark_is_ignored(fleet: Fleet) -> None:
    fleet.write({"default.toml": "\ufeff# kept\nx = 1\n", "n1.ks": "\ufeff# answer: template off\n{{.ID}}\n"})
    assert fleet.text("/pve") == "# kept\nx = 1\n"
    assert fleet.text("/ks?h=n1") == "{{.ID}}\n"


def test_a_chain_merges_from_its_root(fleet: Fleet) -> None:
    text = stacked(fleet, "a = 0\nb = 0\nc = 0\n", extending(0, "b = 1\nc = 1\n"), extending(1, "c = 2\n"))
    assert tomllib.loads(text) == {"a": 0, "b": 1, "c": 2}


def test_comments_and_format_of_a_merged_answer_never_bring_a_control_key(fleet: Fleet) -> None:
    text = stacked(
        fleet, 'members = ["x"]\na = 1\n[match]\ny = "1"\n', extending(0, 'unset = ["q"]\ntemplate = true\n')
    )
    assert text == "a = 1\n"


UNSETS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "a key": (["a = 1\nb = 1\n", 'extends = "l0"\nunset = ["a"]\n'], {"b": 1}),
    "a dotted path": (["[a.b]\nc = 1\nd = 1\n", 'extends = "l0"\nunset = ["a.b.c"]\n'], {"a": {"b": {"d": 1}}}),
    "a quoted key": (
        ['[a."b.c"]\nd = 1\ne = 1\n', 'extends = "l0"\nunset = [\'a."b.c".d\']\n'],
        {"a": {"b.c": {"e": 1}}},
    ),
    "a quoted path that is none without quotes": (
        ['[a."b.c"]\nd = 1\n', 'extends = "l0"\nunset = ["a.b.c.d"]\n'],
        {"a": {"b.c": {"d": 1}}},
    ),
    "a table": (["x = 1\n[a]\nb = 1\n", 'extends = "l0"\nunset = ["a"]\n'], {"x": 1}),
    "before the layer itself is laid over": (
        ["[a]\nb = 1\nc = 1\n", 'extends = "l0"\nunset = ["a"]\n[a]\nd = 2\n'],
        {"a": {"d": 2}},
    ),
    "never the layer's own key": (["a = 1\n", 'extends = "l0"\nunset = ["a", "b"]\nb = 2\n'], {"b": 2}),
    "what is not there": (["a = 1\n", 'extends = "l0"\nunset = ["q", "a.b.c", "x.y"]\n'], {"a": 1}),
    "a lower layer's own, by the one above": (
        ["a = 0\n", 'extends = "l0"\nb = 1\nc = 1\n', 'extends = "l1"\nunset = ["a", "b"]\n'],
        {"c": 1},
    ),
    "not what an upper layer brings again": (
        ["a = 0\nb = 0\n", 'extends = "l0"\nunset = ["a"]\n', 'extends = "l1"\na = 2\n'],
        {"b": 0, "a": 2},
    ),
    "several": (["a = 1\nb = 1\nc = 1\n", 'extends = "l0"\nunset = ["a", "c", "a"]\n'], {"b": 1}),
    "an empty list": (["a = 1\n", 'extends = "l0"\nunset = []\n'], {"a": 1}),
    "an element is no key": (["a = [1, 2]\n", 'extends = "l0"\nunset = ["a.0"]\n'], {"a": [1, 2]}),
}


@pytest.mark.parametrize(("layers", "merged"), UNSETS.values(), ids=UNSETS.keys())
def test_unset_takes_away_from_the_layers_below(fleet: Fleet, layers: list[str], merged: Mapping[str, Any]) -> None:
    assert tomllib.loads(stacked(fleet, *layers)) == merged


def test_one_machines_unset_does_not_touch_anothers_answer(fleet: Fleet) -> None:
    fleet.write(
        {
            "groups/g.toml": "[t]\na = 1\nb = 1\n",
            "n1.toml": 'extends = "g"\nunset = ["t.a"]\n',
            "n2.toml": 'extends = "g"\n[t]\nc = 1\n',
        }
    )
    for _ in range(2):
        assert tomllib.loads(fleet.text("/?h=n1")) == {"t": {"b": 1}}
        assert tomllib.loads(fleet.text("/?h=n2")) == {"t": {"a": 1, "b": 1, "c": 1}}


TEXTS: dict[str, tuple[list[str], str]] = {
    "in order, root first": (["a\n", "# answer: extends l0\nb\n", "# answer: extends l1\nc\n"], "a\nb\nc\n"),
    "a newline only where one is missing": (["a", "# answer: extends l0\nb"], "a\nb"),
    "nothing else changed": (["a\r\n\r\n", "// answer: extends l0\n\n b"], "a\r\n\r\n\n b"),
    "an interpreter line of each": (["#!ipxe\na\n", "# answer: extends l0\n#!ipxe\nb\n"], "#!ipxe\na\nb\n"),
    "the highest interpreter line": (
        ["#!/bin/sh\na\n", "#!/bin/bash\n# answer: extends l0\nb\n"],
        "#!/bin/bash\na\nb\n",
    ),
    "the only interpreter line": (["a\n", "# answer: extends l0\n#!ipxe\nb\n"], "#!ipxe\na\nb\n"),
    "ordinary comments are served": (
        ["# one\n// two\n", "# answer: extends l0\n# three\n"],
        "# one\n// two\n# three\n",
    ),
    "an empty layer": (["a", "# answer: extends l0"], "a"),
}


@pytest.mark.parametrize(("layers", "merged"), TEXTS.values(), ids=TEXTS.keys())
@pytest.mark.parametrize("extension", ["ks", "preseed", "seed", "cfg", "ipxe"])
def test_texts_are_laid_one_after_another(fleet: Fleet, layers: list[str], merged: str, extension: str) -> None:
    assert stacked(fleet, *layers, extension=extension) == merged


def test_placeholders_at_the_seam_of_two_texts(fleet: Fleet) -> None:
    text = stacked(fleet, "a {{ h }}", "# answer: extends l0\n{{ h }} b\n", extension="ks")
    assert text == "a n1\nn1 b\n"
