"""Text with markup in every field that a client can write: it stays text on every page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import pytest

from tests.console.browsing import Windows
from tests.console.corpus import CORPUS, as_rows
from tests.console.lab import DOCUMENTS, Lab
from tests.support.thorough import is_thorough

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

ELEMENT = "<img src=x onerror=alert(1)>"
BREAKOUT = "\"'></textarea></script><script>alert(2)</script>"
TEMPLATE = "{{7*7}}"

HOSTILE = {
    # A document: its text, and errors that quote a name of it.
    "groups/evil.toml": f"members = ['evil-1']\n[global]\nmotd = '''{BREAKOUT}'''\n",
    "groups/broken.toml": f"# {BREAKOUT}\nmembers = ['''{ELEMENT}''']\n",
    "evil-2.ks": f"# {ELEMENT} {TEMPLATE}\nlang {BREAKOUT}\n",
    # A row: each cell.
    "inventory/evil.csv": f'id,mac,serial,note\nevil-3,00:00:5e:00:53:f0,"{ELEMENT}","{ELEMENT}"\n',
    # A name that is none.
    f"groups/{ELEMENT}.toml": "x = 1\n",
}

PAGES = (
    "/console/",
    "/console/machines",
    "/console/machines?q=evil",
    "/console/machine?id=evil-1",
    "/console/machine?id=evil-2",
    "/console/machine?id=evil-3",
    "/console/documents",
    "/console/documents?q=evil",
    "/console/document?kind=group&name=evil&format=toml",
    "/console/document?kind=group&name=broken&format=toml",
    "/console/document?kind=inventory&name=evil&format=csv&as=text",
    "/console/inventory?name=evil",
    "/console/inventory?name=evil&edit=evil-3",
    "/console/history",
    "/console/access",
    "/console/document?kind=machine&name=evil-2&format=ks",
    "/console/try?path=/toml&query=id%3Devil-1",
    "/console/check",
    "/console/settings",
)


@pytest.fixture(scope="module")
def hostile(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    home: Path = tmp_path_factory.mktemp("hostile")
    with Lab(home, "files", {**DOCUMENTS, **HOSTILE}) as lab:
        agent = {"User-Agent": f"{ELEMENT} {BREAKOUT} {TEMPLATE}", "X-System-Serial-Number": ELEMENT}
        lab.service.get("/ks?id=evil-2&note=" + quote(ELEMENT), **agent)
        lab.service.get(f"/ks?serial={quote(BREAKOUT)}", **agent)
        yield lab


@pytest.fixture
def watched(windows: Windows, hostile: Lab) -> Iterator[Page]:
    """A window that fails its test when a script of the text runs."""
    with windows.lend(hostile, session=hostile.session()) as page:
        said: list[str] = []

        def note(dialog: Dialog) -> None:
            said.append(dialog.message)
            dialog.dismiss()

        page.on("dialog", note)
        yield page
        page.remove_listener("dialog", note)
        assert said == []


def injected(page: Page) -> list[str]:
    """What is an element and should not be: none of the console's pages has an image (the
    editor draws unseen characters with empty ones), or a script without a source."""
    found: list[str] = page.evaluate(
        "[...document.querySelectorAll('img:not(.cm-widgetBuffer), script:not([src]), [onerror], [onload]')]"
        ".map((one) => one.outerHTML)"
    )
    return found


@pytest.mark.parametrize("path", PAGES)
def test_hostile_text_of_documents_rows_and_requests_is_no_markup(watched: Page, path: str) -> None:
    reply = watched.goto(path)
    assert reply is not None
    assert reply.status == 200
    assert injected(watched) == []
    assert ">49<" not in watched.content()


def test_the_hostile_text_is_there_to_be_seen(watched: Page) -> None:
    """Else the test above would look at pages without it."""
    watched.goto("/console/document?kind=group&name=evil&format=toml")
    assert BREAKOUT in watched.locator("textarea").input_value()
    watched.goto("/console/machine?id=evil-1")
    assert BREAKOUT in watched.locator(".answer").first.inner_text()
    watched.goto("/console/machine?id=evil-3")
    assert ELEMENT in watched.locator("main").inner_text()
    watched.goto("/console/")
    assert ELEMENT in watched.locator("main").inner_text()


def test_hostile_text_of_an_address_is_no_markup(watched: Page) -> None:
    text = f"javascript:alert(3){ELEMENT}{BREAKOUT}{TEMPLATE}"
    names = (
        "q",
        "id",
        "group",
        "state",
        "format",
        "query",
        "path",
        "headers",
        "body",
        "name",
        "kind",
        "sort",
        "replay",
    )
    query = urlencode(dict.fromkeys(names, text))
    for page in ("", "machines", "machine", "documents", "document", "document/new", "try", text):
        watched.goto(f"/console/{quote(page)}?{query}")
        assert injected(watched) == []
    watched.goto(f"/console/login?next={quote(text)}")
    assert injected(watched) == []


# --- a corpus in every place ------------------------------------------------------------------------------------------

PLACES: Mapping[str, str] = {
    "now": "/console/",
    "unknown machines": "/console/machines?state=unknown",
    "machines that failed": "/console/machines?state=failed",
    "a machine of a row": "/console/machine?id=corpus-7",
    "a machine that failed": "/console/machine?id=node-01&secrets=1",
    "an answer and its requests": "/console/machine?id=evil-9&secrets=1",
    "the document": "/console/document?kind=machine&name=evil-9&format=json",
    "the inventory": "/console/inventory?name=corpus",
    "the text of the inventory": "/console/document?kind=inventory&name=corpus&format=csv&as=text",
    "adopt": f"/console/adopt?{urlencode({'id': 'SN7' + CORPUS[7]})}",
    "check": "/console/check",
}


@pytest.fixture(scope="module")
def with_corpus(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab in which each text is wherever a client, an installer or the author of a document can write it."""
    documents = {
        "inventory/corpus.csv": as_rows(),
        "evil-9.json": json.dumps({"template": False, **{text: text for text in CORPUS}}),
        "evil-8.ks": "# answer: template on\n" + "".join(f"{{{{ secret.{text} }}}}\n" for text in CORPUS[:9]),
    }
    with Lab(tmp_path_factory.mktemp("corpus"), "files", {**DOCUMENTS, **documents}) as lab:
        for at, text in enumerate(CORPUS):
            agent = {"User-Agent": text.encode("ascii", "ignore").decode()}
            said = {"mac": f"00:00:5e:00:54:{at:02x}", "serial": f"SN{at}{text}", text: text}
            lab.service.get(f"/ks?{urlencode(said)}", **agent)
            lab.service.get(f"/{quote(text, safe='')}?id=evil-9&{urlencode({text: text})}", **agent)
            name = f"node-{at + 1:02}"
            report = urlencode({"state": "failed", "message": text, "reason": text})
            lab.service.get(f"{lab.install(name)}?{report}", **agent)
        yield lab


