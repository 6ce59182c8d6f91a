"""Inventories as text and rows: syntax, identities, faults, the rows of a changed text, edits of one row.

Rules: docs/inventory.md.
"""

from __future__ import annotations

import csv
import io
import re
import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.facts import OWN_LABELS, RESERVED_LABELS
from answerd.formats.template import SECRETS
from answerd.identity import identity_of
from answerd.inventory.editing import with_columns_added, with_rows_added, with_rows_changed, without_row
from answerd.inventory.meaning import RESERVED_BEGINNING, RESERVED_COLUMNS
from answerd.inventory.records import Syntax, UnreadableError, written
from answerd.inventory.row import identities_of_sound, judged, notes
from answerd.inventory.table import read_table, table_after
from tests.support.thorough import examples

MAC = "98:fa:9b:50:d8:10"


def rows_of(text: str) -> list[tuple[int, dict[str, str]]]:
    """The rows of a text with their lines, empty cells left out."""
    table = read_table("inventory.csv", text)
    found = []
    for row in table.rows:
        line = table.line_of(row)
        assert line is not None
        found.append((line, {column: value for column, value in row.by_column().items() if value}))
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("id,note\na,b\n", [(2, {"id": "a", "note": "b"})], id="a comma separates"),
        pytest.param("id;note\na;b,c\n", [(2, {"id": "a", "note": "b,c"})], id="a semicolon separates"),
        pytest.param("id\tnote\na\tb; c\n", [(2, {"id": "a", "note": "b; c"})], id="a tab separates"),
        pytest.param("id\na\n", [(2, {"id": "a"})], id="one column needs no separator"),
        pytest.param("\ufeffid,note\r\na,b\r\n", [(2, {"id": "a", "note": "b"})], id="byte order mark and CRLF"),
        pytest.param("id,note\ra,b\r", [(2, {"id": "a", "note": "b"})], id="CR alone ends a line"),
        pytest.param("id,note\na,b", [(2, {"id": "a", "note": "b"})], id="the last line needs no end"),
        pytest.param("# x,y;z\n\nid;n\n \na;b\n#c;d\n", [(5, {"id": "a", "n": "b"})], id="comments and blank lines"),
        pytest.param(";;\nid;n\n;\na;b\n; \n", [(4, {"id": "a", "n": "b"})], id="empty cells only are no row"),
        pytest.param(" id , n \n a , b \n", [(2, {"id": "a", "n": "b"})], id="blanks around cells go"),
        pytest.param(
            "\u00a0id,n\u2003\n\u00a0a,sda\u00a0\nb,\u3000é\u2009\n\u00a0,\u202f\n",
            [(2, {"id": "a", "n": "sda"}), (3, {"id": "b", "n": "é"})],
            id="Unicode's blanks go",
        ),
        pytest.param(
            'id,n\na,"\u00a0b\u00a0"\u00a0\n', [(2, {"id": "a", "n": "\u00a0b\u00a0"})], id="inside they stay"
        ),
        pytest.param('id,n\na,"\u00a0"\n"\u2003","\u00a0"\n', [(2, {"id": "a"})], id="quoted ones are empty"),
        pytest.param('id,n\na , " b " \t\n', [(2, {"id": "a", "n": " b "})], id="those inside quotes stay"),
        pytest.param('id,n\na,"b\n" ,c\n', [(2, {"id": "a", "n": "b\n"})], id="blanks after a quote of several lines"),
        pytest.param('id,n\na,"b ""c"", d"\n', [(2, {"id": "a", "n": 'b "c", d'})], id="doubled quotes"),
        pytest.param('id,n\na,6" disk "x"\n', [(2, {"id": "a", "n": '6" disk "x"'})], id="a quote within a cell"),
        pytest.param(
            'id,n\na,"b\n#c"\nd,e\n', [(2, {"id": "a", "n": "b\n#c"}), (4, {"id": "d", "n": "e"})], id="lines"
        ),
        pytest.param('id,n\n"#a",b\n', [(2, {"id": "#a", "n": "b"})], id="a quoted cell begins no comment"),
        pytest.param("id,n,m\na\n", [(2, {"id": "a"})], id="fewer cells are empty"),
        pytest.param("id,n,,\na,b,,\nc,d\n", [(2, {"id": "a", "n": "b"}), (3, {"id": "c", "n": "d"})], id="no names"),
        pytest.param('"id";"n"\n"a";""\n', [(2, {"id": "a"})], id="a quoted header"),
        pytest.param('id,n\na,""\n"",""\n', [(2, {"id": "a"})], id="quoted empty cells are empty"),
        pytest.param("Id,NETWORK.0.ip\na,b\n", [(2, {"Id": "a", "NETWORK.0.ip": "b"})], id="columns keep their case"),
        pytest.param("id,n\n", [], id="a header alone"),
        pytest.param("sep=;\nid;n\na;b,c\n", [(3, {"id": "a", "n": "b,c"})], id="Excel's first line"),
        pytest.param('"SEP=\t"\r\n\r\nid\tn\r\na\tb\r\n', [(4, {"id": "a", "n": "b"})], id="the same in quotes"),
        pytest.param("sep=,\nid;n,serial\na,b\n", [(3, {"id;n": "a", "serial": "b"})], id="it beats the header"),
        pytest.param('"";" "\nid;n\na;b\n', [(3, {"id": "a", "n": "b"})], id="quoted blanks above the header"),
        pytest.param('""\nid\tn\na\tb\n', [(3, {"id": "a", "n": "b"})], id="a quoted empty cell above the header"),
        pytest.param('id,n\na," "\n" ","\t"\n', [(2, {"id": "a"})], id="quoted blanks are empty"),
        pytest.param("id,a b,n\nx,y,z\n", [(2, {"id": "x", "a b": "y", "n": "z"})], id="a name that is no label"),
        pytest.param("\nid,,n\nx,,z\n", [(3, {"id": "x", "n": "z"})], id="a column without a name"),
        pytest.param("id,n\na;b,c\nd,e\n", [(2, {"id": "a;b", "n": "c"}), (3, {"id": "d", "n": "e"})], id="mixed"),
        pytest.param('id,n\nx;"y\n', [(2, {"id": 'x;"y'})], id="a quote within a cell, after another separator"),
        pytest.param('id,n\nx;"y"z\n', [(2, {"id": 'x;"y"z'})], id="quotes within a cell, after another separator"),
    ],
)
def test_what_a_text_holds(text: str, expected: list[tuple[int, dict[str, str]]]) -> None:
    assert rows_of(text) == expected


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("", 1, "no header"),
        ("# only\n\n", 1, "no header"),
        ("ip,role\n", 1, "no column is one of id, mac, serial, uuid"),
        ("id,ID\n", 1, "twice"),
        ("id,mac\na;b\nc;d;e\n", 1, "separates its columns with commas, and every row with semicolons"),
        ("# x\nid;mac\na\tb\n", 2, "separates its columns with semicolons, and every row with tabs"),
        ("sep=|\nid|mac\n", 1, "sep= names no separator"),
        ("sep=\nid,mac\n", 1, "sep= names no separator"),
        ("id,Peer\n", 1, "reserved"),
        ("id,secret.root\n", 1, "reserved"),
        ('id,n\na,b\nc,"d\n', 3, "a quote is opened and never closed in column n"),
        ('id,n\na,"b\nc","d\n', 2, "a quote is opened and never closed in cell 3"),
        ('id,n\na,"b" c\n', 2, "there is text after a closing quote in column n"),
        ('id,n,o\n "a"b,"c\n"\n', 2, "there is text after a closing quote in column id"),
        ('id,n\na,"b\nc" d\n', 3, "there is text after a closing quote in column n"),
        ('id,"n\n', 1, "a quote is opened and never closed in cell 2"),
    ],
)
def test_what_is_no_inventory_names_the_line(text: str, line: int, reason: str) -> None:
    with pytest.raises(UnreadableError) as raised:
        read_table("inventory.csv", text)
    assert raised.value.line == line
    assert reason in raised.value.reason


