"""The rows of all inventories; rows from machines' output.

Usage:
  answerd inventory add [--to NAME] [--dry-run] FILE...
  answerd inventory [--json] [FILTER]...

Lists the rows of all inventories with the documents that claim them. A FILTER
is COLUMN=PATTERN with * and ?, compared as in docs/selection.md#match; several
of one column mean any of them, of different columns all.

add makes a row of each FILE: the output of lshw -xml or of virsh dumpxml, the
body of a Proxmox installer's request, or the .meta file of a recorded request.
Machines with an identity that a row has already are left out. See
docs/inventory.md#rows-from-machines.

Options:
  --to NAME  The inventory that rows are added to, in place of "default"
             (inventory.csv).
  --dry-run  Print the rows, and change nothing.
  --json     For programs: of each row its place, its cells and what claims it.
  -h --help  This text.

Exit status:
  0  it worked
  1  an inventory cannot be read, or a FILE is none that a row can be made of;
     the reason is on stderr
  2  the command line is wrong, or a FILE is not there

Examples:
  # List the rows whose role begins with db.
  answerd inventory 'role=db*'
  # Add the machines whose lshw -xml output was collected.
  answerd inventory add lshw-*.xml
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from answerd import captures
from answerd.adoption import RowsRefused
from answerd.answers.catalogue import Catalogue
from answerd.answers.claims import winners
from answerd.answers.inventory_index import Inventory, inventory_file
from answerd.answers.machine_choice import RowFilters, WrongChoice
from answerd.commands import FAILED, WRONG_USAGE, Arguments, CommandError
from answerd.commands.common import print_json, print_table, printable_line, read_bytes, read_documents, say
from answerd.commands.own_changes import own_author
from answerd.documents import Key, RawDocument
from answerd.errors import AnswerError
from answerd.hardware import Hardware, NotHardwareError, hardware_of_request, hardware_of_text
from answerd.identity import Kind, identifier_fault
from answerd.inventory import DEFAULT_NAME, FORMAT
from answerd.inventory.editing import in_columns, with_rows_added
from answerd.inventory.records import UnreadableError, written_record
from answerd.inventory.row import IDENTITY_COLUMNS, Row
from answerd.inventory.table import Table, read_table
from answerd.store import Store, StoreError
from answerd.store.files import FileStore

HEADER = ",".join(IDENTITY_COLUMNS)
"""The columns of a new inventory."""

WIDEST = 40
"""Characters to which a column is aligned; a longer cell moves those after it."""


def run(arguments: Arguments) -> int:
    """List rows, or add some. Exit status 1 where an inventory or a file could not be read."""
    return _add(arguments) if arguments["add"] else _list(arguments)


# --- list ---


def _list(arguments: Arguments) -> int:
    _, catalogue = read_documents()
    inventory = catalogue.inventory or Inventory()
    try:
        filters = RowFilters(arguments["FILTER"], inventory)
    except WrongChoice as error:
        raise CommandError(str(error), WRONG_USAGE) from None
    rows = [row for row in inventory.rows() if filters.hold(row)]
    listed = [(inventory.place(row), row, _claimed_by(catalogue, row)) for row in rows]
    if arguments["--json"]:
        listing = [{"place": place, "row": row.by_column(), "claimed_by": claims} for place, row, claims in listed]
        print_json({"rows": listing})
    else:
        _print_table(listed)
    for problem in inventory.problems():
        say(f"problem: {problem}")
    return FAILED if inventory.unreadable else 0


def _claimed_by(catalogue: Catalogue, row: Row) -> list[str]:
    try:
        keys = [document.key for document in winners(catalogue, row)] if row.identities() else []
    except AnswerError:
        return []
    return [f"{key.kind} {key.identifier} ({key.format})" for key in keys]


def _print_table(listed: list[tuple[str, Row, list[str]]]) -> None:
    columns: dict[str, str] = {}
    for _, row, _ in listed:
        for label, at in row.layout.labels.items():
            columns.setdefault(label, row.layout.columns[at])
    lines = [["place", *columns.values(), "claimed by"]] if listed else []
    for place, row, claims in listed:
        texts, layout = row.cells(), row.layout
        cells = {label: texts[at] for label, at in layout.labels.items()}
        cells |= {label: " ".join(layout.values(label, texts)) for label in layout.several}
        lines.append([place, *(cells.get(label, "") for label in columns), ", ".join(claims) or "-"])
    print_table(lines, widest=WIDEST)


# --- add ---


def _add(arguments: Arguments) -> int:
    name = arguments["--to"] or DEFAULT_NAME
    if fault := identifier_fault(Kind.INVENTORY, name):
        raise CommandError(f"--to {name!r}: {fault}", WRONG_USAGE)
    machines = [(file, _hardware(file)) for file in arguments["FILE"]]
    store, catalogue = read_documents()
    key = Key(Kind.INVENTORY, name, FORMAT)
    text = _text_of(catalogue, key)
    table = _table_of(catalogue, key, text)
    added: list[list[str]] = []
    failed = False
    for file, machine, cells in _new_rows(machines, table, catalogue.inventory or Inventory()):
        if isinstance(cells, str):
            failed = failed or machine is None
            say(f"left out: {file}: {cells}")
        else:
            added.append(cells)
    if added and not arguments["--dry-run"]:
        write_inventory(store, key, text, with_rows_added(text, table, added), "answerd inventory add")
    done = "" if arguments["--dry-run"] else f"added to {inventory_file(RawDocument(key, ''))}: "
    for cells in added:
        print(printable_line(f"{done}{written_record(cells, table.layout.syntax.separator)}"))
    if not arguments["--dry-run"]:
        print(f"{len(added)} added, {len(machines) - len(added)} left out")
    return FAILED if failed else 0


def _hardware(file: str) -> Hardware | str:
    """Return the machine in a file, or why there is none. Raises `CommandError` where the file cannot be read."""
    try:
        if file.endswith(".meta"):
            if not Path(file).exists():
                raise CommandError(f"{file} cannot be read: there is none", WRONG_USAGE)
            return hardware_of_request(captures.read(Path(file)).request)
        return hardware_of_text(read_bytes(file))
    except (NotHardwareError, captures.CaptureError) as error:
        return str(error)


def _new_rows(
    machines: Sequence[tuple[str, Hardware | str]], table: Table, inventory: Inventory
) -> Iterator[tuple[str, Hardware | None, list[str] | str]]:
    """Yield each file with its machine, None where it has none, and the cells of its row or why it is left out."""
    refusing = RowsRefused(inventory)
    for file, machine in machines:
        if isinstance(machine, str):
            yield file, None, machine
            continue
        cells = in_columns(table.layout, machine.cells)
        yield file, machine, refusing.why(table.layout, cells, file) or cells


def _text_of(catalogue: Catalogue, key: Key) -> str:
    """Return the text of an inventory as it is stored; the header of a new inventory where there is none."""
    inventory = catalogue.inventory
    for document in inventory.documents if inventory else ():
        if document.key.name == key.name:
            return document.text
    return f"{HEADER}\n"


def _table_of(catalogue: Catalogue, key: Key, text: str) -> Table:
    """Return the rows of an inventory. Raises `CommandError` where it cannot be read."""
    source = inventory_file(RawDocument(key, ""))
    try:
        return read_table(source, text, catalogue.meaning_of(key.identifier))
    except UnreadableError as error:
        raise CommandError(f"{source}:{error.line}: the inventory cannot be read: {error.reason}") from None


def write_inventory(store: Store, key: Key, before: str | None, text: str, note: str) -> None:
    """Store the text of an inventory. Raises `StoreError`, in a database also where another write came first.
    ``before`` is the text that it was made of, None where there was none."""
    if isinstance(store, FileStore):
        store.put(key, text)
        return
    with store.writing(own_author(note)) as transaction:
        stored = transaction.find(key)
        if stored is not None and stored.body.decode("utf-8", "replace") != before:
            raise StoreError("the inventory was changed meanwhile: nothing was added, try again")
        transaction.write([RawDocument(key, text)], [])
        transaction.commit()
