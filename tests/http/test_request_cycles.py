"""No request leaves a reference cycle, whoever sends it, to whatever page, with whatever body: none keeps its body.

`answerd.server.os_support` rests on that.

The real program runs with a collector that looks only when it is told to, in each of its processes.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlencode

import pytest

from answerd.server.roles import NEEDED, Role, new_token
from tests.support.console import Browser
from tests.support.replies import Reply, exchange
from tests.support.service import Service
from tests.support.thorough import examples
from tests.support.waiting import wait_until

TOKENS = {role: new_token(f"{role}-token", role) for role in Role}
LONG = 50_000
"""Characters of a text that only a body holds."""

COLLECTOR = f'''
import gc, os, signal, types

_freeze = gc.freeze
gc.disable()
gc.enable = gc.freeze = lambda: None


def is_ours(one):
    """Whether it is an object, or a frame, of the program itself; libraries may leave cycles of their own."""
    place = one.f_code.co_filename if isinstance(one, types.FrameType) else type(one).__module__
    return "answerd" in place


def look(*_):
    """Write how many objects in cycles there are, how many characters of long texts they hold, and what they are."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    gc.set_debug(0)
    found = list(gc.garbage)
    gc.garbage.clear()
    texts = {{id(text): len(text) for one in found for text in gc.get_referents(one)
             if isinstance(text, (str, bytes, bytearray)) and len(text) >= {LONG}}}
    kinds = {{type(one).__qualname__ for one in found}}
    of_libraries = not kinds.isdisjoint(["KSOptionParser"])
    count = sum(map(is_ours, found)) if of_libraries else len(found)
    del found
    gc.collect()
    _freeze()
    held = sum(texts.values())
    os.write(2, f"cycles in {{os.getpid()}}: {{count}} objects, {{held}} characters: {{sorted(kinds)}}\\n".encode())


