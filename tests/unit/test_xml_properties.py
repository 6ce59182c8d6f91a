"""The XML family against merges computed on plain data, written and read by xml.etree."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.formats import xml_family
from answerd.formats.family import ParseError
from answerd.formats.template_reading import TemplateReader
from tests.support.lookups import Said
from tests.support.thorough import examples

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
# Trees that hold text and elements never under the same key: maps meet only maps.
boxed = st.builds(lambda leaf: Plain({"leaf": leaf}), leaves)
maps = branches(st.recursive(boxed, branches, max_leaves=6))


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


@quick
@given(roots, roots)
def test_a_merge_is_the_merge_of_plain_data_in_the_same_order(lower: Plain, upper: Plain) -> None:
    wanted = emitted(tree(laid_over(lower, upper)))
    assert read(emitted(xml_family.merge(tree(lower), tree(upper, indented=True)))) == read(wanted)


@quick
@given(roots)
def test_merging_with_nothing_changes_nothing(plain: Plain) -> None:
    alone = emitted(tree(plain))
    assert emitted(xml_family.merge(tree(plain), tree(Plain()))) == alone
    assert read(emitted(xml_family.merge(tree(Plain()), tree(plain)))) == read(alone)


@quick
@given(roots, roots)
def test_merging_twice_is_merging_once_and_leaves_its_layers_alone(lower: Plain, upper: Plain) -> None:
    below, above = tree(lower), tree(upper)
    once = xml_family.merge(below, above)
    assert emitted(xml_family.merge(once, above)) == emitted(once)
    assert (below, above) == (tree(lower), tree(upper))


@quick
@given(maps, maps, maps)
def test_merging_maps_is_associative(first: Plain, second: Plain, third: Plain) -> None:
    lower, middle, upper = tree(first), tree(second), tree(third)
    left = xml_family.merge(xml_family.merge(lower, middle), upper)
    assert emitted(left) == emitted(xml_family.merge(lower, xml_family.merge(middle, upper)))


@quick
@given(roots, keys, elements)
def test_a_merge_touches_only_what_the_upper_layer_names(lower: Plain, key: str, child: Plain) -> None:
    def others(text: str) -> Any:
        named = ("n", key) if key[0] == "n" else (built(key, child).tag.replace("p:", "{urn:p}"), None)
        root = ET.fromstring(text.encode())
        return [seen(below) for below in root if (below.tag, below.get("name")) != named]

    upper = tree(Plain({key: child}))
    assert others(emitted(xml_family.merge(tree(lower), upper))) == others(emitted(tree(lower)))


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
