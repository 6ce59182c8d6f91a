"""Responses of the admin API: JSON, errors of one line, and the words for the request's line in the log."""

from __future__ import annotations

import json
from typing import Any

import bottle
import orjson

from answerd.server.admin import requests
from answerd.server.http.responses import exchange_of, reason_line

JSON = "application/json"


class AdminResponse(bottle.HTTPResponse):  # type: ignore[misc]
    """A response that leaves no reference cycle when it is raised: Bottle's frame and it would refer to each other."""

    def apply(self, other: Any) -> None:
        """Bottle calls this once it has caught the response."""
        self.__traceback__ = None
        super().apply(other)


def json_response(status: int, value: dict[str, Any], headers: dict[str, Any] | None = None) -> AdminResponse:
    """Return a JSON response. Of an error, its line is logged too."""
    if "error" in value:
        note_outcome(value["error"])
    return AdminResponse(json_bytes(value), status, {"Content-Type": JSON, **(headers or {})})


MASKED = {"X-Masked": "1"}
"""The header of a text whose secrets are hidden from the role of the client."""


def shown_etag(tag: str) -> tuple[str, dict[str, str]]:
    """Return the tag of a stored text as the client is shown it, and `MASKED` where its secrets are hidden from the
    client. The tag of such a text is another one, so that nobody stores it in place of the text by ``If-Match``."""
    return (tag, {}) if requests.sees_secrets() else (f'{tag[:-1]}-masked"', MASKED)


def json_bytes(value: dict[str, Any]) -> bytes:
    """Return a value as JSON. Characters that UTF-8 cannot encode are replaced."""
    try:
        return orjson.dumps(value)  # much faster, which counts for a response of megabytes
    except orjson.JSONEncodeError:
        pass
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def error_response(
    status: int, reason: str, problems: tuple[str, ...] = (), headers: dict[str, Any] | None = None
) -> AdminResponse:
    """Return an error: one line, and the problems that a refused write would have caused."""
    value: dict[str, Any] = {"error": reason_line(reason)}
    if problems:
        value["problems"] = list(problems)
    return json_response(status, value, headers)


def note_outcome(outcome: str) -> None:
    """Set the words for the request's line in the log."""
    exchange_of(bottle.request.environ).outcome = outcome
