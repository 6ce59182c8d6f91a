"""Documents: raw, as a store returns them, and parsed (docs/merging.md#control-keys).

A `RawDocument` is text and a name; a `Document` is that text understood, parsed at most once. Nothing here knows the
other documents: rules about several documents together are the catalogue's.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from answerd.errors import MOST_PROBLEMS
from answerd.formats import ALIASES, FORMATS
from answerd.formats.control import UNKNOWN_OVERLAY, Control, read_control
from answerd.formats.family import AnyFamily, ParseError, Prepared, Tree
from answerd.formats.template import MOST_WORK, TemplateReader
from answerd.formats.text import lines_taken
from answerd.identity import Kind, identifier_fault, identity_of
from answerd.long_work import run_long
from answerd.short_texts import brief, printable

if TYPE_CHECKING:
    from answerd.formats.jinja import JinjaReader

BYTE_ORDER_MARK: Final = "\ufeff"

LARGEST_DOCUMENT: Final = 1_048_576
"""Bytes of a document in UTF-8, in every store. No parser holds the interpreter for 50 ms at this size."""

LARGEST_INVENTORY: Final = 16_777_216
"""Bytes of an inventory in UTF-8: some 100,000 rows."""


LARGE_TEXT: Final = 8_192
"""Characters of a text that take some 10 milliseconds to read: long work."""


DocumentName = tuple[Kind, str, str]
"""Kind, identity and format: at most one document may have all three. Spellings of one identity are one name."""

NameInKind = tuple[str, str]
"""Identity and format: at most one document of a kind may have both."""


class Key(NamedTuple):
    """The key under which a document is stored. ``identifier`` is empty for a default; ``format`` is the extension."""

    kind: Kind
    identifier: str
    format: str

    def __str__(self) -> str:
        """Return it as problems name it: ``machine "98fa9b50d810" (toml)``."""
        name = f' "{printable(self.identifier)}"' if self.kind is not Kind.DEFAULT else ""
        return f"{self.kind}{name} ({self.format})"

    @property
    def name(self) -> DocumentName:
        """Return the name of the document: kind, identity and format, which at most one document may have."""
        return self.kind, identity_of(self.identifier), self.format

    @property
    def fault(self) -> str | None:
        """Return the fault of its identifier; None when there is none."""
        if self.kind is Kind.DEFAULT:
            return "a default has no identifier" if self.identifier else None
        return identifier_fault(self.kind, self.identifier)


@dataclass(frozen=True, eq=False, slots=True)
class RawDocument:
    """A document as a store holds it. The same object for as long as its text does not change.

    ``text`` is exactly what was written. ``fault`` says why it could not be read; then ``text`` is empty, and
    ``fault_line`` is the line at fault, where there is one. ``source`` is its file's path below the answers directory,
    empty where the key identifies the document.
    """

    key: Key
    text: str
    source: str = ""
    fault: str | None = None
    fault_line: int = 1


class NotText(ValueError):
    """Bytes that are no text. ``str()`` says what is wrong, without the document's name; ``line`` is where."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.line = line


def decoded(kind: Kind, content: bytes) -> str:
    """Return the text of a document. Raises `NotText`.

    Text is UTF-8; an inventory may be UTF-16 with a byte order mark, as spreadsheets export it.
    """
    is_wide = kind is Kind.INVENTORY and content.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    encoding = "UTF-16" if is_wide else "UTF-8"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        reason = f"is not {encoding}: byte 0x{content[error.start]:02x} at offset {error.start}"
        if is_wide:
            reason += "; save it as CSV UTF-8"
        else:
            reason += _remedy(content, error.start, "save it as CSV UTF-8, or " if kind is Kind.INVENTORY else "")
        raise NotText(reason, content.count(b"\n", 0, error.start) + 1) from None


