"""PXELINUX on BIOS and GRUB on UEFI from power-on, led as their pages say: a menu, an install, and its second start.

Rules: docs/installers/pxelinux.md, docs/installers/grub.md, docs/install-once.md#what-a-refused-machine-gets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.installers.conftest import Unpack, file_of
from tests.installers.disks import WORD, bios_disk, uefi_disk
from tests.installers.machines import LOADER_SECONDS, Machine, bios, uefi
from tests.installers.networks import ADDRESS, URL, Boot, Network, inside, network, start
from tests.support.installer_pages import PAGES
from tests.support.pages import CHECKOUT
from tests.support.service import run

MAC = "52:54:00:1e:00:01"
NAME = "52-54-00-1e-00-01"
TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
"""Kinds of nginx's temporary files: its own folder for them is there only where it is installed."""
MENUS = CHECKOUT / "examples" / "menu" / "answers"
MENU_OF_PXELINUX = """# answer: once
UI menu.c32
MENU TITLE MARK of {{ mac | colons }}
TIMEOUT 20
ONTIMEOUT install
LABEL install
  KERNEL /ipxe.lkrn
  APPEND dhcp && echo INSTALLING && imgfetch --name r {{ report }}/installed && reboot
LABEL disk
  LOCALBOOT -1
"""
"""Its installer is iPXE's build for a kernel's place, which reports and begins the machine again."""

MENU_OF_GRUB = """# answer: once
set timeout=2
menuentry "MARK of {{ mac | colons }}" {
  echo INSTALLING
  cat (http,192.0.2.10:8000)/report/{{ report | split("/") | last }}/installed
  sleep 1
  reboot
}
menuentry "the disk" {
  exit
}
"""


def block(page: str, before: str) -> str:
    """The block of a page that follows a line with some words."""
    found = re.search(rf"^[^\n]*{re.escape(before)}[^\n]*\n\n```\w*\n(.*?)^```$", PAGES[page], re.MULTILINE | re.DOTALL)
    assert found, before
    return found[1]


def card(rom: str | None = None) -> list[str]:
    """The network card, first in the boot order."""
    return ["-device", f"virtio-net-pci,netdev=n0,mac={MAC},bootindex=1" + ("" if rom is None else f",romfile={rom}")]


@contextmanager
def site_with_pxelinux(
    unpacked: Unpack, scratch: Path, monkeypatch: pytest.MonkeyPatch, documents: dict[str, str]
) -> Iterator[Network]:
    """DHCP, TFTP and nginx as the page has them: nginx has the modules, and passes `pxelinux.cfg/` on."""
    modules = file_of("/usr/lib/syslinux/modules/bios/menu.c32", "syslinux-common").parent
    loader = file_of("/usr/lib/PXELINUX/lpxelinux.0", "pxelinux")
    kernel = file_of("/usr/lib/ipxe/ipxe.lkrn", "ipxe")
    nginx = unpacked("nginx") / "usr/sbin/nginx"
    web = scratch / "web"
    web.mkdir()
    for file in (kernel, *(modules / f"{name}.c32" for name in ("ldlinux", "menu", "libutil"))):
        (web / file.name).write_bytes(file.read_bytes())
    own = block("pxelinux", "nginx").replace("/srv/tftp", str(web)).replace("127.0.0.1:8000", "192.0.2.10:8000")
    folders = "".join(f"{kind}_temp_path {scratch}/{kind}; " for kind in TEMPORARY)
    config = scratch / "nginx.conf"
    config.write_text(
        f"pid {scratch}/nginx.pid; user root; daemon off; error_log {scratch}/nginx.errors; events {{}}\n"
        f"http {{ access_log off; {folders}\n{own}}}\n"
    )
    boot = Boot(block("pxelinux", "With dnsmasq"), {"lpxelinux.0": loader.read_bytes()})
    states = scratch / "state.db"
    with (
        ExitStack() as ending,
        network(
            scratch,
            monkeypatch,
            documents,
            boot=boot,
            SERVICE_STATE_PATH=states,
            SERVICE_TRUSTED_PROXIES=ADDRESS,
            SERVICE_URL=URL,
        ) as lab,
    ):
        # It opens the log that is built in before it reads its configuration.
        command = [str(nginx), "-e", f"{scratch}/nginx.errors", "-c", str(config), "-p", str(scratch)]
        start(ending, [*inside(lab.name), *command])
        yield lab


