"""The rows of all inventories; rows from machines' output and from tables.

Usage:
  answerd inventory add [--fill] [--to NAME] [--dry-run] FILE...
  answerd inventory [--json] [FILTER]...

Lists the rows of all inventories with the documents that claim them. A FILTER
is COLUMN=PATTERN with * and ?, compared as in docs/selection.md#match; several
of one column mean any of them, of different columns all.

add makes a row of each FILE: the output of lshw -xml or of virsh dumpxml, the
body of a Proxmox installer's request, or the .meta file of a recorded request.
Of a FILE that ends in .csv it makes a row of each machine, also where the table
has a row for each port; NAME.columns beside NAME.csv says what its columns
mean. Machines with an identity that a row has already are left out. See
docs/inventory.md#rows-from-machines.

Options:
  --fill     Give rows that are there what they lack, in place of new rows:
             MAC addresses, and cells that are empty.
  --to NAME  The inventory that rows are added to, in place of "default"
             (inventory.csv).
  --dry-run  Print the rows, and change nothing.
  --json     For programs: of each row its place, its cells by column and by
             label, and what claims it.
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
  # Give the machines of the inventory the addresses of their ports.
  answerd inventory add --fill interfaces.csv
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
from answerd.commands.documents import read_documents
from answerd.commands.own_changes import own_author
from answerd.commands.terminal import print_json, print_table, printable_line, say, say_each
from answerd.commands.values import read_bytes
from answerd.documents import Key, NotText, RawDocument, decoded, nul_in
from answerd.errors import AnswerError
from answerd.hardware import Hardware, NotHardwareError, hardware_of_request, hardware_of_text
from answerd.identity import Kind, identifier_fault, identity_of, normalize
from answerd.inventory import DEFAULT_NAME, FORMAT, columns_file_beside
from answerd.inventory.editing import in_columns, with_columns_added, with_rows_added, with_rows_changed
from answerd.inventory.meaning import Meaning, read_columns
from answerd.inventory.ports import machines_of_ports
from answerd.inventory.records import UnreadableError, written_record
from answerd.inventory.row import IDENTITY_COLUMNS, NEW_INVENTORY, Row, judged, values_in
from answerd.inventory.table import Table, read_table
from answerd.shared_values import MAC, SERIAL, UUID
from answerd.short_texts import brief
from answerd.store import Store, StoreError
from answerd.store.files import FileStore

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
        listing = [
            {"place": place, "row": row.by_column(), "labels": _by_label(row), "claimed_by": claims}
            for place, row, claims in listed
        ]
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


def _by_label(row: Row) -> dict[str, str]:
    """Return the cells of a row by their labels. Of several columns with one label all values are there."""
    texts, layout = row.cells(), row.layout
    cells = {label: texts[at] for label, at in layout.labels.items()}
    return cells | {label: " ".join(layout.values(label, texts)) for label in layout.several}


def _print_table(listed: list[tuple[str, Row, list[str]]]) -> None:
    columns: dict[str, str] = {}
    for _, row, _ in listed:
        for label, at in row.layout.labels.items():
            columns.setdefault(label, row.layout.columns[at])
    lines = [["place", *columns.values(), "claimed by"]] if listed else []
    for place, row, claims in listed:
        cells = _by_label(row)
        lines.append([place, *(cells.get(label, "") for label in columns), ", ".join(claims) or "-"])
    print_table(lines, widest=WIDEST)


# --- add ---


def _add(arguments: Arguments) -> int:
    name = arguments["--to"] or DEFAULT_NAME
    if fault := identifier_fault(Kind.INVENTORY, name):
        raise CommandError(f"--to {name!r}: {fault}", WRONG_USAGE)
    store, catalogue = read_documents()
    machines = [found for file in arguments["FILE"] for found in _machines(file, catalogue)]
    key = Key(Kind.INVENTORY, name, FORMAT)
    before = stored_text(catalogue, key)
    text = before if before is not None else NEW_INVENTORY
    table = _table_of(catalogue, key, text)
    inventory = catalogue.inventory or Inventory()
    if arguments["--fill"]:
        if MAC not in table.layout.labels and any(isinstance(one, Hardware) and one.macs for _, one in machines):
            try:
                text = with_columns_added(text, table, [MAC])
            except UnreadableError as error:
                raise CommandError(error.reason) from None
            table = _table_of(catalogue, key, text)
        filled, left_out = _filled_rows(machines, table, inventory)
        after = with_rows_changed(text, table, filled) if filled else text
        rows, done = [filled[line] for line in sorted(filled)], "filled in"
    else:
        rows, left_out = _new_rows(machines, table, inventory)
        after, done = with_rows_added(text, table, rows) if rows else text, "added to"
    _say_left_out(left_out)
    is_tried = arguments["--dry-run"]
    if rows and not is_tried:
        write_inventory(store, key, before, after, "answerd inventory add")
    begin = "" if is_tried else f"{done} {inventory_file(RawDocument(key, ''))}: "
    for cells in rows:
        print(printable_line(f"{begin}{written_record(cells, table.layout.syntax.separator)}"))
    if not is_tried:
        unchanged = len(machines) - len(rows) - len(left_out)
        counts = [f"{len(rows)} {done.split()[0]}", *([f"{unchanged} unchanged"] if arguments["--fill"] else [])]
        print(", ".join([*counts, f"{len(left_out)} left out"]))
    return FAILED if any(isinstance(machine, str) for _, machine in machines) else 0


def _machines(file: str, catalogue: Catalogue) -> Iterator[tuple[str, Hardware | str]]:
    """Yield the place and the hardware of each machine in a file, or why there is none. Raises `CommandError` where the
    file cannot be read."""
    try:
        if file.lower().endswith(f".{FORMAT}"):
            yield from _machines_of_table(file, catalogue)
        elif file.endswith(".meta"):
            if not Path(file).exists():
                raise CommandError(f"{file} cannot be read: there is none", WRONG_USAGE)
            yield file, hardware_of_request(captures.read(Path(file)).request)
        else:
            yield file, hardware_of_text(read_bytes(file))
    except (NotHardwareError, captures.CaptureError) as error:
        yield file, str(error)


def _machines_of_table(file: str, catalogue: Catalogue) -> Iterator[tuple[str, Hardware | str]]:
    beside = Path(columns_file_beside(file))
    shared = catalogue.meaning_of(DEFAULT_NAME).shared
    read = file
    try:
        text = _text_in(Path(file))
        meaning = Meaning(shared=shared)
        if beside.exists():
            read = str(beside)
            content = read_columns(_text_in(beside))
            if content.shared:
                raise UnreadableError(1, "shared values hold for the whole set: write them beside an inventory of it")
            meaning, read = Meaning(content.labels, shared, content.names), file
        ports = machines_of_ports(read_table(file, text, meaning))
    except UnreadableError as error:
        yield f"{read}:{error.line}", error.reason
        return
    for machine in ports.machines:
        values = machine.values
        others = {label: value for label, value in values.items() if label not in IDENTITY_COLUMNS}
        yield (
            f"{file}:{machine.line}",
            Hardware(tuple(machine.macs), values.get(SERIAL, ""), values.get(UUID, ""), others, values.get("id", "")),
        )
    yield from ((f"{file}:{line}", fault) for line, fault in ports.faults)


def _text_in(file: Path) -> str:
    """Return the text of a table, or of the document beside it. Raises `UnreadableError`; `CommandError` where there is
    no such file."""
    try:
        text = decoded(Kind.INVENTORY, read_bytes(str(file)))
    except NotText as error:
        raise UnreadableError(error.line, f"it {error}") from None
    if nul := nul_in(text):
        raise UnreadableError(nul.line, f"the line {nul.fault}")
    return text


LeftOut = list[tuple[str, str]]
"""Machines that are left out: where each was found, and why."""

MOST_LEFT_OUT = 10
"""Machines that are left out for one reason and named: a table of ports has those of every switch too."""


def _say_left_out(machines: LeftOut) -> None:
    of_reason: dict[str, list[str]] = {}
    for place, why in machines:
        of_reason.setdefault(why, []).append(place)
    for why, places in of_reason.items():
        say_each("left out", ((place, why) for place in places[:MOST_LEFT_OUT]))
        if len(places) > MOST_LEFT_OUT:
            say(f"left out: {len(places) - MOST_LEFT_OUT:,} more: {why}")


def _new_rows(
    machines: Sequence[tuple[str, Hardware | str]], table: Table, inventory: Inventory
) -> tuple[list[list[str]], LeftOut]:
    """Return the cells of new rows, and the machines that are left out."""
    refusing = RowsRefused(inventory)
    rows: list[list[str]] = []
    left_out: LeftOut = []
    for place, machine in machines:
        cells = [] if isinstance(machine, str) else in_columns(table.layout, machine.cells)
        if why := machine if isinstance(machine, str) else refusing.why(table.layout, cells, place):
            left_out.append((place, why))
        else:
            rows.append(cells)
    return rows, left_out


def _filled_rows(
    machines: Sequence[tuple[str, Hardware | str]], table: Table, inventory: Inventory
) -> tuple[dict[int, list[str]], LeftOut]:
    """Return the cells of rows that get what they lack, by their lines, and the machines that are left out."""
    refusing = RowsRefused(inventory)
    rows: dict[str, dict[Row, None]] = {}
    for row in table.rows:
        for identity in row.identities():
            rows.setdefault(identity, {})[row] = None
    filled: dict[int, list[str]] = {}
    left_out: LeftOut = []
    for place, machine in machines:
        if isinstance(machine, str):
            left_out.append((place, machine))
            continue
        layout = table.layout
        own = judged(layout, in_columns(layout, machine.cells)).identities
        found = {row: None for identity in own for row in rows.get(identity, ())}
        lines = [table.line_of(row) or 0 for row in found]
        if len(found) != 1:
            several = f"{layout.source}:{' and :'.join(map(str, sorted(lines)))} are of this machine"
            left_out.append((place, several if found else f"no row of {layout.source} is of this machine"))
            continue
        (row,), (line,) = found, lines
        cells, differing = _filled(row, machine)
        if fault := judged(layout, layout.syntax.cells(row.text)).fault:
            left_out.append((place, f"{layout.source}:{line}: {fault}"))
        elif differing:
            columns = " and ".join(brief(column) for column in differing)
            left_out.append((place, f"{layout.source}:{line} has another value in column {columns}"))
        elif cells != row.cells():
            if why := refusing.why(layout, cells, place, row):
                left_out.append((place, why))
            else:
                filled[line] = cells
    return filled, left_out


def _filled(row: Row, machine: Hardware) -> tuple[list[str], list[str]]:
    """Return the cells of a row with what it lacks of a machine, and the identity columns in which they differ."""
    layout, cells, said = row.layout, row.cells(), machine.cells
    differing: list[str] = []
    for label, at in layout.labels.items():
        values = layout.values(label, cells)
        if label == MAC:
            known = {normalize(mac) for mac in values}
            more = [mac for mac in machine.macs if normalize(mac) not in known]
            here = values_in(MAC, cells[at], layout.shared)
            cells[at] = " ".join([*([cells[at]] if here else []), *more]) if more else cells[at]
        elif label in said and not values:
            cells[at] = said[label]
        elif label in IDENTITY_COLUMNS and label in said and identity_of(said[label]) not in map(identity_of, values):
            differing.append(layout.columns[at])
    return cells, differing


def stored_text(catalogue: Catalogue, key: Key) -> str | None:
    """Return the text of an inventory as it is stored; None where there is none."""
    raw = catalogue.raw_of(key.name)
    return raw.text if raw is not None else None


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
