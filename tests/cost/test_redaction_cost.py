"""Hiding the secrets of a text takes time and memory in proportion to it, however many it has."""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Callable

import pytest

from answerd.answers.redaction import redacted
from answerd.answers.secret_names import SECRET

LINES = 500
TIMES = 4
BAR = 8.0
"""Times as long for four times the text: as far from 4, of a linear step, as from 16."""
MOST_LOOKS = 5
MEMORY = 80
"""Bytes at most for each byte of the text."""

TEXTS: dict[str, Callable[[int], str]] = {
    "ks": lambda n: "".join(
        f"user --name=u{at} --password=Secret{at}xY --plaintext\n# Secret{at}xY\n" for at in range(n)
    ),
    "preseed": lambda n: "".join(f"d-i x{at}/password password Secret{at}xY\n" for at in range(n)),
    "yaml": lambda n: "users:\n" + "".join(f"- {{name: u{at}, passwd: Secret{at}xY}}\n" for at in range(n)),
    "json": lambda n: json.dumps({f"password{at}": f"Secret{at}xY {at}" for at in range(n)}),
    "toml": lambda n: "".join(f'password{at} = "Secret{at}xY"\n' for at in range(n)),
    "xml": lambda n: f"<a>{''.join(f'<password>Secret{at}xY</password>' for at in range(n))}</a>",
    "cfg": lambda n: "".join(f"echo 'u{at}:Secret{at}xY' | chpasswd\n" for at in range(n)),
}


def seconds(extension: str, text: str) -> float:
    begun = time.process_time()
    shown = redacted(text, extension)
    taken = time.process_time() - begun
    assert SECRET in shown
    assert "Secret1xY" not in shown
    return taken


@pytest.mark.parametrize("extension", TEXTS)
def test_four_times_the_secrets_take_four_times_as_long(extension: str) -> None:
    few, many = (TEXTS[extension](lines) for lines in (LINES, TIMES * LINES))
    ratios = []
    for _ in range(MOST_LOOKS):
        ratios.append(seconds(extension, many) / max(seconds(extension, few), 1e-9))
        if ratios[-1] < BAR:
            return
    raise AssertionError(ratios)


@pytest.mark.parametrize("extension", TEXTS)
def test_the_memory_is_bounded_by_the_text(extension: str) -> None:
    text = TEXTS[extension](TIMES * LINES)
    redacted(TEXTS[extension](1), extension)
    tracemalloc.start()
    try:
        redacted(text, extension)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MEMORY * len(text), peak / len(text)
