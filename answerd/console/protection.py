"""What protects the console in a browser: hosts that may be requested, origins that may write, headers that
confine each page, the cookie.

Rules: docs/console.md#what-protects-it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

COOKIE = "answerd_session"


def page_headers(nonce: str) -> list[tuple[str, str]]:
    """Return the headers of every page. ``nonce`` is the nonce of the editor's own style element."""
    policy = (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    return [
        ("Content-Security-Policy", policy),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
        ("Referrer-Policy", "same-origin"),  # with no-referrer a form's Origin would be "null"
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
    ]


def may_be_asked_for(host: str, allowed: Collection[str]) -> bool:
    """Return whether a ``Host`` header names this console: an address, ``localhost`` or an ``allowed`` name.

    Any other name could be an attacker's that resolves to this address (DNS rebinding). A port is ignored.
    """
    name = _without_port(host.strip()).rstrip(".").lower()
    if name == "localhost" or name in allowed:
        return True
    try:
        ip_address(name.removeprefix("[").removesuffix("]").partition("%")[0])
    except ValueError:
        return False
    return True


def is_same_origin(origin: str | None, fetch_site: str | None, scheme: str, host: str) -> bool:
    """Return whether a write comes from a page of this console.

    ``origin`` and ``fetch_site`` are the headers ``Origin`` and ``Sec-Fetch-Site``. A browser sends ``Origin`` with
    every form that is posted; without it only a request that a browser marks as its own counts.
    """
    if origin is None:
        return fetch_site == "same-origin"
    parts = urlsplit(origin)
    return parts.scheme == scheme and parts.netloc.lower() == host.strip().lower()


def scheme_of(listens: str, headers: Mapping[str, str], host: str, *, is_behind_proxy: bool) -> str:
    """Return the scheme by which a browser reaches this console: ``http`` or ``https``.

    ``listens`` is that of the listener. A proxy that has TLS says it in ``X-Forwarded-Proto``. Where it does not, the
    browser does: it has marked the request as one of the page that it is from (``Sec-Fetch-Site``), and that page is of
    this host and ``https``. A page of another site can send neither.
    """
    if is_behind_proxy and "x-forwarded-proto" in headers:
        return "https" if headers["x-forwarded-proto"].rpartition(",")[2].strip().lower() == "https" else "http"
    is_own = is_same_origin(headers.get("origin"), None, "https", host)
    return "https" if is_own and headers.get("sec-fetch-site") == "same-origin" else listens


def session_cookie(identifier: str, *, seconds: int, secure: bool) -> str:
    """Return the value of ``Set-Cookie``. ``seconds`` 0 removes the cookie."""
    return f"{COOKIE}={identifier}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict" + (
        "; Secure" if secure else ""
    )


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0] if host.count(":") == 1 else host
