"""The XML family: AutoYaST profiles, unattend.xml and similar documents, merged element by element (docs/xml.md).

`answerd.formats.xml_tree` reads a text into elements; `xml_merge` merges layers; `xml_control` reads the control keys.
This module makes a family of them, and writes answers. ``docs/xml.md`` lists which parts of a document are kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial

from answerd.errors import CannotFill
from answerd.formats.family import MergeError, Path, Prepared, RawControl, Slot
from answerd.formats.template import Placeholder, Template
from answerd.formats.template_reading import TemplateReader
from answerd.formats.xml_control import elements_named, holding, read_meta, without
from answerd.formats.xml_merge import is_item, is_list, merged
from answerd.formats.xml_namespaces import aligned
from answerd.formats.xml_tree import META, Element, Instruction, Shape, Text, XmlDocument, read, shape
from answerd.identity import brief

name = "xml"

_INDENT = "  "
_IN_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_IN_ATTRIBUTE = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
)
_NO_CHARACTER = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold in any spelling (production 2, Char)."""


def parse(text: str) -> XmlDocument:
    """Return a `XmlDocument`. Raises `ParseError` with line and column."""
    return read(text)


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
    return Element(element.name, attributes, tuple(content), element.line)


def _template(value: str | Template, reader: TemplateReader) -> str | Template:
    return reader(value) if isinstance(value, str) and "{{" in value else value


def unset(tree: XmlDocument, paths: Collection[Path]) -> XmlDocument:
    """Return the document without the elements and attributes that ``paths`` name below its root: all siblings of a
    name."""
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
    named = elements_named(upper.root, append) if append else {}
    lower, upper, moved = aligned(lower, upper)
    if lower.root.name != upper.root.name:
        above, below = brief(upper.root.name), brief(lower.root.name)
        raise MergeError(f"the root elements differ: <{above}> cannot be laid over <{below}>")
    appended = {moved.get(id(element), id(element)) for found in named.values() for element in found}
    root = merged(lower.root, upper.root, appended=appended)
    return XmlDocument({**lower.around, **upper.around}, root, lower.namespaces)


def prepare(tree: XmlDocument) -> Prepared:
    """Return the document: elements on lines of their own, texts exactly as they are."""
    around = sorted(tree.around.items(), key=lambda item: item[0] != "xml")  # the declaration must be first
    return Prepared(
        [
            *(f"{source}\n" for kind, sources in around if kind[0] != ">" for source in sources),
            *_element(tree.root, "\n", verbatim=False),
            "\n",
            *(f"{source}\n" for kind, sources in around if kind[0] == ">" for source in sources),
        ]
    )


def _element(element: Element, line: str, *, verbatim: bool) -> Iterator[str | Slot]:
    """Yield an element whose further lines begin with ``line``: a newline and the indentation.

    ``verbatim``: all white space inside is significant, because it is in mixed content or under ``xml:space``.
    """
    yield f"<{element.name}"
    for label, value in element.attributes.items():
        yield f' {label}="'
        yield from _value(value, _IN_ATTRIBUTE)
        yield '"'
    if not element.content:
        yield "/>"
        return
    yield ">"
    space = element.attributes.get("xml:space")
    verbatim = space == "preserve" or (verbatim and space != "default")
    if verbatim or shape(element) is not Shape.ELEMENTS:
        mixed = verbatim or shape(element) is Shape.MIXED
        for item in element.content:
            yield from _item(item, line, verbatim=mixed)
    else:
        for child in element.elements():
            yield line + _INDENT
            yield from _element(child, line + _INDENT, verbatim=False)
        yield line
    yield f"</{element.name}>"


def _item(item: Element | Text | Instruction, line: str, *, verbatim: bool) -> Iterator[str | Slot]:
    if isinstance(item, Element):
        yield from _element(item, line, verbatim=verbatim)
    elif isinstance(item, Instruction):
        yield item.source
    elif item.cdata and isinstance(item.value, str):
        yield f"<![CDATA[{item.value.replace(']]>', ']]]]><![CDATA[>')}]]>"
    else:
        yield from _value(item.value, _IN_TEXT)


def _value(value: str | Template, escapes: dict[int, str]) -> Iterator[str | Slot]:
    for part in (value,) if isinstance(value, str) else value.parts:
        if isinstance(part, str):
            yield part.translate(escapes)
        else:
            yield Slot(Template((part,)), partial(_fill, part, escapes))


def _fill(placeholder: Placeholder, escapes: dict[int, str], text: str) -> str:
    wrong = _NO_CHARACTER.search(text)
    if wrong:
        what = "a character" if placeholder.is_secret else ascii(wrong[0])
        reason = f"the value of {brief(placeholder.label)!r} holds {what}, which XML cannot hold"
        raise CannotFill(reason, placeholder.label, missing=False)
    return text.translate(escapes)
