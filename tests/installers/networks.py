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

from answerd.boot import FIRMWARE, boot_config
from tests.installers.conftest import need_root, program
from tests.installers.machines import Machine, Processor, need_tun
from tests.support import service as running
from tests.support.service import Service, write_tree
from tests.support.waiting import PROGRAM_SECONDS

ADDRESS = "192.0.2.10"
OTHER_ADDRESS = "192.0.2.2"
IPXE = Path("/usr/lib/ipxe")
"""Where Debian has its builds of iPXE."""
URL = f"http://{ADDRESS}:8000"
ADDRESS_6 = "2001:db8:0:1::10"
URL_6 = f"http://[{ADDRESS_6}]:8000"


_TIME_WAIT = "/proc/sys/net/ipv4/tcp_max_tw_buckets"


@dataclass(frozen=True)
class Network:
    """The namespace's name, and the service that runs in it."""

    name: str
    service: Service
    scratch: Path

    def forget_ended_connections(self) -> None:
        """Let no connection wait after its end. GRUB uses the same ports with the same sequence numbers after each
        start, and an emulated machine begins again sooner than the wait ends. PXELINUX needs the wait: it reads on
        after the server has closed."""
        _ip("netns", "exec", self.name, "sh", "-c", f"echo 0 >{_TIME_WAIT} || true")

    def machine(self, *arguments: str | Path, processor: Processor = "x86_64") -> Machine:
        """Switch a machine on, whose card is plugged in here."""
        card = ["-netdev", "tap,id=n0,ifname=tap0,script=no,downscript=no"]
        return Machine(self.scratch, *card, *arguments, inside=inside(self.name), processor=processor)


def inside(name: str) -> list[str]:
    """What runs a command in a namespace."""
    return ["ip", "netns", "exec", name]


@contextmanager
def network(
    scratch: Path,
    monkeypatch: pytest.MonkeyPatch,
    documents: Mapping[str, str],
    web: Path | None = None,
    loaders: Path = IPXE,
    proxy: bool = False,
    tftp: Mapping[str, bytes] | None = None,
    ipv6: bool = False,
    **settings: object,
) -> Iterator[Network]:
    """Give a network with the service on these documents, dnsmasq as `boot-config` writes it, and files by HTTP.

    ``loaders``: the builds of iPXE that are served by TFTP. ``proxy``: dnsmasq hands out no addresses; another DHCP
    server does, which says nothing of booting. ``tftp``: machines are led to other loaders than iPXE, and TFTP has
    these files. ``ipv6``: the network has no IPv4.
    """
    need_root()
    need_tun()
    program("ip", "iproute2")
    dnsmasq = program("dnsmasq", "dnsmasq-base")
    with ExitStack() as ending:
        name, other = joined_network(ending, ipv6=ipv6)
        _ip("-n", name, "tuntap", "add", "tap0", "mode", "tap")
        _ip("-n", name, "link", "set", "tap0", "master", "bridge", "up")
        if proxy:
            others = ["--conf-file=/dev/null", "--port=0", "--interface=bridge", "--dhcp-range=192.0.2.100,192.0.2.250"]
            others += ["--leasefile-ro", "--pid-file=", "--user=root", "--group=root", "--no-ping"]
            start(ending, [*inside(other), dnsmasq, "--keep-in-foreground", *others])
        answers = scratch / "answers"
        answers.mkdir()
        write_tree(answers, documents)
        own = {"SERVICE_ANSWERS_DIR": answers, "SERVICE_LISTEN_ADDR": (URL_6 if ipv6 else URL).removeprefix("http://")}
        own |= settings
        with monkeypatch.context() as patched:  # commands run outside, also when the network is gone
            patched.setattr(running, "PROGRAM", [*inside(name), sys.executable, "-m", "answerd"])
            service = Service(**own)
        ending.enter_context(service)
        config = scratch / "dnsmasq.conf"
        written = boot_config("dnsmasq", URL_6 if ipv6 else URL, proxy, ipv6, without_ipxe=tftp is not None)
        config.write_text(_adapted(written, scratch, loaders, tftp))
        start(ending, [*inside(name), dnsmasq, "--keep-in-foreground", f"--conf-file={config}"])
        if web is not None:
            files = ["-m", "http.server", "-d", str(web), "-b", ADDRESS_6 if ipv6 else ADDRESS, "80"]
            start(ending, [*inside(name), sys.executable, *files])
        yield Network(name, service, scratch)


