"""The XML tree, with elements in their order and text as written, and its reader, which uses expat.

The tree is read with expat, the parser that xmltodict uses, and not with xmltodict. xmltodict puts children into a dict
by name: it loses the order of differently named siblings (``a b a`` becomes ``a a b``), puts the text of mixed content
into one string, strips white space that an AutoYaST script needs, reports neither CDATA nor positions, and drops an
undefined ``&entity;`` where a doctype names a DTD. A document with any of these would have to be refused; this tree
keeps them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from html.entities import name2codepoint
from typing import NamedTuple, NoReturn
from xml.parsers import expat

from answerd.formats.family import DEEPEST, ParseError, line_and_column
from answerd.formats.template import Template

WHITE = " \t\r\n"
"""The white space of XML; a no-break space is text."""


@dataclass(frozen=True, slots=True)
class Text:
    """A run of text; ``cdata`` where it is in a CDATA section. A `Template` may replace the text."""

    value: str | Template
    cdata: bool = False


@dataclass(frozen=True, slots=True)
class Instruction:
    """A processing instruction among an element's children, as written."""

    source: str


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """What prefixes mean at an element: those that it declares, and what they mean around it. The empty prefix is that
    of names without one."""

    declared: Mapping[str, str]
    outer: Scope | None = None

    def meaning(self, prefix: str) -> str | None:
        """Return the namespace of a prefix, empty for none; None where it is declared nowhere."""
        scope: Scope | None = self
        while scope is not None:  # at most as many steps as there are levels
            found = scope.declared.get(prefix)
            if found is not None:
                return found
            scope = scope.outer
        return None


NO_DECLARATIONS: Mapping[str, str] = {}
OUTERMOST = Scope({"": ""})


@dataclass(frozen=True, slots=True)
class Element:
    """An element: its name as written (prefix included), attributes and content, all in their order.

    ``declared`` are the prefixes that it declares, which are no attributes; ``scope`` gives those in its name and its
    attributes their meaning.
    """

    name: str
    attributes: Mapping[str, str | Template]
    content: tuple[Element | Text | Instruction, ...]
    line: int = field(default=0, compare=False)
    declared: Mapping[str, str] = field(default_factory=dict)
    scope: Scope = field(default=OUTERMOST, compare=False)

    @property
    def full_name(self) -> str:
        """The name with its namespace in place of its prefix."""
        prefix, colon, local = self.name.rpartition(":")
        return _full(self.name, self.scope.meaning(prefix if colon else ""), local)

    def full_label(self, label: str) -> str:
        """Return an attribute's label in the same way: without a prefix it is in no namespace."""
        prefix, colon, local = label.rpartition(":")
        return _full(label, self.scope.meaning(prefix), local) if colon else label

    def elements(self) -> list[Element]:
        return [item for item in self.content if isinstance(item, Element)]

    def text(self) -> str:
        """The plain text, without templates and children, and without white space around it."""
        runs = [item.value for item in self.content if isinstance(item, Text) and isinstance(item.value, str)]
        return "".join(runs).strip(WHITE)


def _full(written: str, namespace: str | None, local: str) -> str:
    return f"{{{namespace}}}{local}" if namespace else written


META = "answer-meta"
"""The element that has a document's control keys."""


@dataclass(frozen=True, slots=True)
class XmlDocument:
    """A root element with the declaration, doctype, instructions and comments around it.

    ``around`` maps a kind to its texts as written: ``xml`` (the declaration), ``doctype``, ``?target`` and a comment's
    own text before the root, ``>target`` for a processing instruction after it.
    """

    around: Mapping[str, tuple[str, ...]]
    root: Element


class Shape(Enum):
    """The kind of an element's content. White space alone is nothing, unless it is CDATA or
    ``xml:space="preserve"``."""

    EMPTY = "nothing"
    TEXT = "text"
    ELEMENTS = "elements"
    MIXED = "text and elements mixed"


def shape(element: Element) -> Shape:
    """Return the shape of an element's content. A processing instruction counts as mixed content: its position is
    kept."""
    has_elements = has_text = False
    for item in element.content:
        if isinstance(item, Element):
            has_elements = True
        elif isinstance(item, Instruction):
            return Shape.MIXED
        elif item.cdata or isinstance(item.value, Template) or item.value.strip(WHITE):
            has_text = True
    if has_elements:
        return Shape.MIXED if has_text else Shape.ELEMENTS
    kept = element.content and element.attributes.get("xml:space") == "preserve"
    return Shape.TEXT if has_text or kept else Shape.EMPTY


