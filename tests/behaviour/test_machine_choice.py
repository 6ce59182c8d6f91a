"""Which machines an operator means, against each store. Rules: docs/install-once.md#which-machines."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from answerd.answers.catalogue import Catalogue
from answerd.answers.machine_choice import Choice, NoSuchGroup, WrongChoice, chosen
from answerd.answers.operator_names import ordered_machine
from answerd.installs.states import Order, State
from tests.support.fleet import Fleet
from tests.support.installs import RememberedInstalls
from tests.support.thorough import examples

RACKS = {
    "inventory.csv": "id,mac,rack,role\n"
    + "".join(f"cn{n:04},52:54:00:00:00:{n:02x},R{n // 10:02},{'gpu' if n % 2 else 'cpu'}\n" for n in range(1, 31))
    + "cn12,52:54:00:00:01:01,R09,db\n",
    "inventory/lab.csv": 'id,serial,rack\nlab-1,"S[1,2]*",R01\nlab-2,S99,R77\n',
    "groups/gpu.ks": "# answer: match role=gpu\n# answer: once\nlang C\n",
    "groups/few.ks": "# answer: member web-1 web-2 cn0002\n# answer: once\nlang C\n",
}


class Site:
    """Machines in a table, and what was reported and ordered."""

    def __init__(self, fleet: Fleet) -> None:
        self.installs = RememberedInstalls()
        self.fleet = fleet.remembering(self.installs)
        self.fleet.write(RACKS)

    @property
    def catalogue(self) -> Catalogue:
        return self.fleet.loader.catalogue

    def order(self, order: Order, *names: str) -> None:
        for name in names:
            self.installs.order(name, order, self.catalogue)

    def names(
        self, *names: str, where: Sequence[str] = (), group: str | None = None, state: str | None = None
    ) -> list[str]:
        """The names of the machines of a choice, of which each name is one."""
        found = chosen(self.catalogue, self.installs.memory, self.installs.now(), Choice(names, where, group, state))
        assert found.unknown == []
        return [one.remembered.record.name for one in found.machines]


@pytest.fixture
def site(fleet: Fleet) -> Site:
    return Site(fleet)


def cn(*numbers: int) -> list[str]:
    return [f"cn{number:04}" for number in numbers]


pytestmark = pytest.mark.each_store


def test_names_lists_and_patterns_choose_any_of_them(site: Site) -> None:
    assert site.names("cn0001") == cn(1)
    assert site.names("CN-0001", "52:54:00:00:00:01", "525400000001") == cn(1)
    assert site.names("cn[0008-0011,0030]") == cn(8, 9, 10, 11, 30)
    assert site.names("cn[0008-0012/2],web-[1-2]") == [*cn(8, 10, 12), "web-1", "web-2"]
    assert site.names("cn002*") == cn(*range(20, 30))
    assert site.names("cn00[1-2]?") == cn(*range(10, 30))
    assert site.names("LAB-?", "cn0030") == [*cn(30), "lab-1", "lab-2"]
    assert site.names("s[1,2]*") == ["lab-1"]  # a serial number, not a list
    assert site.names("cn[1-1]?") == ["cn12"]
    assert site.names("cn1*", "cn0001") == ["cn0001", "cn12"]


def test_a_list_is_never_the_machine_whose_name_has_its_letters_and_digits(site: Site) -> None:
    found = chosen(site.catalogue, site.installs.memory, 0.0, Choice(["cn[1-2]", "S1,2", "cn1?2"]))
    assert (found.machines, found.unknown) == ([], ["cn1", "cn2", "S1", "2", "cn1?2"])


def test_filters_hold_of_one_column_any_and_of_several_all(site: Site) -> None:
    assert site.names(where=["rack=r01"]) == [*cn(*range(10, 20)), "lab-1"]
    assert site.names(where=["rack=R01", "role=gpu"]) == cn(11, 13, 15, 17, 19)
    assert site.names(where=["rack=R00", "rack=R03", "role=cpu"]) == cn(2, 4, 6, 8, 30)
    assert site.names(where=["mac=52-54-00-00-00-1?", "role=gpu"]) == cn(*range(17, 32, 2))[:7]
    assert site.names(where=["rack=R88"]) == []


def test_what_is_given_together_must_hold_together(site: Site) -> None:
    site.order(Order.DISARM, "cn0001", "cn0003", "cn0011", "cn0012")
    assert site.names("cn[0001-0004],web-1", where=["role=gpu"]) == cn(1, 3)
    assert site.names("cn000*", group="gpu") == cn(1, 3, 5, 7, 9)
    assert site.names(where=["rack=R01"], group="gpu") == cn(11, 13, 15, 17, 19)
    assert site.names(where=["rack=R01"], state="installed") == cn(11, 12)
    assert site.names("cn*", group="gpu", state="installed") == cn(1, 3, 11)
    assert site.names("cn[0001-0030]", where=["rack=R01"], group="gpu", state="NEW") == cn(13, 15, 17, 19)
    assert site.names(group="few") == [*cn(2), "web-1", "web-2"]


def test_of_all_machines_those_of_which_something_is_known_and_new_ones_where_these_are_wanted(site: Site) -> None:
    site.order(Order.ARM, "cn0005", "web-2")
    assert site.names() == [*cn(5), "web-2"]
    assert site.names(state="armed") == [*cn(5), "web-2"]
    new = site.names(state="new")
    assert len(new) == 30 + 3 + 2 - 2
    assert {"cn0001", "lab-1", "web-1"} <= {*new}
    site.order(Order.FORGET, "cn0005")
    assert site.names() == ["web-2"]
    assert "cn0005" in site.names(state="new")


def test_an_order_to_a_choice_is_to_the_rows_whatever_they_are_called(site: Site) -> None:
    """A choice is of machines, not of names: what a row is called may be the name of another machine's record."""
    site.order(Order.DISARM, "cn0001")
    site.fleet.write({"inventory.csv": "id,mac,rack\ncn0002,52:54:00:00:00:01,R00\ncn0001,52:54:00:00:00:02,R01\n"})
    memory, now = site.installs.memory, site.installs.now()
    (found,) = chosen(site.catalogue, memory, now, Choice(state="installed")).machines
    assert found.remembered.record.name == "cn0002"
    assert "525400000001" in ordered_machine(site.catalogue, memory, found.machine, Order.ARM).names


