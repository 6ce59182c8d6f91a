"""The result of a migration, and writing it into a directory."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from answerd.formats import ALIASES
from answerd.identity import Kind, identifier_fault, is_label, mac_digits, without_pxelinux_prefix
from answerd.inventory.meaning import is_reserved
from answerd.inventory.records import written_record
from answerd.inventory.row import IDENTITY_COLUMNS

_SHORTEST_SERIAL = 4

DOCUMENT_MODE = 0o640
SECRET_MODE = 0o600
SECRET_DIRECTORY_MODE = 0o700


class MigrationError(Exception):
    """The data cannot be read at all. The text is one line for the operator."""


@dataclass
class MigratedData:
    """The result of a migration. ``documents`` and ``aside`` are texts by path; ``secrets`` are by ``NAME`` or
    ``machine/NAME``; ``rows`` are those of the inventory; ``not_carried`` are pairs of what and why, ``to_do``
    sentences."""

    documents: dict[str, str] = field(default_factory=dict)
    rows: list[dict[str, str]] = field(default_factory=list)
    secrets: dict[str, str] = field(default_factory=dict)
    aside: dict[str, str] = field(default_factory=dict)
    not_carried: list[tuple[str, str]] = field(default_factory=list)
    to_do: list[str] = field(default_factory=list)
    _origins: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, text: str, origin: str) -> None:
        """Take a document. A second one of the same name is put aside."""
        if name in self.documents:
            self.leave_out(origin, f"{name} was made of {self._origins[name]} already", text)
        else:
            self.documents[name] = text
            self._origins[name] = origin

    def leave_out(self, what: str, why: str, text: str | None = None) -> None:
        """Note a part that is not carried over; its text, where given, is put aside for the operator to read."""
        self.not_carried.append((what, why))
        if text is None:
            return
        name, number = group_name(what), 2
        while self.aside.get(name, text) != text:
            name, number = f"{group_name(what)}-{number}", number + 1
        self.aside[name] = text

    def add_task(self, sentence: str) -> None:
        """Note, once, a task for the operator."""
        if sentence not in self.to_do:
            self.to_do.append(sentence)

    def secret(self, name: str, value: str, machine: str | None = None) -> str:
        """Take a secret and return its placeholder. Secrets of two machines may have one name."""
        self.secrets[f"{machine}/{name}" if machine else name] = value
        return f"{{{{ secret.{name} }}}}"


def machine_name(text: str) -> str | None:
    """Return the identifier of a machine document for a file's name, a MAC address with dashes.

    None for a text that neither is one nor looks like a serial number: four characters or more with a digit among them.
    """
    plain = without_pxelinux_prefix(text) or text
    if digits := mac_digits(plain):
        return "-".join(digits[at : at + 2] for at in range(0, len(digits), 2))
    is_serial = len(text) >= _SHORTEST_SERIAL and any(map(str.isdigit, text)) and text.lower() not in ALIASES
    return text if is_serial and identifier_fault(Kind.MACHINE, text) is None else None


def group_name(text: str) -> str:
    """Return a name for a group, or for a file that is put aside: that of the source, with the characters replaced that
    an identifier cannot hold."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.") or "unnamed"


def is_column(label: str) -> bool:
    """Return whether a label can be a column of an inventory."""
    low = label.lower()
    return is_label(label) and not is_reserved(low)


def inventory(rows: Sequence[Mapping[str, str]], origin: str) -> str:
    """Return rows as an inventory: identity columns first, then the others by name."""
    names = {name for row in rows for name in row}
    header = [name for name in IDENTITY_COLUMNS if name in names] + sorted(names - set(IDENTITY_COLUMNS))
    lines = [written_record([row.get(name, "") for name in header], ",") for row in rows]
    return "\n".join([f"# {origin}", ",".join(header), *lines]) + "\n"


def report(migration: MigratedData, source: str) -> str:
    """Return the report for the operator: the numbers of documents and rows, the tasks left to do, and the parts that
    could not be carried over."""
    lines = [f"# Migrated from {source}", ""]
    lines += [
        f"- Documents in `answers/`: {len(migration.documents)}",
        f"- Machines in `answers/inventory.csv`: {len(migration.rows)}",
        f"- Secrets in `secrets/`: {len(migration.secrets)}",
        "",
    ]
    if migration.to_do:
        lines += ["## To do", "", *(f"- {step}" for step in migration.to_do), ""]
    lines += ["## Not carried over", ""]
    lines += [f"- **{what}**: {why}" for what, why in migration.not_carried] or ["Nothing."]
    if migration.aside:
        lines += ["", "The texts that they are about are in `aside/`."]
    return "\n".join(lines) + "\n"


def write(migration: MigratedData, source: str, target: Path) -> None:
    """Write everything into a directory that is empty or is not there yet. Raises `MigrationError`."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise MigrationError(f"{target} is not an empty directory")
    (target / "answers").mkdir(parents=True, exist_ok=True)
    for name, text in migration.documents.items():
        _write(target / "answers" / name, text, DOCUMENT_MODE)
    if migration.rows:
        text = inventory(migration.rows, f"The machines of {source}.")
        _write(target / "answers" / "inventory.csv", text, DOCUMENT_MODE)
    (target / "secrets").mkdir(mode=SECRET_DIRECTORY_MODE)
    for name, text in migration.secrets.items():
        _write(target / "secrets" / name, text + "\n", SECRET_MODE, SECRET_DIRECTORY_MODE)
    for name, text in migration.aside.items():
        _write(target / "aside" / name, text, SECRET_MODE)
    _write(target / "MIGRATION.md", report(migration, source), DOCUMENT_MODE)


def _write(path: Path, text: str, mode: int, directory_mode: int = 0o755) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=directory_mode)
    path.touch(mode=mode)
    path.write_bytes(text.encode())
