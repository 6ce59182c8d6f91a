"""The timeline of a machine's last install: what it got and reported, and the gaps between, to scale.

Rules: docs/console.md#the-timeline. A picture, SVG that is made here, and a list that says the same; the numbers lead
from one to the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import bottle

from answerd.answers.gates import is_loader
from answerd.installs.states import UNDER_WAY

MOST_MARKS: Final = 40
"""Events of a timeline, the last ones."""

ERRORS_FROM: Final = 400

_WIDTH, _AXIS, _LEFT, _RIGHT = 760, 84, 20, 40
_CLOSEST = 18
"""Units between two marks: what is closer is one mark."""

_LONG = 56
"""Units from which on the length of a gap is written into it."""

_PERCENT_TOP, _PERCENT_HEIGHT = 12, 48
_LINE_HEIGHT = 24
"""Units above the axis of a picture without percents: the length of a gap is written there."""
_FORMAT: Final = re.compile(r"\((\w+)\)\Z")
_TONES: Final = {"failed": "bad", "refused": "bad", "installed": "good", "copied": "half", "given": "busy"}
_ORDERS: Final = ("armed", "disarmed", "forgotten")


class Mark(NamedTuple):
    """Something that happened: ``at`` is in seconds since 1970, ``tone`` a class of the stylesheet. ``gap`` are the
    seconds since what came before, 0 for the first. ``number`` is that of its place in the picture."""

    at: float
    words: str
    tone: str
    percent: float | None = None
    gap: float = 0.0
    number: int = 1

    @property
    def after(self) -> str:
        """``+ 2 min 5 s``; empty for the first."""
        return f"+ {duration(self.gap)}" if self.gap else ""


@dataclass(frozen=True, slots=True)
class Timeline:
    """The marks in the order of time. ``until`` is the present time where the install is under way, in seconds since
    1970; else the last mark's."""

    marks: Sequence[Mark]
    until: float
    is_under_way: bool

    @property
    def sentence(self) -> str:
        """What the picture shows, for those who hear it."""
        first, last = self.marks[0], self.marks[-1]
        waits = f", and nothing for {duration(self.until - last.at)} since" if self.is_under_way else ""
        return f"{len(self.marks)} events within {duration(last.at - first.at)}{waits}: the list below has them"


def timeline_of(record: Mapping[str, Any], contact: Mapping[str, Any] | None, now: float) -> Timeline | None:
    """Return the timeline of a machine's last attempt; None where less than two things happened."""
    found: list[Mark] = []
    for event in record["events"]:  # the newest first
        found.append(_of_event(event))
        if event["event"] in _ORDERS:
            break
    found.reverse()
    begin = found[0].at if found else 0.0
    if contact is not None and contact["status"] >= ERRORS_FROM:
        what = "was refused" if contact["refused"] else f"got {contact['status']}"
        asked = Mark(_seconds(contact["at"]), f"asked for {contact['asked']}, {what}: {contact['got']}", "bad")
        if asked.at >= begin:
            found.append(asked)
    found = sorted(found, key=lambda mark: mark.at)[-MOST_MARKS:]
    if len(found) < 2:  # noqa: PLR2004 - a line has two ends
        return None
    is_under_way = record["state"] in UNDER_WAY and now > found[-1].at
    until = now if is_under_way else found[-1].at
    return Timeline([*_numbered(found, until)], until, is_under_way)


def _of_event(event: Mapping[str, Any]) -> Mark:
    kind, detail, percent = event["event"], event["detail"], event.get("percent")
    if kind == "given":
        extension = _FORMAT.search(detail)
        who = "boot loader" if extension is not None and is_loader(extension[1]) else "installer"
        words = f"{who} got {detail}"
    elif kind in _ORDERS:
        words = f"{kind} from {event['from']}" if event["from"] else kind
    elif kind == "progress":
        words = f"{percent:g} % {detail}".rstrip() if percent is not None else f"progress {detail}".rstrip()
    else:
        words = f"{kind}: {detail}" if detail else kind
    tone = _TONES.get(kind, "order" if kind in _ORDERS else "busy")
    return Mark(_seconds(event["at"]), words, tone, percent if kind == "progress" else None)


