"""Loops and conditions of other services' templates as Jinja, for texts (docs/templates.md#jinja).

What a template says is carried over word by word where Jinja has the same, and nothing is guessed: the first thing
without a counterpart ends it with `NoCounterpart`, which names it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Final

from answerd.answers.redaction import hiding
from answerd.documents import Document, Key, RawDocument
from answerd.identity import Kind


class NoCounterpart(ValueError):
    """A part of a template that Jinja does not have. ``line`` is its line, ``part`` what it says: see `quoted`."""

    def __init__(self, line: int, part: str) -> None:
        super().__init__(part)
        self.line, self.part = line, part


def quoted(part: str, text: str, extension: str) -> str:
    """Return a part of a text for a message: without the secrets of the text, and not long."""
    return " ".join(hiding(text, extension)(part).split())[:_LONGEST_QUOTED]


_LONGEST_QUOTED: Final = 60


def judged(text: str, extension: str) -> str:
    """Return a text that Jinja is to fill. Raises `NoCounterpart` where there is something wrong with it."""
    document = Document(RawDocument(Key(Kind.GROUP, "migrated", extension), text), has_states=True)
    if document.problems:
        raise NoCounterpart(1, document.problems[0])
    return text


JINJA: Final = "# answer: template jinja\n"
"""What a document that Jinja fills begins with."""

_NOT_A_NAME: Final = frozenset({"facts", "loop", "namespace", "range", "secret", "self", "super", "caller", "values"})


def name_of(label: str) -> str:
    """Return a label as Jinja has it."""
    plain = label.isidentifier() and label not in _NOT_A_NAME
    return label if plain else f"facts[{json.dumps(label, ensure_ascii=False)}]"


# --- Cheetah ----------------------------------------------------------------------------------------------------------

_DIRECTIVE: Final = re.compile(r"[ \t]*#(?P<word>else[ ]+if|end[ ]+\w+|[a-z]+)\b(?P<rest>[^\r\n]*)")
_DIRECTIVES: Final = frozenset({"if", "elif", "else if", "elseif", "else", "end if", "for", "end for", "set"})
_OTHERS: Final = frozenset(
    {"raw", "include", "import", "def", "from", "attr", "silent", "slurp", "unless", "while", "try"}
)
_ASSIGNED: Final = re.compile(r"\$?\{?(?P<name>[A-Za-z_]\w*)\}?[ \t]*=(?!=)(?P<value>.+)")
_LOOP: Final = re.compile(r"\$?(?P<name>[A-Za-z_]\w*)[ \t]+in[ \t]+(?P<value>.+)")
_TOKEN: Final = re.compile(
    r"""(?P<blank>[ \t]+)|(?P<text>"[^"\\{]*"|'[^'\\{]*')|(?P<number>\d+(?:\.\d+)?(?!\w))"""
    r"""|\$(?P<call>getVar|varExists)\([ \t]*(?P<of>"[A-Za-z_]\w*"|'[A-Za-z_]\w*')"""
    r"""(?:[ \t]*,[ \t]*(?P<else>"[^"\\{]*"|'[^'\\{]*'))?[ \t]*\)"""
    r"""|\$\{?(?P<name>[A-Za-z_]\w*)\}?(?![\w(\[])|(?P<word>and|or|not|in|True|False)(?!\w)"""
    r"""|(?P<method>\.(?:split|strip|upper|lower|startswith|endswith|replace)(?=\())|(?P<sign>==|!=|<=|>=|[<>+(),\[\]-])"""
)


