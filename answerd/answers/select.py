"""Select the documents that answer a request, step by step (``docs/selection.md``).

Raises instead of guessing: a claim by a broken document is never passed on to the next best claim.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from answerd.answers.catalogue import Catalogue, GroupClaim, refuse_broken
from answerd.answers.copy_on_write import CopyOnWriteMap
from answerd.answers.near_misses import unclaimed
from answerd.answers.selectors import holds
from answerd.documents import Document, Key
from answerd.errors import NotClaimed, UnreadableClaim
from answerd.facts import OF_XML, Facts
from answerd.formats import ASKED_BY_NAME
from answerd.formats.patterns import Criterion

_Filed = TypeVar("_Filed", Document, GroupClaim)


Rank = tuple[int, str, int]
"""The sort key of a claim; the smallest wins: minus the number of criteria, the name, the position in the format
order."""


def rank(key: Key, match: Sequence[Criterion], extensions: Sequence[str]) -> Rank:
    """Return the rank of a claim: more criteria win; ties by name, then by the order of ``extensions``."""
    return -len(match), key.identifier, extensions.index(key.format)


@dataclass(slots=True, eq=False)
class Selection:
    """The documents of one answer. ``layers`` are all of them, lowest first; ``overlays`` those that are laid over what
    ``group`` or ``default`` make, and below ``machine``."""

    layers: tuple[Document, ...]
    machine: Document | None = None
    group: Document | None = None
    default: Document | None = None
    overlays: tuple[Document, ...] = ()


Claim = tuple[Document, tuple[Criterion, ...]]
"""A document that may claim a request, and its ``match``."""


class Considered(NamedTuple):
    """A choice that `select` made: between which ``claims``, and the formats that were acceptable then.

    ``step``: ``machine``; ``extends``, where the machine's document names its group; ``members`` and ``match``, where
    groups are looked at; ``unreadable``; ``default``; ``overlays``, which all apply that may claim.
    """

    step: str
    claims: Sequence[Claim]
    extensions: Sequence[str]


@dataclass(slots=True, eq=False)
class SelectionRequest:
    """What `select` is asked: the facts of a request, and which documents may answer it.

    ``extensions`` are the formats that may answer, in the order that decides ties. The ``match`` of a document in
    ``assumed`` is taken to hold (``check`` renders machines that have not asked). With ``only_naming`` set, only
    documents whose ``match`` names one of these labels may claim; where ``narrowed`` is not empty, that is so for
    documents of these formats, which have no overlays and no default then. ``without_default``: a default never
    answers.
    ``past_unreadable``: groups that were never readable are taken to claim nothing. `select` adds the choices that it
    makes to ``trace``, where that is a list.
    """

    facts: Facts
    extensions: tuple[str, ...]
    assumed: Collection[Document] = ()
    only_naming: tuple[str, ...] = ()
    narrowed: frozenset[str] = frozenset()
    without_default: bool = False
    past_unreadable: bool = False
    trace: list[Considered] | None = None

    def holds_for(self, document: Document, match: Sequence[Criterion]) -> bool:
        """Return whether a document's ``match`` lets it claim the request."""
        if self.only_naming and not self.is_named_by(document, match):
            return False
        return not match or document in self.assumed or holds(match, self.facts)

    def refusal(self, document: Document, match: Sequence[Criterion], extensions: Sequence[str]) -> str | None:
        """Return why a document that names the request, or selects, may not claim it; None where it may."""
        if document.is_named_like_an_alias:
            return "its name is a URL segment that asks for a format, so it claims nothing"
        if document.key.format not in extensions:
            return f"its format is not one of {', '.join(extensions)}"
        if not self.is_named_by(document, match):
            return f"its match does not name {' or '.join(map(repr, self.only_naming))}"
        return None if self.holds_for(document, match) else "its match does not hold"

    def record(self, step: str, claims: Iterable[Claim], extensions: Sequence[str]) -> None:
        """Add a choice to the trace."""
        if self.trace is not None:
            self.trace.append(Considered(step, tuple(claims), extensions))

    def is_named_by(self, document: Document, match: Sequence[Criterion]) -> bool:
        """Return whether a document's ``match`` names a required label; True where none is required of its format."""
        if not self.only_naming or (self.narrowed and document.key.format not in self.narrowed):
            return True
        return any(criterion.label in self.only_naming for criterion in match)

    def may_have_default(self, extension: str) -> bool:
        """Return whether a default of a format may answer."""
        if self.without_default or extension in self.narrowed:
            return False
        return len(self.extensions) == 1 or extension not in ASKED_BY_NAME


def selection_request(
    facts: Facts, extensions: tuple[str, ...], assumed: Collection[Document] = ()
) -> SelectionRequest:
    """Return what to select for a request. Some file names are requested before, or beside, the machine's own answer,
    so fewer documents may claim them: NoCloud's side files, and what AutoYaST tries in a directory."""
    if facts.path.may_be_narrowed:
        if facts.side_file is not None:
            return SelectionRequest(facts, extensions, assumed, only_naming=("file",), without_default=True)
        if facts.asks_for_xml_parts:
            return SelectionRequest(facts, extensions, assumed, only_naming=("file", "path"), narrowed=OF_XML)
        without_default = facts.asks_by_hex_address or not facts.path.has_default
        return SelectionRequest(facts, extensions, assumed, without_default=without_default)
    return SelectionRequest(facts, extensions, assumed)


