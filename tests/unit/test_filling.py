"""Filling an answer takes bounded work and memory, whatever its document and the request say (docs/limits.md)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from answerd.answers.compose import prepared_answer
from answerd.documents import Document, Key, RawDocument
from answerd.errors import AnswerTooLarge, CannotFill
from answerd.formats.family import Prepared
from answerd.formats.filters import LARGEST_ANSWER
from answerd.identity import Kind

A_THOUSAND = [f"v{at:05}" for at in range(1_000)]
ADDRESSES = [f"10.{at // 250}.{at % 250}.1/24" for at in range(1_000)]


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


def test_what_a_filter_makes_of_all_values_is_made_once_for_an_answer() -> None:
    lookup = Asked(A_THOUSAND)
    answer = prepared("ks", "{{ a | lower | join(',') }}\n" * 1_000)

    assert answer.fill(lookup).decode() == (",".join(A_THOUSAND) + "\n") * 1_000
    assert lookup.count == 1


TOO_MUCH = {
    "chains of filters that differ": ("ks", "{{ a%s" + "| lower" * 30 + "| join('%s') | slug }}\n", A_THOUSAND, 2_000),
    "lists that differ": ("toml", "k%s = '{{ a | lower | default(\"%s\") | list }}'\n", A_THOUSAND, 2_000),
    "addresses": ("ks", "{{ a%s | host | default('%s') | join(',') | slug }}\n", ADDRESSES, 2_000),
    "filters of one long value": ("ks", "{{ a%s" + "| lower" * 31 + "| default('%s') }}\n", ["v" * 65_000], 200),
    "lists that grow": ("toml", 'k%s = \'{{ a | replace("v", "' + "w" * 9_000 + "%s\") | list }}'\n", A_THOUSAND, 9),
}


@pytest.mark.parametrize(("extension", "text", "values", "lines"), TOO_MUCH.values(), ids=TOO_MUCH)
def test_more_work_than_an_answer_may_take_is_an_error_that_names_a_placeholder(
    extension: str, text: str, values: list[str], lines: int
) -> None:
    answer = prepared(extension, "".join(text % (at, at) for at in range(lines)))

    with pytest.raises(CannotFill, match=r"^\{\{ a\d* \| \w+ \}\}: the value .*characters") as failed:
        answer.fill(Asked(values))
    assert not failed.value.missing


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
