"""The console's third-party files are those that vendor.json names, and the whole of it is small (docs/console.md)."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from answerd.console.rendering import STATIC, TEMPLATES, static_files

VENDOR = STATIC / "vendor"
FILES = json.loads((VENDOR / "vendor.json").read_text("utf-8"))["files"]
WANTED = json.loads((Path(__file__).parents[2] / "answerd/console/vendor/package.json").read_text("utf-8"))

MOST_BYTES_WITHOUT_THE_EDITOR = 400_000


@pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry["file"])
def test_a_file_is_the_one_that_was_made(entry: dict[str, object]) -> None:
    content = (VENDOR / str(entry["file"])).read_bytes()
    assert hashlib.sha256(content).hexdigest() == entry["sha256"]
    assert entry["packages"]


def test_every_file_is_named_with_licences() -> None:
    named = {entry["file"] for entry in FILES} | {"vendor.json", "LICENSES.txt"}
    assert {path.name for path in VENDOR.iterdir()} == named
    licences = (VENDOR / "LICENSES.txt").read_text("utf-8")
    packages = [package for entry in FILES for package in entry["packages"]]
    assert [package["name"] for package in packages if f"== {package['name']}\n" not in licences] == []
    assert {package["license"] for package in packages} <= {"MIT", "0BSD"}


def test_versions_are_those_that_are_asked_for() -> None:
    made = {package["name"]: package["version"] for entry in FILES for package in entry["packages"]}
    asked = {name: version for name, version in WANTED["dependencies"].items() if name in made}
    assert {name: made[name] for name in asked} == asked
    assert all(re.fullmatch(r"[0-9.]+", version) for version in WANTED["dependencies"].values())


def test_the_front_end_is_small_without_the_editor() -> None:
    sizes = {name: len(file.content) for name, file in static_files().items() if not name.endswith((".txt", ".json"))}
    together = sum(size for name, size in sizes.items() if "editor" not in name)
    templates = sum(path.stat().st_size for path in TEMPLATES.iterdir())
    assert together + templates < MOST_BYTES_WITHOUT_THE_EDITOR