def select(catalogue: Catalogue, request: SelectionRequest) -> Selection:
    """Return the documents that answer. Raises `NotClaimed` or `BrokenDocument`, with the reason for the console."""
    machine = _best_machine(catalogue, request)
    if machine:
        return _with_its_group(catalogue, request, machine)
    claim, by_members = _best_group(catalogue, request, request.extensions)
    if catalogue.unreadable and not by_members:
        _refuse_unreadable_groups(catalogue, request, request.extensions)
    if claim:
        chain = _checked_chain(catalogue, claim.document)
        return _laid_over(catalogue, request, chain, group=claim.document)
    return _default(catalogue, request)


def _laid_over(
    catalogue: Catalogue,
    request: SelectionRequest,
    below: tuple[Document, ...],
    machine: Document | None = None,
    group: Document | None = None,
    default: Document | None = None,
) -> Selection:
    """Return the selection of ``below``, the overlays that apply to it, and the machine's document."""
    overlays: tuple[Document, ...] = ()
    if catalogue.has_overlays or catalogue.unreadable or request.trace is not None:
        extension = (machine or below[-1]).key.format
        if catalogue.unreadable:
            _refuse_unreadable_groups(catalogue, request, (extension,), only_overlays=True)
        overlays = sound_overlays(catalogue, request, extension)
        below += overlays
    return Selection(below if machine is None else (*below, machine), machine, group, default, overlays)


def sound_overlays(catalogue: Catalogue, request: SelectionRequest, extension: str) -> tuple[Document, ...]:
    """Return the overlays that apply to an answer of one format, lowest first. Raises `BrokenDocument` where one of
    them is broken: an answer without it would be wrong."""
    overlays = tuple(claim.document for claim in overlays_holding(catalogue, request, (extension,)))
    for overlay in overlays:
        catalogue.check_unique(overlay)
        refuse_broken(overlay)
    return overlays


def overlays_holding(catalogue: Catalogue, request: SelectionRequest, extensions: Collection[str]) -> list[GroupClaim]:
    """Return the overlays that apply to answers of some formats, lowest first: by number, then by name."""
    if request.trace is not None:
        overlays = sorted((claim for claim in catalogue.claims.values() if claim.overlay is not None), key=_height)
        request.record("overlays", map(_claim_of, overlays), tuple(extensions))
    if not catalogue.has_overlays or (request.narrowed and request.narrowed.issuperset(extensions)):
        return []
    members = catalogue.overlay_members
    found: dict[GroupClaim, None] = {}
    if not members.is_empty:
        for identity in request.facts.identities_in(members.intersection):
            for claim in members[identity]:
                if claim.document.key.format in extensions and request.holds_for(claim.document, claim.match):
                    found[claim] = None
    for claim in catalogue.overlay_selectors.holding(request.facts):
        if claim.document.key.format in extensions and request.is_named_by(claim.document, claim.match):
            found[claim] = None
    return sorted(found, key=_height) if len(found) > 1 else list(found)


def _height(overlay: GroupClaim) -> tuple[int, Key]:
    return overlay.overlay or 0, overlay.document.key


def _best_machine(catalogue: Catalogue, request: SelectionRequest) -> Document | None:
    """Return the machine document that claims the request with most criteria; ties by identifier, then format order."""
    if request.trace is not None:
        named = _named_in(catalogue.machines, request)
        request.record("machine", ((document, document.control.match) for document in named), request.extensions)
    claims = claims_by_identity(catalogue, request)
    if len(claims) > 1:
        claims.sort(key=lambda claim: rank(claim.key, claim.control.match, request.extensions))
    for document in claims:
        if not document.content.readable:
            refuse_broken(document)
    for document in claims:
        if request.holds_for(document, document.control.match):
            refuse_broken(document)
            return document
    return None


def claims_by_identity(catalogue: Catalogue, request: SelectionRequest) -> list[Document]:
    """Return the machine documents whose identity is exactly one of the request's.

    A look-up for each identity of the request, so the cost does not depend on how many machines there are. Equality,
    never a substring: ``node1`` must not answer for ``node12``. Raises `BrokenDocument` when two have one identity.
    """
    machines = catalogue.machines
    claims: list[Document] = []
    if machines.is_empty:
        return claims
    for identity in request.facts.identities_in(machines.intersection):
        acceptable = [
            document
            for document in machines[identity]
            if document.key.format in request.extensions and not document.is_named_like_an_alias
        ]
        if len(acceptable) > 1:
            catalogue.refuse_duplicates(acceptable)
        claims += acceptable
    return claims


