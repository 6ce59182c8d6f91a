"""XML answers (AutoYaST, Windows unattend): well-formed, and nothing in them that names another file.

expat reads the text and nothing else: no DTD, no entity, no file, no network. A DTD with an external subset or with
entity declarations is refused, because the installer's own parser might follow it.
"""

from __future__ import annotations

from xml.parsers import expat  # nosec: entities are refused below, and nothing is fetched

from answerd.validators.verdict import Remarks


def judge(text: str, remarks: Remarks) -> bool:
    """Judge an XML text. Return whether it may be given to a tool: not if it declares entities."""
    remarks.judged_by("XML syntax")
    declared: list[tuple[str, int]] = []
    if not _parse(text, remarks, declared):
        return False
    for message, line in declared:
        remarks.refuse(message, line=line)
    _check_prefixes(text, remarks)
    return not declared


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
        for message, line in declared:
            remarks.refuse(message, line=line)
        return False
    finally:
        # They refer to the parser, and it to them: a cycle that only the garbage collector would free.
        parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = None
    return True


def _check_prefixes(text: str, remarks: Remarks) -> None:
    """Warn of a prefix without a namespace: ``config:type`` is well-formed, but AutoYaST does not see the attribute."""
    parser = expat.ParserCreate(namespace_separator=" ")
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        remarks.warn(f"a namespace is wrong: {expat.ErrorString(error.code)}", line=error.lineno)
