"""Placeholders filled by each format's own rules: docs/templates.md, in every store."""

from __future__ import annotations

import json
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
import yaml

from answerd.errors import BrokenDocument, CannotFill
from tests.support.fleet import Fleet

NASTY = [
    "plain",
    "a\"b'c<d>&f\\",
    "no: # \"x'",
    "{{ x }}",
    "{% x %}",
    "]]>",
    "--> <!-- ",
    "${x} $x `x`",
    "%41 %",
    "- a",
    "? a",
    "*a &a !a |a >a @a",
    " lead and trail ",
    "true",
    "0644",
    "null",
    "~",
    "1e3",
    "2001-01-01",
    "",
    "é 😀 \u2028 \ufeff",
    "\\u0041 \\n \\",
    "'''\"\"\"",
    "]",
    "}",
    ",",
    "#",
    "=",
]

DOCUMENTS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "toml": (
        'v = "{{ v }}"\nl = \'{{ v }}\'\na = ["x{{ v }}y"]\n[t]\ni = {k = "{{ v }}"}\nm = """\n{{ v }}"""\n',
        lambda text: [
            (d := tomllib.loads(text))["v"],
            d["l"],
            d["a"][0].removeprefix("x").removesuffix("y"),
            d["t"]["i"]["k"],
            d["t"]["m"],
        ],
    ),
    "json": (
        '{"v": "{{ v }}", "a": ["x{{ v }}y"]}',
        lambda text: [(d := json.loads(text))["v"], d["a"][0].removeprefix("x").removesuffix("y")],
    ),
    "ign": ('{"v": "{{ v }}"}', lambda text: [json.loads(text)["v"]]),
    "yaml": (
        'v: "{{ v }}"\ns: \'{{ v }}\'\na: ["x{{ v }}y"]\np: x{{ v }}y\n',
        lambda text: [
            (d := yaml.safe_load(text))["v"],
            d["s"],
            d["a"][0].removeprefix("x").removesuffix("y"),
            d["p"].removeprefix("x").removesuffix("y"),
        ],
    ),
    "xml": (
        '<r a="{{ v }}"><v>x{{ v }}y</v></r>',
        lambda text: [
            (d := ET.fromstring(text)).attrib["a"],
            (d[0].text or "").removeprefix("x").removesuffix("y"),
        ],
    ),
    "ks": ("{{ v }}|", lambda text: [text.removesuffix("|")]),
}


@pytest.mark.parametrize("extension", DOCUMENTS)
def test_a_value_never_changes_the_structure(fleet: Fleet, extension: str) -> None:
    document, read = DOCUMENTS[extension]
    fleet.write({f"default.{extension}": document})
    for value in filter(None, NASTY):
        values = read(fleet.text(f"/?v={quote(value)}"))
        assert values == [value] * len(values)


@pytest.mark.parametrize("extension", DOCUMENTS)
def test_a_control_character_is_refused_and_the_fact_named(fleet: Fleet, extension: str) -> None:
    fleet.write({f"default.{extension}": DOCUMENTS[extension][0]})
    for value in ("a\nb", "a\x00", "\x1b[2J", "a\x7f", "a\x85b", "\x9f", "a\tb", "a\r"):
        with pytest.raises(CannotFill, match="'v'") as caught:
            fleet.ask(f"/?v={quote(value)}")
        assert caught.value.reason.isprintable(), repr(value)


UNREADABLE: dict[str, dict[str, Any]] = {
    "a byte in the query that is not UTF-8": {"target": "/?v=a%ff"},
    "a byte in the path that is not UTF-8": {"target": "/v%c3/x?w=1"},
    "a byte in a header that is not UTF-8": {"target": "/", "X_System_Serial_Number": "caf\xe9"},
    "a byte in a form that is not UTF-8": {"body": b"v=%ff", "content_type": "application/x-www-form-urlencoded"},
    "a lone surrogate in JSON": {"body": b'{"v": "a\\ud800b"}'},
}


