"""``answerd boot-config``: every kind of firmware gets its loader, and only iPXE the service.

Where a DHCP server is installed, it judges its dialect itself. Rules: docs/boot-config.md.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from answerd.boot import (
    DIALECTS,
    DIALECTS_6,
    FIRMWARE,
    LONGEST_FILE_NAME,
    SNIPPETS,
    WITH_IPV6,
    BootConfigError,
    boot_config,
    boot_snippet,
    service_at,
)
from tests.support.pages import page, rows, words
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


@pytest.mark.parametrize("ipv6", [False, True])
@pytest.mark.parametrize("dialect", sorted(DIALECTS_6))
def test_without_ipxe_every_kind_of_firmware_gets_its_other_loader_and_nothing_is_said_of_ipxe(
    dialect: str, ipv6: bool
) -> None:
    text = boot_config(dialect, URL_6 if ipv6 else URL, ipv6=ipv6, without_ipxe=True)
    host = "[2001:db8:0:1::10]" if ipv6 else "192.0.2.10"
    place = f"tftp://{host}/" if ipv6 else ""
    files = {
        f"http://{host}/boot/{firmware.other}" if firmware.http else f"{place}{firmware.other}"
        for firmware in (WITH_IPV6 if ipv6 else FIRMWARE)
    }
    assert {file for file in files if not re.search(rf"(?<![\w/]){re.escape(file)}(?![\w.])", text)} == set()
    said = re.sub(r"^.*--without-ipxe.*$", "", text, flags=re.MULTILINE)
    assert "ipxe" not in said.casefold()
    prefix = "http://192.0.2.10/"
    assert ipv6 or prefix + "\n" in text or f'"{prefix}"' in text or prefix.encode().hex() in text
    assert not re.search(r"^@|@\w+@", text, re.MULTILINE)


@pytest.mark.parametrize("dialect", sorted(set(DIALECTS) - {"pfsense"}))
def test_only_ipxe_gets_the_url_of_the_script(dialect: str) -> None:
    guard = {"dnsmasq": "tag:ipxe", "isc-dhcp": '= "iPXE"', "kea": "== 'iPXE'", "mikrotik": "name=answerd-script"}[
        dialect
    ]
    text = boot_config(dialect, URL).replace(r"\$", "$")
    lines = text.splitlines()
    (place,) = [number for number, line in enumerate(lines) if SCRIPT in line]
    assert guard in lines[place] + lines[place - 1]


@pytest.mark.parametrize("host", ["192.0.2.77", "answers.example.org"])
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


URL_6 = "http://[2001:db8:0:1::10]:8000"
SCRIPT_6 = SCRIPT.replace(URL, URL_6)


@pytest.mark.parametrize("dialect", sorted(DIALECTS_6))
def test_without_ipv4_every_kind_of_firmware_gets_a_url_and_only_ipxe_that_of_the_script(dialect: str) -> None:
    text = boot_config(dialect, URL_6, ipv6=True)
    for firmware in WITH_IPV6:
        place = "http://[2001:db8:0:1::10]/boot" if firmware.http else "tftp://[2001:db8:0:1::10]"
        assert f"{place}/{firmware.file}" in text
    guard = {"dnsmasq": "tag:ipxe,", "isc-dhcp": '= "iPXE"', "kea": "== 'iPXE'"}[dialect]
    lines = text.splitlines()
    (place_of_script,) = [number for number, line in enumerate(lines) if SCRIPT_6 in line]
    assert guard in lines[place_of_script] + lines[place_of_script - 1]
    assert text.count("HTTPClient") + text.count("48545450436c69656e74") >= sum(each.http for each in WITH_IPV6)


def test_keas_configuration_without_ipv4_is_json_with_comments() -> None:
    text = re.sub(r"^\s*//.*$", "", boot_config("kea", URL_6, ipv6=True), flags=re.MULTILINE)
    classes = {one["name"]: one for one in json.loads(text)["Dhcp6"]["client-classes"]}
    assert [option["data"] for option in classes["ipxe"]["option-data"]] == [SCRIPT_6]
    assert all("not member('ipxe')" in one["test"] for name, one in classes.items() if name != "ipxe")
    vendor = classes["efi64-http"]["option-data"][1]
    assert bytes.fromhex(vendor["data"]) == b"\0\0\1\x57\0\x0aHTTPClient"


def test_a_long_url_is_whole_without_ipv4() -> None:
    name = "a" * 60
    assert (
        f"http://{name}:8000/ipxe?mac=${{netX/mac}}&serial=${{serial:uristring}}&uuid=${{uuid}}&product="
        in boot_config("dnsmasq", f"http://{name}:8000", ipv6=True)
    )


@pytest.mark.parametrize(
    ("dialect", "url", "proxy", "said"),
    [
        ("dnsmasq", "http://192.0.2.10:8000", False, "IPv4 address"),
        ("kea", "http://[fe80::1]:8000", False, "link-local"),
        ("kea", "http://[fe80::1%25eth0]:8000", False, "link-local"),
        ("kea", "http://[fe80::1%eth0]:8000", False, "link-local"),
        ("mikrotik", URL_6, False, "dnsmasq, isc-dhcp, kea can"),
        ("pfsense", URL_6, False, "dnsmasq, isc-dhcp, kea can"),
        ("dnsmasq", URL_6, True, "no proxy DHCP"),
    ],
)
def test_what_has_no_sense_without_ipv4_is_refused(dialect: str, url: str, proxy: bool, said: str) -> None:
    with pytest.raises(BootConfigError, match=said):
        boot_config(dialect, url, proxy, ipv6=True)


@pytest.mark.parametrize("ipv6", [False, True])
@pytest.mark.parametrize("host", ["[::]", "[::1]", "[ff02::1]", "localhost", "0.0.0.0", "127.0.0.1", "224.0.0.1"])
def test_an_address_that_reaches_nobody_is_refused(host: str, ipv6: bool) -> None:
    said = "IPv4 address|no machine reaches" if ipv6 else "no machine reaches"
    with pytest.raises(BootConfigError, match=said):
        boot_config("kea", f"http://{host}:8000", ipv6=ipv6)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_an_ipv6_address_is_refused_for_machines_that_boot_by_ipv4(dialect: str) -> None:
    makers = [boot_config, *([boot_snippet] if dialect in SNIPPETS else [])]
    for make in makers:
        with pytest.raises(BootConfigError, match="--ipv6"):
            make(dialect, URL_6)


def test_a_link_local_address_is_refused_with_ipv4_too() -> None:
    with pytest.raises(BootConfigError, match="link-local"):
        boot_config("dnsmasq", "http://[fe80::1%25eth0]:8000")


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
        (["boot-config", "mikrotik", "--without-ipxe", "--url", URL], b"need dnsmasq, isc-dhcp, kea"),
    ],
)
def test_what_cannot_be_written_says_why(arguments: list[str], said: bytes) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr


def test_the_page_names_every_dialect_and_every_firmware() -> None:
    assert [words(name)[0] for name, _, _ in rows(PAGE, 3) if words(name)] == list(DIALECTS)
    files_of_codes = {
        int(code): (words(file)[0], words(other)[0])
        for _, codes, file, other, _ in rows(PAGE, 5)[1:]
        for code in codes.split(", ")
    }
    assert files_of_codes == {code: (firmware.file, firmware.other) for firmware in FIRMWARE for code in firmware.codes}


def test_the_pages_of_the_loaders_name_their_files_and_the_command() -> None:
    pages = [page("installers/grub"), page("installers/pxelinux")]
    assert {
        firmware.other for firmware in FIRMWARE if not any(f"`{firmware.other}`" in text for text in pages)
    } == set()
    assert all(f"answerd boot-config --without-ipxe --url {URL} dnsmasq" in text for text in pages)


@pytest.mark.parametrize("without_ipxe", [False, True])
def test_a_snippet_for_kea_is_a_list_of_classes_with_names_of_their_own(without_ipxe: bool) -> None:
    text = re.sub(r"^\s*//.*$", "", boot_snippet("kea", URL, without_ipxe=without_ipxe), flags=re.MULTILINE)
    classes = json.loads(f"[{text}]")
    names = {one["name"] for one in classes}
    assert names == {f"answerd-{one.name}" for one in FIRMWARE} | (set() if without_ipxe else {"answerd-ipxe"})
    assert {name for one in classes for name in re.findall(r"member\('([^']+)'\)", one["test"])} <= names
    assert {one["next-server"] for one in classes} == {"192.0.2.10"}
    whole = re.sub(r"^\s*//.*$", "", boot_config("kea", URL, without_ipxe=without_ipxe), flags=re.MULTILINE)
    files = [one["boot-file-name"] for one in json.loads(whole)["Dhcp4"]["client-classes"]]
    assert [one["boot-file-name"] for one in classes] == files


def test_a_snippet_has_no_subnet_and_is_of_two_dialects() -> None:
    text = boot_snippet("isc-dhcp", URL)
    assert "\nsubnet" not in text
    assert "authoritative" not in text
    assert SCRIPT in text
    with pytest.raises(BootConfigError, match="isc-dhcp and kea"):
        boot_snippet("dnsmasq", URL)
    assert run("boot-config", "--snippet", "--url", URL, "kea").stdout.decode() == boot_snippet("kea", URL)
