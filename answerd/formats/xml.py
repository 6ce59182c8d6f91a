"""The XML family: AutoYaST profiles, unattend.xml and similar documents, merged element by element (docs/xml.md).

`answerd.formats.xml_read` reads a text into elements. Here are, in this order: the merge, the control keys, and the
functions of a family, which write answers. ``docs/xml.md`` lists which parts of a document
are kept.

    <answer-meta extends="base" once="true" template="false">
      <member>52:54:00:11:22:33</member> <match manufacturer="Dell Inc."/>
      <append>software/packages</append> <unset>general/mode</unset>
    </answer-meta>

Names are compared by namespace. Elements keep the prefixes and the declarations that they have in their layer; where an
element comes to stand below others, what is missing there is declared at it.
"""

from __future__ import annotations

import itertools
import operator
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from answerd.errors import CannotFill
from answerd.formats.control import CONTROL_KEYS, overlay_number
from answerd.formats.family import (
    Branches,
    ControlFault,
    MergeError,
    Path,
    Prepared,
    RawControl,
    RawValue,
    Slot,
    branches,
)
from answerd.formats.template import Placeholder, Template, TemplateReader
from answerd.formats.xml_read import (
    META,
    OUTERMOST,
    WHITE,
    Element,
    Instruction,
    Scope,
    Shape,
    Text,
    XmlDocument,
    read,
    shape,
)
from answerd.short_texts import brief, join_limited
from answerd.suggestion import did_you_mean

# --- merging ----------------------------------------------------------------------------------------------------------

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


class _Layering(NamedTuple):
    """How two layers are merged.

    ``appended`` are the ``id()`` of elements in the upper one whose content is appended to that of the list below them.
    ``is_profile``: they are AutoYaST's, so elements have types.
    """

    appended: Collection[int] = ()
    is_profile: bool = False


def merged(lower: Element, upper: Element, parent: ElementPath | None, layering: _Layering) -> Element:
    """Merge ``upper`` over ``lower``, the same element; ``parent`` is its place. Raises `MergeError`."""
    below, above = lower.attributes, upper.attributes
    if layering.is_profile and parent is not None:
        below, above = _with_one_type(lower, upper)
    scope = lower.scope
    if any(":" in label for label in above):
        attributes, scope = _with_their_prefixes(lower, upper, below, above)
    else:
        attributes = {**below, **above} if above else below
    declared = {**lower.declared, **upper.declared, **lower.declared} if upper.declared else lower.declared
    content = _content(lower, upper, attributes, ElementPath(parent, lower), layering)
    return Element(lower.name, attributes, content, lower.line, declared, scope)


def _with_their_prefixes(
    lower: Element, upper: Element, below: Attributes, above: Attributes
) -> tuple[Attributes, Scope]:
    """Return the attributes of both, each once, and what their prefixes mean: an attribute of the upper layer has the
    lower one's label for it, else its own, unless its prefix means something else there."""
    written = {lower.full_label(label): label for label in below if ":" in label}
    together = dict(below)
    added: dict[str, str] = {}
    made_up: dict[str, str] = {}  # by their namespaces
    number = 1
    for label, value in above.items():
        prefix, colon, local = label.rpartition(":")
        meaning = upper.scope.meaning(prefix) if colon else None
        known = label if meaning is None else written.get(upper.full_label(label))
        if meaning is not None and known is None:
            if added.get(prefix, lower.scope.meaning(prefix)) not in (None, meaning):
                prefix = made_up.get(meaning, "")
                while not prefix or added.get(prefix, lower.scope.meaning(prefix)) not in (None, meaning):
                    prefix = f"n{number}"
                    number += 1
                made_up[meaning] = prefix
            added[prefix] = meaning
            known = f"{prefix}:{local}"
        together[known or label] = value
    return together, Scope(added, lower.scope) if added else lower.scope


