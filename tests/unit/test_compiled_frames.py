"""What compiled modules share with interpreted ones: greenlets, exceptions, tracebacks and threads in their middle.

These hold for interpreted modules anyway; scripts/test runs them against the compiled build as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import gevent
import pytest

from answerd.answers.catalogue import Catalogue
from answerd.answers.resolve import resolve
from answerd.answers.sources import NO_SOURCES
from answerd.documents import Key, RawDocument
from answerd.errors import CannotFill
from answerd.facts import Facts, Request
from answerd.identity import Kind

KS = RawDocument(Key(Kind.DEFAULT, "", "ks"), "{{ id }} {{ secret.word }} {{ id }}\n")
SET = Catalogue().changed([KS])


def answer(number: int, secret: Callable[[str, Sequence[str]], str]) -> bytes:
    """Ask as a machine; the secret is looked up in the middle of filling, below compiled frames."""
    return resolve(SET, Facts(Request("/ks", f"id=m{number}")), sources=replace(NO_SOURCES, secret=secret)).body


def test_greenlets_switch_in_the_middle_of_answers() -> None:
    def slowly(_name: str, _identifiers: Sequence[str]) -> str:
        for _ in range(3):
            gevent.sleep(0)
        return "word"

    greenlets = [gevent.spawn(answer, number, slowly) for number in range(50)]
    gevent.joinall(greenlets, raise_error=True)
    assert [one.value for one in greenlets] == [b"m%d word m%d\n" % (number, number) for number in range(50)]


def test_a_greenlet_is_killed_in_the_middle_of_an_answer() -> None:
    left: list[str] = []

    def for_ever(_name: str, _identifiers: Sequence[str]) -> str:
        try:
            gevent.sleep(3_600)
        finally:
            left.append("cleaned up")
        return ""

    killed = gevent.spawn(answer, 1, for_ever)
    other = gevent.spawn(answer, 2, lambda _name, _identifiers: "word")
    other.join()
    killed.kill()
    assert (left, other.value) == (["cleaned up"], b"m2 word m2\n")


@pytest.mark.parametrize("error", [CannotFill("no such word", "word", missing=False), KeyError("x"), SystemExit(3)])
def test_an_exception_crosses_every_frame_unchanged(error: BaseException) -> None:
    def fail(_name: str, _identifiers: Sequence[str]) -> str:
        raise error

    with pytest.raises(type(error)) as caught:
        answer(1, fail)
    assert caught.value is error
