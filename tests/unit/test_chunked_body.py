"""Chunked bodies are read, or too large, however the stream was cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.server.http.bodies import OVERHEAD_ALLOWED, Ends
from answerd.server.http.parser import BadRequest, HttpRequest, RequestReader
from tests.support.thorough import examples

HEAD = b"POST / HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\n\r\n"
LIMIT = 100
TRICKY = st.sampled_from([b"a", b"0", b"fF", b"\r", b"\n", b"\r\n", b";", b":", b"fffff\r\n", b"0\r\n\r\n"])


def read(data: bytes, cuts: set[int], limit: int = LIMIT) -> HttpRequest | None:
    """The request once it is complete, of a stream in pieces."""
    reader = RequestReader(lambda _: limit)
    places = sorted({0, len(data)} | {cut for cut in cuts if cut < len(data)})
    for begin, end in pairwise(places):
        if reader.receive(data[begin:end]):
            return reader.request
    return None


@st.composite
def streams(draw: st.DrawFn) -> tuple[bytes, bytes | None]:
    """A chunked body as it is sent, and what it is; None where it is over the limit."""
    sent, body = b"", b""
    for _ in range(draw(st.integers(0, 6))):
        data = b"".join(draw(st.lists(TRICKY, min_size=1, max_size=15)))
        extension = draw(st.sampled_from([b"", b"", b";a=b", b";" + b"e" * 400]))
        sent += draw(st.sampled_from([b"", b"", b"000"])) + b"%x" % len(data) + extension + b"\r\n" + data + b"\r\n"
        body += data
    trailers = draw(st.sampled_from([b"", b"", b"fffff: x\r\n", b"Abc: fffff;\r\n"]))
    return sent + b"0\r\n" + trailers + b"\r\n", body if len(body) <= LIMIT else None


@settings(max_examples=examples(300))
@given(streams(), st.sets(st.integers(1, 700), max_size=30) | st.just(set(range(2_000))))
def test_a_body_is_read_or_too_large_however_the_stream_is_cut(
    stream: tuple[bytes, bytes | None], cuts: set[int]
) -> None:
    sent, body = stream
    request = read(HEAD + sent, cuts)
    assert request is not None, "it waits for what the client need not send"
    assert request.body_too_large == (body is None)
    assert request.body == (body or b"")


@pytest.mark.parametrize("cuts", [set(), set(range(0, 70_000, 7))], ids=["whole", "in pieces"])
@pytest.mark.parametrize(("beyond", "too_large"), [(0, False), (1, True)])
def test_extensions_and_trailers_end_some_time(beyond: int, too_large: bool, cuts: set[int]) -> None:
    framing = len(b"1;\r\nx\r\n0\r\n\r\n")
    extension = b"e" * (6 * LIMIT + OVERHEAD_ALLOWED - framing + beyond)
    request = read(HEAD + b"1;" + extension + b"\r\nx\r\n0\r\n\r\n", cuts)
    assert request is not None
    assert request.body_too_large is too_large


def test_a_body_nobody_wants_is_not_read_and_not_judged() -> None:
    for unwanted in (HEAD, HEAD + b"zz\r\n", b"POST / HTTP/1.1\r\nHost: s\r\nContent-Length: 9\r\n\r\n1234"):
        for step in (1, len(unwanted)):
            reader = RequestReader(lambda _: 0)
            pieces = [unwanted[at : at + step] for at in range(0, len(unwanted), step)]
            complete = [reader.receive(piece) for piece in pieces if reader.request is None]
            assert complete[-1]
            assert reader.request is not None
            assert (reader.request.body, reader.sent_more) == (b"", True)
    with pytest.raises(BadRequest):
        RequestReader(lambda _: LIMIT).receive(HEAD + b"zz\r\n")


# --- bodies of which only the ends are kept --------------------------------------------------------------------------

ENDS = Ends(limit=400, first=20, last=30)


@settings(max_examples=examples(300))
@given(
    body=st.binary(max_size=200),
    chunks=st.none() | st.integers(1, 60),
    cuts=st.sets(st.integers(1, 900), max_size=30) | st.just(set(range(2_000))),
)
def test_the_ends_of_a_body_are_kept_however_the_stream_is_cut(body: bytes, chunks: int | None, cuts: set[int]) -> None:
    if chunks is None:
        stream = b"POST / HTTP/1.1\r\nHost: s\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    else:
        parts = [body[at : at + chunks] for at in range(0, len(body), chunks)]
        stream = HEAD + b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (*parts, b""))
    reader = RequestReader(lambda _: ENDS)
    places = sorted({0, len(stream)} | {cut for cut in cuts if cut < len(stream)})
    for begin, end in pairwise(places):
        is_complete = reader.receive(stream[begin:end])
        assert reader.held <= ENDS.first + ENDS.last + len(b"3c\r\n\r\n0\r\n\r\n")
    request = reader.request
    assert request is not None
    assert is_complete
    if request.left_out:
        assert (request.body, request.body_end) == (body[: ENDS.first], body[-ENDS.last :])
    else:
        assert (request.body, request.body_end) == (body, b"")
    assert request.body_size == len(body)


def test_a_body_of_which_the_ends_are_kept_has_a_limit_too() -> None:
    for stream in (
        b"POST / HTTP/1.1\r\nHost: s\r\nContent-Length: 401\r\n\r\n",
        HEAD + b"191\r\n" + b"x" * 401 + b"\r\n0\r\n\r\n",
    ):
        reader = RequestReader(lambda _: ENDS)
        assert reader.receive(stream)
        assert reader.request is not None
        assert (reader.request.body_too_large, reader.request.body, reader.request.body_end) == (True, b"", b"")


def test_a_trailer_is_held_also_where_only_the_ends_of_the_body_are() -> None:
    reader = RequestReader(lambda _: ENDS)
    assert not reader.receive(HEAD + b"1\r\nx\r\n0\r\nA: ")
    assert not reader.receive(b"b" * 300)
    assert reader.held >= 300
