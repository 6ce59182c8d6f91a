"""Redaction: texts without their secrets, for everything that a person reads beside the answer itself.

Three sources say what is a secret: the value of a placeholder ``{{ secret.NAME }}``; a value under a name like
``password``, in a key, an attribute, a setting, an option or a column; a text that looks like one (a private key, a
hash of crypt(3), a password in a URL). The parser of a family says where values are written. Every other place where a
hidden value of four or more characters occurs is hidden too. A redacted text has as many lines as the text, and its
placeholders stay readable. Rules: docs/explain.md#secrets.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import pairwise, takewhile
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import unquote

from answerd.answers.catalogue import Catalogue
from answerd.answers.compose import prepared_answer
from answerd.answers.resolve import Answer, known_facts, resolve
from answerd.answers.secret_names import (
    NAMED_LIKE_A_SECRET,
    PARTS_OF_SECRET_NAMES,
    SECRET,
    TELLS_NOTHING,
    is_secret_name,
    redacted_cell,
)
from answerd.answers.sources import Sources, Values
from answerd.errors import AnswerError, CannotFill
from answerd.facts import Facts, facts_of
from answerd.formats import FORMATS
from answerd.formats.family import ParseError, Path, Slot
from answerd.formats.filters import FilterBudget, Lookup
from answerd.formats.spans import ValueSpan, value_spans, written_spans
from answerd.formats.template import Placeholder
from answerd.formats.user_data import is_program
from answerd.identity import folded
from answerd.inventory import FORMAT as INVENTORY_FORMAT
from answerd.inventory.records import BYTE_ORDER_MARK, Syntax, UnreadableError, records, separator_of
from answerd.memo import remembered

CHANGED = "(secret, changed)"

_INNOCENT_NAMES = """
action description domain encrypted group groups host hostname language login mode name order owner path
permissions plaintext realm role server t type user username willshowui xmlns
"""
_BESIDE_A_SECRET = frozenset(_INNOCENT_NAMES.split())
"""Names of values below a name like ``Credentials`` or ``ProductKey`` that are no secret themselves."""

_NAMES_ANOTHER = frozenset(["name", "key", "id", "option", "variable", "label", "field", "setting"])
_IS_NAMED = frozenset(["value", "content", "string", "default", "val", "text", "data"])
"""``{"name": "DB_PASSWORD", "value": …}``: the value of one key names the value of another."""

_SHORTEST_ELSEWHERE = 4
"""Characters of the shortest secret that is searched for in the rest of a text."""

_SHORTEST_WITHIN_A_WORD = 8
"""Characters of the shortest that is hidden within a longer word too: ``word`` is no secret in ``</Password>``."""

_LONGEST_COMPARED = 200
"""Characters of a long secret that are compared in the search; where they occur, the rest of the line is hidden."""

_FEW_BEGINNINGS = 32
"""Beginnings of secrets that are searched for one by one."""

_LONGEST_UNDER = 200
"""Characters before a secret on its line that tell, in a difference, whether it is the same one."""

_PLACEHOLDER = re.compile(r"\{\{[ \t]*[\w$@][\w$@.:-]*[ \t]*(?:\|[^{}\r\n]*)?\}\}")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")


class Hidden(NamedTuple):
    """What is hidden in a text, from ``start`` to ``end``. ``under``: the path of its value, or the text before it on
    its line."""

    start: int
    end: int
    under: Path


NO_LABELS: Mapping[str, str] = MappingProxyType({})


def redacted(text: str, extension: str, known: Iterable[str] = (), labels: Mapping[str, str] = NO_LABELS) -> str:
    """Return a document or an answer without secrets. ``known`` are further ones, wherever they occur. ``labels`` are
    those of an inventory's columns that have other names (`answerd.inventory.row.Layout`)."""
    reading = _Reading(text, extension, labels)
    return _replaced(text, reading.all_hidden({*reading.values, *_variants(known)}), lambda _: SECRET)


def redacted_row(cells: Mapping[str, str], labels: Mapping[str, str]) -> dict[str, str]:
    """Return the cells of a row without those whose column, or its label, is named like a secret."""
    return {column: redacted_cell(column, value, labels.get(folded(column), "")) for column, value in cells.items()}


def redacted_pair(
    before: str, after: str, extension: str, known: Iterable[str] = (), labels: Mapping[str, str] = NO_LABELS
) -> tuple[str, str]:
    """Return two versions of a text without their secrets. One that ``before`` does not have under the same name is
    marked as changed, so that the difference stays visible. ``known`` and ``labels`` are as for `redacted`."""
    first, second = _Reading(before, extension, labels), _Reading(after, extension, labels)
    values = {*first.values, *second.values, *known}
    hidden = first.all_hidden(values)
    unchanged = {(secret.under, before[secret.start : secret.end]) for secret in hidden}

    def mask(secret: Hidden) -> str:
        return SECRET if (secret.under, after[secret.start : secret.end]) in unchanged else CHANGED

    return _replaced(before, hidden, lambda _: SECRET), _replaced(after, second.all_hidden(values), mask)


