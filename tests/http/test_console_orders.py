"""Orders from the console's pages: asked about first, said when they are given, and taken back; and what the first page
says of failures.

Rules: docs/console.md#machines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from answerd.server.roles import Role, new_token
from tests.support.console import TOKEN, Browser, started
from tests.support.replies import Reply
from tests.support.service import write_tree
from tests.support.waiting import wait_until

NAMES = tuple(f"node-{number:03}" for number in range(1, 121))
TREE = {
    "groups/nodes.ks": "".join(f"# answer: member {name}\n" for name in NAMES)
    + "# answer: once\n# answer: template on\ntext\nrootpw swordfish1\n%post\ncurl {{ report }}\n%end\n",
}


@pytest.fixture
def operator(tmp_path: Path) -> Iterator[Browser]:
    write_tree(tmp_path / "answers", TREE)
    token, line = new_token("ops", Role.OPERATE)
    (tmp_path / "tokens").write_text(f"{line}\n")
    (tmp_path / "tokens").chmod(0o600)
    settings = {"SERVICE_STATE_PATH": tmp_path / "states.db", "SERVICE_TOKENS_FILE": tmp_path / "tokens"}
    with started(tmp_path, "files", **settings) as browser:
        browser.log_in(token)
        wait_until(lambda: len(states(browser, state="new")) == 100)  # the files are read
        yield browser


def order(browser: Browser, **fields: str) -> Reply:
    return browser.post("/console/machines", {"csrf": browser.csrf, **fields})


def hidden(page: Reply) -> dict[str, str]:
    """The fields of the form of the page, or of its notice, that are not seen."""
    found = re.findall(r'<input type="hidden" name="(given|back|csrf)" value="([^"]*)"', page.text)
    return {name: unescape(value) for name, value in found}


def heading(page: Reply) -> str:
    found = re.search(r"<h1>(.*?)</h1>", page.text, re.DOTALL)
    assert found
    return " ".join(re.sub(r"<[^>]+>", " ", found[1]).split())


def shown(page: Reply) -> list[str]:
    return re.findall(r'<tr><td><a href="[^"]*">([^<]+)</a></td><td><span class="state', page.text)


def states(browser: Browser, **query: str) -> dict[str, str]:
    """The machines of a page of the table with their states."""
    text = browser.get(f"/console/machines?{urlencode(query)}").text
    names = re.findall(r'<td class="name"><a href="[^"]*">([^<]+)</a>', text)
    return dict(zip(names, re.findall(r'<td class="now"><span class="state (\w+)"', text), strict=True))


def fail(browser: Browser, name: str, why: str) -> None:
    path = re.search(r"curl http://[^/]+(\S+)", browser.service.get(f"/ks?id={name}").text)
    assert path
    assert browser.service.post(f"{path[1]}/failed?{urlencode({'message': why})}", b"").status == 200


def test_an_order_for_no_machine_says_what_to_do_first(operator: Browser) -> None:
    page = order(operator, do="disarm", back="/console/machines")
    assert page.status == 400
    assert "Choose machines first, then press Disarm." in page.text


def test_nothing_is_ordered_before_it_is_confirmed_and_arming_is_taken_back(operator: Browser) -> None:
    where = "/console/machines?q=node-00"
    page = operator.post(
        "/console/machines", {"csrf": operator.csrf, "do": "arm", "machine": "node-001", "back": where}
    )
    assert (page.status, heading(page), shown(page)) == (200, "Arm 1 machine?", ["node-001"])
    assert "Disks will be wiped" in page.text
    assert set(states(operator, q="node-00").values()) == {"new"}
    given = order(operator, do="confirm", **hidden(page))
    assert given.status == 303
    notice = operator.get(given.headers["location"])
    assert given.headers["location"].startswith(f"{where}&done=")
    assert "1 machine armed" in notice.text
    assert states(operator, q="node-001") == {"node-001": "armed"}
    assert order(operator, do="confirm", **hidden(page)).status == 409, "an order is given once"
    undone = order(operator, do="undo", **hidden(notice))
    assert "1 machine disarmed" in operator.get(undone.headers["location"]).text
    assert states(operator, q="node-001") == {"node-001": "installed"}
    assert order(operator, do="undo", **hidden(notice)).status == 409


def test_a_confirmation_says_what_is_hit_and_has_the_focus_on_the_harmless_button(tmp_path: Path) -> None:
    row = "node-001,r3,10.0.0.7/24,nvme0n1,swordfish1\n"
    write_tree(tmp_path / "answers", {**TREE, "inventory.csv": "id,rack,addr,disk,root-password\n" + row})
    with started(tmp_path, "files", SERVICE_STATE_PATH=tmp_path / "states.db") as operator:
        operator.log_in()
        wait_until(lambda: len(states(operator, state="new")) == 100)
        page = order(operator, do="arm", machine="node-001", back="/console/machines")
        table, actions = page.text.index('class="hit"'), page.text.index('class="actions asked"')
        assert table < actions, "what is hit is above the buttons"
        cells = re.findall(r"<td>([^<]*)</td>", page.text[table:actions])
        assert cells == ["r3", "10.0.0.7/24", "nvme0n1"]
        assert "swordfish1" not in page.text
        assert re.findall(r"<(\w+)[^>]* autofocus[^>]*>([^<]*)<", page.text) == [("a", "Cancel")]


def test_all_machines_that_match_are_ordered_also_those_of_other_pages(operator: Browser) -> None:
    where = "/console/machines?q=node-0+group:nodes&sort=name&desc=1"
    page = order(operator, do="arm", all="1", machine="node-120", back=where)
    assert heading(page) == "Arm 99 machines?"
    assert shown(page) == sorted((name for name in NAMES if name.startswith("node-0")), reverse=True)
    order(operator, do="confirm", **hidden(page))
    assert len(states(operator, state="armed")) == 99


def test_forgetting_says_that_it_is_for_good_and_cannot_be_taken_back(operator: Browser) -> None:
    fail(operator, "node-002", "no disk")
    page = order(operator, do="forget", machine="node-002", back="/console/machine?id=node-002")
    assert "erased, for good" in page.text
    assert '<td><span class="state failed">failed</span></td>' in page.text
    notice = operator.get(order(operator, do="confirm", **hidden(page)).headers["location"])
    assert notice.status == 200
    assert "1 machine forgotten" in notice.text
    assert 'value="undo"' not in notice.text


def test_only_what_was_armed_is_armed_again_and_only_what_is_armed_is_disarmed(operator: Browser) -> None:
    def give(verb: str, *names: str) -> Reply:
        fields = [("csrf", operator.csrf), ("do", verb), *(("machine", name) for name in names)]
        headers = {"Origin": operator.origin, "Content-Type": "application/x-www-form-urlencoded"}
        page = operator.send("POST", "/console/machines", urlencode(fields).encode(), headers)
        return operator.get(order(operator, do="confirm", **hidden(page)).headers["location"])

    give("arm", "node-001")
    disarmed = give("disarm", "node-001", "node-002")
    order(operator, do="undo", **hidden(disarmed))
    assert states(operator, q="node-00", state="armed") == {"node-001": "armed"}
    armed = give("arm", "node-003", "node-004")
    operator.service.get("/ks?id=node-003")
    order(operator, do="undo", **hidden(armed))
    found = states(operator, q="node-00")
    assert (found["node-003"], found["node-004"]) == ("installing", "installed")


def test_an_order_that_makes_no_sense_is_refused_in_words(operator: Browser) -> None:
    nobody, unasked = {"do": "arm", "machine": "nobody"}, {"do": "confirm", "given": "x"}
    page = order(operator, do="arm")
    assert (page.status, "Choose machines first" in page.text) == (400, True)
    for fields in (nobody, unasked, {"do": "undo"}, {"do": "x"}):
        page = order(operator, **fields)
        if page.status == 200:
            page = order(operator, do="confirm", **hidden(page))
        assert (page.status, "<h1" in page.text) == (409, True), fields
    assert set(states(operator).values()) == {"new"}


def test_a_failure_is_on_the_first_page_with_its_whole_reason_and_no_secret(operator: Browser) -> None:
    why = "no disk larger than 32 GB was found on any of the three controllers of this machine"
    fail(operator, "node-007", f"{why}, swordfish1")
    page = operator.get("/console/").text
    section = re.search(r'aria-labelledby="now-failed".*?</section>', page, re.DOTALL)
    assert section
    assert "node-007" in section[0]
    assert why in section[0]
    assert "swordfish" not in page
    hour = re.search(r'href="(/console/machines\?[^"]+)">Failed in the last hour', section[0])
    assert hour
    assert why in operator.get(unescape(hour[1])).text
    assert states(operator, q="controllers") == {"node-007": "failed"}
    assert states(operator, q="swordfish") == {}
    assert "swordfish1" not in operator.get("/console/machines?q=node-007").text


def test_failures_are_told_by_cause_and_all_of_one_are_armed_together(operator: Browser) -> None:
    for number, why in enumerate(
        ("disk 1 is too small", "disk 2 is too small", "no network", "disk 3 is too small"), 1
    ):
        fail(operator, f"node-00{number}", why)
    page = operator.get("/console/").text
    section = re.search(r'aria-labelledby="now-failed".*?</section>', page, re.DOTALL)
    assert section
    told = [re.sub(r"<[^>]+>", "", one) for one in re.findall(r"<strong>(.*?)</strong>", section[0])]
    assert told == ["disk 3 is too small", "no network"]
    assert re.findall(r'<button name="do" value="arm"[^>]*>(.*?)</button>', section[0]) == [
        "Arm all 3 of these …",
        "Arm it …",
    ]
    back = re.search(r'name="back" value="([^"]+)"', section[0])
    assert back
    asked = order(operator, do="arm", all="1", back=unescape(back[1]))
    assert (heading(asked), sorted(shown(asked))) == ("Arm 3 machines?", ["node-001", "node-002", "node-004"])


CAUSES = {
    "no disk larger than 32 GB": ("node-001", "node-002"),
    'mirror: "http://10.0.0.1/a b" \u2192 404 & <gone>': ("node-003", "node-004"),
    "": ("node-005", "node-006"),
}


def test_the_page_behind_arm_all_of_these_has_these_machines_after_the_order_too(operator: Browser) -> None:
    """Armed machines have not failed, so the view of their cause has none of them any more."""
    for at, (why, names) in enumerate(CAUSES.items()):
        for name in names:
            fail(operator, name, why.replace("32", str(32 + at)))
    fail(operator, "node-007", "no network")
    overview = operator.get("/console/overview").text
    forms = re.findall(
        r'value="(/console/machines\?q=cause[^"]*)"><input type="hidden" name="all" value="1">.*?>Arm ([^<]*)<',
        overview,
    )
    assert sorted(words for _, words in forms) == ["all 2 of these …"] * 3 + ["it …"]
    armed = set()
    for where, _ in forms:
        page = order(operator, do="arm", all="1", back=unescape(where))
        asked = tuple(sorted(shown(page)))
        after = operator.get(order(operator, do="confirm", **hidden(page)).headers["location"])
        assert "No machine matches" not in after.text
        assert f"{len(asked)} machine{'s' if len(asked) > 1 else ''} armed" in after.text
        view = dict(parse_qsl(urlsplit(hidden(after)["back"]).query))
        assert states(operator, **view) == dict.fromkeys(asked, "armed")
        armed.add(asked)
    assert armed == {*CAUSES.values(), ("node-007",)}


def test_a_list_that_has_machines_of_an_order_still_stays_as_it_is(operator: Browser) -> None:
    for name in ("node-001", "node-002"):
        fail(operator, name, "no disk")
    page = order(operator, do="arm", machine="node-001", back="/console/machines?q=node-00")
    after = order(operator, do="confirm", **hidden(page)).headers["location"]
    assert after.startswith("/console/machines?q=node-00&done=")
    page = order(operator, do="arm", machine="node-002", back="/console/machines?state=failed&view=grid&by=group")
    after = order(operator, do="confirm", **hidden(page)).headers["location"]
    assert re.match(r"/console/machines\?view=grid&by=group&order=[\w-]+&done=", after)
    rows = operator.get(after.replace("/console/machines?", "/console/machines.csv?")).text.splitlines()[1:]
    assert [row.split(",")[:2] for row in rows] == [["node-002", "armed"]]


def test_problems_are_told_by_cause_with_links_to_their_lines_and_notes_are_shown(tmp_path: Path) -> None:
    wrong = '[global]\nkeyboard = "no such layout"\n'
    tree = {f"m{number}.toml": 'extends = "rack"\n' for number in range(1, 9)}
    write_tree(tmp_path / "answers", {**tree, "groups/rack.toml": wrong, "groups/bad.yaml": "a: {\n"})
    with started(tmp_path, "files") as browser:
        browser.log_in(TOKEN)

        def found() -> list[str]:
            text = browser.get("/console/check").text.partition('aria-labelledby="problems"')[2]
            return re.findall(r"<li>(.*?)</li>", text.partition("</section>")[0], re.DOTALL)

        wait_until(found)
        wait_until(lambda: "/console/document?kind=group&amp;name=rack&amp;format=toml&amp;line=2" in "".join(found()))
        first = [one for one in found() if "keyboard" in one and "<summary>" in one]
        assert len(first) == 1
        assert "(8 machines)" in first[0]
        assert "7 more like it" in first[0]
        text = browser.get("/console/check").text
        assert 'href="/console/document?kind=group&amp;name=bad&amp;format=yaml&amp;line=' in text
        notes = text.partition('aria-labelledby="notes"')[2]
        assert "is not recognised in a JSON body" in notes
        now = browser.get("/console/").text.partition('aria-labelledby="now-problems"')[2]
        assert "name=bad&amp;format=yaml&amp;line=" in now


def test_the_feed_tells_machine_and_outcome_and_a_failure_is_not_good_news(operator: Browser) -> None:
    fail(operator, "node-008", "no disk")
    operator.service.get(f"/nothing?serial={'x' * 3000}")

    def rows() -> list[tuple[str, ...]]:
        text = operator.get("/console/requests").text
        cells = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in re.findall(r"<tr[^>]*>.*?</tr>", text)]
        return [tuple(" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in row) for row in cells if row]

    wait_until(lambda: len(rows()) >= 3)
    words = {(row[1], row[2], row[3]) for row in rows()}
    assert ("node-008", "reported failed", "200") in words
    text = operator.get("/console/requests").text
    assert re.search(r'reported failed</span></td><td class="fit"><span class="state problem">200', text)
    assert ("node-008", "got text by group nodes", "200") in words


def test_problems_are_counted_as_the_check_counts_them(tmp_path: Path) -> None:
    write_tree(tmp_path / "answers", {"m1.toml": '[global]\nkeyboard = "no such layout"\n'})
    with started(tmp_path, "files") as browser:
        browser.log_in(TOKEN)

        def counts() -> tuple[str, str]:
            found = [browser.get(path).text for path in ("/console/check", "/console/")]
            check, tile = re.search(r">(\d+) problems?</h2>", found[0]), re.search(r'/check"><b>(\d+)</b>', found[1])
            return (check[1] if check else "", tile[1] if tile else "")

        wait_until(lambda: counts()[0] != "")
        assert counts()[0] == counts()[1] != "0"
