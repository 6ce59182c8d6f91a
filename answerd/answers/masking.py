"""Secrets in answers, masked so that a difference can be shown to a reviewer (``answerd diff``).

Masked are values of keys that are named like a secret, in any format; what a kickstart or preseed command takes for a
password; and, anywhere, a crypt(3) hash, a private key and the password in a URL. It masks too much rather than too
little: the name of a masked value is still shown, and whether the value changed.
"""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from answerd.formats import Format
from answerd.formats.family import ParseError, Path
from answerd.formats.positions import MARKINGS, Leaf
from answerd.memo import remembered

SECRET = "(secret)"  # noqa: S105 - what is shown instead of a secret
CHANGED = "(secret, changed)"

_NAME = (
    r"password|passphrase|passwd(?!/)|secret|token|private|credential|psk\b"
    r"|api[-_]?key|subscription[-_]?key|product[-_]?key"
)
_NAMED_LIKE_ONE = re.compile(_NAME, re.IGNORECASE)
_HOLDS_SOME = re.compile(rf"(?=.*(?:{_NAME}))(?!passwd\Z)", re.IGNORECASE)
"""A map of this name holds secrets only; Ignition's ``passwd`` holds users and their public keys too."""

_LONGEST_NAME = 200  # characters of a name that are checked: it is part of the path of every value below it
_TELLS_NOTHING = re.compile(r"(?:true|false|yes|no|on|off|null|none|~|\d{1,2}|)\Z", re.IGNORECASE)
"""Values under such a name that are not secret: ``lock_passwd: true``."""

_AFTER_KEY = re.compile(r"[=:>]")
_BLOCK_HEADERS = frozenset({"|", ">", "|-", ">-", "|+", ">+"})

_WORD = r"(?P<word>[\w./-]++)"
"""A whole word, checked afterwards: a pattern with a name in it would try each beginning with each end."""

_VALUE = r"""(?:"[^"\n]*"|'[^'\n]*'|[^\s"',;&<>]+)"""
_REST_OF_LINE = re.compile(r"\S[^\r\n]*")
_BY_FORM = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)",
        r"\$(?:[0-9]|2[abxy]|y|gy|sm3|md5|sha1|argon2\w*|scrypt|pbkdf2[\w-]*)\$[^\s\"'<>:]{8,}",
        r"grub\.pbkdf2\.[^\s\"'<>]+",
        r"(?<=://)[^\s/@:\"'<>]+:(?P<value>[^\s/@\"'<>]+)(?=@)",
        rf"(?im)^[ \t]*(?:rootpw|sshpw)(?:[ \t]+--\S+)*[ \t]+(?!--)(?P<value>{_VALUE})",
    )
)
_AFTER_A_WORD = (
    (re.compile(rf"(?<![\w./-])--{_WORD}(?:=|[ \t]+)"), re.compile(_VALUE)),
    (re.compile(rf"(?<![\w./-]){_WORD}[ \t]*+[=:][ \t]*+(?![\[{{|>])"), re.compile(_VALUE)),
    (
        re.compile(rf"(?im)^[ \t]*+\S++[ \t]++{_WORD}[ \t]++(?:password|string|note|select|text)[ \t]++"),
        _REST_OF_LINE,
    ),
    (re.compile(rf"(?im)^[ \t]*+set[ \t]++{_WORD}[ \t]++"), _REST_OF_LINE),
)
"""Secrets by their form, in any text: private keys, crypt(3) hashes, passwords in URLs, options and settings, and what
kickstart's ``rootpw``, preseed's questions and iPXE's ``set`` name like a secret. A group of the pattern is the secret,
where it has a group; after a word that is named like a secret, the second pattern finds it."""

_LONGEST_UNDER = 200
"""Characters before a secret on its line that are used to identify it."""

_CROWDED = 32
"""Secrets in a line from which on the whole line is masked."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret in a text, from ``start`` to ``end``, and what it belongs to: the path of a key, or the text before it
    on its line."""

    start: int
    end: int
    under: Path


def masked(before: str, after: str, format_: Format) -> tuple[str, str]:
    """Return two versions of an answer without their secrets. A secret that ``before`` does not have under the same
    name is marked as changed, so that the difference is still visible."""
    hidden_before, hidden_after = _secrets(before, format_), _secrets(after, format_)
    known = {(secret.under, before[secret.start : secret.end]) for secret in hidden_before}

    def mask(secret: Secret) -> str:
        return SECRET if (secret.under, after[secret.start : secret.end]) in known else CHANGED

    return _replaced(before, hidden_before, lambda _: SECRET), _replaced(after, hidden_after, mask)


