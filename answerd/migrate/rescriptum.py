"""rescriptum: its directory of answers has the layout of this service's, so most of it is taken as it is."""

from __future__ import annotations

from pathlib import Path

from answerd.migrate.result import MigratedData, MigrationError
from answerd.store.layout import counts, key_of

INSTALLED = "installed-"
"""How rescriptum renames the directory of a machine whose installation was reported."""


def read(path: Path) -> MigratedData:
    """Read a directory of answers."""
    if not path.is_dir():
        raise MigrationError(f"{path} is no directory; export a database with rescriptum first")
    made = MigratedData()
    for file in sorted(path.rglob("*")):
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts):
            _take(file, file.relative_to(path).as_posix(), made)
    if not made.documents:
        raise MigrationError(f"{path} holds no documents")
    made.do("Run `answerd check` on the result: a rule that differs is named there.")
    made.do("rescriptum's /installed becomes `{{ report }}/installed` in the documents: docs/installers/.")
    return made


def _take(file: Path, name: str, made: MigratedData) -> None:
    if name.startswith(INSTALLED):
        machine = name.removeprefix(INSTALLED).partition("/")[0]
        made.leave(name, f"the machine is installed; `answerd disarm {machine}` says so here", _text(file))
    elif not counts(file.name) or key_of(name) is None:
        made.leave(name, "no document: neither its place nor its extension is that of one")
    elif (text := _text(file)) is None:
        made.leave(name, "it is not UTF-8")
    else:
        made.add(name, text, name)


def _text(file: Path) -> str | None:
    try:
        return file.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return None
