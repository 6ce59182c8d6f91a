"""The console's pages as an application: who may see them, and which function makes which page.

Rules: docs/console.md. Everything below ``/console/`` is made here; every other path is the admin API's, whose read
requests a session may make as well.
"""

from __future__ import annotations

import hmac
import json
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from wsgiref.types import WSGIApplication

from answerd import __version__
from answerd.answers.assumed import assumed_gates
from answerd.config import SETTINGS_BY_NAME, Config, describe
from answerd.console.access import AccessPages
from answerd.console.adopting import AdoptingPages
from answerd.console.backend import Backend, Installs
from answerd.console.documents import DocumentPages
from answerd.console.editing import Editing, NotSaved
from answerd.console.first_page import FirstPage
from answerd.console.forms import NOT_KEPT, SHOWN, FormPage, SentForms, fields_of
from answerd.console.history import HistoryPages
from answerd.console.inventories import InventoryPages
from answerd.console.jobs import Checks
from answerd.console.machine_page import MachinePage
from answerd.console.machines import MachinesPages
from answerd.console.page_request import (
    PageReply,
    PageRequest,
    Refusal,
    cookie_of,
    message_page,
    page_request_of,
    redirect,
)
from answerd.console.pages import Pages
from answerd.console.protection import is_same_origin, may_be_asked_for, page_headers, scheme_of, session_cookie
from answerd.console.rendering import link, page, prepare, static_files
from answerd.console.session import SESSION_SECONDS, Session, Sessions
from answerd.console.table import Tables
from answerd.documents import LARGEST_DOCUMENT
from answerd.server.admin.adoption import Adoptions
from answerd.server.admin.requests import DOCUMENT_LIMIT, INVENTORY_LIMIT
from answerd.server.console_parts import ConsoleParts
from answerd.server.http.bodies import Ends
from answerd.server.http.parser import HttpRequest
from answerd.server.http.responses import exchange_of
from answerd.server.http.server import PeerBodyLimit
from answerd.server.roles import NEEDED, Caller, Role, may
from answerd.server.words_for_checks import WordsForChecks

LOGIN, LOGOUT, DOCUMENT = "/console/login", "/console/logout", "/console/document"
INVENTORY, ADOPT, HISTORY = "/console/inventory", "/console/adopt", "/console/history"
SESSION = "/console/session"

STATIC_SECONDS = 31_536_000
"""How long a browser keeps a file whose address names its content: a year."""


LARGEST_FORM = 3 * LARGEST_DOCUMENT
"""Bytes of the form of the editor: a document of the largest size, each of whose bytes is escaped in three."""

LARGEST_ROW_FORM = 3 * DOCUMENT_LIMIT
"""Bytes of the form of one row: the API takes a row of `DOCUMENT_LIMIT`."""

KEPT = "kept."
"""The prefix of the fields of a form that the log-in carries on, because its session had ended."""

RESUMED = Refusal(
    "The session had ended. You are logged in again; what you sent is below, and not stored yet.", is_resumed=True
)

_TOO_LARGE = "That form is too large."
_TOO_LARGE_FOR_THE_LOGIN = (
    "Your session has ended, and this form is too large for the log-in to carry it on. Log in in another tab, go back "
    "to the form here, and send it again: what you wrote is still there."
)

_MISDIRECTED = "This console is not asked for by that name. Add the name to SERVICE_CONSOLE_HOSTS."

_NO_REQUEST = PageRequest("GET", "", {}, {}, "", "", "", {})


