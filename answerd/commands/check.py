"""``answerd check`` and ``answerd validate-answer``: what is wrong, for people and for programs."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor

from answerd.check import Report, built_in_verdict, check
from answerd.commands import Arguments
from answerd.commands.common import configured_store, read_bytes
from answerd.commands.terminal import coloured, plain, print_json, progress
from answerd.formats import FORMATS, split_extension
from answerd.identity import brief
from answerd.store.loader import loaded
from answerd.validators import Verdict, validate

VALID, INVALID, NOT_JUDGED = 0, 1, 2
"""The exit statuses of ``validate-answer``."""

MOST_ALIKE = 5
"""Sentences that differ only in the document they are about and are told one by one; of more, `SHOWN_ALIKE` are."""

SHOWN_ALIKE = 3

_SUBJECT = re.compile(
    r'(?P<subject>(?:default|(?:machine|group) "[^"]*") \(\w+\)(?: for member "[^"]*")?): (?P<rest>.*)'
)


def _on_every_processor(answers: list[tuple[str, str]]) -> list[Verdict]:
    """The built-in verdicts on many answers, in their order."""
    with ProcessPoolExecutor() as pool:
        return list(pool.map(built_in_verdict, answers, chunksize=50))


def check_set(arguments: Arguments) -> int:
    """Print the problems and notes of the answer set. Exit status 1 if there is a problem."""
    store = configured_store()
    missing = store.warnings()
    report = check(loaded(store), progress=progress("answers"), spread=_on_every_processor)
    problems = [*missing, *report.problems]
    if arguments["--json"]:
        told = {"problems": problems, "notes": report.notes, "answers": report.rendered}
        print_json(told)
    else:
        _print(problems, report)
    return 1 if problems else 0


def _print(problems: list[str], report: Report) -> None:
    for kind, colour, sentences in (("problem:", "red", problems), ("note:", "yellow", report.notes)):
        for sentence in _gathered(sentences):
            print(f"{coloured(f'{kind:8}', colour)} {plain(sentence)}")
    if problems:
        advice = "mend the problems; answerd render ID --why shows how one machine's answer comes about"
    else:
        advice = "answerd render ID --explain shows where each line of an answer comes from"
    summary = f"{report.rendered} answers tried, {len(problems)} problems, {len(report.notes)} notes"
    print(f"{coloured(summary, 'red' if problems else 'green')}; {advice}")


def _gathered(sentences: Iterable[str]) -> Iterator[str]:
    """Sentences that say the same of many documents as one."""
    alike: dict[str, list[str]] = {}
    for sentence in sentences:
        found = _SUBJECT.fullmatch(sentence)
        alike.setdefault(found["rest"] if found else sentence, []).append(found["subject"] if found else "")
    for rest, subjects in alike.items():
        if len(subjects) > MOST_ALIKE:
            shown = ", ".join(subjects[:SHOWN_ALIKE])
            yield f"{shown} and {len(subjects) - SHOWN_ALIKE} more (--json lists them): {rest}"
        else:
            yield from (f"{subject}: {rest}" if subject else rest for subject in subjects)


def validate_answer(arguments: Arguments) -> int:
    """Judge one answer."""
    name = arguments["FILE"] or "-"
    extension = (arguments["--format"] or split_extension(name)[1] or "").lower().lstrip(".")
    if extension not in FORMATS:
        known = ", ".join(FORMATS)
        asked = f"{brief(extension)!r} is no format" if extension else "the format is not known from a file's extension"
        print(f"answerd: {asked}: give --format with one of {known}", file=sys.stderr)
        return NOT_JUDGED
    try:
        text = read_bytes(name).decode("utf-8")
    except UnicodeDecodeError as error:
        print(f"invalid: not UTF-8 (byte offset {error.start})")
        return INVALID
    verdict = validate(text, extension, release=arguments["--release"], product=arguments["--product"])
    for kind, colour, lines in (
        ("invalid", "red", verdict.findings),
        ("warning", "yellow", verdict.warnings),
        ("note", "cyan", verdict.notes),
    ):
        for line in lines:
            print(f"{coloured(kind, colour)}: {line}")
    if not verdict.judged:
        return NOT_JUDGED
    if verdict.valid:
        print(f"{coloured('valid', 'green')}, as far as {', '.join(verdict.judged_by)} can tell")
    return VALID if verdict.valid else INVALID
