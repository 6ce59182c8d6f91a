"""Tokens of reports: the token in a report's URL identifies one machine and one attempt.

Rules: docs/install-once.md#the-report-url. A token holds the record's name and the attempt, so it is good also when the
service died before it wrote the record down, and 128 bits that only the owner of the key can work out.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NamedTuple

KEY_LENGTH = 32
"""Bytes of the key."""

_SIGNED = 16
"""Bytes of the signature: 128 bits."""

_MOST_ATTEMPT_DIGITS = 15
_FORM = re.compile(r"(?<![\w-])[\w-]+\.\d{1,15}\.[\w-]{22}(?![\w-])", re.ASCII)
WORTHLESS = bytes(KEY_LENGTH)
"""A key that no service has: for tokens that are shown and never taken."""


class TokenSubject(NamedTuple):
    name: str
    attempt: int


def report_token(subject: TokenSubject, key: bytes) -> str:
    """Return the token, the same at every call: letters, digits, ``-``, ``_`` and ``.``."""
    return f"{_encoded(subject.name.encode())}.{subject.attempt}.{_signature(subject, key)}"


def subject_of(token: str, key: bytes) -> TokenSubject | None:
    """Return the subject of a token; None for a text that is not a token, or was made with another key."""
    name, _, rest = token.partition(".")
    attempt, _, signature = rest.partition(".")
    if not (attempt.isascii() and attempt.isdigit() and len(attempt) <= _MOST_ATTEMPT_DIGITS and signature.isascii()):
        return None
    try:
        subject = TokenSubject(urlsafe_b64decode(name + "=" * (-len(name) % 4)).decode(), int(attempt))
    except ValueError:
        return None
    return subject if hmac.compare_digest(report_token(subject, key), token) else None


def token_fingerprint(token: str) -> str:
    """Return the fingerprint that logs and errors show in place of a token: 6 characters of its SHA-256."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()[:6]


def without_tokens(text: str) -> str:
    """Return a text with the fingerprint in place of everything that has the form of a token, wherever it stands."""
    return _FORM.sub(lambda found: token_fingerprint(found[0]), text) if "." in text else text


def _signature(subject: TokenSubject, key: bytes) -> str:
    signed = hmac.digest(key, f"{subject.attempt}:{subject.name}".encode(), "sha256")
    return _encoded(signed[:_SIGNED])


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).decode("ascii").rstrip("=")
