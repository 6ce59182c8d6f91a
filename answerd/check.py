"""Every answer before any request: the set's problems, and each machine and member rendered and judged.

Rules: docs/check.md.

Used by ``answerd check`` and ``GET /check``. It renders with the same `resolve` as the server, from a machine's
identity alone, so a missing fact that only a request has is a note and not a failure.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

from answerd.answers.cases import Affected, CheckCase, RowCase, check_cases, machines_told, row_cases
from answerd.answers.catalogue import Catalogue
from answerd.answers.compose import prepared_answer
from answerd.answers.explain import Placing, origins
from answerd.answers.last_words import NO_WORDS, LastWords, tried_with_words
from answerd.answers.lint import (
    EXAMPLE_HASH,
    EqualOverlays,
    Findings,
    MissingLabels,
    of_documents,
    only_loader_claims,
    overlays_of_other_formats,
    report_equal_claims,
    unmet,
)
from answerd.answers.problems import load_problems
from answerd.answers.redaction import known_values, secrets_in_clear
from answerd.answers.repeated_values import repetitions
from answerd.answers.resolve import Answer, completed_facts, resolve
from answerd.answers.select import select, selection_request
from answerd.answers.sources import NO_SOURCES, REPORT, Sources, Values
from answerd.documents import Document
from answerd.errors import AnswerError, CannotFill, NotClaimed
from answerd.facts import SHORTEST_BODY_IDENTITY
from answerd.formats.family import Once
from answerd.identity import identity_of
from answerd.inventory.row import notes as row_notes
from answerd.short_texts import brief, join_brief, printable
from answerd.validators import TOOL_OF_FORMAT, Finding, Tools, Verdict, validate

_MOST_DIGITS = 20

_REPORT_BY_HTTPS = re.compile("https://[^/]+/report/", re.IGNORECASE)

TOOL_RUNS = 8
"""Answers of a format that are checked with the installers' own tools: each run costs a process, up to a second."""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result of a check, sorted. ``problems`` fail it, ``notes`` do not. ``rendered`` counts the answers tried.

    ``machines`` has the names of the affected machines, where they are known; a default has the name "".
    """

    problems: tuple[str, ...]
    notes: tuple[str, ...]
    rendered: int = 0
    machines: Mapping[str, frozenset[str]] = field(default_factory=dict, compare=False)


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

    ``strict``: a row that nothing but a default or a loader claims is a problem, and not only a note.

    ``tools`` are the installers' own programs, looked for on PATH when not given. ``progress`` gets the number of
    answers that are done and the total, which is 0 at first, and may end the check by an exception.
    ``sources`` fill placeholders that the facts do not, and change no state. ``words`` are what machines last said.
    """
    found = of_documents(catalogue, partial(progress, 0, 0)) if progress else of_documents(catalogue)
    found.problems.update(load_problems(catalogue), sources.problems())
    of_rows = list(row_cases(catalogue, words=words))
    untried = _untried(catalogue, {group for of_row in of_rows for group in of_row.groups})
    found.notes.update(_untried_notes(catalogue, untried), _row_notes(catalogue), _clear_secrets(catalogue))
    (found.problems if strict else found.notes).update(_unclaimed(catalogue, of_rows))
    _report_repetitions(catalogue, found)
    report_equal_claims(catalogue, of_rows, found)
    found.notes.update(overlays_of_other_formats(of_rows))
    tried = [*check_cases(catalogue, words=words), *(case for of_row in of_rows for case in of_row.cases)]
    if told := machines_told(tried):
        found.notes.add(tried_with_words(told))
    installs = _SilentInstalls()
    labels = MissingLabels(catalogue)
    overlays = EqualOverlays()
    render = _Rendering(catalogue, sources, found, labels)
    webhooks = _Webhooks(sources)
    judge = _Judge(Tools.find() if tools is None else tools, catalogue)
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
    labels.report(found)
    machines = {sentence: frozenset(names) for sentence, names in found.machines.items()}
    problems, notes = in_order(found.problems), in_order(found.notes | judge.notes)
    return CheckReport(tuple(problems), tuple(notes), len(tried), machines)