@remembered(256, len, 262_144)
def secrets_of(text: str, extension: str) -> frozenset[str]:
    """Return the secrets that a document holds by itself. They are secrets in each answer that is made of it too, where
    another document may have taken away the name that tells."""
    has_escapes = "\\" in text or "&" in text
    return frozenset(_Reading(text, extension).values) if has_escapes or _may_hold_one(text) else frozenset()


def redacted_answer(catalogue: Catalogue, answer: Answer, facts: Facts, sources: Sources) -> str:
    """Return the text of an answer without secrets, with the lines of the answer.

    ``answer`` is what `answerd.answers.resolve.resolve` made of the other arguments.
    """
    known = known_values(catalogue, answer, facts, sources)
    text = answer.body.decode("utf-8", "replace")
    if any(map(_is_secret, _placeholders(_slots(answer)))):
        lookup = _lookup(catalogue, answer, facts, sources)
        parts = prepared_answer(answer.selection.layers, may_be_blank=True).parts
        text = "".join(part.decode() if isinstance(part, bytes) else _shown(part, lookup) for part in parts)
    return redacted(text, answer.format.extension, known)


def hiding(text: str, extension: str, known: Iterable[str] = ()) -> Callable[[str], str]:
    """Return a function that hides the secrets of an answer in what another program says of it. ``known`` are those
    that the text does not show by itself (`known_values`)."""
    reading = _Reading(text, extension)
    spans = [span for span in reading.hidden if _TAKES_NOTHING_ELSE.match("".join(span.under[-1:]))]
    hidden = [word for span in spans for word in text[span.start : span.end].split()]
    words = {word.partition("=")[2] if word.startswith("-") else word for word in hidden}
    search = _Search({*reading.values, *_variants([*known, *words])}, _SHORTEST_IN_A_MESSAGE)

    def hide(message: str) -> str:
        return _replaced(message, [Hidden(*span, ()) for span in search.found_in(message)], lambda _: SECRET)

    return hide


def redacted_install(record: Mapping[str, Any], catalogue: Catalogue, sources: Sources) -> dict[str, Any]:
    """Return a record of an install as JSON (`answerd.installs.shown`), with or without its events, without the secrets
    in what the machine reported: those that a text shows by itself, and those of the answers that the machine gets by
    its names. ``sources`` change no state."""
    facts = facts_of([record["machine"], *record["identities"]])
    known: set[str] = set()
    for extension in FORMATS:
        with suppress(AnswerError):
            answer = resolve(catalogue, facts, (extension,), sources=sources)
            known |= known_values(catalogue, answer, facts, sources)
            known |= _Reading(answer.body.decode("utf-8", "replace"), extension).values

    def hide(text: str | None) -> str | None:
        return redacted(text, "", known) if text else text

    shown = {**record, "message": hide(record["message"])}
    if "events" in record:
        shown["events"] = [
            {**event, "detail": hide(event["detail"]), "body": hide(event["body"])} for event in record["events"]
        ]
    return shown


_TAKES_NOTHING_ELSE = re.compile(r"(?:rootpw|sshpw)\b")
"""Commands whose every argument is taken for the password in a message: a reader that expects one quotes the others."""

_SHORTEST_IN_A_MESSAGE = 3
"""Characters of the shortest secret that is hidden in a message of another program, where it is a whole word."""


def named_values(slots: Iterable[Slot], lookup: Lookup) -> set[str]:
    """Return the values that secrets, and facts named like a secret, have in an answer, as they are and as filters make
    them."""
    found: set[str] = set()
    for placeholder in filter(_is_secret, _placeholders(slots)):
        with suppress(CannotFill):
            found.update(lookup.values(placeholder.label), placeholder.values(lookup))
    return found


def known_values(catalogue: Catalogue, answer: Answer, facts: Facts, sources: Sources) -> set[str]:
    """Return the values that placeholders of secrets have in an answer, the secrets of its documents, and the values of
    facts that are named like one: a column of an inventory."""
    found = named_values(_slots(answer), _lookup(catalogue, answer, facts, sources))
    for layer in answer.selection.layers:
        found |= secrets_of(layer.text, layer.key.format)
    for label, values in known_facts(catalogue, facts, sources).labels.items():
        if is_secret_name(label):
            found.update(values)
    return found


def _lookup(catalogue: Catalogue, answer: Answer, facts: Facts, sources: Sources) -> FilterBudget:
    return FilterBudget(Values(answer.selection, known_facts(catalogue, facts, sources), sources, catalogue))