def joined_network(ending: ExitStack, *, ipv6: bool = False) -> tuple[str, str]:
    """Make two namespaces with a bridge each, joined by a cable: `ADDRESS` in the first, `OTHER_ADDRESS` in the other;
    with ``ipv6`` `ADDRESS_6` in the first, and no IPv4.

    Returns their names. Skips the test where none can be made.
    """
    name = f"answerd-{os.getpid()}"
    other = f"{name}-other"
    try:
        for made, address in ((name, ADDRESS), (other, OTHER_ADDRESS)):
            _ip("netns", "add", made)
            ending.callback(_ip, "netns", "delete", made)
            _ip("-n", made, "link", "set", "lo", "up")
            if ipv6:  # addresses count at once, because nobody else has them
                for cards in ("all", "default"):
                    _ip("netns", "exec", made, "sysctl", "-q", "-w", f"net.ipv6.conf.{cards}.accept_dad=0")
            _ip("-n", made, "link", "add", "bridge", "type", "bridge", "forward_delay", "0")  # else 15 s
            _ip("-n", made, "link", "set", "bridge", "up")
            if not ipv6:
                _ip("-n", made, "addr", "add", f"{address}/24", "dev", "bridge")
            elif made == name:
                _ip("-n", made, "addr", "add", f"{ADDRESS_6}/64", "dev", "bridge")
        _ip("-n", name, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", other)
        for made in (name, other):
            _ip("-n", made, "link", "set", "cable", "master", "bridge", "up")
    except subprocess.CalledProcessError as error:  # a container without the right to do so
        pytest.skip(f"no network can be made here: {error.stderr.decode(errors='replace').strip()}")
    return name, other


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=PROGRAM_SECONDS)


def start(ending: ExitStack, command: list[str]) -> None:
    """Start a server that is ended with the network."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ending.callback(process.wait)
    ending.callback(process.terminate)


def _adapted(text: str, scratch: Path, loaders: Path, tftp: Mapping[str, bytes] | None) -> str:
    """The configuration as the service writes it, for this network and for files of the test."""
    root = scratch / "tftp"
    root.mkdir()
    root.chmod(0o755)
    if tftp is not None:
        write_files(root, tftp)
    for firmware in FIRMWARE if tftp is None else ():
        if (loaders / firmware.file).exists():
            shutil.copyfile(loaders / firmware.file, root / firmware.file)
    text = text.replace("interface=eth0", "interface=bridge").replace("tftp-root=/srv/tftp", f"tftp-root={root}")
    own = [f"dhcp-leasefile={scratch}/leases", f"pid-file={scratch}/pid", "user=root", "group=root"]
    own += [f"log-facility={scratch}/dnsmasq.log", "log-dhcp"]
    return "\n".join([text, *own, "no-ping", "no-resolv", "no-hosts", ""])


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files by their names below a folder, which is made where it is not there."""
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


CHECKERS = {
    "dnsmasq": ("dnsmasq-base", "usr/sbin/dnsmasq", ["--test", "-C"]),
    "isc-dhcp": ("isc-dhcp-server", "usr/sbin/dhcpd", ["-t", "-cf"]),
    "kea": ("kea-dhcp4-server", "usr/sbin/kea-dhcp4", ["-t"]),
}

CHECKERS_6 = {
    "dnsmasq": ("dnsmasq-base", "usr/sbin/dnsmasq", ["--test", "-C"]),
    "isc-dhcp": ("isc-dhcp-server", "usr/sbin/dhcpd", ["-6", "-t", "-cf"]),
    "kea": ("kea-dhcp6-server", "usr/sbin/kea-dhcp6", ["-t"]),
}
"""The same for a network without IPv4."""
