"""The group ``nodes`` of the benchmark in small: its figures are none, and it keeps working."""

from __future__ import annotations

from dataclasses import replace

import pytest

from loadtest.bench import nodes
from loadtest.bench.figures import QUICK
from tests.support.postgres import MISSING, binaries


@pytest.mark.skipif(binaries() is None, reason=MISSING)
def test_every_figure_of_nodes_is_found() -> None:
    effort = replace(QUICK, rounds=1, seconds=0.1, load=50, changes=1)
    units = {figure.what: figure.unit for figure in nodes.nodes(effort) if not figure.detail}
    assert units["50 machines from the database: load into an empty replica"] == "s"
    assert units["one change in force on another node after"] == "ms"
    assert units["one report in force on another node after"] == "ms"
    assert units["start and catch-up after 50 missed changes"] == "s"
    assert units["a node on PostgreSQL / SQLite"] == "x"
