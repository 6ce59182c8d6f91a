"""DHCP and TFTP configuration that leads machines through a loader to this service, in the dialects of DHCP servers.

Each dialect is a template in `templates/`; what differs by kind of firmware comes from `FIRMWARE`, the one table of
architectures. Rules: docs/boot-config.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from ipaddress import ip_address
from urllib.parse import urlsplit

PROXY_DIALECT = "dnsmasq"
"""The only dialect whose server can add the boot part to the answers of another DHCP server."""

LONGEST_FILE_NAME = 127
"""Bytes of a boot file name in the fixed field of a DHCP message, without the zero at its end."""

EXAMPLE_ADDRESS = "192.0.2.10"
EXAMPLE_ADDRESS_6 = "2001:db8:0:1::10"

HTTP_CLIENT_6 = bytes.fromhex("00000157") + len(b"HTTPClient").to_bytes(2, "big") + b"HTTPClient"
"""The vendor class (option 16 of DHCPv6) of a server for HTTP boot: the enterprise number of Intel, by which firmware
names itself, then the word that it looks for, with its length (UEFI 2.10, section 24.7.3.1)."""

_QUERY = ("mac=${netX/mac}", "serial=${serial:uristring}", "uuid=${uuid}", "product=${product:uristring}")
"""The parameters of iPXE's query about its machine, the most important first. netX is the card that iPXE booted
from."""

_NEEDED = 2
"""Parts of the query that must fit; the others are left out where the name would be too long."""


PXELINUX = "lpxelinux.0"
"""The build of PXELINUX that has HTTP."""


@dataclass(frozen=True)
class Firmware:
    """One kind of firmware: ``codes`` are its numbers in DHCP option 93, ``file`` is the build of iPXE for it, and
    ``other`` the loader in the place of iPXE.

    ``http`` is true for firmware that fetches by HTTP and not by TFTP. ``pxe_names`` are dnsmasq's names of the codes.
    """

    name: str
    codes: tuple[int, ...]
    file: str
    other: str
    http: bool = False
    pxe_names: tuple[str, ...] = ()


FIRMWARE = (
    Firmware("bios", (0,), "undionly.kpxe", PXELINUX, pxe_names=("x86PC",)),
    Firmware("efi64", (7, 9), "ipxe.efi", "shimx64.efi", pxe_names=("BC_EFI", "X86-64_EFI")),
    Firmware("arm64", (11,), "ipxe-arm64.efi", "shimaa64.efi", pxe_names=("ARM64_EFI",)),
    Firmware("efi64-http", (16,), "ipxe.efi", "shimx64.efi", http=True),
    Firmware("arm64-http", (19,), "ipxe-arm64.efi", "shimaa64.efi", http=True),
)
"""Numbers: the IANA registry of processor architecture types. Files: the names of Debian's package ipxe; those by which
the other loaders look for each other."""


class BootConfigError(ValueError):
    """The requested configuration cannot be written. The text is one line for the operator."""


@dataclass(frozen=True)
class ServiceAddress:
    """The address of the service. ``url`` has no slash at its end; ``host`` is its host, without brackets. ``by_ipxe``:
    machines are led there by iPXE, else by the loaders in its place."""

    url: str
    host: str
    by_ipxe: bool = True

    @property
    def script(self) -> str:
        """The URL that iPXE asks for its script, with iPXE's own variables in it, short enough for a DHCP message."""
        for parts in range(len(_QUERY), _NEEDED - 1, -1):
            made = f"{self.url}/ipxe?{'&'.join(_QUERY[:parts])}"
            if len(made) <= LONGEST_FILE_NAME:
                return made
        raise BootConfigError(
            f"the URL is too long: with what iPXE adds it has more than {LONGEST_FILE_NAME} bytes; use a shorter name"
        )

    @property
    def whole_script(self) -> str:
        """The same without a bound: DHCPv6 has none."""
        return f"{self.url}/ipxe?{'&'.join(_QUERY)}"

    @property
    def tftp(self) -> str:
        """The URL of the TFTP server in a network with IPv6: on the same host, or on an example where only its name is
        known."""
        return f"tftp://[{self.host if ':' in self.host else EXAMPLE_ADDRESS_6}]"

    @property
    def web(self) -> str:
        """The URL of a web server on the same host, port 80."""
        return f"http://[{self.host}]/" if ":" in self.host else f"http://{self.host}/"

    @property
    def loaders(self) -> str:
        """The URL below which firmware that boots by HTTP finds its loader."""
        return f"{self.web}boot"

    @property
    def next_server(self) -> str:
        """The address of the TFTP server: that of the service, or an example where only its name is known."""
        return self.host if _IPV4.match(self.host) else EXAMPLE_ADDRESS


