"""Validators: whether an installer would take an answer, by the installer's own rules.

The public face is `validate` and what it returns. Each format has a module that knows its rules; ``tools`` runs the
installers' own programs where they are installed. These modules judge rendered answers as texts: they know no store, no
layer and no request, reach no network, and open no file that an answer names.

They parse an answer again, on purpose: an installer gets the text, and reads it with another parser than the one that
made it. A second reader (tomllib, json, libyaml's composer, expat) also finds what `answerd.formats` would write wrong
and read back alike. They use `answerd.formats` only to describe an error of syntax.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from answerd.validators import (
    cloud_config,
    ignition,
    ipxe,
    kickstart,
    preseed,
    toml_answer,
    unattend,
    xml_document,
)
from answerd.validators.tools import ToolRequest, Tools
from answerd.validators.verdict import Finding, Remarks, Verdict

__all__ = ["TOOL_OF_FORMAT", "Finding", "Tools", "Verdict", "validate"]


@dataclass(frozen=True)
class _JudgedAnswer:
    """An answer to judge. ``text`` has no byte order mark, ``written`` is the answer as it came."""

    text: str
    written: str
    format: str
    release: str | None
    product: str | None


def validate(
    text: str,
    format_extension: str,
    *,
    release: str | None = None,
    product: str | None = None,
    tools: Tools | None = None,
) -> Verdict:
    """Judge an answer by the built-in rules of its format and by the tools that are installed.

    ``format_extension`` is a document extension (``toml``, ``ks``, …) in any letter case. ``release`` (``8.2``) and
    ``product`` (``pve``) are those of the Proxmox installer that asked, as its request states them; None where not
    known. ``tools``: None looks on PATH now; ``Tools.none()`` for built-in rules only, as a check of thousands of
    machines wants (each tool is a process).

    A tool's consent never overrides a built-in finding. Raises nothing, whatever an answer contains.
    """
    remarks = Remarks()
    extension = format_extension.lower().lstrip(".")
    answer = _JudgedAnswer(text.removeprefix("\ufeff"), text, extension, release, product)
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


TOOL_OF_FORMAT: Mapping[str, str] = {
    "toml": "proxmox-auto-install-assistant",
    "yaml": "cloud-init",
    "yml": "cloud-init",
    "json": "ignition-validate",
    "ign": "ignition-validate",
    "xml": "xmllint",
    "autoyast": "xmllint",
    "unattend": "xmllint",
    "ks": "ksvalidator",
    "preseed": "debconf-set-selections",
    "seed": "debconf-set-selections",
}
"""The installer's own program that reads answers of a format, by extension."""


def _judge_toml(answer: _JudgedAnswer, remarks: Remarks) -> ToolRequest | None:
    if toml_answer.judge(answer.text, answer.release, answer.product, remarks):
        return ToolRequest("proxmox-auto-install-assistant", answer.text, answer.format)
    return None


def _judge_kickstart(answer: _JudgedAnswer, remarks: Remarks) -> ToolRequest | None:
    dialect = kickstart.judge(answer.text, remarks)
    arguments = ("-v", dialect) if dialect else ()
    return ToolRequest("ksvalidator", kickstart.without_includes(answer.text), answer.format, arguments)


def _judge_yaml(answer: _JudgedAnswer, remarks: Remarks) -> ToolRequest | None:
    is_cloud_config = cloud_config.judge(answer.text, remarks)
    return ToolRequest("cloud-init", answer.text, answer.format) if is_cloud_config else None


def _judge_preseed(answer: _JudgedAnswer, remarks: Remarks) -> ToolRequest | None:
    preseed.judge(answer.text, remarks)
    return ToolRequest("debconf-set-selections", answer.text, answer.format, known=preseed.known_words(answer.text))


def _judge_json(answer: _JudgedAnswer, remarks: Remarks) -> ToolRequest | None:
    is_ignition = ignition.judge(answer.text, answer.format, remarks)
    return ToolRequest("ignition-validate", answer.text, answer.format) if is_ignition else None


def _judge_xml(answer: _JudgedAnswer, remarks: Remarks) -> ToolRequest | None:
    is_harmless = xml_document.judge(answer.text, remarks)
    if is_harmless and unattend.is_unattend(answer.text, answer.format):
        unattend.judge(answer.text, remarks)
    return ToolRequest("xmllint", answer.text, answer.format) if is_harmless else None


def _judge_ipxe(answer: _JudgedAnswer, remarks: Remarks) -> ToolRequest | None:
    ipxe.judge(answer.written, remarks)
    return None


_JUDGES: dict[str, Callable[[_JudgedAnswer, Remarks], ToolRequest | None]] = {
    "toml": _judge_toml,
    "yaml": _judge_yaml,
    "yml": _judge_yaml,
    "json": _judge_json,
    "ign": _judge_json,
    "xml": _judge_xml,
    "autoyast": _judge_xml,
    "unattend": _judge_xml,
    "ks": _judge_kickstart,
    "preseed": _judge_preseed,
    "seed": _judge_preseed,
    "ipxe": _judge_ipxe,
}
"""Extension to its judge, which returns the request to a tool, or None. ``cfg`` is absent: nothing can judge it."""
