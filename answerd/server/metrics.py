"""The table of metrics, and counting on a request's way (docs/metrics.md).

No label has values that a client chooses. `answerd.server.exposition` reads the table to write Prometheus' text.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from answerd.formats import FORMATS
from answerd.identity import Kind
from answerd.installs.states import ReportKind, State
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
class Metric:
    """One metric. ``labels`` maps the name of a label to all the values that it can have."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    meaning: str
    labels: tuple[tuple[str, tuple[str, ...]], ...] = ()


ANSWERED: Final[tuple[str, ...]] = ("machine", "group", "default", "side_file")
"""The source of an answer: its top layer, or a file that the service makes up for NoCloud."""

PROBE: Final = "probe"
REPORT: Final = "report"
OUTCOMES: Final[tuple[str, ...]] = (*ANSWERED, PROBE, REPORT, "unclaimed", "refused", "failed", "busy")
BUCKETS: Final[tuple[float, ...]] = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds in seconds of the histogram."""

_FORMATS: Final = ("format", ("", *FORMATS))
_STATUSES: Final = ("status", tuple(str(status) for status in sorted(ANSWER_STATUSES)))
_ADMIN_STATUSES: Final = ("status", tuple(str(status) for status in sorted(ADMIN_STATUSES)))
_KINDS: Final = ("kind", tuple(kind.value for kind in Kind))

METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        "answerd_requests_total",
        "counter",
        "requests that the answer endpoint has answered",
        (_STATUSES, _FORMATS, ("outcome", OUTCOMES)),
    ),
    Metric("answerd_request_seconds", "histogram", "time from a connection's accept until its response is made"),
    Metric("answerd_aborted_total", "counter", "connections that ended without a whole response"),
    Metric("answerd_connections", "gauge", "connections to the answer endpoint in flight"),
    Metric("answerd_connections_limit", "gauge", "connections that may be in flight"),
    Metric(
        "answerd_shed_total",
        "counter",
        "clients that got 503 at once, by what was at its limit",
        (("limit", ("connections", "bodies", "answers")),),
    ),
    Metric("answerd_admin_requests_total", "counter", "requests that the admin API has answered", (_ADMIN_STATUSES,)),
    Metric(
        "answerd_authentication_failures_total",
        "counter",
        "requests without the right token: all at the answer endpoint; with a wrong one at admin API and console",
        (("endpoint", ("answers", "admin")),),
    ),
    Metric("answerd_ready", "gauge", "1 once there is a set to answer from"),
    Metric("answerd_documents", "gauge", "documents of the set", (_KINDS, ("format", tuple(FORMATS)))),
    Metric("answerd_problems", "gauge", "problems of the set"),
    Metric(
        "answerd_loads_total",
        "counter",
        "changes of the set that were put in force, and stores that could not be read any more",
        (("result", ("changed", "failed")),),
    ),
    Metric(
        "answerd_set_age_seconds",
        "gauge",
        "for how long the set may have been out of date; absent on a node that never read its database",
    ),
    Metric(
        "answerd_captures_total",
        "counter",
        "requests that were recorded, that came faster than they are written, and that could not be written",
        (("result", ("written", "lost", "failed")),),
    ),
    Metric(
        "answerd_installs",
        "gauge",
        "machines by the state of their install; absent without states",
        (("state", tuple(state.value for state in State)),),
    ),
    Metric(
        "answerd_installs_silent",
        "gauge",
        "machines that install and have said nothing for SERVICE_INSTALL_SECS; absent without states",
    ),
    Metric(
        "answerd_reports_total",
        "counter",
        "reports of machines that were taken",
        (("report", tuple(word.value for word in ReportKind)),),
    ),
    Metric(
        "answerd_outbox_messages",
        "gauge",
        "reports and other events of installs that wait for the database; only with PostgreSQL",
    ),
    Metric("answerd_outbox_age_seconds", "gauge", "for how long the oldest of them waits; only with PostgreSQL"),
    Metric(
        "answerd_node_silent_seconds",
        "gauge",
        "for how long a node has not spoken to the shared database; only with PostgreSQL",
        (("node", ()),),
    ),
    Metric("answerd_workers_replaced_total", "counter", "processes that died and were replaced"),
    Metric(
        "answerd_certificate_expiry_timestamp_seconds",
        "gauge",
        "when the certificate of the answer endpoint ends, in seconds since 1970; absent without one",
    ),
    Metric("answerd_info", "gauge", "1, with the version", (("version", ()),)),
)

REQUESTS: Final = "answerd_requests_total"
SECONDS: Final = "answerd_request_seconds"
REPORTS: Final = "answerd_reports_total"
_SUM: Final = "sum of microseconds"


def outcome_of(status: int) -> str:
    """Return the outcome of a request that got no answer."""
    if status == NOT_FOUND:
        return "unclaimed"
    if status >= FIRST_PROBLEM and status < INTERNAL_ERROR:
        return "refused"
    return "busy" if status == SERVICE_UNAVAILABLE else "failed"


def request_cells() -> Iterator[Cell]:
    """Yield the combinations of status, format and outcome that there are."""
    for extension in FORMATS:
        for outcome in ANSWERED:
            yield REQUESTS, str(OK), extension, outcome
    yield REQUESTS, str(OK), "", PROBE
    yield REQUESTS, str(OK), "", REPORT
    yield REQUESTS, str(SERVICE_UNAVAILABLE), "", PROBE
    for status in sorted(ANSWER_STATUSES - {OK}):
        yield REQUESTS, str(status), "", outcome_of(status)


def bucket_cells() -> list[Cell]:
    """Return the cells of the histogram's buckets in order, the one without a bound last."""
    return [(SECONDS, str(bound)) for bound in (*BUCKETS, "+Inf")]


