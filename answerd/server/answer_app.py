"""The answer endpoint: a request becomes facts, facts an answer, the answer a response (docs/http.md).

The listener has parsed the request, read its body and refused what is malformed; nothing here parses a document or
touches a file.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Final

import bottle
from gevent.lock import BoundedSemaphore

from answerd.answers.catalogue import Catalogue
from answerd.answers.compose import once_of
from answerd.answers.gates import Gates
from answerd.answers.near_misses import with_asker, with_similar_facts
from answerd.answers.resolve import Answer, composition_of, resolve
from answerd.answers.select import claimed_member, select, selection_request
from answerd.answers.sources import NO_SOURCES, Sources
from answerd.answers.unclaimed import is_known
from answerd.errors import AnswerError, GateClosed, NotClaimed, NothingLoaded
from answerd.facts import LARGE, STATE, Facts, Request
from answerd.formats.family import Once
from answerd.installs.contacts import OPENED_BY_ARM, Held
from answerd.installs.hardware import NOBODY, Names
from answerd.installs.reports import joined
from answerd.installs.tokens import without_tokens
from answerd.long_work import run_long
from answerd.server.access import METHODS, Access
from answerd.server.answer_statuses import OF_ERRORS
from answerd.server.bottle_locals import use_context_variables
from answerd.server.capture import Recorder
from answerd.server.http.bodies import Ends
from answerd.server.http.parser import HttpRequest
from answerd.server.http.responses import PLAIN_TEXT, Exchange, exchange_of, reason_line
from answerd.server.http.server import PeerBodyLimit
from answerd.server.live_states import LiveStates
from answerd.server.metrics import PROBE, REPORT
from answerd.server.probes import PROBES, Probes, Readiness, is_probe
from answerd.server.report_app import BODY_OF_REPORT, is_report, refusal_of_report, take_report, token_in
from answerd.server.shown_targets import without_token
from answerd.server.statuses import (
    CONTENT_TOO_LARGE,
    FIRST_PROBLEM,
    FORBIDDEN,
    METHOD_NOT_ALLOWED,
    OK,
    SERVICE_UNAVAILABLE,
)
from answerd.server.threads import TooLate, waiting_client

LARGEST_BODY: Final = 1_048_576
"""Bytes that the body of a request may have (docs/http.md#limits)."""

_LONGEST_SHOWN: Final = 100
"""Characters of a value in a log line."""

_RUNS_ERRORS: Final = "GRUB "
"""What the user agent of a client begins with that runs the text of an error as commands: it gets a comment."""

_OTHER_METHOD: Final = f"only {', '.join(METHODS)} are answered here"

EVERY_PATH: Final = "<:re:(?s:.*)>"
REPORTS: Final = "<:re:(?is:/+report(?:/.*)?)>"
"""Rules of Bottle's router. A path may hold a line feed, and need not begin with a slash."""

_large_bodies: Final = BoundedSemaphore(1)
"""Held while a large body is read and answered: 1 MB of JSON can take 50 MB meanwhile. The others wait, at most until
shortly before their deadline."""


def make_answer_app(
    catalogue: Callable[[], Catalogue],
    access: Access,
    readiness: Readiness = lambda: "",
    recorder: Recorder | None = None,
    *,
    sources: Sources = NO_SOURCES,
    installs: LiveStates | None = None,
) -> bottle.Bottle:
    """Return the application.

    ``catalogue`` returns the answer set in force. ``access`` guards all but ``/health``, ``/ready`` and reports.
    ``recorder``, when set, captures each other request and each report, with its outcome. ``sources`` fill placeholders
    that no request fills. ``installs`` are the states of installs, None where the service keeps none.
    """
    if installs is not None:
        sources = replace(sources, gates=Gates(installs))
        installs.catalogue = catalogue
    probes = Probes(readiness)
    use_context_variables()
    app = bottle.Bottle()
    app.catchall = False  # the listener answers unexpected exceptions, and logs them in one line
    app.uninstall(bottle.JSONPlugin)

    def answer() -> bytes:
        exchange = exchange_of(bottle.request.environ)
        fault = access.fault(exchange.request, exchange.peer)
        return _answer(exchange, catalogue, sources, installs) if fault is None else _refusal(exchange, fault)

    def report() -> bytes:
        exchange = exchange_of(bottle.request.environ)
        if installs is None or not is_report(exchange.request.path):  # such as /report%2Fx
            return answer()
        return _report(exchange, installs)

    def health_or_ready() -> bytes:
        exchange = exchange_of(bottle.request.environ)
        if not is_probe(exchange.request):  # Bottle takes "get" for GET
            return answer()
        return _probe(exchange, probes)

    def record() -> None:
        exchange = exchange_of(bottle.request.environ)
        if recorder is not None and exchange.kind != PROBE:
            _record(exchange, recorder)

    for path in PROBES:
        app.get(path, callback=health_or_ready)
    if installs is not None:
        app.route(REPORTS, "ANY", report)
    app.route(EVERY_PATH, "ANY", answer)
    if recorder is not None:
        app.add_hook("after_request", record)
    return app


def make_body_limit(access: Access, *, has_states: bool = False) -> PeerBodyLimit:
    """Return the limit of the bodies of requests: one is not worth reading where `make_answer_app` refuses the request
    by its header, and of ``/health`` and ``/ready``. ``has_states``: reports are taken, which need no token."""

    def body_limit(request: HttpRequest, peer: str) -> int | Ends:
        if has_states and is_report(request.path):
            return BODY_OF_REPORT if refusal_of_report(request) is None else 0
        return 0 if is_probe(request) or access.fault(request, peer) is not None else LARGEST_BODY

    return body_limit


def _probe(exchange: Exchange, probes: Probes) -> bytes:
    status, body, exchange.outcome = probes.response(exchange.request.path)
    exchange.kind = PROBE
    if status != OK:  # Bottle's own
        bottle.response.status = status
    bottle.response.set_header("Content-Type", PLAIN_TEXT)
    return body


def _refusal(exchange: Exchange, fault: int) -> bytes:
    """Return the refusal of a request by its header."""
    if fault == METHOD_NOT_ALLOWED:
        bottle.response.set_header("Allow", ", ".join(METHODS))
        return _refuse(exchange, fault, _OTHER_METHOD)
    if fault == FORBIDDEN:
        return _refuse(exchange, fault, f"the address {exchange.peer} may not ask here: SERVICE_ALLOW does not name it")
    bottle.response.set_header("WWW-Authenticate", "Bearer")
    return _refuse(exchange, fault, "this endpoint needs its bearer token")


def _report(exchange: Exchange, installs: LiveStates) -> bytes:
    refused = refusal_of_report(exchange.request)
    if refused is not None:
        bottle.response.set_header("Allow", ", ".join(METHODS))
        return _refuse(exchange, refused, _OTHER_METHOD)
    reply = take_report(exchange.request, exchange.peer, installs)
    exchange.outcome = reply.outcome
    if reply.status >= FIRST_PROBLEM:
        return _refuse(exchange, reply.status, reply.outcome)
    exchange.extension, exchange.kind = reply.word, REPORT
    bottle.response.content_type = PLAIN_TEXT
    return reply.text.encode()


def _answer(
    exchange: Exchange, catalogue: Callable[[], Catalogue], sources: Sources, installs: LiveStates | None
) -> bytes:
    received = exchange.request
    if received.body_too_large:
        return _refuse(exchange, CONTENT_TOO_LARGE, f"the body is larger than {LARGEST_BODY} bytes")
    request = Request(received.path, received.query, received.headers, received.body, exchange.peer)
    if len(request.body) <= LARGE:
        return _resolved(exchange, catalogue, Facts(request), sources, installs)
    if not _large_bodies.acquire(timeout=max(0.0, exchange.client.respond_by - monotonic())):
        return _busy(exchange, "large bodies")
    waiting_client.set(exchange.client)
    try:
        facts = run_long(partial(_read, request, catalogue()))
        return _resolved(exchange, catalogue, facts, sources, installs)
    except NothingLoaded as error:
        return _refuse(exchange, OF_ERRORS[NothingLoaded], error.reason)
    except TooLate:
        return _busy(exchange, "large documents")
    finally:
        _large_bodies.release()


def _resolved(
    exchange: Exchange,
    catalogue: Callable[[], Catalogue],
    facts: Facts,
    sources: Sources,
    installs: LiveStates | None,
) -> bytes:
    waiting_client.set(exchange.client)
    try:
        found = resolve(catalogue(), facts, sources=sources, without_start=exchange.request.method == "HEAD")
    except TooLate:
        return _busy(exchange, "large documents")
    except AnswerError as error:
        if installs is not None and isinstance(error, NotClaimed):
            installs.unclaimed(catalogue(), facts)
        # Hints about similar facts need all labels of the request, which cost too much for a large body.
        no_hints = len(exchange.request.body) > LARGE or isinstance(error, NothingLoaded)
        reason = got = error.reason
        if not no_hints:
            said = facts.knowing(catalogue().shared)
            got = with_similar_facts(error, said)
            reason = with_asker(error, said, got)
        if installs is not None and not isinstance(error, NothingLoaded):
            _note_refused(installs, catalogue(), facts, error, got)
        if not isinstance(error, GateClosed):
            return _refuse(exchange, OF_ERRORS[type(error)], reason)
        body = _refuse(exchange, OF_ERRORS[GateClosed], error.reason)
        exchange.outcome = reason_line(reason)  # the log names the identity that asked; the sentence has the machine
        return body
    finally:
        if installs is not None:
            exchange.awaited = installs.awaited()
    if found.selection.default and installs is not None and not is_known(catalogue(), catalogue().facts(facts)):
        installs.unclaimed(catalogue(), facts)
    if installs is not None:
        _note_given(installs, catalogue(), facts, found)
    if found.selection.machine:
        exchange.describe = partial(composition_of, found.format, found.selection, found.side_file, found.refusal)
    else:
        exchange.outcome = f"{found.composition}{_for_whom(found, facts)}"
    exchange.extension, exchange.kind = found.format.extension, _kind(found)
    bottle.response.set_header("Content-Type", found.format.content_type)
    return found.body


def _note_given(installs: LiveStates, catalogue: Catalogue, facts: Facts, answer: Answer) -> None:
    """Note the last contact of a machine that has a name, or that was held."""
    selection = answer.selection
    name = (answer.row.name if answer.row else "") or (selection.machine.key.identifier if selection.machine else "")
    if not name and selection.group is not None:
        member = claimed_member(catalogue, selection, facts)
        name = selection.group.control.spelled(member[0]) if member is not None else ""
    got = answer.gate or answer.side_file or str(selection.layers[-1].key)
    held = Held.REFUSED if answer.gate is not None else Held.NOT
    if (
        held is Held.NOT
        and once_of(selection.layers) in (None, Once.OFF)  # else it was given what installs
        and any(criterion.label == STATE for criterion in selection.layers[-1].control.match)
        and Gates(installs).state(catalogue, catalogue.facts(facts)) in OPENED_BY_ARM
    ):
        held = Held.WAITS
    if name or held:
        installs.note_contact(facts, name, OK, got, held)


def _note_refused(installs: LiveStates, catalogue: Catalogue, facts: Facts, error: AnswerError, got: str) -> None:
    """Note the last contact of a machine that got an error and has a name, that is claimed and got one without a name,
    that a gate refused, or that is known by hardware that came with what it says."""
    try:
        known = catalogue.facts(facts)
    except AnswerError:  # it is not known which row it has
        known = facts
    name = known.row.name if known.row is not None else ""
    held = Held.REFUSED if isinstance(error, GateClosed) else Held.NOT
    if not name:
        for names in (catalogue.machines, catalogue.members):
            own = known.identities_held_in(names.intersection)
            name = name or next((text for one, text in known.identities.items() if one in own), "")
    tied: tuple[str, Names] | None = name, NOBODY
    if not name and isinstance(error, NotClaimed):  # one that nothing ties to a machine is noted as unknown alone
        tied = installs.tied_to(catalogue, facts)
    if tied is not None:
        installs.note_contact(facts, tied[0], OF_ERRORS[type(error)], got, held, tied[1])


def _for_whom(answer: Answer, facts: Facts) -> str:
    """Return who asked, for the log line of an answer that no machine document names: `` for mac=…``, and where an
    inventory has its row, the row's name: `` for web-01``."""
    name = answer.row.name if answer.row else ""
    if name:
        return f" for {name[:_LONGEST_SHOWN]}"
    for label in ("mac", "serial"):
        value = facts.first(label)
        if value:
            return f" for {label}={value[:_LONGEST_SHOWN]}"
    return ""


def _kind(answer: Answer) -> str:
    """Return what answered, for the metrics."""
    if answer.side_file:
        return "side_file"
    selection = answer.selection
    return "machine" if selection.machine else "group" if selection.group else "default"


def _record(exchange: Exchange, recorder: Recorder) -> None:
    status = bottle.response.status_code
    if not recorder.wants(status):
        return
    request = exchange.request
    target, headers, body = request.target, request.headers, request.body
    if request.left_out:
        body = joined(request.body, request.left_out, request.body_end)
    shown = without_token(target)
    if shown != target:  # a report: nothing that is kept may speak for a machine
        token, mark = token_in(request.path) if is_report(request.path) else ("", "")
        if token:
            body = body.replace(token.encode(), mark.encode())
            headers = tuple((name, value.replace(token, mark)) for name, value in headers)
        body = without_tokens(body.decode("latin-1")).encode("latin-1")
        headers = tuple((name, without_tokens(value)) for name, value in headers)
    recorder.record(
        exchange.peer,
        f"{request.method} {shown} HTTP/1.{request.minor_version}",
        headers,
        body,
        f"{status} {exchange.words}",
    )


def _read(request: Request, catalogue: Catalogue) -> Facts:
    """Return the facts of a large request, with everything that takes long computed. Runs in a thread: it changes no
    catalogue."""
    facts = Facts(request)
    facts.prepare()
    asked_state: list[bool] = []

    def note_state(_: Facts) -> str:
        asked_state.append(True)
        return ""

    with suppress(AnswerError):
        known = catalogue.facts(facts)
        for asked in (known, known.asking_for_user_data()) if known.side_file else (known,):
            asked.prepare()
            asked.state_source = note_state if catalogue.has_states else None
            with suppress(AnswerError):
                select(catalogue, selection_request(asked, asked.extensions))
    # Where a selector names the state, which only the loop knows and which may change, what was found does not count.
    return Facts(request, same_body=facts) if asked_state else facts


def _busy(exchange: Exchange, what: str) -> bytes:
    """Return the refusal of a request that was not processed before its client's deadline."""
    reason = f"the service is busy with {what}, try again in 2 seconds"
    return _refuse(exchange, SERVICE_UNAVAILABLE, reason, retry_seconds=2)


def _refuse(exchange: Exchange, status: int, reason: str, *, retry_seconds: int = 5) -> bytes:
    """Return the body of an error: one plain line for the installer's console, the same words for the log."""
    if status == SERVICE_UNAVAILABLE:
        bottle.response.set_header("Retry-After", str(retry_seconds))
    line = without_tokens(reason_line(reason))  # it may quote the path
    exchange.outcome = line
    bottle.response.status = status
    bottle.response.content_type = PLAIN_TEXT
    is_comment = any(
        name == "user-agent" and value.startswith(_RUNS_ERRORS) for name, value in exchange.request.headers
    )
    return f"{'# ' if is_comment else ''}{line}\n".encode()
