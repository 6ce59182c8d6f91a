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
from answerd.formats.family import MergeError, ParseError
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


def seen(text: str) -> Any:
    """A document as xml.etree sees it, white space around elements apart."""

    def value(element: ET.Element) -> Any:
        text = element.text or ""
        return (
            element.tag,
            element.attrib,
            text if len(element) == 0 else text.strip(),
            [value(child) for child in element],
        )

    return value(ET.fromstring(text.encode()))


MERGES = {
    "a text replaces": ("<r><a>1</a><b>2</b></r>", "<r><b>3</b></r>", "<r><a>1</a><b>3</b></r>"),
    "elements merge, new ones come last": (
        "<r><a><x>1</x></a><b/></r>",
        "<r><c/><a><y>2</y></a></r>",
        "<r><a><x>1</x><y>2</y></a><b/><c/></r>",
    ),
    "attributes merge": ('<r k="1" v="1"/>', '<r v="2" w="3"/>', '<r k="1" v="2" w="3"/>'),
    "text over elements": ("<r><a><x/></a></r>", "<r><a>t</a></r>", "<r><a>t</a></r>"),
    "elements over text": ("<r><a>t</a></r>", "<r><a><x/></a></r>", "<r><a><x/></a></r>"),
    "an empty element leaves what lies below": (
        '<r><a k="1">t</a><b><x/></b></r>',
        '<r><a k="2"/><b>\n  </b></r>',
        '<r><a k="2">t</a><b><x/></b></r>',
    ),
    "an empty CDATA element is empty too": ("<r><a>t</a></r>", "<r><a><![CDATA[]]></a></r>", "<r><a>t</a></r>"),
    "white space in CDATA is text": ("<r><a>t</a></r>", "<r><a><![CDATA[ ]]></a></r>", "<r><a> </a></r>"),
    "white space that is preserved is text": (
        "<r><a>t</a></r>",
        '<r><a xml:space="preserve"> </a></r>',
        '<r><a xml:space="preserve"> </a></r>',
    ),
    "a no-break space is text": ("<r><a>t</a></r>", "<r><a>\u00a0</a></r>", "<r><a>\u00a0</a></r>"),
    "single elements with another name are two": (
        '<r><u name="a">1</u></r>',
        '<r><u name="b">2</u></r>',
        '<r><u name="a">1</u><u name="b">2</u></r>',
    ),
    "single elements need no telling attribute": (
        "<r><u><x>1</x></u></r>",
        '<r><u id="7"><y>2</y></u></r>',
        '<r><u id="7"><x>1</x><y>2</y></u></r>',
    ),
    "siblings pair by the attributes both carry": (
        '<r><s pass="one"><x>1</x></s><s pass="two" name="n"><x>2</x></s></r>',
        '<r><s pass="two"><y>3</y></s><s pass="three"/></r>',
        '<r><s pass="one"><x>1</x></s><s pass="two" name="n"><x>2</x><y>3</y></s><s pass="three"/></r>',
    ),
    "all that both carry must be equal": (
        '<r><c name="a" processorArchitecture="x86">1</c><c name="a" processorArchitecture="amd64">2</c></r>',
        '<r><c processorArchitecture="amd64" name="a">3</c></r>',
        '<r><c name="a" processorArchitecture="x86">1</c><c name="a" processorArchitecture="amd64">3</c></r>',
    ),
    "another attribute tells nothing": (
        '<r><c lang="a">1</c><c lang="b">2</c></r>',
        '<r><c lang="b">3</c></r>',
        '<r><c lang="b">3</c></r>',
    ),
    "repeated siblings are a list, replaced in its place": (
        "<r><p>1</p><p>2</p><z/></r>",
        "<r><p>3</p><p>4</p><p>5</p></r>",
        "<r><p>3</p><p>4</p><p>5</p><z/></r>",
    ),
    "one over many is a list": ("<r><p>1</p><p>2</p></r>", "<r><p>3</p></r>", "<r><p>3</p></r>"),
    "many over one is a list": ("<r><p>1</p></r>", "<r><p>3</p><p>4</p></r>", "<r><p>3</p><p>4</p></r>"),
    "an empty element with a declaration of a namespace leaves a list": (
        "<r><p>1</p><p>2</p></r>",
        '<r><p xmlns:x="urn:x"/></r>',
        "<r><p>1</p><p>2</p></r>",
    ),
    "an empty element with an attribute replaces a list": (
        "<r><p>1</p><p>2</p></r>",
        '<r><p a="1"/></r>',
        '<r><p a="1"/></r>',
    ),
    "an empty element leaves a list": ("<r><p>1</p><p>2</p></r>", "<r><p/></r>", "<r><p>1</p><p>2</p></r>"),
    "a list beside named siblings": (
        '<r><p name="a">1</p><p>2</p><p>3</p></r>',
        '<r><p name="a">4</p><p>5</p></r>',
        '<r><p name="a">4</p><p>5</p></r>',
    ),
    "a typed list is replaced whole": (
        '<r xmlns:config="u"><l config:type="list"><e><k>1</k><v>1</v></e></l></r>',
        '<r xmlns:config="u"><l config:type="list"><e><k>2</k></e></l></r>',
        '<r xmlns:config="u"><l config:type="list"><e><k>2</k></e></l></r>',
    ),
    "a typed list in any prefix, typed by one layer": (
        '<r xmlns:t="u"><l t:type="list"><e><k>1</k></e></l></r>',
        "<r><l><e><v>2</v></e></l></r>",
        '<r xmlns:t="u"><l t:type="list"><e><v>2</v></e></l></r>',
    ),
    "a list in the short spelling of newer AutoYaST profiles": (
        '<r><l t="list"><e><k>1</k></e></l></r>',
        '<r><l t="list"><e><v>2</v></e></l></r>',
        '<r><l t="list"><e><v>2</v></e></l></r>',
    ),
    "an empty typed list leaves the list": (
        '<r><l type="list"><e/></l></r>',
        '<r><l type="list"/></r>',
        '<r><l type="list"><e/></l></r>',
    ),
    "order of different siblings is kept where nothing touches it": (
        "<r><a>1</a><b><x/></b><a>2</a></r>",
        "<r><b><y/></b></r>",
        "<r><a>1</a><b><x/><y/></b><a>2</a></r>",
    ),
    "order of different siblings is kept where all are new": (
        "<r><z/></r>",
        "<r><a>1</a><b/><a>2</a></r>",
        "<r><z/><a>1</a><b/><a>2</a></r>",
    ),
    "two prefixes of one namespace are one": (
        '<r xmlns:config="u"><l config:type="list"><e>1</e></l><b config:type="boolean">true</b></r>',
        '<r xmlns:c="u"><l c:type="list"><e>2</e></l><b c:type="boolean">false</b><n c:type="integer">1</n></r>',
        '<r xmlns:config="u"><l config:type="list"><e>2</e></l><b config:type="boolean">false</b>'
        '<n config:type="integer">1</n></r>',
    ),
    "a prefix and the default namespace": (
        '<r xmlns="u"><a>1</a></r>',
        '<p:r xmlns:p="u"><p:a p:k="1">2</p:a><p:b/></p:r>',
        '<r xmlns="u" xmlns:p="u"><a p:k="1">2</a><b/></r>',
    ),
    "a default namespace over a prefix": (
        '<p:r xmlns:p="u"><p:a>1</p:a></p:r>',
        '<r xmlns="u"><a>2</a><b/></r>',
        '<r xmlns="u"><a>2</a><b/></r>',
    ),
    "a prefix that each element declares": (
        '<r xmlns="u"><c name="A" xmlns:wcm="w"><x wcm:k="1">1</x></c></r>',
        '<r xmlns="u"><c name="A" xmlns:m="w"><x m:k="2">1</x></c><c name="B" xmlns:m="w"><x m:k="3"/></c></r>',
        '<r xmlns="u" xmlns:w="w"><c name="A"><x w:k="2">1</x></c><c name="B"><x w:k="3"/></c></r>',
    ),
    "items of a list are replaced by items": (
        '<r xmlns:wcm="w"><b/><i wcm:action="add"><o>1</o><d>one</d></i><z/></r>',
        '<r xmlns:wcm="w"><i wcm:action="add"><o>2</o><p>two</p></i></r>',
        '<r xmlns:wcm="w"><b/><i wcm:action="add"><o>2</o><p>two</p></i><z/></r>',
    ),
    "items with names of their own, too": (
        '<r xmlns:wcm="w"><i name="A" wcm:action="add"><o/></i><i name="B" wcm:action="add"><o/></i></r>',
        '<r xmlns:m="w"><i name="A" m:action="add"><p/></i></r>',
        '<r xmlns:wcm="w"><i name="A" wcm:action="add"><p/></i></r>',
    ),
    "items that are appended": (
        '<r xmlns:wcm="w"><c><i wcm:action="add">1</i><i wcm:action="add">2</i><z/></c></r>',
        '<r xmlns:m="w"><answer-meta><append>c/i</append></answer-meta><c><i m:action="add">3</i></c></r>',
        '<r xmlns:wcm="w"><c><i wcm:action="add">1</i><i wcm:action="add">2</i><i wcm:action="add">3</i><z/></c></r>',
    ),
    "items that are appended to nothing": (
        '<r xmlns:m="w"><c/></r>',
        '<r xmlns:m="w"><answer-meta><append>c/i</append></answer-meta><c><i m:action="add">3</i></c></r>',
        '<r xmlns:m="w"><c><i m:action="add">3</i></c></r>',
    ),
    "an element that is modified is none": (
        '<r xmlns:wcm="w"><i wcm:action="modify"><o>1</o></i></r>',
        '<r xmlns:wcm="w"><i wcm:action="modify"><p>2</p></i></r>',
        '<r xmlns:wcm="w"><i wcm:action="modify"><o>1</o><p>2</p></i></r>',
    ),
    "prefixed names of one namespace": (
        '<r xmlns:p="u"><p:a>1</p:a><a>2</a></r>',
        '<r xmlns:p="u"><p:a>3</p:a></r>',
        '<r xmlns:p="u"><p:a>3</p:a><a>2</a></r>',
    ),
    "namespaces of both roots": (
        '<r xmlns="u"><a/></r>',
        '<r xmlns="u" xmlns:p="v"><a p:k="1"/></r>',
        '<r xmlns="u" xmlns:p="v"><a p:k="1"/></r>',
    ),
    "unset takes content away": (
        '<r><a k="1"><x>1</x><y>2</y></a><b><x/></b></r>',
        "<r><answer-meta><unset>a/x</unset><unset>b</unset><unset>a/@k</unset><unset>no/such</unset></answer-meta></r>",
        "<r><a><y>2</y></a></r>",
    ),
    "unset takes all siblings of a name, or those an attribute tells": (
        '<r>\n <s pass="one"/>\n <s pass="t/wo"/>\n <l>\n  <e/>\n  <e/>\n </l>\n</r>',
        '<r><answer-meta><unset>s[@pass="t/wo"]</unset><unset>l/e</unset></answer-meta></r>',
        '<r><s pass="one"/><l/></r>',
    ),
    "mixed content replaces and is replaced": (
        "<r><a>t</a><b>x<i/>y</b></r>",
        "<r><a>x<i/>y</a><b>t</b></r>",
        "<r><a>x<i/>y</a><b>t</b></r>",
    ),
}


