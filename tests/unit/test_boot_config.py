"""``answerd boot-config``: every kind of firmware gets its build of iPXE, and only iPXE the service.

Where a DHCP server is installed, it judges its dialect itself. Rules: docs/boot-config.md.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from answerd.boot import DIALECTS, FIRMWARE, LONGEST_FILE_NAME, BootConfigError, boot_config, service_at
from tests.support.pages import rows, words
from tests.support.service import run

CHECKOUT = Path(__file__).parents[2]
URL = "http://192.0.2.10:8000"
SCRIPT = f"{URL}/ipxe?mac=${{netX/mac}}&serial=${{serial:uristring}}&uuid=${{uuid}}&product=${{product:uristring}}"
PAGE = (CHECKOUT / "docs/boot-config.md").read_text("utf-8")


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_every_kind_of_firmware_gets_its_file(dialect: str) -> None:
    text = boot_config(dialect, URL)
    files = {f"http://192.0.2.10/boot/{firmware.file}" if firmware.http else firmware.file for firmware in FIRMWARE}
    if dialect == "pfsense":  # its page has one field for HTTP boot
        files.discard("http://192.0.2.10/boot/ipxe-arm64.efi")
    assert {file for file in files if not re.search(rf"(?<![\w/]){re.escape(file)}(?![\w.])", text)} == set()


@pytest.mark.parametrize("dialect", sorted(set(DIALECTS) - {"pfsense"}))
def test_only_ipxe_gets_the_url_of_the_script(dialect: str) -> None:
    guard = {"dnsmasq": "tag:ipxe", "isc-dhcp": '= "iPXE"', "kea": "== 'iPXE'", "mikrotik": "name=answerd-script"}[
        dialect
    ]
    text = boot_config(dialect, URL).replace(r"\$", "$")
    lines = text.splitlines()
    (place,) = [number for number, line in enumerate(lines) if SCRIPT in line]
    assert guard in lines[place] + lines[place - 1]


@pytest.mark.parametrize("host", ["192.0.2.77", "answers.example.org", "[2001:db8::1]"])
def test_a_proxy_names_a_server_with_the_file(host: str) -> None:
    """iPXE for BIOS leaves a proxy's answer aside that has none: "Nothing to boot"."""
    (line,) = [line for line in boot_config("dnsmasq", f"http://{host}", proxy=True).splitlines() if "/ipxe?" in line]
    name, server, address = line.rsplit(",", 2)
    assert name.startswith(f"dhcp-boot=tag:ipxe,http://{host}/ipxe?mac=")
    assert (server, address) == ("", "192.0.2.77" if host == "192.0.2.77" else "192.0.2.10")


def test_the_script_for_pfsense_is_one_that_ipxe_runs() -> None:
    text = boot_config("pfsense", URL)
    assert text.startswith("#!ipxe\n")
    assert f"chain --replace {SCRIPT} || goto failed" in text.splitlines()


def test_the_configuration_of_kea_is_json_with_comments() -> None:
    text = re.sub(r"^\s*//.*$", "", boot_config("kea", URL), flags=re.MULTILINE)
    classes = {client_class["name"]: client_class for client_class in json.loads(text)["Dhcp4"]["client-classes"]}
    assert classes["ipxe"]["boot-file-name"] == SCRIPT
    assert [
        name
        for name, client_class in classes.items()
        if name != "ipxe" and "not member('ipxe')" not in client_class["test"]
    ] == []


def test_the_sample_is_what_the_command_writes() -> None:
    assert (CHECKOUT / "etc/dnsmasq.conf").read_text("utf-8") == boot_config("dnsmasq", URL)


def test_a_long_url_leaves_away_what_is_least_needed() -> None:
    lengths, longest = {}, 0
    for letters in range(1, 80):
        try:
            script = service_at(f"http://{'a' * letters}:8000").script
        except BootConfigError:
            lengths[letters] = 0
            continue
        longest = max(longest, len(script))
        assert "mac=${netX/mac}&serial=${serial:uristring}" in script
        lengths[letters] = script.count("&") + 1
    assert sorted(lengths.values(), reverse=True) == list(lengths.values())
    assert set(lengths.values()) == {4, 3, 2, 0}
    assert longest == LONGEST_FILE_NAME


@pytest.mark.parametrize(
    "url",
    [
        "",
        "192.0.2.10:8000",
        "ftp://a",
        "http://a?b",
        "http://a b",
        'http://a"',
        "http://a\n",
        "http://a'b",
        'http://a/"',
        "http://a/b c",
        "http://a/@b@",
        "http://a#b",
    ],
)
def test_a_url_that_could_break_out_of_the_configuration_is_refused(url: str) -> None:
    with pytest.raises(BootConfigError):
        boot_config("dnsmasq", url)


def test_the_command_takes_the_listen_address_where_it_is_one() -> None:
    done = run("boot-config", "isc-dhcp", SERVICE_LISTEN_ADDR="192.0.2.77:80")
    assert done.returncode == 0
    assert b'"http://192.0.2.77:80/ipxe?' in done.stdout
    named = run("boot-config", "isc-dhcp", SERVICE_LISTEN_ADDR="192.0.2.77:80", SERVICE_URL="https://answers.example")
    assert b'"https://answers.example/ipxe?' in named.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["boot-config", "kea"], b"give --url"),
        (["boot-config", "kae", "--url", URL], b"did you mean kea?"),
        (["boot-config", "kea", "--url", "a b"], b"must be like"),
        (["boot-config", "kea", "--proxy-dhcp", "--url", URL], b"run dnsmasq beside it"),
    ],
)
def test_what_cannot_be_written_says_why(arguments: list[str], said: bytes) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr


def test_the_page_names_every_dialect_and_every_firmware() -> None:
    assert [words(name)[0] for name, _, _ in rows(PAGE, 3) if words(name)] == list(DIALECTS)
    files_of_codes = {
        int(code): words(file)[0] for _, codes, file, _ in rows(PAGE, 4)[1:] for code in codes.split(", ")
    }
    assert files_of_codes == {code: firmware.file for firmware in FIRMWARE for code in firmware.codes}
