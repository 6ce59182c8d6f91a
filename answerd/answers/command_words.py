"""Secrets in commands: in the lines of a script, in a list of arguments, and in what a pipe or a here-document gives.

A command is read in one way wherever it is written: `places` looks at its words. What the words are is told by a text
(`in_text`, a shell's or one of Windows) or by a list in a document (`in_list`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from answerd.answers.secret_names import is_secret_name, is_variable, tells_nothing
from answerd.answers.secrets import innocent, names
from answerd.answers.secrets.commands import COMMANDS, Command


class Found(NamedTuple):
    """A secret in a text, from ``start`` to ``end``. ``values``: the texts that are secrets elsewhere too; None for the
    secret itself."""

    start: int
    end: int
    values: tuple[str, ...] | None = None


class Place(NamedTuple):
    """A secret among the words of a command: the number of the word, and where in the word it begins and ends."""

    word: int
    start: int
    end: int


class _Row(NamedTuple):
    """A line of the table, taken apart."""

    command: Command
    is_first: bool
    program: str
    words: tuple[str, ...]
    places: tuple[str, ...]
    has_slashes: bool
    options: frozenset[str]
    unless: frozenset[str]


def _row(command: Command) -> _Row:
    program, *words = command.words.split()
    places = tuple(place for place in command.places.split() if place != "/")
    has_slashes = "/" in command.places.split() or any(place.startswith("/") for place in places)
    options, unless = frozenset(command.options.split()), frozenset(command.unless.split())
    return _Row(
        command, program.startswith("^"), program.lstrip("^"), tuple(words), places, has_slashes, options, unless
    )


_ROWS: dict[str, list[_Row]] = {}
for _command in COMMANDS:
    _ROWS.setdefault(_row(_command).program, []).append(_row(_command))

PROGRAMS = frozenset(_ROWS)
_WORD_OF_TEXT = re.compile(r"\w+(?:-+\w+)*")


def has_program(folded: str) -> bool:
    """Return whether a text, case-folded, has the name of a program of the table: without one it has no command that
    takes a secret."""
    return not PROGRAMS.isdisjoint(_WORD_OF_TEXT.findall(folded))


_BEFORE_PROGRAMS = frozenset(
    (
        "sudo",
        "env",
        "nohup",
        "exec",
        "time",
        "if",
        "then",
        "else",
        "do",
        "while",
        "until",
        "!",
        "{",
        "-",
        "doas",
        "in-target",
    )
)
_NAME_OTHERS = frozenset(innocent.NAME_OTHERS)
_QUESTIONS_OF_NAMES = frozenset(innocent.QUESTIONS_OF_NAMES)
_PRINTS = frozenset(("echo", "printf", "print", "write-output", "write-host"))
_ENDING = re.compile(r"\.(?:exe|com|cmd|bat|vbs)\Z")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_CLUSTER = re.compile(r"-[A-Za-z]{2,8}\Z")
_BLANK = re.compile(r"[ \t\n]")
_PROGRAM_FILES = re.compile(r"[\"']?(?:[A-Za-z]:|%\w+%)\\[^\n|;&]*\Z")
_LONGEST_PROGRAM = 300


def program_of(word: str) -> str:
    """Return the name of the program that a word calls: without its path, ``.exe`` and case."""
    if len(word) > _LONGEST_PROGRAM or (_BLANK.search(word) and not _PROGRAM_FILES.match(word)):
        return ""
    word = word.rpartition("=")[2].strip("\"'{}[]@^,+!:-").casefold().replace("\\", "/")
    directory, _, name = word.rpartition("/")
    if directory.endswith("/etc") or directory.startswith("/etc/"):
        return ""
    return _ENDING.sub("", name) if directory or "." in name else name


def _head(words: Sequence[str]) -> str:
    """Return the program that a command calls first, also in the value of a question of debian-installer."""
    if words[2:3] == ["string"] and "/" in words[1]:
        words = words[3:]
    for word in words:
        if not (word in _BEFORE_PROGRAMS or word.startswith("-") or _ASSIGNMENT.match(word)):
            return word if word in _NAME_OTHERS else program_of(word)
    return ""


def places(
    words: Sequence[str], written: Sequence[str] | None = None, *, is_line: bool = True
) -> tuple[list[Place], list[str]]:
    """Return the secrets among the words of a command, and the signs of those programs of it that read one (`Command`);
    an empty sign where all that they read is the secret.

    ``written``: the words as a script has them, where a backslash is Windows' own or a shell's. ``is_line``: the first
    word is the first of its line.
    """
    found: list[Place] = []
    readers: list[str] = []
    if _head(words) in _NAME_OTHERS or _QUESTIONS_OF_NAMES.intersection(words[1:2]):
        return found, readers
    seen: set[str] = set()
    for at, word in enumerate(words):
        program = program_of(word if written is None else written[at])
        if program not in _ROWS or program in seen:
            continue
        seen.add(program)
        for row in _ROWS[program]:
            if row.is_first and (at or not is_line):
                continue
            begin = _after(words, at + 1, row.words)
            if begin is None:
                continue
            if "<" in row.places:
                readers.append(row.command.sign)
            found += _of_row(row, words, begin)
    return found, readers


def _after(words: Sequence[str], at: int, wanted: Sequence[str]) -> int | None:
    """Return the place after words that follow each other, with others between; None where one is missing."""
    for word in wanted:
        while at < len(words) and words[at].casefold() != word:
            at += 1
        if at == len(words):
            return None
        at += 1
    return at


def _of_row(row: _Row, words: Sequence[str], begin: int) -> Iterator[Place]:
    if row.command.given and not _is_given(row, words, begin):
        return
    arguments = [
        at
        for at in range(begin, len(words))
        if not _is_option(words[at], row.has_slashes) and words[at - 1] not in row.options
    ]
    if arguments and words[arguments[0]] in row.unless:
        return
    for place in row.places:
        for at, start in _matches(place, words, begin, arguments):
            found = _within(row.command.sign, at, start, words[at])
            if found and not (row.program == "net" and words[at].startswith(("\\\\", "*"))):
                yield found


def _is_given(row: _Row, words: Sequence[str], begin: int) -> bool:
    return any(
        first.casefold() == row.command.given and is_secret_name(second)
        for first, second in pairwise(words[begin - 1 :])
    )


def _is_option(word: str, has_slashes: bool) -> bool:
    return word.startswith("-") or (has_slashes and word.startswith("/"))


def _matches(place: str, words: Sequence[str], begin: int, arguments: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the words at a place of a command, each with where the argument begins in it."""
    if place.isdigit():
        if len(arguments) >= int(place):
            yield arguments[int(place) - 1], 0
    elif place[0] == "=":
        said = [words[at] for at in arguments]
        if len(arguments) == int(place[1:]) == len(set(said)):
            yield arguments[-1], 0
    elif place == "last":
        if arguments:
            yield arguments[-1], 0
    elif place == "all":
        yield from ((at, 0) for at in arguments)
        # No option of such a command takes a value.
        options = ((at, words[at].find("=") + 1) for at in range(begin, len(words)) if words[at].startswith("-"))
        yield from ((at, value) for at, value in options if value)
    elif place[0] in "-/":
        yield from _of_option(place, words, begin)
    elif place != "<":
        for at in range(begin, len(words) - 1):
            word = words[at]
            is_it = ("=" not in word and is_secret_name(word)) if place == "*" else word.casefold() == place.casefold()
            if is_it:
                yield at + 1, 0


