"""A YAML text of several documents is served as it is written, its placeholders filled in their places."""

from __future__ import annotations

from typing import Any

import pytest
import yaml as pyyaml
from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.documents import Document, Key, RawDocument
from answerd.identity import Kind
from answerd.validators import Tools, validate
from tests.support.lookups import Said
from tests.support.thorough import examples

FACTS = {"host": "web-01", "odd": "a: \"b' # {x}\\", "folded": "two words", "blank": " x", "no": "no"}
FACTS["sep"] = "a\u2028b"


def served(text: str) -> str:
    document = Document(RawDocument(Key(Kind.MACHINE, "n1", "yaml"), text))
    assert document.problems == ()
    return document.family.prepare(document.tree).fill(Said(FACTS.get)).decode()


WRITTEN = {
    "plain": ("a: 1\n---\nb: x-{{ host }}\n", 'a: 1\n---\nb: "x-web-01"\n'),
    "single quotes": ("a: '{{ host }}' # why\n---\nb: '{ }'\n", "a: \"web-01\" # why\n---\nb: '{ }'\n"),
    "double quotes": ('---\na: "{{ odd }}"\n---\nb: 1\n', '---\na: "a: \\"b\' # {x}\\\\"\n---\nb: 1\n'),
    "a literal block": (
        "a: 1\n---\nb: |\n     one {{ host }}\n\n     two\n# after\nc: 1\n",
        "a: 1\n---\nb: |\n     one web-01\n\n     two\n# after\nc: 1\n",
    ),
    "a block without its last newline": ("a: 1\n---\nb: |-\n  {{ host }}\n", "a: 1\n---\nb: |-\n  web-01\n"),
    "a block that keeps its newlines": (
        "b: |+\n  {{ host }}\n\n---\nc: 1\n",
        "b: |+\n  web-01\n\n---\nc: 1\n",
    ),
    "a value that a block cannot hold": ("a: 1\n---\nb: |\n  {{ blank }}\n", 'a: 1\n---\nb: " x\\n"\n'),
    "a block with a number": ("a: 1\n---\nb: |2\n   {{ host }}\n", 'a: 1\n---\nb: " web-01\\n"\n'),
    "an anchor and a tag": (
        "a: &x !!str '{{ host }}'\nb: *x\n---\nc: 1\n",
        'a: &x !!str "web-01"\nb: *x\n---\nc: 1\n',
    ),
    "in lists and braces": ("- ['{{ host }}', {k: '{{ no }}'}]\n---\n- 1\n", '- ["web-01", {k: "no"}]\n---\n- 1\n'),
    "keys": ("'{{ host }}': 1\n---\na:\n  x{{ host }}: 1\n", '"web-01": 1\n---\na:\n  "xweb-01": 1\n'),
    "what is in a key of several is left alone": ("a: 1\n---\n? ['{{ host }}']\n: 1\n", None),
    "comments, directives and markers": ("%YAML 1.1\n---\n# {{ host }}\na: 1\n...\n---\n...\n", None),
    "characters of several bytes before": ("é: ü😀\n---\nß: 'ö {{ host }}' # é\n", 'é: ü😀\n---\nß: "ö web-01" # é\n'),
    "line ends of two characters": ("a: 1\r\n---\r\nb: '{{ host }}'\r\n", 'a: 1\r\n---\r\nb: "web-01"\r\n'),
    "a literal placeholder": ("a: '{{ \"{{\" }} x'\n---\nb: 1\n", 'a: "{{ x"\n---\nb: 1\n'),
}


@pytest.mark.parametrize(("text", "answer"), WRITTEN.values(), ids=WRITTEN.keys())
def test_it_is_served_as_it_is_written(text: str, answer: str | None) -> None:
    assert served(text) == (text if answer is None else answer)


styles = st.sampled_from(["'", '"', "|", ">", None])
words = st.lists(
    st.sampled_from([*("{{ " + label + " }}" for label in FACTS), "a", " ", "\n", ":"]),
    max_size=6,
).map("".join)
values = st.recursive(
    words | st.integers() | st.none(),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from("abc{"), below, max_size=3),
    max_leaves=8,
)


def filled(value: Any) -> Any:
    if isinstance(value, str):
        for label, said in FACTS.items():
            value = value.replace("{{ " + label + " }}", said)
        return value
    if isinstance(value, list):
        return [filled(item) for item in value]
    return {key: filled(item) for key, item in value.items()} if isinstance(value, dict) else value


@given(st.lists(values, min_size=2, max_size=3), styles, st.booleans(), st.integers(2, 6))
@settings(max_examples=examples(200))
def test_it_says_what_its_documents_say_with_their_placeholders_filled(
    documents: list[Any], style: str | None, flow: bool, indent: int
) -> None:
    text = pyyaml.safe_dump_all(
        documents, default_style=style, default_flow_style=flow, indent=indent, width=1_000, explicit_start=True
    )
    assert list(pyyaml.safe_load_all(served(text))) == [filled(document) for document in documents]


def test_the_validator_takes_each_document_for_itself() -> None:
    def findings(text: str) -> list[str]:
        return [finding.message for finding in validate(text, "yaml", tools=Tools.none()).findings]

    assert findings("version: v1alpha1\n---\nkind: HostnameConfig\n") == []
    assert findings("a: 1\n---\nb: 1\nb: 2\n") != []
    assert findings("a: 1\n---\nb: [\n") != []
    assert "one document" in findings("#cloud-config\na: 1\n---\nb: 1\n")[0]
