"""Named tokens, each with a role, and the role that each request needs (docs/admin-api.md#tokens-with-names).

A file holds a line for each token: a name, a role, the SHA-256 of the token, so that the file's content is of no use to
a reader, and its last day where it has one.
"""

from __future__ import annotations

import hashlib
import math
import re
import secrets
import time as clock
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from enum import StrEnum
from pathlib import Path

from answerd.server.bearer import presented_token
from answerd.short_texts import brief, printable

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}\Z")
_HASH = re.compile(r"[0-9a-f]{64}\Z")
_FIELDS = 3
_END = re.compile(r"until=(\d{4}-\d{2}-\d{2})\Z")
_TOKEN_BYTES = 32
_DAY_SECONDS = 86_400


class Role(StrEnum):
    """The permissions of a token."""

    READ = "read"
    PLAN = "plan"
    OPERATE = "operate"
    INVENTORY = "inventory"
    ADMIN = "admin"

    def may(self, needed: Role) -> bool:
        """Return whether this role may do what needs another."""
        return needed in _INCLUDED[self]

    @property
    def sees_secrets(self) -> bool:
        """Whether documents and answers are shown as they are, without hiding their secrets."""
        return self is Role.ADMIN


_INCLUDED = {
    Role.READ: {Role.READ},
    Role.PLAN: {Role.READ, Role.PLAN},
    Role.OPERATE: {Role.READ, Role.PLAN, Role.OPERATE},
    Role.INVENTORY: {Role.READ, Role.PLAN, Role.INVENTORY},
    Role.ADMIN: {*Role},
}

MAY = {
    Role.READ: "read documents, states, history and checks; secrets are hidden",
    Role.PLAN: "that, and dry runs",
    Role.OPERATE: "what `plan` may, and arm, disarm and forget installs",
    Role.INVENTORY: "what `plan` may, change rows, and adopt machines",
    Role.ADMIN: "everything; documents and answers are shown with their secrets",
}
"""What each role may do, in words."""

NEEDED = {
    "GET /health": None,
    "GET /ready": None,
    "GET /openapi.json": Role.READ,
    "GET /{machines|groups}": Role.READ,
    "GET /{machines|groups}/{name}": Role.READ,
    "PUT /{machines|groups}/{name}": Role.ADMIN,
    "DELETE /{machines|groups}/{name}": Role.ADMIN,
    "GET /default": Role.READ,
    "PUT /default": Role.ADMIN,
    "DELETE /default": Role.ADMIN,
    "GET /inventory": Role.READ,
    "GET /inventory/{name}": Role.READ,
    "PUT /inventory/{name}": Role.ADMIN,
    "DELETE /inventory/{name}": Role.ADMIN,
    "GET /inventory/{name}/{row}": Role.READ,
    "PUT /inventory/{name}/{row}": Role.INVENTORY,
    "PATCH /inventory/{name}/{row}": Role.INVENTORY,
    "DELETE /inventory/{name}/{row}": Role.INVENTORY,
    "POST /apply": Role.PLAN,
    "POST /apply without dry_run": Role.ADMIN,
    "GET /history": Role.READ,
    "POST /history/{revision}/restore": Role.ADMIN,
    "POST /history/{revision}/take-back": Role.ADMIN,
    "GET /audit": Role.ADMIN,
    "GET /resolve": Role.READ,
    "GET /resolve/{name}": Role.READ,
    "GET /check": Role.READ,
    "GET /installs": Role.READ,
    "POST /installs": Role.OPERATE,
    "GET /installs/{install}": Role.READ,
    "POST /installs/{install}/arm": Role.OPERATE,
    "POST /installs/{install}/disarm": Role.OPERATE,
    "POST /installs/{install}/forget": Role.OPERATE,
    "GET /summary": Role.READ,
    "GET /unknown": Role.READ,
    "POST /adopt": Role.INVENTORY,
    "GET /nodes": Role.READ,
    "GET /metrics": Role.READ,
    "GET /events": Role.READ,
    "GET /console/": Role.READ,
    "GET /console/overview": Role.READ,
    "GET /console/requests": Role.READ,
    "GET /console/machines": Role.READ,
    "GET /console/machines.csv": Role.READ,
    "GET /console/search": Role.READ,
    "POST /console/machines": Role.OPERATE,
    "GET /console/machine": Role.READ,
    "GET /console/adopt": Role.READ,
    "POST /console/adopt": Role.INVENTORY,
    "GET /console/inventory": Role.READ,
    "GET /console/inventory/proposal": Role.INVENTORY,
    "POST /console/inventory": Role.INVENTORY,
    "GET /console/documents": Role.READ,
    "GET /console/document": Role.READ,
    "GET /console/document/new": Role.ADMIN,
    "POST /console/document": Role.ADMIN,
    "GET /console/document/preview": Role.INVENTORY,
    "GET /console/document/earlier": Role.ADMIN,
    "GET /console/try": Role.READ,
    "POST /console/try": Role.READ,
    "GET /console/check": Role.READ,
    "GET /console/settings": Role.READ,
    "GET /console/session": Role.READ,
    "GET /console/form": Role.READ,
    "GET /console/access": Role.ADMIN,
    "POST /console/access": Role.ADMIN,
    "GET /console/history": Role.READ,
    "GET /console/history/back": Role.ADMIN,
    "POST /console/history": Role.ADMIN,
}
"""The role that each request needs; None: it needs no token. HEAD needs what GET does."""


