"""The answer to a request, laid out for a page: each line with its origin, the validator's findings, why it won."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from answerd.answers.catalogue import Catalogue
from answerd.answers.explain import LONGEST_PLACE, Origin, Place, Placing, origins
from answerd.answers.near_misses import shortened, with_hints
from answerd.answers.redaction import known_values, redacted_answer
from answerd.answers.resolve import Answer, resolve
from answerd.answers.sources import Sources
from answerd.answers.why import Step, reasoning
from answerd.console.rendering import link
from answerd.errors import AnswerError, NotClaimed
from answerd.facts import Facts
from answerd.formats import FORMATS
from answerd.long_work import run_long
from answerd.validators import Tools, validate

LONGEST_JUDGED = 65_536
"""Bytes of an answer that a page judges: of 64 KB of kickstart sections pykickstart takes 4 s."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an answer. ``origins`` are the places that its first value came from, each with the address of its
    line: that in a document, and that of the row which filled it."""

    number: int
    text: str
    origins: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Resolved:
    """One answer, or the ``reason`` why there is none. ``format`` is the extension that was asked for, empty for any.

    ``findings`` are those of the built-in rules, ``warnings`` their warnings.
    """

    format: str
    composition: str = ""
    lines: Sequence[Line] = ()
    findings: Sequence[str] = ()
    warnings: Sequence[str] = ()
    reason: str = ""
    default_only: bool = False
    is_unclaimed: bool = False


class Resolver:
    """Answers of one set, with the secrets and states that the service fills in."""

    def __init__(self, catalogue: Catalogue, sources: Sources, *, show_secrets: bool = False) -> None:
        self._catalogue = catalogue
        self._sources = sources
        self._show_secrets = show_secrets

    def resolved(self, facts: Facts, extension: str = "") -> Resolved:
        """Return the answer to a request, in one format or in any. Long work runs in a thread."""
        extensions = (extension,) if extension else None

        def resolve_and_lay_out() -> Resolved:
            answer = resolve(self._catalogue, facts, extensions, sources=self._sources)
            return self._laid_out(answer, facts, extension)

        try:
            return run_long(resolve_and_lay_out)
        except AnswerError as error:
            return Resolved(extension, reason=with_hints(error, facts), is_unclaimed=isinstance(error, NotClaimed))

    def in_each_format(self, facts: Facts) -> list[Resolved]:
        """Return the answers in every format in which a document other than a default claims the request."""
        tried = [self.resolved(facts, extension) for extension in FORMATS]
        return [answer for answer in tried if not answer.is_unclaimed and not answer.default_only]

    def steps(self, facts: Facts, extension: str = "") -> Sequence[Step]:
        """Return the reasoning behind an answer in one format or in any, step by step (`answerd.answers.why`)."""
        extensions = (extension,) if extension else None
        return run_long(lambda: reasoning(self._catalogue, facts, extensions, sources=self._sources).steps)

    def _laid_out(self, answer: Answer, facts: Facts, extension: str) -> Resolved:
        inventory = self._catalogue.inventory
        found = origins(answer, inventory)
        of_row = _row_place(self._catalogue, answer)
        by_line: dict[int, Sequence[tuple[str, str]]] = {}
        for origin in found:
            if origin.answer_line is not None and origin.place is not None:
                by_line.setdefault(origin.answer_line, _places(origin, origin.place, of_row))
        findings, warnings = self._judged(answer, facts, found)
        selection = answer.selection
        default_only = selection.default is not None and selection.machine is None and selection.group is None
        lines = tuple(
            Line(number, line, by_line.get(number, ()))
            for number, line in enumerate(self._text(answer, facts).rstrip("\n").split("\n"), 1)
        )
        return Resolved(
            extension or answer.format.extension,
            answer.composition,
            lines,
            findings,
            warnings,
            default_only=default_only,
        )

    def _text(self, answer: Answer, facts: Facts) -> str:
        if self._show_secrets:
            return answer.body.decode("utf-8", "replace")
        return redacted_answer(self._catalogue, answer, facts, self._sources)

    def _judged(self, answer: Answer, facts: Facts, found: Sequence[Origin]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the findings and the warnings of the built-in rules."""
        if answer.side_file:
            return (), ()
        if len(answer.body) > LONGEST_JUDGED:
            return (), (f"it has more than {LONGEST_JUDGED:,} bytes: it is not judged here, but by `answerd check`",)
        verdict = validate(
            answer.body.decode("utf-8", "replace"),
            answer.format.extension,
            tools=Tools.none(),
            secrets=lambda: known_values(self._catalogue, answer, facts, self._sources),
        )
        placing = Placing(answer, found)
        findings, warnings = (
            tuple(placing.placed(finding.message, finding.path, finding.line) for finding in judged)
            for judged in (verdict.findings, verdict.warnings)
        )
        return findings, warnings


def _row_place(catalogue: Catalogue, answer: Answer) -> str:
    """Return the address of the row of an answer; empty where it has none."""
    inventory, row = catalogue.inventory, answer.row
    if inventory is None or row is None:
        return ""
    for raw, table in inventory.tables.items():
        if table.layout is row.layout:
            return link("/console/inventory", name=raw.key.identifier, line=table.line_of(row))
    return ""


def _places(origin: Origin, place: Place, of_row: str) -> Sequence[tuple[str, str]]:
    key = place.document.key
    where = link("/console/document", kind=str(key.kind), name=key.identifier, format=key.format, line=place.line)
    found = [(shortened(str(place), LONGEST_PLACE), where)]
    return [*found, (shortened(origin.row, LONGEST_PLACE), of_row)] if origin.row else found
