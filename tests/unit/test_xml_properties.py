"""The XML family against merges computed on plain data, written and read by xml.etree."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.formats import xml as xml_family
from answerd.formats.family import ParseError
from answerd.formats.template import TemplateReader
from tests.support.lookups import Said
from tests.support.thorough import examples

pytestmark = pytest.mark.long

quick = settings(max_examples=examples(60))
WHITE = " \t\n"

characters = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")
texts = st.text(characters | st.sampled_from("\n\t <>&\"']"), max_size=12)
attributes = st.dictionaries(st.sampled_from(["k", "v", "p:q"]), texts, max_size=2)


@dataclass
class Plain:
    """An element whose siblings are told apart by its key: its tag, and for a ``n…`` tag its ``name``."""

    content: str | dict[str, Plain] = ""
    attributes: dict[str, str] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        return not (self.content.strip(WHITE) if isinstance(self.content, str) else self.content)


keys = st.sampled_from(["a", "b", "p:c", "n1", "n2"])


def branches(below: st.SearchStrategy[Plain]) -> st.SearchStrategy[Plain]:
    return st.builds(Plain, st.dictionaries(keys, below, min_size=1, max_size=4), attributes)


leaves = st.builds(Plain, texts, attributes)
elements = st.recursive(leaves, branches, max_leaves=10)
roots = branches(elements)


def built(key: str, plain: Plain) -> ET.Element:
    element = ET.Element(key if key[0] != "n" else "n", ({"name": key} if key[0] == "n" else {}) | plain.attributes)
    if isinstance(plain.content, str):
        element.text = plain.content
    else:
        element.extend([built(key, child) for key, child in plain.content.items()])
    return element


def tree(plain: Plain, *, indented: bool = False) -> Any:
    root = built("r", Plain(plain.content, {"xmlns:p": "urn:p", **plain.attributes}))
    if indented:
        ET.indent(root, "\t")
    return xml_family.parse(ET.tostring(root, "unicode"))


def emitted(document: Any) -> str:
    static = xml_family.prepare(document).static
    assert static is not None
    return static.decode()


def seen(element: ET.Element, *, verbatim: bool = False) -> Any:
    """An element with the white space that counts: all of it in mixed content, none where there are elements only."""
    gaps = [element.text or "", *(child.tail or "" for child in element)]
    verbatim = verbatim or (len(gaps) > 1 and any(gap.strip(WHITE + "\r") for gap in gaps))
    shown = gaps if verbatim or len(gaps) == 1 else []
    return (element.tag, list(element.items()), shown, [seen(child, verbatim=verbatim) for child in element])


def read(text: str) -> Any:
    return seen(ET.fromstring(text.encode()))


def laid_over(lower: Plain, upper: Plain) -> Plain:
    """The rules of docs/xml.md#which-elements-are-the-same-one where siblings are told apart."""
    together = lower.attributes | upper.attributes
    if upper.empty:
        return Plain(lower.content, together)
    if lower.empty or isinstance(lower.content, str) or isinstance(upper.content, str):
        return Plain(upper.content, together)
    children = dict(lower.content)
    for key, child in upper.content.items():
        children[key] = laid_over(children[key], child) if key in children else child
    return Plain(children, together)


@settings(max_examples=examples(120))
@given(roots | st.just(Plain()), roots | st.just(Plain()))
def test_a_merge_is_the_merge_of_plain_data_in_the_same_order_and_leaves_its_layers_alone(
    lower: Plain, upper: Plain
) -> None:
    below, above = tree(lower), tree(upper, indented=True)
    assert read(emitted(xml_family.merge(below, above))) == read(emitted(tree(laid_over(lower, upper))))
    assert (below, above) == (tree(lower), tree(upper, indented=True))


