"""What the worst documents and requests of the allowed size cost others: nothing holds the loop for 50 ms.

Each case of ``tests/cost/worst_cases.py`` is put at full size before the running program, while another process asks
``/health`` every 5 ms, and a third asks an idle service beside it, which shows what the machine itself takes. A case
that seems to hold others up is tried again: what happens once in three times was the machine.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from answerd.identity import Kind
from tests.cost.worst_cases import (
    CASES,
    FILLED,
    JSON,
    MACHINE,
    REQUESTS,
    SETS,
    TEXT,
    TOML,
    XML,
    YAML,
    Case,
    Written,
)
from tests.load.torture.figures import Figure, exactly, measured, under
from tests.support.probe import Probes
from tests.support.replies import Reply, exchange, request_bytes
from tests.support.service import Service, write_tree

BAR = 50.0
"""Milliseconds that others may wait longer than on an idle service."""

INTERVAL = 0.005
TRIES = 3
LARGEST_PUT = 262_144
BODY, HEADER, LINE = 1_000_000, 60_000, 8_000
FILE = 1_048_576
CROWDED = ("text: many placeholders", "text: a long comment", "toml: keys", "yaml: keys", "json: keys", "xml: siblings")
"""Files of nothing but keys, elements or placeholders: hundreds of thousands."""

SET = 60_000
"""Bytes in place of the number of documents in a set: two thousand."""

TOKEN = "torture-admin-token-0123456789"
PATIENCE = 300


@dataclass(frozen=True)
class _Case:
    """How a case held others up: milliseconds at most with it, and on the idle service at the same time; how many
    asked, and how many of them got no answer."""

    name: str
    waited: float
    idle: float
    asked: int
    failed: int

    @property
    def late(self) -> float:
        return self.waited - self.idle


def documents(
    scratch: Path, cases: Iterable[str] = (*TEXT, *TOML, *YAML, *JSON, *XML, *FILLED), size: int = LARGEST_PUT
) -> list[Figure]:
    """Documents of 256 KB, written over the admin API, asked for, explained and taken away again."""
    statuses: list[int] = []

    def meet(service: Service, case: Case) -> None:
        for document in case.documents:
            statuses.append(_admin(service, "PUT", _target(document), _cut(document.text, size)).status)
        _ask(service, case)
        _admin(service, "GET", f"/resolve/{MACHINE}?explain=1")
        for document in reversed(case.documents):
            _admin(service, "DELETE", _target(document))

    settings = {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": scratch / "a.db", "SERVICE_ADMIN_ADDR": "127.0.0.1:0"}
    with _serving(scratch, {}, **settings, SERVICE_ADMIN_TOKEN=TOKEN) as (service, idle):
        worst = _each(service, idle, {name: CASES[name](size) for name in cases}, meet)
    proof = f"documents of {size:,} bytes"
    return [
        *_figures(proof, worst),
        measured(proof, "writes", len(statuses)),
        exactly(
            proof, "writes without a status of their own", sum(status not in (200, 400, 409) for status in statuses), 0
        ),
    ]


def requests(scratch: Path, cases: Iterable[str] = REQUESTS, scale: float = 1.0) -> list[Figure]:
    """Requests as large as a request may be."""

    def sized(name: str) -> Case:
        small = CASES[name](LINE // 2).request
        size = BODY if small.body else HEADER if small.headers else LINE
        return CASES[name](int(size * scale))

    def meet(service: Service, case: Case) -> None:
        said = case.request
        headers = "".join(f"{name}: {value}\r\n" for name, value in said.headers)
        first = f"POST {quote(said.path)}?{said.query} HTTP/1.1\r\nHost: s\r\n"
        head = f"{first}{headers}Content-Length: {len(said.body)}\r\n\r\n"
        assert service.address
        exchange(service.address, head.encode() + said.body)

    files = {"default.ks": "lang en\n"}
    for name in cases:
        files |= _files(CASES[name](LINE).documents)
    with _serving(scratch, files) as (service, idle):
        worst = _each(service, idle, {name: sized(name) for name in cases}, meet)
    return _figures("requests of full size", worst)


def files(scratch: Path, cases: Iterable[str] = (*CROWDED, *SETS), size: int = FILE) -> list[Figure]:
    """Files of 1 MB and sets of thousands, picked up while the service runs, and asked for."""
    counter = iter(range(1_000))

    def meet(service: Service, case: Case) -> None:
        folder = scratch / "answers"
        marker = f"marker{next(counter)}"
        write_tree(folder, {**_files(case.documents), f"{marker}.ks": "x\n"})
        _wait_for(service, f"/ks?mac={marker}", 200)
        _ask(service, case)
        for name in (*_files(case.documents), f"{marker}.ks"):
            (folder / name).unlink()
        _wait_for(service, f"/ks?mac={marker}", 404)

    sized = {name: CASES[name](min(size, SET) if name in SETS else size) for name in cases}
    with _serving(scratch, {}) as (service, idle):
        worst = _each(service, idle, sized, meet)
    return _figures(f"files of {size:,} bytes and sets", worst)


def _each(
    service: Service, idle: Service, cases: Mapping[str, Case], meet: Callable[[Service, Case], None]
) -> list[_Case]:
    """How long others waited with each case, the least of a few tries."""
    found: list[_Case] = []
    for name, case in cases.items():
        tries: list[_Case] = []
        while not tries or (len(tries) < TRIES and tries[-1].late >= BAR):
            assert service.address
            assert idle.address
            with (
                Probes(idle.address, interval=INTERVAL) as control,
                Probes(service.address, interval=INTERVAL) as others,
            ):
                meet(service, case)
            results, idly = others.results, control.results
            waited = results.percentile(100), idly.percentile(100)
            tries.append(_Case(name, *waited, len(results.milliseconds), results.failures))
        found.append(min(tries, key=lambda attempt: attempt.late))
    return found


def _figures(proof: str, found: list[_Case]) -> list[Figure]:
    worst = max(found, key=lambda result: result.late)
    for result in found:
        if result.late >= BAR:
            print(f"{proof}: {result.name!r} holds others up for {result.late:.1f} ms", file=sys.stderr, flush=True)
    return [
        measured(proof, "cases", len(found)),
        measured(proof, "requests of others", sum(result.asked for result in found)),
        exactly(proof, "requests of others that failed", sum(result.failed for result in found), 0),
        under(proof, f"others wait longer at most, with {worst.name!r}", worst.late, BAR, "ms"),
        measured(proof, "others on an idle service wait at most", max(result.idle for result in found), "ms"),
        exactly(proof, "cases that hold others up", sum(result.late >= BAR for result in found), 0),
    ]


@contextmanager
def _serving(scratch: Path, files: dict[str, str], **settings: object) -> Iterator[tuple[Service, Service]]:
    """A service on a directory of files, or as the settings say, and an idle one beside it."""
    given = {"SERVICE_TIMEOUT_SECS": PATIENCE, "SERVICE_LOG": "off"}
    (scratch / "idle").mkdir()
    write_tree(scratch / "answers", files)
    (scratch / "answers").mkdir(exist_ok=True)
    with (
        Service(**{**given, "SERVICE_ANSWERS_DIR": scratch / "answers", **settings}) as service,
        Service(**{**given, "SERVICE_ANSWERS_DIR": scratch / "idle"}) as idle,
    ):
        yield service, idle


def _admin(service: Service, method: str, target: str, body: bytes = b"") -> Reply:
    assert service.admin
    headers = {"Authorization": f"Bearer {TOKEN}"}
    return exchange(service.admin, request_bytes(method, target, headers, body), PATIENCE)


def _ask(service: Service, case: Case) -> None:
    assert service.address
    target = f"/{case.documents[-1].extension}?mac={MACHINE}"
    body = case.request.body
    exchange(service.address, request_bytes("POST" if body else "GET", target, {}, body), PATIENCE)


def _target(document: Written) -> str:
    return f"/{document.kind}s/{document.identifier}?format={document.extension}"


def _cut(text: str, size: int) -> bytes:
    """A text as the body of a write, at most so long: what is cut off is one unit of what it repeats."""
    return text.encode()[:size]


def _files(documents: Iterable[Written]) -> dict[str, str]:
    folders = {Kind.GROUP: "groups/", Kind.MACHINE: "", Kind.DEFAULT: ""}
    return {
        f"{folders[document.kind]}{document.identifier or 'default'}.{document.extension}": document.text
        for document in documents
    }


def _wait_for(service: Service, target: str, status: int) -> None:
    for _ in range(100_000):
        if service.get(target).status == status:
            return
        time.sleep(0.02)
    raise AssertionError(f"{target} never was {status}")
