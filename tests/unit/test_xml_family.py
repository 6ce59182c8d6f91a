"""The XML family: what is read, refused, merged and written. Answers are judged by xml.etree."""

from __future__ import annotations

import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from answerd.errors import CannotFill
from answerd.formats import xml as xml_family
from answerd.formats.control import read_control
from answerd.formats.family import ParseError
from answerd.formats.template import TemplateReader
from answerd.identity import Kind
from tests.support.lookups import Said


def served(*layers: str, **facts: str) -> str:
    """The answer of these layers, lowest first, their ``unset`` applied, without control keys."""
    tree: Any = None
    for text in layers:
        written, above = xml_family.control(xml_family.parse(text))
        above = xml_family.placeholders(above, TemplateReader())
        meaning = read_control(written, Kind.GROUP)
        if tree is not None:
            for path in meaning.unset:
                tree = xml_family.unset(tree, [path])
        assert not list(xml_family.not_arrays(above, meaning.append))
        tree = above if tree is None else xml_family.merge(tree, above, meaning.append)
    return xml_family.prepare(tree).fill(Said(facts.get)).decode()


BILLION_LAUGHS = (
    '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>\n<r>&b;&b;&b;&b;</r>'
)
REFUSED = {
    "empty": ("", 1, 1, "empty"),
    "only white space": ("\n \n", 1, 1, "empty"),
    "a tag not closed": ("<r>\n  <a>\n</r>", 3, 3, "does not close the element that is open, which began on line 2"),
    "two roots": ("<r/>\n<s/>", 2, 1, "junk"),
    "an attribute twice": ('<r>\n<a k="1" k="2"/></r>', 2, 10, "duplicate attribute"),
    "no XML": ("lang en_US\n", 1, 1, "syntax error"),
    "an entity of HTML": ("<r>\n<a>caf&eacute;</a></r>", 2, 7, "&eacute;"),
    "an entity of HTML in an attribute": ('<r>&amp;<a k="&amp;&nbsp;"/></r>', 1, 9, "&nbsp;"),
    "an entity of a DTD elsewhere": ('<!DOCTYPE r SYSTEM "x.dtd">\n<r>&foo;</r>', 2, 4, "is not defined"),
    "an entity of a DTD elsewhere in an attribute": ('<!DOCTYPE r PUBLIC "" "x">\n<r k="&foo;"/>', 2, 1, "not defined"),
    "an entity of a parameter entity": ('<!DOCTYPE r [\n%more;\n]>\n<r k="&foo;"/>', 4, 1, "is not defined"),
    "an entity declared": ('<!DOCTYPE r [\n<!ENTITY foo "x">]><r/>', 2, 14, "declares an entity"),
    "an external entity": ('<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n<r>&x;</r>', 1, 52, "an entity"),
    "a parameter entity": ('<!DOCTYPE r [<!ENTITY % p SYSTEM "http://127.0.0.1/x">%p;]><r/>', 1, 54, "an entity"),
    "a billion laughs": (BILLION_LAUGHS, 1, 25, "declares an entity"),
    "another encoding": ('<?xml version="1.0" encoding="ISO-8859-1"?><r/>', 1, 1, "another encoding"),
    "a declaration that is not first": ('\n<?xml version="1.0"?><r/>', 2, 1, "not at start"),
    "a control character": ("<r>\n\x01</r>", 2, 1, "invalid token"),
    "a raw ampersand": ("<r>\na && b</r>", 2, 4, "write &amp;"),
    "a raw ampersand before a blank": ("<r>a & b</r>", 1, 7, "write &amp;"),
    "ERB at the top": ("<%# x %>\n<r/>", 1, 2, "whose extension is erb"),
    "ERB between elements": ("<r>\n<% if x %><a/><% end %></r>", 2, 2, "whose extension is erb"),
    "ERB in an attribute": ('<r a="<%= x %>"/>', 1, 7, "whose extension is erb"),
    "a tag that begins with a digit": ("<r>\n<1/></r>", 2, 2, "invalid token"),
    "a reference to none": ("<r>&#0;</r>", 1, 4, "invalid character number"),
    "101 levels": ("<a>" * 101 + "</a>" * 101, 1, 301, "it is nested more than 100 levels"),
    "a namesake in a comment before the doctype": (
        '<!--<!DOCTYPE r SYSTEM "x">-->\n<!DOCTYPE r SYSTEM "x">\n<r k="&foo;"/>',
        3,
        1,
        "is not defined",
    ),
}


