"""Secrets in a text of any kind, a script, a value, a comment: by their looks, the names before them, and commands.

What decodes to text, base64 and percent-encoding, is decoded and looked into as well. All takes time in proportion to
the text.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote_to_bytes

from answerd.answers import command_words
from answerd.answers.command_words import Found
from answerd.answers.secret_names import (
    PARTS_OF_SECRET_NAMES,
    is_secret_in_a_query,
    is_secret_name,
    is_secret_question,
    is_sentence,
    is_variable,
    tells_nothing,
)
from answerd.answers.secrets.fields import IPXE_SETTINGS
from answerd.answers.secrets.forms import FORMS
from answerd.answers.secrets.innocent import ATTRIBUTES, BELOW
from answerd.answers.secrets.names import SECRET_FILES

_FORMS = tuple(
    (re.compile(pattern), tuple(signs.split()), "value" if "(?P<value>" in pattern else 0)
    for pattern, _, signs in FORMS
)

_BLANK = r"(?:[ \t]|\\\r?\n)"
"""A blank between words; a backslash joins the next line."""

_BLANKS = rf"{_BLANK}+(?!{_BLANK})"
"""All blanks at a place, never a part of them: a word may begin with a backslash too."""

_PIECE = re.compile(
    r"\{\{[^{}\r\n\0]{0,400}+\}\}"
    r"""|"(?:[^"\\\0]|\\[^\0]){0,4096}"|'[^'\0]{0,4096}'|\\[^\0]|[^\s\0"'\\{]++|[^\s\0]"""
)
"""A part of a shell word: a placeholder, a quoted part, an escaped character, others."""

_LINE = re.compile(r"[^\\\r\n\0]++|\\\r?\n|\\(?![\r\n\0])")
"""A part of a line, with the lines that it is continued on."""


def _word_end(text: str, at: int) -> int:
    """Return where the shell word ends that begins at a place. Only its beginning may be a quoted part of several
    lines: a later quote may end what the word stands in."""
    begins = at
    while piece := _PIECE.match(text, at):
        if at > begins and piece[0][0] in "\"'" and ("\n" in piece[0] or len(piece[0]) == 1):
            return at
        at = piece.end()
    return at


def _long_line_end(text: str, at: int) -> int:
    """Return where the line of a place ends, with the lines that it is continued on."""
    while part := _LINE.match(text, at):
        at = part.end()
    return at


def line_end(text: str, at: int) -> int:
    """Return where the line of a place ends."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


_LONGEST_BEFORE = 4_096
"""Characters before a place that are searched for the beginning of its line."""

_LONGEST_LINE_START = 200


def _line_start(text: str, at: int) -> int:
    """Return where the line of a position begins; in a long line, a place before the position."""
    first = max(0, at - _LONGEST_BEFORE)
    return max(first, text.rfind("\n", first, at) + 1)


_OFTEN: tuple[str, ...] = (
    *PARTS_OF_SECRET_NAMES,
    "$",
    "://",
    "{ssha",
    "{crypt",
    "{smd5",
    "-----begin ",
    "send",
    "grub.pbkdf2",
    "crypt(",
)
_OFTEN += (
    "eyj",
    "identified",
    "bearer",
    "data:",
    "hvs.",
    "hvb.",
    "xox",
    "_live_",
    "k10",
    "sg.",
    "aiza",
    "npm_",
    "pypi-",
)
_OFTEN += (
    "glpat",
    "glrt",
    "gldt",
    "glptt",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat",
    "dop_v1",
    "<<",
    ".psk",
)
_OFTEN += tuple(name for name, _ in SECRET_FILES)
_CODED = re.compile(r"[A-Za-z0-9+/]{24}|%[0-9A-Fa-f]{2}|(?<![\w-])[A-Z0-9]{5}-[A-Z0-9]{5}-|(?:pve|pbs|pmg)\d[a-z]-")


def _has_any(text: str, parts: Iterable[str]) -> bool:
    for part in parts:  # noqa: SIM110 - half the time of any(): most texts have no part
        if part in text:
            return True
    return False


def may_hold_one(text: str) -> bool:
    """Return whether a text is worth looking at: each that holds a secret by its form is. Far quicker than to look."""
    folded = text.casefold()
    return _has_any(folded, _OFTEN) or _CODED.search(text) is not None or command_words.has_program(folded)


_DEEPEST = 2
"""Encodings within encodings that are looked into."""


def by_form(text: str, *, is_code: bool = True, is_comment: bool = False, depth: int = 0) -> Iterator[Found]:
    """Yield the secrets of a text by their looks and, if it ``is_code``, by the names and commands before them."""
    folded = text.casefold()
    for pattern, signs, group in _FORMS:
        if _has_any(folded, signs):
            yield from _saying((Found(*found.span(group)) for found in pattern.finditer(text)), text)
    yield from _private_keys(text)
    yield from _in_urls(text)
    if is_code:
        yield from command_words.in_text(text)
        named = _saying(_after_names(text), text)
        yield from (found for found in named if not (is_comment and is_sentence(text[found.start : found.end])))
        yield from _in_elements(text)
        yield from _in_substitutions(text)
        yield from _in_kubernetes(text)
        yield from _questions(text)
    if depth < _DEEPEST:
        yield from _encoded(text, depth)


def _saying(found: Iterable[Found], text: str) -> Iterator[Found]:
    """Yield those that say something, without white space at the end: ``= no # or yes`` says nothing."""
    for start, end, values in found:
        said = text[start:end].rstrip()
        first = said[: _word_end(said, 0)]
        rest = said[len(first) :].strip()
        ends = not rest or rest[0] == "#" or first[-1:] in tuple(",;}])")
        says_nothing = first and ends and tells_nothing(first.strip("\"',;}])"))
        if said and not says_nothing and not tells_nothing(said) and re.search(r"\w", said) and not is_variable(said):
            yield Found(start, start + len(said), values)


