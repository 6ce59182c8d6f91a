"""How the service and the console, a layer above, meet: what the one gives and the other makes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from wsgiref.types import WSGIApplication

from answerd.answers.sources import Sources
from answerd.config import Config
from answerd.server.answer_set import SetFollower
from answerd.server.bearer import FailureBlock
from answerd.server.document_writes import DocumentWrites
from answerd.server.http.server import PeerBodyLimit
from answerd.server.live_states import LiveStates
from answerd.server.request_feed import RequestFeed
from answerd.server.roles import AdminTokens
from answerd.store import Store
from answerd.store.secrets import SecretFiles


@dataclass(frozen=True, slots=True)
class ConsoleParts:
    """What the console is given of a running service. ``writes`` is None for a store of files.

    ``problems`` returns those of the set in force, ``faults`` the warnings of the log that are not over. ``config``
    returns the settings, which a signal may have changed.
    ``api`` is the admin API, and ``api_body_limit`` that of its bodies. ``installs`` is None where the service keeps no
    states; ``feed`` has the last requests of all workers.
    """

    config: Callable[[], Config]
    store: Store
    follower: SetFollower
    writes: DocumentWrites | None
    tokens: AdminTokens
    sources: Sources
    secrets: SecretFiles
    block: FailureBlock
    log: Callable[[str], None]
    problems: Callable[[], Sequence[str]]
    faults: Callable[[], Sequence[str]]
    api: WSGIApplication
    api_body_limit: PeerBodyLimit
    installs: LiveStates | None = None
    feed: RequestFeed | None = None


ConsoleFactory = Callable[[ConsoleParts], tuple[WSGIApplication, PeerBodyLimit]]
"""Makes the console's application and the limit of its requests' bodies; who starts the service passes it."""
