"""Files that are no documents and were surely meant to be: they are named like a machine, and by another name or
extension of a format (docs/check.md#oversights).

Names only; `answerd check` asks of the files that the file store passes over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from answerd.facts import SIDE_FILES
from answerd.formats import ALIASES, FORMATS
from answerd.identity import mac_digits
from answerd.short_texts import printable

_BUTANE: Final = frozenset({"bu", "butane"})
_MEANT: Final = {
    **{alias: extensions[0] for alias, extensions in ALIASES.items()},
    **{extension: extension for extension in FORMATS},
    **dict.fromkeys(_BUTANE, "ign"),
    "pre": "preseed",
    "user-data": "yaml",
}
"""What a file is called, or has as its extension, in place of an extension; with that."""

_ADDED: Final = frozenset({"txt", "j2", "jinja", "jinja2", "tmpl", "tpl", "template"})
"""Extensions that editors and other programs put behind that of a format."""

_NOT_MACHINES: Final = ("groups", "inventory")


def meant_for_a_machine(name: str, is_named: Callable[[str], bool]) -> str | None:
    """Return a sentence about a file, by its name below the root, that has no key and is meant for a machine; None for
    any other. ``is_named``: the set has a machine of this name."""
    *above, file = name.split("/")
    if not above:
        return _beside_others(file, is_named)
    directory = above[0]
    if len(above) > 1 or directory.lower() in _NOT_MACHINES or not _is_machine(directory, is_named):
        return None
    if file in SIDE_FILES:
        remedy = f"cloud-init gets a made-up {file}: for one of your own write a document whose match names file"
        return _sentence(name, directory, remedy)
    stem, meant = _read(file)
    if meant is None:
        return None
    better = f"{directory}/{stem or file.partition('.')[0]}.{meant}"
    return _sentence(name, directory, _remedy(file, better))


def _beside_others(file: str, is_named: Callable[[str], bool]) -> str | None:
    if mac_digits(file) is not None:
        return _sentence(file, file, "it has no extension: give it that of its format")
    stem, meant = _read(file)
    if meant is None or not stem or not _is_machine(stem, is_named):
        return None
    return _sentence(file, stem, _remedy(file, f"{stem}.{meant}"))


def _read(file: str) -> tuple[str, str | None]:
    """Return the stem of a file and the extension that is meant; None where nothing tells it."""
    stem, _, last = file.rpartition(".")
    inner, _, extension = stem.rpartition(".")
    if last.lower() in _ADDED:
        return inner, _MEANT.get(extension.lower())
    return stem, _MEANT.get(last.lower())


def _remedy(file: str, better: str) -> str:
    if file.lower().rpartition(".")[2] in _BUTANE:
        return f"translate it with butane, as {printable(better)}"
    return f"name it {printable(better)}"


def _is_machine(name: str, is_named: Callable[[str], bool]) -> bool:
    return mac_digits(name) is not None or is_named(name)


def _sentence(name: str, machine: str, remedy: str) -> str:
    return f"file {printable(name)} is no document, so machine {printable(machine)} does not get it: {remedy}"