_MARKS: Final = (
    (BOM_UTF32_LE, "UTF-32"),  # before UTF-16's, which it begins with
    (BOM_UTF32_BE, "UTF-32"),
    (BOM_UTF16_LE, "UTF-16"),
    (BOM_UTF16_BE, "UTF-16"),
)
_GZIP: Final = b"\x1f\x8b"
_DECLARED: Final = re.compile(rb"""<\?xml[^>]{1,80}?encoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]{1,30})["']""")


def _remedy(content: bytes, at: int, first: str = "") -> str:
    """Return what bytes that are no UTF-8 seem to be, and the command that converts them, as the end of a sentence.

    ``at`` is the offset of the first wrong byte; ``first`` is what to do rather.
    """
    if content.startswith(_GZIP):
        return "; it is compressed: unpack it with gunzip"
    declared = _DECLARED.match(content)
    seems = next((name for mark, name in _MARKS if content.startswith(mark)), None) or _wide(content)
    if seems is None and declared and declared[1].upper() not in (b"UTF-8", b"UTF8"):
        seems = declared[1].decode()
    if seems is None and not content[:at].isascii():
        return ""  # UTF-8 up to there: a character is damaged
    return _conversion(content, seems or "WINDOWS-1252", first)


def _conversion(content: bytes, encoding: str, first: str = "") -> str:
    is_xml = content.lstrip(b"\xff\xfe\0").startswith(b"<")
    xml = ", and let its first line declare no other encoding" if is_xml else ""
    return f"; it seems to be {encoding}: {first}convert it: iconv -f {encoding} -t UTF-8{xml}"


def _wide(content: bytes) -> str | None:
    """Return the name of UTF-16 where every second byte of a text is NUL, as in English without a byte order mark."""
    for first, name in ((1, "UTF-16LE"), (0, "UTF-16BE")):
        some = content[first:2_000:2]
        if some and some.count(0) * 2 > len(some):
            return name
    return None


class Nul(NamedTuple):
    """The first line of a text with the character NUL, and the fault as the end of a sentence about this line."""

    line: int
    fault: str


