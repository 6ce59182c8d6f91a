"""rescriptum: its directory of answers has the layout of this service's, so most of it is taken as it is."""

from __future__ import annotations

from pathlib import Path

from answerd.migrate.result import MigratedData, MigrationError
from answerd.migrate.texts import add_or_put_aside
from answerd.store.layout import counts, key_of

INSTALLED = "installed-"
"""The pattern of the name that rescriptum gives the directory of a machine whose installation was reported."""


def read(path: Path) -> MigratedData:
    """Read a directory of answers."""
    if not path.is_dir():
        raise MigrationError(f"{path} is no directory; export a database with rescriptum first")
    data = MigratedData()
    for file in sorted(path.rglob("*")):
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts):
            _take(file, file.relative_to(path).as_posix(), data)
    if not data.documents and not data.aside:
        raise MigrationError(f"{path} holds no documents")
    data.add_task("Run `answerd check` on the result: a rule that differs is named there.")
    data.add_task("rescriptum's /installed becomes `{{ report }}/installed` in the documents: docs/installers/.")
    return data


def _take(file: Path, name: str, data: MigratedData) -> None:
    if name.startswith(INSTALLED):
        machine = name.removeprefix(INSTALLED).partition("/")[0]
        data.leave_out(name, f"the machine is installed; `answerd disarm {machine}` says so here", _text(file))
    elif not counts(file.name) or key_of(name) is None:
        data.leave_out(name, "no document: neither its place nor its extension is that of one")
    elif (text := _text(file)) is None:
        data.leave_out(name, "it is not UTF-8")
    else:
        add_or_put_aside(name, text, name, data)


def _text(file: Path) -> str | None:
    try:
        return file.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return None
