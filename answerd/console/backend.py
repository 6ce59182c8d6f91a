"""The backend of the pages: the functions of the service that they call, as values and small protocols."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from answerd.answers.catalogue import Catalogue
from answerd.answers.sources import Sources
from answerd.console.machines import InstallStates
from answerd.documents import Key
from answerd.identity import Kind
from answerd.server.roles import Role
from answerd.store.nodes import Node
from answerd.store.secrets import SecretFiles


@dataclass(frozen=True, slots=True)
class DocumentVersion:
    """A document as a store holds it. ``etag`` is empty where the store has none."""

    key: Key
    text: str
    etag: str


class Affected(NamedTuple):
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
    machines: Sequence[Affected]
    is_loss: bool = False

    @property
    def sentence(self) -> str:
        """``20 machines lose their answer``."""
        count = len({machine.identifier for machine in self.machines})
        return f"{count:,} {'machine' if count == 1 else 'machines'} {self.words[count != 1]}"


@dataclass(frozen=True, slots=True)
class PreviewedChange:
    """Answers that would change in the same way. ``lines`` are a unified diff with secrets masked."""

    machines: Sequence[Affected]
    lines: Sequence[str]
    is_loss: bool = False


@dataclass(frozen=True, slots=True)
class Consequences:
    """The consequences of a write. ``refused`` is why it would be refused, with the ``problems`` that it would
    cause. ``name`` is the comparison in addresses. ``is_pending``: it goes on yet, and ``compared`` of ``total``
    answers are compared. ``own`` is the difference of the document itself; ``notes`` are about answers that cannot be
    tried."""

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


@dataclass(frozen=True, slots=True)
class Checked:
    """The last check that came to its end, and the one that goes on. ``problems`` is None where none has ended yet;
    ``at`` is when it ended, in seconds since 1970. ``is_current``: nothing has changed since. ``done`` of ``total``
    answers are tried of the check that goes on; ``fault`` is why the last one failed."""

    problems: Sequence[str] | None
    at: float = 0.0
    is_current: bool = True
    is_running: bool = False
    done: int = 0
    total: int = 0
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Revision:
    """One accepted write of a document, newest first. ``when`` is in seconds since 1970."""

    revision: int
    when: float
    who: str
    what: str
    note: str
    lines: Sequence[str]
    restorable: bool


@dataclass(frozen=True, slots=True)
class WriteAuthor:
    """The author of a write: the name of the token, the address, and the note that is kept with the write."""

    who: str
    peer: str
    note: str = ""


class DocumentChange(NamedTuple):
    """One accepted write of any document. ``when`` is in seconds since 1970."""

    revision: int
    when: float
    who: str
    what: str
    note: str
    key: Key


class TextChange(NamedTuple):
    """A write with the text before it and after it; None where there was no document."""

    of: DocumentChange
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class RowEdit:
    """A change of one row of an inventory. ``identity`` is one of the row's, empty for a new row; ``was`` and
    ``columns`` are the `answerd.console.editing.row_digest` of the row and of the columns that its editor saw.
    ``cells``: one for each column; None: the row is removed."""

    identity: str
    was: str
    columns: str
    cells: Sequence[str] | None


class Editing(Protocol):
    """Documents that can be changed. Every method raises `NotSaved` with the reason when it did not happen."""

    def find(self, key: Key) -> DocumentVersion | None:
        """Return a document, by its exact identifier or its identity."""

    def preview(self, key: Key, text: str | None) -> Consequences:
        """Return the consequences of storing the text, of removing the document where it is None; or that they are
        being found."""

    def previewed(self, name: str) -> Consequences | None:
        """Return the same of a comparison that is pending; None where it is not known any more."""

    def save(self, key: Key, text: str, etag: str, by: WriteAuthor) -> Sequence[str]:
        """Store a text; return the problems of the set. An empty ``etag``: the document must not exist yet."""

    def preview_row(self, key: Key, edit: RowEdit) -> Consequences:
        """Return the consequences of changing a row, or that they are being found."""

    def edit_row(self, key: Key, edit: RowEdit, by: WriteAuthor) -> None:
        """Change, add or remove a row of an inventory."""

    def delete(self, key: Key, etag: str, by: WriteAuthor) -> Sequence[str]:
        """Remove a document; return the problems of the set."""

    def history(self, key: Key) -> Sequence[Revision]:
        """Return the accepted writes of a document."""

    def changes(self, before: int | None) -> Sequence[DocumentChange]:
        """Return the accepted writes of all documents, the latest first, from before a revision on."""

    def change(self, revision: int) -> TextChange | None:
        """Return a change with its texts; None where it is not kept."""

    def last_change(self, key: Key) -> DocumentChange | None:
        """Return the latest change of a document; None where none is kept."""


class NotSaved(Exception):
    """A write was not made. ``problems`` are those that it would have caused; ``is_conflict``: another write came
    first."""

    def __init__(self, reason: str, problems: Sequence[str] = (), *, is_conflict: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.problems = problems
        self.is_conflict = is_conflict


class InstallsBackend(Protocol):
    """States of installs, as the admin API has them."""

    def now(self) -> InstallStates:
        """Return the installs of this moment."""

    def unknown(self, name: str) -> Mapping[str, Any] | None:
        """Return a machine that asked and was claimed by nothing, as the admin API's JSON."""

    def record(self, name: str) -> Mapping[str, Any] | None:
        """Return one record as the admin API's JSON, its events the latest first; None where there is none."""

    def change(self, verb: str, names: Iterable[str], who: str, peer: str) -> None:
        """Arm, disarm or forget machines. Raises `NotSaved`."""


@dataclass(frozen=True, slots=True)
class RequestLine:
    """One answered request. ``at`` is in seconds since 1970; ``status`` is 0 where no response got through."""

    at: float
    peer: str
    request: str
    status: int
    outcome: str


class Feed(Protocol):
    """The last requests that all workers have answered."""

    def last(self, most: int) -> Sequence[RequestLine]:
        """Return the last requests, the latest first."""

    def rate(self) -> Sequence[int]:
        """Return how many requests were answered in each of the last seconds, oldest first."""


@dataclass(frozen=True, slots=True)
class Backend:
    """All functions that pages call. ``editing`` is None for a store that is read only, ``installs`` where there are no
    states, ``feed`` and ``captures`` where nothing is recorded. ``age``: for how long the set may have been out of
    date, in seconds. ``access``: name and role of each token, the name empty where it has none. ``nodes`` share the
    database."""

    catalogue: Callable[[], Catalogue]
    sources: Sources
    problems: Callable[[], Sequence[str]]
    check: Callable[[], Checked]
    store: str
    version: str
    settings: Sequence[tuple[str, str, str]]
    warnings: Sequence[str] = ()
    editing: Editing | None = None
    installs: InstallsBackend | None = None
    feed: Feed | None = None
    captures: Path | None = None
    age: Callable[[], float] = float
    access: Callable[[], Sequence[tuple[str, Role]]] = tuple
    secrets: SecretFiles = field(default_factory=lambda: SecretFiles(None))
    log: Callable[[str], None] = print
    nodes: Callable[[], Sequence[Node]] = tuple


KINDS = tuple(kind.value for kind in Kind)
"""The kinds of documents as pages name them."""