def _content(
    lower: Element, upper: Element, attributes: Attributes, place: ElementPath, layering: _Layering
) -> tuple[Element | Text | Instruction, ...]:
    above = shape(upper)
    if above is Shape.EMPTY:
        return lower.content
    if id(upper) in layering.appended and is_list(lower.attributes) and is_list(upper.attributes):
        return (*lower.content, *upper.content)
    if above is Shape.TEXT or is_list(attributes):
        return upper.content
    below = shape(lower)
    if below in (Shape.EMPTY, Shape.TEXT):
        return upper.content
    if layering.is_profile and place.parent is not None and _changes_kind(lower, upper):
        return upper.content
    if Shape.MIXED in (above, below):
        which = "both layers" if above is below else "the lower layer" if below is Shape.MIXED else "the upper layer"
        raise MergeError(
            f"{place}: in {which} it holds text between elements (or a processing instruction), into which "
            "nothing can be merged: put text of its own over it, or unset it first"
        )
    return _Children(lower, upper, place, layering).merged()


# AutoYaST's reader (XML.rb of yast2) removes all namespaces, so that ``config:type``, ``type`` and ``t`` are one
# attribute to it. It stops at an element with two of them, at a value that is not of its type, and at text beside
# elements where there is no type.

_PROFILE_NAMESPACES = ("http://www.suse.com/1.0/yast2ns", "http://www.suse.com/1.0/configns")
_OF_TEXTS: dict[str, Callable[[str], bool]] = {
    "string": lambda _: True,
    "disksize": lambda _: True,
    "symbol": bool,
    "integer": lambda text: any(sign in "0123456789" for sign in text),
    "boolean": lambda text: text in ("true", "false"),
}
"""AutoYaST's types of texts, each with whether a text is of it to the reader."""
_OF_ELEMENTS = ("list", "map")
"""AutoYaST's types of elements."""


def _is_profile(root: Element) -> bool:
    """Return whether a document is one of AutoYaST's, by a namespace of its root, or by the root's name."""
    return root.name == "profile" or not set(root.declared.values()).isdisjoint(_PROFILE_NAMESPACES)


def _type_labels(attributes: Attributes) -> list[str]:
    """Return the attributes that state AutoYaST's type, in any of its spellings."""
    return [label for label in attributes if label == "t" or label.rpartition(":")[2] == _LIST_ATTRIBUTE]


def _type(attributes: Attributes) -> str | Template | None:
    """Return the type that is stated in any spelling; None where none is."""
    return next((attributes[label] for label in _type_labels(attributes)), None)


def _untyped(attributes: Attributes) -> Attributes:
    types = _type_labels(attributes)
    return {label: value for label, value in attributes.items() if label not in types}


def _with_one_type(lower: Element, upper: Element) -> tuple[Attributes, Attributes]:
    """Return the attributes of both with only the type of the content that is left: the upper layer's spelling replaces
    the lower one's, and a type goes with the content that it described."""
    below, above = lower.attributes, upper.attributes
    stated, asked = _type(below), _type(above)
    if asked is None:
        stays = stated is None or shape(upper) is Shape.EMPTY or _is_of(stated, upper)
        return (below if stays else _untyped(below)), above
    if shape(upper) is Shape.EMPTY and shape(lower) is not Shape.EMPTY:  # the lower content stays
        is_same = _is_of(asked, lower) if stated is None else asked == stated
        if not is_same:
            return below, _untyped(above)
    return _untyped(below), above


def _is_of(stated: str | Template | None, element: Element) -> bool:
    """Return whether an element's content is of a type, as AutoYaST's reader sees it. Where a request fills a
    placeholder in it, it is taken to be so."""
    if not isinstance(stated, str):
        return True
    texts = [item for item in element.content if isinstance(item, Text)]
    is_filled = any(isinstance(item.value, Template) for item in texts)
    text = "".join([str(item.value) if item.cdata else str(item.value).strip(WHITE) for item in texts])
    if stated in _OF_ELEMENTS:
        return bool(element.elements()) and not text
    is_of = _OF_TEXTS.get(stated)
    return is_of is None or (not element.elements() and (is_filled or is_of(text)))


def _changes_kind(lower: Element, upper: Element) -> bool:
    """Return whether elements of one type are laid over those of another: of two maps the children are merged."""
    return _type(lower.attributes) not in (None, "map") or _type(upper.attributes) not in (None, "map")


