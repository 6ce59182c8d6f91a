"""Proofs about memory: what clients, operators and documents do to it, each with a bound, and that it comes back.

Each bound is arithmetic from the limits of the service that docs/torture.md names. ``SLACK`` is added once for each
process: what an allocator keeps between requests, and what a dictionary takes when it grows.
"""

from __future__ import annotations

import base64
import itertools
import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.load.torture.crowds import Unread, ask_all
from tests.load.torture.figures import Figure, exactly, measured
from tests.load.torture.footprint import MB, Footprint
from tests.support.replies import exchange, request_bytes
from tests.support.service import Service, write_tree
from tests.support.waiting import wait_until

CONNECTIONS = 2_048
BODY_SHARE = 65_536
"""Bytes of bodies in flight that the service may hold for each connection of its limit, over all of them."""

CONNECTION_STATE = 8_192
"""Bytes of a connection that waits: its objects, and what has been read of its header."""

LARGEST_WAITING = (BODY_SHARE + CONNECTION_STATE) * 9 // 8
"""Bytes of a connection with a body: the buffer of a body grows by eighths."""

SLACK = 16 * MB
LARGEST_BODY = 1_048_576
LARGEST_PUT = 262_144
LARGEST_FILE = 1_048_576
LARGEST_CHANGE = 67_108_864
MOST_DOCUMENTS = 200_000
MOST_OF_A_DRY_RUN = 512 * MB
"""Bytes that a dry run may take beside those of the idle service."""

DRY_RUN_SECONDS = 600

TOKEN = "torture-admin-token-0123456789"
WARM = 32
"""Connections that do the same before anything is measured."""

TIMEOUT = 5
LATE_SECONDS = 4.0
"""Seconds after its deadline at which a connection must be gone: it may linger for two."""


@contextmanager
def _serving(scratch: Path, files: dict[str, str], **settings: object) -> Iterator[Service]:
    """The service on a directory of documents, asked once."""
    write_tree(scratch / "answers", files)
    given = {"SERVICE_ANSWERS_DIR": scratch / "answers", "SERVICE_TIMEOUT_SECS": TIMEOUT, "SERVICE_LOG": "off"}
    with Service(**{**given, **settings}) as service:
        wait_until(lambda: service.get("/health").status == 200)
        yield service