def test_the_reserved_columns_are_those_that_a_request_cannot_set_and_those_of_the_url() -> None:
    assert {"path", "file", "segment"} | OWN_LABELS | RESERVED_LABELS == RESERVED_COLUMNS
    assert RESERVED_BEGINNING == SECRETS


def judge(text: str) -> tuple[dict[str, str], str | None]:
    """The identities and the fault of the only row of a text."""
    table = read_table("inventory.csv", text)
    (row,) = table.rows
    return judged(table.layout, table.layout.syntax.cells(row.text))


@pytest.mark.parametrize(
    ("text", "identities"),
    [
        ("id,mac\nweb-01,98:FA:9B:50:D8:10\n", ["web01", "98fa9b50d810"]),
        ("mac\n98fa.9b50.d810  98-FA-9B-50-D8-11 98fa9b50d812\n", ["98fa9b50d810", "98fa9b50d811", "98fa9b50d812"]),
        ("mac\n00:00:00:00:00:00 ff:ff:ff:ff:ff:ff 98:fa:9b:50:d8:10\n", ["98fa9b50d810"]),
        ("mac\n80:00:00:48:fe:80:00:00:00:00:00:00:f4:52:14:03:00:7b:cb:a1\n", ["f4521403007bcba1"]),
        (
            "mac\n8000004800000000000000000000000000000001 00:11:22:33:44:55:66:77\n",
            ["0" * 15 + "1", "0011223344556677"],
        ),
        ("mac\n0011.2233.4455.6677 8899aabbccddeeff\n", ["0011223344556677", "8899aabbccddeeff"]),
        ("serial\nVMware-56 4d x\n", ["vmware564dx"]),
        ("serial,id\nTo be filled by O.E.M.,a1\n", ["a1"]),
        ("uuid\n4C4C4544-0042-4210-8056-B4C04F4E4B33\n", ["4c4c454400424210" + "8056b4c04f4e4b33"]),
        ("uuid\n4c4c4544 0042 42108056 b4c04f4e4b33\n", ["4c4c4544004242108056b4c04f4e4b33"]),
        ("uuid,id\n03000200-0400-0500-0006-000700080009,x\n", ["x"]),
        ("id\n10.0.0.5\n", ["10.0.0.5"]),
        ("serial\n1010\n", ["1010"]),
        ("ip,id\n10.0.0.5,x\n", ["x"]),
    ],
)
def test_what_a_row_identifies(text: str, identities: list[str]) -> None:
    found, fault = judge(text)
    assert fault is None
    assert list(found) == identities
    row = read_table("inventory.csv", text).rows[0]
    assert identities_of_sound(row.layout, row.cells()) == found == row.identities()


