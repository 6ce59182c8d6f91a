"""Addresses and networks as settings spell them.

Pure values: nothing here binds an address or asks a name server.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Self

from answerd.short_texts import brief

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

HIGHEST_PORT = 65_535

_HOST_NAME = re.compile(r"(?=.{1,253}\Z)[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?\Z")
_PORT = re.compile(r"[0-9]{1,5}\Z")
_MAPPED_PREFIX = 96  # bits of ::ffff:0:0, before the IPv4 address
_LONGEST_SHOWN = 100
"""Characters of a wrong network that a message repeats."""


@dataclass(frozen=True)
class Address:
    """An address to listen on. ``host`` is an IPv4 address, an IPv6 address in canonical form without brackets, or a
    host name in lower case.
    """

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``host:port`` or ``[v6]:port``. Raise `ValueError` with the reason."""
        host, colon, port = text.rpartition(":")
        if not colon or (text.startswith("[") and not host.endswith("]")):
            raise ValueError("write host:port, or [address]:port for IPv6")
        if not host:
            raise ValueError("the host is missing: write 0.0.0.0:port for every IPv4 address of this machine")
        if not _PORT.match(port) or int(port) > HIGHEST_PORT:
            raise ValueError(f"the port must be a number from 0 to {HIGHEST_PORT}")
        return cls(_parse_host(host), int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the address. False for a host name other than ``localhost``."""
        address = _ip_address(self.host)
        return self.host.rstrip(".") == "localhost" if address is None else address.is_loopback

    @property
    def is_wildcard(self) -> bool:
        """Whether it is every address of the machine."""
        address = _ip_address(self.host)
        return address is not None and address.is_unspecified

    @property
    def is_literal(self) -> bool:
        """Whether the host is one address: no name, and not every address of the machine."""
        return _ip_address(self.host) is not None and not self.is_wildcard


def is_public(text: str) -> bool:
    """Whether an IP address is one that strangers may reach. False for a text that is not an IP address."""
    address = _ip_address(text)
    return address is not None and address.is_global


def _ip_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address, IPv4 mapped into IPv6 as IPv4; None for a text that is not an address."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, ipaddress.IPv6Address) else address


def _parse_host(host: str) -> str:
    if host.startswith("[") and host.endswith("]"):
        try:
            return str(ipaddress.IPv6Address(host[1:-1]))
        except ValueError:
            raise ValueError("the text between the brackets is not an IPv6 address") from None
    if ":" in host:
        raise ValueError("an IPv6 address is written in brackets, [address]:port")
    if not host.strip("0123456789."):
        try:
            return str(ipaddress.IPv4Address(host))
        except ValueError:
            raise ValueError("the host is not an IPv4 address") from None
    if not _HOST_NAME.match(host):
        raise ValueError("the host is neither an address nor a host name")
    return host.lower()


def parse_networks(text: str) -> tuple[Network, ...]:
    """Read comma-separated CIDRs. An address alone is a network of its own; bits beyond the prefix are dropped.

    IPv4 mapped into IPv6 (``::ffff:10.0.0.0/104``) is read as IPv4, as peers are. Raise `ValueError` with the reason.
    """
    return tuple(_parse_network(entry.strip()) for entry in text.split(",") if entry.strip())


def _parse_network(entry: str) -> Network:
    try:
        network = ipaddress.ip_network(entry, strict=False)
        mapped = network.network_address.ipv4_mapped if isinstance(network, ipaddress.IPv6Network) else None
        if mapped is None or network.prefixlen < _MAPPED_PREFIX:
            return network
        return ipaddress.IPv4Network((mapped, network.prefixlen - _MAPPED_PREFIX))
    except ValueError:
        raise ValueError(f'"{brief(entry, _LONGEST_SHOWN)}" is not a network such as 10.0.0.0/8 or fd00::/8') from None