def _with_its_group(catalogue: Catalogue, request: SelectionRequest, machine: Document) -> Selection:
    """Select a machine's document over the group that it names, else over the best group of its format that claims
    it."""
    if request.trace is not None and machine.control.extends is not None:
        request.record("extends", [(machine, ())], (machine.key.format,))
    group = catalogue.extended_by(machine)
    if group:
        return _laid_over(catalogue, request, catalogue.chain(group), machine, group)
    extensions = (machine.key.format,)
    claim, by_members = _best_group(catalogue, request, extensions)
    if catalogue.unreadable and not by_members:
        _refuse_unreadable_groups(catalogue, request, extensions)
    if claim is None:
        return _laid_over(catalogue, request, (), machine)
    return _laid_over(catalogue, request, _checked_chain(catalogue, claim.document), machine, claim.document)


def _best_group(
    catalogue: Catalogue, request: SelectionRequest, extensions: tuple[str, ...]
) -> tuple[GroupClaim | None, bool]:
    """Return the best claim by a group, and whether it is through ``members``, which wins over any claim by ``match``
    alone."""
    members = catalogue.members
    if request.trace is not None:
        request.record("members", map(_claim_of, _named_in(members, request)), extensions)
    if not members.is_empty:
        named = (
            claim
            for identity in request.facts.identities_in(members.intersection)
            for claim in members[identity]
            if claim.document.key.format in extensions and request.holds_for(claim.document, claim.match)
        )
        best = _best(named, extensions)
        if best:
            return best, True
    if request.trace is not None:
        selecting = (claim for claim, _ in catalogue.selectors.items() if claim.document.key.format in extensions)
        request.record("match", map(_claim_of, selecting), extensions)
    matching = [
        claim
        for claim in catalogue.selectors.holding(request.facts)
        if claim.document.key.format in extensions and request.is_named_by(claim.document, claim.match)
    ]
    if len(matching) > 1:
        return _best(matching, extensions), False
    return (matching[0] if matching else None), False


def _named_in(index: CopyOnWriteMap[str, tuple[_Filed, ...]], request: SelectionRequest) -> Iterator[_Filed]:
    return (filed for identity in request.facts.identities for filed in index.get(identity, ()))


def _claim_of(claim: GroupClaim) -> Claim:
    return claim.document, claim.match


def _best(claims: Iterable[GroupClaim], extensions: tuple[str, ...]) -> GroupClaim | None:
    """Return the best claim: more criteria win; ties by name, then format order."""
    return min(claims, key=lambda claim: rank(claim.document.key, claim.match, extensions), default=None)


def _checked_chain(catalogue: Catalogue, group: Document) -> tuple[Document, ...]:
    catalogue.check_unique(group)
    return catalogue.chain(group)


def _refuse_unreadable_groups(
    catalogue: Catalogue, request: SelectionRequest, extensions: Collection[str], *, only_overlays: bool = False
) -> None:
    """Raise `UnreadableClaim` where a group was never readable: it might claim this request, and the answer without it
    may be wrong. Where it may be an overlay (`answerd.documents.read_content`), that is so for every answer of its
    format."""
    doubtful = [
        group
        for group in catalogue.unreadable
        if group.key.format in extensions and (group.control.overlay is not None or not only_overlays)
    ]
    if request.trace is not None:
        request.record("unreadable", ((group, ()) for group in doubtful), tuple(extensions))
    for group in () if request.past_unreadable else doubtful:
        raise UnreadableClaim(f"{group.key} might claim this request but cannot be read: {group.problems[0]}")


def _default(catalogue: Catalogue, request: SelectionRequest) -> Selection:
    """Return the default document of the first acceptable format that has one. Raises `NotClaimed` when none has."""
    if request.trace is not None:
        found = (one for extension in request.extensions for one in catalogue.defaults.get(extension, ()))
        request.record("default", ((default, ()) for default in found), request.extensions)
    for extension in request.extensions:
        defaults = catalogue.defaults.get(extension)
        if defaults and request.may_have_default(extension):
            catalogue.refuse_duplicates(defaults)
            default = defaults[0]
            refuse_broken(default)
            extended = catalogue.extended_by(default)
            below = catalogue.chain(extended) if extended else ()
            return _laid_over(catalogue, request, (*below, default), group=extended, default=default)
    overlays = [claim.document for claim in overlays_holding(catalogue, request, request.extensions)]
    raise NotClaimed(unclaimed(catalogue, request, overlays))


def claimed_member(catalogue: Catalogue, selection: Selection, facts: Facts) -> tuple[str, str] | None:
    """Return the identity in a group's ``members`` by which it claimed a request, and the text that gave it: as the
    request sent it, or as its row has it. None where no ``members`` claimed it.

    ``facts`` are those of `Inventory.facts`, with the row.
    """
    group = selection.group
    if group is None or selection.default is not None:
        return None
    for identity in facts.identities_in(catalogue.members.intersection):  # as the selection has asked
        if any(claim.document is group for claim in catalogue.members[identity]) and identity in facts.identities:
            return identity, facts.identities[identity]
    return None
