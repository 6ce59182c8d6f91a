"""JSON answers: well-formed, and Ignition's or Agama's rules where the document is one of theirs.

Rules of the specifications 3.0 to 3.6 are data (``rules/ignition.json``); here is what a schema cannot say. Of 2.0 to
2.4 sources are judged. A key that the specification does not know is a warning, because Ignition ignores it; one
that is nearly known, or Butane's, is a finding. Sources are read as text and never fetched.
"""

from __future__ import annotations

import base64
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from answerd.formats.family import ParseError
from answerd.formats.json import parse
from answerd.formats.origins import line_of
from answerd.formats.positions import json_lines
from answerd.validators.password_hashes import judge_hash
from answerd.validators.schema import Path, Program, nearest, rules
from answerd.validators.schema import judge as judge_by_rules
from answerd.validators.tools import ToolRequest
from answerd.validators.verdict import JudgedAnswer, Remarks

NEWEST_MINOR: Mapping[int, int] = {2: 4, 3: 6}
"""Major version of the specification to its newest minor that is known here."""

NEWEST = (3, NEWEST_MINOR[3])

SCHEMES: Mapping[int, tuple[str, ...]] = {
    2: ("data", "http", "https", "s3", "tftp", "gs", "oem"),
    3: ("data", "http", "https", "s3", "tftp", "gs", "arn"),
}
"""Major version to the schemes that the URL of a source may have."""

NODES = ("files", "directories", "links")

ITEM_KEYS: Mapping[str, str] = {
    **dict.fromkeys(NODES, "path"),
    "disks": "device",
    "raid": "name",
    "luks": "name",
    "filesystems": "device",
    "tang": "url",
    "units": "name",
    "dropins": "name",
    "users": "name",
    "groups": "name",
    "merge": "source",
    "certificateAuthorities": "source",
    "httpHeaders": "name",
}
"""A list of objects, by its own key, to the key that may not repeat in it. A list of strings repeats none."""

MAY_REPEAT = frozenset({"options", "mountOptions", "openOptions"})
"""Lists of strings for the command line of a program: they alone may have one twice."""

ONE_LIST = (frozenset(NODES), frozenset({"shouldExist", "shouldNotExist"}))
"""Lists beside each other that may not have one item twice between them."""

AGAMA = Program("Agama", "an object")
IGNITION = Program("Ignition", "an object")

BUTANE: Mapping[str, str] = {
    "inline": "source with a data URL",
    "local": "source",
    "trees": "storage.files",
    "with_mount_unit": "a unit",
    "contents_local": "contents",
}
"""Words of Butane's own, which Butane translates, to what Ignition has. Others differ by their spelling only."""

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
        if answer.format == "json" and isinstance(document, dict) and _is_agama(document):
            remarks.judged_by("Agama rules")
            line = _lines(text)
            judge_by_rules("agama", document, remarks, AGAMA, line=line)
            for section in ("root", "user"):
                who = document.get(section)
                if isinstance(who, dict) and who.get("hashedPassword") is True:
                    _judge_hash(who, (section, "password"), remarks, line)
        if answer.format == "ign":
            remarks.refuse("is missing: Ignition refuses a config without its version", "ignition.version")
        return None
    _judge_config(document, text, remarks)
    remarks.judged_by("Ignition rules")
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


def _lines(text: str) -> Callable[[Path, bool], int | None]:
    """Return a function from a path to its line, which reads the text when it is first asked."""
    lines: dict[tuple[str, ...], int] = {}

    def line(path: Path, _is_key: bool) -> int | None:
        if not lines:
            lines.update(json_lines(text))
        return line_of(tuple(map(str, path)), lines)

    return line


_AGAMA_ONLY = frozenset({"product", "l10n", "localization", "dasd", "zfcp", "iscsi", "legacyAutoyastStorage"})
"""Sections that tell a profile of Agama from other JSON by their name."""


def _is_agama(document: Mapping[str, Any]) -> bool:
    """Return whether a JSON object is a profile of Agama: each key is one of its sections, or nearly, and one of them
    is Agama's alone, or has a key of its own. One with a product and another such section may have any key."""
    sections = rules("agama")["properties"]
    found = {key: key if key in sections else nearest(key, (*sections,)) for key in document}
    telling = [
        name
        for key, name in found.items()
        if name in _AGAMA_ONLY
        or (name and isinstance(document[key], dict) and document[key].keys() & {*sections[name].get("properties", ())})
    ]
    return bool(telling) and (None not in found.values() or ("product" in telling and len(telling) > 1))


