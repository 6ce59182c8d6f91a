"""Merged AutoYaST profiles, read by a literal rendering of the rules of AutoYaST's own reader."""

from __future__ import annotations

import re
from typing import Any
from xml.dom import minidom

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from answerd.formats import xml as xml_family
from answerd.formats.family import MergeError
from answerd.formats.template import TemplateReader
from tests.support.lookups import Said
from tests.support.thorough import examples

OPENS = (
    '<profile xmlns="http://www.suse.com/1.0/yast2ns" xmlns:config="http://www.suse.com/1.0/configns" '
    'xmlns:c="http://www.suse.com/1.0/configns">'
)


class Refused(Exception):
    """The installer would stop at this profile."""


def said(profile: str) -> dict[str, Any]:
    """What AutoYaST makes of a profile. The rules are those of ``XMLToYCPString`` of yast2: namespaces are removed,
    then each element below the root is read by its type."""
    root = minidom.parseString(profile).documentElement
    assert root is not None
    values: dict[str, Any] = {}
    for child in elements(root):
        values[child.localName] = value_of(child)
    return values


def elements(node: minidom.Element) -> list[minidom.Element]:
    return [child for child in node.childNodes if isinstance(child, minidom.Element)]


def value_of(node: minidom.Element) -> Any:
    text = "".join(
        child.data if isinstance(child, minidom.CDATASection) else child.data.strip(" \t\r\n")
        for child in node.childNodes
        if isinstance(child, minidom.Text)
    )
    children = elements(node)
    short, long = (
        node.getAttribute("t"),
        [value for label, value in node.attributes.items() if label.rpartition(":")[2] == "type"],
    )
    if short and long:
        raise Refused(f"<{node.localName}> has both 't' and 'type'")
    has_cdata = any(isinstance(child, minidom.CDATASection) for child in node.childNodes)
    match short or next(iter(long), "") or guessed(text, children, has_cdata):
        case "string" | "disksize":
            return text
        case "symbol" if text:
            return ("symbol", text)
        case "integer" if re.search("-?[0-9]+", text):
            return int("".join(re.findall("^-?[0-9]+", text)) or 0)
        case "boolean" if text in ("true", "false"):
            return text == "true"
        case "list":
            return [value_of(child) for child in children]
        case "map":
            return {child.localName: value_of(child) for child in children}
    raise Refused(f"<{node.localName}> is not of its type")


def guessed(text: str, children: list[minidom.Element], has_cdata: bool) -> str:
    if children and not text:
        return "map"
    if has_cdata or not children:
        return "string"
    raise Refused("text beside elements")


def is_taken(profile: str) -> bool:
    try:
        said(profile)
    except Refused:
        return False
    return True


def laid_over(lower: str, upper: str) -> str:
    below, above = xml_family.parse(lower), xml_family.parse(upper)
    static = xml_family.prepare(xml_family.merge(below, above)).static
    assert static is not None
    return static.decode()


TYPES = ["string", "disksize", "symbol", "integer", "boolean", "list", "map"]
types = st.sampled_from(
    ["", "", *(f' {label}="{kind}"' for label in ("t", "type", "config:type", "c:type") for kind in TYPES)]
)
texts = st.sampled_from(["", "", " ", "true", "false", "7", "x", "<![CDATA[ y ]]>", "<!-- z -->", "<?z?>"])
names = st.sampled_from("abc")


def element(content: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda name, kind, inside: f"<{name}{kind}>{inside}</{name}>", names, types, content).filter(
        lambda text: is_taken(f"{OPENS}{text}</profile>")
    )


contents = st.recursive(
    texts,
    lambda below: st.builds(
        lambda before, children: before + "".join(children), texts, st.lists(element(below), min_size=1, max_size=3)
    ),
    max_leaves=8,
)
profiles = st.lists(element(contents), min_size=1, max_size=4).map(lambda below: f"{OPENS}{''.join(below)}</profile>")


@settings(max_examples=examples(300))
@given(profiles, profiles)
def test_what_the_reader_takes_in_two_layers_it_takes_when_they_are_merged(lower: str, upper: str) -> None:
    try:
        merged = said(laid_over(lower, upper))
    except MergeError:
        event("not merged")
        assume(False)
        return
    below, above = said(lower), said(upper)
    assert merged.keys() == {*below, *above}
    for name in below.keys() ^ above.keys():
        assert merged[name] == {**below, **above}[name]


TRUE, LIST = '<a config:type="boolean">true</a>', '<a config:type="list"><b>1</b></a>'
CASES: dict[str, tuple[str, str, Any]] = {
    "the short spelling over the long one": (TRUE, '<a t="boolean">false</a>', False),
    "the long spelling over the short one": ('<a t="boolean">true</a>', '<a config:type="boolean">false</a>', False),
    "another prefix": (TRUE, '<a c:type="boolean">false</a>', False),
    "a type without a namespace": (TRUE, '<a type="boolean">false</a>', False),
    "a text without a type that is of the type below": (TRUE, "<a>false</a>", False),
    "a text that is not of the type below": (TRUE, "<a>maybe</a>", "maybe"),
    "a text over a list": (LIST, "<a>one</a>", "one"),
    "elements over a boolean": (TRUE, "<a><b>1</b></a>", {"b": "1"}),
    "elements over a list are a list": (LIST, "<a><b>2</b></a>", ["2"]),
    "a map over a list": (LIST, '<a t="map"><c>2</c></a>', {"c": "2"}),
    "a list over a map": ('<a t="map"><c>2</c></a>', '<a t="list"><b>1</b></a>', ["1"]),
    "a map over a map": ('<a t="map"><c>2</c></a>', '<a config:type="map"><b>1</b></a>', {"c": "2", "b": "1"}),
    "nothing but a type, over a value of another": (TRUE, '<a t="list"/>', True),
    "nothing but a type, over a value without one": ("<a><b>1</b></a>", '<a t="list"/>', ["1"]),
    "nothing but a spelling": (TRUE, "<a/>", True),
    "a type over nothing": ("<a/>", '<a t="list"/>', []),
}


@pytest.mark.parametrize(("lower", "upper", "wanted"), CASES.values(), ids=CASES)
def test_the_type_is_that_of_the_content(lower: str, upper: str, wanted: Any) -> None:
    layers = [f"{OPENS}{layer}</profile>" for layer in (lower, upper)]
    assert said(laid_over(*layers)) == {"a": wanted}


def test_a_type_stays_where_a_request_fills_the_text() -> None:
    upper = xml_family.parse(f"{OPENS}<a>{{{{ x }}}}</a></profile>")
    reader = TemplateReader("{{ x }}")
    merged = xml_family.merge(xml_family.parse(f"{OPENS}{TRUE}</profile>"), xml_family.placeholders(upper, reader))
    filled = xml_family.prepare(merged).fill(Said({"x": ["false"]}))
    assert said(filled.decode()) == {"a": False}


def test_elsewhere_t_is_an_attribute_like_any_other() -> None:
    merged = laid_over('<r><a type="x" t="1">u</a></r>', '<r><a t="2">v</a></r>')
    assert minidom.parseString(merged).getElementsByTagName("a")[0].attributes.items() == [("type", "x"), ("t", "2")]
