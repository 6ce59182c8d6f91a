"""Figures of inventories: rows and one document against a document for each machine, and the cost of a million rows."""

from __future__ import annotations

from contextlib import ExitStack

from loadtest.bench import shapes
from loadtest.bench.figures import Bar, Effort, Figure
from loadtest.bench.load import Contestant, alternate, carry_out
from loadtest.bench.loading import changing, marks, memory, once, settle, starting
from loadtest.bench.servers import answerd
from loadtest.bench.stores import STORES, stored
from loadtest.bench.throughput import contest, generating, ratio
from loadtest.fleet import (
    ROW_COLUMNS,
    ROWS_OF_A_FILE,
    Machine,
    inventory_document,
    inventory_fleet,
    templated_fleet,
)

AGAINST_DOCUMENTS = Bar(at_least=0.9)
AGAINST_TEN_ROWS = Bar(at_least=0.95)
LOADED = Bar(at_most=10)
"""Seconds."""

ROW_IN_FORCE = Bar(at_most=1_000)
BYTES_OF_A_CELL = Bar(at_most=250)
"""Of memory, beyond the text."""

_MB = 1_048_576


def inventory(effort: Effort) -> list[Figure]:
    """Measure rows of an inventory: answers, loading, one changed row, memory."""
    return [*_answering(effort), *(figure for store in STORES for figure in _keeping(effort, store))]


def _answering(effort: Effort) -> list[Figure]:
    """Measure the templated answer of a row against that of a machine's document, and from many rows against from
    ten."""
    with ExitStack() as running:
        documents = running.enter_context(stored(templated_fleet(effort.load)))
        server = running.enter_context(answerd(documents.settings))
        settle(server)
        by_document = Contestant(f"{effort.load:,} documents", server, shapes.TEMPLATED_POST, effort.load)
        by_rows = []
        for size in sorted({10, effort.load, *effort.sizes}):
            answers = running.enter_context(stored(inventory_fleet(size)))
            server = running.enter_context(answerd(answers.settings))
            settle(server)
            by_rows.append(Contestant(f"one document, {size:,} rows", server, shapes.TEMPLATED_POST, size))
        turns = alternate([by_document, *by_rows], effort.rounds, effort.seconds)
    figures = [figure for label, rounds in turns.items() for figure in contest(label, rounds)]
    first = turns[by_rows[0].label]
    for contestant in by_rows:
        rounds = turns[contestant.label]
        if contestant.machines == effort.load:
            figures += ratio(contestant.label, rounds, by_document.label, turns[by_document.label], AGAINST_DOCUMENTS)
        if contestant is not by_rows[0]:
            figures += ratio(contestant.label, rounds, "10 rows", first, AGAINST_TEN_ROWS)
    return figures + generating(turns)


def _keeping(effort: Effort, store: str) -> list[Figure]:
    """Measure the largest inventory: loading it, changing a row in it, and its memory."""
    rows = max(effort.load, *effort.sizes)
    named = f"{rows:,} rows in {store}"
    with stored(inventory_fleet(10), store) as few, answerd(few.settings) as server:
        settle(server)
        without = memory(server, f"10 rows in {store}", None)
    with (
        stored(inventory_fleet(rows), store) as answers,
        answerd(answers.settings, wait=False) as server,
    ):
        figures = starting(server, named, loaded=LOADED)
        contestant = Contestant(named, server, shapes.TEMPLATED_POST, rows)
        carry_out(contestant.order())
        settle(server)
        used = memory(server, named, None)
        machine = Machine(rows // 2)
        first = machine.number // ROWS_OF_A_FILE * ROWS_OF_A_FILE
        count = min(ROWS_OF_A_FILE, rows - first)
        versions = [
            (*inventory_document(first, count, machine.number, mark), machine.host + mark) for mark in marks(effort)
        ]
        figures += changing(contestant, answers, versions, machine, ROW_IN_FORCE)
    text = sum(len(text) for name, text in inventory_fleet(rows) if name.startswith("inventory/"))
    beyond = ((used.value.median - without.value.median) * _MB - text) / (rows * len(ROW_COLUMNS))
    return [
        *figures,
        used,
        Figure(f"{named}: memory of a cell beyond the text", once(beyond), "bytes", BYTES_OF_A_CELL),
    ]
