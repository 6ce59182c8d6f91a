"""Write a DHCP server's configuration for network boot.

Usage:
  answerd boot-config [--ipv6] [--without-ipxe] [--url URL] DIALECT
  answerd boot-config --proxy-dhcp [--url URL] DIALECT
  answerd boot-config --snippet [--without-ipxe] [--url URL] DIALECT

Prints the configuration of a DHCP server that leads machines of every
architecture through iPXE to this service, or through PXELINUX and GRUB. DIALECT
is dnsmasq, isc-dhcp, kea, mikrotik or pfsense. The addresses of the machines'
network are an example: put in your own. See docs/boot-config.md.

Options:
  --url URL     Where machines reach this service, http://192.0.2.10:8000;
                SERVICE_URL or the listen address when not given, where that
                is not every address.
  --ipv6        For a network without IPv4: DHCPv6 and router advertisements;
                dnsmasq, isc-dhcp and kea.
  --without-ipxe
                PXELINUX for BIOS, shim and GRUB for UEFI, which start with
                Secure Boot too; dnsmasq, isc-dhcp and kea.
  --proxy-dhcp  For a network in which another server hands out the addresses;
                dnsmasq only.
  --snippet     Only what a server that has a configuration already includes
                into it; isc-dhcp and kea.
  -h --help     This text.

Exit status:
  0  it worked
  1  it did not; the reason is on standard error
  2  the command line is wrong, or a file on it is not there

Examples:
  # DHCP, TFTP and boot files by dnsmasq.
  answerd boot-config dnsmasq --url http://192.0.2.10:8000
  # The same in a network without IPv4.
  answerd boot-config --ipv6 --url http://[2001:db8:0:1::10]:8000 dnsmasq
  # Machines with Secure Boot.
  answerd boot-config --without-ipxe --url http://192.0.2.10:8000 dnsmasq
  # What a Kea that runs already has to include.
  answerd boot-config --snippet --url http://192.0.2.10:8000 kea
  # The boot files alone, beside another DHCP server.
  answerd boot-config --proxy-dhcp --url http://192.0.2.10:8000 dnsmasq
"""

from __future__ import annotations

from answerd.boot import DIALECTS, BootConfigError, boot_config, boot_snippet
from answerd.commands import WRONG_USAGE, Arguments, CommandError
from answerd.commands.documents import settings
from answerd.commands.values import one_of


def run(arguments: Arguments) -> int:
    dialect = arguments["DIALECT"]
    one_of("dialect", dialect, DIALECTS)
    try:
        url = arguments["--url"] or _own_url()
        proxy, ipv6, without_ipxe = (bool(arguments[name]) for name in ("--proxy-dhcp", "--ipv6", "--without-ipxe"))
        if arguments["--snippet"]:
            print(boot_snippet(dialect, url, without_ipxe=without_ipxe), end="")
        else:
            print(boot_config(dialect, url, proxy, ipv6, without_ipxe=without_ipxe), end="")
    except BootConfigError as error:
        raise CommandError(str(error), WRONG_USAGE) from None
    return 0


def _own_url() -> str:
    """Return the URL of the service by its settings. Raises `CommandError` where they do not contain it."""
    config = settings()
    if not config.url and (config.listen.is_wildcard or not config.listen.port):
        raise CommandError(
            "give --url: the settings do not say at which address machines reach the service", WRONG_USAGE
        )
    return config.own_url
