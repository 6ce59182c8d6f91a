"""Which work on one answer is long: a service does it in a thread (`answerd.long_work`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from answerd import long_work
from answerd.answers.catalogue import Catalogue
from answerd.answers.resolve import resolve
from answerd.documents import LARGE_TEXT, RawDocument
from answerd.facts import facts_of
from answerd.formats.family import MANY_SLOTS, MUCH_WORK
from tests.support.fleet import key_of

JINJA = "# answer: template jinja\n"
LONG_JINJA = JINJA + "{{ machine | upper | lower }}\n" * 999


def keys(placeholder: str, number: int) -> str:
    return "".join(f"{at}: '{placeholder}'\n" for at in range(number))


def text_of(size: int) -> str:
    return "#" * (size - 1) + "\n"


FILLED: dict[str, tuple[dict[str, str], bool]] = {
    "few placeholders": ({"m1.yaml": keys("{{ machine }}", MANY_SLOTS)}, False),
    "many placeholders": ({"m1.yaml": keys("{{ machine }}", MANY_SLOTS + 1)}, True),
    "little work of filters": ({"m1.yaml": keys("{{ machine | upper }}", MUCH_WORK)}, False),
    "much work of filters": ({"m1.yaml": keys("{{ machine | upper }}", MUCH_WORK + 1)}, True),
    "a short text for Jinja": ({"m1.ks": JINJA + "{{ machine }}\n"}, False),
    "a long text for Jinja": ({"m1.ks": LONG_JINJA}, True),
    "a long text for Jinja below a short one": (
        {"groups/base.ks": LONG_JINJA, "m1.ks": f"# answer: extends base\n{JINJA}{{{{ machine }}}}\n"},
        True,
    ),
    "nothing": ({"m1.yaml": keys("a", MANY_SLOTS + 1)}, False),
}

PREPARED: dict[str, tuple[dict[str, str], int]] = {
    "a document": ({"m1.ks": text_of(LARGE_TEXT)}, 0),
    "a large document": ({"m1.ks": text_of(LARGE_TEXT + 1)}, 2),
    "two documents": ({"groups/base.ks": text_of(LARGE_TEXT - 30), "m1.ks": "# answer: extends base\n"}, 0),
    "two documents that are large together": (
        {"groups/base.ks": text_of(LARGE_TEXT), "m1.ks": "# answer: extends base\n"},
        1,
    ),
}
"""The last: how many pieces, of reading a document and of preparing an answer."""


@pytest.fixture
def pieces() -> Iterator[list[Any]]:
    """The pieces of long work that were done."""
    before, done = [*long_work._runners], list[Any]()

    def run(work: Callable[[], Any]) -> Any:
        done.append(work)
        return work()

    long_work.run_long_work_by(run)
    yield done
    long_work._runners[:] = before


def catalogue_of(files: Mapping[str, str]) -> Catalogue:
    return Catalogue().changed([RawDocument(key_of(name), text, name) for name, text in files.items()])


@pytest.mark.parametrize(("files", "is_long"), FILLED.values(), ids=FILLED)
def test_an_answer_is_filled_in_a_thread_where_that_takes_long(
    files: Mapping[str, str], is_long: bool, pieces: list[Any]
) -> None:
    catalogue = catalogue_of(files)
    resolve(catalogue, facts_of(["m1"]))
    pieces.clear()
    resolve(catalogue, facts_of(["m1"]))
    assert len(pieces) == is_long


@pytest.mark.parametrize(("files", "number"), PREPARED.values(), ids=PREPARED)
def test_an_answer_is_read_and_prepared_in_a_thread_where_that_takes_long(
    files: Mapping[str, str], number: int, pieces: list[Any]
) -> None:
    resolve(catalogue_of(files), facts_of(["m1"]))
    assert len(pieces) == number
