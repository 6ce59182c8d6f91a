"""The console's third-party files are those that vendor.json names (docs/console.md)."""

from __future__ import annotations

import hashlib
import json
import re

import pytest

from answerd.console.rendering import STATIC
from answerd.formats import FORMATS

VENDOR = STATIC / "vendor"
SOURCE = STATIC.parent / "vendor"
FILES = json.loads((VENDOR / "vendor.json").read_text("utf-8"))["files"]


LOCK = json.loads((SOURCE / "package-lock.json").read_text("utf-8"))["packages"]
"""By the folder of a package; the empty one is what package.json asks for."""


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


def test_each_package_is_the_one_that_the_lock_names_by_its_hash() -> None:
    assert [
        folder for folder, package in LOCK.items() if folder and not package["integrity"].startswith("sha512-")
    ] == []
    used = {package["name"]: package["version"] for entry in FILES for package in entry["packages"]}
    assert used == {name: LOCK[f"node_modules/{name}"]["version"] for name in used}
    assert LOCK[""]["dependencies"] == json.loads((SOURCE / "package.json").read_text("utf-8"))["dependencies"]


def test_the_editor_has_a_language_for_each_family() -> None:
    source = (SOURCE / "editor.js").read_text("utf-8")
    languages = source.partition("const languages = {")[2].partition("};")[0].partition("\n")[2]
    assert set(re.findall(r"\b(\w+)(?=[:,])", languages)) == {entry.family.name for entry in FORMATS.values()}
