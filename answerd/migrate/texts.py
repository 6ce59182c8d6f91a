"""Texts of other services as documents: their placeholders, their secrets, and braces that would be a placeholder here.

A text that holds ``{{`` and knew no templates, or other ones, must not be filled in by this service.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any, cast

from tomlkit.items import Item, Table

from answerd.formats import FORMATS, Format
from answerd.migrate.result import MigratedData
from answerd.migrate.source import Source

TEXT_FORMATS = frozenset(name for name, known in FORMATS.items() if known.family.name == "text")


def text_of(source: Source, file: Path, origin: str, data: MigratedData) -> str | None:
    """Return the text of a file; None, noted, where it is not UTF-8. Raises as `Source.content` does."""
    try:
        return source.content(file).decode("utf-8")
    except UnicodeDecodeError:
        data.leave_out(origin, "the file is not UTF-8")
        return None


def literal(text: str, extension: str) -> str | None:
    """Return a document that serves this text as it is. None where its format has no way that is known here.

    Most texts hold no ``{{`` and are returned unchanged.
    """
    return with_control(text, extension, {"template": False}) if "{{" in text else text


def with_control(text: str, extension: str, keys: Mapping[str, Any]) -> str | None:
    """Return a document with these control keys before its own text, after its ``#!`` line or first comments.

    None where its format has no way that is known here, or where its text takes none.
    """
    if extension in TEXT_FORMATS:
        first, rest = text.partition("\n")[::2] if text.startswith("#!") else ("", text)
        lines = "".join(f"# answer: {_directive(key, value)}\n" for key, value in keys.items())
        return f"{first}\n{lines}{rest}" if first else lines + rest
    if extension == "toml":
        return "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items()) + text
    if extension in ("yaml", "yml"):
        head = re.match(r"(?:#.*\n|\s*\n|---\s*\n)*", text)
        at = head.end() if head else 0
        if re.match(r"\s*[\[{-]", text[at:]):
            return None
        return text[:at] + "".join(f"{key}: {json.dumps(value)}\n" for key, value in keys.items()) + text[at:]
    if extension in ("json", "ign"):
        try:
            value = json.loads(text or "{}")
        except ValueError:
            return None
        return json.dumps({**keys, **value}, indent=2, ensure_ascii=False) + "\n" if isinstance(value, dict) else None
    return None


def _directive(key: str, value: Any) -> str:
    if key == "match":
        quoted = ((label, pattern.replace("\\", "\\\\").replace('"', '\\"')) for label, pattern in value.items())
        return " ".join(["match", *(f'{label}="{pattern}"' for label, pattern in quoted)])
    return "template off" if value is False else f"{key} {value}"


_STARTS = re.compile(r"^\s*(?:kernel|initrd|module|img\w+|chain|boot|autoboot|sanboot)\b", re.MULTILINE)


def add_or_put_aside(name: str, text: str, origin: str, data: MigratedData) -> None:
    """Take a document; put a default aside that may install every machine that asks. A script that starts nothing is
    taken."""
    is_default = name.partition(".")[0].partition("/")[0] == "default"
    if is_default and (not name.endswith("ipxe") or _STARTS.search(text)):
        data.leave_out(
            origin, f"it may install every machine that asks. If you want that, put this text into {name}", text
        )
    else:
        data.add(name, text, origin)


_SIGNS: tuple[tuple[str, str], ...] = (
    ("ipxe", r"\A#!ipxe\b"),
    ("preseed", r"^(?:d-i|tasksel|popularity-contest)\s+\S+/\S+"),
    ("ks", r"^(?:%packages|rootpw\s|bootloader\s|autopart|clearpart\s|lang\s)"),
    ("yaml", r"\A#cloud-config\b|^autoinstall:"),
)
"""Patterns by which the text of a file shows its format, where the extension does not."""

PXELINUX = re.compile(r"^\s*(?:DEFAULT|LABEL|KERNEL|APPEND)\s", re.MULTILINE | re.IGNORECASE)


def recognised(text: str) -> str | None:
    """Return the format of a text by what it looks like, or None."""
    return next((extension for extension, sign in _SIGNS if re.search(sign, text, re.MULTILINE)), None)


def format_of(extension: str | None, text: str) -> Format | None:
    """Return the format of a file: by its extension, but by its text where that is ``cfg`` or no format."""
    if extension and extension != "cfg" and extension in FORMATS:
        return FORMATS[extension]
    seen = recognised(text)
    if seen:
        return FORMATS[seen]
    return FORMATS.get(extension or "")


SECRETS = {
    "root-password": "root-password",
    "root_password": "root-password",
    "root-password-hashed": "root-password-hash",
    "root_password_hashed": "root-password-hash",
}
"""Keys of ``[global]`` that are secrets, and the names that they get."""


def take_secrets(
    document: MutableMapping[str, Any], data: MigratedData, machine: str | None, group: str | None = None
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
        settings[key] = data.secret(name, str(value), machine)
        if isinstance(settings, Table):
            item = cast(Item, settings.value.item(key))
            where = f"secrets/{machine}/{name}" if machine else f"secrets/{name}"
            item.comment(f"now in {where}")
