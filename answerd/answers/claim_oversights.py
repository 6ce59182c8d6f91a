"""Oversights in who claims whom: two groups that claim one machine equally, overlays of one number that set the same
value, machines that nothing but a default or a loader answers (docs/check.md#oversights).

The result of each is what docs/selection.md and docs/overlays.md say; but an alphabet decided it, or nothing did, and
nobody may have meant that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from answerd.answers.catalogue import Catalogue, GroupClaim
from answerd.answers.check_cases import RowCase
from answerd.answers.gates import is_loader
from answerd.answers.oversights import Oversights
from answerd.answers.ranking import join_shortened, rank
from answerd.documents import Document
from answerd.formats.family import Path
from answerd.formats.positions import MARKINGS
from answerd.inventory.rows import Row

_MOST_PATHS = 3
"""Values of two overlays that a sentence names."""


def report_equal_claims(catalogue: Catalogue, of_rows: Iterable[RowCase], found: Oversights) -> None:
    """Add a problem for each two groups that claim known machines equally: rows, members, machines with a document."""
    ties: dict[tuple[Document, ...], dict[str, None]] = defaultdict(dict)
    known: dict[tuple[Document, ...], list[tuple[Document, ...]]] = {}
    for of_row in of_rows:
        groups = of_row.claims.groups
        if groups not in known:
            known[groups] = list(_equal([catalogue.claims[group] for group in groups if group in catalogue.claims]))
        for tied in known[groups]:
            if not _has_its_group(of_row.claims.machines, tied):
                ties[tied][of_row.row.name] = None
    rows = catalogue.inventory.index if catalogue.inventory is not None else {}
    for identity, claims in catalogue.members.items():
        if len(claims) == 1 or isinstance(rows.get(identity), Row):
            continue
        # What is narrowed by a match may hold for other requests than the others: that is how one machine asks twice.
        for tied in _equal([claim for claim in claims if not claim.match]):
            if not _has_its_group(catalogue.machines.get(identity, ()), tied):
                ties[tied][tied[0].control.spelled(identity)] = None
    for tied, names in ties.items():
        machines = sorted(names)
        claimed = f"{len(machines)} machines equally, the first is" if len(machines) > 1 else "one machine equally:"
        sentence = (
            f"{' and '.join(str(group.key) for group in tied)} claim {claimed} {join_shortened(machines[:1])}: "
            f"its name decides for {tied[0].key.identifier}. Give one of them one more criterion, name the machines in "
            "its members, or make it an overlay"
        )
        found.problems.add(sentence)
        found.machines[sentence].update(machines)


def _equal(claims: Sequence[GroupClaim]) -> Iterator[tuple[Document, ...]]:
    """Yield for each format the groups that claim best, where there are several; the one that wins comes first."""
    by_format: dict[str, list[GroupClaim]] = defaultdict(list)
    for claim in claims:
        by_format[claim.document.key.format].append(claim)
    for extension, of_format in by_format.items():
        best = max((bool(claim.members), len(claim.match)) for claim in of_format)
        equal = [claim for claim in of_format if (bool(claim.members), len(claim.match)) == best]
        if len({claim.document.identity for claim in equal}) > 1:  # two documents of one name are a problem already
            equal.sort(key=lambda claim: rank(claim.document.key, claim.match, (extension,)))
            yield tuple(claim.document for claim in equal)


def _has_its_group(machines: Iterable[Document], tied: Sequence[Document]) -> bool:
    """Return whether a machine's document names its group, so that no other is looked at."""
    extension = tied[0].key.format
    return any(machine.key.format == extension and machine.control.extends is not None for machine in machines)


class EqualOverlays:
    """The overlays of one number that are laid over known machines and set the same value."""

    def __init__(self) -> None:
        self._values: dict[Document, dict[Path, object]] = {}
        self._shared: dict[tuple[Document, Document], list[str]] = {}
        self._machines: dict[tuple[Document, Document], dict[str, None]] = defaultdict(dict)

    def record(self, overlays: Sequence[Document], machine: str) -> None:
        """Note the overlays of an answer, lowest first."""
        for lower, upper in combinations(overlays, 2):
            if lower.control.overlay == upper.control.overlay and self._both_set((lower, upper)):
                self._machines[lower, upper][machine] = None

    def _both_set(self, pair: tuple[Document, Document]) -> list[str]:
        shared = self._shared.get(pair)
        if shared is None:
            lower, upper = (self._values_of(overlay) for overlay in pair)
            appended = pair[1].control.append
            shared = self._shared[pair] = [
                ".".join(path)
                for path, value in lower.items()
                if path in upper and upper[path] != value and not any(path[: len(to)] == to for to in appended)
            ]
        return shared

    def _values_of(self, overlay: Document) -> dict[Path, object]:
        values = self._values.get(overlay)
        if values is None:
            values = self._values[overlay] = _values_set(overlay)
        return values

    def notes(self) -> Iterator[str]:
        """Yield a note for each two of them."""
        for (lower, upper), machines in self._machines.items():
            names = list(machines)
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            yield (
                f"{lower.key} and {upper.key}: both are overlay {lower.control.overlay} and set "
                f"{join_shortened(self._shared[lower, upper], _MOST_PATHS)} for {join_shortened(names[:1])}{more}: the "
                "names decide. Give one of them a higher number"
            )


def _values_set(overlay: Document) -> dict[Path, object]:
    """Return the values of an overlay by their paths; none of a text, whose lines are all served."""
    family = overlay.family.name
    if family == "text":
        return {}
    marking = MARKINGS[family]
    return {leaf.path: (leaf.text, leaf.value) for leaf in marking.leaves(marking.mark(overlay.text, 0))}


def only_loader_claims(catalogue: Catalogue, of_rows: Iterable[RowCase]) -> Iterator[str]:
    """Yield a sentence for each row, and each member without one, that documents of loaders claim and nothing else,
    where the set has other documents: whatever the loader leads to is claimed by nothing."""
    if all(is_loader(document.key.format) for document in catalogue.documents.values()):
        return
    inventory = catalogue.inventory
    for of_row in of_rows:
        if inventory is not None and of_row.claimed and all(map(is_loader, of_row.claims.formats)):
            yield f"{inventory.place(of_row.row)}: nothing but a loader claims this row"
    rows = inventory.index if inventory is not None else {}
    for identity, claims in catalogue.members.items():
        documents = [*catalogue.machines.get(identity, ()), *(claim.document for claim in claims)]
        if identity not in rows and all(is_loader(document.key.format) for document in documents):
            group = claims[0].document
            yield f'{group.key} for member "{identity}": nothing but a loader claims this machine'
