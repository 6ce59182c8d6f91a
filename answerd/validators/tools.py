"""The installers' own programs, where they are found on PATH: the only validator that starts processes.

Each runs on a copy of the answer (mode 0600 in a private 0700 directory that is removed, whatever happens), with a
bare environment, nothing on its standard input, in a process group of its own that is killed when it hangs. An exit
status alone is not believed: `PROGRAMS` knows how each program reports, and its traps.
"""

from __future__ import annotations

import errno
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from answerd.validators.verdict import Remarks

TIMEOUT_SECONDS = 30.0
PROBE_SECONDS = 5.0
OUTPUT_LIMIT = 65_536
"""Bytes of a tool's output that are read."""
LINE_LIMIT = 20
"""Lines of a tool's output that become findings."""

PROXMOX_CONSENT = "The answer file was parsed successfully, no errors found!"


def _started_by(program: str) -> tuple[str, ...]:
    """Return the words that start a program. A script of this Python's own environment is given to this Python: pip
    writes its path into the first line, of which the kernel takes the part before the first blank."""
    with open(program, "rb") as file:
        first = file.readline(1_000)
    return (sys.executable, program) if first.strip() == b"#!" + os.fsencode(sys.executable) else (program,)


@dataclass(frozen=True)
class ToolRequest:
    """An answer for a program. ``arguments`` follow those of `PROGRAMS`."""

    tool: str
    text: str
    format: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class ToolOutcome:
    """The outcome of a program: its exit status, and both outputs, without the path of the copy that it was given."""

    status: int
    stdout: str
    stderr: str

    @property
    def lines(self) -> list[str]:
        """The lines of both outputs that are not blank, stderr first."""
        return [line.strip() for line in f"{self.stderr}\n{self.stdout}".splitlines() if line.strip()]


_WITHOUT_NETWORK = ("--user", "--map-current-user", "--net", "--")
_NOT_EXECUTED = (126, 127)


