"""Talos' machine configurations: the top of the main document, and the kinds of those beside it.

The rules are data (``rules/talos.json``). Talos stops at a key that it does not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from answerd.formats.yaml_read import Node
from answerd.validators import schema
from answerd.validators.schema import Path, Program
from answerd.validators.verdict import Remarks
from answerd.validators.yaml_values import line_of, value_of

TALOS = Program("Talos")

VERSION = "v1alpha1"


def judge(roots: Sequence[Node | None], remarks: Remarks) -> bool:
    """Judge the documents of a text where one is Talos' main document; return whether one is."""
    documents = [(root, value_of(root)) for root in roots]
    mains = [(root, values) for root, values in documents if is_main(values)]
    for root, values in mains:
        _judge_main(root, values, remarks)
    if mains:
        for root, values in documents:
            if isinstance(values, dict):
                _judge_kind(root, values.get("kind"), remarks)
    return bool(mains)


def is_main(values: Any) -> bool:
    """Return whether a document is meant as Talos' main one, which has no kind."""
    if not isinstance(values, dict) or "kind" in values:
        return False
    has_machine = isinstance(values.get("machine"), dict)
    return has_machine and ("cluster" in values or values.get("version") == VERSION)


def _judge_main(root: Node | None, values: dict[str, Any], remarks: Remarks) -> None:
    def line(path: Path, is_key: bool) -> int | None:
        return line_of(root, path, is_key)

    remarks.judged_by("Talos rules")
    schema.judge("talos", values, remarks, TALOS, line=line)


def _judge_kind(root: Node | None, kind: Any, remarks: Remarks) -> None:
    """Refuse a kind that is nearly one of those that are known: others may be of a later release, or Kubernetes'."""
    known = schema.rules("talos")["$defs"]["kind"]["enum"]
    if isinstance(kind, str) and kind not in known and (near := schema.nearest(kind, known)):
        remarks.refuse(f"there is no such kind; did you mean {near!r}?", "kind", line_of(root, ("kind",)))
