"""Every link of a page leads to a file and a heading that exist: readers follow them.

Headings become anchors by GitHub's rules, because that is where the pages are read.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
PLACEHOLDER = "docs/page.md"
"""What the text about citations writes in place of a page."""

LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
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


@pytest.mark.parametrize(
    "page", sorted(CHECKOUT.glob("*.md")) + sorted(CHECKOUT.glob("docs/**/*.md")), ids=lambda p: p.name
)
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page: Path) -> None:
    broken = []
    for target, anchor in LINK.findall(FENCE.sub("", page.read_text("utf-8"))):
        if "://" in target or target == PLACEHOLDER:
            continue
        path = (page.parent / target).resolve() if target else page
        if not path.exists() or (anchor and path.suffix == ".md" and anchor not in anchors_of(path)):
            broken.append(f"{target}#{anchor}")
    assert broken == []