def sum_cell() -> Cell:
    """Return the cell with the sum of the histogram, in microseconds."""
    return SECONDS, _SUM


def metric_cells() -> list[Cell]:
    """Return the cells of every metric that is counted, and of the gauges of which one process is in charge."""
    cells: list[Cell] = [*request_cells(), *bucket_cells(), sum_cell(), ("answerd_problems",)]
    for metric in METRICS:
        if metric.kind == "counter" and metric.name != REQUESTS:
            [values] = [label[1] for label in metric.labels] or [("",)]
            cells += [(metric.name, value) if value else (metric.name,) for value in values]
    return cells


class RequestCounts:
    """The counts of the answer endpoint in one process: 0.5 µs a request in a loop."""

    __slots__ = ("_cells", "_counters", "_first_bucket", "_own", "_sum")

    def __init__(self, counters: Cells) -> None:
        """``counters`` are attached to the place of this process."""
        self._counters = counters
        self._own = counters.own
        self._cells = {(int(cell[1]), *cell[2:]): counters.index[cell] for cell in request_cells()}
        self._first_bucket = counters.index[bucket_cells()[0]]
        self._sum = counters.index[sum_cell()]

    def answered(self, status: int, extension: str, outcome: str, seconds: float) -> None:
        """Count a response. ``extension`` and ``outcome`` are empty where there is no answer; of a report the
        ``extension`` is what it said."""
        own = self._own
        cell = self._cells.get((status, extension, outcome))
        if cell is None:
            if outcome == REPORT and extension:  # not of HEAD, which reports nothing
                self._counters.add(REPORTS, extension)
            cell = self._cells.get((status, "", outcome if outcome == REPORT else outcome_of(status)))
        if cell is not None:
            own[cell] += 1
        own[self._first_bucket + bisect_left(BUCKETS, seconds)] += 1
        own[self._sum] += int(seconds * 1_000_000)

    def aborted(self) -> None:
        self._counters.add("answerd_aborted_total")

    def shed(self, limit: str) -> None:
        """Count a client that got 503 at once."""
        self._counters.add("answerd_shed_total", limit)


class AdminCounts:
    def __init__(self, counters: Cells) -> None:
        self._counters = counters

    def answered(self, status: int, _extension: str, _outcome: str, _seconds: float) -> None:
        cell = ("answerd_admin_requests_total", str(status))
        if cell in self._counters.index:
            self._counters.add(*cell)

    def aborted(self) -> None:
        """Count nothing: an operator sees it."""

    def shed(self, _limit: str) -> None:
        """Count nothing: the log says it."""
