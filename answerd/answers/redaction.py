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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import unquote

from answerd.answers.command_words import Found, in_list, in_text, is_secret_file
from answerd.answers.secret_forms import by_form, line_end, may_hold_one, values_of
from answerd.answers.secret_names import SECRET, is_secret_name, tells_nothing
from answerd.answers.secrets.fields import FIELDS, IS_NAMED, LAST_NAMES, NAMED_BY, Field
from answerd.answers.secrets.innocent import ATTRIBUTES, BELOW, PACKAGE_LISTS
from answerd.answers.secrets.names import WITHIN
from answerd.formats import FORMATS
from answerd.formats.family import ParseError, Path
from answerd.formats.positions import ValueSpan, value_spans, written_spans
from answerd.formats.user_data import is_program
from answerd.identity import folded
from answerd.inventory import COLUMNS
from answerd.inventory import FORMAT as INVENTORY_FORMAT
from answerd.inventory.records import BYTE_ORDER_MARK, Syntax, UnreadableError, after_sep_line, records, separator_of
from answerd.memo import remembered

CHANGED = "(secret, changed)"

_BESIDE_A_SECRET = frozenset(name for name, _ in BELOW)
_INNOCENT_ATTRIBUTES = frozenset(f"@{name}" for name, _ in ATTRIBUTES)

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
_CHOSEN_SECRET = re.compile(r"\{\{[ \t]*secret\[[^\]{}\r\n]*\][ \t]*(?:\|[^{}\r\n]*)?\}\}")
"""A secret of the service that Jinja chooses by a value: ``{{ secret[customer ~ "-root"] }}``."""

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
    return _replaced(text, reading.all_hidden({*reading.elsewhere, *_variants(known)}), lambda _: SECRET)


def redacted_pair(
    before: str, after: str, extension: str, known: Iterable[str] = (), labels: Mapping[str, str] = NO_LABELS
) -> tuple[str, str]:
    """Return two versions of a text without their secrets. One that ``before`` does not have under the same name is
    marked as changed, so that the difference stays visible. ``known`` and ``labels`` are as for `redacted`."""
    first, second = _Reading(before, extension, labels), _Reading(after, extension, labels)
    values = {*first.elsewhere, *second.elsewhere, *known}
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
    return frozenset(_Reading(text, extension).elsewhere) if has_escapes or may_hold_one(text) else frozenset()


@remembered(256, len, 262_144)
def secrets_in_clear(text: str, extension: str, public: str) -> tuple[int, int]:
    """Return how many secrets a document holds in clear, not as placeholders, and the line of the first; 0 and 0 where
    it holds none. One that has the text ``public`` does not count."""
    if not ("\\" in text or "&" in text or may_hold_one(text)):
        return 0, 0
    found = _apart(_Reading(text, extension).hidden)
    hidden = [span for span in found if _is_clear(text[span.start : span.end], public)]
    return len(hidden), text.count("\n", 0, hidden[0].start) + 1 if hidden else 0


def _is_clear(written: str, public: str) -> bool:
    in_clear = _CHOSEN_SECRET.sub("", _PLACEHOLDER.sub("", written))
    return public not in written and re.search(r"\w", in_clear) is not None


def hiding(text: str, extension: str, known: Iterable[str] = ()) -> Callable[[str], str]:
    """Return a function that hides the secrets of an answer in what another program says of it. ``known`` are those
    that the text does not show by itself (`known_values`)."""
    reading = _Reading(text, extension)
    spans = [span for span in reading.hidden if _TAKES_NOTHING_ELSE.match("".join(span.under[-1:]))]
    hidden = [word for span in spans for word in text[span.start : span.end].split()]
    words = {word.partition("=")[2] if word.startswith("-") else word for word in hidden}
    known = [*known]
    words |= {word for text in known for word in text.split() if len(word) >= _SHORTEST_WITHIN_A_WORD}
    search = _Search({*reading.values, *_variants([*known, *words])}, _SHORTEST_IN_A_MESSAGE)

    def hide(message: str) -> str:
        return _replaced(message, [Hidden(*span, ()) for span in search.found_in(message)], lambda _: SECRET)

    return hide


_TAKES_NOTHING_ELSE = re.compile(r"(?:rootpw|sshpw)\b")
"""Commands whose every argument is taken for the password in a message: a reader that expects one quotes the others."""

_SHORTEST_IN_A_MESSAGE = 3
"""Characters of the shortest secret that is hidden in a message of another program, where it is a whole word."""


