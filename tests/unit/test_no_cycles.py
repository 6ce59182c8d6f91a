"""Nothing that is done over and over leaves a reference cycle: `answerd.server.collector` rests on that."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

from answerd.answers.catalogue import Catalogue, no_pause
from answerd.answers.near_misses import told
from answerd.answers.resolve import resolve
from answerd.answers.warming import warm_up
from answerd.documents import Key, RawDocument
from answerd.errors import AnswerError
from answerd.facts import Facts, Request
from answerd.identity import Kind
from answerd.server.generation import in_thread
from answerd.server.http_parser import Refusal, RequestReader

HEAD = b"POST /proxmox HTTP/1.1\r\nHost: s\r\n"
BODY = b'{"network_interfaces": [{"link": "eno1", "mac": "52:54:00:00:00:05"}], "serial": "A1"}'
DOCUMENTS = {
    ("machine", "525400000005"): 'a = "{{ serial }} {{ network_interfaces.0.link }}"',
    ("machine", "broken"): "a = ",
}


def read(*pieces: bytes) -> None:
    reader = RequestReader(1_048_576)
    try:
        for piece in pieces:
            reader.receive(piece)
    except Refusal:
        pass


def fail() -> None:
    raise OSError("no such store")


def look_that_fails() -> None:
    try:
        in_thread(fail)
    except OSError:
        pass


def answered(query: str, body: bytes = b"") -> None:
    facts = Facts(Request("/proxmox", query, body=body))
    try:
        resolve(CATALOGUE, facts)
    except AnswerError as error:
        told(error, facts)


def changed_and_forgotten() -> None:
    texts = {
        (Kind.GROUP, "base"): 'a = "{{ serial }}"',
        (Kind.GROUP, "rack"): 'extends = "base"\nmembers = ["525400000005"]',
        (Kind.MACHINE, "525400000006"): 'extends = "rack"',
    }
    documents = [RawDocument(Key(kind, name, "toml"), text) for (kind, name), text in texts.items()]
    catalogue = Catalogue().changed(documents)
    warm_up(catalogue, no_pause)
    for _ in range(3):
        for mac in ("525400000005", "525400000006"):
            resolve(catalogue, Facts(Request("/proxmox", f"mac={mac}&serial=1")))
        before, documents = documents, [RawDocument(one.key, one.text + "\n") for one in documents]
        catalogue = catalogue.changed(documents, before)


CATALOGUE = Catalogue().changed(
    [RawDocument(Key(Kind(kind), name, "toml"), text) for (kind, name), text in DOCUMENTS.items()]
)


@pytest.mark.parametrize(
    "act",
    [
        lambda: read(HEAD + b"Content-Length: 5\r\n\r\nhello"),
        lambda: read(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
        lambda: read(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel"),
        lambda: read(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"rubbish"),
        lambda: read(HEAD + b"Bad\r\n\r\n"),
        look_that_fails,
        lambda: answered("", BODY),
        lambda: answered("mac=broken"),
        lambda: answered("mac=nobody"),
        changed_and_forgotten,
    ],
    ids=[
        "a body",
        "chunks",
        "chunks cut off",
        "bad chunks",
        "bad header",
        "a look",
        "an answer",
        "broken",
        "unclaimed",
        "documents that change",
    ],
)
def test_no_cycle_is_left_by(act: Callable[[], None]) -> None:
    act()  # what is made once may stay
    gc.collect()
    gc.disable()
    try:
        for _ in range(10):
            act()
        assert gc.collect() == 0
    finally:
        gc.enable()
