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
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import pairwise
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
from answerd.identity import folded
from answerd.inventory import FORMAT as INVENTORY_FORMAT
from answerd.inventory.records import BYTE_ORDER_MARK, Syntax, UnreadableError, records, separator_of
from answerd.memo import remembered

CHANGED = "(secret, changed)"

_BESIDE_A_SECRET = frozenset(
    {
        "action",
        "description",
        "domain",
        "encrypted",
        "group",
        "groups",
        "host",
        "hostname",
        "language",
        "login",
        "mode",
        "name",
        "order",
        "owner",
        "path",
        "permissions",
        "plaintext",
        "realm",
        "role",
        "server",
        "t",
        "type",
        "user",
        "username",
        "willshowui",
        "xmlns",
    }
)
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

_MOST_LENGTHS = 8
"""Lengths of secrets that begin alike: of more, the rest of a line is hidden wherever their beginning occurs."""

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
    slots = _slots(answer)
    lookup = _lookup(catalogue, answer, facts, sources)
    known = _known_values(catalogue, answer, facts, sources)
    if not any(map(_placeholders, slots)):
        return redacted(answer.body.decode("utf-8", "replace"), answer.format.extension, known)
    parts = prepared_answer(answer.selection.layers, may_be_blank=True).parts
    shown = "".join(part.decode() if isinstance(part, bytes) else _shown(part, lookup) for part in parts)
    return redacted(shown, answer.format.extension, known)


def possibly_in(text: str, secrets: Iterable[str]) -> frozenset[str]:
    """Return those of some secrets that may be in a part of a text, whichever way the format of the text writes them:
    of the others it does not have all words."""
    if "\\" in text or "&" in text:
        return frozenset(secrets)
    return frozenset(
        secret for secret in secrets if all(word in text for word in re.findall("[A-Za-z0-9]{2,}", secret))
    )


def hiding(catalogue: Catalogue, answer: Answer, facts: Facts, sources: Sources) -> Callable[[str], str]:
    """Return a function that removes the secrets of an answer from a message, whatever program wrote it."""
    found = _known_values(catalogue, answer, facts, sources)
    reading = _Reading(answer.body.decode("utf-8", "replace"), answer.format.extension)
    secrets = _variants(found) | {text for text in reading.values if len(text) >= _SHORTEST_ELSEWHERE}
    ordered = sorted((text for text in secrets if len(text) >= _SHORTEST_IN_A_MESSAGE), key=len, reverse=True)

    def hide(message: str) -> str:
        for secret in ordered:
            if secret in message:
                message = message.replace(secret, SECRET)
        return message

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
            known |= _known_values(catalogue, answer, facts, sources)
            known |= _Reading(answer.body.decode("utf-8", "replace"), extension).values

    def hide(text: str | None) -> str | None:
        return redacted(text, "", known) if text else text

    shown = {**record, "message": hide(record["message"])}
    if "events" in record:
        shown["events"] = [
            {**event, "detail": hide(event["detail"]), "body": hide(event["body"])} for event in record["events"]
        ]
    return shown


_SHORTEST_IN_A_MESSAGE = 3
"""Characters of the shortest secret that is replaced in messages: a shorter one is part of many words."""


def named_values(slots: Iterable[Slot], lookup: Lookup) -> frozenset[str]:
    """Return the values that facts named like a secret have in an answer, as they are and as filters make them."""
    found: set[str] = set()
    for placeholder in (inner for slot in slots for inner in _placeholders(slot) if not inner.is_secret):
        with suppress(CannotFill):
            found.update(lookup.values(placeholder.label), placeholder.values(lookup))
    return frozenset(found)


def _known_values(catalogue: Catalogue, answer: Answer, facts: Facts, sources: Sources) -> set[str]:
    """Return the values that placeholders of secrets have in an answer, the secrets of its documents, and the values of
    facts that are named like one: a column of an inventory."""
    lookup = _lookup(catalogue, answer, facts, sources)
    found: set[str] = set()
    for placeholder in (inner for slot in _slots(answer) for inner in _placeholders(slot)):
        found.update(lookup.values(placeholder.label), placeholder.values(lookup))
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


