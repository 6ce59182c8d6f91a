"""matchbox: groups, profiles and their templates, as in `/var/lib/matchbox`.

A profile becomes a group of documents: an iPXE script from its "boot", and its Ignition, cloud-config and generic
template. A matchbox group becomes machine documents over them where it selects a MAC address, a serial number or a
UUID, with its metadata as columns of the inventory; else a group document with the same selector, the metadata
written in.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from answerd.formats import FORMATS
from answerd.migrate.logic import JINJA, NoCounterpart, judged, name_of, of_go, quoted
from answerd.migrate.result import MigratedData, MigrationError, group_name, is_column, machine_name
from answerd.migrate.source import Source
from answerd.migrate.texts import TEXT_FORMATS, format_of, text_of, with_control

IDENTIFYING = ("mac", "serial", "uuid")
"""Selectors that name one machine, the best name first."""

TEMPLATES = (("ignition_id", "ignition", "ign"), ("cloud_id", "cloud", "yaml"), ("generic_id", "generic", "cfg"))
"""Field of a profile, folder of its files, extension that they get here; a generic file keeps that of an installer."""

ASSETS = "http://ASSETS.EXAMPLE.ORG"
"""The placeholder in scripts for the web server that is to serve the kernels; this service serves no files."""

_ACTION = re.compile(r"\{\{-?(?P<inside>(?:[^{}]++|[{}](?![{}]))*)\}\}")
_FIELD = re.compile(r"\.(?:request\.query\.)?(?P<label>[A-Za-z_]\w*(?:\.\w+)*)\Z")


@dataclass(frozen=True)
class Profile:
    name: str
    texts: Mapping[str, str]


def read(source: Source) -> MigratedData:
    """Read a data directory. Raises `MigrationError` where it has no groups and profiles."""
    path = source.path
    groups, profiles = path / "groups", path / "profiles"
    if not groups.is_dir() or not profiles.is_dir():
        raise MigrationError(f"{path} has no directories groups and profiles")
    data = MigratedData()
    known = {}
    for file in sorted(profiles.glob("*.json")):
        stored = _json(source, file)
        profile = _profile(stored, source, data)
        known[str(stored.get("id", file.stem))] = profile
        for extension, text in profile.texts.items():
            data.add(f"groups/{profile.name}.{extension}", text, f"profile {file.stem}")
    for file in _files_of_groups(source, groups, data):
        _group(_json(source, file), file.stem, file.relative_to(groups).with_suffix("").as_posix(), known, data)
    if any("${assets}" in text for text in data.documents.values()):
        data.add_task(f"matchbox served kernels below /assets: put a web server that has them in place of {ASSETS}.")
    data.add_task('The URLs in kernel arguments name the old host: look for "http://" in the .ipxe documents.')
    return data


def _files_of_groups(source: Source, groups: Path, data: MigratedData) -> list[Path]:
    """Return the files of groups that matchbox reads: none in a directory below, which it does not enter.

    Its own examples have a directory for each of several sets, and no file beside them: then those of all are read.
    """
    below = sorted(groups.glob("*/**/*.json"))
    read_files = sorted(groups.glob("*.json"))
    if not read_files:
        return below
    for file in below:
        place = file.relative_to(groups).with_suffix("").as_posix()
        text = source.content(file).decode("utf-8", "replace")
        data.leave_out(f"group {place}", "matchbox reads no directory below groups", text)
    return read_files


def _json(source: Source, file: Path) -> dict[str, Any]:
    try:
        value = json.loads(source.content(file))
    except ValueError as error:
        raise MigrationError(f"{file} is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise MigrationError(f"{file} is no JSON object")
    return value


def _profile(stored: Mapping[str, Any], source: Source, data: MigratedData) -> Profile:
    name = group_name(str(stored.get("id", "")))
    texts = {}
    if boot := stored.get("boot"):
        texts["ipxe"] = _script(name, boot)
    for key, folder, extension in TEMPLATES:
        if file := stored.get(key):
            text = _template(source, folder, str(file), f"profile {name}: {folder}/{file}", extension, data)
            if text is not None:
                texts[_generic_extension(str(file), text) if folder == "generic" else extension] = text
    return Profile(name, texts)


def _generic_extension(file: str, text: str) -> str:
    """Return the extension of a generic file: that of a kickstart or a preseed, else ``cfg``."""
    found = format_of(Path(file).suffix.removeprefix("."), text)
    return found.extension if found and found.extension in TEXT_FORMATS - {"ipxe"} else "cfg"


def _script(name: str, boot: Mapping[str, Any]) -> str:
    """Return the iPXE script that matchbox would have made of a profile's "boot"."""

    def url(text: str) -> str:
        return re.sub(r"(?:^|(?<=\s))(/\S+)\Z", r"${assets}\1", text)

    lines = ["#!ipxe", f"# From the profile {name} of matchbox."]
    commands = [f"kernel {url(str(boot.get('kernel', '')))} {' '.join(map(str, boot.get('args') or []))}".rstrip()]
    commands += [f"initrd {url(str(path))}" for path in boot.get("initrd") or []]
    if any("${assets}" in line for line in commands):
        lines.append(f"set assets {ASSETS}")
    return "\n".join([*lines, *commands, "boot"]) + "\n"


