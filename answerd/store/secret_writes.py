"""Secrets that are written from the console: rules in docs/secrets.md#from-the-console."""

from __future__ import annotations

import os
import re
from pathlib import Path

from answerd.config import SECRETS_DIR
from answerd.formats.template import SECRET_NAME
from answerd.identity import Kind, identifier_fault, identity_of
from answerd.store.file_io import write_atomically
from answerd.store.secrets import LARGEST_SECRET, SecretFiles

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class SecretRefused(Exception):
    """A secret was not written; one sentence without its value."""


def why_not_writable(secrets: SecretFiles) -> str:
    """Return why no secret can be written here; empty where one can."""
    if secrets.directory is None:
        return f"{SECRETS_DIR} is not set"
    if not os.access(secrets.directory, os.W_OK | os.X_OK):
        return "the service may not write to the directory of secrets"
    return ""


def write_secret(secrets: SecretFiles, machine: str, name: str, value: str) -> str:
    """Write a secret, of one machine or of all where ``machine`` is empty; return its place. It is in force within a
    second. Waits for the disk. Raises `SecretRefused`."""
    if reason := why_not_writable(secrets):
        raise SecretRefused(reason)
    if not SECRET_NAME.match(name):
        raise SecretRefused("a name has ASCII letters, digits, - and _")
    content = value.encode("utf-8", "replace")
    if not value.strip():
        raise SecretRefused("an empty secret counts as missing")
    if len(content) > LARGEST_SECRET:
        raise SecretRefused(f"a secret has at most {LARGEST_SECRET:,} bytes")
    if _CONTROL.search(value):
        raise SecretRefused("a secret has no control characters but line ends and tabs")
    place = f"{_folder(secrets, machine)}/{name}" if machine else name
    try:
        write_atomically(Path(secrets.directory or "") / place, content)
    except OSError as error:
        raise SecretRefused(f"{place} cannot be written: {error.strerror}") from None
    return place


def _folder(secrets: SecretFiles, machine: str) -> str:
    """Return the folder of a machine: the one that is there in whatever spelling, else a new one."""
    fault = identifier_fault(Kind.MACHINE, machine)
    if fault or "/" in machine or machine.startswith("."):
        raise SecretRefused("that is no name of a machine")
    folders = secrets.in_force.folders.get(identity_of(machine), ())
    if len(folders) > 1:
        raise SecretRefused("there are several directories for this machine: remove all but one")
    return folders[0] if folders else machine