def _placeholders(slot: Slot) -> list[Placeholder]:
    """Return the placeholders of secrets in a slot."""
    return [part for part in slot.template.parts if not isinstance(part, str) and _is_secret(part)]


def _is_secret(placeholder: Placeholder) -> bool:
    return placeholder.is_secret or is_secret_name(placeholder.label)


def _shown(slot: Slot, lookup: Lookup) -> str:
    if not _placeholders(slot):
        return slot.fill(lookup)
    return slot.write("".join(_parts(slot.template.parts, lookup)))


def _parts(parts: Iterable[str | Placeholder], lookup: Lookup) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
        else:
            value = part.value(lookup)
            yield re.sub(r"[^\r\n]+", SECRET, value) if _is_secret(part) else value  # as many lines as the value


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
        self._texts += _between(source, leaves, _family(extension))
        for text in self._texts:
            if not _may_hold_one(text.text):
                continue
            parts = list(_by_form(text.text, is_code=text.spelling != "names"))
            for (start, end), (first, last) in zip(parts, _written(source, text, parts), strict=False):
                self._hide(first, last, text.path or _under(source, first), text.text[start:end])

    def all_hidden(self, values: Collection[str]) -> list[Hidden]:
        """Return what is hidden, in order and apart from each other: the secrets, and where ``values`` occur again."""
        found = list(self.hidden)
        search = _Search(values)
        if search:
            for text in self._texts:
                parts = list(search.found_in(text.text))
                found += [Hidden(*span, ("",)) for span in _written(self.source, text, parts)]
        return _apart(found)

    def _hide(self, start: int, end: int, under: Path, text: str) -> None:
        self.hidden.append(Hidden(start, end, under))
        if len(text) >= _SHORTEST_ELSEWHERE:
            self.values.update(_variants([_PLACEHOLDER.sub("\n", text), _unquoted(text)]))

    def _hide_unreadable(self) -> None:
        """Hide every line of a text that is not of its format, if it seems to hold a secret: where the secret ends
        cannot be told."""
        folded = self.source.casefold()
        if NAMED_LIKE_A_SECRET.search(folded) or "chpasswd" in folded or next(_by_form(self.source), None):
            self.hidden.append(Hidden(0, len(self.source), ()))
        else:
            self._texts = [ValueSpan((), 0, len(self.source), self.source)]

    def _named(self, leaves: list[ValueSpan]) -> list[bool]:
        """Return for each value whether the names above it, or a value beside it, name it like a secret."""
        by_path = [not TELLS_NOTHING.match(leaf.text.strip()) and self._is_secret(leaf.path) for leaf in leaves]
        named_after = self._named_by_another(leaves)
        options = {
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
            known or leaf.path in options or at in named_after
            for at, (known, leaf) in enumerate(zip(by_path, leaves, strict=True))
        ]

    def _named_by_another(self, leaves: list[ValueSpan]) -> set[int]:
        """Return the positions of values whose name is the value of another key."""
        names = [_last_name(leaf.path) for leaf in leaves]
        places = [_map_of(leaf.path) for leaf in leaves]
        counts = Counter(place for name, place in zip(names, places, strict=True) if name in _NAMES_ANOTHER)
        before: dict[Path, bool] = {}
        anywhere: dict[Path, bool] = {}
        for leaf, name, place in zip(leaves, names, places, strict=True):
            if name in _NAMES_ANOTHER and counts[place] == 1:
                anywhere[place] = self._is_named(leaf.text)
        found = set()
        for at, (leaf, name, place) in enumerate(zip(leaves, names, places, strict=True)):
            if name in _NAMES_ANOTHER:
                before[place] = self._is_named(leaf.text)
            elif (name in _IS_NAMED and (anywhere.get(place) or before.get(place))) or anywhere.get(
                leaf.path
            ):  # <entry name="password">text</entry>
                found.add(at)
        return found

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


def _family(extension: str) -> str:
    known = FORMATS.get(extension)
    return known.family.name if known else "text"


def _leaves(source: str, extension: str, labels: Mapping[str, str]) -> list[ValueSpan]:
    """Return the values of a document, an answer or an inventory. Raises `ParseError`, `UnreadableError`."""
    if extension == INVENTORY_FORMAT:
        return list(_cells(source, labels))
    return value_spans(_family(extension), source)


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
    names = _without_positions(path)
    return names[-1].lstrip("@").casefold() if names else ""


