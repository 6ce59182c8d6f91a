"""What every response carries, and the one line of an error."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from answerd.server.http.responses import MAX_REASON, plain_text, reason_line


@given(st.text(max_size=2_000) | st.text("a \n\x1b\u2028", min_size=700, max_size=900))
def test_a_reason_is_one_line_of_at_most_800_characters(reason: str) -> None:
    body = plain_text(500, reason).body.decode()
    line = body.removesuffix("\n")
    assert len(body) <= MAX_REASON == 800
    assert body.endswith("\n")
    assert not [
        character for character in line if unicodedata.category(character) == "Cc" or character in "\u2028\u2029"
    ]


def test_a_short_reason_stays_as_it_is() -> None:
    assert reason_line('the file "café" is missing') == 'the file "café" is missing'
    assert reason_line("x" * 799) == "x" * 799


def test_a_long_reason_is_cut_between_words_and_says_so() -> None:
    line = reason_line("word " * 300)
    assert line.endswith("word...")
    assert 700 < len(line) < 800
    assert reason_line("x" * 2_000) == "x" * 796 + "..."


def test_the_lines_of_a_reason_are_joined_and_the_rest_is_escaped() -> None:
    assert reason_line("first\r\n  second\n\nthird\x1b[0m\n") == "first second third\\x1b[0m"


def test_a_header_of_the_app_is_not_given_twice() -> None:
    head = plain_text(503, "busy", [("Retry-After", "2"), ("Cache-Control", "private")]).head.decode()
    assert head.lower().count("cache-control") == 1
    assert "Retry-After: 2\r\n" in head