# Private keys.

_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_OF_A_KEY = re.compile(r"[ \t]*(?:[\w-]++: [^\r\n]*|[\w+/=.\\-]*)(?:\r?\n|\Z)")


def _private_keys(text: str) -> Iterator[Found]:
    """Yield private keys; of one without an end, the lines that may be of it."""
    at = 0
    while begins := _BEGIN.search(text, at):
        ends = _END.search(text, begins.end())
        other = text.find("-----BEGIN ", begins.end())
        if ends and not 0 <= other < ends.start():
            at = ends.end()
        else:
            at = line_end(text, begins.end())
            same = text[begins.end() : at]
            at = begins.end() + (_word_end(same, 0) if " " in same else len(same))
            while at < len(text) and (line := _OF_A_KEY.match(text, at + 1)) and line.end() > at + 1:
                at = line.end() - 1 if line[0].endswith("\n") else line.end()
                if not line[0].strip():
                    break
        yield Found(begins.start(), at)


# URLs.

_URL = re.compile(r"://")
_URL_PART = re.compile(r"\{\{[^{}\n]{0,400}+\}\}|[^\s\"'<>\0{]++|\{")
_PORT = re.compile(r"\d{1,5}\Z")
_LONGEST_SCHEME = 20
_SHORTEST_TOKEN = 8
"""Characters of the shortest user of a URL that is looked for elsewhere: ``user`` is a word."""
_PARAMETER = re.compile(r"[?&;](?P<name>[\w.-]{1,80})=(?P<value>[^\s&#\"'<>\0]{1,2000})")


def _in_urls(text: str) -> Iterator[Found]:
    """Yield passwords in URLs, to the last ``@``: one that should have been escaped may be in the password, as may a
    slash. Of a URL of the web a user name alone counts too: it is a token. Then the values of secret names in
    queries."""
    at = 0
    while url := _URL.search(text, at):
        start = at = url.end()
        while part := _URL_PART.match(text, at):
            at = part.end()
        rest = text[start:at]
        yield from _in_authority(text, url.start(), start, rest)
        for parameter in _PARAMETER.finditer(rest):
            name, value = parameter["name"], parameter["value"]
            if is_secret_in_a_query(name) and not tells_nothing(value) and not is_variable(value):
                yield Found(start + parameter.start("value"), start + parameter.end("value"))


def _in_authority(text: str, begins: int, start: int, rest: str) -> Iterator[Found]:
    last, colon = rest.rfind("@"), rest.find(":")
    if last < 0:
        return
    authority = next((found.start() for found in re.finditer(r"[/?#]", rest)), len(rest))
    scheme = text[max(0, begins - _LONGEST_SCHEME) : begins].lower()
    if 0 <= colon < min(last, authority) and not _PORT.match(rest, colon + 1, authority):
        if not is_variable(rest[colon + 1 : last]):
            yield Found(start + colon + 1, start + last)
    elif last < authority and scheme.endswith(("http", "https", "ftp")) and not is_variable(rest[:last]):
        is_word = last < _SHORTEST_TOKEN and rest[:last].isalpha() and rest[:last].islower()
        yield Found(start, start + last, () if is_word else None)


# Names.