def _without_positions(path: Path) -> Path:
    while path and path[-1].isdecimal():
        path = path[:-1]
    return path


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
                found.add(said)
                if re.search(r"[^\w/+=.$:-]", said):
                    found |= {
                        json.dumps(said, ensure_ascii=False)[1:-1],
                        html.escape(said),
                        html.escape(said, quote=False),
                        said.replace("\\", ""),
                        _unquoted(said),
                        unquote(said),
                    }
    return {text for text in found if text.strip()}


class _Search:
    """Searches texts for hidden values, in one pass whose cost does not depend on their number."""

    def __init__(self, values: Iterable[str]) -> None:
        self._by_beginning: dict[str, dict[int, set[str]]] = {}
        for value in values:
            if len(value) >= _SHORTEST_ELSEWHERE and "\n" not in value and not TELLS_NOTHING.match(value):
                compared = value[:_LONGEST_COMPARED]
                lengths = self._by_beginning.setdefault(value[:_SHORTEST_ELSEWHERE], {})
                lengths.setdefault(len(compared), set()).add(compared)
        self._lengths = {
            beginning: sorted(lengths, reverse=True) if len(lengths) <= _MOST_LENGTHS else []
            for beginning, lengths in self._by_beginning.items()
        }

    def __bool__(self) -> bool:
        return bool(self._by_beginning)

    def found_in(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where values occur, from start to end."""
        lengths_of = self._lengths
        done = 0
        for at in self._beginnings_in(text):
            lengths = lengths_of.get(text[at : at + _SHORTEST_ELSEWHERE])
            if lengths is None or at < done:
                continue
            if not lengths:
                done = _line_end(text, at)
                yield at, done
                continue
            values = self._by_beginning[text[at : at + _SHORTEST_ELSEWHERE]]
            for length in lengths:
                if text[at : at + length] in values[length] and _is_whole(text, at, at + length):
                    done = _line_end(text, at) if length == _LONGEST_COMPARED else at + length
                    yield at, done
                    break

    def _beginnings_in(self, text: str) -> Iterable[int]:
        """Return the places where a value may begin, in order."""
        if len(self._by_beginning) > _FEW_BEGINNINGS:
            return range(len(text) - _SHORTEST_ELSEWHERE + 1)
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

_WORD = r"""(?:\{\{[^{}\r\n\0]*\}\}|"(?:[^"\\\0]|\\[^\0]){0,4096}+"|'[^'\0]{0,4096}+'|\\[^\0]|[^\s\0])++"""
"""A shell word: placeholders, quoted parts, escaped characters and what touches them."""

_LINE = r"(?:[^\\\r\n\0]|\\\r?\n|\\(?![\r\n\0]))*+"
"""The rest of a line, with the lines that it is continued on."""

_ARGUMENTS = r"(?:\\\r?\n|[^\n|;&\0]|&(?!&)){0,400}?"
"""Some of a command's arguments."""

_LINE_START = r"(?:^|(?<=[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]))"
"""Python programs, such as pykickstart, begin a line at more characters than the line feed."""

_NAME = r"(?P<word>[\w./-]++)"
"""A whole word, checked afterwards: a pattern with a name in it would try each beginning with each end."""

