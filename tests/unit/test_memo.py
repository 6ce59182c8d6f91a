"""What is remembered for later calls is bounded: in number and in size, whatever clients and documents send."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from answerd.formats import family, template, yaml_read
from answerd.formats.template import Placeholder
from answerd.memo import remembered
from answerd.server.http import parser, responses
from answerd.server.http.parser import RequestReader


def test_a_call_with_a_large_argument_is_not_kept() -> None:
    calls = []

    @remembered(2, len, 3)
    def doubled(text: str) -> str:
        calls.append(text)
        return text * 2

    assert [doubled(text) for text in ("abc", "abc", "abcd", "abcd")] == ["abcabc", "abcabc", "abcdabcd", "abcdabcd"]
    assert calls == ["abc", "abcd", "abcd"]


LARGE = "x" * 5_000
FILLED: dict[str, tuple[Any, Callable[[], object]]] = {
    "a placeholder": (template._read, lambda: template._read(f'{{{{ a | default("{LARGE}") }}}}')),
    "a text with a placeholder": (
        template._read_before,
        lambda: template._read_before(LARGE + "{{ a }}", False, False),
    ),
    "a slot": (family.slot_of, lambda: family.slot_of(Placeholder("a", (("default", (LARGE,)),)), str)),
    "a typed slot": (
        family.typed_slot_of,
        lambda: family.typed_slot_of(Placeholder("a", (("default", (LARGE,)),)), str),
    ),
    "lengths at a large placeholder": (
        family._shared_layout,
        lambda: family._shared_layout((family.slot_of(Placeholder("a", (("default", (LARGE,)),)), str),), (1, 1)),
    ),
    "a scalar": (yaml_read._resolved, lambda: yaml_read._resolved(LARGE)),
}


@pytest.mark.parametrize("name", FILLED)
def test_a_large_text_of_a_document_is_not_kept_for_others(name: str) -> None:
    function, call = FILLED[name]
    cache: Any = function.cache
    before = cache.cache_info().currsize
    call()
    assert cache.cache_info().currsize == before


def read_header(line: bytes) -> None:
    reader = RequestReader(lambda _: 1_000)
    reader.receive(b"GET / HTTP/1.1\r\nHost: s\r\n" + line + b"\r\n\r\n")
    assert reader.request


def test_what_clients_send_fills_no_cache_beyond_its_bound() -> None:
    caches: list[dict[Any, Any]] = [
        parser._known_names,
        parser._validated_blocks,
        responses._known_heads,
    ]
    for cache in caches:
        cache.clear()
    for number in range(2_000):
        read_header(b"x-%d: %d" % (number, number))
        responses._head("200 OK", [("ETag", str(number))], 1, False)
    read_header(b"y" * 5_000 + b": 1")
    read_header(b"Final: 1")
    names, blocks = parser._known_names, parser._validated_blocks
    assert (len(names) <= 512, len(blocks) <= 512, len(responses._known_heads) <= 256) == (True, True, True)
    assert max(map(len, names)) <= 64
    assert b"Final" in names  # a full table makes room
    assert max(len(block) for _, block in blocks) <= 1_024


def test_random_headers_are_read_the_same_from_a_full_table() -> None:
    rng = random.Random(3)
    for _ in range(1_500):
        name = "".join(rng.choices("aBcDe-", k=rng.randrange(1, 80)))
        assert parser._name(name.encode()) == name.lower()
