"""scripts/serve and scripts/test in a checkout of their own, with a stand-in for Python that installs nothing.

What they are tested for is when they make the environment, when they leave it alone, what they say when something is
missing, and what they start. That a real pip can install the package is seen by running them.
"""

import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.service import write_tree
from tests.support.unprivileged import reachable, started_as_nobody

CHECKOUT = Path(__file__).parents[2]

PYTHON = r"""#!/bin/bash
# Stands in for an interpreter: notes what is asked of it and does what the scripts count on.
echo "python $*" >>"$NOTES"
case "$*" in
    "-c import sys; sys.exit(sys.version_info < (3, 11))") exit "${TOO_OLD:-0}" ;;
    "-c import ensurepip"*) exit "${NO_ENSUREPIP:-0}" ;;
    "-c import pip"*) exit "${NO_PIP:-0}" ;;
    "-c import os, sys, sysconfig"*) exit "${NO_HEADERS:-0}" ;;
    "-m pip install"*--target*)
        if [[ ${COMPILER:-} == fails ]]; then exit 1; fi
        echo "compiles $ANSWERD_COMPILE" >>"$NOTES"
        all="$*"
        target=${all##*--target }
        mkdir -p "${target% .}/answerd" && : >"${target% .}/one__mypyc.cpython-311.so"
        ;;
    --version) echo "Python ${VERSION:-3.11.2}" ;;
    "-m venv"*) mkdir -p "${!#}/bin" "${!#}/lib/python3.11/site-packages" && cp "$0" "${!#}/bin/python" ;;
    "-m pip install"*)
        if [[ ${PIP:-} == killed ]]; then
            while read -r key value; do [[ $key != PPid: ]] || kill -KILL "$value" $PPID; done </proc/$PPID/status
        fi
        if [[ ${PIP:-} == refuses ]]; then exit 1; fi
        printf '#!/bin/bash\necho "answerd $* pid=$$ in ${SERVICE_ANSWERS_DIR-nowhere}" >>"$NOTES"\n' >"${0%/*}/answerd"
        printf '#!/bin/bash\necho "lint-imports" >>"$NOTES"\n' >"${0%/*}/lint-imports"
        chmod +x "${0%/*}/answerd" "${0%/*}/lint-imports"
        ;;
    "-m ruff"*) exit "${RUFF:-0}" ;;
    "-m mypy"*) echo "== what mypy prints"; exit "${MYPY:-0}" ;;
    "-m pytest"*) echo "settings ${!SERVICE_@}" >>"$NOTES" ;;
    "-m tests.load"*) echo "tries ${ANSWERD_COMMAND-the checkout}" >>"$NOTES" ;;
esac
"""