_LOOKS = tuple(
    (parts, re.compile(pattern))
    for parts, pattern in (
        (
            ("-----begin ",),
            r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?"
            r"(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
        ),
        (
            ("$",),
            r"\$(?:[0-9]|2[abxy]|y|gy|sm3|md5|sha1|argon2\w*|scrypt|pbkdf2[\w-]*)\$[^\s\"'<>:\0]{8,}",
        ),
        (("grub.pbkdf2.",), r"grub\.pbkdf2\.[^\s\"'<>\0]+"),
        (("age-secret-key-",), r"AGE-SECRET-KEY-1\w+"),
        (
            ("authorization",),
            r"(?i)\bauthorization\\?[\"']?[ \t]*[:=][ \t]*[\"']?(?:\w+[ \t]+)?(?P<value>[^\s\"'<>\0]+)",
        ),
        (("bearer",), r"(?i)\bbearer[ \t]+(?P<value>[\w.~+/=-]{8,})"),
        (
            ("-u", "--proxy-u"),
            rf"(?:(?<=\s)-[uU]|--(?:proxy-)?user)[ \t=]+[^\s:\"'\0]+:(?!\d+(?:\s|\Z))(?P<value>{_WORD})",
        ),
        (
            ("-u", "--proxy-u"),
            rf"(?:(?<=\s)-[uU]|--(?:proxy-)?user)[ \t=]+(?=[\"'][^\s:\"'\0]+:)(?P<value>{_WORD})",
        ),
        (("%",), rf"(?:(?<=\s)-U|--user)[ \t=]*+[^\s%\"'\0]+%(?!\w?(?:\s|\Z))(?P<value>{_WORD})"),
        (("%",), rf"(?:(?<=\s)-U|--user)[ \t=]*+(?=[\"'][^\s%\"'\0]+%)(?P<value>{_WORD})"),
        (
            ("useradd", "usermod", "sshpass", "login"),
            r"\b(?:useradd|usermod|sshpass"
            rf"|(?:docker|podman|buildah|skopeo|oc|registry){_BLANK}++login)\b{_ARGUMENTS}{_BLANK}-p{_BLANK}*+(?P<value>{_WORD})",
        ),
        (
            ("mysql", "mariadb"),
            rf"\b(?:mysql|mariadb)[\w-]*+(?={_BLANK}){_ARGUMENTS}{_BLANK}-p(?!{_BLANK})(?P<value>{_WORD})",
        ),
        (
            ("nmcli", "wpa_cli", "mysqladmin"),
            rf"\b(?:nmcli|wpa_cli|mysqladmin){_BLANK}{_ARGUMENTS}\b(?:password|psk){_BLANK}++(?P<value>{_WORD})",
        ),
        (
            ("ldap", "ipa-"),
            rf"\b(?:ldap[a-z]++|ipa-client-install)\b{_ARGUMENTS}{_BLANK}-w{_BLANK}*+(?P<value>{_WORD})",
        ),
        (("ipmitool",), rf"\bipmitool{_BLANK}{_ARGUMENTS}(?<=\s)-P{_BLANK}*+(?P<value>{_WORD})"),
        (("redis-cli",), rf"\bredis-cli\b{_ARGUMENTS}{_BLANK}-a{_BLANK}++(?P<value>{_WORD})"),
        (("htpasswd",), rf"\bhtpasswd{_BLANK}++-\w*b\w*{_BLANK}++{_WORD}{_BLANK}++{_WORD}{_BLANK}++(?P<value>{_WORD})"),
        (("wpa_passphrase",), rf"\bwpa_passphrase{_BLANK}++{_WORD}{_BLANK}++(?![<>|&])(?P<value>{_WORD})"),
        (
            ("suseconnect", "attach"),
            rf"\b(?:SUSEConnect\b{_ARGUMENTS}{_BLANK}-r|(?:pro|ua|ubuntu-advantage){_BLANK}++attach){_BLANK}++(?!-)"
            rf"(?P<value>{_WORD})",
        ),
        (
            ("assword", "assphrase"),
            r"(?i:assword|assphrase)[^\n\0]{0,200}(?:\n[^\n\0]{0,80}?)?\bsend[ \t]+(?:--[ \t]+)?"
            r"(?P<value>\"[^\"\n\0]*\\[rn]\"|\{[^}\n\0]*\})",
        ),
        (("identified", "password"), rf"(?i)\b(?:identified{_BLANK}+by|password){_BLANK}*+(?P<value>'[^'\n\0]+')"),
        (("securestring",), rf"(?i)\bConvertTo-SecureString{_BLANK}++(?:-String{_BLANK}++)?(?!-)(?P<value>{_WORD})"),
        (("/pass:",), rf"(?i)(?<=\s)/pass:(?P<value>{_WORD})"),
        ((",pass=",), r",pass=(?P<value>[^\s,\"'\0]+)"),
        (
            ("openssl", "mkpasswd"),
            rf"\b(?:openssl{_BLANK}+passwd|mkpasswd)\b(?:{_BLANK}+-{_WORD})*+{_BLANK}+(?P<value>{_WORD}(?:{_BLANK}+{_WORD})*+)",
        ),
        (("pass:",), rf"(?<![\w./-])pass:(?P<value>{_WORD})"),
        (("net",), rf"(?i)\bnet{_BLANK}+user{_BLANK}+[^\s\0]+{_BLANK}+(?!/)(?P<value>{_WORD})"),
        (("/ipk",), rf"(?i)(?<!\S)/ipk{_BLANK}+(?P<value>{_WORD})"),
        (("d-i",), rf"(?im)(?<![^\s;&|])d-i{_BLANK}+[^\s\0]+{_BLANK}+password{_BLANK}+(?P<value>{_LINE})"),
    )
)
"""Secrets by their looks: parts, of which each text has one, case-folded, that the pattern finds something in; and the
pattern. Where that has a group ``value``, the group is the secret."""