def _of_option(place: str, words: Sequence[str], begin: int) -> Iterator[tuple[int, int]]:
    option, kind = (place[:-1], place[-1]) if place[-1] in "+!" else (place, "")
    is_short = len(option) == 2 and option[0] == "-"  # noqa: PLR2004 - a dash and a letter
    is_exact = is_short or option.startswith("--")
    for at in range(begin, len(words)):
        word = words[at] if is_exact else words[at].casefold()
        follows = at + 1 < len(words) and not (words[at + 1].startswith("-") and len(words[at + 1]) > 1)
        if word == option or (is_short and not kind and word[-1:] == option[1] and _CLUSTER.match(word)):
            if follows and kind != "+":
                yield at + 1, 0
        elif is_short and word.startswith(option) and kind != "!":
            yield at, len(option) + (word[len(option)] == "=")
        elif not is_short and word.startswith((f"{option}=", f"{option}:")):
            yield at, len(option) + 1


def _within(sign: str, at: int, start: int, word: str) -> Place | None:
    """Return the secret in an argument: all of it, or what follows the sign; None where it is none."""
    end = len(word)
    if sign:
        signed = word.find(sign, start)
        if signed < 0:
            return None
        start = signed + 1
        if sign == "/" and (host := word.rfind("@", start)) > 0:
            end = host
    value = word[start:end]
    return None if not re.search(r"\w", value) or tells_nothing(value) else Place(at, start, end)