@functools.lru_cache(maxsize=1)
def _isolation() -> tuple[str, ...]:
    """Return the command for unshare(1) with a network namespace of its own; empty where that is not allowed."""
    unshare = shutil.which("unshare", path=os.defpath)
    if unshare is None:
        return ()
    command = (unshare, *_WITHOUT_NETWORK)
    try:
        tried = subprocess.run(  # noqa: S603 - a fixed argument list, no shell
            [*command, "true"], stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return command if tried.returncode == 0 else ()


class ToolHung(Exception):
    """The program did not end within its time and was killed."""


@dataclass(frozen=True)
class Tools:
    """The programs that are installed, found once. ``timeout`` is in seconds, for each run."""

    paths: Mapping[str, str] = field(default_factory=dict)
    search_path: str = os.defpath
    timeout: float = TIMEOUT_SECONDS
    isolation: tuple[str, ...] = ()
    """The beginning of a program's command line that takes its network away; empty where the system does not allow
    it."""
    wanted: bool = True
    """False when no tool was looked for, so that a missing one is not worth a note."""

    @classmethod
    def find(cls, search_path: str | None = None, timeout: float = TIMEOUT_SECONDS) -> Tools:
        """Return the tools on ``search_path`` (default: PATH)."""
        where = search_path if search_path is not None else os.environ.get("PATH", os.defpath)
        found = {name: path for name in PROGRAMS if (path := shutil.which(name, path=where))}
        return cls(MappingProxyType(found), where, timeout, _isolation() if found else ())

    @classmethod
    def none(cls) -> Tools:
        """Return no tools: built-in rules only, and no notes about missing programs."""
        return cls(wanted=False)

    def judge(self, request: ToolRequest, remarks: Remarks) -> None:
        """Run the program on the answer and add its remarks. A program that is missing or hangs judges nothing."""
        name = request.tool
        program = self.paths.get(name)
        if program is None:
            if self.wanted:
                remarks.note(f"{name} is not installed: not asked")
            return
        try:
            outcome = self._run(program, request)
        except ToolHung:
            remarks.warn(f"{name} did not finish within {self.timeout:g} s and was killed: its judgement is missing")
        except OSError as error:
            remarks.warn(f"{name} could not be run: {error.strerror or error}")
        else:
            said = PROGRAMS[name].read(outcome)
            for add, lines in ((remarks.quote_refusal, said.refused), (remarks.quote_warning, said.warned)):
                for line in lines[:LINE_LIMIT]:
                    place = _LINE_NUMBER.search(line)
                    add(f"{name}: {line}", int(place[1] or place[2]) if place else None)
                if len(lines) > LINE_LIMIT:
                    add(f"{name}: and {len(lines) - LINE_LIMIT} lines more")
            if said.note:
                remarks.note(f"{name} {said.note}: not judged by it")
            else:
                remarks.judged_by(name)

    def _run(self, program: str, request: ToolRequest) -> ToolOutcome:
        """Run the program in a folder of its own. Outputs go to files: a pipe stays open while any grandchild holds
        it."""
        with tempfile.TemporaryDirectory(prefix="answerd-", ignore_cleanup_errors=True) as folder:  # 0700
            copy = Path(folder, f"answer.{request.format}")
            copy.touch(0o600)
            copy.write_bytes(request.text.encode())
            arguments = [part.replace("{file}", str(copy)) for part in PROGRAMS[request.tool].arguments]
            with Path(folder, "stdout").open("x+b") as stdout, Path(folder, "stderr").open("x+b") as stderr:
                process = subprocess.Popen(  # noqa: S603 - a fixed argument list, no shell
                    [*self.isolation, *_started_by(program), *arguments, *request.arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=stdout,
                    stderr=stderr,
                    cwd=folder,
                    env={  # no proxies, no home, no catalogues
                        "PATH": self.search_path,
                        "HOME": folder,
                        "TMPDIR": folder,
                        "LC_ALL": "C.UTF-8",
                        "XML_CATALOG_FILES": "",
                    },
                    start_new_session=True,
                )
                status = self._wait(process)
                said = [
                    os.pread(file.fileno(), OUTPUT_LIMIT, 0).decode("utf-8", "replace").replace(str(copy), copy.name)
                    for file in (stdout, stderr)
                ]
            if self.isolation and status in _NOT_EXECUTED and said[1].startswith("unshare: "):
                raise OSError(errno.ENOEXEC, os.strerror(errno.ENOEXEC))
            return ToolOutcome(status, *said)

    def _wait(self, process: subprocess.Popen[bytes]) -> int:
        try:
            return process.wait(self.timeout)
        except subprocess.TimeoutExpired:
            raise ToolHung from None
        finally:
            if process.returncode is None:  # it hangs, or this process is interrupted
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


_LINE_NUMBER = re.compile(r"\bline (\d+)|^answer\.\w+:(\d+):")


# --- how the output of each program is read ---


class Said(NamedTuple):
    """What a program said of an answer, in lines. ``note``: why it could not judge, empty where it did."""

    refused: Sequence[str] = ()
    warned: Sequence[str] = ()
    note: str = ""


def _silent(outcome: ToolOutcome) -> list[str]:
    return outcome.lines or [f"refused the answer (exit status {outcome.status}) and did not say why"]


def _read_proxmox(outcome: ToolOutcome) -> Said:
    """Read the assistant. Version 9 exits with 0 even for errors, so only its sentence counts."""
    rest = [line for line in outcome.lines if PROXMOX_CONSENT not in line]
    if PROXMOX_CONSENT not in outcome.stdout:
        return Said(rest or ["did not say that the answer has no errors"])
    if outcome.status:
        return Said((), rest or [f"found no errors, but exited with status {outcome.status}"])
    return Said((), [line for line in rest if line.lower().startswith("warn")])


_KSVALIDATOR_ERROR = re.compile(r"problem occurred on line|^Unknown |^General |^Error\b|has been removed|^Section ")


def _read_ksvalidator(outcome: ToolOutcome) -> Said:
    """Read ksvalidator. Its exit status is the number of errors modulo 256, so 0 may mean 256 errors."""
    lines = [line for line in outcome.lines if "Checking kickstart file" not in line]
    deprecated = any("deprecated" in line for line in lines)
    if not any(map(_KSVALIDATOR_ERROR.search, lines)) and (deprecated or not outcome.status):
        return Said((), lines)
    joined: list[str] = []
    for line in lines:
        if joined and joined[-1].endswith(":"):  # the reason of a place is on the line below it
            joined[-1] += f" {line}"
        else:
            joined.append(line)
    return Said(joined or _silent(outcome))


_DEPRECATIONS = "Cloud config schema deprecations:"


def _read_cloud_init(outcome: ToolOutcome) -> Said:
    """Read cloud-init. It reports deprecations with either exit status, and their heading where there are none."""
    lines = [line for line in outcome.lines if line not in ("Error:", _DEPRECATIONS) and not line.startswith("Valid ")]
    deprecations = [line for line in lines if line.startswith(_DEPRECATIONS)]
    if not outcome.status:
        return Said((), lines)
    return Said([line for line in lines if line not in deprecations] or _silent(outcome), deprecations)


def _read_debconf(outcome: ToolOutcome) -> Said:
    """Read debconf-set-selections. Unknown types are warnings with exit status 0. It names what it refuses in lines
    that begin with ``error:``; with ``--checkonly`` it hides that another program holds its database (1.5.82)."""
    errors = [line for line in outcome.lines if line.startswith("error:")]
    if outcome.status and not errors:
        return Said(note="could not open debconf's database, which another program holds")
    return Said(errors if outcome.status else (), [line for line in outcome.lines if line.startswith("warning:")])


def _read_by_status(outcome: ToolOutcome) -> Said:
    """Read a program whose exit status decides; with status 0 its output is a warning."""
    return Said(_silent(outcome)) if outcome.status else Said((), outcome.lines)


def _read_ignition_validate(outcome: ToolOutcome) -> Said:
    """Read ignition-validate. Older than the version that a config states, it refuses every config."""
    if any("unsupported config version" in line.lower() for line in outcome.lines):
        return Said(note="is too old for the version that the config states")
    return _read_by_status(outcome)


def _read_xmllint(outcome: ToolOutcome) -> Said:
    """Read xmllint. Lines that quote the text, and carets, are left out."""
    reports = [line for line in outcome.lines if line.startswith("answer.")]
    return _read_by_status(ToolOutcome(outcome.status, "", "\n".join(reports or outcome.lines)))


class Program(NamedTuple):
    """The arguments that a program is called with, and how its output is read."""

    arguments: tuple[str, ...]
    read: Callable[[ToolOutcome], Said]


PROGRAMS: Mapping[str, Program] = MappingProxyType(
    {
        "proxmox-auto-install-assistant": Program(("validate-answer", "{file}"), _read_proxmox),
        "ksvalidator": Program(("{file}",), _read_ksvalidator),
        "cloud-init": Program(("schema", "--config-file", "{file}"), _read_cloud_init),
        "debconf-set-selections": Program(("--checkonly", "{file}"), _read_debconf),
        "ignition-validate": Program(("{file}",), _read_ignition_validate),
        "xmllint": Program(("--noout", "--nonet", "{file}"), _read_xmllint),
    }
)
