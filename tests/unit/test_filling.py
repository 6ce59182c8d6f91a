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
