"""The commands of answerd that the pages show can be typed. Those of README.md are run (tests/http/test_readme.py)."""

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


BLOCKS = ("sh", "console", "bat")
"""Languages of the blocks that hold commands."""

_COMMAND = re.compile(r"answerd [a-z-]+(?= |$)")


def typed(text: str) -> list[str]:
    """The commands of answerd within the sentences and blocks of a page, without settings before them."""
    spans = re.findall(r"`([^`\n]+)`", FENCE.sub("", text))
    for block in (fenced["text"] for fenced in FENCE.finditer(text) if fenced["language"] in BLOCKS):
        for line in re.sub(r"\\\n\s*", "", block).splitlines():
            spans += re.split(r" (?:\|\|?|&&|>>?|<) ", re.sub(r"(?:^|\s+)# .*$", "", line.strip().removeprefix("$ ")))
    commands = [re.sub(r"^(?:[A-Z_]+=\S+ )+", "", span.strip()) for span in spans]
    return [command for command in commands if _COMMAND.match(command)]


@pytest.mark.parametrize("page", PAGES)
def test_a_command_can_be_typed(page: str) -> None:
    for line in typed(PAGES[page]):
        _, name, *_ = line.split()
        if name in (*HELP_OPTIONS, "--version"):
            continue
        assert name in NAMES, line
        assert set(re.findall(r"(?<=[ [])--[\w-]+", line)) <= {*options_of(name)}, line
        plain = re.sub(r"\[.*?\]|\.\.\.", "", line)
        if not re.fullmatch(r"answerd [a-z-]+(?: --[\w-]+)*", plain.strip()):  # more than the name of an option
            parse(name, shlex.split(plain)[2:])


@pytest.mark.parametrize("page", PAGES)
def test_gnu_wget_sends_a_report_again_where_the_service_has_no_place(page: str) -> None:
    """It gives up at the first 503. The wget of busybox has no such option, and is named."""
    for line in PAGES[page].splitlines():
        if "wget" in line and "{{ report }}" in line and "busybox" not in line:
            assert "--retry-on-http-error=503 --waitretry=3" in line
