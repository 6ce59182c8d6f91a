"""The YAML family case by case: what survives, what is refused and how it is said, what a merge and a fill leave."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import yaml as pyyaml
from ruamel.yaml import YAML

from answerd.formats import yaml as yaml_family
from answerd.formats.family import DEEPEST, ParseError, Prepared, RawValue
from answerd.formats.template import TemplateReader
from answerd.formats.yaml_read import MOST_ALIASED
from tests.support.lookups import Said


def written(tree: Any) -> str:
    static = yaml_family.prepare(tree).static
    assert static is not None
    return static.decode()


def rewritten(text: str) -> str:
    return written(yaml_family.parse(text))


def templated(text: str) -> Prepared:
    reader = TemplateReader()
    prepared = yaml_family.prepare(yaml_family.placeholders(yaml_family.parse(text), reader))
    assert reader.problems == []
    return prepared


def filled(text: str, value: str) -> str:
    return templated(text).fill(Said(lambda _: value)).decode()


def read_1_1(text: str) -> Any:
    return pyyaml.safe_load(text)


def read_1_2(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


KEPT = {
    "an octal of YAML 1.1": "mode: 0644\n",
    "an octal of YAML 1.2": "mode: 0o14\n",
    "words that are booleans in YAML 1.1": "a: yes\nb: No\nc: on\n",
    "a number with a zero at its end": "release: 1.10\n",
    "a date": "when: 2001-01-01\n",
    "a MAC address of digits": "mac: 52:54:00:12:34:56\n",
    "numbers of every spelling": "a: 0x1F\nb: 1_000\nc: .inf\nd: 1e3\ne: -.NaN\n",
    "nulls of every spelling": "a: ~\nb: null\nc:\nd: Null\n",
    "the equals sign": "a: =\n",
    "a number of twenty digits": "a: 12345678901234567890\n",
    "single quotes": "a: '0644'\nb: 'it''s'\n",
    "double quotes": 'a: "0644"\nb: "tab\\t, \\"quote\\" and \\\\"\n',
    "a quoted key": '"1": a\n1: b\n',
    "a literal block": "a: |\n  one\n    two\n\n  three\nb: 1\n",
    "a literal block without a last newline": "a: |-\n  one\nb: 1\n",
    "a literal block with blank lines after it": "a: |+\n  one\n\n\nb: 1\n",
    "a literal block that begins with blanks": "a: |2\n    one\n  two\n",
    "a literal block in a list in a list": "- - |\n    one\n  - a: |-\n      two\n",
    "a folded block": "a: >-\n  one\n\n  two\n    more\n\n    indented\n  three\n",
    "block scalars with blanks at their lines' ends": "a: |\n  one  \n  \ttwo\n",
    "brackets, with colons in plain scalars": "a: {t: 12:30, u: http://h/p?q, l: [1.10, yes]}\n",
    "empty collections": "a: {}\nb: []\n",
    "tags": "a: !!str 0644\nb: !custom {x: y}\nc: !!binary |\n  aGk=\nd: !list\n  - 1\n",
    "a tag that names no type": "a: ! 12\nb: ! '12'\n",
    "a tag written out": "a: !<tag:example.com,2000:x> b\n",
    "a line of a thousand characters": f"a: {'word ' * 200}end\n",
    "keys that are no texts": "1: a\n2001-01-01: b\nyes: c\n~: d\n",
    "keys that are collections": "? [a, b]\n: 1\n? {a: b}\n:\n  - 2\n",
    "a key of two thousand characters": f"? {'k' * 2000}\n: v\n",
    "letters of all planes": "a: é日本😀\nb: 'é😀'\nc: |\n  😀\n",
    "a merge key in quotes": '"<<": 1\n',
    "a list at the top": "- 1\n- a: b\n",
    "a text at the top": "just text\n",
    "a block at the top": "|\n  one\n  two\n",
    "the comments that open it": "#cloud-config\n# mine\na: 1\n",
}


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_what_a_merge_does_not_name_leaves_as_it_came(text: str) -> None:
    assert rewritten(text) == text


SAME = {
    "a plain scalar over several lines": "a: one\n  two\n\n  three\nb: 1\n",
    "double quotes over several lines": 'a: "one\n  two\\\n  three"\n',
    "a literal block that begins with an empty line": "a: |\n\n  one\n",
    "a literal block of empty lines": "a: |+\n\n\nb: 1\n",
    "a literal block that begins with a tab": "a: |1\n \tone\n",
    "nothing between brackets": "a: {b: , c}\nb: [{d: }]\n",
    "an empty key": "? \n: 1\n",
    "a pair in a list": "a: [b: c, d]\n",
    "a separator and its kin": 'a: "\\u2028\\u2029\\x85\\ufeff\\0\\a\\e"\n',
    "a plain text like a marker": "  ---\n",
    "another one": "  ... x\n",
    "the marker as a text": "'---': '...'\n",
    "directive and markers": "%YAML 1.1\n---\na: 1 # one\n...\n",
    "a directive for tags": "%TAG !x! tag:yaml.org,2002:\n---\na: !x!str 1\n",
    "lists that are not indented": "a:\n- 1\n- b: 2\n  c: 3\n",
    "carriage returns": "a: 1\r\nb: |\r\n  one\r\n  two\r\n",
    "aliases": "a: &x {k: [1, 2]}\nb: *x\nc: &y |\n  text\nd: [*y, *x]\n",
    "an anchor written twice where its map is": "a: &x\n  k: 1, 2\nb: {c: *x}\n",
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_what_is_written_otherwise_means_the_same(text: str) -> None:
    result = rewritten(text)
    assert read_1_1(result) == read_1_1(text)
    assert read_1_2(result) == read_1_2(text)
    assert not set(result) & set("*&%")


REFUSED = {
    "a key twice": ("a: 1\nb: 2\na: 3\n", "line 3, column 1: this map has this key already, on line 1: remove one"),
    "a key twice between brackets": ("x: {a: 1, 'a': 2}\n", "line 1, column 11: this map has this key already"),
    "a number twice as a key": ("1: a\n1: b\n", "line 2, column 1: this map has this key already"),
    "a list twice as a key": ("? [1]\n: a\n? [1]\n: b\n", "line 3, column 3: this map has this key already"),
    "the merge key twice": ("a: &a {b: 1}\nc: {<<: *a, <<: *a}\n", "line 2, column 13"),
    "a control key in the second document": ("a: 1\n---\nextends: b\n", "line 3, column 1: extends is a control key"),
    "an alias to another document": ("a: &x 1\n---\nb: *x\n", "line 3, column 4: this alias"),
    "a key twice in the second document": ("a: 1\n---\nb: 1\nb: 2\n", "line 4, column 1"),
    "a bracket that is not closed": ("c: 1\na: [1\nb: 2\n", "line 3, column 2: .* that began on line 2"),
    "an indentation that fits nowhere": ("a:\n    b: 1\n  c: 2\n", "line 3, column 3"),
    "a tab for indentation": ("a:\n\tb: 1\n", "line 2, column 1: .*never with a tab"),
    "a statement of Jinja": ("a: 1\n{% if x %}\nb: 2\n", "line 2, column 2: .*have its own program fill it"),
    "a statement of Packer": ("a:\n  %{ for x in y }\n  b: 1\n", "line 2, column 3: .*have its own program fill it"),
    "a statement of ERB, found in the next line": ("a: 1\n<% if x %>\nb: 2\n", "line 3, column 1: .*fill it"),
    "a variable of Packer as a line": ("a: 1\n${storage}\nb: 2\n", "line 3, column 1: .*fill it"),
    "no statement before the fault": ("a: 1\nb\nc: 1\n# {%\n{% x %}\n", "line 3, column 1: .* began on line 2$"),
    "a placeholder without quotes": ("a: 1\nb: {{ mac }}\n", "line 2, column 4: .*in quotes: '{{ label }}'"),
    "a filtered placeholder without quotes": ("b: {{ mac | bare }}\n", "line 1, column 4: .*in quotes"),
    "a placeholder without quotes and text": ("b: {{ mac }}-x\n", "line 1, column 4: .*in quotes"),
    "a placeholder without quotes in a list": ("- {{ mac }}\n", "line 1, column 3: .*in quotes"),
    "an alias without an anchor": ("a: *nobody\n", "line 1, column 4: this alias names no anchor"),
    "an alias inside its own node": ("a: &a\n  b: [*a]\n", "line 2, column 7: this alias is inside"),
    "a merge key over a text": ("<<: text\n", "line 1, column 5: << takes a map"),
    "a merge key over a list of texts": ("<<: [{a: 1}, text]\n", "line 1, column 5: << takes a map"),
    "a control character": ("a: 1\nb: x\x07\n", "line 2, column 5: the character U[+]0007"),
    "a NUL": ("\x00", "line 1, column 1: the character U[+]0000"),
    "half a character": ("a: \ud800\n", "line 1, column 4: the character U[+]D800"),
    "a tag without its handle": ("a: !x!y 1\n", "line 1, column 4"),
    "another YAML": ("%YAML 2.0\n---\na: 1\n", "line 1, column 1"),
}


@pytest.mark.parametrize(("text", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_refused_with_its_place(text: str, reason: str) -> None:
    with pytest.raises(ParseError, match=f"^{reason}") as refusal:
        yaml_family.parse(text)
    assert "\n" not in str(refusal.value)


def test_tabs_between_tokens_are_read() -> None:
    assert rewritten("a:\t1\t# one\n") == "a: 1\n"


def test_keys_of_different_type_are_different_keys() -> None:
    assert read_1_1(rewritten("2: a\n'2': b\nyes: c\n'yes': d\n")) == {2: "a", "2": "b", True: "c", "yes": "d"}


DEEP = {
    "lists": ("[" * DEEPEST + "]" * DEEPEST, "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1)),
    "dashes": ("- " * DEEPEST + "a\n", "- " * (DEEPEST + 1) + "a\n"),
    "maps": (
        "".join(" " * n + "a:\n" for n in range(DEEPEST)),
        "".join(" " * n + "a:\n" for n in range(DEEPEST + 1)),
    ),
    "aliases": (
        "- &a0 []\n" + "".join(f"- &a{n} [*a{n - 1}]\n" for n in range(1, DEEPEST - 1)),
        "- &a0 []\n" + "".join(f"- &a{n} [*a{n - 1}]\n" for n in range(1, DEEPEST)),
    ),
}


@pytest.mark.parametrize(("deepest", "too_deep"), DEEP.values(), ids=DEEP)
def test_nesting_has_a_bound(deepest: str, too_deep: str) -> None:
    tree = yaml_family.parse(deepest)
    assert yaml_family.parse(written(yaml_family.merge(tree, tree))) == yaml_family.parse(written(tree))
    with pytest.raises(ParseError, match=rf"more than {DEEPEST} levels deep"):
        yaml_family.parse(too_deep)


@pytest.mark.parametrize("text", ["[", "{a: ", "- ", "? "], ids=["lists", "maps", "dashes", "keys"])
def test_a_hundred_thousand_levels_do_not_end_the_process(text: str) -> None:
    """In a process of its own: ``yaml.compose`` dies of these by a signal."""
    program = (
        "from answerd.formats import yaml_family\n"
        "try:\n"
        f"    yaml_family.parse({text!r} * 100_000)\n"
        "except ValueError as error:\n"
        "    print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "levels deep" in ran.stdout


BOMBS = {
    "of lists": "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 10}]\n" for n in range(1, 30)),
    "of a long text": f"a: &a '{'x' * 100_000}'\nb: [{'*a, ' * 1000}]\n",
    "of merge keys": "a0: &a0 {k0: 1}\n"
    + "".join(f"a{n}: &a{n}\n  <<: *a{n - 1}\n  k{n}: 1\n" for n in range(1, 1000)),
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_an_alias_bomb_is_refused_before_it_grows(text: str) -> None:
    with pytest.raises(ParseError, match=rf"aliases (expand to more than {MOST_ALIASED} nodes|nest it more)"):
        yaml_family.parse(text)


def test_a_large_document_without_aliases_is_no_bomb() -> None:
    assert rewritten("- a\n" * (MOST_ALIASED + 1)).count("- a\n") == MOST_ALIASED + 1


MERGE_KEYS = {
    "a map": ("base: &b {x: 1, y: 2}\nk:\n  a: 0\n  <<: *b\n  z: 3\n", {"a": 0, "x": 1, "y": 2, "z": 3}),
    "own keys win": ("base: &b {x: 1, y: 2}\nk: {x: 9, <<: *b}\n", {"x": 9, "y": 2}),
    "own keys win after it": ("base: &b {x: 1, y: 2}\nk: {<<: *b, x: 9}\n", {"x": 9, "y": 2}),
    "of several maps the first wins": ("k: {<<: [{x: 1}, {x: 2, y: 2}]}\n", {"x": 1, "y": 2}),
    "through two maps": ("a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nk: {<<: *b, z: 3}\n", {"x": 1, "y": 2, "z": 3}),
}


@pytest.mark.parametrize(("text", "expected"), MERGE_KEYS.values(), ids=MERGE_KEYS)
def test_merge_keys_are_resolved(text: str, expected: dict[str, int]) -> None:
    result = rewritten(text)
    assert "<<" not in result
    assert read_1_1(result)["k"] == expected == read_1_1(text)["k"]
    assert read_1_2(result)["k"] == expected


def test_control_keys_are_read_by_their_text_and_taken_out() -> None:
    tree = yaml_family.parse(
        "#cloud-config\na: 1\n"
        "extends: 0644\nmembers: [52:54:00:12:34:56, 1.10, 'x', 2001-01-01, ~]\n"
        "match: {serial: 007, n: [yes, 'no', {}], 5: a}\n\"unset\": ['a.\"b.c\"', 1.2]\ntemplate: off\n"
    )
    control, rest = yaml_family.control(tree)
    assert control.faults == ()
    assert control.values == {
        "extends": RawValue("0644", "line 3, column 10"),
        "members": RawValue(["52:54:00:12:34:56", "1.10", "x", "2001-01-01", None], "line 4, column 10"),
        "match": RawValue({"serial": "007", "n": ["yes", "no", {}], "5": "a"}, "line 5, column 8"),
        "unset": RawValue(['a."b.c"', "1.2"], "line 6, column 10"),
        "template": RawValue(False, "line 7, column 11"),
    }
    assert written(rest) == "#cloud-config\na: 1\n"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("true", True),
        ("False", False),
        ("YES", True),
        ("off", False),
        ("'false'", "false"),
        ("0", "0"),
        ("", None),
        ("[a]", ["a"]),
    ],
)
def test_template_is_a_truth_or_what_else_stands_there(value: str, expected: object) -> None:
    assert yaml_family.control(yaml_family.parse(f"template: {value}\n"))[0].values["template"].value == expected


def test_labels_that_are_no_texts_are_left_for_the_reader_to_refuse() -> None:
    control, _ = yaml_family.control(yaml_family.parse("match:\n  ? [a]\n  : b\n  ~: c\n"))
    assert control.values["match"].value == {(): "b", None: "c"}


@pytest.mark.parametrize("text", ["- extends\n", "extends\n", "", "a: {extends: b}\n"])
def test_control_keys_stand_at_the_top_of_a_map_only(text: str) -> None:
    tree = yaml_family.parse(text)
    control, rest = yaml_family.control(tree)
    assert control.values == {}
    assert rest is tree


def test_unset_finds_a_key_by_its_text_and_leaves_an_empty_map() -> None:
    assert written(yaml_family.unset(yaml_family.parse("ports:\n  8080: a\n"), [("ports", "8080")])) == "ports: {}\n"


def test_a_filled_literal_block_stays_one_where_it_can() -> None:
    text = "a:\n  s: |\n    #!/bin/sh\n    echo {{ v }}\n"
    assert filled(text, "x: 'y'") == text.replace("{{ v }}", "x: 'y'")
    assert filled(text, "\u2028") == 'a:\n  s: "#!/bin/sh\\necho \\u2028\\n"\n'


@pytest.mark.parametrize("value", ["0644", "yes", "0o14", "~", "{{", "", "- a", "12:30"])
def test_a_literal_placeholder_leaves_a_string(value: str) -> None:
    plain = written(
        yaml_family.placeholders(yaml_family.parse(f"v: a\nw: 'x'\nk: >-\n  {{{{ '{value}' }}}}\n"), TemplateReader())
    )
    quoted = templated(f"k: '{{{{ \"{value}\" }}}}'\n").static
    assert quoted is not None
    for text in (plain, quoted.decode()):
        assert read_1_1(text)["k"] == value == read_1_2(text)["k"]
