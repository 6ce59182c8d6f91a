"""Nothing that is done over and over leaves a reference cycle: `answerd.server.gc_tuning` rests on that."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.answers.catalogue import Catalogue
from answerd.answers.near_misses import with_hints
from answerd.answers.resolve import resolve
from answerd.answers.sources import Sources
from answerd.answers.warming import warm_up
from answerd.check import check
from answerd.documents import Key, RawDocument
from answerd.errors import AnswerError
from answerd.facts import LARGE, Facts, Request
from answerd.identity import Kind
from answerd.server.http.parser import BadRequest, RequestReader
from answerd.server.threads import in_thread
from answerd.validators import Tools
from tests.support.admin import Admin
from tests.support.fleet import Fleet
from tests.support.installs import RememberedInstalls
from tests.support.thorough import examples

HEAD = b"POST /proxmox HTTP/1.1\r\nHost: s\r\n"
BODY = b'{"network_interfaces": [{"link": "eno1", "mac": "52:54:00:00:00:05"}], "serial": "A1"}'
DOCUMENTS = {
    ("machine", "525400000005"): 'a = "{{ serial }} {{ network_interfaces.0.link }}"',
    ("machine", "broken"): "a = ",
}


def read(*pieces: bytes) -> None:
    reader = RequestReader(lambda _: 1_048_576)
    try:
        for piece in pieces:
            reader.receive(piece)
    except BadRequest:
        pass


def fail() -> None:
    raise OSError("no such store")


def look_that_fails() -> None:
    try:
        in_thread(fail)
    except OSError:
        pass


def answered(query: str, body: bytes = b"") -> None:
    facts = Facts(Request("/proxmox", query, body=body))
    try:
        resolve(CATALOGUE, facts)
    except AnswerError as error:
        with_hints(error, facts)


def changed_and_forgotten() -> None:
    texts = {
        (Kind.GROUP, "base"): 'a = "{{ serial }}"',
        (Kind.GROUP, "rack"): 'extends = "base"\nmembers = ["525400000005"]',
        (Kind.MACHINE, "525400000006"): 'extends = "rack"',
    }
    documents = [RawDocument(Key(kind, name, "toml"), text) for (kind, name), text in texts.items()]
    catalogue = Catalogue().changed(documents)
    warm_up(catalogue)
    for _ in range(3):
        for mac in ("525400000005", "525400000006"):
            resolve(catalogue, Facts(Request("/proxmox", f"mac={mac}&serial=1")))
        before, documents = documents, [RawDocument(document.key, document.text + "\n") for document in documents]
        catalogue = catalogue.changed(documents, before)


@pytest.fixture(autouse=True, scope="module")
def only_new_objects() -> Iterator[None]:
    """Have the collector look at what is made from here on: all modules and tests take it 0.1 seconds each time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


CATALOGUE = Catalogue().changed(
    [RawDocument(Key(Kind(kind), name, "toml"), text) for (kind, name), text in DOCUMENTS.items()]
)


