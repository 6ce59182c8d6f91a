"""What holds for every YAML document, judged by other parsers: PyYAML's own in Python (YAML 1.1), ruamel.yaml (1.2).

Documents are compared composed, as (tag, text) all the way down: stricter than by value, since ``0644`` and ``420``
are one number under YAML 1.1.
"""

from __future__ import annotations

from typing import Any

import yaml as pyyaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from answerd.formats import yaml as yaml_family
from answerd.formats.family import ParseError
from answerd.formats.template import Template, TemplateReader
from answerd.formats.yaml_read import Mapping, Node, Scalar, Sequence
from tests.support.lookups import Said
from tests.support.thorough import examples

quick = settings(max_examples=examples(80))

# fmt: off
TRICKY = [
    "0644", "yes", "No", "on", "off", "~", "null", "Null", "1.10", "1e3", "2001-01-01", "52:54:00:12:34:56",
    "190:20:30", "12:30", "0o14", "0x1F", "1_000", ".inf", "-.INF", ".nan", "=", "<<", "true", "TRUE", "y", "n",
    "-", "-x", "?", "?x", ":", ":x", "#", "#x", "a#b", "a:b", "{}", "[]", "{{", "}}", ",", "a,b", "&", "*", "!",
    "|", ">", "%", "@", "`", "'", '"', "\\", "---", "...", "+1", "-0", "0", "1", "01", "08", "0b1",
    "http://h/p?q=1&r#f", "éà", "日本", "😀", "a\\nb", "2001-12-14T21:59:43.10-05:00", "$(x)",
]
# fmt: on
SPACED = [
    "",
    " ",
    "a b",
    " a",
    "a ",
    "a: b",
    "a #b",
    "- a",
    "? a",
    "a\tb",
    "\ta",
    "2001-01-01 12:30:00",
    "--- a",
    "... a",
]
LINES = [
    "a\nb",
    "a\n",
    "a\n\n",
    "\na",
    "\n",
    "\n\n",
    "  a\nb",
    "a\n  b\nc\n",
    "a \nb",
    "\ta\n",
    "a\n \n",
    " \n a",
    "#!/bin/sh\necho 'a: b'\n",
]
ODD = [
    "\x85",
    "a\u2028b",
    "a\u2029",
    "\ufeff",
    "a\x07b",
    "\r\n",
    "a\rb",
    "\x00",
    "\xa0",
    "\x7f",
    "\ufffe",
    "\U0001f600\n",
]

texts = st.one_of(
    st.sampled_from(TRICKY + SPACED + LINES + ODD),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.text(st.sampled_from("ab \n\t:#-'\"\\{}[],&*!|>%@`?~=\u2028\x85\ufeff😀"), max_size=10),
)
styles = st.sampled_from([None, None, "'", '"', "|", ">"])
tags = st.sampled_from([None, None, None, None, "!custom", "!a!b", "tag:yaml.org,2002:str", "tag:example.com,2000:x y"])


def scalar_node(text: str, style: str | None, tag: str | None) -> pyyaml.Node:
    """A node that PyYAML serialises: a plain one keeps the type that its text has."""
    resolver: Any = pyyaml.resolver.Resolver()
    return pyyaml.ScalarNode(tag or resolver.resolve(pyyaml.ScalarNode, text, (style is None, True)), text, style=style)


def list_node(items: list[pyyaml.Node], flow: bool, tag: str | None) -> pyyaml.Node:
    return pyyaml.SequenceNode(tag or "tag:yaml.org,2002:seq", items, flow_style=flow)


def map_node(keys: list[pyyaml.Node], values: list[pyyaml.Node], flow: bool, tag: str | None) -> pyyaml.Node:
    return pyyaml.MappingNode(tag or "tag:yaml.org,2002:map", list(zip(keys, values, strict=False)), flow_style=flow)


scalars = st.builds(scalar_node, texts, styles, tags)
nodes = st.recursive(
    scalars,
    lambda below: st.one_of(
        st.builds(list_node, st.lists(below, max_size=3), st.booleans(), tags),
        st.builds(map_node, st.lists(scalars | below, max_size=3), st.lists(below, max_size=3), st.booleans(), tags),
    ),
    max_leaves=12,
)