def in_list(words: Sequence[str]) -> list[Place]:
    """Return the secrets in the arguments of a command that is written as a list."""
    return places(words)[0]


# Texts.

_LONGEST_QUOTED = 4_096
_MOST_WORDS = 4_096
"""Words of a command that are read as one."""
_DEEPEST = 3
"""Commands in quotes within a command in quotes."""
_LONGEST_GROUP = 20
"""Lines of a group in parentheses that is open."""

_PLACEHOLDER = r"\{\{[^{}\r\n\0]{0,400}+\}\}"
_ESCAPE = r"\\[^\r\n\0]"
_REST = (
    r"|(?P<next>\\\r?\n)|(?P<blank>[ \t\0]++)|(?P<line>\r?\n)"
    r"|(?P<comment>(?<![^\s])\#)"
    r"|(?P<sign>&&|\|\|?&?|;;?|&(?!>)|[()`]|\$\(|<\(|>\()"
    r"|(?P<text><<<)|(?P<here><<-?(?!<))|(?P<to>[\d&]?>>?&?|<)"
    r"""|[^\s\0"'\\{|;&()`<>$]++|[^\s\0]"""
)
_TOKEN = {
    True: re.compile(
        rf"""{_PLACEHOLDER}|"(?:[^"\\\0]|\\[^\0]){{0,{_LONGEST_QUOTED}}}"|'[^'\0]{{0,{_LONGEST_QUOTED}}}'"""
        rf"|{_ESCAPE}{_REST}"
    ),
    False: re.compile(
        rf"""{_PLACEHOLDER}|"(?:[^"\\\r\n\0]|\\[^\r\n\0]){{0,{_LONGEST_QUOTED}}}"|'[^'\r\n\0]{{0,{_LONGEST_QUOTED}}}'"""
        rf"|{_ESCAPE}{_REST}"
    ),
}
"""Parts of words, and what is between words; by whether a quoted part may have several lines."""

_SIGNS = frozenset({"sign", "text", "here", "to"})
_WITHOUT_SIGNS = frozenset({"rootpw", "sshpw"})
"""Commands that no shell reads: ks(5). Any sign is part of the password."""

_TAG = re.compile(r"[ \t]*+\\?[\"']?(?P<tag>\w+)")
_OF_QUOTES = re.compile(r"\"((?:[^\"\\]|\\[\s\S])*)\"|'([^']*)'|\\([\s\S])")


class _Word(NamedTuple):
    start: int
    end: int
    raw: str
    text: str


def unquoted(raw: str) -> str:
    """Return what a shell makes of a word."""
    if not ('"' in raw or "'" in raw or "\\" in raw):
        return raw
    return _OF_QUOTES.sub(_meaning, raw)


