"""Filter the unknown machines: which of them are still claimed by nothing (docs/install-once.md#history).

The facts that a machine sent are resolved again with the set in force, so a machine leaves the list as soon as it is
adopted, without asking again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import orjson

from answerd.answers.catalogue import Catalogue
from answerd.answers.select import question_of, select
from answerd.errors import AnswerError
from answerd.facts import LARGE, Facts, Request
from answerd.installs.shown import UnknownMachine

_NOT_SENT_AS_VALUES = frozenset({"path", "file", "segment", "peer", "user_agent"})


def still_unclaimed(catalogue: Catalogue, machines: Iterable[UnknownMachine]) -> list[UnknownMachine]:
    """Return the machines that no document of a set claims and that have no row in an inventory."""
    return [machine for machine in machines if not _is_claimed(catalogue, _facts(machine))]


def facts_as_json(facts: Facts) -> str:
    """Return what a machine said, to be kept; an empty object for a large body."""
    if len(facts.request.body) > LARGE:
        return "{}"
    labels = {label: [value for value in values if value.isprintable()] for label, values in facts.labels.items()}
    try:
        return orjson.dumps(labels).decode()
    except (TypeError, ValueError):
        return "{}"


def _is_claimed(catalogue: Catalogue, asked: Facts) -> bool:
    try:
        facts = catalogue.facts(asked)
        if facts.row is None:
            select(catalogue, question_of(facts, facts.extensions))
    except AnswerError:  # a broken document is no answer: the machine still has none
        return False
    return True


def _facts(machine: UnknownMachine) -> Facts:
    """Return the facts that a machine sent. Of a large body only the machine's name was kept."""
    said: Mapping[str, Any] = orjson.loads(machine.facts or "{}")
    values = [(label, value) for label, kept in said.items() if label not in _NOT_SENT_AS_VALUES for value in kept]
    path = next(iter(said.get("path", ())), "")
    peer = next(iter(said.get("peer", ())), "")
    return Facts(Request(f"/{quote(path)}", urlencode(values), (), b"", peer, (machine.machine,)))