def has_attributes(element: Element) -> bool:
    """Return whether an element has attributes. Declarations of namespaces are none."""
    return any(label != "xmlns" and not label.startswith("xmlns:") for label in element.attributes)


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

    def __init__(self, lower: Element, upper: Element, place: ElementPath, layering: _Layering) -> None:
        self.lower, self.upper, self.place, self.layering = lower, upper, place, layering
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
        self.replaced[below] = (merged(lower, upper, self.place, self.layering),)
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
        if len(above) == 1 and not has_attributes(lone) and shape(lone) is Shape.EMPTY:
            return
        self.lists.append((self.lower, self.below, below))
        if any(id(self.above[at]) in self.layering.appended for at in above):
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
        positions.setdefault(element.full_name, []).append(at)
    return positions


def _by_distinguishing(elements: list[Element], positions: list[int]) -> tuple[list[int], list[int]]:
    """Split elements into those with distinguishing attributes, and those without."""
    distinguished: list[int] = []
    others: list[int] = []
    for at in positions:
        (distinguished if _distinguishing(elements[at]) else others).append(at)
    return distinguished, others


def _distinguishing(element: Element) -> tuple[str, ...]:
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
    below, above = lower.attributes, upper.attributes
    if not (below and above):
        return False
    return any(below[label] != above[label] for label in DISTINGUISHING if label in below and label in above)


def _shown(element: Element) -> str:
    """Return the element's name and line: ``<component> of line 12``. The text of an attribute may be a password."""
    return f"<{brief(element.name)}> of line {element.line}"


# --- control keys -----------------------------------------------------------------------------------------------------

_NAME = r"""[^\s/\[\]@="'<>]+"""
_TEST = re.compile(rf"""\[@({_NAME})=(?:"([^"]*)"|'([^']*)')\]""")
_ELEMENT_STEP = re.compile(rf"({_NAME})((?:{_TEST.pattern})*)")
_ATTRIBUTE_STEP = re.compile(rf"@({_NAME})\Z")
_Test = tuple[str, str]
"""An attribute's label and the value it must have."""


def read_meta(metas: list[Element]) -> RawControl:
    """Return the control keys of the ``answer-meta`` elements of a root, of which there may be only one."""
    reading = _Reading()
    for position, meta in enumerate(metas):
        if position:
            reading.fault("", f"a document has one <{META}>, this is another", meta)
        reading.take(meta)
    return RawControl(reading.values, tuple(reading.faults))


class _Reading:
    """The control keys collected so far, and their faults."""

    def __init__(self) -> None:
        self.values: dict[str, RawValue] = {}
        self.faults: list[ControlFault] = []

    def fault(self, key: str, reason: str, element: Element) -> None:
        """Record a fault of a control key, or of the whole element."""
        self.faults.append(ControlFault(key, f"{reason} (line {element.line})"))

    def fault_in_name(self, what: str, name: str, known: Iterable[str], element: Element) -> None:
        """Record the name of an element or attribute that has no meaning there: it may be a misspelled control key."""
        reason = f"<{META}> has no such {what} (line {element.line}); there are {', '.join(known)}"
        hides_claims = what == "element" or bool(did_you_mean(name, _CLAIMING))
        key = name if name in CONTROL_KEYS else ""
        self.faults.append(ControlFault(key, reason + did_you_mean(name, known), hides_claims))

    def take(self, meta: Element) -> None:
        """Read the attributes and children of one ``answer-meta``."""
        for label, value in _attributes(meta).items():
            if label not in _ATTRIBUTES:
                self.fault_in_name("attribute", label, _ATTRIBUTES, meta)
            elif label in self.values:
                self.fault(label, "occurs twice", meta)
            else:
                meaning = _MEANING[label](value)
                self.values[label] = RawValue(meaning, f"line {meta.line}")
        if shape(meta) in (Shape.TEXT, Shape.MIXED):
            self.fault("", f"<{META}> holds text beside its elements", meta)
        for child in meta.elements():
            if child.name in _TAKE:
                _TAKE[child.name](self, child)
            else:
                self.fault_in_name("element", child.name, _TAKE, child)

    def take_member(self, child: Element) -> None:
        """Read ``<member>52:54:00:11:22:33</member>``: one identifier; several elements add up."""
        if self.is_only_text("members", child):
            self.add("members", child.text(), child)

    def take_path(self, child: Element) -> None:
        """Read ``<unset>general/mode</unset>``, ``<append>…</append>``: one path; several elements add up."""
        key = child.name
        if not self.is_only_text(key, child):
            return
        try:
            self.add(key, read_path(child.text(), child.scope), child)
        except ValueError as error:
            self.fault(key, str(error), child)

    def take_match(self, child: Element) -> None:
        """Read ``<match label="pattern" …/>``; several elements add up, a repeated label means any of its patterns."""
        criteria = _attributes(child)
        if child.elements() or child.text():
            self.fault("match", "<match> takes attributes only", child)
        if not criteria:
            self.fault("match", "<match> names no label: write it as an attribute, its pattern as the value", child)
            return
        together = self.values.setdefault("match", RawValue({}, f"line {child.line}")).value
        for label, pattern in criteria.items():
            together.setdefault(label, []).append(pattern)

    def add(self, key: str, value: object, child: Element) -> None:
        self.values.setdefault(key, RawValue([], f"line {child.line}")).value.append(value)

    def is_only_text(self, key: str, child: Element) -> bool:
        """Return whether the element contains only text; record a fault where it does not."""
        if child.elements() or _attributes(child):
            self.fault(key, f"<{child.name}> holds one text, no attributes and no elements", child)
            return False
        return True


