"""The timeline of an install: what is a mark, and that gaps are to scale. Rules: docs/console.md#the-timeline."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree

import pytest

from answerd.console.timeline import MOST_MARKS, duration, picture, timeline_of

BEGIN = datetime(2026, 11, 27, 20, 0, tzinfo=UTC).timestamp()
SVG = "{http://www.w3.org/2000/svg}"


def event(at: float, kind: str, detail: str = "", percent: float | None = None) -> dict[str, Any]:
    when = datetime.fromtimestamp(BEGIN + at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"at": when, "event": kind, "detail": detail, "from": "", "percent": percent}


def record(*events: dict[str, Any], state: str = "installed") -> dict[str, Any]:
    return {"state": state, "events": [*reversed(events)]}


INSTALL = (
    event(-500, "installed"),
    event(0, "armed"),
    event(100, "given", 'group "boot" (ipxe)'),
    event(105, "given", 'group "nodes" (ks)'),
    event(400, "progress", "packages", 40),
    event(1_000, "installed"),
)


def drawn(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))


def test_a_timeline_begins_with_the_last_order_and_tells_loader_answer_percent_and_end() -> None:
    found = timeline_of(record(*INSTALL), None, BEGIN + 5_000)
    assert found is not None
    assert [(mark.at - BEGIN, mark.words, mark.tone, mark.after) for mark in found.marks] == [
        (0, "armed", "order", ""),
        (100, 'boot loader got group "boot" (ipxe)', "busy", "+ 1 min 40 s"),
        (105, 'installer got group "nodes" (ks)', "busy", "+ 5 s"),
        (400, "40 % packages", "busy", "+ 4 min 55 s"),
        (1_000, "installed", "good", "+ 10 min"),
    ]
    assert not found.is_under_way


def test_gaps_are_to_scale_and_what_is_too_close_has_one_number() -> None:
    found = timeline_of(record(*INSTALL), None, BEGIN + 5_000)
    assert found is not None
    assert [mark.number for mark in found.marks] == [1, 2, 2, 3, 4]
    svg = drawn(picture(found))
    places = [float(circle.attrib["cx"]) for circle in svg.findall(f"{SVG}circle") if circle.attrib["r"] == "6"]
    whole = places[-1] - places[0]
    assert [round((place - places[0]) / whole, 2) for place in places] == [0, 0.1, 0.4, 1]
    words = [text.text for text in svg.findall(f"{SVG}text")]
    assert {"1", "2", "3", "4", "40 %", "4 min 55 s", "10 min"} <= {*words}
    assert svg.attrib["role"] == "img"
    assert svg.attrib["aria-label"].startswith("5 events within 16 min 40 s")


def test_an_error_is_a_cross_and_silence_is_dashed_until_now() -> None:
    events = (event(0, "given", 'group "nodes" (ks)'), event(60, "failed", "no disk"), event(120, "given", "x (ks)"))
    contact = {"at": event(180, "")["at"], "status": 500, "refused": False, "asked": "/ks", "got": "it is <broken>"}
    found = timeline_of(record(*events, state="installing"), contact, BEGIN + 600)
    assert found is not None
    assert [mark.tone for mark in found.marks] == ["busy", "bad", "busy", "bad"]
    assert found.marks[-1].words == "asked for /ks, got 500: it is <broken>"
    svg = drawn(picture(found))
    classes = [path.attrib["class"] for path in svg.findall(f"{SVG}path")]
    assert (classes.count("bad cross"), classes.count("waiting part")) == (2, 1)
    assert "nothing for 7 min since" in svg.attrib["aria-label"]


def test_a_timeline_has_a_bound_and_needs_two_events() -> None:
    many = timeline_of(record(*(event(at, "progress", "", at / 2) for at in range(200))), None, BEGIN + 300)
    assert many is not None
    assert len(many.marks) == MOST_MARKS
    assert timeline_of(record(event(0, "armed")), None, BEGIN + 9) is None
    assert timeline_of(record(), None, BEGIN + 9) is None
    same = timeline_of(record(event(0, "given", "a (ks)"), event(0, "installed")), None, BEGIN)
    assert same is not None
    assert picture(same) == "", "the list says as much"


def test_a_picture_is_as_high_as_what_is_in_it_and_has_no_empty_box() -> None:
    def height(*events: dict[str, Any]) -> float:
        found = timeline_of(record(*events), None, BEGIN + 100)
        assert found is not None
        left, top, width, height = map(float, drawn(picture(found)).attrib["viewBox"].split())
        assert (left, width) == (0, 760)
        assert top + height == 116
        return height

    given, done = event(0, "given", "a (ks)"), event(90, "installed")
    assert height(given, done) == 56
    assert height(given, event(30, "progress", "", 10), done) == 116


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (59.6, "1 min"), (125, "2 min 5 s"), (3_600, "1 h"), (11_400, "3 h 10 min"), (90_000, "1 d 1 h")],
)
def test_a_length_of_time_is_said_in_at_most_two_units(seconds: float, words: str) -> None:
    assert duration(seconds) == words
