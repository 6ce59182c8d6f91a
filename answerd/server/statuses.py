"""The HTTP statuses of both listeners: one table.

Nothing else in the server writes a status as a number. The pages compare their tables with this one
(docs/http.md#statuses, docs/admin-api.md#statuses).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

OK: Final = 200
NOT_MODIFIED: Final = 304
BAD_REQUEST: Final = 400
UNAUTHORIZED: Final = 401
FORBIDDEN: Final = 403
NOT_FOUND: Final = 404
METHOD_NOT_ALLOWED: Final = 405
CONFLICT: Final = 409
PRECONDITION_FAILED: Final = 412
CONTENT_TOO_LARGE: Final = 413
URI_TOO_LONG: Final = 414
TOO_MANY_REQUESTS: Final = 429
HEADER_TOO_LARGE: Final = 431
INTERNAL_ERROR: Final = 500
SERVICE_UNAVAILABLE: Final = 503

FIRST_PROBLEM: Final = 400
"""From this status on a request is a problem for the log, and its body is a reason."""


@dataclass(frozen=True)
class Status:
    """A status, and when each endpoint sends it; empty where it never does."""

    code: int
    answers: str
    admin: str


# fmt: off
STATUSES: Final = (
    Status(OK, "an answer was composed", "it was done"),
    Status(NOT_MODIFIED, "", "the client's copy is current"),
    Status(BAD_REQUEST, "the request is malformed, or its body ended early", "the same; the document is invalid"),
    Status(UNAUTHORIZED, "the token is missing or wrong", "the token is missing or wrong"),
    Status(FORBIDDEN, "the address may not ask", "the role of the token may not do this"),
    Status(NOT_FOUND, "nothing claims the request", "there is no such document or endpoint"),
    Status(METHOD_NOT_ALLOWED, "neither GET nor POST", "the path has no such method"),
    Status(CONFLICT, "", "the write would break the set, or the answer cannot be rendered"),
    Status(PRECONDITION_FAILED, "", "the document is not the version that the client named"),
    Status(CONTENT_TOO_LARGE, "the body is too large", "the document is too large"),
    Status(URI_TOO_LONG, "the request line is too long", "the request line is too long"),
    Status(TOO_MANY_REQUESTS, "", "the address is blocked"),
    Status(HEADER_TOO_LARGE, "the header is too long", "the header is too long"),
    Status(INTERNAL_ERROR, "a document is broken, or the service failed", "the store or the service failed"),
    Status(SERVICE_UNAVAILABLE, "the service is at a limit", "the service is at a limit, or the database away"),
)
# fmt: on

ANSWER_STATUSES: Final = frozenset(status.code for status in STATUSES if status.answers)
ADMIN_STATUSES: Final = frozenset(status.code for status in STATUSES if status.admin)
