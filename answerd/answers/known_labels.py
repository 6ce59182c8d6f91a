"""The labels that installers and boot loaders send, in one table (docs/templates.md#labels-that-installers-send).

A label that is not in the table, and that no document's ``match`` and no inventory's column names, is probably
misspelled.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

from answerd.answers.catalogue import Catalogue
from answerd.formats.template import SECRETS


def _labels(words: str) -> frozenset[str]:
    return frozenset(words.split())


_PROXMOX = (
    "$schema.version product.fullname product.product product.enable_btrfs iso.release iso.isorelease "
    "dmi.baseboard.serial dmi.baseboard.name dmi.baseboard.asset_tag dmi.chassis.sku dmi.chassis.asset_tag "
    "dmi.chassis.serial dmi.system.sku dmi.system.serial dmi.system.uuid dmi.system.name "
    "network_interfaces.N.link network_interfaces.N.mac"
)

SENT: Mapping[str, frozenset[str]] = {
    "every request": _labels("path file segment peer user_agent"),
    "the service": _labels("machine group state report"),
    "Anaconda, with `inst.ks.sendmac` and `inst.ks.sendsn`": _labels("mac serial"),
    "Proxmox": _labels(_PROXMOX) | {path.rpartition(".")[2] for path in _labels(_PROXMOX)},
    "Talos": _labels("code hostname mac uuid"),
    "iPXE, in a URL with its settings": _labels(
        "arch asset buildarch busid chip dhcp-server dns domain filename gateway hostname ip mac manufacturer memsize "
        "netmask next-server platform product root-path serial undef user-class username uuid version"
    ),
    "boot scripts, by custom": _labels(
        "asset_tag disk env environment fqdn host id location name node os profile rack role room site user vendor"
    ),
}
"""The labels, case-folded, by the client that sends them. ``N`` is a position in a list."""

ALL_SENT: frozenset[str] = frozenset().union(*SENT.values())

SIMILAR = 0.8
"""The least similarity at which a label counts as misspelled: ``usr`` and ``user`` have 0.86."""

_LONGEST_COMPARED = 60
_PLACE = re.compile(r"(?<=\.)\d+(?=\.|\Z)")


class KnownLabels:
    """The labels that requests to one answer set are expected to have."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._labels = set(ALL_SENT)
        for document in catalogue.documents.values():
            self._labels.update(criterion.label for criterion in document.control.match)
        if catalogue.inventory is not None:
            for layout in catalogue.inventory.by_layout:
                self._labels.update(layout.labels)

    def __contains__(self, label: str) -> bool:
        """Return whether a client is known to send a case-folded label."""
        return label in self._labels or label.startswith(SECRETS) or _PLACE.sub("N", label) in self._labels

    def nearest(self, label: str) -> str | None:
        """Return the known label that an unknown label is probably a misspelling of; None where none is similar."""
        return _nearest(label, self._labels)


def _nearest(label: str, known: Iterable[str]) -> str | None:
    if len(label) > _LONGEST_COMPARED:
        return None
    return next(iter(difflib.get_close_matches(label, sorted(known), n=1, cutoff=SIMILAR)), None)
