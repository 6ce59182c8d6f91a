"""Two tables of ``docs/architecture.md`` that are made from others: the modules that enforce each rule, from
``docs/rules.md``, and all modules, from the first sentence of each module's docstring.

``python -m release.modules`` writes them after a module was added, moved or described anew, or ``docs/rules.md`` was
changed; a test compares.
"""

from __future__ import annotations

import ast
import re
from itertools import groupby
from pathlib import Path, PurePosixPath

from release.source import CHECKOUT

PAGE = CHECKOUT / "docs" / "architecture.md"
RULES = CHECKOUT / "docs" / "rules.md"
RULES_HEADING = "## Where each rule is enforced\n"
"""What comes before the table of rules. It goes on to `HEADING`."""
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


def rules(page: str) -> str:
    """Return the table of rules and the modules that enforce them, from the text of ``docs/rules.md``.

    Raises `ValueError` for a row without three cells.
    """
    rows = ["| rule | module |", "|---|---|"]
    for line in page.splitlines():
        if line.startswith("## "):
            rows.append(f"| **{line.removeprefix('## ').lower()}** | |")
        elif line.startswith("| ") and not line.startswith("| rule |"):
            rule, _, enforced = (cell.strip() for cell in line.strip("|").split(" | "))
            rows.append(f"| {rule} | {enforced} |")
    return "\n".join(rows)


def rewritten(page: str) -> str:
    """Return the page with the tables of today."""
    before, _, rest = page.partition(RULES_HEADING)
    about_rules, _, about_modules = rest.partition(HEADING)
    return (
        f"{before}{RULES_HEADING}\n{_paragraphs(about_rules)}\n\n{rules(RULES.read_text('utf-8'))}\n\n"
        f"{HEADING}\n{_paragraphs(about_modules)}\n\n{index()}"
    )


def _paragraphs(section: str) -> str:
    """Return what a section says before its tables."""
    return re.split(r"\n(?:\||###)", section, maxsplit=1)[0].strip("\n")


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text("utf-8")), "utf-8")
