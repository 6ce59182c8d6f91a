"""What a write would change, as a preview shows it: what happens to which machines, and what installers would say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from answerd.answers.catalogue import Catalogue
from answerd.answers.diff import Difference, compare
from answerd.answers.last_words import LastWords
from answerd.check.refusals import Refused
from answerd.console.rendering import counted
from answerd.server.admin.changes import DIFF_CHARACTERS

CHANGES_SHOWN = 20


class AffectedMachine(NamedTuple):
    """A machine whose answer in a format would change; the identifier is empty for the default."""

    identifier: str
    format: str

    def __str__(self) -> str:
        return f"{self.identifier or 'default'} ({self.format})"


@dataclass(frozen=True, slots=True)
class Effect:
    """Machines that a write affects in one way: ``words`` says how, for one of them and for several. ``is_loss``: they
    have no answer any more."""

    words: tuple[str, str]
    machines: Sequence[AffectedMachine]
    is_loss: bool = False

    @property
    def sentence(self) -> str:
        """``20 machines lose their answer``."""
        count = len({machine.identifier for machine in self.machines})
        return f"{count:,} {'machine' if count == 1 else 'machines'} {self.words[count != 1]}"


@dataclass(frozen=True, slots=True)
class PreviewedChange:
    """Answers that would change in the same way. ``lines`` are a unified diff with secrets masked."""

    machines: Sequence[AffectedMachine]
    lines: Sequence[str]
    is_loss: bool = False


@dataclass(frozen=True, slots=True)
class Consequences:
    """The consequences of a write. ``refused`` is why it would be refused, with the ``problems`` that it would
    cause; ``is_unjudged``: why they could not be found. ``name`` is the comparison in addresses. ``is_pending``: it
    goes on yet, and ``compared`` of ``total`` answers are compared. ``own`` is the difference of the document itself;
    ``notes`` are about answers that cannot be tried, and how the others were; ``verdict`` is that of the installers'
    rules on the answers that change."""

    name: str = ""
    is_pending: bool = False
    compared: int = 0
    total: int = 0
    effects: Sequence[Effect] = ()
    changes: Sequence[PreviewedChange] = ()
    notes: Sequence[str] = ()
    own: Sequence[str] = ()
    refused: str = ""
    problems: Sequence[str] = ()
    is_unjudged: bool = False
    verdict: Sequence[Refused] = ()

    @property
    def newly_refused(self) -> Sequence[Refused]:
        """What installers would refuse, and do not refuse now."""
        return [found for found in self.verdict if found.is_new]

    @property
    def still_refused(self) -> Sequence[Refused]:
        """What installers refuse already, of answers that change."""
        return [found for found in self.verdict if not found.is_new]


LOSE = ("loses its answer", "lose their answer")
OTHER = ("gets another answer", "get another answer")
FIRST = ("gets an answer, and has none now", "get an answer, and have none now")
LACKING = (
    "gets an answer that lacks a fact, and has none now",
    "get an answer that lacks a fact, and have none now",
)
NONE = ("has no answer, for another reason", "have no answer, for another reason")
EFFECTS = (LOSE, OTHER, LACKING, FIRST, NONE)
"""What happens to machines, the worst first."""


def _effect(difference: Difference) -> tuple[str, str]:
    had, has = (side is not None and side.text is not None for side in (difference.before, difference.after))
    if had:
        return OTHER if has else LOSE
    if difference.after is not None and difference.after.lacking:
        return LACKING
    return FIRST if has else NONE


def _spelled(name: str, before: Catalogue, after: Catalogue) -> str:
    """Return a name as the group spells it that has it as a member; a difference has it as an identity."""
    for claim in (*after.members.get(name, ()), *before.members.get(name, ())):
        return claim.document.control.spelled(name)
    return name


def compared(
    before: Catalogue,
    after: Catalogue,
    own: Callable[[], list[str]],
    progress: Callable[[int, int], None],
    words: LastWords,
) -> Consequences:
    """Return the consequences of a change of the set. ``own`` returns the difference of the document itself."""
    found = compare(before, after, progress, most=DIFF_CHARACTERS, words=words)

    def affected(difference: Difference) -> AffectedMachine:
        return AffectedMachine(_spelled(difference.identifier, before, after), difference.format)

    effects: dict[tuple[str, str], list[AffectedMachine]] = {}
    for difference in found.differences:
        effects.setdefault(_effect(difference), []).append(affected(difference))
    # Losses come first, then what changes the most answers.
    changes = sorted(found.changes(), key=lambda change: (_effect(change.first) is not LOSE, -len(change.differences)))
    return Consequences(
        compared=found.compared,
        effects=[Effect(words, effects[words], words is LOSE) for words in EFFECTS if words in effects],
        changes=[
            PreviewedChange([*map(affected, change.differences)], change.lines, _effect(change.first) is LOSE)
            for change in changes[:CHANGES_SHOWN]
        ],
        notes=found.notes,
        own=own(),
    )


def refused_sentence(found: Sequence[Refused]) -> str:
    """Return the sentence that says how many answers installers would refuse: those of the commonest cause at least."""
    most = max(one.answers for one in found)
    return (
        f"an installer would refuse {counted(most, 'answer')}"
        if len(found) == 1
        else (f"installers would refuse {counted(most, 'answer')} or more, for {len(found)} causes")
    )