@st.composite
def sources(draw: st.DrawFn) -> str:
    """The text of a document as PyYAML or libyaml writes it, in all styles, with anchors where nodes recur.

    Without NEL and the two separators in the raw: line breaks in YAML 1.1, not in 1.2, so the consumers differ already.
    """
    root = draw(nodes)
    if draw(st.booleans()):
        root = list_node([root, root], draw(st.booleans()), None)
    dumper = draw(st.sampled_from([pyyaml.SafeDumper, pyyaml.CSafeDumper]))
    width, indent = draw(st.sampled_from([(10, 2), (80, 4), (9999, 2)]))
    text = str(pyyaml.serialize(root, Dumper=dumper, allow_unicode=draw(st.booleans()), width=width, indent=indent))
    assume(readable(text) and "<<" not in text and not set(text) & set("\x85\u2028\u2029"))
    return text


def shape(node: Any) -> Any:
    """A composed node as plain data: tag and text of scalars, tag and entries of collections. Nothing is ``null``."""
    if node is None:
        return None
    if isinstance(node.value, str):
        tag = str(node.tag)
        return (tag, node.value or "null") if tag.endswith(":null") else (tag, node.value)
    if node.value and isinstance(node.value[0], tuple):
        return (str(node.tag), *((shape(key), shape(value)) for key, value in node.value))
    return (str(node.tag), *(shape(item) for item in node.value))


def under_1_1(text: str) -> Any:
    return shape(pyyaml.compose(text, Loader=pyyaml.SafeLoader))


def under_1_2(text: str) -> Any:
    return shape(YAML(typ="safe", pure=True).compose(text))


def emitted(tree: Any) -> str:
    static = yaml_family.prepare(tree).static
    assert static is not None
    return static.decode()


def parsed(text: str) -> Any:
    try:
        return yaml_family.parse(text)
    except ParseError as error:
        assume("this map has this key already" not in str(error) and "<<" not in str(error) and "{{" not in str(error))
        raise


def readable(text: str) -> bool:
    """Whether both kinds of consumer read a text: the writers that make documents here have faults of their own."""
    try:
        under_1_1(text)
        pyyaml.compose(text, Loader=pyyaml.CSafeLoader)
        under_1_2(text)
    except (pyyaml.YAMLError, YAMLError, ValueError, AssertionError, TypeError, AttributeError, IndexError):
        return False
    return True


@quick
@given(sources())
def test_what_is_written_reads_as_what_was_read(source: str) -> None:
    text = emitted(parsed(source))
    assert text == "" or text.endswith("\n")
    if text:
        assert under_1_1(text) == under_1_1(source)
        assert under_1_2(text) == under_1_2(source)


keys = st.sampled_from(["a", "b", "c", "1", "~", "yes", '"1"', "'a b'", "0644", "[x, y]", "2001-01-01"])
values = st.sampled_from(["1", "yes", "0644", "'q'", '"d"', "", "~", "12:30", "!t x"])


def _block(pairs: dict[str, Any], indent: int) -> str:
    lines = [
        f"{' ' * indent}? {key}\n{' ' * indent}:" + (f"\n{_block(value, indent + 2)}" if value else " {}\n")
        if isinstance(value, dict)
        else f"{' ' * indent}? {key}\n{' ' * indent}: {value}\n"
        for key, value in pairs.items()
    ]
    return "".join(lines)


def _flow(pairs: dict[str, Any]) -> str:
    pairs_written = (f"? {key} : {_flow(value) if isinstance(value, dict) else value}" for key, value in pairs.items())
    return f"{{{', '.join(pairs_written)}}}"


maps = st.recursive(
    st.dictionaries(keys, values, max_size=4),
    lambda below: st.dictionaries(keys, values | below, max_size=4),
    max_leaves=8,
)


@st.composite
def documents(draw: st.DrawFn) -> tuple[dict[str, Any], Any]:
    """A map as plain data, its keys and values in YAML's spelling, and the tree of its text."""
    pairs = draw(maps)
    text = _flow(pairs) if draw(st.booleans()) or not pairs else _block(pairs, 0)
    return pairs, yaml_family.parse(text)


def merged(lower: Any, upper: Any) -> Any:
    """The merge by its definition, on plain data."""
    if not (isinstance(lower, dict) and isinstance(upper, dict)):
        return upper
    return {**lower, **{key: merged(lower.get(key), value) for key, value in upper.items()}}


def as_read(tree: Any) -> Any:
    text = emitted(tree)
    return (under_1_1(text), under_1_2(text)) if text else None