class _Reading:
    """A text with what is hidden in it by names and by looks. ``values`` are the hidden texts as a reader has them."""

    def __init__(self, source: str, extension: str, labels: Mapping[str, str] = NO_LABELS) -> None:
        self.source = source
        self.hidden: list[Hidden] = []
        self.values: set[str] = set()
        self._texts: list[ValueSpan] = []
        """Values, comments and what else is written: everything that is searched for secrets by their looks."""
        try:
            leaves = _leaves(source, extension, labels)
        except (ParseError, UnreadableError):
            self._hide_unreadable()
            return
        named = _Names(leaves)
        for leaf in leaves:
            if named.is_secret(leaf):
                self._hide(leaf.start, leaf.end, leaf.path, leaf.text)
            else:
                self._texts.append(leaf)
                self._hide_parts(leaf, named.parts(leaf))
        self._texts += _between(source, leaves, _family(extension, source), extension)
        for text in self._texts:
            if may_hold_one(text.text):
                is_comment = text.spelling == "comment"
                self._hide_parts(text, by_form(text.text, is_code=text.spelling != "names", is_comment=is_comment))
        self.values -= named.users | _users_in(self._texts)

    def _hide_parts(self, text: ValueSpan, found: Iterable[Found]) -> None:
        parts = list(found)
        spans = [(part.start, part.end) for part in parts]
        for part, (first, last) in zip(parts, _written(self.source, text, spans), strict=False):
            self._hide(first, last, text.path or _under(self.source, first), *values_of(part, text.text))

    @property
    def elsewhere(self) -> set[str]:
        """The hidden texts that are hidden wherever they occur: not a secret's own name, which says nothing."""
        return {value for value in self.values if value.casefold() not in _NAMES_OF_SECRETS}

    def all_hidden(self, values: Collection[str]) -> list[Hidden]:
        """Return what is hidden, in order and apart from each other: the secrets, and where ``values`` occur again."""
        found = list(self.hidden)
        search = _Search(values)
        if search:
            for text in self._texts:
                if text.spelling == "names":
                    continue  # what repeats a value there is a key or an element's name
                parts = list(search.found_in(text.text))
                found += [Hidden(*span, ("",)) for span in _written(self.source, text, parts)]
        return _apart(found)

    def _hide(self, start: int, end: int, under: Path, *said: str) -> None:
        self.hidden.append(Hidden(start, end, under))
        for text in said:
            if len(text) >= _SHORTEST_ELSEWHERE:
                self.values.update(_variants([_PLACEHOLDER.sub("\n", text), _unquoted(text)]))

    def _hide_unreadable(self) -> None:
        """Hide the secrets of a text that is not of its format, as those of a text without any."""
        whole = ValueSpan((), 0, len(self.source), self.source, "exact")
        self._texts = [whole]
        self._hide_parts(whole, by_form(self.source))
        self._hide_parts(whole, (Found(*found.span("value")) for found in _FIELD_ALONE.finditer(self.source)))
        self._hide_parts(whole, in_text(self.source.translate(_SIGNS_OF_LISTS)))


_FIELD_ALONE = re.compile(
    rf"(?<![\w.-])(?:{'|'.join(LAST_NAMES)})"
    r"[\"']?[ \t]*[:=][ \t]*[\"']?(?P<value>[^\s\"',}\]#]{8,})"
)
"""A field's last name and its value, in a text where nothing says what is above it."""

_SIGNS_OF_LISTS = str.maketrans("[],\"'", "     ")
"""What stands between the arguments of a command that is written as a list."""

_USER = re.compile(r"(?:--(?:user)?name[ =]|passwd/username[ \t]+string[ \t]+)[\"']?(?P<user>[\w.-]+)")
_OF_USERS = frozenset(("user", "username", "name", "login"))

_FIELDS: dict[str, list[tuple[Path, Field]]] = {}
"""The fields by their last name; those of any name by the name above it and ``/*``."""
for _field in FIELDS:
    _names = tuple(_field.path.split("/"))
    _FIELDS.setdefault("/".join(_names[-2:]) if _names[-1] == "*" else _names[-1], []).append((_names, _field))
_LONGEST_FIELD = max(field.path.count("/") + 1 for field in FIELDS)


def _bare(name: str) -> str:
    return name.lstrip("@").rpartition("}")[2]


def _users_in(texts: Iterable[ValueSpan]) -> set[str]:
    """Return the names of users that a text of lines has."""
    return {found["user"] for text in texts if text.spelling == "exact" for found in _USER.finditer(text.text)}


