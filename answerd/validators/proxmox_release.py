"""The releases of the Proxmox installer: which one reads an answer, and what came with which.

The facts were read from pve-installer, 9.2.7 and its state before 9.2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from answerd.validators.verdict import Remarks

Since = tuple[int, int, int]
"""The first installer package with something: major, minor, patch."""

FIRST_RELEASE: Since = (8, 2, 0)
NEWEST_RELEASE: Since = (9, 2, 7)
KEBAB_SINCE: Since = (8, 4, 0)
PASSWORD_LIMIT_SINCE: Since = (8, 4, 0)
SOURCE_REQUIRED_SINCE: Since = (9, 2, 0)
UPPER_RAID_SINCE: Since = (8, 3, 3)
SWAP_LIMIT_SINCE: Since = (9, 0, 5)
EMPTY_DOMAIN_SINCE: Since = (9, 0, 5)
EVEN_RAID10_SINCE: Since = (9, 2, 6)
OLD_ENOUGH: Since = (9, 0, 0)
"""When no release is stated, a key that every installer from this one on knows is no warning."""

PRODUCTS: Mapping[str, str] = {
    "pve": "Proxmox VE",
    "pbs": "Proxmox Backup Server",
    "pmg": "Proxmox Mail Gateway",
    "pdm": "Proxmox Datacenter Manager",
}


@dataclass(frozen=True)
class Release:
    """The installer that will read the answer. ``patch`` None: any package of that minor, as an ISO states no patch."""

    major: int
    minor: int
    patch: int | None = None
    stated: bool = True

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}" + ("" if self.patch is None or not self.stated else f".{self.patch}")

    def knows(self, since: Since) -> bool | None:
        """Return whether this release has what came with ``since``; None when only some of its packages do."""
        if (self.major, self.minor) != since[:2]:
            return (self.major, self.minor) > since[:2]
        if self.patch is None:
            return True if since[2] == 0 else None
        return self.patch >= since[2]


UNSTATED = Release(*NEWEST_RELEASE, stated=False)

_RELEASE = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})(?:\.([0-9]{1,5}))?(?:[-~+].*)?")


def read_release(text: str | None, product: str | None, remarks: Remarks) -> Release:
    """Return the release that ``iso.release`` or an operator states; the newest, with a note, where it cannot be read.

    Only Proxmox VE's releases are numbered like the installer's.
    """
    if text is None or not text.strip():
        return UNSTATED
    if product not in (None, "pve"):
        remarks.note(f"{product} releases are not numbered like the installer's: judged by {UNSTATED}, not by {text!r}")
        return UNSTATED
    shape = _RELEASE.fullmatch(text.strip())
    if shape is None:
        remarks.note(f"release {text!r} is not one such as 8.4: judged by the rules of {UNSTATED}")
        return UNSTATED
    major, minor, patch = (None if part is None else int(part) for part in shape.groups())
    assert major is not None  # noqa: S101 - the expression has both
    assert minor is not None  # noqa: S101
    release = Release(major, minor, patch)
    if (major, minor) > NEWEST_RELEASE[:2]:
        remarks.note(f"release {text} is newer than the rules known here: judged by those of {UNSTATED}")
    if (major, minor) < FIRST_RELEASE[:2]:
        remarks.note(f"release {text} has no automated installer (it came with 8.2): judged by the rules of 8.2")
        return Release(*FIRST_RELEASE[:2])
    return release
