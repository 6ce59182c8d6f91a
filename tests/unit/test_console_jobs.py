"""Long work of the console's pages: begun once, shown while it goes on, kept until newer work takes its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import gevent
import pytest
from gevent.event import Event

from answerd.answers.catalogue import Catalogue
from answerd.answers.causes import Cause
from answerd.answers.sources import NO_SOURCES
from answerd.console import jobs
from answerd.console.consequences import Consequences
from answerd.console.jobs import Checked, Checks, Jobs
from answerd.console.machines import waiting
from answerd.console.page_request import PageRequest
from answerd.console.places import ShownCause
from answerd.console.rendering import Piece, page
from answerd.documents import Key, RawDocument
from answerd.identity import Kind
from answerd.server.words_for_checks import WordsForChecks

PATIENT = 30.0


class Held:
    """Work that goes on until it is released. ``begun`` counts how often it was begun."""

    def __init__(self, result: str = "found") -> None:
        self.begun = 0
        self.release = Event()
        self.result = result

    def __call__(self, progress: Callable[[int, int], None]) -> str:
        self.begun += 1
        progress(1, 2)
        while not self.release.wait(0.001):
            progress(1, 2)
        return self.result


def test_work_is_begun_once_shown_while_it_goes_on_and_kept() -> None:
    work, held = Jobs[str](), Held()
    first = work.job("one", held, patience=0.05)
    assert [first.result, first.is_finished] == [None, False]
    while not first.total:
        gevent.sleep(0.01)
    assert (first.done, first.total) == (1, 2)
    assert work.job("one", held) is first is work.named(first.name)
    held.release.set()
    assert first.finished.wait(PATIENT)
    assert work.job("one", held).result == "found"
    assert held.begun == 1


def test_the_oldest_work_gives_way_and_is_ended() -> None:
    work, held = Jobs[str](most_kept=1), Held()
    old = work.job("old", held, patience=0.01)
    new = work.job("new", lambda progress: "new")
    assert old.finished.wait(PATIENT)
    assert new.finished.wait(PATIENT)
    assert (old.result, new.result) == (None, "new")
    assert work.named(old.name) is None


def test_a_fault_is_a_sentence_and_the_work_is_begun_again_when_it_is_asked_for() -> None:
    results = iter(["no such thing"])

    def fail_once(progress: Callable[[int, int], None]) -> str:
        for reason in results:
            raise ValueError(reason)
        return "found"

    work = Jobs[str]()
    job = work.job("one", fail_once, PATIENT)
    assert (job.result, job.fault) == (None, "ValueError: no such thing")
    assert work.job("one", fail_once, PATIENT).result == "found"


# --- checks -----------------------------------------------------------------------------------------------------------


def catalogue_of(**texts: str) -> Catalogue:
    return Catalogue().changed([RawDocument(Key(Kind.MACHINE, name, "toml"), text) for name, text in texts.items()])


@contextmanager
def checks_held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """Have each check wait at its beginning until the event is set."""
    release = Event()
    real = Checks._check

    def held(self: Checks, catalogue: Catalogue, progress: Callable[[int, int], None]) -> object:
        while not release.wait(0.001):
            progress(0, 1)
        return real(self, catalogue, progress)

    monkeypatch.setattr(Checks, "_check", held)
    yield release
    release.set()


def test_a_check_shows_what_it_found_before_while_the_next_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    in_force = [catalogue_of(one="extends = 'nowhere'\n")]
    check = Checks(lambda: in_force[0], NO_SOURCES, WordsForChecks(None))
    monkeypatch.setattr(jobs, "patience_for", lambda _: PATIENT)
    first = check()
    assert first.problems is not None
    assert "nowhere" in first.problems[0].rest
    assert (first.is_current, first.is_running) == (True, False)
    in_force[0] = catalogue_of(one="x = 1\n")
    monkeypatch.setattr(jobs, "patience_for", lambda _: 0.0)
    with checks_held(monkeypatch) as release:
        assert not check(again_after=PATIENT).is_running, "the last one is recent enough"
        second = check()
        assert (second.is_current, second.is_running, second.problems) == (False, True, first.problems)
        in_force[0] = catalogue_of(one="x = 2\n")
        running = check._made.newest
        assert check().is_running
        assert check._made.newest is running, "another change does not begin another check beside it"
        assert running is not None
        release.set()
        assert running.finished.wait(PATIENT)
        monkeypatch.setattr(jobs, "patience_for", lambda _: PATIENT)
        third = check()
    assert (third.is_current, third.is_running, third.problems) == (True, False, [])
    assert check._made.newest is check._made.ended, "the sets before are let go"


# --- what pages show meanwhile ----------------------------------------------------------------------------------------

REQUEST = PageRequest("GET", "/console/machines", {"q": ["a b", "c"]}, {}, "127.0.0.1", "localhost", "http", {})


@pytest.mark.parametrize(
    ("template", "values", "asks_for"),
    [
        pytest.param(
            "check",
            {"checked": Checked(None, is_running=True), "documents": 9, "problems": [], "notes": [], "faults": []},
            "/console/check",
            id="check",
        ),
        pytest.param(
            "consequences",
            {"consequences": Consequences("name", is_pending=True), "verb": "delete"},
            "/console/document/preview?of=name&amp;verb=delete",
            id="consequences",
        ),
    ],
)
def test_a_page_of_work_that_goes_on_asks_for_itself_again(
    template: str, values: dict[str, object], asks_for: str
) -> None:
    html = page(template, request=REQUEST, **values).decode()
    assert f'hx-get="{asks_for}"' in html
    assert "load delay" in html
    assert "<noscript>" in html


def test_a_list_that_is_being_made_asks_for_the_same_view_again() -> None:
    html = waiting(REQUEST, "Machines", "/console/machines", 9).body.decode()
    assert 'hx-get="/console/machines?q=a+b&amp;q=c"' in html
    assert '<meta http-equiv="refresh" content="1">' in html


def test_a_check_that_has_ended_does_not_ask_again() -> None:
    wrong = Cause(["one is wrong"], frozenset(), "", "one is wrong")
    shown = [ShownCause([Piece("one is wrong")], [], 0, 0)]
    values: dict[str, object] = {"checked": Checked([wrong], at=1.0), "documents": 9, "problems": shown, "notes": []}
    html = page("check", request=REQUEST, faults=[], **values).decode()
    assert "one is wrong" in html
    assert "hx-get" not in html
    assert "<noscript>" not in html