_IPV4 = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}\Z")
_LINK_LOCAL = re.compile(r"https?://\[fe[89ab][0-9a-f]:[0-9a-f:]*(?:%[^\]/]*)?\]", re.IGNORECASE)
_URL = re.compile(r"https?://(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?(?:/[A-Za-z0-9._~/-]*)?\Z")


def service_at(url: str) -> ServiceAddress:
    """Return the service at this URL. Raises `BootConfigError` for any text that is not a plain http or https URL."""
    if _LINK_LOCAL.match(url):
        raise BootConfigError(
            "the URL has a link-local address, which means another card on each machine, with a zone behind % only to "
            "this one: give one of fd00::/8, a global one or a name"
        )
    if not _URL.match(url):
        raise BootConfigError("the URL must be like http://192.0.2.10:8000, without query and blanks")
    host = urlsplit(url).hostname or ""
    if _reaches_nobody(host):
        raise BootConfigError("the URL has an address at which no machine reaches this host: give its own, or a name")
    return ServiceAddress(url.rstrip("/"), host)


def _service_with_ipv4(url: str) -> ServiceAddress:
    """Return the service at a URL for machines that boot by IPv4. Raises `BootConfigError`."""
    service = service_at(url)
    if ":" in service.host:
        raise BootConfigError(
            "the URL has an IPv6 address, which a machine that boots by IPv4 may not reach: give an IPv4 address or a "
            "name, or --ipv6 for a network without IPv4"
        )
    return service


def _reaches_nobody(host: str) -> bool:
    """Return whether a host is every address, the machine itself, or a group of machines."""
    try:
        address = ip_address(host)
    except ValueError:
        return host.lower() == "localhost"
    return address.is_unspecified or address.is_loopback or address.is_multicast


def boot_config(dialect: str, url: str, proxy: bool = False, ipv6: bool = False, *, without_ipxe: bool = False) -> str:
    """Return the configuration in a dialect, a key of `DIALECTS`.

    ``proxy``: for a network in which another DHCP server hands out the addresses. ``ipv6``: for a network without IPv4.
    ``without_ipxe``: PXELINUX with BIOS, and shim and GRUB with UEFI. Raises `BootConfigError`.
    """
    if without_ipxe and (proxy or dialect not in DIALECTS_6):
        raise BootConfigError(f"other loaders than iPXE need {', '.join(DIALECTS_6)}, and no proxy DHCP")
    if ipv6:
        return _boot_config_6(dialect, url, proxy, without_ipxe=without_ipxe)
    if proxy and dialect != PROXY_DIALECT:
        raise BootConfigError(
            f"{dialect} cannot add boot files to the answers of another DHCP server; "
            f"run dnsmasq beside it: answerd boot-config {PROXY_DIALECT} --proxy-dhcp"
        )
    service = replace(_service_with_ipv4(url), by_ipxe=not without_ipxe)
    template, lines = DIALECTS[dialect]
    values = {
        "host": service.host,
        "next_server": service.next_server,
        "script": service.script if service.by_ipxe else "",
    }
    return _written(f"proxy-{template}" if proxy else template, service, values | lines(service))


def boot_snippet(dialect: str, url: str, *, without_ipxe: bool = False) -> str:
    """Return what a DHCP server that has a configuration of its own includes into it; ``dialect`` is one of
    `SNIPPETS`. Raises `BootConfigError`."""
    if dialect not in SNIPPETS:
        raise BootConfigError(
            f"there is no part of a configuration for {dialect}: for {' and '.join(SNIPPETS)} there is"
        )
    service = replace(_service_with_ipv4(url), by_ipxe=not without_ipxe)
    template, lines = DIALECTS[dialect]
    values = {
        "host": service.host,
        "script": service.script if service.by_ipxe else "",
        "proxmox": f"{service.url}/proxmox".encode().hex(),
        **lines(service),
    }
    text = _written(f"snippet-{template}", service, values)
    if dialect != "kea":
        return text
    # Names that no class of the server has, and the TFTP server, which is none of the classes' in a whole file.
    text = re.sub(r"""(?<="name": ")(?=[\w-]+", "test")|(?<=member\(')""", "answerd-", text)
    return text.replace('"boot-file-name"', f'"next-server": "{service.next_server}", "boot-file-name"')


def _boot_config_6(dialect: str, url: str, proxy: bool, *, without_ipxe: bool) -> str:
    if proxy:
        raise BootConfigError("there is no proxy DHCP with IPv6: the server that hands out the addresses says all")
    if dialect not in DIALECTS_6:
        raise BootConfigError(f"{dialect} cannot tell firmware from iPXE with IPv6; {', '.join(DIALECTS_6)} can")
    service = replace(service_at(url), by_ipxe=not without_ipxe)
    if _IPV4.match(service.host):
        raise BootConfigError("the URL has an IPv4 address, which no machine of such a network reaches")
    template, lines = DIALECTS_6[dialect]
    values = {"script": service.whole_script, "tftp": service.tftp}
    return _written(template, service, values | lines(service))


