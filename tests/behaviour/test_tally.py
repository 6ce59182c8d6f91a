"""How many machines are in each state, by group and by column, against each store.

Rules: docs/install-once.md#how-far-a-rack-is.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from answerd.answers.catalogue import Catalogue
from answerd.answers.machine_choice import Choice, WrongChoice, chosen
from answerd.answers.tally import added, added_counts, summary
from answerd.installs.states import Order
from tests.support.fleet import Fleet
from tests.support.installs import RememberedInstalls

FILES = {
    "inventory.csv": "id,mac,rack,role\n"
    + "".join(f"cn{n:02},52:54:00:00:00:{n:02x},R{n // 10},{'gpu' if n % 2 else ''}\n" for n in range(1, 25))
    + "cn99,52:54:00:00:00:99, r0 ,\n",
    "inventory/lab.csv": "id,serial\nlab-1,S1\n",
    "groups/base.ks": "# answer: once\nlang C\n",
    "groups/gpu.ks": "# answer: extends base\n# answer: match role=gpu\nlang C\n",
    "groups/few.ipxe": "#!ipxe\n# answer: member web-1 cn02\n# answer: once\nboot\n",
    "groups/late.ipxe": "#!ipxe\n# answer: match product=x\n# answer: once\nboot {{ report }}\n",
    "groups/over.ks": "# answer: overlay\n# answer: match rack=R1\nlang C\n",
    "groups/empty.ks": "lang C\n",
    "own.ks": "# answer: extends base\nlang C\n",
}
GROUPS = ("base", "gpu", "few", "late", "over", "empty")

pytestmark = pytest.mark.each_store


class Site:
    """Machines in a table, some of which were given a document, and some of which have an order."""

    def __init__(self, fleet: Fleet) -> None:
        self.installs = RememberedInstalls()
        self.fleet = fleet.remembering(self.installs)
        self.fleet.write(FILES)
        for name in ("cn01", "cn02", "cn12", "web-1"):
            self.installs.order(name, Order.DISARM, self.catalogue)
        self.installs.order("own", Order.ARM, self.catalogue)
        for query in ("mac=52:54:00:00:00:13", "mac=52:54:00:00:07:77"):
            self.fleet.text(f"/ipxe?{query}&product=x", host="server")

    @property
    def catalogue(self) -> Catalogue:
        return self.fleet.loader.catalogue

    def lines(self, by: str, choice: Choice) -> dict[str | None, tuple[int, Counter[str]]]:
        """The machines, and those in each state, by value; those of all by "total"."""
        found = summary(self.catalogue, self.installs.memory, self.installs.now(), choice, by).as_json()
        lines: list[dict[str, Any]] = [*found["summary"], {"value": "total", **found["total"]}]
        return {line["value"]: (line["machines"], Counter(line["states"])) for line in lines}

    def of(self, choice: Choice) -> tuple[int, Counter[str]]:
        """The machines of a choice, and those in each state."""
        found = chosen(self.catalogue, self.installs.memory, self.installs.now(), choice).machines
        return len(found), Counter(one.remembered.record.state.value for one in found)


@pytest.mark.parametrize(
    "choice", [Choice(), Choice(["cn*"]), Choice(filters=["rack=R1"]), Choice(state="installed"), Choice(group="base")]
)
def test_a_line_counts_what_a_choice_by_its_value_chooses(fleet: Fleet, choice: Choice) -> None:
    site = Site(fleet)
    every = Choice(choice.names or ["*"], choice.filters, choice.group, choice.state)
    by_rack = site.lines("rack", choice)
    assert by_rack["total"] == site.of(every)
    for rack in {"R0", "R1", "R2"} & by_rack.keys():
        filters = [*choice.filters, f"rack={rack}"] if not choice.filters else choice.filters
        assert by_rack[rack] == site.of(Choice(choice.names, filters, choice.group, choice.state)), rack
    assert sum(machines for value, (machines, _) in by_rack.items() if value != "total") == by_rack["total"][0]
    if choice.group is None:
        by_group = site.lines("Group", choice)
        for group in GROUPS:
            expected = site.of(Choice(choice.names, choice.filters, group, choice.state))
            assert by_group.get(group, (0, Counter())) == expected, group


def test_the_values_of_a_column_are_those_of_cells(fleet: Fleet) -> None:
    lines = Site(fleet).lines("rack", Choice())
    assert [*lines] == ["R0", "R1", "R2", None, "total"]
    assert lines["R0"] == (10, Counter(new=8, installed=2))
    assert lines["R1"] == (10, Counter(new=8, installed=1, installing=1))
    assert lines[None] == (4, Counter(new=1, installed=1, armed=1, installing=1))  # lab-1, web-1, own, a stranger


@pytest.mark.parametrize("by", ["rack", "role", "group"])
def test_the_counts_of_parts_are_together_those_of_the_whole(fleet: Fleet, by: str) -> None:
    site = Site(fleet)

    def counted(choice: Choice) -> dict[str, Any]:
        return summary(site.catalogue, site.installs.memory, site.installs.now(), choice, by).as_json()

    everyone = chosen(site.catalogue, site.installs.memory, site.installs.now(), Choice(["*"])).machines
    names = [one.machine.name for one in everyone]
    whole, parts = counted(Choice()), [counted(Choice(names[at::3])) for at in range(3)]
    assert added(tally for part in parts for tally in part["summary"]) == whole["summary"]
    assert added_counts(part["total"] for part in parts) == whole["total"]


@pytest.mark.parametrize("by", ["rak", "", "password", "state"])
def test_what_is_no_column_is_refused(fleet: Fleet, by: str) -> None:
    site = Site(fleet)
    with pytest.raises(WrongChoice, match="by group, or by a column"):
        summary(site.catalogue, site.installs.memory, 0.0, Choice(), by)
