"""The pages of docs/: their texts, tables and blocks."""

from __future__ import annotations

import re
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
DOCS = CHECKOUT / "docs"


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text("utf-8")


def rows(text: str, columns: int) -> list[tuple[str, ...]]:
    """The rows of all tables of this many columns, without their heads."""
    found = []
    for line in text.splitlines():
        cells = tuple(cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1])
        if line.startswith("|") and len(cells) == columns and not set("".join(cells)) <= {"-"}:
            found.append(cells)
    return found


def words(cell: str) -> tuple[str, ...]:
    """The words between backquotes."""
    return tuple(re.findall(r"`([^`]+)`", cell))


FENCE = re.compile(r"^ *(?P<fence>`{3,}|~{3,})(?P<language>.*)\n(?P<text>(?:.*\n)*?) *(?P=fence) *$", re.MULTILINE)
"""A block between fences: its language and its text."""
