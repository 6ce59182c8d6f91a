"""Two nodes behind keepalived, by its sample: the address that machines ask moves to the node that is ready, and back.

The nodes are network namespaces of this machine, joined by a cable of their own, each with the service and keepalived.
Run by scripts/test-packages, as root, where keepalived is. Rules: docs/in-front.md#two-nodes-behind-keepalived.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.packages import CHECKOUT
from tests.support import service as running
from tests.support.service import Service, write_tree
from tests.support.waiting import BUILD_SECONDS, PATIENCE, wait_until

SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
KEEPALIVED = shutil.which("keepalived", path=SYSTEM_PATH)
SHARED = "192.0.2.10"

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or KEEPALIVED is None or shutil.which("ip", path=SYSTEM_PATH) is None,
    reason="needs root, keepalived and ip",
)


class Node:
    """A network namespace with a service and keepalived in it."""

    def __init__(self, number: int, scratch: Path) -> None:
        self.number = number
        self.scratch = scratch
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        outside = os.readlink("/proc/self/ns/net")
        wait_until(lambda: os.readlink(f"/proc/{self.holder.pid}/ns/net") != outside)

    def command(self, *words: str) -> list[str]:
        """The command line that runs a program in there."""
        return ["nsenter", f"--target={self.holder.pid}", "--net", *words]

    def run(self, *words: str) -> str:
        done = subprocess.run(self.command(*words), capture_output=True, text=True, check=True, timeout=BUILD_SECONDS)
        return done.stdout

    def serve(self, answers: Path, monkeypatch: pytest.MonkeyPatch) -> Service:
        """Start the service of this node."""
        monkeypatch.setattr(running, "PROGRAM", self.command(*running.CHECKOUTS))
        return Service(SERVICE_ANSWERS_DIR=answers / str(self.number), SERVICE_LISTEN_ADDR="0.0.0.0:8000")

    def keep_alive(self) -> subprocess.Popen[bytes]:
        """Start keepalived with its sample, as the sample says for this node."""
        text = (CHECKOUT / "etc/keepalived.conf").read_text("utf-8")
        if self.number == 2:
            for first, second in (
                ("state MASTER", "state BACKUP"),
                ("priority 150", "priority 100"),
                ("node1", "node2"),
            ):
                assert first in text
                text = text.replace(first, second)
        config = self.scratch / f"keepalived-{self.number}.conf"
        config.write_text(text)
        config.chmod(0o644)
        assert KEEPALIVED
        files = [f"--{name}={self.scratch}/{name}-{self.number}" for name in ("pid", "vrrp_pid")]
        return subprocess.Popen(
            self.command(KEEPALIVED, "--dont-fork", "--vrrp", f"--use-file={config}", *files),
            start_new_session=True,
        )

    def has_address(self) -> bool:
        return f"inet {SHARED}/" in self.run("ip", "-o", "address", "show", "eth0")

    def ask(self) -> str:
        """What a machine on this node's cable gets from the shared address; empty where nobody answers."""
        words = (
            "curl",
            "--silent",
            "--max-time",
            "2",
            "--noproxy",
            "*",
            f"http://{SHARED}:8000/cfg?mac=52:54:00:00:00:01",
        )
        done = subprocess.run(self.command(*words), capture_output=True, text=True, check=False, timeout=BUILD_SECONDS)
        return done.stdout.strip()


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[list[Node]]:
    """Two nodes with a cable between them."""
    with ExitStack() as undo:
        made = []
        for number in (1, 2):
            node = Node(number, tmp_path)
            undo.callback(node.holder.wait)
            undo.callback(node.holder.terminate)
            made.append(node)
        made[0].run(
            "ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", str(made[1].holder.pid)
        )
        for node in made:
            node.run("ip", "link", "set", "lo", "up")
            node.run("ip", "address", "add", f"192.0.2.{10 + node.number}/24", "dev", "eth0")
            node.run("ip", "link", "set", "eth0", "up")
        yield made


def answered_by(node: Node, number: int) -> float:
    """Wait until the node of this number answers at the shared address. Return the seconds."""
    return wait_until(lambda: node.ask() == f"node {number}")


def test_the_address_is_where_a_node_is_ready(
    nodes: list[Node], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = nodes
    answers = tmp_path / "answers"
    write_tree(answers, {f"{number}/default.cfg": f"node {number}\n" for number in (1, 2)})
    with ExitStack() as undo:
        service = first.serve(answers, monkeypatch)
        undo.callback(service.process.kill)
        undo.enter_context(second.serve(answers, monkeypatch))
        for node in nodes:
            keeping = node.keep_alive()
            undo.callback(keeping.wait)
            undo.callback(keeping.terminate)
        answered_by(second, 1)
        assert (first.has_address(), second.has_address()) == (True, False)

        service.process.kill()
        service.process.wait(PATIENCE)
        print(f"after a node's program was killed: {answered_by(second, 2):.1f} s")
        assert (first.has_address(), second.has_address()) == (False, True)

        service = first.serve(answers, monkeypatch)
        undo.callback(service.process.kill)
        print(f"after it was started again: {answered_by(second, 1):.1f} s")

        processes = service.pids  # the parent alone answers nothing
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        print(f"after it hung: {answered_by(second, 2):.1f} s")
        for process in processes:
            os.kill(process, signal.SIGCONT)
        print(f"after it went on: {answered_by(second, 1):.1f} s")
        service.process.terminate()
        assert service.process.wait(PATIENCE) == 0
