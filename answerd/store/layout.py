"""The file layout (docs/formats.md): which names below the answers directory are documents, and under which key.

Names only. Opens nothing and does not know the content of a directory.
"""

from __future__ import annotations

from answerd.documents import Key
from answerd.formats import FORMATS, split_extension
from answerd.identity import Kind, identifier_fault
from answerd.inventory import COLUMNS, DEFAULT_NAME, FORMAT, INVENTORY_FORMATS, file_of

_INVENTORIES = "inventory"

_OF_TABLES = frozenset({*INVENTORY_FORMATS, "cvs", "ods", "tsv", "xls", "xlsm", "xlsx"})
"""Extensions of tables and of what stands beside one; ``cvs`` is a misspelled ``csv``."""

_OF_DATA = frozenset({"json", "tab", "toml", "txt", "yaml", "yml"})


def counts(name: str) -> bool:
    """Return whether a file or directory of this name can be part of the layout at all."""
    return not name.startswith(".") and not name.endswith("~")


def is_groups(name: str) -> bool:
    """Return whether a directory directly below the root holds the groups."""
    return name.lower() == "groups"


def is_inventories(name: str) -> bool:
    """Return whether a directory directly below the root holds inventories."""
    return name.lower() == _INVENTORIES


def inventory_format(name: str) -> str:
    """Return the format of an inventory, or of what stands beside one, that a file has by its extension, wherever it
    is; empty for another file."""
    extension = name.lower().rpartition(".")[2]
    return extension if extension in INVENTORY_FORMATS else ""


def key_of(name: str) -> Key | None:
    """Return the key of a document from its file's name below the root; None for a file that is not a document."""
    *above, file = name.split("/")
    if not all(map(counts, (*above, file))):
        return None
    if kept_as := inventory_format(file):
        return _inventory_key(above, file[: -len(kept_as) - 1], kept_as)
    stem, extension = split_extension(file)
    if extension is None:
        return None
    if not above:
        is_default = stem.lower() == "default"
        return Key(Kind.DEFAULT, "", extension) if is_default else Key(Kind.MACHINE, stem, extension)
    owner = above[-1]
    if is_groups(above[0]):
        return Key(Kind.GROUP, stem if len(above) == 1 else owner, extension)
    return Key(Kind.DEFAULT, "", extension) if owner.lower() == "default" else Key(Kind.MACHINE, owner, extension)


def looks_like_a_table(name: str) -> bool:
    """Return whether a file of this name, which has no key, looks like a table: by its extension, or because it is
    called like the inventory and has one of data."""
    stem, _, extension = name.lower().rpartition("/")[2].rpartition(".")
    is_data = extension in _OF_TABLES or (extension in _OF_DATA and stem.startswith(_INVENTORIES))
    return counts(name) and is_data


def ignored_reason(name: str) -> str:
    """Return why a file of this name, which has no key, is no document."""
    if name.endswith("~"):
        return "a name that ends in ~ is an editor's backup"
    if looks_like_a_table(name):
        if inventory_format(name) == COLUMNS:
            return f"what the columns of a table mean is inventory.{COLUMNS} or inventory/NAME.{COLUMNS}"
        return f"a table is inventory.{FORMAT} or inventory/NAME.{FORMAT}, saved as CSV"
    return f"its extension is none of {', '.join(FORMATS)}"


def _inventory_key(above: list[str], stem: str, extension: str) -> Key | None:
    if not above and is_inventories(stem):
        return Key(Kind.INVENTORY, DEFAULT_NAME, extension)
    return Key(Kind.INVENTORY, stem, extension) if len(above) == 1 and is_inventories(above[0]) else None


def may_own_documents(directory: str) -> bool:
    """Return whether a directory, by its name below the root, can hold valid documents.

    False for a name such as ``lost+found``: no identifier is spelled like that.
    """
    *above, owner = directory.split("/")
    if not above and (is_groups(owner) or is_inventories(owner) or owner.lower() == "default" or not owner):
        return True
    return identifier_fault(Kind.GROUP if above else Kind.MACHINE, owner) is None


def flat_name(key: Key) -> str:
    """Return a document's name in the flat layout: ``groups/rack-a.toml``, ``98fa9b50d810.toml``, ``default.toml``,
    ``inventory.csv``."""
    if key.kind is Kind.INVENTORY:
        return file_of(key.identifier, key.format)
    if key.kind is Kind.DEFAULT:
        return f"default.{key.format}"
    folder = "groups/" if key.kind is Kind.GROUP else ""
    return f"{folder}{key.identifier}.{key.format}"
