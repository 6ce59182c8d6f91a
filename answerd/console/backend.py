"""The parts of a running service that pages show and change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from answerd.answers.catalogue import Catalogue
from answerd.answers.sources import Sources
from answerd.console.background import Checked
from answerd.console.editing import Editing
from answerd.console.installs import CurrentStates, Installs
from answerd.server.request_feed import RequestFeed
from answerd.server.roles import Role
from answerd.store.nodes import Node
from answerd.store.secrets import SecretFiles


@dataclass(frozen=True, slots=True)
class Backend:
    """All functions that pages call. ``editing`` is None for a store that is read only, ``installs`` where there are no
    states, ``feed`` and ``captures`` where nothing is recorded. ``age``: for how long the set may have been out of
    date, in seconds. ``access``: name and role of each token, the name empty where it has none. ``nodes`` share the
    database."""

    catalogue: Callable[[], Catalogue]
    sources: Sources
    problems: Callable[[], Sequence[str]]
    check: Callable[[float], Checked]
    store: str
    version: str
    settings: Sequence[tuple[str, str, str]]
    warnings: Sequence[str] = ()
    editing: Editing | None = None
    installs: Installs | None = None
    feed: RequestFeed | None = None
    captures: Path | None = None
    age: Callable[[], float] = float
    access: Callable[[], Sequence[tuple[str, Role]]] = tuple
    secrets: SecretFiles = field(default_factory=lambda: SecretFiles(None))
    log: Callable[[str], None] = print
    nodes: Callable[[], Sequence[Node]] = tuple

    def states(self) -> CurrentStates | None:
        """Return the installs of this moment; None where there are none."""
        return self.installs.now() if self.installs is not None else None