MOST_DECLARED = 100
"""Attributes that a doctype may declare. No profile of an installer declares any."""

LONGEST_NAMESPACE = 256
"""Characters of a namespace. One that means something else around an element is declared at each such element."""

_PREDEFINED = frozenset({"lt", "gt", "amp", "apos", "quot"})
_REFERENCE = re.compile(r"&([^\s;&#<]+);")
_QUOTED = r""""[^"]*+"|'[^']*+'"""
_COMMENT = r"<!--(?:[^-]++|-(?!->))*-->"
_INSTRUCTION = r"<\?(?P<target>[^\s?]++)(?:[^?]++|\?(?!>))*\?>"
_SUBSET = rf"""\[(?:{_QUOTED}|{_COMMENT}|<\?(?:[^?]++|\?(?!>))*\?>|<(?!!--|\?)|[^\]"'<]++)*\]"""
_BEFORE_ROOT = re.compile(
    rf"(?P<instruction>{_INSTRUCTION})|(?P<comment>{_COMMENT})"
    rf"""|(?P<doctype><!DOCTYPE(?:{_QUOTED}|{_SUBSET}|[^>\["']++)*>)"""
)
"""The parts of a prolog that expat has found well-formed."""


def read(text: str) -> XmlDocument:
    """Return the tree of a text. Raises `ParseError` with line and column.

    Only XML's own five entities are expanded, and nothing is fetched.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    reader = _Reader(text)
    document = reader.read()
    if reader.leads_elsewhere:
        # Where a doctype points to external declarations, expat drops references to them silently. Without the doctype
        # they are undefined, as they are here.
        start, end = reader.doctype_span
        _Reader(text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]).read()
    return document


class _Open(NamedTuple):
    """An element whose end has not been read yet."""

    name: str
    attributes: dict[str, str]
    content: list[Element | Text | Instruction]
    line: int
    declared: Mapping[str, str]
    scope: Scope


class _Reader:
    """Reads a text with expat."""

    def __init__(self, text: str) -> None:
        self.source = text
        self.around: dict[str, list[str]] = {}
        self.declared = 0
        self.declares = "xmlns" in text
        self.doctype_span = (0, 0)
        self.leads_elsewhere = False
        self.root: Element | None = None
        self.open: list[_Open] = []
        self.runs: list[str] = []
        self.in_cdata = False
        parser = self.parser = expat.ParserCreate("utf-8")  # the text is decoded already, whatever it declares
        parser.buffer_text = True
        parser.specified_attributes = True  # no defaults out of a doctype
        parser.XmlDeclHandler = self.declaration
        parser.StartDoctypeDeclHandler = self.doctype
        parser.EntityDeclHandler = self.entity
        parser.AttlistDeclHandler = self.attribute_declaration
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.runs.append
        parser.StartCdataSectionHandler = lambda: self.switch_cdata(True)
        parser.EndCdataSectionHandler = lambda: self.switch_cdata(False)
        parser.ProcessingInstructionHandler = self.instruction

    def read(self) -> XmlDocument:
        """Return the document; to be called once. Raises `ParseError`."""
        try:
            if not self.source.strip(WHITE):
                raise ParseError("it is empty", 1, 1)
            self.parser.Parse(self.source.encode(), True)
        except expat.ExpatError as error:
            raise self.fault(error) from None
        except UnicodeEncodeError as error:
            place = line_and_column(self.source, error.start)
            raise ParseError("it holds a lone surrogate, which is no character", *place) from None
        finally:
            del self.parser  # its handlers refer to this reader: only the garbage collector would free that cycle
        assert self.root is not None  # noqa: S101 - expat finds a root, or it has raised
        around = {kind: tuple(sources) for kind, sources in self.around.items()}
        return XmlDocument(around, self.root)

    def fault(self, error: expat.ExpatError) -> ParseError:
        """Return the `ParseError` for expat's error. Names nothing but HTML's entities: a word that looks like a tag or
        an entity may be the text of a value."""
        reason = expat.ErrorString(error.code) or "not well-formed"
        if error.code == expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]:
            at = len(self.source.encode()[: self.parser.ErrorByteIndex].decode())
            references = (found[1] for found in _REFERENCE.finditer(self.source, at))
            name = next((name for name in references if name not in _PREDEFINED), "")
            shown = f"the entity &{name};" if name in name2codepoint else "this entity"
            reason = f"{shown} is not defined, and none is ever read from a DTD: write &amp; for a plain &"
        elif error.code == expat.errors.codes[expat.errors.XML_ERROR_INVALID_TOKEN]:
            at = self.parser.ErrorByteIndex
            content = self.source.encode()
            if b"<%" in content[max(at - 1, 0) : at + 2]:
                reason = (
                    "<% is ERB: AutoYaST fills it in a document whose extension is erb; a template of another program "
                    "is to be filled by it, and what that makes to be kept"
                )
            elif b"&" in content[max(at - 1, 0) : at + 1]:
                reason = "an & that begins no entity: write &amp; for a plain &"
        elif self.open and error.code == expat.errors.codes[expat.errors.XML_ERROR_TAG_MISMATCH]:
            reason = f"the tag does not close the element that is open, which began on line {self.open[-1].line}"
        return ParseError(reason, error.lineno, error.offset + 1)

    def refuse(self, reason: str) -> NoReturn:
        """Stop at the parser's position."""
        raise ParseError(reason, self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1)

    def declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        """Refuse another encoding: documents and answers are UTF-8, so another name in the declaration would be wrong
        in both.

        Rules: docs/formats.md.
        """
        if encoding and encoding.lower() not in ("utf-8", "utf8"):
            self.refuse("it declares another encoding, but documents are UTF-8: save it as UTF-8 and say so")

    def doctype(self, _name: str, system: str | None, _public: str | None, has_subset: bool) -> None:
        """Keep a doctype as written; its external and internal declarations are not read."""
        self.leads_elsewhere = bool(system or has_subset)

    def entity(self, *_declared: object) -> NoReturn:
        """Refuse a document's own entities: a merge would have to expand them."""
        self.refuse("the doctype declares an entity, and none is ever expanded: write its text out")

    def attribute_declaration(self, *_declared: object) -> None:
        """Limit the attributes that a doctype declares: expat compares each with all before it."""
        self.declared += 1
        if self.declared > MOST_DECLARED:
            self.refuse(f"the doctype declares more than {MOST_DECLARED} attributes")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Open an element."""
        if self.open:
            self.close_run()
        elif self.root is None:
            self.read_prolog(self.source.encode()[: self.parser.CurrentByteIndex].decode())
        if len(self.open) == DEEPEST:
            self.refuse(f"it is nested more than {DEEPEST} levels deep")
        scope = self.open[-1].scope if self.open else OUTERMOST
        declared = NO_DECLARATIONS
        if self.declares and any(label.startswith("xmlns") for label in attributes):
            declared = {}
            for label in [label for label in attributes if label == "xmlns" or label.startswith("xmlns:")]:
                declared[label.partition(":")[2]] = attributes.pop(label)
            if any(len(namespace) > LONGEST_NAMESPACE for namespace in declared.values()):
                self.refuse(f"a namespace has more than {LONGEST_NAMESPACE} characters")
            scope = Scope(declared, scope)
        self.open.append(_Open(name, attributes, [], self.parser.CurrentLineNumber, declared, scope))

    def end(self, _name: str) -> None:
        """Close an element."""
        self.close_run()
        opened = self.open.pop()
        element = Element(
            opened.name, opened.attributes, tuple(opened.content), opened.line, opened.declared, opened.scope
        )
        if self.open:
            self.open[-1].content.append(element)
        else:
            self.root = element

    def switch_cdata(self, inside: bool) -> None:
        """Begin or end a CDATA section."""
        self.close_run()
        self.in_cdata = inside

    def close_run(self) -> None:
        """Make one `Text` of the text since the last element: comments and expat's own pieces do not divide it."""
        if self.runs:
            self.open[-1].content.append(Text("".join(self.runs), self.in_cdata))
            self.runs.clear()

    def instruction(self, target: str, data: str) -> None:
        """Keep a processing instruction inside or after the root; those before it are part of the prolog."""
        source = f"<?{target} {data}?>" if data else f"<?{target}?>"
        if self.open:
            self.close_run()
            self.open[-1].content.append(Instruction(source))
        elif self.root is not None:
            self.around.setdefault(f">{target}", []).append(source)

    def read_prolog(self, prolog: str) -> None:
        """Read the parts before the root, by kind."""
        for part in _BEFORE_ROOT.finditer(prolog):
            if part["target"]:
                kind = "xml" if part["target"] == "xml" else f"?{part['target']}"
            elif part["doctype"]:
                kind, self.doctype_span = "doctype", part.span()
            else:
                kind = part["comment"]
            self.around.setdefault(kind, []).append(part[0])
