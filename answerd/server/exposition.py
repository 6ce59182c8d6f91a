"""The response to a scrape: the metrics of all processes in Prometheus' text format, written by prometheus_client; and
the listener of its own that serves it without a token (docs/metrics.md). Where each number of the table in
`answerd.server.metrics` comes from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from math import isfinite
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from answerd import __version__
from answerd.answers.catalogue import Catalogue
from answerd.errors import StatesUnknown
from answerd.installs.records import InstallMemory
from answerd.installs.states import State
from answerd.server import metrics
from answerd.server.admission import Admission
from answerd.server.answer_set import AnswerSet
from answerd.server.cells import Cells
from answerd.server.http.responses import PLAIN_TEXT, exchange_of
from answerd.server.live_states import LiveStates
from answerd.server.probes import METHODS, Probes, Readiness, is_probe
from answerd.server.statuses import METHOD_NOT_ALLOWED, NOT_FOUND, OK, UNAUTHORIZED
from answerd.server.threads import in_thread
from answerd.store import StoreError
from answerd.store.states import Waiting

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

PATH = "/metrics"

Value = tuple[tuple[str, ...], float]
"""The values of a metric's labels, and its number."""


class Exposition:
    def __init__(
        self,
        counters: Cells,
        admission: Admission,
        answers: AnswerSet,
        certificate_expiry: Callable[[], float | None],
        installs: LiveStates | None = None,
    ) -> None:
        """``certificate_expiry``: seconds since 1970, None without a certificate. ``installs``: None without states."""
        self._counters = counters
        self._admission = admission
        self._answers = answers
        self._certificate_expiry = certificate_expiry
        self._installs = installs
        self._census: tuple[Catalogue, Counter[tuple[str, ...]]] | None = None
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def __call__(self) -> bytes:
        return generate_latest(self._registry)

    def collect(self) -> Iterable[Metric]:
        """Return every metric of the table; prometheus_client calls this."""
        for metric in metrics.METRICS:
            labels = [name for name, _ in metric.labels]
            if metric.kind == "histogram":
                yield self._histogram(metric.name, metric.meaning)
                continue
            values = list(self._values(metric))
            if not values:
                continue
            family = (CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily)(
                metric.name, metric.meaning, labels=labels
            )
            for given, number in values:
                family.add_metric(given, number)
            yield family

    def _values(self, metric: metrics.Metric) -> Iterator[Value]:
        reader = _GAUGES.get(metric.name)
        if reader is not None:
            yield from reader(self)
            return
        for cell in self._counters.index:
            if cell[0] != metric.name:
                continue
            # Most pairs of outcome and format never occur. What has no format is there from the start: Prometheus sees
            # no increase in a series that begins with its first failure.
            if metric.name != metrics.REQUESTS or not cell[2] or self._counters.total(*cell):
                yield cell[1:], self._total_of(cell)

    def _total_of(self, cell: tuple[str, ...]) -> int:
        if cell == ("answerd_authentication_failures_total", "answers"):
            return self._counters.total(metrics.REQUESTS, str(UNAUTHORIZED), "", metrics.outcome_of(UNAUTHORIZED))
        return self._counters.total(*cell)

    def _histogram(self, name: str, meaning: str) -> Metric:
        buckets, seen = [], 0
        for cell in metrics.bucket_cells():
            seen += self._counters.total(*cell)
            buckets.append((cell[1], float(seen)))
        total = self._counters.total(*metrics.sum_cell()) / 1_000_000
        return HistogramMetricFamily(name, meaning, buckets=buckets, sum_value=total)

    def _documents(self) -> Iterator[Value]:
        """Yield documents by kind and format; counted once for each set."""
        catalogue = self._answers.follower.loader.catalogue
        if self._census is None or self._census[0] is not catalogue:
            self._census = catalogue, in_thread(_counted, catalogue)
        yield from ((key, float(number)) for key, number in sorted(self._census[1].items()))

    def _expiry(self) -> Iterator[Value]:
        expiry = self._certificate_expiry()
        if expiry is not None:
            yield (), expiry

    def _records(self) -> InstallMemory | None:
        try:
            return self._installs.current() if self._installs is not None else None
        except StatesUnknown:
            return None

    def _installs_by_state(self) -> Iterator[Value]:
        records = self._records()
        if records is not None:
            by_state = in_thread(records.by_state)
            yield from (((state.value,), float(by_state.get(state, 0))) for state in State if state is not State.NEW)

    def _silent_installs(self) -> Iterator[Value]:
        installs, records = self._installs, self._records()
        if installs is not None and records is not None:
            yield (), float(in_thread(records.silent, installs.now()))

    def _waiting(self, which: Callable[[Waiting], float]) -> Iterator[Value]:
        """Yield the number or age of the messages that wait for a shared database; nothing without one, or where it
        cannot be read."""
        try:
            waiting = in_thread(self._installs.store.waiting) if self._installs is not None else None
        except StoreError:
            return
        if waiting is not None:
            yield (), float(which(waiting))

    def _silent_nodes(self) -> Iterator[Value]:
        """Yield for how long each node that shares the database has not spoken."""
        if self._installs is not None:
            yield from (((node.name,), node.silent) for node in in_thread(self._installs.store.nodes))

    def _set_age(self) -> Iterator[Value]:
        age = self._answers.follower.loader.store.age_seconds()
        if isfinite(age):
            yield (), age

    def _one(self, number: float) -> Iterator[Value]:
        yield (), number


