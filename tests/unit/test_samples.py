"""The shipped samples say what real installers need: DHCP, kernel lines, iPXE's variables."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DNSMASQ = (ROOT / "etc" / "dnsmasq.conf").read_text(encoding="utf-8")
SAMPLES = sorted(
    path
    for folder in ("etc", "docs", "examples", "answerd", ".")
    for path in (ROOT / folder).glob("*.md" if folder == "." else "**/*")
    if path.is_file() and path.suffix not in (".pyc", ".svg")
)


def test_no_sample_asks_for_the_first_card() -> None:
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in SAMPLES}
    assert [path for path, text in texts.items() if re.search(r"\$\{net\d+/", text)] == []


def test_only_ipxe_gets_a_url_as_its_file_name() -> None:
    boots = re.findall(r"^dhcp-boot=(.*)$", DNSMASQ, re.MULTILINE)
    urls = [boot.split(",") for boot in boots if "://" in boot]
    assert urls
    # Firmware that boots by HTTP says so itself, and an installer's DHCP client never does.
    by_http = {
        tag
        for tag, code in re.findall(r"^dhcp-match=set:([\w-]+),option:client-arch,(\d+)$", DNSMASQ, re.M)
        if int(code) >= 15
    }
    assert all("tag:ipxe" in parts or {f"tag:{tag}" for tag in by_http} & set(parts) for parts in urls)
    assert all("tag:!ipxe" in boot for boot in boots if "://" not in boot)
    assert "dhcp-match=set:ipxe,175" in DNSMASQ
    assert not re.search(r"^dhcp-option(?:-force)?=(?:option:bootfile-name|67)\b", DNSMASQ, re.MULTILINE)


def test_the_kernel_line_of_ignition_is_whole() -> None:
    (line,) = [line for line in DNSMASQ.splitlines() if "ignition.config.url=" in line]
    assert {"ignition.firstboot", "ignition.platform.id=metal"} <= set(line.split())
