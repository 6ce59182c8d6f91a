"""The difference between two texts of an inventory is told by rows."""

from __future__ import annotations

import pytest

from answerd.answers.document_diff import document_lines
from answerd.documents import Key
from answerd.identity import Kind

TABLE = Key(Kind.INVENTORY, "lab", "csv")
BEFORE = "id,mac,rack\nweb-1,52:54:00:00:00:01,R1\nweb-2,52:54:00:00:00:02,R1\n"


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        pytest.param(
            BEFORE, BEFORE.replace("02,R1", "02,R2"), ["-web-2  rack=R1", "+web-2  rack=R2"], id="a cell that changed"
        ),
        pytest.param(
            BEFORE,
            "rack;mac;id\nR1;52:54:00:00:00:02;web-2\nR3;52:54:00:00:00:01;web-1\n",
            ["-web-1  rack=R1", "+web-1  rack=R3"],
            id="another order of rows and columns, and another separator",
        ),
        pytest.param(
            BEFORE,
            BEFORE.replace("web-1", "db-1"),
            ["-web-1  id=web-1", "+db-1  id=db-1"],
            id="another name, by its MAC",
        ),
        pytest.param(
            BEFORE,
            BEFORE.replace("web-1,52:54:00:00:00:01", "web-3,52:54:00:00:00:03"),
            ["-web-1  id=web-1  mac=52:54:00:00:00:01  rack=R1", "+web-3  id=web-3  mac=52:54:00:00:00:03  rack=R1"],
            id="one machine in place of another",
        ),
        pytest.param(
            BEFORE,
            "id,mac,site\nweb-1,52:54:00:00:00:01,A\nweb-2,52:54:00:00:00:02,\n",
            ["-column rack", "+column site", "-web-1  rack=R1", "+web-1  site=A", "-web-2  rack=R1", "+web-2"],
            id="other columns",
        ),
        pytest.param(None, "id\na\n", ["+a  id=a"], id="a new table"),
        pytest.param("id\na\n", None, ["-a  id=a"], id="a table that is gone"),
        pytest.param('id\n"a\n', "id\na\n", ["@@ -1,3 +1,3 @@", " id", '-"a', "+a", " "], id="no table before"),
        pytest.param("id\na\n", "id\na\n", [], id="nothing"),
        pytest.param(
            "id\na\nb\n", "id\nb\na\n", ["@@ -1,4 +1,4 @@", " id", "+b", " a", "-b", " "], id="another order alone"
        ),
        pytest.param(
            "id,root_password\na,hunter22x\n",
            "id,root_password\na,swordfish9\n",
            ["-a  root_password=(secret)", "+a  root_password=(secret, changed)"],
            id="a secret",
        ),
        pytest.param(
            'id,note\na,"one\ntwo"\n', "id,note\na,x\n", ["-a  note=one two", "+a  note=x"], id="a cell of two lines"
        ),
    ],
)
def test_a_difference_of_tables_is_by_rows(before: str | None, after: str | None, lines: list[str]) -> None:
    assert document_lines(TABLE, before, after) == lines


def test_labels_of_columns_say_which_rows_are_one_machine() -> None:
    before, after = "Host;NIC\na;52:54:00:00:00:01\n", "Host;NIC\nb;52:54:00:00:00:01\n"
    assert document_lines(TABLE, before, after, {"host": "id", "nic": "mac"}) == ["-a  Host=a", "+b  Host=b"]
