"""A request finds the documents, members and rows that are there, after any changes."""

from __future__ import annotations

import pytest

from answerd.answers.catalogue import Catalogue
from answerd.answers.resolve import resolve
from answerd.documents import RawDocument
from answerd.errors import NotClaimed
from answerd.facts import Facts, Request
from tests.support.fleet import key_of


def raws(files: dict[str, str]) -> dict[str, RawDocument]:
    """The documents of a set."""
    return {name: RawDocument(key_of(name), text, name) for name, text in files.items()}


LATER = {
    "a document": ("web-99.ks", "lang C\n"),
    "a member": ("groups/late.ks", "# answer: member web-99\nlang C\n"),
    "a row": ("inventory/late.csv", "id,serial\nweb-99,SN99\n"),
}


@pytest.mark.parametrize("later", LATER.values(), ids=LATER)
def test_a_name_that_comes_later_is_found(later: tuple[str, str]) -> None:
    first = {
        "web-02.ks": "",
        "inventory.csv": "id,serial\nweb-01,SN1\n",
        "groups/row.ks": "# answer: match serial=SN99\nlang C\n",
    }
    before = Catalogue().changed(raws(first).values())
    after = before.changed(raws(dict([later])).values())
    assert resolve(after, Facts(Request("/ks", "a=web-99"))).body == b"lang C\n"
    with pytest.raises(NotClaimed):
        resolve(before, Facts(Request("/ks", "a=web-99")))