@pytest.mark.parametrize("extension", DOCUMENTS)
@pytest.mark.parametrize("asked", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_value_that_was_no_unicode_is_refused_and_never_replaced(
    fleet: Fleet, extension: str, asked: dict[str, Any]
) -> None:
    label = "path" if "w=1" in asked.get("target", "") else "serial" if "X_System_Serial_Number" in asked else "v"
    fleet.write({f"default.{extension}": DOCUMENTS[extension][0].replace("{{ v }}", f"{{{{ {label} }}}}")})
    with pytest.raises(CannotFill, match=label) as caught:
        fleet.ask(**asked)
    assert "Unicode" in caught.value.reason
    assert caught.value.reason.isprintable()


@pytest.mark.parametrize("placeholder", ["v | upper", "v | default('x')", "v | bare"])
@pytest.mark.parametrize("value", ["98fa9b50d810%ff", "98fa9b50d810%0a"])
def test_a_filter_hides_no_value_that_no_answer_may_take(fleet: Fleet, placeholder: str, value: str) -> None:
    fleet.write({"default.ks": f"{{{{ {placeholder} }}}}\n"})
    with pytest.raises(CannotFill, match=r"control character|Unicode"):
        fleet.ask(f"/?v={value}")


def test_what_a_placeholder_does_not_take_may_be_no_unicode(fleet: Fleet) -> None:
    fleet.write({"default.ks": "{{ serial }}\n", "groups/g.ks": "# answer: match v=a?b\nlang g\n"})
    assert fleet.text("/x%ff?y=%ff", body=b'{"serial": "S", "\\ud800": "\\udfff"}') == "S\n"
    assert fleet.text("/?v=a%ffb") == "lang g\n"


@pytest.mark.parametrize("extension", DOCUMENTS)
def test_a_missing_fact_is_named(fleet: Fleet, extension: str) -> None:
    fleet.write({f"default.{extension}": DOCUMENTS[extension][0]})
    for target in ("/", "/?v=", "/?w=1"):
        with pytest.raises(CannotFill, match="'v'"):
            fleet.ask(target)


def test_a_missing_fact_is_named_as_the_document_writes_it(fleet: Fleet) -> None:
    fleet.write({"default.ks": "{{ dmi.System.Serial }}\n"})
    with pytest.raises(CannotFill, match=r"dmi\.System\.Serial"):
        fleet.ask("/")


LITERALS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "toml": ('v = """{{ \'<&>\' }}{{ w | default(\'<&>\') }}"""\n', lambda text: tomllib.loads(text)["v"]),
    "json": ("{\"v\": \"{{ '<&>' }}{{ w | default('<&>') }}\"}", lambda text: json.loads(text)["v"]),
    "yaml": ("v: \"{{ '<&>' }}{{ w | default('<&>') }}\"\n", lambda text: yaml.safe_load(text)["v"]),
    "xml": (
        "<r><v>{{ '&lt;&amp;&gt;' }}{{ w | default('&lt;&amp;&gt;') }}</v></r>",
        lambda text: ET.fromstring(text)[0].text,
    ),
    "ks": ("{{ '<&>' }}{{ w | default('<&>') }}", lambda text: text),
}


@pytest.mark.parametrize("extension", LITERALS)
def test_a_literal_and_a_default_are_escaped_too(fleet: Fleet, extension: str) -> None:
    document, read = LITERALS[extension]
    fleet.write({f"default.{extension}": document})
    assert read(fleet.text("/")) == "<&><&>"


def test_keys_are_filled_too(fleet: Fleet) -> None:
    fleet.write(
        {
            "default.toml": '"{{ v }}" = 1\n["{{ w }}"]\nx = "{{ v }}"\n',
            "default.json": '{"{{ v }}": "{{ v }}"}',
            "default.yaml": '"{{ v }}": "{{ v }}"\n',
        }
    )
    assert tomllib.loads(fleet.text("/pve?v=1&w=2")) == {"1": 1, "2": {"x": "1"}}
    assert json.loads(fleet.text("/json?v=1")) == {"1": "1"}
    assert yaml.safe_load(fleet.text("/yaml?v=1")) == {"1": "1"}
    assert fleet.problems() == []


def test_machine_and_group_tell_what_applied(fleet: Fleet) -> None:
    fleet.write(
        {
            "groups/Rack-A.toml": (
                'members = ["Node 1", "other"]\nm = "{{ machine | default(\'-\') }}"\ng = "{{ group }}"\n'
            ),
            "groups/base.toml": 'g = "{{ group }}"\n',
            "NODE-1.toml": "own = 1\n",
            "lone.toml": 'g = "{{ group | default(\'none\') }}"\nm = "{{ MACHINE }}"\n',
            "over.toml": 'extends = "Base"\n',
            "default.ks": "{{ machine }}\n",
        }
    )
    assert tomllib.loads(fleet.text("/?h=node1&machine=forged&group=forged")) == {
        "m": "NODE-1",
        "g": "Rack-A",
        "own": 1,
    }
    assert tomllib.loads(fleet.text("/?h=other&machine=forged")) == {"m": "-", "g": "Rack-A"}
    assert tomllib.loads(fleet.text("/?h=lone", json={"group": "forged"})) == {"g": "none", "m": "lone"}
    assert tomllib.loads(fleet.text("/?h=over")) == {"g": "base"}
    with pytest.raises(CannotFill, match="machine"):
        fleet.ask("/ks?machine=forged")


