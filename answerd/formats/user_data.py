"""What cloud-init takes a text of user-data for, by its beginning (docs/merging.md#user-data-of-cloud-init).

cloud-init removes blanks and empty lines before a text, folds the letter case, and compares with its prefixes, the
longest first (``type_from_starts_with`` in ``cloudinit/handlers/__init__.py``). A text that has ``MIME-Version:`` near
its beginning is a message to it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of user-data. ``described`` is for sentences.

    ``is_config``: YAML that is merged. ``holds_config``: other texts with a cloud-config in them. ``has_comments``: a
    line that begins with ``#`` is none of its content.
    """

    described: str
    is_config: bool = False
    holds_config: bool = False
    has_comments: bool = True


CONFIG: Final = Kind("a cloud-config", is_config=True, holds_config=True)
TEMPLATE: Final = Kind("a template of cloud-init", holds_config=True)
MESSAGE: Final = Kind("a MIME message", holds_config=True, has_comments=False)

_KINDS: Final = {
    "#cloud-config": CONFIG,
    "#cloud-config-archive": Kind("a cloud-config archive", holds_config=True),
    "#cloud-config-jsonp": Kind("a JSON patch", holds_config=True, has_comments=False),
    "#cloud-boothook": Kind("a boothook"),
    "#include": Kind("a list of URLs"),
    "#include-once": Kind("a list of URLs"),
    "#part-handler": Kind("a part handler"),
    "#!": Kind("a script"),
    "## template: jinja": TEMPLATE,
}
_LONGEST_FIRST: Final = sorted(_KINDS, key=len, reverse=True)
_BEGINNING: Final = 4_096
"""Characters at the beginning in which cloud-init looks for ``MIME-Version:``."""
_MULTIPART: Final = r"(?=(?:[^\n]+\n)*?mime-version:|content-type:[ \t]*multipart/)"
_FIELD: Final = r"[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*"
_MIME_HEADER: Final = re.compile(rf"(?:From [^\n]*\n)?{_MULTIPART}(?:{_FIELD})+(?:\n|\Z)", re.IGNORECASE)


def kind_of(text: str) -> Kind | None:
    """Return the kind of user-data that a text is; None for any other text."""
    beginning = text[:_BEGINNING].replace("\r\n", "\n").lstrip()
    if beginning[:1] != "#":
        return MESSAGE if _MIME_HEADER.match(beginning) else None
    folded = beginning.lower()
    return next((_KINDS[prefix] for prefix in _LONGEST_FIRST if folded.startswith(prefix)), None)


def is_served_whole(text: str) -> bool:
    """Return whether a text is user-data that is no YAML to merge: it is served as it is written."""
    kind = kind_of(text)
    return kind is not None and not kind.is_config and (kind is not TEMPLATE or "{%" in text)


def is_program(text: str) -> bool:
    """Return whether a text is user-data of lines, without anything of a cloud-config."""
    kind = kind_of(text)
    return kind is not None and not kind.holds_config
