"""The installers' own programs, asked where they are found on PATH: the only validator that starts a process.

Each runs on a copy of the answer (mode 0600 in a private 0700 directory that is removed, whatever happens), with a
bare environment, nothing on its standard input, in a process group of its own that is killed when it hangs. Exit codes
alone are not believed: ``READERS`` knows how each program says what it thinks, and its traps.
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

from answerd.validators.masking import masking
from answerd.validators.verdict import Report

TIMEOUT_SECONDS = 30.0
PROBE_SECONDS = 5.0
OUTPUT_LIMIT = 65_536
"""Bytes of a tool's output that are read; a tool that says more has said enough."""
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
class Request:
    """One answer for one program. ``arguments`` are added behind those of ``COMMANDS``."""

    tool: str
    text: str
    format: str
    arguments: tuple[str, ...] = ()
    known: frozenset[str] = frozenset()
    """Words in lower case that messages may hold though they stand in the answer: the names of its keys."""


@dataclass(frozen=True)
class Outcome:
    """What a program did: its exit status, and its two outputs without the path of the copy it was given."""

    status: int
    stdout: str
    stderr: str

    @property
    def lines(self) -> list[str]:
        """Both outputs' lines that say something, what went to stderr first."""
        return [line.strip() for line in f"{self.stderr}\n{self.stdout}".splitlines() if line.strip()]


_WITHOUT_NETWORK = ("--user", "--map-current-user", "--net", "--")
_NOT_EXECUTED = (126, 127)


@functools.lru_cache(maxsize=1)
def _isolation() -> tuple[str, ...]:
    """unshare(1) with a network namespace of its own, where it is installed and the system lets this user have one."""
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


class _MaskedReport(Report):
    """Hands what a program says to a report, without the words that it quotes from the answer."""

    def __init__(self, report: Report, mask: Callable[[str], str]) -> None:
        super().__init__()
        self.report, self.mask = report, mask

    def refuse(self, message: str, path: str = "", line: int | None = None) -> None:
        """The answer is invalid, and why."""
        self.report.refuse(self.mask(message), path, line)

    def warn(self, message: str, path: str = "", line: int | None = None) -> None:
        """Worth a look; refuses nothing."""
        self.report.warn(self.mask(message), path, line)

    def note(self, text: str) -> None:
        """About the judging, not about the answer."""
        self.report.note(self.mask(text))


class ToolHung(Exception):
    """The program was still running at the limit and has been killed."""


@dataclass(frozen=True)
class Tools:
    """The programs that are installed, found once. ``timeout`` is in seconds, for each run."""

    paths: Mapping[str, str] = field(default_factory=dict)
    search_path: str = os.defpath
    timeout: float = TIMEOUT_SECONDS
    isolation: tuple[str, ...] = ()
    """What a program's command line begins with, so that it has no network; empty where the system does not let us."""
    wanted: bool = True
    """False when no tool was looked for, so that a missing one is not worth a note."""

    @classmethod
    def find(cls, search_path: str | None = None, timeout: float = TIMEOUT_SECONDS) -> Tools:
        """What is on ``search_path`` (default: PATH)."""
        where = search_path if search_path is not None else os.environ.get("PATH", os.defpath)
        found = {name: path for name in COMMANDS if (path := shutil.which(name, path=where))}
        return cls(MappingProxyType(found), where, timeout, _isolation() if found else ())

    @classmethod
    def none(cls) -> Tools:
        """No tools: built-in rules only, and no notes about what is missing."""
        return cls(wanted=False)

    def judge(self, request: Request, report: Report) -> None:
        """Let the program read the answer; what it says joins the report. Missing or hanging, it judges nothing."""
        name = request.tool
        program = self.paths.get(name)
        if program is None:
            if self.wanted:
                report.note(f"{name} is not installed: not asked")
            return
        try:
            outcome = self._run(program, request)
        except ToolHung:
            report.warn(f"{name} did not finish within {self.timeout:g} s and was killed: its judgement is missing")
        except OSError as error:
            report.warn(f"{name} could not be run: {error.strerror or error}")
        else:
            words = re.findall(r"\w+", name)
            if READERS[name](name, outcome, _MaskedReport(report, masking(request.text, {*request.known, *words}))):
                report.judged_by(name)

    def _run(self, program: str, request: Request) -> Outcome:
        folder = Path(tempfile.mkdtemp(prefix="answerd-"))  # 0700
        try:
            return self._run_in(folder, program, request)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _run_in(self, folder: Path, program: str, request: Request) -> Outcome:
        """Outputs go to files: a pipe would be waited for as long as any grandchild holds it."""
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
        outcome = Outcome(status, _said(folder / "stdout"), _said(folder / "stderr"))
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
            if process.returncode is None:  # hung, or we are being interrupted
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _environment(self, folder: Path) -> dict[str, str]:
        """No proxies, no home, no catalogues: a program finds its interpreter and the folder it may write to."""
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


# How each program is read: True when it judged the answer, False when it could not.