_NAME = re.compile(
    r"\{\{[^{}\r\n\0]{0,400}+\}\}|(?<![\w./-])(?P<word>[\w./-]++)"
    rf"(?:\\?[\"']?(?P<before>[ \t]*+)(?P<sign>[=:])(?P<after>[ \t]*+)|(?P<blank>{_BLANKS}))?"
)
"""A whole word outside of placeholders, and how a value may follow it. Whether the word is named like a secret is
judged afterwards: a pattern with a name in it would try each beginning with each end."""

_QUESTION = re.compile(
    rf"(?i)(?<![^\s;&|])[\w.-]++{_BLANKS}(?P<word>[\w.-]++/[\w./-]++){_BLANKS}(?P<type>[a-z]++)(?P<blank>{_BLANK})?"
)
_OF_ATTRIBUTES = frozenset(name for name, _ in ATTRIBUTES)
_TYPES = frozenset(("boolean", "error", "multiselect", "note", "password", "select", "string", "text", "title", "seen"))
"""debconf-devel(7); a question's line may set its flag ``seen`` as well."""
_IPXE_SETTING = re.compile(
    r"(?im)^[ \t]*+(?:set|param(?:[ \t]++--params[ \t]++\S++)?)[ \t]++(?P<word>[\w./-]++)(?::\w++)?(?=[ \t])"
)
_OF_IPXE = tuple(f"/{name}" for name, _ in IPXE_SETTINGS)

_AT_LINE_START = re.compile(r"(?:[ \t#;]|//|- |export |set |\"|')*\Z")
_INDENT = re.compile(r"[ \t#;]*+(?:- )?")
_BLOCK = re.compile(r"(?:[|>&!][^\r\n]*|[\[{(][^\r\n\])}]*|#[^\r\n]*|\\?[\"']{3}[^\r\n]*)?(?=\r?\n)")
_BLOCK_SIGN = re.compile(r"[|>][-+\d]{0,2}(?=\r?\n)")
_NO_ARGUMENT = ("-", "", "|", ";", "&", "<", ">", "(")
"""What begins no argument of an option; a parenthesis begins a command of PowerShell."""
_NEXT_PARAMETER = re.compile(r"&(?=[\w.-]+=)")
"""The next one in a query: ``password=x&user=y``."""
_HOST_AND_PORT = re.compile(r"\d{2,5}(?=[/\s\"',;]|\Z)")
_AFTER_QUOTES = " \t,;)]}"
_AFTER_A_VALUE = re.compile(r"[ \t]+(?:&&|\|\|?|;|\#)(?=[ \t])|;[ \t]*(?:\r?\n|\Z)|;[ \t]+(?=\w)")


def _of_questions(text: str) -> Iterator[Found]:
    """Yield the values of debconf's questions, and of iPXE's settings."""
    at = 0
    for found in _QUESTION.finditer(text):
        if found.start() < at:
            continue  # in the value of another
        if found["type"].lower() == "password" or is_secret_name(found["word"]):
            start = found.end("type") if found["type"].lower() in _TYPES else found.start("type")
            at = _long_line_end(text, start)
            yield Found(start, at)
    for found in _IPXE_SETTING.finditer(text):
        if is_secret_name(found["word"]) or found["word"].casefold().endswith(_OF_IPXE):
            yield Found(found.end(), _long_line_end(text, found.end()))


def _after_names(text: str) -> Iterator[Found]:
    """Yield what follows a name: after an option a word; after a setting a word where the line has more of them
    (``a=1 password=x b=2``), else the rest of the line, or the lines below that are indented more."""
    yield from _of_questions(text)
    at = 0
    while name := _NAME.search(text, at):
        word = name["word"]
        at, value = name.end("word") if word else name.end(), name.end()
        if not (word and (name["sign"] or name["blank"])) or word.startswith("//") or not is_secret_name(word):
            continue
        if text.startswith("@", name.start() - 1) and word in _OF_ATTRIBUTES:
            continue  # settings[@pass="oobeSystem"], a path of XML
        if name["sign"] == ":" and "." in word and _HOST_AND_PORT.match(text, value):
            continue
        if name["sign"] == ":" and not name["after"] and text.startswith("$", name.start() - 1):
            continue  # $PWD:/code, a use of the variable
        begins = _line_start(text, name.start())
        is_first = _AT_LINE_START.match(text[max(begins, name.start() - _LONGEST_LINE_START) : name.start()])
        if name["blank"]:
            if (word.startswith("-") and text[value : value + 1] not in _NO_ARGUMENT) or (
                word.startswith("/") and word.count("/") == 1 and text[value : value + 1] not in ("/", "", "|", "&")
            ):
                yield Found(value, _word_end(text, value))
        elif value == len(text) or (block := _BLOCK.match(text, value)):
            at = _block_end(text, begins, block.end() if value < len(text) and block else value)
            sign = _BLOCK_SIGN.match(text, value)
            yield Found(sign.end() if sign else value, at)
        elif (closed := _closing_quote(text, name.start(), value)) is not None or (
            name["sign"] == "=" and not (is_first or name["before"] or name["after"])
        ):
            at = _word_end(text, value) if closed is None else closed
            parameter = _NEXT_PARAMETER.search(text, value, at)
            at = parameter.start() if parameter else at
            yield Found(value, at)
        else:
            at = _value_end(text, value)
            in_quotes = text.count('"', begins, name.start()) % 2 and text[name.end("word")] not in ('"', "'", "\\")
            if in_quotes and (ends := text.find('"', value, at)) >= 0:
                at = ends  # echo "token: x"
            yield Found(value, at)


