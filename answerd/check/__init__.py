"""Every answer before any request: the set's problems, and each machine and member rendered and judged.

Rules: docs/check.md.

Used by ``answerd check`` and ``GET /check``. It renders with the same `resolve` as the server, from a machine's
identity alone, so a missing fact that only a request has is a note and not a failure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from answerd.answers.answer_secrets import known_values
from answerd.answers.cases import CheckCase, RowCase, check_cases, machines_told, row_cases
from answerd.answers.catalogue import Catalogue
from answerd.answers.equal_claims import (
    EqualOverlays,
    equal_machines,
    only_loader_claims,
    overlays_of_other_formats,
    report_equal_claims,
)
from answerd.answers.last_words import NO_WORDS, LastWords, tried_with_words
from answerd.answers.lint import EXAMPLE_HASH, Findings, of_documents, unmet
from answerd.answers.missing_labels import MissingLabels
from answerd.answers.problems import load_problems
from answerd.answers.redaction import secrets_in_clear
from answerd.answers.repeated_values import repetitions
from answerd.answers.resolve import Answer, completed_facts, resolve
from answerd.answers.select import select, selection_request
from answerd.answers.sources import NO_SOURCES, Sources, Values
from answerd.check.installs import Installs
from answerd.check.judging import Judge, Webhooks
from answerd.check.stand_ins import StandIns
from answerd.documents import Document
from answerd.errors import AnswerError, CannotFill, NotClaimed
from answerd.facts import SHORTEST_BODY_IDENTITY
from answerd.identity import identity_of
from answerd.inventory.row import notes as row_notes
from answerd.inventory.row import unnamed_addresses
from answerd.short_texts import brief, join_brief, printable
from answerd.validators import Tools

_MOST_DIGITS = 20


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result of a check, sorted. ``problems`` fail it, ``notes`` do not. ``rendered`` counts the answers tried.

    ``machines`` has the names of the affected machines, where they are known; a default has the name "". ``told`` are
    the machines that were tried with what they last said.
    """

    problems: tuple[str, ...]
    notes: tuple[str, ...]
    rendered: int = 0
    machines: Mapping[str, frozenset[str]] = field(default_factory=dict, compare=False)
    told: tuple[str, ...] = ()


def check(
    catalogue: Catalogue,
    tools: Tools | None = None,
    progress: Callable[[int, int], None] | None = None,
    *,
    sources: Sources = NO_SOURCES,
    strict: bool = False,
    words: LastWords = NO_WORDS,
) -> CheckReport:
    """Try everything that can be tried without a request.

    ``strict``: a row that nothing but a default or a loader claims is a problem, and not only a note; so are two
    machine documents that claim one row equally, and a fact that a known machine lacks and that nothing is known to
    send.

    ``tools`` are the installers' own programs, looked for on PATH when not given. ``progress`` gets the number of
    answers that are done and the total, which is 0 at first, and may end the check by an exception.
    ``sources`` fill placeholders that the facts do not, and change no state. ``words`` are what machines last said.
    """
    found = of_documents(catalogue, partial(progress, 0, 0)) if progress else of_documents(catalogue)
    found.problems.update(load_problems(catalogue), sources.problems())
    of_rows = list(row_cases(catalogue, words=words))
    untried = _untried(catalogue, {group for of_row in of_rows for group in of_row.groups})
    found.notes.update(_untried_notes(catalogue, untried), _row_notes(catalogue), _clear_secrets(catalogue))
    found.notes.update(_secrets_of_nobody(catalogue, sources))
    of_strict = found.problems if strict else found.notes
    of_strict.update(_unclaimed(catalogue, of_rows))
    for sentence, machine in equal_machines(catalogue, of_rows):
        of_strict.add(sentence)
        found.machines[sentence].add(machine)
    _report_repetitions(catalogue, found)
    report_equal_claims(catalogue, of_rows, found)
    found.notes.update(overlays_of_other_formats(of_rows))
    tried = [*check_cases(catalogue, words=words), *(case for of_row in of_rows for case in of_row.cases)]
    if told := machines_told(tried):
        found.notes.add(tried_with_words(told))
    installs = Installs(catalogue, untried)
    labels = MissingLabels(catalogue)
    overlays = EqualOverlays()
    webhooks = Webhooks(sources)
    judge = Judge(Tools.find() if tools is None else tools, catalogue)
    stand_ins = StandIns(catalogue, sources)
    render = _Rendering(catalogue, sources, found, labels, stand_ins, strict)
    for count, trial in enumerate(tried, 1):
        answer = render.answer(trial)
        if answer is not None:
            installs.record(trial.identifier, answer)
            overlays.record(answer.selection.overlays, trial.identifier)
            _file_verdict(found, judge, trial, answer, sources)
            if (finding := webhooks.finding(answer)) is not None:
                _file(found, f"{trial.label}: {judge.placed((finding,), answer)[0]}", trial)
        else:
            installs.record_untried(trial.identifier)
        if progress:
            progress(count, len(tried))
    found.notes.update(installs.notes(), overlays.notes())
    for group in untried:
        with suppress(AnswerError):  # reported as a problem of the set
            labels.record_untried(catalogue.chain(group))
        said = stand_ins.said_alone(group)
        found.notes.update(f"{group.key}: {remark}" for remark in (*said.findings, *said.warnings))
    labels.report(found, strict=strict)
    machines = {sentence: frozenset(names) for sentence, names in found.machines.items()}
    problems, notes = in_order(found.problems), in_order(found.notes | judge.notes)
    return CheckReport(tuple(problems), tuple(notes), len(tried), machines, tuple(told))


