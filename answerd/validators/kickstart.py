"""Kickstart files, by pykickstart's parser (the extra ``validators``), with includes never followed.

pykickstart fetches what ``%ksappend`` names and can read what ``%include`` names, so those lines are blanked before it
sees the text (line numbers stay). It is used as a parser of strings: no file, no network, nothing printed.

Without a ``#version=`` line an answer is judged by the newest Red Hat Enterprise Linux. Where only another syntax takes
it, a warning says which, and how to state it; where none does, the syntax with the fewest findings is reported.
"""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from answerd.validators.native_imports import module
from answerd.validators.password_hashes import judge_hash
from answerd.validators.time_zones import unknown_zone
from answerd.validators.tools import ToolRequest
from answerd.validators.verdict import Finding, JudgedAnswer, Remarks

NEWEST_RHEL = 10
"""The newest release that there is: pykickstart knows the syntax of the next one too."""

OLDEST_COMPARED = 8
"""Red Hat Enterprise Linux 7 ended in 2024: its faults are not those that are told."""

OLDEST_RHEL = 5

LONGEST_COMMAND = 4_096
"""Characters of a line that is judged: pykickstart takes time with the square of a line's length."""

MOST_COMPARED = 50
"""Errors by which syntaxes are compared: one with more fits no better than the newest."""

MOST_KEPT = 200
"""Uses of one command of which pykickstart keeps what they say: it compares each new one, such as a user, with all."""

_COMMENT = re.compile(r"""(?:[^\\'"#]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")*#""")
"""A line to its comment, as shlex finds it (pykickstart's `_stateMachine` splits with comments=True)."""

_INCLUDE = re.compile(r"%(?:include|ksappend)")
_INCLUDED = re.compile(r"^[ \t]*%(?:include|ksappend)\b", re.MULTILINE)
_BEFORE = re.compile(r"^[ \t]*%pre(?![-\w])", re.MULTILINE)
_PACKAGES = re.compile(r"^%packages\b", re.MULTILINE)
_SOURCE = "installation source, such as url (unless inst.repo or the boot medium gives one)"
_NEEDED: Mapping[str, frozenset[str]] = {
    _SOURCE: frozenset(
        {"url", "cdrom", "harddrive", "hmc", "nfs", "liveimg", "ostreesetup", "ostreecontainer", "bootc", "rhsm"}
    ),
    "rootpw, user or sshkey": frozenset({"rootpw", "user", "sshkey"}),
    "disk layout, such as autopart": frozenset(
        {"autopart", "part", "partition", "logvol", "raid", "btrfs", "mount", "volgroup"}
    ),
}
"""The commands of which Anaconda needs one each, by what they are."""

_MOUNTING = frozenset({"part", "partition", "logvol", "raid", "btrfs", "stratisfs"})
_ROOT = "file system for /"
"""What one of the commands above must state (`verify_root` in pyanaconda/modules/storage/checker/utils.py)."""

HASHED = frozenset({"rootpw", "sshpw", "user"})
"""Commands whose ``--iscrypted`` says that the password is one for /etc/shadow."""

_SIGNS = frozenset("'\"\\#")
"""What makes of the words of a command something else than they are."""

_LOCKED = frozenset({"locked", "thereisnopasswordanditislocked"})
"""What kickstarts of images that nobody is to log in to have in place of a hash, as Fedora's and CentOS' do."""

_ASKING = frozenset({"interactive", "rescue", "upgrade"})
"""Commands of kickstarts that are to ask, or that install nothing."""

_DIALECT = re.compile(r"(RHEL|F)(\d+)")
_UNKNOWN = "unrecognized arguments"
_OPTION = re.compile(r"--[a-z][a-z-]*(?==|\Z)")
_MESSAGE_HEAD = re.compile(r"The following problem occurred on line \d+ of the kickstart file:\s*")


@dataclass(frozen=True)
class Reading:
    """The remarks of one syntax (``RHEL9``) about a text."""

    dialect: str
    findings: tuple[Finding, ...]
    warnings: tuple[Finding, ...]


def without_includes(text: str) -> str:
    """Return the text with every line that names another file emptied, so that nothing is read or fetched. In a
    ``%certificate``, which must not be empty, words are put in its place.

    Quotes and backslashes are removed before a line is judged, as a shell-like reader does. Lines are split as
    pykickstart splits them, which is at more characters than the line feed.
    """
    lines = text.splitlines(keepends=True)
    is_certificate = False
    for at, line in enumerate(lines):
        if line.startswith("%") and not _INCLUDE.match(line):
            is_certificate = line.startswith("%certificate")
        if _INCLUDE.match(re.sub(r"[\"'\\\ufeff]", "", line).lstrip()):
            lines[at] = ("included" if is_certificate else "") + line[len(line.splitlines()[0]) :]
    return "".join(lines)


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
    commands = list(_commands(plain))
    for command in commands:
        _judge_command(command, remarks)
    _judge_storage(text, commands, remarks)
    stated = _stated_dialect(text, versions, remarks)
    reading = _read(plain, stated, parser, None) if stated else _best_reading(plain, versions.versionMap, parser)
    remarks.judged_by(f"pykickstart ({reading.dialect} syntax)")
    for finding in reading.findings:
        remarks.quote_refusal(finding.message, finding.line)
    for warning in reading.warnings:
        remarks.quote_warning(warning.message, warning.line)
    if not reading.findings:  # else it may be for another installer, as that of ESXi
        _judge_whether_it_asks(text, commands, remarks)
    newest = f"RHEL{NEWEST_RHEL}"
    if not stated and not reading.findings and reading.dialect != newest:
        message = f"{newest} does not take it, {reading.dialect} does: write '#version={reading.dialect}'"
        remarks.warn(f"{message} into its first line if it is for that")
    return replace(unjudged, arguments=("-v", reading.dialect))