_TAKE: dict[str, Callable[[_Reading, Element], None]] = {
    "member": _Reading.take_member,
    "match": _Reading.take_match,
    "append": _Reading.take_path,
    "unset": _Reading.take_path,
}


_ATTRIBUTES = ("extends", "once", "overlay", "template")
_TRUTH: dict[str, bool] = {"true": True, "false": False}


def _truth(value: str) -> bool | str:
    return _TRUTH.get(value.strip(), value.strip())


_MEANING: dict[str, Callable[[str], object]] = {
    "extends": str,
    "once": _truth,
    "overlay": lambda value: overlay_number(value.strip()),
    "template": _truth,
}
_CLAIMING = ("member", "members", "match", "overlay")


def _attributes(element: Element) -> dict[str, str]:
    return {label: str(value) for label, value in element.attributes.items()}


class Step(str):
    """A step of a path, as it is written; and what it means.

    ``attribute``: the label of an attribute, else empty. ``names``: the names under which `_Steps` files the step of an
    element. ``tests``: labels and values of attributes. Labels and names have namespaces in place of prefixes.
    """

    attribute: str
    names: tuple[str, ...]
    tests: list[_Test]

    @classmethod
    def of(cls, found: re.Match[str], scope: Scope) -> Step:
        """Return the step of a match of `_ELEMENT_STEP` or `_ATTRIBUTE_STEP`. Raises ValueError."""
        step = cls(found[0])
        step.attribute, step.names, step.tests = "", (), []
        name = found[1]
        if found[0][0] == "@":
            step.attribute = _resolved(name, scope)
        else:
            step.tests = [(_resolved(label, scope), one or two) for label, one, two in _TEST.findall(found[2])]
            namespace = scope.meaning("")
            bare = (f":{{{namespace}}}{name}" if namespace else f":{name}", f"::{name}")
            step.names = (_resolved(name, scope),) if ":" in name else bare
        return step


def read_path(text: str, scope: Scope) -> Path:
    """Return the steps of ``a/b[@name="c"]/d`` or ``a/@b``, below the root; each is a `Step`. Raises ValueError where
    the text is no path, and for a prefix that is declared nowhere."""
    steps: list[str] = []
    at = 0
    while True:
        found = _ELEMENT_STEP.match(text, at) or _ATTRIBUTE_STEP.match(text, at)
        if not found or (found.end() < len(text) and text[found.end()] != "/"):
            raise ValueError("it is no path of names below the root, as in general/mode or a[@name='b']/c/@d")
        steps.append(Step.of(found, scope))
        if found.end() == len(text):
            return tuple(steps)
        at = found.end() + 1


