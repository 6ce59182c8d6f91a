"""What documents have in common is shared, and nothing of a document outlives it."""

from __future__ import annotations

import gc

import pytest

from answerd.answers.catalogue import Catalogue
from answerd.documents import Content, Document, Key, RawDocument
from answerd.identity import Kind


def document(text: str, kind: Kind = Kind.MACHINE, name: str = "n1", extension: str = "toml") -> Document:
    return Document(RawDocument(Key(kind, name, extension), text))


# Of short contents the last thousand are kept, whatever documents there are.
VERSIONS = {
    "members": (Kind.GROUP, 'members = ["only-here-{}"]\n'),
    "a match": (Kind.GROUP, 'match.serial = "only-here-{}"\n'),
    "paths": (Kind.MACHINE, 'unset = ["a.only-here-{}"]\n'),
    "a problem": (Kind.MACHINE, 'a = "{{{{ b {} }}}}"\n'),
    "a text that does not parse": (Kind.GROUP, "a = = {}\n"),
}


def new_contents(others: list[Content]) -> list[Content]:
    """The contents that are in memory beside ``others``, which earlier tests may have left in a traceback."""
    gc.collect()
    known = {id(one) for one in others}
    return [one for one in gc.get_objects() if type(one) is Content and id(one) not in known]


@pytest.mark.parametrize(("kind", "text"), VERSIONS.values(), ids=VERSIONS.keys())
def test_a_version_that_is_not_in_force_is_forgotten(kind: Kind, text: str) -> None:
    others = new_contents([])
    catalogue = Catalogue()
    before: list[RawDocument] = []
    for version in range(20):
        raw = RawDocument(Key(kind, "n1", "toml"), text.format(version))
        catalogue = catalogue.changed([raw], before)
        before = [raw]
        assert catalogue.documents[raw].content is not None
    assert len(new_contents(others)) <= 2  # a base may keep the first
    del catalogue
    assert new_contents(others) == []
