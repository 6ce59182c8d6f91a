"""A slow and literal matcher of regular expressions, and texts that an expression is likely to match.

It reads the tree of the standard library's parser and tries every way in the order in which an expression states them.
"""

from __future__ import annotations

import re
import re._constants as codes  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterator
from random import Random
from typing import Any

Tree = list[tuple[Any, Any]]
Groups = dict[int, tuple[int, int]]
Spans = tuple[tuple[int, int], ...]

MOST_DRAWN = 3
"""Times that a part without a limit is repeated in a drawn text, beyond those that it needs."""

SIGNS = "\"'`\\\n\r\t\0 {}[]()<>!-?.=:;,#|&/@$%+*aZ0_é"
"""Characters that mean something to one expression or another."""


def tree_of(pattern: re.Pattern[str]) -> Tree:
    return list(parser.parse(pattern.pattern, pattern.flags))


def spans(pattern: re.Pattern[str], text: str, at: int) -> Spans | None:
    """Where the expression and its groups match at a place, (-1, -1) for a group that has no part in it; None where it
    does not match."""
    for end, groups in _ways(tree_of(pattern), text, at, {}, pattern.flags):
        return ((at, end), *(groups.get(number, (-1, -1)) for number in range(1, pattern.groups + 1)))
    return None


def drawn(tree: Tree, random: Random) -> str:
    """A text that is about what a tree matches: what lies around it is not looked at."""
    return "".join(_drawn(code, argument, random) for code, argument in tree)


def changed(text: str, random: Random) -> str:
    """The text with a few characters or parts taken away, repeated or put in."""
    for _ in range(random.randrange(4)):
        first, last = sorted((random.randint(0, len(text)), random.randint(0, len(text))))
        part = random.choice(("", text[first:last] * 2, random.choice(SIGNS), random.choice(SIGNS) * 3))
        text = text[:first] + part + text[random.choice((first, last)) :]
    return text


def _ways(tree: Tree, text: str, at: int, groups: Groups, flags: int) -> Iterator[tuple[int, Groups]]:
    if not tree:
        yield at, groups
        return
    (code, argument), rest = tree[0], tree[1:]
    for end, found in _ways_of(code, argument, text, at, groups, flags):
        yield from _ways(rest, text, end, found, flags)


def _ways_of(code: Any, argument: Any, text: str, at: int, groups: Groups, flags: int) -> Iterator[tuple[int, Groups]]:  # noqa: PLR0912 - one case for each kind of part
    if code in (codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN):
        if at < len(text) and _is_one(code, argument, text[at], flags):
            yield at + 1, groups
    elif code is codes.BRANCH:
        for branch in argument[1]:
            yield from _ways(list(branch), text, at, groups, flags)
    elif code is codes.SUBPATTERN:
        number, added, removed, body = argument
        for end, found in _ways(list(body), text, at, groups, flags & ~removed | added):
            yield end, (found if number is None else {**found, number: (at, end)})
    elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        least, most, body = argument
        lazy = code is codes.MIN_REPEAT
        yield from _repeated(list(body), least, most, lazy, text, at, groups, flags)
    elif code is codes.POSSESSIVE_REPEAT:
        least, most, body = argument
        yield from _first(_repeated(list(body), least, most, False, text, at, groups, flags))
    elif code is codes.ATOMIC_GROUP:
        yield from _first(_ways(list(argument), text, at, groups, flags))
    elif code in (codes.ASSERT, codes.ASSERT_NOT):
        direction, body = argument
        start = at if direction > 0 else at - body.getwidth()[0]
        way = next(_ways(list(body), text, start, groups, flags), None) if start >= 0 else None
        if (way is None) == (code is codes.ASSERT_NOT):
            yield at, (way[1] if way else groups)
    elif code is codes.AT:
        if _is_at(argument, text, at, flags):
            yield at, groups
    elif code is codes.GROUPREF:
        start, end = groups.get(argument, (0, -1))
        if end >= 0 and text.startswith(text[start:end], at):
            yield at + end - start, groups
    else:
        raise NotImplementedError(code)


