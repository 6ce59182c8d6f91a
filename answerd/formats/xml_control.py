"""How XML spells the control keys: ``<answer-meta>`` below the root, and the paths of its ``<unset>`` (SPEC 5).

    <answer-meta extends="base" template="false">
      <member>52:54:00:11:22:33</member> <match manufacturer="Dell Inc."/> <unset>general/mode</unset>
    </answer-meta>

What the keys mean is `answerd.formats.control`'s.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import replace

from answerd.formats.control import CONTROL_KEYS
from answerd.formats.family import ControlFault, Path, Written, WrittenControl
from answerd.formats.xml_tree import Element, Instruction, Shape, Text, shape
from answerd.identity import brief

META = "answer-meta"

_NAME = r"""[^\s/\[\]@="'<>]+"""
_TEST = re.compile(rf"""\[@({_NAME})=(?:"([^"]*)"|'([^']*)')\]""")
_ELEMENT_STEP = re.compile(rf"({_NAME})((?:{_TEST.pattern})*)")
_ATTRIBUTE_STEP = re.compile(rf"@({_NAME})\Z")


def read_meta(metas: list[Element]) -> WrittenControl:
    """The control keys of the ``answer-meta`` elements of a root, of which there may be one."""
    reading = _Reading()
    for position, meta in enumerate(metas):
        if position:
            reading.fault("", f"a document has one <{META}>, this is another", meta)
        reading.take(meta)
    return WrittenControl(reading.values, tuple(reading.faults))


class _Reading:
    """The control keys collected so far, and what is wrong with them."""

    def __init__(self) -> None:
        self.values: dict[str, Written] = {}
        self.faults: list[ControlFault] = []

    def fault(self, key: str, reason: str, element: Element) -> None:
        """Note what is wrong; a name that is no control key is the whole element's fault."""
        self.faults.append(ControlFault(key if key in CONTROL_KEYS else "", f"{reason} (line {element.line})"))

    def take(self, meta: Element) -> None:
        """Read the attributes and children of one ``answer-meta``."""
        for label, value in _attributes(meta).items():
            if label not in ("extends", "template"):
                self.fault(label, f"<{META}> has no attribute {brief(label)!r}; there are extends and template", meta)
            elif label in self.values:
                self.fault(label, "stands twice", meta)
            else:
                meaning = {"true": True, "false": False}.get(value.strip(), value) if label == "template" else value
                self.values[label] = Written(meaning, f"line {meta.line}")
        if shape(meta) in (Shape.TEXT, Shape.MIXED):
            self.fault("", f"<{META}> holds text beside its elements", meta)
        for child in meta.elements():
            if child.name in _TAKE:
                _TAKE[child.name](self, child)
            else:
                self.fault(child.name, f"<{META}> has no <{brief(child.name)}>; there are {', '.join(_TAKE)}", child)

    def take_member(self, child: Element) -> None:
        """``<member>52:54:00:11:22:33</member>``: one identifier; several elements add up."""
        if self.is_only_text("members", child):
            self.add("members", child.text(), child)

    def take_unset(self, child: Element) -> None:
        """``<unset>general/mode</unset>``: one path; several elements add up."""
        if not self.is_only_text("unset", child):
            return
        path = read_path(child.text())
        if path is None:
            reason = "it is no path of names below the root, as in general/mode or a[@name='b']/c/@d"
            self.fault("unset", reason, child)
        else:
            self.add("unset", path, child)

    def take_match(self, child: Element) -> None:
        """``<match label="pattern" …/>``; several elements add up, a label in two of them means any of its patterns."""
        criteria = _attributes(child)
        if child.elements() or child.text():
            self.fault("match", "<match> takes attributes only", child)
        if not criteria:
            self.fault("match", "<match> names no label: write it as an attribute, its pattern as the value", child)
            return
        before = self.values.get("match", Written({}, f"line {child.line}"))
        together = dict(before.value) if isinstance(before.value, dict) else {}
        for label, pattern in criteria.items():
            together[label] = [*together.get(label, ()), pattern]
        self.values["match"] = Written(together, before.place)

    def add(self, key: str, value: object, child: Element) -> None:
        """One more value of a key that is a list."""
        before = self.values.get(key, Written([], f"line {child.line}"))
        self.values[key] = Written([*before.value, value] if isinstance(before.value, list) else [value], before.place)

    def is_only_text(self, key: str, child: Element) -> bool:
        """Whether the element holds nothing but text; notes a fault where it does not."""
        if child.elements() or _attributes(child):
            self.fault(key, f"<{child.name}> holds one text, no attributes and no elements", child)
            return False
        return True


_TAKE: dict[str, Callable[[_Reading, Element], None]] = {
    "member": _Reading.take_member,
    "match": _Reading.take_match,
    "unset": _Reading.take_unset,
}


def _attributes(element: Element) -> dict[str, str]:
    """The attributes that say something: a namespace declaration does not."""
    return {
        label: str(value)
        for label, value in element.attributes.items()
        if label != "xmlns" and not label.startswith("xmlns:")
    }


def read_path(text: str) -> Path | None:
    """The steps of ``a/b[@name="c"]/d`` or ``a/@b``, below the root; None where the text is no path."""
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


def without(element: Element, path: Path) -> Element:
    """The element without what ``path`` names below it: every sibling of a name. Itself where there is none."""
    step, rest = path[0], path[1:]
    attribute = _ATTRIBUTE_STEP.match(step)
    if attribute:
        left = {label: value for label, value in element.attributes.items() if label != attribute[1]}
        return replace(element, attributes=left) if len(left) < len(element.attributes) else element
    content: list[Element | Text | Instruction] = []
    for item in element.content:
        if not isinstance(item, Element) or not _selects(step, item):
            content.append(item)
        elif rest:
            content.append(without(item, rest))
    same = len(content) == len(element.content) and all(map(operator.is_, content, element.content))
    return element if same else holding(element, content)


def holding(element: Element, content: list[Element | Text | Instruction]) -> Element:
    """The element after some of its children were taken out: the white space between them goes with the last."""
    left = replace(element, content=tuple(content))
    return replace(left, content=()) if shape(left) is Shape.EMPTY else left


def _selects(step: str, element: Element) -> bool:
    found = _ELEMENT_STEP.match(step)
    return (
        found is not None
        and found[1] == element.name
        and all(element.attributes.get(label) == (one or other) for label, one, other in _TEST.findall(found[2]))
    )
