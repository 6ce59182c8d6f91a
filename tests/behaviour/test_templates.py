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

from answerd.errors import CannotFill
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
