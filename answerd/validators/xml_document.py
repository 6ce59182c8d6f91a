"""XML answers (AutoYaST, Windows unattend): well-formed, and nothing in them that names another file; then the rules of
`answerd.validators.unattend`.

expat reads the text and nothing else: no DTD, no entity, no file, no network. A DTD with an external subset or with
entity declarations is refused, because the installer's own parser might follow it.
"""

from __future__ import annotations

from xml.parsers import expat  # nosec: entities are refused below, and nothing is fetched

from answerd.validators import unattend
from answerd.validators.tools import ToolRequest
from answerd.validators.unattend import Element
from answerd.validators.verdict import JudgedAnswer, Remarks

NAMESPACES = {"wcm": unattend.WCM_NAMESPACE, "config": "http://www.suse.com/1.0/configns"}
"""The namespaces of the prefixes that Windows' and AutoYaST's documents have."""


def judge(answer: JudgedAnswer, remarks: Remarks) -> ToolRequest | None:
    """Judge an XML text; xmllint is to judge it too, unless it declares entities."""
    remarks.judged_by("XML syntax")
    declared: list[tuple[str, int]] = []
    is_read = _parse(answer.text, remarks, declared)
    for message, line in declared:
        remarks.refuse(message, line=line)
    if not is_read:
        return None
    root, fault = _tree(answer.text)
    is_unattend = answer.format == "unattend" or root.name == "unattend"
    if fault is not None:
        _judge_namespace(answer.text, fault, is_unattend, remarks)
    if declared:
        return None
    if is_unattend:
        unattend.judge(root, remarks)
    return ToolRequest("xmllint", answer.text, answer.format)


def _parse(text: str, remarks: Remarks, declared: list[tuple[str, int]]) -> bool:
    parser = expat.ParserCreate()
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)

    def doctype(_name: str, system: str | None, public: str | None, _internal: int) -> None:
        if system is not None or public is not None:
            message = "the DOCTYPE names an external subset: remove it, an answer must be complete by itself"
            declared.append((message, parser.CurrentLineNumber))

    def entity(_name: str, _is_parameter: int, value: str | None, *_where: str | None) -> None:
        what = "an external entity" if value is None else "an entity"
        declared.append((f"the DTD declares {what}: write its text out", parser.CurrentLineNumber))

    def external(*_where: str | None) -> int:
        return 1  # passed over, never opened; its declaration is refused

    def declaration(_version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.lower() not in ("utf-8", "us-ascii", "ascii"):
            remarks.warn("declares another encoding, but an answer is sent as UTF-8", line=1)

    parser.StartDoctypeDeclHandler = doctype
    parser.EntityDeclHandler = entity
    parser.ExternalEntityRefHandler = external
    parser.XmlDeclHandler = declaration
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        remarks.refuse(
            f"not well-formed: {expat.ErrorString(error.code)} (column {error.offset + 1})", line=error.lineno
        )
        return False
    finally:
        # They refer to the parser, and it to them: a cycle that only the garbage collector would free.
        parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = None
    return True


def _judge_namespace(text: str, fault: expat.ExpatError, is_unattend: bool, remarks: Remarks) -> None:
    """Report a prefix without a namespace: AutoYaST does not see the attribute ``config:type``, Setup refuses all."""
    missing = [
        f'xmlns:{prefix}="{namespace}"'
        for prefix, namespace in NAMESPACES.items()
        if f" {prefix}:" in text and f"xmlns:{prefix}" not in text
    ]
    remedy = f": write {' '.join(missing)} into the root element" if missing else ""
    message = f"a namespace is wrong, {expat.ErrorString(fault.code)}{remedy}"
    (remarks.refuse if is_unattend else remarks.warn)(message, line=fault.lineno)


def _tree(text: str) -> tuple[Element, expat.ExpatError | None]:
    """Return the root of a well-formed text. Names of attributes with a namespace are ``namespace name``. Where a
    namespace is wrong, that too, and what was read until there."""
    fault = None
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    above = [Element("", "", {}, 0)]

    def start(name: str, attributes: dict[str, str]) -> None:
        namespace, _, local = name.rpartition(" ")
        element = Element(namespace, local, attributes, parser.CurrentLineNumber)
        above[-1].children.append(element)
        above.append(element)

    def end(_name: str) -> None:
        above.pop()

    def characters(data: str) -> None:
        above[-1].texts.append(data)

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, characters
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        fault = error
    finally:
        # They refer to the parser, and it to them: a cycle that only the garbage collector would free.
        parser.StartElementHandler = parser.EndElementHandler = parser.CharacterDataHandler = None
    return (above[0].children[0] if above[0].children else Element("", "", {}, 1)), fault