def _closing_quote(text: str, name: int, value: int) -> int | None:
    """Return where the quotes end that a name and its value are in together, ``"TOKEN=x"``; None where they are not."""
    quote = text[name - 1 : name]
    if quote not in ('"', "'") or not quote or text[value - 1] != "=":
        return None
    closed = text.find(quote, value, line_end(text, value))
    return None if closed <= value else closed - (text[closed - 1] == "\\")


def _value_end(text: str, at: int) -> int:
    """Return where a value ends that takes the rest of its line: after a quoted word, or where a shell's next command
    or a comment begins."""
    end = _long_line_end(text, at)
    quoted = _PIECE.match(text, at) if text[at : at + 1] in ('"', "'") else None
    if quoted and len(quoted[0]) > 1 and quoted.end() < end and text[quoted.end()] in _AFTER_QUOTES:
        return quoted.end()
    after = _AFTER_A_VALUE.search(text, at, end)
    return after.start() if after else end


def _block_end(text: str, begins: int, at: int) -> int:
    """Return where the lines end that are indented more than the line that begins at ``begins``, from its end on."""
    margin = _INDENT.match(text, begins)
    width = margin.end() - begins if margin else 0
    end = at
    while (line := text.find("\n", end) + 1) and line < len(text):
        stop = line_end(text, line)
        own = _INDENT.match(text, line)
        is_item = text[line:stop].lstrip(" \t#;").startswith(("- ", "]", "}", ")"))
        deeper = own is not None and (own.end() - line > width or is_item)
        if text[line:stop].strip() and not deeper:
            break
        end = stop
    return end


_ELEMENT = re.compile(r"<(?P<word>[\w.:-]++)[^<>]*+>")
_INNER = re.compile(r"<(?P<word>[\w.:-]++)[^<>]*+>(?P<text>[^<>]*+)</")
_BESIDE = frozenset(name for name, _ in BELOW)
_LONGEST_ELEMENT = 4_096


def _bare_name(element: str) -> str:
    return element.rpartition(":")[2].casefold()


def _in_elements(text: str) -> Iterator[Found]:
    """Yield what elements hold, in texts that are no XML documents."""
    at = 0
    while element := _ELEMENT.search(text, at):
        at = element.end()
        if is_secret_name(element["word"]):
            closed = text.find(f"</{element['word']}", at, at + _LONGEST_ELEMENT)
            end = closed if closed >= 0 else line_end(text, at)
            end -= text[at:end].endswith("^")  # cmd writes ^<
            inner = list(_INNER.finditer(text, at, end))
            told = [Found(*found.span("text")) for found in inner if _bare_name(found["word"]) not in _BESIDE]
            yield from _saying(told if inner else [Found(at, end)], text)
            at = end


_SUBSTITUTION = re.compile(
    r"\bs([/|,#~!])(?P<name>[\w.@{}%^*=\[\]()\\ $-]{1,80})\1(?P<value>[^\n\0/|,#~!\"']{1,200})[/|,#~!]"
)


def _in_substitutions(text: str) -> Iterator[Found]:
    """Yield what sed(1) writes in place of a name: ``s/ROOT_PASSWORD/x/``."""
    for found in _SUBSTITUTION.finditer(text):
        name = re.sub(r"[^\w]*=.*|[^\w]+\Z|\A[^\w]+", "", found["name"])
        if any(map(is_secret_name, name.split())) and "=" not in found["value"]:
            yield from _saying([Found(*found.span("value"))], text)