def _written(name: str, service: ServiceAddress, values: Mapping[str, str]) -> str:
    """Return a template with its values. A line that begins with ``@ipxe@`` or ``@other@`` is there with iPXE, or with
    the other loaders."""
    text = resources.files(__name__).joinpath("templates", name).read_text("utf-8")
    kept, left_out = ("ipxe", "other") if service.by_ipxe else ("other", "ipxe")
    text = re.sub(rf"^@{left_out}@.*\n", "", text, flags=re.MULTILINE)
    text = re.sub(rf"^@{kept}@ ?", "", text, flags=re.MULTILINE)
    switch = "" if service.by_ipxe else "--without-ipxe "
    return filled(text, {"url": service.url, "loaders": service.loaders, "switch": switch, **values})


def filled(template: str, values: Mapping[str, str]) -> str:
    """Return a template with each ``@name@`` replaced. Raises `KeyError` for a name without a value."""
    return re.sub(r"@([a-z_]+)@", lambda found: values[found[1]], template)


def _loader(firmware: Firmware, service: ServiceAddress) -> str:
    return firmware.file if service.by_ipxe else firmware.other


def _file(firmware: Firmware, service: ServiceAddress) -> str:
    loader = _loader(firmware, service)
    return f"{service.loaders}/{loader}" if firmware.http else loader


def _prefix(firmware: Firmware, service: ServiceAddress) -> str:
    """Return option 210 for PXELINUX, the URL below which it looks for all else; empty for firmware that has another
    loader."""
    return service.web if _loader(firmware, service) == PXELINUX else ""


def _dnsmasq(service: ServiceAddress) -> dict[str, str]:
    matches, boots, offers = [], [], []
    guard = "tag:!ipxe," if service.by_ipxe else ""
    for firmware in FIRMWARE:
        matches += [f"dhcp-match=set:{firmware.name},option:client-arch,{code}" for code in firmware.codes]
        boots.append(f"dhcp-boot=tag:{firmware.name},{guard}{_file(firmware, service)}")
        if firmware.http:  # firmware takes a URL only from a server that calls itself HTTPClient
            boots.append(f"dhcp-option-force=tag:{firmware.name},{guard}60,HTTPClient")
        if prefix := _prefix(firmware, service):
            boots.append(f"dhcp-option-force=tag:{firmware.name},210,{prefix}")
        offers += [f'pxe-service=tag:!ipxe,{name},"iPXE",{firmware.file}' for name in firmware.pxe_names]
    return {"matches": "\n".join(matches), "boots": "\n".join(boots), "offers": "\n".join(offers)}


def _isc_dhcp(service: ServiceAddress) -> dict[str, str]:
    branches: list[str] = []
    for firmware in FIRMWARE:
        test = " or ".join(f"option client-arch = 00:{code:02x}" for code in firmware.codes)
        more = '    option vendor-class-identifier "HTTPClient";\n' if firmware.http else ""
        if prefix := _prefix(firmware, service):
            asked = "option dhcp-parameter-request-list"  # firmware does not ask for 210
            more = f'    option loader-pathprefix "{prefix}";\n    {asked} = concat({asked}, d2);\n'
        begin = "} elsif" if branches or service.by_ipxe else "if"
        branches.append(f'{begin} {test} {{\n{more}    filename "{_file(firmware, service)}";')
    return {"branches": "\n".join(branches) + "\n}"}


def _kea(service: ServiceAddress) -> dict[str, str]:
    classes = []
    for firmware in FIRMWARE:
        test = " or ".join(f"option[93].hex == 0x{code:04x}" for code in firmware.codes)
        more = ""
        if firmware.http:
            more = ', "option-data": [{"name": "vendor-class-identifier", "data": "HTTPClient", "always-send": true}]'
        if prefix := _prefix(firmware, service):
            option = f'"code": 210, "csv-format": false, "data": "{prefix.encode().hex()}", "always-send": true'
            more = f',\n       "option-data": [{{{option}}}]'
        classes.append(
            f'      {{"name": "{firmware.name}", "test": "{_guarded(test, service)}",\n'
            f'       "boot-file-name": "{_file(firmware, service)}"{more}}}'
        )
    return {"classes": ",\n".join(classes)}


def _guarded(test: str, service: ServiceAddress) -> str:
    """Return a test of Kea that does not hold for iPXE, which has a class of its own."""
    return f"not member('ipxe') and ({test})" if service.by_ipxe else test


WITH_IPV6 = tuple(firmware for firmware in FIRMWARE if firmware.name != "bios")
"""BIOS has no IPv6."""