class Console:
    """The application. The admin API is asked for every path that is no page's."""

    def __init__(self, parts: ConsoleParts) -> None:
        config = parts.config()
        backend = _backend(parts)
        self._tables = tables = Tables(backend.catalogue)
        first, pages = FirstPage(backend, tables), Pages(backend, tables)
        machines = MachinesPages(backend, tables)
        machine = MachinePage(backend, machines)
        inventories = InventoryPages(backend)
        documents = DocumentPages(backend, tables, inventories)
        adopting, history = AdoptingPages(backend), HistoryPages(backend)
        access = AccessPages(backend, parts.tokens, parts.config)
        self._sessions = Sessions(time.time, parts.tokens, _sessions_path(config), parts.log)
        self._block = parts.block
        self._hosts = frozenset(config.console_hosts)
        self._log = parts.log
        self._states = parts.installs
        self._is_behind_proxy = bool(config.trusted_proxies)
        self._api = parts.api
        self._api_body_limit = parts.api_body_limit
        self._api_writes = config.shares_console
        self._pages: Mapping[tuple[str, str], Callable[[PageRequest], PageReply]] = {
            ("GET", "/console/"): first.show,
            ("GET", "/console/overview"): first.overview,
            ("GET", "/console/requests"): first.requests,
            ("GET", "/console/machines"): machines.show,
            ("GET", "/console/machines.csv"): machines.as_csv,
            ("GET", "/console/search"): pages.search,
            ("GET", "/console/machine"): machine.show,
            ("GET", ADOPT): adopting.show,
            ("GET", "/console/inventory"): inventories.show,
            ("GET", "/console/inventory/proposal"): inventories.proposal,
            ("GET", "/console/documents"): documents.show_all,
            ("GET", "/console/document"): documents.show,
            ("GET", "/console/document/new"): documents.new,
            ("GET", "/console/document/preview"): documents.previewed,
            ("GET", "/console/document/earlier"): documents.earlier,
            ("GET", "/console/try"): pages.form_to_try,
            ("GET", "/console/check"): pages.check,
            ("GET", "/console/settings"): pages.settings,
            ("GET", "/console/access"): access.show,
            ("GET", HISTORY): history.show,
            ("GET", "/console/history/back"): history.back,
        }
        self._forms: Mapping[str, FormPage] = {
            "/console/machines": FormPage(machines.asked, machines.order, frozenset({"confirm", "undo"})),
            INVENTORY: FormPage(inventories.sent, inventories.change, frozenset({"save", "delete", "upload"})),
            ADOPT: FormPage(adopting.sent, adopting.change, frozenset({"save"})),
            DOCUMENT: FormPage(documents.sent, documents.change, frozenset({"save", "delete"})),
            HISTORY: FormPage(history.sent, history.change, frozenset({"take-back"})),
            "/console/try": FormPage(pages.tried, pages.tried, frozenset()),
            "/console/access": FormPage(access.show, access.change, frozenset({"secret", "token", "revoke"})),
        }
        self._sent = SentForms()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer one request (PEP 3333)."""
        path = environ["PATH_INFO"]
        if path not in {"/", "/console"} and not path.startswith("/console/"):
            return self._ask_api(environ, start_response)
        nonce = secrets.token_urlsafe(16)
        reply = self._reply(environ, nonce)
        exchange_of(environ).outcome = f"console {HTTPStatus(reply.status).phrase}"
        headers = [("Content-Type", reply.content_type), *page_headers(nonce), *reply.headers]
        start_response(f"{reply.status} {HTTPStatus(reply.status).phrase}", headers)
        return [reply.body]

    def body_limit(self, request: HttpRequest, peer: str) -> int | Ends:
        """Return how many bytes the body of a request may have (`answerd.server.http.server.PeerBodyLimit`)."""
        path = request.path
        if path not in ("/console", "/console/") and not path.startswith("/console/"):
            return self._api_body_limit(request, peer)
        if request.method != "POST" or self._block.seconds_left(peer):
            return 0
        if path == LOGIN:
            return DOCUMENT_LIMIT
        cookie = cookie_of({name: value for name, value in request.headers if name == "cookie"})
        session = self._sessions.find(cookie)
        if session is None:  # it is carried through the log-in, whose form anybody may send
            return DOCUMENT_LIMIT if path in self._forms else 0
        if path == LOGOUT:
            return DOCUMENT_LIMIT
        if not _may_do(session, "POST", path):
            return 0
        if path == INVENTORY:
            return INVENTORY_LIMIT + DOCUMENT_LIMIT if session.role.may(Role.ADMIN) else LARGEST_ROW_FORM
        return LARGEST_FORM if path == DOCUMENT else DOCUMENT_LIMIT

    def _reply(self, environ: dict[str, Any], nonce: str) -> PageReply:
        received = exchange_of(environ).request
        if received.body_too_large:
            is_out = self._sessions.find(cookie_of(dict(received.headers))) is None and received.path in self._forms
            return _message(_NO_REQUEST, 413, _TOO_LARGE_FOR_THE_LOGIN if is_out else _TOO_LARGE)
        try:
            request = page_request_of(environ)
        except ValueError:
            return _message(_NO_REQUEST, 400, "That form cannot be read.")
        scheme = scheme_of(request.scheme, request.headers, request.host, is_behind_proxy=self._is_behind_proxy)
        request = replace(request, nonce=nonce, scheme=scheme)
        if not may_be_asked_for(request.host, self._hosts):
            return _message(request, 421, _MISDIRECTED)
        return self._routed(request)

    def _routed(self, request: PageRequest) -> PageReply:
        if request.path.startswith("/console/static/") and request.method in ("GET", "HEAD"):
            return _static(request)
        self._tables.current(patience=0)  # they are made while somebody logs in for instance
        method = "GET" if request.method == "HEAD" else request.method
        if request.path == LOGIN:
            return self._log_in(request) if method == "POST" else _login_page(request.get("next"), request)
        session = self._sessions.find(cookie_of(request.headers))
        if session is None:
            if request.path == SESSION:
                return PageReply(b"{}", 401, "application/json")
            is_kept = method == "POST" and request.path in self._forms and _is_from_here(request)
            return _login_page("", request) if is_kept else _to_login(request)
        request = replace(request, session=session)
        if request.path == SESSION and method == "GET":
            return _session_page(request, session)
        fault = self._fault(method, request, session)
        return fault if fault is not None else self._page(method, request, session)

    def _fault(self, method: str, request: PageRequest, session: Session) -> PageReply | None:
        """Return the reply to a request that its session may not make, or not so; None lets it go on."""
        form = self._forms.get(request.path)
        is_known = (method, request.path) in self._pages or (method == "POST" and form is not None)
        if is_known and not _may_do(session, method, request.path):  # such a form was not read
            needed = NEEDED[f"{method} {request.path}"]
            return _message(request, 403, f"Your token may not do that: it needs the role {needed}.")
        if method == "POST" and not _is_from_here(request):
            return _message(
                request, 403, "The form did not come from a page of this console. Go back, reload, try again."
            )
        if method == "POST" and not hmac.compare_digest(request.field("csrf").encode(), session.csrf.encode()):
            # It is of a page of an earlier session: somebody has logged in again meanwhile, in another tab perhaps.
            if form is not None and request.field("csrf"):
                return self._sent.shown_later(request, RESUMED)
            return _message(request, 403, "The page is older than your session. Go back, reload, try again.")
        return None

    def _page(self, method: str, request: PageRequest, session: Session) -> PageReply:
        page_of, form = self._pages.get((method, request.path)), self._forms.get(request.path)
        if request.path == LOGOUT and method == "POST":
            self._sessions.end(session.identifier)
            self._audit("log out", session, request.peer)
            return redirect(LOGIN, [_cookie("", 0, request)])
        if request.path in ("/", "/console"):
            return redirect("/console/")
        if request.path == SHOWN and method == "GET":
            return self._shown(request, session)
        if method == "POST" and form is not None:
            return self._carried_out(request, form)
        if page_of is not None:
            try:
                return page_of(request)
            except NotSaved as error:
                return _message(request, 503, error.reason)
        known = {allowed for allowed, path in self._pages if path == request.path} | ({"POST"} if form else set())
        if known:
            return replace(
                _message(request, 405, "That cannot be done here."), headers=(("Allow", ", ".join(sorted(known))),)
            )
        return _message(request, 404, "There is no such page.")

    def _log_in(self, request: PageRequest) -> PageReply:
        where = request.field("next")
        seconds = self._block.seconds_left(request.peer)
        if seconds:
            reply = _login_page(
                where, request, f"Too many wrong tokens from this address. Try again in {seconds} s.", 429
            )
            return replace(reply, headers=(("Retry-After", str(seconds)),))
        if not _is_from_here(request):
            return _message(request, 403, "The form did not come from a page of this console.")
        token = request.field("token").strip()
        session = self._sessions.begin(token) if token else None
        if session is None:
            if token:
                self._log(f"console: {request.peer} failed authentication")
                blocked = self._block.failed(request.peer)
                if blocked:
                    self._log(f"console: {request.peer} failed authentication too often, blocked for {blocked}s")
            return _login_page(where, request, "That is not the token of this service.", 401)
        self._block.succeeded(request.peer)
        self._audit("log in", session, request.peer)
        cookie = _cookie(session.identifier, SESSION_SECONDS, request)
        path = request.field("form")
        if path in self._forms:
            form = {name.removeprefix(KEPT): values for name, values in request.form.items() if name.startswith(KEPT)}
            reply = self._sent.shown_later(replace(request, session=session, path=path, form=form), RESUMED)
            return replace(reply, headers=(*reply.headers, cookie))
        return redirect(where if _is_own(where) else "/console/", [cookie])

    def _audit(self, what: str, session: Session, peer: str) -> None:
        if self._states is not None:
            self._states.note_audited(what, f"console, {session.who}, {peer}")

    def _carried_out(self, request: PageRequest, form: FormPage) -> PageReply:
        """Return the reply to a form: a redirect to what it changed, or to the page that shows it again."""
        if request.field("do") not in form.verbs:
            return self._sent.shown_later(request)
        try:
            return self._sent.carried_out(request, form.writes)
        except NotSaved as error:
            return self._sent.shown_later(
                request, Refusal(error.reason, error.problems, error.is_conflict, error.status)
            )

    def _shown(self, request: PageRequest, session: Session) -> PageReply:
        """Return the page of a form that was sent."""
        kept = self._sent.find(request.get("of"), session.who)
        if kept is None:
            return _message(request, 404, NOT_KEPT)
        if not _may_do(session, "POST", kept.path):
            needed = NEEDED[f"POST {kept.path}"]
            return _message(request, 403, f"Your token may not do that: it needs the role {needed}.")
        request = replace(request, path=kept.path, form=kept.form, refusal=kept.refusal)
        try:
            reply = self._forms[kept.path].shows(request)
        except NotSaved as error:
            return _message(request, error.status, error.reason)
        refused = kept.refusal is not None and not kept.refusal.is_resumed and reply.status == HTTPStatus.OK
        return replace(reply, status=kept.refusal.status) if refused and kept.refusal is not None else reply

    def _ask_api(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Let the API answer: a session may read as a token does, and nothing else."""
        exchange = exchange_of(environ)
        request = exchange.request
        reads = request.method in ("GET", "HEAD")
        if not reads and not self._api_writes:
            start_response("405 Method Not Allowed", [("Content-Type", "application/json"), ("Allow", "GET, HEAD")])
            return [b'{"error": "only reading is possible at the console\'s address"}']
        headers = dict(request.headers)
        if reads and cookie_of(headers) and "authorization" not in headers:
            if not may_be_asked_for(headers.get("host", ""), self._hosts):
                start_response("421 Misdirected Request", [("Content-Type", "application/json")])
                return [json.dumps({"error": _MISDIRECTED}).encode()]
            session = self._sessions.find(cookie_of(headers))
            if session is not None:
                exchange.caller = Caller(session.who, session.role)
                identifier = session.identifier
                exchange.is_allowed = lambda: self._sessions.find(identifier) is not None
        return self._api(environ, start_response)