_KIND = re.compile(r"(?m)^kind:[ \t]*[\"']?Secret\b")
_DATA = re.compile(r"(?m)^(?P<indent>[ \t]*)(?:data|stringData):[ \t]*\r?$")
_ITEM = re.compile(r"(?P<indent>[ \t]*)[\"']?[\w.-]+[\"']?:[ \t]+(?P<value>[^\r\n]+)")


def _in_kubernetes(text: str) -> Iterator[Found]:
    """Yield the values of a manifest of a Secret (Kubernetes) within a value."""
    if not _KIND.search(text):
        return
    for data in _DATA.finditer(text):
        at = data.end() + 1
        while (item := _ITEM.match(text, at)) and len(item["indent"]) > len(data["indent"]):
            yield from _saying([Found(*item.span("value"))], text)
            at = item.end() + 1


_ANSWER = re.compile(
    r"(?m)^[ \t#]*(?P<question>[A-Z][\w/()'-]*(?:[ ][\w/()'?-]+){1,9})[ \t]+=[ \t]+(?P<value>[^\r\n]+)"
)


def _questions(text: str) -> Iterator[Found]:
    """Yield answers to questions of several words: ``Password for root = x`` (OpenBSD)."""
    for answer in _ANSWER.finditer(text):
        if is_secret_question(answer["question"]):
            yield from _saying([Found(*answer.span("value"))], text)


# What decodes to text.

_LONGEST_DECODED = 1_048_576
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{16,}+={0,2}(?![A-Za-z0-9+/=])")
_SPACE = re.compile(r"\s+")
_ALL_BASE64 = re.compile(r"[A-Za-z0-9+/\s]++[=\s]{0,3}\Z")
_DATA_URL = re.compile(r"data:[\w./;=+-]{0,200},")
_RUN = re.compile(r"[^\s\"'<>\0]++")
_ESCAPED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ufffd]")


def _encoded(text: str, depth: int) -> Iterator[Found]:
    """Yield what holds a secret once it is decoded: of base64 the whole, of percent-encoding the secret's part."""
    whole = text.strip()
    if "\n" in whole and _ALL_BASE64.match(whole):
        runs = [(text.find(whole), text.find(whole) + len(whole))]
    else:
        runs = [found.span() for found in _BASE64.finditer(text)]
    for start, end in runs:
        said = decoded_base64(text[start:end])
        if said is not None and may_hold_one(said):
            held = [value for found in by_form(said, depth=depth + 1) for value in values_of(found, said)]
            if held:
                yield Found(start, end, (text[start:end], *held))
    if "%" not in text:
        return
    for run in _RUN.finditer(text):
        if _ESCAPED.search(run[0]):
            url = _DATA_URL.match(run[0])
            begins = run.start() + (url.end() if url else 0)
            said, places = _percent_decoded(text[begins : run.end()])
            for found in by_form(said, depth=depth + 1) if may_hold_one(said) else ():
                yield Found(begins + places[found.start], begins + places[found.end], values_of(found, said))


def values_of(found: Found, text: str) -> tuple[str, ...]:
    """Return the texts of a secret that are secrets elsewhere too."""
    return (text[found.start : found.end],) if found.values is None else found.values


def decoded_base64(written: str) -> str | None:
    """Return the text that base64 holds, in UTF-8 or in UTF-16 as PowerShell's ``-EncodedCommand``; None where it holds
    none."""
    bare = _SPACE.sub("", written)
    if len(bare) > _LONGEST_DECODED or len(bare) % 4 == 1:
        return None
    try:
        data = base64.b64decode(bare + "=" * (-len(bare) % 4))
    except (binascii.Error, ValueError):
        return None
    for encoding in ("utf-8", "utf-16-le"):
        try:
            said = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if said and not _CONTROL.search(said) and (encoding == "utf-8" or said.isascii()):
            return said
    return None


def _percent_decoded(run: str) -> tuple[str, list[int]]:
    """Return a text without its percent-encoding, and where each character of it is written."""
    said: list[str] = []
    places: list[int] = []
    at = 0
    for escaped in _ESCAPED.finditer(run):
        said.append(run[at : escaped.start()])
        places += range(at, escaped.start())
        decoded = unquote_to_bytes(escaped[0]).decode("utf-8", "replace")
        width = 3 if len(decoded) * 3 == len(escaped[0]) else 0
        said.append(decoded)
        places += [escaped.start() + width * index for index in range(len(decoded))]
        at = escaped.end()
    said.append(run[at:])
    places += range(at, len(run) + 1)
    return "".join(said), places
