"""Proxmox answers as TOML that people go on editing: secrets taken out, comments where values came from."""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping
from typing import Any, cast

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Item, Table

from answerd.migrate.result import MigratedData, MigrationError

SECRETS = {
    "root-password": "root-password",
    "root_password": "root-password",
    "root-password-hashed": "root-password-hash",
    "root_password_hashed": "root-password-hash",
}
"""Keys of ``[global]`` that are secrets, and the names that they get."""


def take_secrets(
    document: MutableMapping[str, Any], migration: MigratedData, machine: str | None, group: str | None = None
) -> None:
    """Replace the secrets of an answer by placeholders.

    ``machine`` is the identifier of the machine that they belong to, ``group`` the name of the group: secrets of a
    group have it in their names. Neither: they belong to all machines.
    """
    settings = document.get("global")
    if not isinstance(settings, MutableMapping):
        return
    for key, plain in SECRETS.items():
        name = plain
        value = settings.get(key)
        if not isinstance(value, str | int) or "{{" in str(value):
            continue
        if group:
            name = f"{name}-{re.sub(r'[^A-Za-z0-9_-]', '-', group)}"
        settings[key] = migration.secret(name, str(value), machine)
        if isinstance(settings, Table):
            item = cast(Item, settings.value.item(key))
            where = f"secrets/{machine}/{name}" if machine else f"secrets/{name}"
            item.comment(f"now in {where}")


def document(
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
