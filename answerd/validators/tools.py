"""The installers' own programs, where they are found on PATH: the only validator that starts processes.

Each runs on a copy of the answer (mode 0600 in a private 0700 directory that is removed, whatever happens), with a
bare environment, nothing on its standard input, in a process group of its own that is killed when it hangs. An exit
status alone is not believed: `READERS` knows how each program reports, and its traps.
"""

from __future__ import annotations

import errno
import functools
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from answerd.answers.redaction import hiding_words
from answerd.validators.verdict import Remarks

TIMEOUT_SECONDS = 30.0
PROBE_SECONDS = 5.0
OUTPUT_LIMIT = 65_536
"""Bytes of a tool's output that are read."""
LINE_LIMIT = 20
"""Lines of a tool's output that become findings."""

PROXMOX_CONSENT = "The answer file was parsed successfully, no errors found!"

COMMANDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "proxmox-auto-install-assistant": ("validate-answer", "{file}"),
        "ksvalidator": ("{file}",),
        "cloud-init": ("schema", "--config-file", "{file}"),
        "debconf-set-selections": ("--checkonly", "{file}"),
        "ignition-validate": ("{file}",),
        "xmllint": ("--noout", "--nonet", "{file}"),
    }
)
"""Program to the arguments it is called with."""


@dataclass(frozen=True)
class ToolRequest:
    """An answer for a program. ``arguments`` follow those of `COMMANDS`."""

    tool: str
    text: str
    format: str
    arguments: tuple[str, ...] = ()
    known: frozenset[str] = frozenset()
    """Words in lower case that messages may contain although the answer has them: the names of its keys."""


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


class _MaskedRemarks(Remarks):
    """Passes the remarks of a program on, without the words that it quotes from the answer."""

    def __init__(self, remarks: Remarks, mask: Callable[[str], str]) -> None:
        super().__init__()
        self.remarks, self.mask = remarks, mask

    def refuse(self, message: str, path: str = "", line: int | None = None) -> None:
        self.remarks.refuse(self.mask(message), path, line)

    def warn(self, message: str, path: str = "", line: int | None = None) -> None:
        self.remarks.warn(self.mask(message), path, line)

    def note(self, text: str) -> None:
        self.remarks.note(self.mask(text))


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
        found = {name: path for name in COMMANDS if (path := shutil.which(name, path=where))}
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
            words = re.findall(r"\w+", name)
            if READERS[name](
                name, outcome, _MaskedRemarks(remarks, hiding_words(request.text, {*request.known, *words}))
            ):
                remarks.judged_by(name)

    def _run(self, program: str, request: ToolRequest) -> ToolOutcome:
        folder = Path(tempfile.mkdtemp(prefix="answerd-"))  # 0700
        try:
            return self._run_in(folder, program, request)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _run_in(self, folder: Path, program: str, request: ToolRequest) -> ToolOutcome:
        """Run the program in ``folder``. Outputs go to files: a pipe stays open while any grandchild holds it."""
        copy = folder / f"answer.{request.format}"
        _write_private(copy, request.text)
        arguments = [part.replace("{file}", str(copy)) for part in COMMANDS[request.tool]]
        with (folder / "stdout").open("xb") as stdout, (folder / "stderr").open("xb") as stderr:
            process = subprocess.Popen(  # noqa: S603 - a fixed argument list, no shell
                [*self.isolation, program, *arguments, *request.arguments],
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                cwd=folder,
                env=self._environment(folder),
                start_new_session=True,
            )
            status = self._wait(process)
        outcome = ToolOutcome(status, _said(folder / "stdout"), _said(folder / "stderr"))
        if self.isolation and status in _NOT_EXECUTED and outcome.stderr.startswith("unshare: "):
            raise OSError(errno.ENOEXEC, os.strerror(errno.ENOEXEC))
        return replace(
            outcome,
            stdout=outcome.stdout.replace(str(copy), copy.name),
            stderr=outcome.stderr.replace(str(copy), copy.name),
        )

    def _wait(self, process: subprocess.Popen[bytes]) -> int:
        try:
            return process.wait(self.timeout)
        except subprocess.TimeoutExpired:
            raise ToolHung from None
        finally:
            if process.returncode is None:  # it hangs, or this process is interrupted
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _environment(self, folder: Path) -> dict[str, str]:
        """Return an environment without proxies, home and catalogues: a search path, and the folder to write to."""
        return {
            "PATH": self.search_path,
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "LC_ALL": "C.UTF-8",
            "XML_CATALOG_FILES": "",
        }