def _counted(catalogue: Catalogue) -> Counter[tuple[str, ...]]:
    return Counter((raw.key.kind.value, raw.key.format) for raw in catalogue.documents)


_GAUGES: dict[str, Callable[[Exposition], Iterator[Value]]] = {
    "answerd_connections": lambda its: its._one(its._admission.in_flight()),
    "answerd_connections_limit": lambda its: its._one(its._admission.connections.limit),
    "answerd_ready": lambda its: its._one(not its._answers.readiness()),
    "answerd_documents": Exposition._documents,
    "answerd_problems": lambda its: its._one(its._counters.total("answerd_problems")),
    "answerd_set_age_seconds": Exposition._set_age,
    "answerd_installs": Exposition._installs_by_state,
    "answerd_installs_silent": Exposition._silent_installs,
    "answerd_outbox_messages": lambda its: its._waiting(lambda waiting: waiting.messages),
    "answerd_outbox_age_seconds": lambda its: its._waiting(lambda waiting: waiting.seconds),
    "answerd_node_silent_seconds": Exposition._silent_nodes,
    "answerd_certificate_expiry_timestamp_seconds": Exposition._expiry,
    "answerd_info": lambda _: iter([((__version__,), 1.0)]),
}
"""The functions that return the numbers that are not counted."""


def make_metrics_app(exposition: Callable[[], bytes], readiness: Readiness) -> WSGIApplication:
    """Return the application: plain WSGI, as it has three paths."""
    probes = Probes(readiness)

    def application(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        exchange = exchange_of(environ)
        request = exchange.request
        headers = [("Content-Type", PLAIN_TEXT)]
        if is_probe(request):
            status, body, exchange.outcome = probes.response(request.path)
        elif request.path != PATH:
            status, body, exchange.outcome = NOT_FOUND, b"only /metrics, /health and /ready are here\n", "no such path"
        elif request.method not in METHODS:
            headers.append(("Allow", ", ".join(METHODS)))
            status, body, exchange.outcome = METHOD_NOT_ALLOWED, b"only GET is answered here\n", "only GET"
        else:
            headers = [("Content-Type", CONTENT_TYPE)]
            status, body, exchange.outcome = OK, exposition(), "metrics"
        start_response(f"{status} {HTTPStatus(status).phrase}", headers)
        return [body]

    return application
