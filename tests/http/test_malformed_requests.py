"""What a hostile or broken client sends, and the status it gets: the same in one packet and byte by byte.

The table is judged twice: by the reader alone, whole and byte by byte, and by a running listener over a socket.
"""

import re
import socket
from collections.abc import Iterator

import pytest

from answerd.server.http.parser import BadRequest, RequestReader
from tests.http.fuzz_listener import Outcome, fuzz, judge
from tests.http.listener_harness import Server, serving

CHUNKED = b"POST /echo HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\n\r\n"


def header(*lines: bytes, method: bytes = b"GET") -> bytes:
    return method + b" /echo HTTP/1.1\r\nHost: s\r\n" + b"".join(line + b"\r\n" for line in lines) + b"\r\n"


MALFORMED: dict[str, tuple[bytes, int]] = {
    # the request line
    "no version": (b"GET /\r\n\r\n", 400),
    "no version and no end of the header": (b"GET /\r\n", 400),
    "no target": (b"GET HTTP/1.1\r\nHost: s\r\n\r\n", 400),
    "an empty target": (b"GET  HTTP/1.1\r\nHost: s\r\n\r\n", 400),
    "two blanks before the version": (b"GET /  HTTP/1.1\r\nHost: s\r\n\r\n", 400),
    "two blanks before the target": (b"GET  / HTTP/1.1\r\nHost: s\r\n\r\n", 400),
    "a tab for a blank": (b"GET\t/ HTTP/1.1\r\nHost: s\r\n\r\n", 400),
    "a blank before the method": (b" GET / HTTP/1.1\r\nHost: s\r\n\r\n", 400),
    "a blank after the version": (b"GET / HTTP/1.1 \r\nHost: s\r\n\r\n", 400),
    "a blank in the target": (b"GET /a b HTTP/1.1\r\nHost: s\r\n\r\n", 400),
    "a NUL in the target": (b"GET /\0 HTTP/1.1\r\nHost: s\r\n\r\n", 400),
    "a control character in the target": (b"GET /\x1b[2J HTTP/1.1\r\nHost: s\r\n\r\n", 400),
    "a delete character in the target": (b"GET /\x7f HTTP/1.1\r\nHost: s\r\n\r\n", 400),
    "a bare carriage return in the request line": (b"GET /\r HTTP/1.1\r\nHost: s\r\n\r\n", 400),
    "a bare carriage return for a line end": (b"GET / HTTP/1.1\rHost: s\r\n\r\n", 400),
    "a method with a colon": (b"GE:T / HTTP/1.1\r\nHost: s\r\n\r\n", 400),
    "a method that is not ASCII": (b"G\xc9T / HTTP/1.1\r\nHost: s\r\n\r\n", 400),
    "a method in parentheses": (b"(GET) / HTTP/1.1\r\nHost: s\r\n\r\n", 400),
    "version 0.9": (b"GET / HTTP/0.9\r\nHost: s\r\n\r\n", 400),
    "version 1.2": (b"GET / HTTP/1.2\r\nHost: s\r\n\r\n", 400),
    "version 2.0": (b"GET / HTTP/2.0\r\nHost: s\r\n\r\n", 400),
    "version 11.1": (b"GET / HTTP/11.1\r\nHost: s\r\n\r\n", 400),
    "version 1.10": (b"GET / HTTP/1.10\r\nHost: s\r\n\r\n", 400),
    "version 1": (b"GET / HTTP/1\r\nHost: s\r\n\r\n", 400),
    "the version in small letters": (b"GET / http/1.1\r\nHost: s\r\n\r\n", 400),
    "another protocol": (b"GET / RTSP/1.0\r\nHost: s\r\n\r\n", 400),
    "the preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "a relative target": (b"GET echo HTTP/1.1\r\nHost: s\r\n\r\n", 400),
    "a target of another scheme": (b"GET ftp://s/x HTTP/1.1\r\nHost: s\r\n\r\n", 400),
    "a URL without a host": (b"GET http:///x HTTP/1.1\r\nHost: s\r\n\r\n", 400),
    "an authority for a GET": (b"GET s:80 HTTP/1.1\r\nHost: s\r\n\r\n", 400),
    "a TLS handshake": (b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03\r\n\r\n", 400),
    # line ends
    "a bare line feed after the request line": (b"GET / HTTP/1.1\nHost: s\r\n\r\n", 400),
    "bare line feeds throughout": (b"GET / HTTP/1.1\nHost: s\n\n", 400),
    "a bare line feed after a header": (b"GET / HTTP/1.1\r\nHost: s\nX: y\r\n\r\n", 400),
    "a bare line feed at the end": (b"GET / HTTP/1.1\r\nHost: s\r\n\n", 400),
    "a bare line feed before the request": (b"\nGET / HTTP/1.1\r\nHost: s\r\n\r\n", 400),
    "a bare carriage return after a header": (b"GET / HTTP/1.1\r\nHost: s\rX: y\r\n\r\n", 400),
    "two carriage returns": (b"GET / HTTP/1.1\r\nHost: s\r\r\n\r\n", 400),
    # header lines
    "a blank before the colon": (b"GET / HTTP/1.1\r\nHost : s\r\n\r\n", 400),
    "a tab before the colon": (header(b"X-A\t: b"), 400),
    "a line without a colon": (header(b"Xabc"), 400),
    "a line without a colon before a length": (header(b"Xabc", b"Content-Length: 5", method=b"POST") + b"hello", 400),
    "an empty name": (header(b": b"), 400),
    "a name of two words": (header(b"X A: b"), 400),
    "a name in parentheses": (header(b"(X): b"), 400),
    "a name that is not ASCII": (header(b"X\xc9: b"), 400),
    "a NUL in a name": (header(b"X\0A: b"), 400),
    "a NUL in a value": (header(b"X-A: a\0b"), 400),
    "an escape in a value": (header(b"X-A: a\x1bb"), 400),
    "a backspace in a value": (header(b"X-A: a\x08b"), 400),
    "a delete character in a value": (header(b"X-A: a\x7fb"), 400),
    "a folded header": (header(b"X-A: a", b" b"), 400),
    "a header folded by a tab": (header(b"X-A: a", b"\tb"), 400),
    "a folded empty header": (header(b"X-A:", b" b"), 400),
    "the first header folded": (b"GET / HTTP/1.1\r\n Host: s\r\n\r\n", 400),
    "no Host": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "no Host among others": (b"GET / HTTP/1.1\r\nX-Host: s\r\n\r\n", 400),
    "two Hosts": (b"GET / HTTP/1.1\r\nHost: s\r\nHost: s\r\n\r\n", 400),
    "two Hosts in HTTP/1.0": (b"GET / HTTP/1.0\r\nHost: s\r\nHost: t\r\n\r\n", 400),
    "a Host with a path": (b"GET / HTTP/1.1\r\nHost: s/x\r\n\r\n", 400),
    "a Host of two words": (b"GET / HTTP/1.1\r\nHost: s t\r\n\r\n", 400),
    "a Host with a user": (b"GET / HTTP/1.1\r\nHost: u@s\r\n\r\n", 400),
    # the body's length, and what smuggles a second request
    "two lengths": (header(b"Content-Length: 5", b"Content-Length: 9", method=b"POST") + b"hello", 400),
    "the same length twice": (header(b"Content-Length: 5", b"Content-Length: 5", method=b"POST") + b"hello", 400),
    "a list of lengths": (header(b"Content-Length: 5, 5", method=b"POST") + b"hello", 400),
    "a length over 64 bits": (header(b"Content-Length: 18446744073709551616", method=b"POST"), 400),
    "a list of lengths over 64 bits": (header(b"Content-Length: " + b"9" * 40 + b", 5", method=b"POST"), 400),
    "a length with a sign": (header(b"Content-Length: +5", method=b"POST") + b"hello", 400),
    "a negative length": (header(b"Content-Length: -1", method=b"POST"), 400),
    "a length with an underscore": (header(b"Content-Length: 0_5", method=b"POST") + b"hello", 400),
    "a hexadecimal length": (header(b"Content-Length: 0x5", method=b"POST") + b"hello", 400),
    "a fraction for a length": (header(b"Content-Length: 5.0", method=b"POST") + b"hello", 400),
    "a word for a length": (header(b"Content-Length: five", method=b"POST") + b"hello", 400),
    "an empty length": (header(b"Content-Length:", method=b"POST"), 400),
    "a length of two numbers": (header(b"Content-Length: 5 5", method=b"POST") + b"hello", 400),
    "digits that are not ASCII": (header("Content-Length: \u0665".encode(), method=b"POST") + b"hello", 400),
    "a length and chunks": (
        header(b"Content-Length: 5", b"Transfer-Encoding: chunked", method=b"POST") + b"0\r\n\r\n",
        400,
    ),
    "chunks and a length": (
        header(b"Transfer-Encoding: chunked", b"Content-Length: 5", method=b"POST") + b"0\r\n\r\n",
        400,
    ),
    "a length and another coding": (
        header(b"Content-Length: 5", b"Transfer-Encoding: gzip", method=b"POST") + b"hello",
        400,
    ),
    "another coding": (header(b"Transfer-Encoding: gzip", method=b"POST") + b"hello", 400),
    "another coding before chunked": (header(b"Transfer-Encoding: gzip, chunked", method=b"POST") + b"0\r\n\r\n", 400),
    "another coding after chunked": (header(b"Transfer-Encoding: chunked, gzip", method=b"POST") + b"0\r\n\r\n", 400),
    "the identity coding": (header(b"Transfer-Encoding: identity", method=b"POST"), 400),
    "chunked twice": (
        header(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked", method=b"POST") + b"0\r\n\r\n",
        400,
    ),
    "a list of chunked twice": (
        header(b"Transfer-Encoding: chunked, chunked", method=b"POST") + b"0\r\n\r\n",
        400,
    ),
    "a coding like chunked": (header(b"Transfer-Encoding: xchunked", method=b"POST") + b"0\r\n\r\n", 400),
    "chunked in quotes": (header(b'Transfer-Encoding: "chunked"', method=b"POST") + b"0\r\n\r\n", 400),
    "a vertical tab before chunked": (header(b"Transfer-Encoding: \x0bchunked", method=b"POST") + b"0\r\n\r\n", 400),
    "a parameter of chunked": (header(b"Transfer-Encoding: chunked;q=1", method=b"POST") + b"0\r\n\r\n", 400),
    "an empty coding": (header(b"Transfer-Encoding:", method=b"POST"), 400),
    "chunks in HTTP/1.0": (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    # chunks
    "a chunk size that is not hexadecimal": (CHUNKED + b"ZZ\r\n", 400),
    "a chunk size with 0x": (CHUNKED + b"0x5\r\nhello\r\n0\r\n\r\n", 400),
    "a chunk size with a sign": (CHUNKED + b"+5\r\nhello\r\n0\r\n\r\n", 400),
    "a negative chunk size": (CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n", 400),
    "an empty chunk size": (CHUNKED + b"\r\nhello\r\n0\r\n\r\n", 400),
    "a blank after a chunk size": (CHUNKED + b"5 \r\nhello\r\n0\r\n\r\n", 400),
    "a blank before a chunk size": (CHUNKED + b" 5\r\nhello\r\n0\r\n\r\n", 400),
    "a chunk size over 64 bits": (CHUNKED + b"F" * 17 + b"\r\nhello", 400),
    "a bare line feed after a chunk size": (CHUNKED + b"5\nhello\r\n0\r\n\r\n", 400),
    "a bare line feed after a chunk": (CHUNKED + b"5\r\nhello\n0\r\n\r\n", 400),
    "a bare line feed in a chunk extension": (CHUNKED + b"5;a\nb\r\nhello\r\n0\r\n\r\n", 400),
    "a chunk longer than its size": (CHUNKED + b"4\r\nhello\r\n0\r\n\r\n", 400),
    "no line end after a chunk": (CHUNKED + b"5\r\nhello0\r\n\r\n", 400),
    "a malformed trailer": (CHUNKED + b"5\r\nhello\r\n0\r\nX : y\r\n\r\n", 400),
    "a length in a trailer": (CHUNKED + b"5\r\nhello\r\n0\r\nContent-Length: 3\r\n\r\n", 400),
    # limits
    "a request line over its limit": (b"GET /" + b"a" * 8_192 + b" HTTP/1.1\r\nHost: s\r\n\r\n", 414),
    "a request line one byte over its limit": (b"GET /" + b"a" * 8_179 + b" HTTP/1.1\r\nHost: s\r\n\r\n", 414),
    "a request line without end": (b"G" * 9_000, 414),
    "a header block over its limit": (header(b"X-A: " + b"a" * 65_536), 431),
    "a header block of many lines over its limit": (header(*[b"X-%d: y" % i for i in range(8_000)]), 431),
    "a header block without end": (b"GET / HTTP/1.1\r\nHost: s\r\n" + b"X: y\r\n" * 11_000, 431),
    "a length over the limit": (header(b"Content-Length: 1048577", method=b"POST"), 413),
}

SERVED: dict[str, tuple[bytes, int]] = {
    "an unknown method": (b"BREW / HTTP/1.1\r\nHost: s\r\n\r\n", 405),
    "a method of odd characters": (b"!#$%&'*+-.^_`|~ / HTTP/1.1\r\nHost: s\r\n\r\n", 405),
    "a method in small letters": (b"get / HTTP/1.1\r\nHost: s\r\n\r\n", 405),
    "the method of HTTP/2's preface": (b"PRI * HTTP/1.1\r\nHost: s\r\n\r\n", 405),
    "CONNECT": (b"CONNECT s:80 HTTP/1.1\r\nHost: s:80\r\n\r\n", 405),
    "OPTIONS for everything": (b"OPTIONS * HTTP/1.1\r\nHost: s\r\n\r\n", 405),
    "GET for everything": (b"GET * HTTP/1.1\r\nHost: s\r\n\r\n", 200),
    "an absolute target": (b"GET http://other:80/x?y HTTP/1.1\r\nHost: s\r\n\r\n", 200),
    "an offer of another protocol": (
        header(b"Connection: Upgrade", b"Upgrade: h2c", b"Content-Length: 5", method=b"POST") + b"hello",
        200,
    ),
    "HTTP/1.0 without Host": (b"GET / HTTP/1.0\r\n\r\n", 200),
    "an empty Host": (b"GET / HTTP/1.1\r\nHost:\r\n\r\n", 200),
    "an IPv6 Host": (b"GET / HTTP/1.1\r\nhOST: [::1]:8000\r\n\r\n", 200),
    "empty lines before the request": (b"\r\n\r\nGET / HTTP/1.1\r\nHost: s\r\n\r\n", 200),
    "bytes that are not ASCII in target and value": (b"GET /\xc3\xa9 HTTP/1.1\r\nHost: s\r\nX: \xff\r\n\r\n", 200),
    "a length with leading zeros": (header(b"Content-Length: 005", method=b"POST") + b"hello", 200),
    "a length with thousands of leading zeros": (
        header(b"Content-Length: " + b"0" * 6_000 + b"5", method=b"POST") + b"hello",
        200,
    ),
    "blanks around a length": (header(b"Content-Length: \t5 \t", method=b"POST") + b"hello", 200),
    "a coding in capitals": (header(b"Transfer-Encoding: CHUNKED", method=b"POST") + b"5\r\nhello\r\n0\r\n\r\n", 200),
    "a body of a GET": (header(b"Content-Length: 5") + b"hello", 200),
    "chunk extensions": (CHUNKED + b'5;a=b;c="d;e"\r\nhello\r\n0;x\r\n\r\n', 200),
    "chunk sizes with leading zeros": (CHUNKED + b"0005\r\nhello\r\n000\r\n\r\n", 200),
    "trailers": (CHUNKED + b"5\r\nhello\r\n0\r\nX-Sum: 1\r\nX-Other:\r\n\r\n", 200),
    "a second request in the same packet": (header(b"Content-Length: 5", method=b"POST") + b"helloGET / HTTP", 200),
    "rubbish after chunks": (CHUNKED + b"5\r\nhello\r\n0\r\n\r\n\0\0\n\n", 200),
    "a request line at its limit": (b"GET /" + b"a" * 8_178 + b" HTTP/1.1\r\nHost: s\r\n\r\n", 200),
    "a header block at its limit": (header(b"X-A: " + b"a" * (65_536 - len("Host: s\r\nX-A: \r\n"))), 200),
}

ALL = MALFORMED | SERVED


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


def status_of(outcome: Outcome) -> int:
    """What the test application would answer."""
    if outcome.status:
        return outcome.status
    assert outcome.request is not None, "the request never became complete"
    if outcome.request.method not in ("GET", "POST", "HEAD"):
        return 405
    return 413 if outcome.request.body_too_large else 200


@pytest.mark.parametrize("name", ALL)
def test_the_reader_judges_the_same_whole_and_byte_by_byte(name: str) -> None:
    data, status = ALL[name]
    whole = judge([data])
    assert status_of(whole) == status
    step = 1 if len(data) < 10_000 else 997
    assert judge([data[i : i + step] for i in range(0, len(data), step)]) == whole


@pytest.mark.parametrize("name", ALL)
def test_over_a_socket_the_status_is(name: str, server: Server) -> None:
    data, status = ALL[name]
    response = server.send(data)
    assert response.status == status
    assert not response.reset
    assert response.headers["connection"] == "close"
    assert response.headers["content-type"]
    assert int(response.headers["content-length"]) == len(response.body)
    if status in (400, 414, 431):
        assert response.headers["content-type"].startswith("text/plain")
        assert response.body.count(b"\n") == 1
        assert response.body.endswith(b"\n")


def test_a_body_that_breaks_off_is_400(server: Server) -> None:
    for data in (header(b"Content-Length: 10", method=b"POST") + b"hello", CHUNKED + b"5\r\nhel", b"GET / HT"):
        with server.connect() as client:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            assert client.recv(100).startswith(b"HTTP/1.1 400 ")


def test_random_streams_are_judged_alike_however_they_are_cut() -> None:
    fuzz(examples=300)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        pytest.param("GET /ks?serial=AB 12&x=1 HTTP/1.1", "the URL has a blank: write it as %20", id="a blank"),
        pytest.param("GET /ks/AB 12/x HTTP/1.0", "the URL has a blank: write it as %20", id="in the path"),
        pytest.param("GET /ks/A  HTTP/1.1", "the URL has a blank: write it as %20", id="at its end"),
        pytest.param("GET /ks?x=A\tB HTTP/1.1", "the URL has a control character: write it as %09", id="a tab"),
        pytest.param("GET /ks?x=A\x00 HTTP/1.1", "the URL has a control character: write it as %00", id="NUL"),
        pytest.param("GET /ks?x=A", "wanted METHOD TARGET HTTP/1.1", id="no version"),
        pytest.param("GET  HTTP/1.1", "wanted METHOD TARGET HTTP/1.1", id="no target"),
        pytest.param("G\tT /a b HTTP/1.1", "wanted METHOD TARGET HTTP/1.1", id="a method that is none"),
    ],
)
def test_the_reason_names_what_a_url_must_not_have(line: str, reason: str) -> None:
    with pytest.raises(BadRequest, match=re.escape(reason)) as refused:
        RequestReader(lambda _: 0).receive(f"{line}\r\nHost: s\r\n\r\n".encode("latin-1"))
    assert refused.value.status == 400
