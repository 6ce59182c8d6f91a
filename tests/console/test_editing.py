"""Documents changed in a browser: previewed, saved, refused, met by another's change, restored, removed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from tests.console.browsing import Look, Scheme, Windows, window
from tests.console.lab import Lab

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page


@pytest.fixture(scope="module")
def written(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab that tests write to, each a document of its own."""
    with Lab(tmp_path_factory.mktemp("written")) as lab:
        yield lab


@pytest.fixture
def writer(windows: Windows, written: Lab) -> Iterator[Page]:
    with windows.lend(written, session=written.session()) as page:
        yield page


def page_of(name: str, kind: str = "machine", extension: str = "ks") -> str:
    return f"/console/document?{urlencode({'kind': kind, 'name': name, 'format': extension})}"


PASTE = """(editor, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  editor.dispatchEvent(new ClipboardEvent("paste", {clipboardData, bubbles: true, cancelable: true}));
}"""


def write(page: Page, text: str) -> None:
    """Paste over all that the editor holds."""
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.locator(".cm-content").evaluate(PASTE, text)


def save(page: Page, text: str, note: str = "") -> None:
    write(page, text)
    page.get_by_label("Note").fill(note)
    page.get_by_role("button", name="Save").click()


def press_and_leave(page: Page, name: str) -> None:
    """Press a button and wait for the page to which it leads: the script asks first whether the session is there."""
    before = page.url
    page.get_by_role("button", name=name).click()
    page.wait_for_url(lambda url: url != before)


def create(page: Page, name: str, text: str, extension: str = "ks") -> None:
    page.goto("/console/documents")
    page.get_by_role("link", name="New document").click()
    page.get_by_label("Name").fill(name)
    page.get_by_label("Format").select_option(extension)
    save(page, text, "the first")
    page.wait_for_url("**" + page_of(name, extension=extension) + "&saved=*")


def stored(page: Page) -> str:
    return str(page.locator("textarea").input_value())


def test_a_document_is_written_changed_restored_and_removed(writer: Page) -> None:
    create(writer, "one", "# first\n")
    save(writer, "# second\n", "because of <b>reasons</b>")
    history = writer.locator("section", has_text="History")
    history.get_by_text("because of <b>reasons</b>").wait_for()
    assert stored(writer) == "# second\n"
    write(writer, "# not sent\n")
    history.get_by_role("link", name=re.compile("changed by admin")).click()
    history.locator(".diff .add", has_text="+# second").wait_for()
    assert stored(writer) == "# not sent\n", "the editor stays"
    write(writer, "# second\n")
    history.get_by_role("link", name="Restore revision").last.click()
    writer.get_by_text("1 machine gets another answer").wait_for()
    press_and_leave(writer, "Save it")
    assert stored(writer) == "# first\n"
    writer.get_by_role("button", name="Delete …").click()
    writer.get_by_text("1 machine loses its answer").wait_for()
    assert stored(writer) == "# first\n"
    writer.get_by_role("button", name="Delete it").click()
    writer.get_by_role("heading", name='machine "one" (ks), removed').wait_for()
    assert stored(writer) == ""
    writer.get_by_role("link", name="History", exact=True).click()
    removal = writer.locator("tr", has_text='machine "one" (ks)').first
    assert "removed" in removal.inner_text()
    removal.get_by_role("link", name="Undo").click()
    writer.get_by_text("1 machine gets an answer, and has none now").wait_for()
    press_and_leave(writer, "Save it")
    assert stored(writer) == "# first\n"


def test_an_undo_that_is_only_looked_at_is_not_kept_and_one_that_is_edited_is(writer: Page) -> None:
    create(writer, "undone", "# first\n")
    save(writer, "# second\n" + "# more\n" * 400, "the second")
    writer.locator("section", has_text="History").get_by_text("the second").wait_for()
    undo = writer.get_by_role("link", name="Undo revision").get_attribute("href")
    assert undo
    drafts = writer.locator("#drafts")
    writer.goto(undo)
    button = writer.get_by_role("button", name="Save it")
    button.wait_for()
    box = button.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 900, "in sight, whatever is above it"
    writer.keyboard.press("Shift")
    writer.wait_for_timeout(300)  # what is changed is kept after 200 ms
    writer.goto("/console/")
    assert drafts.is_hidden()
    writer.goto(undo)
    write(writer, "# mine\n")
    writer.goto("/console/")
    drafts.get_by_text("Not saved yet").wait_for()
    writer.goto(undo)
    assert stored(writer) == "# first\n", "what is kept is not put over what the page says it shows"
    writer.goto(page_of("undone"))
    writer.get_by_text("is not saved yet, and is below").wait_for()
    assert stored(writer) == "# mine\n"
    writer.get_by_role("button", name="Throw it away").click()


def test_a_problem_is_shown_at_its_line(writer: Page) -> None:
    create(writer, "three", "x = 1\n", "toml")
    save(writer, "x = 1\ny = = 2\n")
    marker = writer.locator(".cm-gutter-lint .cm-lint-marker-error")
    marker.first.wait_for()
    line = writer.locator(".cm-line", has=writer.locator(".cm-lintRange-error"))
    assert line.inner_text() == "y = = 2"


