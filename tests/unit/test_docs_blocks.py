"""No command of a page escapes the tests: which blocks hold commands, and what is typed within sentences.

The commands of ``sh``, ``console`` and ``bat`` blocks are run by tests/http/test_docs_commands.py and
tests/http/test_readme.py. Here is that no other block holds any, and that those within sentences can be typed.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from answerd.commands import NAMES, command
from answerd.usage import HELP_OPTIONS, help_of, options_of, parse

CHECKOUT = Path(__file__).parents[2]
PAGES = {
    str(path.relative_to(CHECKOUT)): path.read_text("utf-8")
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md")
    for path in sorted(CHECKOUT.glob(pattern))
    if path.name != "CHANGELOG.md"
}

RUN = ("sh", "console", "bat")
"""Languages of the blocks whose commands tests run."""
SHOWN = ("", "cfg", "csv", "ini", "ipxe", "json", "ks", "log", "preseed", "toml", "xml", "yaml")
"""Languages of the blocks that show files, usages, or what a command prints."""

WALKED = ("README.md", "docs/first-machine.md")
"""Pages whose commands, in ``console`` blocks, tests/http/test_readme.py runs."""

FENCE = re.compile(r"^ *(?P<fence>`{3,}|~{3,})(?P<language>.*)\n(?P<text>(?:.*\n)*?) *(?P=fence) *$", re.MULTILINE)

WITHIN_SENTENCES: dict[str, str] = {
    ".venv/bin/python ": "the stages of scripts/test: tests/unit/test_scripts.py",
    "ANSWERD_COMPILE=": "tests/unit/test_scripts.py runs the script so, tests/unit/test_compiled_build.py the build",
    "apt install ": "changes the system: tests/unit/test_scripts.py has what is said without them",
    "chain --replace": "of iPXE: tests/installers/test_report_lines.py runs the lines of the page",
    "chmod 0640 ": "changes the system: tests/packages/test_debian_package.py has the modes of the directories",
    "chown -R answerd: ": "changes the system: tests/packages/test_debian_package.py has the owners",
    "cloud-init ": "tests/installers/test_page_commands.py runs it, or lists it",
    "curl ": "tests/installers/test_page_commands.py and tests/installers/test_reporters.py",
    "debconf-set-selections ": "tests/unit/test_validator_tools.py runs a stand-in with these words",
    "dhcpd -t ": "tests/installers/test_dialects.py runs it",
    "dnsmasq --test ": "tests/installers/test_dialects.py runs it",
    "docker ": "needs a container engine: tests/packages/test_image.py runs the steps of the Dockerfile",
    "ftp -o - ": "a command of OpenBSD: tests/unit/test_installer_pages.py asks for the script",
    "git pull": "a command of git: tests/http/test_docs_commands.py runs what follows it",
    "imgfetch --name ": "of iPXE: tests/installers/test_report_lines.py runs the lines of the page",
    "journalctl ": "needs systemd's journal: tests/installers/test_page_commands.py lists it",
    "kea-dhcp4 -t ": "tests/installers/test_dialects.py runs it",
    "kubernetes-validate --strict": "tests/packages/test_judges.py runs it",
    "less -R": "what a reader of a coloured text types: tests/http/test_terminals.py has the colours",
    "lshw -xml": "needs the machine: tests/unit/test_inventory_command.py reads what it prints",
    "openssl passwd ": "tests/installers/test_page_commands.py runs it",
    "openssl rand ": "tests/http/test_docs_commands.py runs it",
    "pip install": "needs a package index: tests/packages/test_wheel.py installs wheel, archive and extras",
    "pipx install ": "needs a package index: tests/packages/test_wheel.py installs the wheel with pipx",
    "py-spy record ": "prints figures; the figures are of this program: tests/unit/test_bench.py",
    "python -m answerd": "what every test of tests/http/test_cli.py starts",
    "python -m release.modules": "tests/unit/test_docs.py compares what it writes",
    "python -m tests.load.write_cost": "prints figures: tests/load/write_cost.py",
    "qemu -smbios ": "an option of a longer line: tests/installers/test_page_commands.py lists it",
    "rm -r /srv/answers ": "tests/packages/test_debian_package.py runs it after the purge",
    "scripts/bench": "takes half an hour: tests/unit/test_bench.py, and tests/load/test_loadtests.py in small",
    "scripts/hash-requirements --check": "tests/unit/test_release.py compares what it writes",
    "scripts/test": "runs this: tests/unit/test_scripts.py runs the script with a stand-in for Python",
    "scripts/torture": "takes minutes: tests/load/torture/test_short_forms.py runs its parts in small",
    "source etc/completions/answerd.bash": "tests/unit/test_manual.py completes with it",
    'sqlite3 state.db ".backup ': "needs the program sqlite3: tests/unit/test_upgrade.py opens copies of such files",
    "systemctl ": "needs systemd: tests/http/test_tokens.py sends the signal",
    "talosctl ": "Debian does not package it: tests/installers/test_page_commands.py lists it",
    "ulimit -Hn": "of the shell: tests/load/torture/test_short_forms.py reads the limit",
    "wget ": "tests/installers/test_report_lines.py runs the line",
    "xmllint ": "tests/installers/test_page_commands.py runs it",
}
"""What a command within a sentence begins with, and the test that runs it or holds it in another way."""

PROGRAM = re.compile(
    r"(?:[A-Z]+_\w+=\S+ )*(?:\S*/)?(?:apt|bash|cat|chmod|chown|cp|curl|dnsmasq|docker|git|helm|install|journalctl|"
    r"kubectl|ln|mkdir|mv|nginx|openssl|pip|pipx|podman|promtool|psql|python3?|rm|rsync|scp|sed|sh|source|sqlite3|ssh|sudo|"
    r"systemctl|tar|wget|(?<=scripts/)\w[\w-]*) "
)
"""How a text begins that is a command of another program than answerd."""

WITH_OPTION = re.compile(r"(?:\S*/)?[a-z][\w.+-]* (?:.* )?--?[a-zA-Z]")
"""What reads as a command of whatever program, because of an option."""

OUTSIDE_OF_A_BLOCK = re.compile(rf"^(?: {{4,}}|\t)[ \t]*(?:\$ )?(?:answerd [a-z]|{PROGRAM.pattern})", re.MULTILINE)
"""A command in a block without a fence, which is one by its indentation alone."""


def typed(text: str) -> list[str]:
    """The commands of answerd and of other programs within the sentences of a page, without settings before them."""
    spans = [re.sub(r"^(?:SERVICE_\w+=\S+ )+", "", span) for span in re.findall(r"`([^`\n]+)`", FENCE.sub("", text))]
    commands = (PROGRAM.match, WITH_OPTION.match, re.compile(r"answerd [a-z-]+(?= |$)").match)
    return [span for span in spans if any(is_one(span) for is_one in commands)]


@pytest.mark.parametrize("page", PAGES)
def test_a_block_says_by_its_language_whether_it_holds_commands(page: str) -> None:
    fences = re.findall(r"^ *(?:`{3,}|~{3,}).*$", PAGES[page], re.MULTILINE)
    blocks = [found.groupdict() for found in FENCE.finditer(PAGES[page])]
    assert len(fences) == 2 * len(blocks), "a block that does not end"
    assert OUTSIDE_OF_A_BLOCK.findall(FENCE.sub("", PAGES[page])) == [], "put it between fences"
    languages = {block["language"] for block in blocks}
    assert languages - {*RUN, *SHOWN} == set()
    assert page not in WALKED or languages.isdisjoint({"sh", "bat"}), "only its console blocks are run"
    usages = {form.strip() for name in NAMES for form in help_of(name).splitlines() if form.startswith("  answerd ")}
    for block in blocks:
        if block["language"] in SHOWN:
            first, *others = block["text"].splitlines()
            hidden = [line for line in (first, *others) if re.match(r"\$ ", line)]
            if PROGRAM.match(first) or re.match(r"answerd ", first):
                hidden += [line for line in (first, *others) if line.startswith("answerd ") and line not in usages]
                hidden += [first] if PROGRAM.match(first) else []
            assert hidden == [], "put it into a block of the language sh"


@pytest.mark.parametrize("page", PAGES)
def test_a_command_within_a_sentence_can_be_typed(page: str) -> None:
    for line in typed(PAGES[page]):
        program, name, *_ = line.split()
        if program in NAMES:  # without the program's name before it
            assert set(re.findall(r"(?<= )--[\w-]+", line)) <= {*options_of(command(program).HELP)}, line
        elif program != "answerd":
            assert any(line.startswith(start) for start in WITHIN_SENTENCES), line
        elif name not in (*HELP_OPTIONS, "--version", "COMMAND"):
            assert name in NAMES, line
            assert set(re.findall(r"(?<=[ [])--[\w-]+", line)) <= {*options_of(command(name).HELP)}, line
            plain = re.sub(r"\[.*?\]|\.\.\.", "", line)
            if not re.fullmatch(r"answerd [a-z-]+(?: --[\w-]+)*", plain.strip()):  # more than the name of an option
                parse(name, shlex.split(plain)[2:])


def test_every_reason_is_needed_and_names_a_file_that_exists() -> None:
    lines = [line for text in PAGES.values() for line in typed(text)]
    for start, reason in WITHIN_SENTENCES.items():
        assert any(line.startswith(start) for line in lines), start
        assert [name for name in re.findall(r"tests/[\w/]+\.py", reason) if not (CHECKOUT / name).is_file()] == []
