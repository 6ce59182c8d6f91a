"""autopve: its answers for Proxmox, which all lie over the one called "Default".

It keeps them in one JSON file (`storage-general.json`, below `.nicegui`). An answer is chosen when one of its
strings occurs anywhere in what the installer sends. Here a string that is a MAC address, serial number or UUID becomes
a member, and a key with a value becomes a selector; both are compared whole, never as a part of something longer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from answerd.identity import mac_digits
from answerd.migrate.result import MigratedData, MigrationError, group_name, machine_name
from answerd.migrate.source import Source
from answerd.migrate.texts import SECRETS, take_secrets

STORAGE = "storage-general.json"
DEFAULT = "Default"
BASE = "autopve-default"
BESIDE = ("playbooks", "files")
"""Directories of autopve that are no answers."""
DISKS = "disk-setup"
CONDITIONS = ("must_contain", "must_not_contain")

_PAIR = re.compile(r'"?(?P<label>[A-Za-z_][\w.-]*)"?\s*:\s*"(?P<value>[^"]*)"?\Z')


def read(source: Source) -> MigratedData:
    path = source.path
    answers = _answers(source)
    data = MigratedData()
    default = answers.pop(DEFAULT, {})
    base = _document(
        f'From the answer "{DEFAULT}" of autopve, which lay below every other one.', {}, _sections(default)
    )
    take_secrets(base, data, None)
    data.add(f"groups/{BASE}.toml", tomlkit.dumps(base), DEFAULT)
    for name, answer in answers.items():
        _take(name, answer, _sections(default).get(DISKS, {}), data)
    data.leave_out(
        f'the answer "{DEFAULT}" as the answer to every machine',
        "a machine that was not meant to be installed would be wiped. If you want it, write default.toml with the line "
        f'extends = "{BASE}"',
    )
    for folder in BESIDE if path.is_dir() else ():
        if names := sorted(item.name for item in path.rglob(f"{folder}/*")):
            data.leave_out(f"{folder} {', '.join(names)}", "this service runs none and serves no files")
    data.add_task("Prepare new media, or give the old ones the URL of this service: http://HOST:8000/proxmox")
    return data


def _answers(source: Source) -> dict[str, dict[str, Any]]:
    """Return the answers by name. Raises `MigrationError`."""
    path = source.path
    files = sorted(path.rglob(STORAGE)) if path.is_dir() else [path]
    if not files:
        raise MigrationError(f"{path} holds no {STORAGE}")
    try:
        stored = json.loads(source.content(files[0]))
    except (ValueError, OSError) as error:
        raise MigrationError(f"{files[0]} cannot be read: {type(error).__name__}") from None
    found = [value for name, value in stored.items() if name.startswith("config_")] if isinstance(stored, dict) else []
    if not found or not all(isinstance(value, dict) for value in found):
        raise MigrationError(f"{files[0]} is no storage of autopve")
    return {str(name): answer for name, answer in found[-1].items() if isinstance(answer, dict)}


def _sections(answer: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the sections of an answer with the keys that Proxmox reads: dashes, not underscores."""
    return {
        name: {key if "." in key else key.replace("_", "-"): value for key, value in values.items()}
        for name, values in answer.items()
        if name not in CONDITIONS and isinstance(values, dict)
    }


def _taken_away(disks: Mapping[str, Any], below: Mapping[str, Any]) -> list[str]:
    """Return the paths that an answer takes away from the default: a list of disks and filters exclude each other."""
    filters = sorted({key.partition(".")[0] for key in below if key.startswith("filter")})
    if any(key.startswith("filter") for key in disks):
        return [f"{DISKS}.disk-list"] if "disk-list" in below else []
    return [f"{DISKS}.{name}" for name in filters] if "disk-list" in disks else []


