"""Merge two XML elements: which children correspond, which elements are lists (docs/xml.md).

Knows nothing of control keys or of how a tree is written.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import NamedTuple

from answerd.formats.family import MergeError
from answerd.formats.template import Template
from answerd.formats.xml_tree import Element, Instruction, Shape, Text, shape
from answerd.identity import brief, join_limited

DISTINGUISHING = ("name", "id", "key", "alias", "pass", "processorArchitecture")
"""The attributes that distinguish siblings with the same name."""

_MOST_NAMED = 5
"""Elements that a sentence names."""

_LIST_ATTRIBUTE = "type"
"""AutoYaST's ``config:type="list"``, with any prefix: the content is a list."""

Attributes = Mapping[str, str | Template]


class ElementPath(NamedTuple):
    """The position of an element: itself, and the place of its parent. Formatted only for an error."""

    parent: ElementPath | None
    element: Element

    def __str__(self) -> str:
        steps: list[str] = []
        place: ElementPath | None = self
        while place is not None:
            steps.append(_shown(place.element) if place.parent else f"<{place.element.name}>")
            place = place.parent
        return " ".join(reversed(steps))


def merged(
    lower: Element, upper: Element, parent: ElementPath | None = None, *, appended: Collection[int] = ()
) -> Element:
    """Merge ``upper`` over ``lower``, the same element; ``parent`` is its place. Raises `MergeError`.

    ``appended`` are the ``id()`` of elements in ``upper`` whose content is appended to that of the list below them.
    """
    attributes = {**lower.attributes, **upper.attributes}
    content = _content(lower, upper, attributes, ElementPath(parent, lower), appended)
    return replace(lower, attributes=attributes, content=content)


def _content(
    lower: Element, upper: Element, attributes: Attributes, place: ElementPath, appended: Collection[int]
) -> tuple[Element | Text | Instruction, ...]:
    above, below = shape(upper), shape(lower)
    if above is Shape.EMPTY:
        return lower.content
    if id(upper) in appended and is_list(lower.attributes) and is_list(upper.attributes):
        return (*lower.content, *upper.content)
    if is_list(attributes) or not {above, below} <= {Shape.ELEMENTS, Shape.MIXED}:
        return upper.content
    if Shape.MIXED in (above, below):
        which = "both layers" if above is below else "the lower layer" if below is Shape.MIXED else "the upper layer"
        raise MergeError(
            f"{place}: in {which} it holds text between elements (or a processing instruction), into which "
            "nothing can be merged: put text of its own over it, or unset it first"
        )
    return _Children(lower, upper, place, appended).merged()


def is_list(attributes: Attributes) -> bool:
    """Return whether the content is a list: ``type="list"`` with any prefix, or ``t="list"``, as AutoYaST of SLE 15 SP3
    and newer writes it."""
    return attributes.get("t") == "list" or any(
        value == "list" and label.rpartition(":")[2] == _LIST_ATTRIBUTE for label, value in attributes.items()
    )


def is_item(attributes: Attributes) -> bool:
    """Return whether an element is an item of a list: ``action="add"`` in any prefix, as unattend has it
    (``wcm:action="add"``)."""
    return "add" in attributes.values() and any(
        value == "add" and label.endswith(":action") for label, value in attributes.items()
    )


