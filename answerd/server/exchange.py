"""One request as an app sees it: the request, the client that waits for the response, and the words for the log.

An app finds it in its environ (`exchange_of`). Must not know WSGI's own keys, sockets or apps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from answerd.server.client import Client, Sink
from answerd.server.http_parser import HttpRequest
from answerd.server.roles import Role

KEY: Final = "answerd.exchange"
"""Its key in an environ, the only one that is not WSGI's."""


class Exchange:
    """A request and its surroundings. An app reads all of it, and writes what follows ``client``.

    ``request`` holds the request as it was sent: its headers include those that no ``HTTP_`` key can hold; its body is
    empty where the app's gate did not want it. ``peer`` is the address the request came from
    (docs/http.md#behind-a-proxy), without port. ``outcome``: the words for the log line, ``describe``
    makes them where the line is written, in place of ``outcome``; it must not keep the request. ``extension`` and
    ``kind``: the format of the answer and what answered, for the metrics (`answerd.server.metrics.OUTCOMES`).
    ``token_name``: the name of the token that it presented, where it has one, ``role`` what it may do
    (`answerd.server.roles.Role`), None without a token. ``is_session``: it presented no token, but comes with a session
    of the console.
    ``is_allowed``: whether the token or the session is valid now, for a response that goes on.
    ``takeover``: what an app sets that goes on sending after its response: it is called with the connection once the
    head is sent, whose body it is to send; the connection has no deadline from then on.
    """

    __slots__ = (
        "client", "describe", "extension", "is_allowed", "is_session", "kind", "outcome", "peer", "request", "role",
        "takeover", "token_name",
    )  # fmt: skip

    def __init__(self, request: HttpRequest, peer: str, client: Client) -> None:
        self.request = request
        self.peer = peer
        self.client = client
        self.outcome = ""
        self.describe: Callable[[], str] | None = None
        self.extension = ""
        self.kind = ""
        self.token_name: str | None = None
        self.role: Role | None = None
        self.is_session = False
        self.is_allowed: Callable[[], bool] = lambda: True
        self.takeover: Callable[[Sink], object] | None = None

    @property
    def words(self) -> str:
        """The words for the log line."""
        return self.outcome if self.describe is None else self.describe()


def exchange_of(environ: Mapping[str, Any]) -> Exchange:
    """Return the exchange in an environ, which an app answers."""
    exchange: Exchange = environ[KEY]
    return exchange