@pytest.mark.parametrize(("lower", "upper", "wanted"), MERGES.values(), ids=MERGES)
def test_two_layers(lower: str, upper: str, wanted: str) -> None:
    assert seen(served(lower, upper)) == seen(wanted)


UNMERGEABLE = {
    "roots": ("<a/>", "<b/>", ["<a>", "<b>"]),
    "two default namespaces": ('<r xmlns="urn:1"/>', '<r xmlns="urn:2"/>', ["two namespaces", "'urn:1'", "'urn:2'"]),
    "a default namespace and none": ('<r xmlns="urn:1"/>', "<r/>", ["two namespaces", "'urn:1'", "none"]),
    "one pairs with two": (
        '<r><g>\n<c name="A" id="1"/>\n<c name="A" id="2"/></g></r>',
        '<r><g>\n\n\n<c name="A"/></g></r>',
        ["<r> <g>", "<c> of line 4 pairs with", "<c> of line 2 and <c> of line 3"],
    ),
    "two pair with one": (
        '<r><c name="A"/></r>',
        '<r><c name="A" id="1"/>\n<c name="A" id="2"/></r>',
        ["<c> of line 1 and <c> of line 2 both pair with <c> of line 1 below them"],
    ),
    "elements into mixed": ("<r><p>hello <b/> there</p></r>", "<r><p><b>x</b></p></r>", ["<r> <p>", "lower layer"]),
    "mixed into elements": ("<r><p><b/></p></r>", "<r><p>a<b/></p></r>", ["<p>", "upper layer"]),
    "mixed into mixed": ('<r><p name="n">a<b/></p></r>', "<r><p>a<b/></p></r>", ["<p> of line 1", "both layers"]),
    "an instruction among elements": ("<r><p><?x y?><b/></p></r>", "<r><p><b/></p></r>", ["<p>", "instruction"]),
    "an interleaved list over a list": (
        "<r><dt/><dd/></r>",
        "<r><dt>1</dt><dd>1</dd><dt>2</dt><dd>2</dd></r>",
        ["<r>", "the list of <dt>", "<dd>"],
    ),
    "a list over an interleaved list": ("<r><a/><b/><a/></r>", "<r><a>1</a></r>", ["<r>", "list of <a>", "<b>"]),
    "a new list around a known element": ("<r><b/></r>", "<r><a/><b/><a/></r>", ["<r>", "list of <a>", "<b>"]),
}


