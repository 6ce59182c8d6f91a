"""The endpoint of reports: each report of a machine is on the disk before it is acknowledged.

Rules: docs/install-once.md#reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from answerd.errors import StatesUnknown
from answerd.installs.reports import WORDS, Body, read_report
from answerd.installs.states import ReportKind
from answerd.installs.tokens import TokenSubject, subject_of, token_fingerprint
from answerd.server.access import ANSWERED
from answerd.server.http.bodies import Ends
from answerd.server.http.parser import HttpRequest
from answerd.server.live_states import LiveStates
from answerd.server.shown_targets import REPORT
from answerd.server.statuses import (
    CONTENT_TOO_LARGE,
    INTERNAL_ERROR,
    METHOD_NOT_ALLOWED,
    NOT_FOUND,
    OK,
    SERVICE_UNAVAILABLE,
)
from answerd.short_texts import printable
from answerd.store import StoreAway, StoreError

BODY_OF_REPORT = Ends(limit=1_048_576, first=16_384, last=49_152)
"""Bytes that the body of a report may have, and those of its beginning and its end that are kept while it is read: as
many as each connection may hold (`answerd.server.admission.SHARE`), so a report is never refused for lack of memory."""

_DONE = "OK\n"
_MOST_SEGMENTS = 3


class ReportReply(NamedTuple):
    """The response to a report: ``text`` is the whole body; ``outcome`` is for the log, the reason where it was
    refused. ``word`` is the kind of the report, for the metrics."""

    status: int
    text: str
    outcome: str
    word: str = ""


class _Path(NamedTuple):
    """The parsed path of a report. ``fault`` is the error in it."""

    subject: TokenSubject | None
    word: ReportKind | None = None
    token: str = ""
    fault: str = ""


def is_report(path: str) -> bool:
    """Return whether an undecoded path is that of a report."""
    if path[1:2] not in ("r", "R", "%", "/"):
        return False
    return _segments(path)[:1] == [REPORT]


def refusal_of_report(request: HttpRequest) -> int | None:
    """Return the status that a report gets by its header alone; None lets it in. It needs no token of the service."""
    return METHOD_NOT_ALLOWED if request.method not in ANSWERED else None


def take_report(request: HttpRequest, peer: str, installs: LiveStates) -> ReportReply:
    """Store a report and return the response, once it is on the disk."""
    if request.body_too_large:
        return _refused(CONTENT_TOO_LARGE, f"the body of a report is larger than {BODY_OF_REPORT.limit} bytes")
    try:
        path = _read_path(request.path, installs.key)
    except StatesUnknown as error:
        return _refused(INTERNAL_ERROR, f"the report could not be stored: {error.reason}")
    if path.subject is None or path.fault:
        return _refused(NOT_FOUND, path.fault)
    if request.method == "HEAD":
        return ReportReply(OK, _DONE, f"nothing reported for {printable(installs.title(path.subject.identity))}")
    shown = token_fingerprint(path.token)
    query = request.query.replace(path.token, shown)  # what failed may quote the URL
    first, last = (part.replace(path.token.encode(), shown.encode()) for part in (request.body, request.body_end))
    report = read_report(path.word, query, request.headers, Body(first, request.left_out, last))
    detail = " ".join(
        part for part in (report.message, report.summary if report.summary != report.message else "") if part
    )
    subject = path.subject
    try:
        counts = installs.report(subject, report, detail, peer)
    except StoreError as error:
        status = SERVICE_UNAVAILABLE if isinstance(error, StoreAway) else INTERNAL_ERROR
        return _refused(status, f"the report could not be stored: {error}")
    noted = "" if counts else ", which changes nothing"
    return ReportReply(
        OK, _DONE, f"reported {report.word} for {printable(installs.title(subject.identity))}{noted}", report.word.value
    )


def token_in(path: str) -> tuple[str, str]:
    """Return the token of a report's path, and the text that is shown in its place."""
    segments = _segments(path)
    token = segments[1] if len(segments) > 1 else path
    return token, token_fingerprint(token)


def _refused(status: int, reason: str) -> ReportReply:
    return ReportReply(status, f"{reason}\n", reason)


def _read_path(path: str, key: bytes) -> _Path:
    segments = _segments(path)
    if len(segments) == 1:
        return _Path(None, fault="a report needs the URL that {{ report }} wrote into the answer: the token is missing")
    token = segments[1]
    subject = subject_of(token, key)
    if subject is None:
        return _Path(None, fault="this is no token of this service: report to the URL in the machine's own answer")
    if len(segments) == _MOST_SEGMENTS - 1:
        return _Path(subject, None, token)
    word = WORDS.get(segments[2].lower()) if len(segments) == _MOST_SEGMENTS else None
    if word is None:
        return _Path(subject, fault=f"a report ends in {', '.join(list(WORDS)[:-1])} or {list(WORDS)[-1]}")
    return _Path(subject, word, token)


def _segments(path: str) -> Sequence[str]:
    """Return the decoded segments of a path; the first in lower case. Carriage returns at its end are left out: curl
    sends them at the end of a line of a script with Windows' line ends."""
    segments = [
        unquote_to_bytes(piece.encode("latin-1", "replace")).decode("utf-8", "replace")
        for piece in path.split("/", 10)
        if piece
    ]
    if segments and segments[-1].endswith("\r"):
        segments[-1:] = filter(None, [segments[-1].rstrip("\r")])
    return [segments[0].lower(), *segments[1:]] if segments else []