def _secrets(text: str, format_: Format) -> list[Secret]:
    """Return the secrets of a text, in order, not nested."""
    found = [*_by_name(text, format_), *_by_form(text)]
    kept: list[Secret] = []
    for secret in sorted(found, key=lambda span: (span.start, -span.end)):
        if kept and secret.start < kept[-1].end:
            if secret.end > kept[-1].end:
                kept[-1] = Secret(kept[-1].start, secret.end, kept[-1].under)
        else:
            kept.append(secret)
    return kept


def _replaced(text: str, secrets: list[Secret], mask: Callable[[Secret], str]) -> str:
    pieces, done = [], 0
    for secret in secrets:
        pieces += [text[done : secret.start], mask(secret)]
        done = secret.end
    return "".join([*pieces, text[done:]])


def _by_form(text: str) -> Iterator[Secret]:
    for pattern in _BY_FORM:
        for match in pattern.finditer(text):
            start, end = match.span("value" if "value" in pattern.groupindex else 0)
            if not _TELLS_NOTHING.match(text[start:end].strip("\"'")):
                yield Secret(start, end, _under(text, start))
    for before, value in _AFTER_A_WORD:
        at = 0
        while named := before.search(text, at):
            at = named.end("word")
            found = value.match(text, named.end()) if _NAMED_LIKE_ONE.search(named["word"]) else None
            if found:
                at = found.end()
                if not _TELLS_NOTHING.match(found[0].strip("\"'")):
                    yield Secret(*found.span(), _under(text, found.start()))


def _under(text: str, start: int) -> Path:
    """Return the text before a position on its line."""
    first = max(0, start - _LONGEST_UNDER)
    return (text[max(first, text.rfind("\n", first, start) + 1) : start].strip(),)


def _by_name(text: str, format_: Format) -> Iterator[Secret]:
    """Yield the values of a structured answer under keys that are named like secrets."""
    marking = MARKINGS[format_.family.name]
    try:
        leaves = list(marking.leaves(marking.mark(text, 0)))
    except ParseError:
        return
    starts = _line_starts(text)
    secrets = Counter(leaf.line for leaf in leaves if leaf.line is not None and leaf.text and _is_secret(leaf))
    crowded = {line for line, count in secrets.items() if count > _CROWDED}
    for line in crowded:
        yield Secret(starts[line - 1], max(starts[line] - 1, starts[line - 1]), ())
    for leaf, after in zip_longest(leaves, leaves[1:]):
        if leaf.line in crowded:
            continue
        if leaf.line is not None and leaf.text and _is_secret(leaf):
            last = after.line if after is not None and after.line is not None else len(starts)
            end = min(max(last, leaf.line + 1), len(starts))
            yield from _spelled(text, leaf, starts[leaf.line - 1], starts[end - 1])


def _line_starts(text: str) -> list[int]:
    """Return where each line begins, and where the text ends."""
    return [0, *(found.end() for found in re.finditer("\n", text)), len(text)]


def _is_secret(leaf: Leaf) -> bool:
    names = [step for step in leaf.path if not step.isdecimal()]
    return (
        bool(names)
        and (
            _is_secret_name(names[-1][:_LONGEST_NAME])
            or any(_contains_secret_word(name[:_LONGEST_NAME]) for name in names[:-1])
        )
        and not _TELLS_NOTHING.match(leaf.text)
    )


@remembered(1_024, len, _LONGEST_NAME)
def _is_secret_name(name: str) -> bool:
    return bool(_NAMED_LIKE_ONE.search(name))


@remembered(1_024, len, _LONGEST_NAME)
def _contains_secret_word(name: str) -> bool:
    return bool(_HOLDS_SOME.match(name))


def _spelled(text: str, leaf: Leaf, start: int, end: int) -> Iterator[Secret]:
    """Yield where a value is written, in the lines from its own to that of the next value. A value that is not found as
    it is spelled, because it is written over several lines, is masked line by line."""
    under = leaf.path
    for spelling in dict.fromkeys(
        (leaf.text, _quoted(leaf.text), html.escape(leaf.text, quote=False), leaf.text.replace("'", "''"))
    ):
        at = text.rfind(spelling, start, end)
        if at >= 0:
            yield Secret(at, at + len(spelling), under)
            return
    flat = "".join(leaf.text.split())
    for line in re.finditer(r"[^\n]+", text[start:end]):
        is_first = line.start() == 0
        said = _AFTER_KEY.split(line[0], maxsplit=1)[-1] if is_first else line[0]
        word = said.strip().strip("\"'")
        if word and word not in _BLOCK_HEADERS and (is_first or "".join(word.split()) in flat):
            at = start + line.end() - len(said) + said.index(word)
            yield Secret(at, at + len(word), under)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]