signal.signal(signal.SIGUSR2, look)
'''

SET = {
    "/groups/kind?format=ks": "# answer: match mac=*\n# answer: once\nlang {{ lang }}\nurl {{ report }}\n",
    "/machines/a?format=ks": "# answer: extends kind\nrootpw {{ secret.root }}\n",
    "/machines/name?format=ks": "lang en_US\n",
    "/default?format=toml": 'a = "{{ serial }}"\n',
    "/inventory/default": "id,serial,mac,password\na,S1,52:54:00:00:00:01,swordfish\nrow,S2,52:54:00:00:00:02,x\n",
}
"""Documents by the path that takes them."""


class Asked(NamedTuple):
    """A request of a role; ``listener`` is ``answers``, ``admin`` or ``console``."""

    listener: str
    role: Role | None
    method: str
    target: str
    content_type: str
    body: bytes
    is_chunked: bool = False

    def __str__(self) -> str:
        kind = f"{len(self.body)} bytes of {self.content_type or 'nothing'}{' in chunks' if self.is_chunked else ''}"
        return f"{self.listener}, {self.role}: {self.method} {self.target[:60]} with {kind}"


class Uncollected:
    """The service, in whose processes the collector looks when it is told to."""

    def __init__(self, service: Service) -> None:
        self.service = service
        assert service.admin is not None
        assert service.address is not None
        host, _, port = service.wait_for_log("console listening on ").rpartition(" ")[2].rpartition(":")
        self.addresses = {"answers": service.address, "admin": service.admin, "console": (host, int(port))}
        self.sessions = {role: self._session(token) for role, (token, _) in TOKENS.items()}

    def _session(self, token: str) -> Browser:
        browser = Browser(self.service, self.addresses["console"])
        assert browser.log_in(token).status == 303
        return browser

    def send(self, asked: Asked) -> Reply:
        host, port = self.addresses[asked.listener]
        headers = {"Host": f"{host}:{port}"}
        if asked.listener == "console":
            headers["Origin"] = f"http://{host}:{port}"
        if asked.role is not None and asked.listener == "console":
            headers["Cookie"] = self.sessions[asked.role].cookie
        elif asked.role is not None:
            headers["Authorization"] = f"Bearer {TOKENS[asked.role][0]}"
        if asked.content_type:
            headers["Content-Type"] = asked.content_type
        body = asked.body
        if asked.is_chunked:
            headers["Transfer-Encoding"] = "chunked"
            body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"
        else:
            headers["Content-Length"] = str(len(body))
        lines = [f"{asked.method} {asked.target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        return exchange((host, port), "\r\n".join([*lines, "", ""]).encode("latin-1") + body)

    def cycles(self) -> list[str]:
        """What the collector finds in all processes, a line for each that has something; frees it."""
        pids, before = self.service.pids, len(self.service.log)
        for pid in pids:
            os.kill(pid, signal.SIGUSR2)

        def found() -> list[str]:
            return [line for line in self.service.log[before:] if line.startswith("cycles in ")]

        wait_until(lambda: len(found()) == len(pids), 20.0)
        return [line for line in found() if ": 0 objects, 0 characters" not in line]


@pytest.fixture(scope="module")
def uncollected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Uncollected]:
    home = tmp_path_factory.mktemp("uncollected")
    (home / "sitecustomize.py").write_text(COLLECTOR)
    tokens = home / "tokens"
    tokens.write_text("".join(f"{line}\n" for _, line in TOKENS.values()))
    tokens.chmod(0o600)
    with Service(
        PYTHONPATH=home,
        SERVICE_STORE="sqlite",
        SERVICE_DB_PATH=home / "answers.db",
        SERVICE_ADMIN_ADDR="127.0.0.1:0",
        SERVICE_CONSOLE_ADDR="127.0.0.1:0",
        SERVICE_TOKENS_FILE=tokens,
        SERVICE_WORKERS=1,
    ) as service:
        running = Uncollected(service)
        wait_until(lambda: running.send(Asked("admin", None, "GET", "/ready", "", b"")).status == 200)
        for target, text in SET.items():
            assert running.send(Asked("admin", Role.ADMIN, "PUT", target, "", text.encode())).status == 200
        yield running


def drawn(rng: random.Random, csrf: dict[Role, str]) -> Asked:
    """A request that somebody might send: any page, method, role and body, of which most do not fit together."""
    listener = rng.choice(["console", "console", "admin", "answers"])
    role = rng.choice([*Role, None])
    name = rng.choice([name for name in NEEDED if ("/console" in name) == (listener == "console")])
    method, _, target = name.partition(" ")
    target = re.sub(r"\{(\w+)[^}]*\}", lambda found: {"revision": "1"}.get(found[1], found[1]), target.split()[0])
    if rng.random() < 0.3:
        method = rng.choice(["GET", "POST", "PUT", "DELETE", "HEAD", "PATCH"])
    if rng.random() < 0.1 and listener == "console":
        target, method = rng.choice(["/console/login", "/console/logout", "/console/none"]), "POST"
    if listener == "answers":
        target = rng.choice(["/ks", "/ubuntu/user-data", "/report/none/installed", "/health", "/none"])
    if target == "/events":
        target = "/history"  # a stream does not end
    query = {
        "name": rng.choice(["a", "default", "kind"]),
        "kind": rng.choice(["machine", "group", "inventory", "none"]),
        "format": rng.choice(["ks", "csv", "toml"]),
        "id": rng.choice(["a", "row", "none"]),
        "mac": rng.choice(["52:54:00:00:00:01", "52:54:00:00:00:03"]),
    }
    query = {label: value for label, value in query.items() if rng.random() < 0.8}
    if rng.random() < 0.8:
        target += f"?{urlencode(query)}"
    size = rng.choice([0, 100, 2 * LONG, 300_000, 1_500_000])
    text = "lang en_US\n" * (size // 11)
    fields = {"csrf": csrf.get(role, "") if role else "", **query, "text": text, "do": rng.choice(["preview", "save"])}
    bodies = {
        "": text.encode(),
        "application/x-www-form-urlencoded": urlencode(fields).encode(),
        "multipart/form-data; boundary=XX": "".join(
            f'--XX\r\nContent-Disposition: form-data; name="{field}"{"; filename=f" if field == "text" else ""}\r\n\r\n'
            f"{value}\r\n"
            for field, value in {**fields, "do": "upload"}.items()
        ).encode()
        + b"--XX--\r\n",
        "application/json": json.dumps(
            {"put": [{"kind": "machine", "identifier": "m1", "format": "ks", "text": text}], "dry_run": True}
        ).encode(),
        "text/plain": b"\xff" + text.encode(),
    }
    content_type = rng.choice([*bodies])
    body = bodies[content_type] if size else b""
    return Asked(listener, role, method, target, content_type, body, rng.random() < 0.3)


def test_no_request_leaves_a_cycle(uncollected: Uncollected) -> None:
    rng = random.Random(os.environ.get("CI") and 7)
    csrf = {role: browser.csrf for role, browser in uncollected.sessions.items()}
    requests = [drawn(rng, csrf) for _ in range(examples(600))]
    for asked in requests:  # what is made once may stay: caches, modules
        uncollected.send(asked)
    uncollected.cycles()
    for asked in requests:
        uncollected.send(asked)
    if not uncollected.cycles():
        return
    guilty = {}
    for asked in requests:
        uncollected.send(asked)
        if left := uncollected.cycles():
            guilty[str(asked)] = left
    assert not guilty, "\n".join(f"{asked}: {left}" for asked, left in guilty.items())