def _judge_config(document: dict[str, Any], text: str, remarks: Remarks) -> None:
    version = _version(document["ignition"], remarks)
    line = _lines(text)
    if version[0] == 3:  # noqa: PLR2004
        section = document["ignition"] if isinstance(document["ignition"], dict) else {}
        judged = {**document, "ignition": {**section, "version": "3.0.0"}}  # the version has been judged
        judge_by_rules("ignition", judged, remarks, IGNITION, line=line)
        for path, sentence in (
            *_newer_keys(document, version[1]),
            *_butane_words(document),
            *_contradictions(document),
        ):
            remarks.refuse(sentence, ".".join(map(str, path)), line(path, False))
    for place, user in _entries(document, "passwd", "users"):
        _judge_hash(user, ("passwd", "users", place, "passwordHash"), remarks, line)
    for where, source in _sources(document):
        if source is not None and source != "":  # the same as absent: an empty file
            _judge_source(where, source, SCHEMES[version[0]], remarks, line(tuple(where.split(".")), False))


def _judge_hash(
    user: Mapping[str, Any], path: Path, remarks: Remarks, line: Callable[[Path, bool], int | None]
) -> None:
    password = user.get(str(path[-1]))
    if password and isinstance(password, str):
        judge_hash(password, remarks, ".".join(map(str, path)), line(path, False))


def _newer_keys(document: Any, minor: int) -> Iterator[tuple[Path, str]]:
    """Yield the keys that a later specification brought: Ignition passes over them."""
    for path, known, value in _known_keys(rules("ignition"), document):
        comment = known.get("$comment", "")
        if comment.startswith("since 3.") and int(comment.split(".")[1]) > minor and value is not None:
            yield path, f"is of specification {comment.removeprefix('since ')}: an older one passes over it"


def _known_keys(schema: Any, value: Any, path: Path = ()) -> Iterator[tuple[Path, Any, Any]]:
    """Yield each key of a value that the rules list: its path, its schema and its value."""
    reference = schema.get("$ref")
    if reference is not None:
        schema = rules("ignition")["$defs"][reference.rpartition("/")[2]]
    if isinstance(value, dict):
        for key, child in value.items():
            if (known := schema.get("properties", {}).get(key)) is not None:
                yield (*path, key), known, child
                yield from _known_keys(known, child, (*path, key))
    elif isinstance(value, list) and "items" in schema:
        for place, child in enumerate(value):
            yield from _known_keys(schema["items"], child, (*path, place))


def _butane_words(document: Any) -> Iterator[tuple[Path, str]]:
    """Yield the keys that only Butane has, where the config has not been through it."""
    for path, _known, value in _known_keys(rules("ignition"), document):
        for place, item in enumerate(value) if isinstance(value, list) else ((None, value),):
            for key in item if isinstance(item, dict) else ():
                if key in BUTANE:
                    where = (*path, key) if place is None else (*path, place, key)
                    yield where, f"is a word of Butane, which makes {BUTANE[key]} of it: translate the config with it"