class _Names:
    """The names of the values of a document: which of them are secrets by their names or as fields of a format."""

    def __init__(self, leaves: Sequence[ValueSpan]) -> None:
        self._known: dict[str, bool] = {}
        last_names = [_last_name(leaf.path) for leaf in leaves]
        named = list(zip(last_names, leaves, strict=True))
        self._kinds = {(_map_of(leaf.path), last): leaf.text for last, leaf in named if last in ("type", "kind")}
        self._naming = {
            _map_of(leaf.path)
            for last, leaf in named
            if (last in NAMED_BY and self._is_named(leaf.text)) or (last == "path" and is_secret_file(leaf.text))
        }
        self._in_commands: dict[Path, list[Found]] = {}
        for command in _lists(leaves):
            self._read(command)
        self.users = {leaf.text for last, leaf in named if last in _OF_USERS}

    def is_secret(self, leaf: ValueSpan) -> bool:
        """Return whether a value is hidden whole: by the names above it, by the value of another key of its map, by an
        attribute of its element (``<entry name="password">text</entry>``), or as a field."""
        names = [step for step in leaf.path if not step.isdecimal()]
        last = _last_name(leaf.path)
        if not names or tells_nothing(leaf.text) or leaf.text.lstrip().startswith(_PUBLIC):
            return False
        is_named = self._is_above(names) or leaf.path in self._naming
        is_named = is_named or (last in IS_NAMED and _map_of(leaf.path) in self._naming)
        field = self._field(names, leaf)
        return bool((is_named and not (field and field.sign)) or (field and not field.sign))

    def parts(self, leaf: ValueSpan) -> list[Found]:
        """Return the secrets within a value that its place tells: an argument of a command, the passwords of a list of
        users."""
        found = self._in_commands.get(leaf.path, [])
        field = self._field([step for step in leaf.path if not step.isdecimal()], leaf)
        if field is not None and field.sign:
            at = 0
            for line in leaf.text.splitlines(keepends=True):
                signed = line.find(field.sign) + 1
                value = line[signed:].strip()
                if value and not tells_nothing(value):
                    start = at + line.index(value, signed)
                    found = [*found, Found(start, start + len(value))]
                at += len(line)
        return found

    def _read(self, command: Sequence[ValueSpan]) -> None:
        """Read a list as the arguments of a command."""
        for place in in_list([leaf.text for leaf in command]):
            leaf = command[place.word]
            self._in_commands.setdefault(leaf.path, []).append(Found(place.start, place.end))
        for first, second in pairwise(command):
            option = first.text
            is_option = option.startswith("-") and "=" not in option and not second.text.startswith("-")
            if is_option and self._is_named(option) and not tells_nothing(second.text):
                self._in_commands.setdefault(second.path, []).append(Found(0, len(second.text)))

    def _field(self, names: Sequence[str], leaf: ValueSpan) -> Field | None:
        field: Field
        bare = ["", "", *map(_bare, names[-_LONGEST_FIELD:])]
        for wanted, field in (*_FIELDS.get(bare[-1], ()), *_FIELDS.get(f"{bare[-2]}/*", ())):
            own = bare[-len(wanted) :]
            is_it = len(own) == len(wanted) and all(one in ("*", name) for one, name in zip(wanted, own, strict=True))
            if is_it and (not field.where[0] or self._kind(field.where[0], leaf) == field.where[1]):
                return field
        return None

    def _kind(self, key: str, leaf: ValueSpan) -> str | None:
        where = () if key.startswith("/") else _map_of(leaf.path)
        return self._kinds.get((where, key.lstrip("/")))

    def _is_above(self, names: Sequence[str]) -> bool:
        last = names[-1]
        if self._is_named(last) and last.casefold() not in _INNOCENT_ATTRIBUTES:
            return True
        bare = last.lstrip("@").rpartition(":")[2].casefold()
        above = (
            bare not in _BESIDE_A_SECRET
            and last.casefold() not in _INNOCENT_ATTRIBUTES
            and not last.startswith("@xmlns")
        )
        return above and any(self._is_named(name) for name in names[:-1] if name not in ("passwd", "chpasswd"))

    def _is_named(self, name: str) -> bool:
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = is_secret_name(name)
        return known


_PUBLIC = (
    "-----BEGIN CERTIFICATE",
    "-----BEGIN PGP PUBLIC",
    "-----BEGIN PUBLIC KEY",
    "ssh-rsa ",
    "ssh-ed25519 ",
    "ecdsa-",
)


