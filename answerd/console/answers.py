"""What a request would get, laid out for a page: each line with its origin, what a validator says, why it won."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from answerd.answers.catalogue import Catalogue
from answerd.answers.masking import masked
from answerd.answers.near_misses import with_hints
from answerd.answers.provenance import Placing, origins
from answerd.answers.reasoning import Step, reasoning
from answerd.answers.resolve import Answer, resolve
from answerd.errors import AnswerError, NotClaimed
from answerd.facts import Facts
from answerd.formats import FORMATS
from answerd.validators import Tools, validate


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an answer. ``origin`` is the place that its first value came from, empty where nothing tells it."""

    number: int
    text: str
    origin: str


@dataclass(frozen=True, slots=True)
class Resolved:
    """One answer, or the ``reason`` why there is none. ``format`` is the extension that was asked for, empty for any.

    ``findings`` are what the built-in rules refuse, ``warnings`` what they doubt.
    """

    format: str
    composition: str = ""
    lines: Sequence[Line] = ()
    findings: Sequence[str] = ()
    warnings: Sequence[str] = ()
    reason: str = ""
    default_only: bool = False


def resolved(catalogue: Catalogue, facts: Facts, extension: str = "", *, show_secrets: bool = False) -> Resolved:
    """Return the answer to a request. Runs in a thread where the work is long (`Catalogue.elsewhere`)."""
    extensions = (extension,) if extension else None
    try:
        return catalogue.elsewhere(lambda: _laid_out(resolve(catalogue, facts, extensions), extension, show_secrets))
    except AnswerError as error:
        return Resolved(extension, reason=with_hints(error, facts))


def in_each_format(catalogue: Catalogue, facts: Facts, *, show_secrets: bool = False) -> list[Resolved]:
    """Return the answers in every format in which a document other than a default claims the request."""
    return [answer for answer in _tried(catalogue, facts, show_secrets=show_secrets) if not answer.default_only]


def _tried(catalogue: Catalogue, facts: Facts, *, show_secrets: bool) -> Iterator[Resolved]:
    for extension in FORMATS:
        try:
            resolve(catalogue, facts, (extension,))
        except NotClaimed:
            continue
        except AnswerError:
            pass  # told by the page
        yield resolved(catalogue, facts, extension, show_secrets=show_secrets)


def steps(catalogue: Catalogue, facts: Facts) -> Sequence[Step]:
    """Return the reasoning behind an answer, step by step (`answerd.answers.reasoning`)."""
    return catalogue.elsewhere(lambda: reasoning(catalogue, facts).steps)


def _laid_out(answer: Answer, extension: str, show_secrets: bool) -> Resolved:
    text = answer.body.decode("utf-8", "replace")
    found = origins(answer)
    by_line: dict[int, str] = {}
    for origin in found:
        if origin.answer_line is not None and origin.place is not None:
            by_line.setdefault(origin.answer_line, str(origin.place))
    shown = text if show_secrets else masked(text, text, answer.format)[0]
    findings: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    if not answer.side_file:
        verdict = validate(text, answer.format.extension, tools=Tools.none())
        placing = Placing(answer, found)
        findings = tuple(placing.placed(one.message, one.path, one.line) for one in verdict.findings)
        warnings = tuple(placing.placed(one.message, one.path, one.line) for one in verdict.warnings)
    lines = tuple(
        Line(number, line, by_line.get(number, "")) for number, line in enumerate(shown.rstrip("\n").split("\n"), 1)
    )
    selection = answer.selection
    default_only = selection.default is not None and selection.machine is None and selection.group is None
    return Resolved(
        extension or answer.format.extension, answer.composition, lines, findings, warnings, default_only=default_only
    )
