"""The page of one machine: by its state, with links to the lines that its answer came from.

Rules: docs/console.md#pages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.support.console import Browser, started
from tests.support.replies import Reply
from tests.support.service import run, write_tree
from tests.support.waiting import wait_until

LOG = 'disk sda: not found\nTraceback:\n  File "x.py", line 3\n'
TREE = {
    "groups/rack.toml": '[match]\nrack = "r1"\n[global]\nkeyboard = "de"\nfqdn = "{{ id }}.lab"\n',
    "groups/nodes.ks": "# answer: member m1\n# answer: once\ntext\n%post\ncurl {{ report }}\n%end\n",
    "inventory.csv": "id,mac,rack\nm0,,r2\nm1,00:00:5e:00:53:01,r1\n",
}


@pytest.fixture
def operator(tmp_path: Path) -> Iterator[Browser]:
    write_tree(tmp_path / "answers", TREE)
    settings = {"SERVICE_STATE_PATH": tmp_path / "states.db", "SERVICE_CAPTURE_DIR": tmp_path / "captures"}
    with started(tmp_path, "files", **settings) as browser:
        browser.log_in()
        wait_until(lambda: page_of(browser).status == 200)  # the files are read
        yield browser


def page_of(browser: Browser, name: str = "m1", **more: str) -> Reply:
    return browser.get(f"/console/machine?{urlencode({'id': name, **more})}")


def headings(page: Reply) -> list[str]:
    main = page.text.partition("<main")[2]  # not the dialog that asks for a token
    return [" ".join(re.sub(r"<[^>]+>", " ", heading).split()) for heading in re.findall(r"<h2[^>]*>(.*?)</h2>", main)]


def fail(browser: Browser) -> None:
    answer = browser.service.get("/ks?id=m1").text
    path = re.search(r"curl http://[^/]+(\S+)", answer)
    assert path
    assert browser.service.post(f"{path[1]}/failed?message=no+disk", LOG.encode()).status == 200


def test_a_machine_that_failed_shows_first_when_and_why_then_its_log_then_what_happened(operator: Browser) -> None:
    assert headings(page_of(operator))[0] == "Install"
    fail(operator)
    page = page_of(operator)
    assert re.match(r"Failed (just now|\d+ s ago) \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", headings(page)[0])
    # The last contact is written a while later, so its card may not be there yet.
    cards = [heading for heading in headings(page)[1:] if not heading.startswith("Last asked ")]
    assert cards[:5] == ["Install", "Timeline", "History", "Who it is", "What it would get"]
    assert re.search(r'class="why-it-failed">no disk</p>', page.text)
    log = re.search(r'aria-label="Log of the failure">(.*?)</pre>', page.text, re.DOTALL)
    assert log
    assert unescape(log[1]) == LOG
    times = re.findall(r'<time datetime="([^"]+)">(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC)</time>', page.text)
    assert len(times) == 2
    assert all(shown == f"{at[:10]} {at[11:19]} UTC" for at, shown in times)


def test_a_page_that_follows_gets_nothing_until_something_happens(operator: Browser) -> None:
    again = re.search(r'hx-get="([^"]+state=\w+)"', page_of(operator).text)
    assert again
    address = unescape(again[1])
    assert operator.get(address, **{"HX-Request": "true"}).status == 204
    assert operator.get(address).status == 200
    fail(operator)
    assert "no disk" in operator.get(address, **{"HX-Request": "true"}).text


def test_answers_are_tabs_of_which_one_is_shown(operator: Browser) -> None:
    page = page_of(operator)
    tabs = [unescape(tab) for tab in re.findall(r'<a href="(/console/machine\?[^"]+)#answers"', page.text)]
    assert [re.search(r"answer=(\w+)", tab)[1] for tab in tabs] == ["toml", "ks"]  # type: ignore[index]
    assert ('keyboard = "de"' in unescape(page.text), "%post" in page.text) == (True, False)
    other = operator.get(tabs[1])
    assert ('keyboard = "de"' in unescape(other.text), "%post" in other.text) == (False, True)
    assert page_of(operator, answer="none").status == 200


LINES = 20_000
MOST_BYTES = 400_000
"""Bytes of a page; with all lines it has 7 MB."""


def lines_of(page: Reply) -> list[tuple[int, str, int]]:
    """Number, text and number of origins of each line of an answer that a page has."""
    rows = re.findall(r'<tr><td class="num">(\d+)</td><td>(.*?)</td><td class="from">(.*?)</td></tr>', page.text, re.S)
    return [(int(number), unescape(text), origins.count("<a ")) for number, text, origins in rows]


def followed(browser: Browser, page: Reply, way: str) -> Reply:
    """The page that ``prev`` or ``next`` of a page leads to."""
    where = re.search(rf'href="([^"]+)" rel="{way}"', page.text)
    assert where
    return browser.get(unescape(where[1]).partition("#")[0])


def test_a_long_answer_is_shown_page_by_page(operator: Browser, tmp_path: Path) -> None:
    (tmp_path / "answers" / "m7.ks").write_text("".join(f"langg {number}\n" for number in range(1, LINES + 1)))
    wait_until(lambda: page_of(operator, "m7").status == 200)
    first, last = page_of(operator, "m7"), page_of(operator, "m7", page="999999")
    pages = [first, followed(operator, first, "next"), followed(operator, last, "prev"), last]
    for page in pages:
        assert len(page.body) < MOST_BYTES
        number = lines_of(page)[0][0]
        assert lines_of(page) == [(at, f"langg {at}", 1) for at in range(number, number + len(lines_of(page)))]
    begins, ends = zip(*((lines_of(page)[0][0], lines_of(page)[-1][0]) for page in pages), strict=True)
    assert (begins[0], ends[3]) == (1, LINES)
    assert (begins[1], begins[3]) == (ends[0] + 1, ends[2] + 1)
    assert 'rel="next"' not in last.text

    fields = {"csrf": operator.csrf, "path": "/ks", "query": "id=m7", "headers": "", "body": ""}
    tried = operator.post("/console/try", fields)
    assert lines_of(tried)[0] == (1, "langg 1", 1)
    button = re.search(r'<button form="request" name="page" value="(\d+)">Next', tried.text)
    assert button
    following_page = operator.post("/console/try", {**fields, "page": button[1]})
    assert lines_of(following_page)[0][0] == lines_of(tried)[-1][0] + 1


def test_an_origin_leads_to_the_line_of_the_document_and_of_the_row(operator: Browser) -> None:
    places = re.findall(r'<a href="([^"]+)" title="([^"]+)">', page_of(operator).text)
    assert [(unescape(where), place) for where, place in places] == [
        ("/console/document?kind=group&name=rack&format=toml&line=4", "groups/rack.toml:4"),
        ("/console/document?kind=group&name=rack&format=toml&line=5", "groups/rack.toml:5"),
        ("/console/inventory?name=default&line=3#r3", "inventory.csv:3"),
    ]
    assert 'data-line="5"' in operator.get(unescape(places[1][0])).text
    assert '<tr id="r3" class="at">' in operator.get(unescape(places[2][0]).partition("#")[0]).text


def test_a_machine_that_nothing_claims_has_its_badge_what_it_sent_and_the_way_to_adopt_it(operator: Browser) -> None:
    operator.service.get("/kickstart?mac=00:00:5e:00:53:ee&serial=SN-4711")
    wait_until(lambda: operator.get("/unknown").json["unknown"])
    wait_until(lambda: page_of(operator, "SN-4711").status == 200)  # what asked is read once a second
    page = page_of(operator, "SN-4711")
    assert '<span class="state unknown">unknown</span>' in page.text
    assert re.search(r'<dt>mac</dt><dd class="mono">00:00:5e:00:53:ee</dd>', page.text)
    assert "it is new" not in page.text
    adopt = re.search(r'<a class="button main" href="(/console/adopt\?id=SN-4711)">Adopt it</a>', page.text)
    assert adopt
    assert "SN-4711.ks" in operator.get(adopt[1]).text
    assert (
        'href="/console/adopt?id=SN-4711"' in page_of(operator, "0000.5e00.53ee").text
    )  # by another name that it sent
    assert "SN-4711" in operator.get("/console/machines?q=5e:00:53:ee").text


@pytest.mark.parametrize("name", ["m11", "00:00:5e:00:53:99", "groups/rack", "<b>"])
def test_a_name_that_nothing_has_is_a_404_without_orders(operator: Browser, name: str) -> None:
    page = page_of(operator, name)
    assert (page.status, 'value="arm"' in page.text, "Try a request" in page.text) == (404, False, True)


def test_recorded_requests_are_read_only_when_they_are_asked_for_and_each_once(
    operator: Browser, tmp_path: Path
) -> None:
    directory = tmp_path / "captures"
    for number in range(1_000):
        stem = directory / f"2026-11-20T21{number // 60:02}{number % 60:02}Z-10.0.0.1-1"
        line = f"GET /ks?id=m{number % 4}&n={number} HTTP/1.1"
        at = f"2026-11-20T21:{number // 60:02}:{number % 60:02}Z"
        meta = {"time": at, "peer": "10.0.0.1", "request": line, "headers": [], "body_bytes": 0, "outcome": "200"}
        stem.with_suffix(".body").write_bytes(b"")
        stem.with_suffix(".meta").write_text(json.dumps(meta))
    page = page_of(operator)
    assert "n=997" not in page.text
    where = re.search(r'href="([^"]+recordings=1)#recorded"', page.text)
    assert where
    shown = unescape(operator.get(unescape(where[1])).text)
    assert [int(number) for number in re.findall(r"id=m1&n=(\d+)", shown)] == [*range(997, 917, -4)]
    for path in directory.glob("*T2101*.meta"):
        path.write_text("{}")  # what was read is not read again; what is gone is not shown
    for path in directory.glob("*T2116*.meta"):
        path.unlink()
    shown = unescape(operator.get(unescape(where[1])).text)
    assert [int(number) for number in re.findall(r"id=m1&n=(\d+)", shown)] == [*range(957, 877, -4)]


def test_a_machine_without_a_record_shows_when_it_last_asked_and_what_it_got(operator: Browser) -> None:
    assert operator.service.get("/ks?mac=00:00:5e:00:53:77&serial=S-77").status == 404  # nothing names it
    assert operator.service.get("/toml?id=m0&serial=S-70").status == 404
    wait_until(lambda: "Last asked" in page_of(operator, "m0").text)
    text = unescape(page_of(operator, "m0").text)
    assert "404, no document claims" in text
    assert "<dt>serial</dt><dd>S-70</dd>" in text
    assert "Last asked" not in page_of(operator, "00:00:5e:00:53:77").text


def test_a_conflict_is_shown_where_people_look(operator: Browser, tmp_path: Path) -> None:
    """A row that two machines share after it was mended badly, one installed and one that was let in."""
    tree = dict(TREE)
    tree["inventory.csv"] = "id,mac\nm1,00:00:5e:00:53:01\nm2,00:00:5e:00:53:02\n"
    write_tree(tmp_path / "answers", tree)
    wait_until(lambda: "m2" in page_of(operator, "m2").text)
    settings: dict[str, Any] = {
        "SERVICE_STATE_PATH": tmp_path / "states.db",
        "SERVICE_ANSWERS_DIR": tmp_path / "answers",
    }
    assert run("disarm", "m1", **settings).returncode == 0
    assert run("arm", "m2", **settings).returncode == 0
    write_tree(tmp_path / "answers", tree | {"inventory.csv": "id,mac\nm1,00:00:5e:00:53:01 00:00:5e:00:53:02\n"})
    wait_until(lambda: headings(page_of(operator))[0] == "Its identities contradict each other")
    parts = re.findall(r"<li><code>([^<]+)</code> is (\w+)", page_of(operator).text)
    assert parts == [("00:00:5e:00:53:01", "installed"), ("00:00:5e:00:53:02", "armed")]
    assert 'class="state conflict"' in operator.get("/console/machines?state=conflict").text
    installs = json.loads(run("installs", "--state", "conflict", "--json", **settings).stdout)["installs"]
    assert [(one["machine"], [part["state"] for part in one["conflict"]]) for one in installs] == [
        ("m1", ["installed", "armed"])
    ]
    notes = run("check", **settings).stdout.decode()
    assert 'm1 is a conflict: 00:00:5e:00:53:01 is installed and 00:00:5e:00:53:02 is armed; "answerd arm m1"' in notes
    assert run("arm", "m1", **settings).returncode == 0
    wait_until(lambda: headings(page_of(operator))[0] != "Its identities contradict each other")
