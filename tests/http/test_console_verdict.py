"""What is said first on the page of a machine: its last contact, what it got and why, and the link that mends it.

Rules: docs/console.md#the-verdict.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest

from tests.support.console import Browser, etag_of, started
from tests.support.service import run, write_tree
from tests.support.waiting import wait_until

RACK = '[match]\nrack = "r1"\n[global]\nkeyboard = "de"\n'
TREE = {
    "groups/rack.toml": RACK,
    "groups/nodes.ks": "# answer: member m1\n# answer: once\ntext\n%post\ncurl {{ report }}\n%end\n",
    "groups/waits.ipxe": "#!ipxe\n# answer: member m3\n# answer: once armed\nboot\n",
    "groups/said.toml": 'overlay = 1\n[match]\nproduct = "R750"\n[global]\nmailto = "big@example.com"\n',
    "groups/acme.toml": '[match]\nvendor = "acme"\n[global]\nfqdn = "{{ desk }}.lab"\n',
    "groups/gate.ipxe": "#!ipxe\n# answer: match vendor=acme\n# answer: once armed\nboot\n",
    "own.yaml": "#cloud-config\nhostname: own\n",
    "inventory.csv": (
        "id,mac,rack,serial,desk\nm0,,r2\nm1,00:00:5e:00:53:01,r1\nm2,00:00:5e:00:53:52,r1\nm3,00:00:5e:00:53:a3,\n"
        "own,,r2\nm4,,,7ABC-124,d4\n"
    ),
}


class Said(NamedTuple):
    """A verdict: its tone, its sentence with ``when`` in place of times, its links by their text, its buttons."""

    tone: str
    text: str
    links: Mapping[str, str]
    buttons: list[str]


@pytest.fixture(params=["files", "sqlite"])
def store(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextmanager
def serving(home: Path, store: str, tree: Mapping[str, str]) -> Iterator[Browser]:
    write_tree(home / "answers", tree)
    settings = {"SERVICE_STATE_PATH": home / "states.db"} if store == "files" else {}
    if store == "sqlite":
        given: dict[str, Any] = {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": home / "answers.db"}
        assert run("import", str(home / "answers"), **given).returncode == 0
    with started(home, store, **settings) as browser:
        browser.log_in()
        wait_until(lambda: browser.get("/console/machine?id=m1").status == 200)
        yield browser


@pytest.fixture
def operator(store: str, tmp_path: Path) -> Iterator[Browser]:
    with serving(tmp_path, store, TREE) as browser:
        yield browser


def said(browser: Browser, name: str) -> Said:
    text = browser.get(f"/console/machine?{urlencode({'id': name})}").text
    found = re.search(r'<section class="card verdict (\w+)" aria-label="Verdict">(.*?)</section>', text, re.DOTALL)
    if found is None:
        return Said("", "", {}, [])
    whole = re.sub(r"<time .*?</time>", "when", found[2])
    sentence = re.search(r"<p>(.*?)</p>", whole, re.DOTALL)
    assert sentence
    links = re.findall(r'<a [^>]*?href="([^"]+)"[^>]*>(.*?)</a>', whole)
    buttons = re.findall(r"<button [^>]*>(.*?)</button>", whole)
    plain = " ".join(unescape(re.sub(r"<[^>]+>", "", sentence[1])).split())
    return Said(found[1], plain, {unescape(words): unescape(where) for where, words in links}, buttons)


def faults(browser: Browser, page: str) -> list[str]:
    """Return the warnings of the log that a page shows."""
    return re.findall(r'<p class="note bad" role="alert">(.*?)</p>', unescape(browser.get(page).text))


def put(browser: Browser, tmp_path: Path, name: str, text: str) -> None:
    """Change a group of TOML as an operator does, in whatever store there is."""
    page = browser.get(f"/console/document?kind=group&name={name}&format=toml").text
    if 'value="save"' in page:
        etag = re.search(r'name="etag" value="([^"]*)"', page)
        assert etag
        fields = {"kind": "group", "name": name, "format": "toml", "etag": unescape(etag[1]), "text": text}
        assert browser.change(do="save", **fields).status == 303
    else:
        write_tree(tmp_path / "answers", {f"groups/{name}.toml": text})


def test_a_machine_that_got_an_error_has_it_first_with_the_line_and_says_when_it_is_mended(
    operator: Browser, tmp_path: Path
) -> None:
    put(operator, tmp_path, "rack", f"{RACK}fqdn = '{{{{ room }}}}.lab'\n")
    # Another machine tells when the change is in force: what one machine asks within a minute is written once.
    wait_until(lambda: operator.service.get("/toml?mac=00:00:5e:00:53:52").status == 500)
    assert operator.service.get("/toml?mac=00:00:5e:00:53:01&product=R750").status == 500
    wait_until(lambda: "500" in said(operator, "m1").text)
    wait_until(lambda: '<a href="/console/machine?id=m1">m1</a>' in operator.get("/console/requests").text)
    verdict = said(operator, "m1")
    assert verdict.tone == "bad"
    assert verdict.text.startswith("It asked when for /toml and got 500: ")
    assert "room" in verdict.text
    assert any("line=5" in where and "name=rack" in where for where in verdict.links.values()), verdict
    put(operator, tmp_path, "rack", RACK)
    wait_until(lambda: "asked again now, it would get" in said(operator, "m1").text)
    assert said(operator, "m1").tone == "busy"
    page = operator.get("/console/machine?id=m1").text
    assert "big@example.com" in page, "what it said holds in what it would get"


def test_what_the_log_warns_of_is_shown_and_no_machine_is_said_never_to_have_asked(
    operator: Browser, store: str, tmp_path: Path
) -> None:
    assert (faults(operator, "/console/"), faults(operator, "/console/check"), said(operator, "m2").tone) == (
        [],
        [],
        "quiet",
    )
    states = tmp_path / ("answers.db" if store == "sqlite" else "states.db")
    with closing(sqlite3.connect(states, isolation_level=None)) as program:
        program.execute("BEGIN IMMEDIATE")
        assert operator.service.get("/ks?mac=00:00:5e:00:53:01").status == 503
        (fault,) = faults(operator, "/console/")
        assert fault.startswith("warning: the states of installs cannot be written: ")
        assert faults(operator, "/console/check") == [fault]
        verdict = said(operator, "m2")
        assert (verdict.tone, verdict.text) == ("bad", f"Whether it has asked is not known: {fault}")
        program.execute("ROLLBACK")
    assert operator.service.get("/ks?mac=00:00:5e:00:53:01").status == 200
    assert (faults(operator, "/console/"), said(operator, "m2").tone) == ([], "quiet")


def test_a_store_that_cannot_be_read_is_shown_beside_the_problems(tmp_path: Path) -> None:
    with serving(tmp_path, "sqlite", TREE) as operator:
        assert faults(operator, "/console/") == []
        (tmp_path / "answers.db").rename(tmp_path / "away.db")
        line = operator.service.wait_for_log("warning: the store cannot be read")
        warning = line[line.index("warning: ") :].strip()
        pages = ("/console/", "/console/check")
        wait_until(lambda: all(warning in faults(operator, page) for page in pages), seconds=10)


def test_a_row_with_a_wrong_digit_and_the_machine_that_asks_lead_to_each_other(operator: Browser) -> None:
    quiet = said(operator, "m2")
    assert (quiet.tone, quiet.text) == ("quiet", "It has never asked, as far as is known here.")
    operator.service.get("/toml?mac=00:00:5e:00:53:51&serial=SN-51")  # the row has 52
    wait_until(lambda: said(operator, "m2").tone == "bad")
    row = said(operator, "m2")
    assert "00:00:5e:00:53:52 was never seen, but one digit off, 00:00:5e:00:53:51 asked when" in row.text
    assert row.links["00:00:5e:00:53:51"] == "/console/machine?id=SN-51"
    assert row.links["Correct the row"].startswith("/console/inventory?name=default&line=4")
    asker = said(operator, "SN-51")
    assert asker.text.startswith("Nothing claims it: it asked once, last when, for toml")
    assert "00:00:5e:00:53:51 is one digit off: m2, which never asked, has 00:00:5e:00:53:52" in asker.text
    assert asker.links["Correct the row of m2"] == row.links["Correct the row"]
    assert "/console/adopt?id=SN-51" in asker.links.values()


def test_a_serial_with_a_wrong_digit_and_the_machine_that_gets_an_error_for_it_lead_to_each_other(
    operator: Browser,
) -> None:
    """A group claims every machine of the vendor, and needs the desk of the row."""
    state = re.search(r"state=(\w+)", operator.get("/console/machine?id=m4").text)
    assert state
    again = f"/console/machine?id=m4&state={state[1]}"
    assert operator.get(again, **{"HX-Request": "true"}).status == 204
    assert operator.service.get("/toml?vendor=acme&serial=7abc-125").status == 500
    wait_until(lambda: operator.get(again, **{"HX-Request": "true"}).status == 200)  # the page follows it
    row = said(operator, "m4")
    assert row.tone == "bad"
    assert "7ABC-124 was never seen, but one digit off, 7abc-125 asked when" in row.text
    assert row.links["7abc-125"] == "/console/machine?id=7abc-125"
    assert row.links["Correct the row"].startswith("/console/inventory?name=default&line=7")
    asker = said(operator, "7abc-125")
    assert asker.text.startswith("It asked when for /toml and got 500: ")
    assert "; 7abc-125 is one digit off: m4, which never asked, has 7ABC-124" in asker.text
    assert asker.links["Correct the row of m4"] == row.links["Correct the row"]
    assert any("line=4" in where and "name=acme" in where for where in asker.links.values())


def test_a_serial_with_a_wrong_digit_leads_from_a_machine_that_nothing_claims_to_the_row(operator: Browser) -> None:
    operator.service.get("/toml?serial=7ABC-224")
    wait_until(lambda: said(operator, "7ABC-224").tone == "bad")
    assert "; 7ABC-224 is one digit off: m4, which never asked, has 7ABC-124." in said(operator, "7ABC-224").text
    assert [*said(operator, "7ABC-224").links] == ["m4", "Correct the row of m4", "Adopt it"]
    assert "one digit off, 7ABC-224 asked when" in said(operator, "m4").text
    operator.service.get("/toml?serial=7ABC-124")
    wait_until(lambda: "It asked when" in said(operator, "m4").text)
    assert "one digit off" not in said(operator, "7ABC-224").text, "the row's machine has asked"


def test_a_machine_that_a_gate_refuses_and_whose_row_has_a_wrong_digit_says_both(operator: Browser) -> None:
    operator.service.get("/ipxe?vendor=acme&serial=7ABC-12")
    wait_until(lambda: "was refused" in said(operator, "7ABC-12").text)
    refused = said(operator, "7ABC-12")
    assert "; 7ABC-12 is one digit off: m4, which never asked, has 7ABC-124" in refused.text
    assert (refused.buttons, "Correct the row of m4" in refused.links) == (["Let it install …"], True)


def test_a_row_that_has_asked_is_no_near_miss(operator: Browser) -> None:
    operator.service.get("/toml?mac=00:00:5e:00:53:01")  # m1 itself
    operator.service.get("/toml?mac=00:00:5e:00:53:0f&serial=SN-0F")  # a neighbour, which nothing claims
    wait_until(lambda: said(operator, "SN-0F").tone == "bad")
    wait_until(lambda: "It asked when" in said(operator, "m1").text)
    assert "one digit off" not in said(operator, "SN-0F").text
    assert "one digit off" not in said(operator, "m1").text


def test_the_state_of_an_install_is_a_sentence_with_what_lets_it_go_on(operator: Browser) -> None:
    path = re.search(r"curl http://[^/]+(\S+)", operator.service.get("/ks?id=m1").text)
    assert path
    wait_until(lambda: said(operator, "m1").text.startswith("It is installing since when"))
    assert said(operator, "m1").links['group "nodes" (ks)'] == "/console/document?kind=group&name=nodes&format=ks"
    operator.service.get(f"{path[1]}/progress?message=packages&percent=45")
    wait_until(lambda: "when, 45 %, packages;" in said(operator, "m1").text)
    operator.service.post(f"{path[1]}/failed?message=no+disk", b"sda: not found\n")
    wait_until(lambda: said(operator, "m1").tone == "bad")
    failed = said(operator, "m1")
    assert failed.text.startswith("It failed when: no disk; it last got")
    assert failed.links["Its log"] == "#failure"
    assert failed.buttons == ["Let it install …"]
    line = operator.get("/console/machine?id=m1").text.partition('aria-labelledby="timeline"')[2]
    marks = re.findall(r'<li class="(\w+)" value="\d+">.*?</span>(.*?)</li>', line.partition("</ol>")[0], re.DOTALL)
    assert [(tone, unescape(words).strip()) for tone, words in marks] == [
        ("busy", 'installer got group "nodes" (ks)'),
        ("busy", "45 % packages"),
        ("bad", "✕ failed: no disk"),
    ]
    operator.service.get(f"{path[1]}/installed")
    wait_until(lambda: said(operator, "m1").text.startswith("It is installed since when"))
    assert said(operator, "m1").tone == "good"


def test_a_machine_that_a_gate_refused_says_so_with_the_order_that_opens_it(operator: Browser) -> None:
    operator.service.get("/ipxe?mac=00:00:5e:00:53:a3")
    wait_until(lambda: "was refused" in said(operator, "m3").text)
    waiting = said(operator, "m3")
    assert "is new and waits for an operator" in waiting.text
    assert (waiting.tone, waiting.buttons) == ("busy", ["Let it install …"])


def test_a_machine_that_a_document_for_its_state_answered_waits(tmp_path: Path, store: str) -> None:
    shows = "#!ipxe\n# answer: match mac=00:00:5e:00:53:a3 state=new\necho wait\n"
    tree = {name: text for name, text in TREE.items() if name != "groups/waits.ipxe"} | {"groups/shows.ipxe": shows}
    with serving(tmp_path, store, tree) as operator:
        operator.service.get("/ipxe?mac=00:00:5e:00:53:a3")
        wait_until(lambda: "waits for an operator" in said(operator, "m3").text)
        waiting = said(operator, "m3")
        assert 'got group "shows" (ipxe), which is for machines that are new' in waiting.text
        assert "refused" not in waiting.text
        assert (waiting.tone, waiting.buttons) == ("busy", ["Let it install …"])


def test_the_answer_of_its_own_documents_is_shown_before_a_foreign_broken_format(tmp_path: Path, store: str) -> None:
    with serving(tmp_path, store, TREE | {"groups/foreign.toml": "[match\n"}) as operator:
        page = operator.get("/console/machine?id=own").text
    tabs = re.findall(r'<a href="/console/machine\?id=own&amp;answer=(\w+)[^"]*#answers"', page)
    assert tabs == ["yaml", "toml"]
    assert "hostname: own" in page


def test_a_machine_that_lost_its_answer_by_a_change_of_its_row_leads_to_that_change(
    operator: Browser, tmp_path: Path, store: str
) -> None:
    table = TREE["inventory.csv"].replace("53:01,r1", "53:01,r9")
    if store == "files":
        write_tree(tmp_path / "answers", {"inventory.csv": table})
    else:
        page = operator.get("/console/document?kind=inventory&name=default&format=csv&as=text")
        fields = {"kind": "inventory", "name": "default", "format": "csv", "etag": etag_of(page), "text": table}
        assert operator.change(do="save", **fields).status == 303
    wait_until(lambda: operator.service.get("/toml?mac=00:00:5e:00:53:01").status == 404)
    wait_until(lambda: "got 404: no document claims" in said(operator, "m1").text)
    verdict = said(operator, "m1")
    assert "; identities seen: " in verdict.text
    assert "asked again now" not in verdict.text, "it would get the same: only the identities seen differ"
    pages = {name: operator.get(f"/console/history?document={name}").text for name in ("m1", "m2", "m9")}
    listed = {name: re.findall(r'<tr id="c(\d+)">', text) for name, text in pages.items()}
    if store == "files":
        assert "What changed" not in verdict.links
        assert listed == {"m1": [], "m2": [], "m9": []}
    else:
        assert verdict.links["What changed"] == "/console/history?document=m1"
        assert '<a href="/console/history?document=m2">Changes of its' in operator.get("/console/machine?id=m2").text
        assert [len(listed[name]) for name in ("m1", "m2", "m9")] == [2, 1, 0]
        assert listed["m1"][1:] == listed["m2"], "the import brought both rows"
