"""The labels that answers need and that nothing is known to send (docs/check.md#oversights)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable

from answerd.answers.catalogue import Catalogue
from answerd.answers.compose import Layers, prepared_answer
from answerd.answers.lint import Findings, columns_of, labels_of_set, labels_passed_on
from answerd.answers.sent_labels import SENT_LABELS, is_sent_by_itself
from answerd.documents import Document
from answerd.errors import AnswerError
from answerd.formats.family import Prepared
from answerd.formats.template import SECRETS, Placeholder
from answerd.short_texts import brief
from answerd.suggestion import differs_by_one

_PLACE = re.compile(r"(?<=\.)\d+(?=\.|\Z)")
"""A position in a list, as a label has it."""


class MissingLabels:
    """The labels that answers need and that no known client sends, with the machines that need them."""

    def __init__(self, catalogue: Catalogue) -> None:
        passed_on = {*labels_passed_on(catalogue)}
        self._known = {*SENT_LABELS, *labels_of_set(catalogue), *passed_on}
        in_matches = {one.label for document in catalogue.documents.values() for one in document.control.match}
        self._declared = {*passed_on, *(in_matches - columns_of(catalogue))}
        self._certain: set[str] = set()
        self._needed: dict[str, dict[str, Document]] = defaultdict(dict)  # label → machine → its lowest document
        self._own: dict[Document, frozenset[tuple[str, ...]]] = {}

    def record(self, layers: Layers, machine: str, has: Callable[[str], bool]) -> dict[str, bool]:
        """Record the labels that an answer needs. Return those that it lacks and that a request can have, each with
        whether one will: False where neither a client nor a script of the set is known to send what would do."""
        lacking: dict[str, bool] = {}
        for labels in _labels_in(layers):
            if any(map(has, labels)):
                continue
            is_sent = any(self._is_sent(label, layers[-1].key.format) for label in labels)
            for label in labels:
                if self._is_known(label):
                    lacking[label] = is_sent and lacking.get(label, True)
                else:
                    if not is_sent:
                        self._certain.add(label)
                    document = next((layer for layer in layers if labels in self._labels_of(layer)), layers[-1])
                    self._needed[label].setdefault(machine, document)
        return lacking

    def record_untried(self, layers: Layers) -> None:
        """Record the labels of a group that selects by ``match``: which machines it claims depends on requests."""
        self.record(layers, "", lambda _: False)

    def _is_known(self, label: str) -> bool:
        """Return whether a client is known to send a case-folded label."""
        return label in self._known or label.startswith(SECRETS) or _PLACE.sub("N", label) in self._known

    def _is_sent(self, label: str, extension: str) -> bool:
        """Return whether a machine that gets a format will send a label: its client does, or a ``match`` or a loader's
        script of the set says so. A ``match`` of a column says nothing of requests."""
        if label in self._declared or label.startswith(SECRETS):
            return True
        return is_sent_by_itself(_PLACE.sub("N", label), extension) or is_sent_by_itself(label, extension)

    def _labels_of(self, document: Document) -> frozenset[tuple[str, ...]]:
        labels = self._own.get(document)
        if labels is None:
            # Not by `prepared_answer`, which would keep an answer of this document alone in place of the answer it
            # serves.
            prepared = document.family.prepare(document.tree)
            if not document.is_group:
                document.forget_tree()
            labels = self._own[document] = frozenset(labels_needed(prepared))
        return labels

    def report(self, found: Findings, *, strict: bool = False) -> None:
        """Add the sentences about these labels to ``found``. ``strict``: one that a known machine surely lacks is a
        problem."""
        for label, machines in self._needed.items():
            written = _PLACE.sub("N", label)
            near = min((known for known in self._known if differs_by_one(written, known)), default=None)
            for document in dict.fromkeys(machines.values()):
                hit = {machine for machine, of in machines.items() if of is document and machine}
                sentence = f"{document.key}: nothing is known to send {brief(label)!r}"
                if near is not None:
                    sentence += f", so its placeholder cannot be filled; did you mean {near!r}?"
                    found.problems.add(sentence)
                else:
                    sentence += (
                        ': a machine that does not gets a 500. Give it a default("…") or a column of a table, or name '
                        f"it in a match; for braces of another language write {document.family.templates_off}"
                    )
                    (found.problems if strict and hit and label in self._certain else found.notes).add(sentence)
                found.machines[sentence] |= hit


def _labels_in(layers: Layers) -> Iterable[tuple[str, ...]]:
    """Return the labels of an answer's placeholders as `labels_needed` does; none where the answer cannot be made,
    which is reported elsewhere."""
    try:
        return labels_needed(prepared_answer(layers, may_be_blank=True))
    except AnswerError:
        return ()


def labels_needed(prepared: Prepared) -> Iterable[tuple[str, ...]]:
    """Return the labels of each placeholder without a default text, of which it needs one. No default fills a missing
    secret."""
    return dict.fromkeys(
        (placeholder.label,) if placeholder.is_secret else placeholder.labels
        for slot in prepared.slots
        for placeholder in slot.template.parts
        if isinstance(placeholder, Placeholder)
        and (placeholder.is_secret or not any(name == "default" for name, _ in placeholder.filters))
    )