@dataclass
class Sandbox:
    """A copy of the scripts in a path with a blank in it, and what their runs did."""

    root: Path
    environ: dict[str, str] = field(default_factory=dict)
    rights: dict[str, Any] = field(default_factory=dict)

    @property
    def checkout(self) -> Path:
        return self.root / "a checkout"

    @property
    def notes(self) -> list[str]:
        path = self.root / "notes"
        return path.read_text("utf-8").splitlines() if path.exists() else []

    @property
    def installs(self) -> int:
        return sum(note.startswith("python -m pip install") for note in self.notes)

    @property
    def environments(self) -> int:
        return sum(note.startswith("python -m venv") for note in self.notes)

    def popen(self, script: str, *arguments: str, **environ: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [self.checkout / "scripts" / script, *arguments],
            cwd=self.root,
            env={"PATH": f"{self.root / 'bin'}", "NOTES": str(self.root / "notes"), **environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **self.rights,
        )

    def run(self, script: str, *arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
        with self.popen(script, *arguments, **environ) as process:
            out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(script, process.returncode, out, err)


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    """A checkout without an environment, and a PATH on which ``python3.11`` is the stand-in."""
    made = Sandbox(tmp_path)
    shutil.copytree(CHECKOUT / "scripts", made.checkout / "scripts")
    for name in ("setup.py", "requirements.txt"):
        shutil.copy(CHECKOUT / name, made.checkout)
    (tmp_path / "bin").mkdir()
    tools = "bash cat chmod cp cut dirname env flock id kill mkdir readlink rm sed sha256sum"
    for tool in tools.split():
        found = shutil.which(tool)
        if found:
            (tmp_path / "bin" / tool).symlink_to(found)
    python = tmp_path / "bin" / "python3.11"
    python.write_text(PYTHON, "utf-8")
    python.chmod(0o755)
    return made


def test_the_first_run_installs_and_the_second_does_not(sandbox: Sandbox) -> None:
    assert sandbox.run("serve").returncode == 0
    assert (sandbox.environments, sandbox.installs) == (1, 1)
    assert sandbox.run("serve").returncode == 0
    assert (sandbox.environments, sandbox.installs) == (1, 1)
    assert sum(note.startswith("answerd serve") for note in sandbox.notes) == 2


@pytest.fixture
def compiling(sandbox: Sandbox) -> Sandbox:
    """A sandbox with a C compiler and with sources."""
    for tool in ["cc", "cat", "find", "gzip", "mktemp", "mv", "sleep", "sort", "tar", "xargs"]:
        path = sandbox.root / "bin" / tool
        if not path.exists():
            path.symlink_to(shutil.which(tool) or "/bin/true")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(CHECKOUT / name, sandbox.checkout)
    write_tree(
        sandbox.checkout, {"answerd/__init__.py": "", "backend/one.py": "", "etc/man/a": "", "etc/completions/a": ""}
    )
    return sandbox


def compilations(sandbox: Sandbox) -> int:
    return sandbox.notes.count("compiles 1")


def test_the_service_is_compiled_once_for_its_sources(compiling: Sandbox) -> None:
    first = compiling.run("serve")
    assert (first.returncode, compilations(compiling)) == (0, 1)
    assert "compiling the request path" in first.stderr
    assert "compil" not in compiling.run("serve").stderr
    assert compilations(compiling) == 1
    (compiling.checkout / "answerd" / "__init__.py").write_text("changed = True\n")
    assert compiling.run("serve").returncode == 0
    assert compilations(compiling) == 2
    assert len([*(compiling.checkout / ".venv" / "compiled").glob("*/answerd")]) == 1  # the older one is gone
    assert not [*compiling.checkout.glob("answerd/*.so")]


def test_the_compiled_package_comes_first(compiling: Sandbox) -> None:
    answerd = '#!/bin/bash\necho "path $PYTHONPATH" >>"$NOTES"\n'
    compiling.run("serve", ANSWERD_COMPILE="0")
    (compiling.checkout / ".venv" / "bin" / "answerd").write_text(answerd)
    compiling.run("serve", ANSWERD_COMPILE="0")
    compiling.run("serve", PYTHONPATH="/elsewhere")
    (package,) = (path.parent for path in compiling.checkout.glob(".venv/compiled/*/answerd"))
    assert [note for note in compiling.notes if note.startswith("path")] == ["path ", f"path {package}:/elsewhere"]


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"ANSWERD_COMPILE": "0"}, ""),
        ({"NO_HEADERS": "1"}, "Python's headers"),
        ({"COMPILER": "fails"}, "could not compile, going on without"),
    ],
)
def test_what_cannot_be_compiled_is_served_all_the_same(compiling: Sandbox, environ: dict[str, str], said: str) -> None:
    ran = compiling.run("serve", **environ)
    assert (ran.returncode, compilations(compiling)) == (0, 0)
    assert said in ran.stderr
    assert any(note.startswith("answerd serve") for note in compiling.notes)


def test_what_failed_to_compile_is_not_tried_again_until_that_is_asked_for(compiling: Sandbox) -> None:
    compiling.run("serve", COMPILER="fails")
    again = compiling.run("serve")
    assert (again.returncode, compilations(compiling)) == (0, 0)
    directory = compiling.checkout / ".venv" / "compiled"
    said = f"serve: not compiled: an earlier try failed, see {directory}/log; to try again: rm -r {directory}\n"
    assert said in again.stderr
    shutil.rmtree(directory)
    compiling.run("serve")
    assert compilations(compiling) == 1


