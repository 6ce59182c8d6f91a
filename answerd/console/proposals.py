"""Texts that pages propose: for a new document, and to adopt a machine that nothing claims."""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableSequence
from pathlib import Path

import tomlkit
from tomlkit.exceptions import TOMLKitError

from answerd.formats import FORMATS, JUDGED_AS
from answerd.identity import Kind
from answerd.inventory import FORMAT
from answerd.inventory.editing import in_columns, with_rows_added
from answerd.inventory.row import NEW_INVENTORY
from answerd.inventory.table import read_table

NEW_COLUMNS = """columns = { "Name" = "id", "MAC address" = "mac", "Serial number" = "serial" }
shared = []
"""
"""What the columns of a table with other names may mean."""

NEW_DOCUMENTS = Path(__file__).parent / "new_documents"
"""Holds a text for each format but those of `JUDGED_AS`: the least that its installer needs, to be filled in."""


def text_of_new(kind: Kind, extension: str) -> str:
    """Return the text that a new document of a kind and format begins with."""
    if kind is Kind.INVENTORY:
        return NEW_INVENTORY if extension == FORMAT else NEW_COLUMNS
    return (NEW_DOCUMENTS / f"new.{JUDGED_AS.get(extension, extension)}").read_text("utf-8")


def first_row(cells: Mapping[str, str]) -> str:
    """Return the text of an inventory that is made for a machine."""
    table = read_table("", NEW_INVENTORY)
    return with_rows_added(NEW_INVENTORY, table, [in_columns(table.layout, cells)])


_FIRST_LINE = re.compile(r"#(?:!|cloud-config)[^\n]*\n")
"""A line that has to stay the first."""


def with_member(text: str, extension: str, name: str) -> str:
    """Return the text of a group with one more member; unchanged where a person has to write it."""
    family = FORMATS[extension].family.name
    if family == "text" and not {*name} & {*"\r\n"}:
        first = _FIRST_LINE.match(text)
        at = first.end() if first else 0
        return f"{text[:at]}# answer: member {name}\n{text[at:]}"
    if family == "toml":
        try:
            document = tomlkit.parse(text)
        except (TOMLKitError, RecursionError):
            return text
        members = document.get("members")
        if isinstance(members, MutableSequence):
            members.append(name)
            return tomlkit.dumps(document)
        if members is None:
            return f"members = {tomlkit.item([name]).as_string()}\n{text}"
    return text
