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


def judge(answer: JudgedAnswer, remarks: Remarks) -> ToolRequest | None:
    """Judge an XML text; xmllint is to judge it too, unless it declares entities."""
    remarks.judged_by("XML syntax")
    declared: list[tuple[str, int]] = []
    is_read = _parse(answer.text, remarks, declared)
    for message, line in declared:
        remarks.refuse(message, line=line)
    if not is_read:
        return None
    root = _tree(answer.text, remarks)
    if declared:
        return None
    if answer.format == "unattend" or root.name == "unattend":
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


def _tree(text: str, remarks: Remarks) -> Element:
    """Return the root of a well-formed text. Names of attributes with a namespace are ``namespace name``.

    Warn of a prefix without a namespace: ``config:type`` is well-formed, but AutoYaST does not see the attribute. What
    was read until there is returned.
    """
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
        remarks.warn(f"a namespace is wrong: {expat.ErrorString(error.code)}", line=error.lineno)
    finally:
        # They refer to the parser, and it to them: a cycle that only the garbage collector would free.
        parser.StartElementHandler = parser.EndElementHandler = parser.CharacterDataHandler = None
    return above[0].children[0] if above[0].children else Element("", "", {}, 1)
