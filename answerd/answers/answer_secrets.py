"""The secrets of an answer, and of what a machine was given: answers and records of installs without them.

Which texts of a document are secrets is in `answerd.answers.redaction`. Rules: docs/explain.md#secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from answerd.answers.catalogue import Catalogue
from answerd.answers.compose import prepared_answer
from answerd.answers.redaction import redacted, secrets_of
from answerd.answers.resolve import Answer, completed_facts
from answerd.answers.secret_names import SECRET, is_secret_name
from answerd.answers.select import Selection, select, selection_request
from answerd.answers.sources import Sources, Values
from answerd.errors import AnswerError, CannotFill
from answerd.facts import Facts, facts_of
from answerd.formats import FORMATS
from answerd.formats.family import Slot
from answerd.formats.filters import Lookup
from answerd.formats.template import SECRETS


def redacted_answer(catalogue: Catalogue, answer: Answer, facts: Facts, sources: Sources) -> str:
    """Return the text of an answer without secrets, with the lines of the answer.

    ``answer`` is what `answerd.answers.resolve.resolve` made of the other arguments.
    """
    known = known_values(catalogue, answer, facts, sources)
    text = answer.body.decode("utf-8", "replace")
    if any(map(_may_hold_a_secret, _slots(answer))):
        lookup = Values(answer.selection, completed_facts(catalogue, facts, sources), sources, catalogue)
        parts = prepared_answer(answer.selection.layers, may_be_blank=True).parts
        text = "".join(
            part.decode() if isinstance(part, bytes) else part.hiding(lookup, _is_secret, _as_secret) for part in parts
        )
    return redacted(text, answer.format.extension, known)


def redacted_install(record: Mapping[str, Any], catalogue: Catalogue, sources: Sources) -> dict[str, Any]:
    """Return a record of an install as JSON (`answerd.installs.shown`), with or without its events, without the secrets
    in what the machine reported: those that a text shows by itself, and those of the documents that the machine is
    given by its names. ``sources`` change no state."""
    events = record.get("events", ())
    if not (record["message"] or any(event["detail"] or event["body"] for event in events)):
        return dict(record)
    known = _secrets_of_machine(record, catalogue, sources)

    def hide(text: str | None) -> str | None:
        return redacted(text, "", known) if text else text

    shown = {**record, "message": hide(record["message"])}
    if "events" in record:
        shown["events"] = [{**event, "detail": hide(event["detail"]), "body": hide(event["body"])} for event in events]
    return shown


_FORMAT_GIVEN = re.compile(r"\((\w+)\)\Z")
"""The format of a document that a record names: ``group "rhel" (ks)``."""


def _secrets_of_machine(record: Mapping[str, Any], catalogue: Catalogue, sources: Sources) -> set[str]:
    """Return the secrets of the documents that a machine was given, as far as its record tells, else of all that it
    would be given. They are read, not filled or rendered."""
    asked = facts_of([record["machine"], *record["identities"]])
    told = (record.get("last_step"), *(event["detail"] for event in record.get("events", ())))
    formats = {found[1] for name in told if name and (found := _FORMAT_GIVEN.search(name))} & FORMATS.keys()
    known: set[str] = set()
    for extension in sorted(formats or FORMATS):
        with suppress(AnswerError):
            facts = completed_facts(catalogue, asked, sources)
            selection = select(catalogue, selection_request(facts, (extension,)))
            slots = prepared_answer(selection.layers, may_be_blank=True).slots
            known |= _known_of(catalogue, selection, slots, facts, sources)
    return known


def named_values(slots: Iterable[Slot], lookup: Lookup) -> set[str]:
    """Return the values that secrets, and facts named like a secret, have in an answer, as they are and as filters make
    them."""
    found: set[str] = set()
    for slot in slots:
        if _may_hold_a_secret(slot):
            with suppress(CannotFill):
                found |= slot.hidden_values(lookup, _is_secret, _as_secret)
    return found


def known_values(catalogue: Catalogue, answer: Answer, facts: Facts, sources: Sources) -> set[str]:
    """Return the values that placeholders of secrets have in an answer, the secrets of its documents, and the values of
    facts that are named like one: a column of an inventory."""
    return _known_of(catalogue, answer.selection, _slots(answer), completed_facts(catalogue, facts, sources), sources)


def _known_of(
    catalogue: Catalogue, selection: Selection, slots: Iterable[Slot], facts: Facts, sources: Sources
) -> set[str]:
    found = named_values(slots, Values(selection, facts, sources, catalogue))
    for layer in selection.layers:
        found |= secrets_of(layer.text, layer.key.format)
    for label, values in facts.labels.items():
        if is_secret_name(label):
            found.update(values)
    return found


def _slots(answer: Answer) -> tuple[Slot, ...]:
    """Return the slots of an answer; none where the service made its text up."""
    if answer.side_file or answer.refusal:
        return ()
    return prepared_answer(answer.selection.layers, may_be_blank=True).slots


def _may_hold_a_secret(slot: Slot) -> bool:
    return slot.is_program or any(_is_secret(part.label) for part in slot.template.parts if not isinstance(part, str))


def _is_secret(label: str) -> bool:
    return label.startswith(SECRETS) or is_secret_name(label)


def _as_secret(value: str) -> str:
    return re.sub(r"[^\r\n]+", SECRET, value)  # as many lines as the value
