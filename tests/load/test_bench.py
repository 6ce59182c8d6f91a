"""The benchmark finds what it looks for in the pages of the console. (Its figures say nothing in a test.)"""

from __future__ import annotations

from dataclasses import replace

from loadtest.bench.figures import QUICK
from loadtest.bench.pages import pages


def test_each_page_of_the_console_is_measured() -> None:
    measured = {figure.what for figure in pages(replace(QUICK, load=100))}
    assert {"save, 100 machines in sqlite", "check, 100 machines in sqlite", "check, 100 machines in files"} <= measured
