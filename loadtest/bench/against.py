"""Compare this checkout with another one, in one run: the cost of a change for each kind of answer.

Two runs of `requests` cannot be compared on a machine whose speed drifts; alternating rounds of both can.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path

from loadtest.bench.figures import Bar, Effort, Figure
from loadtest.bench.load import Contestant, alternate
from loadtest.bench.servers import CannotStart, Server, answerd
from loadtest.bench.stores import stored
from loadtest.bench.throughput import FLEET, KINDS, answer_sets, contest, ratio

LEAST_RATIO = Bar(at_least=0.97)
"""A change may cost each kind of answer at most 3 %, of its throughput and in CPU time."""

CHECKOUT = Path(__file__).parents[2]


@contextmanager
def another_checkout(what: str) -> Iterator[Path]:
    """Yield a directory with answerd, or that into which a revision of this repository is checked out for the time of a
    block. Raises `CannotStart` where there is neither."""
    if (Path(what) / "answerd" / "__main__.py").is_file():
        yield Path(what)
        return
    git = ["git", "-C", str(CHECKOUT)]
    with tempfile.TemporaryDirectory(prefix="answerd-bench-") as name:
        where = str(Path(name) / "checkout")
        made = subprocess.run(
            [*git, "worktree", "add", "--detach", "--quiet", where, what],
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode:
            raise CannotStart(f"{what} is no checkout of answerd, and no revision: {made.stderr.strip()}")
        try:
            yield Path(where)
        finally:
            subprocess.run([*git, "worktree", "remove", "--force", where], check=False)


def against(checkout: Path, effort: Effort) -> list[Figure]:
    """Return the figures of both checkouts, and the ratios of this one to ``checkout``."""
    with ExitStack() as running:
        servers = _servers(running, {"before": checkout.resolve(), "now": None})
        contestants = [
            Contestant(f"{what}, {when}", servers[stored_set, when], shape, FLEET)
            for what, stored_set, shape in KINDS
            for when in ("before", "now")
        ]
        turns = alternate(contestants, effort.rounds, effort.seconds)
    figures = list(chain.from_iterable(contest(label, rounds) for label, rounds in turns.items()))
    for what, _, _ in KINDS:
        now, before = turns[f"{what}, now"], turns[f"{what}, before"]
        # Both have the bar: where the generator's core is full, throughput does not show what a request costs.
        figures += ratio(f"{what}, now", now, "before", before, LEAST_RATIO, LEAST_RATIO)
    return figures


def _servers(running: ExitStack, checkouts: dict[str, Path | None]) -> dict[tuple[str, str], Server]:
    """Start a server for each set and checkout, and return them by the names of both."""
    servers = {}
    for name, documents in answer_sets().items():
        # Files: a database of this checkout may have a schema that an older one does not know.
        settings = running.enter_context(stored(documents, "files")).settings
        for when, checkout in checkouts.items():
            servers[name, when] = running.enter_context(answerd(settings, checkout=checkout))
    return servers
