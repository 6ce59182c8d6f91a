"""Evidence of a machine's install as JSON, and the evidence of a record alone
(docs/many-nodes.md#how-states-are-merged).

Knows no database. `answerd.installs.merge` gives the evidence its meaning.
"""

from __future__ import annotations

from typing import Any

import orjson

from answerd.installs.merge import Evidence, News, Start, Strength
from answerd.installs.states import Record, State

_STRENGTHS = {
    State.INSTALLING: Strength.INSTALLING,
    State.COPIED: Strength.COPIED,
    State.FAILED: Strength.FAILED,
    State.EXHAUSTED: Strength.INSTALLING,
}


def evidence_as_json(evidence: Evidence) -> bytes:
    """Return evidence as JSON, without unknown fields. The same evidence always gives the same bytes."""
    fields: dict[str, Any] = {"name": evidence.name, "attempt": evidence.attempt, "heard": evidence.heard}
    if evidence.was_armed:
        fields["armed"] = True
    for name in ("began", "disarmed", "refused"):
        if getattr(evidence, name) is not None:
            fields[name] = getattr(evidence, name)
    if evidence.starts:
        fields["starts"] = {str(number): _start_as_json(start) for number, start in sorted(evidence.starts.items())}
    return orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)


def evidence_from_json(text: str | bytes) -> Evidence:
    """Return the evidence that `evidence_as_json` wrote. Raises `ValueError` for anything else."""
    try:
        fields = orjson.loads(text)
        starts = fields.get("starts", {})
        return Evidence(
            fields["name"],
            int(fields["attempt"]),
            bool(fields.get("armed")),
            fields.get("began"),
            fields.get("disarmed"),
            fields.get("refused"),
            {number: _start_from_json(starts[str(number)]) for number in sorted(map(int, starts))},
            fields["heard"],
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError("this is no evidence of a machine's install") from None


def evidence_of(record: Record) -> Evidence:
    """Return the evidence that a record alone gives: for the states of a service on one machine that are moved into a
    database of many nodes. Earlier starts are known by their number only."""
    word = _STRENGTHS.get(record.state)
    if record.state is State.INSTALLED:
        word = Strength.INSTALLING if record.by_operator else Strength.INSTALLED
    starts = {number: Start(record.since) for number in range(1, record.starts + 1)}
    if word is not None:
        number = max(1, record.starts)
        news = News(word, record.since, record.message or "", -1.0 if record.percent is None else record.percent)
        has_news = record.message is not None or record.percent is not None
        at = record.since if word else 0.0
        starts[number] = Start(record.since, word, at, dict(record.given), news if has_news else None)
    is_exhausted = record.state is State.EXHAUSTED
    return Evidence(
        record.name,
        record.attempt,
        record.was_armed,
        record.since if record.state in (State.ARMED, State.NEW) and record.since else None,
        record.since if record.by_operator else None,
        record.since if is_exhausted else None,
        starts,
        record.heard,
    )


def _start_as_json(start: Start) -> dict[str, Any]:
    fields: dict[str, Any] = {"began": start.began, "word": start.strength.name.lower(), "at": start.at}
    if start.given:
        fields["given"] = dict(start.given)
    if start.news is not None:
        fields["said"] = [start.news.strength.name.lower(), start.news.at, start.news.message, start.news.percent]
    return fields


def _start_from_json(fields: dict[str, Any]) -> Start:
    news = fields.get("said")
    return Start(
        fields["began"],
        Strength[fields["word"].upper()],
        fields["at"],
        dict(sorted(fields.get("given", {}).items())),
        None if news is None else News(Strength[news[0].upper()], news[1], news[2], news[3]),
    )
