"""Tables with a row for each port: which rows are one machine, and what shows that they are two.

Rules: docs/inventory.md#tables-with-a-row-for-each-port.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.inventory.meaning import AS_WRITTEN, Meaning, read_columns
from answerd.inventory.ports import Ports, machines_of_ports
from answerd.inventory.records import UnreadableError
from answerd.inventory.table import read_table
from tests.support.thorough import examples

NETBOX = '[columns]\nDevice = "id"\nName = "port"\n"MAC Address" = "mac"\n'


def ports(text: str, columns: str = "") -> Ports:
    content = read_columns(columns)
    meaning = Meaning(content.labels, names=content.names) if columns else AS_WRITTEN
    return machines_of_ports(read_table("ports.csv", text, meaning))


def test_the_rows_of_a_machine_give_it_their_addresses() -> None:
    text = (
        "Device,Name,Type,MAC Address,Site\n"
        "cn001,eno1,1000BASE-T,98:FA:9B:50:D8:10,fra1\n"
        "cn002,eno1,1000BASE-T,98:FA:9B:50:D8:20,fra1\n"
        "cn001,bond0,LAG,,\n"
        "CN001,eno2,10GBASE-T,98fa.9b50.d811,fra1\n"
        "cn001,br0,Bridge,98:FA:9B:50:D8:10,fra1\n"
    )
    found = ports(text, NETBOX)
    assert found.faults == []
    assert [(one.line, one.macs) for one in found.machines] == [
        (2, ["98:FA:9B:50:D8:10", "98fa.9b50.d811"]),
        (3, ["98:FA:9B:50:D8:20"]),
    ]
    # The type differs between the ports of the first one, so it says nothing of the machine.
    assert [one.values for one in found.machines] == [
        {"id": "cn001", "site": "fra1"},
        {"id": "cn002", "site": "fra1", "type": "1000BASE-T"},
    ]


@pytest.mark.parametrize(
    ("text", "columns", "line", "sentence"),
    [
        pytest.param("port,mac\neno1,98:fa:9b:50:d8:10\n", "", 1, "no column is id, serial or uuid", id="no name"),
        pytest.param(
            "# NetBox\nid,mac\na,98:fa:9b:50:d8:10\na,98:fa:9b:50:d8:11\n",
            "",
            2,
            "lines 3 and 4 are of one machine by its name, and two machines could have this name: say in ports.columns",
            id="no column says whose port it is",
        ),
    ],
)
def test_a_table_that_cannot_tell_machines_apart_is_refused(text: str, columns: str, line: int, sentence: str) -> None:
    with pytest.raises(UnreadableError, match=sentence) as raised:
        ports(text, columns)
    assert raised.value.line == line


@pytest.mark.parametrize(
    ("text", "columns", "faults", "whole"),
    [
        pytest.param(
            "id,port,mac\na,eno1,98:fa:9b:50:d8:10\na,ENO1,98:fa:9b:50:d8:11\n",
            "",
            [(3, "column port is as in line 2, which is of the same machine: two machines have its name")],
            [],
            id="one port twice",
        ),
        pytest.param(
            "id,port,serial\na,1,S1\na,2,\na,3,S2\n",
            "",
            [(4, "column serial differs from line 2, which is of the same machine: two machines have its name")],
            [],
            id="two serial numbers",
        ),
        pytest.param(
            "ID,Device,Name,uuid\n7,a,1,00000000000000000000000000000001\n8,a,2,00000000000000000000000000000002\n",
            f'{NETBOX}ID = "interface"\n',
            [(3, "column uuid differs from line 2, which is of the same machine: two machines have its name")],
            [],
            id="two UUIDs, not the numbers of the ports",
        ),
        pytest.param(
            "Device,Name,MAC Address\na,1,98:fa:9b:50:d8:10\na,2,hush\nb,1,98:fa:9b:50:d8:20\n,3,98:fa:9b:50:d8:30\n",
            NETBOX,
            [
                (3, "column MAC Address: a value is no MAC address"),
                (5, "column Device is empty, so it is the port of no machine"),
            ],
            ["b"],
            id="faults of single rows",
        ),
        pytest.param(
            "id,port,mac,serial,uuid\n"
            "a,1,98:fa:9b:50:d8:10,S1,00000000000000000000000000000001\n"
            "a,2,98:fa:9b:50:d8:11,S1,\n"
            "b,1,98:fa:9b:50:d8:20,,\n"
            "c,1,98fa.9b50.d811 98:fa:9b:50:d8:30,,\n"
            "d,1,98:fa:9b:50:d8:40,s-1,\n"
            "e,1,,,00000000-0000-0000-0000-000000000001\n"
            "f,1,98:fa:9b:50:d8:40,,\n"
            "g,1,,To be filled by O.E.M.,ffffffff-ffff-ffff-ffff-ffffffffffff\n"
            "h,1,,To be filled by O.E.M.,ffffffff-ffff-ffff-ffff-ffffffffffff\n"
            "i,1,x,,\n"
            "i,2,98:fa:9b:50:d8:50,,\n"
            "j,1,98:fa:9b:50:d8:50,,\n",
            "",
            [
                (2, "column serial has a value that line 6 has too, which is of another machine"),
                (2, "column uuid has a value that line 7 has too, which is of another machine"),
                (3, "column mac has a value that line 5 has too, which is of another machine"),
                (5, "column mac has a value that line 3 has too, which is of another machine"),
                (6, "column mac has a value that line 8 has too, which is of another machine"),
                (6, "column serial has a value that line 2 has too, which is of another machine"),
                (7, "column uuid has a value that line 2 has too, which is of another machine"),
                (8, "column mac has a value that line 6 has too, which is of another machine"),
                (11, "column mac: a value is no MAC address"),
                (12, "column mac has a value that line 13 has too, which is of another machine"),
                (13, "column mac has a value that line 12 has too, which is of another machine"),
            ],
            ["b", "g", "h"],
            id="identities of two machines, and shared values",
        ),
        pytest.param(
            "id,port,serial\ns1,1,x1\na,1,S1\nx-1,1,\n",
            "",
            [
                (2, "column id has a value that line 3 has too, which is of another machine"),
                (2, "column serial has a value that line 4 has too, which is of another machine"),
                (3, "column serial has a value that line 2 has too, which is of another machine"),
                (4, "column id has a value that line 2 has too, which is of another machine"),
            ],
            [],
            id="a name that is the serial number of another machine",
        ),
    ],
)
def test_a_fault_names_line_and_column_and_leaves_its_machine_out(
    text: str, columns: str, faults: list[tuple[int, str]], whole: list[str]
) -> None:
    found = ports(text, columns)
    assert found.faults == faults
    assert [one.values["id"] for one in found.machines] == whole


def test_rows_of_one_serial_number_need_no_column_for_the_port() -> None:
    found = ports("serial,mac\nS1,98:fa:9b:50:d8:10\ns-1,98:fa:9b:50:d8:11\n")
    assert [(one.macs, one.values) for one in found.machines] == [
        (["98:fa:9b:50:d8:10", "98:fa:9b:50:d8:11"], {"serial": "S1"})
    ]


class Port(NamedTuple):
    """A row as it is drawn: which machine it is really of, and what the row says."""

    machine: int
    name: str
    port: str
    mac: str


@st.composite
def drawn_rows(draw: st.DrawFn) -> list[Port]:
    """Rows of machines with unlike ports each, in any order; some machines have one name, and some one address."""
    rows: list[Port] = []
    for machine in range(draw(st.integers(1, 5))):
        name = draw(st.sampled_from(["a", "A", "b", "c-1", "C-1"]))
        for port in draw(st.lists(st.sampled_from(["1", "2", "3", "eno1", "ENO2"]), min_size=1, unique=True)):
            number = len(rows)
            own = f"98:fa:9b:50:d8:{number:02x}"
            mac = draw(st.sampled_from([own, own, "98:fa:9b:50:d9:00", "98:fa:9b:50:d9:01", "", "no address"]))
            rows.append(Port(machine, name, port, mac))
    return draw(st.permutations(rows))


@settings(max_examples=examples(200))
@given(drawn_rows(), st.sampled_from(",;\t"))
def test_no_two_machines_become_one_but_where_nothing_shows_it(rows: list[Port], separator: str) -> None:
    text = separator.join(["id", "port", "mac"]) + "\n"
    text += "".join(separator.join(row[1:]) + "\n" for row in rows)
    found = ports(text)
    # Literally: the rows of each name, in their order.
    of_name: dict[str, list[tuple[int, Port]]] = defaultdict(list)
    for line, row in enumerate(rows, 2):
        of_name[row.name.lower()].append((line, row))
    names_of: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        names_of[row.mac].add(row.name.lower())
    whole, faulty = [], []
    for lines in of_name.values():
        first_of = {row.mac: line for line, row in reversed(lines) if row.mac not in ("", "no address")}
        others = [line for mac, line in first_of.items() if len(names_of[mac]) > 1]
        wrong = [line for line, row in lines if row.mac == "no address"]
        right = [(line, row.port.lower()) for line, row in lines if line not in wrong]
        again = [line for at, (line, port) in enumerate(right) if port in [one for _, one in right[:at]]]
        faulty += [*wrong, *again, *others]
        if not wrong and not again and not others:
            whole.append((lines[0][0], [*dict.fromkeys(row.mac for _, row in lines if row.mac)]))
    assert [(one.line, [*one.macs]) for one in found.machines] == whole
    assert [line for line, _ in found.faults] == sorted(faulty)
    # Whoever mixes two machines needs unlike ports of both.
    for machine in found.machines:
        mixed = {row.machine for row in rows if row.mac in machine.macs}
        names = [row.port.lower() for row in rows if row.machine in mixed]
        assert len(mixed) < 2 or len(names) == len(set(names))
