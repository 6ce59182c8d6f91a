"""Answers as people see them, without the secrets that placeholders filled in (docs/secrets.md#where-they-show).

`answerd.answers.masking` finds secrets that are written in documents, by their names and their form. Here they are
known: each is the value of a placeholder of a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from answerd.answers.catalogue import Catalogue
from answerd.answers.compose import prepared_answer
from answerd.answers.masking import SECRET
from answerd.answers.resolve import Answer, known_facts
from answerd.answers.sources import Sources, Values
from answerd.facts import Facts
from answerd.formats.family import Slot
from answerd.formats.meter import Lookup, Metered
from answerd.formats.template import Placeholder

SHORTEST_HIDDEN = 3
"""Characters of the shortest secret that is replaced in messages: a shorter secret is part of many words."""


def without_secrets(catalogue: Catalogue, answer: Answer, facts: Facts, sources: Sources) -> Answer:
    """Return an answer with ``(secret)`` in place of each secret; the same answer where it has none.

    ``answer`` is what `answerd.answers.resolve.resolve` made of the other arguments.
    """
    slots = _slots(answer)
    if not any(map(_placeholders, slots)):
        return answer
    lookup = _lookup(catalogue, answer, facts, sources)
    parts = prepared_answer(answer.selection.layers, may_be_blank=True).parts
    shown = [part.decode() if isinstance(part, bytes) else _shown(part, lookup) for part in parts]
    body = "".join(shown).encode()
    return Answer(body, answer.selection, answer.format, answer.side_file, answer.row, answer.refusal)


def hiding(catalogue: Catalogue, answer: Answer, facts: Facts, sources: Sources) -> Callable[[str], str]:
    """Return a function that removes the secrets of an answer from a message, whatever program wrote it."""
    lookup = _lookup(catalogue, answer, facts, sources)
    found: set[str] = set()
    for placeholder in (inner for slot in _slots(answer) for inner in _placeholders(slot)):
        texts = [*lookup.values(placeholder.label), *placeholder.values(lookup)]
        found.update(texts, (line.strip() for text in texts for line in text.splitlines()))
    secrets = sorted((text for text in found if len(text) >= SHORTEST_HIDDEN), key=len, reverse=True)

    def hide(message: str) -> str:
        for secret in secrets:
            message = message.replace(secret, SECRET)
        return message

    return hide


def _lookup(catalogue: Catalogue, answer: Answer, facts: Facts, sources: Sources) -> Metered:
    return Metered(Values(answer.selection, known_facts(catalogue, facts, sources), sources, catalogue))


def _slots(answer: Answer) -> tuple[Slot, ...]:
    """Return the slots of an answer; none where the service made the answer up for cloud-init."""
    return () if answer.side_file else prepared_answer(answer.selection.layers, may_be_blank=True).slots


def _placeholders(slot: Slot) -> list[Placeholder]:
    """Return the placeholders of secrets in a slot."""
    return [part for part in slot.template.parts if not isinstance(part, str) and part.is_secret]


def _shown(slot: Slot, lookup: Lookup) -> str:
    if not _placeholders(slot):
        return slot.fill(lookup)
    return slot.write("".join(_parts(slot.template.parts, lookup)))


def _parts(parts: Iterable[str | Placeholder], lookup: Lookup) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
        else:
            yield SECRET if part.is_secret else part.value(lookup)
