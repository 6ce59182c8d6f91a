"""What can be asked of an answer set without a request: each machine, each member of a group, each default by its name.

``answerd check`` judges these answers, ``answerd diff`` compares them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from answerd.answers.catalogue import Catalogue
from answerd.documents import Document
from answerd.facts import Facts, facts_of


@dataclass(frozen=True, slots=True)
class CheckCase:
    """One answer to be tried: what to call it, the name it is asked by (empty for a default), and the document whose
    ``match`` counts as holding and whose format is asked for."""

    label: str
    identifier: str
    document: Document

    @property
    def facts(self) -> Facts:
        """What such a machine says: its name and nothing else."""
        return facts_of([self.identifier] if self.identifier else [])

    @property
    def extensions(self) -> tuple[str, ...]:
        """The format that may answer."""
        return (self.document.key.format,)


def check_cases(catalogue: Catalogue) -> Iterator[CheckCase]:
    """Every trial of a set. What cannot be read claims nothing that is known, and is a problem already."""
    for document in catalogue.documents.values():
        if not document.content.readable or document.is_named_like_an_alias:
            continue
        if not document.is_shared:
            yield CheckCase(str(document.key), document.key.identifier, document)
            continue
        for member in document.control.members:
            documents = catalogue.machines.get(member, ())
            if all(machine.key.format != document.key.format for machine in documents):
                yield CheckCase(f'{document.key} for member "{member}"', member, document)
