"""Two rows with one static address or one host name are found, without the value."""

from __future__ import annotations

import pytest

from answerd.check import CheckReport
from tests.support.fleet import Fleet

GROUP = {"groups/g.cfg": "# answer: match serial=*\nx\n"}


def checked(fleet: Fleet, tables: dict[str, str]) -> CheckReport:
    return fleet.write(GROUP | tables).check()


def about(sentences: tuple[str, ...]) -> list[str]:
    return [sentence for sentence in sentences if "cannot have one" in sentence]


ONE = {
    "one address": ("id,serial,ip\na,S1,192.0.2.5\nb,S2,192.0.2.5\n", "static address"),
    "one address with another prefix": ("id,serial,cidr\na,S1,192.0.2.5/24\nb,S2,192.0.2.5/25\n", "static address"),
    "one address in another spelling": ("id,serial,ipv6\na,S1,2001:db8::5\nb,S2,2001:DB8:0::5\n", "static address"),
    "one address in two columns": ("id,serial,addr,ip\na,S1,192.0.2.5,\nb,S2,,192.0.2.5\n", "static address"),
    "one host name": ("id,serial,hostname\na,S1,web\nb,S2,WEB\n", "host name"),
    "one name of a domain": ("id,serial,fqdn\na,S1,web.example.org\nb,S2,web.example.org.\n", "host name"),
}
NONE = {
    "other addresses": "id,serial,ip\na,S1,192.0.2.5\nb,S2,192.0.2.6\n",
    "words": "id,serial,ip,hostname\na,S1,dhcp,\nb,S2,dhcp,\n",
    "nothing": "id,serial,ip\na,S1,\nb,S2,\n",
    "one gateway": "id,serial,gateway\na,S1,192.0.2.1\nb,S2,192.0.2.1\n",
    "an address twice in one row": "id,serial,ip,addr\na,S1,192.0.2.5,192.0.2.5/24\n",
    "a host name and a domain's": "id,serial,hostname,fqdn\na,S1,web,\nb,S2,,web\n",
}


@pytest.mark.parametrize(("table", "kind"), ONE.values(), ids=ONE)
def test_two_rows_of_one_inventory_are_a_problem_that_names_both(fleet: Fleet, table: str, kind: str) -> None:
    report = checked(fleet, {"inventory.csv": table})
    [sentence] = about(report.problems)
    assert kind in sentence
    assert ":3: " in sentence
    assert ":2: " in sentence
    assert not [value for value in ("192.0.2.5", "2001", "web") if value in sentence.lower()]
    assert report.machines[sentence] == {"a", "b"}


@pytest.mark.parametrize("table", NONE.values(), ids=NONE)
def test_rows_that_do_not_collide_are_not_told(fleet: Fleet, table: str) -> None:
    report = checked(fleet, {"inventory.csv": table})
    assert about((*report.problems, *report.notes)) == []


def test_rows_of_two_inventories_are_a_note(fleet: Fleet) -> None:
    tables = {
        "inventory.csv": "id,serial,ip\na,S1,192.0.2.5\n",
        "inventory/other.csv": "id,serial,ip\nb,S2,192.0.2.5\n",
    }
    report = checked(fleet, tables)
    assert about(report.problems) == []
    assert len(about(report.notes)) == 1