def _slots(answer: Answer) -> tuple[Slot, ...]:
    """Return the slots of an answer; none where the service made its text up."""
    if answer.side_file or answer.refusal:
        return ()
    return prepared_answer(answer.selection.layers, may_be_blank=True).slots


def _placeholders(slots: Iterable[Slot]) -> Iterator[Placeholder]:
    return (part for slot in slots for part in slot.template.parts if not isinstance(part, str))


def _is_secret(placeholder: Placeholder) -> bool:
    return placeholder.is_secret or is_secret_name(placeholder.label)


def _shown(slot: Slot, lookup: Lookup) -> str:
    if not any(map(_is_secret, _placeholders([slot]))):
        return slot.fill(lookup)
    shown = []
    for part in slot.template.parts:
        value = part if isinstance(part, str) else part.value(lookup)
        is_hidden = not isinstance(part, str) and _is_secret(part)
        shown.append(re.sub(r"[^\r\n]+", SECRET, value) if is_hidden else value)  # as many lines as the value
    return slot.write("".join(shown))


class _Reading:
    """A text with what is hidden in it by names and by looks. ``values`` are the hidden texts as a reader has them."""

    def __init__(self, source: str, extension: str, labels: Mapping[str, str] = NO_LABELS) -> None:
        self.source = source
        self.hidden: list[Hidden] = []
        self.values: set[str] = set()
        self._names: dict[str, bool] = {}
        self._texts: list[ValueSpan] = []
        """Values, comments and what else is written: everything that is searched for secrets by their looks."""
        try:
            leaves = _leaves(source, extension, labels)
        except (ParseError, UnreadableError):
            self._hide_unreadable()
            return
        named = self._named(leaves)
        for leaf, is_named in zip(leaves, named, strict=True):
            if is_named:
                self._hide(leaf.start, leaf.end, leaf.path, leaf.text)
            else:
                self._texts.append(leaf)
        self._texts += _between(source, leaves, _family(extension, source))
        for text in self._texts:
            if not _may_hold_one(text.text):
                continue
            parts = list(_by_form(text.text, is_code=text.spelling != "names"))
            spans = [(part.start, part.end) for part in parts]
            for part, (first, last) in zip(parts, _written(source, text, spans), strict=False):
                said = (text.text[part.start : part.end],) if part.values is None else part.values
                self._hide(first, last, text.path or _under(source, first), *said)

    def all_hidden(self, values: Collection[str]) -> list[Hidden]:
        """Return what is hidden, in order and apart from each other: the secrets, and where ``values`` occur again."""
        found = list(self.hidden)
        search = _Search(values)
        if search:
            for text in self._texts:
                parts = list(search.found_in(text.text))
                found += [Hidden(*span, ("",)) for span in _written(self.source, text, parts)]
        return _apart(found)

    def _hide(self, start: int, end: int, under: Path, *said: str) -> None:
        self.hidden.append(Hidden(start, end, under))
        for text in said:
            if len(text) >= _SHORTEST_ELSEWHERE:
                self.values.update(_variants([_PLACEHOLDER.sub("\n", text), _unquoted(text)]))

    def _hide_unreadable(self) -> None:
        """Hide every line of a text that is not of its format, if it seems to hold a secret: where the secret ends
        cannot be told."""
        folded = self.source.casefold()
        if NAMED_LIKE_A_SECRET.search(folded) or "chpasswd" in folded or next(_by_form(self.source), None):
            self._hide(0, len(self.source), (), self.source)
        else:
            self._texts = [ValueSpan((), 0, len(self.source), self.source)]

    def _named(self, leaves: list[ValueSpan]) -> list[bool]:
        """Return for each value whether it is named like a secret: by the names above it, by the value of another key
        of its map, by an attribute of its element (``<entry name="password">text</entry>``), or by the option before it
        in a list."""
        naming = {
            _map_of(leaf.path)
            for leaf in leaves
            if _last_name(leaf.path) in _NAMES_ANOTHER and self._is_named(leaf.text)
        }
        after_options = {
            second.path
            for first, second in pairwise(leaves)
            if first.text.startswith("-")
            and "=" not in first.text
            and first.path[:-1] == second.path[:-1]
            and second.path[-1:]
            and second.path[-1].isdecimal()
            and self._is_named(first.text)
        }
        return [
            (not TELLS_NOTHING.match(leaf.text.strip()) and self._is_secret(leaf.path))
            or leaf.path in after_options
            or leaf.path in naming
            or (_last_name(leaf.path) in _IS_NAMED and _map_of(leaf.path) in naming)
            for leaf in leaves
        ]

    def _is_secret(self, path: Path) -> bool:
        names = [step for step in path if not step.isdecimal()]
        if not names:
            return False
        last = names[-1]
        if self._is_named(last):
            return True
        if "chpasswd" in names and last == "list":
            return True
        bare = last.lstrip("@").rpartition(":")[2].casefold()
        above = bare not in _BESIDE_A_SECRET and not last.startswith("@xmlns")
        return above and any(self._is_named(name) for name in names[:-1] if name != "passwd")

    def _is_named(self, name: str) -> bool:
        known = self._names.get(name)
        if known is None:
            known = self._names[name] = is_secret_name(name)
        return known