def _template(source: Source, below: str, name: str, origin: str, extension: str, data: MigratedData) -> str | None:
    """Return a template with its placeholders as here; None, noted, where it cannot be carried over."""
    folder = source.path / below
    file = folder / name
    place = os.path.abspath if source.follow_links else os.path.realpath
    if not Path(place(file)).is_relative_to(place(folder)):  # it would be served to machines
        data.leave_out(origin, "the file is outside of the directory")
        return None
    if not file.is_file():
        data.leave_out(origin, "the file is not there")
        return None
    if (text := text_of(source, file, origin, data)) is None:
        return None
    if extension == "ign" and file.suffix in (".yaml", ".yml", ".bu"):
        data.leave_out(
            origin, "Butane, which matchbox translated: run `butane` on it and keep the result as .ign", text
        )
        return None
    actions = [_inside(action) for action in _ACTION.finditer(text)]
    if unknown := [action for action in actions if not _FIELD.match(action)]:
        form = FORMATS[_generic_extension(name, text)] if below == "generic" else FORMATS[extension]
        if form.extension in TEXT_FORMATS:
            return _with_logic(text, form.extension, origin, data)
        action = quoted(f"{{{{{unknown[0]}}}}}", text, form.extension)
        data.leave_out(origin, f"the template has logic, {action}: write a document for each of its cases", text)
        return None
    return _ACTION.sub(
        lambda action: f"{{{{ {_inside(action).removeprefix('.request.query').removeprefix('.')} }}}}", text
    )


def _with_logic(text: str, extension: str, origin: str, data: MigratedData) -> str | None:
    """Return a template with logic as one of Jinja; None, noted, where something in it has no counterpart."""
    try:
        if "{%" in text:
            raise NoCounterpart(text.count("\n", 0, text.index("{%")) + 1, "{%")
        return judged(f"{JINJA}{of_go(text)}", extension)
    except NoCounterpart as error:
        part = quoted(error.part, text, extension)
        reason = f"line {error.line} has logic without a counterpart, {part}: write a document for each of its cases"
        data.leave_out(origin, reason, text)
        return None


def _inside(action: re.Match[str]) -> str:
    """Return what an action says, without the signs that trim blanks around it."""
    return action["inside"].removesuffix("-").strip()


def _group(
    stored: Mapping[str, Any], stem: str, place: str, profiles: Mapping[str, Profile], data: MigratedData
) -> None:
    """Make the documents of a group: of one machine, with a row of the inventory, or of all that its selector names."""
    origin = f"group {place}"
    profile = profiles.get(str(stored.get("profile")))
    if profile is None:
        data.leave_out(origin, f"its profile {stored.get('profile')} is not there", json.dumps(stored, indent=2))
        return
    group = group_name(str(stored.get("id") or stem))
    selector = {str(label): str(value) for label, value in (stored.get("selector") or {}).items()}
    metadata = dict(_flat(stored.get("metadata") or {}))
    identities = {label: selector[label] for label in IDENTIFYING if label in selector}
    machine = next((name for value in identities.values() if (name := machine_name(value))), None)
    if machine is None:
        _shared(group, origin, selector, metadata, profile, data)
        return
    row = {"id": group, **identities}
    for label, value in metadata.items():
        if is_column(label) and label not in row:
            row[label] = value
        else:
            data.leave_out(f"{origin}: metadata {label}", "no label can have this name here")
    data.rows.append(row)
    match = {label: value for label, value in selector.items() if label not in identities}
    for extension in profile.texts:
        text = with_control("", extension, {"extends": profile.name} | ({"match": match} if match else {}))
        if text is not None:
            data.add(f"{machine}.{extension}", text, origin)


def _shared(
    group: str,
    origin: str,
    selector: Mapping[str, str],
    metadata: Mapping[str, str],
    profile: Profile,
    data: MigratedData,
) -> None:
    """Make, for each format, a group document with the selector; without a selector, one that is put aside."""
    for extension, text in profile.texts.items():
        body, keys = "", {"extends": profile.name, "match": selector}
        if metadata:  # values that belong to no machine: written into a copy of the profile's text
            body = _with_values(text, metadata, extension) if JINJA not in text else _with_names(text, metadata)
            del keys["extends"]
        if not selector:
            del keys["match"]
        written = with_control(body, extension, keys)
        if written is None:
            data.leave_out(origin, f"its {extension} document could not be made", text)
        elif selector:
            data.add(f"groups/{group}.{extension}", written, origin)
        else:
            data.leave_out(
                f"{origin} as default.{extension}",
                f"it may install every machine that asks. If you want that, put this text into default.{extension}",
                written,
            )


def _with_values(text: str, metadata: Mapping[str, str], extension: str) -> str:
    """Return a text with the placeholders filled that metadata have values for."""

    def value(found: re.Match[str]) -> str:
        if (known := metadata.get(found[1])) is None:
            return found[0]
        return json.dumps(known)[1:-1] if extension in ("ign", "json") else known

    return re.sub(r"\{\{ ([\w.]+) \}\}", value, text)


def _with_names(text: str, metadata: Mapping[str, str]) -> str:
    """Return a text of Jinja in which metadata are variables, or values for labels that are no names."""
    for label, value in metadata.items():
        name, written = name_of(label), json.dumps(value, ensure_ascii=False)
        if name == label:
            text = text.replace(JINJA, f"{JINJA}{{% set {label} = {written} %}}\n", 1)
        else:
            text = text.replace(name, written)
    return text


def _flat(values: Mapping[str, Any], above: str = "") -> list[tuple[str, str]]:
    """Return the scalars of nested metadata by their dotted names."""
    found: list[tuple[str, str]] = []
    for key, value in values.items():
        if isinstance(value, dict):
            found += _flat(value, f"{above}{key}.")
        else:
            text = value if isinstance(value, str) else _words(value) or json.dumps(value)
            found.append((f"{above}{key}", text))
    return found


def _words(value: Any) -> str:
    """Return a list of words as a cell has them; nothing for any other value."""
    is_list = isinstance(value, list) and all(isinstance(item, str) and len(item.split()) == 1 for item in value)
    return " ".join(value) if is_list else ""
