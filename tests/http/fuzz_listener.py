"""Byte streams against the request reader, without a socket: whatever comes, it is refused or understood, never else.

``python fuzz_listener.py 1000000`` runs that many streams; the tests run a few hundred.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from answerd.server.http.parser import BadRequest, HttpRequest, RequestReader

MAX_BODY = 1_048_576

REQUEST_LINES = [
    b"GET / HTTP/1.1\r\n",
    b"POST /a?b=c HTTP/1.1\r\n",
    b"GET /a HTTP/1.0\r\n",
    b"PUT * HTTP/1.1\r\n",
    b"\r\n",
]
HEADERS = [
    b"Host: s\r\n",
    b"Content-Length: 5\r\n",
    b"Content-Length: 99999999999999999999\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n",
    b"Expect: 100-continue\r\n",
    b"Connection: upgrade\r\nUpgrade: h2c\r\n",
    b"X_A: b\r\n",
    b" folded\r\n",
]
BODIES = [b"hello", b"5\r\nhello\r\n", b"5;a=b\r\nhello\r\n", b"0\r\n\r\n", b"0\r\nX: y\r\n\r\n", b"FFFFFFFF\r\n"]
ODDITIES = [b"\r\n", b"\n", b"\r", b"\0", b" ", b":", b"\xff", b"\t", b"a" * 9_000]

streams = st.lists(
    st.one_of(
        st.sampled_from(REQUEST_LINES),
        st.sampled_from(HEADERS),
        st.sampled_from(BODIES),
        st.sampled_from(ODDITIES),
        st.binary(max_size=12),
    ),
    max_size=14,
).map(b"".join)
# Most streams begin like a request, or hardly any would get beyond its first line.
requests = st.tuples(st.sampled_from(REQUEST_LINES[:3]), st.just(b"Host: s\r\n"), streams).map(b"".join)


@dataclass(frozen=True)
class Outcome:
    """How a stream was judged: refused with a status, or a request, or neither yet. Compared by ``parts``."""

    status: int = 0
    request: HttpRequest | None = field(default=None, compare=False)
    parts: dict[str, Any] | None = None

    @classmethod
    def of(cls, request: HttpRequest | None, max_body: int) -> Outcome:
        return cls(request=request, parts=None if request is None else parts_of(request, max_body))


def parts_of(request: HttpRequest, max_body: int) -> dict[str, Any]:
    names = ("method", "target", "path", "query", "minor_version")
    header = request.header
    framing = (header.length, header.is_chunked, header.expects_continue)
    # The limit is asked before a body is waited for: one that came with its header is there, however large.
    too_large = request.body_too_large or len(request.body) > max_body
    body = b"" if too_large else request.body
    parts = {name: getattr(request, name) for name in names}
    return parts | {"lines": header.lines, "framing": framing, "body": body, "body_too_large": too_large}


def judge(pieces: list[bytes], max_body: int = MAX_BODY) -> Outcome:
    """Feeds the pieces until something is known."""
    reader = RequestReader(lambda _: max_body)
    try:
        for piece in pieces:
            if piece and reader.receive(piece):
                return Outcome.of(reader.request, max_body)
    except BadRequest as refusal:
        if refusal.status not in (400, 414, 431) or not refusal.reason.isprintable():
            raise AssertionError(f"refused with {refusal.status} {refusal.reason!r}") from refusal
        return Outcome(status=refusal.status)
    return Outcome()


def fuzz(examples: int) -> None:
    """As many streams, each judged whole, in two halves and byte by byte. Raises AssertionError."""

    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.one_of(requests, streams), st.integers(0, 100))
    def alike(stream: bytes, percent: int) -> None:
        cut = len(stream) * percent // 100
        whole = judge([stream], max_body=16)
        assert judge([stream[:cut], stream[cut:]], max_body=16) == whole
        if len(stream) < 400:
            assert judge([stream[i : i + 1] for i in range(len(stream))], max_body=16) == whole

    alike()


if __name__ == "__main__":
    fuzz(int(sys.argv[1]))