@pytest.mark.parametrize(("text", "line", "column", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_and_where(text: str, line: int, column: int, reason: str) -> None:
    with pytest.raises(ParseError) as caught:
        xml_family.parse(text)
    assert reason in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)


PROLOG = (
    '<?xml version="1.0" encoding="utf-8" standalone="yes"?>\n'
    "<!-- kept -->\n"
    '<?xml-stylesheet href="a.xsl"?>\n'
    '<!DOCTYPE profile PUBLIC "-//x" "http://127.0.0.1/a\'b>.dtd" [<!-- ]> don\'t --><!ELEMENT profile ANY>]>\n'
)


def test_what_stands_before_the_root_survives_from_the_layer_that_has_it() -> None:
    answer = served(PROLOG + "<profile><a/></profile>\n<?end now?><!-- gone -->", "<profile><b/></profile>")
    assert answer.startswith(PROLOG + "<profile>\n")
    assert answer.endswith("</profile>\n<?end now?>\n")
    assert "gone" not in answer


def test_of_each_part_before_the_root_the_upper_layer_prevails() -> None:
    upper = '<?xml version="1.0"?><!DOCTYPE profile><?other x?><profile/>'
    lines = served(PROLOG + "<profile/>", upper).splitlines()
    assert lines == [
        '<?xml version="1.0"?>',
        "<!-- kept -->",
        '<?xml-stylesheet href="a.xsl"?>',
        "<!DOCTYPE profile>",
        "<?other x?>",
        "<profile/>",
    ]
    answer = served("<!DOCTYPE r><r><a/></r>", '<?xml version="1.0"?><r/>')
    assert answer.startswith('<?xml version="1.0"?>\n<!DOCTYPE r>\n<r>')


def test_line_ends_are_one_newline_and_a_carriage_return_by_reference_survives() -> None:
    answer = served("<?xml version='1.0'?>\r\n<!-- a\r\nb\rc -->\r\n<r>\r\n<a>1\r\n2&#13;\n</a></r>")
    assert answer == "<?xml version='1.0'?>\n<!-- a\nb\nc -->\n<r>\n  <a>1\n2&#13;\n</a>\n</r>\n"


def test_the_answer_is_indented_and_control_leaves_no_gap() -> None:
    answer = served('<r>\n\n\n<answer-meta extends="x"/>\n\n<a k="1"><b>t</b>\n<!-- gone --><c></c></a>\n</r>')
    assert answer == '<r>\n  <a k="1">\n    <b>t</b>\n    <c/>\n  </a>\n</r>\n'


SCRIPT = '\n#!/bin/sh\n\techo "$A" && cat <<E > /x\n  it\'s\nE\n\n'
TEXTS = {
    "a script in CDATA": f"<source><![CDATA[{SCRIPT}]]></source>",
    "CDATA between lines": "<source>\n<![CDATA[ a ]]>\n</source>",
    "CDATA with its end in two": "<source><![CDATA[a]]]]><![CDATA[>b]]></source>",
    "a comment inside": "<source>a<!-- no -->b</source>",
    "white space only": "<source>  </source>",
    "long": f"<source>{'x ' * 10_000}</source>",
    "long in CDATA": f"<source><![CDATA[{'& ' * 10_000}]]></source>",
    "references": "<source>&lt;&gt;&amp;&quot;&apos;&#9;&#x1F600;&#133;]]&gt;</source>",
    "an attribute": '<source k=" a&#10;b&#9;&quot;&lt;&gt;\' "/>',
    "mixed": "<source>\n a <b> c <i> </i> </b>\n <b/> d\n</source>",
    "an instruction": "<source>a <?x y?> b</source>",
    "preserved": '<source xml:space="preserve">\n <b>\n  <c/>\n </b>\n</source>',
}


def every_text(document: str) -> list[Any]:
    """All that xml.etree sees, white space included."""
    return [(e.tag, e.attrib, e.text or "", e.tail or "") for e in ET.fromstring(document.encode()).iter()]


@pytest.mark.parametrize("source", TEXTS.values(), ids=TEXTS)
def test_texts_survive_exactly_alone_and_in_a_merge(source: str) -> None:
    answer = served(f'<r><answer-meta extends="x"/>{source}</r>', "<r><z/></r>")
    start, end = answer.index("<source"), answer.index("\n  <z/>")
    assert every_text(answer[start:end]) == every_text(source)


def test_a_script_stays_in_its_cdata_section() -> None:
    assert f"<![CDATA[{SCRIPT}]]>" in served(f"<r><s><![CDATA[{SCRIPT}]]></s></r>", "<r><z/></r>")


def test_a_default_below_a_preserved_space_is_indented_again() -> None:
    source = '<r xml:space="preserve"> <a xml:space="default"><b/><c/></a></r>'
    assert '> <a xml:space="default">\n' in served(source)


@pytest.mark.parametrize("value", ["\ufffe", "a\uffff", "\ud800"], ids=ascii)
def test_a_value_that_xml_cannot_hold_is_named(value: str) -> None:
    with pytest.raises(CannotFill, match="'serial'"):
        served("<r>{{ serial }}</r>", serial=value)
    with pytest.raises(CannotFill, match="'serial'"):
        served('<r a="{{ serial }}"/>', serial=value)


def test_a_placeholder_may_stand_anywhere_in_a_long_text() -> None:
    source = "<r>" + "".join(f"<a>{'x' * length}{{{{ serial }}}}</a>" for length in range(8170, 8200, 3)) + "</r>"
    assert [len(child.text or "") for child in ET.fromstring(served(source, serial="12"))] == list(range(8172, 8202, 3))


def test_a_comment_does_not_divide_a_placeholder() -> None:
    assert served("<r>{{ <!-- which? -->serial }}</r>", serial="12") == "<r>12</r>\n"


def test_names_and_what_stands_before_the_root_are_never_templates() -> None:
    answer = served('<?pi {{ x }}?><r>{{ "{{" }} x }}</r>')
    assert answer == "<?pi {{ x }}?>\n<r>{{ x }}</r>\n"


def meaning(text: str) -> Any:
    return read_control(xml_family.control(xml_family.parse(text))[0], Kind.GROUP)


def test_answer_meta_counts_below_the_root_only() -> None:
    document = xml_family.parse('<r><a><answer-meta extends="x"/></a></r>')
    written, left = xml_family.control(document)
    assert (dict(written.values), left) == ({}, document)


CONTROL_FAULTS = {
    "a second one": ('<answer-meta/>\n<answer-meta extends="x"/>', "one <answer-meta>, this is another (line 2)", True),
    "extends in both": ('<answer-meta extends="a"/><answer-meta extends="b"/>', "extends: occurs twice", True),
    "an unknown attribute": (
        '<answer-meta extend="x"/>',
        "there are extends, once, overlay, template; did you mean 'extends'?",
        True,
    ),
    "members as an attribute": ('<answer-meta members="a"/>', "members: <answer-meta> has no such attribute", False),
    "member as an attribute": ('<answer-meta member="a"/>', "<answer-meta> has no such attribute", False),
    "a secret as an element": (
        "<answer-meta><x3/></answer-meta>",
        "(line 1); there are member, match, append, unset",
        False,
    ),
    "members as an element": ("<answer-meta><members>a</members></answer-meta>", "members: <answer-meta> has", False),
    "text": ("<answer-meta>a</answer-meta>", "holds text beside", True),
    "an empty member": ("<answer-meta><member/></answer-meta>", "members holds a name with no letter", False),
    "a member with elements": ("<answer-meta><member><a/></member></answer-meta>", "members: <member> holds", False),
    "a match with text": ('<answer-meta><match a="b">c</match></answer-meta>', "match: <match> takes", False),
    "an empty pattern": ('<answer-meta><match a=""/></answer-meta>', "match has an empty pattern", False),
    "a slash too many": ("<answer-meta><unset>/a//b</unset></answer-meta>", "it is no path", True),
    "a path below an attribute": ("<answer-meta><unset>@a/b</unset></answer-meta>", "it is no path", True),
    "an empty unset": ("<answer-meta><unset/></answer-meta>", "it is no path", True),
}


@pytest.mark.parametrize(("meta", "reason", "claims_known"), CONTROL_FAULTS.values(), ids=CONTROL_FAULTS)
def test_a_fault_in_answer_meta_is_a_problem_with_its_line(meta: str, reason: str, claims_known: bool) -> None:
    read = meaning(f"<r>{meta}</r>")
    assert [problem for problem in read.problems if reason in problem and "(line " in problem]
    assert read.claims_known is claims_known


def test_the_example_of_the_documentation_is_without_problems() -> None:
    page = (Path(__file__).parents[2] / "docs" / "xml.md").read_text(encoding="utf-8")
    read = meaning(page.partition("```xml\n")[2].partition("```")[0])
    assert (read.problems, len(read.members), len(read.match), len(read.unset[0])) == ((), 2, 2, 3)


def test_a_prefix_of_a_path_that_is_declared_nowhere_is_a_problem() -> None:
    read = meaning("<r><answer-meta><unset>k:x</unset></answer-meta></r>")
    assert [problem for problem in read.problems if "prefix k is not declared" in problem and "line 1" in problem]


@pytest.mark.parametrize("is_nested", [False, True])
def test_namespaces_without_number_cost_little(is_nested: bool) -> None:
    declared = " ".join(f'xmlns:q{number}="w"' for number in range(20_000))
    text = f"<r {declared}>" + "".join(f'<a xmlns:p="u{number}"/>' for number in range(20_000)) + "</r>"
    began = time.thread_time()
    lower, upper = (text, "<r xmlns:p='v'><p:b/></r>") if is_nested else ("<r xmlns:p='v'><p:b/></r>", text)
    xml_family.prepare(xml_family.merge(xml_family.parse(lower), xml_family.parse(upper)))
    assert time.thread_time() - began < 20  # minutes where each is compared with all
