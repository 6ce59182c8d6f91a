"""For a request without an answer: the document that would have answered if one thing were different.

Computed only when there is no answer, and by look-ups, so that a burst of requests that nothing claims costs little
more than requests that are answered. Does not change the selection (`answerd.answers.select`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from answerd.answers.catalogue import Catalogue
from answerd.answers.one_digit_off import nearly_known
from answerd.answers.secret_names import is_secret_name, redacted_cell
from answerd.documents import Document
from answerd.errors import AnswerError, CannotFill, NotClaimed
from answerd.facts import Facts
from answerd.formats import ALL_EXTENSIONS
from answerd.formats.patterns import Criterion
from answerd.identity import identity_of, is_mac, uuid_in_other_byte_order
from answerd.short_texts import brief, join_brief

if TYPE_CHECKING:
    from answerd.answers.select import SelectionRequest

MOST_IDENTITIES = 4
"""Identities that a sentence lists; a JSON body carries dozens."""

IDENTITIES_SEEN = "identities seen: "
"""What is before them, at the end of a reason."""

MOST_LOOKED_FOR = 1_000
"""Identities of a request that are looked for; a body of 1 MB may have 60,000, and the loop makes these sentences."""

MOST_LABELS = 500
"""Labels of a request that are compared with a missing label; an installer sends a few dozen."""

LONGEST_LABEL = 100
"""Characters of a label that is compared with others: the cost grows with the square of them."""

MOST_SEGMENTS, MOST_SLASHES = 16, 3
"""Segments of a path, and slashes between them, that are tried as one name."""

LONGEST_NAME = 120
"""Characters of the description of who asked."""

MOST_NEAR = 3
"""Known names that are told as nearly the same as a MAC address or serial number of a request."""

MOST_CHARACTERS = 320
"""Characters that are added to a reason: console lines and log lines are cut at 800."""


def unclaimed(catalogue: Catalogue, request: SelectionRequest, overlays: Sequence[Document] = ()) -> str:
    """Return why nothing claims a request: who asked, for which formats, and the nearest miss. One line, bounded.
    ``overlays`` are those that hold for it."""
    facts = request.facts
    parts = [f"no document claims {brief(facts.described, LONGEST_NAME)}, and {_why_no_default(request)}"]
    if overlays:
        names = join_brief([f"{overlay.key.identifier} ({overlay.key.format})" for overlay in overlays])
        parts.append(f"overlays hold, but are only laid over the answer of a group, a default or a machine: {names}")
    if not request.only_naming:
        near = nearest_miss(catalogue, request)
        parts += [near] if near else []
    secret = _secret_identities(facts)
    seen = sorted((one for one in _looked_for(facts) if one not in secret), key=lambda one: not is_mac(one))
    if len(seen) > 1 or any(sent not in facts.described for sent in facts.identities.values()):
        unlisted = max(0, len(facts.identities) - MOST_LOOKED_FOR)
        parts.append(f"{IDENTITIES_SEEN}{join_brief(seen, MOST_IDENTITIES, unlisted)}")
    return "; ".join(parts)


def _looked_for(facts: Facts) -> Iterator[str]:
    return islice(facts.identities, MOST_LOOKED_FOR)


def _secret_identities(facts: Facts) -> set[str]:
    """Return the identities that are values of labels named like a secret."""
    return {
        identity_of(value)
        for label, values in islice(facts.labels.items(), MOST_LABELS)
        if is_secret_name(label)
        for value in values
    }


def _why_no_default(request: SelectionRequest) -> str:
    facts = request.facts
    if facts.asks_for_xml_parts:
        asked = brief(facts.path.segments[-1])
        return f"{asked} of AutoYaST's rules or classes is answered only by a document whose match names file or path"
    if not facts.path.has_default:
        asked = brief(facts.path.segments[-1])
        return f"a default never answers {asked}, which a loader asks for before its default"
    if facts.asks_by_hex_address:
        return f"a default never answers {brief(facts.path.segments[-1])}, which AutoYaST tries before its MAC address"
    return f"there is no default in {' or '.join(request.extensions) if facts.path.word else 'any format'}"


def nearest_miss(catalogue: Catalogue, request: SelectionRequest) -> str | None:
    """Return the document that comes nearest to answering, and why it does not; None when nothing comes near.

    Machine documents come before members of groups, in the order in which the request has its identities; then a UUID
    in the other byte order, a serial number that the path cuts, and a default.
    """
    misses = [*_refused(catalogue, request)] or [*_in_other_byte_order(catalogue, request.facts)]
    misses = misses or [*_cut_at_slashes(catalogue, request)]
    if not (misses or request.without_default):
        misses = list(_defaults(catalogue, request))
    if not misses:
        return None
    more = f" ({len(misses) - 1} more like it)" if len(misses) > 1 else ""
    return brief(misses[0], MOST_CHARACTERS) + more


def with_hints(error: AnswerError, facts: Facts) -> str:
    """Return the reason of an error with hints for the operator: similar facts that the request has, and which machine
    asked. One line, bounded. The reason of `NotClaimed` has them already."""
    return with_asker(error, facts, with_similar_facts(error, facts))


def with_asker(error: AnswerError, facts: Facts, told: str) -> str:
    """Return ``told``, what `with_similar_facts` returned for an error, with which machine asked."""
    if isinstance(error, NotClaimed):
        return told
    parts = [told]
    who = facts.described
    if facts.request.path != "/" or facts.labels:
        formats = f" for {' or '.join(facts.extensions)}" if facts.path.word else ""
        parts.append(f"asked{formats} by {brief(who, LONGEST_NAME)}")
    return "; ".join(parts)


def with_similar_facts(error: AnswerError, facts: Facts) -> str:
    """Return the reason of an error with why the request lacks the fact that it names."""
    near = missing_fact(error.label, facts) if isinstance(error, CannotFill) and error.missing else None
    return f"{error.reason}; {near}" if near else error.reason


def missing_fact(label: str, facts: Facts) -> str | None:
    """Return why a request lacks a fact: its value is one of many machines; else the facts whose labels are similar."""
    if facts.said.hides(label):
        return f"many machines have the value of {label} that it sends, so it is no fact"
    labels = sorted(facts.labels)[:MOST_LABELS]
    comparable = [known for known in labels if len(known) <= LONGEST_LABEL] if len(label) <= LONGEST_LABEL else []
    near = difflib.get_close_matches(label, comparable, n=3, cutoff=0.7)
    ends = [known for known in labels if known.endswith(f".{label}") or label.endswith(f".{known}")]
    found = list(dict.fromkeys([*near, *ends]))
    return f"it has {join_brief(found)}" if found else None


def near_names(catalogue: Catalogue, facts: Facts) -> Iterator[str]:
    """Yield which known names are a MAC address or serial number of a request but for one letter: most are typing
    errors. For people who ask for reasons: it takes a thousand look-ups for each."""
    near = ((own, other, name) for own, other in nearly_known(catalogue, facts) for name in _known_as(catalogue, other))
    for own, other, name in islice(near, MOST_NEAR):
        yield f"{own} is none, but {other} is nearly the same: {name}"
    yield from islice(_in_other_byte_order(catalogue, facts), MOST_NEAR)


def _in_other_byte_order(catalogue: Catalogue, facts: Facts) -> Iterator[str]:
    """Yield what is named by a UUID of the request with the bytes of its first three fields in the other order."""
    for identity in _looked_for(facts):
        other = uuid_in_other_byte_order(identity)
        if other is not None:
            sent = brief(facts.identities[identity])
            for known in _known_as(catalogue, other):
                yield f"{known} has the UUID that the request sends with its bytes in another order: write it as {sent}"


def _known_as(catalogue: Catalogue, identity: str) -> Iterator[str]:
    """Yield the documents and rows that name an identity."""
    for document in sorted(catalogue.machines.get(identity, ()), key=_order):
        yield str(document.key)
    for claim in sorted(catalogue.members.get(identity, ()), key=lambda claim: _order(claim.document)):
        yield f"a member of {claim.document.key}"
    if catalogue.inventory is not None:
        yield from map(catalogue.inventory.place, catalogue.inventory.rows_of(identity))


def _refused(catalogue: Catalogue, request: SelectionRequest) -> Iterator[str]:
    """Yield the documents of machines, then the groups, that name the request, each with why it may not claim it."""
    facts = request.facts
    for identity in _looked_for(facts):
        for document in sorted(catalogue.machines.get(identity, ()), key=_order):
            if not document.is_named_like_an_alias and (why := _why_not(document, document.control.match, request)):
                yield f"{document.key} does not claim it: {why}"
    for identity in _looked_for(facts):
        for claim in sorted(catalogue.members.get(identity, ()), key=lambda claim: _order(claim.document)):
            if why := _why_not(claim.document, claim.match, request):
                yield f"{claim.document.key} has {brief(identity)} as a member, but does not claim it: {why}"


def _why_not(document: Document, match: Sequence[Criterion], request: SelectionRequest) -> str | None:
    """Return why a document that names a request may not claim it, with the criterion that fails; None where it may."""
    why, facts = request.refusal(document, match, request.extensions), request.facts
    failing = next((one for one in match if not one.holds(facts.forms(one.label))), None)
    if why is None or failing is None or document.key.format not in request.extensions:
        return why
    return f"{why} for {asks_for(failing)}, and {request_has(failing.label, facts)}"


def _cut_at_slashes(catalogue: Catalogue, request: SelectionRequest) -> Iterator[str]:
    """Yield what is named by segments of the path together: a serial number may hold a slash."""
    segments = request.facts.path.segments[:MOST_SEGMENTS]
    for first in range(len(segments)):
        for end in range(first + 2, min(len(segments), first + MOST_SLASHES + 1) + 1):
            whole = "/".join(segments[first:end])
            for known in _known_as(catalogue, identity_of(whole)):
                yield f'{known} is named like "{brief(whole)}" of the path: write / within a name as %2F'


def _order(document: Document) -> tuple[str, int]:
    """Return the sort key of a document: name, then format order, so that the order of files or rows does not
    matter."""
    return document.key.identifier, ALL_EXTENSIONS.index(document.key.format)


def _defaults(catalogue: Catalogue, request: SelectionRequest) -> Iterator[str]:
    there = [extension for extension in ALL_EXTENSIONS if extension in catalogue.defaults]
    if there and not set(there) & set(request.extensions):
        yield f"there is a default, but its format is not one of {', '.join(request.extensions)}: {', '.join(there)}"


# What a request has, and what a criterion asks for, in words. `Criterion.holds` alone decides whether it holds.


def asks_for(criterion: Criterion) -> str:
    """Return a criterion by its label: ``serial``. A pattern is a value of a document, which no sentence quotes."""
    return brief(criterion.label)


def request_has(label: str, facts: Facts) -> str:
    """Return the values that a request has for a label, as words: ``serial is "X1"``, or that there are none."""
    values = facts.values(label)
    if not values:
        return f"the request has no {brief(label)}"
    shown = [repr(brief(redacted_cell(label, value))) for value in values]
    return f"the request's {brief(label)} is {join_brief(shown)}"