def _lists(leaves: Sequence[ValueSpan]) -> Iterator[list[ValueSpan]]:
    """Yield the values of each list of texts, but lists of packages."""
    for where, group in groupby(
        leaves, lambda leaf: leaf.path[:-1] if leaf.path and leaf.path[-1].isdecimal() else None
    ):
        if where is not None and (not where or where[-1].casefold() not in PACKAGE_LISTS):
            words = list(group)
            if len(words) > 1:
                yield words


def _family(extension: str, source: str) -> str:
    if extension == COLUMNS:
        return "toml"
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
    syntax = Syntax(separator_of(text))
    columns: list[str] = []
    names: dict[str, str] = {}
    """The secret ones of the columns, with their name or label, whichever tells."""
    for count, record in enumerate(records(text, syntax, after_sep_line(text))):
        row = text[record.start : record.end]
        if not count:
            columns = syntax.cells(row)
            named = [(column, name) for column in columns for name in (labels.get(folded(column), ""), column)]
            names = {column: name for column, name in named if is_secret_name(name)}
            continue
        may_hold_another = may_hold_one(row)
        if not (names or may_hold_another):
            continue
        begin = record.start + skipped
        for column, value, (start, end) in zip(columns, syntax.cells(row), syntax.places(row), strict=False):
            if column not in names and not may_hold_another:
                continue
            path = (str(count), names.get(column, column))
            yield ValueSpan(path, begin + start, begin + end, value, "unknown")


_OF_ONE_LINE_EACH = ("preseed", "seed")
_LOGICAL_LINE = re.compile(r"(?:[^\\\n]++|\\\r?\n|\\)+")

_COMMENT = {
    "toml": re.compile(r"(?:(?<=\n)[ \t]*#[^\n]*\n)+|#[^\n]*"),
    "yaml": re.compile(r"(?:(?<=\n)[ \t]*#[^\n]*\n)+|(?<!\S)#[^\n]*"),
    "xml": re.compile(r"<!--.*?-->", re.DOTALL),
}
"""The comments of a family, in a text without its values. Lines of comments are one."""


def _between(source: str, leaves: list[ValueSpan], family: str, extension: str) -> Iterator[ValueSpan]:
    """Yield what is written beside the values: each comment; then names and signs, with all else replaced by NUL
    characters. Of the text family, everything; of a preseed, each line, because none goes on in the next."""
    if extension in _OF_ONE_LINE_EACH:
        yield from (ValueSpan((), *found.span(), found[0], "exact") for found in _LOGICAL_LINE.finditer(source))
        yield ValueSpan((), 0, len(source), source, "names")
        return
    pieces, done = [], 0
    for leaf in sorted(leaves, key=lambda span: span.start):
        if leaf.start >= done:
            pieces += [source[done : leaf.start], _blanked(source[leaf.start : leaf.end])]
            done = leaf.end
    rest = "".join([*pieces, source[done:]])
    if comments := _COMMENT.get(family):
        for comment in comments.finditer(rest):
            yield ValueSpan((), *comment.span(), comment[0], "comment")
        rest = comments.sub(lambda comment: _blanked(comment[0]), rest)
    yield ValueSpan((), 0, len(rest), rest, "exact" if family == "text" else "names")


def _blanked(text: str) -> str:
    return "\n".join(["\0" * len(line) for line in text.split("\n")])


def _written(source: str, text: ValueSpan, parts: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    if text.spelling in ("exact", "names", "comment"):
        return ((text.start + start, text.start + end) for start, end in parts)
    return written_spans(source, text, parts)


def _last_name(path: Path) -> str:
    for step in reversed(path):
        if not step.isdecimal():
            return step.lstrip("@").casefold()
    return ""


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
            if said and not tells_nothing(said) and said != SECRET and re.search(r"\w", said):
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


_NAMES_OF_SECRETS = frozenset(name for name, _ in WITHIN)


class _Search:
    """Searches texts for hidden values, in one pass whose cost does not depend on their number."""

    def __init__(self, values: Iterable[str], shortest: int = _SHORTEST_ELSEWHERE) -> None:
        self._shortest = shortest
        self._by_beginning: dict[str, dict[int, set[str]]] = {}
        for value in values:
            if len(value) >= shortest and "\n" not in value and not tells_nothing(value):
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
                    done = line_end(text, at) if length == _LONGEST_COMPARED else at + length
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


def _is_whole(text: str, start: int, end: int) -> bool:
    """Return whether an occurrence is hidden: a short one only where it is no part of a longer word."""
    if end - start >= _SHORTEST_WITHIN_A_WORD:
        return True
    return not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum())
