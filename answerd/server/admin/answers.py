"""Answers: the answer that a machine would get, and the problems of the whole set.

Rules: docs/admin-api.md#requests, docs/check.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

import bottle
import gevent
from gevent.lock import RLock

from answerd.answers.catalogue import Catalogue
from answerd.answers.explain import explanation_text
from answerd.answers.redaction import redacted_answer
from answerd.answers.resolve import Answer, resolve
from answerd.answers.sources import NO_SOURCES, Sources
from answerd.check import check
from answerd.errors import AnswerError, NotClaimed
from answerd.facts import Facts, Request, facts_of
from answerd.identity import Kind
from answerd.long_work import run_long
from answerd.server.admin import requests
from answerd.server.admin.requests import NotThere
from answerd.server.admin.responses import JSON, MASKED, json_response, note_outcome
from answerd.server.admin.routes import Route
from answerd.server.etags import set_etag
from answerd.server.statuses import OK
from answerd.server.threads import on_loop
from answerd.server.write_guard import WriteGuard
from answerd.validators.tools import ToolRequest, Tools
from answerd.validators.verdict import Remarks

EXPLAIN = "explain=1"


class CannotRender(Exception):
    """A document claims the request but its answer cannot be rendered."""


class AnswerHandlers:
    """Handlers of ``/resolve`` and ``/check``."""

    def __init__(self, guard: WriteGuard, sources: Sources = NO_SOURCES) -> None:
        """``sources`` fill placeholders that the facts of a request do not fill, and change no state."""
        self.guard = guard
        self.follower = guard.follower
        self.sources = sources
        self._checking = RLock()
        self._checked: tuple[Catalogue, int, list[str]] | None = None

    def routes(self) -> Iterable[Route]:
        """Return the requests that this group answers."""
        yield Route("GET", "/resolve", self.resolve)
        yield Route("GET", "/resolve/<name>", self.resolve)
        yield Route("GET", "/check", self.check)

    def resolve(self, name: str | None = None) -> bottle.HTTPResponse:
        """Return the answer that a machine of this identity, or a request with these facts, would get."""
        identifier = None if name is None else requests.identifier(Kind.MACHINE, name)
        query, explains = _without_explain(requests.environ()["QUERY_STRING"])
        facts = _facts_of_query(query) if query else facts_of([identifier] if identifier else [])
        catalogue = self.follower.current()

        masks = not requests.sees_secrets()

        def resolve_now() -> tuple[Answer, bytes]:
            answer = resolve(catalogue, facts, sources=self.sources)
            if not (explains or masks):
                return answer, answer.body
            shown = redacted_answer(catalogue, answer, facts, self.sources)
            if explains:
                shown = explanation_text(answer, catalogue.inventory, shown)
            return answer, shown.encode("utf-8", "replace")

        try:
            answer, body = run_long(resolve_now)
        except NotClaimed as error:
            overridden = (
                f'; the query string overrides the identifier "{identifier}" in the path' if query and name else ""
            )
            raise NotThere(error.reason + overridden) from None
        except AnswerError as error:
            raise CannotRender(error.reason) from None
        note_outcome(answer.composition)
        content_type = JSON if explains else answer.format.content_type
        headers = {"Content-Type": content_type, "X-Answer-Source": answer.composition, **(MASKED if masks else {})}
        return bottle.HTTPResponse(body, OK, headers)

    def check(self) -> bottle.HTTPResponse:
        """Return every problem of the set, as ``answerd check`` finds them.

        Looked for once per state of the set and of the secrets.
        """
        tag = set_etag(self.guard.run(self.guard.store.version))  # before the look, which may see more
        with self._checking:
            catalogue, version = self.follower.current(), self.sources.version()
            if self._checked is None or self._checked[0] is not catalogue or self._checked[1] != version:
                found = self.guard.run(partial(check, catalogue, _tools(), sources=self.sources))
                self._checked = catalogue, version, [*found.problems]
            problems = self._checked[2]
        note_outcome(f"{len(problems)} problems")
        return json_response(OK, {"problems": problems}, {"ETag": tag})


@dataclass(frozen=True)
class _ToolsOfTheLoop(Tools):
    """The installers' programs, started from the loop: a check runs in a thread, in which gevent starts none."""

    hub: Any = None

    def judge(self, request: ToolRequest, remarks: Remarks) -> None:
        on_loop(self.hub, super().judge, request, remarks)


def _tools() -> Tools:
    found = Tools.find()
    return _ToolsOfTheLoop(found.paths, found.search_path, found.timeout, found.isolation, hub=gevent.get_hub())


def _without_explain(query: str) -> tuple[str, bool]:
    """Return a query string without ``explain=1``, and whether it was there: it is no fact of a machine."""
    pieces = query.split("&")
    rest = [piece for piece in pieces if piece != EXPLAIN]
    return "&".join(rest), len(rest) < len(pieces)


def _facts_of_query(query: str) -> Facts:
    """Return the facts of a request with this query string, and with the path that its ``path=`` names."""
    path, rest = "/", []
    for piece in query.split("&"):
        [(label, value)] = parse_qsl(piece, keep_blank_values=True, encoding="latin-1") or [("", "")]
        if label.casefold() == "path":
            path = value
        elif piece:
            rest.append(piece)
    return Facts(Request(path=path, query="&".join(rest)))
