"""Listening sockets, and the addresses of this machine."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from ipaddress import IPv6Address
from pathlib import Path

from gevent.monkey import get_original

BACKLOG = 4_096  # with the usual 128, a stampede's 503s took seconds (SYN retransmits)
SEND_BUFFER = 131_072  # bytes the kernel holds for a client that does not read; left to itself it would take 4 MB


def bind(host: str, port: int, *, reuse_port: bool = False) -> socket.socket:
    """Return a listening socket. ``host``: an IPv4 or IPv6 address or a name; ``::`` takes IPv4 too. Raises OSError."""
    getaddrinfo = get_original("socket", "getaddrinfo")  # gevent's would start threads before the workers are forked
    family, kind, protocol, _, address = getaddrinfo(host, port, 0, socket.SOCK_STREAM, 0, socket.AI_PASSIVE)[0]
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)  # accepted sockets inherit it
        if reuse_port:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        bound.bind(address)
        bound.listen(BACKLOG)
        bound.setblocking(False)
    except BaseException:
        bound.close()
        raise
    return bound


def local_addresses() -> list[str]:
    """Return the IP addresses of this machine, as the kernel lists them; none where it does not."""
    return [*_local_ipv4(), *_local_ipv6()]


def _local_ipv4() -> Iterator[str]:
    """Yield the addresses of fib_trie: those with ``/32 host LOCAL`` on the line below."""
    address = ""
    for line in _lines_of("/proc/self/net/fib_trie"):
        if "|--" in line:
            address = line.split()[-1]
        elif "/32 host LOCAL" in line:
            yield address


def _local_ipv6() -> Iterator[str]:
    """Yield the addresses of if_inet6: 32 hex digits at the beginning of each line."""
    for line in _lines_of("/proc/self/net/if_inet6"):
        yield str(IPv6Address(bytes.fromhex(line.split()[0])))


def _lines_of(path: str) -> list[str]:
    try:
        return Path(path).read_text("ascii").splitlines()
    except OSError:
        return []