def _family(extension: str, source: str) -> str:
    known = FORMATS.get(extension)
    return known.family.name if known and not (known.family.name == "yaml" and is_program(source)) else "text"


def _leaves(source: str, extension: str, labels: Mapping[str, str]) -> list[ValueSpan]:
    """Return the values of a document, an answer or an inventory. Raises `ParseError`, `UnreadableError`."""
    if extension == INVENTORY_FORMAT:
        return list(_cells(source, labels))
    return value_spans(_family(extension, source), source)


def _cells(source: str, labels: Mapping[str, str]) -> Iterator[ValueSpan]:
    """Yield the cells of an inventory that are secrets by the name or the label of their column, and all cells of a row
    that may hold another secret. Raises `UnreadableError`."""
    text = source.removeprefix(BYTE_ORDER_MARK)
    skipped = len(source) - len(text)
    syntax = Syntax.of(separator_of(text))
    columns: list[str] = []
    names: dict[str, str] = {}
    """The secret ones of the columns, with their name or label, whichever tells."""
    for count, record in enumerate(records(text, syntax)):
        if not count:
            columns = [cell.value.strip() for cell in syntax.spans(text, record.start, record.line)]
            named = [(column, name) for column in columns for name in (labels.get(folded(column), ""), column)]
            names = {column: name for column, name in named if is_secret_name(name)}
            continue
        may_hold_another = _may_hold_one(text[record.start : record.end])
        if not (names or may_hold_another):
            continue
        for column, cell in zip(columns, syntax.spans(text, record.start, record.line), strict=False):
            if column not in names and not may_hold_another:
                continue
            path = (str(count), names.get(column, column))
            yield ValueSpan(path, cell.start + skipped, cell.end + skipped, cell.value, "unknown")


_COMMENT = {
    "toml": re.compile(r"(?:(?<=\n)[ \t]*#[^\n]*\n)+|#[^\n]*"),
    "yaml": re.compile(r"(?:(?<=\n)[ \t]*#[^\n]*\n)+|(?<!\S)#[^\n]*"),
    "xml": re.compile(r"<!--.*?-->", re.DOTALL),
}
"""The comments of a family, in a text without its values. Lines of comments are one."""


def _between(source: str, leaves: list[ValueSpan], family: str) -> Iterator[ValueSpan]:
    """Yield what is written beside the values: each comment; then names and signs, with all else replaced by NUL
    characters. Of the text family, everything."""
    pieces, done = [], 0
    for leaf in sorted(leaves, key=lambda span: span.start):
        if leaf.start >= done:
            pieces += [source[done : leaf.start], _blanked(source[leaf.start : leaf.end])]
            done = leaf.end
    rest = "".join([*pieces, source[done:]])
    if comments := _COMMENT.get(family):
        for comment in comments.finditer(rest):
            yield ValueSpan((), *comment.span(), comment[0])
        rest = comments.sub(lambda comment: _blanked(comment[0]), rest)
    yield ValueSpan((), 0, len(rest), rest, "exact" if family == "text" else "names")


def _blanked(text: str) -> str:
    return "\n".join(["\0" * len(line) for line in text.split("\n")])


