"""The pages of docs/installers/ and the documents on them, each a block of code after a line that names its file."""

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


def documents(text: str) -> dict[str, str]:
    """The documents of a page by the names of their files."""
    found = re.findall(r"`([\w./-]+)`:\n\n```\w+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return {name: body for name, body in found if name.rpartition(".")[2] in FORMATS}


def without_states(text: str) -> str:
    """A document as one that needs no state: what ``once`` and the report do is tested with the states."""
    return re.sub(r"^# answer: once\n", "", text, flags=re.MULTILINE).replace("{{ report }}", REPORT)