def _contradictions(document: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield what holds between values: names that repeat, paths, partitions."""
    yield from _repeated(document)
    for path, _known, value in _known_keys(rules("ignition"), document):
        if path[-1] == "verification" and isinstance(value, dict) and value.get("hash") is not None:
            resource: Any = document
            for step in path[:-1]:
                resource = resource[step]
            if resource.get("source") is None:
                yield (*path, "hash"), "needs a source: it is the sum of what is fetched from there"
    for name in NODES:
        for place, node in _entries(document, "storage", name):
            where: Path = ("storage", name, place)
            contents = node.get("contents")
            lacks = contents is None or (isinstance(contents, dict) and contents.get("source") is None)
            if name == "files" and node.get("overwrite") is True and lacks:
                yield (*where, "overwrite"), "needs contents with a source to write"
            for owner in ("user", "group"):
                who = node.get(owner)
                if isinstance(who, dict) and who.get("id") is not None and who.get("name") not in (None, ""):
                    yield (*where, owner), "has both id and name: one of them says who"
    yield from _repeated_mounts(document)
    for place, disk in _entries(document, "storage", "disks"):
        yield from _partition_faults(disk, ("storage", "disks", place))
    for place, unit in _entries(document, "systemd", "units"):
        contents = unit.get("contents")
        if isinstance(contents, str) and (wrong := _unit_fault(contents)):
            yield ("systemd", "units", place, "contents"), wrong


def _entries(document: Any, section: str, name: str) -> list[tuple[int, dict[str, Any]]]:
    table = document.get(section)
    return _listed(table.get(name) if isinstance(table, dict) else None)


def _listed(items: Any) -> list[tuple[int, dict[str, Any]]]:
    """Return the objects of a list with their places; none where it is no list."""
    found = enumerate(items if isinstance(items, list) else ())
    return [(place, item) for place, item in found if isinstance(item, dict)]


def _repeated(document: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield the items that are in a list twice."""
    first: dict[tuple[Path, str], Path] = {}
    for path, _known, value in _known_keys(rules("ignition"), document):
        listed = path[-1]
        if not isinstance(value, list) or listed in MAY_REPEAT:
            continue
        beside = next((min(names) for names in ONE_LIST if listed in names), listed)
        for place, item in enumerate(value):
            where: Path = (*path, place)
            key = ITEM_KEYS.get(str(listed)) if isinstance(item, dict) else None
            name = item.get(key) if key else item
            if isinstance(name, str) and first.setdefault(((*path[:-1], beside), name), where) != where:
                other = ".".join(map(str, first[(*path[:-1], beside), name]))
                yield (*where, key) if key else where, f"is already used, in {other}"


def _repeated_mounts(document: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    first: dict[str, int] = {}
    for place, filesystem in _entries(document, "storage", "filesystems"):
        path = filesystem.get("path")
        if path and isinstance(path, str) and first.setdefault(path, place) != place:
            yield ("storage", "filesystems", place, "path"), f"is already used, in storage.filesystems.{first[path]}"


def _partition_faults(disk: dict[str, Any], where: Path) -> Iterator[tuple[Path, str]]:
    numbers: set[int] = set()
    labels: set[str] = set()
    spans: list[tuple[int, int, int]] = []
    for place, partition in _listed(disk.get("partitions")):
        at: Path = (*where, "partitions", place)
        number, label = partition.get("number", 0), partition.get("label")
        start, size = partition.get("startMiB"), partition.get("sizeMiB")
        if not number and not label:
            yield at, "needs a number from 1 or a label"
        if isinstance(number, int) and number:
            if number in numbers:
                yield (*at, "number"), "is already used"
            numbers.add(number)
        if isinstance(label, str) and label:
            if label in labels:
                yield (*at, "label"), "is already used"
            labels.add(label)
        if isinstance(start, int) and isinstance(size, int) and start > 0 and size > 0:
            spans.append((start, start + size, place))
    spans.sort()
    for before, after in itertools.pairwise(spans):
        if after[0] < before[1]:
            yield (*where, "partitions", after[2], "startMiB"), f"is within partitions.{before[2]}"


def _unit_fault(contents: str) -> str | None:
    """Return what is wrong with the text of a unit by systemd's syntax."""
    goes_on, has_section = False, False
    for number, line in enumerate(contents.splitlines(), 1):
        stripped = line.strip()
        if goes_on:
            goes_on = stripped.endswith("\\")
        elif stripped.startswith("["):
            if not stripped.endswith("]"):
                return f"line {number} of the unit: a section's name ends in ']'"
            has_section = True
        elif stripped and not stripped.startswith(("#", ";")):
            if not has_section or "=" not in stripped:
                return f"line {number} of the unit: neither a section nor an option with '='"
            goes_on = stripped.endswith("\\")
    return None


def _version(section: Any, remarks: Remarks) -> tuple[int, int]:
    """Return the version that the config states, major and minor; the newest where it states none that can be read."""
    where = "ignition.version"
    stated = section.get("version") if isinstance(section, dict) else None
    if not isinstance(stated, str):
        remarks.refuse('is missing: it must be a string such as "3.4.0"', where)
        return NEWEST
    parts = _SEMVER.fullmatch(stated)
    if parts is None or int(parts[1]) not in NEWEST_MINOR:
        remarks.refuse("is not a version of the specification: 2.x.y or 3.x.y", where)
        return NEWEST
    major, minor = int(parts[1]), int(parts[2])
    if parts[4]:
        remarks.warn("is experimental, only the Ignition of that moment takes it", where)
    elif minor > NEWEST_MINOR[major]:
        remarks.warn(f"is newer than {major}.{NEWEST_MINOR[major]}, the newest known here", where)
    return major, minor


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


def _judge_source(
    where: str, source: object, schemes: tuple[str, ...], remarks: Remarks, line: int | None = None
) -> None:
    scheme = _SCHEME.match(source) if isinstance(source, str) else None
    if scheme is None or not isinstance(source, str):
        if source is None or isinstance(source, str):  # another type is found by the rules
            remarks.refuse(f"must be a URL ({', '.join(schemes)})", where, line)
    elif scheme[1].lower() not in schemes:
        remarks.refuse(f"Ignition cannot fetch URLs of this scheme (only {', '.join(schemes)})", where, line)
    elif scheme[1].lower() == "data" and (wrong := _data_url_fault(source)):
        remarks.refuse(wrong, where, line)


_NOT_PLAIN_DATA = re.compile(r"[^A-Za-z0-9\-_.!~*'();/?:@&=+$,%]|%(?![0-9A-Fa-f]{2})")
"""What RFC 2397 does not allow in data that are not base64."""


def _data_url_fault(source: str) -> str | None:
    head, comma, data = source.partition(",")
    if not comma:
        return "a data URL has a comma before its data"
    if head.lower().endswith(";base64"):
        try:
            base64.b64decode(data.replace("\n", ""), validate=True)
        except ValueError:
            return "the data are not base64"
    elif _NOT_PLAIN_DATA.search(data):
        return "the data of a data URL are letters, digits and signs of a URL: write others as %XX, such as %20 and %25"
    return None
