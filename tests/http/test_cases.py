"""Some cases of tests/cases/, asked of the real program: what holds in process holds over HTTP.

Documents are its files. A status has its sentence in the body.
"""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

import pytest

from answerd.formats import FORMATS
from tests.support.cases import Case, all_cases, compare
from tests.support.service import Service
from tests.support.thorough import is_thorough

ONE_OF = 5 if is_thorough() else 20
"""Of so many cases one is asked, always the same."""

CASES = {
    name: case
    for name, case in all_cases().items()
    if crc32(name.encode()) % ONE_OF == 0 and case.steps[0].asked and not case.states
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_case_holds_over_http(serving: Callable[..., Service], case: Case) -> None:
    first = case.steps[0]
    service = serving(first.documents)
    for asked in first.asked:
        headers = {name.replace("-", "_"): value for name, value in (asked.headers or {}).items()}
        reply = service.post(asked.ask, asked.sent, **headers) if asked.sent else service.get(asked.ask, **headers)
        compare(asked, reply.status, reply.text, _extension(reply.headers["content-type"], asked.format))


def _extension(content_type: str, wanted: str) -> str:
    """Return an extension with this content type, the wanted one where it has; empty for that of an error."""
    fitting = [extension for extension, entry in FORMATS.items() if entry.content_type == content_type]
    return wanted if wanted in fitting else next(iter(fitting), "")
