"""Proofs with a tool that others wrote: slowhttptest's slow headers, slow bodies and slow reading."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from tests.load.torture.figures import Figure, exactly, measured, under
from tests.load.torture.listener import P99_MILLISECONDS, serving
from tests.support.probe import Probes
from tests.support.service import write_tree

CONNECTIONS = 1_500
RATE = 400  # connections a second
SECONDS = 20
MODES = {
    "slow headers": ["-H", "-i", "1"],
    "slow bodies": ["-B", "-i", "1", "-s", "8192", "-t", "POST"],
    "slow reading": ["-X", "-w", "10", "-y", "20", "-n", "5", "-z", "32", "-k", "1"],
}
"""What distinguishes slowhttptest's modes; see its manual."""


_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def modes(scratch: Path) -> list[Figure]:
    """Each mode in turn, beside other clients."""
    if shutil.which("slowhttptest") is None:
        return [Figure("slowhttptest", "not installed", "skipped")]
    return [figure for mode in MODES for figure in _mode(scratch / mode.replace(" ", "-"), mode)]


def _mode(scratch: Path, mode: str) -> list[Figure]:
    large = "#!ipxe\n" + "echo hello\n" * 20_000  # more than a socket takes from a client that does not read
    write_tree(scratch / "answers", {"large.ipxe": large})
    with serving(scratch, SERVICE_TIMEOUT_SECS=10) as service:
        assert service.address
        host, port = service.address
        target = f"http://{host}:{port}/ipxe?name=large"
        with Probes(service.address) as probes:
            said = subprocess.run(
                ["slowhttptest", *MODES[mode], "-c", str(CONNECTIONS), "-r", str(RATE), "-l", str(SECONDS), "-p", "3",
                 "-u", target],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False, timeout=90,
            ).stdout  # fmt: skip
    available = re.findall(r"service available:\s*(YES|NO)", _COLOURS.sub("", said))
    proof = f"slowhttptest, {mode}"
    return [
        measured(proof, "connections", CONNECTIONS),
        exactly(
            proof,
            f"of {len(available)} looks, saw the service available",
            available.count("YES"),
            max(1, len(available)),
        ),
        exactly(proof, "requests of others that failed", probes.results.failures, 0),
        measured(proof, "requests of others", probes.results.outcomes.total()),
        under(proof, "p99 of others", probes.results.percentile(99), P99_MILLISECONDS, "ms"),
    ]
