"""The metrics: the table, the page about it, what is counted where, and the text that a scrape gets."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import yaml
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from answerd.answers.catalogue import Catalogue
from answerd.answers.tally import Summary, Tally
from answerd.documents import Key, RawDocument
from answerd.identity import Kind
from answerd.installs.states import State
from answerd.server.admission import Admission
from answerd.server.answer_set import AnswerSet, Preparation, WriteCounter
from answerd.server.cells import Cells
from answerd.server.certificate import expiry
from answerd.server.exposition import Exposition, TallyExposition
from answerd.server.live_states import LiveStates
from answerd.server.metrics import BUCKETS, CELLS, MICROSECONDS, REQUESTS, SECONDS, AdminCounts, RequestCounts
from answerd.server.request_log import RequestLog
from answerd.store.files import FileStore
from answerd.store.loader import Loader
from answerd.store.nodes import Node
from answerd.store.states import Waiting
from tests.support.installs import known, memory_of
from tests.support.pages import rows, words

WATCHED = [("500", "failed"), ("404", "unclaimed"), ("503", "busy"), ("403", "refused")]
"""Statuses of requests without an answer, and their outcomes."""

CHECKOUT = Path(__file__).parents[2]


OF_EVERY_SERIES = ("instance", "job")
SERIES = re.compile(r"\b(?P<name>answerd_\w+)(?:\{(?P<matchers>[^}]*)\})?")
MATCHER = re.compile(r"(?P<label>\w+)(?P<operator>=~|!~|!=|=)\"(?P<value>[^\"]*)\"")


def families_of(exposition: Exposition) -> list[Metric]:
    return list(text_string_to_metric_families(exposition().decode()))


def values_by_series(families: Iterable[Metric]) -> dict[str, dict[str, set[str]]]:
    """The labels of each series of a scrape, and the values that each has."""
    found: dict[str, dict[str, set[str]]] = {}
    for sample in (sample for family in families for sample in family.samples):
        labels = found.setdefault(sample.name, {})
        for label, value in sample.labels.items():
            labels.setdefault(label, set()).add(value)
    return found


def test_the_page_has_the_table_of_the_program(exposition: Exposition) -> None:
    table = rows((CHECKOUT / "docs" / "metrics.md").read_text("utf-8"), 5)[1:]
    by_rack = TallyExposition(Summary("rack", [Tally("R1")], Tally(None), []))  # which a scrape has to ask for
    families = [*families_of(exposition), *text_string_to_metric_families(by_rack().decode())]
    of_a_bucket = {"le"}
    assert {
        words(name)[0].removesuffix("_total"): (kind, {*words(its)}, text) for name, kind, its, text, _ in table
    } == {
        family.name: (family.type, {*family.samples[0].labels} - of_a_bucket, family.documentation)
        for family in families
    }
    assert all(who for *_, who in table)


def faults(known: dict[str, dict[str, set[str]]], expression: str, shown: Iterable[str] = ()) -> list[str]:
    """What an expression names that no scrape has; ``shown`` are labels that a text about its result names."""
    found = []
    labels: set[str] = set(OF_EVERY_SERIES)
    for series in SERIES.finditer(expression):
        its = known.get(series["name"])
        if its is None:
            found.append(series["name"])
            continue
        labels |= its.keys()
        for matcher in MATCHER.finditer(series["matchers"] or ""):
            label, value = matcher["label"], matcher["value"]
            if label not in its and label not in OF_EVERY_SERIES:
                found.append(f"{series['name']}: label {label}")
            values = its.get(label, set())
            wanted = value.split("|") if "~" in matcher["operator"] else [value]
            found += [f"{label}={one}" for one in wanted if values and one not in (*values, "")]
    grouped = {label for group in re.findall(r"\bby \(([^)]*)\)", expression) for label in re.findall(r"\w+", group)}
    found += [f"by {label}" for label in grouped - labels]
    if re.search(r"\b(?:sum|min|max|count|avg)\b", expression):
        labels = grouped
    return found + [f"a text: {label}" for label in shown if label not in labels]


def test_an_alert_names_metrics_and_labels_that_there_are(exposition: Exposition) -> None:
    known = values_by_series(families_of(exposition))
    (group,) = yaml.safe_load((CHECKOUT / "etc/answerd-alerts.yml").read_text("utf-8"))["groups"]
    assert group["rules"]
    for rule in group["rules"]:
        told = re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values()))
        assert faults(known, rule["expr"], told) == [], rule["alert"]


def test_a_panel_names_metrics_and_labels_that_there_are(exposition: Exposition) -> None:
    known = values_by_series(families_of(exposition))
    dashboard = json.loads((CHECKOUT / "etc/grafana-answerd.json").read_text("utf-8"))
    targets = [target for panel in dashboard["panels"] for target in panel["targets"]]
    assert targets
    for target in targets:
        legend = re.findall(r"\{\{ *(\w+) *\}\}", target.get("legendFormat", ""))
        assert faults(known, target["expr"], legend) == [], target["expr"]
    queries = " ".join(str(variable["query"]) for variable in dashboard["templating"]["list"])
    assert faults(known, queries) == []


def test_counts_of_several_slots_are_summed_and_survive_a_process() -> None:
    counters = Cells([("a",), ("b", "x")], 3)
    counters.add("a")
    counters.attach(2)
    counters.add("a", by=4)
    counters.add("b", "x")
    assert (counters.total("a"), counters.total("b", "x")) == (5, 1)
    counters.attach(0)  # the successor of a worker that died
    counters.add("a")
    assert counters.total("a") == 6
    counters.attach(1)
    pid = os.fork()
    if pid == 0:
        counters.add("a", by=10)
        os._exit(0)
    os.waitpid(pid, 0)
    assert counters.total("a") == 16


@pytest.mark.parametrize(
    ("given", "cell"),
    [
        ((200, "ks", "machine"), ("200", "ks", "machine")),
        ((200, "", "probe"), ("200", "", "probe")),
        ((503, "", "probe"), ("503", "", "probe")),
        ((404, "", ""), ("404", "", "unclaimed")),
        ((401, "", ""), ("401", "", "refused")),
        ((500, "", ""), ("500", "", "failed")),
        ((503, "", ""), ("503", "", "busy")),
        ((413, "toml", "machine"), ("413", "", "refused")),
    ],
)
def test_a_response_is_counted_once(given: tuple[int, str, str], cell: tuple[str, ...]) -> None:
    counters = Cells(CELLS)
    RequestCounts(counters).answered(*given, 0.03)
    counted = {cell: counters.total(*cell) for cell in REQUESTS.cells if counters.total(*cell)}
    assert counted == {(REQUESTS.name, *cell): 1}
    assert [counters.total(*bucket) for bucket in SECONDS].index(1) == BUCKETS.index(0.05)
    assert counters.total(*MICROSECONDS) == 30_000


@pytest.fixture
def exposition(tmp_path: Path) -> Exposition:
    store = FileStore(tmp_path)
    answers = AnswerSet(Loader(store), WriteCounter(), RequestLog(str(tmp_path / "log")), Preparation(), reports=True)
    documents = [RawDocument(Key(Kind.MACHINE, f"m{number}", "ks"), "x\n") for number in range(3)]
    answers.follower.loader.catalogue = Catalogue().changed([*documents, RawDocument(Key(Kind.GROUP, "g", "toml"), "")])
    counters = Cells(CELLS, 2)
    RequestCounts(counters).answered(200, "ks", "machine", 0.002)
    RequestCounts(counters).answered(401, "", "", 0.0001)
    RequestCounts(counters).shed("connections")
    AdminCounts(counters).answered(409, "", "", 1.0)
    counters.attach(1)
    RequestCounts(counters).answered(200, "ks", "machine", 20.0)
    RequestCounts(counters).answered(200, "installed", "report", 6.0)
    RequestCounts(counters).answered(200, "", "report", 6.0)
    nodes = [Node("site-a", "1.0", 1_800_000_000.0, 12.5, 3, 4)]
    installs = SimpleNamespace(
        current=lambda: memory_of(
            *(known(f"done{number}", State.INSTALLED, 1.0) for number in range(7)),
            *(known(f"silent{number}", State.COPIED, -9_999.0) for number in range(2)),
        ),
        now=lambda: 0.0,
        store=SimpleNamespace(waiting=lambda: Waiting(3, 1.5), nodes=lambda: nodes),
    )
    return Exposition(
        counters,
        Admission(50),
        answers,
        lambda: 1_900_000_000.0,
        cast(LiveStates, installs),
    )


def test_a_scrape_has_the_numbers_of_all_processes(exposition: Exposition) -> None:
    families = families_of(exposition)
    values = {
        (sample.name, *sorted(sample.labels.values())): sample.value for family in families for sample in family.samples
    }
    for status, outcome in WATCHED:  # what an alert waits for is there before it happens
        assert values["answerd_requests_total", "", status, outcome] == 0
    assert values_by_series(families)["answerd_requests_total"]["format"] == {"", "ks"}
    assert values["answerd_requests_total", "200", "ks", "machine"] == 2
    assert values["answerd_requests_total", "", "200", "report"] == 2
    assert (values["answerd_reports_total", "installed"], values["answerd_reports_total", "failed"]) == (1, 0)
    assert (values["answerd_installs", "installed"], values["answerd_installs", "armed"]) == (7, 0)
    assert values["answerd_installs_silent",] == 2
    assert values["answerd_request_seconds_count",] == 5
    assert values["answerd_request_seconds_bucket", "0.0025"] == 2
    assert values["answerd_request_seconds_bucket", "10.0"] == 4
    assert values["answerd_request_seconds_sum",] == pytest.approx(32.0021)
    assert values["answerd_shed_total", "connections"] == 1
    assert values["answerd_admin_requests_total", "409"] == 1
    assert values["answerd_authentication_failures_total", "answers"] == 1
    assert values["answerd_documents", "ks", "machine"] == 3
    assert values["answerd_documents", "group", "toml"] == 1
    assert values["answerd_node_silent_seconds", "site-a"] == 12.5
    assert values["answerd_node_differences",] == 0
    assert values["answerd_ready",] == 0
    assert values["answerd_connections_limit",] == 50
    assert values["answerd_certificate_expiry_timestamp_seconds",] == 1_900_000_000


def test_without_a_certificate_there_is_no_expiry(exposition: Exposition) -> None:
    exposition._certificate_expiry = lambda: None
    assert b"certificate" not in exposition()


def test_without_states_there_are_no_installs(exposition: Exposition) -> None:
    exposition._installs = None
    assert b"answerd_installs" not in exposition()


def test_a_text_that_is_no_certificate_has_no_expiry() -> None:
    assert expiry("-----BEGIN CERTIFICATE-----\nMAAA\n-----END CERTIFICATE-----\n") is None
