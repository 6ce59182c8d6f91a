"""Whatever is typed into a form of the console is there until it is saved or thrown away, however it could be lost.

Rules: docs/console.md#forms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from tests.console.browsing import Look, Windows, window
from tests.console.lab import DOCUMENTS, TOKEN, VISITOR, Lab
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

MACHINES = 100
ROWS = "id,mac,rack\n" + "".join(f"row-{number:02},,r1\n" for number in range(MACHINES))
TREE = {
    **DOCUMENTS,
    "inventory/typed.csv": ROWS,
    **{f"doc-{number:02}.ks": f"# document {number}\n" for number in range(MACHINES)},
}


@pytest.fixture(scope="module")
def typed(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with Lab(tmp_path_factory.mktemp("typed"), documents=TREE) as lab:
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

PASTE = """(editor, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  editor.dispatchEvent(new ClipboardEvent("paste", {clipboardData, bubbles: true, cancelable: true}));
}"""


@dataclass(frozen=True)
class Form:
    """A form: its page, the field that is typed into (without scripts), the button that saves, and where what was saved
    is read."""

    page: str
    field: str
    button: str
    stored: str

    @property
    def of_the_next(self) -> Form:
        """The form of another document or row, that no other test uses."""
        number = f"{next(NUMBERS) % MACHINES:02}"
        return Form(self.page.replace("NN", number), self.field, self.button, self.stored.replace("NN", number))

    @property
    def is_document(self) -> bool:
        return self.field == "#text"

    def spelled(self, word: str) -> str:
        """A text that the form may have: a line that every kickstart may have, or a cell."""
        return f"# {word}" if self.is_document else word

    def text_in(self, page: Page) -> str:
        return str(page.locator(self.field).first.input_value())

    def type(self, page: Page, text: str) -> None:
        page.goto(self.page)
        if self.is_document and page.locator(".cm-content").count():
            page.locator(".cm-content").click()
            page.keyboard.press("Control+a")
            page.locator(".cm-content").evaluate(PASTE, text)
        else:
            page.locator(self.field).first.fill(text)

    def send(self, page: Page) -> None:
        page.get_by_role("button", name=self.button, exact=True).first.click()

    def is_stored(self, lab: Lab, text: str) -> bool:
        return text in lab.page(lab.session(), self.stored).text


def address(path: str, **query: str) -> str:
    return f"{path}?{urlencode(query)}"


FORMS: Mapping[str, Form] = {
    "a document": Form(
        address("/console/document", kind="machine", name="doc-NN", format="ks"),
        "#text",
        "Save",
        "/machines/doc-NN?format=ks",
    ),
    "a new document": Form(
        address("/console/document/new", name="new-NN", format="ks"), "#text", "Save", "/machines/new-NN?format=ks"
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
    "a machine that is adopted": Form(
        address("/console/adopt", id=VISITOR, to="typed"),
        'input[name="cell"]',
        "Preview what changes",
        "/inventory/typed",
    ),
}


@dataclass(frozen=True)
class Way:
    """A way to lose what was typed: what happens before the button is pressed, and what the operator does after it."""

    before: Callable[[Page, Lab], None]
    after: Callable[[Page], None] = lambda _: None


def log_in(page: Page) -> None:
    page.get_by_label("Token").fill(TOKEN)
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


@pytest.mark.parametrize("way", SESSIONS.values(), ids=SESSIONS.keys())
@pytest.mark.parametrize("kind", FORMS)
def test_what_was_sent_without_a_session_is_saved_after_a_log_in_here(
    operator: Page, typed: Lab, kind: str, way: Way
) -> None:
    form = FORMS[kind].of_the_next
    text = form.spelled(f"{next(NUMBERS)}-typed")
    form.type(operator, text)
    way.before(operator, typed)
    form.send(operator)
    way.after(operator)
    if kind == "a machine that is adopted":
        operator.get_by_role("button", name="Save it").wait_for()
        assert text in operator.content()
        return
    operator.get_by_text("Saved as version").wait_for()
    assert form.is_stored(typed, text)


@pytest.mark.parametrize("kind", FORMS)
def test_what_was_sent_while_the_service_does_not_answer_stays(operator: Page, typed: Lab, kind: str) -> None:
    form = FORMS[kind].of_the_next
    text = form.spelled(f"{next(NUMBERS)}-typed")
    form.type(operator, text)
    operator.context.set_offline(True)
    form.send(operator)
    operator.get_by_text("Not sent: the service does not answer").wait_for()
    assert form.text_in(operator) == text
    operator.context.set_offline(False)
    form.send(operator)
    operator.locator("#unsent").wait_for(state="hidden")
    operator.locator("[data-saved], #consequences").first.wait_for()


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


@pytest.mark.parametrize("leave", LEFT.values(), ids=LEFT.keys())
@pytest.mark.parametrize("kind", ["a document", "a row", "a machine that is adopted"])
def test_what_was_typed_is_there_again_after_the_page_was_left(
    operator: Page, kind: str, leave: Callable[[Page], None]
) -> None:
    form = FORMS[kind].of_the_next
    text = form.spelled("typed-and-left")
    form.type(operator, text)
    leave(operator)
    value = "([field, text, is]) => (document.querySelector(field)?.value === text) === is"
    operator.wait_for_function(value, arg=[form.field, text, True])
    operator.get_by_role("button", name="Throw it away").first.click()
    operator.wait_for_function(value, arg=[form.field, text, False])
    operator.goto("/console/history")
    assert operator.locator("#drafts").is_hidden()


@pytest.mark.parametrize("kind", ["a document", "a row"])
def test_a_conflict_shows_both_and_keeps_what_was_typed(
    operator: Page, typed: Lab, windows: Windows, kind: str
) -> None:
    form = FORMS[kind].of_the_next
    form.type(operator, form.spelled("mine"))
    other = operator.context.new_page()
    form.type(other, form.spelled("theirs"))
    form.send(other)
    other.get_by_text("Saved as version").wait_for()
    other.close()
    form.send(operator)
    operator.get_by_role("alert").filter(has_text="Not saved").wait_for()
    for _ in range(2):
        assert form.text_in(operator).strip() == form.spelled("mine")
        assert "theirs" in operator.inner_text("main")
        operator.reload()
    form.send(operator)
    operator.get_by_text("Saved as version").wait_for()
    assert form.is_stored(typed, "mine")


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
@pytest.mark.parametrize("kind", ["a document", "a row"])
def test_a_preview_has_an_address_and_is_come_back_to(browser: Browser, typed: Lab, kind: str, scripts: bool) -> None:
    form = FORMS[kind].of_the_next
    with window(browser, typed, session=typed.session(), look=Look(scripts=scripts)) as page:
        form.type(page, form.spelled("previewed"))
        page.get_by_role("button", name="Preview").first.click()
        page.wait_for_url("**/console/form?of=*")
        page.goto("/console/history")
        page.go_back()
        page.reload()
        assert form.text_in(page).strip() == form.spelled("previewed")
        form.send(page)
        page.get_by_text("Saved as version").wait_for()
        assert form.is_stored(typed, "previewed")


@pytest.mark.parametrize("way", SESSIONS.values(), ids=SESSIONS.keys())
@pytest.mark.parametrize("kind", ["a document", "a row"])
def test_without_scripts_what_was_sent_is_carried_through_the_log_in(
    browser: Browser, typed: Lab, kind: str, way: Way
) -> None:
    form = FORMS[kind].of_the_next
    text = form.spelled(f"{next(NUMBERS)}-plain")
    with window(browser, typed, session=typed.session(), look=Look(scripts=False)) as page:
        form.type(page, text)
        way.before(page, typed)
        form.send(page)
        way.after(page)
        page.get_by_text("not stored yet").wait_for()
        page.reload()
        assert form.text_in(page).strip() == text
        form.send(page)
        page.get_by_text("Saved as version").wait_for()
        assert form.is_stored(typed, text)


def test_a_button_that_is_pressed_twice_saves_once(operator: Page, typed: Lab) -> None:
    form = FORMS["a new document"].of_the_next
    form.type(operator, "# twice")
    operator.get_by_role("button", name="Save", exact=True).dblclick()
    operator.get_by_text("Saved as version").wait_for()
    history = typed.page(
        typed.session(), form.stored.replace("/machines/", "/history?machine=").replace("?format", "&format")
    )
    assert len(history.json["history"]) == 1
