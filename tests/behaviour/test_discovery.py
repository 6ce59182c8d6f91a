"""examples/discovery: machines that nobody knows, and what they get before and after they are adopted.

With a machine in QEMU: tests/installers/test_discovery.py.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from answerd.answers.assumed import assumed_gates
from answerd.answers.resolve import resolve
from answerd.answers.sources import Sources
from answerd.check import check
from answerd.facts import Facts, Request
from answerd.store.files import FileStore
from answerd.store.loader import loaded
from answerd.validators import Tools

EXAMPLE = Path(__file__).parents[2] / "examples" / "discovery" / "answers"
SETTINGS = {
    "netX/mac": "98:fa:9b:50:d8:20",
    "serial:uristring": "7ABC%20120",
    "uuid": "4c4c4544-0042-4a10-8051-c4c04f504631",
    "manufacturer:uristring": "Dell",
    "product:uristring": "PowerEdge%20R350",
}


SOURCES = Sources(gates=assumed_gates("http://192.0.2.10:8000", now=0.0))


def answer(path: str, query: str = "") -> str:
    catalogue = loaded(FileStore(EXAMPLE), has_states=True)
    return resolve(catalogue, Facts(Request(path, query)), sources=SOURCES).body.decode()


def asked_again(script: str) -> str:
    """The query of the URL that a script asks, with what iPXE knows of the machine."""
    settings = dict(SETTINGS)
    for name, value in re.findall(r"^set (\w+) (.*)$", script, re.MULTILINE):
        settings[name] = re.sub(r"\$\{(.*?)\}", lambda found: settings[found[1]], value)
    [url] = re.findall(r"^chain .*?/ipxe\?(\S+)", script, re.MULTILINE)
    return re.sub(r"\$\{(.*?)\}", lambda found: settings[found[1]], url)


def test_check_finds_no_problem() -> None:
    found = check(loaded(FileStore(EXAMPLE), has_states=True), Tools.none(), sources=SOURCES)
    assert found.problems == ()
    assert any("answerd adopt --free" in str(note) for note in found.notes)


def test_an_unknown_machine_is_shown_what_it_is_and_asks_again_every_minute() -> None:
    first = answer("/ipxe")
    assert "Serial number: none of its own\n" in first
    again = answer("/ipxe", asked_again(first))
    assert "Serial number: 7ABC 120\n" in again
    assert "MAC address: 98:fa:9b:50:d8:20\n" in again
    assert "Product: Dell PowerEdge R350\n" in again
    assert again.index("sleep 60") < again.index("chain ")


@pytest.mark.parametrize("path", ["/ipxe", "/debian/preseed"])
def test_a_machine_with_a_row_installs(path: str) -> None:
    script = answer(path, "mac=98:fa:9b:50:d8:10")
    assert "asks again" not in script
    assert ("kernel " in script) if path == "/ipxe" else ("hostname string gw-01\n" in script)