def _is_from_here(request: PageRequest) -> bool:
    """Return whether a form comes from a page of this console."""
    return is_same_origin(
        request.headers.get("origin"), request.headers.get("sec-fetch-site"), request.scheme, request.host
    )


def _may_do(session: Session, method: str, path: str) -> bool:
    """Return whether a session may ask for a page, or send its form. Nobody may where there is none."""
    request = f"{method} {path}"
    return request in NEEDED and may(session.role, request)


def make_console(parts: ConsoleParts) -> tuple[WSGIApplication, PeerBodyLimit]:
    """Return the console's application, and the limit of its requests' bodies."""
    prepare()
    console = Console(parts)
    return console, console.body_limit


def _backend(parts: ConsoleParts) -> Backend:
    config, sources, installs = parts.config(), parts.sources, parts.installs
    if installs is not None:  # what is shown here is given to no machine: every machine counts as armed
        sources = replace(sources, gates=assumed_gates(installs.at_fork.own_url, now=installs.now()))
    return Backend(
        catalogue=parts.follower.current,
        problems=parts.problems,
        faults=parts.faults,
        sources=sources,
        check=Checks(parts.follower.current, sources, WordsForChecks(installs.store if installs is not None else None)),
        store=parts.store.described,
        version=f"answerd {__version__}",
        settings=[(name, value, SETTINGS_BY_NAME[name].meaning) for name, value, _ in describe(config)],
        warnings=config.warnings,
        editing=Editing(parts.writes, config.admin_timeout_seconds, sources) if parts.writes is not None else None,
        installs=Installs(installs, parts.follower.current, sources) if installs is not None else None,
        adoptions=Adoptions(parts.writes, installs) if parts.writes is not None and installs is not None else None,
        feed=parts.feed,
        captures=Path(config.capture_dir) if config.capture_dir else None,
        age=parts.store.age_seconds,
        access=parts.tokens.listed,
        secrets=parts.secrets,
        log=parts.log,
        nodes=tuple if installs is None else installs.store.nodes,
    )


