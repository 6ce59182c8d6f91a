"""A document that holds the character NUL is refused by every store, so that all of them can hold the same set."""

from __future__ import annotations

import pytest

from answerd.store import StoreError
from answerd.store.files import FileStore
from tests.support.fleet import Fleet, key_of

pytestmark = pytest.mark.each_store


@pytest.mark.parametrize("name", ["m1.ks", "m1.toml", "groups/g.ipxe", "default.yaml"])
def test_a_document_with_nul_is_never_served(fleet: Fleet, name: str) -> None:
    if not isinstance(fleet.store, FileStore):  # a file is there, whoever wrote it; a database takes no such text
        with pytest.raises(StoreError, match="NUL"):
            fleet.write({name: "a = 1\nb\0\n"})
        assert fleet.problems() == []
        return
    [problem] = fleet.write({name: "a = 1\nb\0\n"}).problems()
    assert problem.startswith(f"{key_of(name)}: ")
    assert "line 2 holds the character NUL" in problem


def test_a_table_with_nul_is_never_read(fleet: Fleet) -> None:
    fleet.write({"m1.ks": "lang fr\n"})
    table = {"inventory.csv": "id,note\nweb-01,a\nweb-02,b\0c\n"}
    if not isinstance(fleet.store, FileStore):
        with pytest.raises(StoreError, match="NUL"):
            fleet.write(table)
        assert fleet.problems() == []
        return
    fleet.write(table)
    assert [problem for problem in fleet.problems() if problem.startswith("inventory.csv")] == [
        "inventory.csv:3: the inventory cannot be read: the line holds the character NUL, which no store keeps"
    ]


def test_a_document_does_not_get_nul_by_a_change(fleet: Fleet) -> None:
    if isinstance(fleet.store, FileStore):
        return
    fleet.write({"m1.ks": "lang fr\n"})
    with pytest.raises(StoreError, match="NUL"):
        fleet.write({"m1.ks": "lang\0fr\n"})
    assert fleet.text("/ks?mac=m1") == "lang fr\n"