@pytest.mark.parametrize(
    "act",
    [
        lambda: read(HEAD + b"Content-Length: 5\r\n\r\nhello"),
        lambda: read(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
        lambda: read(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel"),
        lambda: read(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"rubbish"),
        lambda: read(HEAD + b"Bad\r\n\r\n"),
        look_that_fails,
        lambda: answered("", BODY),
        lambda: answered("mac=broken"),
        lambda: answered("mac=nobody"),
        changed_and_forgotten,
    ],
    ids=[
        "a body",
        "chunks",
        "chunks cut off",
        "bad chunks",
        "bad header",
        "a look",
        "an answer",
        "broken",
        "unclaimed",
        "documents that change",
    ],
)
def test_no_cycle_is_left_by(act: Callable[[], None]) -> None:
    assert cycles_left_by(act) == 0


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

INVENTORY = "id,mac,serial\nweb-1,52:54:00:00:00:05,A1\n"
FEATURES = {
    "secrets": 'password: "{{ secret.root }}"\n',
    "once": "once: true\n",
    "report": 'url: "{{ report }}"\n',
    "a fact": 'serial: "{{ serial }}"\n',
}
PIECES = {
    "maps": "{}",
    "serials": '{"system": {"serial": "S-%d"}}',
    "addresses": '"02:00:00:%06d"',
    "integers": "%d",
    "floats": "%d.50",
    "a key twice": '{"serial": %d, "serial": 2}',
}
"""Elements of a body's list. orjson keeps neither the spelling of floats nor both values of a key."""


@pytest.mark.parametrize("has_row", [None, False, True], ids=["no inventory", "no row", "a row"])
@settings(max_examples=examples(8))
@given(
    features=st.sets(st.sampled_from(sorted(FEATURES))),
    piece=st.sampled_from(sorted(PIECES)),
    size=st.sampled_from([0, 200, LARGE + 1, 200_000]),
    file=st.sampled_from(["user-data", "meta-data"]),
)
def test_no_cycle_is_left_by_a_request(
    has_row: bool | None, features: set[str], piece: str, size: int, file: str
) -> None:
    texts = {Key(Kind.DEFAULT, "", "yaml"): "#cloud-config\na: 1\n" + "".join(FEATURES[name] for name in features)}
    if has_row is not None:
        texts[Key(Kind.INVENTORY, "default", "csv")] = INVENTORY
    catalogue = Catalogue(has_states=True).changed([RawDocument(key, text) for key, text in texts.items()])
    parts = [PIECES[piece].replace("%d", str(number)) for number in range(size // len(PIECES[piece]))]
    body = f'{{"list": [{", ".join(parts)}]}}'.encode() if size else b""
    serial = "A1" if has_row else "B2"
    sources = Sources(secret=lambda name, identifiers: "x", gates=RememberedInstalls().gates)

    def act() -> None:
        facts = Facts(Request(f"/ubuntu/{file}", f"serial={serial}", [("host", "s")], body, "127.0.0.1"))
        if len(body) > LARGE:
            facts.prepare()
            catalogue.facts(facts).prepare()
        answer = resolve(catalogue, facts, sources=sources)
        assert (answer.row is not None) == bool(has_row)

    assert cycles_left_by(act, times=2) == 0


# --- documents ------------------------------------------------------------------------------------------------------

FAMILIES = {
    "toml": ("base = {}\n", 'extends = "base"\nx = {}\nserial = "{{{{ serial }}}}"\n'),
    "yaml": ("base: {}\n", "extends: base\nx: {}\nserial: '{{{{ serial }}}}'\n"),
    "json": ('{{"base": {}}}', '{{"extends": "base", "x": {}, "serial": "{{{{ serial }}}}"}}'),
    "xml": ("<a><b>{}</b></a>", '<a><answer-meta extends="base"/><c>{}</c><d>{{{{ serial }}}}</d></a>'),
    "ks": ("# {}\n", "# answer: extends base\n# {}\n{{{{ serial }}}}\n"),
}
"""A group and a machine that is laid over it, in each family that layers."""


@pytest.mark.parametrize("extension", FAMILIES)
def test_no_cycle_is_left_by_documents_that_are_replaced_after_they_were_answered(fleet: Fleet, extension: str) -> None:
    group, machine = FAMILIES[extension]
    numbers = count()
    before = [fleet.loader.catalogue]

    def replace() -> None:
        number = next(numbers)
        written = {f"groups/base.{extension}": group, f"node.{extension}": machine, f"default.{extension}": group}
        fleet.write({name: text.format(number) for name, text in written.items()})
        warm_up(fleet.loader.catalogue, before[0])
        before[0] = fleet.loader.catalogue
        assert "A1" in fleet.text(f"/{extension}/node?serial=A1")
        fleet.problems()

    assert cycles_left_by(replace) == 0


@pytest.mark.parametrize("extension", FAMILIES)
def test_no_cycle_is_left_by_a_document_that_does_not_parse(fleet: Fleet, extension: str) -> None:
    numbers = count()
    assert cycles_left_by(lambda: fleet.write({f"node.{extension}": f"<x>{{{{ {next(numbers)}: [ = "})) == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("default.toml", '[global]\nkeyboard = "de"\ntimezone = "Etc/UTC"\n'),
        ("default.yaml", "#cloud-config\nautoinstall: {version: 1, x: 2}\n"),
        ("default.ign", '{"ignition": {"version": "3.4.0"}, "x": 1}'),
        ("default.preseed", "d-i x/y string z\n"),
        ("default.unattend", "<unattend><settings pass='x'/></unattend>"),
        ("default.autoyast", "<!DOCTYPE profile SYSTEM 'x'><profile/>"),
        ("default.ipxe", "#!ipxe\nboot\n"),
    ],
)
def test_no_cycle_is_left_by_a_check(name: str, text: str) -> None:
    """Of kickstarts pykickstart leaves some; `answerd.server.gc_tuning` looks for them."""
    stem, _, extension = name.rpartition(".")
    catalogue = Catalogue().changed([RawDocument(Key(Kind(stem), "", extension), text)])
    assert cycles_left_by(lambda: check(catalogue, Tools.none())) == 0


# --- the admin API --------------------------------------------------------------------------------------------------

numbered = count()
REQUESTS: dict[str, Callable[[Admin], object]] = {
    "a write": lambda admin: admin.put("/groups/g", f"x = {next(numbered)}\n"),
    "a refused write": lambda admin: admin.put("/groups/g", "x ="),
    "a write that would break the set": lambda admin: admin.put("/machines/n", 'extends = "nobody"\n'),
    "a write under a condition": lambda admin: admin.put("/groups/g", "x = 1\n", if_match='"another"'),
    "a write and a deletion": lambda admin: (admin.put("/groups/h", "x = 1\n"), admin.delete("/groups/h")),
    "a deletion of nothing": lambda admin: admin.delete("/groups/nobody"),
    "a document": lambda admin: admin.get("/groups/g"),
    "a document that is not there": lambda admin: admin.get("/groups/nobody"),
    "a list": lambda admin: admin.get("/machines"),
    "a wrong path": lambda admin: admin.get("/nowhere"),
    "a wrong method": lambda admin: admin.ask("PATCH", "/groups/g"),
    "wrong tokens, and a block": lambda admin: admin.get("/groups/g", token="wrong"),
    "a check": lambda admin: (admin.put("/groups/g", f"x = {next(numbered)}\n"), admin.get("/check")),
    "an answer": lambda admin: admin.get("/resolve/m"),
    "an answer, explained": lambda admin: admin.get("/resolve/m?explain=1"),
    "an answer to nobody": lambda admin: admin.get("/resolve/nobody"),
}


@pytest.mark.parametrize("request_", REQUESTS)
def test_no_cycle_is_left_by_an_admin_request_for(request_: str, tmp_path: Path) -> None:
    admin = Admin(tmp_path / "answers.db")
    admin.put("/groups/g", "x = 1\n")
    admin.put("/machines/m", 'extends = "g"\ny = 1\n')
    assert cycles_left_by(lambda: REQUESTS[request_](admin)) == 0
