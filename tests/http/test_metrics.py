"""Metrics of the real program: all workers' numbers together, with and without a token, also after a worker died."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from tests.support.replies import exchange, request_bytes
from tests.support.service import Service, write_tree
from tests.support.waiting import wait_until

TOKEN = "metrics-admin-token-0123456789"


def scrape(service: Service) -> dict[tuple[str, ...], float]:
    """Return the samples that the listener of the metrics gives, by name and sorted values of labels."""
    reply = exchange(metrics_address(service), request_bytes("GET", "/metrics", {}))
    assert (reply.status, reply.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    return samples(reply.body)


def samples(text: bytes) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def metrics_address(service: Service) -> tuple[str, int]:
    found = re.search(r"metrics at (\S+):(\d+)", service.wait_for_log("metrics at "))
    assert found
    return found[1], int(found[2])


def answered(service: Service) -> float:
    return scrape(service).get(("answerd_requests_total", "200", "default", "ks"), 0)


def test_all_workers_numbers_are_together_and_survive_a_worker(serving: Callable[..., Service], tmp_path: Path) -> None:
    service = serving(
        SERVICE_STORE="sqlite",
        SERVICE_DB_PATH=tmp_path / "answers.db",
        SERVICE_ADMIN_ADDR="127.0.0.1:0",
        SERVICE_ADMIN_TOKEN=TOKEN,
        SERVICE_METRICS_ADDR="127.0.0.1:0",
        SERVICE_WORKERS=2,
        SERVICE_LOG_FORMAT="json",
    )
    authorization = f"Bearer {TOKEN}"
    put = service.ask_admin("PUT", "/default?format=ks", b"lang en\n", Authorization=authorization)
    assert put.status == 200
    for _ in range(20):
        assert service.get("/ks").status == 200
    assert service.get("/pve").status == 404
    assert service.ask_admin("GET", "/check", Authorization="Bearer wrong").status == 401
    assert service.ask_admin("GET", "/metrics").status == 401
    wait_until(lambda: scrape(service)["answerd_loads_total", "changed"] >= 1)
    values = scrape(service)
    assert values["answerd_requests_total", "200", "default", "ks"] == 20
    assert values["answerd_requests_total", "", "404", "unclaimed"] == 1
    assert values["answerd_request_seconds_count",] == 21
    assert values["answerd_documents", "default", "ks"] == 1
    assert values["answerd_authentication_failures_total", "admin"] == 1
    assert values["answerd_ready",] == 1
    by_admin = samples(service.ask_admin("GET", "/metrics", Authorization=authorization).body)
    assert by_admin["answerd_requests_total", "200", "default", "ks"] == 20

    for child in service.children()[:2]:
        os.kill(child, signal.SIGKILL)
    wait_until(lambda: scrape(service)["answerd_workers_replaced_total",] == 2)
    assert answered(service) == 20


def test_a_file_store_has_metrics_in_a_process_of_their_own(serving: Callable[..., Service], tmp_path: Path) -> None:
    write_tree(tmp_path / "answers", {"default.ks": "lang en\n", "broken.toml": "x ="})
    service = serving(SERVICE_ANSWERS_DIR=tmp_path / "answers", SERVICE_METRICS_ADDR="127.0.0.1:0", SERVICE_WORKERS=2)
    service.wait_for_log("3 processes started: worker 1, worker 2, metrics")
    service.get("/ks")
    wait_until(lambda: answered(service) == 1)
    assert scrape(service)["answerd_problems",] == 1
    wait_until(lambda: scrape(service)["answerd_ready",] == 1)
    address = metrics_address(service)
    for method, path, status in (("HEAD", "/ready", 200), ("GET", "/", 404), ("PUT", "/metrics", 405)):
        assert exchange(address, request_bytes(method, path, {})).status == status
