"""Filter the unknown machines: which of them are still claimed by nothing, or by a default only
(docs/install-once.md#history).

The facts that a machine sent are resolved again with the set in force, so a machine leaves the list as soon as it is
adopted, without asking again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

import orjson

from answerd.answers.catalogue import Catalogue
from answerd.answers.gates import is_loader
from answerd.answers.one_digit_off import may_be_mistyped
from answerd.answers.secret_names import redacted_cell
from answerd.answers.select import select, selection_request
from answerd.errors import AnswerError
from answerd.facts import LARGE, Facts, Request
from answerd.formats import ALL_EXTENSIONS
from answerd.identity import identity_of
from answerd.installs.shown import UnknownMachine
from answerd.installs.tokens import without_tokens
from answerd.inventory.row import IDENTITY_COLUMNS
from answerd.suggestion import one_edit_from

LONGEST_QUERY = 300
"""Characters of a query with all that a machine said: it is typed, or copied from a screen."""

_MOST_IDENTITIES = 4

_NOT_SENT_AS_VALUES = frozenset({"path", "file", "segment", "peer", "user_agent"})


def still_unclaimed(catalogue: Catalogue, machines: Iterable[UnknownMachine]) -> list[UnknownMachine]:
    """Return the machines that no document of a set claims and that have no row in an inventory. Those that a default
    answers are among them, and are marked."""
    found = []
    for machine in machines:
        answered = _is_claimed(catalogue, _facts(machine))
        if answered is not True:
            found.append(machine._replace(by_default=answered is None))
    return found


def unknown_named(catalogue: Catalogue, machines: Iterable[UnknownMachine], name: str) -> UnknownMachine | None:
    """Return the machine that nothing claims and that is listed by a name or said it as an identity; None where there
    is none."""
    wanted = identity_of(name)
    asked = (one for one in machines if wanted and wanted in _identities(one))
    return next(iter(still_unclaimed(catalogue, asked)), None)


def _identities(machine: UnknownMachine) -> set[str]:
    said: Mapping[str, Any] = orjson.loads(machine.facts or "{}")
    sent = [value for column in IDENTITY_COLUMNS for value in said.get(column, ())]
    return {*map(identity_of, (machine.machine, *sent))}


def unknown_near(
    catalogue: Catalogue, machines: Iterable[UnknownMachine], identities: Iterable[str]
) -> Iterator[tuple[str, UnknownMachine]]:
    """Yield the machines that nothing claims and that said one of some MAC addresses and serial numbers but for one
    letter or digit, each with the one that it nearly said."""
    by_identity = {identity_of(one): one for one in identities}
    edits = {edit: text for own, text in by_identity.items() if may_be_mistyped(own) for edit in one_edit_from(own)}
    near = [one for one in machines if not edits.keys().isdisjoint(_identities(one))] if edits else []
    for machine in still_unclaimed(catalogue, near):
        yield next(edits[one] for one in sorted(_identities(machine)) if one in edits), machine


def query_of(machine: UnknownMachine) -> str:
    """Return the query by which ``answerd render`` makes a machine's request again: all that it said, or where that is
    long, its path and what identifies it."""
    said: Mapping[str, Sequence[str]] = orjson.loads(machine.facts or "{}")
    return query_of_said(said, next(iter(said.get("path", ())), ""))


def query_of_said(said: Mapping[str, Sequence[str]], asked: str) -> str:
    """Return the query of a request that was kept as its labels, and its path."""
    path = [("path", asked)] if asked else []
    values = [(label, value) for label, kept in said.items() if label not in _NOT_SENT_AS_VALUES for value in kept]
    query = urlencode([*path, *values], safe=":/", errors="replace")
    if len(query) > LONGEST_QUERY:
        values = [(label, value) for label, value in values if label in IDENTITY_COLUMNS][:_MOST_IDENTITIES]
        query = urlencode([*path, *values], safe=":/", errors="replace")
    return query


def is_known(catalogue: Catalogue, facts: Facts) -> bool:
    """Return whether anything but a default and a loader claims a machine that a default answered: a row, a document or
    ``members`` of any format, or the ``match`` of a group that is for no loader. ``facts`` are those with the row."""
    if facts.row is not None:
        return True
    for names in (catalogue.machines, catalogue.members):
        if facts.identities_held_in(names.intersection):
            return True
    formats = tuple(extension for extension in ALL_EXTENSIONS if not is_loader(extension))
    return any(claim.document.key.format in formats for claim in catalogue.selectors.holding(facts))


def facts_as_json(facts: Facts) -> str:
    """Return what a machine said, to be kept, without values that are named like a secret; an empty object for a large
    body."""
    if len(facts.request.body) > LARGE:
        return "{}"
    labels = {
        label: [without_tokens(redacted_cell(label, value)) for value in values if value.isprintable()]
        for label, values in facts.labels.items()
    }
    try:
        return orjson.dumps(labels).decode()
    except (TypeError, ValueError):
        return "{}"


def _is_claimed(catalogue: Catalogue, asked: Facts) -> bool | None:
    """Return whether a machine is claimed; None where only a default answers it."""
    try:
        facts = catalogue.facts(asked)
        if facts.row is not None:
            return True
        selection = select(catalogue, selection_request(facts, facts.extensions))
    except AnswerError:  # a broken document is no answer: the machine still has none
        return False
    return True if selection.default is None or is_known(catalogue, facts) else None


def _facts(machine: UnknownMachine) -> Facts:
    """Return the facts that a machine sent. Of a large body only the machine's name was kept."""
    said: Mapping[str, Any] = orjson.loads(machine.facts or "{}")
    return facts_said(said, next(iter(said.get("path", ())), ""), (machine.machine,))


def facts_said(said: Mapping[str, Sequence[str]], path: str, names: Sequence[str]) -> Facts:
    """Return the facts of a request that was kept as its labels, for a path without its first slash. What is named
    like a secret was hidden when it was kept, and stays so."""
    values = [(label, value) for label, kept in said.items() if label not in _NOT_SENT_AS_VALUES for value in kept]
    peer = next(iter(said.get("peer", ())), "")
    return Facts(Request(f"/{quote(path)}", urlencode(values, errors="replace"), (), b"", peer, tuple(names)))
