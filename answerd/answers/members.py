"""Find the member of a group that a request is (docs/selection.md)."""

from __future__ import annotations

from answerd.answers.catalogue import Catalogue
from answerd.answers.select import Selection
from answerd.facts import Facts


def claimed_member(catalogue: Catalogue, selection: Selection, facts: Facts) -> tuple[str, str] | None:
    """Return the identity in a group's ``members`` by which it claimed a request, and the text that gave it: as the
    request sent it, or as its row has it. None where no ``members`` claimed it.

    ``facts`` are those of `Inventory.facts`, with the row.
    """
    group = selection.group
    if group is None or selection.default is not None:
        return None
    for identity, sent in facts.identities.items():
        if any(claim.document is group for claim in catalogue.members.get(identity, ())):
            return identity, sent
    return None
