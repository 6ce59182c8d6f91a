"""What a command prints: lines without control characters, JSON, tables, colours, a progress bar; and what it asks."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

from answerd.short_texts import printable
from answerd.store import Progress, no_progress

_COLOURS = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "bold": "1"}


def printable_line(text: str) -> str:
    """Return a line of text without control characters; a tab stays a tab."""
    return "\t".join(map(printable, text.split("\t")))


def say(line: str) -> None:
    """Print a line to standard error, without control characters."""
    print(printable_line(line), file=sys.stderr)


def say_each(what: str, parts: Iterable[tuple[str, str]]) -> None:
    """Say of each part what happened to it, and why."""
    for name, why in parts:
        say(f"{what}: {name}: {why}")


def counted(number: int, word: str) -> str:
    """Return a number with its noun: ``1 document``, ``140 documents``."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def print_json(value: Any) -> None:
    """Print a value as JSON: readable where the output is UTF-8, else with escapes, which any encoding can hold."""
    is_utf8 = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "").replace("_", "") == "utf8"
    print(json.dumps(value, indent=2, ensure_ascii=not is_utf8))


NARROW = 80
"""Columns of a terminal below which a table that does not fit is printed in another way."""


def print_table(
    rows: Sequence[Sequence[str]],
    colours: Sequence[str] = (),
    widest: int | None = None,
    *,
    headed: bool = True,
    titles: int = 1,
) -> None:
    """Print rows without control characters, with columns of one width, each row in its colour, where it has one.

    A cell that is longer than ``widest`` moves those after it. In a terminal below `NARROW` that is too narrow each
    row is a block: the first ``titles`` cells are a line, and the others follow below it with their headings, which the
    first row has where the table is ``headed``.
    """
    lines = [[printable_line(cell) for cell in row] for row in rows]
    widths = [min(max(map(len, cells)), widest or sys.maxsize) for cells in zip(*lines, strict=True)]
    padded = [
        "  ".join(f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip() for cells in lines
    ]
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else NARROW
    if columns < NARROW and max(map(len, padded), default=0) > columns:
        _print_blocks(lines, colours, headed=headed, titles=titles)
        return
    for line, colour in zip_longest(padded, colours):
        print(coloured(line, colour) if colour else line)


def _print_blocks(lines: Sequence[Sequence[str]], colours: Sequence[str], *, headed: bool, titles: int) -> None:
    headings = [f"{cell.lower()}: " if headed else "" for cell in lines[0]]
    width = max(map(len, headings[titles:]), default=0)
    for number, (cells, colour) in enumerate(zip_longest(lines, colours)):
        if headed and number == 0:
            continue
        title = "  ".join(cells[:titles]).rstrip()
        print(coloured(title, colour) if colour else title)
        for heading, cell in zip(headings[titles:], cells[titles:], strict=True):
            if cell not in ("", "-"):
                print(f"  {heading:{width}}{cell}")


def coloured(text: str, colour: str) -> str:
    """Return ``text`` in a colour where standard output is a terminal that shows colours.

    ``NO_COLOR`` set to anything, and ``TERM=dumb``, mean no colours (no-color.org).
    """
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty():
        return text
    return f"\033[{_COLOURS[colour]}m{text}\033[0m"


def diff_line(line: str) -> str:
    colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    return coloured(printable_line(line), colour) if colour else printable_line(line)


def progress(unit: str) -> Progress:
    """Return a function that shows a progress bar where standard error is a terminal."""
    if not sys.stderr.isatty():
        return no_progress
    from tqdm import tqdm  # noqa: PLC0415 - only a terminal needs it

    bar = tqdm(unit=f" {unit}", leave=False, delay=1)

    def show(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)
        if done == total:
            bar.close()

    return show


def can_ask() -> bool:
    """Return whether a person reads what is printed, and can answer."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def said_yes(question: str) -> bool:
    """Ask a person. No answer, because the input has ended, is a no."""
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False
