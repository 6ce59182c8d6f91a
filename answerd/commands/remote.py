"""The admin API of a service, as a command asks it: one request, one answer, the token from the settings."""

from __future__ import annotations

import http.client
import json
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from answerd.commands import WRONG_USAGE, CommandError

TIMEOUT_SECONDS = 600.0
"""For the whole request: a large change takes a while."""

TOKEN = "SERVICE_ADMIN_TOKEN"  # noqa: S105 - a name
"""The setting that holds the token, and with ``_FILE`` at its end that names a file of it."""

_UNREACHABLE = (401, 403, 404, 405, 408, 429, 500, 502, 503, 504)
"""Statuses that say nothing about the change: the service cannot be asked like this, or not now."""


@dataclass(frozen=True, slots=True)
class ApiReply:
    """A response with JSON."""

    status: int
    content: dict[str, Any]
    etag: str


@dataclass(frozen=True, slots=True)
class AdminApi:
    """The admin API of a service: its address, and the token for it."""

    scheme: str
    host: str
    port: int | None
    path: str
    token: str
    context: ssl.SSLContext | None
    timeout: float = TIMEOUT_SECONDS

    @classmethod
    def of(cls, url: str, ca: str | None, option: str = "--to", timeout: float = TIMEOUT_SECONDS) -> AdminApi:
        """Return the API at a URL, which ``option`` gave. ``ca`` is a file of certificates that are trusted. Raises
        `CommandError`."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise CommandError(f"{option} is no URL, such as https://answers.example:8001", WRONG_USAGE) from None
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise CommandError(f"{option} is no URL, such as https://answers.example:8001", WRONG_USAGE)
        if parts.username is not None:
            raise CommandError(f"{option} must not hold a password: the token is in {TOKEN}", WRONG_USAGE)
        context = None
        if parts.scheme == "https":
            try:
                context = ssl.create_default_context(cafile=ca)
            except OSError as error:
                raise CommandError(f"{ca} cannot be used: {error.strerror or error}", WRONG_USAGE) from None
        token = _token(os.environ, option)
        return cls(parts.scheme, parts.hostname, port, parts.path.rstrip("/"), token, context, timeout)

    @property
    def site(self) -> str:
        """The host, with its port where the URL has one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" if self.port else host

    def get(self, path: str, **query: str) -> dict[str, Any]:
        """Ask for something. Raises `CommandError` where there is no such thing, or the service cannot be asked."""
        reply = self._ask("GET", f"{path}?{urlencode(query)}" if query else path, b"", {})
        if reply.status >= 400:  # noqa: PLR2004 - an error of HTTP
            raise CommandError(f"{self.site} answered {reply.status}: {reply.content.get('error', '')}")
        return reply.content

    def apply(self, change: Mapping[str, Any], note: str | None, if_match: str | None) -> ApiReply:
        """Ask for a change. Raises `CommandError` where the service cannot be asked."""
        headers = {"Content-Type": "application/json"}
        if note:
            headers["X-Change-Note"] = note.encode().decode("latin-1")
        if if_match:
            headers["If-Match"] = if_match
        return self._ask("POST", "/apply", json.dumps(change, ensure_ascii=False).encode(), headers)

    def _ask(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> ApiReply:
        where = f"{self.scheme}://{self.site}"
        # Without a port, http.client would take the end of an IPv6 address for one.
        connection = (
            http.client.HTTPSConnection(
                self.host, self.port or http.client.HTTPS_PORT, timeout=self.timeout, context=self.context
            )
            if self.context
            else http.client.HTTPConnection(self.host, self.port or http.client.HTTP_PORT, timeout=self.timeout)
        )
        try:
            connection.request(method, self.path + path, body, {**headers, "Authorization": f"Bearer {self.token}"})
            response = connection.getresponse()
            text = response.read()
        except ssl.SSLCertVerificationError as error:
            raise CommandError(
                f"{where}: the certificate is not trusted: {error.verify_message}", WRONG_USAGE
            ) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise CommandError(f"{where} cannot be reached: {reason}", WRONG_USAGE) from None
        finally:
            connection.close()
        try:
            content = json.loads(text)
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise CommandError(f"{where} is no admin API: it answered {response.status} without JSON", WRONG_USAGE)
        if response.status in _UNREACHABLE:
            raise CommandError(f"{where} answered {response.status}: {content.get('error', '')}", WRONG_USAGE)
        return ApiReply(response.status, content, response.headers.get("ETag", ""))


def _token(environ: Mapping[str, str], option: str) -> str:
    """Return the token of the settings, the first of two, which ``option`` needs. Raises `CommandError`."""
    tokens = environ.get(TOKEN, "").split()
    path = environ.get(f"{TOKEN}_FILE", "").strip()
    if not tokens and path:
        try:
            tokens = Path(path).read_text("utf-8-sig").split()
        except (OSError, UnicodeDecodeError):
            raise CommandError(f"{TOKEN}_FILE: {path} cannot be read", WRONG_USAGE) from None
    if not tokens:
        raise CommandError(f"{option} needs a token: set {TOKEN} or {TOKEN}_FILE", WRONG_USAGE)
    return tokens[0]