@pytest.mark.parametrize(("lower", "upper", "named"), UNMERGEABLE.values(), ids=UNMERGEABLE)
def test_layers_that_cannot_be_merged_name_the_elements(lower: str, upper: str, named: list[str]) -> None:
    with pytest.raises(MergeError) as caught:
        served(lower, upper)
    assert [part for part in named if part not in str(caught.value)] == []
    assert "\n" not in str(caught.value)


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


def test_control_keys_are_read_from_answer_meta() -> None:
    read = meaning(
        '<r><answer-meta extends="base" template=" false " xmlns="">'
        "<member>\n52:54:00:11:22:33 </member><member>7ABC123</member>"
        '<match manufacturer="Dell Inc." dmi.system.serial="7*"/><match Manufacturer="HP"/>'
        "<unset>general/mode</unset><unset>a[@name='x.y/z']/@k</unset></answer-meta></r>"
    )
    assert (read.problems, read.extends, read.template) == ((), "base", False)
    assert read.members == ("525400112233", "7abc123")
    assert [(criterion.label, len(criterion.patterns)) for criterion in read.match] == [
        ("manufacturer", 2),
        ("dmi.system.serial", 1),
    ]
    assert read.unset == (("general", "mode"), ("a[@name='x.y/z']", "@k"))


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
    "an unknown element": ("<answer-meta><memebr>a</memebr></answer-meta>", "; did you mean 'member'?", False),
    "a secret as an element": (
        "<answer-meta><x3/></answer-meta>",
        "(line 1); there are member, match, append, unset",
        False,
    ),
    "members as an element": ("<answer-meta><members>a</members></answer-meta>", "members: <answer-meta> has", False),
    "text": ("<answer-meta>a</answer-meta>", "holds text beside", True),
    "an empty member": ("<answer-meta><member/></answer-meta>", "members holds a name with no letter", False),
    "a member with elements": ("<answer-meta><member><a/></member></answer-meta>", "members: <member> holds", False),
    "a match of nothing": ("<answer-meta><match/></answer-meta>", "match: <match> names no label", False),
    "a match with text": ('<answer-meta><match a="b">c</match></answer-meta>', "match: <match> takes", False),
    "an empty pattern": ('<answer-meta><match a=""/></answer-meta>', "match has an empty pattern", False),
    "template": ('<answer-meta template="no"/>', "template must be true or false, not a text", True),
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


