"""AutoYaST profiles: what its reader makes of an element by its type, and the sections.

The reader stops at an element that is not of its type. The sections are data (``rules/autoyast.json``): since SUSE
Linux Enterprise 15 SP3 the installer shows what the schema of profiles refuses, and ends unless someone lets it go on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from answerd.validators import schema
from answerd.validators.password_hashes import judge_hash
from answerd.validators.schema import NOTHING, Items, Path, Program, Symbol
from answerd.validators.verdict import Remarks
from answerd.validators.xml_element import Element

NAMESPACE = "http://www.suse.com/1.0/yast2ns"
TYPE_NAMESPACE = "http://www.suse.com/1.0/configns"

TYPES = ("boolean", "disksize", "integer", "list", "map", "string", "symbol")

AUTOYAST = Program(
    "AutoYaST",
    "elements",
    MappingProxyType(
        {
            "array": 'a list, with config:type="list"',
            "boolean": "'true' or 'false', with config:type=\"boolean\"",
            "integer": 'a whole number, with config:type="integer"',
            "object": "elements",
            "string": "a text",
            "symbol": 'a word, with config:type="symbol"',
        }
    ),
)

DEEPEST_JUDGED = 20
"""Elements within each other; no rule goes as deep."""


def judge(root: Element, remarks: Remarks) -> None:
    """Judge a profile by its root. No remark quotes a text. Rules and classes, which AutoYaST asks for before a
    profile, have other roots and are not judged."""
    if root.name != "profile":
        return
    remarks.judged_by("AutoYaST rules")
    if root.namespace != NAMESPACE:
        what = "is another one" if root.namespace else "is missing"
        remarks.refuse(f'profile: its namespace {what}: write <profile xmlns="{NAMESPACE}">', line=root.line)
    _judge_types(root, remarks)
    if remarks.refused:
        return  # there are no values that the sections' rules could judge
    values = _elements(root, 0)
    schema.judge("autoyast", values, remarks, AUTOYAST, line=lambda path, _is_key: _line(root, path))
    users = values.get("users")
    for place, user in enumerate(users if isinstance(users, list) else ()):
        password = user.get("user_password") if isinstance(user, dict) and user.get("encrypted") is True else None
        if password and isinstance(password, str):
            path = ("users", place, "user_password")
            judge_hash(password, remarks, ".".join(map(str, path)), _line(root, path))


def _judge_types(root: Element, remarks: Remarks) -> None:
    """Judge every element below the root as the reader does, by its type. A text may be nested endlessly."""
    waiting: list[tuple[Path, Element, bool]] = [((), root, False)]
    while waiting:
        path, element, is_list = waiting.pop()
        if element is not root and (message := _type_fault(element)):
            remarks.refuse(message, ".".join(map(str, path)), element.line)
        if not is_list:
            _judge_repeated(path, element, remarks)
        for place, child in reversed([*enumerate(element.children)]):
            step = place if is_list else child.name
            waiting.append(((*path, step) if len(path) < DEEPEST_JUDGED else path, child, _type(child) == "list"))


def _judge_repeated(path: Path, element: Element, remarks: Remarks) -> None:
    first: dict[str, Element] = {}
    for child in element.children:
        if first.setdefault(child.name, child) is not child:
            message = f"is set twice: first on line {first[child.name].line}, and only the last one counts"
            remarks.warn(message, ".".join(map(str, (*path, child.name))), child.line)


def _given_types(element: Element) -> Mapping[str, str]:
    """Return the types that an element states: ``t``, and ``type`` of any namespace."""
    names = {name.rpartition(" ")[2]: value for name, value in element.attributes.items()}
    return {name: names[name] for name in ("t", "type") if name in names}


def _type(element: Element) -> str | None:
    """Return the type of an element; None where it has none and neither a text nor an element tells it."""
    for given in _given_types(element).values():
        return given
    if element.children:
        return "map" if not element.text else None
    return "string" if element.text or element.has_cdata else None


def _type_fault(element: Element) -> str | None:
    given, text = _given_types(element), element.text
    if len(given) > 1:
        return "has both 't' and 'type': the installer stops; write one"
    type_ = next(iter(given.values()), None)
    if text and element.children and not (type_ is None and element.has_cdata):
        return "has a text beside elements: the installer stops"
    if type_ is None:
        return None
    if type_ not in TYPES:
        near = schema.nearest(type_, TYPES)
        hint = f"; did you mean {near!r}?" if near else f"; the types are {', '.join(TYPES)}"
        return f"there is no such type: the installer stops{hint}"
    if type_ not in ("list", "map") and element.children:
        return f"is of the type {type_}: it must hold a text, and no elements"
    if type_ == "boolean" and text not in ("true", "false"):
        return "is a boolean: it must be 'true' or 'false'"
    if type_ == "integer" and not re.search("[0-9]", text):
        return "is an integer: it must be a whole number"
    if type_ == "symbol" and not text:
        return "is a symbol: it must not be empty"
    return None


def _value(element: Element, depth: int) -> Any:
    """Return what the reader makes of an element whose type has no fault."""
    type_, text = _type(element), element.text
    if type_ is None or depth == DEEPEST_JUDGED:
        return NOTHING
    if type_ == "list":
        children = element.children
        return Items([_value(child, depth + 1) for child in children], [child.name for child in children])
    if type_ == "map":
        return _elements(element, depth + 1)
    if type_ == "symbol":
        return Symbol(text)
    if type_ == "boolean":
        return text == "true"
    return 0 if type_ == "integer" and re.fullmatch("[+-]?[0-9]+", text) else text


def _elements(element: Element, depth: int) -> dict[str, Any]:
    return {child.name: _value(child, depth) for child in element.children}


def _line(root: Element, path: Path) -> int:
    """Return the line of the element at a path; that of the nearest one above where there is none."""
    element = root
    for step in path:
        if isinstance(step, int):
            below = element.children[step] if step < len(element.children) else None
        else:
            below = next((child for child in reversed(element.children) if child.name == step), None)
        if below is None:
            break
        element = below
    return element.line
