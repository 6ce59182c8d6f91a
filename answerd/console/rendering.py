"""Templates to HTML: the folder of templates, and the small functions that every template may use."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from secrets import token_urlsafe
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import bottle

from answerd.identity import is_mac
from answerd.installs.shown import last_lines

HERE = Path(__file__).parent
TEMPLATES = HERE / "templates"
STATIC = HERE / "static"

STATIC_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
    ".svg": "image/svg+xml",
}

NAVIGATION = (
    ("/console/", "Now"),
    ("/console/machines", "Machines"),
    ("/console/documents", "Documents"),
    ("/console/history", "History"),
    ("/console/try", "Try"),
    ("/console/check", "Check"),
    ("/console/settings", "Settings"),
)
"""The links at the top of each page."""

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def page(template: str, **values: Any) -> bytes:
    """Return a template, filled. Everything that a template writes is escaped unless it says otherwise."""
    text: str = _template(template).render(**_FUNCTIONS, **values)
    return text.encode("utf-8", "replace")


class _Template(bottle.SimpleTemplate):  # type: ignore[misc]
    """A template whose names are gone once it is filled.

    Bottle gives the code of a template functions that have the dictionary of its names: a cycle, which kept each page's
    request, and so the file that its form brought, until the collector ran.
    """

    def execute(self, _stdout: list[str], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Run the template's code, and that of the templates that it includes or is put into. ``_stdout`` gets the
        text."""
        names = {**kwargs, "_stdout": _stdout, "_printlist": _stdout.extend, "_rebase": None}
        names |= {"_str": self._str, "_escape": self._escape, "defined": names.__contains__}
        names |= {"include": partial(self._include, names), "rebase": partial(self._rebase, names)}
        try:
            exec(self.co, names)  # noqa: S102 - the templates are part of the package
            if names["_rebase"] is not None:
                around, given = names.pop("_rebase")
                given["base"] = "".join(_stdout)
                _stdout.clear()
                self._include(names, around, **given)
        finally:
            names.clear()
        return {}


@lru_cache(maxsize=64)
def _template(name: str) -> Any:
    return _Template(name=f"{name}.tpl", lookup=[str(TEMPLATES)])


def prepare() -> None:
    """Read the static files and compile the templates, which takes some 60 ms, before the first page is asked for."""
    static_files()
    for path in TEMPLATES.glob("*.tpl"):
        _ = _template(path.stem).co  # is made when it is first looked at


class StaticFile(NamedTuple):
    """A static file. ``tag``: the first characters of its SHA-256. ``packed``: the content with gzip; empty where that
    saves nothing."""

    content: bytes
    content_type: str
    tag: str
    packed: bytes


@lru_cache(maxsize=1)
def static_files() -> Mapping[str, StaticFile]:
    """Return the static files by name."""
    found = {}
    for path in sorted(STATIC.rglob("*")):
        if path.is_file() and path.suffix in STATIC_TYPES:
            content = path.read_bytes()
            name = path.relative_to(STATIC).as_posix()
            packed = gzip.compress(content, mtime=0)
            tag = hashlib.sha256(content).hexdigest()[:12]
            is_less = len(packed) < len(content)
            found[name] = StaticFile(content, STATIC_TYPES[path.suffix], tag, packed if is_less else b"")
    return found


def static(name: str) -> str:
    """Return the address of a static file. It changes with the content, so a browser may keep the file for ever."""
    return f"/console/static/{name}?v={static_files()[name].tag}"


def link(path: str, **parameters: object) -> str:
    """Return a path with a query string of the parameters that have a value; a list has several."""
    given = {
        name: value if isinstance(value, list) else str(value)
        for name, value in parameters.items()
        if value not in (None, "", False, [])
    }
    return f"{path}?{urlencode(given, doseq=True, errors='replace')}" if given else path


def machine_link(name: str) -> str:
    """Return the address of a machine's page."""
    return f"/console/machine?{urlencode({'id': name}, errors='replace')}"


def document_link(kind: object, identifier: str, extension: str) -> str:
    """Return the address of a document's page."""
    return link("/console/document", kind=str(kind), name=identifier, format=extension)