def as_text(pairs: dict[str, Any]) -> Any:
    text = _flow(pairs)
    return under_1_1(text), under_1_2(text)


@quick
@given(documents(), documents())
def test_a_merge_is_the_merge_of_the_plain_data(lower: tuple[Any, Any], upper: tuple[Any, Any]) -> None:
    assert as_read(yaml_family.merge(lower[1], upper[1])) == as_text(merged(lower[0], upper[0]))


@quick
@given(documents(), documents())
def test_a_merge_touches_only_what_the_upper_layer_names(lower: tuple[Any, Any], upper: tuple[Any, Any]) -> None:
    before = emitted(lower[1]), emitted(upper[1])
    merged_tree: Any = yaml_family.merge(lower[1], upper[1])
    _assert_untouched(lower[1].root, upper[1].root, merged_tree.root)
    assert (emitted(lower[1]), emitted(upper[1])) == before


def _assert_untouched(lower: Node, upper: Node, result: Node) -> None:
    assert isinstance(lower, Mapping)
    assert isinstance(upper, Mapping)
    assert isinstance(result, Mapping)
    assert list(result.pairs)[: len(lower.pairs)] == list(lower.pairs)
    for key, (written, value) in lower.pairs.items():
        if key not in upper.pairs:
            assert result.pairs[key][1] is value
        elif isinstance(value, Mapping) and isinstance(upper.pairs[key][1], Mapping):
            _assert_untouched(value, upper.pairs[key][1], result.pairs[key][1])
        assert result.pairs[key][0] is written


FILLED = """\
plain: a-{{ v }}-b
single: '{{ v }}'
double: "{{ v }}\\t\\u2028{{ v }}"
literal: |
  {{ v }}
    x {{ v }}

keep: |+
  {{ v }}

strip: |-
   {{ v }}
folded: >
  a
  {{ v }}

    {{ v }}
  b
tagged: !!str '{{ v }}'
flow: {list: ['x{{ v }}', '{{ v }}'], "k": "{{ v }}"}
list:
  - '{{ v }}'
  - - '{{ v }}'
    - |2-
        {{ v }}
      {{ v }}
"""

facts = st.one_of(
    st.sampled_from(
        TRICKY + SPACED + ["\u2028", "\ufeff", "\ufffe", "{{ v }}", "x" * 10_240, '"; drop', "\\", "a" * 1024 + ": b"]
    ),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20),
).filter(lambda value: "\t" not in value)


def _replaced(data: Any, value: str) -> Any:
    if isinstance(data, dict):
        return {key: _replaced(below, value) for key, below in data.items()}
    if isinstance(data, list):
        return [_replaced(below, value) for below in data]
    return data.replace("{{ v }}", value)


@quick
@given(facts)
def test_a_filled_template_is_the_same_document_with_the_value_in_it(value: str) -> None:
    prepared = yaml_family.prepare(yaml_family.placeholders(yaml_family.parse(FILLED), TemplateReader()))
    text = prepared.fill(Said(lambda _: value)).decode()
    expected = _replaced(pyyaml.safe_load(FILLED), value)
    assert pyyaml.safe_load(text) == expected
    assert pyyaml.load(text, Loader=pyyaml.CSafeLoader) == expected
    assert YAML(typ="safe", pure=True).load(text) == expected
    assert prepared.static is None


@quick
@given(sources())
def test_a_template_wherever_it_stands_fills_to_its_text(source: str) -> None:
    """Every string value becomes a template that fills to what it was: the document must not change."""
    tree = parsed(source)
    root = tree.root and _templated(tree.root)
    text = yaml_family.prepare(tree._replace(root=root)).fill(Said(lambda _: None)).decode()
    if text:
        assert under_1_1(text) == under_1_1(source)
        assert under_1_2(text) == under_1_2(source)


def _templated(node: Node) -> Node:
    if isinstance(node, Mapping):
        return node._replace(pairs={key: (written, _templated(value)) for key, (written, value) in node.pairs.items()})
    if isinstance(node, Sequence):
        return node._replace(items=tuple(_templated(item) for item in node.items))
    if not node.style or not node.text:
        return node
    assert isinstance(node, Scalar)
    return node._replace(text=Template((node.text,)))  # type: ignore[arg-type]  # no scalar of these is a template yet
