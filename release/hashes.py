"""Write requirements-hashes.txt: scripts/hash-requirements [--check]

Each release that requirements.txt pins for the service and its optional features, with the SHA-256 hashes of the files
that pip would take on each of `TARGETS`. pip asks the package index which files these are; nothing is installed.

`pip install --require-hashes -r requirements-hashes.txt` then refuses every file that is not one of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping

from packaging.utils import canonicalize_name

from release.requirements import everything_needed, pins
from release.source import CHECKOUT

HASHES = CHECKOUT / "requirements-hashes.txt"

PYTHONS = ("3.11", "3.12", "3.13")
MACHINES = ("x86_64", "aarch64")
TARGETS = tuple((python, machine) for python in PYTHONS for machine in MACHINES)
"""Releases of CPython and machines that files are listed for: Linux with glibc 2.28 or newer."""

PLATFORMS = ("manylinux_2_28", "manylinux_2_24", "manylinux_2_17", "manylinux2014", "manylinux_2_12", "manylinux_2_5")

HEAD = """\
# Written by scripts/hash-requirements from requirements.txt; do not edit.
#
#   pip install --require-hashes -r requirements-hashes.txt
#   pip install --no-deps answerd-*.whl
#
# Holds what the service needs, with its optional features, for CPython {pythons} on Linux
# ({machines}, glibc 2.28 or newer).
"""


def ask_index(wanted: Iterable[str], python: str, machine: str) -> dict[tuple[str, str], str]:
    """Return the SHA-256 of the file that pip would take for each of these pins, by name and release.

    Raises `SystemExit` with what pip says.
    """
    with tempfile.TemporaryDirectory(prefix="answerd-hashes-") as nowhere:
        platforms = [word for platform in PLATFORMS for word in ("--platform", f"{platform}_{machine}")]
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--dry-run",
            "--quiet",
            "--ignore-installed",
            "--report",
            "-",
        ]
        command += ["--disable-pip-version-check", "--no-deps", "--target", nowhere, "--implementation", "cp"]
        done = subprocess.run(
            [*command, "--python-version", python, *platforms, *wanted], capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise SystemExit(f"pip for Python {python} on {machine} failed:\n{done.stderr}")
    return {
        (canonicalize_name(each["metadata"]["name"]), each["metadata"]["version"]): (
            each["download_info"]["archive_info"]["hashes"]["sha256"]
        )
        for each in json.loads(done.stdout)["install"]
    }


def written(hashes: Mapping[tuple[str, str], Iterable[str]]) -> str:
    """Return the text of the file for these releases and their hashes."""
    lines = [HEAD.format(pythons=", ".join(PYTHONS), machines=" and ".join(MACHINES))]
    for (name, release), those in sorted(hashes.items()):
        each = " \\\n    ".join(f"--hash=sha256:{digest}" for digest in sorted(set(those)))
        lines.append(f"{name}=={release} \\\n    {each}\n")
    return "".join(lines)


def main(arguments: list[str]) -> int:
    """Write the file, or with `--check` say whether it is as it would be written."""
    if arguments not in ([], ["--check"]):
        print(__doc__)
        return 0 if arguments[:1] in (["-h"], ["--help"]) else 2
    pinned = pins()
    names = [canonicalize_name(distribution.metadata["Name"]) for distribution in everything_needed()]
    hashes: dict[tuple[str, str], set[str]] = defaultdict(set)
    for python, machine in TARGETS:
        for found, digest in ask_index([f"{name}=={pinned[name]}" for name in names], python, machine).items():
            hashes[found].add(digest)
    text = written(hashes)
    if not arguments:
        HASHES.write_text(text, "utf-8")
        print(f"{len(hashes)} releases in {HASHES}")
        return 0
    if HASHES.exists() and HASHES.read_text("utf-8") == text:
        return 0
    print(f"{HASHES.name} is not what scripts/hash-requirements would write; run it", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