def _take(name: str, answer: Mapping[str, Any], disks_below: Mapping[str, Any], data: MigratedData) -> None:
    origin = f'the answer "{name}"'
    if refused := [str(text) for text in answer.get("must_not_contain", []) if text]:
        data.leave_out(
            origin,
            f'"must not contain {refused[0]}" has no counterpart: write a document for the machines that are meant',
            _readable(answer),
        )
        return
    members, match = _claims(origin, [str(text) for text in answer.get("must_contain", []) if text], data)
    if not members and not match:
        data.leave_out(origin, "no selector is left for it", _readable(answer))
        return
    comment = f'From the answer "{name}" of autopve. What is not here comes from groups/{BASE}.toml.'
    control: dict[str, Any] = {"extends": BASE}
    if unset := _taken_away(_sections(answer).get(DISKS, {}), disks_below):
        control["unset"] = unset
    if len(members) == 1 and not match and (machine := machine_name(members[0])):
        file, own = f"{machine}.toml", machine
    else:
        file, own = f"groups/{group_name(name)}.toml", None
        control |= {"members": members} if members else {"match": match}
        if members and match:
            data.leave_out(origin, "it was chosen by one string or another of two kinds; only the first kind is kept")
    written = _document(comment, control, _sections(answer))
    take_secrets(written, data, own, None if own else group_name(name))
    data.add(file, tomlkit.dumps(written), origin)


def _readable(answer: Mapping[str, Any]) -> str:
    """Return an answer as JSON, its passwords away."""
    shown = json.loads(json.dumps(answer))
    if isinstance(settings := shown.get("global"), dict):
        for key in SECRETS.keys() & settings.keys():
            settings[key] = "..."
    return json.dumps(shown, indent=2)


def _claims(origin: str, strings: list[str], data: MigratedData) -> tuple[list[str], dict[str, list[str]]]:
    """Return members and selector for the strings of an answer; the others are noted."""
    members: list[str] = []
    match: dict[str, list[str]] = {}
    for text in strings:
        pair = _PAIR.match(text.strip())
        if machine_name(text.strip()) and pair is None:
            members.append(text.strip())
            if not mac_digits(text.strip()):
                data.add_task(
                    f'{origin} is for a machine with the serial number or UUID "{text.strip()}", compared whole.'
                )
        elif pair and pair["value"]:
            match.setdefault(pair["label"], []).append(pair["value"])
        else:
            data.leave_out(origin, f'"must contain {text}" is neither an identifier nor a key with a value')
    return members, match


def _document(
    origin: str, control: Mapping[str, Any], sections: Mapping[str, Mapping[str, Any]]
) -> tomlkit.TOMLDocument:
    """Return an answer: a comment with its origin, control keys, then a table for each section.

    Keys with dots (``zfs.raid``) are written as dotted keys, sections with dots as tables within tables; empty sections
    are left away.
    """
    made = tomlkit.document()
    made.add(tomlkit.comment(origin))
    for key, value in control.items():
        made.add(key, _table(value) if isinstance(value, Mapping) else tomlkit.item(value))
    try:
        for name, values in _nested(sections).items():
            made.add(name, _table(values))
    except (AttributeError, TOMLKitError):  # zfs and zfs.raid, or a table and a value of one name
        raise MigrationError(f"{origin} It has a key twice, or a value where another key wants a section.") from None
    return made


def _nested(sections: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return sections with those whose names have dots (``network.interface-name-pinning``) within the others."""
    made: dict[str, dict[str, Any]] = {}
    for name, values in sections.items():
        if values:
            first, *below = name.split(".")
            table = made.setdefault(first, {})
            for part in below:
                table = table.setdefault(part, {})
            table.update(values)
    return made


def _table(values: Mapping[str, Any]) -> Table:
    made = tomlkit.table()
    given = {key: value for key, value in values.items() if value is not None}  # TOML has no null
    for key, value in sorted(given.items(), key=lambda entry: isinstance(entry[1], Mapping)):  # tables come last
        item = _table(value) if isinstance(value, Mapping) else tomlkit.item(value)
        made.add(tomlkit.key(key.split(".")) if "." in key else key, item)
    return made
