"""The admin API without a socket: requests go straight to the application, as the listener would hand them over."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Generic, TypeVar

from answerd.answers.last_words import WordsKnown, no_words
from answerd.server.admin.app import make_admin_app
from answerd.server.answer_set import SetFollower, WriteCounter
from answerd.server.bearer import FailureBlock
from answerd.server.document_writes import DocumentWrites
from answerd.server.http.parser import HeaderBlock, HttpRequest
from answerd.server.http.responses import Client, Exchange, environ_of
from answerd.server.roles import AdminTokens, NamedToken
from answerd.store import Store
from answerd.store.loader import Loader
from answerd.store.sqlite import SqliteStore
from tests.support.clients import PatientClient
from tests.support.replies import Reply

TOKEN = "a-token-for-tests-0123456789"


def directly(function: Callable[..., Any], *arguments: Any) -> Any:
    """In place of a thread: a test has no other requests to serve."""
    return function(*arguments)


class Clock:
    """A clock that changes only when it is set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


_Store = TypeVar("_Store", bound=Store)


class AdminOf(Generic[_Store]):
    """The admin application over a store, and everything that it is made of."""

    def __init__(
        self,
        store: _Store,
        named: Iterable[NamedToken] = (),
        *,
        in_threads: bool = False,
        words: WordsKnown = no_words,
    ) -> None:
        self.store = store
        self.generation = WriteCounter()
        if in_threads:
            self.follower = SetFollower(Loader(self.store), self.generation)
            self.writes = DocumentWrites(self.follower, words=words, log=self._say)
        else:
            self.follower = SetFollower(Loader(self.store), self.generation, run=directly)
            self.writes = DocumentWrites(
                self.follower, lambda _until, work, *arguments: work(*arguments), words, self._say
            )
        self.guard = self.writes.guard
        self.clock = Clock()
        self.block = FailureBlock(self.clock)
        self.log: list[str] = []
        self.named = tuple(named)
        self.app = make_admin_app(self.writes, AdminTokens([TOKEN], self.named), self.block, self.log.append)

    def _say(self, line: str) -> None:
        self.log.append(line)

    def ask(
        self,
        method: str,
        target: str,
        body: str | bytes = b"",
        *,
        token: str | None = TOKEN,
        peer: str = "192.0.2.1",
        client: Client = PatientClient(),  # noqa: B008 (it is immutable)
        too_large: bool = False,
        **headers: str,
    ) -> Reply:
        """One request. ``_`` in a header's name stands for ``-``."""
        path, _, query = target.partition("?")
        sent_headers = {name.lower().replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            sent_headers.setdefault("authorization", f"Bearer {token}")
        header = HeaderBlock(tuple(sent_headers.items()))
        sent_body = body.encode() if isinstance(body, str) else body
        exchange = Exchange(HttpRequest(method, target, path, query, 1, header, sent_body, too_large), peer, client)
        environ = environ_of(exchange, {}, 0)
        started: list[tuple[str, list[tuple[str, str]]]] = []
        answer = b"".join(self.app(environ, lambda status, headers, _=None: started.append((status, headers))))
        status, sent = started[0]
        return Reply(
            int(status[:3]),
            {name.lower(): value for name, value in sent},
            answer,
            outcome=exchange.outcome,
        )

    def get(self, target: str, **named: Any) -> Reply:
        return self.ask("GET", target, **named)

    def put(self, target: str, body: str | bytes, **named: Any) -> Reply:
        return self.ask("PUT", target, body, **named)

    def delete(self, target: str, **named: Any) -> Reply:
        return self.ask("DELETE", target, **named)


class Admin(AdminOf[SqliteStore]):
    """The same over a new database."""

    def __init__(
        self,
        path: Path,
        named: Iterable[NamedToken] = (),
        *,
        in_threads: bool = False,
        words: WordsKnown = no_words,
    ) -> None:
        super().__init__(SqliteStore(path), named, in_threads=in_threads, words=words)