def may(role: Role | None, request: str) -> bool:
    """Return whether a client with this role, None without a token, may do what `NEEDED` names so."""
    needed = NEEDED[request]
    return needed is None or (role is not None and role.may(needed))


class TokensError(Exception):
    """A file of tokens cannot be read; one line that says where and why."""


@dataclass(frozen=True, slots=True)
class NamedToken:
    """A token by its SHA-256 in hex digits. A name may have several, so that a token can be changed. ``until`` is its
    last day (UTC), None where it has none."""

    name: str
    role: Role
    sha256: str
    until: date | None = None

    def __str__(self) -> str:
        """As a line of the file."""
        return f"{self.name} {self.role} {self.sha256}{f' until={self.until}' if self.until else ''}"

    @property
    def ends(self) -> float:
        """When it ends, in seconds since 1970."""
        if self.until is None:
            return math.inf
        return datetime.combine(self.until, time.min, UTC).timestamp() + _DAY_SECONDS


def new_token(name: str, role: Role, until: date | None = None) -> tuple[str, NamedToken]:
    """Return a new random token, and its line for the file. Raises `TokensError` for a name that no token may have."""
    if not _NAME.match(name):
        raise TokensError(
            f"{brief(printable(name), 80)} is no name: it has 1 to 64 letters, digits, and . _ @ + -, "
            "and begins with a letter or digit"
        )
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    return token, NamedToken(name, role, hash_of(token.encode()), until)


def hash_of(token: bytes) -> str:
    """Return the SHA-256 of a token in hex digits. A plain hash is enough: a token has 256 random bits. How long a
    look-up among hashes takes says nothing, because a client cannot choose a hash."""
    return hashlib.sha256(token).hexdigest()


def parse_token_file(text: str) -> tuple[NamedToken, ...]:
    """Return the tokens of a file's text. Blank lines and lines that begin with ``#`` are ignored. Raises
    `TokensError`, which names the line and quotes nothing of it."""
    found: list[NamedToken] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) not in (_FIELDS, _FIELDS + 1):
            raise TokensError(f"line {number}: it needs a name, a role and the SHA-256 of a token")
        name, role, sha256 = words[:_FIELDS]
        if not _NAME.match(name):
            raise TokensError(f"line {number}: the name is invalid")
        if role not in [*Role]:
            raise TokensError(f"line {number}: the role is none of {', '.join(Role)}")
        if not _HASH.match(sha256.lower()):
            raise TokensError(f"line {number}: the third word is no SHA-256 in 64 hex digits")
        until = _last_day(words[_FIELDS]) if len(words) > _FIELDS else None
        if len(words) > _FIELDS and until is None:
            raise TokensError(f"line {number}: the fourth word is no last day: until=2026-12-31")
        found.append(NamedToken(name, Role(role), sha256.lower(), until))
    return tuple(found)


def _last_day(word: str) -> date | None:
    """Return the day that ``until=2026-12-31`` names; None where it is no day."""
    match = _END.match(word)
    try:
        return date.fromisoformat(match[1]) if match else None
    except ValueError:
        return None


def read_tokens(path: str) -> tuple[NamedToken, ...]:
    """Return the tokens of a file. Raises `TokensError`."""
    shown = printable(path)
    try:
        return parse_token_file(Path(path).read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise TokensError(f"{shown} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TokensError(f"{shown} is not UTF-8") from None
    except TokensError as error:
        raise TokensError(f"{shown}, {error}") from None


@dataclass(frozen=True, slots=True)
class Caller:
    """The bearer of a token: the token's name, None for that of ``SERVICE_ADMIN_TOKEN``, and its role."""

    name: str | None
    role: Role


class AdminTokens:
    """The tokens in force at the admin API: those without a name, which have every role, and the named ones."""

    def __init__(
        self,
        tokens: Iterable[str] = (),
        named: Iterable[NamedToken] = (),
        now: Callable[[], float] = clock.time,
    ) -> None:
        """``now`` returns seconds since 1970."""
        self._clock = now
        self.replace(tokens, named)

    def replace(self, tokens: Iterable[str], named: Iterable[NamedToken]) -> None:
        """Put other tokens in force. They may hold any characters, which a client sends as UTF-8."""
        self._bearers = {token.sha256: (Caller(token.name, token.role), token.ends) for token in named} | {
            hash_of(token.encode("utf-8", "surrogateescape")): (Caller(None, Role.ADMIN), math.inf) for token in tokens
        }

    @property
    def by_hash(self) -> dict[str, Caller]:
        """The bearers by the SHA-256 of their tokens, in hex digits, without those that have ended."""
        now = self._clock()
        return {sha256: caller for sha256, (caller, ends) in self._bearers.items() if ends > now}

    def listed(self) -> list[tuple[str, Role]]:
        """Return the name and the role of each token in force, sorted by name; a token without a name first."""
        return sorted({(caller.name or "", caller.role) for caller in self.by_hash.values()})

    def find(self, authorization: str | None) -> Caller | None:
        """Return the bearer of the token in an ``Authorization`` header, None where the token is none of these."""
        presented = presented_token(authorization)
        return self.by_hash.get(hash_of(presented)) if presented else None
