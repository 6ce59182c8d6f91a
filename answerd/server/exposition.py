"""The response to a scrape: the metrics of all processes in Prometheus' text format, written by prometheus_client; and
the listener of its own that serves it without a token (docs/metrics.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from itertools import accumulate
from math import isfinite
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from answerd import __version__
from answerd.answers.catalogue import Catalogue
from answerd.answers.operator_names import census
from answerd.answers.tally import Summary
from answerd.errors import StatesUnknown
from answerd.installs.states import State
from answerd.server.admission import Admission
from answerd.server.answer_set import AnswerSet
from answerd.server.cells import Cells
from answerd.server.http.responses import PLAIN_TEXT, exchange_of
from answerd.server.live_states import LiveStates
from answerd.server.metrics import COUNTERS, MICROSECONDS, PROBLEMS, REQUESTS, SECONDS, outcome_of
from answerd.server.probes import METHODS, Probes, Readiness, is_probe
from answerd.server.statuses import METHOD_NOT_ALLOWED, NOT_FOUND, OK, UNAUTHORIZED
from answerd.server.threads import in_thread
from answerd.store import StoreError
from answerd.store.nodes import differences_of

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

PATH = "/metrics"


class Exposition:
    """A collector of prometheus_client: the numbers that processes count, and those looked up at each scrape. A metric
    without any number is left out."""

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
        self._census: tuple[Catalogue, Counter[tuple[str, str]]] | None = None
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def __call__(self) -> bytes:
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Yield every metric; prometheus_client calls this."""
        yield from self._counted()
        store = self._answers.follower.loader.store
        yield _gauge("answerd_connections", "connections to the answer endpoint in flight", self._admission.in_flight())
        yield _gauge(
            "answerd_connections_limit", "connections that may be in flight", self._admission.connections.limit
        )
        yield _gauge("answerd_ready", "1 once there is a set to answer from", not self._answers.readiness())
        documents = GaugeMetricFamily("answerd_documents", "documents of the set", labels=["kind", "format"])
        for key, number in sorted(self._documents().items()):
            documents.add_metric(key, number)
        yield documents
        yield _gauge("answerd_problems", "problems of the set", self._counters.total(*PROBLEMS))
        if isfinite(age := store.age_seconds()):
            yield _gauge(
                "answerd_set_age_seconds",
                "for how long the set may have been out of date; absent on a node that never read its database",
                age,
            )
        if self._installs is not None:
            yield from _states(self._installs, self._answers.follower.catalogue)
        expiry = self._certificate_expiry()
        if expiry is not None:
            yield _gauge(
                "answerd_certificate_expiry_timestamp_seconds",
                "when the certificate of the answer endpoint ends, in seconds since 1970; absent without one",
                expiry,
            )
        info = GaugeMetricFamily("answerd_info", "1, with the version", labels=["version"])
        info.add_metric([__version__], 1)
        yield info

    def _counted(self) -> Iterator[Metric]:
        total = self._counters.total
        for counter in COUNTERS:
            family = CounterMetricFamily(counter.name, counter.meaning, labels=counter.labels)
            for cell in counter.cells:
                number = total(*cell)
                if cell == ("answerd_authentication_failures_total", "answers"):
                    number = total(REQUESTS.name, str(UNAUTHORIZED), "", outcome_of(UNAUTHORIZED))
                # Most pairs of outcome and format never occur. What has no format is there from the start: Prometheus
                # sees no increase in a series that begins with its first failure.
                if counter is not REQUESTS or not cell[2] or number:
                    family.add_metric(cell[1:], number)
            yield family
        up_to = accumulate(total(*cell) for cell in SECONDS)
        yield HistogramMetricFamily(
            "answerd_request_seconds",
            "time from a connection's accept until its response is made",
            buckets=[(cell[1], float(number)) for cell, number in zip(SECONDS, up_to, strict=True)],
            sum_value=total(*MICROSECONDS) / 1_000_000,
        )

    def _documents(self) -> Counter[tuple[str, str]]:
        """Return the number of documents by kind and format; counted once for each set."""
        catalogue = self._answers.follower.catalogue
        if self._census is None or self._census[0] is not catalogue:
            self._census = catalogue, in_thread(_census, catalogue)
        return self._census[1]


def _gauge(name: str, meaning: str, number: float) -> Metric:
    return GaugeMetricFamily(name, meaning, value=number)


def _census(catalogue: Catalogue) -> Counter[tuple[str, str]]:
    return Counter((raw.key.kind.value, raw.key.format) for raw in catalogue.documents)


def _states(installs: LiveStates, catalogue: Catalogue) -> Iterator[Metric]:
    """Yield what is known of installs, and of the database that nodes share; nothing of what cannot be read."""
    try:
        records = installs.current()
    except StatesUnknown:
        pass
    else:
        meaning = "machines by the state of their install; absent without states"
        by_state, silent = in_thread(census, catalogue, records, installs.now())
        family = GaugeMetricFamily("answerd_installs", meaning, labels=["state"])
        for state in State:
            if state is not State.NEW:
                family.add_metric([state.value], by_state.get(state, 0))
        yield family
        yield _gauge(
            "answerd_installs_silent",
            "machines that install and have said nothing for SERVICE_INSTALL_SECS; absent without states",
            silent,
        )
    try:
        waiting = in_thread(installs.store.waiting)
    except StoreError:
        waiting = None
    if waiting is not None:
        yield _gauge(
            "answerd_outbox_messages",
            "reports and other events of installs that wait for the database; only with PostgreSQL",
            waiting.messages,
        )
        yield _gauge(
            "answerd_outbox_age_seconds", "for how long the oldest of them waits; only with PostgreSQL", waiting.seconds
        )
    if nodes := in_thread(installs.store.nodes):
        meaning = "for how long a node has not spoken to the shared database; only with PostgreSQL"
        ages = GaugeMetricFamily("answerd_node_silent_seconds", meaning, labels=["node"])
        for node in nodes:
            ages.add_metric([node.name], node.silent)
        yield ages
        yield _gauge(
            "answerd_node_differences",
            "settings that decide answers, and secrets, that are not the same at all nodes; only with PostgreSQL",
            len(differences_of(nodes)),
        )


class TallyExposition:
    """A collector of prometheus_client: the machines of a summary, by value and state."""

    def __init__(self, counted: Summary) -> None:
        self._counted = counted

    def __call__(self) -> bytes:
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return generate_latest(registry)

    def collect(self) -> Iterator[Metric]:
        meaning = "machines by group, or by the value of a column, and state; only where a scrape asks with by="
        family = GaugeMetricFamily("answerd_installs_by", meaning, labels=["by", "value", "state"])
        for tally in self._counted.tallies:
            for state in State:
                family.add_metric([self._counted.by, tally.value or "", state.value], tally.states[state])
        yield family


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