def test_templates_are_switched_off_for_one_layer_only(fleet: Fleet) -> None:
    fleet.write(
        {
            "groups/off.toml": 'template = false\na = "{{ v }} {{.ID}} {{"\n',
            "n1.toml": 'extends = "off"\nb = "{{ v }}"\n',
            "groups/on.toml": 'a = "{{ v }}"\n',
            "n2.toml": 'extends = "on"\ntemplate = false\nb = "{{ v }}"\n',
            "groups/off.ks": "# answer: template off\n{{ v }} {{.ID}}\n",
            "n3.ks": "# answer: extends off\n{{ v }}\n",
            "n4.json": '{"template": false, "b": "{{ v }}"}',
            "n5.yaml": 'template: false\nb: "{{ v }}"\n',
            "n6.xml": '<r><answer-meta template="false"/><b>{{ v }}</b></r>',
        }
    )
    assert fleet.problems() == []
    assert tomllib.loads(fleet.text("/?h=n1&v=1")) == {"a": "{{ v }} {{.ID}} {{", "b": "1"}
    assert tomllib.loads(fleet.text("/?h=n2&v=1")) == {"a": "1", "b": "{{ v }}"}
    assert fleet.text("/?h=n3&v=1") == "{{ v }} {{.ID}}\n1\n"
    assert json.loads(fleet.text("/?h=n4&v=1")) == {"b": "{{ v }}"}
    assert yaml.safe_load(fleet.text("/?h=n5&v=1")) == {"b": "{{ v }}"}
    assert "<b>{{ v }}</b>" in fleet.text("/?h=n6&v=1")
    assert "answer-meta" not in fleet.text("/?h=n6&v=1")


@pytest.mark.parametrize(
    "document",
    ["echo {{a,b},c} ${#x}\n", "{{\n", "awk '{{print}' x\n", "a {{ v\n}}\n"],
)
def test_open_braces_are_text_in_the_text_family_and_the_document_is_served_as_written(
    fleet: Fleet, document: str
) -> None:
    fleet.write({"default.ks": document})
    assert fleet.text("/") == document
    assert fleet.problems() == []


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("default.toml", 'a = "{{"\n'),
        ("default.toml", 'a = """\n{{ v\n}}"""\n'),
        ("default.json", '{"a": "{{ v"}'),
        ("default.yaml", 'a: "{{ v"\n'),
        ("default.xml", "<r>{{ v</r>"),
        ("default.toml", 'a = ["{{ v w }}"]\n'),
        ("default.ks", "docker ps --format '{{.ID}}'\n"),
        ("default.yaml", "a: '{{ v | shout }}'\n"),
        ("default.xml", '<r a="{{ v v }}"/>'),
    ],
)
def test_braces_that_are_no_placeholder_are_a_problem_before_anybody_asks(
    fleet: Fleet, name: str, document: str
) -> None:
    problems = fleet.write({name: document}).problems()
    assert len(problems) == 1
    assert problems[0].startswith(f"default ({name.partition('.')[2]}): ")
    with pytest.raises(BrokenDocument):
        fleet.ask("/?v=1")


@pytest.mark.parametrize(
    ("written", "served"),
    [
        ('!x "{{ v }}"', '!x "42"'),
        ("!<tag:example.com,2000:x> '{{ v }}'", '!<tag:example.com,2000:x> "42"'),
        ('!!binary "{{ v }}=="', '!!binary "42=="'),
        ("!!binary |\n  {{ v }}\n", "!!binary |\n  42"),
        ('!!int "{{ v }}"', '!!int "42"'),
        ('!!int "0x{{ v }}"', '!!int "0x42"'),
        ('!!float "{{ v }}.5"', '!!float "42.5"'),
        ('!!bool "{{ v }}"', '!!bool "42"'),
        ('!!timestamp "2001-01-{{ v }}"', '!!timestamp "2001-01-42"'),
        ('!!str "{{ v }}"', '!!str "42"'),
        ('!x "{{ v | number }}"', "42"),
    ],
)
@pytest.mark.parametrize("before", ["", "b: 1\n---\n"], ids=["a document", "a stream"])
def test_a_yaml_value_with_a_tag_is_filled_as_others_are(fleet: Fleet, before: str, written: str, served: str) -> None:
    fleet.write({"default.yaml": f"{before}a: {written}\n"})
    assert fleet.problems() == []
    assert fleet.text("/yaml?v=42").rstrip("\n") == f"{before}a: {served}"


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ('!!int "x{{ v }}"', "cannot make this value one of the type !!int"),
        ('!!null "{{ v }}"', "cannot make this value one of the type !!null"),
        ('!!bool "x{{ v }}"', "cannot make this value one of the type !!bool"),
        ("!!binary '*{{ v }}'", "cannot make this value one of the type !!binary"),
        ("!!timestamp 'on {{ v }}'", "cannot make this value one of the type !!timestamp"),
        ('!x "{{ bad bad }}"', "is no placeholder"),
    ],
)
@pytest.mark.parametrize("before", ["", "b: 1\n---\n"], ids=["a document", "a stream"])
def test_a_placeholder_that_cannot_make_the_type_of_a_tag_is_a_problem(
    fleet: Fleet, before: str, written: str, reason: str
) -> None:
    fleet.write({"default.yaml": f"{before}a: {written}\n"})
    [problem] = fleet.problems()
    assert reason in problem
    assert f"line {before.count(chr(10)) + 1}, column" in problem