def _file_6(firmware: Firmware, service: ServiceAddress) -> str:
    return f"{service.loaders if firmware.http else service.tftp}/{_loader(firmware, service)}"


def _dnsmasq_6(service: ServiceAddress) -> dict[str, str]:
    matches, boots = [], []
    guard = "tag:!ipxe," if service.by_ipxe else ""
    for firmware in WITH_IPV6:
        matches += [f"dhcp-match=set:{firmware.name},option6:61,00:{code:02x}" for code in firmware.codes]
        boots.append(f"dhcp-option=tag:{firmware.name},{guard}option6:bootfile-url,{_file_6(firmware, service)}")
        if firmware.http:
            boots.append(f"dhcp-option-force=tag:{firmware.name},{guard}option6:16,343 HTTPClient")
    return {"matches": "\n".join(matches), "boots": "\n".join(boots)}


def _isc_dhcp_6(service: ServiceAddress) -> dict[str, str]:
    branches: list[str] = []
    for firmware in WITH_IPV6:
        test = " or ".join(
            f"option dhcp6.client-arch-type = {code >> 8:02x}:{code & 255:02x}" for code in firmware.codes
        )
        vendor = '    option dhcp6.vendor-class 343 10 "HTTPClient";\n' if firmware.http else ""
        begin = "} elsif" if branches or service.by_ipxe else "if"
        branches.append(f'{begin} {test} {{\n{vendor}    option dhcp6.bootfile-url "{_file_6(firmware, service)}";')
    return {"branches": "\n".join(branches) + "\n}"}


def _kea_6(service: ServiceAddress) -> dict[str, str]:
    classes = []
    for firmware in WITH_IPV6:
        test = " or ".join(f"option[61].hex == 0x{code:04x}" for code in firmware.codes)
        vendor = ""
        if firmware.http:
            data = HTTP_CLIENT_6.hex()
            vendor = f',\n         {{"code": 16, "csv-format": false, "data": "{data}", "always-send": true}}'
        classes.append(
            f'      {{"name": "{firmware.name}", "test": "{_guarded(test, service)}",\n'
            '       "option-data": [\n'
            f'         {{"name": "bootfile-url", "data": "{_file_6(firmware, service)}"}}{vendor}]}}'
        )
    return {"classes": ",\n".join(classes)}


def _mikrotik(service: ServiceAddress) -> dict[str, str]:
    options, sets, matchers = [], [], []
    for firmware in FIRMWARE:
        options.append(f"add name=answerd-{firmware.name} code=67 value=\"s'{_file(firmware, service)}'\"")
        names = f"answerd-{firmware.name}"
        if firmware.http:
            names += ",answerd-http-client"
        sets.append(f'add name=answerd-{firmware.name} options="{names}"')
        vendor = "HTTPClient" if firmware.http else "PXEClient"
        matchers += [
            f"add name=answerd-{firmware.name}-{code} server=dhcp1 address-pool=pool1 code=60 matching-type=substring "
            f'value="{vendor}:Arch:{code:05}" option-set=answerd-{firmware.name}'
            for code in firmware.codes
        ]
    escaped = service.script.replace("$", r"\$")
    return {
        "options": "\n".join(options),
        "sets": "\n".join(sets),
        "matchers": "\n".join(matchers),
        "escaped_script": escaped,
    }


def _pfsense(service: ServiceAddress) -> dict[str, str]:
    fields = {
        "bios": "Default BIOS File Name",
        "efi64": "UEFI 64 bit File Name",
        "arm64": "ARM 64 bit File Name",
        "efi64-http": "UEFI HTTPBoot URL",
    }
    rows = [
        f"#   {fields[firmware.name]:24} {_file(firmware, service)}" for firmware in FIRMWARE if firmware.name in fields
    ]
    return {"fields": "\n".join(rows)}


DIALECTS: Mapping[str, tuple[str, Callable[[ServiceAddress], dict[str, str]]]] = {
    "dnsmasq": ("dnsmasq.conf", _dnsmasq),
    "isc-dhcp": ("isc-dhcp.conf", _isc_dhcp),
    "kea": ("kea.json", _kea),
    "mikrotik": ("mikrotik.rsc", _mikrotik),
    "pfsense": ("pfsense.ipxe", _pfsense),
}
"""Every dialect: its template, and the function that makes the lines which depend on the firmware."""

SNIPPETS = ("isc-dhcp", "kea")
"""The dialects of which there is a part for a server that has a configuration of its own."""

DIALECTS_6: Mapping[str, tuple[str, Callable[[ServiceAddress], dict[str, str]]]] = {
    "dnsmasq": ("dnsmasq-ipv6.conf", _dnsmasq_6),
    "isc-dhcp": ("isc-dhcp-ipv6.conf", _isc_dhcp_6),
    "kea": ("kea-ipv6.json", _kea_6),
}
"""The dialects for a network without IPv4."""
