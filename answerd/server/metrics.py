"""What is counted, and counting on a request's way (docs/metrics.md).

No label has values that a client chooses. `answerd.server.exposition` makes Prometheus' text of these numbers and of
those that are looked up at a scrape.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Final

from answerd.formats import FORMATS
from answerd.installs.states import ReportKind
from answerd.server.cells import Cell, Cells
from answerd.server.statuses import (
    ADMIN_STATUSES,
    ANSWER_STATUSES,
    FIRST_PROBLEM,
    INTERNAL_ERROR,
    NOT_FOUND,
    OK,
    SERVICE_UNAVAILABLE,
)


@dataclass(frozen=True)
class Counter:
    """``series``: the values of ``labels`` together that there are."""

    name: str
    meaning: str
    labels: tuple[str, ...] = ()
    series: tuple[tuple[str, ...], ...] = ((),)

    @property
    def cells(self) -> list[Cell]:
        return [(self.name, *values) for values in self.series]


ANSWERED: Final = ("machine", "group", "default", "side_file")
"""The source of an answer: its top layer, or a file that the service makes up for NoCloud."""

PROBE: Final = "probe"
REPORT: Final = "report"

BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds in seconds of the histogram."""


def outcome_of(status: int) -> str:
    """Return the outcome of a request that got no answer."""
    if status == NOT_FOUND:
        return "unclaimed"
    if status >= FIRST_PROBLEM and status < INTERNAL_ERROR:
        return "refused"
    return "busy" if status == SERVICE_UNAVAILABLE else "failed"


REQUESTS: Final = Counter(
    "answerd_requests_total",
    "requests that the answer endpoint has answered",
    ("status", "format", "outcome"),
    (
        *((str(OK), extension, outcome) for extension in FORMATS for outcome in ANSWERED),
        (str(OK), "", PROBE),
        (str(OK), "", REPORT),
        (str(SERVICE_UNAVAILABLE), "", PROBE),
        *((str(status), "", outcome_of(status)) for status in sorted(ANSWER_STATUSES - {OK})),
    ),
)
ABORTED: Final = Counter("answerd_aborted_total", "connections that ended without a whole response")
SHED: Final = Counter(
    "answerd_shed_total",
    "clients that got 503 at once, by what was at its limit",
    ("limit",),
    (("connections",), ("bodies",), ("answers",)),
)
ADMIN_REQUESTS: Final = Counter(
    "answerd_admin_requests_total",
    "requests that the admin API has answered",
    ("status",),
    tuple((str(status),) for status in sorted(ADMIN_STATUSES)),
)
REPORTS: Final = Counter(
    "answerd_reports_total",
    "reports of machines that were taken",
    ("report",),
    tuple((word.value,) for word in ReportKind),
)

COUNTERS: Final = (
    REQUESTS,
    ABORTED,
    SHED,
    ADMIN_REQUESTS,
    Counter(
        "answerd_authentication_failures_total",
        "requests without the right token: all at the answer endpoint; with a wrong one at admin API and console",
        ("endpoint",),
        (("answers",), ("admin",)),
    ),
    Counter(
        "answerd_loads_total",
        "changes of the set that were put in force, and stores that could not be read any more",
        ("result",),
        (("changed",), ("failed",)),
    ),
    Counter(
        "answerd_captures_total",
        "requests that were recorded, that came faster than they are written, and that could not be written",
        ("result",),
        (("written",), ("lost",), ("failed",)),
    ),
    REPORTS,
    Counter("answerd_workers_replaced_total", "processes that died and were replaced"),
)

SECONDS: Final[tuple[Cell, ...]] = tuple(("answerd_request_seconds", str(bound)) for bound in (*BUCKETS, "+Inf"))
"""The cells of the histogram's buckets, the one without a bound last."""

MICROSECONDS: Final[Cell] = ("answerd_request_seconds", "sum of microseconds")
PROBLEMS: Final[Cell] = ("answerd_problems",)
"""The number of the set's problems, which the process that logs them knows."""

CELLS: Final[tuple[Cell, ...]] = (
    *(cell for counter in COUNTERS for cell in counter.cells),
    *SECONDS,
    MICROSECONDS,
    PROBLEMS,
)


class RequestCounts:
    """The counts of the answer endpoint in one process: 0.5 µs a request in a loop."""

    __slots__ = ("_cells", "_counters", "_first_bucket", "_own", "_sum")

    def __init__(self, counters: Cells) -> None:
        """``counters`` are attached to the place of this process."""
        self._counters = counters
        self._own = counters.own
        self._cells = {(int(cell[1]), *cell[2:]): counters.index[cell] for cell in REQUESTS.cells}
        self._first_bucket = counters.index[SECONDS[0]]
        self._sum = counters.index[MICROSECONDS]

    def answered(self, status: int, extension: str, outcome: str, seconds: float) -> None:
        """Count a response. ``extension`` and ``outcome`` are empty where there is no answer; of a report the
        ``extension`` is what it said."""
        own = self._own
        cell = self._cells.get((status, extension, outcome))
        if cell is None:
            if outcome == REPORT and extension:  # not of HEAD, which reports nothing
                self._counters.add(REPORTS.name, extension)
            cell = self._cells.get((status, "", outcome if outcome == REPORT else outcome_of(status)))
        if cell is not None:
            own[cell] += 1
        own[self._first_bucket + bisect_left(BUCKETS, seconds)] += 1
        own[self._sum] += int(seconds * 1_000_000)

    def aborted(self) -> None:
        self._counters.add(ABORTED.name)

    def shed(self, limit: str) -> None:
        """Count a client that got 503 at once."""
        self._counters.add(SHED.name, limit)


class AdminCounts:
    def __init__(self, counters: Cells) -> None:
        self._counters = counters

    def answered(self, status: int, _extension: str, _outcome: str, _seconds: float) -> None:
        cell = (ADMIN_REQUESTS.name, str(status))
        if cell in self._counters.index:
            self._counters.add(*cell)

    def aborted(self) -> None:
        """Count nothing: an operator sees it."""

    def shed(self, _limit: str) -> None:
        """Count nothing: the log says it."""
