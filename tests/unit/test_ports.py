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
    ("text", "columns", "faults"),
    [
        pytest.param(
            "id,port,mac\na,eno1,98:fa:9b:50:d8:10\na,ENO1,98:fa:9b:50:d8:11\n",
            "",
            [(3, "column port is as in line 2, which is of the same machine: two machines have its name")],
            id="one port twice",
        ),
        pytest.param(
            "id,port,serial\na,1,S1\na,2,\na,3,S2\n",
            "",
            [(4, "column serial differs from line 2, which is of the same machine: two machines have its name")],
            id="two serial numbers",
        ),
        pytest.param(
            "ID,Device,Name,uuid\n7,a,1,00000000000000000000000000000001\n8,a,2,00000000000000000000000000000002\n",
            f'{NETBOX}ID = "interface"\n',
            [(3, "column uuid differs from line 2, which is of the same machine: two machines have its name")],
            id="two UUIDs, not the numbers of the ports",
        ),
        pytest.param(
            "Device,Name,MAC Address\na,1,98:fa:9b:50:d8:10\na,2,hush\nb,1,98:fa:9b:50:d8:20\n,3,98:fa:9b:50:d8:30\n",
            NETBOX,
            [
                (3, "column MAC Address: a value is no MAC address"),
                (5, "column Device is empty, so it is the port of no machine"),
            ],
            id="faults of single rows",
        ),
    ],
)
def test_a_fault_names_line_and_column_and_leaves_its_machine_out(
    text: str, columns: str, faults: list[tuple[int, str]]
) -> None:
    found = ports(text, columns)
    assert found.faults == faults
    assert [one.values["id"] for one in found.machines] == (["b"] if "\nb," in text else [])


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
    """Rows of machines with unlike ports each, in any order; some machines have one name."""
    rows: list[Port] = []
    for machine in range(draw(st.integers(1, 5))):
        name = draw(st.sampled_from(["a", "A", "b", "c-1", "C-1"]))
        for port in draw(st.lists(st.sampled_from(["1", "2", "3", "eno1", "ENO2"]), min_size=1, unique=True)):
            number = len(rows)
            mac = draw(st.sampled_from([f"98:fa:9b:50:d8:{number:02x}", "", "no address"]))
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
    whole, faulty = [], []
    for lines in of_name.values():
        wrong = [line for line, row in lines if row.mac == "no address"]
        right = [(line, row.port.lower()) for line, row in lines if line not in wrong]
        again = [line for at, (line, port) in enumerate(right) if port in [one for _, one in right[:at]]]
        faulty += [*wrong, *again]
        if not wrong and not again:
            whole.append((lines[0][0], [row.mac for _, row in lines if row.mac]))
    assert [(one.line, [*one.macs]) for one in found.machines] == whole
    assert [line for line, _ in found.faults] == sorted(faulty)
    # Whoever mixes two machines needs unlike ports of both.
    for machine in found.machines:
        mixed = {row.machine for row in rows if row.mac in machine.macs}
        names = [row.port.lower() for row in rows if row.machine in mixed]
        assert len(mixed) < 2 or len(names) == len(set(names))