def _best_reading(text: str, version_map: dict[str, int], parser: Any) -> Reading:
    """Return the reading of the first syntax that takes a text: the newest Red Hat Enterprise Linux, those before it,
    the newest Fedora, and the ones that are out of use. Where none does, that of the newer ones with the fewest
    findings."""
    numbers = [int(shape[2]) for name in version_map if (shape := _DIALECT.fullmatch(name)) and shape[1] == "F"]
    best = _read(text, f"RHEL{NEWEST_RHEL}", parser, None)
    compared = [*(f"RHEL{number}" for number in range(NEWEST_RHEL - 1, OLDEST_COMPARED - 1, -1)), f"F{max(numbers)}"]
    for dialect in compared:
        if not best.findings:
            return best
        reading = _read(text, dialect, parser, min(len(best.findings), MOST_COMPARED))
        if len(reading.findings) < len(best.findings):
            best = reading
    if not best.findings:
        return best
    for number in range(OLDEST_COMPARED - 1, OLDEST_RHEL - 1, -1):
        reading = _read(text, f"RHEL{number}", parser, 1)
        if not reading.findings and (number > OLDEST_RHEL or any(map(_says_old_words, best.findings))):
            return reading
    return best


def _says_old_words(finding: Finding) -> bool:
    """Return whether a finding is of a command or an option that a syntax does not know. The oldest syntax also lets a
    section end without ``%end``: that alone is a mistake in a newer file."""
    return any(words in finding.message for words in ("Unknown command", _UNKNOWN, "has been removed"))


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


@dataclass(frozen=True)
class Command:
    """A line that is of no section, such as a script: its number, its text, and its words as pykickstart has them."""

    number: int
    text: str
    words: Sequence[str]

    @property
    def name(self) -> str:
        return self.words[0]

    def value(self, option: str) -> str | None:
        """Return the value of an option, which may be a word of its own; None where it is not given."""
        for word, following in zip_longest(self.words, self.words[1:], fillvalue=""):
            if word.startswith(f"{option}="):
                return word.partition("=")[2]
            if word == option:
                return following
        return None


def _commands(text: str) -> Iterator[Command]:
    is_command = True
    for number, line in enumerate(text.splitlines(), 1):
        written = line.strip()
        if written.startswith("%"):
            is_command = written.split()[0] == "%end"
        elif is_command and written and not written.startswith("#"):
            words: Sequence[str] = written.split()
            if not _SIGNS.isdisjoint(written):  # shlex takes hundreds of times as long
                with suppress(ValueError):  # a quote that is left open: pykickstart says it
                    words = shlex.split(written, comments=True)
            if words:
                yield Command(number, written, words)


def _judge_command(command: Command, remarks: Remarks) -> None:
    """Judge the values that pykickstart takes as they are."""
    comment = _COMMENT.match(command.text)
    if comment is not None and not comment[0][-2:-1].isspace() and command.name.isalnum():
        message = "a comment begins at '#', so the rest of the line does not count: quote the value if it is part of it"
        remarks.warn(message, command.name, command.number)
    if command.name == "network":
        for option in ("--ip", "--netmask", "--gateway", "--nameserver"):
            if any(map(_is_no_address, (command.value(option) or "").split(","))):
                remarks.refuse(
                    f"{option} must be an IPv4 address: each number is at most 255", "network", command.number
                )
    if command.name == "timezone":  # Anaconda asks on the screen
        zone = _stated_zone(command.words[1:])
        if zone and (wrong := unknown_zone(zone, remarks)):
            remarks.refuse(wrong, "timezone", command.number)
    if command.name in HASHED and "--iscrypted" in command.words and "--lock" not in command.words:
        password = _stated_password(command)
        if password and password not in _LOCKED:
            judge_hash(password, remarks, command.name, command.number)


def _is_no_address(value: str) -> bool:
    """Return whether a value is meant as an IPv4 address and is none."""
    if not re.fullmatch(r"[0-9]+(?:\.[0-9]+)+", value):
        return False
    numbers = value.split(".")
    return len(numbers) != 4 or any(len(number) > 3 or int(number) > 255 for number in numbers)  # noqa: PLR2004