_NUMBER = re.compile(r"([0-9]+)")
_LINE = re.compile(r":([0-9]+)\)(?: \([^()]*\))?\Z")


def in_order(sentences: Iterable[str]) -> list[str]:
    """Return problems or notes sorted by what they are about, and by the line that they end with, in brackets; those
    that end with none are last. Numbers in them are compared as numbers."""

    def place(sentence: str) -> tuple[list[str | int], float, list[str | int]]:
        subject, _, rest = sentence.partition(": ")
        line = _LINE.search(sentence)
        return _by_number(subject), float(line[1][:_MOST_DIGITS]) if line else math.inf, _by_number(rest)

    return sorted(sentences, key=place)


def _by_number(text: str) -> list[str | int]:
    return [int(part[:_MOST_DIGITS]) if at % 2 else part for at, part in enumerate(_NUMBER.split(text))]


def _file_verdict(found: Findings, judge: Judge, trial: CheckCase, answer: Answer, sources: Sources) -> None:
    """Record what the installer would say to an answer."""
    verdict = judge.verdict(answer, lambda: known_values(judge.catalogue, answer, trial.facts, sources))
    for finding in judge.placed(verdict.findings, answer):
        _file(found, f"{trial.label}: {finding}", trial)
    found.notes.update(f"{trial.label}: {warning}" for warning in judge.placed(verdict.warnings, answer))


@dataclass(frozen=True, slots=True)
class _Rendering:
    """Renders the answers of check cases. An answer that cannot be made is recorded in ``found``."""

    catalogue: Catalogue
    sources: Sources
    found: Findings
    labels: MissingLabels
    stand_ins: StandIns
    strict: bool

    def answer(self, trial: CheckCase) -> Answer | None:
        found = self.found
        try:
            return resolve(self.catalogue, trial.facts, trial.extensions, trial.assumed, sources=self.sources)
        except CannotFill as error:
            if not error.missing:
                _file(found, f"{trial.label}: {error.general}", trial)
            else:
                self._report_lacking(trial)
        except NotClaimed as error:
            if trial.document is not None and trial.document.control.overlay is not None:
                found.notes.add(f"{trial.label}: not tried, only a request tells what it is laid over")
            else:
                _file(found, f"{trial.label}: {error.reason}", trial)
        except AnswerError as error:
            # A problem of the set is not repeated for each machine that it affects.
            _file(found, error.reason if error.reason in found.problems else f"{trial.label}: {error.reason}", trial)
        return None

    def _report_lacking(self, trial: CheckCase) -> None:
        """Report the facts that only a request of this machine can have: as problems of a strict check those that
        nothing is known to send, and those that the machine did not send when it last asked."""
        lacking = self._lacking(trial)
        said = self.stand_ins.said(trial)
        for finding in said.findings:
            _file(self.found, f"{trial.label}: {finding}", trial)
        self.found.notes.update(f"{trial.label}: {warning}" for warning in said.warnings)
        words = ["its row"] * bool(trial.identities) + ["what it last said"] * bool(trial.told)
        without = f", which {' and '.join(words)} lack{'s' if len(words) == 1 else ''}" if words else ""
        sent = [label for label, is_sent in lacking.items() if is_sent]
        # One sentence for each fact that nothing sends: how many machines lack it differs.
        for labels in filter(None, (sent, *([label] for label in lacking if label not in sent))):
            facts = f"the fact{'s' if len(labels) > 1 else ''} {join_brief([repr(brief(label)) for label in labels])}"
            sentence = f"{trial.label}: not tried whole, only a request has {facts}{without}"
            remedy = ""
            if labels is not sent:
                sentence += f", {'and' if words else 'but'} nothing is known to send it"
                remedy = (
                    '. Give it a value in a table, or a default("…"); name it in a match where a boot script sends it'
                )
            sentence += f": a machine that does not say it gets a 500{remedy}"
            # A default is for machines that are not known, rows with other values among them.
            is_problem = self.strict and trial.identifier and (trial.told or labels is not sent)
            (self.found.problems if is_problem else self.found.notes).add(sentence)
            if trial.identifier:
                self.found.machines[sentence].add(trial.identifier)

    def _lacking(self, trial: CheckCase) -> dict[str, bool]:
        """Return the labels that only a request of this machine can have, as `MissingLabels.record` does."""
        catalogue = self.catalogue
        facts = completed_facts(catalogue, trial.facts, self.sources)
        selection = select(catalogue, selection_request(facts, trial.extensions, trial.assumed))
        values = Values(selection, facts, self.sources, catalogue)

        def has(label: str) -> bool:
            try:
                return values.first(label) is not None
            except CannotFill as error:
                if not error.missing:  # a missing secret is a problem, whatever else the answer lacks
                    _file(self.found, f"{trial.label}: {error.general}", trial)
                return not error.missing

        return self.labels.record(selection.layers, trial.identifier, has)


