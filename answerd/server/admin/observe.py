"""What can be seen of the service over HTTP: the answer that a machine would get, the problems of the set, metrics,
events, nodes, probes, and the OpenAPI description (docs/admin-api.md#requests).

The description is ``openapi.yaml`` beside this file, served as JSON. ``tests/http/test_openapi.py`` compares it with
the program and with the tables that it repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from typing import Any
from urllib.parse import parse_qsl

import bottle
import gevent
import yaml
from gevent.lock import RLock

from answerd import __version__
from answerd.answers.answer_secrets import redacted_answer
from answerd.answers.catalogue import Catalogue
from answerd.answers.explain import explanation
from answerd.answers.last_words import last_contact, words_of
from answerd.answers.resolve import Answer, resolve
from answerd.answers.sources import Sources
from answerd.check import CheckReport, check
from answerd.errors import AnswerError, NotClaimed
from answerd.etags import set_etag
from answerd.facts import Facts, Request, facts_of
from answerd.formats import FORMATS
from answerd.identity import Kind
from answerd.installs.shown import timestamp
from answerd.server.admin import requests
from answerd.server.admin.requests import (
    JSON,
    MASKED,
    Route,
    error_response,
    json_bytes,
    json_response,
    note_outcome,
)
from answerd.server.answer_set import SetFollower
from answerd.server.event_streams import MOST_STREAMS, EventStreams
from answerd.server.exposition import CONTENT_TYPE
from answerd.server.http.responses import PLAIN_TEXT
from answerd.server.probes import HEALTH, READY, Probes, Readiness
from answerd.server.statuses import CONFLICT, NOT_FOUND, OK, SERVICE_UNAVAILABLE
from answerd.server.threads import in_thread, on_loop
from answerd.server.words_for_checks import WordsForChecks
from answerd.store.nodes import Node, differences_of
from answerd.store.states import States, words_known
from answerd.validators.tools import ToolRequest, Tools
from answerd.validators.verdict import Remarks

EVENT_STREAM = "text/event-stream"
RETRY_SECONDS = 5
"""Seconds after which a refused client may try again."""


class ObserveHandlers:
    def __init__(
        self,
        follower: SetFollower,
        sources: Sources,
        readiness: Readiness,
        exposition: Callable[[], bytes],
        events: EventStreams,
        nodes: Callable[[], Sequence[Node]],
        tallied: Callable[[str], bytes],
        states: States | None,
    ) -> None:
        """``sources`` fill placeholders that the facts of a request do not fill, and change no state. ``tallied`` gives
        the metrics of installs by group or by a column. ``states`` has what machines last said."""
        self.follower = follower
        self.sources = sources
        self._probes = Probes(readiness)
        self._exposition = exposition
        self._events = events
        self._nodes = nodes
        self._tallied = tallied
        self._description = _description_as_json()
        self._checking = RLock()
        self._words = partial(words_known, states)
        self._words_for_checks = WordsForChecks(states)
        self._checked: tuple[Hashable, CheckReport] | None = None

    def routes(self) -> Iterable[Route]:
        yield Route("GET", HEALTH, partial(self.probe, HEALTH))
        yield Route("GET", READY, partial(self.probe, READY))
        yield Route("GET", "/openapi.json", self.openapi)
        yield Route("GET", "/resolve", self.resolve)
        yield Route("GET", "/resolve/<name>", self.resolve)
        yield Route("GET", "/check", self.check)
        yield Route("GET", "/metrics", self.metrics)
        yield Route("GET", "/events", self.events)
        yield Route("GET", "/nodes", self.nodes)

    def resolve(self, name: str | None = None) -> bottle.HTTPResponse:
        """Return the answer that a machine of this identity, with what it last said, or a request with these facts
        would get."""
        identifier = None if name is None else requests.identifier(Kind.MACHINE, name)
        pieces = bottle.request.environ["QUERY_STRING"].split("&")
        query = "&".join(piece for piece in pieces if piece != "explain=1")  # no fact of a machine
        explains = "explain=1" in pieces
        facts = _facts_of_query(query) if query else facts_of([identifier] if identifier else [])
        catalogue = self.follower.current()
        masks = not requests.sees_secrets()
        contact = None
        if identifier and not query:
            contact = in_thread(last_contact, catalogue, facts, identifier, self._words)
            facts = facts_of([identifier], words_of(contact)) if contact is not None else facts
        told = {"X-Last-Words": timestamp(contact.at)} if contact is not None else {}

        def resolve_now() -> tuple[Answer, bytes]:
            answer = resolve(catalogue, facts, sources=self.sources)
            if not (explains or masks):
                return answer, answer.body
            shown = redacted_answer(catalogue, answer, facts, self.sources)
            if explains:
                return answer, json_bytes(explanation(answer, catalogue.inventory, shown))
            return answer, shown.encode("utf-8", "replace")

        try:
            answer, body = in_thread(resolve_now)
        except NotClaimed as error:
            overridden = (
                f'; the query string overrides the identifier "{identifier}" in the path' if query and name else ""
            )
            return error_response(NOT_FOUND, error.reason + overridden, headers=told)
        except AnswerError as error:
            return error_response(CONFLICT, error.reason, headers=told)
        note_outcome(answer.composition)
        content_type = JSON if explains else answer.format.content_type
        headers = {"Content-Type": content_type, "X-Answer-Source": answer.composition, **told}
        headers |= MASKED if masks else {}
        return bottle.HTTPResponse(body, OK, headers)

    def check(self) -> bottle.HTTPResponse:
        """Return every problem of the set, as ``answerd check`` finds them.

        Looked for once per state of the set, of the secrets, and of what machines said.
        """
        tag = set_etag(in_thread(self.follower.loader.store.version))  # before the look, which may see more
        with self._checking:
            catalogue = self.follower.current()
            about = catalogue, self.sources.version(), self._words_for_checks.version()
            if self._checked is None or self._checked[0] != about:
                tools = _ToolsOfTheLoop(**vars(Tools.find()), hub=gevent.get_hub())
                self._checked = about, in_thread(self._check, catalogue, tools)
            found = self._checked[1]
        note_outcome(f"{len(found.problems)} problems")
        told = {"last_words": found.told} if found.told else {}
        return json_response(OK, {"problems": found.problems, **told}, {"ETag": tag})

    def _check(self, catalogue: Catalogue, tools: Tools) -> CheckReport:
        with self._words_for_checks.taken() as words:
            found = check(catalogue, tools, sources=self.sources, words=words)
        return CheckReport(found.problems, (), told=found.told)  # what is kept

    def probe(self, path: str) -> bottle.HTTPResponse:
        status, body, outcome = self._probes.response(path)
        note_outcome(outcome)
        return bottle.HTTPResponse(body, status, {"Content-Type": PLAIN_TEXT})

    def openapi(self) -> bottle.HTTPResponse:
        note_outcome("description")
        return bottle.HTTPResponse(self._description, OK, {"Content-Type": JSON})

    def metrics(self) -> bottle.HTTPResponse:
        asked = requests.query("by")
        body = self._exposition() + (self._tallied(asked["by"]) if "by" in asked else b"")
        note_outcome("metrics")
        return bottle.HTTPResponse(body, OK, {"Content-Type": CONTENT_TYPE})

    def nodes(self) -> bottle.HTTPResponse:
        nodes = in_thread(self._nodes)
        note_outcome(f"{len(nodes)} nodes")
        return json_response(OK, {"nodes": [node.as_json() for node in nodes], "differences": differences_of(nodes)})

    def events(self) -> bottle.HTTPResponse:
        """Send events to the client until it goes away."""
        exchange = requests.exchange()
        caller = requests.caller()
        owner = (caller.name if caller is not None else None) or "admin"
        if not self._events.has_place_for(owner):
            reason = f"{MOST_STREAMS} clients listen to the events, which is the most, and your token has its share"
            return error_response(SERVICE_UNAVAILABLE, reason, headers={"Retry-After": RETRY_SECONDS})
        note_outcome("events")
        if exchange.request.method == "GET":
            last = bottle.request.environ.get("HTTP_LAST_EVENT_ID", "").strip()
            exchange.takeover = partial(
                self._events.begin, last_identifier=last, is_allowed=exchange.is_allowed, owner=owner
            )
        return bottle.HTTPResponse(b"", OK, {"Content-Type": EVENT_STREAM, "X-Accel-Buffering": "no"})


@dataclass(frozen=True)
class _ToolsOfTheLoop(Tools):
    """The installers' programs, started from the loop: a check runs in a thread, in which gevent starts none."""

    hub: Any = None

    def judge(self, request: ToolRequest, remarks: Remarks) -> None:
        on_loop(self.hub, super().judge, request, remarks)


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


@cache  # tests make hundreds of admin APIs in one process
def _description_as_json() -> bytes:
    return json_bytes(description())


def description() -> dict[str, Any]:
    """Return the whole document, with this program's version and formats. Takes some 20 ms."""
    text = resources.files(__package__).joinpath("openapi.yaml").read_text("utf-8")
    value: dict[str, Any] = yaml.load(text, yaml.CSafeLoader)
    types = {syntax.content_type.partition(";")[0] for syntax in FORMATS.values()}
    value["x-shared"].pop("texts").update((content_type, {"schema": {}}) for content_type in sorted(types))
    value["components"]["parameters"]["format"]["schema"]["enum"] = [*FORMATS]
    del value["x-shared"]
    value["info"]["version"] = __version__
    return value
