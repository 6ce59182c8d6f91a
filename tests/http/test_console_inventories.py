"""Inventories in the console as tables: rows edited in place, files uploaded with a preview, machines adopted.

Rules: docs/console.md#inventories.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest

from answerd.server.roles import Role, new_token
from answerd.store.sqlite import SqliteStore
from answerd.store.transfer import import_directory
from tests.support.console import Browser, changes_in, compared, etag_of, revisions_in, started, text_in
from tests.support.replies import Reply
from tests.support.waiting import wait_until

TABLE = "/console/inventory?name=default"
TEXT = (
    "\ufeffid ;mac;rack;root-password\r\n"
    "m01;00:00:5e:00:53:01; r1 ;swordfish1\r\n"
    '"m02";00:00:5e:00:53:02;r2;tuna22222\r\n'
)
MANY = "id,rack,note\n" + "".join(f"m{number:05},r{number % 40},{'x' * 50}\n" for number in range(5_000))
GROUP = '[match]\nrack = "r1"\n[global]\nkeyboard = "de"\n'


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[Browser]:
    """An administrator of a database with an inventory of two rows."""
    with started(tmp_path, "sqlite") as browser:
        browser.log_in()
        assert 'href="/console/inventory?name=default"' in browser.get("/console/").text  # where the first is uploaded
        put(browser, TEXT)
        yield browser


def put(browser: Browser, text: str) -> None:
    shown = uploaded(browser, text)
    assert sent(browser, shown, do="save").status == 303


def uploaded(browser: Browser, text: str | bytes, name: str = "default") -> Reply:
    fields = {"csrf": browser.csrf, "name": name, "do": "upload", "mode": "replace"}
    parts = [
        f'--xx\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n' for key, value in fields.items()
    ]
    head = '--xx\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\nContent-Type: text/csv\r\n\r\n'
    content = text.encode() if isinstance(text, str) else text
    body = "".join([*parts, head]).encode() + content + b"\r\n--xx--\r\n"
    given = {"Origin": browser.origin, "Content-Type": "multipart/form-data; boundary=xx"}
    return browser.send("POST", "/console/inventory", body, given)


def pasted(browser: Browser, text: str, mode: str) -> Reply:
    fields = {"csrf": browser.csrf, "name": "default", "do": "upload", "mode": mode, "text": text}
    page = browser.post("/console/inventory", fields)
    of = re.search(r'name="of" value="([^"]+)"', page.text)
    return compared(lambda: browser.get(f"/console/inventory/proposal?of={of[1]}")) if of else page


def faults_in(page: Reply) -> dict[str, list[str]]:
    """Return the faults of each row that was pasted, by its line: those in its cells with the column before them."""
    heads = re.findall(r'<th scope="col">([^<]*)</th>', page.text)
    found: dict[str, list[str]] = {}
    for row in re.findall(r'<tr class="faulty">(.*?)</tr>', page.text, re.DOTALL):
        cells = re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)
        line = re.match(r"\d+", cells[0])
        assert line
        for head, cell in zip(heads, cells, strict=True):
            if fault := re.search(r"fault</span> ([^<]*)</div>", cell):
                found.setdefault(line[0], []).append(f"{head}: {unescape(fault[1])}")
    return found


def test_rows_are_added_and_updated_by_pasting_and_the_page_shows_these(keeper: Browser) -> None:
    shown = pasted(keeper, "Name\tMAC address\track\nm03\t00:00:5e:00:53:03\tr3\nm04\t00:00:5e:00:53:04\tr3\n", "add")
    assert "2 rows: 2 are new" in shown.text
    assert 'name="do" value="save">Add 2 rows</button>' in shown.text
    assert stored(keeper) == TEXT
    saved = sent(keeper, shown, do="save")
    added = TEXT + "m03;00:00:5e:00:53:03;r3;\r\nm04;00:00:5e:00:53:04;r3;\r\n"
    assert stored(keeper) == added
    these = keeper.get(saved.headers["location"])
    assert re.findall(r'<tr id="r\d+"[^>]*>\s*<td><a[^>]*>([^<]+)</a>', these.text) == ["m03", "m04"]
    changed = pasted(keeper, "id,rack,room\nm04,r4,\nm01,r1,\nm05,r5,x\n", "update")
    assert "3 rows: 1 are new, 1 change, 1 stay" in changed.text
    query = "&to=id&to=rack&to=room&mode=update"
    of = form_in(changed)["proposal"]
    wider = compared(lambda: keeper.get(f"/console/inventory/proposal?of={of}{query}"))
    assert sent(keeper, wider, do="save").status == 303
    assert (
        stored(keeper)
        == added.replace("root-password", "root-password;room").replace(
            "m04;00:00:5e:00:53:04;r3;", "m04;00:00:5e:00:53:04;r4;;"
        )
        + "m05;;r5;;x\r\n"
    )


def test_every_fault_of_pasted_rows_is_in_its_cell_and_none_is_saved(keeper: Browser) -> None:
    text = "id,mac\nm01,zz\nm05,00:00:5e:00:53:05\nm06,00:00:5e:00:53:05\n,\nm07,00:00:5e:00:53:07,x\n"
    shown = pasted(keeper, text, "add")
    assert faults_in(shown) == {
        "2": ["id: it is there already, in line 2: update it instead", "mac: a value is no MAC address"],
        "4": ["mac: line 3 has it too"],
        "6": ["Line: it has 3 cells, and the header has 2 columns"],
    }
    assert 'value="save"' not in shown.text
    fields = {"csrf": keeper.csrf, "name": "default", "do": "save", "mode": "add", "to": "id"}
    of = re.search(r'name="of" value="([^"]+)"', shown.text)
    assert of
    assert "cannot be so" in keeper.post("/console/inventory", {**fields, "proposal": of[1]}).text
    assert stored(keeper) == TEXT


def test_what_others_changed_meanwhile_stays_when_rows_are_added(keeper: Browser) -> None:
    shown = pasted(keeper, "id,rack\nm03,r3\n", "add")
    sent(keeper, keeper.get(f"{TABLE}&edit=m01"), ["m01", "00:00:5e:00:53:01", "r8", "(secret)"], do="save")
    assert sent(keeper, shown, do="save").status == 303
    assert stored(keeper) == TEXT.replace(" r1 ", "r8") + "m03;;r3;\r\n"


def test_a_row_with_more_than_its_columns_is_not_cut(tmp_path: Path) -> None:
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "inventory.csv").write_text(text := "id,note\na,Smith, John\nb,x\n")
    import_directory(tmp_path / "answers", SqliteStore(tmp_path / "answers.db"))
    fault = "has 3 cells, and the header has 2 columns"
    with started(tmp_path, "sqlite") as browser:
        browser.log_in()
        shown = pasted(browser, "id,note\na,y\nb,y\n", "update")
        assert faults_in(shown) == {"2": [f"Line: inventory.csv:2 {fault}: correct it first"]}
        refused = sent(browser, browser.get(f"{TABLE}&edit=a"), ["a", "y"], do="save")
        assert f"the row {fault}: correct it in the text of the inventory" in unescape(refused.text)
        assert stored(browser) == text
        assert sent(browser, browser.get(f"{TABLE}&edit=b"), ["b", "y"], do="save").status == 303
        assert stored(browser) == text.replace("b,x", "b,y")


def form_in(page: Reply) -> dict[str, str]:
    """Return the hidden fields of the form that changes rows."""
    found = re.search(r'<form id="editor".*?</form>', page.text, re.DOTALL)
    assert found, page.text
    return {
        name: unescape(value) for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', found[0])
    }


def cells_in(page: Reply) -> list[str]:
    """Return the cells of the row that is edited."""
    return [unescape(cell) for cell in re.findall(r'<input form="editor" name="cell" value="([^"]*)"', page.text)]


def sent(browser: Browser, page: Reply, cells: list[str] | None = None, **fields: str) -> Reply:
    """Send the form of a page."""
    columns = [("to", unescape(name)) for name in re.findall(r'name="to" value="([^"]*)"', page.text)]
    hidden = {name: value for name, value in form_in(page).items() if name != "to"}
    given = [*(hidden | fields).items(), *columns, *(("cell", cell) for cell in cells or ())]
    head = {"Origin": browser.origin, "Content-Type": "application/x-www-form-urlencoded"}
    return compared(lambda: browser.send("POST", "/console/inventory", urlencode(given).encode(), head))


def stored(browser: Browser, name: str = "default") -> str:
    return browser.get(f"/inventory/{name}").body.decode()


def names_in(page: Reply) -> list[str]:
    return re.findall(r'<td><a href="/console/machine\?id=(\w+)">', page.text)


def test_a_row_is_written_anew_in_its_place_and_every_other_row_keeps_its_bytes(keeper: Browser) -> None:
    page = keeper.get(f"{TABLE}&edit=m01")
    assert cells_in(page) == ["m01", "00:00:5e:00:53:01", "r1", "(secret)"]
    reply = sent(keeper, page, ["m01", "00:00:5e:00:53:01", "r9", "(secret)"], do="save")
    assert (reply.status, reply.headers["location"]) == (303, "/console/inventory?name=default&line=2&saved=2#r2")
    assert stored(keeper) == TEXT.replace(" r1 ", "r9")
    renamed = sent(keeper, keeper.get(f"{TABLE}&edit=m02"), ["m22", "00:00:5e:00:53:02", "r2", "(secret)"], do="save")
    assert renamed.status == 303
    assert stored(keeper) == TEXT.replace(" r1 ", "r9").replace('"m02"', "m22")


def test_a_row_is_added_and_removed(keeper: Browser) -> None:
    assert sent(keeper, keeper.get(f"{TABLE}&add=1"), ["m03", "", "r;3", ""], do="save").status == 303
    assert stored(keeper) == TEXT + 'm03;;"r;3";\r\n'
    asked = sent(keeper, keeper.get(f"{TABLE}&edit=m01"), do="preview-delete")
    assert "What deleting would change" in asked.text
    assert stored(keeper).startswith(TEXT)
    assert sent(keeper, asked, do="delete").status == 303
    assert names_in(keeper.get(TABLE)) == ["m02", "m03"]


def test_a_row_that_is_not_valid_is_refused_with_the_reason_and_kept_in_the_form(keeper: Browser) -> None:
    for cells, said in (
        (["m01", "no address", "", ""], "a value is no MAC address"),
        (["", "", "r1", ""], "has no value in id or mac"),
        (["m01", "00:00:5e:00:53:01", "(secret)", ""], "column rack"),
        (["m01", "00:00:5e:00:53:01", "a\0b", ""], "column rack"),
        (["m02", "00:00:5e:00:53:01", "r1", ""], "rows with one identity"),
        (["m01"], "columns"),
    ):
        reply = sent(keeper, keeper.get(f"{TABLE}&edit=m01"), cells, do="save")
        assert reply.status == 409
        message = re.search(r'role="alert"><p>(Not saved: .*?)</div>', reply.text, re.DOTALL)
        assert message
        assert said in unescape(message[1])
    assert stored(keeper) == TEXT


def test_of_two_who_edit_a_row_the_second_is_told_who_was_first(keeper: Browser) -> None:
    page = keeper.get(f"{TABLE}&edit=m01")
    sent(keeper, page, ["m01", "00:00:5e:00:53:01", "r8", "(secret)"], do="save")
    late = sent(keeper, page, ["m01", "00:00:5e:00:53:01", "r7", "(secret)"], do="save")
    assert late.status == 409
    assert "somebody else changed this row" in late.text
    assert "(admin, " in late.text
    assert cells_in(late) == ["m01", "00:00:5e:00:53:01", "r7", "(secret)"], "what was typed stays"
    assert "stored: r8" in late.text
    other = sent(keeper, keeper.get(f"{TABLE}&edit=m02"), ["m02", "00:00:5e:00:53:02", "r3", "(secret)"], do="save")
    assert other.status == 303, "rows are edited side by side"


def test_what_a_page_says_of_a_row_tells_nothing_of_its_hidden_cells(keeper: Browser) -> None:
    page = keeper.get(f"{TABLE}&edit=m01")
    put(keeper, TEXT.replace("swordfish1", "swordfish2"))
    assert form_in(keeper.get(f"{TABLE}&edit=m01"))["was"] == form_in(page)["was"]
    assert sent(keeper, page, ["m01", "00:00:5e:00:53:01", "r9", "(secret)"], do="save").status == 303
    assert "r9;swordfish2" in stored(keeper), "a cell that was not seen is not changed"
    assert "Download, with secrets in clear" in page.text
    clear = keeper.get(f"{TABLE}&edit=m01&secrets=1")
    put(keeper, TEXT)
    assert sent(keeper, clear, ["m01", "00:00:5e:00:53:01", "r9", "swordfish2"], do="save").status == 409


def test_a_row_is_shown_and_edited_below_columns_without_names(keeper: Browser) -> None:
    put(keeper, "id,,,rack\nm01,a,b,r1\n")
    page = keeper.get(f"{TABLE}&edit=m01")
    assert cells_in(page) == ["m01", "a", "b", "r1"]
    assert sent(keeper, page, ["m01", "a", "b", "r2"], do="save").status == 303
    assert stored(keeper) == "id,,,rack\nm01,a,b,r2\n"


def test_the_preview_of_a_row_says_what_it_changes_and_is_saved_there(keeper: Browser) -> None:
    keeper.change(do="save", kind="group", name="r1", format="toml", text=GROUP)
    page = keeper.get(f"{TABLE}&edit=m01")
    shown = sent(keeper, page, ["m01", "00:00:5e:00:53:01", "r9", "(secret)"], do="preview")
    assert "1 machine loses its answer" in shown.text
    assert stored(keeper) == TEXT
    assert cells_in(shown)[2] == "r9"
    assert sent(keeper, shown, cells_in(shown), do="save").status == 303
    assert stored(keeper) == TEXT.replace(" r1 ", "r9")


def test_a_search_finds_no_cell_that_is_hidden(keeper: Browser) -> None:
    assert names_in(keeper.get(f"{TABLE}&q=r1")) == ["m01"]
    assert names_in(keeper.get(f"{TABLE}&q=swordf")) == []


def test_an_inventory_of_5000_rows_is_uploaded_with_a_preview_paged_searched_and_undone(keeper: Browser) -> None:
    assert len(MANY) > 300_000
    keeper.change(do="save", kind="group", name="r1", format="toml", text=GROUP)
    before = revisions_in(keeper.get("/console/history"))[0]
    shown = uploaded(keeper, MANY)
    assert shown.status == 200
    assert "Nothing is stored yet" in shown.text
    shown = finished(keeper, shown)
    assert "125 machines get an answer, and have none now" in shown.text
    assert "1 machine loses its answer" in shown.text
    assert stored(keeper) == TEXT
    put(keeper, MANY)
    assert stored(keeper) == MANY
    last = keeper.get(f"{TABLE}&page=50")
    assert names_in(last) == [f"m{number:05}" for number in range(4_900, 5_000)]
    assert "Page 50 of 50" in last.text
    assert names_in(keeper.get(f"{TABLE}&q=M04711")) == ["m04711"]
    assert names_in(keeper.get(f"{TABLE}&line=4713"))[11] == "m04711"
    assert 'id="r4713" class="at"' in keeper.get(f"{TABLE}&line=4713").text
    page = keeper.get(f"{TABLE}&edit=m04711")
    assert sent(keeper, page, ["m04711", "r1", "y"], do="save").status == 303
    assert stored(keeper) == MANY.replace(f"m04711,r31,{'x' * 50}", "m04711,r1,y")
    newest, upload, *_ = revisions_in(keeper.get("/console/history"))
    assert upload > before
    undone = keeper.get(f"/console/document/earlier?revision={newest}")
    assert sent(keeper, undone, do="save").status == 303
    assert stored(keeper) == MANY


def test_a_large_inventory_has_its_history_without_its_text_in_the_editor(keeper: Browser) -> None:
    many = "id,root-password,note\n" + "".join(f"m{n:05},tuna{n:05}xy,{'x' * 90}\n" for n in range(5_000))
    put(keeper, many)
    put(keeper, many.replace("m00700,tuna00700xy,x", "m00700,cod12345678,x").replace("m00702,", "m0702,"))
    where = "/console/document?kind=inventory&name=default&format=csv&as=text"
    page = unescape(keeper.get(f"{where}&change=3").text)
    assert ("too large for the editor" in page, "<textarea" in page) == (True, False)
    assert "\n@@ -699,9 +699,9 @@\n" in re.sub(r"<[^>]+>", "\n", page)
    lines = re.findall(r'<span class="(?:add|del|)">([-+ ]m\d+),(\(.*?\)),', page)
    assert lines[:9] == [
        (" m00697", "(secret)"),
        (" m00698", "(secret)"),
        (" m00699", "(secret)"),
        ("-m00700", "(secret)"),
        ("+m00700", "(secret, changed)"),
        (" m00701", "(secret)"),
        ("-m00702", "(secret)"),
        ("+m0702", "(secret)"),
        (" m00703", "(secret)"),
    ]
    assert "tuna" not in page


def test_a_secret_of_another_row_is_masked_in_a_difference_too(keeper: Browser) -> None:
    put(keeper, TEXT.replace("r2", "r4"))
    put(keeper, TEXT.replace("r2", "swordfish1"))
    shown = changes_in(keeper.get("/console/document?kind=inventory&name=default&format=csv&as=text&change=3"))
    assert "+&quot;m02&quot;;00:00:5e:00:53:02;(secret" in shown
    assert "swordfish1" not in shown


def finished(browser: Browser, page: Reply) -> Reply:
    """Return the consequences of a preview once they are found."""
    found = re.search(r'hx-get="(/console/document/preview[^"]+)"', page.text)
    if not found:
        return page
    wait_until(lambda: "<progress" not in browser.get(unescape(found[1])).text)
    return browser.get(unescape(found[1]))


def test_a_file_that_is_no_inventory_is_refused_with_the_reason(keeper: Browser) -> None:
    for content, said in (
        (b"", "choose a file of CSV"),
        (b"id\n\xff\n", "is not UTF-8: byte 0xff at offset 3"),
        (b"a,b\n1,2\n", "no column is one of id"),
        (b"id\nm1\nm1\n", "line 2 has it too"),
        (b"PK\x03\x04\x14", "Save As, CSV UTF-8"),
    ):
        reply = finished(keeper, uploaded(keeper, content))
        assert said in unescape(reply.text)
        assert '<button form="editor" class="main" name="do" value="save">' not in reply.text
    assert stored(keeper) == TEXT


def test_an_upload_that_is_kept_no_more_or_meets_another_write_is_said(keeper: Browser) -> None:
    first = uploaded(keeper, "id\nm1\n")
    for _ in range(64):
        uploaded(keeper, "id\nm2\n")
    assert "upload it again" in sent(keeper, first, do="save").text
    late = uploaded(keeper, "id\nm3\n")
    put(keeper, "id\nm4\n")
    assert sent(keeper, late, do="save").status == 409
    assert stored(keeper) == "id\nm4\n"


def test_a_form_with_files_that_is_none_is_a_400_or_a_403(keeper: Browser) -> None:
    for body in (b"", b"--xx", b"--xx\r\n\r\n--xx--", b"--xx\r\nA: b\r\n\r\nc\r\n--xx--\r\n"):
        for kind in ("multipart/form-data; boundary=xx", "multipart/form-data"):
            reply = keeper.send("POST", "/console/inventory", body, {"Origin": keeper.origin, "Content-Type": kind})
            assert reply.status in {400, 403}


def test_a_role_edits_rows_without_seeing_secrets_and_uploads_nothing(tmp_path: Path) -> None:
    token, entry = new_token("desk", Role.INVENTORY)
    (tmp_path / "tokens").write_text(f"{entry}\n")
    with started(tmp_path, "sqlite", SERVICE_TOKENS_FILE=tmp_path / "tokens") as admin:
        admin.log_in()
        put(admin, TEXT)
        desk = Browser(admin.service, admin.console)
        desk.log_in(token)
        page = desk.get(f"{TABLE}&edit=m01&secrets=1")
        assert cells_in(page)[3] == "(secret)"
        assert sent(desk, page, ["m01", "00:00:5e:00:53:01", "r9", "(secret)"], do="save").status == 303
        assert stored(admin) == TEXT.replace(" r1 ", "r9")
        assert uploaded(desk, "id\nm1\n").status == 403
        shown = uploaded(admin, "id\nm1\n")
        assert sent(desk, page, do="save", proposal=form_in(shown)["proposal"]).status == 403
        added = pasted(desk, "id,rack\nm07,r4\nm08,r4\n", "add")
        assert sent(desk, added, do="save").status == 303
        assert stored(admin).endswith("m07;;r4;\r\nm08;;r4;\r\n")
        assert '<option value="replace"' not in added.text


def test_a_machine_is_adopted_by_a_form_with_a_field_for_each_column(keeper: Browser) -> None:
    keeper.service.get("/ks?mac=00:00:5e:00:53:ee")
    name = "00:00:5e:00:53:ee"
    wait_until(lambda: keeper.get("/unknown").json["unknown"])
    (visitor,) = keeper.get("/unknown").json["unknown"]
    where = f"/console/adopt?{urlencode({'id': visitor['machine']})}"
    wait_until(lambda: keeper.get(where).status == 200)  # what asked is read once a second
    page = keeper.get(where)
    field = r'<label for="c\d+">([^<]+)</label><input id="c\d+" name="cell" value="([^"]*)">'
    labels = dict(re.findall(field, page.text))
    assert labels == {"id": "", "mac": name, "rack": "", "root-password": ""}
    shown = sent(keeper, page, ["new-1", name, "r1", ""], do="preview")
    assert stored(keeper) == TEXT
    assert cells_in(shown) == ["new-1", name, "r1", ""]
    reply = sent(keeper, page, ["new-1", name, "r1", ""], do="save")
    assert reply.headers["location"].startswith("/console/machine?id=")
    assert stored(keeper) == f"{TEXT}new-1;{name};r1;\r\n"


@pytest.mark.parametrize(
    ("extension", "text", "joined"),
    [
        ("toml", "# x\nmembers = [\n  'a', # b\n]\n", "# x\nmembers = [\n  'a', # b\n  \"new\",\n]\n"),
        ("toml", "x = 1\n", 'members = ["new"]\nx = 1\n'),
        ("ks", "# answer: member a\ntext\n", "# answer: member new\n# answer: member a\ntext\n"),
        ("ipxe", "#!ipxe\nboot\n", "#!ipxe\n# answer: member new\nboot\n"),
        ("yaml", "members: [a]\nb: 1\n", None),
    ],
)
def test_a_machine_joins_a_group_by_a_text_that_is_previewed(
    keeper: Browser, extension: str, text: str, joined: str | None
) -> None:
    keeper.change(do="save", kind="group", name="rack", format=extension, text=text)
    reply = keeper.change(do="join", kind="group", joins=f"rack {extension}", member="new")
    assert text_in(reply) == (joined or text)
    assert ("What saving would change" in reply.text) is bool(joined)
    assert keeper.get(f"/groups/rack?format={extension}").text == text
    named = {"kind": "group", "name": "rack", "format": extension}
    assert keeper.change(do="save", text=text_in(reply), etag=etag_of(reply), **named).status == 303


def test_a_document_of_300_kilobytes_is_saved(keeper: Browser) -> None:
    text = "# " + "ä" * 150_000 + "\n"
    assert keeper.change(do="save", kind="machine", name="large", format="ks", text=text).status == 303
    assert keeper.get("/machines/large?format=ks").body.decode() == text


def test_an_inventory_of_a_directory_is_shown_and_not_changed(tmp_path: Path) -> None:
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "inventory.csv").write_text("id,rack\nm1,r1\n")
    with started(tmp_path, "files") as browser:
        browser.log_in()
        page = browser.get("/console/document?kind=inventory&name=default&format=csv")
        assert page.headers["location"] == TABLE
        page = browser.get(TABLE)
        assert names_in(page) == ["m1"]
        assert ("Edit" in page.text, "Upload" in page.text, "Download" in page.text) == (False, False, True)
        assert "secrets in clear" not in page.text
        assert browser.get("/inventory/default").body == b"id,rack\nm1,r1\n"
        assert browser.get("/console/inventory?name=none").status == 404


REFUSED = "#cloud-config\nmatch:\n  rack: bad\nautoinstall:\n  version: 1\n  identity: 5\n"


@pytest.mark.parametrize("way", ["a row", "pasted rows"])
def test_rows_whose_answers_an_installer_would_refuse_are_saved_only_where_that_is_wanted(
    keeper: Browser, way: str
) -> None:
    keeper.change(do="save", kind="group", name="bad", format="yaml", text=REFUSED)
    if way == "a row":
        cells = ["m01", "00:00:5e:00:53:01", "bad", "(secret)"]
        page = sent(keeper, keeper.get(f"{TABLE}&edit=m01"), cells, do="preview", strict="1")
    else:
        cells = []
        page = pasted(keeper, "id,rack\nm03,bad\n", "add")
    assert "1 answer would be refused by the installer" in page.text
    assert 'name="strict" value="1" checked' in page.text
    refused = sent(keeper, page, cells, do="save", strict="1")
    assert (refused.status, "an installer would refuse 1 answer" in refused.text) == (409, True)
    assert stored(keeper) == TEXT
    assert sent(keeper, page, cells, do="save").status == 303
    assert stored(keeper) != TEXT


def test_a_pasted_value_that_is_one_digit_off_names_the_row_and_the_digit(keeper: Browser) -> None:
    shown = pasted(keeper, "id,mac\nm03,00:00:5e:00:54:02\nm04,00:00:5e:99:99:99\n", "update")
    assert re.findall(r'class="near">[^<]*<a href="([^"]+)">([^<]+)</a>', shown.text) == [
        ("/console/inventory?name=default&amp;line=3#r3", "inventory.csv:3")
    ]
    assert 'has <span class="mono">00:00:5e:00:5<mark>3</mark>:02</span>' in shown.text
    assert "<strong>1 cell</strong> is one digit off" in shown.text
    assert sent(keeper, shown, do="save").status == 303, "it is said, and not refused"