def _file(found: Findings, sentence: str, trial: CheckCase) -> None:
    found.problems.add(sentence)
    found.machines[sentence].add(trial.identifier)


def _untried(catalogue: Catalogue, tried_with_rows: Collection[Document]) -> list[Document]:
    return [
        document
        for document in catalogue.documents.values()
        if document.is_group
        and document.control.match
        and not document.control.members
        and document not in tried_with_rows
    ]


def _untried_notes(catalogue: Catalogue, untried: Sequence[Document]) -> Iterator[str]:
    """Yield notes about groups that are not tried, and about names that a JSON body cannot claim."""
    lacks = unmet(catalogue, untried)
    for group in untried:
        why = f": {lacks[group]}" if group in lacks else ""
        yield f"{group.key}: selects by match, so it was not tried{why}"
    for document in catalogue.documents.values():
        if not document.is_group and document.identity and len(document.identity) < SHORTEST_BODY_IDENTITY:
            yield (
                f"{document.key}: a name of under {SHORTEST_BODY_IDENTITY} letters and digits "
                "is not recognised in a JSON body"
            )


def _clear_secrets(catalogue: Catalogue) -> Iterator[str]:
    """Yield a note for each document that holds secrets in clear."""
    for document in catalogue.documents.values():
        count, line = secrets_in_clear(document.text, document.key.format, EXAMPLE_HASH)
        if count:
            holds = "a secret in clear, in" if count == 1 else f"{count} secrets in clear, the first in"
            them = "it in a file" if count == 1 else "them in files"
            yield f"{document.key}: holds {holds} line {line}: keep {them}, and write {{{{ secret.NAME }}}}"


def _row_notes(catalogue: Catalogue) -> Iterator[str]:
    if not catalogue.documents:
        yield "there is no document: nothing is answered"
    inventory = catalogue.inventory
    if inventory is None:
        return
    for layout, table in inventory.by_layout.items():
        place = f"{printable(layout.source)}:{table.header_line}"
        yield from (f"{place}: {note}" for note in layout.notes)
        if (of_addresses := unnamed_addresses(layout, table.rows)) is not None:
            yield f"{place}: {of_addresses}"
        if not table.rows:
            yield f"{place}: there is no row below the header"
    yield from inventory.shared_notes()
    yield from inventory.nameless_notes()
    for row in inventory.rows():
        yield from (f"{inventory.place(row)}: {note}" for note in row_notes(row.layout, row.cells()))


def _secrets_of_nobody(catalogue: Catalogue, sources: Sources) -> Iterator[str]:
    """Yield a note where a directory of secrets is named after no machine: its name is misspelled, or its machine is
    gone, and the next one of this name would get these secrets."""
    rows = catalogue.inventory.rows() if catalogue.inventory is not None else ()
    named = {*catalogue.machines, *(identity_of(row.id) for row in rows if row.id)}
    if lost := [name for identity, names in sources.folders().items() if identity not in named for name in names]:
        names = join_brief([f"{name}/" for name in sorted(lost)])
        yield f"secrets: no machine's document and no row's id is called like {names}: rename or remove it"


def _report_repetitions(catalogue: Catalogue, found: Findings) -> None:
    """Report rows that give one address or one host name to two machines: of two inventories it may be intended."""
    for repetition in repetitions(catalogue.inventory) if catalogue.inventory is not None else ():
        if repetition.is_problem:
            found.problems.add(repetition.sentence)
            found.machines[repetition.sentence].update(repetition.machines)
        else:
            found.notes.add(repetition.sentence)


def _unclaimed(catalogue: Catalogue, of_rows: Iterable[RowCase]) -> Iterator[str]:
    """Yield a sentence for each row that nothing claims but a default or a loader."""
    answers = "nothing but a default claims" if catalogue.defaults else "no document claims"
    for of_row in of_rows:
        if not of_row.claimed and catalogue.inventory is not None:
            yield f"{catalogue.inventory.place(of_row.row)}: {answers} this row"
    yield from only_loader_claims(catalogue, of_rows)
