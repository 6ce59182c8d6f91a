"""A network of its own for one machine: a namespace with the service, dnsmasq and a web server, as a site has them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from answerd.boot import boot_config
from tests.installers.conftest import need_root, program
from tests.installers.machines import Machine, need_tun
from tests.support import service as running
from tests.support.service import Service, write_tree

ADDRESS = "192.0.2.10"
URL = f"http://{ADDRESS}:8000"


@dataclass(frozen=True)
class Network:
    """The namespace's name, and the service that runs in it."""

    name: str
    service: Service
    scratch: Path

    def machine(self, *arguments: str | Path) -> Machine:
        """Switch a machine on, whose card is plugged in here."""
        card = ["-netdev", "tap,id=n0,ifname=tap0,script=no,downscript=no"]
        return Machine(self.scratch, *card, *arguments, inside=inside(self.name))


def inside(name: str) -> list[str]:
    """What runs a command in a namespace."""
    return ["ip", "netns", "exec", name]


@contextmanager
def network(
    scratch: Path,
    monkeypatch: pytest.MonkeyPatch,
    documents: Mapping[str, str],
    web: Path | None = None,
    **settings: object,
) -> Iterator[Network]:
    """Give a network with the service on these documents, dnsmasq as `boot-config` writes it, and files by HTTP."""
    need_root()
    need_tun()
    program("ip", "iproute2")
    dnsmasq = program("dnsmasq", "dnsmasq-base")
    name = f"answerd-{os.getpid()}"
    with ExitStack() as ending:
        try:
            _ip("netns", "add", name)
            ending.callback(_ip, "netns", "delete", name)
            for words in (
                ["link", "set", "lo", "up"],
                ["tuntap", "add", "tap0", "mode", "tap"],
                ["addr", "add", f"{ADDRESS}/24", "dev", "tap0"],
                ["link", "set", "tap0", "up"],
            ):
                _ip("-n", name, *words)
        except subprocess.CalledProcessError as error:  # a container without the right to do so
            pytest.skip(f"no network can be made here: {error.stderr.decode(errors='replace').strip()}")
        answers = scratch / "answers"
        answers.mkdir()
        write_tree(answers, documents)
        own = {"SERVICE_ANSWERS_DIR": answers, "SERVICE_LISTEN_ADDR": f"{ADDRESS}:8000", **settings}
        with monkeypatch.context() as patched:  # commands run outside, also when the network is gone
            patched.setattr(running, "PROGRAM", [*inside(name), sys.executable, "-m", "answerd"])
            service = Service(**own)
        ending.enter_context(service)
        config = scratch / "dnsmasq.conf"
        config.write_text(_adapted(boot_config("dnsmasq", URL), scratch))
        _start(ending, [*inside(name), dnsmasq, "--keep-in-foreground", f"--conf-file={config}"])
        if web is not None:
            files = ["-m", "http.server", "-d", str(web), "-b", ADDRESS, "80"]
            _start(ending, [*inside(name), sys.executable, *files])
        yield Network(name, service, scratch)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def _start(ending: ExitStack, command: list[str]) -> None:
    """Start a server that is ended with the network."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ending.callback(process.wait)
    ending.callback(process.terminate)


def _adapted(text: str, scratch: Path) -> str:
    """The configuration as the service writes it, for this network and for files of the test."""
    tftp = scratch / "tftp"
    tftp.mkdir()
    tftp.chmod(0o755)
    for name in ("ipxe.efi", "undionly.kpxe"):
        if Path(f"/usr/lib/ipxe/{name}").exists():
            shutil.copyfile(f"/usr/lib/ipxe/{name}", tftp / name)
    text = text.replace("interface=eth0", "interface=tap0").replace("tftp-root=/srv/tftp", f"tftp-root={tftp}")
    own = [f"dhcp-leasefile={scratch}/leases", f"pid-file={scratch}/pid", "user=root", "group=root"]
    return "\n".join([text, *own, "no-ping", "no-resolv", "no-hosts", ""])
