"""The documentation's site, built in a clean environment: each link of each page leads somewhere, none to another host.

Run by scripts/test-packages. Rules: docs/releasing.md#the-documentation-as-a-site.
"""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.packages import built


class Page(HTMLParser):
    """The addresses that a page names, by the element that does, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[tuple[str, str]] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.addresses.append((tag, value))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site."""
    return built("docs", tmp_path_factory.mktemp("site"))


def test_every_link_leads_somewhere(site: Path) -> None:
    pages = {path: Page(path.read_text("utf-8")) for path in site.rglob("*.html")}
    assert len(pages) > 50
    broken = []
    for path, page in pages.items():
        for tag, address in page.addresses:
            parts = urlsplit(address)
            if parts.scheme:
                broken += [(path.name, address)] if tag != "a" else []  # loaded from another host
                continue
            there = path.parent / unquote(parts.path) if parts.path else path
            target = there.resolve() / "index.html" if there.is_dir() else there.resolve()
            anchor = unquote(parts.fragment)
            is_there = target.is_file() and target.is_relative_to(site)
            if not is_there or (anchor and target in pages and anchor not in {*pages[target].anchors, "__skip"}):
                broken.append((path.name, address))
    assert broken == []


def test_the_site_is_searchable_and_has_its_pictures(site: Path) -> None:
    found = json.loads((site / "search/search_index.json").read_text())["docs"]
    assert any("keepalived" in entry["text"] for entry in found)
    assert list(site.rglob("*.png"))
    assert list(site.rglob("*.svg"))
