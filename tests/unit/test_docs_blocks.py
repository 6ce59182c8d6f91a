"""No command of a page escapes the tests: which blocks hold commands, and what is typed within sentences.

The commands of ``sh``, ``console`` and ``bat`` blocks are run by tests/http/test_docs_commands.py and
tests/http/test_readme.py. Here: no other block holds any, and those of answerd within sentences can be typed.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from answerd.cli import HELP_OPTIONS, parse
from answerd.commands import NAMES, options_of, usage_of

CHECKOUT = Path(__file__).parents[2]
PAGES = {
    str(path.relative_to(CHECKOUT)): path.read_text("utf-8")
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md")
    for path in sorted(CHECKOUT.glob(pattern))
    if path.name != "CHANGELOG.md"
}

RUN = ("sh", "console", "bat")
"""Languages of the blocks whose commands tests run."""
SHOWN = ("", "cfg", "csv", "ini", "ipxe", "json", "ks", "log", "preseed", "sql", "toml", "xml", "yaml")
"""Languages of the blocks that show files, usages, or what a command prints."""

WALKED = ("README.md", "docs/first-machine.md")
"""Pages whose commands, in ``console`` blocks, tests/http/test_readme.py runs."""

FENCE = re.compile(r"^ *(?P<fence>`{3,}|~{3,})(?P<language>.*)\n(?P<text>(?:.*\n)*?) *(?P=fence) *$", re.MULTILINE)

PROGRAM = re.compile(
    r"(?:[A-Z]+_\w+=\S+ )*(?:\S*/)?(?:apt|bash|cat|chmod|chown|cp|curl|dnsmasq|docker|git|helm|install|journalctl|"
    r"kubectl|ln|mkdir|mv|nginx|openssl|pip|pipx|podman|promtool|psql|python3?|rm|rsync|scp|sed|sh|source|sqlite3|ssh|sudo|"
    r"systemctl|tar|wget|(?<=scripts/)\w[\w-]*) "
)
"""How a text begins that is a command of another program than answerd."""

OUTSIDE_OF_A_BLOCK = re.compile(rf"^(?: {{4,}}|\t)[ \t]*(?:\$ )?(?:answerd [a-z]|{PROGRAM.pattern})", re.MULTILINE)
"""A command in a block without a fence, which is one by its indentation alone."""


def typed(text: str) -> list[str]:
    """The commands of answerd within the sentences of a page, without settings before them."""
    spans = [re.sub(r"^(?:SERVICE_\w+=\S+ )+", "", span) for span in re.findall(r"`([^`\n]+)`", FENCE.sub("", text))]
    return [span for span in spans if re.match(r"answerd [a-z-]+(?= |$)", span)]


@pytest.mark.parametrize("page", PAGES)
def test_a_block_says_by_its_language_whether_it_holds_commands(page: str) -> None:
    fences = re.findall(r"^ *(?:`{3,}|~{3,}).*$", PAGES[page], re.MULTILINE)
    blocks = [found.groupdict() for found in FENCE.finditer(PAGES[page])]
    assert len(fences) == 2 * len(blocks), "a block that does not end"
    assert OUTSIDE_OF_A_BLOCK.findall(FENCE.sub("", PAGES[page])) == [], "put it between fences"
    languages = {block["language"] for block in blocks}
    assert languages - {*RUN, *SHOWN} == set()
    assert page not in WALKED or languages.isdisjoint({"sh", "bat"}), "only its console blocks are run"
    usages = {form.strip() for name in NAMES for form in usage_of(name) if form.startswith("  answerd ")}
    for block in blocks:
        if block["language"] in SHOWN:
            first, *others = block["text"].splitlines()
            hidden = [line for line in (first, *others) if re.match(r"\$ ", line)]
            if PROGRAM.match(first) or re.match(r"answerd ", first):
                hidden += [line for line in (first, *others) if line.startswith("answerd ") and line not in usages]
                hidden += [first] if PROGRAM.match(first) else []
            assert hidden == [], "put it into a block of the language sh"


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