def _meaning(piece: re.Match[str]) -> str:
    if piece[1] is not None:
        return _escaped(piece[1])
    return piece[2] if piece[2] is not None else piece[3]


_ESCAPED = re.compile(r"\\([\"\\$`])")


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: found[1], text)


class _Line:
    """What is known of a line of commands while it is read: those of its pipes."""

    def __init__(self) -> None:
        self.words: list[_Word] = []
        self.said: list[_Word] = []
        self.begin = 0
        """Where in ``said`` the pipe of the present command begins."""
        self.piped: list[_Word] = []
        """What the pipe gives to the present command."""
        self.groups: list[tuple[int, bool]] = []
        """Of open parentheses: where in ``said`` they begin, and whether all that is said in them is a secret:
        ``--password-file <(echo x)``."""
        self.group_lines = 0
        self.given: list[_Word] = []
        """Here-strings of the present command."""
        self.target = ""
        self.signs: list[str] = []
        """Of the commands of this line that read a secret."""
        self.tags: list[str] = []
        self.is_first = True

    @property
    def has_no_signs(self) -> bool:
        """Whether the command that begins the line is one that no shell reads."""
        return self.is_first and bool(self.words) and self.words[0].text in _WITHOUT_SIGNS

    def take(self, word: _Word, expects: str, depth: int) -> Iterator[Found]:
        """Take a word to its command, and yield the secrets of commands within it. ``expects``: what the word is, the
        ``text`` of a here-string or the file that is written ``to``."""
        if expects == "text":
            self.given.append(word)
        elif expects == "to":
            self.target = word.text
        else:
            self.words.append(word)
        if depth < _DEEPEST and len(word.raw) > len(word.text) and _BLANK.search(word.text):
            yield from _in_quotes(word, depth)


def in_text(text: str, depth: int = 0) -> Iterator[Found]:
    """Yield the secrets of the commands of a text: of programs, and of what is written to a file or read as one."""
    if not ("<" in text or ">" in text or has_program(text.casefold())):
        return
    yield from _commands(text, depth, several_lines=False)
    if "\n" in text and ('"' in text or "'" in text):
        yield from _commands(text, depth, several_lines=True)


def _commands(text: str, depth: int, *, several_lines: bool) -> Iterator[Found]:  # noqa: PLR0912 - a case for each sign
    line = _Line()
    start = end = -1  # of the word that is read
    expects = ""  # what the next word is: "text" of a here-string, "to" of a file
    done = 0
    find = _TOKEN[several_lines].finditer(text)
    for token in find:
        if token.start() < done:
            continue
        kind = token.lastgroup
        if kind is None or (kind in _SIGNS and line.has_no_signs):
            if start < 0:
                start = token.start()
            end = token.end()
            continue
        if start >= 0:
            yield from line.take(_Word(start, end, text[start:end], unquoted(text[start:end])), expects, depth)
            start, expects = -1, ""
        if kind in ("blank", "next"):
            if len(line.words) > _MOST_WORDS:
                yield from _finished(line, "")
            continue
        if kind in ("text", "to"):
            expects = kind
            continue
        if kind == "here":
            if tag := _TAG.match(text, token.end()):
                line.tags.append(tag["tag"])
                done = tag.end()
            continue
        if kind == "comment":
            yield from _finished(line, "#")
            line.is_first = True
            continue
        sign, expects = token[0], ""
        if kind == "line":
            if not line.words and not line.given and line.piped:
                continue  # the pipe goes on
            yield from _finished(line, "\n")
            if line.tags:
                body_end, found = _here_document(text, token.end(), line)
                yield from found
                if found:
                    done = body_end
                line.tags, line.signs = [], []
            line.signs = line.signs if line.piped else []
            line.is_first = True
            continue
        yield from _finished(line, sign)
    if start >= 0:
        yield from line.take(_Word(start, end, text[start:end], unquoted(text[start:end])), expects, depth)
    yield from _finished(line, "\n")


