"""The first page: how many machines are in which state, what is wrong, and the requests of this moment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import NamedTuple
from urllib.parse import parse_qsl

from answerd.answers.causes import causes
from answerd.answers.inventory_index import Inventory
from answerd.console import grid
from answerd.console.backend import Backend
from answerd.console.document_list import inventories_of
from answerd.console.grid import Grid, first_grid
from answerd.console.jobs import Checked, patience_for
from answerd.console.page_request import PageReply, PageRequest
from answerd.console.pages import PROBLEMS_SHOWN
from answerd.console.places import shown_causes
from answerd.console.rendering import page
from answerd.console.table import STATES, Failure, Tables
from answerd.facts import Facts, Request
from answerd.identity import identity_of
from answerd.inventory import DEFAULT_NAME
from answerd.inventory.row import IDENTITY_COLUMNS
from answerd.long_work import run_long
from answerd.server.request_feed import FedLine

REQUESTS_SHOWN = 30
OLD_SECONDS = 5.0
"""The age of the set from which on it is shown: a database that answers is read every half second."""
FIRST_PROBLEMS = 5
FAILED_SHOWN = 10
"""Causes of failures that the first page shows, those that happened last."""
CHECKED_SECONDS = 60.0
"""The age of the problems that the first page shows of a large set. A small one is checked after each change."""


class ShownRequest(NamedTuple):
    """One answered request in words. ``at`` is in seconds since 1970; ``machine`` is its name, or an identity that it
    sent, empty where that is not known."""

    at: float
    peer: str
    machine: str
    words: str
    request: str
    status: int
    is_bad: bool


_ANSWERED = re.compile(
    r"format=(?P<format>\S+)(?: machine=(?P<document>\S+))?(?: group=(?P<group>\S+))?(?: overlay=(?P<overlay>\S+))?"
    r"(?P<more>.*?)(?: for (?:mac=|serial=)?(?P<name>(?:(?! for ).)+))?"
)
_REPORTED = re.compile(r"reported (\w+) for (.+?)(, which changes nothing)?")


def shown_request(line: FedLine, inventory: Inventory | None = None) -> ShownRequest:
    """Return a request as the first page tells it. What got no answer does not say whose row it was: the ``inventory``
    does."""
    path, _, query = line.target.partition("?")
    machine = _row_name(inventory, path, query) if inventory is not None else ""
    sent = (value for name, value in parse_qsl(query) if name.lower() in IDENTITY_COLUMNS)
    machine = machine or next(sent, "")
    words, is_bad = line.outcome, not 200 <= line.status < 400  # noqa: PLR2004
    if answered := _ANSWERED.fullmatch(line.outcome):
        document, group, overlay = answered["document"], answered["group"], answered["overlay"]
        by = ", ".join(filter(None, (document and "its document", group and f"group {group}", overlay)))
        machine = answered["name"] or document or machine
        words = f"got {answered['format']}{' by ' + by if by else ''}{answered['more']}"
    elif reported := _REPORTED.fullmatch(line.outcome):
        word, machine, nothing = reported.groups()
        words, is_bad = f"reported {word}{nothing or ''}", is_bad or word == "failed"
    # What a machine reports may hold a secret, which is hidden elsewhere.
    target = path if path.lower().startswith("/report/") else line.target
    return ShownRequest(line.at, line.peer, machine, words, f"{line.method} {target}", line.status, is_bad)


def _row_name(inventory: Inventory, path: str, query: str) -> str:
    """Return the name of the row of a request; empty where it has none, or several."""
    found = (inventory.rows_of(identity) for identity in Facts(Request(path, query)).identities)
    rows = dict.fromkeys(row for several in found for row in several)
    return next(iter(rows)).name if len(rows) == 1 else ""


class FirstPage:
    """The first page, and its parts that are asked for again."""

    def __init__(self, backend: Backend, tables: Tables) -> None:
        self._backend = backend
        self._tables = tables

    def show(self, request: PageRequest) -> PageReply:
        """Return the first page: states, problems, and the requests of this moment."""
        values = self._overview(request) | self._requests()
        return PageReply(
            page("now", request=request, version=self._backend.version, store=self._backend.store, **values)
        )

    def overview(self, request: PageRequest) -> PageReply:
        """Return the tiles and problems of the first page, again."""
        return PageReply(page("overview", request=request, **self._overview(request)))

    def requests(self, request: PageRequest) -> PageReply:
        """Return the last requests, again."""
        return PageReply(page("requests", request=request, **self._requests()))

    def _overview(self, request: PageRequest) -> dict[str, object]:
        table, states, checked = self._tables.current(), self._backend.states(), self._checked()
        catalogue = self._backend.catalogue()
        first = [DEFAULT_NAME] if self._backend.editing is not None else []  # is uploaded there

        def look() -> tuple[Mapping[str, int], Sequence[Failure], Grid | None]:
            if table is None or states is None:  # it is being made
                return (table.counts(states) if table is not None else {}), (), None
            progress = first_grid(table, request.get("by"), states)
            return progress.whole.counts, table.failures(states, FAILED_SHOWN), progress

        counts, failed, progress = run_long(look)
        problems = checked.problems
        if problems is None:
            problems = [*causes([*self._backend.problems()][:PROBLEMS_SHOWN], {})]
        return {
            "states": [(word, counts[word]) for word in STATES if counts.get(word)] if states is not None else (),
            "machines": sum(counts.values()) if table is not None else None,
            "documents": catalogue.size,
            "inventories": [raw.key.identifier for raw in inventories_of(catalogue)] or first,
            "rows": sum(len(table.rows) for table in catalogue.inventory.tables.values()) if catalogue.inventory else 0,
            "problems": len(problems),
            "first_problems": run_long(lambda: shown_causes(catalogue, problems[:FIRST_PROBLEMS])),
            "is_checked": checked.problems is not None,
            "faults": self._backend.faults(),
            "age": _age(self._backend.age()),
            "grid": progress,
            "drawn": grid,
            "failed": failed,
            "all_failed": counts.get("failed", 0) + counts.get("exhausted", 0),
        }

    def _checked(self) -> Checked:
        """Return the last check. Of a large set there is none for each change."""
        return self._backend.check(0.0 if patience_for(self._backend.catalogue()) else CHECKED_SECONDS)

    def _requests(self) -> dict[str, object]:
        feed = self._backend.feed
        lines = feed.last(REQUESTS_SHOWN) if feed else ()
        inventory = self._backend.catalogue().inventory
        shown = (shown_request(line, inventory) for line in lines)
        named = [one._replace(machine=_named(inventory, one.machine)) for one in shown]
        return {"lines": named, "rate": feed.rate() if feed else ()}


def _named(inventory: Inventory | None, machine: str) -> str:
    """Return the name of the row that has the identity of a machine; without one, the machine as it is."""
    rows = inventory.rows_of(identity_of(machine)) if inventory is not None and machine else ()
    return rows[0].name if len(rows) == 1 else machine


def _age(seconds: float) -> str:
    """Return the age of a set in words; empty where it is as good as new."""
    if seconds < OLD_SECONDS:
        return ""
    return f"last read {seconds:,.0f} seconds ago" if isfinite(seconds) else "never read"