_MAY_HOLD_ONE = tuple(
    (parts, re.compile(pattern))
    for parts, pattern in (
        (PARTS_OF_SECRET_NAMES, NAMED_LIKE_A_SECRET.pattern),
        (("$",), r"\$[\w-]+\$"),
        (("-u",), r"-(?:(?<=\s-)u|-(?:proxy-)?user)[\s=]"),
        (("net",), r"net[\s\\]+user"),
        (("%",), r"-(?:(?<=\s-)u|-user)[^%]*%"),
        (("://",), r"://(?:\{\{[^{}]*\}\}|(?!://)[^\s\"'<>@])*+@"),
        (("authorization", "bearer", "useradd", "usermod", "sshpass", "chpasswd", "cryptsetup"), ""),
        (("mysql", "mariadb", "login", "ldap", "ipa-client", "ipmitool", "redis-cli", "suseconnect", "attach"), ""),
        (("assword", "assphrase", "identified", "securestring", ",pass=", "kinit", "realm", "sudo"), ""),
        (("-----begin ", "pbkdf2", "pass:", "/ipk"), ""),
    )
)
"""What every text holds, case-folded, that a pattern here finds something in: a part, and what the pattern matches."""


def _may_hold_one(text: str) -> bool:
    folded = text.casefold()  # a third of the time of a pattern that ignores case
    return any(pattern.search(folded) for parts, pattern in _MAY_HOLD_ONE if any(part in folded for part in parts))


_OPTION = re.compile(rf"(?<![\w./-])--?{_NAME}(?:=|{_BLANK}++(?!-))")
_SETTING = re.compile(rf"(?<![\w./-]){_NAME}\\?[\"']?(?P<before>[ \t]*+)[=:](?P<after>[ \t]*+)")
_QUESTION = re.compile(
    rf"(?im){_LINE_START}[ \t]*+\S++{_BLANK}++{_NAME}{_BLANK}++"
    rf"(?P<type>password|string|note|select|multiselect|text)(?:{_BLANK}++|$)"
)
_IPXE_SETTING = re.compile(
    rf"(?im){_LINE_START}[ \t]*+(?:set|param(?:[ \t]++--params[ \t]++\S++)?)[ \t]++{_NAME}(?::\w++)?[ \t]++"
)
_ELEMENT = re.compile(r"<(?P<word>[\w.:-]++)[^<>]*+>")
_ROOT_PASSWORD = re.compile(rf"(?im){_LINE_START}[ \t]*+(?:rootpw|sshpw)(?P<rest>{_BLANK}{_LINE})")
_URL = re.compile(r"://(?P<rest>(?:\{\{[^{}\n]*\}\}|[^\s\"'<>\0])++)")
_PORT = re.compile(r"\d{1,5}\Z")
_PIPE = re.compile(
    r"\|(?:[ \t]*+\\?\r?\n)?[^\n|\0]*?"
    r"\b(?:chpasswd|passwd|smbpasswd|cryptsetup|kinit|realm|password-stdin|sudo[ \t]+-S)\b"
)
_SAID = re.compile(rf"\b(?:echo|printf)\b(?P<rest>(?:{_BLANK}++{_WORD})*+)")
_HERE_TEXT = re.compile(
    rf"\b(?:chpasswd|passwd|smbpasswd|cryptsetup)\b[^\n|\0]{{0,200}}?<<(?:<[ \t]*+(?P<value>{_WORD})"
    r"|-?[ \t]*+\\?[\"']?(?P<tag>\w+)[^\n]{0,400}\n)"
    r"|<<-?[ \t]*+\\?[\"']?(?P<piped>\w++)[^\n|\0]{0,200}+\|(?P<into>[^\n\0]{0,400}+)\n"
)
_AT_LINE_START = re.compile(r"(?:[ \t#;]|//|- |export |set |\"|')*\Z")
_INDENT = re.compile(r"[ \t#;]*+(?:- )?")
_BLOCK = re.compile(r"(?:[|>&!][^\r\n]*|[\[{(][^\r\n\])}]*|#[^\r\n]*|\\?[\"']{3}[^\r\n]*)?(?=\r?\n)")
_WORD_AT = re.compile(_WORD)
_LINE_AT = re.compile(_LINE)
_LONGEST_ELEMENT = 4_096
_LONGEST_SCHEME = 20


