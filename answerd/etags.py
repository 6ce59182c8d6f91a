"""The tags of documents and of the whole set, and the headers of a request that are compared with them.

Rules: docs/admin-api.md#requests.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from answerd.store import Version


def etag(revision: int, token: str) -> str:
    """Return the tag of a document's revision. The token is random: after a restored backup numbers are used again."""
    return f'"{revision}-{token}"' if token else f'"{revision}"'


def set_etag(version: Version) -> str:
    """Return the tag of the whole set. It is never that of a document."""
    return f'"set-{version.revision}-{version.token}"'


@dataclass(frozen=True, slots=True)
class Conditions:
    """The two headers of a request, None if absent.

    ``*`` matches any document. ``If-Match`` compares strongly: a weak tag is never equal. ``If-None-Match`` compares
    weakly. A malformed tag matches nothing.
    """

    if_match: str | None = None
    if_none_match: str | None = None

    def fault(self, current: str | None, what: str = "the document") -> str | None:
        """Return why a request must not be carried out on a document with the tag ``current`` (None: there is none)."""
        if self.if_match is not None and not _names(self.if_match, current, weakly=False):
            now = "there is no such document" if current is None else f"the ETag of {what} is {current}"
            return f"If-Match does not hold: {now}"
        if self.if_none_match is not None and _names(self.if_none_match, current, weakly=True):
            return f"If-None-Match does not hold: {what} exists, its ETag is {current}"
        return None

    def is_not_modified(self, current: str) -> bool:
        """Return whether the client's copy is current: it has the tag ``current``."""
        return self.if_none_match is not None and _names(self.if_none_match, current, weakly=True)


UNCONDITIONAL = Conditions()


_TAG = re.compile(r'(W/)?("[^"]*")')


def _names(header: str, current: str | None, *, weakly: bool) -> bool:
    if current is None:
        return False
    if header.strip() == "*":
        return True
    return any(tag == current and (weakly or not weak) for weak, tag in _TAG.findall(header))
