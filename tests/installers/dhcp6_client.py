"""A program that asks a DHCPv6 server as firmware and iPXE do, in the network of the server, and prints the answers.

Arguments and output are those of `dhcp_client`: architectures (option 61) with whether the client is iPXE, and for each
the URL of the boot file (option 59) with how the server calls itself (option 16).
"""

from __future__ import annotations

import json
import socket
import struct
import sys

GROUP, SERVER, CLIENT = "ff02::1:2", 547, 546
SOLICIT = 1
CLIENT_ID, IA_NA, WANTED, ELAPSED, USER_CLASS, VENDOR_CLASS, FILE_URL, PARAMETERS, ARCHITECTURE = (
    1,
    3,
    6,
    8,
    15,
    16,
    59,
    60,
    61,
)
ENTERPRISE = struct.pack(">I", 343)
FIRST_HTTP = 15
"""Architectures from here on boot by HTTP."""
WAIT_SECONDS = 20


def option(code: int, value: bytes) -> bytes:
    return struct.pack(">HH", code, len(value)) + value


def counted(text: str) -> bytes:
    """A text behind its length, as the options of classes have it."""
    return struct.pack(">H", len(text)) + text.encode()


def solicit(number: int, architecture: int, *, is_ipxe: bool) -> bytes:
    """The first message of a machine with its own number."""
    caller = "HTTPClient" if architecture >= FIRST_HTTP else "PXEClient"
    options = [
        option(CLIENT_ID, struct.pack(">HH", 3, 1) + bytes.fromhex("02005e0053") + bytes((number,))),
        option(IA_NA, struct.pack(">III", number, 0, 0)),
        option(WANTED, struct.pack(">HHHH", FILE_URL, PARAMETERS, 23, VENDOR_CLASS)),
        option(ELAPSED, bytes(2)),
        option(VENDOR_CLASS, ENTERPRISE + counted(f"{caller}:Arch:{architecture:05}:UNDI:003001")),
        option(ARCHITECTURE, struct.pack(">H", architecture)),
    ]
    if is_ipxe:
        options.append(option(USER_CLASS, counted("iPXE")))
    return struct.pack(">I", SOLICIT << 24 | number) + b"".join(options)


def advertised(reply: bytes) -> tuple[str, str]:
    """The URL and the vendor class of an answer."""
    options: dict[int, bytes] = {}
    rest = reply[4:]
    while rest:
        code, length = struct.unpack(">HH", rest[:4])
        options[code] = rest[4 : 4 + length]
        rest = rest[4 + length :]
    vendor = options.get(VENDOR_CLASS, b"")
    return options.get(FILE_URL, b"").decode(), vendor[6:].decode()  # where EDK II looks, whatever the number before it


def ask(interface: str, number: int, architecture: int, *, is_ipxe: bool) -> tuple[str, str]:
    """Ask until an answer is there. Raises `TimeoutError`."""
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
        sender.bind(("::", CLIENT))
        sender.settimeout(1.0)
        for _ in range(WAIT_SECONDS):
            card = socket.if_nametoindex(interface)
            try:
                sender.sendto(solicit(number, architecture, is_ipxe=is_ipxe), (GROUP, SERVER, 0, card))
                reply = sender.recv(4096)
                while int.from_bytes(reply[1:4]) != number:  # of an earlier one
                    reply = sender.recv(4096)
            except (TimeoutError, OSError):  # the card has no address of its own yet
                continue
            return advertised(reply)
    raise TimeoutError(f"no answer for architecture {architecture}")


if __name__ == "__main__":
    asked = enumerate(json.loads(sys.argv[2]), 1)
    print(json.dumps([ask(sys.argv[1], number, code, is_ipxe=is_ipxe) for number, (code, is_ipxe) in asked]))
