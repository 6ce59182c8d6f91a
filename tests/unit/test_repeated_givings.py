"""A document that is given once more costs little, and whatever could change its judgement is looked at again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.answers.catalogue import Catalogue
from answerd.answers.gates import Asking, visitor_of
from answerd.answers.resolve import resolve
from answerd.answers.sources import Sources
from answerd.documents import Key, RawDocument
from answerd.errors import GateClosed
from answerd.facts import Facts, Request
from answerd.formats.family import Once
from answerd.identity import Kind
from answerd.installs.memory import Visitor
from answerd.installs.states import (
    HEARD_AGAIN_SECONDS,
    Asked,
    Gate,
    Order,
    Record,
    Rules,
    State,
    is_silent,
    quiet_period,
    step,
)
from tests.support.fleet import key_of
from tests.support.installs import RememberedInstalls
from tests.support.thorough import examples

RULES = Rules()
TIMES = st.sampled_from([0.0, 1.0, 9.0, 10.0, 11.0, 119.0, 121.0, 900.0])


@settings(deadline=None, max_examples=examples(200))
@given(
    st.builds(
        Record,
        st.just("web-01"),
        state=st.sampled_from(State),
        since=TIMES,
        was_armed=st.booleans(),
        by_operator=st.booleans(),
        starts=st.integers(0, 6),
        given=st.dictionaries(st.sampled_from("ab"), TIMES),
        heard=TIMES,
    ),
    st.builds(
        Asked,
        st.sampled_from("ab"),
        st.sampled_from(Gate),
        st.sampled_from([Once.ON, Once.ARMED]),
        TIMES,
        st.booleans(),
    ),
    TIMES,
)
def test_within_a_quiet_period_nothing_changes_but_when_the_machine_was_heard(
    record: Record, asked: Asked, computed_at: float
) -> None:
    since, until = quiet_period(record, asked._replace(at=computed_at), RULES)
    if not since <= asked.at <= until:
        return
    outcome = step(record, asked, RULES)
    assert (outcome.refusal, outcome.counts) == (None, False)
    assert replace(outcome.record, heard=0) == replace(record, heard=0)
    assert outcome.record.heard - record.heard <= HEARD_AGAIN_SECONDS


class Noted(RememberedInstalls):
    """Installs that count what is noted."""

    count = 0

    def given(self, asking: Asking) -> None:
        self.count += 1
        super().given(asking)


def catalogue(text: str) -> Catalogue:
    raw = [RawDocument(Key(Kind.DEFAULT, "", "ks"), text)]
    return Catalogue(has_states=True).changed(raw)


def test_what_is_asked_again_is_noted_again_only_where_something_could_be_new() -> None:
    installs = Noted()
    sources = Sources(gates=installs.gates)
    documents = catalogue("# answer: once\nlang C\n")

    def ask(query: str = "serial=S1", seconds: float = 1) -> int:
        before = installs.count
        installs.clock += seconds
        resolve(documents, Facts(Request("/ks", query, (), b"", "192.0.2.1")), sources=sources)
        return installs.count - before

    assert ask() == 1  # a start
    assert [ask(), ask(), ask()] == [0, 0, 0]
    assert ask(seconds=HEARD_AGAIN_SECONDS) == 1  # or it would be silent one day
    assert ask() == 0
    assert ask("serial=S1&mac=98:fa:9b:00:00:01") == 1  # a new identity
    assert [ask(), ask("mac=98:fa:9b:00:00:01")] == [0, 0]
    assert installs.memory.by_name["s1"].record.starts == 1
    assert ask(seconds=RULES.start + 1) == 1
    assert installs.memory.by_name["s1"].record.starts == 2
    assert [ask(), ask()] == [0, 0]
    installs.order("S1", Order.ARM)
    assert ask() == 1
    assert installs.memory.by_name["s1"].record.attempt == 2


def test_a_machine_that_would_soon_be_silent_is_heard_at_once() -> None:
    record = Record("web-01", state=State.INSTALLING, starts=1, given={"a": 0.0}, heard=0.0)
    asked = Asked("a", Gate.ANSWERS, Once.ON, 1.5)
    assert quiet_period(record, asked, RULES)[1] >= asked.at
    assert quiet_period(record, asked, Rules(silence=1))[1] < asked.at
    assert not is_silent(step(record, asked, Rules(silence=1)).record, 2.0, Rules(silence=1))


@pytest.mark.patches
def test_the_machine_of_a_request_that_came_before_is_not_worked_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    installs = RememberedInstalls()
    sources = Sources(gates=installs.gates)
    documents = catalogue("# answer: once\nlang C\n")
    worked_out = 0

    def visitor(*arguments: Any) -> Visitor:
        nonlocal worked_out
        worked_out += 1
        return visitor_of(*arguments)

    monkeypatch.setattr("answerd.answers.gates.visitor_of", visitor)
    for query in ("serial=S1", "serial=S2", "serial=S1", "serial=S2"):
        resolve(documents, Facts(Request("/ks", query, (("host", "a"),), b"", "192.0.2.1")), sources=sources)
    assert worked_out == len({"S1", "S2"})


def test_the_report_url_of_a_request_that_came_before_is_that_of_the_present_attempt() -> None:
    installs = RememberedInstalls()
    sources = Sources(gates=installs.gates)
    documents = catalogue("# answer: once\n{{ report }}\n")

    def url() -> bytes:
        return resolve(documents, Facts(Request("/ks", "serial=S1", (("host", "a"),))), sources=sources).body

    first = url()
    assert [url(), url()] == [first, first]
    installs.order("S1", Order.ARM)
    assert url() != first
    assert url() == url()


def test_what_installers_say_in_other_headers_makes_no_other_machine() -> None:
    installs = Noted()
    gates = installs.gates
    sources = Sources(gates=gates)
    documents = catalogue("# answer: once\nlang C\n")
    for mac in ("98:fa:9b:00:00:01", "98:fa:9b:00:00:02"):
        for agent in ("a", "b"):
            headers = ("user-agent", agent), ("x-rhn-provisioning-mac-0", f"eth0 {mac}")
            resolve(documents, Facts(Request("/ks", "", headers)), sources=sources)
    assert installs.count == 2
    assert len(gates.recent._known) == 2


SHARED = "# answer: once\n# answer: member web-01\n# answer: member web-02\nlang C\n"
OWN = {"web-01.ks": "# answer: once\nlang C\n", "web-02.ks": "# answer: once\nlang C\n"}
OF_ROWS = {"groups/all.ks": SHARED, "inventory.csv": "id,serial\nweb-01,S1\nweb-02,S2\n"}


@pytest.mark.parametrize("files", [OWN, OF_ROWS], ids=["a document of its own", "a row of its own"])
def test_a_machine_that_says_something_else_is_judged_anew(files: dict[str, str]) -> None:
    """What is filed under a machine's document or row counts for exactly the request that it was worked out from."""
    installs = Noted()
    raw = [RawDocument(key_of(name), text) for name, text in files.items()]
    documents = Catalogue(has_states=True).changed(raw)
    sources = Sources(gates=installs.gates)

    def ask(query: str, body: bytes = b"") -> None:
        installs.clock += 1
        resolve(documents, Facts(Request("/ks", query, (), body, "192.0.2.1")), sources=sources)

    for other in ("m=98:fa:9b:00:00:02", "m=98:fa:9b:00:00:03"):
        ask(f"id=web-02&{other}&mac={other[2:]}")
    installs.order("web-02", Order.DISARM)
    noted = installs.count
    for _ in range(3):
        ask("id=web-01")
    assert installs.count == noted + 1
    for query, body in (("id=web-01&mac=98:fa:9b:00:00:02", b""), ("id=web-01", b'{"mac": "98:fa:9b:00:00:03"}')):
        with pytest.raises(GateClosed):  # the address is that of a machine that is installed
            ask(query, body)
        ask("id=web-01")
