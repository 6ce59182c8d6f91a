"""The formats: their extensions, families, order, content types, and the URL segments that ask for them.

Rules: docs/formats.md.

Each is one table, which the code reads. To add a format, add its family's module, and its line here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from answerd.formats import json as json_family
from answerd.formats import text as text_family
from answerd.formats import toml as toml_family
from answerd.formats import xml as xml_family
from answerd.formats import yaml as yaml_family
from answerd.formats.family import AnyFamily, Family, Parsed, T


@dataclass(frozen=True, slots=True)
class Format:
    """A format: the extension of documents, the family that reads it and the Content-Type of its answers."""

    extension: str
    family: AnyFamily
    content_type: str


def _formats(family: Family[Parsed, T], content_type: str, *extensions: str) -> tuple[Format, ...]:
    return tuple(Format(extension, family, content_type) for extension in extensions)


FORMATS: Final[dict[str, Format]] = {
    listed.extension: listed
    for listed in (
        *_formats(toml_family, "text/plain; charset=utf-8", "toml"),
        *_formats(yaml_family, "text/yaml; charset=utf-8", "yaml", "yml"),
        *_formats(json_family, "application/json", "json", "ign"),
        *_formats(xml_family, "application/xml; charset=utf-8", "xml", "autoyast", "unattend"),
        *_formats(text_family, "text/plain; charset=utf-8", "ks", "preseed", "seed", "cfg", "ipxe"),
    )
}
"""Every format by its extension, in the format order that decides ties."""

ALL_EXTENSIONS: Final = tuple(FORMATS)
"""The extensions that a request without an alias accepts."""


def _aliases(table: dict[str, str]) -> dict[str, tuple[str, ...]]:
    return {alias: tuple(extensions.split()) for aliases, extensions in table.items() for alias in aliases.split()}


ALIASES: Final[dict[str, tuple[str, ...]]] = _aliases(
    {
        "proxmox pve toml": "toml",
        "debian preseed": "preseed seed",
        "rhel centos fedora alma rocky kickstart ks": "ks",
        "ubuntu autoinstall cloudinit nocloud yaml yml": "yaml yml",
        "flatcar coreos ignition ign": "ign json",
        "suse opensuse autoyast": "autoyast xml",
        "windows unattend": "unattend xml",
        "json": "json ign",
        "xml": "xml",
        "cfg": "cfg",
        "ipxe": "ipxe",
    }
)
"""A path segment (lower-cased) and the extensions it restricts a request to, in their order of preference."""

WELL_KNOWN_NAMES: Final[dict[str, tuple[str, ...]]] = _aliases(
    {
        "user-data meta-data vendor-data network-config": "yaml yml",
        "install.conf upgrade.conf": "cfg",
        "autounattend.xml": "unattend xml",
        "autoinst.xml": "autoyast xml",
    }
)
"""A last path segment (lower-cased) that restricts a request like an alias. Installers request these names by
default."""

_WELL_KNOWN_ENDINGS: Final = ("-install.conf", "-upgrade.conf")
"""OpenBSD puts the machine's MAC address or host name before these."""


def formats_of_name(name: str) -> tuple[str, ...] | None:
    """Return the extensions that a well-known name (lower-cased) restricts a request to; None for any other name."""
    found = WELL_KNOWN_NAMES.get(name)
    return WELL_KNOWN_NAMES["install.conf"] if found is None and name.endswith(_WELL_KNOWN_ENDINGS) else found


def split_extension(name: str) -> tuple[str, str | None]:
    """Return ``("node", "ks")`` for ``node.KS``, and ``(name, None)`` for a name whose extension is no format."""
    stem, dot, extension = name.rpartition(".")
    known = FORMATS.get(extension.lower()) if dot else None
    return (stem, known.extension) if known else (name, None)