def _numbered(found: Sequence[Mark], until: float) -> Iterator[Mark]:
    """Yield marks with the gaps before them, and with one number for those that are too close to be told apart."""
    number, drawn, before = 0, -1e9, found[0].at
    for mark in found:
        x = _x(mark.at, found[0].at, until)
        if x - drawn >= _CLOSEST:
            number, drawn = number + 1, x
        yield mark._replace(gap=mark.at - before, number=number)
        before = mark.at


def _x(at: float, begin: float, end: float) -> float:
    return _LEFT + (at - begin) / max(end - begin, 1.0) * (_WIDTH - _LEFT - _RIGHT)


def picture(timeline: Timeline) -> str:
    """Return the timeline as SVG; empty where all of it is at one place, so that the list says as much."""
    if timeline.marks[-1].number == 1 and not timeline.is_under_way:
        return ""
    marks, begin = timeline.marks, timeline.marks[0].at
    places = [_x(mark.at, begin, timeline.until) for mark in marks]
    parts = []
    for mark, before, x in zip(marks[1:], places, places[1:], strict=False):
        parts.append(_line(before, x, "bad" if mark.tone == "bad" else "gap"))
        parts += _gap_in_words(mark.gap, before, x)
    if timeline.is_under_way:
        end = _x(timeline.until, begin, timeline.until)
        parts.append(_line(places[-1], end, "waiting"))
        parts += _gap_in_words(timeline.until - marks[-1].at, places[-1], end)
        parts.append(f'<text x="{end + 4:.1f}" y="{_AXIS + 4}">now</text>')
    parts += _percents(marks, places)
    groups: dict[int, list[tuple[Mark, float]]] = {}
    for mark, x in zip(marks, places, strict=True):
        groups.setdefault(mark.number, []).append((mark, x))
    for number, group in groups.items():
        x = group[0][1]
        tone = "bad" if any(mark.tone == "bad" for mark, _ in group) else group[-1][0].tone
        shape = (
            f'<path d="M{x - 6:.1f} {_AXIS - 6}l12 12m0 -12l-12 12" class="{tone} cross"/>'
            if tone == "bad"
            else f'<circle cx="{x:.1f}" cy="{_AXIS}" r="6" class="{tone}"/>'
        )
        parts.append(f'{shape}<text x="{x:.1f}" y="{_AXIS + 24}" text-anchor="middle">{number}</text>')
    label = bottle.html_escape(timeline.sentence)
    top = 0 if any(mark.percent is not None for mark in marks) else _AXIS - _LINE_HEIGHT
    size = f"0 {top} {_WIDTH} {_AXIS + 32 - top}"
    return f'<svg class="line-of" viewBox="{size}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _line(start: float, end: float, kind: str) -> str:
    return f'<path d="M{start:.1f} {_AXIS}H{end:.1f}" class="{kind} part"/>'


def _gap_in_words(seconds: float, start: float, end: float) -> Iterator[str]:
    if end - start >= _LONG and seconds:
        middle = f'x="{(start + end) / 2:.1f}" y="{_AXIS - 6}" text-anchor="middle"'
        yield f'<text {middle} class="soft">{duration(seconds)}</text>'


def _percents(marks: Sequence[Mark], places: Sequence[float]) -> Iterator[str]:
    """Yield the line of the percents that were reported, above the axis."""
    known = [(x, mark.percent) for mark, x in zip(marks, places, strict=True) if mark.percent is not None]
    if not known:
        return
    points = " ".join(f"{x:.1f},{_PERCENT_TOP + (100 - percent) / 100 * _PERCENT_HEIGHT:.1f}" for x, percent in known)
    yield f'<polyline points="{points}" class="percents"/>'
    for x, percent in known[-1:]:
        y = _PERCENT_TOP + (100 - percent) / 100 * _PERCENT_HEIGHT
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" class="percents"/>'
        yield f'<text x="{x + 6:.1f}" y="{y + 4:.1f}">{percent:g} %</text>'


def duration(seconds: float) -> str:
    """Return a length of time in words: ``45 s``, ``2 min 5 s``, ``3 h 10 min``, ``4 d``."""
    whole = int(seconds + 0.5)
    days, hours, minutes = whole // 86_400, whole // 3_600 % 24, whole // 60 % 60
    if days:
        return f"{days} d {hours} h" if hours else f"{days} d"
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{minutes} min {whole % 60} s" if minutes and whole % 60 else f"{minutes} min" if minutes else f"{whole} s"


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).astimezone(UTC).timestamp()
