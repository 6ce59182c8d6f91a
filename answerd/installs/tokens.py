"""Tokens of reports: the token in a report's URL identifies what was given to one machine in one attempt.

Rules: docs/install-once.md#the-report-url. A token holds the id of the giving, one identity that it names, and the
order that began the attempt, so it is good also where the giving is not known yet, and 128 bits that only the owner of
the key can work out.
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

_PARTS = 4
_LONGEST_ID = 64
_FORM = re.compile(r"(?<![\w-])(?:[\w-]+\.[0-9a-f]{32}\.(?:[0-9a-f]{32})?\.[\w-]{22})+", re.ASCII)
"""One token, or several without anything between them. Whatever follows: what is cut off may be all that is wrong."""
WORTHLESS = bytes(KEY_LENGTH)
"""A key that no service has: for tokens that are shown and never taken."""


class TokenSubject(NamedTuple):
    """What was given, an identity that it names, and the order that began its attempt, empty for the first one."""

    giving: str
    identity: str
    attempt: str = ""


def report_token(subject: TokenSubject, key: bytes) -> str:
    """Return the token, the same at every call: letters, digits, ``-``, ``_`` and ``.``."""
    return f"{_encoded(subject.identity.encode())}.{subject.giving}.{subject.attempt}.{_signature(subject, key)}"


def subject_of(token: str, key: bytes) -> TokenSubject | None:
    """Return the subject of a token; None for a text that is not a token, or was made with another key."""
    parts = token.split(".")
    if len(parts) != _PARTS or not token.isascii() or any(len(part) > _LONGEST_ID for part in parts[1:3]):
        return None
    try:
        identity = urlsafe_b64decode(parts[0] + "=" * (-len(parts[0]) % 4)).decode()
    except ValueError:
        return None
    subject = TokenSubject(parts[1], identity, parts[2])
    return subject if hmac.compare_digest(report_token(subject, key), token) else None


def token_fingerprint(token: str) -> str:
    """Return the fingerprint that logs and errors show in place of a token: 6 characters of its SHA-256."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()[:6]


def without_tokens(text: str) -> str:
    """Return a text with the fingerprint in place of everything that has the form of a token, wherever it stands."""
    return _FORM.sub(lambda found: token_fingerprint(found[0]), text) if "." in text else text


def _signature(subject: TokenSubject, key: bytes) -> str:
    signed = hmac.digest(key, f"{subject.giving}:{subject.attempt}:{subject.identity}".encode(), "sha256")
    return _encoded(signed[:_SIGNED])


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).decode("ascii").rstrip("=")
