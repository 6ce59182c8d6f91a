"""CONTRIBUTING.md and SECURITY.md name files, tables and settings that exist; the hooks are those of scripts/test."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from answerd.config import SETTINGS_BY_NAME
from tests.unit.test_docs import rows

CHECKOUT = Path(__file__).parents[2]
CONTRIBUTING = (CHECKOUT / "CONTRIBUTING.md").read_text("utf-8")
HOOKS: dict[str, Any] = yaml.safe_load((CHECKOUT / ".pre-commit-config.yaml").read_text("utf-8"))
STAGES = dict(
    re.findall(r'^    stage "([\w -]+)" (.+)$', (CHECKOUT / "scripts" / "test").read_text("utf-8"), re.MULTILINE)
)

PLACEHOLDERS = {"docs/page.md", "docs/NAME.md", "docs/diagrams/NAME.dot"}


def test_every_file_that_is_named_exists() -> None:
    named = re.findall(r"`((?:answerd|tests|docs|etc|examples|scripts|loadtest)/[\w/.-]*)[`#]", CONTRIBUTING)
    assert len(named) > 20
    assert [name for name in named if name not in PLACEHOLDERS and not (CHECKOUT / name).exists()] == []


ROWS = [
    cells for cells in rows(CONTRIBUTING.partition("\n## Adding something\n")[2].partition("\n## ")[0], 3) if cells[1]
]


@pytest.mark.parametrize("cells", ROWS, ids=lambda cells: cells[0])
def test_every_table_and_class_is_in_a_file_of_its_row(cells: tuple[str, ...]) -> None:
    text = " ".join(cells[1:])
    source = "".join((CHECKOUT / file).read_text("utf-8") for file in re.findall(r"`([\w/]+\.py)`", text))
    named = re.findall(r"`(_?[A-Z][A-Za-z_]+)`", text)
    assert [name for name in named if not re.search(rf"^(?:class )?{name}\b", source, re.MULTILINE)] == []


def test_every_setting_that_is_named_exists() -> None:
    text = (
        CONTRIBUTING
        + (CHECKOUT / "SECURITY.md").read_text("utf-8")
        + (CHECKOUT / "docs/security.md").read_text("utf-8")
    )
    assert set(re.findall(r"\bSERVICE_[A-Z_]*[A-Z]", text)) - set(SETTINGS_BY_NAME) == set()


def test_hooks_use_the_environment_of_the_project_and_fetch_nothing() -> None:
    assert [repo["repo"] for repo in HOOKS["repos"]] == ["local"]
    hooks = HOOKS["repos"][0]["hooks"]
    assert {hook["language"] for hook in hooks} == {"system"}
    assert [hook["id"] for hook in hooks if not hook["entry"].startswith(".venv/bin/")] == []


def test_every_linter_of_the_test_command_is_a_hook() -> None:
    hooks = {hook["name"] for hook in HOOKS["repos"][0]["hooks"]}
    assert STAGES
    assert set(STAGES) - {"pytest"} - hooks == set()