def _sessions_path(config: Config) -> Path | None:
    """Return the file of sessions, beside the one that has the states; None where nothing is kept on this machine."""
    beside = {"sqlite": config.db_path, "postgres": config.replica_path}.get(config.store, config.state_path)
    return Path(f"{beside}.sessions") if beside else None


def _static(request: PageRequest) -> PageReply:
    found = static_files().get(request.path.removeprefix("/console/static/"))
    if found is None:
        return _message(request, 404, "There is no such file.")
    lifetime = f"public, max-age={STATIC_SECONDS}, immutable" if request.get("v") == found.tag else "no-cache"
    headers = [("Cache-Control", lifetime), ("Vary", "Accept-Encoding")]
    if found.packed and _accepts_gzip(request.headers.get("accept-encoding", "")):
        packed = (*headers, ("Content-Encoding", "gzip"), ("ETag", f'"{found.tag}-gzip"'))
        return PageReply(found.packed, content_type=found.content_type, headers=packed)
    return PageReply(found.content, content_type=found.content_type, headers=(*headers, ("ETag", f'"{found.tag}"')))


def _accepts_gzip(accepted: str) -> bool:
    """Return whether an ``Accept-Encoding`` header names gzip, and not with a weight of 0."""
    for coding in accepted.split(","):
        name, _, weight = coding.partition(";")
        if name.strip().lower() == "gzip":
            return weight.replace(" ", "").lower() not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False