def _in_quotes(word: _Word, depth: int) -> Iterator[Found]:
    """Yield the secrets of commands in a word: ``sh -c "…"``."""
    for piece in _OF_QUOTES.finditer(word.raw):
        number = 1 if piece[1] is not None else 2
        inner = piece[number]
        if not inner or not _BLANK.search(inner):
            continue
        offset = word.start + piece.start(number)
        if number == 1 and "\\" in inner:
            places_of, said = _unescaped(inner)
            for found in in_text(said, depth + 1):
                values = found.values or (said[found.start : found.end],)
                yield Found(offset + places_of[found.start], offset + places_of[found.end], values)
        else:
            for found in in_text(inner, depth + 1):
                yield Found(offset + found.start, offset + found.end, found.values)


def _unescaped(text: str) -> tuple[list[int], str]:
    """Return a text of double quotes as the shell gets it, and where each character of it is written."""
    at = 0
    written: list[int] = []
    said: list[str] = []
    for escape in _ESCAPED.finditer(text):
        written += range(at, escape.start() + 1)
        said += [text[at : escape.start()], escape[1]]
        at = escape.end()
    written += range(at, len(text) + 1)
    return written, "".join([*said, text[at:]])


def _finished(line: _Line, sign: str) -> Iterator[Found]:
    """Yield the secrets of the command that ends with a sign, and go on to the next."""
    words = [word.text for word in line.words]
    is_first, line.is_first = line.is_first, False
    if words:
        found, signs = places(words, [word.raw for word in line.words], is_line=is_first)
        for place in found:
            if hidden := _placed(line.words[place.word], place):
                yield hidden
        line.signs += signs
        for reads in signs:
            for word in (*line.piped, *line.given):
                yield from _said_to(reads, word)
        yield from _printed(line, words)
    line.said += line.given
    if sign == ")" and line.groups:
        begin, names_one = line.groups.pop()
        for word in line.said[begin:] if names_one else ():
            yield from _said_to("", word)
        line.begin, line.piped = begin, []
    elif sign in ("(", "$(", "<(", ">("):
        names_one = sign == "<(" and bool(words) and _names_a_secret(words[-1].rstrip("="))
        line.groups.append((len(line.said), names_one))
        line.begin, line.group_lines = len(line.said), 0
    elif sign in ("|", "|&"):
        line.piped = line.said[line.begin :]
    elif sign:
        _end_pipe(line, sign)
    line.words, line.given, line.target = [], [], ""


def _printed(line: _Line, words: Sequence[str]) -> Iterator[Found]:
    """Take what a command prints to its line, and yield the secrets that it writes to a file of one."""
    said = line.words[_first_said(words) :] if _head(words) in _PRINTS else []
    if line.target and is_secret_file(line.target):
        for word in said:
            yield from _said_to("", word)
    line.said += [word for word in said if not _is_format(word.text)]
    if len(words) == 1 and line.words[0].raw[:1] in ('"', "'"):
        line.said.append(line.words[0])  # PowerShell: 'text' | command


def _end_pipe(line: _Line, sign: str) -> None:
    line.piped = []
    line.group_lines += sign == "\n"
    if not line.groups or line.group_lines > _LONGEST_GROUP:
        line.groups.clear()
        line.said.clear()
        line.begin = 0
    else:
        line.begin = len(line.said)


def _first_said(words: Sequence[str]) -> int:
    at = next((at for at, word in enumerate(words) if program_of(word) in _PRINTS), 0) + 1
    while at < len(words) and re.fullmatch(r"-[neE]{1,3}|--", words[at]):
        at += 1
    return at


def _names_a_secret(option: str) -> bool:
    bare = option.lstrip("-").casefold()
    return is_secret_name(bare) or bare.removesuffix("-file") != bare or bare in ("keyfile", "master-key")