@pytest.fixture
def corpus_page(windows: Windows, with_corpus: Lab) -> Iterator[Page]:
    with windows.lend(with_corpus, session=with_corpus.session()) as page:
        page.on("dialog", fail_at_dialog)
        yield page
        page.remove_listener("dialog", fail_at_dialog)


def fail_at_dialog(dialog: Dialog) -> None:
    dialog.dismiss()
    raise AssertionError(dialog.message)


@pytest.mark.parametrize("place", PLACES)
def test_no_text_of_the_corpus_is_markup(corpus_page: Page, place: str) -> None:
    corpus_page.goto(PLACES[place])
    for _ in range(20):  # machines that nothing claims are written behind their requests
        if "alert" in corpus_page.content() or place == "check":
            break
        corpus_page.wait_for_timeout(100)
        corpus_page.reload()
    assert injected(corpus_page) == []
    assert corpus_page.evaluate("document.querySelectorAll('base, iframe, object, [hx-on\\\\:\\\\:load]').length") == 0
    if place != "check":
        shown = corpus_page.content()
        assert "alert" in shown, "else the texts are not there"


def test_no_text_of_the_corpus_in_an_address_is_markup(corpus_page: Page) -> None:
    names = ("q", "id", "group", "state", "format", "query", "path", "headers", "body", "name", "kind", "edit", "of")
    texts = CORPUS if is_thorough() else ["".join(CORPUS)[at : at + 700] for at in (0, 700)]
    for text in texts:
        for page in ("machines", "machine", "adopt", "documents", "document", "document/new", "inventory", "try"):
            for some in (names[:6], names[6:]):  # a request's line has an end
                corpus_page.goto(f"/console/{page}?{urlencode(dict.fromkeys(some, text[:700]))}")
                assert injected(corpus_page) == []