class _Children:
    """The children of two elements, paired name by name. Positions count elements only."""

    def __init__(self, lower: Element, upper: Element, place: ElementPath, appended: Collection[int]) -> None:
        self.lower, self.upper, self.place, self.appended = lower, upper, place, appended
        self.below, self.above = lower.elements(), upper.elements()
        self.replaced: dict[int, tuple[Element, ...]] = {}
        self.paired: set[int] = set()
        self.lists: list[tuple[Element, list[Element], list[int]]] = []

    def merged(self) -> tuple[Element | Text | Instruction, ...]:
        """Return the lower content with each pair merged in its place, then the new elements in the upper element's
        order."""
        below_by_name, above_by_name = _by_name(self.below), _by_name(self.above)
        for name, above in above_by_name.items():
            below = below_by_name.get(name, [])
            if _has_item(self.above, above) or _has_item(self.below, below):
                self.replace_list(below, above)
                continue
            if len(above) == 1 and len(below) == 1:
                if not _differ(self.below[below[0]], self.above[above[0]]):
                    self.pair(below[0], above[0])
                continue
            distinguished_below, list_below = _by_distinguishing(self.below, below)
            distinguished_above, list_above = _by_distinguishing(self.above, above)
            self.pair_distinguished(distinguished_below, distinguished_above)
            self.replace_list(list_below, list_above)
        self.refuse_interleaved()
        content: list[Element | Text | Instruction] = []
        at = 0
        for item in self.lower.content:
            if isinstance(item, Element):
                content += self.replaced.get(at, (item,))
                at += 1
            else:
                content.append(item)
        return (*content, *(child for at, child in enumerate(self.above) if at not in self.paired))

    def pair(self, below: int, above: int) -> None:
        """Merge two children into the lower one's place."""
        lower, upper = self.below[below], self.above[above]
        self.replaced[below] = (merged(lower, upper, self.place, appended=self.appended),)
        self.paired.add(above)

    def pair_distinguished(self, below: list[int], above: list[int]) -> None:
        """Pair siblings that have distinguishing attributes; a sibling without a partner is added later."""
        partners: dict[int, int] = {}
        siblings = _Distinguished(self.below, below)
        for at in above:
            upper = self.above[at]
            found = siblings.same(upper)
            if len(found) > 1:
                several = join_limited([_shown(self.below[other]) for other in found], _MOST_NAMED, " and ")
                raise MergeError(f"{self.place}: {_shown(upper)} pairs with more than one element below it: {several}")
            if found and found[0] in partners:
                both = f"{_shown(self.above[partners[found[0]]])} and {_shown(upper)}"
                raise MergeError(f"{self.place}: {both} both pair with {_shown(self.below[found[0]])} below them")
            if found:
                partners[found[0]] = at
                self.pair(found[0], at)

    def replace_list(self, below: list[int], above: list[int]) -> None:
        """Replace a list, which is items (`is_item`) or siblings without distinguishing attributes: the upper list
        starts where the lower one started. Append it where that is asked for."""
        self.lists += [(self.upper, self.above, above)] if above else []
        if not below or not above:
            return
        self.paired.update(above)
        lone = self.above[above[0]]
        if len(above) == 1 and not lone.attributes and shape(lone) is Shape.EMPTY:
            return
        self.lists.append((self.lower, self.below, below))
        if any(id(self.above[at]) in self.appended for at in above):
            self.replaced[below[-1]] = (self.below[below[-1]], *(self.above[at] for at in above))
            return
        self.replaced.update(dict.fromkeys(below, ()))
        self.replaced[below[0]] = tuple(self.above[at] for at in above)

    def refuse_interleaved(self) -> None:
        """Refuse a list with other elements between its items, which would lose its order, unless all of them are added
        together."""
        paired = sorted(self.paired)
        for parent, children, list_of in self.lists:
            first, last = list_of[0], list_of[-1]
            if last - first + 1 == len(list_of):
                continue
            added_together = parent is self.upper and bisect_left(paired, first) == bisect_right(paired, last)
            if not added_together:
                own = set(list_of)
                others = list(dict.fromkeys(_shown(children[at]) for at in range(first, last) if at not in own))
                raise MergeError(
                    f"{self.place}: the list of {_shown(children[first])} has "
                    f"{join_limited(others, _MOST_NAMED)} between its elements, "
                    "an order that a merge cannot keep: put its elements together, or give each a name or an id"
                )


def _has_item(elements: list[Element], positions: list[int]) -> bool:
    """Return whether some siblings of one name are the items of a list, because one of them says so."""
    for at in positions:  # asked of each element that is merged: most have no attribute
        attributes = elements[at].attributes
        if attributes and is_item(attributes):
            return True
    return False


def _by_name(elements: list[Element]) -> dict[str, list[int]]:
    positions: dict[str, list[int]] = {}
    for at, element in enumerate(elements):
        positions.setdefault(element.name, []).append(at)
    return positions


def _by_distinguishing(elements: list[Element], positions: list[int]) -> tuple[list[int], list[int]]:
    """Split elements into those with distinguishing attributes, and those without."""
    distinguished: list[int] = []
    others: list[int] = []
    for at in positions:
        (distinguished if _distinguishing(elements[at]) else others).append(at)
    return distinguished, others


def _distinguishing(element: Element) -> tuple[str, ...]:
    """Return the distinguishing attributes of an element."""
    return tuple([label for label in DISTINGUISHING if label in element.attributes])


_Values = tuple[str | Template, ...]


class _Distinguished:
    """Siblings of one name with distinguishing attributes, indexed so that not every pair is compared.

    Two correspond when they share such an attribute and all shared attributes are equal. An element has one of 63 sets
    of attributes, so the siblings of each set are indexed by the values of the shared attributes.
    """

    def __init__(self, elements: list[Element], positions: list[int]) -> None:
        self._elements = elements
        self._carrying: dict[tuple[str, ...], list[int]] = {}
        for at in positions:
            self._carrying.setdefault(_distinguishing(elements[at]), []).append(at)
        self._filed: dict[tuple[tuple[str, ...], tuple[str, ...]], dict[_Values, list[int]]] = {}

    def same(self, element: Element) -> list[int]:
        """Return the positions of the siblings that correspond to an element, in their order."""
        found: list[int] = []
        carries = _distinguishing(element)
        for labels in self._carrying:
            shared = tuple([label for label in labels if label in carries])
            if shared:
                values = tuple([element.attributes[label] for label in shared])
                found += self._by_values(labels, shared).get(values, ())
        return sorted(found)

    def _by_values(self, labels: tuple[str, ...], shared: tuple[str, ...]) -> dict[_Values, list[int]]:
        """Return the siblings that have exactly ``labels``, by their values of some of these."""
        filed = self._filed.get((labels, shared))
        if filed is None:
            filed = self._filed[labels, shared] = {}
            for at in self._carrying[labels]:
                attributes = self._elements[at].attributes
                filed.setdefault(tuple([attributes[label] for label in shared]), []).append(at)
        return filed


def _differ(lower: Element, upper: Element) -> bool:
    """Return whether a distinguishing attribute that both have differs."""
    return any(lower.attributes[label] != upper.attributes[label] for label in _shared(lower, upper))


def _shared(lower: Element, upper: Element) -> list[str]:
    return [label for label in DISTINGUISHING if label in lower.attributes and label in upper.attributes]


def _shown(element: Element) -> str:
    """Return the element's name and line: ``<component> of line 12``. The text of an attribute may be a password."""
    return f"<{brief(element.name)}> of line {element.line}"