MOST_REFUSALS = 100
"""Causes that `refusals` tells."""


class Refused(NamedTuple):
    """Why an installer refuses answers: the ``cause``, the ``first`` of them, and how many ``answers`` there are.
    ``is_new``: no installer refused them for it before the change."""

    cause: str
    first: str
    answers: int
    is_new: bool = True

    def __str__(self) -> str:
        return f"{self.first}{f' and {self.answers - 1} more' if self.answers > 1 else ''}: {self.cause}"


def refusals(
    before: Catalogue,
    after: Catalogue,
    sources: Sources,
    progress: Callable[[int, int], None] | None = None,
    *,
    words: LastWords = NO_WORDS,
) -> list[str]:
    """Return why a change of the set is refused where answers count: each problem of an answer that the change makes
    another one, once, with the first machine. By the built-in rules; what only a request tells is not tried.

    ``progress`` and ``words`` are as for `check`.
    """
    return [str(found) for found in refused(before, after, sources, progress, words=words)]


def refused(
    before: Catalogue,
    after: Catalogue,
    sources: Sources,
    progress: Callable[[int, int], None] | None = None,
    *,
    words: LastWords = NO_WORDS,
    compares: bool = False,
) -> list[Refused]:
    """Return `refusals` with their numbers, the new ones first. ``compares``: the answers before the change are judged
    too, to tell what is new; else all is."""
    affected = Affected(before, after, words)
    if not affected:
        return []
    of_rows = (case for of_row in row_cases(after, affected, words) for case in of_row.cases)
    tried = [*check_cases(after, affected, words), *of_rows]
    judge, webhooks = _Judge(Tools.none(), after), _Webhooks(sources)
    judge_before = _Judge(Tools.none(), before)
    first: dict[tuple[str, bool], str] = {}
    alike: Counter[tuple[str, bool]] = Counter()

    def causes_in(judge: _Judge, answer: Answer) -> list[str]:
        findings = [*judge.verdict(answer, tuple).findings, *filter(None, [webhooks.finding(answer)])]
        return judge.placed(tuple(findings), answer)

    for count, trial in enumerate(tried, 1):
        if progress:
            progress(count, len(tried))
        answer = _outcome(after, trial, sources)
        was = _outcome(before, trial, sources)
        if isinstance(answer, str):
            causes = [answer] if answer and answer != was else []
        elif not isinstance(was, str) and was.body == answer.body and was.format is answer.format:
            continue
        else:
            causes = causes_in(judge, answer)
        known: set[str] = set()
        if compares and causes and not isinstance(was, str):
            known = {_unnumbered(cause) for cause in causes_in(judge_before, was)}
        for cause in causes:
            name = cause, _unnumbered(cause) not in known
            if name in first or len(first) < MOST_REFUSALS:
                first.setdefault(name, trial.label)
                alike[name] += 1
    found = [Refused(name[0], label, alike[name], name[1]) for name, label in first.items()]
    return sorted(found, key=lambda one: not one.is_new)


def _unnumbered(cause: str) -> str:
    """Return a cause without its numbers: a line that is added above moves what is below it."""
    return _NUMBER.sub("", cause)


def _outcome(catalogue: Catalogue, trial: CheckCase, sources: Sources) -> Answer | str:
    """Return an answer, or the reason why there is none; an empty one where a request would have to tell."""
    try:
        return resolve(catalogue, trial.facts, trial.extensions, trial.assumed, sources=sources)
    except CannotFill as error:
        return "" if error.missing else error.general
    except NotClaimed:
        return ""
    except AnswerError as error:
        return error.reason


_NUMBER = re.compile(r"([0-9]+)")
_LINE = re.compile(r":([0-9]+)\)(?: \([^()]*\))?\Z")


