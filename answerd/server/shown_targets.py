"""The target of a request as people read it: without the tokens of reports, and without secrets in its query."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote, unquote

from answerd.answers.secret_names import SECRET, redacted_cell
from answerd.installs.tokens import token_fingerprint, without_tokens

REPORT: Final = "report"
"""The first segment of the path of a report, in any letter case."""


def shown_target(target: str) -> str:
    """Return a target as people read it: of a report without its token and its query, whose message may quote
    anything; of other requests without tokens, and without what the name of a value or a URL in it makes a secret."""
    path, mark, query = target.partition("?")
    place = _place_of_token(path)
    if place is not None:
        return _without_tokens(_with_fingerprint(*place)) + ("?..." if query else mark)
    path = _without_tokens(path)
    return path + mark + _without_secrets(_without_quoted_tokens(query)) if query else path + mark


def without_token(target: str) -> str:
    """Return a target with the beginning of its hash in place of a report's token, also where a query quotes the URL
    of a report."""
    path, mark, query = target.partition("?")
    query = _without_quoted_tokens(query)
    place = _place_of_token(path)
    if place is None:
        return _without_tokens(path) + mark + query
    token = unquote(place[0][place[1]])
    if token not in query and token in (decoded := _decoded(query)):
        query = quote(decoded, safe=_IN_QUERIES)
    # A message may quote the token alone.
    return _without_tokens(_with_fingerprint(*place)) + mark + query.replace(token, token_fingerprint(token))


def _place_of_token(path: str) -> tuple[list[str], int] | None:
    """Return the pieces of the path of a report and which one is its token; None where it is no report."""
    if path[:2] not in ("/r", "/R") and "%" not in path and path[:1] == "/" and path[1:2] != "/":
        return None
    pieces = path.split("/")
    first = 3 if path[:4].lower() == "http" else 1
    while first < len(pieces) and not pieces[first]:
        first += 1
    at = first + 1
    while at < len(pieces) and not pieces[at]:
        at += 1
    return (pieces, at) if at < len(pieces) and unquote(pieces[first]).lower() == REPORT else None


def _with_fingerprint(pieces: list[str], at: int) -> str:
    return "/".join([*pieces[:at], token_fingerprint(unquote(pieces[at])), *pieces[at + 1 :]])


_QUOTED_TOKEN = re.compile(rf"(?<={REPORT}/)/*([^/?&#\s]+)", re.IGNORECASE)
_WORD = re.compile(r"\S+")
_TELLING: Final = (
    "pass",
    "pw",
    "secret",
    "token",
    "kennwort",
    "private",
    "credential",
    "key",
    "psk",
    "code",
    "data",
    "@",
)
"""A query without any of these words has no secret: to look for them takes less than a microsecond."""
_MOST_DECODED: Final = 4
_IN_QUERIES: Final = "/?&=:+,;@~!$'()*"


def _without_quoted_tokens(query: str) -> str:
    """Return a query without the tokens of the URLs of reports in it, however often they are percent-encoded."""
    if "%" not in query and "." not in query and REPORT not in query.lower():
        return query
    decoded = _decoded(query)
    hidden = without_tokens(_QUOTED_TOKEN.sub(lambda found: token_fingerprint(found[1]), decoded))
    return query if hidden == decoded else quote(hidden, safe=_IN_QUERIES)


def _without_tokens(path: str) -> str:
    """Return a path without what has the form of a report's token, however often it is percent-encoded."""
    decoded = _decoded(path) if "%" in path else path
    hidden = without_tokens(decoded)
    return path if hidden == decoded else quote(hidden, safe=_IN_QUERIES)


def _without_secrets(query: str) -> str:
    text = (_decoded(query) if "%" in query else query).casefold()
    if not any(word in text for word in _TELLING):
        return query
    return "&".join(map(_without_secret, query.split("&")))


def _without_secret(field: str) -> str:
    name, mark, value = field.partition("=")
    shown = redacted_cell(_decoded(name), value)
    hidden = _WORD.sub(_without_credentials, decoded := _decoded(shown))
    return f"{name}{mark}{shown if hidden == decoded else quote(hidden, safe=_IN_QUERIES)}"


def _without_credentials(found: re.Match[str]) -> str:
    """Return a word without what is between its first ``://`` and its last ``@``."""
    word = found[0]
    scheme, last = word.find("://"), word.rfind("@")
    return f"{word[: scheme + 3]}{SECRET}{word[last:]}" if 0 <= scheme < last else word


def _decoded(query: str) -> str:
    for _ in range(_MOST_DECODED):
        decoded = unquote(query)
        if decoded == query:
            break
        query = decoded
    return query
