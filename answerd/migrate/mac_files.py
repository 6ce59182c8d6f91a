"""A directory of answers in files named by MAC address, as many small answer servers keep them.

A file is `52-54-00-12-34-56.toml`, `01-52-54-00-12-34-56`, `5254.0012.3456.cfg` or the like, in any folder. Its format
is that of its extension, else the one that its text looks like. A `default.EXT` that may install is put aside.
"""

from __future__ import annotations

from pathlib import Path

import tomlkit
from tomlkit.exceptions import TOMLKitError

from answerd.documents import LARGEST_DOCUMENT
from answerd.formats import split_extension
from answerd.migrate.proxmox import take_secrets
from answerd.migrate.result import MigratedData, MigrationError, machine_name
from answerd.migrate.texts import PXELINUX, add_or_put_aside, format_of, literal

DEFAULT = "default"


def read(path: Path) -> MigratedData:
    """Read a directory."""
    if not path.is_dir():
        raise MigrationError(f"{path} is no directory")
    data = MigratedData()
    for file in sorted(path.rglob("*")):
        name = file.relative_to(path)
        if file.is_file() and not any(part.startswith(".") for part in name.parts) and not file.name.endswith("~"):
            _take(file, str(name), data)
    if not data.documents and not data.aside:
        raise MigrationError(f"{path} holds no file that is named by a MAC address")
    data.add_task("Point the installers to this service: a path has the word of a format in it, such as /proxmox.")
    return data


def _take(file: Path, name: str, data: MigratedData) -> None:
    stem, extension = split_extension(file.name)
    machine = DEFAULT if stem.lower() == DEFAULT else machine_name(stem)
    if machine is None:
        data.leave_out(name, "its name is neither a MAC address nor another identifier of a machine")
        return
    if file.stat().st_size > LARGEST_DOCUMENT:
        data.leave_out(name, "it is larger than a document may be")
        return
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        data.leave_out(name, "it is not UTF-8")
        return
    if extension is None and PXELINUX.search(text):
        data.leave_out(name, "a menu of PXELINUX; write an .ipxe document in its place", text)
        return
    found = format_of(extension, text)
    if found is None:
        data.leave_out(name, "its format is not known: neither its extension nor its text shows it", text)
        return
    served = literal(text, found.extension)
    if served is None:
        data.leave_out(name, "it holds {{, which would be a placeholder here; write it as docs/templates.md says", text)
        return
    if found.extension == "toml":
        served = _answer(served, data, None if machine == DEFAULT else machine, name)
    add_or_put_aside(f"{machine}.{found.extension}", served, name, data)


def _answer(text: str, data: MigratedData, machine: str | None, name: str) -> str:
    """Return a Proxmox answer without its secrets; a text that is not TOML stays as it is, and ``check`` will report
    it."""
    if text.startswith("template = false"):
        data.add_task(f"{name}: it holds {{{{, so its passwords could not be made secrets.")
        return text
    try:
        document = tomlkit.parse(text)
    except TOMLKitError:
        data.add_task(f"{name}: it does not parse; put it right before it is used.")
        return text
    take_secrets(document, data, machine)
    return tomlkit.dumps(document)