def _to_login(request: PageRequest) -> PageReply:
    """Return the way to the log-in, which leads back to the page that was asked for, with its whole address."""
    if request.wants_fragment:
        parts = urlsplit(request.headers.get("hx-current-url", ""))
        where = f"{parts.path}?{parts.query}" if parts.query else parts.path
        return PageReply(b"", 401, headers=(("HX-Redirect", link(LOGIN, next=where if _is_own(where) else "")),))
    where = request.address if request.method == "GET" and _is_own(request.path) else ""
    return redirect(link(LOGIN, next=where))


def _is_own(where: str) -> bool:
    """Return whether an address is one of this console's pages."""
    return where.startswith("/console/") and not {*"\\\n\r"} & {*where}


def _session_page(request: PageRequest, session: Session) -> PageReply:
    """Return what a page asks for before it sends a form: the token of the session's forms, and whether it may send
    one to a path."""
    path = request.get("form")
    may_send = not path or f"POST {path}" not in NEEDED or _may_do(session, "POST", path)
    found = {"csrf": session.csrf, "who": session.who, "may": may_send}
    return PageReply(
        json.dumps(found).encode(), content_type="application/json", headers=(("Cache-Control", "no-store"),)
    )


def _login_page(where: str, request: PageRequest, message: str = "", status: int = 200) -> PageReply:
    """Return the form of the log-in. What was sent when the session had ended is carried on in it."""
    if request.path == LOGIN:
        path = request.field("form")
        kept = [(name, value) for name, values in request.form.items() if name.startswith(KEPT) for value in values]
    else:
        path = request.path
        kept = [(f"{KEPT}{name}", value) for name, values in fields_of(request).items() for value in values]
    return PageReply(page("login", request=request, where=where, message=message, kept=kept, path=path), status)


def _message(request: PageRequest, status: int, message: str) -> PageReply:
    return message_page(request, status, message, HTTPStatus(status).phrase)


def _cookie(identifier: str, seconds: int, request: PageRequest) -> tuple[str, str]:
    return "Set-Cookie", session_cookie(identifier, seconds=seconds, secure=request.scheme == "https")