def _judge_storage(text: str, commands: Sequence[Command], remarks: Remarks) -> None:
    """Refuse a member of a volume group or an array that no command makes, and the volume of such a group: Anaconda
    stops with "Tried to use undefined partition" (pyanaconda/modules/storage/partitioning/custom/custom_partitioning.py
    of rhinstaller/anaconda). What an included file or a script before the installation makes is not known."""
    if _INCLUDED.search(text) or _BEFORE.search(text):
        return
    made = {word for command in commands for word in _made(command)}
    groups = {word.rpartition("=")[2] for command in commands if command.name == "volgroup" for word in command.words}
    is_wiped = any(
        command.name == "clearpart" and "--all" in command.words and command.value("--drives") is None
        for command in commands
    )
    for command in commands:
        kind = _MEMBERS.get(command.name)
        if kind and any(word.startswith(kind) and word not in made for word in command.words):
            message = f"names a '{kind}…' that no part or raid command makes: Anaconda stops"
            remarks.refuse(message, command.name, command.number)
        elif command.name == "logvol":
            group = command.value("--vgname")
            if group and group not in groups and not {"--useexisting", "--noformat"} & {*command.words}:
                message = "names a volume group that no volgroup command makes: Anaconda stops"
                add = remarks.refuse if is_wiped else remarks.warn
                add(message if is_wiped else f"{message} unless the disk has it", command.name, command.number)


_MEMBERS: Mapping[str, str] = {"volgroup": "pv.", "raid": "raid."}
"""A command to how the names of its members begin."""


def _made(command: Command) -> Iterator[str]:
    """Yield the words of a command that may name what it makes. An array states its own name first."""
    if command.name in ("part", "partition"):
        yield from command.words
    elif command.name == "raid":
        words = [word for word in command.words[1:] if not word.startswith("-")]
        yield from (word for word in words if not word.startswith("raid."))
        if not any(word == "swap" or word.startswith(("/", "pv.", "btrfs.")) for word in words):
            yield from [word for word in words if word.startswith("raid.")][:1]


def _stated_password(command: Command) -> str | None:
    if command.name == "user":
        return command.value("--password")
    words = list(command.words[1:])
    if "--username" in words[:-1]:
        del words[words.index("--username") + 1]
    return next((word for word in words if not word.startswith("--")), None)


def _judge_whether_it_asks(text: str, stated: Sequence[Command], remarks: Remarks) -> None:
    """Warn where Anaconda cannot install without asking. A text with nothing that it needs, and without packages, is
    taken for a part of a kickstart; what an included file has is not known. Many sites name the source by inst.repo,
    so a source that is missing alone is no reason."""
    if _INCLUDED.search(text):
        return
    names = {command.name for command in stated}
    lacking = [what for what, commands in _NEEDED.items() if names.isdisjoint(commands)]
    is_part = len(lacking) == len(_NEEDED) and not _PACKAGES.search(text)
    if names & _MOUNTING and not names & {"autopart", "mount"}:
        mounting = (command for command in stated if command.name in _MOUNTING)
        lacking += [_ROOT] * all("/" not in command.words for command in mounting)
    if lacking not in ([], [_SOURCE]) and not is_part and names.isdisjoint(_ASKING):
        remarks.warn(f"Anaconda will stop and ask: no {', no '.join(lacking)}")


def _stated_zone(words: Sequence[str]) -> str:
    """Return the zone among the words after ``timezone``; empty where there is none. ``--ntpservers`` has a value,
    which may be a word of its own."""
    is_value = False
    for word in words:
        if not word.startswith("-") and not is_value:
            return word
        is_value = word.startswith("--ntp") and "=" not in word
    return ""


def _stated_dialect(text: str, versions: Any, remarks: Remarks) -> str | None:
    """Return the syntax that the first ``#version=`` line states, which is pykickstart's own rule."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#version="):
            stated = line.removeprefix("#version=").strip()
            if stated == "DEVEL":  # Anaconda writes it into every file and reads it in none
                return None
            try:
                return str(versions.versionToString(versions.stringToVersion(stated), skipDevel=True))
            except Exception:  # its own error, or whatever an odd text provokes
                remarks.warn("#version= states no syntax that pykickstart knows", line=number)
                return None
    return None


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
            try:
                said = super().handleCommand(lineno, args)
            except Exception as error:
                error.command = args[0]  # type: ignore[attr-defined]
                raise
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
    """Return pykickstart's message on one line, without the place: the finding has the line. Of arguments that it does
    not know the command, and the names of options only: others may be the password that a misspelled option takes."""
    sentence = " ".join(_MESSAGE_HEAD.sub("", str(error)).split()) or type(error).__name__
    head, unknown, arguments = sentence.partition(f"{_UNKNOWN}: ")
    if not unknown:
        return sentence
    options = [option[0] for word in arguments.split(" ") if (option := _OPTION.match(word))]
    command = f"{error.command}: " if hasattr(error, "command") else ""
    return command + head + _UNKNOWN + (f": {' '.join(options)}" if options else "")
