"""Loaded by schemathesis: sends each request from an address of its own, as a trusted proxy would tell.

Only GET /health and GET /ready need no token. What schemathesis asks beside them, TRACE for instance, it asks without a
token, because the description spares the paths: such a request gets the token here.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

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


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    """Note that an operation was asked, and what it answered."""
    with Path("asked.txt").open("a") as asked:
        asked.write(f"{case.operation.label} {response.status_code}\n")