def test_without_a_compiler_it_says_so(sandbox: Sandbox) -> None:
    ran = sandbox.run("serve")
    assert (ran.returncode, "takes a C compiler" in ran.stderr) == (0, True)


def test_the_service_takes_the_place_of_the_script(sandbox: Sandbox) -> None:
    """A signal to the script's process id reaches the service."""
    with sandbox.popen("serve") as process:
        process.communicate(timeout=60)
    assert f"pid={process.pid} " in sandbox.notes[-1]


def test_the_service_answers_from_the_examples(sandbox: Sandbox) -> None:
    sandbox.run("serve", SERVICE_ANSWERS_DIR="  ")
    assert sandbox.notes[-1].endswith(f"in {sandbox.checkout}/examples/answers")


def test_a_directory_of_the_caller_wins(sandbox: Sandbox) -> None:
    sandbox.run("serve", SERVICE_ANSWERS_DIR="mine")
    assert sandbox.notes[-1].endswith("in mine")


def test_a_directory_of_the_environment_file_wins_over_the_examples(sandbox: Sandbox) -> None:
    (sandbox.root / "env").write_text("SERVICE_ANSWERS_DIR=/srv/mine\n", "utf-8")
    sandbox.run("serve", SERVICE_ENV_FILE="env")
    assert sandbox.notes[-1].endswith("in nowhere")


@pytest.mark.parametrize(
    ("environ", "base"),
    [
        pytest.param({}, "http://127.0.0.1:8000", id="nothing set"),
        pytest.param({"SERVICE_LISTEN_ADDR": " 0.0.0.0:9001 "}, "http://127.0.0.1:9001", id="another port"),
        pytest.param({"SERVICE_LISTEN_ADDR": "192.0.2.1:80"}, "http://192.0.2.1:80", id="one address"),
        pytest.param({"SERVICE_LISTEN_ADDR": "[::]:8000"}, "http://[::1]:8000", id="all of IPv6"),
        pytest.param({"SERVICE_LISTEN_ADDR": "127.0.0.1:0"}, "http://127.0.0.1:PORT", id="a free port"),
        pytest.param({"SERVICE_TLS_CERT": "crt", "SERVICE_TLS_KEY": "key"}, "https://127.0.0.1:8000", id="TLS"),
        pytest.param({"SERVICE_ENV_FILE": "env"}, "http://127.0.0.1:7000", id="environment file"),
    ],
)
def test_two_curl_lines_ask_where_the_service_listens(sandbox: Sandbox, environ: dict[str, str], base: str) -> None:
    (sandbox.root / "env").write_text('#SERVICE_LISTEN_ADDR=:1\nexport SERVICE_LISTEN_ADDR = "0.0.0.0:7000"\n', "utf-8")
    lines = [line for line in sandbox.run("serve", **environ).stdout.splitlines() if line.startswith("  curl ")]
    assert len(lines) == 2
    assert [f"'{base}/" in line for line in lines] == [True, True]


def test_a_directory_of_the_callers_own_gets_lines_that_work_there(sandbox: Sandbox) -> None:
    write_tree(sandbox.root / "mine", {"default.ks": "", "groups/g.ks": "", "Node-7.seed": ""})
    out = sandbox.run("serve", SERVICE_ANSWERS_DIR=str(sandbox.root / "mine")).stdout
    assert "  curl 'http://127.0.0.1:8000/preseed?id=Node-7'\n" in out
    assert f"/answerd check {sandbox.root / 'mine'}\n" in out
    assert "98:fa" not in out


def test_an_empty_directory_gets_lines_that_write_a_first_document(sandbox: Sandbox) -> None:
    (sandbox.root / "mine").mkdir()
    out = sandbox.run("serve", SERVICE_ANSWERS_DIR=str(sandbox.root / "mine")).stdout
    write, ask = (line.strip() for line in out.splitlines() if line.startswith("  "))
    subprocess.run(["bash", "-c", write], check=True)
    assert [path.name for path in (sandbox.root / "mine").iterdir()] == ["52-54-00-12-34-56.ipxe"]
    assert ask == "curl 'http://127.0.0.1:8000/ipxe?mac=52:54:00:12:34:56'"