def nul_in(text: str) -> Nul | None:
    """Return where a text holds the character NUL; None where it does not. PostgreSQL has no place for it, and every
    store holds the same sets."""
    at = text.find("\0")
    if at < 0:
        return None
    content = text[:2_000].encode("utf-8", "surrogatepass")
    wide = _wide(content)
    seems = _conversion(content, wide) if wide else ""
    return Nul(text.count("\n", 0, at) + 1, f"holds the character NUL, which no store keeps{seems}")


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a document's text, without the tree of its values.

    ``verbatim``: served alone, it is served as it was written. ``problems`` are sentences without the document's name.
    ``readable`` is False when it does not parse, or when its claims are not known; then the first of ``problems`` says
    why.
    """

    control: Control
    problems: tuple[str, ...] = ()
    readable: bool = True
    verbatim: bool = False


_NOT_KEPT: Final = Tree(object())
"""A placeholder for a tree that is not parsed yet, or was dropped."""


@dataclass(slots=True, eq=False)
class Stacks:
    """What was made of the stacks with one group on top, by the layers below it: trees that more is laid over, and
    answers. Both are bounded (`answerd.answers.compose`)."""

    merged: dict[tuple[Document, ...], Tree] = field(default_factory=dict)
    prepared: dict[tuple[Document, ...], Prepared] = field(default_factory=dict)


class Document:
    """A document of an answer set; compared by object identity.

    Its text never changes. It is parsed on first access to `content`, `tree` or `problems`; what is read of it, and
    what `answerd.answers.compose` prepares, is kept here.
    """

    # There may be a million of these.
    __slots__ = ("_content", "_problems", "_tree", "has_states", "identity", "key", "prepared", "raw", "stacks")

    def __init__(self, raw: RawDocument, *, has_states: bool = False) -> None:
        """``has_states``: the service keeps states of installs, so ``once`` is no problem."""
        self.raw = raw
        self.has_states = has_states
        self.key = raw.key
        self.identity = identity_of(raw.key.identifier)
        self._content: Content | None = None
        self._problems: tuple[str, ...] = ()
        self._tree: Tree = _NOT_KEPT
        # What `answerd.answers.compose` made of stacks with this document on top, by the layers below it: the last
        # answer, and of a group all.
        self.prepared: tuple[tuple[Document, ...], Prepared] | None = None
        self.stacks: Stacks | None = None

    @property
    def content(self) -> Content:
        """The meaning of the text, without the tree of its values."""
        content = self._content
        return self._parse()[0] if content is None else content

    @property
    def tree(self) -> Tree:
        """The values, without control keys and with placeholders read; None where the document is not readable."""
        tree = self._tree
        return self._parse()[1] if tree is _NOT_KEPT else tree

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems of this document by itself, including its name, in sentences that do not repeat the name."""
        if self._content is None:
            self._parse()
        return self._problems

    def _parse(self) -> tuple[Content, Tree]:
        return run_long(self._read) if len(self.raw.text) > LARGE_TEXT else self._read()

    def _read(self) -> tuple[Content, Tree]:
        """Parse the text and keep the result.

        Another thread may do the same at the same time, or drop the tree: return what was read here.
        """
        content, tree = read_content(
            self.key.kind, self.family, self.text, self.raw.fault, has_states=self.has_states, name=str(self.key)
        )
        content = _same(content)
        name_fault = self.name_fault
        self._problems = (name_fault, *content.problems) if name_fault else content.problems
        self._tree = tree
        self._content = content  # last: a reader that finds it finds the problems too
        return content, tree

    def forget_tree(self) -> None:
        """Drop the tree, which takes more memory than the text. It is parsed again on the next access."""
        self._tree = _NOT_KEPT

    def __repr__(self) -> str:
        return f"<{self.key}>"

    @property
    def is_group(self) -> bool:
        """Whether other documents may extend it."""
        return self.key.kind is Kind.GROUP

    @property
    def family(self) -> AnyFamily:
        """The family that reads its format."""
        return FORMATS[self.key.format].family

    @property
    def text(self) -> str:
        """The text as it is served and parsed: without a byte order mark."""
        return self.raw.text.removeprefix(BYTE_ORDER_MARK)

    @property
    def control(self) -> Control:
        return self.content.control

    @property
    def name_fault(self) -> str | None:
        """The fault of its name, whatever its content; None when there is none."""
        fault = self.key.fault
        if fault is None and self.is_named_like_an_alias:
            fault = (
                f"{brief(self.identity)!r} is a URL segment that asks for a format, so this machine claims nothing: "
                "was a default or a group meant?"
            )
        return f"{fault} ({printable(self.raw.source)})" if fault and self.raw.source else fault

    @property
    def is_named_like_an_alias(self) -> bool:
        """Whether it is a machine whose name is an endpoint alias: such a document claims nothing."""
        return self.identity in ALIASES and self.key.kind is Kind.MACHINE


def _same(content: Content) -> Content:
    """Return the same object for all equal contents: the machines of a rack often differ only in their trees.

    A content that claims by itself, names paths or has a problem is rarely equal to another, and long.
    """
    control = content.control
    is_long = control.members or control.match or control.unset or control.append or content.problems
    return content if is_long or not content.readable else _content_of(control, content.verbatim)


@lru_cache(1_024)
def _content_of(control: Control, verbatim: bool) -> Content:
    return Content(control, verbatim=verbatim)