def _written(source: str, text: ValueSpan, parts: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    if text.spelling in ("exact", "names"):
        return iter(parts)
    return written_spans(source, text, parts)


def _last_name(path: Path) -> str:
    return next((step.lstrip("@").casefold() for step in reversed(path) if not step.isdecimal()), "")


def _map_of(path: Path) -> Path:
    """Return the path of the map or the element that a value is in; of an element's text, of the element around it."""
    return path[:-2] if path and path[-1].isdecimal() else path[:-1]


def _under(text: str, start: int) -> Path:
    """Return the text before a position on its line."""
    first = max(0, start - _LONGEST_UNDER)
    return (text[max(first, text.rfind("\n", first, start) + 1) : start].strip(),)


def _apart(found: list[Hidden]) -> list[Hidden]:
    """Return spans in their order, those that touch as one."""
    kept: list[Hidden] = []
    for secret in sorted(found, key=lambda span: (span.start, -span.end)):
        if kept and secret.start <= kept[-1].end:
            if secret.end > kept[-1].end:
                kept[-1] = kept[-1]._replace(end=secret.end)
        else:
            kept.append(secret)
    return kept


def _replaced(text: str, secrets: list[Hidden], mask: Callable[[Hidden], str]) -> str:
    pieces, done = [], 0
    for secret in secrets:
        pieces += [text[done : secret.start], *_masked(text[secret.start : secret.end], mask(secret))]
        done = secret.end
    return "".join([*pieces, text[done:]])


_CONTENT = re.compile(r"[^\s\0][^\r\n]*")


def _masked(written: str, mask: str) -> Iterator[str]:
    """Yield a secret as it is shown: its placeholders, and the mask for the rest of each line."""
    done = 0
    for placeholder in _PLACEHOLDER.finditer(written):
        yield _masked_piece(written[done : placeholder.start()], mask)
        yield _QUOTED.sub(lambda text: f"{text[0][0]}{SECRET}{text[0][0]}", placeholder[0])
        done = placeholder.end()
    rest = written[done:]
    yield _masked_piece(rest, mask) if done else _CONTENT.sub(mask, rest)


def _masked_piece(written: str, mask: str) -> str:
    """Return the text beside a placeholder, masked; quotes and signs around the placeholder stay."""
    is_sign = len(written) < _SHORTEST_ELSEWHERE and not re.search(r"\w", written)
    return written if is_sign else _CONTENT.sub(mask, written)


def _unquoted(text: str) -> str:
    """Return what a shell, or a JSON text in a text, makes of a word."""
    return re.sub(r"\\(.)|[\"']", lambda found: found[1] or "", text, flags=re.DOTALL)


def _variants(texts: Iterable[str]) -> set[str]:
    """Return texts, their lines, and what is left of them where a program reads or writes them its own way."""
    found: set[str] = set()
    for text in texts:
        for line in {text, *text.splitlines()}:
            said = line.strip().strip("\"',;")
            if said and not TELLS_NOTHING.match(said) and said != SECRET and re.search(r"\w", said):
                found |= {said, *re.findall(r"\A[\w.\\-]+[:%](.*\w.*)", said)}
                if re.search(r"[^\w/+=.$:-]", said):
                    found |= {
                        json.dumps(said, ensure_ascii=False)[1:-1],
                        repr(said)[1:-1],
                        html.escape(said),
                        html.escape(said, quote=False),
                        said.replace("\\", ""),
                        _unquoted(said),
                        unquote(said),
                    }
    return {text for text in found if text.strip()}


class _Search:
    """Searches texts for hidden values, in one pass whose cost does not depend on their number."""

    def __init__(self, values: Iterable[str], shortest: int = _SHORTEST_ELSEWHERE) -> None:
        self._shortest = shortest
        self._by_beginning: dict[str, dict[int, set[str]]] = {}
        for value in values:
            if len(value) >= shortest and "\n" not in value and not TELLS_NOTHING.match(value):
                compared = value[:_LONGEST_COMPARED]
                lengths = self._by_beginning.setdefault(value[:shortest], {})
                lengths.setdefault(len(compared), set()).add(compared)

    def __bool__(self) -> bool:
        return bool(self._by_beginning)

    def found_in(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where values occur, from start to end."""
        done = 0
        for at in self._beginnings_in(text):
            values = self._by_beginning.get(text[at : at + self._shortest], {}) if at >= done else {}
            for length in sorted(values, reverse=True):
                if text[at : at + length] in values[length] and _is_whole(text, at, at + length):
                    done = _line_end(text, at) if length == _LONGEST_COMPARED else at + length
                    yield at, done
                    break

    def _beginnings_in(self, text: str) -> Iterable[int]:
        """Return the places where a value may begin, in order."""
        if len(self._by_beginning) > _FEW_BEGINNINGS:
            return range(len(text) - self._shortest + 1)
        return sorted(at for beginning in self._by_beginning for at in _occurrences(text, beginning))


def _occurrences(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _line_start(text: str, at: int) -> int:
    """Return where the line of a position begins; in a long line, a place before the position."""
    first = max(0, at - _LONGEST_BEFORE)
    return max(first, text.rfind("\n", first, at) + 1)


_LONGEST_BEFORE = 4_096
"""Characters before a place that are searched for the beginning of its line."""


def _is_whole(text: str, start: int, end: int) -> bool:
    """Return whether an occurrence is hidden: a short one only where it is no part of a longer word."""
    if end - start >= _SHORTEST_WITHIN_A_WORD:
        return True
    return not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum())


# Secrets by their looks and by the names before them, in any text: a script, a value, a comment.

_BLANK = r"(?:[ \t]|\\\r?\n)"
"""A blank between words; a backslash joins the next line."""

_BLANKS = rf"{_BLANK}+(?!{_BLANK})"
_BLANKS_OR_NONE = rf"{_BLANK}*(?!{_BLANK})"
"""All blanks at a place, never a part of them: a word may begin with a backslash too."""

_PIECE = r"""\{\{[^{}\r\n\0]*+\}\}|"(?:[^"\\\0]|\\[^\0]){0,4096}"|'[^'\0]{0,4096}+'|\\[^\0]"""
_WORD = rf"""(?:{_PIECE}|[^\s\0"'\\{{]++|[^\s\0])+"""
"""A shell word: placeholders, quoted parts, escaped characters and what touches them. A pattern ends with it, because
a quote that is closed must not be tried as one that is not."""