def _resolved(name: str, scope: Scope) -> str:
    prefix, colon, local = name.rpartition(":")
    if not colon or prefix == "xml":
        return name
    meaning = scope.meaning(prefix)
    if meaning is None:
        raise ValueError(f"the prefix {brief(prefix)} is not declared here: write xmlns:{brief(prefix)} at the root")
    return f"{{{meaning}}}{local}"


def without(element: Element, paths: Iterable[Path]) -> Element:
    """Return the element without the elements and attributes that ``paths`` name below it: every sibling of a name. The
    same element where there is none.

    Every path applies to the original element, whatever the other paths remove.
    """
    return _without(element, _Steps([branches(paths)]))


def elements_named(element: Element, paths: Iterable[Path]) -> dict[Path, list[Element]]:
    """Return the elements that each path names below an element, every sibling of a name. Paths that name none are not
    in it."""
    found: dict[Path, list[Element]] = {path: [] for path in paths}
    ends: dict[int, Path] = {}
    root: Branches = {}
    for path in found:
        node = root
        for step in path:
            below = node.setdefault(step, {})
            assert below is not None  # noqa: S101 - only dicts were put in
            node = below
        ends[id(node)] = path
    _collect(element, _Steps([root]), ends, found)
    return found


def _collect(element: Element, steps: _Steps, ends: dict[int, Path], found: dict[Path, list[Element]]) -> None:
    for child in element.elements():
        followed = [level for level in steps.after(child) if level is not None]
        if not followed:
            continue
        for level in followed:
            if id(level) in ends:
                found[ends[id(level)]].append(child)
        _collect(child, steps.below(followed), ends, found)


class _Steps:
    """The steps of many paths at one level, with the steps that follow each, filed by the test that an element must
    pass. A step that tests attributes is filed under the test that the fewest steps have.

    A step without a prefix means elements of the default namespace, and those that are written without a prefix. So it
    is filed with a colon before its full name, for elements with a prefix, and with two before its bare name.
    """

    def __init__(self, levels: list[Branches]) -> None:
        self._known: dict[tuple[int, ...], _Steps] = {}
        self.attributes: set[str] = set()
        self.plain: dict[str, list[Branches | None]] = {}
        self.testing: dict[tuple[str, str, str], list[tuple[list[_Test], Branches | None]]] = {}
        tested: list[tuple[str, list[_Test], Branches | None]] = []
        for step, below in ((step, below) for level in levels for step, below in level.items()):
            if not isinstance(step, Step):
                continue  # no path of this family
            if step.attribute:
                self.attributes.add(step.attribute)
            for name in step.names:
                if step.tests:
                    tested.append((name, step.tests, below))
                else:
                    self.plain.setdefault(name, []).append(below)
        sharers = Counter((name, *test) for name, tests, _ in tested for test in tests)
        for name, tests, below in tested:
            needed = min(tests, key=lambda test: sharers[name, *test])
            self.testing.setdefault((name, *needed), []).append((tests, below))

    def after(self, element: Element) -> list[Branches | None]:
        """Return the steps that follow those that select an element; None where the element is to be removed."""
        full = element.full_name
        names = (full, f":{full}" if ":" in element.name else f"::{element.name}")
        followed = [below for name in names for below in self.plain.get(name, ())]
        if self.testing:
            attributes = {element.full_label(label): value for label, value in element.attributes.items()}
            for name, (label, value) in itertools.product(names, attributes.items()):
                for tests, below in self.testing.get((name, label, value), ()) if isinstance(value, str) else ():
                    if all(attributes.get(other) == wanted for other, wanted in tests):
                        followed.append(below)
        return followed

    def below(self, followed: list[Branches]) -> _Steps:
        """Return the steps at the next level, filed once for all elements that the same steps select."""
        which = tuple(map(id, followed))
        steps = self._known.get(which)
        if steps is None:
            steps = self._known[which] = _Steps(followed)
        return steps