def test_a_database_gets_no_lines_for_the_examples(sandbox: Sandbox) -> None:
    out = sandbox.run("serve", SERVICE_STORE="sqlite").stdout
    assert "answerd check" in out
    assert "98:fa" not in out


def test_the_service_can_judge_kickstart_answers(sandbox: Sandbox) -> None:
    sandbox.run("serve")
    assert any("[validators]" in note for note in sandbox.notes)


def test_the_curl_lines_never_show_the_token(sandbox: Sandbox) -> None:
    out = sandbox.run("serve", SERVICE_ANSWER_TOKEN="correct-horse-battery").stdout
    assert out.count("Bearer $SERVICE_ANSWER_TOKEN") == 2
    assert "correct-horse" not in out


@pytest.mark.parametrize("name", ["setup.py", "requirements.txt"])
def test_a_change_of_what_is_needed_installs_again_into_the_same_environment(sandbox: Sandbox, name: str) -> None:
    sandbox.run("serve")
    with (sandbox.checkout / name).open("a", encoding="utf-8") as stream:
        stream.write("# changed\n")
    sandbox.run("serve")
    assert (sandbox.environments, sandbox.installs) == (1, 2)


def test_the_environment_of_the_tests_does_for_the_service_too(sandbox: Sandbox) -> None:
    sandbox.run("test")
    sandbox.run("serve")
    assert sandbox.installs == 1


def test_an_installation_that_was_cut_off_begins_anew(sandbox: Sandbox) -> None:
    assert sandbox.run("serve", PIP="killed").returncode == -9
    assert sandbox.run("serve").returncode == 0
    assert (sandbox.environments, sandbox.installs) == (2, 2)


def test_what_pip_refused_leaves_the_environment_as_it_was(sandbox: Sandbox) -> None:
    sandbox.run("serve")
    requirements = sandbox.checkout / "requirements.txt"
    before = requirements.read_text("utf-8")
    requirements.write_text(before + "# changed\n", "utf-8")
    refused = sandbox.run("serve", PIP="refuses")
    assert refused.returncode == 1
    assert "pip could not install" in refused.stderr
    requirements.write_text(before, "utf-8")
    assert sandbox.run("serve").returncode == 0
    assert (sandbox.environments, sandbox.installs) == (1, 2)


def test_a_checkout_that_was_moved_gets_a_new_environment(sandbox: Sandbox) -> None:
    sandbox.run("serve")
    (sandbox.root / "elsewhere").mkdir()
    shutil.move(sandbox.checkout, sandbox.root / "elsewhere")
    moved = Sandbox(sandbox.root / "elsewhere")
    environ = {"PATH": str(sandbox.root / "bin"), "NOTES": str(sandbox.root / "notes")}
    assert moved.run("serve", **environ).returncode == 0
    assert sandbox.environments == 2


def test_of_two_runs_at_the_same_time_one_installs(sandbox: Sandbox) -> None:
    runs = [sandbox.popen("serve"), sandbox.popen("serve")]
    for process in runs:
        process.communicate(timeout=60)
    assert [process.returncode for process in runs] == [0, 0]
    assert (sandbox.environments, sandbox.installs) == (1, 1)


def test_without_ensurepip_the_pip_beside_python_is_used(sandbox: Sandbox) -> None:
    assert sandbox.run("serve", NO_ENSUREPIP="1").returncode == 0
    assert any(note.startswith("python -m venv --without-pip") for note in sandbox.notes)


@pytest.mark.parametrize("script", ["serve", "test"])
def test_without_ensurepip_and_pip_it_names_the_package_to_install(sandbox: Sandbox, script: str) -> None:
    done = sandbox.run(script, NO_ENSUREPIP="1", NO_PIP="1")
    assert done.returncode == 1
    assert "apt install python3-venv" in done.stderr
    assert not (sandbox.checkout / ".venv").exists()


