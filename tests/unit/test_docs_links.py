"""What a page points to exists: links, tests and modules that it names; its commands of answerd can be typed.

Headings become anchors by GitHub's rules, because that is where the pages are read. README's commands are run
(tests/http/test_readme.py).
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from answerd.cli import HELP_OPTIONS, parse
from answerd.commands import NAMES, options_of
from tests.support.pages import CHECKOUT, FENCE

PAGES = {
    str(path.relative_to(CHECKOUT)): path.read_text("utf-8")
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md")
    for path in sorted(CHECKOUT.glob(pattern))
}
PLACEHOLDER = "docs/page.md"
"""What the text about citations writes in place of a page."""

LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
CITATION = re.compile(r"\b(docs/[\w/.-]+?\.md)(?:#([\w-]+))?")
HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)


def slug(heading: str) -> str:
    """Return the anchor of a heading written in Markdown.

    GitHub takes the text as it is read, in lower case, keeps letters, marks, digits, connectors such as ``_``,
    hyphens and blanks, and writes each blank as a hyphen.
    """
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    kept = [
        c for c in text if c in "- " or unicodedata.category(c)[0] in "LM" or unicodedata.category(c) in ("Nd", "Pc")
    ]
    return "".join(kept).replace(" ", "-")


def anchors_in(text: str) -> set[str]:
    """Return the anchors of a page. The second heading of a name has ``-1`` at its end, the third ``-2``."""
    seen: Counter[str] = Counter()
    anchors = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        anchor = slug(heading)
        anchors.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return anchors


@cache
def anchors_of(page: Path) -> set[str]:
    """Return the anchors of a file; none for one that is no page."""
    return anchors_in(page.read_text("utf-8")) if page.suffix == ".md" else set()


def test_headings_of_one_name_are_numbered_and_code_has_none() -> None:
    page = "# A\n\n## B\n\n```sh\n# no heading\n```\n\n### B ###\n\n## B\n\n#no heading\n"
    assert anchors_in(page) == {"a", "b", "b-1", "b-2"}


def broken(text: str, pattern: re.Pattern[str], base: Path) -> list[str]:
    """The links of a text, relative to ``base``, that lead to no file or no heading."""
    found = []
    for target, anchor in pattern.findall(text):
        path = (base.parent / target).resolve() if target else base
        if "://" in target or target == PLACEHOLDER or (path.exists() and (not anchor or anchor in anchors_of(path))):
            continue
        found.append(f"{target}#{anchor}")
    return found


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page: str) -> None:
    assert broken(FENCE.sub("", PAGES[page]), LINK, CHECKOUT / page) == []


def is_text(path: Path) -> bool:
    """Whether a file has citations of its own: not this file, none that Python made of another, and no manual page,
    which is made of the help texts and writes hyphens in its own way."""
    return path != Path(__file__) and path.suffix not in (".pyc", ".1")


@pytest.mark.parametrize("folder", ["answerd", "etc", "loadtest", "scripts", "tests"])
def test_every_citation_of_a_page_in_code_leads_to_a_heading(folder: str) -> None:
    files = (path for path in (CHECKOUT / folder).rglob("*") if path.is_file() and is_text(path))
    wrong = {path: broken(path.read_text("utf-8", "ignore"), CITATION, CHECKOUT / "x") for path in files}
    assert {str(path): links for path, links in wrong.items() if links} == {}


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md", "docs/traps.md"])
def test_every_module_and_test_that_a_page_names_exists(page: str) -> None:
    files = [path for folder in ("answerd", "tests") for path in (CHECKOUT / folder).rglob("*.py")]
    modules = [
        name
        for name in re.findall(r"`([\w/]+\.py)`", PAGES[page])
        if not any(f"/{path}".endswith(f"/{name}") for path in files)
    ]
    assert modules == []
    tests = {path: path.read_text("utf-8") for path in files if path.name.startswith("test_")}
    named = re.findall(r"`(test_\w+)`(?:\s+in\s+`([\w/]+\.py)`)?", PAGES[page])
    in_files = [(name, [text for path, text in tests.items() if str(path).endswith(file)]) for name, file in named]
    assert [name for name, texts in in_files if not any(f"def {name}(" in text for text in texts)] == []


COMMAND = re.compile(r"answerd [a-z-]+(?= |$)")


def typed(text: str) -> list[str]:
    """The commands of answerd within the sentences and blocks of a page, without settings before them."""
    spans = re.findall(r"`([^`\n]+)`", FENCE.sub("", text))
    for block in (fenced["text"] for fenced in FENCE.finditer(text) if fenced["language"] in ("sh", "console", "bat")):
        for line in re.sub(r"\\\n\s*", "", block).splitlines():
            spans += re.split(r" (?:\|\|?|&&|>>?|<) ", re.sub(r"(?:^|\s+)# .*$", "", line.strip().removeprefix("$ ")))
    commands = [re.sub(r"^(?:[A-Z_]+=\S+ )+", "", span.strip()) for span in spans]
    return [command for command in commands if COMMAND.match(command)]


@pytest.mark.parametrize("page", PAGES)
def test_a_command_can_be_typed(page: str) -> None:
    for line in typed(PAGES[page]):
        _, name, *_ = line.split()
        if name in (*HELP_OPTIONS, "--version"):
            continue
        assert name in NAMES, line
        assert set(re.findall(r"(?<=[ [])--[\w-]+", line)) <= {*options_of(name)}, line
        plain = re.sub(r"\[.*?\]|\.\.\.", "", re.sub(r"\$\(.*?\)", "TEXT", line))
        if not re.fullmatch(r"answerd [a-z-]+(?: --[\w-]+)*", plain.strip()):  # more than the name of an option
            parse(name, shlex.split(plain)[2:])


@pytest.mark.parametrize("page", PAGES)
def test_gnu_wget_sends_a_report_again_where_the_service_has_no_place(page: str) -> None:
    """It gives up at the first 503. The wget of busybox has no such option, and is named."""
    for line in PAGES[page].splitlines():
        if "wget" in line and "{{ report }}" in line and "busybox" not in line:
            assert "--retry-on-http-error=503 --waitretry=3" in line
