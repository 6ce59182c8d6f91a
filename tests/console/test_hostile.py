"""Text with markup in every field that a client can write: it stays text on every page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import pytest

from tests.console.browsing import Windows
from tests.console.corpus import CORPUS, as_rows
from tests.console.lab import DOCUMENTS, Lab
from tests.support.thorough import is_thorough
from tests.support.waiting import PATIENCE, again_for

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

ELEMENT = "<img src=x onerror=alert(1)>"
BREAKOUT = "\"'></textarea></script><script>alert(2)</script>"

DOCUMENTS_OF_CORPUS = {
    "inventory/corpus.csv": as_rows(),
    "evil-9.json": json.dumps({"template": False, **{text: text for text in CORPUS}}),
    "evil-8.ks": "# answer: template on\n" + "".join(f"{{{{ secret.{text} }}}}\n" for text in CORPUS[:9]),
    "groups/evil.toml": f"members = ['evil-1']\n[global]\nmotd = '''{BREAKOUT} alert'''\n",
    "groups/broken.toml": f"# {BREAKOUT}\nmembers = ['''{ELEMENT}''']\n",  # an error that quotes a name of it
    f"groups/{ELEMENT}.toml": "x = 1\n",  # a name that is none
}

PLACES: Mapping[str, str] = {
    "now": "/console/",
    "unknown machines": "/console/machines?state=unknown",
    "machines that failed": "/console/machines?state=failed",
    "a machine of a row": "/console/machine?id=corpus-7",
    "a machine of a group": "/console/machine?id=evil-1",
    "a machine that failed": "/console/machine?id=node-01&secrets=1",
    "an answer and its requests": "/console/machine?id=evil-9&secrets=1",
    "a document": "/console/document?kind=machine&name=evil-9&format=json",
    "the document of a group": "/console/document?kind=group&name=evil&format=toml",
    "a broken document": "/console/document?kind=group&name=broken&format=toml",
    "the inventory": "/console/inventory?name=corpus",
    "a row that is edited": "/console/inventory?name=corpus&edit=corpus-7",
    "the text of the inventory": "/console/document?kind=inventory&name=corpus&format=csv&as=text",
    "adopt": f"/console/adopt?{urlencode({'id': 'SN7' + CORPUS[7]})}",
    "adopt many": "/console/adopt",
    "try": "/console/try?path=/toml&query=id%3Devil-1",
    "check": "/console/check",
}
"""Pages that show what a client, an installer or the author of a document can write."""


@pytest.fixture(scope="module")
def hostile(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with Lab(tmp_path_factory.mktemp("corpus"), "files", {**DOCUMENTS, **DOCUMENTS_OF_CORPUS}) as lab:
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


@pytest.mark.parametrize("place", PLACES)
def test_no_text_that_somebody_else_wrote_is_markup(watched: Page, place: str) -> None:
    reply = watched.goto(PLACES[place])
    assert reply is not None
    assert reply.status == 200
    for _ in again_for(PATIENCE):  # machines that nothing claims are written behind their requests
        if "alert" in watched.content() or place == "check":
            break
        watched.wait_for_timeout(100)
        watched.reload()
    assert injected(watched) == []
    assert watched.evaluate("document.querySelectorAll('base, iframe, object, [hx-on\\\\:\\\\:load]').length") == 0
    assert ">49<" not in watched.content()
    if place != "check":
        assert "alert" in watched.content(), "else the texts are not there"


def test_no_text_of_an_address_is_markup(watched: Page) -> None:
    names = ("q", "id", "group", "state", "format", "query", "path", "headers")
    others = ("body", "name", "kind", "edit", "of", "sort", "replay")
    texts = CORPUS if is_thorough() else ["".join(CORPUS)[at : at + 700] for at in (0, 700)]
    for text in texts:
        for page in ("machines", "machine", "adopt", "documents", "document", "document/new", "inventory", "try"):
            for some in (names, others):  # a request's line has an end
                watched.goto(f"/console/{page}?{urlencode(dict.fromkeys(some, text[:700]))}")
                assert injected(watched) == []
