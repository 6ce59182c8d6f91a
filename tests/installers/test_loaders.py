"""PXELINUX on BIOS and GRUB on UEFI from power-on, led as their pages say: a menu, an install, and its second start;
GRUB with Secure Boot by UEFI's HTTP, without TFTP.

Rules: docs/installers/pxelinux.md, docs/installers/grub.md, docs/install-once.md#what-a-refused-machine-gets.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.installers.conftest import Unpack, file_of
from tests.installers.disks import WORD, bios_disk, debian_disk, uefi_disk
from tests.installers.machines import LOADER_SECONDS, Machine, arm64, bios, http_only, secure_boot, uefi
from tests.installers.networks import ADDRESS, URL, URL_6, Network, inside, network, start, write_files
from tests.support.installer_pages import PAGES
from tests.support.pages import CHECKOUT
from tests.support.service import run

MAC = "52:54:00:1e:00:01"
NAME = "52-54-00-1e-00-01"
KERNEL = "usr/lib/debian-installer/images/12/amd64/text/debian-installer/amd64"
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
    states = scratch / "state.db"
    with (
        ExitStack() as ending,
        network(
            scratch,
            monkeypatch,
            documents,
            tftp={"lpxelinux.0": loader.read_bytes()},
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


@dataclass(frozen=True)
class Signed:
    """What the page takes from Debian 13, whose signed GRUB has HTTP, and the GRUB of an installed system."""

    shim: bytes
    of_network: bytes
    of_disk: bytes
    suffix: str

    @classmethod
    def of(cls, unpacked: Unpack, suffix: str = "x64") -> Signed:
        """Those for a processor, by what UEFI calls it: ``x64`` or ``aa64``."""
        architecture, grub, folder = {
            "x64": ("", "grub-efi-amd64-signed", "x86_64-efi-signed"),
            "aa64": ("arm64", "grub-efi-arm64-signed", "arm64-efi-signed"),
        }[suffix]
        shim = unpacked("shim-signed", 13, architecture) / "usr/lib/shim"
        signed = unpacked(grub, 13, architecture) / "usr/lib/grub" / folder
        return cls(
            (shim / f"shim{suffix}.efi.signed").read_bytes(),
            (signed / f"grubnet{suffix}.efi.signed").read_bytes(),
            (signed / f"grub{suffix}.efi.signed").read_bytes(),
            suffix,
        )

    def disk(self, scratch: Path) -> list[str]:
        return debian_disk(scratch, self.shim, self.of_disk, self.suffix)


@contextmanager
def site_with_grub(
    signed: Signed,
    scratch: Path,
    monkeypatch: pytest.MonkeyPatch,
    documents: dict[str, str],
    by_http: bool = False,
    ipv6: bool = False,
) -> Iterator[Network]:
    """DHCP, and TFTP or a web server, as the page has them."""
    loaders = {f"shim{signed.suffix}.efi": signed.shim, f"grub{signed.suffix}.efi": signed.of_network}
    config = block("grub", "`grub/grub.cfg`")
    own = {"grub/grub.cfg": (config.replace(URL[7:], URL_6[7:]) if ipv6 else config).encode()}
    web = scratch / "web"
    if by_http:
        write_files(web, own | {f"boot/{name}": content for name, content in loaders.items()})
    with network(
        scratch,
        monkeypatch,
        documents,
        web if by_http else None,
        tftp={} if by_http else own | loaders,
        ipv6=ipv6,
        SERVICE_STATE_PATH=scratch / "state.db",
    ) as lab:
        lab.forget_ended_connections()
        yield lab


def test_grub_shows_a_menu_installs_once_and_starts_from_the_disk(
    unpacked: Unpack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = {f"{NAME}.grub": MENU_OF_GRUB}
    with (
        site_with_grub(Signed.of(unpacked), tmp_path, monkeypatch, documents) as lab,
        lab.machine(*uefi(tmp_path), *card(rom=""), *uefi_disk(tmp_path)) as machine,
    ):
        installs_once(lab, machine, tmp_path)


def test_grub_by_http_with_secure_boot_installs_once_and_starts_from_the_disk(
    unpacked: Unpack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shim and GRUB by UEFI's HTTP boot, nothing by TFTP. GRUB says that it is locked down: Secure Boot is on.

    Not tested here, because no such hardware is: the firmware of machines that are bought, their keys, and their HTTP.
    """
    signed = Signed.of(unpacked)
    documents = {
        f"{NAME}.grub": MENU_OF_GRUB.replace("echo INSTALLING", "echo LOCKED DOWN $lockdown\n  echo INSTALLING")
    }
    own = [*secure_boot(tmp_path), *http_only(), *card(rom=""), *signed.disk(tmp_path)]
    with (
        site_with_grub(signed, tmp_path, monkeypatch, documents, by_http=True) as lab,
        lab.machine(*own) as machine,
    ):
        installs_once(lab, machine, tmp_path)
        assert "LOCKED DOWN y" in machine.said
        assert not any("sent /" in line for line in (tmp_path / "dnsmasq.log").read_text().splitlines())


