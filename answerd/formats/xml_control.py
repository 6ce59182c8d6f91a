"""The XML spelling of the control keys: ``<answer-meta>`` below the root, and the paths of ``<append>`` and
``<unset>``.

Rules: docs/merging.md#control-keys.

    <answer-meta extends="base" once="true" template="false">
      <member>52:54:00:11:22:33</member> <match manufacturer="Dell Inc."/>
      <append>software/packages</append> <unset>general/mode</unset>
    </answer-meta>

`answerd.formats.control` gives the keys their meaning.
"""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from answerd.formats.control import CONTROL_KEYS, overlay_number
from answerd.formats.family import Branches, ControlFault, Path, RawControl, RawValue, branches
from answerd.formats.xml_tree import META, Element, Instruction, Shape, Text, shape
from answerd.suggestion import did_you_mean

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
        path = read_path(child.text())
        if path is None:
            reason = "it is no path of names below the root, as in general/mode or a[@name='b']/c/@d"
            self.fault(key, reason, child)
        else:
            self.add(key, path, child)

    def take_match(self, child: Element) -> None:
        """Read ``<match label="pattern" …/>``; several elements add up, a repeated label means any of its patterns."""
        criteria = _attributes(child)
        if child.elements() or child.text():
            self.fault("match", "<match> takes attributes only", child)
        if not criteria:
            self.fault("match", "<match> names no label: write it as an attribute, its pattern as the value", child)
            return
        together = self.values.setdefault("match", RawValue({}, f"line {child.line}")).value
        assert isinstance(together, dict)  # noqa: S101 - made here
        for label, pattern in criteria.items():
            together.setdefault(label, []).append(pattern)

    def add(self, key: str, value: object, child: Element) -> None:
        """Add a value to a key that is a list."""
        values = self.values.setdefault(key, RawValue([], f"line {child.line}")).value
        assert isinstance(values, list)  # noqa: S101 - made here
        values.append(value)

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
    """Return the attributes without namespace declarations."""
    return {
        label: str(value)
        for label, value in element.attributes.items()
        if label != "xmlns" and not label.startswith("xmlns:")
    }


def read_path(text: str) -> Path | None:
    """Return the steps of ``a/b[@name="c"]/d`` or ``a/@b``, below the root; None where the text is no path."""
    steps: list[str] = []
    at = 0
    while True:
        step = _ELEMENT_STEP.match(text, at) or _ATTRIBUTE_STEP.match(text, at)
        if not step:
            return None
        steps.append(step[0])
        at = step.end()
        if at == len(text):
            return tuple(steps)
        if text[at] != "/":
            return None
        at += 1


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
    pass.

    A step that tests attributes is filed under the test that the fewest steps have.
    """

    def __init__(self, levels: list[Branches]) -> None:
        self._known: dict[tuple[int, ...], _Steps] = {}
        self.attributes: set[str] = set()
        self.plain: dict[str, list[Branches | None]] = {}
        self.testing: dict[tuple[str, str, str], list[tuple[list[_Test], Branches | None]]] = {}
        tested: list[tuple[str, list[_Test], Branches | None]] = []
        for step, below in ((step, below) for level in levels for step, below in level.items()):
            attribute = _ATTRIBUTE_STEP.match(step)
            found = None if attribute else _ELEMENT_STEP.match(step)
            if attribute:
                self.attributes.add(attribute[1])
            elif found:
                tests = [(label, single or double) for label, single, double in _TEST.findall(found[2])]
                if tests:
                    tested.append((found[1], tests, below))
                else:
                    self.plain.setdefault(found[1], []).append(below)
        sharers = Counter((name, *test) for name, tests, _ in tested for test in tests)
        for name, tests, below in tested:
            needed = min(tests, key=lambda test: sharers[name, *test])
            self.testing.setdefault((name, *needed), []).append((tests, below))

    def after(self, element: Element) -> list[Branches | None]:
        """Return the steps that follow those that select an element; None where the element is to be removed."""
        name, attributes = element.name, element.attributes
        followed = list(self.plain.get(name, ()))
        if self.testing:
            for label, value in attributes.items():
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
    if not steps.attributes.isdisjoint(element.attributes):
        left = {label: value for label, value in element.attributes.items() if label not in steps.attributes}
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
