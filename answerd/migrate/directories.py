"""Directories of answers that are nearly documents of this service.

mac-files: answers in files named by MAC address, as many small answer servers keep them. A file is
`52-54-00-12-34-56.toml`, `01-52-54-00-12-34-56`, `5254.0012.3456.cfg` or the like, in any folder. Its format is that of
its extension, else the one that its text looks like. A `default.EXT` that may install is put aside.

rescriptum: its directory has the layout of this service's, so most of it is taken as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import tomlkit
from tomlkit.exceptions import TOMLKitError

from answerd.documents import LARGEST_DOCUMENT
from answerd.formats import split_extension
from answerd.migrate.result import MigratedData, MigrationError, machine_name
from answerd.migrate.source import Source
from answerd.migrate.texts import PXELINUX, add_or_put_aside, format_of, literal, take_secrets, text_of
from answerd.store.layout import counts, key_of

DEFAULT = "default"


def read_mac_files(source: Source) -> MigratedData:
    path = source.path
    if not path.is_dir():
        raise MigrationError(f"{path} is no directory")
    data = MigratedData()
    for file, name in _files_below(path):
        if not name.endswith("~"):
            _take_mac_file(source, file, name, data)
    if not data.documents and not data.aside:
        raise MigrationError(f"{path} holds no file that is named by a MAC address")
    data.add_task("Point the installers to this service: a path has the word of a format in it, such as /proxmox.")
    return data


def _files_below(root: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files of a directory, in any folder, sorted, with their names below it; not the hidden ones."""
    for file in sorted(root.rglob("*")):
        name = file.relative_to(root)
        if file.is_file() and not any(part.startswith(".") for part in name.parts):
            yield file, name.as_posix()


def _take_mac_file(source: Source, file: Path, name: str, data: MigratedData) -> None:
    stem, extension = split_extension(file.name)
    machine = DEFAULT if stem.lower() == DEFAULT else machine_name(stem)
    if machine is None:
        data.leave_out(name, "its name is neither a MAC address nor another identifier of a machine")
        return
    if file.stat().st_size > LARGEST_DOCUMENT:
        data.leave_out(name, "it is larger than a document may be")
        return
    text = text_of(source, file, name, data)
    if text is None:
        return
    text = text.removeprefix("\ufeff")
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


INSTALLED = "installed-"
"""The pattern of the name that rescriptum gives the directory of a machine whose installation was reported."""


def read_rescriptum(source: Source) -> MigratedData:
    path = source.path
    if not path.is_dir():
        raise MigrationError(f"{path} is no directory; export a database with rescriptum first")
    data = MigratedData()
    for file, name in _files_below(path):
        _take(source, file, name, data)
    if not data.documents and not data.aside:
        raise MigrationError(f"{path} holds no documents")
    data.add_task("Run `answerd check` on the result: a rule that differs is named there.")
    data.add_task("rescriptum's /installed becomes `{{ report }}/installed` in the documents: docs/installers/.")
    return data


def _take(source: Source, file: Path, name: str, data: MigratedData) -> None:
    if name.startswith(INSTALLED):
        machine = name.removeprefix(INSTALLED).partition("/")[0]
        data.leave_out(
            name,
            f"the machine is installed; `answerd disarm {machine}` says so here",
            text_of(source, file, name, data),
        )
    elif not counts(file.name) or key_of(name) is None:
        data.leave_out(name, "no document: neither its place nor its extension is that of one")
    elif (text := text_of(source, file, name, data)) is not None:
        add_or_put_aside(name, text, name, data)