def test_a_changed_text_is_left_only_after_a_question(writer: Page, written: Lab) -> None:
    create(writer, "seven", "# one\n")
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    writer.on("dialog", stay)
    writer.get_by_role("link", name="Documents", exact=True).first.click()
    writer.wait_for_url("**/documents")
    assert asked == []
    writer.goto(page_of("seven"))
    write(writer, "# two\n")
    writer.get_by_role("link", name="Documents", exact=True).first.click()
    assert asked == ["beforeunload"]
    assert stored(writer) == "# two\n"
    press_and_leave(writer, "Save")
    assert asked == ["beforeunload"]
    writer.goto(page_of("seven"))
    assert stored(writer) == "# two\n"


def test_tab_leads_out_of_the_editor_and_changes_nothing(writer: Page) -> None:
    create(writer, "eight", "# one\n")
    asked: list[str] = []

    def leave(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    writer.on("dialog", leave)
    writer.locator(".cm-content").click()
    writer.keyboard.press("Tab")
    assert writer.evaluate("document.activeElement.name") == "note"
    assert stored(writer) == "# one\n"
    writer.get_by_role("link", name="Machines", exact=True).click()
    writer.wait_for_url("**/machines")
    assert asked == []


def test_ctrl_s_saves_from_the_editor_and_from_the_note(writer: Page) -> None:
    create(writer, "nine", "# one\n")
    for focus, text in ((".cm-content", "# two\n"), ("#note", "# three\n")):
        write(writer, text)
        writer.locator(focus).focus()
        with writer.expect_navigation():
            writer.keyboard.press("Control+s")
        assert stored(writer) == text


def test_the_page_of_a_machine_follows_what_happens_to_it(writer: Page, written: Lab) -> None:
    report = written.install("node-21")
    writer.goto("/console/machine?id=node-21")
    assert writer.locator("h1 .state").inner_text() == "installing"
    written.service.post(f"{report}/failed?message=no+disk", b"the log of it")
    failure = writer.locator(".failure")
    failure.get_by_text("no disk").wait_for()
    assert failure.locator("pre").inner_text() == "the log of it"


CONTRASTS = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([red, green, blue]) => [red, green, blue].map((part) => part / 255)
    .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const style = getComputedStyle(one);
      if (style.backgroundImage !== "none") return null;
      if (rgb(style.backgroundColor)[3] === 255) return rgb(style.backgroundColor);
    }
    return [255, 255, 255, 255];
  };
  const texts = ".cm-panel input:not([type=checkbox]), .cm-panel button, .cm-panel label, .cm-line span";
  return [...document.querySelectorAll(texts)]
    .map((element) => {
      const ground = behind(element);
      if (!ground) return [element.name, 0];
      const [less, more] = [light(ground), light(rgb(getComputedStyle(element).color))].sort((a, b) => a - b);
      return [element.name || element.innerText, (more + 0.05) / (less + 0.05)];
    });
}"""
"""The contrast of each text of the editor and of its find panel with what is behind it (WCAG 2.2, 1.4.3)."""

LEAST_CONTRAST = 4.5

MOST_OF_THE_PANEL = 120
"""Pixels of its height at 1,024 pixels: two lines of fields and buttons."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_editor_and_its_find_panel_can_be_read(windows: Windows, lab: Lab, session: str, scheme: Scheme) -> None:
    with windows.lend(lab, session=session, look=Look(scheme=scheme)) as page:
        page.goto(page_of("rack-a", "group", "toml"))
        page.locator(".cm-content").click()
        page.keyboard.press("Control+f")
        page.locator(".cm-panel.cm-search").wait_for()
        contrasts = page.evaluate(CONTRASTS)
        assert page.locator(".cm-panel.cm-search").evaluate("(panel) => panel.offsetHeight") < MOST_OF_THE_PANEL
    assert {"search", "replace", "next"} <= {name for name, _ in contrasts}
    assert [name for name, contrast in contrasts if contrast < LEAST_CONTRAST] == []


@pytest.mark.parametrize("address", [page_of("rack-a", "group", "toml"), "/console/machines?q=web-00"])
def test_print_shows_lists_and_texts_dark_on_white(windows: Windows, lab: Lab, session: str, address: str) -> None:
    with windows.lend(lab, session=session, look=Look(scheme="dark")) as page:
        page.goto(address)
        page.emulate_media(media="print")
        shown = page.locator("textarea, td.name").first
        assert shown.is_visible()
        assert not page.locator("header.bar, .cm-editor").locator("visible=true").count()
        dates = page.evaluate("""() => [...document.querySelectorAll("td > span[title]")]
          .map((one) => [one.title, getComputedStyle(one, "::after").content])""")
        assert [content for title, content in dates if not title and content != "none"] == []
        colours = page.evaluate("""() => [document.body, document.querySelector(".card"), document.querySelector("h1")]
          .map((element) => getComputedStyle(element)).map((style) => [style.backgroundColor, style.color])""")
        assert colours[0][0] == colours[1][0] == "rgb(255, 255, 255)"
        assert {colour for _, colour in colours} == {"rgb(27, 36, 48)"}
        page.emulate_media(media="screen")


def test_without_scripts_a_document_is_written_as_well(browser: Browser, written: Lab) -> None:
    with window(browser, written, session=written.session(), look=Look(scripts=False)) as page:
        page.goto("/console/document/new")
        page.get_by_label("Name").fill("five")
        page.get_by_label("Format").select_option("ks")
        page.locator("textarea").fill("# plain\n")
        page.get_by_role("button", name="Save").click()
        assert stored(page) == "# plain\n"