@contextmanager
def _database(scratch: Path, **settings: object) -> Iterator[Service]:
    """The service on an empty database, with the admin API."""
    given = {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": scratch / "answers.db", "SERVICE_ADMIN_ADDR": "127.0.0.1:0"}
    with _serving(scratch, {}, **given, SERVICE_ADMIN_TOKEN=TOKEN, **settings) as service:
        yield service


def _healthy(proof: str, service: Service) -> Figure:
    return exactly(proof, "status of /health afterwards", service.get("/health").status, 200)


# --- what clients can do --------------------------------------------------------------------------------------------


def _unread(proof: str, service: Service, request: bytes, connections: int, bound: int) -> list[Figure]:
    """Connections that send a request and never read, after a few that do the same."""
    assert service.address
    patience = TIMEOUT + LATE_SECONDS
    with closing(Unread(service.address, request, min(WARM, connections))) as crowd:
        crowd.run(patience, lambda: False)
    with (
        Footprint(service.process.pid, bound=bound, returned=2 * SLACK) as memory,
        closing(Unread(service.address, request, connections)) as crowd,
    ):
        crowd.run(patience, lambda: memory.runs_away)
        left = 0 if memory.runs_away else crowd.open
    return [
        measured(proof, "connections", connections),
        *memory.figures(proof),
        exactly(proof, "connections that outlived the deadline", left, 0),
        _healthy(proof, service),
    ]


def amplified(
    scratch: Path, *, connections: int = CONNECTIONS, workers: int = 2, placeholders: int = 10
) -> list[Figure]:
    """One value of nearly 1 MB, which a document repeats, asked for by clients that do not read the answer."""
    lines = "".join(f'line {number} {{{{ serial | default("none") }}}}\n' for number in range(placeholders))
    body = json.dumps({"serial": "A" * (LARGEST_BODY - 1_000)}).encode()
    bound = connections * LARGEST_WAITING + (workers + 1) * SLACK
    settings = {"SERVICE_WORKERS": workers, "SERVICE_MAX_CONNECTIONS": connections}
    with _serving(scratch, {"default.ks": lines}, **settings) as service:
        request = request_bytes("POST", "/ks", {}, body)
        return _unread("a large value, repeated, not read", service, request, connections, bound)


def unread_answers(
    scratch: Path, *, connections: int = 256, workers: int = 2, placeholders: int = 1_000
) -> list[Figure]:
    """Answers of 1 MB out of short values, asked for by clients that do not read them. Each may be held once."""
    value = "A" * 1_000
    lines = "{{ serial }}\n" * placeholders
    answer = placeholders * (len(value) + 1)
    bound = connections * (answer + CONNECTION_STATE) + (workers + 1) * SLACK
    with _serving(scratch, {"default.ks": lines}, SERVICE_WORKERS=workers) as service:
        request = request_bytes("GET", f"/ks?serial={value}", {})
        return _unread(f"answers of {answer:,} bytes, not read", service, request, connections, bound)


def refused_bodies(scratch: Path, *, connections: int = CONNECTIONS, workers: int = 2) -> list[Figure]:
    """Bodies of clients that have no token, each but for its last bytes. None of them is kept."""
    bound = connections * CONNECTION_STATE + (workers + 1) * SLACK
    settings = {
        "SERVICE_ANSWER_TOKEN": "0123456789abcdef0123",
        "SERVICE_WORKERS": workers,
        "SERVICE_MAX_CONNECTIONS": connections,
    }
    with _serving(scratch, {"default.ks": "lang en\n"}, **settings) as service:
        request = request_bytes("POST", "/ks", {}, b"A" * LARGEST_BODY)[:-6]
        return _unread("bodies without a token", service, request, connections, bound)


def slow_bodies(scratch: Path, *, connections: int = CONNECTIONS, workers: int = 2) -> list[Figure]:
    """The same from clients that may ask. What is over the budget is told to come back later."""
    bound = connections * LARGEST_WAITING + (workers + 1) * SLACK
    settings = {"SERVICE_WORKERS": workers, "SERVICE_MAX_CONNECTIONS": connections}
    with _serving(scratch, {"default.ks": "lang en\n"}, **settings) as service:
        request = request_bytes("POST", "/ks", {}, b"A" * LARGEST_BODY)[:-6]
        return _unread("bodies that never end", service, request, connections, bound)


def machines(scratch: Path, *, count: int = 100_000, documents: int = 10_000, workers: int = 2) -> list[Figure]:
    """Ever new machines: each with its own identity, query label, header, user agent, and many with own documents.

    The first fifth is the warm-up. What the others add is what caches grow by.
    """
    files = {
        f"{_mac(number)}.toml": f"key-{number} = '{{{{ label-{number} | default(\"{number}\") }}}}'\n"
        for number in range(documents)
    }
    files["default.ks"] = "lang en\n"
    proof = f"{count:,} different machines"
    with _serving(scratch, files, SERVICE_WORKERS=workers) as service:
        assert service.address
        outcomes = ask_all(service.address, (_strange(number, documents) for number in range(count // 5)))
        with Footprint(service.process.pid, bound=(workers + 1) * SLACK, returned=(workers + 1) * SLACK // 2) as memory:
            requests = (_strange(number, documents) for number in range(count // 5, count))
            outcomes += ask_all(service.address, requests, stop=lambda: memory.runs_away)
        return [
            exactly(proof, "answered 200", outcomes["200"], count),
            *memory.figures(proof),
            _healthy(proof, service),
        ]


def _mac(number: int) -> str:
    return "-".join(f"{octet:02x}" for octet in (0x52, 0x54, *number.to_bytes(4, "big")))


def _strange(number: int, documents: int) -> bytes:
    """The request of a machine like no other. Every second one asks for one of so many documents of its own."""
    headers = {"User-Agent": f"installer/{number}", f"X-Kind-{number}": "a" * (number % 700), f"x-RHN-{number}": "1"}
    path = "toml" if number % 2 else "ks"
    name = _mac(number % documents) if path == "toml" else f"host-{number}"
    return request_bytes(
        "GET", f"/{path}/{name}?label-{number}={number}&serial=s{number}&ip=10.{number % 200}.0.1", headers
    )


def blocked_addresses(scratch: Path, *, count: int = 5_000) -> list[Figure]:
    """Wrong tokens from ever new addresses, as proxies tell them. The first 4,096 fill the table of addresses."""
    proof = f"{count:,} blocked addresses"
    with _database(scratch, SERVICE_TRUSTED_PROXIES="127.0.0.0/8") as service:
        assert service.admin
        ask_all(service.admin, _wrong_tokens(0, 200))
        with Footprint(service.process.pid, bound=SLACK, returned=SLACK) as memory:
            outcomes = ask_all(service.admin, _wrong_tokens(200, 200 + count), stop=lambda: memory.runs_away)
        health = service.ask_admin("GET", "/health").status
    asked = 5 * count
    return [
        exactly(proof, "of the wrong tokens, refused", outcomes["401"] + outcomes["429"], asked),
        *memory.figures(proof),
        exactly(proof, "status of the admin /health afterwards", health, 200),
    ]


def _wrong_tokens(first: int, last: int) -> Iterator[bytes]:
    for number in range(first, last):
        headers = {
            "Authorization": f"Bearer wrong-{number:020}",
            "X-Forwarded-For": ".".join(map(str, (number + (11 << 24)).to_bytes(4, "big"))),
        }
        yield from [request_bytes("GET", "/machines", headers)] * 5


# --- what operators can do ------------------------------------------------------------------------------------------


def group_versions(
    scratch: Path, *, puts: int = 10_000, members: int = 10_900, seconds: float = 45.0, workers: int = 1
) -> list[Figure]:
    """One large group, written again and again, each time with a member more."""
    proof = "PUTs of a large group"
    bound = (workers + 1) * 3 * SLACK  # a few versions at a time: in force, on trial, being prepared
    with _database(scratch, SERVICE_WORKERS=workers) as service:

        def put(number: int) -> int:
            names = ",".join(f'"{_mac(member)}"' for member in range(members))
            text = f'members = [{names},"new-{number}"]\na = {number}\n'
            return service.ask_admin("PUT", "/groups/fleet", text.encode(), Authorization=f"Bearer {TOKEN}").status

        done = [put(number) for number in range(min(20, puts))]
        with Footprint(service.process.pid, bound=bound, returned=SLACK) as memory:
            until = time.monotonic() + seconds
            while len(done) < puts and time.monotonic() < until and not memory.runs_away:
                done.append(put(len(done)))
        return [
            measured(proof, "members", members),
            measured(proof, "PUTs", len(done)),
            exactly(proof, "of them, refused", len(done) - done.count(200), 0),
            *memory.figures(proof),
            _healthy(proof, service),
        ]


def refused_puts(scratch: Path, *, count: int = 2_000) -> list[Figure]:
    """Documents over the limit of the admin API, from clients with the token."""
    proof = f"{count:,} PUTs over {LARGEST_PUT:,} bytes"
    request = request_bytes("PUT", "/machines/a", {"Authorization": f"Bearer {TOKEN}"}, b"#" * (LARGEST_PUT + 1))
    with _database(scratch) as service:
        assert service.admin
        ask_all(service.admin, [request] * 32)
        with Footprint(service.process.pid, bound=2 * SLACK, returned=SLACK) as memory:
            outcomes = ask_all(service.admin, [request] * count, stop=lambda: memory.runs_away)
        return [
            exactly(proof, "refused with 413", outcomes["413"], count),
            *memory.figures(proof),
            _healthy(proof, service),
        ]


def dry_runs(scratch: Path, *, size: int = LARGEST_CHANGE, document: int = 240_000) -> list[Figure]:
    """Dry runs of the largest body: once large documents, whose trees take a hundred times their text, then as many
    small ones as it holds, and these once more.

    The interpreter returns a mebibyte of memory only when no object is left in it, and others make some meanwhile. So
    up to half of the peak stays, free for the next dry run, which adds little to it.
    """
    proof = f"dry runs of {size:,} bytes"

    def body(text: str) -> bytes:
        element = {"kind": "machine", "format": "yaml", "text": text}
        count = min(MOST_DOCUMENTS, size // (len(json.dumps(element)) + 40))
        puts = [{**element, "identifier": f"m{number}"} for number in range(count)]
        return json.dumps({"put": puts, "dry_run": True}).encode()

    flow = "a: [" + "1," * (document // 2) + "]\n"
    # Hundreds of documents, each of which the YAML reader needs half a second or more for.
    with _database(scratch, SERVICE_ADMIN_TIMEOUT_SECS=DRY_RUN_SECONDS) as service:
        statuses = []

        def try_change(text: str) -> None:
            assert service.admin
            request = request_bytes("POST", "/apply", {"Authorization": f"Bearer {TOKEN}"}, body(text))
            statuses.append(exchange(service.admin, request, DRY_RUN_SECONDS).status)

        with Footprint(service.process.pid, bound=MOST_OF_A_DRY_RUN, returned=MOST_OF_A_DRY_RUN // 2) as memory:
            try_change(flow)
            try_change("{}")
        with Footprint(service.process.pid, bound=MOST_OF_A_DRY_RUN, returned=MOST_OF_A_DRY_RUN // 8) as again:
            try_change("{}")
        return [
            exactly(proof, "made", statuses.count(200), len(statuses)),
            *memory.figures(proof),
            *again.figures("the last dry run again"),
            _healthy(proof, service),
        ]


def large_files(scratch: Path, *, rounds: int = 6, size: int = LARGEST_FILE) -> list[Figure]:
    """A document of the largest size, a broken one, and one over it: they come, are asked for, and go."""
    proof = f"files of {size:,} bytes that come and go"
    answers = scratch / "answers"
    line = "# {{ serial }} " + "x" * 80 + "\n"
    texts = {"large.ks": ("lang en\n" + "#" * 79 + "\n") * (size // 88), "broken.ign": "[" * 100 + line * (size // 100)}

    def come_and_go() -> list[int]:
        write_tree(answers, texts)
        with (answers / "over.ks").open("wb") as file:
            file.truncate(4 * LARGEST_FILE)
        write_tree(answers, {"last.ks": "lang en\n"})  # what is there before it is in force no later
        wait_until(lambda: service.get("/ks/last").status == 200, 30.0)
        statuses = [service.get("/ks/large").status, service.get("/ign/broken").status]
        for name in (*texts, "over.ks", "last.ks"):
            (answers / name).unlink()
        wait_until(lambda: service.get("/ks/last").status == 404, 30.0)
        return statuses

    # A text as it was read, decoded, and as it is answered; for each of the two that are read.
    with _serving(scratch, {"other.ks": "lang en\n"}, SERVICE_TIMEOUT_SECS=20) as service:
        come_and_go()
        with Footprint(service.process.pid, bound=2 * 4 * size + SLACK, returned=2 * SLACK) as memory:
            statuses = [status for _ in range(rounds) for status in come_and_go()]
        return [
            exactly(proof, "answered as they must be", statuses.count(200) + statuses.count(500), len(statuses)),
            *memory.figures(proof),
            _healthy(proof, service),
        ]


# --- changes --------------------------------------------------------------------------------------------------------


def changed_files(scratch: Path, *, seconds: float = 30.0, machines: int = 100, workers: int = 1) -> list[Figure]:
    """Files that are created, changed and removed all the time, while clients ask for them."""
    answers = scratch / "answers"
    answers.mkdir(parents=True)

    def change(name: str, text: str | None) -> None:
        path = answers / name
        if text is None:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)

    with _serving(scratch, {}, SERVICE_WORKERS=workers) as service:
        return _changes("changes of files", service, change, seconds, machines=machines, workers=workers)


def changed_rows(scratch: Path, *, seconds: float = 30.0, machines: int = 100, workers: int = 1) -> list[Figure]:
    """The same with the database, through the admin API."""
    with _database(scratch, SERVICE_WORKERS=workers) as service:

        def change(name: str, text: str | None) -> None:
            stem, _, extension = name.rpartition(".")
            target = f"/{stem}" if "/" in stem or stem == "default" else f"/machines/{stem}"
            method, body = ("DELETE", b"") if text is None else ("PUT", text.encode())
            service.ask_admin(method, f"{target}?format={extension}", body, Authorization=f"Bearer {TOKEN}")

        return _changes("changes of rows", service, change, seconds, machines=machines, workers=workers)


FORMS = {
    "toml": 'extends = "base"\nkey = "{}"\nserial = "{{{{ serial }}}}"\n',
    "yaml": "extends: base\nkey: {}\nserial: '{{{{ serial }}}}'\n",
    "xml": '<profile><answer-meta extends="base"/><key>{}</key><serial>{{{{ serial }}}}</serial></profile>\n',
    "ks": "# answer: extends base\n# {}\n# {{{{ serial }}}}\n",
}
"""A machine's document in each family that layers; what it holds is put in."""

BASES = {
    "toml": 'base = "{}"\n',
    "yaml": "base: {}\n",
    "xml": "<profile><base>{}</base></profile>\n",
    "ks": "# base {}\n",
}


def _changes(
    proof: str,
    service: Service,
    change: Callable[[str, str | None], None],
    seconds: float,
    *,
    machines: int,
    workers: int,
) -> list[Figure]:
    """So many seconds of changes after some that warm up; an answer is asked for after every few."""
    rng = random.Random(7)
    numbers = itertools.count()

    def step() -> None:
        extension = rng.choice(list(FORMS))
        padding = base64.b64encode(rng.randbytes(1_500)).decode()
        at, number = rng.randrange(machines), next(numbers)
        if number % 50 == 0:
            change(f"groups/base.{extension}", BASES[extension].format(number))
        elif rng.random() < 0.2:
            change(f"node-{at}.{extension}", None)
        else:
            change(f"node-{at}.{extension}", FORMS[extension].format(f"{number}{padding}"))
        if number % 4 == 0:
            service.get(f"/{extension}/node-{at}?serial=S{number}")

    for extension, text in BASES.items():
        change(f"groups/base.{extension}", text.format(0))
        change(f"default.{extension}", text.format(0))

    def keep_on(until: float, stop: Callable[[], bool]) -> None:
        while time.monotonic() < until and not stop():
            step()

    keep_on(time.monotonic() + seconds / 4, lambda: False)
    began = next(numbers)
    bound = (workers + 2) * SLACK + 2 * machines * len(FORMS) * 16_384  # each document twice: as text and as its tree
    with Footprint(service.process.pid, bound=bound, returned=SLACK // 2) as memory:
        keep_on(time.monotonic() + seconds, lambda: memory.runs_away)
    return [
        measured(proof, "changes", next(numbers) - began),
        measured(proof, "an hour's worth at one in so many seconds", 3_600 / max(1, next(numbers) - began), "s"),
        *memory.figures(proof),
        _healthy(proof, service),
    ]
