"""The page of access: who has a token, which are made and taken back there, what the roles may do, and the secrets.

Rules: docs/console.md#roles, docs/secrets.md#from-the-console.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from gevent.lock import BoundedSemaphore

from answerd.config import Config
from answerd.console.backend import Backend
from answerd.console.editing import NotSaved
from answerd.console.jobs import Kept
from answerd.console.page_request import PageReply, PageRequest, redirect
from answerd.console.rendering import link, page
from answerd.server import token_file
from answerd.server.roles import MAY, AdminTokens, NamedToken, Role, TokensError, new_token, read_tokens
from answerd.server.threads import in_thread
from answerd.store.secret_writes import SecretRefused, why_not_writable, write_secret
from answerd.store.secrets import names_of

HERE = "/console/access"

MOST_SHOWN = 8
"""Tokens that were made and are still shown to the session that made them."""


@dataclass(frozen=True, slots=True)
class MadeToken:
    """A token that was made: shown to the session of its maker, and kept nowhere else. ``is_in_force``: its line is in
    the file."""

    session: str
    token: str
    line: NamedToken
    is_in_force: bool


class AccessPages:
    """The page of access, and its forms."""

    def __init__(self, backend: Backend, tokens: AdminTokens, config: Callable[[], Config]) -> None:
        self._backend = backend
        self._tokens = tokens
        self._config = config
        self._made: Kept[MadeToken] = Kept(MOST_SHOWN)
        self._writing = BoundedSemaphore()

    def show(self, request: PageRequest) -> PageReply:
        """Return who has a token, what the roles may do, and the names of the secrets; and the form that was sent, with
        why it was not carried out, or the question whether it is meant."""
        secrets, refusal, path = self._backend.secrets, request.refusal, self._config().tokens_file or ""
        message = ""
        if refusal is not None:
            message = refusal.reason if refusal.is_resumed else f"Not written: {refusal.reason}"
        elif request.get("written"):
            message = f"The secret {request.get('written')} is written. It is in force within a second."
        elif request.get("revoked"):
            message = f"The token {request.get('revoked')} is revoked: its sessions and streams have ended."
        made = self._made.get(request.get("made"))
        own = made if made is not None and request.session and made.session == request.session.identifier else None
        asked = request.field("name") if request.field("do") in ("ask-revoke", "revoke") else ""
        body = page(
            "access",
            request=request,
            tokens=self._listed(path),
            without_name=[role for name, role in self._backend.access() if not name],
            path=path,
            why_no_tokens=in_thread(token_file.why_not_writable, path),
            made=own,
            asked=asked,
            may=MAY,
            secrets=names_of(secrets),
            why_not=in_thread(why_not_writable, secrets),
            message=message,
            failed=refusal is not None,
        )
        return PageReply(body)

    def change(self, request: PageRequest) -> PageReply:
        """Make or revoke a token, or write a secret."""
        if request.field("do") == "secret":
            return self._write_secret(request)
        path = self._config().tokens_file or ""
        with self._writing:  # else of two changes one would be lost
            try:
                return self._revoke(request, path) if request.field("do") == "revoke" else self._make(request, path)
            except TokensError as error:
                raise NotSaved(str(error), status=400) from None

    def _make(self, request: PageRequest, path: str) -> PageReply:
        name, role, day = (request.field(field).strip() for field in ("name", "role", "until"))
        if role not in [*Role]:
            raise NotSaved(f"the role is one of {', '.join(Role)}", status=400)
        try:
            until = date.fromisoformat(day) if day else None
        except ValueError:
            raise NotSaved("the last day is written 2026-12-31", status=400) from None
        token, line = new_token(name, Role(role), until)
        is_in_force = not in_thread(token_file.why_not_writable, path)
        if is_in_force:
            self._put_in_force(in_thread(token_file.with_token, path, line))
            self._log(request, f"made the token {name} with the role {role}")
        identifier = request.session.identifier if request.session is not None else ""
        return redirect(link(HERE, made=self._made.keep(MadeToken(identifier, token, line, is_in_force))))

    def _revoke(self, request: PageRequest, path: str) -> PageReply:
        name = request.field("name")
        self._put_in_force(in_thread(token_file.without_name, path, name))
        self._log(request, f"revoked the token {name}")
        return redirect(link(HERE, revoked=name))

    def _put_in_force(self, named: tuple[NamedToken, ...]) -> None:
        self._tokens.replace(self._config().admin_tokens, named)

    def _listed(self, path: str) -> list[tuple[str, str, str]]:
        """Return name, role and last day of each token of the file."""
        try:
            named = in_thread(read_tokens, path) if path else ()
        except TokensError:
            return [(name, str(role), "") for name, role in self._backend.access() if name]
        return sorted({(token.name, str(token.role), str(token.until or "")) for token in named})

    def _write_secret(self, request: PageRequest) -> PageReply:
        """Write a secret; it is shown to nobody."""
        machine, name = request.field("machine").strip(), request.field("secret").strip()
        value = request.field("value").replace("\r\n", "\n")
        try:
            place = in_thread(write_secret, self._backend.secrets, machine, name, value)
        except SecretRefused as error:
            raise NotSaved(str(error), status=400) from None
        self._log(request, f"wrote the secret {place}")
        return redirect(link(HERE, written=place))

    def _log(self, request: PageRequest, what: str) -> None:
        self._backend.log(f"console: {request.who}, {request.peer}, {what}")
        if self._backend.installs is not None:
            self._backend.installs.note_access(request.who, request.peer, what)
