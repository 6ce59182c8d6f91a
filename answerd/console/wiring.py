"""The console put together from the parts of a running service."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from wsgiref.types import WSGIApplication

from answerd import __version__
from answerd.answers.assumed import assumed_gates
from answerd.config import SETTINGS_BY_NAME, Config, describe
from answerd.console.app import DOCUMENT, INVENTORY, LOGIN, Console, ConsoleAccess
from answerd.console.backend import Backend
from answerd.console.background import CheckInBackground
from answerd.console.editing import Editing
from answerd.console.installs import Installs
from answerd.console.page_request import cookie_of
from answerd.console.pages import Pages
from answerd.console.session import Sessions
from answerd.documents import LARGEST_DOCUMENT
from answerd.server.admin.requests import DOCUMENT_LIMIT, INVENTORY_LIMIT
from answerd.server.administration import ConsoleParts
from answerd.server.http.parser import HttpRequest
from answerd.server.http.server import Gate

PAGES = ("/console", "/console/")

LARGEST_FORM = 3 * LARGEST_DOCUMENT
"""Bytes of the form of the editor: a document of the largest size, in which every third character is escaped."""


def make_console(parts: ConsoleParts) -> tuple[WSGIApplication, Gate]:
    """Return the console's application, and the gate of its requests' bodies."""
    config = parts.config()
    sessions = Sessions(time.time, parts.tokens, _sessions_path(config), parts.log)
    hosts = frozenset(config.console_hosts)
    access = ConsoleAccess(sessions, parts.block, hosts, parts.log, is_behind_proxy=bool(config.trusted_proxies))
    captures = Path(config.capture_dir) if config.capture_dir else None
    sources = parts.sources
    if parts.installs is not None:  # what is shown here is given to no machine: every machine counts as armed
        sources = replace(sources, gates=assumed_gates(parts.installs.shared.own_url, now=parts.installs.now()))
    backend = Backend(
        catalogue=parts.follower.current,
        problems=parts.problems,
        sources=sources,
        check=CheckInBackground(parts.follower.current, sources),
        store=parts.store.described,
        version=f"answerd {__version__}",
        settings=[(name, value, SETTINGS_BY_NAME[name].meaning) for name, value, _ in describe(config)],
        warnings=config.warnings,
        editing=Editing(parts.guard) if parts.guard is not None else None,
        installs=Installs(parts.installs, parts.follower.current, sources) if parts.installs is not None else None,
        feed=parts.feed,
        captures=captures,
        age=parts.store.age_seconds,
        access=parts.tokens.listed,
        secrets=parts.secrets,
        log=parts.log,
        nodes=tuple if parts.installs is None else parts.installs.store.nodes,
    )
    pages = Pages(backend)
    console = Console(pages, access, parts.api, api_writes=config.shares_console)

    def body_limit(request: HttpRequest, peer: str) -> int:
        path = request.path
        if path not in PAGES and not path.startswith("/console/"):
            return parts.api_gate(request, peer)
        if request.method != "POST" or parts.block.seconds_left(peer):
            return 0
        headers = {name: value for name, value in request.headers if name == "cookie"}
        # The text of an editor is carried through a log-in where the session has ended, or the service was restarted.
        kept = path == DOCUMENT and bool(cookie_of(headers))
        if path == LOGIN:
            return DOCUMENT_LIMIT
        if sessions.find(cookie_of(headers)) is None:
            return DOCUMENT_LIMIT if kept else 0
        return {DOCUMENT: LARGEST_FORM, INVENTORY: INVENTORY_LIMIT + DOCUMENT_LIMIT}.get(path, DOCUMENT_LIMIT)

    return console, body_limit


def _sessions_path(config: Config) -> Path | None:
    """Return the file of sessions, beside the one that has the states; None where nothing is kept on this machine."""
    beside = {"sqlite": config.db_path, "postgres": config.replica_path}.get(config.store, config.state_path)
    return Path(f"{beside}.sessions") if beside else None