# --- namespaces -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spelling:
    """How a document spells two namespaces: with which prefixes (empty: the default namespace), declared where."""

    first: str
    second: str
    inside: bool

    def spell(self, root: ET.Element) -> str:
        """The text of a tree with expanded names."""
        declared = {f"xmlns:{prefix}" if prefix else "xmlns": name for prefix, name in self.prefixes.items()}

        def copied(element: ET.Element, depth: int) -> ET.Element:
            attributes = {self.name(label, is_element=False): value for label, value in element.items()}
            new = ET.Element(self.name(element.tag, is_element=True), attributes)
            if depth == (1 if self.inside else 0) or (not depth and not self.first):
                new.attrib.update(declared if depth or not self.inside else {"xmlns": "urn:first"})
            new.text = element.text
            new.extend([copied(child, depth + 1) for child in element])
            return new

        return ET.tostring(copied(root, 0), "unicode")

    @property
    def prefixes(self) -> dict[str, str]:
        return {self.first: "urn:first", self.second: "urn:second"}

    def name(self, expanded: str, *, is_element: bool) -> str:
        namespace, _, local = expanded[1:].rpartition("}") if expanded[0] == "{" else ("", "", expanded)
        if not namespace:
            return local
        prefix = next(prefix for prefix, name in self.prefixes.items() if name == namespace)
        return f"{prefix}:{local}" if prefix else local


spellings = st.builds(
    Spelling, st.sampled_from(["", "p", "q"]), st.sampled_from(["s", "t", "config"]), st.booleans()
).filter(lambda spelling: not (spelling.inside and spelling.first))
leaf_attributes = st.dictionaries(st.sampled_from(["k", "{urn:second}k", "{urn:second}type"]), texts, max_size=3)


@st.composite
def named_trees(draw: st.DrawFn) -> ET.Element:
    """A root of the first namespace, with children of both, told apart by their names."""
    root = ET.Element("{urn:first}r", draw(leaf_attributes.filter(lambda found: all(key == "k" for key in found))))
    for name in draw(st.lists(st.sampled_from(["{urn:first}a", "{urn:second}a", "{urn:first}b"]), unique=True)):
        child = ET.SubElement(root, name, draw(leaf_attributes))
        for inner in draw(st.lists(st.sampled_from(["{urn:first}x", "{urn:second}x"]), unique=True)):
            ET.SubElement(child, inner, draw(leaf_attributes)).text = draw(texts)
    return root


def overlaid(lower: ET.Element, upper: ET.Element) -> ET.Element:
    """The rules of docs/xml.md where siblings have names of their own."""
    merged = ET.Element(lower.tag, lower.attrib | upper.attrib)
    if not (len(upper) or (upper.text or "").strip(WHITE)):
        merged.text = lower.text
        merged.extend(list(lower))
        return merged
    if not len(upper) or not len(lower):
        merged.text = upper.text
        merged.extend(list(upper))
        return merged
    above = {child.tag: child for child in upper}
    merged.extend([overlaid(child, above.pop(child.tag)) if child.tag in above else child for child in lower])
    merged.extend(above.values())
    return merged


@settings(max_examples=examples(300))
@given(named_trees(), named_trees(), spellings, spellings)
def test_names_and_attributes_are_those_of_their_namespaces(
    lower: ET.Element, upper: ET.Element, below: Spelling, above: Spelling
) -> None:
    layers = xml_family.parse(below.spell(lower)), xml_family.parse(above.spell(upper))
    answer = emitted(xml_family.merge(*layers))
    wanted = overlaid(lower, upper)
    assert read_by_name(ET.fromstring(answer.encode())) == read_by_name(wanted)
    assert read_by_lxml(answer) == read_by_name(wanted)


def read_by_name(element: Any) -> Any:
    text = element.text or ""
    return (
        element.tag,
        dict(element.attrib),
        "" if len(element) or not text.strip(WHITE) else text,
        [read_by_name(child) for child in element],
    )


