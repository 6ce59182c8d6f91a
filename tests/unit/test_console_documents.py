"""The console's list of documents: found, sorted and filtered by the address."""

from __future__ import annotations

import re

import pytest

from answerd.answers.catalogue import Catalogue
from answerd.answers.sources import NO_SOURCES
from answerd.console import document_list
from answerd.console.backend import Backend, Checked
from answerd.console.document_list import SORTS, DocumentsView, documents_page
from answerd.console.listing import listing_of
from answerd.console.page_request import PageRequest
from answerd.console.pages import Pages
from answerd.documents import Key, RawDocument
from answerd.identity import Kind


def raw(kind: Kind, name: str, extension: str, text: str) -> RawDocument:
    return RawDocument(Key(kind, name, extension), text)


LAB = Catalogue().changed(
    [
        raw(Kind.INVENTORY, "default", "csv", "id\nm1\n"),
        raw(Kind.DEFAULT, "", "ks", "lang C\n"),
        raw(Kind.GROUP, "base", "toml", "x = 1\n"),
        raw(Kind.GROUP, "rack", "toml", 'extends = "base"\nmembers = ["m1"]\n'),
        raw(Kind.GROUP, "broken", "yaml", "a: [\n"),
        raw(Kind.MACHINE, "m2", "toml", 'extends = "base"\n'),
        raw(Kind.MACHINE, "m1", "yaml", "members: [x]\n"),
    ]
)


def shown(**view: str | bool) -> str:
    page = documents_page(LAB, listing_of(LAB), DocumentsView(**view))  # type: ignore[arg-type]
    return " ".join([line.identifier or "-" for line in page.documents] + ["+"] * page.more)


@pytest.mark.parametrize("at_once", [500, 2])
@pytest.mark.parametrize(
    ("view", "expected"),
    [
        ({}, "default - base broken rack"),
        ({"kind": "machine"}, "m1 m2"),
        ({"kind": "group"}, "base broken rack"),
        ({"kind": "inventory"}, "default"),
        ({"search": "m"}, "m1 m2"),
        ({"search": "no such"}, ""),
        ({"sort": "identifier"}, "- base broken default rack"),
        ({"sort": "identifier", "descending": True}, "rack default broken base -"),
        ({"sort": "kind", "descending": True}, "default base broken rack -"),
        ({"sort": "format"}, "default - base rack broken"),
        ({"sort": "extends", "descending": True}, "rack default - base broken"),
        ({"sort": "extended_by", "descending": True}, "base default - broken rack"),
        ({"sort": "problems", "descending": True}, "broken default - base rack"),
        ({"sort": "problems", "descending": True, "kind": "machine"}, "m1 m2"),
    ],
    ids=str,
)
def test_the_list_is_found_sorted_and_cut(
    monkeypatch: pytest.MonkeyPatch, at_once: int, view: dict[str, str | bool], expected: str
) -> None:
    monkeypatch.setattr(document_list, "DOCUMENTS_SHOWN", at_once)
    names = [name for name in expected.split() if name != "default"]
    if len(names) > at_once:  # inventories are not counted
        cut = [name for name in expected.split() if name == "default" or name in names[:at_once]]
        expected = " ".join([*cut, *["+"] * (len(names) - at_once)])
    assert shown(**view) == expected


def table(**query: str) -> str:
    backend = Backend(lambda: LAB, NO_SOURCES, tuple, lambda: Checked(()), "files:/srv/answers", "answerd 0", ())
    given = {name: [value] for name, value in query.items()}
    return (
        Pages(backend).documents(PageRequest("GET", "/console/documents", given, {}, "", "", "http", {})).body.decode()
    )


def test_each_heading_leads_to_that_order_and_then_to_its_reverse() -> None:
    first = table(q="a", kind="group")
    links = re.findall(r'<a href="(/console/documents\?[^"]+)">([^<]+)</a></th>', first)
    assert [name for _, name in links] == ["Document", "Kind", "Format", "Extends", "Extended by", "Problems"]
    assert links[0][0] == "/console/documents?q=a&amp;kind=group&amp;sort=identifier"
    assert links[5][0] == "/console/documents?q=a&amp;kind=group&amp;sort=problems&amp;desc=1"
    assert first.count('aria-sort="none"') == len(SORTS)
    again = table(sort="identifier")
    assert '<th class="" aria-sort="ascending"><a href="/console/documents?sort=identifier&amp;desc=1">' in again
    assert 'aria-sort="descending"><a href="/console/documents?sort=problems">' in table(sort="problems", desc="1")
    assert table(sort="claims") == table()
