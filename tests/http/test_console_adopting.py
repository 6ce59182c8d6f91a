"""Many machines that nothing claims, adopted by rows in the console. Rules: docs/console.md#adopting."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest

from answerd.server.roles import Role, new_token
from tests.support.console import Browser, compared, started
from tests.support.replies import Reply
from tests.support.waiting import wait_until

PAGE = "/console/adopt"
BAD = "#cloud-config\nmatch:\n  role: bad\nautoinstall:\n  version: 1\n  identity: 5\n"
"""A group whose answers the installer refuses."""

TABLE = "id,mac,serial,role,root-password\nspare-1,,,gpu,swordfish1\nnear,98:fa:9b:50:d8:11,,cpu,\n"


def mac(number: int) -> str:
    return f"98:fa:9b:51:{number:02x}:{number:02x}"


def ask(browser: Browser, number: int, address: str = "") -> None:
    browser.service.get(f"/ks?mac={address or mac(number)}&serial=7ABC{number:03}&product=R{number % 2}")


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[Browser]:
    """Somebody who may change rows; five machines asked, the third first."""
    token, entry = new_token("desk", Role.INVENTORY)
    (tmp_path / "tokens").write_text(f"{entry}\n")
    with started(tmp_path, "sqlite", SERVICE_TOKENS_FILE=tmp_path / "tokens") as browser:
        browser.log_in()
        name, text = "gpu", "# answer: match role=gpu\ntext\n"
        assert browser.change(do="save", kind="group", name=name, format="ks", text=text).status == 303
        assert browser.change(do="save", kind="group", name="bad", format="yaml", text=BAD).status == 303
        table = {"kind": "inventory", "name": "default", "format": "csv", "text": TABLE}
        assert browser.change(do="save", **table).status == 303
        for number in (3, 1, 2, 4):
            ask(browser, number)
            wait_until(lambda: f"7ABC{number:03}" in browser.get(PAGE).text)  # noqa: B023 - it is waited for here
        browser.log_in(token)
        yield browser


def machines_in(page: Reply) -> list[str]:
    return re.findall(r'name="machine" value="([^"]+)"', page.text)


def planned_in(page: Reply) -> list[list[str]]:
    """Return the cells of the rows that machines would get."""
    table = re.search(r'aria-label="What they become">.*?<tbody>(.*?)</tbody>', page.text, re.DOTALL)
    assert table, page.text
    rows = re.findall(r"<tr>(.*?)</tr>", table[1], re.DOTALL)
    cells = [re.findall(r"<td[^>]*>(.*?)\s*</td>", row, re.DOTALL) for row in rows]
    return [[unescape(re.sub(r"<[^>]+>", "", cell)) for cell in row] for row in cells]


def send(browser: Browser, page: Reply, do: str, machines: list[str], **fields: str) -> Reply:
    hidden = dict(re.findall(r'type="hidden" name="(once|seen|to)" value="([^"]*)"', page.text))
    given = [*({"csrf": browser.csrf, **hidden, "do": do} | fields).items()]
    given += [("machine", name) for name in machines]
    if "role" in fields:
        given += [("column", "role"), ("cell", fields["role"])]
    head = {"Origin": browser.origin, "Content-Type": "application/x-www-form-urlencoded"}
    return compared(lambda: browser.send("POST", PAGE, urlencode(given).encode(), head))


def stored(browser: Browser) -> list[str]:
    admin = Browser(browser.service, browser.console)
    admin.log_in()
    return admin.get("/inventory/default").body.decode().splitlines()


def test_machines_get_names_in_the_order_in_which_they_asked_and_the_page_shows_their_rows(keeper: Browser) -> None:
    page = keeper.get(PAGE)
    everything = machines_in(page)
    assert everything == ["7ABC003", "7ABC001", "7ABC002", "7ABC004"]
    wanted = {"pattern": "cn{n:04}", "role": "gpu", "said": "product=R1", "strict": "1"}
    shown = send(keeper, page, "preview", everything, **wanted)
    assert [[row[0], row[2], *row[4:]] for row in planned_in(shown)] == [
        ["7ABC003", "cn0001", "cn0001", mac(3), "7ABC003", "gpu", ""],
        ["7ABC001", "cn0002", "cn0002", mac(1), "7ABC001", "gpu", ""],
    ]
    assert "2 machines get an answer, and have none now" in shown.text
    assert "swordfish1" not in shown.text
    assert len(stored(keeper)) == 3, "nothing is stored yet"
    made = send(keeper, shown, "save", everything, **wanted)
    assert made.status == 303
    these = keeper.get(made.headers["location"])
    assert re.findall(r'<tr id="r\d+"[^>]*>\s*<td><a[^>]*>([^<]+)</a>', these.text) == ["cn0001", "cn0002"]
    assert stored(keeper)[3:] == [f"cn0001,{mac(3)},7ABC003,gpu,", f"cn0002,{mac(1)},7ABC001,gpu,"]
    wait_until(lambda: keeper.service.get(f"/ks?mac={mac(3)}").text == "text\n")
    wait_until(lambda: machines_in(keeper.get(PAGE)) == ["7ABC002", "7ABC004"])
    history = keeper.get("/history").json["history"]
    assert (history[0]["note"], history[0]["who"]["name"]) == ("adopted 2 machines", "desk")


def test_an_answer_that_would_lack_a_fact_is_said_to(keeper: Browser) -> None:
    admin = Browser(keeper.service, keeper.console)
    admin.log_in()
    text = "# answer: match role=odd\n{{ product }} {{ place }}\n"
    assert admin.change(do="save", kind="group", name="odd", format="ks", text=text).status == 303
    page = keeper.get(PAGE)
    shown = send(keeper, page, "preview", machines_in(page), pattern="cn{n}", role="odd", said="product=R1")
    assert "2 machines get an answer that lacks a fact, and have none now" in shown.text
    assert "2 new answers, such as cn1 (ks), would lack the fact &#039;place&#039;" in shown.text
    assert "product" not in shown.text.partition("would lack the fact")[2].partition(":")[0]


def test_free_rows_are_filled_and_those_left_over_are_named(keeper: Browser) -> None:
    page = keeper.get(PAGE)
    shown = send(keeper, page, "preview", ["7ABC001", "7ABC002"], free="1")
    assert [row[:1] + row[2:4] for row in planned_in(shown)] == [["7ABC001", "spare-1", "inventory.csv:2"]]
    assert "7ABC002</a>: no free row is left" in shown.text
    assert send(keeper, shown, "save", ["7ABC001", "7ABC002"], free="1").status == 303
    assert stored(keeper)[1] == f"spare-1,{mac(1)},7ABC001,gpu,swordfish1"


def test_what_changed_since_it_was_shown_is_shown_again_and_not_made(keeper: Browser) -> None:
    page = keeper.get(PAGE)
    shown = send(keeper, page, "preview", ["7ABC001"], pattern="cn{n}")
    late = send(keeper, shown, "save", ["7ABC001"], pattern="gpu{n}")
    assert (late.status, "has changed since it was shown" in late.text) == (409, True)
    assert planned_in(late)[0][2] == "gpu1"
    assert 'value="gpu{n}"' in late.text, "what was typed stays"
    assert len(stored(keeper)) == 3
    assert send(keeper, late, "save", ["7ABC001"], pattern="gpu{n}").status == 303


def test_a_row_that_is_one_digit_off_is_named_with_the_digit(keeper: Browser) -> None:
    ask(keeper, 5, "98:fa:9b:50:d8:12")
    wait_until(lambda: "7ABC005" in machines_in(keeper.get(PAGE)))
    shown = send(keeper, keeper.get(PAGE), "preview", ["7ABC005"])
    assert 'has <span class="mono">98:fa:9b:50:d8:1<mark>1</mark></span>' in shown.text
    one = keeper.get(f"{PAGE}?id=7ABC005")
    assert 'has <span class="mono">98:fa:9b:50:d8:1<mark>1</mark></span>' in one.text


def test_what_an_installer_would_refuse_is_not_made_unless_that_is_wanted(keeper: Browser) -> None:
    page = keeper.get(PAGE)
    shown = send(keeper, page, "preview", ["7ABC001"], role="bad", strict="1")
    assert "1 answer would be refused by the installer" in shown.text
    refused = send(keeper, shown, "save", ["7ABC001"], role="bad", strict="1")
    assert (refused.status, "an installer would refuse 1 answer" in refused.text) == (409, True)
    assert len(stored(keeper)) == 3
    assert send(keeper, shown, "save", ["7ABC001"], role="bad").status == 303


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"pattern": "cn"}, "write {n} once"),
        ({"said": "product"}, "is no filter"),
        ({"count": "0"}, "whole number above zero"),
        ({"role": "(secret)"}, "column role"),
        ({"role": "a\0b"}, "column role"),
        ({"free": "1", "pattern": "cn{n}"}, "free rows have names already"),
    ],
)
def test_what_cannot_be_is_said_and_the_form_keeps_it(keeper: Browser, fields: dict[str, str], said: str) -> None:
    page = keeper.get(PAGE)
    for do in ("preview", "save"):
        reply = send(keeper, page, do, ["7ABC001"], **fields)
        assert said in unescape(reply.text), do
    for field in ("pattern", "count"):
        assert f'value="{fields.get(field, "")}"' in reply.text
    assert len(stored(keeper)) == 3


def test_no_machine_is_chosen_by_nobody(keeper: Browser) -> None:
    assert "choose a machine" in send(keeper, keeper.get(PAGE), "save", []).text


def test_who_may_not_change_rows_sees_the_list_and_no_form(keeper: Browser, tmp_path: Path) -> None:
    token, entry = new_token("guest", Role.READ)
    with (tmp_path / "tokens").open("a") as file:
        file.write(f"{entry}\n")
    keeper.service.process.send_signal(signal.SIGHUP)
    guest = Browser(keeper.service, keeper.console)
    wait_until(lambda: guest.log_in(token).status == 303)
    page = guest.get(PAGE)
    assert ("7ABC003" in page.text, machines_in(page), "role inventory" in page.text) == (True, [], True)
    assert send(guest, page, "save", ["7ABC001"]).status == 403


def test_without_a_database_the_page_names_the_command(tmp_path: Path) -> None:
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "inventory.csv").write_text(TABLE)
    with started(tmp_path, "files", SERVICE_STATE_PATH=tmp_path / "states.db") as browser:
        browser.log_in()
        ask(browser, 1)
        wait_until(lambda: "7ABC001" in browser.get(PAGE).text)
        assert "answerd adopt" in browser.get(PAGE).text
        assert 'value="save"' not in browser.get(PAGE).text
