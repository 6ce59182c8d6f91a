"""When checks of the whole set, whose results are kept, use newer words of machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from answerd.installs.contacts import Contact, Held
from answerd.installs.states import Rules
from answerd.server.words_for_checks import PAUSE, WordsForChecks
from answerd.store import StoreError
from answerd.store.states import StateFile, open_state_file
from tests.support.admin import Clock


def contact(at: float, product: str) -> Contact:
    return Contact("a", at, ("a",), "/ks", 200, "why", Held.NOT, f'{{"product": ["{product}"]}}')


@pytest.fixture
def states(tmp_path: Path) -> StateFile:
    return open_state_file(str(tmp_path / "states.db"), Rules())[0]


def test_newer_words_count_some_time_after_a_check_in_proportion_to_what_it_took(states: StateFile) -> None:
    clock = Clock()
    words = WordsForChecks(states, clock)
    first = words.version()
    with words.taken() as known:
        assert known.told("a") == ()
        states.note_contacts([contact(1.0, "R640")])
        clock.now += 2.0
        assert words.version() == first, "no check begins after one that goes on"
    clock.now += PAUSE * 2.0 - 0.1
    assert words.version() == first
    clock.now += 0.2
    second = words.version()
    assert second != first
    with words.taken() as known:
        assert known.told("a") == (("product", "R640"),)
    assert words.version() == second, "nothing was said since"
    states.note_contacts([contact(2.0, "R750")])
    assert words.version() != second, "a check that takes no time is made at once"


def test_a_check_that_fails_is_followed_by_others(states: StateFile) -> None:
    words = WordsForChecks(states, Clock())
    first = words.version()
    with pytest.raises(StoreError), words.taken():
        raise StoreError("gone")
    states.note_contacts([contact(1.0, "R640")])
    assert words.version() != first


def test_where_contacts_cannot_be_read_nothing_is_new(states: StateFile, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> float:
        raise StoreError("gone")

    words = WordsForChecks(states, Clock())
    states.note_contacts([contact(1.0, "R640")])
    first = words.version()
    monkeypatch.setattr(StateFile, "contacts_written", fail)
    monkeypatch.setattr(StateFile, "contacts", fail)
    assert words.version() == first
    with words.taken() as known:
        assert known.told("a") == ()


def test_without_states_nothing_is_said() -> None:
    words = WordsForChecks(None, Clock())
    with words.taken() as known:
        assert (words.version(), known.told("a")) == (0.0, ())
