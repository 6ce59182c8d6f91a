"""The pages of docs/installers/, the tutorials, and their documents: each a block after a line that names its file."""

from __future__ import annotations

import re
from pathlib import Path

from answerd.formats import FORMATS

FOLDER = Path(__file__).parents[2] / "docs" / "installers"
PAGES = {path.stem: path.read_text("utf-8") for path in sorted(FOLDER.glob("*.md")) if path.stem != "index"}
INDEX = (FOLDER / "index.md").read_text("utf-8")
MAC = "52:54:00:12:34:56"
DASHES = "52-54-00-12-34-56"
REPORT = "http://192.0.2.10:8000/report/token"


def _files(text: str) -> dict[str, str]:
    found = re.findall(r"`(?:/srv/answers/)?(\w[\w./-]*)`:\n\n```\w+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return dict(found)


def documents(text: str) -> dict[str, str]:
    """The documents of a page by the names of their files."""
    return {name: body for name, body in _files(text).items() if name.rpartition(".")[2] in FORMATS}


def tutorial_files(page: str) -> dict[str, str]:
    """The files of a tutorial below its directory of answers."""
    return _files((FOLDER.parent / f"{page}.md").read_text("utf-8"))


def without_states(text: str) -> str:
    """A document as one that needs neither states nor secrets: these are tested with the states."""
    always = re.sub(r"^(# answer: once|once: true)\n| once=\"true\"", "", text, flags=re.MULTILINE)
    plain = always.replace("{{ report }}", REPORT)
    return re.sub(r"\{\{ secret\.[\w-]+ \}\}", "$6$example$hash.of.the.password", plain)