def _without(element: Element, steps: _Steps) -> Element:
    if steps.attributes:
        gone = [label for label in element.attributes if element.full_label(label) in steps.attributes]
        if gone:
            left = {label: value for label, value in element.attributes.items() if label not in gone}
            element = replace(element, attributes=left)
    content: list[Element | Text | Instruction] = []
    for item in element.content:
        followed = steps.after(item) if isinstance(item, Element) else ()
        if not isinstance(item, Element) or not followed:
            content.append(item)
            continue
        below = [level for level in followed if level is not None]
        if len(below) == len(followed):
            content.append(_without(item, steps.below(below)))
    same = len(content) == len(element.content) and all(map(operator.is_, content, element.content))
    return element if same else holding(element, content)


def holding(element: Element, content: list[Element | Text | Instruction]) -> Element:
    """Return the element after some of its children were removed: the white space between them goes with the last."""
    left = replace(element, content=tuple(content))
    return replace(left, content=()) if shape(left) is Shape.EMPTY else left


# --- the family -------------------------------------------------------------------------------------------------------

name = "xml"
templates_off = '<answer-meta template="false"/>'

_INDENT = "  "
_IN_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_IN_ATTRIBUTE = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
)
_NO_CHARACTER = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold in any spelling (production 2, Char)."""


parse = read

_OVERLAY = re.compile(r"(?<![\w.:-])overlay[ \t\r\n]*=")


def spells_overlay(text: str) -> bool:
    return _OVERLAY.search(text) is not None


def control(tree: XmlDocument) -> tuple[RawControl, XmlDocument]:
    """Return the content of ``<answer-meta>`` below the root, and the document without it."""
    root: Element = tree.root
    metas = [child for child in root.elements() if child.name == META]
    if not metas:
        return RawControl(), tree
    kept = [item for item in root.content if not isinstance(item, Element) or item.name != META]
    return replace(read_meta(metas), is_there=True), replace(tree, root=holding(root, kept))


def placeholders(tree: XmlDocument, reader: TemplateReader) -> XmlDocument:
    """Replace texts and attribute values that have placeholders by templates; never names, nor anything before the
    root."""
    return replace(tree, root=_read_placeholders(tree.root, reader))


def _read_placeholders(element: Element, reader: TemplateReader) -> Element:
    content: list[Element | Text | Instruction] = []
    for item in element.content:
        if isinstance(item, Element):
            content.append(_read_placeholders(item, reader))
        else:
            content.append(Text(_template(item.value, reader), item.cdata) if isinstance(item, Text) else item)
    attributes = {label: _template(value, reader) for label, value in element.attributes.items()}
    return Element(element.name, attributes, tuple(content), element.line, element.declared, element.scope)


def _template(value: str | Template, reader: TemplateReader) -> str | Template:
    return reader(value) if isinstance(value, str) and "{{" in value else value


def unset(tree: XmlDocument, paths: Collection[Path]) -> XmlDocument:
    root = without(tree.root, paths)
    return tree if root is tree.root else replace(tree, root=root)


def not_arrays(tree: XmlDocument, paths: Collection[Path]) -> Collection[Path]:
    """Return the ``paths`` that name no element, or one that is neither a list nor an item of a list."""
    found = elements_named(tree.root, paths)
    return [path for path in paths if not (found[path] and all(map(_may_append, found[path])))]


def _may_append(element: Element) -> bool:
    return is_list(element.attributes) or is_item(element.attributes)


def merge(lower: XmlDocument, upper: XmlDocument, append: Collection[Path] = ()) -> XmlDocument:
    """Merge the roots; the upper declaration, doctype and instructions replace the lower ones. The content of a list at
    a path in ``append``, or the items that it names, are appended to those of the list below."""
    if lower.root.full_name != upper.root.full_name:
        raise MergeError(_differing_roots(lower.root, upper.root))
    named = elements_named(upper.root, append) if append else {}
    appended = {id(element) for found in named.values() for element in found}
    layering = _Layering(appended, _is_profile(lower.root) or _is_profile(upper.root))
    return XmlDocument({**lower.around, **upper.around}, merged(lower.root, upper.root, None, layering))


def _differing_roots(lower: Element, upper: Element) -> str:
    sentence = f"the root elements differ: <{brief(upper.name)}> cannot be laid over <{brief(lower.name)}>"
    namespaces = [root.full_name.rpartition("}")[0][1:] for root in (upper, lower)]
    if namespaces[0] == namespaces[1]:
        return sentence
    above, below = [repr(brief(namespace)) if namespace else "none" for namespace in namespaces]
    return f"{sentence}, they are in two namespaces, {above} and {below}: write the same xmlns at the root of both"


def prepare(tree: XmlDocument) -> Prepared:
    """Return the document: elements on lines of their own, texts exactly as they are."""
    around = sorted(tree.around.items(), key=lambda item: item[0] != "xml")  # the declaration must be first
    written: _Written = [f"{source}\n" for kind, sources in around if kind[0] != ">" for source in sources]
    _write(tree.root, "\n", written, OUTERMOST, verbatim=False)
    written.append("\n")
    written += [f"{source}\n" for kind, sources in around if kind[0] == ">" for source in sources]
    return Prepared(written)


_Written = list[str | Slot]
"""A list to append to: nested generators cost twice as much, and every answer is written here."""


def _missing(element: Element, outer: Scope) -> Mapping[str, str]:
    """Return the prefixes that an element has to declare where it stands: those that it declares in its layer, and
    those in its names that mean something else there."""
    declared = dict(element.declared)
    for name in (element.name, *[label for label in element.attributes if ":" in label]):
        prefix = name.rpartition(":")[0]
        meaning = element.scope.meaning(prefix)
        if meaning is not None:
            declared[prefix] = meaning
    return {prefix: meaning for prefix, meaning in declared.items() if outer.meaning(prefix) != meaning}


def _write(element: Element, line: str, written: _Written, outer: Scope, *, verbatim: bool) -> None:
    """Write an element whose further lines begin with ``line``: a newline and the indentation.

    ``outer`` is what prefixes mean around it.

    ``verbatim``: all white space inside is significant, because it is in mixed content or under ``xml:space``.
    """
    put = written.append
    put(f"<{element.name}")
    missing = _missing(element, outer)
    for prefix, namespace in missing.items():
        put(f' xmlns{":" if prefix else ""}{prefix}="{namespace.translate(_IN_ATTRIBUTE)}"')
    inner = Scope(missing, outer) if missing else outer
    for label, value in element.attributes.items():
        put(f' {label}="')
        _write_value(value, _IN_ATTRIBUTE, written)
        put('"')
    if not element.content:
        put("/>")
        return
    put(">")
    space = element.attributes.get("xml:space")
    verbatim = space == "preserve" or (verbatim and space != "default")
    holds = shape(element)
    if verbatim or holds is not Shape.ELEMENTS:
        verbatim = verbatim or holds is Shape.MIXED
        for item in element.content:
            if isinstance(item, Element):
                _write(item, line, written, inner, verbatim=verbatim)
            elif isinstance(item, Instruction):
                put(item.source)
            elif item.cdata and isinstance(item.value, str):
                put(f"<![CDATA[{item.value.replace(']]>', ']]]]><![CDATA[>')}]]>")
            else:
                _write_value(item.value, _IN_TEXT, written)
    else:
        for child in element.elements():
            put(line + _INDENT)
            _write(child, line + _INDENT, written, inner, verbatim=False)
        put(line)
    put(f"</{element.name}>")


def _write_value(value: str | Template, escapes: dict[int, str], written: _Written) -> None:
    for part in (value,) if isinstance(value, str) else value.parts:
        if isinstance(part, str):
            written.append(part.translate(escapes))
        else:
            written.append(Slot(Template((part,)), partial(_fill, part, escapes)))


def _fill(placeholder: Placeholder, escapes: dict[int, str], text: str) -> str:
    wrong = _NO_CHARACTER.search(text)
    if wrong:
        what = "a character" if placeholder.is_secret else ascii(wrong[0])
        reason = f"the value of {brief(placeholder.label)!r} holds {what}, which XML cannot hold"
        raise CannotFill(reason, placeholder.label, missing=False)
    return text.translate(escapes)