def _by_form(text: str, *, is_code: bool = True) -> Iterator[tuple[int, int]]:
    """Yield the secrets of a text by their looks and, if it ``is_code``, by the names before them, as spans that say
    something."""
    for start, end in _by_any_form(text) if is_code else _by_looks(text):
        said = text[start:end].rstrip()
        first = _WORD_AT.match(said)
        rest = said[first.end() :].strip() if first else ""
        ends = not rest or rest[0] == "#" or (first is not None and first[0][-1] in ",;}])")
        is_empty = first is not None and ends and TELLS_NOTHING.match(first[0].strip("\"',;}])"))
        if said and not is_empty and re.search(r"\w", said):
            yield start, start + len(said)


def _by_looks(text: str) -> Iterator[tuple[int, int]]:
    folded = text.casefold()
    for parts, pattern in _LOOKS:
        if any(part in folded for part in parts):
            group = "value" if "value" in pattern.groupindex else 0
            for found in pattern.finditer(text):
                yield found.span(group)
    yield from _in_urls(text)


def _by_any_form(text: str) -> Iterator[tuple[int, int]]:
    yield from _by_looks(text)
    yield from _after_options(text)
    yield from _in_settings(text)
    for pattern in (_QUESTION, _IPXE_SETTING):
        for found in pattern.finditer(text):
            if is_secret_name(found["word"]) or found.groupdict().get("type") == "password":
                yield _span_of(_LINE_AT, text, found.end())
    for found in _ROOT_PASSWORD.finditer(text):
        for word in _WORD_AT.finditer(text, *found.span("rest")):
            if not word[0].startswith("--"):
                yield word.span()
    yield from _in_elements(text)
    yield from _piped(text)


def _span_of(pattern: re.Pattern[str], text: str, at: int) -> tuple[int, int]:
    found = pattern.match(text, at)
    return found.span() if found else (at, at)


def _in_urls(text: str) -> Iterator[tuple[int, int]]:
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
            yield start + colon + 1, start + at
        elif at < authority and scheme.endswith(("http", "https", "ftp")):
            yield start, start + at


