"""Documents: what a store hands out, and what one document is once it is read (SPEC 3, 5).

A `RawDocument` is text and a name; a `Document` is that text understood, each at most once. Nothing here knows the
other documents: what follows from several of them together is the catalogue's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from answerd.formats import ALIASES, FORMATS
from answerd.formats.control import Control, read_control
from answerd.formats.family import Family, ParseError, Prepared, Tree
from answerd.formats.template import TemplateReader
from answerd.identity import Kind, identifier_fault, identity, shown

BYTE_ORDER_MARK = "\ufeff"


class Key(NamedTuple):
    """What a document is stored under. ``identifier`` is empty for a default; ``format`` is the extension."""

    kind: Kind
    identifier: str
    format: str

    def __str__(self) -> str:
        """As problems name it: ``machine "98fa9b50d810" (toml)``."""
        name = f' "{shown(self.identifier)}"' if self.kind is not Kind.DEFAULT else ""
        return f"{self.kind}{name} ({self.format})"

    @property
    def name(self) -> tuple[Kind, str, str]:
        """Kind, identity and format: at most one document may have all three."""
        return self.kind, identity(self.identifier), self.format

    @property
    def fault(self) -> str | None:
        """What is wrong with its identifier; None when nothing is."""
        if self.kind is Kind.DEFAULT:
            return "a default has no identifier" if self.identifier else None
        return identifier_fault(self.kind, self.identifier)


@dataclass(frozen=True, eq=False, slots=True)
class RawDocument:
    """One document as a store holds it. The same object for as long as its text does not change.

    ``text`` is exactly what was written. ``fault`` says why it could not be read; then ``text`` is empty. ``source``
    is where it stands (a file's path below the answers directory), empty where its key says all.
    """

    key: Key
    text: str
    source: str = ""
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """A document's text, understood.

    ``tree`` has no control keys and its placeholders read. ``verbatim``: served alone, it is served as it was written.
    ``problems`` are sentences without the document's name. ``readable`` is False when it does not parse, or nobody can
    say what it claims; then ``tree`` is None, and the first of ``problems`` says why.
    """

    tree: Tree
    control: Control
    problems: tuple[str, ...]
    readable: bool
    verbatim: bool


class Document:
    """One document of an answer set. Immutable; two are the same only when they are one object."""

    def __init__(self, raw: RawDocument) -> None:
        self.raw = raw
        self.key = raw.key
        self.identity = identity(raw.key.identifier)
        # What `answerd.answers.compose` made of the stacks that this document is the top of, with those stacks.
        self.prepared: tuple[tuple[Document, ...], Prepared] | None = None
        self.merged: tuple[tuple[Document, ...], Tree] | None = None

    def __repr__(self) -> str:
        return f"<{self.key}>"

    @property
    def is_shared(self) -> bool:
        """Whether other documents may be laid over it."""
        return self.key.kind is Kind.GROUP

    @property
    def family(self) -> Family:
        """The family that reads its format."""
        return FORMATS[self.key.format].family

    @property
    def text(self) -> str:
        """The text as it is served and parsed: without a byte order mark."""
        return self.raw.text.removeprefix(BYTE_ORDER_MARK)

    @cached_property
    def content(self) -> Content:
        """The text understood; parsed when it is first asked for."""
        return read_content(self.key.kind, self.family, self.text, self.raw.fault)

    @property
    def control(self) -> Control:
        """Its control keys."""
        return self.content.control

    @cached_property
    def name_fault(self) -> str | None:
        """What is wrong with its name, whatever it holds."""
        fault = self.key.fault
        if fault is None and self.is_named_like_an_alias:
            fault = (
                f"{self.identity!r} is a URL segment that asks for a format, so this machine claims nothing: "
                "was a default or a group meant?"
            )
        return f"{fault} ({shown(self.raw.source)})" if fault and self.raw.source else fault

    @property
    def is_named_like_an_alias(self) -> bool:
        """Whether it is a machine whose name is an endpoint alias: such a document claims nothing."""
        return self.key.kind is Kind.MACHINE and self.identity in ALIASES

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with this document by itself, without its name; reads it when it was not read yet."""
        name_fault = self.name_fault
        return (name_fault, *self.content.problems) if name_fault else self.content.problems


def read_content(kind: Kind, family: Family, text: str, fault: str | None = None) -> Content:
    """A document's text, understood as far as it can be. Never raises: what is wrong stands in ``problems``."""
    if fault is not None:
        return Content(None, Control(), (fault,), readable=False, verbatim=False)
    try:
        parsed = family.parse(text)
        written, tree = family.control(parsed)
    except ParseError as error:
        return Content(None, Control(), (f"does not parse: {error}",), readable=False, verbatim=False)
    control = read_control(written, kind)
    problems = control.problems
    placeholders = False
    if control.template:
        reader = TemplateReader()
        tree = family.placeholders(tree, reader)
        problems += tuple(dict.fromkeys(reader.problems))
        placeholders = reader.found
    plain = not placeholders and not written.values and not written.faults
    if not control.claims_known:
        return Content(None, control, problems, readable=False, verbatim=False)
    return Content(tree, control, problems, readable=True, verbatim=plain)