def installs_once(lab: Network, machine: Machine, scratch: Path) -> None:
    """Follow a machine from its menu to its second start from the disk."""
    machine.wait_for("the second start from disk", lambda: machine.said.count(WORD) > 1, 2 * LOADER_SECONDS)
    said = machine.said
    assert f"MARK of {MAC}" in said
    assert said.index("INSTALLING") < said.index("is installed since") < said.index(WORD)
    assert len([line for line in lab.service.log if "reported installed" in line]) == 1
    done = run("installs", "--json", SERVICE_STATE_PATH=scratch / "state.db", SERVICE_ANSWERS_DIR=scratch / "answers")
    (record,) = json.loads(done.stdout)["installs"]
    assert (record["state"], record["starts"]) == ("installed", 1)


def test_pxelinux_shows_a_menu_installs_once_and_starts_from_the_disk(
    unpacked: Unpack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = {f"{NAME}.pxelinux": MENU_OF_PXELINUX}
    with (
        site_with_pxelinux(unpacked, tmp_path, monkeypatch, documents) as lab,
        lab.machine(*bios(), *card(), *bios_disk(tmp_path)) as machine,
    ):
        installs_once(lab, machine, tmp_path)


@pytest.mark.parametrize("default", ["the page's", "a menu"])
def test_pxelinux_of_a_machine_that_nobody_knows_gets_the_default_last(
    default: str, unpacked: Unpack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    menu = (MENUS / "default.pxelinux").read_text().replace("TIMEOUT 200", "TIMEOUT 20")
    documents = {"default.pxelinux": menu if default == "a menu" else block("pxelinux", "`default.pxelinux`")}
    with (
        site_with_pxelinux(unpacked, tmp_path, monkeypatch, documents) as lab,
        lab.machine(*bios(), *card(), *bios_disk(tmp_path), "-no-reboot") as machine,
    ):
        said = machine.wait_for_end()
        asked = re.findall(r"GET /pxelinux\.cfg/(\S+) .* (200|404) ", "\n".join(lab.service.log))
    assert WORD in said
    assert ("What is this machine to become?" in said) == (default == "a menu")
    assert asked[-1] == ("default", "200")
    assert {status for name, status in asked if name != "default"} == {"404"}  # menu.c32 reads it again
    assert f"01-{NAME}" in dict(asked)


@contextmanager
def site_with_grub(
    unpacked: Unpack, scratch: Path, monkeypatch: pytest.MonkeyPatch, documents: dict[str, str]
) -> Iterator[Network]:
    """DHCP and TFTP as the page has them, with Debian 13's signed GRUB: Debian 12's has no HTTP."""
    signed = unpacked("grub-efi-amd64-signed", release=13) / "usr/lib/grub/x86_64-efi-signed"
    loader = (signed / "grubnetx64.efi.signed").read_bytes()
    files = {"grubnetx64.efi.signed": loader, "grub/grub.cfg": block("grub", "`grub/grub.cfg`").encode()}
    boot = Boot(block("grub", "With dnsmasq"), files)
    with network(scratch, monkeypatch, documents, boot=boot, SERVICE_STATE_PATH=scratch / "state.db") as lab:
        yield lab


def test_grub_shows_a_menu_installs_once_and_starts_from_the_disk(
    unpacked: Unpack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = {f"{NAME}.grub": MENU_OF_GRUB}
    with (
        site_with_grub(unpacked, tmp_path, monkeypatch, documents) as lab,
        lab.machine(*uefi(tmp_path), *card(rom=""), *uefi_disk(tmp_path)) as machine,
    ):
        installs_once(lab, machine, tmp_path)


@pytest.mark.parametrize("default", ["the page's", "a menu"])
def test_grub_of_a_machine_that_nobody_knows_gets_the_default_last_and_runs_no_error(
    default: str, unpacked: Unpack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    menu = (MENUS / "default.grub").read_text().replace("timeout=20", "timeout=2")
    documents = {"default.grub": menu if default == "a menu" else block("grub", "`default.grub`")}
    with (
        site_with_grub(unpacked, tmp_path, monkeypatch, documents) as lab,
        lab.machine(*uefi(tmp_path), *card(rom=""), *uefi_disk(tmp_path), "-no-reboot") as machine,
    ):
        said = machine.wait_for_end()
        asked = re.findall(r"GET /(grub\.cfg\S*) .* (200|404) ", "\n".join(lab.service.log))
    assert asked == [(f"grub.cfg-01-{MAC}", "404"), ("grub.cfg", "200")]
    assert "can't find command" not in said
    assert ("Install Debian" in said) == (default == "a menu")
    assert WORD in said
