"""The rows of CONTRIBUTING.md name every place that has to know of what is added."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import tomllib
from pathlib import Path

import pytest

from answerd import facts
from answerd.answers import sent_labels
from answerd.console import proposals
from answerd.formats import FORMATS
from tests.support.pages import CHECKOUT, rows

ROWS = {what: f"{where} {more}" for what, where, more in rows((CHECKOUT / "CONTRIBUTING.md").read_text("utf-8"), 3)}

PROGRAM = ("answerd", "docs", "etc", "examples")
"""The folders that hold what users get. The tables of the tests tell by themselves what they miss."""

MADE_BY = {
    "etc/completions/answerd.bash": "scripts/manpage",
    "etc/completions/answerd.fish": "scripts/manpage",
    "etc/completions/_answerd": "scripts/manpage",
}
"""Files that a script writes: it is named in place of them."""


def shipped(suffixes: tuple[str, ...] = ()) -> list[Path]:
    """The files of `PROGRAM`, with one of these suffixes."""
    found = [path for folder in PROGRAM for path in (CHECKOUT / folder).rglob("*") if "__pycache__" not in path.parts]
    return [path for path in found if path.is_file() and (not suffixes or path.suffix in suffixes)]


@pytest.mark.parametrize("what", ROWS)
def test_each_name_of_a_row_is_in_a_file_that_the_row_names(what: str) -> None:
    words = re.findall(r"`([^`]+)`", ROWS[what])
    texts = [path.read_text("utf-8") for word in words if (path := CHECKOUT / word).is_file()]
    names = {word.rpartition(".")[2] for word in words if re.fullmatch(r"(?:\w+\.)?(?:_?[A-Z][A-Z_]+|_\w+)", word)}
    assert {name for name in names if not any(re.search(rf"\b{name}\b", text) for text in texts)} == set()


def test_the_row_of_a_format_names_each_place_that_has_all_formats() -> None:
    started = {path.suffix.removeprefix(".") for path in proposals.NEW_DOCUMENTS.iterdir()}
    assert started <= set(FORMATS)  # the others are spellings of these, and start as they do
    assert {"toml", "ks", "unattend"} <= started
    places = set()
    for path in shipped():
        text = path.read_text("utf-8", "replace")
        if all(re.search(rf"\b{extension}\b", text) for extension in started):
            name = str(path.relative_to(CHECKOUT))
            places.add(MADE_BY.get(name, name))
    assert {"answerd/formats/__init__.py", "docs/formats.md", "scripts/manpage"} <= places
    row = ROWS["a format of a family that exists"]
    assert {place for place in places if place not in row} == set()


def test_the_row_of_a_format_names_each_folder_that_has_a_file_of_all() -> None:
    folders: dict[Path, set[str]] = {}
    for path in shipped():
        if (extension := path.suffix.removeprefix(".")) in FORMATS:
            folders.setdefault(path.parent, set()).add(extension)
    full = {str(folder.relative_to(CHECKOUT)) for folder, found in folders.items() if 2 * len(found) > len(FORMATS)}
    assert {"answerd/console/new_documents", "examples/answers"} <= full
    row = ROWS["a format of a family that exists"]
    assert {folder for folder in full if folder not in row} == set()


def test_the_row_of_a_label_from_a_header_names_each_place_that_has_these_labels() -> None:
    labels = labels_of_headers()
    assert {"mac", "serial"} <= labels
    assert labels <= sent_labels.SENT_LABELS, "LABELS_SENT_BY has no client that sends it"
    row = ROWS["a label that comes in a header"]
    for name, module in {"_header_facts": facts, "LABELS_SENT_BY": sent_labels}.items():
        assert f"`{name}` (`{module_file(module)}`)" in row
    places = {
        str(path.relative_to(CHECKOUT))
        for path in shipped((".md",))
        if labels <= labels_listed(path.read_text("utf-8"))
    }
    assert {"docs/templates.md", "docs/selection.md"} <= places, f"a table there lacks one of {sorted(labels)}"
    assert {place for place in places if place not in row} == set()


def labels_listed(page: str) -> set[str]:
    """The words of the second column of tables, in rows whose first column tells of headers or is a client."""
    return {
        word
        for first, second in rows(page, 2)
        if re.match("(?i)headers? ", first) or first in sent_labels.LABELS_SENT_BY
        for word in re.findall(r"`(\w+)`", second)
    }


def labels_of_headers() -> set[str]:
    """The labels that `_header_facts` gives to values: the first part of each pair that it appends."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(facts._header_facts)))
    return {
        str(node.elts[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Tuple) and len(node.elts) == 2 and isinstance(node.elts[0], ast.Constant)
    }


def module_file(module: object) -> str:
    return str(Path(inspect.getfile(module)).relative_to(CHECKOUT))  # type: ignore[arg-type]


def test_the_layers_of_the_architecture_are_those_that_are_checked() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))
    [layers] = [each["layers"] for each in project["tool"]["importlinter"]["contracts"] if each["type"] == "layers"]
    page = (CHECKOUT / "docs/architecture.md").read_text("utf-8")
    shown = page.partition("## Core and shell")[2].split("```")[1].strip().splitlines()
    names = [set(re.split(r"\s{2,}", line)[0].split()) for line in shown]
    assert names == [set(layer.replace("answerd.", "").split(" | ")) for layer in layers]