def of_cheetah(text: str, value: Callable[[str], str]) -> tuple[str, set[str]]:
    """Return a template of Cheetah as one of Jinja, and the names that it gives values. Its lines of text are left as
    they are; ``value`` makes the expression of a name. Raises `NoCounterpart`."""
    lines = []
    local: set[str] = set()
    loops = 0

    def named(label: str) -> str:
        return name_of(label) if label in local else value(label)

    for number, line in enumerate(text.splitlines(keepends=True), 1):
        found = _DIRECTIVE.match(line)
        word = " ".join(found["word"].split()) if found else ""
        if word in _OTHERS or (word.startswith("end ") and word not in _DIRECTIVES):
            raise NoCounterpart(number, line)
        if found is None or word not in _DIRECTIVES:
            lines.append(line)
            continue
        loops += (word == "for") - (word == "end for")
        if loops and word == "set":  # a loop of Jinja forgets it after the turn
            raise NoCounterpart(number, line)
        try:
            tag = _tag(word, found["rest"].strip().removesuffix(":").strip(), named, local)
        except ValueError:
            raise NoCounterpart(number, line) from None
        lines.append(f"{{% {tag} %}}{line[found.end() :]}")
    return "".join(lines), local


def _tag(word: str, rest: str, named: Callable[[str], str], local: set[str]) -> str:
    """Return a directive as a statement. Raises ValueError. ``local`` are the names that the template gave values."""
    if word in ("else", "end if", "end for"):
        if rest:
            raise ValueError
        return word.replace(" ", "")
    if word in ("if", "elif", "else if", "elseif"):
        return f"{'if' if word == 'if' else 'elif'} {_expression(rest, named)}"
    found = (_LOOP if word == "for" else _ASSIGNED).fullmatch(rest)
    if not found or name_of(found["name"]) != found["name"]:
        raise ValueError
    expression = _expression(found["value"], named)
    local.add(found["name"])
    return f"for {found['name']} in {expression}" if word == "for" else f"set {found['name']} = {expression}"


def _expression(text: str, named: Callable[[str], str]) -> str:
    return "".join(_words(text.strip(), named)).strip()


def _words(text: str, named: Callable[[str], str]) -> Iterator[str]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if not found:
            raise ValueError
        at = found.end()
        if found["call"]:
            name = name_of(found["of"][1:-1])
            if found["call"] == "varExists":
                yield f"{name} is defined"
            else:
                fallback = found["else"] or '""'
                yield f"({name} | default({fallback}))"
        elif found["name"]:
            yield named(found["name"])
        else:
            yield {"True": "true", "False": "false"}.get(found[0], found[0])
    if not text:
        raise ValueError


# --- Go ---------------------------------------------------------------------------------------------------------------

_ACTION: Final = re.compile(r"\{\{(?P<before>-?)(?P<inside>(?:[^{}]|[{}](?![{}]))*?)(?P<after>-?)\}\}")
_GO_TOKEN: Final = re.compile(
    r"""(?P<blank>\s+)|(?P<text>"[^"\\{]*"|`[^`\\{"]*`)|(?P<number>\d+(?!\w))|(?P<open>\()|(?P<close>\))"""
    r"""|(?P<field>\.(?:request\.query\.)?[A-Za-z_]\w*(?:\.\w+)*)|(?P<dot>\.)|\$(?P<variable>[A-Za-z_]\w*)|(?P<word>[a-z]+)"""
)
_COMPARED: Final = {"eq": "==", "ne": "!="}
_RANGE: Final = re.compile(r"range\s+(?:(?:\$(?P<place>\w+)\s*,\s*)?\$(?P<item>\w+)\s*:=\s*)?(?P<value>.+)", re.DOTALL)
_ITEM: Final = "item"


def of_go(text: str) -> str:
    """Return a template of Go as one of Jinja. Raises `NoCounterpart`."""
    pieces, done = [], 0
    opened: list[str] = []
    items: list[str] = []
    for action in _ACTION.finditer(text):
        inside = action["inside"].strip()
        try:
            tag = _go_tag(inside, opened, items)
        except ValueError:
            raise NoCounterpart(text.count("\n", 0, action.start()) + 1, f"{{{{{inside}}}}}") from None
        pieces.append(text[done : action.start()])
        if tag.startswith("{{"):
            pieces.append(f"{{{{{action['before']} {tag[2:]} {action['after']}}}}}")
        else:  # Go leaves the blanks and the line end beside an action
            pieces.append(f"{{%{action['before'] or '+'} {tag} {action['after'] or '+'}%}}")
        done = action.end()
    if opened:
        raise NoCounterpart(text.count("\n") + 1, f"no end of {opened[-1]}")
    return "".join([*pieces, text[done:]])