_FILES = tuple(name for name, _ in names.SECRET_FILES)
_WHOLE_NAMES = frozenset(name for name in _FILES if not name.startswith("."))
_ENDS_OF_FILES = tuple(name for name in _FILES if name.startswith("."))


def is_secret_file(path: str) -> bool:
    """Return whether all that a file holds is a secret, by its name."""
    name = path.rstrip().replace("\\", "/").rpartition("/")[2].casefold()
    return name in _WHOLE_NAMES or name.endswith(_ENDS_OF_FILES)


def _placed(word: _Word, place: Place) -> Found | None:
    """Return where a secret of a word is written."""
    value = word.text[place.start : place.end]
    if word.raw[:1] != "'" and is_variable(value):
        return None
    values = (value, *(piece[1] or piece[2] for piece in _OF_QUOTES.finditer(word.raw) if piece[1] or piece[2]))
    if not place.start and place.end == len(word.text):
        return Found(word.start, word.end, values)
    written = _written(word.raw)
    values = values[:1] if place.start else values
    return Found(word.start + written[place.start], word.start + written[place.end], values)


def _written(raw: str) -> list[int]:
    """Return where each character of a word's text is written, and where the text ends."""
    places_of: list[int] = []
    at = 0
    for piece in _OF_QUOTES.finditer(raw):
        places_of += range(at, piece.start())
        if piece[1] is not None:
            inner, _ = _unescaped(piece[1])
            places_of += [piece.start(1) + place for place in inner[:-1]]
        elif piece[2] is not None:
            places_of += range(*piece.span(2))
        else:
            places_of += range(*piece.span(3))
        at = piece.end()
    places_of += range(at, len(raw))
    return [*places_of, places_of[-1] + 1 if places_of else 0]


_LINES_SAID = re.compile(r"(?:\\(?!n)|[^\n\\])+")


def _said_to(sign: str, word: _Word) -> Iterator[Found]:
    """Yield the secrets in a word that a program reads."""
    if word.raw[:1] != "'" and is_variable(word.text):
        return
    for said in _LINES_SAID.finditer(word.raw):
        part, start = said[0], said.start()
        at = part.find(sign) + 1 if sign else 0
        if sign and not at:
            continue
        end = len(part)
        while at < end and part[at] in "\"'":
            at += 1
        while end > at and part[end - 1] in "\"'":
            end -= 1
        value = part[at:end]
        if re.search(r"\w", value) and not tells_nothing(value) and not is_variable(value) and not _is_format(value):
            yield Found(word.start + start + at, word.start + start + end, (value, unquoted(value)))


def _is_format(value: str) -> bool:
    return not re.search(r"\w", re.sub(r"%[-\d.]*[sbdq%]|\\[nrt0]", "", value))


def _here_document(text: str, at: int, line: _Line) -> tuple[int, list[Found]]:
    """Return where a here-document ends, and its secrets where a command of its line reads one."""
    if not line.signs:
        return at, []
    closed = re.compile(rf"(?m)^[ \t]*{re.escape(line.tags[0])}\b").search(text, at)
    section = text.find("\n%end", at)
    end = closed.start() if closed else section if section >= 0 else len(text)
    found: list[Found] = []
    begins = at
    while begins < end:
        ends = text.find("\n", begins, end)
        ends = end if ends < 0 else ends
        found += _line_said(text[begins:ends], begins, line.signs[0])
        begins = ends + 1
    return end, found


def _line_said(said: str, at: int, sign: str) -> Iterator[Found]:
    start = said.find(sign) + 1 if sign else len(said) - len(said.lstrip())
    value = said[start:].rstrip()
    if sign and not start:
        return
    if re.search(r"\w", value) and not tells_nothing(value) and not is_variable(value):
        yield Found(at + start, at + start + len(value), (value,))
