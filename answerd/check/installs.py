"""Documents whose machines are installed and do not report it, or are installed again, or stop at the next boot.

Rules: docs/check.md#oversights.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from answerd.answers.catalogue import Catalogue
from answerd.answers.compose import Layers, prepared_answer
from answerd.answers.gates import is_loader
from answerd.answers.resolve import Answer
from answerd.answers.sources import REPORT
from answerd.documents import Document
from answerd.errors import AnswerError
from answerd.facts import STATE
from answerd.formats.family import Once
from answerd.identity import identity_of
from answerd.inventory.row import Row
from answerd.short_texts import printable

_WRITTEN = re.compile(r"\{\{\s*report\b")
_STARTS = re.compile(r"^[ \t]*(?:kernel|linux(?:efi|16)?|chain|boot|imgexec|sanboot|configfile)\b", re.MULTILINE | re.I)
_BOOTS_DISK = re.compile(r"^[ \t]*(?:localboot|exit|chainloader|sanboot[^\n]*--drive)\b", re.MULTILINE | re.I)


@dataclass(frozen=True, slots=True)
class _Given:
    """What an answer means for installs. ``document`` claims its machines, ``reporting`` is the highest layer with
    ``{{ report }}``, ``deciding`` the one whose ``once`` counts. ``starts_one``: a loader's script starts something,
    and has no command that boots from the disk."""

    document: Document
    reporting: Document | None
    deciding: Document | None
    starts_one: bool
    is_default: bool = False

    @property
    def format(self) -> str:
        return self.document.key.format

    @property
    def installs_once(self) -> bool:
        return self.deciding is not None and self.deciding.control.once is not Once.OFF

    @property
    def is_at_loader(self) -> bool:
        """Whether its gate is that of the boot loader."""
        return is_loader(self.format) or (self.deciding is not None and self.deciding.control.once is Once.LOADER)


@dataclass(slots=True)
class _Machine:
    """A machine with the answers that are its own. ``is_untried``: one more could not be made."""

    name: str
    given: list[_Given] = field(default_factory=list)
    is_untried: bool = False


@dataclass(slots=True)
class _Affected:
    """The machines of a document, and those of them that a rule is about."""

    found: list[str] = field(default_factory=list)
    total: int = 0

    def count(self, name: str, is_found: bool) -> None:
        self.total += 1
        if is_found:
            self.found.append(name)

    @property
    def who(self) -> str:
        if len(self.found) == self.total:
            return "its machines"
        return f"{len(self.found)} of its {self.total} machines, such as {printable(self.found[0])},"


class Installs:
    """Collects the answers of each machine. A row's answers are those of all its names."""

    def __init__(self, catalogue: Catalogue, untried: Sequence[Document]) -> None:
        """``untried`` are groups that may claim any machine."""
        self._catalogue = catalogue
        self._untried = untried
        self._machines: dict[str, _Machine] = {}
        self._of_stacks: dict[tuple[Layers, Document], _Given] = {}

    def record(self, name: str, answer: Answer) -> None:
        """Count an answer that a machine of this name would get."""
        selection = answer.selection
        document = selection.machine or selection.group or selection.default or selection.layers[-1]
        stack = selection.layers, document
        given = self._of_stacks.get(stack)
        if given is None:
            given = self._of_stacks[stack] = _given(*stack, selection.default is not None)
        self._machine(name).given.append(given)

    def record_untried(self, name: str) -> None:
        """Count a machine with an answer that could not be made: it may have what the others lack."""
        self._machine(name).is_untried = True

    def _machine(self, name: str) -> _Machine:
        identity = identity_of(name)
        inventory = self._catalogue.inventory
        row = inventory.index.get(identity) if inventory is not None else None
        if isinstance(row, Row):
            name, identity = row.name, identity_of(row.name)
        return self._machines.setdefault(identity, _Machine(name))

    def _of_others(self) -> Iterator[_Given]:
        """Yield what documents mean that answer where no other does, or to a request with more than is known here."""
        catalogue = self._catalogue
        for document in (*(one for several in catalogue.defaults.values() for one in several), *self._untried):
            try:
                is_default = not document.is_group
                group = catalogue.extended_by(document) if is_default else document
                layers = catalogue.chain(group) if group is not None else ()
                layers = (*layers, document) if is_default else layers
                if all(layer.content.readable for layer in layers):
                    yield _given(layers, document, is_default)
            except AnswerError:  # it is a problem of its own
                continue

    def _distinct_others(self) -> Sequence[_Given]:
        """Return these without groups that mean the same as another: all machines are compared with each."""
        distinct: dict[object, _Given] = {}
        for given in self._of_others():
            meaning = given.reporting is not None, given.deciding is not None, given.is_at_loader
            distinct.setdefault(given if given.is_default else meaning, given)
        return [*distinct.values()]

    def notes(self) -> Iterator[str]:
        """Yield a note for each document."""
        others = self._distinct_others()
        silent: dict[Document, _Affected] = {}
        repeated: dict[Document, _Affected] = {}
        stopped: dict[Document, _Affected] = {}
        for machine in self._machines.values():
            formats = {given.format for given in machine.given}
            possible = [given for given in others if not (given.is_default and given.format in formats)]
            self._sort(machine, [*machine.given, *possible], silent, repeated, stopped)
        for document, affected in _found(silent):
            yield (
                f"{document.key}: once, but no answer of {affected.who} has {{{{ report }}}}: "
                "nothing will say when an install is done"
            )
        if any(one.label == STATE for document in self._catalogue.documents.values() for one in document.control.match):
            return  # a state may choose the documents, in place of once
        for document, affected in _found(repeated):
            yield (
                f"{document.key}: has {{{{ report }}}}, but no document of {affected.who} has once: "
                "where they boot from the network each time, they install again; write once, or once off"
            )
        for document, affected in _found(stopped):
            yield (
                f"{document.key}: no once, and the installer's answer of {affected.who} has it: "
                "once installed, they boot the installer, which is refused its answer"
            )

    def _sort(
        self,
        machine: _Machine,
        possible: Sequence[_Given],
        silent: dict[Document, _Affected],
        repeated: dict[Document, _Affected],
        stopped: dict[Document, _Affected],
    ) -> None:
        """Count a machine for the documents of its ``possible`` answers."""
        is_known, name = not machine.is_untried, machine.name
        is_silent = is_known and not any(given.reporting for given in possible)
        is_repeated = is_known and not any(given.deciding for given in possible)
        loaders = [given for given in possible if given.is_at_loader]
        is_stopped = (
            is_known
            and any(given.installs_once and not given.is_at_loader for given in machine.given)
            and not any(given.deciding for given in loaders)
        )
        for document in dict.fromkeys(given.deciding for given in machine.given if given.installs_once):
            _count(silent, document, name, is_silent)
        for document in dict.fromkeys(given.reporting for given in machine.given):
            _count(repeated, document, name, is_repeated)
        for document in dict.fromkeys(
            given.document for given in loaders if given.starts_one and (given in machine.given or given.is_default)
        ):
            _count(stopped, document, name, is_stopped)


def _given(layers: Layers, document: Document, is_default: bool) -> _Given:
    """Raises `AnswerError`."""
    reporting = None
    if REPORT in prepared_answer(layers, may_be_blank=True).labels():
        reporting = next((one for one in reversed(layers) if _WRITTEN.search(one.text)), document)
    deciding = next((one for one in reversed(layers) if one.control.once is not None), None)
    texts = [layer.text for layer in layers]
    starts_one = any(map(_STARTS.search, texts)) and not any(map(_BOOTS_DISK.search, texts))
    return _Given(document, reporting, deciding, starts_one, is_default)


def _count(documents: dict[Document, _Affected], document: Document | None, name: str, is_found: bool) -> None:
    if document is not None and (name or is_found):  # a default has no name, and no machine of its own
        documents.setdefault(document, _Affected()).count(name, is_found)


def _found(documents: dict[Document, _Affected]) -> Iterable[tuple[Document, _Affected]]:
    return ((document, affected) for document, affected in documents.items() if affected.found)
