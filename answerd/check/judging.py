"""What an installer says to an answer: by the rules of its format, by its own tools, and to the URL of its report."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Callable, Collection
from functools import cached_property

from answerd.answers.catalogue import Catalogue
from answerd.answers.compose import prepared_answer
from answerd.answers.explain import Place, Placing, origins
from answerd.answers.resolve import Answer
from answerd.answers.sources import REPORT, Sources
from answerd.errors import CannotFill
from answerd.validators import TOOL_OF_FORMAT, Finding, Tools, Verdict, validate

TOOL_RUNS = 8
"""Answers of a format that are checked with the installers' own tools: each run costs a process, up to a second."""


class Judge:
    """The validators, with notes about themselves collected in ``notes``."""

    def __init__(self, tools: Tools, catalogue: Catalogue) -> None:
        self.tools = tools
        self.catalogue = catalogue
        self.inventory = catalogue.inventory
        self.notes: set[str] = set()
        self._tool_runs: dict[str, int] = {}
        self._verdicts: dict[tuple[str, bytes], Verdict] = {}

    def verdict(self, answer: Answer, secrets: Callable[[], Collection[str]]) -> Verdict:
        """Return an installer's verdict on the answer. Answers with the same text are judged once. ``secrets`` is as
        for `validate`."""
        extension = answer.format.extension
        name = extension, hashlib.sha256(answer.body).digest()
        if name not in self._verdicts:
            verdict = self._verdicts[name] = self._judged(extension, answer.body.decode(), secrets)
            self.notes.update(f"{extension}: {note}" for note in verdict.notes)
        return self._verdicts[name]

    def _judged(self, extension: str, text: str, secrets: Callable[[], Collection[str]]) -> Verdict:
        tool = TOOL_OF_FORMAT.get(extension)
        if tool in self.tools.paths:
            verdict = validate(text, extension, tools=Tools.none(), secrets=secrets)
            if verdict.findings:
                return verdict  # the program would say the same in its words
            runs = self._tool_runs[extension] = self._tool_runs.get(extension, 0) + 1
            if runs > TOOL_RUNS:
                self.notes.add(f"{extension}: {tool} was asked about {TOOL_RUNS} answers only")
                return verdict
        return validate(text, extension, tools=self.tools, secrets=secrets)

    def placed(self, findings: tuple[Finding, ...], answer: Answer, but_at: Collection[Place] = ()) -> list[str]:
        """Return findings with the document and line that each is about, without those at some places."""
        if not findings:
            return []
        needs_lines = any(not finding.path or finding.line is not None for finding in findings)
        found = origins(answer, self.inventory, with_lines=needs_lines)
        placing = Placing(answer, found)
        return [
            placing.placed(finding.message, finding.path, finding.line)
            for finding in findings
            if not but_at or placing.place(finding.path, finding.line) not in but_at
        ]


_REPORT_BY_HTTPS = re.compile("https://[^/]+/report/", re.IGNORECASE)

WEBHOOK = "post-installation-webhook"


class Webhooks:
    """Answers of Proxmox whose report goes to this service by HTTPS, where the installer does not know its certificate.

    The installer sends one report, and passes over it that it fails: the machine would be installed again and again.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    @cached_property
    def _unknown(self) -> str | None:
        """The fingerprint of a certificate that installers do not know by themselves; None without one."""
        try:
            certificate = self._sources.certificate()
        except CannotFill:  # it is a problem of the answers that need it
            return None
        return None if certificate is None or certificate.is_trusted() else certificate.fingerprint

    def finding(self, answer: Answer) -> Finding | None:
        """Return what is wrong with an answer's webhook."""
        if answer.format.extension != "toml" or self._unknown is None:
            return None
        if REPORT not in prepared_answer(answer.selection.layers, may_be_blank=True).labels():
            return None
        try:
            webhook = tomllib.loads(answer.body.decode()).get(WEBHOOK)
        except tomllib.TOMLDecodeError:  # the validator says it
            return None
        if not isinstance(webhook, dict) or not _REPORT_BY_HTTPS.match(str(webhook.get("url"))):
            return None
        given = webhook.get("cert-fingerprint", webhook.get("cert_fingerprint"))
        if given is None:
            fault, path = "is missing: the installer does not know", f"{WEBHOOK}.url"
        elif str(given).replace(":", "").upper() != self._unknown.replace(":", ""):
            fault, path = "is not that of", f"{WEBHOOK}.cert-fingerprint"
        else:
            return None
        return Finding(
            f"{WEBHOOK}.cert-fingerprint {fault} the certificate of this service, so its one report is lost: "
            f'write cert-fingerprint = "{{{{ service.fingerprint }}}}"',
            path,
        )
