"""What names and values are secrets (docs/explain.md#secrets), by the tables of `answerd.answers.secrets`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from answerd.answers.secrets import innocent, names
from answerd.identity import folded
from answerd.memo import remembered

SECRET = "(secret)"  # noqa: S105 - what is shown instead of a secret

_WITHIN = tuple(part for part, _ in names.WITHIN)
_LAST_WORDS = tuple(part for part, _ in names.LAST_WORDS)
_WORDS = frozenset(word for word, _ in names.WORDS)
_IN_QUERIES = frozenset(word for word, _ in names.IN_QUERIES)
_QUESTIONS = tuple(part for part, _ in names.QUESTIONS)
_PRIVATE = names.ENDS_WITH_PRIVATE[0]

_INNOCENT_NAMES = frozenset(name for name, _ in innocent.NAMES)
_INNOCENT_WITHIN = tuple(part for part, _ in innocent.WITHIN)
_INNOCENT_FIRST = frozenset(word for word, _ in innocent.FIRST_WORDS)
_INNOCENT_LAST = frozenset(word for word, _ in innocent.LAST_WORDS)
_ENDS_OF_PLACES = ("file", "path", "dir", "stdin")
_INNOCENT_VALUES = frozenset(value for value, _ in innocent.VALUES)
_PROSE = frozenset(innocent.PROSE)

PARTS_OF_SECRET_NAMES = (
    "pass", "secret", "token", "cred", "kenn", "contra", "mot", "key", "code", "wep", "wpa", "psk", "auth", "data",
    "material", "pw", "cookie", "private",
)  # fmt: skip
"""Each name of a secret has one of these, case-folded: to look for them takes a tenth of the time."""

_LONGEST_NAME = 200
_WORD_OF_NAME = re.compile(r"[^\W\d_a-z]+(?![a-z])|[^\W\d_a-z]?[^\W\d_A-Z]+|\d+")

_SAYS_NOTHING = re.compile(
    r"(?:\d{1,2}|[^\w]*|\{\{[ \w.`]+\}\}|\$\{\{[^{}\n]*\}\}|<%=[^%\n]*%>|<[A-Za-z][A-Za-z_ -]*>|@[A-Z_]+@)\Z"
)
_PATH = re.compile(rf"(?:file://)?/(?:{'|'.join(innocent.ROOTS)})(?:/[\w.+@%-]*)*\Z|[A-Za-z]:\\[\w. \\-]+\Z")
_VARIABLE = re.compile(
    r"\"?(?:\$\{?[A-Za-z_]\w*(?:[:#%/][^}]*)?\}?|\$[\d@*#?]|\$\(.*|`.*|%\w+%|\$env:\w+|\{\{?[\w. `]+\}?\}"
    r"|\(?(?:(?:ConvertTo|ConvertFrom|Get|Import|Read)-[A-Z]\w+|New-Object)[ \t].*)\"?[),;]*\Z",
    re.DOTALL,
)
_SENTENCE_WORD = re.compile(r"[A-Za-z]?[a-z'-]*[.,:;!?)]*\Z")
_SHORTEST_SENTENCE = 3


def _bare(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


@remembered(2_048, len, _LONGEST_NAME)
def is_secret_name(name: str) -> bool:
    """Return whether values of this name are hidden."""
    name = name[-_LONGEST_NAME:].removeprefix("passwd/")
    in_lower_case = name.casefold()
    if not any(part in in_lower_case for part in PARTS_OF_SECRET_NAMES):
        return False
    words = [word.casefold() for word in _WORD_OF_NAME.findall(name.rpartition("/")[2])]
    bare = _bare(name)
    if not words or not (
        any(part in bare for part in _WITHIN) or not _WORDS.isdisjoint(words) or _is_last_word(words[-1])
    ):
        return False
    return not (
        _bare(name.rpartition("/")[2]) in _INNOCENT_NAMES
        or words[0] in _INNOCENT_FIRST
        or words[-1] in _INNOCENT_LAST
        or bare.endswith(_ENDS_OF_PLACES)
        or any(part in bare for part in _INNOCENT_WITHIN)
    )


def _is_last_word(word: str) -> bool:
    return word == _PRIVATE or (word.endswith(_LAST_WORDS) and word not in innocent.WORDS_THAT_END_IN_PASS)


def is_secret_in_a_query(name: str) -> bool:
    """Return whether the value of this name in the query of a URL is hidden."""
    return is_secret_name(name) or _bare(name) in _IN_QUERIES


def is_secret_question(question: str) -> bool:
    """Return whether a question of several words asks for a secret."""
    in_lower_case = question.casefold()
    return any(part in in_lower_case for part in _QUESTIONS) and in_lower_case.split()[0] not in _INNOCENT_FIRST


def tells_nothing(value: str) -> bool:
    """Return whether a value under a secret's name is none: ``true``, ``no``, a number of one or two digits, the place
    of a secret (``/etc/ssl/private/x.key``), or what stands for one until it is filled in (``<%= x %>``, ``@KEY@``)."""
    value = value.strip().strip("\"',;")
    if _SAYS_NOTHING.match(value) or _PATH.match(value):
        return True
    words = value.casefold().split(maxsplit=8)
    return all(word in _INNOCENT_VALUES for word in words)


def is_variable(word: str) -> bool:
    """Return whether a shell gets a word from a variable or a command: ``$PASSWORD``, ``"$(cat x)"``, ``%PASSWORD%``,
    ``(Read-Host -AsSecureString)``."""
    return _VARIABLE.match(word) is not None


def is_sentence(text: str) -> bool:
    """Return whether words of a comment are English: three or more, and one of them such as no value is made of."""
    words = text.split()
    return (
        len(words) >= _SHORTEST_SENTENCE
        and any(word.casefold() in _PROSE for word in words)
        and all(_SENTENCE_WORD.match(word) for word in words[:_SHORTEST_SENTENCE])
    )


def is_secret_column(column: str, labels: Mapping[str, str]) -> bool:
    """Return whether the cells of a column are hidden: it is named like a secret, or its label is. ``labels`` are those
    of columns with other names, of the whole set (`answerd.answers.catalogue.Catalogue.columns`)."""
    return is_secret_name(column) or is_secret_name(labels.get(folded(column), ""))


def redacted_cells(columns: Iterable[str], cells: Iterable[str], labels: Mapping[str, str]) -> list[str]:
    """Return the cells of a row without those of columns that `is_secret_column` names."""
    return [
        redacted_cell(column, cell, labels.get(folded(column), "")) for column, cell in zip(columns, cells, strict=True)
    ]


def redacted_row(cells: Mapping[str, str], labels: Mapping[str, str]) -> dict[str, str]:
    """Return the cells of a row by column, without those of columns that `is_secret_column` names."""
    return dict(zip(cells, redacted_cells(cells, cells.values(), labels), strict=True))


def redacted_cell(column: str, value: str, label: str = "") -> str:
    """Return the value of a cell, or of a fact; ``(secret)`` where its column or its ``label`` is named like one."""
    is_secret = value and (is_secret_name(column) or is_secret_name(label)) and not tells_nothing(value)
    return SECRET if is_secret else value


def why_masked(text: str, what: str) -> str:
    """Return why a text must not be stored that someone read without its secrets; empty where it holds no `SECRET`."""
    at = text.find(SECRET)
    if at < 0:
        return ""
    return (
        f"{what}: line {text.count(chr(10), 0, at) + 1} holds {SECRET}, which stands for a value that was hidden from "
        "the reader: read it with a token of the role admin, and write that"
    )
