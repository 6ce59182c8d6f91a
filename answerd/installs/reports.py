"""Read a report: an installer's request, in any of the forms that installers send, becomes a `Report`.

Rules: docs/install-once.md#reports. Content decides and not the header, because ``curl -d`` calls everything a form.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

import orjson

from answerd.installs.states import ReportKind
from answerd.short_texts import cut

LONGEST_MESSAGE = 500
"""Characters of a message that are kept: it is shown in a line of a table."""

MOST_FIELDS = 1_000
"""Fields of a query or form that are looked at; a report has two or three."""

_FORM = "application/x-www-form-urlencoded"
_A_FIELD = re.compile(rb"(?:state|message|reason|percent)=", re.IGNORECASE)
"""How a form begins that a client sends without a ``Content-Type``."""

_STRING: Final = rb'"(?:[^"\\]|\\.)*'
_PAIR: Final = _STRING + rb'"\s*:\s*(?:' + _STRING + rb'"|[-+.0-9eE]++|true|false|null)\s*'
_TOKENS: Final = re.compile(_STRING + rb'("?)|[{}\[\],]', re.DOTALL)
_LAST_PAIRS: Final = re.compile(rb",\s*(" + _PAIR + rb"(?:,\s*" + _PAIR + rb")*)\}\s*\Z", re.DOTALL)
_LONGEST_LAST_PAIRS: Final = 4_096
"""Bytes at the end of a long JSON object in which its last pairs are looked for: those that are short."""

_CONTINUATION: Final = bytes(range(0x80, 0xC0))
"""The bytes of a UTF-8 character after its first."""
_LONGEST_REST_OF_A_CHARACTER: Final = 3

_MOST_PERCENT = 100
_SHUTDOWN = "subiquity/Shutdown/shutdown"
_INSTALL = "subiquity/Install/install"
_LATE = "subiquity/Late/"
_PROXMOX_ONLY = ("debian-version", "machine-id", "ssh-public-host-keys", "kernel-version")
"""Keys of Proxmox' webhook in every release that the request for an answer, which is like it, does not have."""


class Report(NamedTuple):
    """A machine's report about its install. ``summary`` is one line for the history; ``kept`` is what is kept of the
    body (`joined`)."""

    word: ReportKind
    message: str | None = None
    percent: float | None = None
    summary: str = ""
    kept: bytes = b""


class Body(NamedTuple):
    """The body of a report: its first bytes, how many are left out, and its last bytes: the last lines of a log show
    why an install failed. Of one without a gap, ``first`` is all."""

    first: bytes
    left_out: int = 0
    last: bytes = b""


WORDS: Mapping[str, ReportKind] = {word.value: word for word in ReportKind}
"""The words that may follow a token in a path, and the values of ``state``."""


def read_report(word: ReportKind | None, query: str, headers: Iterable[tuple[str, str]], body: Body) -> Report:
    """Return the report in a request. ``word`` is that of the path, None where it has none; ``query`` is undecoded.
    Never raises: a body of an unknown form is news.
    """
    of_query = _fields(query)
    value = _json_of_ends(body) if body.left_out else _json(body.first)
    form = {} if value is not None else _form(headers, body)
    sent = _of_json(value) if isinstance(value, dict) else form
    fields = sent | of_query
    # A word in the query that is none does not hide the body's.
    words = [WORDS.get(said.get("state", "").strip().lower()) for said in (of_query, sent)]
    stated = None if word is not None else next((found for found in words if found is not None), None)
    meaning = (stated, "") if word is not None or stated is not None else _meaning(value, form)
    found = word or meaning[0] or ReportKind.PROGRESS
    message = fields.get("message") or fields.get("reason") or meaning[1]
    if not message and value is None and not _is_fields(form):
        is_log = found is ReportKind.FAILED and len(body.first) > LONGEST_MESSAGE
        message = _line(body.last or body.first, is_last=True) if is_log else _line(body.first)
    return Report(
        found,
        _message(message) or None,
        _percent(fields.get("percent")),
        _event_line(value),
        joined(*body),
    )


def joined(first: bytes, left_out: int = 0, last: bytes = b"") -> bytes:
    """Return the kept parts of a body as one text, with a line between them that says how many bytes are left out. What
    a cut left of a UTF-8 character is left out too."""
    if not left_out:
        return first
    whole = first[: codecs.utf_8_decode(first, "replace", False)[1]]
    rest = last[:_LONGEST_REST_OF_A_CHARACTER].lstrip(_CONTINUATION) + last[_LONGEST_REST_OF_A_CHARACTER:]
    left_out += len(first) - len(whole) + len(last) - len(rest)
    return b"%b\n[%b bytes left out]\n%b" % (whole, f"{left_out:,}".encode(), rest)


