"""Claims that are valid and surely not meant: groups that claim one machine equally, two documents for one row,
overlays whose names decide or that are of another extension, loaders alone (docs/check.md#oversights)."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from answerd.answers.cases import RowCase
from answerd.answers.catalogue import Catalogue, GroupClaim
from answerd.answers.gates import is_loader
from answerd.answers.lint import Findings
from answerd.answers.select import rank
from answerd.documents import Document
from answerd.formats import ALIASES, ALL_EXTENSIONS
from answerd.formats.family import MergeError, Path
from answerd.formats.origins import MARKINGS
from answerd.inventory.row import Row
from answerd.short_texts import join_brief

_MOST_PATHS = 3
"""Values of two overlays that a sentence names."""


def report_equal_claims(catalogue: Catalogue, of_rows: Iterable[RowCase], found: Findings) -> None:
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
            f"{' and '.join(str(group.key) for group in tied)} claim {claimed} {join_brief(machines[:1])}: "
            f"its name decides for {tied[0].key.identifier}. Give one of them one more criterion, name the machines in "
            "its members, or make it an overlay"
        )
        found.problems.add(sentence)
        found.machines[sentence].update(machines)


_ASKED_TOGETHER = tuple(dict.fromkeys([*((extension,) for extension in ALL_EXTENSIONS), *ALIASES.values()]))
"""The formats that one URL asks for: each alone, where a machine has a document of it, and those of each word."""


def _equal(claims: Sequence[GroupClaim]) -> Iterator[tuple[Document, ...]]:
    """Yield for the formats that one URL asks for the groups that claim best, where there are several; the one that
    wins comes first. Each several once."""
    found: dict[frozenset[Document], None] = {}
    for extensions in _ASKED_TOGETHER:
        asked = [claim for claim in claims if claim.document.key.format in extensions]
        best = max(((bool(claim.members), len(claim.match)) for claim in asked), default=None)
        equal = [claim for claim in asked if (bool(claim.members), len(claim.match)) == best]
        # Two documents of one name and format are a problem already.
        if len({(claim.document.identity, claim.document.key.format) for claim in equal}) > 1:
            equal.sort(key=lambda claim: rank(claim.document.key, claim.match, extensions))
            tied = tuple(claim.document for claim in equal)
            if not any(known.issuperset(tied) for known in found):
                found[frozenset(tied)] = None
                yield tied


def _has_its_group(machines: Iterable[Document], tied: Sequence[Document]) -> bool:
    """Return whether a machine's document leaves no choice among some groups: it names its group, or it is of one of
    their formats, so that the others are not looked at."""
    formats = {document.key.format for document in tied}
    return any(
        machine.key.format in formats and (len(formats) > 1 or machine.control.extends is not None)
        for machine in machines
    )


def equal_machines(catalogue: Catalogue, of_rows: Iterable[RowCase]) -> Iterator[tuple[str, str]]:
    """Yield a sentence, and the row's name, for each row that machine documents of one format claim equally: one is
    named like its id, another like its MAC address. Those of one name are a problem already."""
    for of_row in of_rows:
        claims: dict[tuple[str, int], dict[str, Document]] = defaultdict(dict)
        for document in of_row.claims.machines if len(of_row.claims.machines) > 1 else ():
            if document.content.readable:
                claim = claims[document.key.format, len(document.control.match)]
                claim.setdefault(document.identity, document)
        most = {extension: max(match for one, match in claims if one == extension) for extension, _ in claims}
        for (extension, match), documents in claims.items():
            if match < most[extension] or len(documents) == 1 or catalogue.inventory is None:
                continue
            first, *others = sorted(documents.values(), key=lambda one: rank(one.key, one.control.match, (extension,)))
            yield (
                f"{catalogue.inventory.place(of_row.row)}: {' and '.join(str(one.key) for one in (first, *others))} "
                f"claim this row equally: its name decides for {first.key.identifier}, whichever of the row's "
                f"identities a request has, and {join_brief([one.key.identifier for one in others])} never answers. "
                "Remove it, or give one of them one more criterion",
                of_row.row.name,
            )


class EqualOverlays:
    """The overlays of one number that are laid over known machines and make another answer in another order."""

    def __init__(self) -> None:
        self._common_paths: dict[tuple[Document, Document], list[str]] = {}
        self._machines: dict[tuple[Document, Document], dict[str, None]] = defaultdict(dict)

    def record(self, overlays: Sequence[Document], machine: str) -> None:
        """Note the overlays of an answer, lowest first."""
        for lower, upper in combinations(overlays, 2):
            if lower.control.overlay == upper.control.overlay and self._both_set((lower, upper)):
                self._machines[lower, upper][machine] = None

    def _both_set(self, pair: tuple[Document, Document]) -> list[str]:
        common = self._common_paths.get(pair)
        if common is None:
            common = self._common_paths[pair] = _decided_by_order(*pair)
        return common

    def notes(self) -> Iterator[str]:
        """Yield a note for each two of them."""
        for (lower, upper), machines in self._machines.items():
            names = list(machines)
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            yield (
                f"{lower.key} and {upper.key}: both are overlay {lower.control.overlay} and set "
                f"{join_brief(self._common_paths[lower, upper], _MOST_PATHS)} for {join_brief(names[:1])}{more}: the "
                "names decide. Give one of them a higher number"
            )


_POSITION = re.compile(r"\[\d+\]\Z")


def _decided_by_order(lower: Document, upper: Document) -> list[str]:
    """Return the paths of what differs where the one is laid over the other and the other over the one; none of texts,
    whose lines are all served. What both append to one list is no such difference, nor is the order of XML's siblings
    that a name tells apart."""
    family = lower.family
    if family.name == "text":
        return []
    marking = MARKINGS[family.name]
    marked = {overlay: marking.mark(overlay.text, 0) for overlay in (lower, upper)}

    def laid(below: Document, above: Document) -> dict[Path, object]:
        tree = marked[below]
        if above.control.unset:
            tree = family.unset(tree, above.control.unset)
        leaves = marking.leaves(family.merge(tree, marked[above], above.control.append))
        return {leaf.path: (leaf.text, leaf.value) for leaf in leaves}

    try:
        first, second = laid(lower, upper), laid(upper, lower)
    except MergeError:
        return []  # they cannot be merged in any order, which is a problem of the answer
    both_append = set(lower.control.append) & set(upper.control.append)
    differing = [
        path
        for path in dict.fromkeys((*first, *second))
        if first.get(path) != second.get(path) and not any(path[: len(to)] == to for to in both_append)
    ]
    if differing and family.name == "xml" and _without_positions(first) == _without_positions(second):
        return []
    return list(dict.fromkeys(".".join(path) for path in differing if path))  # of an empty tree, the tree is the leaf


def _without_positions(leaves: Mapping[Path, object]) -> Counter[tuple[Path, object]]:
    return Counter((tuple(_POSITION.sub("", step) for step in path), value) for path, value in leaves.items())


def overlays_of_other_formats(of_rows: Iterable[RowCase]) -> Iterator[str]:
    """Yield a note for each overlay that holds for rows and is laid over no answer of theirs, because the answer has
    another extension for the same word of a URL: ``dept.yml`` and ``base.yaml``."""
    found: dict[Document, tuple[str, str]] = {}
    for of_row in of_rows:
        for overlay in of_row.claims.overlays:
            extension = overlay.key.format
            if overlay in found or extension in of_row.formats:
                continue
            beside = {other for asked in ALIASES.values() if extension in asked for other in asked}
            for other in of_row.formats:
                if other in beside:
                    found[overlay] = other, of_row.row.name
    for overlay, (other, name) in found.items():
        yield (
            f"{overlay.key}: holds for {name}, whose answer is {other}: an overlay is laid over answers of its own "
            f"extension. Name it {overlay.key.identifier}.{other}"
        )


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