def by_name(element: ET.Element) -> Any:
    return element.tag, dict(element.attrib), (element.text or "").strip(), [by_name(child) for child in element]


NAMESPACES = {
    "a prefix of two namespaces": (
        '<r xmlns:c="urn:1"><c:x c:k="1"/></r>',
        '<r xmlns:c="urn:2"><c:x c:k="2"/><c:y/></r>',
        '<r xmlns:a="urn:1" xmlns:b="urn:2"><a:x a:k="1"/><b:x b:k="2"/><b:y/></r>',
    ),
    "a prefix of two namespaces at one element": (
        '<r xmlns:c="urn:1"><x c:k="1"/></r>',
        '<r xmlns:c="urn:2"><x c:k="2"/></r>',
        '<r xmlns:a="urn:1" xmlns:b="urn:2"><x a:k="1" b:k="2"/></r>',
    ),
    "prefixes that a new one must not be": (
        '<r xmlns:c="urn:1" xmlns:n1="urn:3"><x c:k="1" n1:k="3"/></r>',
        '<r xmlns:c="urn:2"><x c:k="2"/></r>',
        '<r xmlns:a="urn:1" xmlns:b="urn:2" xmlns:d="urn:3"><x a:k="1" d:k="3" b:k="2"/></r>',
    ),
    "a foreign element with a default namespace of its own": (
        '<r xmlns="urn:1"><a>1</a><e xmlns="urn:2"><f k="v">x</f></e></r>',
        '<r xmlns="urn:1"><a>2</a></r>',
        '<r xmlns="urn:1"><a>2</a><e xmlns="urn:2"><f k="v">x</f></e></r>',
    ),
    "one that both layers have": (
        '<r xmlns="urn:1"><e xmlns="urn:2"><f>1</f><g/></e></r>',
        '<p:r xmlns:p="urn:1" xmlns="urn:2"><e><f>2</f></e></p:r>',
        '<r xmlns="urn:1"><e xmlns="urn:2"><f>2</f><g/></e></r>',
    ),
    "one that only the upper layer has": (
        '<r xmlns="urn:1"><a/></r>',
        '<r xmlns="urn:1"><e xmlns="urn:2"><a xmlns="">1</a></e></r>',
        '<r xmlns="urn:1"><a/><e xmlns="urn:2"><a xmlns="">1</a></e></r>',
    ),
    "a namesake in another namespace": (
        '<r xmlns="urn:1"><a>1</a></r>',
        '<r xmlns="urn:1"><a xmlns="urn:2">2</a></r>',
        '<r xmlns="urn:1"><a>1</a><a xmlns="urn:2">2</a></r>',
    ),
    "names in none below a prefix": (
        '<p:r xmlns:p="urn:1"><a/></p:r>',
        '<r xmlns="urn:1"><b/></r>',
        '<p:r xmlns:p="urn:1"><a/><p:b/></p:r>',
    ),
    "a declaration is no attribute": (
        "<r><i>1</i><i>2</i></r>",
        '<r><i xmlns:x="urn:x"/></r>',
        "<r><i>1</i><i>2</i></r>",
    ),
}


