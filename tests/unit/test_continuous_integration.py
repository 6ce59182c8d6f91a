"""Continuous integration installs each program that a test is skipped without, where Debian has it."""

from __future__ import annotations

import re
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]

ALWAYS_THERE = {"debconf"}
"""Packages that no Debian is without."""


def installed(script: str) -> set[str]:
    """The packages that a script installs: its array ``packages``."""
    found = re.search(r"^packages=\(([^)]*)\)", (CHECKOUT / script).read_text("utf-8"), re.MULTILINE)
    assert found
    return set(found[1].split())


def test_each_package_that_a_skip_names_is_installed() -> None:
    named: dict[str, str] = {}
    for folder in ("unit", "behaviour", "http", "load", "cost", "console", "installers", "support"):
        for file in (CHECKOUT / "tests" / folder).rglob("*.py"):
            for package in re.findall(r"apt install ([a-z][a-z0-9.+-]+)", file.read_text("utf-8")):
                named[package] = f"{folder}/{file.name}"
    assert {"chromium", "pgbouncer", "prometheus"} <= set(named)
    packages = installed(".ci/run") | installed("scripts/test-installers") | ALWAYS_THERE
    assert {package: file for package, file in named.items() if package not in packages} == {}
    assert {"zsh", "fish"} <= packages  # tests/unit/test_manual.py
