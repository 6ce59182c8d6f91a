"""Tokens: the same for one attempt, good for nothing else, and never shown."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from answerd.installs.tokens import WORTHLESS, TokenSubject, report_token, subject_of, token_fingerprint

KEY = bytes(range(32))


ID = "01a3185c5028b5f69a11c53710b0cc96"


@given(identity=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60), attempt=st.booleans())
def test_a_token_holds_giving_identity_and_attempt(identity: str, attempt: bool) -> None:
    subject = TokenSubject(ID, identity, ID[::-1] if attempt else "")
    token = report_token(subject, KEY)
    assert token == report_token(subject, KEY)
    assert re.fullmatch(r"[0-9A-Za-z_.-]+", token)
    assert subject_of(token, KEY) == subject
    assert subject_of(token, WORTHLESS) is None


@given(token=st.text(max_size=60))
def test_what_is_no_token_speaks_for_nobody(token: str) -> None:
    assert subject_of(token, KEY) is None


def test_each_changed_character_makes_a_token_worthless() -> None:
    token = report_token(TokenSubject(ID, "web01"), KEY)
    for at in range(len(token)):
        for other in "A0.-":
            changed = token[:at] + other + token[at + 1 :]
            assert changed == token or subject_of(changed, KEY) is None
    assert len(token.rpartition(".")[2]) == 22  # 128 bits
    assert report_token(TokenSubject(ID, "web01", ID), KEY) != token


def test_a_fingerprint_is_six_characters() -> None:
    assert re.fullmatch("[0-9a-f]{6}", token_fingerprint(report_token(TokenSubject(ID, "web01"), KEY)))