@pytest.mark.parametrize(
    ("text", "fault", "identities"),
    [
        ("id,mac\nweb-01,98:fa:9b:50:d8:zz\n", "column mac", ["web01"]),
        ("id,mac\nweb-01,98:fa:9b:50:d8:10:11\n", "column mac", ["web01"]),
        ("id,mac\nweb-01,98:fa:9b:50:d8:10 x\n", "column mac", ["web01", "98fa9b50d810"]),
        ("id,mac\nweb 01,98:fa:9b:50:d8:10\n", "column id", ["98fa9b50d810"]),
        ("id,mac\nInventory,98:fa:9b:50:d8:10\n", "column id", ["98fa9b50d810"]),
        ("id,uuid\nweb-01,4c4c4544\n", "column uuid", ["web01"]),
        ("id,mac\nweb-01,98:fa:9b:50:d8:10,extra\n", "3 cells", ["web01", "98fa9b50d810"]),
        ("id,mac\nweb-01,98:fa:9b:50:d8:10,\n", "3 cells", ["web01", "98fa9b50d810"]),
        ("id,role\n,web\n", "no value in id", []),
        ("id,serial\n,Default string\n", "no value in id or serial", []),
    ],
)
def test_a_fault_names_the_column_keeps_valid_identities_and_quotes_nothing(
    text: str, fault: str, identities: list[str]
) -> None:
    found, why = judge(text)
    assert why is not None
    assert fault in why
    assert "zz" not in why
    assert "nventory" not in why
    assert list(found) == identities


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id\nw1\n", ["column id: a value of under 4 letters and digits is not recognised in a JSON body"]),
        ("id\nweb1\n", []),
    ],
)
def test_what_surprises_is_noted(text: str, expected: list[str]) -> None:
    table = read_table("inventory.csv", text)
    assert notes(table.layout, table.rows[0].cells()) == expected


def test_the_addresses_of_a_mac_cell_are_several_values_and_any_other_cell_is_one() -> None:
    table = read_table("inventory.csv", "id,mac,disks\nweb-01,98:fa:9b:50:d8:10 98fa9b50d811,sda sdb\n")
    assert table.rows[0].values() == {
        "id": ["web-01"],
        "mac": ["98:fa:9b:50:d8:10", "98fa9b50d811"],
        "disks": ["sda sdb"],
    }
    assert table.rows[0].name == "web-01"


