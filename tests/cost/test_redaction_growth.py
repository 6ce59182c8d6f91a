"""To hide the secrets of a text takes time in proportion to its length, whatever it holds."""

from __future__ import annotations

import json
import time

import pytest

from answerd.answers.redaction import redacted_pair

CHARACTERS = 24_000
TIMES_LONGER = 4
MOST_TIMES = 7
"""For four times the text; work that grows with the square takes 16 times as long."""

MOST_LOOKS = 8
"""Times that it is measured before the work is believed to grow too fast: the machine may be busy."""

REPEATED = {
    "settings": ("ks", "password: hunter2\n"),
    "settings on a line": ("ks", "password=x "),
    "open quotes": ("ks", "password=\"x'"),
    "escaped quotes": ("ks", 'password="\\"'),
    "pipes": ("ks", "|chpasswd"),
    "echoes": ("ks", "echo a|chpasswd "),
    "here-documents on a line": ("ks", "chpasswd <<EOF "),
    "here-documents": ("ks", "chpasswd <<EOF\n"),
    "keys that do not end": ("ks", "-----BEGIN PRIVATE KEY-----\n"),
    "beginnings": ("ks", "-----BEGIN "),
    "tags": ("ks", "<password>"),
    "URLs": ("ks", "http://u:p@"),
    "a long word": ("ks", "a"),
    "dots": ("ks", "a."),
    "blanks": ("ks", " "),
    "continued lines": ("ks", "\\\n"),
    "continued commands": ("ks", "rootpw a\\\n"),
    "questions": ("preseed", "d-i password \\\n"),
    "braces": ("ks", "{{ password "),
    "dollars": ("ks", "$6$"),
    "comments": ("yaml", "# password: x\n"),
}


def secret(number: int) -> str:
    return f"Pw{number:06d}xQ"


def text_of(name: str, size: int) -> tuple[str, str]:
    """Return the format and a text of about so many characters."""
    if name in REPEATED:
        extension, part = REPEATED[name]
        return extension, part * (size // len(part))
    many = range(size // 64)
    if name == "json":
        return "json", json.dumps({"users": [{"password": secret(n), "again": secret(n)} for n in many]})
    if name == "toml":
        return "toml", "".join(f'[t{n}]\npassword = "{secret(n)}"\nx = "{secret(n)}"\n' for n in many)
    if name == "xml":
        users = (f'<u password="{secret(n)}">{secret(n)}</u>' for n in many)
        return "xml", f"<a>{''.join(users)}</a>"
    if name == "yaml":
        return "yaml", "".join(f"- {{password: {secret(n)}, note: see {secret(n)}}}\n" for n in many)
    if name == "csv":
        return "csv", "id,password\n" + "".join(f"w{n},{secret(n)}\n" for n in many)
    alike = "".join(f"p{n}_password: aaaa{'a' * (n % 150)}b{n}\n" for n in range(size // 110))
    return "yaml", f"{alike}x: {'a' * (size // 10)}\n"


@pytest.mark.parametrize("name", [*REPEATED, "json", "toml", "xml", "yaml", "csv", "secrets that begin alike"])
def test_the_work_grows_with_the_text(name: str) -> None:
    def seconds(size: int) -> float:
        extension, text = text_of(name, size)
        began = time.thread_time()
        redacted_pair(text, text + "\n", extension)
        return time.thread_time() - began

    ratios = (seconds(CHARACTERS * TIMES_LONGER) / max(seconds(CHARACTERS), 0.005) for _ in range(MOST_LOOKS))
    assert any(ratio < MOST_TIMES for ratio in ratios)