def _first(ways: Iterator[tuple[int, Groups]]) -> Iterator[tuple[int, Groups]]:
    for way in ways:
        yield way
        return


def _repeated(
    body: Tree, least: int, most: int, lazy: bool, text: str, at: int, groups: Groups, flags: int
) -> Iterator[tuple[int, Groups]]:
    if lazy and least <= 0:
        yield at, groups
    if most:
        for end, found in _ways(body, text, at, groups, flags):
            if end > at or least > 0:  # a part that takes nothing is not repeated for ever
                yield from _repeated(body, max(0, least - 1), most - 1, lazy, text, end, found, flags)
    if not lazy and least <= 0:
        yield at, groups


def _is_one(code: Any, argument: Any, character: str, flags: int) -> bool:
    if code is codes.ANY:
        return bool(flags & re.DOTALL) or character != "\n"
    spellings = {character}
    if flags & re.IGNORECASE:
        spellings |= {character.lower(), character.upper()}
    if code is codes.NOT_LITERAL:
        return argument not in map(ord, filter(lambda spelling: len(spelling) == 1, spellings))
    if code is codes.LITERAL:
        return any(_holds([(code, argument)], spelling, flags) for spelling in spellings)
    negated = argument[0][0] is codes.NEGATE
    found = any(_holds(argument[1:] if negated else argument, spelling, flags) for spelling in spellings)
    return found != negated


def _holds(members: Tree, character: str, flags: int) -> bool:
    if len(character) != 1:
        return False
    number = ord(character)
    for code, argument in members:
        if code is codes.LITERAL and number == argument:
            return True
        if code is codes.RANGE and argument[0] <= number <= argument[1]:
            return True
        if code is codes.CATEGORY and re.fullmatch(_CATEGORIES[argument], character, flags & re.ASCII):
            return True
    return False


_CATEGORIES = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
}


def _is_at(where: Any, text: str, at: int, flags: int) -> bool:
    if where is codes.AT_BEGINNING_STRING or (where is codes.AT_BEGINNING and not flags & re.MULTILINE):
        return at == 0
    if where is codes.AT_BEGINNING:
        return at == 0 or text[at - 1] == "\n"
    if where is codes.AT_END_STRING:
        return at == len(text)
    if where is codes.AT_END:
        return text[at:] in ("", "\n") or (bool(flags & re.MULTILINE) and text[at] == "\n")
    is_boundary = _is_word(text[max(0, at - 1) : at], flags) != _is_word(text[at : at + 1], flags)
    return is_boundary == (where is codes.AT_BOUNDARY)


def _is_word(character: str, flags: int) -> bool:
    return bool(character) and bool(re.fullmatch(r"\w", character, flags & re.ASCII))


def _drawn(code: Any, argument: Any, random: Random) -> str:
    if code is codes.LITERAL:
        return chr(argument)
    if code in (codes.NOT_LITERAL, codes.ANY, codes.IN):
        fitting = [sign for sign in SIGNS + _members(code, argument) if _is_one(code, argument, sign, re.DOTALL)]
        return random.choice(fitting) if fitting else ""
    if code is codes.BRANCH:
        return drawn(list(random.choice(argument[1])), random)
    if code is codes.SUBPATTERN:
        return drawn(list(argument[3]), random)
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        least, most, body = argument
        times = random.randint(min(least, MOST_DRAWN), min(most, least + MOST_DRAWN, 2 * MOST_DRAWN))
        return "".join(drawn(list(body), random) for _ in range(times))
    if code is codes.ATOMIC_GROUP:
        return drawn(list(argument), random)
    return ""


def _members(code: Any, argument: Any) -> str:
    """The ends of the ranges, and the single characters, of a class."""
    if code is not codes.IN:
        return ""
    ends = [end for kind, value in argument if kind is codes.RANGE for end in value]
    return "".join(map(chr, ends + [value for kind, value in argument if kind is codes.LITERAL]))
