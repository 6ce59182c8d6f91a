"""The rules of selection, merging and filling as data: documents, requests, and the answer or the sentence
(tests/cases/).

A file has ``cases``, and may have ``shared``: values that its cases repeat, by YAML's anchors. A case is

``rule``
    A sentence that no other case has.
``documents``
    Texts by their names in the flat layout (docs/formats.md#the-files). One text of several documents has their names
    as a shell spells them: ``n1.{yaml,json}``.
``problems``
    A part of the sentence of each problem of the set; none without it.
``asked``
    Requests. ``ask`` is path and query, or several: ``/{ks,cfg}?h={n1,n2}`` is four. ``headers`` are beside it, and
    with ``json`` or ``body`` it is a POST. The answer is ``answer``, its text; or ``reads``, what the format's own
    reader finds in it, types included, as a value or as a text of the format; or ``status`` with ``says``, a part of
    the sentence. ``format`` is its extension and ``composition`` the log's words.
``check``
    What ``answerd check`` says: parts of sentences of its ``problems`` and ``notes``, where an empty list is that there
    are none; ``nothing_of`` are words that no sentence has. A step with it may leave out ``problems``.
``states``
    The service keeps states of installs.
``then``
    What happens next, as often as there are entries: ``remove`` names documents, ``documents`` are written; then
    ``problems`` and ``asked`` as above.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml

from answerd.check import CheckReport, check
from answerd.errors import AnswerError
from answerd.server.answer_statuses import OF_ERRORS
from answerd.server.statuses import OK
from answerd.validators import Tools
from tests.support.fleet import Fleet, key_of
from tests.support.installs import RememberedInstalls

FOLDER = Path(__file__).parents[1] / "cases"


@dataclass(frozen=True)
class Asked:
    """A request, and what it must get."""

    ask: str
    answer: str | None = None
    reads: Any = None
    status: int = OK
    says: str = ""
    format: str = ""
    composition: str = ""
    headers: Mapping[str, str] | None = None
    json: Any = None
    body: str = ""

    @property
    def sent(self) -> bytes:
        """The body of the request."""
        return json.dumps(self.json).encode() if self.json is not None else self.body.encode("latin-1")


@dataclass(frozen=True)
class Step:
    """Documents that are written and removed, and what holds then."""

    documents: Mapping[str, str]
    remove: Sequence[str]
    problems: Sequence[str] | None
    asked: Sequence[Asked]
    check: Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Case:
    """A rule, with the steps that show it."""

    rule: str
    steps: Sequence[Step]
    states: bool = False


def cases_of(path: Path) -> Iterator[Case]:
    """Yield the cases of a file. Raises where one has a field that does not exist."""
    for written in yaml.load(path.read_text("utf-8"), yaml.CSafeLoader)["cases"]:
        rule, states, then = written.pop("rule"), written.pop("states", False), written.pop("then", [])
        yield Case(rule, [_step(**written), *(_step(**step) for step in then)], states)


def _step(
    documents: Mapping[str, str] | None = None,
    remove: Sequence[str] = (),
    problems: Sequence[str] | None = None,
    asked: Sequence[Mapping[str, Any]] = (),
    check: Mapping[str, Sequence[str]] | None = None,
) -> Step:
    said = problems if problems is not None or check is not None else ()
    texts = {name: text for names, text in (documents or {}).items() for name in spelled(names)}
    each = [Asked(ask, **one) for one in ({**one} for one in asked) for ask in spelled(one.pop("ask"))]
    return Step(texts, remove, said, each, check or {})


def spelled(text: str) -> list[str]:
    """Return what a text with alternatives in braces stands for."""
    before, _, rest = text.partition("{")
    alternatives, closed, after = rest.partition("}")
    return [before + one + end for one in alternatives.split(",") for end in spelled(after)] if closed else [text]


def all_cases() -> dict[str, Case]:
    """Return every case by the name of its file and its rule."""
    found = [(f"{path.stem}: {case.rule}", case) for path in sorted(FOLDER.glob("*.yaml")) for case in cases_of(path)]
    assert len({name for name, _ in found}) == len(found), "two cases have one rule"
    return dict(found)


def holds_in(fleet: Fleet, case: Case) -> None:
    """Require that a case holds in an answer set that is asked in process."""
    names: set[str] = set()
    if case.states:
        fleet = fleet.remembering(RememberedInstalls(url="http://answers.example.com"))
    for step in case.steps:
        for name in step.remove:
            fleet.remove(name)
        fleet.write(step.documents)
        names |= step.documents.keys()
        if step.problems is not None:
            _compare_problems(fleet.problems(), step.problems, [str(key_of(name)) for name in names])
        if step.check:
            _compare_check(check(fleet.loader.catalogue, Tools.none(), sources=fleet.sources), **step.check)
        for asked in step.asked:
            headers = {name.replace("-", "_"): value for name, value in (asked.headers or {}).items()}
            try:
                answer = fleet.ask(asked.ask, body=asked.sent, **headers)
            except AnswerError as error:
                compare(asked, OF_ERRORS[type(error)], error.reason)
                continue
            compare(asked, OK, answer.body.decode(), answer.format.extension)
            if asked.composition:
                assert answer.composition == asked.composition, asked.ask


def _compare_problems(found: Sequence[str], said: Sequence[str], documents: Collection[str]) -> None:
    assert len(found) == len(said), found
    for part in said:
        assert [problem for problem in found if part in problem], (part, found)
    for problem in found:
        assert problem.isprintable()
        assert [one for one in documents if problem.startswith(f"{one}: ")], problem


def _compare_check(
    report: CheckReport,
    problems: Sequence[str] | None = None,
    notes: Sequence[str] | None = None,
    nothing_of: Sequence[str] = (),
) -> None:
    for found, parts in ((report.problems, problems), (report.notes, notes)):
        assert parts is None or parts or not found, found
        for part in parts or ():
            assert [sentence for sentence in found if part in sentence], (part, report.problems, report.notes)
    sentences = [*report.problems, *report.notes]
    assert [sentence for sentence in sentences if any(word in sentence for word in nothing_of)] == []


def compare(asked: Asked, status: int, text: str, extension: str = "") -> None:
    """Require that a request got what its case says. ``extension``: the format of the answer; empty for an error."""
    assert status == asked.status, (asked.ask, text)
    assert asked.says in text, (asked.ask, text)
    if asked.answer is not None:
        assert text == asked.answer, asked.ask
    if asked.reads is not None:
        read = READ[extension]
        expected = read(asked.reads) if isinstance(asked.reads, str) else asked.reads
        assert with_types(read(text)) == with_types(expected), (asked.ask, text)
    if asked.format:
        assert extension == asked.format, asked.ask


def _element(text: str) -> Any:
    """Return an XML document with its names by namespace, without white space between elements."""
    return _seen(ElementTree.fromstring(text.encode()))


def _seen(element: ElementTree.Element) -> Any:
    text = element.text or ""
    return element.tag, element.attrib, text.strip() if len(element) else text, [_seen(child) for child in element]


READ: Mapping[str, Callable[[str], Any]] = {
    "toml": tomllib.loads,
    **dict.fromkeys(("yaml", "yml"), yaml.safe_load),
    **dict.fromkeys(("json", "ign"), json.loads),
    **dict.fromkeys(("xml", "autoyast", "unattend"), _element),
}
"""What each format's own reader finds in an answer."""


def with_types(value: Any) -> Any:
    """Return a value with the type of each part, so that 1, 1.0 and true differ."""
    if isinstance(value, dict):
        return {key: with_types(below) for key, below in value.items()}
    if isinstance(value, list):
        return [with_types(below) for below in value]
    return type(value).__name__, value
