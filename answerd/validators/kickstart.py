"""Kickstart files, by pykickstart's parser (the extra ``validators``), with includes never followed.

pykickstart fetches what ``%ksappend`` names and can read what ``%include`` names, so those lines are blanked before it
sees the text (line numbers stay). It is used as a parser of strings: no file, no network, nothing printed.

Without a ``#version=`` line an answer is valid if the newest Fedora syntax or that of a Red Hat Enterprise Linux still
in use takes it; otherwise the syntax with the fewest findings is reported.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from answerd.validators.native_imports import module
from answerd.validators.time_zones import unknown_zone
from answerd.validators.tools import ToolRequest
from answerd.validators.verdict import Finding, JudgedAnswer, Remarks

OLDEST_RHEL = 8
"""Red Hat Enterprise Linux 7 ended in 2024; a file for it says ``#version=RHEL7``."""

LONGEST_COMMAND = 4_096
"""Characters of a line that is judged: pykickstart takes time with the square of a line's length."""

MOST_COMPARED = 50
"""Errors by which syntaxes are compared: one with more fits no better than the newest."""

MOST_KEPT = 200
"""Uses of one command of which pykickstart keeps what they say: it compares each new one, such as a user, with all."""

_INCLUDE = re.compile(r"%(?:include|ksappend)")
_DIALECT = re.compile(r"(RHEL|F)(\d+)")
_MESSAGE_HEAD = re.compile(r"The following problem occurred on line \d+ of the kickstart file:\s*")


@dataclass(frozen=True)
class Reading:
    """The remarks of one syntax (``RHEL9``) about a text."""

    dialect: str
    findings: tuple[Finding, ...]
    warnings: tuple[Finding, ...]


def without_includes(text: str) -> str:
    """Return the text with every line that names another file emptied, so that nothing is read or fetched.

    Quotes and backslashes are removed before a line is judged, as a shell-like reader does. Lines are split as
    pykickstart splits them, which is at more characters than the line feed.
    """
    return "".join(
        line[len(line.splitlines()[0]) :] if _INCLUDE.match(re.sub(r"[\"'\\\ufeff]", "", line).lstrip()) else line
        for line in text.splitlines(keepends=True)
    )


def judge(answer: JudgedAnswer, remarks: Remarks) -> ToolRequest:
    """Judge a kickstart text; ksvalidator is to judge it too, by the same syntax."""
    text = answer.text
    plain = without_includes(text)
    unjudged = ToolRequest("ksvalidator", plain, answer.format)
    try:
        versions = module("pykickstart.version")
        parser = _recording_parser()
    except ImportError:
        remarks.note(
            "pykickstart is not installed (pip install pykickstart, or '.[validators]' from a clone): not judged by it"
        )
        return unjudged
    if plain != text:
        remarks.note("%include and %ksappend lines were not followed: what they name was not judged")
    plain, is_whole = _without_long_lines(plain)
    if not is_whole:
        remarks.note(f"commands of more than {LONGEST_COMMAND:,} characters were not judged")
    _judge_zone(plain, remarks)
    stated = _stated_dialect(text, versions, remarks)
    dialects = [stated] if stated else list(_dialects(versions.versionMap))
    best: Reading | None = None
    for dialect in dialects:
        reading = _read(plain, dialect, parser, min(len(best.findings), MOST_COMPARED) if best else None)
        if best is None or len(reading.findings) < len(best.findings):
            best = reading
        if not reading.findings:
            break
    if best is None:
        return unjudged
    remarks.judged_by(f"pykickstart ({best.dialect} syntax)")
    for finding in best.findings:
        remarks.quote_refusal(finding.message, finding.line)
    for warning in best.warnings:
        remarks.quote_warning(warning.message, warning.line)
    is_its_default = best.dialect == dialects[0] and not stated
    return unjudged if is_its_default else replace(unjudged, arguments=("-v", best.dialect))


def _without_long_lines(text: str) -> tuple[str, bool]:
    """Return the text with every line emptied that has more than `LONGEST_COMMAND` characters, and whether none of them
    was a command. Lines of scripts are not judged."""
    lines = text.splitlines(keepends=True)
    if all(len(line) <= LONGEST_COMMAND for line in lines):
        return text, True
    is_command, is_whole = True, True
    for at, line in enumerate(lines):
        if len(line) > LONGEST_COMMAND:
            lines[at] = line[len(line.splitlines()[0]) :]
            is_whole = is_whole and not is_command
        elif line.startswith("%"):
            is_command = line.startswith("%end")
    return "".join(lines), is_whole


def _judge_zone(text: str, remarks: Remarks) -> None:
    """Judge the zone of ``timezone``, which pykickstart takes as it is: Anaconda then asks on the screen."""
    is_command = True  # not a line of a section, such as a script
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if words and words[0].startswith("%"):
            is_command = words[0] == "%end"
        elif is_command and words[:1] == ["timezone"]:
            zones = [word.strip("\"'") for word in words[1:] if not word.startswith(("-", "#"))]
            if zones and (wrong := unknown_zone(zones[0], remarks)):
                remarks.refuse(wrong, "timezone", number)