_LINE_NUMBER = re.compile(r"\bline (\d+)|^answer\.\w+:(\d+):")


def _refuse_lines(name: str, lines: list[str], report: Report) -> None:
    for line in lines[:LINE_LIMIT]:
        report.refuse(f"{name}: {line}", line=_line_number(line))
    if len(lines) > LINE_LIMIT:
        report.refuse(f"{name}: and {len(lines) - LINE_LIMIT} lines more")


def _warn_lines(name: str, lines: list[str], report: Report) -> None:
    for line in lines[:LINE_LIMIT]:
        report.warn(f"{name}: {line}", line=_line_number(line))


def _line_number(line: str) -> int | None:
    place = _LINE_NUMBER.search(line)
    return int(place[1] or place[2]) if place else None


def _silent(outcome: Outcome) -> list[str]:
    return outcome.lines or [f"refused the answer (exit status {outcome.status}) and did not say why"]


def _read_proxmox(name: str, outcome: Outcome, report: Report) -> bool:
    """Version 9 exits 0 even for errors, so only its sentence counts; consent with another status is doubtful."""
    rest = [line for line in outcome.lines if PROXMOX_CONSENT not in line]
    if PROXMOX_CONSENT not in outcome.stdout:
        _refuse_lines(name, rest or ["did not say that the answer has no errors"], report)
    elif outcome.status:
        _warn_lines(name, rest or [f"found no errors, but exited with status {outcome.status}"], report)
    else:
        _warn_lines(name, [line for line in rest if line.lower().startswith("warn")], report)
    return True


_KSVALIDATOR_TALK = re.compile(r"Checking kickstart file")
_KSVALIDATOR_ERROR = re.compile(r"problem occurred on line|^Unknown |^General |^Error\b|has been removed|^Section ")


def _read_ksvalidator(name: str, outcome: Outcome, report: Report) -> bool:
    """Its exit status is the number of errors modulo 256: 0 proves nothing when the output names an error."""
    lines = [line for line in outcome.lines if not _KSVALIDATOR_TALK.search(line)]
    deprecated = any("deprecated" in line for line in lines)
    errors = [line for line in lines if _KSVALIDATOR_ERROR.search(line)]
    if errors or (outcome.status and not deprecated):
        _refuse_lines(name, _joined(lines) or _silent(outcome), report)
    else:
        _warn_lines(name, lines, report)
    return True


def _joined(lines: list[str]) -> list[str]:
    """ksvalidator puts the place on one line and the reason on the next."""
    joined: list[str] = []
    for line in lines:
        if joined and joined[-1].endswith(":"):
            joined[-1] += f" {line}"
        else:
            joined.append(line)
    return joined


def _read_cloud_init(name: str, outcome: Outcome, report: Report) -> bool:
    """Deprecations are told with exit status 0."""
    if outcome.status:
        _refuse_lines(name, [line for line in outcome.lines if line != "Error:"] or _silent(outcome), report)
    else:
        _warn_lines(name, [line for line in outcome.lines if not line.startswith("Valid ")], report)
    return True


def _read_debconf(name: str, outcome: Outcome, report: Report) -> bool:
    """Unknown types are warnings with exit status 0; a locked database is debconf's trouble, not the answer's."""
    errors = [line for line in outcome.lines if line.startswith("error:")]
    if not errors and any("locked by another process" in line for line in outcome.lines):
        report.note(f"{name} could not open debconf's database, which another program holds: not judged by it")
        return False
    _warn_lines(name, [line for line in outcome.lines if line.startswith("warning:")], report)
    if outcome.status:
        _refuse_lines(name, errors or _silent(outcome), report)
    return True


def _read_by_status(name: str, outcome: Outcome, report: Report) -> bool:
    """An honest program: its status decides, what it says otherwise is a warning."""
    if outcome.status:
        _refuse_lines(name, _silent(outcome), report)
    else:
        _warn_lines(name, outcome.lines, report)
    return True


def _read_ignition_validate(name: str, outcome: Outcome, report: Report) -> bool:
    """A program older than the version that a config states refuses it, which says nothing about the config."""
    if any("unsupported config version" in line.lower() for line in outcome.lines):
        report.note(f"{name} is too old for the version that the config states: not judged by it")
        return False
    return _read_by_status(name, outcome, report)


def _read_xmllint(name: str, outcome: Outcome, report: Report) -> bool:
    """Beside each message it shows the text and a caret, which are left out."""
    told = [line for line in outcome.lines if line.startswith("answer.")]
    return _read_by_status(name, replace(outcome, stdout="", stderr="\n".join(told or outcome.lines)), report)


READERS: Mapping[str, Callable[[str, Outcome, Report], bool]] = MappingProxyType(
    {
        "proxmox-auto-install-assistant": _read_proxmox,
        "ksvalidator": _read_ksvalidator,
        "cloud-init": _read_cloud_init,
        "debconf-set-selections": _read_debconf,
        "ignition-validate": _read_ignition_validate,
        "xmllint": _read_xmllint,
    }
)