def test_an_identity_and_a_column_have_no_blanks_around_them() -> None:
    table = read_table("inventory.csv", f'" id "," mac ","serial "\n" web-01 "," {MAC}","X1 "\n')
    [row] = table.rows
    assert judged(row.layout, row.cells()) == ({"web01": "web-01", "98fa9b50d810": MAC, "x1": "X1"}, None)
    assert (row.name, row.values()) == ("web-01", {"id": ["web-01"], "mac": [MAC], "serial": ["X1"]})


def test_a_row_without_an_id_is_called_by_its_first_identity() -> None:
    assert read_table("inventory.csv", f"serial,mac\nX1,{MAC}\n").rows[0].name == "98fa9b50d810"


def test_blanks_are_those_of_python_but_for_control_characters() -> None:
    blanks = [sign for sign in map(chr, range(sys.maxunicode)) if sign.isspace() and unicodedata.category(sign) != "Cc"]
    assert [Syntax(",").cells(f"{blank}a{blank}") for blank in blanks] == [["a"]] * len(blanks)
    assert len(blanks) > 10


CELL = st.text(st.sampled_from('ab1 "\t,;\n\r#é\u00a0'), max_size=6)
GRID = st.lists(st.tuples(CELL, CELL, CELL), max_size=8)


def spelled_by_csv(grid: list[tuple[str, str, str]], separator: str, line_end: str) -> str:
    """A text as the standard library's writer spells it, with every cell quoted."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator=line_end, quoting=csv.QUOTE_ALL)
    writer.writerow(["id", "note", "more"])
    writer.writerows(grid)
    return text.getvalue()


@settings(max_examples=examples(60))
@given(GRID, st.sampled_from(",;\t"), st.sampled_from(["\n", "\r\n"]))
def test_what_another_program_wrote_is_read_as_it_was_meant(
    grid: list[tuple[str, str, str]], separator: str, line_end: str
) -> None:
    table = read_table("inventory.csv", spelled_by_csv(grid, separator, line_end))
    assert [tuple(row.cells()) for row in table.rows] == [row for row in map(as_kept, grid) if any(row)]


def as_kept(row: tuple[str, ...]) -> tuple[str, ...]:
    """The cells of a row as they are read where those with blanks around them are quoted."""
    return tuple(cell if cell.strip(" \t\r\n\u00a0") else "" for cell in row)


def literally(text: str) -> list[tuple[int, list[str]]]:
    """The records of a text with commas, read character by character as docs/inventory.md#syntax says.

    Raises ValueError for a quote that stays open and for text after a closing quote.
    """
    found = []
    lines = re.split("\r\n|\n|\r", text)
    line = 0
    while line < len(lines):
        begun = line
        rest = lines[line]
        cells: list[str] = []
        while not rest.startswith("#") or cells:
            bare = rest.lstrip(" ")
            if bare.startswith('"'):
                value, rest = "", bare[1:]
                while (closing := rest.replace('""', "xx").find('"')) < 0:
                    line += 1
                    if line == len(lines):
                        raise ValueError
                    value, rest = value + rest + "\n", lines[line]
                value, rest = (value + rest[:closing]).replace('""', '"'), rest[closing + 1 :]
                after, comma, rest = rest.partition(",")
                if after.strip(" \u00a0"):
                    raise ValueError
                cells.append(value if value.strip() else "")
            else:
                value, comma, rest = rest.partition(",")
                cells.append(value.strip())
            if not comma:
                break
        if any(cells):
            found.append((begun + 1, cells))
        line += 1
    return found


LINES = st.lists(
    st.one_of(
        st.sampled_from(
            ["", "#x", "a,b", "a, b ,", ' "a" ,b', '" a"', '"a', 'b"', 'a"b,c', '"a""b",c', '"a"b', ";", ",,", " "]
        ),
        st.text(st.sampled_from('ab ,"#\u00a0'), max_size=6),
    ),
    max_size=7,
)


def as_read(text: str) -> list[tuple[int, list[str]]] | int:
    """The records of a text with their lines; where it cannot be read, the line that says so."""
    try:
        table = read_table("inventory.csv", text)
    except UnreadableError as error:
        return error.line
    return [(line, table.layout.syntax.cells(row.text)) for line, row in zip(table.lines, table.rows, strict=True)]


@settings(max_examples=examples(150))
@given(LINES, st.sampled_from(["\n", "\r\n", "\r"]))
def test_reading_agrees_with_a_literal_reading(lines: list[str], line_end: str) -> None:
    read = as_read(line_end.join(["id,n,m,o", *lines]))
    try:
        expected = literally("\n".join(["id,n,m,o", *lines]))[1:]
    except ValueError:
        assert isinstance(read, int)
        return
    assert not isinstance(read, int)
    assert [(line, [cell.replace(line_end, "\n") for cell in cells]) for line, cells in read] == expected


@settings(max_examples=examples(150))
@given(st.lists(LINES, min_size=4, max_size=4), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_a_changed_text_is_read_as_it_would_be_alone(parts: list[list[str]], line_end: str, ends: bool) -> None:
    head, before, after, tail = parts

    def text_of(middle: list[str]) -> str:
        return line_end.join(["id,n,m,o", *head, *middle, *tail]) + (line_end if ends else "")

    try:
        table = read_table("inventory.csv", text_of(before))
    except UnreadableError:
        return
    expected = as_read(text_of(after))
    if isinstance(expected, int):
        with pytest.raises(UnreadableError, match=f"line {expected}:"):
            table_after(table, "inventory.csv", text_of(after))
        return
    changed = table_after(table, "inventory.csv", text_of(after))
    fresh = read_table("inventory.csv", text_of(after))
    assert [row.text for row in changed.table.rows] == [row.text for row in fresh.rows]
    assert list(changed.table.lines) == list(fresh.lines)
    assert [changed.table.line_of(row) for row in changed.table.rows] == list(fresh.lines)
    kept = [row for row in table.rows if not any(row is gone for gone in changed.removed)]
    assert {id(row) for row in changed.table.rows} == {id(row) for row in [*kept, *changed.added]}
    assert not {row.text for row in changed.removed} & {row.text for row in changed.added}


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param(["id,n\na,b\n", "id, n\na,b\n", "id,n\nc,b\n"], id="a header that is spelled differently"),
        pytest.param(["id,n\na,b\n", "# x\nid,n\na,b\n", "id,n"], id="lines above the header, no rows"),
    ],
)
def test_below_a_changed_header_rows_are_read_as_they_would_be_alone(texts: list[str]) -> None:
    table = None
    for text in texts:
        fresh = read_table("inventory.csv", text)
        table = table_after(table, "inventory.csv", text).table
        assert [row.text for row in table.rows] == [row.text for row in fresh.rows]
        assert [table.line_of(row) for row in table.rows] == list(fresh.lines)


def test_a_changed_header_makes_every_row_new() -> None:
    table = read_table("inventory.csv", "id,role\na1,web\n")
    changed = table_after(table, "inventory.csv", "id,kind\na1,web\n")
    assert (changed.removed, [row.by_column() for row in changed.added]) == (
        list(table.rows),
        [{"id": "a1", "kind": "web"}],
    )


def test_a_row_that_was_short_gets_the_cells_that_it_needs() -> None:
    table = read_table("inventory.csv", "id,mac,role,rack\nweb-01\n")
    assert with_rows_changed(table.text, table, {2: ["web-01", "", "db", ""]}) == "id,mac,role,rack\nweb-01,,db,\n"


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("id\r\na\r\nb\r\n", 2, "id\r\nb\r\n"),
        ("id\na\nb", 3, "id\na\n"),
        ('id,n\na,"x\ny"\nb\n', 2, "id,n\nb\n"),
        ("id\ra\rb\r", 2, "id\rb\r"),
    ],
)
def test_a_removed_row_takes_its_line_end_along(text: str, line: int, expected: str) -> None:
    assert without_row(text, read_table("inventory.csv", text), line) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id,n\r\na,b\r\n", "id,n\r\na,b\r\nc,d\r\n"),
        ("id,n\na,b", "id,n\na,b\nc,d\n"),
        ("\ufeffid;n", "\ufeffid;n\nc;d\n"),
        ("id\tn\r", "id\tn\rc\td\r"),
    ],
)
def test_a_new_row_is_appended_as_the_file_is_spelled(text: str, expected: str) -> None:
    assert with_rows_added(text, read_table("inventory.csv", text), [["c", "d"]]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id,n\r\na,b\r\n", "id,n,mac,x y\r\na,b\r\n"),
        ("id;n;;\na;b;;\nc\n", "id;n;;;mac;x y\na;b;;\nc\n"),
        ("sep=;\nid;;n\na;free;b", "sep=;\nid;;n;mac;x y\na;free;b"),
        ("\ufeffid", "\ufeffid,mac,x y"),
    ],
)
def test_new_columns_stand_after_the_whole_header(text: str, expected: str) -> None:
    assert with_columns_added(text, read_table("inventory.csv", text), ["mac", "x y"]) == expected


CELLS_OF_ANY_WIDTH = st.lists(st.sampled_from(["", "", "x", MAC]), max_size=6)


@settings(max_examples=examples(200))
@given(st.integers(0, 2), st.lists(CELLS_OF_ANY_WIDTH, max_size=4), st.sampled_from(["mac", "n2"]))
def test_a_new_column_says_nothing_of_any_row(unnamed: int, grid: list[list[str]], name: str) -> None:
    header = ",".join(["id", "n", *[""] * unnamed])
    text = f"{header}\n" + "".join(",".join([f"a{at}", *cells]) + "\n" for at, cells in enumerate(grid))
    before = read_table("inventory.csv", text)
    judgements = [judged(row.layout, row.layout.syntax.cells(row.text)) for row in before.rows]
    beyond = [line for line, (_, fault) in zip(before.lines, judgements, strict=True) if fault]
    if beyond:
        with pytest.raises(UnreadableError, match=rf"inventory\.csv:{beyond[0]} has "):
            with_columns_added(text, before, [name])
        return
    after = read_table("inventory.csv", with_columns_added(text, before, [name]))
    assert [row.identities() for row in after.rows] == [found.identities for found in judgements]
    assert [row.values() for row in after.rows] == [row.values() for row in before.rows]


@settings(max_examples=examples(80))
@given(GRID.filter(lambda grid: any(any(as_kept(row)) for row in grid)), st.tuples(CELL, CELL, CELL), st.data())
def test_whatever_a_row_is_changed_to_it_is_read_back_and_nothing_else_changes(
    grid: list[tuple[str, str, str]], values: tuple[str, str, str], data: st.DataObject
) -> None:
    text = spelled_by_csv(grid, data.draw(st.sampled_from(",;\t")), data.draw(st.sampled_from(["\n", "\r\n"])))
    table = read_table("inventory.csv", text)
    at = data.draw(st.integers(0, len(table.rows) - 1))

    def rows(changed: str) -> list[tuple[str, ...]]:
        return [tuple(row.cells()) for row in read_table("inventory.csv", changed).rows]

    before = rows(text)
    assert before == [row for row in map(as_kept, grid) if any(row)]
    edited = with_rows_changed(text, table, {table.lines[at]: values})
    kept = as_kept(values)
    assert rows(edited) == [row for row in [*before[:at], kept, *before[at + 1 :]] if any(row)]
    assert rows(without_row(text, table, table.lines[at])) == before[:at] + before[at + 1 :]
    assert rows(with_rows_added(text, table, [values])) == [*before, *([kept] if any(kept) else [])]
    assert edited.startswith(text[: text.index("\n")])


@given(st.text(st.sampled_from('a "\t,;\r\n#\ufeff'), max_size=6), st.sampled_from(",;\t"))
def test_a_written_cell_is_read_back(value: str, separator: str) -> None:
    text = f"{written(value, separator, is_first=True)}{separator}x"
    table = read_table("inventory.csv", f"id{separator}n\n{text}\n")
    assert table.rows[0].cells() == [*as_kept((value,)), "x"]


def test_sentences_of_faults_quote_no_cell() -> None:
    text = 'id,mac,serial,uuid\nhush hush,hush,"!hush",hush\n'
    found, fault = judge(text.replace('"!hush"', "!!"))
    assert found == {}
    assert fault
    assert "hush" not in fault
    assert re.search(r"column \w+", fault)
    assert identity_of("hush")


def test_a_row_that_stays_is_the_same_where_it_has_moved_to() -> None:
    table = read_table("inventory.csv", "id,n\na,1\nb,2\nc,3\n")
    changed = table_after(table, "inventory.csv", "id,n\n# here\nc,3\nb,4\n")
    assert changed.table.rows[0] is table.rows[2]
    assert changed.table.line_of(table.rows[2]) == 3
    assert changed.table.line_of(table.rows[0]) is None
    assert [row.text for row in changed.added] == ["b,4"]
