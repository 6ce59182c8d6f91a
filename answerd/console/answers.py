"""The answer to a request, laid out for a page: each line with its origin, the validator's findings, why it won."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from answerd.answers.answer_secrets import known_values, redacted_answer
from answerd.answers.catalogue import Catalogue
from answerd.answers.explain import LONGEST_PLACE, Origin, Place, Placing, origins
from answerd.answers.near_misses import with_hints
from answerd.answers.resolve import Answer, resolve
from answerd.answers.sources import Sources
from answerd.answers.why import NEEDS, Step, reasoning
from answerd.console.places import place_address, row_address
from answerd.errors import AnswerError, NotClaimed
from answerd.facts import Facts
from answerd.formats import FORMATS
from answerd.long_work import run_long
from answerd.short_texts import brief
from answerd.validators import Tools, validate

LONGEST_JUDGED = 65_536
"""Bytes of an answer that a page judges: of 64 KB of kickstart sections pykickstart takes 4 s."""

LINES_ON_A_PAGE = 500
"""Lines of an answer that a page has: each takes some 250 bytes more than its text, and an answer may have 250,000."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an answer. ``origins`` are the places that its first value came from, each with the address of its
    line: that in a document, and that of the row which filled it."""

    number: int
    text: str
    origins: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Resolved:
    """One answer, laid out, or the ``reason`` why there is none. ``format`` is the extension that was asked for, empty
    for any.

    ``lines`` are those of page number ``page``, of ``pages``. ``findings`` are those of the built-in rules,
    ``warnings`` their warnings.
    """

    format: str
    composition: str = ""
    lines: Sequence[Line] = ()
    page: int = 1
    pages: int = 1
    findings: Sequence[str] = ()
    warnings: Sequence[str] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Tried:
    """An answer that is not laid out, or the ``reason`` why there is none. ``format`` is the extension that was asked
    for, empty for any."""

    format: str
    answer: Answer | None = None
    reason: str = ""
    is_unclaimed: bool = False

    @property
    def default_only(self) -> bool:
        """Whether only the default answers."""
        selection = self.answer.selection if self.answer else None
        return selection is not None and selection.default is not None and not (selection.machine or selection.group)


class Resolver:
    """Answers of one set, with the secrets and states that the service fills in."""

    def __init__(self, catalogue: Catalogue, sources: Sources, *, show_secrets: bool = False) -> None:
        self._catalogue = catalogue
        self._sources = sources
        self._show_secrets = show_secrets

    def resolved(self, facts: Facts, page: int = 1) -> Resolved:
        """Return the answer to a request, laid out. Long work runs in a thread."""
        return self.laid_out(self._tried(facts), facts, page)

    def in_each_format(self, facts: Facts, first: Container[str] = ()) -> list[Tried]:
        """Return the answers in every format in which a document other than a default claims the request; those of the
        formats in ``first`` come first."""
        tried = [self._tried(facts, extension) for extension in sorted(FORMATS, key=lambda one: one not in first)]
        return [answer for answer in tried if not answer.is_unclaimed and not answer.default_only]

    def outcome(self, facts: Facts) -> tuple[Tried, Sequence[str]]:
        """Return what a request would get now, in the format that its path asks for; where it lacks a fact, also the
        places that need it, as sentences."""
        tried = self._tried(facts)
        steps = self.steps(facts) if tried.answer is None else ()
        return tried, [step.sentence for step in steps if step.heading == NEEDS]

    def _tried(self, facts: Facts, extension: str = "") -> Tried:
        extensions = (extension,) if extension else None
        try:
            answer = run_long(lambda: resolve(self._catalogue, facts, extensions, sources=self._sources))
        except AnswerError as error:
            return Tried(
                extension,
                reason=with_hints(error, facts.knowing(self._catalogue.shared)),
                is_unclaimed=isinstance(error, NotClaimed),
            )
        return Tried(extension, answer)

    def laid_out(self, tried: Tried, facts: Facts, page: int = 1) -> Resolved:
        """Return an answer with one page of its lines; the last for a number beyond it. Long work runs in a thread."""
        answer = tried.answer
        if answer is None:
            return Resolved(tried.format, reason=tried.reason)
        try:
            return run_long(lambda: self._laid_out(answer, facts, tried.format, page))
        except AnswerError as error:
            return Resolved(tried.format, reason=with_hints(error, facts.knowing(self._catalogue.shared)))

    def steps(self, facts: Facts, extension: str = "") -> Sequence[Step]:
        """Return the reasoning behind an answer in one format or in any, step by step (`answerd.answers.why`)."""
        extensions = (extension,) if extension else None
        return run_long(lambda: reasoning(self._catalogue, facts, extensions, sources=self._sources).steps)

    def _laid_out(self, answer: Answer, facts: Facts, extension: str, page: int) -> Resolved:
        inventory = self._catalogue.inventory
        found = origins(answer, inventory)
        of_row = row_address(self._catalogue, answer.row) if answer.row is not None else ""
        texts = self._text(answer, facts).rstrip("\n").split("\n")
        pages = -(-len(texts) // LINES_ON_A_PAGE)
        page = min(max(page, 1), pages)
        shown = range((page - 1) * LINES_ON_A_PAGE, min(page * LINES_ON_A_PAGE, len(texts)))
        by_line: dict[int, Sequence[tuple[str, str]]] = {}
        for origin in found:
            number = origin.answer_line
            if number is not None and number - 1 in shown and origin.place is not None and number not in by_line:
                by_line[number] = _places(origin, origin.place, of_row)
        findings, warnings = self._judged(answer, facts, found)
        return Resolved(
            extension or answer.format.extension,
            answer.composition,
            tuple(Line(at + 1, texts[at], by_line.get(at + 1, ())) for at in shown),
            page,
            pages,
            findings,
            warnings,
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


def _places(origin: Origin, place: Place, of_row: str) -> Sequence[tuple[str, str]]:
    key = place.document.key
    found = [(brief(str(place), LONGEST_PLACE), place_address(key, place.line or 0))]
    return [*found, (brief(origin.row, LONGEST_PLACE), of_row)] if origin.row else found
