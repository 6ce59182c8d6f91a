"""The address a request came from: the connection's, or the one that a trusted proxy forwards
(docs/http.md#behind-a-proxy)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address

from answerd.addresses import Network


def forwarded_for(headers: Iterable[tuple[str, str]]) -> list[str]:
    """Return the values of ``X-Forwarded-For`` among headers with lower-case names, in order."""
    return [value for name, value in headers if name == "x-forwarded-for"]


def peer_address(connected: str, forwarded_for: Sequence[str], trusted: Sequence[Network]) -> str:
    """Return the text of the address that counts as the peer's; IPv4 mapped into IPv6 is shown as IPv4.

    ``connected`` is the connection's own address, ``forwarded_for`` the values of the request's ``X-Forwarded-For``
    headers in order. Where the connection comes from a trusted proxy, the last entry that is no trusted proxy counts.
    An entry that is no address ends the search; when it ends without a result, the connection's own address counts.
    """
    if not trusted:
        return _unmapped(connected)
    own = _address(connected)
    if own is None or not _is_in(own, trusted):
        return _unmapped(connected)
    for entry in reversed(",".join(forwarded_for).split(",")):
        text = entry.strip()
        if not text:  # empty members of a list are nothing (RFC 9110, 5.6.1)
            continue
        address = _address(_without_port(text))
        if address is None:
            break
        if not _is_in(address, trusted):
            return str(address)
    return str(own)


def is_within(peer: str, networks: Sequence[Network]) -> bool:
    """Return whether the address of a peer, as `peer_address` gives it, is in one of the networks."""
    address = _address(peer)
    return address is not None and _is_in(address, networks)


def with_port(host: str, port: int) -> str:
    """Return ``host:port``, ``[host]:port`` for IPv6."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _unmapped(text: str) -> str:
    if ":" not in text:
        return text
    address = _address(text)
    return text if address is None else str(address)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text.partition("%")[0] if text.startswith("fe80:") else text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:  # free text, from the client
            return None
        return address.ipv4_mapped or address
    return address


def _is_in(address: IPv4Address | IPv6Address, trusted: Sequence[Network]) -> bool:
    return any(address in network for network in trusted)


def _without_port(entry: str) -> str:
    """Return the address in ``192.0.2.1:8000``, ``[2001:db8::1]:8000``, ``[2001:db8::1]``, or without brackets and
    port."""
    if entry.startswith("["):
        host, bracket, port = entry[1:].partition("]")
        return host if bracket and (not port or (port[0] == ":" and port[1:].isdigit())) else entry
    host, colon, port = entry.partition(":")
    return host if colon and port.isdigit() else entry
