"""Output to a terminal: text without control characters, JSON in any encoding, colours and a progress bar."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

from answerd.identity import printable

_COLOURS = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "bold": "1"}


def printable_line(text: str) -> str:
    """Return a line of text without control characters; a tab stays a tab."""
    return "\t".join(map(printable, text.split("\t")))


def counted(number: int, word: str) -> str:
    """Return a number with its noun: ``1 document``, ``140 documents``."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def print_json(value: Any) -> None:
    """Print a value as JSON: readable where the output is UTF-8, else with escapes, which any encoding can hold."""
    is_utf8 = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "").replace("_", "") == "utf8"
    print(json.dumps(value, indent=2, ensure_ascii=not is_utf8))


def print_table(rows: Sequence[Sequence[str]], colours: Sequence[str] = ()) -> None:
    """Print rows with columns of one width, each in its colour, where it has one."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    for row, colour in zip_longest(rows, colours):
        line = "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        print(coloured(line, colour) if colour else line)


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


def progress(unit: str) -> Callable[[int, int], None] | None:
    """Return a function that shows a progress bar, given the number done and the total; None where standard error is
    not a terminal."""
    if not sys.stderr.isatty():
        return None
    from tqdm import tqdm  # noqa: PLC0415 - only a terminal needs it

    bar = tqdm(unit=f" {unit}", leave=False, delay=1)

    def show(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)
        if done == total:
            bar.close()

    return show