@pytest.mark.parametrize("script", ["serve", "test"])
def test_a_python_that_is_too_old_is_named(sandbox: Sandbox, script: str) -> None:
    done = sandbox.run(script, TOO_OLD="1", VERSION="3.9.2")
    assert done.returncode == 1
    assert "Python 3.11 or newer is needed; python3.11 is Python 3.9.2" in done.stderr


def test_no_python_at_all_is_said(sandbox: Sandbox) -> None:
    (sandbox.root / "bin" / "python3.11").unlink()
    done = sandbox.run("serve")
    assert done.returncode == 1
    assert "no python3 is on PATH" in done.stderr


def test_a_checkout_that_cannot_be_written_is_named(sandbox: Sandbox) -> None:
    reachable(sandbox.root)
    sandbox.checkout.chmod(0o555)
    sandbox.rights = started_as_nobody()
    done = sandbox.run("serve")
    assert done.returncode == 1
    assert f"cannot write in {sandbox.checkout}" in done.stderr


def test_the_test_command_runs_every_stage_and_ends_as_the_first_that_failed(sandbox: Sandbox) -> None:
    done = sandbox.run("test", RUFF="3", MYPY="4")
    assert done.returncode == 3
    stages = [line.split("  ")[0] for line in done.stdout.splitlines()[-6:]]
    assert stages == ["ruff check", "ruff format", "pytest", "mypy", "lint-imports", "compiled"]
    assert "not tried" in done.stdout
    assert "python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder -rfEs" in [
        note.strip() for note in sandbox.notes
    ]


def test_what_runs_beside_the_tests_is_shown_after_them_and_may_fail(sandbox: Sandbox) -> None:
    done = sandbox.run("test", MYPY="4")
    assert done.returncode == 4
    assert re.findall(r"^== (pytest|mypy|what mypy prints)$", done.stdout, re.MULTILINE) == [
        "pytest", "mypy", "what mypy prints",
    ]  # fmt: skip
    assert [name for name, ended in stages_of(done).items() if ended == "FAILED"] == ["mypy"]


def stages_of(done: "subprocess.CompletedProcess[str]") -> dict[str, str]:
    """The stages that a run of scripts/test sums up at its end, and how each ended."""
    found = re.findall(r"^([a-z -]+?) +(ok|FAILED|not tried)", done.stdout.rpartition("\n\n")[2], re.MULTILINE)
    return dict(found)


def test_with_a_compiler_some_tests_run_once_more_compiled(compiling: Sandbox) -> None:
    done = compiling.run("test")
    assert [stages_of(done).get(name) for name in ("pytest", "compile", "compiled")] == ["ok", "ok", "ok"], done.stderr
    assert compilations(compiling) == 1
    tried = [note for note in compiling.notes if note.startswith("python -m pytest")]
    assert len(tried) == 2
    assert any("tests/unit/test_facts.py" in note for note in tried)
    assert stages_of(compiling.run("test"))["compile"] == "ok"
    assert compilations(compiling) == 1  # kept for these sources
    assert stages_of(compiling.run("test", ANSWERD_COMPILE="0"))["compiled"] == "not tried"


def test_modules_that_do_not_compile_are_a_failed_stage(compiling: Sandbox) -> None:
    done = compiling.run("test", COMPILER="fails")
    assert (done.returncode, stages_of(done)["compile"], stages_of(done)["compiled"]) == (1, "FAILED", "not tried")


def test_what_a_run_tries_compiled_is_there() -> None:
    listed = re.search(r"on_the_way=\((.*?)\)", (CHECKOUT / "scripts" / "test").read_text("utf-8"), re.DOTALL)
    assert listed
    words = ["bash", "-c", f"printf '%s\\n' {' '.join(listed[1].split())}"]
    names = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert len(names) > 10
    assert [name for name in names if not (CHECKOUT / name).is_file()] == []


def test_arguments_of_the_test_command_go_to_pytest_alone(sandbox: Sandbox) -> None:
    assert sandbox.run("test", "-k", "listener", RUFF="3").returncode == 0
    assert "python -m pytest -k listener" in sandbox.notes


