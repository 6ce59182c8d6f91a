"""Compiled code lets other threads run in each loop over a large request or document.

The interpreter does so by itself. How long others wait is measured by `tests.load.torture.cost`.
"""

from __future__ import annotations

import importlib
import json
from collections import Counter
from collections.abc import Callable

import pytest

from answerd.answers.catalogue import Catalogue
from answerd.answers.compose import prepared_answer
from answerd.documents import Key, RawDocument
from answerd.facts import Facts, Request
from answerd.formats.filters import FilterBudget
from answerd.identity import Kind
from answerd.json_body import read_json

MANY = 3_000


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], int]:
    """Returns how often a module gave way."""
    calls: Counter[str] = Counter()
    for name in ("facts", "identity", "json_body", "formats.family", "formats.filters", "formats.template"):

        def count(name: str = name) -> None:
            calls[name] += 1

        monkeypatch.setattr(importlib.import_module(f"answerd.{name}"), "give_way", count)
    return calls.__getitem__


def test_reading_a_large_body_gives_way(times: Callable[[str], int]) -> None:
    body = {f"key-{at}": f"text {at}" for at in range(MANY)}
    Facts(Request(body=json.dumps(body).encode())).prepare()
    assert times("json_body") >= 3 * MANY
    assert times("facts") >= 2 * MANY


def test_reading_many_numbers_gives_way(times: Callable[[str], int]) -> None:
    read_json(json.dumps(list(range(MANY))).encode())
    assert times("json_body") >= 2 * MANY


def test_a_body_of_mac_addresses_gives_way(times: Callable[[str], int]) -> None:
    Facts(Request(body=b"98:fa:9b:50:d8:10 " * MANY)).prepare()
    assert times("identity") >= MANY


class _Values:
    """Has one value for each label."""

    def first(self, label: str) -> str:
        return label

    def values(self, label: str) -> list[str]:
        return [label]


@pytest.mark.parametrize(
    ("extension", "text", "module"),
    [
        ("ks", "{{ mac }}\n" * MANY, "formats.family"),
        ("yaml", "a: >-\n" + "  {{ mac }}\n" * MANY, "formats.template"),
        ("ks", "".join(f'{{{{ a{at} | join(",") | slug }}}}\n' for at in range(MANY)), "formats.filters"),
    ],
)
def test_a_document_of_placeholders_gives_way(
    times: Callable[[str], int], extension: str, text: str, module: str
) -> None:
    raw = RawDocument(Key(Kind.MACHINE, "a", extension), text)
    prepared = prepared_answer((Catalogue().changed([raw]).documents[raw],))
    assert times("formats.template") >= MANY
    before = times(module)
    prepared.fill(FilterBudget(_Values()))
    assert times(module) >= before + MANY