def _stated_dialect(text: str, versions: Any, remarks: Remarks) -> str | None:
    """Return the syntax that the first ``#version=`` line states, which is pykickstart's own rule."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#version="):
            stated = line.removeprefix("#version=").strip()
            try:
                return str(versions.versionToString(versions.stringToVersion(stated), skipDevel=True))
            except Exception:  # its own error, or whatever an odd text provokes
                remarks.warn("#version= states no syntax that pykickstart knows", line=number)
                return None
    return None


def _dialects(version_map: dict[str, int]) -> Iterator[str]:
    """Yield the newest Fedora, then Red Hat Enterprise Linux from the newest back to `OLDEST_RHEL`."""
    numbers: dict[str, list[int]] = {"F": [], "RHEL": []}
    for name in version_map:
        if shape := _DIALECT.fullmatch(name):
            numbers[shape[1]].append(int(shape[2]))
    yield f"F{max(numbers['F'])}"
    for number in sorted(numbers["RHEL"], reverse=True):
        if number >= OLDEST_RHEL:
            yield f"RHEL{number}"


def _recording_parser() -> Any:
    """Return pykickstart's parser class, changed to collect errors instead of printing them."""
    base: Any = module("pykickstart.parser").KickstartParser
    packages_section: Any = module("pykickstart.sections").PackageSection

    class LonePackages(packages_section):  # type: ignore[misc]
        """Reads each line of packages as if it were the first: pykickstart sorts all packages again with each."""

        def handleLine(self, line: str) -> None:
            packages = self.handler.packages
            packages.packageList, packages.excludedList = [], []
            packages.groupList, packages.excludedGroupList = [], []
            super().handleLine(line)

    class RecordingParser(base):  # type: ignore[misc]
        """Continues after an error in a line, so that all errors are reported at once."""

        def __init__(self, handler: Any, enough: int | None) -> None:
            super().__init__(handler, followIncludes=False, errorsAreFatal=True)
            self.errors: list[Exception] = []
            self.enough = enough

        def setupSections(self) -> None:
            super().setupSections()
            self.registerSection(LonePackages(self.handler))

        def handleCommand(self, lineno: int, args: list[str]) -> Any:
            said = super().handleCommand(lineno, args)
            command = self.handler.commands.get(args[0])
            kept = command.dataList() if command is not None else None
            if kept is not None and len(kept) > MOST_KEPT:
                del kept[0]
            return said

        def _tryFunc(self, fn: Any) -> None:
            try:
                fn()
            except Exception as error:
                self.errors.append(error.with_traceback(None))  # which leads to frames that have this parser
                if self.enough is not None and len(self.errors) >= self.enough:
                    raise _EnoughError from None

    return RecordingParser


class _EnoughError(Exception):
    """A syntax has as many errors as another one."""


def _read(text: str, dialect: str, parser: Any, enough: int | None) -> Reading:
    """Read the text once, to the error that makes as many as ``enough``: another syntax fits no worse then.

    Only the commands that occur are built: 9 ms for a usual file, instead of 40 for all.
    """
    handler_class = getattr(module(f"pykickstart.handlers.{dialect.lower()}"), f"{dialect}Handler")
    control: Any = module("pykickstart.handlers.control")
    words = {line.split()[0] for line in text.splitlines() if line.split()}
    commands = control.commandMap[handler_class.version]
    used = {name: command for name, command in commands.items() if name in words or name in ("autopart", "bootloader")}
    reader, caught = _parse(text, parser(handler_class(mapping=used), enough))
    if any(isinstance(error, AttributeError) for error in reader.errors):  # one command looked at another, not built
        reader, caught = _parse(text, parser(handler_class(), enough))
    about = [warning.message for warning in caught if warning.category.__module__.startswith("pykickstart.")]
    return Reading(
        dialect,
        tuple(Finding(_sentence(error), line=getattr(error, "lineno", None)) for error in reader.errors),
        tuple(Finding(_sentence(message)) for message in about),
    )


def _parse(text: str, reader: Any) -> tuple[Any, list[warnings.WarningMessage]]:
    """Return the reader after it has read, and the warnings that were raised meanwhile."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            reader.readKickstartFromString(text)
        except _EnoughError:
            pass
        except Exception as error:  # a section's own errors, and shlex's about quotes
            reader.errors.append(error.with_traceback(None))
    return reader, caught


def _sentence(error: object) -> str:
    """Return pykickstart's message on one line, without the place: the finding has the line."""
    return " ".join(_MESSAGE_HEAD.sub("", str(error)).split()) or type(error).__name__