def _write_private(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(text.encode("utf-8"))


def _said(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(OUTPUT_LIMIT).decode("utf-8", errors="replace")


# How the output of each program is read. Return True when it judged the answer, False when it could not.

_LINE_NUMBER = re.compile(r"\bline (\d+)|^answer\.\w+:(\d+):")


def _refuse_lines(name: str, lines: list[str], remarks: Remarks) -> None:
    for line in lines[:LINE_LIMIT]:
        remarks.refuse(f"{name}: {line}", line=_line_number(line))
    if len(lines) > LINE_LIMIT:
        remarks.refuse(f"{name}: and {len(lines) - LINE_LIMIT} lines more")


def _warn_lines(name: str, lines: list[str], remarks: Remarks) -> None:
    for line in lines[:LINE_LIMIT]:
        remarks.warn(f"{name}: {line}", line=_line_number(line))


def _line_number(line: str) -> int | None:
    place = _LINE_NUMBER.search(line)
    return int(place[1] or place[2]) if place else None


def _silent(outcome: ToolOutcome) -> list[str]:
    return outcome.lines or [f"refused the answer (exit status {outcome.status}) and did not say why"]


def _read_proxmox(name: str, outcome: ToolOutcome, remarks: Remarks) -> bool:
    """Read the assistant. Version 9 exits with 0 even for errors, so only its sentence counts."""
    rest = [line for line in outcome.lines if PROXMOX_CONSENT not in line]
    if PROXMOX_CONSENT not in outcome.stdout:
        _refuse_lines(name, rest or ["did not say that the answer has no errors"], remarks)
    elif outcome.status:
        _warn_lines(name, rest or [f"found no errors, but exited with status {outcome.status}"], remarks)
    else:
        _warn_lines(name, [line for line in rest if line.lower().startswith("warn")], remarks)
    return True


_KSVALIDATOR_TALK = re.compile(r"Checking kickstart file")
_KSVALIDATOR_ERROR = re.compile(r"problem occurred on line|^Unknown |^General |^Error\b|has been removed|^Section ")


def _read_ksvalidator(name: str, outcome: ToolOutcome, remarks: Remarks) -> bool:
    """Read ksvalidator. Its exit status is the number of errors modulo 256, so 0 may mean 256 errors."""
    lines = [line for line in outcome.lines if not _KSVALIDATOR_TALK.search(line)]
    deprecated = any("deprecated" in line for line in lines)
    errors = [line for line in lines if _KSVALIDATOR_ERROR.search(line)]
    if errors or (outcome.status and not deprecated):
        _refuse_lines(name, _joined(lines) or _silent(outcome), remarks)
    else:
        _warn_lines(name, lines, remarks)
    return True


def _joined(lines: list[str]) -> list[str]:
    """Return the lines with each place joined to its reason, which ksvalidator writes on the next line."""
    joined: list[str] = []
    for line in lines:
        if joined and joined[-1].endswith(":"):
            joined[-1] += f" {line}"
        else:
            joined.append(line)
    return joined


def _read_cloud_init(name: str, outcome: ToolOutcome, remarks: Remarks) -> bool:
    """Read cloud-init. It reports deprecations with exit status 0."""
    if outcome.status:
        _refuse_lines(name, [line for line in outcome.lines if line != "Error:"] or _silent(outcome), remarks)
    else:
        _warn_lines(name, [line for line in outcome.lines if not line.startswith("Valid ")], remarks)
    return True


def _read_debconf(name: str, outcome: ToolOutcome, remarks: Remarks) -> bool:
    """Read debconf-set-selections. Unknown types are warnings with exit status 0. It names what it refuses in lines
    that begin with ``error:``; with ``--checkonly`` it hides that another program holds its database (1.5.82)."""
    errors = [line for line in outcome.lines if line.startswith("error:")]
    if outcome.status and not errors:
        remarks.note(f"{name} could not open debconf's database, which another program holds: not judged by it")
        return False
    _warn_lines(name, [line for line in outcome.lines if line.startswith("warning:")], remarks)
    if outcome.status:
        _refuse_lines(name, errors, remarks)
    return True


def _read_by_status(name: str, outcome: ToolOutcome, remarks: Remarks) -> bool:
    """Read a program whose exit status decides; with status 0 its output is a warning."""
    if outcome.status:
        _refuse_lines(name, _silent(outcome), remarks)
    else:
        _warn_lines(name, outcome.lines, remarks)
    return True


def _read_ignition_validate(name: str, outcome: ToolOutcome, remarks: Remarks) -> bool:
    """Read ignition-validate. Older than the version that a config states, it refuses every config."""
    if any("unsupported config version" in line.lower() for line in outcome.lines):
        remarks.note(f"{name} is too old for the version that the config states: not judged by it")
        return False
    return _read_by_status(name, outcome, remarks)


def _read_xmllint(name: str, outcome: ToolOutcome, remarks: Remarks) -> bool:
    """Read xmllint. Lines that quote the text, and carets, are left out."""
    reports = [line for line in outcome.lines if line.startswith("answer.")]
    return _read_by_status(name, replace(outcome, stdout="", stderr="\n".join(reports or outcome.lines)), remarks)


READERS: Mapping[str, Callable[[str, ToolOutcome, Remarks], bool]] = MappingProxyType(
    {
        "proxmox-auto-install-assistant": _read_proxmox,
        "ksvalidator": _read_ksvalidator,
        "cloud-init": _read_cloud_init,
        "debconf-set-selections": _read_debconf,
        "ignition-validate": _read_ignition_validate,
        "xmllint": _read_xmllint,
    }
)
