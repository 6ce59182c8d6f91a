"""Kickstart files, by pykickstart's parser (the extra ``validators``), with includes never followed.

pykickstart fetches what ``%ksappend`` names and can read what ``%include`` names, so those lines are blanked before it
sees the text (line numbers stay). It is used as a parser of strings: no file, no network, nothing printed.

Without a ``#version=`` line an answer is valid if the newest Fedora syntax or that of a Red Hat Enterprise Linux still
in use takes it; what is reported otherwise is the syntax with the fewest objections.
"""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from answerd.validators.masking import masking
from answerd.validators.verdict import Finding, Report

OLDEST_RHEL = 8
"""Red Hat Enterprise Linux 7 ended in 2024; a file for it says ``#version=RHEL7``."""

_INCLUDE = re.compile(r"%(?:include|ksappend)")
_DIALECT = re.compile(r"(RHEL|F)(\d+)")
_MESSAGE_HEAD = re.compile(r"The following problem occurred on line \d+ of the kickstart file:\s*")


@dataclass(frozen=True)
class Reading:
    """What one syntax (``RHEL9``) has to say about a text."""

    dialect: str
    findings: tuple[Finding, ...]
    warnings: tuple[Finding, ...]


def without_includes(text: str) -> str:
    """The text with every line that names another file emptied, so that nothing is read or fetched.

    Quotes and backslashes are taken out before a line is judged, since a shell-like reader does the same; lines are
    split as pykickstart splits them, which is at more than the line feed.
    """
    return "".join(
        _line_end(line) if _INCLUDE.match(re.sub(r"[\"'\\\ufeff]", "", line).lstrip()) else line
        for line in text.splitlines(keepends=True)
    )


def _line_end(line: str) -> str:
    return line[len(line.splitlines()[0]) :] if line.splitlines() else line


def judge(text: str, report: Report) -> str | None:
    """Judge a kickstart text; returns the syntax ksvalidator should use, None for its own default."""
    try:
        versions = importlib.import_module("pykickstart.version")
        parser = _recording_parser()
    except ImportError:
        report.note("pykickstart is not installed (pip install 'answerd[validators]'): not judged by it")
        return None
    plain = without_includes(text)
    if plain != text:
        report.note("%include and %ksappend lines were not followed: what they name was not judged")
    stated = _stated_dialect(text, versions, report)
    dialects = [stated] if stated else list(_dialects(versions.versionMap))
    best: Reading | None = None
    for dialect in dialects:
        reading = _read(plain, dialect, parser)
        if best is None or len(reading.findings) < len(best.findings):
            best = reading
        if not reading.findings:
            break
    if best is None:
        return None
    _tell(best, report)
    return None if best.dialect == dialects[0] and not stated else best.dialect


def _tell(reading: Reading, report: Report) -> None:
    report.judged_by(f"pykickstart ({reading.dialect} syntax)")
    for finding in reading.findings:
        report.refuse(finding.message, line=finding.line)
    for warning in reading.warnings:
        report.warn(warning.message, line=warning.line)


def _stated_dialect(text: str, versions: Any, report: Report) -> str | None:
    """The syntax that a ``#version=`` line states, by pykickstart's own rule: the first such line."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#version="):
            stated = line.removeprefix("#version=").strip()
            try:
                return str(versions.versionToString(versions.stringToVersion(stated), skipDevel=True))
            except Exception:  # its own error, or whatever an odd text provokes
                report.warn("#version= states no syntax that pykickstart knows", line=number)
                return None
    return None


def _dialects(version_map: dict[str, int]) -> Iterator[str]:
    """The newest Fedora, then the Red Hat Enterprise Linuxes from the newest back to ``OLDEST_RHEL``."""
    numbers: dict[str, list[int]] = {"F": [], "RHEL": []}
    for name in version_map:
        if shape := _DIALECT.fullmatch(name):
            numbers[shape[1]].append(int(shape[2]))
    yield f"F{max(numbers['F'])}"
    for number in sorted(numbers["RHEL"], reverse=True):
        if number >= OLDEST_RHEL:
            yield f"RHEL{number}"


def _recording_parser() -> Any:
    """pykickstart's parser class, its errors collected instead of printed."""
    base: Any = importlib.import_module("pykickstart.parser").KickstartParser

    class RecordingParser(base):  # type: ignore[misc]
        """Goes on after an error in a line, as a person wants all of them at once."""

        def __init__(self, handler: Any) -> None:
            super().__init__(handler, followIncludes=False, errorsAreFatal=True)
            self.errors: list[Exception] = []

        def _tryFunc(self, fn: Any) -> None:
            try:
                fn()
            except Exception as error:
                self.errors.append(error)

    return RecordingParser


def _read(text: str, dialect: str, parser: Any) -> Reading:
    """One reading. Only the commands that occur are built: 9 ms for a usual file, where building them all takes 40."""
    handler_class = getattr(importlib.import_module(f"pykickstart.handlers.{dialect.lower()}"), f"{dialect}Handler")
    control: Any = importlib.import_module("pykickstart.handlers.control")
    words = {line.split()[0] for line in text.splitlines() if line.split()}
    commands = control.commandMap[handler_class.version]
    used = {name: command for name, command in commands.items() if name in words or name in ("autopart", "bootloader")}
    reader, caught = _parse(text, parser(handler_class(mapping=used)))
    if any(isinstance(error, AttributeError) for error in reader.errors):  # one command looked at another, not built
        reader, caught = _parse(text, parser(handler_class()))
    about = [warning.message for warning in caught if _is_about_the_text(warning.category)]
    if not (reader.errors or about):
        return Reading(dialect, (), ())
    mask = masking(text, {*commands, *_option_words(reader)})
    return Reading(
        dialect,
        tuple(Finding(mask(_sentence(error)), line=getattr(error, "lineno", None)) for error in reader.errors),
        tuple(Finding(mask(_sentence(message))) for message in about),
    )


def _option_words(reader: Any) -> Iterator[str]:
    """The words of the options that the commands of a text have: names, which a message may hold."""
    for command in reader.handler.commands.values():
        for option in getattr(getattr(command, "op", None), "_option_string_actions", ()):
            yield from re.findall(r"\w+", option.casefold())


def _parse(text: str, reader: Any) -> tuple[Any, list[warnings.WarningMessage]]:
    """The reader after it has read, and the warnings that were given meanwhile."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            reader.readKickstartFromString(text)
        except Exception as error:  # a section's own errors, and shlex's about quotes
            reader.errors.append(error)
    return reader, caught


def _is_about_the_text(category: type[Warning]) -> bool:
    return category.__module__.startswith("pykickstart.")


def _sentence(error: object) -> str:
    """One line: pykickstart's message without the place, which stands beside it."""
    return " ".join(_MESSAGE_HEAD.sub("", str(error)).split()) or type(error).__name__
