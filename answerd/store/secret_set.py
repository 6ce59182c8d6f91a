"""The secrets in force, looked up while an answer is filled (docs/secrets.md). A value is never part of a message.

Opens nothing: `answerd.store.secret_files` reads the files and puts what it has read in force.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from answerd.errors import CannotFill
from answerd.formats.template import SECRETS
from answerd.identity import brief, identity_of, join_limited, printable

SETTING: Final = "SERVICE_SECRETS_DIR"

_MOST_NAMED: Final = 5
"""Directories that a sentence names."""


class SecretSet:
    """All secrets of one moment. Never edited.

    ``texts`` and ``faults`` have files by their place below the directory, ``NAME`` or ``folder/NAME``: what they hold,
    or why that cannot be read. ``folders``: for each identity the folders that have it, sorted. ``unlisted``: why a
    folder could not be listed.
    """

    __slots__ = ("faults", "folders", "texts", "unlisted")

    def __init__(
        self,
        texts: Mapping[str, str] | None = None,
        faults: Mapping[str, str] | None = None,
        folders: Mapping[str, tuple[str, ...]] | None = None,
        unlisted: Mapping[str, str] | None = None,
    ) -> None:
        self.texts = dict(texts or {})
        self.faults = dict(faults or {})
        self.folders = dict(folders or {})
        self.unlisted = dict(unlisted or {})


class SecretLookup:
    """Finds secrets in the `SecretSet` in force. ``directory`` is None where the service has no secrets. ``fault`` says
    why no secret could be read yet; empty where some were."""

    __slots__ = ("directory", "fault", "in_force")

    def __init__(self, directory: str | None) -> None:
        self.directory = directory
        self.in_force = SecretSet()
        self.fault = ""

    def secret(self, name: str, identifiers: Sequence[str]) -> str:
        """Return the text of a secret for the machine with these identifiers, of which the first that has it counts.

        Raises `CannotFill`, whose reason names the secret: it is missing, cannot be read or is ambiguous.
        """
        in_force = self.in_force
        if in_force.folders:
            for identifier in identifiers:
                text = _of_machine(in_force, name, identifier)
                if text is not None:
                    return text
        text = in_force.texts.get(name)
        if text:
            return text
        raise self._missing(name, identifiers)

    def _missing(self, name: str, identifiers: Sequence[str]) -> CannotFill:
        directory = self.directory
        if directory is None:
            return _cannot(name, f"is missing: {SETTING} is not set")
        if name in self.in_force.faults:
            return _cannot(name, f"cannot be read: {self.in_force.faults[name]} ({printable(name)})")
        if self.fault:
            return _cannot(name, f"is missing: {self.fault}")
        looked = [f"{brief(identifier)}/{name}" for identifier in identifiers]
        return _cannot(
            name,
            f"is missing: the secrets directory has no {' and no '.join([*looked, name])}",
            general=f"is missing: {printable(directory)} has no {name}, and no directory with one for the machine",
        )


def _of_machine(in_force: SecretSet, name: str, identifier: str) -> str | None:
    """Return the secret in the folder of a machine; None where there is none, or an empty one. Raises `CannotFill`."""
    folders = in_force.folders.get(identity_of(identifier), ())
    if len(folders) > 1:
        raise _cannot(name, f"is ambiguous: {same_identity(folders)}")
    for folder in folders:
        if folder in in_force.unlisted:
            raise _cannot(name, f"cannot be read: {in_force.unlisted[folder]} ({printable(folder)}/)")
        place = f"{folder}/{name}"
        text = in_force.texts.get(place)
        if text:
            return text
        if place in in_force.faults:
            raise _cannot(name, f"cannot be read: {in_force.faults[place]} ({printable(place)})")
    return None


def same_identity(folders: Sequence[str]) -> str:
    """Return the sentence of a problem: folders that have one identity."""
    names = [f"{printable(folder)}/" for folder in folders]
    return f"{len(folders)} directories for one identity: {join_limited(names, _MOST_NAMED, ' and ')}"


def _cannot(name: str, what: str, general: str = "") -> CannotFill:
    subject = f"the secret {name!r} "
    return CannotFill(subject + what, SECRETS + name, missing=False, general=subject + (general or what))