_LINE = r"(?:[^\\\r\n\0]++|\\\r?\n|\\(?![\r\n\0]))*"
"""The rest of a line, with the lines that it is continued on."""

_LOOKS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?"
        r"(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
        r"\$(?:[0-9]|2[abxy]|y|gy|sm3|md5|sha1|argon2\w*|scrypt|pbkdf2[\w-]*)\$[^\s\"'<>:\0]{8,}",
        r"grub\.pbkdf2\.[^\s\"'<>\0]+",
        r"AGE-SECRET-KEY-1\w+",
        r"(?i)\bauthorization\\?[\"']?[ \t]*[:=][ \t]*[\"']?(?:\w+[ \t]+)?(?P<value>[^\s\"'<>\0]+)",
        r"(?i)\bbearer[ \t]+(?P<value>[\w.~+/=-]{8,})",
        rf"(?:(?<=\s)-[uU]|--(?:proxy-)?user)[ \t=]*+"
        rf"(?P<value>(?=[\"']?[^\s:%\"'\0]+[:%](?!(?:\d+|\w)?(?:\s|\Z))){_WORD})",
        rf"(?:(?<![\w.-])pass:|,pass=)(?P<value>{_WORD})",
        rf"(?i)\b(?:identified{_BLANK}+by|password){_BLANK}*(?P<value>'[^'\n\0]+')",
        r"(?i:assword|assphrase)[^\n\0]{0,200}(?:\n[^\n\0]{0,80}?)?\bsend[ \t]+(?:--[ \t]+)?(?P<value>[^\n\0]+)",
    )
)
"""Secrets by their looks. Where a pattern has a group ``value``, the group is the secret."""

_COMMANDS = {
    "": (
        rf"rootpw|sshpw|mkpasswd|openssl{_BLANK}+passwd|htpasswd|wpa_passphrase|slmgr(?:\.vbs)?|convertto-securestring"
        rf"|(?:pro|ua|ubuntu-advantage){_BLANK}+attach|net{_BLANK}+user"
    ),
    "-p": (
        r"useradd|usermod|sshpass|(?:mysql|mariadb)[\w-]*"
        rf"|(?:docker|podman|buildah|skopeo|oc|registry){_BLANK}+login"
    ),
    "-P": "ipmitool",
    "-w": r"ldap[a-z]+|ipa-client-install",
    "-a": "redis-cli",
    "-r": "suseconnect",
    "password|psk": "nmcli|wpa_cli|mysqladmin",
}
"""Commands that take a password as an argument, by the word before it. Of such a command all arguments are hidden but
plain options, whichever of them is the password."""

_TAKES_ONE = tuple(
    (
        re.compile(rf"(?i)(?<![\w.-])(?:{commands})(?P<rest>(?:{_BLANKS}{'(?![|;&])' if before else ''}{_WORD})+)"),
        re.compile(rf"(?<=[ \t\n])(?:{before}){_BLANKS_OR_NONE}(?P<value>{_WORD})") if before else None,
    )
    for before, commands in _COMMANDS.items()
)
"""A command with its arguments, and the password in them; None where it is the last of them."""

_PLAIN_OPTION = re.compile(r"-\w?|--[\w-]*")
_NO_ARGUMENT = re.compile(r"[#|;&]|\d?[<>]")
_QUOTE = re.compile(rf"{_PIECE}|(?P<lone>[\"'`])")

_READS_ONE = re.compile(r"\b(?<!/etc/)(?:\w*passwd|cryptsetup|kinit|realm|password-stdin|sudo[ \t]+-S)\b")
"""Commands that read a password: a line with one of them and a pipe or ``<<`` is hidden, with its here-document."""

_SCRIPT_LINE = re.compile(rf"(?:(?<!\S)\#[^\n\0]*+|{_PIECE}|\|[ \t]*+\n|[^\n\0\"'\\{{|\#]++|[^\n\0])+")
_SAID = re.compile(rf"\b(?:echo|printf)\b(?P<said>(?:{_BLANKS}(?![|;&]){_WORD})+)|<<<[ \t]*+(?P<text>{_WORD})")
_TAG = re.compile(r"<<-?[ \t]*+\\?[\"']?(?P<tag>\w+)")

