"""The index of modules in ``docs/architecture.md``, made from the first sentence of each module's docstring.

``python -m release.modules`` writes it after a module was added, moved or described anew; a test compares.
"""

from __future__ import annotations

import ast
import re
from itertools import groupby
from pathlib import Path, PurePosixPath

from release.source import CHECKOUT

PAGE = CHECKOUT / "docs" / "architecture.md"
HEADING = "## All modules\n"
"""What comes before the index. The index goes on to the end of the page."""

_CITATION = re.compile(r" \((?:docs/|RFC )[^)]*\)")
_MARKUP = re.compile(r"``([^`]*)``")
_SENTENCE_END = re.compile(r"(?<=[^.])\.(?=\s|$)")


def summary(path: Path) -> str:
    """Return the first sentence of a module's docstring as Markdown. Raises `ValueError` where there is none."""
    text = ast.get_docstring(ast.parse(path.read_text("utf-8")))
    if not text:
        raise ValueError(f"{path}: no docstring")
    paragraph = " ".join(text.split("\n\n")[0].split())
    sentence = _SENTENCE_END.split(_CITATION.sub("", paragraph))[0]
    return _MARKUP.sub(r"`\1`", sentence).replace("|", "\\|").rstrip(":")


def index() -> str:
    """Return the tables, one for each package."""
    modules = sorted(path for path in (CHECKOUT / "answerd").rglob("*.py") if path.stat().st_size)
    named = [(PurePosixPath(path.relative_to(CHECKOUT).as_posix()), summary(path)) for path in modules]
    parts = []
    for package, members in groupby(sorted(named, key=_package), key=_package):
        rows = "".join(f"| `{path}` | {sentence} |\n" for path, sentence in members)
        parts.append(f"### {package}\n\n| module | what it is |\n|---|---|\n{rows}")
    return "\n".join(parts)


def _package(module: tuple[PurePosixPath, str]) -> PurePosixPath:
    return module[0].parent


def rewritten(page: str) -> str:
    """Return the page with the index of today."""
    before, heading, rest = page.partition(HEADING)
    introduction = rest.partition("\n###")[0].strip("\n")
    return f"{before}{heading}\n{introduction}\n\n{index()}"


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text("utf-8")), "utf-8")
