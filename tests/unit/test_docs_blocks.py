"""The commands of answerd within the sentences of a page can be typed. Those in its blocks are run (tests/http)."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from answerd.cli import HELP_OPTIONS, parse
from answerd.commands import NAMES, options_of
from tests.support.pages import FENCE

CHECKOUT = Path(__file__).parents[2]
PAGES = {
    str(path.relative_to(CHECKOUT)): path.read_text("utf-8")
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md")
    for path in sorted(CHECKOUT.glob(pattern))
    if path.name != "CHANGELOG.md"
}


def typed(text: str) -> list[str]:
    """The commands of answerd within the sentences of a page, without settings before them."""
    spans = [re.sub(r"^(?:SERVICE_\w+=\S+ )+", "", span) for span in re.findall(r"`([^`\n]+)`", FENCE.sub("", text))]
    return [span for span in spans if re.match(r"answerd [a-z-]+(?= |$)", span)]


@pytest.mark.parametrize("page", PAGES)
def test_a_command_within_a_sentence_can_be_typed(page: str) -> None:
    for line in typed(PAGES[page]):
        _, name, *_ = line.split()
        if name in (*HELP_OPTIONS, "--version"):
            continue
        assert name in NAMES, line
        assert set(re.findall(r"(?<=[ [])--[\w-]+", line)) <= {*options_of(name)}, line
        plain = re.sub(r"\[.*?\]|\.\.\.", "", line)
        if not re.fullmatch(r"answerd [a-z-]+(?: --[\w-]+)*", plain.strip()):  # more than the name of an option
            parse(name, shlex.split(plain)[2:])
