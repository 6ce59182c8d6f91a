"""Whatever is typed into a form of the console is there until it is saved or thrown away, however it could be lost.

Rules: docs/console.md#forms.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from answerd.server.roles import Role, new_token
from tests.console.browsing import Look, Windows, window
from tests.console.lab import DOCUMENTS, TOKEN, VISITOR, Lab
from tests.support.disks import fill, mounted
from tests.support.ports import free_port
from tests.support.thorough import drawn
from tests.support.waiting import PATIENCE, again_for, wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

MACHINES = 100
ROWS = "id,mac,rack\n" + "".join(f"row-{number:02},,r1\n" for number in range(MACHINES))
TREE = {
    **DOCUMENTS,
    "inventory/typed.csv": ROWS,
    **{f"doc-{number:02}.ks": f"# document {number}\n" for number in range(MACHINES)},
}


TOKENS = [new_token(f"colleague-{number}", Role.ADMIN) for number in range(20)]
COLLEAGUES = iter([(line.name, token) for token, line in TOKENS])
"""Names and tokens, each for one test."""


@pytest.fixture(scope="module")
def typed(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    home = tmp_path_factory.mktemp("typed")
    tokens = home / "tokens"
    tokens.write_text("".join(f"{line}\n" for _, line in TOKENS))
    address = f"127.0.0.1:{free_port()}"  # the same after a restart
    with Lab(home, documents=TREE, SERVICE_TOKENS_FILE=tokens, SERVICE_CONSOLE_ADDR=address) as lab:
        lab.service.get(f"/ks?mac={VISITOR}&serial=SN-4711")
        session = lab.session()
        wait_until(lambda: lab.page(session, f"/console/adopt?id={VISITOR}").status == 200)
        yield lab


@pytest.fixture
def operator(windows: Windows, typed: Lab) -> Iterator[Page]:
    with windows.lend(typed, session=typed.session()) as page:
        page.on("dialog", lambda dialog: dialog.accept())
        yield page
        page.context.set_offline(False)


NUMBERS = count()


def a_word() -> str:
    """A text that no other test types."""
    return f"typed-{next(NUMBERS)}"


PASTE = """(editor, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  editor.dispatchEvent(new ClipboardEvent("paste", {clipboardData, bubbles: true, cancelable: true}));
}"""


@dataclass(frozen=True)
class Form:
    """A form: its page, the field that is typed into (without scripts), the button that sends it, and where what was
    saved is read. ``then`` is the button of the page that it leads to, ``done`` what is said when it is saved; empty
    where it is not saved here, because all tests share what it is about."""

    page: str
    field: str
    button: str
    stored: str
    then: str = ""
    done: str = "Saved as version"
    text: str = "WORD"

    @property
    def of_the_next(self) -> Form:
        """The form of another document or row, that no other test uses."""
        number = f"{next(NUMBERS) % MACHINES:02}"
        return replace(self, page=self.page.replace("NN", number), stored=self.stored.replace("NN", number))

    @property
    def is_document(self) -> bool:
        return self.field == "#text"

    def spelled(self, word: str) -> str:
        """A text that the form may have."""
        return self.text.replace("WORD", word)

    def text_in(self, page: Page) -> str:
        return str(page.locator(self.field).first.input_value()).strip()

    def type(self, page: Page, word: str) -> None:
        page.goto(self.page)
        self.fill(page, word)

    def fill(self, page: Page, word: str) -> None:
        if self.is_document and page.locator(".cm-content").count():
            page.locator(".cm-content").click()
            page.keyboard.press("Control+a")
            page.locator(".cm-content").evaluate(PASTE, self.spelled(word))
        else:
            page.locator(self.field).first.fill(self.spelled(word))

    def send(self, page: Page) -> None:
        page.get_by_role("button", name=self.button, exact=True).first.click()

    def finish(self, page: Page, lab: Lab, word: str, *, scripts: bool = True) -> None:
        """Go on once the form was sent, and see that what was typed arrived. Without scripts a preview is asked for
        again until it is made."""
        if self.then:
            button = page.get_by_role("button", name=self.then, exact=True)
            for _ in again_for(PATIENCE):
                if scripts or button.count():
                    break
                page.reload()
            button.wait_for()
            assert word in page.content()
            if self.done:
                page.get_by_role("button", name=self.then, exact=True).click()
        if self.done:
            page.get_by_text(self.done).first.wait_for()
            assert word in lab.page(lab.session(), self.stored).text

    def wait_for(self, page: Page, word: str) -> None:
        """Wait until what was typed is in the form again."""
        value = "([field, text]) => document.querySelector(field)?.value.trim() === text"
        page.wait_for_function(value, arg=[self.field, self.spelled(word)])


def address(path: str, **query: str) -> str:
    return f"{path}?{urlencode(query)}"


FORMS: Mapping[str, Form] = {
    "a document": Form(
        address("/console/document", kind="machine", name="doc-NN", format="ks"),
        "#text",
        "Save",
        "/machines/doc-NN?format=ks",
        text="# WORD",
    ),
    "a new document": Form(
        address("/console/document/new", name="new-NN", format="ks"),
        "#text",
        "Save",
        "/machines/new-NN?format=ks",
        text="# WORD",
    ),
    "a row": Form(
        address("/console/inventory", name="typed", edit="row-NN"),
        'tr.edited [aria-label^="rack"]',
        "Save",
        "/inventory/typed",
    ),
    "a new row": Form(
        address("/console/inventory", name="typed", add="1"), 'tr.edited [aria-label^="id"]', "Add", "/inventory/typed"
    ),
    "pasted rows": Form(
        address("/console/inventory", name="typed"),
        "#rows",
        "See what it changes",
        "/inventory/typed",
        then="Add 1 row",
        text="id,rack\nWORD,r9",
    ),
    "a machine that is adopted": Form(
        address("/console/adopt", id=VISITOR, to="typed"),
        'input[name="cell"]',
        "Preview what changes",
        "/inventory/typed",
        then="Save it",
        done="",
    ),
    "machines that are adopted": Form(
        address("/console/adopt", to="typed"),
        "#pattern",
        "See what they become",
        "/inventory/typed",
        then="Adopt 1 machine",
        done="",
        text="WORD{n}",
    ),
    "a token": Form("/console/access", "#token-name", "Make a token", "/console/access", done="The token of"),
}


@dataclass(frozen=True)
class Way:
    """A way to lose what was typed: what happens before the button is pressed, and what the operator does after it."""

    before: Callable[[Page, Lab], None]
    after: Callable[[Page], None] = lambda _: None


def log_in(page: Page) -> None:
    page.locator("#again-token:visible, #token:visible").fill(TOKEN)
    page.get_by_role("button", name="Log in").click()


def cookie_is_gone(page: Page, _: Lab) -> None:
    page.context.clear_cookies()


def session_is_unknown(page: Page, lab: Lab) -> None:
    page.context.add_cookies([{"name": "answerd_session", "value": "of-before-a-restart", "url": lab.url}])


def logged_out_in_another_tab(page: Page, _: Lab) -> None:
    other = page.context.new_page()
    other.goto("/console/")
    other.get_by_role("button", name="Log out").click()
    other.wait_for_url("**/console/login*")
    other.close()


def logged_in_again_in_another_tab(page: Page, lab: Lab) -> None:
    logged_out_in_another_tab(page, lab)
    other = page.context.new_page()
    other.goto("/console/")
    log_in(other)
    other.wait_for_url("**/console/")
    other.close()


SESSIONS: Mapping[str, Way] = {
    "the cookie is gone": Way(cookie_is_gone, log_in),
    "the session is not known any more": Way(session_is_unknown, log_in),
    "somebody logged out in another tab": Way(logged_out_in_another_tab, log_in),
    "somebody logged in again in another tab": Way(logged_in_again_in_another_tab),
}


@pytest.mark.parametrize("way", drawn([pytest.param(way, id=name) for name, way in SESSIONS.items()]))
@pytest.mark.parametrize("kind", FORMS)
def test_what_was_sent_without_a_session_is_saved_after_a_log_in_here(
    operator: Page, typed: Lab, kind: str, way: Way
) -> None:
    form, word = FORMS[kind].of_the_next, a_word()
    form.type(operator, word)
    way.before(operator, typed)
    form.send(operator)
    way.after(operator)
    form.finish(operator, typed, word)


@pytest.mark.parametrize("kind", FORMS)
def test_what_was_sent_while_the_service_does_not_answer_stays(operator: Page, typed: Lab, kind: str) -> None:
    form, word = FORMS[kind].of_the_next, a_word()
    form.type(operator, word)
    operator.context.set_offline(True)
    form.send(operator)
    operator.get_by_text("Not sent: the service does not answer").wait_for()
    assert form.text_in(operator) == form.spelled(word)
    operator.context.set_offline(False)
    form.send(operator)
    form.finish(operator, typed, word)


def back(page: Page) -> None:
    page.goto("/console/machines")
    page.go_back()


def reload(page: Page) -> None:
    page.reload()


def by_another_way(page: Page) -> None:
    where = page.url
    page.goto("/console/history")
    page.goto(where)


def by_the_list(page: Page) -> None:
    page.goto("/console/history")
    page.locator("#drafts a").first.click()


def through_the_log_in(page: Page) -> None:
    page.context.clear_cookies()
    where = page.url
    page.goto("/console/history")
    log_in(page)
    page.wait_for_url("**/console/history")
    page.goto(where)


LEFT: Mapping[str, Callable[[Page], None]] = {
    "Back": back,
    "a reload": reload,
    "another way to the page": by_another_way,
    "the list of what is not saved": by_the_list,
    "the log-in": through_the_log_in,
}


@pytest.mark.parametrize("leave", drawn([pytest.param(leave, id=name) for name, leave in LEFT.items()]))
@pytest.mark.parametrize("kind", [kind for kind in FORMS if not kind.startswith("a new")])
def test_what_was_typed_is_there_again_after_the_page_was_left(
    operator: Page, kind: str, leave: Callable[[Page], None]
) -> None:
    form, word = FORMS[kind].of_the_next, a_word()
    form.type(operator, word)
    leave(operator)
    form.wait_for(operator, word)
    operator.get_by_role("button", name="Throw it away").first.click()
    gone = "([field, text]) => document.querySelector(field)?.value.trim() !== text"
    operator.wait_for_function(gone, arg=[form.field, form.spelled(word)])
    operator.goto("/console/history")
    assert operator.locator("#drafts").is_hidden()


@pytest.mark.parametrize("kind", ["a document", "a row"])
def test_a_conflict_shows_both_and_keeps_what_was_typed(
    operator: Page, typed: Lab, windows: Windows, kind: str
) -> None:
    form = FORMS[kind].of_the_next
    form.type(operator, "mine")
    other = operator.context.new_page()
    form.type(other, "theirs")
    form.send(other)
    other.get_by_text("Saved as version").wait_for()
    other.close()
    form.send(operator)
    operator.get_by_role("alert").filter(has_text="Not saved").wait_for()
    for _ in range(2):
        assert form.text_in(operator) == form.spelled("mine")
        assert "theirs" in operator.inner_text("main")
        operator.reload()
    form.send(operator)
    form.finish(operator, typed, "mine")


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
@pytest.mark.parametrize("kind", ["a document", "a row"])
def test_a_preview_has_an_address_and_is_come_back_to(browser: Browser, typed: Lab, kind: str, scripts: bool) -> None:
    form = FORMS[kind].of_the_next
    with window(browser, typed, session=typed.session(), look=Look(scripts=scripts)) as page:
        form.type(page, "previewed")
        page.get_by_role("button", name="Preview").first.click()
        page.wait_for_url("**/console/form?of=*")
        page.goto("/console/history")
        page.go_back()
        page.reload()
        assert form.text_in(page) == form.spelled("previewed")
        form.send(page)
        form.finish(page, typed, "previewed")


@pytest.mark.parametrize("way", drawn([pytest.param(way, id=name) for name, way in SESSIONS.items()]))
@pytest.mark.parametrize("kind", ["a document", "a row", "pasted rows", "machines that are adopted", "a token"])
def test_without_scripts_what_was_sent_is_carried_through_the_log_in(
    browser: Browser, typed: Lab, kind: str, way: Way
) -> None:
    form, word = FORMS[kind].of_the_next, a_word()
    with window(browser, typed, session=typed.session(), look=Look(scripts=False)) as page:
        form.type(page, word)
        way.before(page, typed)
        form.send(page)
        way.after(page)
        page.get_by_text("not stored yet").wait_for()
        page.reload()
        assert form.text_in(page) == form.spelled(word)
        form.send(page)
        form.finish(page, typed, word, scripts=False)


# --- what the service does while somebody writes ----------------------------------------------------------------------


def fail(page: Page, status: int) -> None:
    """Have forms get this status, as a service that fails, or has no room, gives it."""

    def reply(route: Route) -> None:
        if route.request.method == "POST":
            route.fulfill(status=status, body=f"<h1>{status}</h1>", content_type="text/html")
        else:
            route.continue_()

    page.route("**/console/*", reply)


WRITTEN = [kind for kind in FORMS if kind != "a new document"]


@pytest.mark.parametrize("status", [500, 503])
@pytest.mark.parametrize("kind", WRITTEN)
def test_after_a_reply_that_is_an_error_back_leads_to_what_was_typed(
    operator: Page, typed: Lab, kind: str, status: int
) -> None:
    form, word = FORMS[kind].of_the_next, a_word()
    form.type(operator, word)
    fail(operator, status)
    form.send(operator)
    operator.locator("h1", has_text=str(status)).wait_for()
    operator.unroute("**/console/*")
    operator.go_back()
    form.wait_for(operator, word)
    form.send(operator)
    form.finish(operator, typed, word)


def test_what_was_typed_after_a_save_is_there_after_an_error(operator: Page, typed: Lab) -> None:
    form, first, word = FORMS["a document"].of_the_next, a_word(), a_word()
    form.type(operator, first)
    form.send(operator)
    form.finish(operator, typed, first)
    form.fill(operator, word)
    fail(operator, 500)
    form.send(operator)
    operator.locator("h1", has_text="500").wait_for()
    operator.unroute("**/console/*")
    operator.go_back()
    form.wait_for(operator, word)


@pytest.mark.parametrize("kind", WRITTEN)
def test_a_restart_of_the_service_takes_nothing_that_was_typed(operator: Page, typed: Lab, kind: str) -> None:
    form, word = FORMS[kind].of_the_next, a_word()
    form.type(operator, word)
    typed.service.__exit__(None, None, None)
    form.send(operator)
    operator.get_by_text("Not sent: the service does not answer").wait_for()
    assert form.text_in(operator) == form.spelled(word)
    typed.start()
    session = typed.session()
    wait_until(lambda: typed.page(session, f"/console/adopt?id={VISITOR}").status == 200)
    form.send(operator)
    form.finish(operator, typed, word)


@pytest.mark.parametrize("kind", ["a document", "a row", "pasted rows"])
def test_a_preview_that_a_restart_has_forgotten_leads_back_to_what_was_typed(
    operator: Page, typed: Lab, kind: str
) -> None:
    form, word = FORMS[kind].of_the_next, a_word()
    form.type(operator, word)
    preview = "See what it changes" if kind == "pasted rows" else "Preview"
    operator.get_by_role("button", name=preview).first.click()
    operator.locator("#consequences .actions").wait_for()
    typed.service.__exit__(None, None, None)
    typed.start()
    operator.reload()
    operator.get_by_text("not kept").first.wait_for()
    operator.locator("#drafts a").first.click()
    form.wait_for(operator, word)
    form.send(operator)
    form.finish(operator, typed, word)


# --- what others do while somebody writes -----------------------------------------------------------------------------


def change_role(lab: Lab, name: str, role: str) -> None:
    """Give a token another role, or revoke it where there is none."""
    file = Path(lab.settings["SERVICE_TOKENS_FILE"])
    lines = [line.split() for line in file.read_text().splitlines()]
    kept = [[word[0], role if word[0] == name else word[1], *word[2:]] for word in lines if role or word[0] != name]
    file.write_text("".join(" ".join(words) + "\n" for words in kept))
    lab.service.process.send_signal(signal.SIGHUP)


@pytest.mark.parametrize("kind", WRITTEN)
def test_a_token_that_is_revoked_takes_nothing_that_was_typed(windows: Windows, typed: Lab, kind: str) -> None:
    form, word = FORMS[kind].of_the_next, a_word()
    name, token = next(COLLEAGUES)
    session = typed.session(token)
    with windows.lend(typed, session=session) as page:
        page.on("dialog", lambda dialog: dialog.accept())
        form.type(page, word)
        change_role(typed, name, "")
        wait_until(lambda: typed.page(session, "/console/").status == 303)
        form.send(page)
        log_in(page)  # with another token
        form.finish(page, typed, word)


@pytest.mark.parametrize("kind", ["a document", "a row", "pasted rows", "machines that are adopted", "a token"])
def test_a_role_that_is_lowered_takes_nothing_that_was_typed(windows: Windows, typed: Lab, kind: str) -> None:
    form, word = FORMS[kind].of_the_next, a_word()
    name, token = next(COLLEAGUES)
    session = typed.session(token)
    with windows.lend(typed, session=session) as page:
        page.on("dialog", lambda dialog: dialog.accept())
        form.type(page, word)
        change_role(typed, name, "read")
        wait_until(lambda: typed.page(session, "/console/access").status == 403)
        form.send(page)
        page.get_by_text(f"Not sent: {name} may not do that").wait_for()
        assert form.text_in(page) == form.spelled(word)
        change_role(typed, name, "admin")
        wait_until(lambda: typed.page(session, "/console/access").status == 200)
        form.send(page)
        form.finish(page, typed, word)


@pytest.mark.parametrize("kind", ["a document", "a row"])
def test_what_is_removed_meanwhile_leaves_what_was_typed(operator: Page, typed: Lab, kind: str) -> None:
    form, word = FORMS[kind].of_the_next, a_word()
    form.type(operator, word)
    other = operator.context.new_page()
    other.goto(form.page)
    other.get_by_role("button", name="Delete …").click()
    other.get_by_role("button", name="Delete it").click()
    (other.get_by_role("heading", name="removed") if form.is_document else other.locator("[data-saved]")).wait_for()
    other.close()
    form.send(operator)
    operator.get_by_role("alert").filter(has_text="Not saved").wait_for()
    assert form.text_in(operator) == form.spelled(word)
    operator.get_by_role("button", name="Save" if kind == "a document" else "Add", exact=True).first.click()
    form.finish(operator, typed, word)


@pytest.mark.parametrize("kind", ["a document", "pasted rows"])
def test_what_is_refused_is_in_the_form_with_the_reason(operator: Page, typed: Lab, kind: str) -> None:
    form, word = FORMS[kind].of_the_next, a_word()
    wrong = replace(form, text="# answer: match WORD" if form.is_document else "id,mac\nWORD,zz")
    wrong.type(operator, word)
    wrong.send(operator)
    operator.get_by_role("alert").first.wait_for()
    assert form.text_in(operator) == wrong.spelled(word)
    form.fill(operator, word)
    form.send(operator)
    form.finish(operator, typed, word)


def test_a_form_that_is_too_large_is_not_lost(operator: Page, typed: Lab) -> None:
    form = FORMS["a document"].of_the_next
    word = "ä" * 600_000  # each takes six bytes of the form
    form.type(operator, word)
    form.send(operator)
    operator.get_by_text("That form is too large.").wait_for()
    operator.go_back()
    form.wait_for(operator, word)


def test_a_text_that_a_tab_cannot_keep_is_said_to_be_in_the_page_alone(operator: Page, typed: Lab) -> None:
    form, word = FORMS["a document"].of_the_next, f"{'x' * 79}\n" * 75_000
    form.type(operator, word)
    operator.context.set_offline(True)
    form.send(operator)
    operator.get_by_text("Leave this page open: what you wrote is too large").wait_for()
    assert form.text_in(operator) == form.spelled(word).strip()
    operator.context.set_offline(False)


def test_a_full_disk_takes_nothing_that_was_typed(windows: Windows, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    form, word = FORMS["a new document"].of_the_next, a_word()
    with (
        mounted(tmp_path / "disk") as disk,
        Lab(tmp_path / "home", documents={}, SERVICE_DB_PATH=disk / "answers.db") as lab,
        windows.lend(lab, session=lab.session()) as page,
    ):
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(form.page)
        ballast = fill(disk)
        form.fill(page, word)
        form.send(page)
        page.get_by_role("alert").filter(has_text="Not saved").wait_for()
        assert form.text_in(page) == form.spelled(word)
        ballast.unlink()
        form.send(page)
        form.finish(page, lab, word)


@pytest.mark.parametrize("kind", ["a file that was uploaded", "a file whose rows are wrong"])
def test_the_rows_of_a_file_are_in_the_form_after_it_was_sent(
    operator: Page, typed: Lab, tmp_path: Path, kind: str
) -> None:
    form, word = FORMS["pasted rows"].of_the_next, a_word()
    file = tmp_path / "rows.csv"
    is_wrong = kind.endswith("wrong")
    file.write_text(f"id,mac\n{word},{'zz' if is_wrong else ''}\n")
    operator.goto(form.page)
    operator.get_by_label("a file of CSV").set_input_files(file)
    form.send(operator)
    operator.get_by_role("heading", name="Rows for").wait_for()
    assert word in form.text_in(operator)
    operator.goto("/console/history")
    operator.locator("#drafts a").first.click()
    operator.wait_for_function("(word) => document.querySelector('#rows')?.value.includes(word)", arg=word)
    form.fill(operator, word)
    form.send(operator)
    form.finish(operator, typed, word)


# --- twice ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["a new row", "pasted rows"])
def test_rows_that_are_sent_twice_are_there_once(operator: Page, typed: Lab, kind: str) -> None:
    form, word = FORMS[kind].of_the_next, a_word()
    form.type(operator, word)
    if form.then:
        form.send(operator)
    operator.get_by_role("button", name=form.then or form.button, exact=True).first.dblclick()
    operator.get_by_text("Saved as version").wait_for()
    assert typed.page(typed.session(), "/inventory/typed").text.count(word) == 1


def test_a_button_that_is_pressed_twice_saves_once(operator: Page, typed: Lab) -> None:
    form = FORMS["a new document"].of_the_next
    form.type(operator, "twice")
    operator.get_by_role("button", name="Save", exact=True).dblclick()
    operator.get_by_text("Saved as version").wait_for()
    history = typed.page(
        typed.session(), form.stored.replace("/machines/", "/history?machine=").replace("?format", "&format")
    )
    assert len(history.json["history"]) == 1


def test_a_removal_that_is_only_looked_at_leaves_nothing_unsaved(operator: Page, typed: Lab) -> None:
    operator.goto("/console/document?kind=group&name=nodes&format=ks")
    operator.get_by_role("button", name="Delete …").click()
    operator.get_by_role("button", name="Delete it").wait_for()
    operator.goto("/console/documents")
    operator.get_by_role("heading", name="Documents").wait_for()
    assert operator.locator("#drafts").is_hidden()
