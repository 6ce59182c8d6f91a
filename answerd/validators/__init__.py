"""Validators: whether an installer would take an answer, by the installer's own rules.

The public face is `validate` and what it returns. Each format has a module that knows its rules; ``tools`` runs the
installers' own programs where they are installed. These modules judge rendered answers as texts: they know no store, no
layer and no request, reach no network, and open no file that an answer names.

They parse an answer again, on purpose: an installer gets the text, and reads it with another parser than the one that
made it. A second reader (tomllib, json, expat) also finds what `answerd.formats` would write wrong and read back alike.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Mapping

from answerd.answers.redaction import hiding
from answerd.formats import JUDGED_AS
from answerd.validators import cloud_config, ignition, kickstart, preseed, proxmox, xml_document
from answerd.validators.tools import ToolRequest, Tools
from answerd.validators.verdict import Finding, JudgedAnswer, Remarks, Verdict

__all__ = ["TOOL_OF_FORMAT", "Finding", "Tools", "Verdict", "validate"]


def validate(
    text: str,
    format_extension: str,
    *,
    release: str | None = None,
    product: str | None = None,
    tools: Tools | None = None,
    secrets: Callable[[], Collection[str]] = tuple,
) -> Verdict:
    """Judge an answer by the built-in rules of its format and by the tools that are installed.

    ``format_extension`` is a document extension (``toml``, ``ks``, …) in any letter case. ``release`` (``9.1``) and
    ``product`` (``pve``) are those of the Proxmox installer that asked, as its request states them; None where not
    known. ``tools``: None looks on PATH now; ``Tools.none()`` for built-in rules only, as a check of thousands of
    machines wants (each tool is a process).

    ``secrets`` returns those secrets of the answer that its text does not show by itself. It is called where another
    program has something to say: its words are listed with the answer's secrets hidden.

    A tool's consent never overrides a built-in finding. Raises nothing, whatever an answer contains.
    """
    extension = format_extension.lower().lstrip(".")

    @functools.cache
    def hide() -> Callable[[str], str]:
        return hiding(text, extension, secrets())

    remarks = Remarks(hide)
    answer = JudgedAnswer(text.removeprefix("\ufeff"), text, extension, release, product)
    judge = _JUDGES.get(extension)
    if judge is None:
        remarks.note(f"nothing here can judge {extension}")
        return remarks.verdict()
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        remarks.refuse(f"character {error.start + 1} is a lone surrogate, which UTF-8 cannot hold")
        remarks.judged_by("encoding")
        return remarks.verdict()
    if not answer.text.strip() and extension not in ("yaml", "yml"):  # NoCloud's side files may be empty
        remarks.refuse("the answer is empty, which several installers take for success")
        remarks.judged_by("emptiness")
        return remarks.verdict()
    request = judge(answer, remarks)
    if request is not None:
        (Tools.find() if tools is None else tools).judge(request, remarks)
    return remarks.verdict()


def _judge_ipxe(answer: JudgedAnswer, remarks: Remarks) -> None:
    """Judge an iPXE script by its first line, the only one that can be judged. A 200 whose body does not begin with
    ``#!ipxe`` and white space is no script to iPXE: on BIOS machines it is run as a boot program and the machine hangs.
    Nothing may precede it, not even a byte order mark."""
    if not re.match(r"#!ipxe\s", answer.written):
        remarks.refuse("the first line must be '#!ipxe': anything else is run as a boot program", line=1)
    remarks.judged_by("iPXE first line")


_JUDGES: dict[str, Callable[[JudgedAnswer, Remarks], ToolRequest | None]] = {
    "toml": proxmox.judge,
    "yaml": cloud_config.judge,
    "ign": ignition.judge,
    "autoyast": xml_document.judge,
    "unattend": xml_document.judge,
    "ks": kickstart.judge,
    "preseed": preseed.judge,
    "ipxe": _judge_ipxe,
}
_JUDGES |= {extension: _JUDGES[other] for extension, other in JUDGED_AS.items()}
"""Extension to its judge, which returns the request to a tool, or None. Nothing can judge the formats
that are absent: ``cfg``, the loaders' but iPXE's, and programs that make an answer (``erb``, ``jsonnet``)."""

_TOOLS: Mapping[object, str] = {
    proxmox.judge: "proxmox-auto-install-assistant",
    cloud_config.judge: "cloud-init",
    ignition.judge: "ignition-validate",
    xml_document.judge: "xmllint",
    kickstart.judge: "ksvalidator",
    preseed.judge: "debconf-set-selections",
}
TOOL_OF_FORMAT: Mapping[str, str] = {
    extension: _TOOLS[judge] for extension, judge in _JUDGES.items() if judge in _TOOLS
}
"""The installer's own program that reads answers of a format, by extension: the one that its judge asks."""
