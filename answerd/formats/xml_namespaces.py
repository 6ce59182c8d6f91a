"""Namespaces of XML layers: one prefix for each, so that a merge may compare names as they are written (docs/xml.md).

In one answer a prefix means one namespace, wherever it is declared. Two layers may use two prefixes for one namespace:
then the names of both are rewritten to the first of them, which the root declares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from answerd.formats.family import MergeError
from answerd.formats.template import Template
from answerd.formats.xml_tree import Element, Instruction, Namespaces, Text, XmlDocument
from answerd.identity import brief

_Prefixes = Mapping[str, str]
"""The prefixes that are rewritten, each with the one in its place."""


def aligned(lower: XmlDocument, upper: XmlDocument) -> tuple[XmlDocument, XmlDocument, dict[int, int]]:
    """Return both layers with one prefix for each namespace, and the ``id()`` of each element of ``upper`` that was
    rewritten with that of the new one.

    Raises `MergeError` where a prefix, or names without one, would mean two namespaces in the answer.
    """
    if lower.namespaces == upper.namespaces and _is_simple(lower.namespaces):
        return lower, upper, {}
    together = dict(lower.namespaces)
    for prefix, meanings in upper.namespaces.items():
        together[prefix] = tuple(dict.fromkeys((*together.get(prefix, ()), *meanings)))
    for prefix, meanings in together.items():
        if len(meanings) > 1:
            raise MergeError(_conflict(prefix, meanings))
    of_elements, of_attributes = _rewritten(together)
    moved: dict[int, int] = {}
    if of_elements or of_attributes:
        root = _with_prefixes(lower.root, of_elements, of_attributes, {})
        used = {*of_elements.values(), *of_attributes.values()}
        declared = {f"xmlns:{prefix}" if prefix else "xmlns": together[prefix][0] for prefix in sorted(used)}
        missing = {label: value for label, value in declared.items() if label not in root.attributes}
        lower = replace(lower, root=replace(root, attributes={**root.attributes, **missing}) if missing else root)
        upper = replace(upper, root=_with_prefixes(upper.root, of_elements, of_attributes, moved))
    return replace(lower, namespaces=together), replace(upper, namespaces=together), moved


def _is_simple(namespaces: Namespaces) -> bool:
    """Return whether each prefix means one namespace, and no two mean the same."""
    meanings = [meaning for known in namespaces.values() for meaning in known]
    return len(meanings) == len(namespaces) == len(set(meanings))


def _conflict(prefix: str, meanings: tuple[str, ...]) -> str:
    first, second = [repr(brief(meaning)) if meaning else "none" for meaning in meanings[:2]]
    if prefix:
        return (
            f"the prefix {brief(prefix)} would mean two namespaces, {first} and {second}: "
            "use another prefix for one of them"
        )
    return (
        f"names without a prefix would be in two namespaces, {first} and {second}: write the same xmlns at the root of "
        "each layer, and a prefix for any other namespace"
    )


def _rewritten(namespaces: Namespaces) -> tuple[_Prefixes, _Prefixes]:
    """Return the prefixes of elements, and those of attributes, that are not the first of their namespace. An attribute
    without a prefix is in no namespace, whatever ``xmlns`` says."""
    of_elements: dict[str, str] = {}
    of_attributes: dict[str, str] = {}
    first: dict[str, str] = {}
    first_of_attributes: dict[str, str] = {}
    for prefix, (meaning, *_) in sorted(namespaces.items(), key=lambda item: item[0] != ""):
        if first.setdefault(meaning, prefix) != prefix:
            of_elements[prefix] = first[meaning]
        if prefix and first_of_attributes.setdefault(meaning, prefix) != prefix:
            of_attributes[prefix] = first_of_attributes[meaning]
    return of_elements, of_attributes


def _with_prefixes(
    element: Element, of_elements: _Prefixes, of_attributes: _Prefixes, moved: dict[int, int]
) -> Element:
    """Return an element with other prefixes; the same one where nothing in it changes."""
    name = _renamed(element.name, of_elements)
    attributes: Mapping[str, str | Template] = element.attributes
    if any(":" in label for label in attributes):
        attributes = {
            label if label.startswith("xmlns:") else _renamed(label, of_attributes): value
            for label, value in attributes.items()
        }
    content: list[Element | Text | Instruction] = [
        _with_prefixes(item, of_elements, of_attributes, moved) if isinstance(item, Element) else item
        for item in element.content
    ]
    is_same = name == element.name and attributes.keys() == element.attributes.keys()
    if is_same and all(new is old for new, old in zip(content, element.content, strict=True)):
        return element
    changed = replace(element, name=name, attributes=attributes, content=tuple(content))
    moved[id(element)] = id(changed)
    return changed


def _renamed(name: str, prefixes: _Prefixes) -> str:
    prefix, colon, local = name.partition(":")
    other = prefixes.get(prefix) if colon else None
    if other is None:
        return name
    return f"{other}:{local}" if other else local
