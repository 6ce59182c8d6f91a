"""JSON answers: well-formed, and the Ignition shape where the document has an ``ignition`` key.

The facts are those of Ignition's configuration specifications 2.0 to 2.4 and 3.0 to 3.6. What the specification
forbids is a finding; a key that it does not know is a warning, because Ignition ignores it. Sources are read as text
and never fetched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from answerd.formats.family import ParseError
from answerd.formats.json import parse
from answerd.validators.tools import ToolRequest
from answerd.validators.verdict import JudgedAnswer, Remarks

NEWEST_MINOR: Mapping[int, int] = {2: 4, 3: 6}
"""Major version of the specification to its newest minor that is known here."""

SCHEMES: Mapping[int, tuple[str, ...]] = {
    2: ("data", "http", "https", "s3", "tftp", "gs", "oem"),
    3: ("data", "http", "https", "s3", "tftp", "gs", "arn"),
}
"""Major version to the schemes that the URL of a source may have."""

MODE_LIMIT = 0o7777

TOP_LEVEL: Mapping[int, frozenset[str]] = {
    2: frozenset({"ignition", "storage", "systemd", "passwd", "networkd"}),
    3: frozenset({"ignition", "storage", "systemd", "passwd", "kernelArguments"}),
}
SECTION_KEYS: Mapping[str, str] = {
    "ignition": "version config timeouts security proxy",
    "storage": "disks raid filesystems files directories links luks",
    "systemd": "units",
    "passwd": "users groups",
    "kernelArguments": "shouldExist shouldNotExist",
}
ENTRY_KEYS: Mapping[str, str] = {
    "storage.files": "filesystem path overwrite contents append mode user group",
    "storage.directories": "filesystem path overwrite mode user group",
    "storage.links": "filesystem path overwrite user group target hard",
    "systemd.units": "name enabled enable mask contents dropins",
}
REQUIRED: Mapping[str, str] = {
    "storage.disks": "device",
    "storage.raid": "name level",
    "storage.files": "path",
    "storage.directories": "path",
    "storage.links": "path",
    "storage.luks": "name",
    "systemd.units": "name",
    "passwd.users": "name",
    "passwd.groups": "name",
}
"""Lists of objects to the string keys that each entry must have."""
NODES = ("storage.files", "storage.directories", "storage.links")
UNIT_TYPES = ("service", "socket", "device", "mount", "automount", "swap", "target", "path", "timer", "slice", "scope")

_SEMVER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


class _Refused(ValueError):
    """A key twice in one object, or a constant that is not a number."""


def judge(answer: JudgedAnswer, remarks: Remarks) -> ToolRequest | None:
    """Judge a JSON text; ignition-validate is to judge an Ignition config too."""
    remarks.judged_by("JSON syntax")
    text = answer.text
    try:
        document = json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except (json.JSONDecodeError, _Refused, RecursionError):
        _refuse_with_place(text, remarks)
        return None
    except ValueError:
        remarks.refuse("not JSON that can be read: it holds a number with too many digits")
        return None
    if not isinstance(document, dict) or "ignition" not in document:
        if answer.format == "ign":
            remarks.warn("no 'ignition' key: Ignition refuses a config without ignition.version")
        return None
    _judge_config(document, remarks)
    remarks.judged_by("Ignition shape")
    return ToolRequest("ignition-validate", text, answer.format)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Refused
    return found


def _constant(_name: str) -> Any:
    raise _Refused


def _refuse_with_place(text: str, remarks: Remarks) -> None:
    """Refuse with the sentence of the family that reads documents, which knows the line."""
    try:
        parse(text)
    except ParseError as error:
        column = f" (column {error.column})" if error.column else ""
        remarks.refuse(f"not JSON: {error.reason}{column}", line=error.line)
    else:
        remarks.refuse("not JSON: nested too deeply to be read")


def _judge_config(document: dict[str, Any], remarks: Remarks) -> None:
    major = _version(document["ignition"], remarks)
    _warn_unknown(document, "", TOP_LEVEL[major], remarks)
    for section, known in SECTION_KEYS.items():
        value = document.get(section)
        if isinstance(value, dict):
            _warn_unknown(value, section, known.split(), remarks)
        elif value is not None and section != "ignition":  # whose version was judged already
            remarks.refuse("must be an object", section)
    paths: dict[str, str] = {}
    for path in REQUIRED:
        section, _, name = path.partition(".")
        table = document.get(section)
        entries = table.get(name) if isinstance(table, dict) else None
        if entries is not None and not isinstance(entries, list):
            remarks.refuse("must be a list of objects", path)
            continue
        for place, entry in enumerate(entries or ()):
            where = f"{path}.{place}"
            if not isinstance(entry, dict):
                remarks.refuse("must be an object", where)
                continue
            _judge_entry(entry, path, where, remarks)
            # In 2.x nodes of different filesystems may share a path.
            if path in NODES and major == 3 and isinstance(named := entry.get("path"), str):  # noqa: PLR2004
                if named in paths:
                    remarks.refuse(f"is already used, in {paths[named]}", f"{where}.path")
                paths.setdefault(named, where)
    for path, source in _sources(document):
        if source is not None and source != "":  # the same as absent: an empty file
            _judge_source(path, source, SCHEMES[major], remarks)


def _version(section: Any, remarks: Remarks) -> int:
    """Return the major version that the config states, 3 where it states none that can be read."""
    where = "ignition.version"
    stated = section.get("version") if isinstance(section, dict) else None
    if not isinstance(stated, str):
        remarks.refuse('is missing: it must be a string such as "3.4.0"', where)
        return 3
    parts = _SEMVER.fullmatch(stated)
    if parts is None or int(parts[1]) not in NEWEST_MINOR:
        remarks.refuse("is not a version of the specification: 2.x.y or 3.x.y", where)
        return 3
    major, minor = int(parts[1]), int(parts[2])
    if parts[4]:
        remarks.warn("is experimental, only the Ignition of that moment takes it", where)
    elif minor > NEWEST_MINOR[major]:
        remarks.warn(f"is newer than {major}.{NEWEST_MINOR[major]}, the newest known here", where)
    return major


def _warn_unknown(table: Mapping[str, Any], path: str, known: Collection[str], remarks: Remarks) -> None:
    for key in table:
        if key not in known:
            where = f"{path}.{key}" if path else key
            remarks.warn(f"not a key of the specification{remarks.did_you_mean(key, known)}", where)


def _judge_entry(entry: Mapping[str, Any], path: str, where: str, remarks: Remarks) -> None:
    for name in REQUIRED[path].split():
        if not isinstance(entry.get(name), str) or not entry[name]:
            remarks.refuse("is missing: it must be a string", f"{where}.{name}")
    if path not in ENTRY_KEYS:
        return
    known = ENTRY_KEYS[path].split()
    _warn_unknown(entry, where, known, remarks)
    for key in ("overwrite", "enabled", "enable", "mask"):
        if key in known and key in entry and not isinstance(entry[key], bool):
            remarks.refuse("must be true or false", f"{where}.{key}")
    if path == "systemd.units":
        unit = entry.get("name")
        if isinstance(unit, str) and unit and unit.rpartition(".")[2] not in UNIT_TYPES:
            remarks.refuse("has no systemd unit type, such as .service", f"{where}.name")
        if "contents" in entry and not isinstance(entry["contents"], str):
            remarks.refuse("must be a string", f"{where}.contents")
    else:
        _judge_node(entry, path, where, remarks)


def _judge_node(entry: Mapping[str, Any], path: str, where: str, remarks: Remarks) -> None:
    """Judge a file, directory or link: an absolute path, a mode in decimal, contents for a file that is overwritten."""
    named, mode = entry.get("path"), entry.get("mode")
    if isinstance(named, str) and named and not named.startswith("/"):
        remarks.refuse("is not absolute", f"{where}.path")
    if mode is not None and (isinstance(mode, bool) or not isinstance(mode, int) or not 0 <= mode <= MODE_LIMIT):
        remarks.refuse(f"must be a whole decimal number, 0 to {MODE_LIMIT} (0644 is 420)", f"{where}.mode")
    if "contents" in entry and not isinstance(entry["contents"], dict):
        remarks.refuse("must be an object with a source", f"{where}.contents")
    if entry.get("overwrite") is True and path == "storage.files" and "contents" not in entry:
        remarks.refuse("needs contents to write", f"{where}.overwrite")


def _sources(document: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (path, value) of every ``source``, in the document's order. Without recursion, for deep documents."""
    waiting: list[tuple[str, Any]] = [("", document)]
    while waiting:
        where, item = waiting.pop()
        if where.rpartition(".")[2] == "source":
            yield where, item
        else:
            pairs = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
            waiting += reversed([(f"{where}.{key}" if where else str(key), child) for key, child in pairs])


def _judge_source(where: str, source: object, schemes: tuple[str, ...], remarks: Remarks) -> None:
    scheme = _SCHEME.match(source) if isinstance(source, str) else None
    if scheme is None:
        remarks.refuse(f"must be a URL ({', '.join(schemes)})", where)
    elif scheme[1].lower() not in schemes:
        remarks.refuse(f"Ignition cannot fetch URLs of this scheme (only {', '.join(schemes)})", where)
