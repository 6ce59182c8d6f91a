"""What a machine last said of itself, for answers that are only tried: by ``check``, ``render NAME``, ``diff``, in dry
runs and in the console's previews.

Rules: docs/check.md#what-machines-last-said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Final, Protocol

import orjson

from answerd.answers.catalogue import Catalogue
from answerd.answers.secret_names import SECRET
from answerd.errors import AnswerError
from answerd.facts import Facts
from answerd.identity import identity_of
from answerd.installs.contacts import Contact, ContactIndex

Told = tuple[tuple[str, str], ...]
"""Labels and values, as `answerd.facts.Request.told` has them."""

NEVER_TOLD: Final = frozenset({"path", "file", "segment"})
"""Labels that say what was asked for, and nothing of the machine."""


class LastWords:
    """The last words of machines."""

    def __init__(self, contacts: Iterable[Contact] = ()) -> None:
        self._contacts = ContactIndex(contacts)

    def contact(self, name: str, identities: Iterable[str] = ()) -> Contact | None:
        """Return the last contact of the machine with a name and the identities of its row."""
        own = identity_of(name)
        return self._contacts.of_machine(own, {*map(identity_of, identities)} - {own})

    def and_of(self, contacts: Iterable[Contact]) -> LastWords:
        """Return these words and those of other contacts."""
        return LastWords([*self._contacts, *contacts])

    def told(self, name: str, identities: Iterable[str] = ()) -> Told:
        """Return what it last said; nothing where that is not known."""
        contact = self.contact(name, identities)
        return words_of(contact) if contact is not None else ()


class WordsKnown(Protocol):
    """Returns what machines last said: all, or those with one of some identities, which is faster."""

    def __call__(self, of: Set[str] | None = None) -> LastWords: ...


def last_contact(catalogue: Catalogue, facts: Facts, name: str, words: WordsKnown) -> Contact | None:
    """Return the last contact of a machine of which nothing but its name is given; ``facts`` have the name alone. None
    where none is known."""
    try:
        row = catalogue.facts(facts).row
    except AnswerError:  # it is said once the answer is to be made
        return None
    identities = row.identities() if row is not None else {}
    return words({identity_of(name), *identities}).contact(name, identities.values())


def words_of(contact: Contact) -> Told:
    """Return what a machine said at a contact, without values that were hidden when it was kept."""
    return words_in(orjson.loads(contact.labels or "{}"))


def words_in(labels: Mapping[str, Sequence[str]]) -> Told:
    """Return what the labels of a contact say of its machine."""
    return tuple(
        (label, value)
        for label, values in labels.items()
        if label not in NEVER_TOLD
        for value in values
        if SECRET not in value
    )


NO_WORDS: Final = LastWords()


def no_words(of: Set[str] | None = None) -> LastWords:  # noqa: ARG001 - of nobody
    """Return the words of no machine."""
    return NO_WORDS


_MOST_NAMED: Final = 5
"""Machines that a sentence names; of more, the first and the last."""


def tried_with_words(machines: Sequence[str]) -> str:
    """Return the sentence that says which machines were tried with what they last said."""
    if len(machines) == 1:
        who = f"{machines[0]} was"
    elif len(machines) <= _MOST_NAMED:
        who = f"{', '.join(machines)} were"
    else:
        who = f"{len(machines):,} machines, {machines[0]} … {machines[-1]}, were"
    return f"{who} tried with what was last said: answerd install NAME shows when, and what"
