"""XML answers (AutoYaST, Windows unattend): well-formed, and nothing in them that names another file; then the rules of
`answerd.validators.autoyast` or `answerd.validators.unattend`.

expat reads the text and nothing else: no DTD, no entity, no file, no network. A DTD with entity declarations is
refused, because the installer's own parser might follow it. So is an external subset, but in an AutoYaST profile.
"""

from __future__ import annotations

from xml.parsers import expat  # nosec: entities are refused below, and nothing is fetched

from answerd.validators import autoyast, unattend
from answerd.validators.tools import ToolRequest
from answerd.validators.verdict import JudgedAnswer, Remarks
from answerd.validators.xml_element import Element

NAMESPACES = {"wcm": unattend.WCM_NAMESPACE, "config": autoyast.TYPE_NAMESPACE}
"""The namespaces of the prefixes that Windows' and AutoYaST's documents have."""


def judge(answer: JudgedAnswer, remarks: Remarks) -> ToolRequest | None:
    """Judge an XML text; xmllint is to judge it too, unless it declares entities."""
    remarks.judged_by("XML syntax")
    reader = _Reader(answer.text, namespaces=False)
    for message, line in reader.declared:
        remarks.refuse(message, line=line)
    if reader.names_other_encoding:
        remarks.warn("declares another encoding, but an answer is sent as UTF-8", line=1)
    if error := reader.error:
        reason = f"not well-formed: {expat.ErrorString(error.code)} (column {error.offset + 1})"
        remarks.refuse(reason, line=error.lineno)
        return None
    named = _Reader(answer.text, namespaces=True)
    is_unattend = answer.format == "unattend" or named.root.name == "unattend"
    is_autoyast = not is_unattend and (answer.format == "autoyast" or named.root.name == "profile")
    if named.error is not None:
        _judge_namespace(answer.text, named.error, is_unattend, remarks)
    if reader.external_subset is not None and not is_autoyast:  # AutoYaST loads no DTD
        message = "the DOCTYPE names an external subset: remove it, an answer must be complete by itself"
        remarks.refuse(message, line=reader.external_subset)
    if reader.declared:
        return None
    if is_unattend:
        unattend.judge(named.root, remarks)
    elif answer.format == "autoyast" or named.root.namespace == autoyast.NAMESPACE:
        autoyast.judge(named.root, remarks)
    return None if reader.external_subset is not None else ToolRequest("xmllint", answer.text, answer.format)


class _Reader:
    """What expat reads of a text, up to its first ``error``.

    With ``namespaces``, the names of attributes that have one are ``namespace name``, and a wrong one is an error.
    """

    def __init__(self, text: str, *, namespaces: bool) -> None:
        self.error: expat.ExpatError | None = None
        self.declared: list[tuple[str, int]] = []
        """What the doctype must not have, with its line."""
        self.names_other_encoding = False
        self.external_subset: int | None = None
        """The line of a DOCTYPE that names a file."""
        self._above = [Element("", "", {}, 0)]
        parser = self._parser = expat.ParserCreate(namespace_separator=" " if namespaces else None)
        parser.buffer_text = True
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.XmlDeclHandler = self._declaration
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._entity
        parser.ExternalEntityRefHandler = lambda *_where: 1  # passed over, never opened; its declaration is refused
        parser.StartElementHandler = self._start
        parser.EndElementHandler = lambda _name: self._above.pop()
        parser.CharacterDataHandler = self._text
        parser.StartCdataSectionHandler = self._cdata
        try:
            parser.Parse(text, True)
        except expat.ExpatError as error:
            self.error = error.with_traceback(None)  # which leads to this reader: a cycle too
        finally:
            del (
                parser,
                self._parser,
            )  # its handlers refer to this reader: only the garbage collector would free that cycle

    @property
    def root(self) -> Element:
        """The root, or as much of it as was read."""
        top = self._above[0]
        return top.children[0] if top.children else Element("", "", {}, 1)

    def _declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        self.names_other_encoding = encoding is not None and encoding.lower() not in ("utf-8", "us-ascii", "ascii")

    def _doctype(self, _name: str, system: str | None, public: str | None, _internal: int) -> None:
        if system is not None or public is not None:
            self.external_subset = self._parser.CurrentLineNumber

    def _entity(self, _name: str, _is_parameter: int, value: str | None, *_where: str | None) -> None:
        what = "an external entity" if value is None else "an entity"
        self.declared.append((f"the DTD declares {what}: write its text out", self._parser.CurrentLineNumber))

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        namespace, _, local = name.rpartition(" ")
        element = Element(namespace, local, attributes, self._parser.CurrentLineNumber)
        if len(self._above) == 1 or namespace in ("", self.root.namespace):
            self._above[-1].children.append(element)
        self._above.append(element)  # one of a foreign namespace is in no tree: the installer does not look at it

    def _text(self, text: str) -> None:
        self._above[-1].texts.append(text)

    def _cdata(self) -> None:
        self._above[-1].has_cdata = True


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
