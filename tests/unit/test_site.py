"""The documentation's site: which pages it has, and where their links lead. scripts/docs builds it.

Rules: docs/releasing.md#the-documentation-as-a-site.
"""

from __future__ import annotations

import re

import pytest

from release import site
from release.source import CHECKOUT

KNOWN = {
    "pages/README.md": "index.md",
    "pages/a.md": "a.md",
    "pages/installers/b.md": "installers/b.md",
    "README.md": "overview.md",
}


@pytest.mark.parametrize(
    ("source", "link", "there"),
    [
        ("pages/a.md", "installers/b.md#c", "installers/b.md#c"),
        ("pages/installers/b.md", "../a.md", "../a.md"),
        ("pages/a.md", "README.md", "index.md"),
        ("pages/a.md", "../README.md#the-first-machine", "overview.md#the-first-machine"),
        ("README.md", "pages/a.md", "a.md"),
        ("pages/a.md", "#here", "#here"),
        ("pages/a.md", "https://example.org/a.md", "https://example.org/a.md"),
        ("pages/installers/b.md", "../../LICENSE", "../files/LICENSE"),
    ],
)
def test_a_link_leads_to_the_same_place_in_the_site(source: str, link: str, there: str) -> None:
    assert site.linked(f"[x]({link})", source, KNOWN, set()) == f"[x]({there})"


def test_a_link_that_leads_nowhere_stops_the_build() -> None:
    with pytest.raises(SystemExit, match=r"pages/a.md: the link nothing\.md leads nowhere"):
        site.linked("[x](nothing.md)", "pages/a.md", KNOWN, set())


def test_what_looks_like_a_link_in_a_block_of_code_stays() -> None:
    text = "```sh\n[x](nothing.md)\n```\n"
    assert site.linked(text, "pages/a.md", KNOWN, set()) == text


def test_the_links_of_every_page_can_be_placed() -> None:
    known = site.pages()
    files: set[str] = set()
    for source in known:
        site.linked((CHECKOUT / source).read_text("utf-8"), source, known, files)
    assert any(name.endswith(".svg") for name in files)
    assert [name for name in files if name.endswith(".md")] == [], "its own links are not changed: add it to BESIDE"


def test_every_page_is_in_the_navigation_once() -> None:
    names = list(site.pages().values())
    shown = re.findall(r"'([\w/-]+\.md)'", repr(site.navigation(names)))
    assert sorted(shown) == sorted(names)
    assert "More" not in repr(site.navigation(names)), "a page has no section"


def test_an_anchor_is_what_github_makes_of_the_heading() -> None:
    assert site.slug("503 and `Retry-After`", "-") == "503-and-retry-after"
    assert site.slug("A & B", "-") == "a--b"