def _go_tag(inside: str, opened: list[str], items: list[str]) -> str:
    """Return an action as a statement, or as an expression behind ``{{``. Raises ValueError."""
    word = inside.partition(" ")[0]
    if word == "end" and inside == "end" and opened:
        ended = opened.pop()
        if ended == "for":
            items.pop()
        return f"end{ended}"
    if word == "else" and opened:
        rest = inside[4:].strip()
        if not rest:
            return "else"
        if opened[-1] == "if" and rest.startswith("if "):
            return f"elif {_condition(rest[3:], items)}"
        raise ValueError
    if word == "if":
        opened.append("if")
        return f"if {_condition(inside[3:], items)}"
    if word == "range":
        found = _RANGE.fullmatch(inside)
        if not found:
            raise ValueError
        value = _go_expression(found["value"], items)
        item = found["item"] or _ITEM
        if name_of(item) != item or (found["place"] and name_of(found["place"]) != found["place"]):
            raise ValueError
        opened.append("for")
        items.append(item)
        # A list in metadata is a cell of words here.
        place = f" +%}}{{%+ set {found['place']} = loop.index0" if found["place"] else ""
        return f"for {item} in ({value} | default('')).split(){place}"
    return "{{" + _go_expression(inside, items)


def _condition(text: str, items: list[str]) -> str:
    expression = _go_expression(text, items)
    if re.search(r" (?:==|!=) |^not |^\(", expression):
        return expression
    return _holds(expression)


def _holds(expression: str) -> str:
    """Return what Go takes for true: neither empty nor false nor 0, which are texts here."""
    return f"{expression} | default('') not in ['', 'false', '0']"


def _go_expression(text: str, items: list[str]) -> str:
    tokens = []
    at = 0
    text = text.strip()
    while at < len(text):
        found = _GO_TOKEN.match(text, at)
        if not found:
            raise ValueError
        at = found.end()
        if found.lastgroup != "blank":
            tokens.append((found.lastgroup or "", found[0]))
    expression, rest = _operand(tokens, items, is_first=True)
    if rest:
        raise ValueError
    return expression


Tokens = list[tuple[str, str]]


def _operand(tokens: Tokens, items: list[str], *, is_first: bool = False) -> tuple[str, Tokens]:
    """Return the expression at the beginning of tokens, and what follows it."""
    if not tokens:
        raise ValueError
    (kind, said), rest = tokens[0], tokens[1:]
    if kind == "open":
        expression, rest = _operand(rest, items, is_first=True)
        if not rest or rest[0][0] != "close":
            raise ValueError
        return f"({expression})", rest[1:]
    if kind == "word":
        if not is_first:
            raise ValueError
        return _called(said, rest, items)
    if kind == "field":
        if items:  # a field of the item, or of the metadata: Go has the item's
            raise ValueError
        return name_of(said.removeprefix(".request.query").removeprefix(".")), rest
    if kind == "variable" or (kind == "dot" and items):
        return (said[1:] if kind == "variable" else items[-1]), rest
    if kind in ("text", "number"):
        return (f'"{said[1:-1]}"' if kind == "text" else f'"{said}"'), rest
    raise ValueError


def _called(function: str, tokens: Tokens, items: list[str]) -> tuple[str, Tokens]:
    operands = []
    while tokens and tokens[0][0] != "close":
        operand, tokens = _operand(tokens, items)
        operands.append(operand)
    if function in _COMPARED and len(operands) == 2:  # noqa: PLR2004 - more are another condition
        return f"{operands[0]} {_COMPARED[function]} {operands[1]}", tokens
    conditions = [each if each.startswith("(") else _holds(each) for each in operands]
    if function in ("and", "or") and len(operands) > 1:
        return "(" + f" {function} ".join(f"({each})" for each in conditions) + ")", tokens
    if function == "not" and len(operands) == 1:
        return f"not ({conditions[0]})", tokens
    raise ValueError
