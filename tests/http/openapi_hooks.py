"""Loaded by schemathesis: sends each request from an address of its own, as a trusted proxy would tell.

Only GET /health and GET /ready need no token. What schemathesis asks beside them, TRACE for instance, it asks without a
token, because the description spares the paths: such a request gets the token here.

The response of GET /events does not end: of each its first bytes are taken for all of it, and the connection is closed.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import requests
import schemathesis

_numbers = itertools.count(1)


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """One address in 10.0.0.0/8 after the other."""
    number = next(_numbers)
    headers = {"X-Forwarded-For": f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"}
    if case.path in ("/health", "/ready") and case.method != "GET":
        headers["Authorization"] = f"Bearer {os.environ['ADMIN_TOKEN']}"
    case.headers = {**(case.headers or {}), **headers}
    if case.path == "/events":
        kwargs["hooks"] = {"response": _cut}


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    """Note that an operation was asked, and what it answered."""
    with Path("asked.txt").open("a") as asked:
        asked.write(f"{case.operation.label} {response.status_code}\n")


def _cut(response: requests.Response, *_: Any, **__: Any) -> requests.Response:
    """Take the first bytes of a response that does not end for its body. requests reads no more of it then."""
    if response.headers.get("Content-Type", "").startswith("text/event-stream"):
        response._content = next(response.iter_content(1), b"")
        response._content_consumed = True
        response.close()
    return response
