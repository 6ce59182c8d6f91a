"""The manual page, docs/cli.md and the completions in etc/ are current, and their programs can read them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from answerd import cli, manual
from answerd.commands import NAMES, options_of, usage_of
from tests.support.pages import page, rows, words
from tests.support.waiting import PROGRAM_SECONDS

CHECKOUT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", manual.files())
def test_the_committed_file_is_current(name: str) -> None:
    assert (CHECKOUT / name).read_text("utf-8") == manual.files()[name], "run scripts/manpage"


def lists_of(name: str) -> dict[str, str]:
    """What the page says of each option and each exit status of a command, in the section whose heading names it."""
    (section,) = (text for text in page("cli").split("\n## ")[1:] if name in text.partition("\n")[0].split(", "))
    assert "\n".join(line[2:] for line in usage_of(name)) in section
    return {words(row[0])[0]: row[1] for row in rows(section, 2) if words(row[0])}


@pytest.mark.parametrize("name", NAMES)
def test_the_page_has_every_option_of_a_command_with_its_meaning(name: str) -> None:
    listed = {word.partition(" ")[0]: meaning.replace("`", "") for word, meaning in lists_of(name).items()}
    for option, (_, meaning) in options_of(name).items():
        if option != "--help":
            # What cites a page of the documentation is a link in the page.
            assert listed[option].startswith(meaning.partition("docs/")[0].replace("`", "")), option
    assert {"0", "1", "2"} <= {*listed}


def test_the_page_begins_with_all_commands() -> None:
    overview = page("cli").partition("\n## ")[0]
    assert [words(row[0])[0] for row in rows(overview, 2) if words(row[0])][: len(NAMES)] == list(NAMES)
    assert all(manual.SUMMARIES[name] in overview.replace("`", "") for name in NAMES)
    assert cli.__doc__.splitlines()[0] in overview


def test_the_manual_page_has_no_fault_that_man_reports() -> None:
    if not (man := shutil.which("man")):
        pytest.skip("man is not installed: apt install man-db")
    done = subprocess.run(
        [man, "--warnings=all", "-l", "-"],
        input=manual.manual_page(),
        capture_output=True,
        text=True,
        check=True,
        env={"MANWIDTH": "80", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"},
        timeout=PROGRAM_SECONDS,
    )
    assert done.stderr == ""
    assert "answerd render [<id>]" in done.stdout


@pytest.mark.parametrize(("shell", "name"), [("bash", "answerd.bash"), ("zsh", "_answerd"), ("fish", "answerd.fish")])
def test_the_shell_can_read_its_completion(shell: str, name: str) -> None:
    program = shutil.which(shell)
    if not program:
        pytest.skip(f"{shell} is not installed: apt install {shell}")
    done = subprocess.run(
        [program, "-n", str(CHECKOUT / "etc" / "completions" / name)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PROGRAM_SECONDS,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["answerd", "ren"], {"render"}),
        (["answerd", "check", "--js"], {"--json"}),
        (["answerd", "render", "a", "--format", "ip"], {"ipxe"}),
    ],
    ids=["a command", "an option", "a format"],
)
def test_bash_completes(words: list[str], completed: set[str]) -> None:
    bash = shutil.which("bash")
    if not bash:
        pytest.skip("bash is not installed")
    script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _answerd; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(
        [bash, "-c", script, "bash", str(CHECKOUT / "etc/completions/answerd.bash"), *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=PROGRAM_SECONDS,
    )
    assert set(done.stdout.split()) == completed
