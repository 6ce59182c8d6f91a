"""``answerd check``: what is wrong with the answer set, for people and for programs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor

from answerd.check import Report, built_in_verdict, check
from answerd.commands import Arguments, Help
from answerd.commands.common import assumed_sources, read_documents
from answerd.commands.terminal import coloured, counted, plain, print_json, progress
from answerd.validators import Verdict

HELP = Help(
    summary="Every problem of the answer set; every machine tried.",
    usage=("check [--json] [DIR]",),
    details="""
        Lists the problems of the answer set, renders every machine, every member of a group, every row of an inventory
        and every default, and has each answer judged by the rules of its installer. DIR is a directory of documents;
        without it, the store of the settings is checked.

        A problem fails. A note does not: it is what could not be tried, or could not be judged here.
        """,
    options=(("--json", "For programs."),),
    examples=(
        ("answerd check ~/answers", "Check a directory before it is put in force."),
        ("answerd check --json | jq -r '.problems[]'", "List the problems of the configured store, one a line."),
    ),
    exits=(
        (0, "there is no problem"),
        (1, "there is a problem, or the store cannot be read"),
        (2, "the command line is wrong, or DIR is not there"),
    ),
)

MOST_ALIKE = 5
"""Sentences that differ only in the document they are about and are told one by one; of more, `SHOWN_ALIKE` are."""

SHOWN_ALIKE = 3

_SUBJECT = re.compile(
    r'(?P<subject>(?:default|(?:machine|group) "[^"]*") \(\w+\)(?: for member "[^"]*")?'
    r"|\S+\.csv:\d+(?:, \S+ \(\w+\))?): (?P<rest>.*)"
)


def _on_every_processor(answers: list[tuple[str, str]]) -> list[Verdict]:
    """The built-in verdicts on many answers, in their order."""
    with ProcessPoolExecutor() as pool:
        return list(pool.map(built_in_verdict, answers, chunksize=50))


def run(arguments: Arguments) -> int:
    """Print the problems and notes of the answer set. Exit status 1 if there is a problem."""
    store, catalogue = read_documents(arguments["DIR"])
    report = check(catalogue, progress=progress("answers"), spread=_on_every_processor, sources=assumed_sources())
    problems = [*store.warnings(), *report.problems]
    if arguments["--json"]:
        print_json({"problems": problems, "notes": report.notes, "answers": report.rendered})
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
    counts = counted(len(problems), "problem"), counted(len(report.notes), "note")
    summary = f"{counted(report.rendered, 'answer')} tried, {', '.join(counts)}"
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