def test_grub_with_secure_boot_starts_the_kernel_of_the_page_and_no_unsigned_one(
    unpacked: Unpack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel says that Secure Boot is on, and ends because it has no installer."""
    kernel = (unpacked("debian-installer-12-netboot-amd64") / KERNEL / "linux").read_bytes()
    write_files(
        tmp_path / "web",
        {"debian/linux": kernel, "debian/unsigned": kernel[:-4096], "debian/initrd.gz": gzip.compress(b"")},
    )
    document = block("grub", "`52-54-00-12-34-56.grub`")
    for before, after in (
        (" auto=true ", " console=ttyS0 panic=-1 auto=true "),
        ("\nlinux ", "\nlinux /debian/unsigned\nlinux "),
    ):
        assert document.count(before) == 1
        document = document.replace(before, after)
    own = [*secure_boot(tmp_path), *http_only(), *card(rom=""), "-no-reboot"]
    with (
        site_with_grub(Signed.of(unpacked), tmp_path, monkeypatch, {f"{NAME}.grub": document}, by_http=True) as lab,
        lab.machine(*own) as machine,
    ):
        said = machine.wait_for_end()
    assert "bad shim signature" in said
    assert "Secure boot enabled" in said
    assert f"/debian/preseed?mac={MAC}" in said


@pytest.mark.parametrize("default", ["the page's", "a menu"])
def test_grub_of_a_machine_that_nobody_knows_gets_the_default_last_and_runs_no_error(
    default: str, unpacked: Unpack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    menu = (MENUS / "default.grub").read_text().replace("timeout=20", "timeout=2")
    documents = {"default.grub": menu if default == "a menu" else block("grub", "`default.grub`")}
    with (
        site_with_grub(Signed.of(unpacked), tmp_path, monkeypatch, documents) as lab,
        lab.machine(*uefi(tmp_path), *card(rom=""), *uefi_disk(tmp_path), "-no-reboot") as machine,
    ):
        said = machine.wait_for_end()
        asked = re.findall(r"GET /(grub\.cfg\S*) .* (200|404) ", "\n".join(lab.service.log))
    assert asked == [(f"grub.cfg-01-{MAC}", "404"), ("grub.cfg", "200")]
    assert "can't find command" not in said
    assert ("Install Debian" in said) == (default == "a menu")
    assert WORD in said


@pytest.mark.parametrize("by_http", [False, True], ids=["by TFTP", "by HTTP"])
def test_grub_of_an_arm64_machine_that_nobody_knows_starts_from_the_disk(
    by_http: bool, unpacked: Unpack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without Secure Boot: Debian's firmware for it has no keys of Microsoft."""
    signed = Signed.of(unpacked, "aa64")
    documents = {"default.grub": block("grub", "`default.grub`")}
    own = [*arm64(), *(http_only() if by_http else ()), *card(rom=""), *signed.disk(tmp_path), "-no-reboot"]
    with (
        site_with_grub(signed, tmp_path, monkeypatch, documents, by_http) as lab,
        lab.machine(*own, processor="aarch64") as machine,
    ):
        said = machine.wait_for_end()
        asked = re.findall(r"(?:GET|HEAD) /(grub\.cfg\S*) .* (200|404) ", "\n".join(lab.service.log))
    assert list(dict.fromkeys(asked)) == [(f"grub.cfg-01-{MAC}", "404"), ("grub.cfg", "200")]
    assert WORD in said


def test_grub_by_http_without_ipv4_gets_its_answer(
    unpacked: Unpack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Firmware, shim and GRUB have addresses by DHCPv6 alone. Firmware waits a minute for IPv4 first."""
    documents = {f"{NAME}.grub": MENU_OF_GRUB.replace("  cat ", "  # cat ")}
    own = [*uefi(tmp_path), *http_only(), *card(rom=""), "-no-reboot"]
    with (
        site_with_grub(Signed.of(unpacked), tmp_path, monkeypatch, documents, by_http=True, ipv6=True) as lab,
        lab.machine(*own) as machine,
    ):
        said = machine.wait_for_end(2 * LOADER_SECONDS)
        lab.service.wait_for_log(r"2001:db8:0:1:\S+ GET /grub\.cfg-01-52\S+ .* 200 ")
    assert f"MARK of {MAC}" in said