@st.composite
def spelled(draw: st.DrawFn, element: ET.Element, around: Mapping[str, str] = {"": ""}) -> str:
    """The text of a tree with expanded names: each element declares what it needs, and more, with any prefixes."""
    declared = draw(st.dictionaries(st.sampled_from(["", "p", "q"]), st.sampled_from(["urn:first", "urn:second"])))
    known = {**around, **declared}

    def name(expanded: str, *, is_element: bool) -> str:
        namespace, _, local = expanded[1:].rpartition("}") if expanded[0] == "{" else ("", "", expanded)
        fitting = [prefix for prefix, meaning in known.items() if meaning == namespace and (prefix or is_element)]
        if not fitting:
            fitting = [f"n{len(known)}"] if namespace else [""]
            known[fitting[0]] = declared[fitting[0]] = namespace
        prefix = draw(st.sampled_from(fitting))
        return f"{prefix}:{local}" if prefix else local

    tag = name(element.tag, is_element=True)
    attributes = {
        name(label, is_element=False) if label[0] == "{" else label: value for label, value in element.items()
    }
    attributes |= {f"xmlns:{prefix}" if prefix else "xmlns": meaning for prefix, meaning in declared.items()}
    written = "".join(f" {label}={quoteattr(value)}" for label, value in attributes.items())
    inside = escape(element.text or "") + "".join([draw(spelled(child, known)) for child in element])
    return f"<{tag}{written}>{inside}</{tag}>"


@settings(max_examples=examples(300))
@given(st.data(), named_trees(), named_trees())
def test_declarations_may_stand_anywhere(data: st.DataObject, lower: ET.Element, upper: ET.Element) -> None:
    below, above = data.draw(spelled(lower)), data.draw(spelled(upper))
    answer = emitted(xml_family.merge(xml_family.parse(below), xml_family.parse(above)))
    assert read_by_lxml(answer) == read_by_name(overlaid(lower, upper))
    assert read_by_lxml(emitted(xml_family.parse(below))) == read_by_name(lower)


def read_by_lxml(text: str) -> Any:
    return read_by_name(pytest.importorskip("lxml.etree").fromstring(text.encode()))


unprefixed = st.dictionaries(st.sampled_from(["k", "name"]), texts, max_size=2)


@st.composite
def anything(draw: st.DrawFn, depth: int = 3) -> ET.Element:
    """Any element: mixed content, repeated siblings, white space."""
    element = ET.Element(draw(st.sampled_from(["a", "b"])), draw(unprefixed))
    element.text = draw(texts)
    for _ in range(draw(st.integers(0, 3)) if depth else 0):
        child = draw(anything(depth - 1))
        child.tail = draw(texts | st.just("\n  "))
        element.append(child)
    return element


@quick
@given(anything())
def test_emit_then_parse_is_the_identity(root: ET.Element) -> None:
    source = ET.tostring(root, "unicode")
    answer = emitted(xml_family.parse(source))
    assert read(answer) == read(source)
    assert emitted(xml_family.parse(answer)) == answer


@quick
@given(st.text(characters, max_size=40), texts)
def test_a_filled_template_has_its_shape_whatever_the_value(value: str, around: str) -> None:
    constant = around.replace("{", "").replace("}", "").replace("]]>", "")
    source = Plain({"a": Plain(constant + "{{ x }}!", {"k": constant + "{{ x }}"}), "b": Plain("{{ x }}")})
    text = ET.tostring(built("r", source), "unicode").replace("</r>", f"<c><![CDATA[{constant}{{{{ x }}}}]]></c></r>")
    document = xml_family.placeholders(xml_family.parse(text), TemplateReader())
    root = ET.fromstring(xml_family.prepare(document).fill(Said(lambda _: value)))
    assert [(child.tag, child.text or "", child.attrib) for child in root] == [
        ("a", constant + value + "!", {"k": constant + value}),
        ("b", value, {}),
        ("c", constant + value, {}),
    ]


tags = ["<r>", "</r>", "<a>", "</a>", "<b k='", "'/>", "<?p q?>"]
pieces = [*tags, "&amp;", "&x;", "&#10;", "<!--", "-->", "<![CDATA[", "]]>", " \n"]
broken = st.lists(st.sampled_from(pieces) | texts, max_size=8).map("".join)


@quick
@given(broken | broken.map("<r>{}</r>".format))
def test_any_text_is_read_as_xml_etree_does_or_refused(text: str) -> None:
    try:
        document = xml_family.parse(text)
    except ParseError as error:
        assert error.line is not None  # noqa: PT017 - most texts are refused, and none must be
        return
    assert read(emitted(document)) == read(text)
