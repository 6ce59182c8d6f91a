"""docs/troubleshooting.md has a section for each symptom, each with a command, and every command can be typed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from answerd.cli import parse
from answerd.commands import NAMES

PAGE = (Path(__file__).parents[2] / "docs" / "troubleshooting.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", PAGE, re.MULTILINE))
COMMANDS = re.findall(r"^ *(answerd .+)$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("heading", re.findall(r"^\| .+ \| \[(.+)\]\(#", PAGE, re.MULTILINE))
def test_every_symptom_has_a_section_with_a_command(heading: str) -> None:
    assert "```" in SECTIONS[heading] or heading == "503"


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_can_be_typed(line: str) -> None:
    for command in line.split(" | "):
        program, name, *arguments = shlex.split(command)
        assert (program, name in NAMES) == ("answerd", True)
        parse(name, arguments)


def test_there_are_commands() -> None:
    assert len(COMMANDS) > 10