@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        (["unit"], "tests/unit"),
        (["http", "-k", "tls"], "tests/http -k tls"),
        (["unit", "behaviour"], "tests/unit tests/behaviour"),
        (["-k", "unit"], "-k unit"),
        (["no_such_part"], "no_such_part"),
    ],
    ids=" ".join,
)
def test_a_part_is_a_folder_of_tests(sandbox: Sandbox, arguments: list[str], passed: str) -> None:
    for name in ("unit", "behaviour", "http"):
        (sandbox.checkout / "tests" / name).mkdir(parents=True)
    assert sandbox.run("test", *arguments).returncode == 0
    assert f"python -m pytest {passed}" in sandbox.notes


@pytest.mark.parametrize("option", [["--python", "3.11"], ["--python=3.11"]], ids=" ".join)
def test_another_python_has_an_environment_of_its_own(sandbox: Sandbox, option: list[str]) -> None:
    assert sandbox.run("test", "-x").returncode == 0
    assert sandbox.run("test", *option, "-x").returncode == 0
    assert (sandbox.environments, sandbox.installs) == (2, 2)
    assert (sandbox.checkout / ".venv-3.11" / "bin" / "python").exists()
    assert sandbox.run("test", *option, "-x").returncode == 0
    assert (sandbox.environments, sandbox.installs) == (2, 2)


@pytest.mark.parametrize(
    ("version", "reason"),
    [("3.99", "no python3.99 is on PATH"), ("3", "a version such as 3.13"), ("../x", "a version such as 3.13")],
)
def test_a_python_that_is_not_there_is_named(sandbox: Sandbox, version: str, reason: str) -> None:
    done = sandbox.run("test", "--python", version)
    assert done.returncode == 1
    assert reason in done.stderr
    assert not list(sandbox.checkout.glob(".venv*"))


def test_the_tests_do_not_see_the_settings_of_the_caller(sandbox: Sandbox) -> None:
    sandbox.run("test", SERVICE_LOG="off", SERVICE_STORE="sqlite")
    assert [note.strip() for note in sandbox.notes if note.startswith("settings")] == ["settings"]


def test_the_service_command_takes_no_arguments(sandbox: Sandbox) -> None:
    done = sandbox.run("serve", "files")
    assert done.returncode == 1
    assert "takes no arguments" in done.stderr
    assert sandbox.notes == []


def test_torture_tries_the_compiled_build(compiling: Sandbox) -> None:
    done = compiling.run("torture", "--compiled", "workers")
    assert (done.returncode, compilations(compiling)) == (0, 1), done.stderr
    assert compiling.notes[-1] == "tries the checkout"
    assert [*(compiling.checkout / ".venv" / "torture-tree").glob("*__mypyc.*.so")]


@pytest.mark.parametrize(
    ("given", "tried"),
    [
        (["slow"], "the checkout"),
        (["--command", "in /a /usr/bin/answerd", "durability", "3"], "in /a /usr/bin/answerd"),
    ],
    ids=["of the checkout", "of a package"],
)
def test_torture_tries_the_program_that_it_is_given(sandbox: Sandbox, given: list[str], tried: str) -> None:
    done = sandbox.run("torture", *given)
    assert done.returncode == 0, done.stderr
    assert sandbox.notes[-1] == f"tries {tried}"
    assert sandbox.run("torture", "--command").returncode == 2


WITH_ENVIRONMENT = [
    path.name for path in sorted((CHECKOUT / "scripts").iterdir()) if b'")/environment"' in path.read_bytes()
]


@pytest.mark.parametrize("script", WITH_ENVIRONMENT)
def test_help_installs_and_writes_nothing(script: str, tmp_path: Path) -> None:
    shutil.copytree(CHECKOUT / "scripts", tmp_path / "scripts")
    (tmp_path / "loadtest/bench").mkdir(parents=True)
    shutil.copy(CHECKOUT / "loadtest/bench/__main__.py", tmp_path / "loadtest/bench")
    before = sorted(tmp_path.rglob("*"))
    done = subprocess.run(
        [tmp_path / "scripts" / script, "--help"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"scripts/{script}" in done.stdout
    assert sorted(tmp_path.rglob("*")) == before
