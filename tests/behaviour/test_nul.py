"""A document that holds the character NUL is refused by every store, so that all of them can hold the same set."""

from __future__ import annotations

import pytest

from answerd.store import StoreError
from tests.support.fleet import Fleet, key_of


@pytest.mark.parametrize("name", ["m1.ks", "m1.toml", "groups/g.ipxe", "default.yaml"])
def test_a_document_with_nul_is_never_served(fleet: Fleet, name: str) -> None:
    try:
        fleet.write({name: "a = 1\nb\0\n"})
    except StoreError as error:
        assert "NUL" in str(error)
        assert fleet.problems() == []
        return
    [problem] = fleet.problems()
    assert problem.startswith(f"{key_of(name)}: ")
    assert "line 2 holds the character NUL" in problem
