"""A program that asks a DHCP server as firmware and iPXE do, run in the network of the server, and prints the offers.

Its argument is a JSON list of pairs: the architecture that the client names (option 93), and whether it is iPXE. It
prints a list of triples: the name of the boot file, how the server calls itself (option 60), and what PXELINUX puts
before the names of other files (option 210).
"""

from __future__ import annotations

import json
import socket
import struct
import sys

SERVER, CLIENT = 67, 68
DISCOVER = 1
MESSAGE_TYPE, VENDOR_CLASS, ARCHITECTURE, FILE_NAME, USER_CLASS, PATH_PREFIX = 53, 60, 93, 67, 77, 210
WANTED = bytes((1, 3, 54, 60, 66, 67, 175))
COOKIE = bytes.fromhex("63825363")
FIRST_HTTP = 15
"""Architectures from here on boot by HTTP."""
WAIT_SECONDS = 20.0


def discover(number: int, architecture: int, *, is_ipxe: bool) -> bytes:
    """A broadcast of a machine with its own number."""
    caller = "HTTPClient" if architecture >= FIRST_HTTP else "PXEClient"
    options = [
        (MESSAGE_TYPE, bytes((DISCOVER,))),
        (VENDOR_CLASS, f"{caller}:Arch:{architecture:05}:UNDI:003001".encode()),
        (ARCHITECTURE, struct.pack(">H", architecture)),
        (94, bytes((1, 3, 1))),
        (97, bytes(17)),
        (55, WANTED),
    ]
    if is_ipxe:
        options += [(USER_CLASS, b"iPXE"), (175, bytes.fromhex("b105011af4100eb5"))]
    head = struct.pack(">BBBBIHH", 1, 1, 6, 0, number, 0, 0x8000) + bytes(16)
    card = bytes.fromhex("02005e0053") + bytes((number,))
    body = b"".join(bytes((code, len(value))) + value for code, value in options)
    return head + card.ljust(16, b"\0") + bytes(192) + COOKIE + body + b"\xff"


def offered(reply: bytes) -> tuple[str, str, str]:
    """The boot file, the vendor class and the prefix of a reply."""
    options: dict[int, bytes] = {}
    rest = reply[240:]
    while rest and rest[0] != 255:
        if rest[0] == 0:
            rest = rest[1:]
            continue
        options[rest[0]] = rest[2 : 2 + rest[1]]
        rest = rest[2 + rest[1] :]
    name = options.get(FILE_NAME) or reply[108:236]
    return name.rstrip(b"\0").decode(), options.get(VENDOR_CLASS, b"").decode(), options.get(PATH_PREFIX, b"").decode()


def ask(interface: str, number: int, architecture: int, *, is_ipxe: bool) -> tuple[str, str, str]:
    """Ask until an offer is there. Raises `TimeoutError`."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
        sender.bind(("", CLIENT))
        sender.settimeout(1.0)
        for _ in range(int(WAIT_SECONDS)):
            sender.sendto(discover(number, architecture, is_ipxe=is_ipxe), ("255.255.255.255", SERVER))
            try:
                reply = sender.recv(4096)
                while struct.unpack(">I", reply[4:8])[0] != number:  # of an earlier one
                    reply = sender.recv(4096)
            except TimeoutError:
                continue
            return offered(reply)
    raise TimeoutError(f"no offer for architecture {architecture}")


if __name__ == "__main__":
    asked = enumerate(json.loads(sys.argv[2]), 1)
    print(json.dumps([ask(sys.argv[1], number, code, is_ipxe=is_ipxe) for number, (code, is_ipxe) in asked]))