def read_content(
    kind: Kind, family: AnyFamily, text: str, fault: str | None = None, *, has_states: bool = False, name: str = ""
) -> tuple[Content, Tree]:
    """Parse a document's text as far as possible. Never raises: faults are in ``problems``. ``name`` is for what can go
    wrong when the document is filled."""
    if fault is not None:
        return _unreadable(_may_claim(kind, is_overlay=True), fault)
    if is_too_large(text):
        return _unreadable(
            _may_claim(kind, is_overlay=family.spells_overlay(text)),
            f"is larger than {LARGEST_DOCUMENT:,} bytes: it is not read",
        )
    nul = nul_in(text)
    if nul is not None:
        unread = _may_claim(kind, is_overlay=family.spells_overlay(text))
        return _unreadable(unread, f"does not parse: line {nul.line} {nul.fault}")
    try:
        parsed = family.parse(text)
        written, tree = family.control(parsed)
    except ParseError as error:
        return _unreadable(_may_claim(kind, is_overlay=family.spells_overlay(text)), f"does not parse: {error}")
    control = read_control(written, kind)
    problems, unlisted = control.problems, 0
    placeholders, labels = False, frozenset[str]()
    if control.template:
        reader = TemplateReader(text, family.templates_off) if not control.is_jinja else _jinja_reader(text, name)
        tree = family.placeholders(tree, reader)
        problems, unlisted = (*problems, *dict.fromkeys(reader.problems)), reader.unlisted
        if isinstance(reader, TemplateReader) and reader.work > MOST_WORK:
            sentence = f"has filters that cost too much: they count {reader.work:,}, and may count {MOST_WORK:,}"
            problems = (*problems, f"{sentence}; those of all values and those after a replace count most")
        placeholders, labels = reader.found, frozenset(reader.labels)
    problems = (*problems, *_append_problems(family, tree, control))
    if not has_states:
        problems = (*problems, *problems_without_states(control, labels))
    plain = not placeholders and written.is_empty
    if problems:
        problems = _listed(problems, unlisted)
        control = replace(control, problems=problems)  # there may be a problem for each line of the text
    if not control.claims_known:
        return _unreadable(control, *problems)
    return Content(control, problems, verbatim=plain), tree


def _jinja_reader(text: str, name: str) -> JinjaReader:
    # Jinja2 takes a tenth of the time of a start, and few sets use it.
    from answerd.formats.jinja import JinjaReader  # noqa: PLC0415

    return JinjaReader(name, lines_taken(text).lines)


def is_too_large(text: str, limit: int = LARGEST_DOCUMENT) -> bool:
    """Return whether a text has more bytes in UTF-8 than a document may have."""
    return 4 * len(text) > limit and len(text.encode("utf-8", "surrogatepass")) > limit


def _append_problems(family: AnyFamily, tree: Tree, control: Control) -> list[str]:
    """Return the problems of the paths of ``append``: each must name an array of the document itself."""
    if not control.append:
        return []
    wrong = frozenset(family.not_arrays(tree, control.append))
    return [
        f"append must name arrays of this document: path {place} names none"
        for place, path in enumerate(control.append, 1)
        if path in wrong
    ]


def problems_without_states(control: Control, labels: Collection[str]) -> list[str]:
    """Return the problems of a document in a service that keeps no states of installs: ``once``, and a placeholder for
    ``report``."""
    asks = [*(["once"] if control.once is not None else []), *(["{{ report }}"] if "report" in labels else [])]
    return [f"{what} needs a place for the states of installs: set SERVICE_STATE_PATH" for what in asks]


def _listed(problems: tuple[str, ...], unlisted: int) -> tuple[str, ...]:
    """Return the first problems, and how many more there are."""
    more = len(problems) - MOST_PROBLEMS + unlisted
    if more <= 0:
        return problems
    return (*problems[:MOST_PROBLEMS], f"and {more:,} more problems like these")


def _may_claim(kind: Kind, *, is_overlay: bool) -> Control:
    """Return the control keys of a document whose text cannot be read: nothing is known of a group but that it may be
    an overlay. One of whose text nothing is known may be one, too."""
    return Control(overlay=UNKNOWN_OVERLAY) if is_overlay and kind is Kind.GROUP else Control()


def _unreadable(control: Control, *problems: str) -> tuple[Content, Tree]:
    return Content(control, problems, readable=False), Tree(None)
