"""The formats: their extensions, families, order, content types, and the URL segments that ask for them.

Rules: docs/formats.md.

Each is one table, which the code reads.
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
        *_formats(text_family, "text/plain; charset=utf-8", "pxelinux", "grub", "erb", "jsonnet"),
    )
}
"""Every format by its extension, in the format order that decides ties."""

JUDGED_AS: Final = {"yml": "yaml", "json": "ign", "xml": "autoyast", "seed": "preseed"}
"""Extensions whose documents are for the installer of another one: it judges them, and new ones begin alike."""

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
        "suse opensuse autoyast": "autoyast xml erb",
        "windows unattend": "unattend xml",
        "json": "json ign jsonnet",
        "xml": "xml",
        "cfg": "cfg",
        "ipxe": "ipxe",
        "erb": "erb",
        "jsonnet": "jsonnet",
    }
)
"""A path segment (lower-cased) and the extensions it restricts a request to, in their order of preference."""

_OVER_ALIASES: Final = _aliases(
    {
        "preseed.cfg": "preseed seed cfg",
        "autoexec.ipxe boot.ipxe mac-*.ipxe hostname-*.ipxe": "ipxe",
        "pxelinux.cfg/*": "pxelinux",
        "grub.cfg*": "grub",
        "*.erb": "erb autoyast xml",
        "*.jsonnet": "jsonnet json",
    }
)
"""The well-known names that decide whatever alias stands before them, apart from ``cfg``: a mirror has directories that
are called ``debian`` and ``fedora``."""

WELL_KNOWN_NAMES: Final[dict[str, tuple[str, ...]]] = (
    _aliases(
        {
            "user-data meta-data vendor-data network-config": "yaml yml",
            "install.conf upgrade.conf *-install.conf *-upgrade.conf": "cfg",
            "autounattend.xml": "unattend xml",
            "autoinst.xml": "autoyast xml erb",
        }
    )
    | _OVER_ALIASES
)
"""The end of a path (lower-cased) that restricts a request like an alias; ``*`` is any text within a segment.
Installers and loaders request these names by default."""

PXELINUX: Final = "pxelinux"
GRUB: Final = "grub"
ASKED_BY_NAME: Final = frozenset({PXELINUX, GRUB})
"""Formats for which there is no alias, and whose defaults answer only the name that a loader asks for last."""

PXELINUX_DIRECTORY: Final = "pxelinux.cfg"
"""The directory in which PXELINUX looks for its configuration."""

GRUB_FILE: Final = "grub.cfg"
"""The name that GRUB asks for last, and with which the names before it begin."""


_PATTERNS: Final = tuple((name, *name.partition("*")[::2]) for name in WELL_KNOWN_NAMES if "*" in name)


def well_known_name(words: tuple[str, ...]) -> str | None:
    """Return the key of `WELL_KNOWN_NAMES` by which the segments of a path (lower-cased) end; None where there is
    none."""
    last = words[-1] if words else ""
    if words[-2:-1] == (PXELINUX_DIRECTORY,):
        return f"{PXELINUX_DIRECTORY}/*"
    if last in WELL_KNOWN_NAMES and "*" not in last:
        return last
    for name, beginning, end in _PATTERNS:
        if len(last) >= len(name) - 1 and last.startswith(beginning) and last.endswith(end):
            return name
    return None


def formats_asked_for(words: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """Return the segment of a path (lower-cased) that asks for formats, None where none does, and the extensions of
    the documents that may answer, in the order that decides ties."""
    alias = next((word for word in words if word in ALIASES), None)
    name = well_known_name(words)
    if name is not None and (alias is None or (name in _OVER_ALIASES and alias != "cfg")):
        return words[-1], WELL_KNOWN_NAMES[name]
    return alias, ALIASES[alias] if alias is not None else ALL_EXTENSIONS


def split_extension(name: str) -> tuple[str, str | None]:
    """Return ``("node", "ks")`` for ``node.KS``, and ``(name, None)`` for a name whose extension is no format."""
    stem, dot, extension = name.rpartition(".")
    known = FORMATS.get(extension.lower()) if dot else None
    return (stem, known.extension) if known else (name, None)