def ago(when: float | str | None) -> str:
    """Return the time since a moment as words: ``3 min ago``, ``just now``; empty for None. Seconds count from 1970 in
    UTC."""
    then = _moment(when)
    if then is None:
        return ""
    seconds = int((datetime.now(UTC) - then).total_seconds())
    for unit, word in _UNITS:
        if abs(seconds) >= unit:
            return f"{seconds // unit} {word} ago" if seconds > 0 else f"in {-seconds // unit} {word}"
    return f"{seconds} s ago" if seconds > 1 else "just now"


def exact(when: float | str | None) -> str:
    """Return a moment in UTC for a title: ``2026-11-20 21:00:00 UTC``; empty for None."""
    then = _moment(when)
    if then is None:
        return "" if when is None else str(when)
    return f"{then.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


class Piece(NamedTuple):
    """A part of a sentence; with an ``address`` it is a link. ``at`` is a time in its place, shown as how long ago."""

    text: str
    address: str = ""
    at: float | str | None = None


def in_pieces(pieces: Sequence[Piece]) -> str:
    """Return a sentence as HTML, with its links and times."""
    return "".join(map(_piece, pieces))


def _piece(piece: Piece) -> str:
    escape = bottle.html_escape
    if piece.at is not None:
        return f'<time datetime="{stamp(piece.at)}" title="{exact(piece.at)}">{ago(piece.at)}</time>'
    text = escape(piece.text)
    return f'<a href="{escape(piece.address)}">{text}</a>' if piece.address else str(text)


def stamp(when: float | str | None) -> str:
    """Return a moment for ``datetime`` of an element: ``2026-11-20T21:00:00Z``; empty where it is none."""
    then = _moment(when)
    return f"{then.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if then is not None else ""


def _moment(when: float | str | None) -> datetime | None:
    """Return the time that a page gives; None for None, and for a text that is not a time in ISO 8601."""
    if isinstance(when, str):
        try:
            then = datetime.fromisoformat(when)
        except ValueError:
            return None
        return then if then.tzinfo is not None else then.replace(tzinfo=UTC)
    return None if when is None else datetime.fromtimestamp(when, UTC)


def counted(count: int, word: str, plural: str = "") -> str:
    """Return a number with its word: ``1 machine``, ``1,204 machines``."""
    return f"{count:,} {word if count == 1 else plural or word + 's'}"


def on_page(count: int, wanted: int, most: int) -> tuple[int, int]:
    """Return how many pages ``count`` things take, ``most`` on each, and the number of the page that is ``wanted``, or
    is nearest to it."""
    pages = max(1, -(-count // most))
    return pages, min(max(wanted, 1), pages)


def page_numbers(at: int, pages: int) -> list[int]:
    """Return the numbers of the pages that are linked: the first, the last and those around ``at``, and 0 for a gap."""
    near = sorted({1, pages, *(number for number in range(at - 2, at + 3) if 1 <= number <= pages)})
    numbers: list[int] = []
    for number in near:
        if numbers and number - numbers[-1] > 1:
            numbers.append(0 if number - numbers[-1] > 2 else number - 1)  # noqa: PLR2004 - one page is no gap
        numbers.append(number)
    return numbers


def diff_class(line: str) -> str:
    """Return the class of a line of a unified diff."""
    return {"+": "add", "-": "del", "@": "at"}.get(line[:1], "")


def once() -> str:
    """Return what a form carries so that it is carried out once, however often its button is pressed."""
    return token_urlsafe(8)


def as_json(value: object) -> str:
    """Return JSON for an attribute of an element."""
    return json.dumps(value, ensure_ascii=False)


def points(values: Sequence[int]) -> str:
    """Return the points of an SVG line through ``values``, the largest at the top: 300 wide, from 2 down to 42."""
    top, step = max(*values, 1), 300 / max(len(values) - 1, 1)
    return " ".join(f"{at * step:.1f},{42 - value / top * 40:.1f}" for at, value in enumerate(values))


_FUNCTIONS: Mapping[str, Any] = {
    "ago": ago,
    "as_json": as_json,
    "counted": counted,
    "last_lines": last_lines,
    "diff_class": diff_class,
    "document_link": document_link,
    "exact": exact,
    "in_pieces": in_pieces,
    "is_mac": is_mac,
    "link": link,
    "machine_link": machine_link,
    "navigation": NAVIGATION,
    "once": once,
    "page_numbers": page_numbers,
    "points": points,
    "quote": quote,
    "stamp": stamp,
    "static": static,
}