def test_names_that_nothing_has_are_told_one_by_one(site: Site) -> None:
    found = chosen(site.catalogue, site.installs.memory, 0.0, Choice(["cn[0029-0032]", "nothing", "x*", "cn0001"]))
    assert found.unknown == ["cn0031", "cn0032", "nothing", "x*"]
    assert [one.machine.name for one in found.machines] == cn(1, 29, 30)


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (Choice(filters=["rack"]), "COLUMN=PATTERN"),
        (Choice(filters=["=R1"]), "COLUMN=PATTERN"),
        (Choice(filters=["rack="]), "COLUMN=PATTERN"),
        (Choice(filters=["rak=R1"]), "did you mean rack"),
        (Choice(state="broken"), "is no state"),
        (Choice(["cn[01-20"]), "bracket"),
        (Choice(["cn01-20]"]), "bracket"),
        (Choice(["cn[20-01]"]), "goes up"),
        (Choice(["cn[1-010]"]), "zeros"),
        (Choice(["cn[a-c]"]), "numbers and ranges"),
        (Choice(["cn[]"]), "numbers and ranges"),
        (Choice(["cn1,,cn2"]), "empty"),
        (Choice(["cn01", ""]), "a name is empty"),
        (Choice(["cn[0-999999999]"]), "more than 100,000"),
        (Choice(["a[0-999]b[0-999]"]), "more than 100,000"),
        (Choice(["a[0-60000]", "b[0-60000]"]), "more than 100,000"),
    ],
)
def test_a_choice_that_cannot_be_is_refused_with_the_reason(site: Site, choice: Choice, words: str) -> None:
    with pytest.raises(WrongChoice, match=words.replace("[", r"\[")) as raised:
        chosen(site.catalogue, site.installs.memory, 0.0, choice)
    assert not isinstance(raised.value, NoSuchGroup)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("boot disk=sda", "the column 'boot disk' is called disk here"),
        ("Eth2 MAC=*", "the column 'eth2 mac' is called mac here"),
        ("Asset Tag=A1", "the column 'asset tag' has no label: give it one in inventory.columns"),
        ("Floor=1", "no inventory has a column 'floor'"),
    ],
)
def test_a_filter_by_a_column_that_has_another_label_is_told_the_label(fleet: Fleet, wanted: str, words: str) -> None:
    fleet.write(
        {
            "inventory.columns": '[columns]\n"Boot Disk" = "disk"\n"Eth1 MAC" = "mac"\n"Eth2 MAC" = "mac"\n',
            "inventory.csv": "id,Eth1 MAC,Eth2 MAC,Boot Disk,Asset Tag\nweb-1,52:54:00:00:00:01,,sda,A1\n",
        }
    )
    with pytest.raises(WrongChoice) as raised:
        chosen(fleet.loader.catalogue, RememberedInstalls().memory, 0.0, Choice(filters=[wanted]))
    assert str(raised.value) == words


def test_a_group_that_is_none_is_told(site: Site) -> None:
    for choice in (Choice(group="nothing"), Choice(["cn0001"], group="nothing")):
        with pytest.raises(NoSuchGroup, match="nothing"):
            chosen(site.catalogue, site.installs.memory, 0.0, choice)


# --- against a literal reading of the rule ---

_ROWS = [{"id": f"cn{n:04}", "rack": f"R{n // 10:02}", "role": "gpu" if n % 2 else "cpu"} for n in range(1, 31)]
_WORDS = {"id": ["cn00*", "cn0001", "*5"], "rack": ["R00", "R0?", "R02"], "role": ["gpu", "?pu", "cpu"]}
_FILTERS = st.lists(
    st.sampled_from([(column, pattern) for column, patterns in _WORDS.items() for pattern in patterns]), max_size=4
)
_LISTS = st.tuples(st.integers(1, 30), st.integers(0, 12), st.integers(1, 3))


@settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(filters=_FILTERS, lists=st.lists(_LISTS, max_size=2), state=st.sampled_from([None, State.INSTALLED, State.NEW]))
def test_a_choice_is_what_the_words_say(
    site: Site, filters: list[tuple[str, str]], lists: list[tuple[int, int, int]], state: State | None
) -> None:
    installed = {"cn0002", "cn0011", "cn0029"}
    if not site.installs.written:
        site.order(Order.DISARM, *installed)
    if not (filters or lists):
        return
    texts = [f"cn[{first:04}-{min(30, first + more):04}/{step}]" for first, more, step in lists]
    named = {f"cn{n:04}" for first, more, step in lists for n in range(first, min(30, first + more) + 1, step)}
    expected = [
        row["id"]
        for row in _ROWS
        if (not lists or row["id"] in named)
        and all(
            any(fnmatchcase(row[column], pattern) for of, pattern in filters if of == column)
            for column in {column for column, _ in filters}
        )
        and (state is None or (row["id"] in installed) == (state is State.INSTALLED))
    ]
    where = [f"{column}={pattern}" for column, pattern in filters]
    found = site.names(*texts, where=where, state=state)
    assert [name for name in found if name.startswith("cn00")] == expected
