"""The diagrams of docs/diagrams/ are rendered from their sources, and show modules that exist. Needs no Graphviz."""

from __future__ import annotations

import hashlib
import re
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
DIAGRAMS = CHECKOUT / "docs" / "diagrams"
SOURCES = sorted(DIAGRAMS.glob("*.dot"))
CONTRACTS = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
GREEN = "#eef5e9"


def contract(kind: str, key: str) -> list[str]:
    """Return a list of the one import contract of a kind, without the name of the package."""
    [found] = [contract[key] for contract in CONTRACTS if contract["type"] == kind]
    return [name.replace("answerd.", "") for name in found]


def attributes(source: str) -> dict[str, str]:
    """Return for each module of modules.dot what is between its brackets."""
    return dict(re.findall(r"^    (\w+) +\[(.*label=<<b>.*)\]$", source, re.MULTILINE))


def test_there_are_diagrams() -> None:
    assert SOURCES


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_the_picture_was_rendered_from_its_source(source: Path) -> None:
    picture = source.with_suffix(".svg").read_text("utf-8")
    [(name, checksum)] = re.findall(r"^<!-- scripts/diagrams: (\S+) sha256 ([0-9a-f]{64}) -->$", picture, re.MULTILINE)
    assert name == source.name
    assert checksum == hashlib.sha256(source.read_bytes()).hexdigest(), "run scripts/diagrams"
    assert ET.fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg"


def test_no_picture_is_without_a_source() -> None:
    assert [path.name for path in DIAGRAMS.glob("*.svg") if not path.with_suffix(".dot").exists()] == []


def test_every_file_in_a_diagram_exists() -> None:
    text = "".join(path.read_text("utf-8").replace("\\n", " ") for path in SOURCES)
    named = re.findall(r"[\w/]+\.py\b|\b[a-z]+/(?=[<\"])", text)
    assert named
    assert [name for name in named if not (CHECKOUT / "answerd" / name).exists()] == []


def test_the_diagram_of_modules_has_the_layers_of_the_contract() -> None:
    source = (DIAGRAMS / "modules.dot").read_text("utf-8")
    [(first, rest)] = re.findall(r"^    (\{cli .+) -> server\n    server -> (.+);?$", source, re.MULTILINE)
    layers = [*first.split(" -> "), "server", *rest.split(" -> ")]
    shown = [" | ".join(layer.strip("{}").split()) for layer in layers]
    assert shown == contract("layers", "layers")
    assert set(attributes(source)) == {name for layer in shown for name in layer.split(" | ")}


def test_the_green_modules_are_those_of_the_core() -> None:
    shown = attributes((DIAGRAMS / "modules.dot").read_text("utf-8"))
    assert {name for name, attribute in shown.items() if GREEN in attribute} == set(
        contract("forbidden", "source_modules")
    )
