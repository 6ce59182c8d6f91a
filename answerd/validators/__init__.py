"""Validators: whether an installer would take an answer, by its own rules, before a machine has to find out.

The public face is ``validate`` and what it returns. Each format has one module that knows its rules; ``tools`` runs
the installers' own programs where they are installed. This room judges rendered answers as texts: it knows no store,
no layer and no request, it reaches no network, and it opens no file that an answer names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from answerd.validators import (
    cloud_config,
    ignition,
    ipxe,
    kickstart,
    preseed,
    toml_answer,
    xml_document,
)
from answerd.validators.tools import Request, Tools
from answerd.validators.verdict import Finding, Report, Verdict

__all__ = ["Finding", "Tools", "Verdict", "validate"]


@dataclass(frozen=True)
class _Answer:
    """One answer to judge. ``text`` is without a byte order mark, ``written`` as it came."""

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
    apart: Callable[[Callable[[], Request | None]], Request | None] = lambda judge: judge(),
) -> Verdict:
    """Judge one answer by the built-in rules of its format and by the tools that are installed.

    ``format_extension`` is a document extension (``toml``, ``ks``, …) in any letter case. ``release`` (``8.2``) and
    ``product`` (``pve``) are those of the Proxmox installer that asked, as its request states them; None where nothing
    is known. ``tools``: None looks on PATH now; ``Tools.none()`` for built-in rules only, which a check of thousands
    of machines wants (a tool costs a process each). ``apart`` calls the built-in rules, which take long for a large
    answer: a server has them called in another thread. Tools are started by the caller's own.

    A tool's consent never overrides a built-in finding. Never raises for anything an answer may contain.
    """
    report = Report()
    extension = format_extension.lower().lstrip(".")
    answer = _Answer(text.removeprefix("\ufeff"), text, extension, release, product)
    judge = _JUDGES.get(extension)
    if judge is None:
        report.note(f"nothing here can judge {extension}")
        return report.verdict()
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        report.refuse(f"character {error.start + 1} is a lone surrogate, which UTF-8 cannot hold")
        report.judged_by("encoding")
        return report.verdict()
    if not answer.text.strip() and extension not in ("yaml", "yml"):  # NoCloud's side files may be empty
        report.refuse("the answer is empty, which several installers take for success")
        report.judged_by("emptiness")
        return report.verdict()
    request = apart(lambda: judge(answer, report))
    if request is not None:
        (Tools.find() if tools is None else tools).judge(request, report)
    return report.verdict()


def _judge_toml(answer: _Answer, report: Report) -> Request | None:
    if toml_answer.judge(answer.text, answer.release, answer.product, report):
        return Request("proxmox-auto-install-assistant", answer.text, answer.format)
    return None


def _judge_kickstart(answer: _Answer, report: Report) -> Request | None:
    dialect = kickstart.judge(answer.text, report)
    arguments = ("-v", dialect) if dialect else ()
    return Request("ksvalidator", kickstart.without_includes(answer.text), answer.format, arguments)


def _judge_yaml(answer: _Answer, report: Report) -> Request | None:
    is_cloud_config = cloud_config.judge(answer.text, report)
    return Request("cloud-init", answer.text, answer.format) if is_cloud_config else None


def _judge_preseed(answer: _Answer, report: Report) -> Request | None:
    preseed.judge(answer.text, report)
    return Request("debconf-set-selections", answer.text, answer.format, known=preseed.known_words(answer.text))


def _judge_json(answer: _Answer, report: Report) -> Request | None:
    is_ignition = ignition.judge(answer.text, answer.format, report)
    return Request("ignition-validate", answer.text, answer.format) if is_ignition else None


def _judge_xml(answer: _Answer, report: Report) -> Request | None:
    is_harmless = xml_document.judge(answer.text, report)
    return Request("xmllint", answer.text, answer.format) if is_harmless else None


def _judge_ipxe(answer: _Answer, report: Report) -> Request | None:
    ipxe.judge(answer.written, report)
    return None


_JUDGES: dict[str, Callable[[_Answer, Report], Request | None]] = {
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
"""Extension to its judge, which returns what a tool should be asked too. ``cfg`` is absent: nothing can judge it."""