def _meaning(value: Any, form: Mapping[str, str]) -> tuple[ReportKind | None, str]:
    """Return the meaning of an installer's own body, with a message; None where the body is of no known installer."""
    if "instance_id" in form or any(name.startswith("pub_key_") for name in form):
        return ReportKind.INSTALLED, f"phone_home of {form.get('hostname') or 'cloud-init'}"
    if not isinstance(value, dict):
        return None, ""
    if isinstance(value.get("product"), dict) and any(name in value for name in _PROXMOX_ONLY):
        product = value["product"]
        parts = [product[key] for key in ("fullname", "version") if isinstance(product.get(key), str)]
        return ReportKind.INSTALLED, " ".join(parts)
    name = value.get("name")
    if not isinstance(name, str) or "event_type" not in value:
        return None, ""
    return _meaning_of_event(name, value), _event_line(value)


def _meaning_of_event(name: str, event: Mapping[str, Any]) -> ReportKind:
    """Return the meaning of an event of curtin or cloud-init. Only the start of the shutdown is sure: it comes after
    everything else, and its finish may be lost."""
    if event.get("origin") == "cloudinit":
        return ReportKind.PROGRESS
    kind = event["event_type"]
    if name == _SHUTDOWN and kind == "start":
        return ReportKind.INSTALLED
    has_failed = kind == "finish" and event.get("result") == "FAIL" and (name == _INSTALL or name.startswith(_LATE))
    return ReportKind.FAILED if has_failed or kind == "error" else ReportKind.PROGRESS


def _event_line(value: Any) -> str:
    if not isinstance(value, dict) or "event_type" not in value:
        return ""
    parts = [value.get(key) for key in ("event_type", "name", "result", "description")]
    return _message(" ".join(part for part in parts if isinstance(part, str) and part))


def _json(body: bytes) -> Any:
    """Return the value of a JSON body; None for what is no JSON, and for a lone ``null``."""
    try:
        return orjson.loads(body.removeprefix(b"\xef\xbb\xbf")) if body else None
    except ValueError:
        return None


def _json_of_ends(body: Body) -> dict[str, Any] | None:
    """Return what can be read of a JSON object without its middle: its pairs that are whole in the beginning, and the
    scalars that are its last pairs. None where it is no object."""
    first = body.first.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not first.startswith(b"{"):
        return None
    end = _end_of_whole_pairs(first)
    found = _json(first[:end] + b"}") if end else {}
    last_pairs = _LAST_PAIRS.search(body.last[-_LONGEST_LAST_PAIRS:])
    ending = _json(b"{" + last_pairs[1] + b"}") if last_pairs else {}
    if not isinstance(found, dict):
        return None
    return found | ending if isinstance(ending, dict) else found


def _end_of_whole_pairs(text: bytes) -> int:
    """Return where the last comma between two pairs of the JSON object is that a text begins with; 0 where none is."""
    depth, end = 0, 0
    for token in _TOKENS.finditer(text):
        sign = token[0]
        if sign[:1] == b'"':
            if not token[1]:  # the string does not end in this text
                break
        elif sign == b",":
            end = token.start() if depth == 1 else end
        else:
            depth += 1 if sign in b"{[" else -1
    return end


def _of_json(value: Mapping[str, Any]) -> dict[str, str]:
    """Return the scalars at the top of a JSON body, by case-folded name."""
    kept = {name.casefold(): field for name, field in value.items() if isinstance(field, str | int | float)}
    return {name: str(field) for name, field in kept.items() if not isinstance(field, bool)}


def _form(headers: Iterable[tuple[str, str]], body: Body) -> dict[str, str]:
    """Return the fields of a body that is sent as a form, or without a type and is one; none where it is not. Of one
    without its middle also those that are whole in its end."""
    types = [value.partition(";")[0].strip().lower() for name, value in headers if name == "content-type"]
    if _FORM not in types and (types or not _A_FIELD.match(body.first)):
        return {}
    fields = _fields(body.first.decode("latin-1").strip("\r\n"))
    if body.left_out and _is_fields(fields):
        fields = _fields(body.last.partition(b"&")[2].decode("latin-1").strip("\r\n")) | fields
    return fields


def _is_fields(form: Mapping[str, str]) -> bool:
    """Whether a form is more than a text that ``curl`` sent as one."""
    return any(name.isidentifier() for name in form)


def _fields(text: str) -> dict[str, str]:
    """Return the pairs of a query or form by case-folded name, the first of each name."""
    found: dict[str, str] = {}
    pieces = "&".join(text.split("&", MOST_FIELDS)[:MOST_FIELDS])
    for name, value in parse_qsl(pieces, encoding="utf-8", errors="replace"):
        found.setdefault(name.casefold(), value)
    return found


def _line(body: bytes, *, is_last: bool = False) -> str:
    """Return the first line that is not blank, or the last one: a log ends in its error."""
    lines = body.decode("utf-8", "replace").splitlines()
    return next((line.strip() for line in (reversed(lines) if is_last else lines) if line.strip()), "")


def _message(text: str) -> str:
    """Return a message on one line, without control characters."""
    line = "".join(sign if sign.isprintable() else " " for sign in text[: 2 * LONGEST_MESSAGE])
    return cut(" ".join(line.split()), LONGEST_MESSAGE)


def _percent(text: str | None) -> float | None:
    """Return a number from 0 to 100, with or without a percent sign; None for anything else."""
    try:
        percent = float((text or "").strip().removesuffix("%"))
    except ValueError:
        return None
    return percent if 0 <= percent <= _MOST_PERCENT else None
