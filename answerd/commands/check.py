"""Every problem of the answer set; every machine tried.

Usage:
  answerd check [--json] [--strict] [DIR]

Lists the problems of the answer set, renders every machine, every member of a
group, every row of an inventory and every default, and has each answer judged
by the rules of its installer. A machine that has asked the service is tried
with what it last said of itself. DIR is a directory of documents; without it,
the store of the settings is checked. docs/check.md has the details.

A problem fails. A note does not: it is what could not be tried, or could not be
judged here.

Options:
  --json     For programs.
  --strict   A row that nothing but a default or a boot loader's script claims
             is a problem, not a note; so is one that two documents claim,
             and one that lacks a fact which nothing is known to send.
  -h --help  This text.

Exit status:
  0  there is no problem
  1  there is a problem, or the store cannot be read
  2  the command line is wrong, or DIR is not there

Examples:
  # Check a directory before it is put in force.
  answerd check ~/answers
  # List every problem and note of the configured store by itself, for a report.
  answerd check --json > report.json
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from answerd.answers.catalogue import Catalogue
from answerd.answers.causes import MOST_TOLD, Cause, causes, subject_of
from answerd.answers.lint import misspelled_extension
from answerd.answers.one_digit_off import is_named
from answerd.answers.operator_names import notes_of_states
from answerd.answers.passed_over import meant_for_a_machine
from answerd.check import CheckReport, check, in_order
from answerd.commands import Arguments
from answerd.commands.documents import configured_sources, last_words, read_documents, settings
from answerd.commands.terminal import coloured, counted, print_json, printable_line, progress
from answerd.identity import identity_of
from answerd.installs.records import InstallMemory
from answerd.short_texts import printable
from answerd.store import Store, StoreError
from answerd.store.files import FileStore
from answerd.store.layout import looks_like_a_table
from answerd.store.opening import install_rules, open_existing_states
from answerd.store.states import Position


def run(arguments: Arguments) -> int:
    """Print the problems and notes of the answer set. Exit status 1 if there is a problem."""
    store, catalogue = read_documents(arguments["DIR"])
    sources = configured_sources(by_directory=bool(arguments["DIR"]))
    words = last_words(store, beside_settings=not arguments["DIR"])
    shown, strict = progress("answers"), bool(arguments["--strict"])
    report = check(catalogue, progress=shown, sources=sources, strict=strict, words=words)
    problems = [*store.warnings(), *report.problems]
    of_states = () if arguments["DIR"] else _notes_of_states(store, catalogue)
    notes = in_order([*report.notes, *_misnamed_files(store, catalogue), *of_states])
    hit = frozenset[str]().union(*(report.machines.get(problem, frozenset()) for problem in problems))
    if arguments["--json"]:
        machines = {problem: len(report.machines.get(problem, ())) for problem in problems}
        result = {"problems": problems, "notes": notes, "answers": report.rendered}
        print_json({**result, "machines": machines, "machines_hit": len(hit)})
    else:
        _print(problems, notes, report, len(hit))
    return 1 if problems else 0


def _notes_of_states(store: Store, catalogue: Catalogue) -> Sequence[str]:
    """Return what is known of installs that an operator should know; nothing where states cannot be read."""
    config = settings()
    if not config.has_states:
        return ()
    try:
        states = open_existing_states(config, store)
        if states is None:
            return ()
        memory, _ = states.catch_up(InstallMemory(install_rules(config)), Position())
    except StoreError:  # the service says it
        return ()
    return [*notes_of_states(catalogue, memory)]


def _misnamed_files(store: Store, catalogue: Catalogue) -> Iterator[str]:
    """Yield a note for each file that was surely meant to be read: a table, a document with a misspelled extension, or
    one of a machine."""
    if not isinstance(store, FileStore):
        return

    def is_machine(name: str) -> bool:
        return is_named(catalogue, identity_of(name))

    for name, reason in sorted(store.ignored.items()):
        if looks_like_a_table(name):
            yield f"file {printable(name)} is not read: {reason}"
        elif meant := misspelled_extension(name):
            yield f"file {printable(name)} is no document: its extension is no format; did you mean .{meant}?"
        elif sentence := meant_for_a_machine(name, is_machine):
            yield sentence


def _print(problems: list[str], notes: list[str], report: CheckReport, hit: int) -> None:
    causes, doubts = [*_gathered(problems, report.machines)], [*_gathered(notes, report.machines)]
    for kind, colour, sentences in (("problem:", "red", causes), ("note:", "yellow", doubts)):
        for sentence in sentences:
            print(f"{coloured(f'{kind:8}', colour)} {printable_line(sentence)}")
    if problems:
        advice = "mend the problems; answerd render ID --why shows how one machine's answer comes about"
    else:
        advice = "answerd render ID --explain shows where each line of an answer comes from"
    hits = f" that hit{'s' if len(causes) == 1 else ''} {counted(hit, 'machine')}" if hit else ""
    counts = f"{counted(len(causes), 'problem')}{hits}, {counted(len(doubts), 'note')}"
    summary = f"{counted(report.rendered, 'answer')} tried, {counts}"
    print(f"{coloured(summary, 'red' if problems else 'green')}; {advice}")


def _gathered(sentences: Iterable[str], machines: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """Yield each cause once, with how many sentences it has and how many machines they affect."""
    for cause in causes(sentences, machines):
        if cause.subject and len(cause.alike) > 1:
            yield f"{_subjects(cause)}: {cause.rest}{_hits(cause.machines)}"
        else:  # a sentence about a machine says which one
            is_named = cause.subject and len(cause.machines) < 2  # noqa: PLR2004
            yield cause.alike[0] if is_named else f"{cause.alike[0]}{_hits(cause.machines)}"


def _subjects(cause: Cause) -> str:
    """Return what the sentences of a cause are about: all of a few, else the first and how many more."""
    if len(cause.alike) > MOST_TOLD:
        return f"{cause.subject} and {len(cause.alike) - 1} more (--json lists them)"
    *others, last = (subject_of(sentence) for sentence in cause.alike)
    return f"{', '.join(others)} and {last}"


def _hits(machines: frozenset[str]) -> str:
    return f" ({counted(len(machines), 'machine')})" if machines else ""