_NAME = re.compile(
    r"\{\{[^{}\r\n\0]*\}\}|(?<![\w./-])(?P<word>[\w./-]++)"
    rf"(?:\\?[\"']?(?P<before>[ \t]*+)(?P<sign>[=:])(?P<after>[ \t]*+)|(?P<blank>{_BLANKS}))?"
)
"""A whole word outside of placeholders, and how a value may follow it. Whether the word is named like a secret is
judged afterwards: a pattern with a name in it would try each beginning with each end."""

_QUESTION = re.compile(
    rf"(?i)(?<![^\s;&|])[\w.-]++{_BLANKS}(?P<word>[\w.-]++/[\w./-]++){_BLANKS}"
    rf"(?P<type>password|string|note|select|multiselect|text)(?P<value>{_BLANK}{_LINE})"
)
_IPXE_SETTING = re.compile(
    r"(?im)^[ \t]*+(?:set|param(?:[ \t]++--params[ \t]++\S++)?)[ \t]++"
    rf"(?P<word>[\w./-]++)(?::\w++)?(?P<value>[ \t]{_LINE})"
)


_ELEMENT = re.compile(r"<(?P<word>[\w.:-]++)[^<>]*+>")
_URL = re.compile(r"://(?P<rest>(?:\{\{[^{}\n]*+\}\}|[^\s\"'<>\0{]++|\{)+)")
_PORT = re.compile(r"\d{1,5}\Z")
_AT_LINE_START = re.compile(r"(?:[ \t#;]|//|- |export |set |\"|')*\Z")
_INDENT = re.compile(r"[ \t#;]*+(?:- )?")
_BLOCK = re.compile(r"(?:[|>&!][^\r\n]*|[\[{(][^\r\n\])}]*|#[^\r\n]*|\\?[\"']{3}[^\r\n]*)?(?=\r?\n)")
_WORD_AT = re.compile(_WORD)
_LINE_AT = re.compile(_LINE)
_LONGEST_ELEMENT = 4_096
_LONGEST_SCHEME = 20

_RARE = (
    *("useradd", "usermod", "sshpass", "mysql", "mariadb", "login", "ldap", "ipa-client", "ipmitool", "redis-cli"),
    *("suseconnect", "attach", "slmgr", "securestring", "cryptsetup", "kinit", "realm", "sudo", "identified", "bearer"),
    *("authorization", "-----begin ", "pbkdf2", "assword", "assphrase", "pass:", "pass=", "-u"),
)
_OFTEN_NONE = re.compile(rf"{NAMED_LIKE_A_SECRET.pattern}|\$[\w-]+\$|net[\s\\]+user")
_AFTER_SCHEME = re.compile(r"://[^\s@]*+(?P<at>@)?")
"""Every text that holds a secret by its form has, case-folded, one of these parts, or matches one of the patterns."""


def _may_hold_one(text: str) -> bool:
    folded = text.casefold()  # a third of the time of a pattern that ignores case
    return any(part in folded for part in _RARE) or (
        any(part in folded for part in ("$", "net", "://", *PARTS_OF_SECRET_NAMES))
        and (_OFTEN_NONE.search(folded) is not None or any(url["at"] for url in _AFTER_SCHEME.finditer(folded)))
    )


class _Found(NamedTuple):
    """A secret in a text. ``values`` are texts that are secrets elsewhere too; None for the secret itself."""

    start: int
    end: int
    values: tuple[str, ...] | None = None


def _by_form(text: str, *, is_code: bool = True) -> Iterator[_Found]:
    """Yield the secrets of a text by their looks and, if it ``is_code``, by the names and commands before them."""
    for pattern in _LOOKS:
        group = "value" if "value" in pattern.groupindex else 0
        yield from _saying((_Found(*found.span(group)) for found in pattern.finditer(text)), text)
    yield from _in_urls(text)
    if is_code:
        yield from _in_commands(text)
        yield from _saying(_after_names(text), text)
        yield from _in_elements(text)


def _saying(found: Iterable[_Found], text: str) -> Iterator[_Found]:
    """Yield those that say something, without white space at the end: ``= no # or yes`` says nothing."""
    for start, end, values in found:
        said = text[start:end].rstrip()
        first = _WORD_AT.match(said)
        rest = said[first.end() :].strip() if first else ""
        ends = not rest or rest[0] == "#" or (first is not None and first[0][-1] in ",;}])")
        is_empty = first is not None and ends and TELLS_NOTHING.match(first[0].strip("\"',;}])"))
        if said and not is_empty and re.search(r"\w", said):
            yield _Found(start, start + len(said), values)


def _in_urls(text: str) -> Iterator[_Found]:
    """Yield passwords in URLs, to the last ``@``: one that should have been escaped may be in the password, as may a
    slash. Of a URL of the web a user name alone counts too: it is a token."""
    for found in _URL.finditer(text):
        rest, start = found["rest"], found.start("rest")
        at, colon = rest.rfind("@"), rest.find(":")
        authority = next((place for place, sign in enumerate(rest) if sign in "/?#"), len(rest))
        if at < 0:
            continue
        scheme = text[max(0, found.start() - _LONGEST_SCHEME) : found.start()].lower()
        if 0 <= colon < min(at, authority) and not _PORT.match(rest, colon + 1, authority):
            yield _Found(start + colon + 1, start + at)
        elif at < authority and scheme.endswith(("http", "https", "ftp")):
            yield _Found(start, start + at)


