"""Filling an answer takes bounded work and memory, whatever its document and the request say (docs/limits.md)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from answerd.answers.compose import prepared_answer
from answerd.documents import Document, Key, RawDocument
from answerd.errors import AnswerTooLarge
from answerd.formats.family import Prepared
from answerd.formats.filters import LARGEST_ANSWER
from answerd.identity import Kind


class Asked:
    """A lookup with the same values for all labels that counts how often it is asked."""

    def __init__(self, values: Sequence[str]) -> None:
        self._values = values
        self.count = 0

    def first(self, _label: str) -> str:
        self.count += 1
        return self._values[0]

    def values(self, _label: str) -> Sequence[str]:
        self.count += 1
        return self._values


def prepared(extension: str, text: str) -> Prepared:
    return prepared_answer((Document(RawDocument(Key(Kind.MACHINE, "m", extension), text)),))


MANY_FILTERS = {
    "of one value": ("ks", "{{ a | lower | upper }}\n", 16_384),
    "of one value, in texts that differ": ("ks", "{{ a%s | lower | upper }}\n", 16_384),
    "of an address": ("toml", "k%s = '{{ a | host }}'\n", 2_048),
    "that make a value longer": ("json", '"{{ a | urlencode }}%s",', 2_048),
    "of all values": ("yaml", "k%s: '{{ a | slug | join(\",\") }}'\n", 512),
    "of all values, for a list": ("toml", "k%s = '{{ a | lower | list }}'\n", 512),
    "of a value that was made longer": ("ks", "{{ a%s | replace('a', 'bb') | upper | lower | upper }}\n", 157),
    "of a value that was made shorter": ("ks", "{{ a%s | replace('aa', 'b') | upper }}\n", 1_927),
    "of all addresses": ("ks", "{{ a%s | host | last }}\n", 60),
    "of all values after a longer text, where one is too many": (
        "ks",
        "{{ a%s | first | replace(' ', 'ab') | broadcast }}\n",
        0,
    ),
    "in the keys of a map": ("json", '{"{{ a | bare | lower | slug | upper }}%s": 1},', 8_192),
}
"""How many texts are as many filters as a document may have."""


@pytest.mark.parametrize(("extension", "text", "most"), MANY_FILTERS.values(), ids=MANY_FILTERS)
def test_a_document_has_so_many_filters_and_no_more(extension: str, text: str, most: int) -> None:
    def problems(count: int) -> tuple[str, ...]:
        lines = "".join(text.replace("%s", str(at)) for at in range(count))
        whole = f'{{"all": [{lines} 0]}}' if extension == "json" else lines
        return Document(RawDocument(Key(Kind.MACHINE, "m", extension), whole)).problems

    assert problems(most) == ()
    (problem,) = problems(most + 1)
    assert problem.startswith("has filters that cost too much: they count 3")


@pytest.mark.parametrize(
    ("extension", "text"),
    [
        pytest.param("yaml", "a: >-\n" + "  {{ a }}\n" * 5_000, id="a block of YAML"),
        pytest.param("json", '{"a": "' + "{{ a }}" * 5_000 + '"}', id="a string of JSON"),
        pytest.param("ks", "{{ a }}\n" * 5_000, id="text"),
    ],
)
def test_no_more_is_made_than_an_answer_holds_even_of_a_single_text(extension: str, text: str) -> None:
    lookup = Asked(["v" * 10_000])

    with pytest.raises(AnswerTooLarge):
        prepared(extension, text).fill(lookup)
    assert lookup.count <= LARGEST_ANSWER // 10_000 + 1