def _after_options(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    while option := _OPTION.search(text, at):
        at = option.end("word")
        if is_secret_name(option["word"]):
            span = _span_of(_WORD_AT, text, option.end())
            at = max(at, span[1])
            yield span


def _in_settings(text: str) -> Iterator[tuple[int, int]]:
    """Yield the values of settings: a word where the line has more of them (``a=1 password=x b=2``), else the rest of
    the line, or the lines below that are indented more."""
    at = 0
    while setting := _SETTING.search(text, at):
        at = setting.end("word")
        is_list = setting["word"] == "chpasswd"
        if not is_list and not is_secret_name(setting["word"]):
            continue
        begins, value = _line_start(text, setting.start()), setting.end()
        if value == len(text) or (block := _BLOCK.match(text, value)):
            at = _block_end(text, begins, block.end() if value < len(text) and block else value)
            yield value, at
            continue
        if is_list:
            continue
        before = text[max(begins, setting.start() - _LONGEST_UNDER) : setting.start()]
        is_first = bool(_AT_LINE_START.match(before))
        whole = is_first or setting["before"] or setting["after"]
        span = _span_of(_LINE_AT if whole else _WORD_AT, text, value)
        at = max(at, span[1])
        yield span


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


def _in_elements(text: str) -> Iterator[tuple[int, int]]:
    """Yield what elements hold, in texts that are no XML documents."""
    at = 0
    while element := _ELEMENT.search(text, at):
        at = element.end()
        if is_secret_name(element["word"]):
            closed = text.find(f"</{element['word']}>", at, at + _LONGEST_ELEMENT)
            end = closed if closed >= 0 else _line_end(text, at)
            yield at, end
            at = end


def _piped(text: str) -> Iterator[tuple[int, int]]:
    """Yield what a script gives chpasswd(8) and the like."""
    for said in _SAID.finditer(text):
        start, end = said.span("rest")
        pipes = [pipe.start() for pipe in _PIPE.finditer(text, start, _line_end(text, end + 1)) if pipe.start() <= end]
        if pipes:
            yield start + 1, pipes[-1]
    at = 0
    while here := _HERE_TEXT.search(text, at):
        at = here.end()
        if here["piped"] and "passwd" not in here["into"]:
            continue
        tag = here["tag"] or here["piped"]
        if tag is None:
            yield here.span("value")
        else:
            closed = re.compile(rf"(?m)^[ \t]*{re.escape(tag)}\b").search(text, at)
            yield at, (at := closed.start() if closed else len(text))


# Messages of other programs, which quote an answer although it holds passwords.

HIDDEN = "…"

_PARTS = re.compile(
    r"\b(?:lines?|col|column|row|char|character|position|offset)\W{0,2}\d+"  # a place
    r"|answer\.\w+(?::\d+)*"  # the copy that a program was given, and a place in it
    r"|(?P<word>\w+)|(?P<signs>[^\w\s]{4,})",
    re.IGNORECASE,
)
_SEVERAL = re.compile(rf"{HIDDEN}(?:[^\w\s]*{HIDDEN})+")
_SHORT = 3
"""Characters of the shortest word that is also searched for within the words of the answer: programs cut words."""

_WORDS = """
a additional after all allowed an and any are argument arguments as at be because been before between bool boolean
but by can cannot character characters choice choose closing column command config could data declared deprecated
did does document duplicate during each either element empty end error errors exactly exit expected expecting
expects extra failed field file files first following for format found from general given got has have if ignored
in int integer invalid is it its json key keys kickstart length level less line lines list many match may missing
more must name namespace need needs no non none not null number object occurred of on once one only opening option
options or out parse parsed parser parsing part problem properties property provided quotation read reason refused
removed required schema section sections should single skipping specified start status string successfully such
supported syntax table tag than that the there this to token toml too try type types unable unclosed unexpected
unique unknown unrecognized unsupported until use used valid value values version warning was were when while will
with without wrong xml yaml you
"""
_OF_MESSAGES = frozenset(_WORDS.split())
"""Words of usual messages; a password that is one of these words is not masked."""


def hiding_words(answer: str, known: Collection[str] = ()) -> Callable[[str], str]:
    """Return a function that hides every word of ``answer`` in a message about it, but for words of usual messages and
    those in ``known`` (lower case: names of keys, commands and options).

    A program may have dropped quotes and backslashes, or cut a word.
    """
    folded = answer.casefold()
    bare = re.sub(r"[\"'\\]", "", folded)
    words = {*re.findall(r"\w+", folded), *re.findall(r"\w+", bare)}
    kept = _OF_MESSAGES.union(known)

    def is_of_answer(part: re.Match[str]) -> bool:
        if part["signs"]:
            return part["signs"] in folded
        word = (part["word"] or "").casefold()
        is_part = len(word) >= _SHORT and (word in folded or word in bare)
        return bool(word) and word not in kept and (word in words or is_part)

    def hide(message: str) -> str:
        return _SEVERAL.sub(HIDDEN, _PARTS.sub(lambda part: HIDDEN if is_of_answer(part) else part[0], message))

    return hide