def _in_commands(text: str) -> Iterator[_Found]:
    """Yield the arguments of commands that take a password, but plain options, and what a script gives to those that
    read one."""
    for pattern, password in _TAKES_ONE:
        for command in pattern.finditer(text):
            start, words = command.start("rest"), list(_words(command["rest"]))
            if password:
                passwords = tuple(found["value"] for found in password.finditer(command["rest"]))
            else:
                own = takewhile(lambda word: not _NO_ARGUMENT.match(word[0]), words)
                passwords = tuple(word[0] for word in own if word[0][0] not in "-/")[-1:]
            if passwords:
                yield from (_Found(start + word.start(), start + word.end(), passwords) for word in words)
    if not _READS_ONE.search(text):
        return
    for line in _SCRIPT_LINE.finditer(text):
        script = line[0]
        if not (("|" in script or "<<" in script) and _READS_ONE.search(script)):
            continue
        said = [word for found in _SAID.finditer(script) for word in _WORD_AT.findall(found["said"] or found["text"])]
        end = line.end()
        if tag := _TAG.search(script):
            closed = re.compile(rf"(?m)^[ \t]*{tag['tag']}\b").search(text, end)
            end = closed.start() if closed else len(text)
            said += text[line.end() : end].splitlines()
        yield _Found(line.start(), end, tuple(said))


def _words(arguments: str) -> Iterator[re.Match[str]]:
    """Yield the arguments of a command but plain options, to the end of a text in quotes that the command is in."""
    for word in _WORD_AT.finditer(arguments):
        if not _PLAIN_OPTION.fullmatch(word[0]):
            yield word
        if any(quote["lone"] for quote in _QUOTE.finditer(word[0])):
            return


def _after_names(text: str) -> Iterator[_Found]:
    """Yield what follows a name: after an option a word; after a setting a word where the line has more of them
    (``a=1 password=x b=2``), else the rest of the line, or the lines below that are indented more."""
    for pattern in (_QUESTION, _IPXE_SETTING):
        for found in pattern.finditer(text):
            if is_secret_name(found["word"]) or found.groupdict().get("type") == "password":
                yield _Found(*found.span("value"))
    at = 0
    while name := _NAME.search(text, at):
        word = name["word"]
        at, value = name.end("word") if word else name.end(), name.end()
        if not (word and (name["sign"] or name["blank"]) and is_secret_name(word)):
            continue
        begins = _line_start(text, name.start())
        is_first = _AT_LINE_START.match(text[max(begins, name.start() - _LONGEST_UNDER) : name.start()])
        if name["blank"]:
            if word.startswith("-") and not text.startswith("-", value):
                yield _Found(*_span_of(_WORD_AT, text, value))
        elif value == len(text) or (block := _BLOCK.match(text, value)):
            at = _block_end(text, begins, block.end() if value < len(text) and block else value)
            yield _Found(value, at)
        elif name["sign"] == "=" and not (is_first or name["before"] or name["after"]):
            start, at = _span_of(_WORD_AT, text, value)
            yield _Found(start, at)
        else:
            start, at = _span_of(_LINE_AT, text, value)
            yield _Found(start, at)


def _span_of(pattern: re.Pattern[str], text: str, at: int) -> tuple[int, int]:
    found = pattern.match(text, at)
    return found.span() if found else (at, at)


def _block_end(text: str, begins: int, at: int) -> int:
    """Return where the lines end that are indented more than the line that begins at ``begins``, from its end on."""
    margin = _INDENT.match(text, begins)
    width = margin.end() - begins if margin else 0
    end = at
    while (line := text.find("\n", end) + 1) and line < len(text):
        stop = _line_end(text, line)
        own = _INDENT.match(text, line)
        is_item = text[line:stop].lstrip(" \t#;").startswith(("- ", "]", "}", ")"))
        deeper = own is not None and (own.end() - line > width or is_item)
        if text[line:stop].strip() and not deeper:
            break
        end = stop
    return end


def _in_elements(text: str) -> Iterator[_Found]:
    """Yield what elements hold, in texts that are no XML documents."""
    at = 0
    while element := _ELEMENT.search(text, at):
        at = element.end()
        if is_secret_name(element["word"]):
            closed = text.find(f"</{element['word']}>", at, at + _LONGEST_ELEMENT)
            end = closed if closed >= 0 else _line_end(text, at)
            yield _Found(at, end)
            at = end
