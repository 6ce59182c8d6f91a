"""The manual page and the completions in etc/ are current, and their programs can read them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from answerd import manual
from tests.support.waiting import PROGRAM_SECONDS

CHECKOUT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", manual.files())
def test_the_committed_file_is_current(name: str) -> None:
    assert (CHECKOUT / name).read_text("utf-8") == manual.files()[name], "run scripts/manpage"


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