def in_order(sentences: Iterable[str]) -> list[str]:
    """Return problems or notes sorted by what they are about, and by the line that they end with, in brackets. Numbers
    in them are compared as numbers."""

    def place(sentence: str) -> tuple[list[str | int], int, list[str | int]]:
        subject, _, rest = sentence.partition(": ")
        line = _LINE.search(sentence)
        return _by_number(subject), int(line[1]) if line else 0, _by_number(rest)

    return sorted(sentences, key=place)


def _by_number(text: str) -> list[str | int]:
    return [int(part[:_MOST_DIGITS]) if at % 2 else part for at, part in enumerate(_NUMBER.split(text))]


WEBHOOK = "post-installation-webhook"


class _Webhooks:
    """Answers of Proxmox whose report goes to this service by HTTPS, where the installer does not know its certificate.

    The installer sends one report, and passes over it that it fails: the machine would be installed again and again.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    @cached_property
    def _unknown(self) -> str | None:
        """The fingerprint of a certificate that installers do not know by themselves; None without one."""
        try:
            certificate = self._sources.certificate()
        except CannotFill:  # it is a problem of the answers that need it
            return None
        return None if certificate is None or certificate.is_trusted() else certificate.fingerprint

    def finding(self, answer: Answer) -> Finding | None:
        """Return what is wrong with an answer's webhook."""
        if answer.format.extension != "toml" or self._unknown is None:
            return None
        if REPORT not in prepared_answer(answer.selection.layers, may_be_blank=True).labels():
            return None
        try:
            webhook = tomllib.loads(answer.body.decode()).get(WEBHOOK)
        except tomllib.TOMLDecodeError:  # the validator says it
            return None
        if not isinstance(webhook, dict) or not _REPORT_BY_HTTPS.match(str(webhook.get("url"))):
            return None
        given = webhook.get("cert-fingerprint", webhook.get("cert_fingerprint"))
        if given is None:
            fault, path = "is missing: the installer does not know", f"{WEBHOOK}.url"
        elif str(given).replace(":", "").upper() != self._unknown.replace(":", ""):
            fault, path = "is not that of", f"{WEBHOOK}.cert-fingerprint"
        else:
            return None
        return Finding(
            f"{WEBHOOK}.cert-fingerprint {fault} the certificate of this service, so its one report is lost: "
            f'write cert-fingerprint = "{{{{ service.fingerprint }}}}"',
            path,
        )


def _file_verdict(found: Findings, judge: _Judge, trial: CheckCase, answer: Answer, sources: Sources) -> None:
    """Record what the installer would say to an answer."""
    verdict = judge.verdict(answer, lambda: known_values(judge.catalogue, answer, trial.facts, sources))
    for finding in judge.placed(verdict.findings, answer):
        _file(found, f"{trial.label}: {finding}", trial)
    found.notes.update(f"{trial.label}: {warning}" for warning in judge.placed(verdict.warnings, answer))


class _SilentInstalls:
    """The documents with ``once`` that install machines which cannot report that they are done."""

    def __init__(self) -> None:
        self._machines: dict[Document, dict[str, str]] = {}
        self._reporting: set[str] = set()

    def record(self, name: str, answer: Answer) -> None:
        """Count an answer that a machine of this name would get."""
        layers = answer.selection.layers
        machine = identity_of(name)
        if REPORT in prepared_answer(layers, may_be_blank=True).labels():
            self._reporting.add(machine)
        deciding = next((layer for layer in reversed(layers) if layer.control.once is not None), None)
        if deciding is not None and deciding.control.once is not Once.OFF:
            self._machines.setdefault(deciding, {}).setdefault(machine, name)

    def record_untried(self, name: str) -> None:
        """Count a machine with an answer that could not be made: it may have the report."""
        self._reporting.add(identity_of(name))

    def notes(self) -> Iterator[str]:
        """Yield a note for each of these documents."""
        for document, machines in self._machines.items():
            silent = [name for machine, name in machines.items() if machine not in self._reporting]
            if silent:
                who = "its machines"
                if len(silent) < len(machines):
                    who = f"{len(silent)} of its {len(machines)} machines, such as {printable(silent[0])},"
                yield (
                    f"{document.key}: once, but no answer of {who} has {{{{ report }}}}: "
                    "nothing will say when an install is done"
                )


