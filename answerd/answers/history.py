"""A change of one document as a unified diff in which secrets are masked.

Knows two texts of one document. Must not know where they are kept.
"""

from __future__ import annotations

from collections.abc import Mapping

from answerd.answers.line_diff import unified
from answerd.answers.redaction import NO_LABELS, redacted_pair
from answerd.documents import Key


def diff_lines(
    key: Key,
    before: str | None,
    after: str | None,
    *,
    labels: Mapping[str, str] = NO_LABELS,
    show_secrets: bool = False,
) -> list[str]:
    """Return the lines of the diff, without newlines and without the two heading lines.

    None is a document that does not exist. ``labels`` are those of an inventory's columns.
    """
    was, now = before or "", after or ""
    if not show_secrets:
        was, now = redacted_pair(was, now, key.format, labels=labels)
    lines = unified(was.split("\n") if was else [], now.split("\n") if now else [])
    return lines or ([] if before == after else ["(a secret differs, or white space at the end)"])
