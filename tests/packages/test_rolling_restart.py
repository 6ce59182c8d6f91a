"""Three nodes behind the sample for HAProxy are restarted one after the other while machines ask.

Rules: docs/rolling-restarts.md. Run by scripts/test-packages; skipped where HAProxy or PostgreSQL is not installed.
"""

from __future__ import annotations

import http.client
import re
import shutil
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.packages import CHECKOUT
from tests.support.ports import free_port
from tests.support.postgres import MISSING, Cluster, binaries, clusters, home_of
from tests.support.service import Service, run, write_tree
from tests.support.waiting import PATIENCE, wait_until

HAPROXY = shutil.which("haproxy", path="/usr/sbin:/usr/bin:/sbin:/bin")
SAMPLE = (CHECKOUT / "etc/haproxy.cfg").read_text("utf-8")
NODES = (11, 12, 13)
"""The last numbers of the nodes' addresses, 192.0.2.11 in the sample and 127.0.0.11 here: the port of a node that is
restarted on an address of its own is taken by nobody meanwhile."""

MACHINES = 12
REQUESTS = 4_000

pytestmark = [
    pytest.mark.skipif(binaries() is None, reason=MISSING),
    pytest.mark.skipif(HAPROXY is None, reason="haproxy is not installed"),
]


@pytest.fixture
def url() -> Iterator[str]:
    """A database that all nodes share."""
    with clusters() as parent:
        cluster = Cluster(home_of(parent, "primary")).start()
        yield cluster.database()
        cluster.stop(signal.SIGQUIT)


class Nodes:
    """The nodes, each with the settings that the head of the sample names."""

    def __init__(self, url: str, scratch: Path) -> None:
        self.url, self.scratch, self.port = url, scratch, free_port()
        self.given = dict(re.findall(r"^#   (SERVICE_(?:DRAIN_SECS|TRUSTED_PROXIES))=(\S+)", SAMPLE, re.MULTILINE))
        assert self.given.keys() == {"SERVICE_DRAIN_SECS", "SERVICE_TRUSTED_PROXIES"}
        self.given["SERVICE_TRUSTED_PROXIES"] = "127.0.0.1/32"
        self.running: dict[int, Service] = {}

    def start(self, number: int) -> Service:
        """Start the node of this number, and wait until it is ready."""
        service = self.running[number] = Service(
            SERVICE_STORE="postgres",
            SERVICE_DB_URL=self.url,
            SERVICE_REPLICA_PATH=self.scratch / f"{number}.db",
            SERVICE_LISTEN_ADDR=f"127.0.0.{number}:{self.port}",
            **self.given,
        )
        wait_until(lambda: service.get("/ready").status == 200)
        return service

    def sample(self, port: int) -> str:
        """The sample with a node more, with the test's addresses, and without TLS and the admin API."""
        text = SAMPLE[: SAMPLE.index("# The admin API: TLS")]
        text = re.sub(r"^    bind :443 .*\n", "", text, flags=re.M).replace("bind :80\n", f"bind 127.0.0.1:{port}\n")
        text = re.sub(r"^(    server )node2 (192\.0\.2\.1)2(:8000)$", r"\g<0>\n\1node3 \g<2>3\3", text, flags=re.M)
        text, patient = re.subn("(connect|check) 2s", rf"\1 {PATIENCE:.0f}s", text)
        assert patient == 2  # the test's machine may be busy
        return re.sub(r"192\.0\.2\.(\d+):8000", rf"127.0.0.\1:{self.port}", text)


class Machines:
    """Machines that ask without a pause, each from an address of its own, by which HAProxy chooses the node."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.outcomes: Counter[str] = Counter()
        self.is_over = threading.Event()
        self._threads = [threading.Thread(target=self._ask_on, args=(number,)) for number in range(MACHINES)]

    def __enter__(self) -> Machines:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over.set()
        for thread in self._threads:
            thread.join()

    def _ask_on(self, number: int) -> None:
        while not self.is_over.is_set():
            outcome = self.ask(number)
            self.outcomes[outcome] += 1
            if outcome != "200":
                return

    def ask(self, number: int) -> str:
        """Ask once as the machine of this number. Return the status, or what went wrong."""
        source = (f"127.0.1.{number + 1}", 0)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE, source_address=source)
        try:
            connection.request("GET", f"/ks?mac=52:54:00:00:00:{number:02x}")
            response = connection.getresponse()
            text = response.read()
            return str(response.status) if text == b"lang C\n" or response.status != 200 else "another answer"
        except (OSError, http.client.HTTPException) as error:
            return type(error).__name__
        finally:
            connection.close()


def test_every_request_is_answered_while_the_nodes_are_restarted(url: str, tmp_path: Path) -> None:
    write_tree(tmp_path / "documents", {"default.ks": "lang C\n"})
    imported = run("import", str(tmp_path / "documents"), SERVICE_STORE="postgres", SERVICE_DB_URL=url)
    assert imported.returncode == 0, imported.stderr
    nodes, port = Nodes(url, tmp_path), free_port()
    config = tmp_path / "haproxy.cfg"
    config.write_text(nodes.sample(port))
    with ExitStack() as undo:
        for number in NODES:
            nodes.start(number)
        undo.callback(lambda: [service.stop() for service in nodes.running.values()])
        assert HAPROXY
        proxy = subprocess.Popen([HAPROXY, "-db", "-f", config], stdout=subprocess.DEVNULL)
        undo.callback(proxy.wait)
        undo.callback(proxy.terminate)
        wait_until(lambda: proxy.poll() is not None or Machines(port).ask(0) == "200")
        assert proxy.poll() is None
        machines = undo.enter_context(Machines(port))
        for number in NODES:
            before = nodes.running[number]
            assert before.stop() == 0
            after = nodes.start(number)
            after.wait_for_log("GET /ks")  # HAProxy sends machines to it again
            assert set(machines.outcomes) == {"200"}
        wait_until(lambda: sum(machines.outcomes.values()) >= REQUESTS, 4 * PATIENCE)
    assert set(machines.outcomes) == {"200"}