@pytest.mark.parametrize(("lower", "upper", "wanted"), NAMESPACES.values(), ids=NAMESPACES)
def test_names_are_compared_by_namespace(lower: str, upper: str, wanted: str) -> None:
    assert by_name(ET.fromstring(served(lower, upper))) == by_name(ET.fromstring(wanted))


UNSET = {
    "another prefix": ('<r xmlns:c="urn:b"><c:x/><c:y/></r>', 'xmlns:k="urn:b"', "k:x", "y"),
    "the default namespace for a prefix": ('<r xmlns:c="urn:b"><c:x/><c:y/></r>', 'xmlns="urn:b"', "x", "y"),
    "a foreign element without a prefix": ('<r><e xmlns="urn:b"><x/><y/></e></r>', "", "e/x", "y"),
    "not one of another namespace": ('<r xmlns:c="urn:c"><c:x/></r>', 'xmlns:k="urn:b"', "k:x", "x"),
    "an attribute": ('<r xmlns:c="urn:b"><y c:k="1"/></r>', 'xmlns:k="urn:b"', "y/@k:k", "y"),
    "by an attribute": ('<r xmlns:c="urn:b"><x c:k="1"/><x/><y/></r>', 'xmlns:k="urn:b"', "x[@k:k='1']", "x y"),
}


@pytest.mark.parametrize(("lower", "declared", "path", "left"), UNSET.values(), ids=UNSET)
def test_unset_finds_by_namespace(lower: str, declared: str, path: str, left: str) -> None:
    upper = f"<r><answer-meta {declared}><unset>{path}</unset></answer-meta></r>"
    root = ET.fromstring(served(lower, upper))
    last = [element for element in root.iter() if not len(element) and element is not root]
    assert " ".join(element.tag.rpartition("}")[2] for element in last) == left
    assert not any(element.attrib for element in last)


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
