"""Nothing that is done over and over leaves a reference cycle: `answerd.server.os_support` rests on that."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count

import pytest

from answerd.answers.catalogue import Catalogue
from answerd.answers.compose import warm_up
from answerd.answers.resolve import resolve
from answerd.answers.sources import Sources
from answerd.documents import Key, RawDocument
from answerd.errors import CannotFill
from answerd.facts import LARGE, Facts, Request
from answerd.identity import Kind
from tests.support.fleet import Fleet
from tests.support.installs import RememberedInstalls


@pytest.fixture(autouse=True, scope="module")
def only_new_objects() -> Iterator[None]:
    """Have the collector look at what is made from here on: all modules and tests take it 0.1 seconds each time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def cycles_left_by(act: Callable[[], object], times: int = 10) -> int:
    """The objects in cycles that an action leaves when it is done so many times."""
    act()  # what is made once may stay
    act()
    gc.collect()
    gc.disable()
    try:
        for _ in range(times):
            act()
        return gc.collect()
    finally:
        gc.enable()


# --- requests -------------------------------------------------------------------------------------------------------

TEXT = """#cloud-config
password: "{{ secret.root }}"
once: true
url: "{{ report }}"
serial: "{{ serial }}"
"""
INVENTORY = "id,mac,serial\nweb-1,52:54:00:00:00:05,A1\n"
BODIES = {
    "no body": "",
    "maps": ",".join(['{"system": {"serial": "S-1"}}'] * 10),
    "a large body": ",".join(f'"02:00:00:{number:06}"' for number in range(10_000)),
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("serial", ["A1", "B2"], ids=["a row", "no row"])
def test_no_cycle_is_left_by_a_request(serial: str, body: str) -> None:
    texts = {Key(Kind.DEFAULT, "", "yaml"): TEXT, Key(Kind.INVENTORY, "default", "csv"): INVENTORY}
    catalogue = Catalogue(has_states=True).changed([RawDocument(key, text) for key, text in texts.items()])
    sent = f'{{"list": [{BODIES[body]}]}}'.encode() if BODIES[body] else b""
    sources = Sources(secret=lambda name, identifiers: "x", gates=RememberedInstalls().gates)

    def act() -> None:
        facts = Facts(Request("/ubuntu/user-data", f"serial={serial}", [("host", "s")], sent, "127.0.0.1"))
        if len(sent) > LARGE:
            facts.prepare()
            catalogue.facts(facts).prepare()
        answer = resolve(catalogue, facts, sources=sources)
        assert (answer.row is not None) == (serial == "A1")

    assert cycles_left_by(act, times=2) == 0


JINJA = """# answer: template jinja
{% macro part(disk) %}
part {{ disk }} {{ serial }}
{% endmacro %}
{% macro parts(disks) %}
{% for disk in disks %}{{ part(disk) }}{% endfor %}
{% endmacro %}
{% set n = namespace(x=1) %}
{{ parts(["sda", "sdb"]) }}{{ n.x }} {{ secret.root }} {{ report }} {{ rack }}
"""


@pytest.mark.parametrize("fails", [False, True])
def test_no_cycle_is_left_by_a_text_that_jinja_fills(fails: bool) -> None:
    catalogue = Catalogue(has_states=True).changed([RawDocument(Key(Kind.DEFAULT, "", "ks"), JINJA)])
    sources = Sources(secret=lambda name, identifiers: "x", gates=RememberedInstalls().gates)

    def act() -> None:
        query = "serial=A1" if fails else "serial=A1&rack=r1"
        with suppress(CannotFill):
            resolve(catalogue, Facts(Request("/ks", query, [("host", "s")], b"", "127.0.0.1")), sources=sources)
            assert not fails

    assert cycles_left_by(act) == 0


# --- documents ------------------------------------------------------------------------------------------------------

FAMILIES = {
    "toml": ("base = {}\n", 'extends = "base"\nx = {}\nserial = "{{{{ serial }}}}"\n'),
    "yaml": ("base: {}\n", "extends: base\nx: {}\nserial: '{{{{ serial }}}}'\n"),
    "json": ('{{"base": {}}}', '{{"extends": "base", "x": {}, "serial": "{{{{ serial }}}}"}}'),
    "xml": ("<a><b>{}</b></a>", '<a><answer-meta extends="base"/><c>{}</c><d>{{{{ serial }}}}</d></a>'),
    "ks": ("# {}\n", "# answer: extends base\n# {}\n{{{{ serial }}}}\n"),
}
"""A group and a machine that is laid over it, in each family that layers."""


def test_no_cycle_is_left_by_documents_that_come_and_go(fleet: Fleet) -> None:
    numbers = count()
    before = [fleet.loader.catalogue]

    def replace() -> None:
        number = next(numbers)
        for extension, (group, machine) in FAMILIES.items():
            written = {f"groups/base.{extension}": group, f"node.{extension}": machine, f"default.{extension}": group}
            fleet.write({name: text.format(number) for name, text in written.items()})
        fleet.write({f"broken.{extension}": f"<x>{{{{ {number}: [ = " for extension in FAMILIES})
        warm_up(fleet.loader.catalogue, before[0])
        before[0] = fleet.loader.catalogue
        assert all("A1" in fleet.text(f"/{extension}/node?serial=A1") for extension in FAMILIES)
        fleet.problems()

    assert cycles_left_by(replace, times=3) == 0
