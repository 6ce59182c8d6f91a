"""The body of ``POST /apply`` with long strings, which are read in pieces: as a JSON parser reads it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerd.server.admin import change_body
from answerd.server.admin.change_body import read_change
from answerd.server.admin.requests import InvalidRequest

TEXTS = st.text('ab\\"\n/é€😀\u2028\x7f', max_size=40)


def body_of(text: str, ascii_only: bool) -> bytes:
    element = {"kind": "inventory", "identifier": "a", "text": text, "format": "csv"}
    return json.dumps({"put": [element]}, ensure_ascii=ascii_only).encode()


@given(TEXTS, st.booleans(), st.integers(1, 13))
def test_a_long_text_is_the_same_in_pieces(text: str, ascii_only: bool, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(change_body, "_LONG_STRING", max(size, 12 if ascii_only else 4))
        asked = read_change(body_of(text, ascii_only), lambda: None)
    assert [raw.text for raw in asked.changes.puts] == [text]


@given(
    st.binary(max_size=12) | st.lists(st.sampled_from([b"\\", b"u", b"d83d", b"de00", b"\xf0\x9f", b"x"])).map(b"".join)
)
def test_what_is_no_string_is_none_in_pieces(text: bytes) -> None:
    body = b'{"put": [{"kind": "inventory", "identifier": "a", "text": "' + text + b'"}]}'
    whole = outcome(body)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(change_body, "_LONG_STRING", 12)
        assert outcome(body) == whole


def outcome(body: bytes) -> list[str] | None:
    try:
        return [raw.text for raw in read_change(body, lambda: None).changes.puts]
    except InvalidRequest:
        return None


MEGABYTES = 3_000_000


@pytest.mark.parametrize(
    "element",
    [
        b'{"' + b"x" * MEGABYTES + b'": "a"}',
        b"{" + b",".join(b'"k%d": "v"' % at for at in range(MEGABYTES // 12)) + b"}",
        b"{" + b'"text": "v",' * (MEGABYTES // 12) + b'"a": "b"}',
        b"{" + b" " * MEGABYTES + b"}",
        b'{"text": ' + b"1" * MEGABYTES + b"}",
    ],
    ids=["a long key", "many keys", "a key again and again", "blanks", "a number"],
)
def test_an_element_that_is_no_document_is_never_parsed(element: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parsing it takes a tenth of a second, or seconds, in a single call."""
    longest = 0
    parsed = change_body._parsed

    def noted(text: bytes, place: str) -> object:
        nonlocal longest
        longest = max(longest, len(text))
        return parsed(text, place)

    monkeypatch.setattr(change_body, "_parsed", noted)
    with pytest.raises(InvalidRequest):
        read_change(b'{"put": [' + element + b"]}", lambda: None)
    assert longest < MEGABYTES // 4


def test_a_text_that_is_too_large_is_not_read_to_its_end() -> None:
    pauses: list[None] = []
    body = b'{"put": [{"kind": "machine", "identifier": "a", "text": "' + b"x" * 40_000_000 + b'"}]}'
    with pytest.raises(InvalidRequest, match="has more than 262144 bytes"):
        read_change(body, lambda: pauses.append(None))
    assert 200 < len(pauses) < 1_000


def test_a_key_that_is_there_twice_is_refused_with_a_long_value() -> None:
    text = b"x" * (change_body._LONG_STRING + 1)
    element = b'{"text": "' + text + b'", "text": "' + text + b'", "kind": "inventory", "identifier": "a"}'
    with pytest.raises(InvalidRequest, match=r"a key of put\[0\] is there twice"):
        read_change(b'{"put": [' + element + b"]}", lambda: None)


@pytest.mark.parametrize("value", ["0", "1", "-1", "true", "1e9"])
@pytest.mark.parametrize("name", ["kind", "identifier", "format"])
def test_a_number_beside_a_long_text_is_refused(name: str, value: str) -> None:
    text = "x" * (change_body._LONG_STRING + 1)
    fields = {"kind": '"inventory"', "identifier": '"a"', "format": '"csv"', name: value, "text": f'"{text}"'}
    element = ", ".join(f'"{field}": {written}' for field, written in fields.items())
    with pytest.raises(InvalidRequest):
        read_change(f'{{"put": [{{{element}}}]}}'.encode(), lambda: None)