@dataclass(frozen=True, slots=True)
class _Rendering:
    """Renders the answers of check cases. An answer that cannot be made is recorded in ``found``."""

    catalogue: Catalogue
    sources: Sources
    found: Findings
    labels: MissingLabels

    def answer(self, trial: CheckCase) -> Answer | None:
        found = self.found
        try:
            return resolve(self.catalogue, trial.facts, trial.extensions, trial.assumed, sources=self.sources)
        except CannotFill as error:
            if not error.missing:
                _file(found, f"{trial.label}: {error.general}", trial)
            elif lacking := self._lacking(trial):
                found.notes.add(f"{trial.label}: not tried whole, only a request has {lacking}")
        except NotClaimed as error:
            if trial.document is not None and trial.document.control.overlay is not None:
                found.notes.add(f"{trial.label}: not tried, only a request tells what it is laid over")
            else:
                _file(found, f"{trial.label}: {error.reason}", trial)
        except AnswerError as error:
            # A problem of the set is not repeated for each machine that it affects.
            _file(found, error.reason if error.reason in found.problems else f"{trial.label}: {error.reason}", trial)
        return None

    def _lacking(self, trial: CheckCase) -> str:
        """Return the labels that only a request of this machine can have, in words; empty where there are none."""
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

        known = [repr(brief(label)) for label in self.labels.record(selection.layers, trial.identifier, has)]
        return f"the fact{'s' if len(known) > 1 else ''} {join_brief(known)}" if known else ""


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
    inventory = catalogue.inventory
    if inventory is None:
        return
    for layout, table in inventory.by_layout.items():
        yield from (f"{printable(layout.source)}:{table.header_line}: {note}" for note in layout.notes)
    yield from inventory.shared_notes()
    yield from inventory.nameless_notes()
    for row in inventory.rows():
        yield from (f"{inventory.place(row)}: {note}" for note in row_notes(row.layout, row.cells()))


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


class _Judge:
    """The validators, with notes about themselves collected in ``notes``."""

    def __init__(self, tools: Tools, catalogue: Catalogue) -> None:
        self.tools = tools
        self.catalogue = catalogue
        self.inventory = catalogue.inventory
        self.notes: set[str] = set()
        self._tool_runs: dict[str, int] = {}
        self._verdicts: dict[tuple[str, bytes], Verdict] = {}

    def verdict(self, answer: Answer, secrets: Callable[[], Collection[str]]) -> Verdict:
        """Return an installer's verdict on the answer. Answers with the same text are judged once. ``secrets`` is as
        for `validate`."""
        extension = answer.format.extension
        name = extension, hashlib.sha256(answer.body).digest()
        if name not in self._verdicts:
            verdict = self._verdicts[name] = self._judged(extension, answer.body.decode(), secrets)
            self.notes.update(f"{extension}: {note}" for note in verdict.notes)
        return self._verdicts[name]

    def _judged(self, extension: str, text: str, secrets: Callable[[], Collection[str]]) -> Verdict:
        tool = TOOL_OF_FORMAT.get(extension)
        if tool in self.tools.paths:
            verdict = validate(text, extension, tools=Tools.none(), secrets=secrets)
            if verdict.findings:
                return verdict  # the program would say the same in its words
            runs = self._tool_runs[extension] = self._tool_runs.get(extension, 0) + 1
            if runs > TOOL_RUNS:
                self.notes.add(f"{extension}: {tool} was asked about {TOOL_RUNS} answers only")
                return verdict
        return validate(text, extension, tools=self.tools, secrets=secrets)

    def placed(self, findings: tuple[Finding, ...], answer: Answer) -> list[str]:
        """Return findings with the document and line that each is about."""
        if not findings:
            return []
        needs_lines = any(not finding.path or finding.line is not None for finding in findings)
        found = origins(answer, self.inventory, with_lines=needs_lines)
        placing = Placing(answer, found)
        return [placing.placed(finding.message, finding.path, finding.line) for finding in findings]
