"""What is only tried, is tried with what machines last said. Rules: docs/check.md#what-machines-last-said."""

from __future__ import annotations

import json
from collections.abc import Set
from typing import Any

import pytest

from answerd.answers.catalogue import Catalogue
from answerd.answers.diff import compare, machines_losing_answers
from answerd.answers.last_words import LastWords, tried_with_words
from answerd.answers.sources import NO_SOURCES
from answerd.check import CheckReport, check
from answerd.check.refusals import refusals
from answerd.identity import identity_of
from answerd.installs.contacts import Contact, Held
from answerd.validators import Tools
from tests.support.fleet import Fleet

TABLE = "id,mac\nweb-1,52:54:00:00:00:01\nweb-2,52:54:00:00:00:02\n"
GROUP = "# answer: template on\n# answer: match product=R750*\nignoredisk --only-use={{ disks.0 }}\n"
BASE = "# answer: members web-1, web-2, db-1\nlang C\n"
OVERLAY = "# answer: template on\n# answer: overlay 1\n# answer: match product=R750*\ntimezone {{ zone }}\n"


def contact(name: str, mac: str = "", at: float = 1.0, **labels: Any) -> Contact:
    said = {label.replace("__", "."): value if isinstance(value, list) else [value] for label, value in labels.items()}
    identities = tuple(identity_of(text) for text in (name, mac) if text)
    return Contact(name, at, identities, "/ks", 200, "a document", Held.NOT, json.dumps(said))


def checked(catalogue: Catalogue, *contacts: Contact) -> CheckReport:
    return check(catalogue, Tools.none(), words=LastWords(contacts))


def test_a_group_that_matches_what_machines_said_is_tried(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": TABLE, "groups/dell.ks": GROUP})
    silent = checked(fleet.loader.catalogue)
    assert (silent.rendered, [note for note in silent.notes if "it was not tried" in note] != []) == (0, True)

    said = contact("web-1", "52:54:00:00:00:01", product="R750xs", disks__0="sda")
    report = checked(fleet.loader.catalogue, said)
    assert report.rendered == 1
    assert tried_with_words(["web-1"]) in report.notes
    assert not [note for note in report.notes if "it was not tried" in note]
    assert len([note for note in report.notes if "no document claims this row" in note]) == 1  # web-2 was never heard


def test_an_overlay_and_placeholders_use_what_was_said(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": TABLE, "groups/base.ks": BASE, "groups/site.ks": OVERLAY})
    said = contact("web-1", "52:54:00:00:00:01", product="R750", zone="Europe/Vienna")
    assert not checked(fleet.loader.catalogue, said).problems
    lacking = contact("web-1", "52:54:00:00:00:01", product="R750")
    notes = checked(fleet.loader.catalogue, lacking).notes
    assert [note for note in notes if "'zone'" in note], notes


def test_a_fact_that_a_machine_did_not_say_either_is_a_problem_of_a_strict_check(fleet: Fleet) -> None:
    group = "# answer: template on\n# answer: match id=*\nlang {{ serial }}\n"
    fleet.write({"inventory.csv": TABLE, "groups/base.ks": group})
    words = LastWords([contact("web-1", "52:54:00:00:00:01", product="R750")])
    problems = check(fleet.loader.catalogue, Tools.none(), words=words, strict=True).problems
    [problem] = [one for one in problems if "'serial'" in one]
    assert problem.startswith("inventory.csv:2, web-1 (ks): ")
    assert "which its row and what it last said lack" in problem
    assert problem in check(fleet.loader.catalogue, Tools.none(), words=words).notes


def test_words_of_other_hardware_of_that_name_and_hidden_values_do_not_count(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": TABLE, "groups/dell.ks": GROUP})
    other = contact("web-1", "52:54:00:00:00:99", product="R750", disks__0="sda")
    assert checked(fleet.loader.catalogue, other).rendered == 0
    hidden = contact("web-1", "52:54:00:00:00:01", product="R750", disks__0="(secret)")
    assert [note for note in checked(fleet.loader.catalogue, hidden).notes if "'disks.0'" in note]
    older = contact("web-1", "52:54:00:00:00:01", 0.5, product="R750", disks__0="sda")
    newer = contact("web-1", "52:54:00:00:00:01", 2.0, product="PowerVault")
    assert checked(fleet.loader.catalogue, older, newer).rendered == 0


def test_what_was_said_names_no_machine(fleet: Fleet) -> None:
    fleet.write({"web-9.ks": "lang C\n", "groups/base.ks": "# answer: members web-1\nlang D\n"})
    said = contact("web-1", product="web-9", serial="web-9")
    assert checked(fleet.loader.catalogue, said).problems == ()
    (case,) = [one for one in LastWords([said]).told("web-1") if one[0] == "product"]
    assert case == ("product", "web-9")


def test_a_difference_shows_machines_that_are_selected_by_what_they_said(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": TABLE, "groups/dell.ks": GROUP})
    before = fleet.loader.catalogue
    fleet.write({"groups/dell.ks": GROUP + "reboot\n"})
    said = contact("web-1", "52:54:00:00:00:01", product="R750xs", disks__0="sda")
    assert compare(before, fleet.loader.catalogue).differences == ()
    found = compare(before, fleet.loader.catalogue, words=LastWords([said])).differences
    assert [one.name for one in found] == ["web-1 (ks)"]


def test_a_difference_says_which_machines_were_tried_with_what_they_said(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": TABLE, "groups/base.ks": BASE, "groups/dell.ks": GROUP})
    before = fleet.loader.catalogue
    fleet.write({"groups/base.ks": BASE + "reboot\n"})
    words = LastWords([contact("db-1", zone="Europe/Vienna"), contact("web-2", "52:54:00:00:00:02", product="R640")])
    found = compare(before, fleet.loader.catalogue, words=words)
    assert (found.told, found.as_json()["last_words"]) == (("db-1", "web-2"), ["db-1", "web-2"])
    assert tried_with_words(["db-1", "web-2"]) in found.notes
    silent = compare(before, fleet.loader.catalogue)
    assert (silent.told, [note for note in silent.notes if "last said" in note]) == ((), [])
    unchanged = compare(before, before, words=words)
    assert (unchanged.told, unchanged.notes) == ((), ())


@pytest.mark.parametrize(
    ("machines", "sentence"),
    [
        (["web-1"], "web-1 was tried with"),
        (["a", "b", "c"], "a, b, c were tried with"),
        ([f"cn{number:04}" for number in range(1, 1235)], "1,234 machines, cn0001 … cn1234, were tried with"),
    ],
)
def test_the_sentence_names_a_few_machines_and_the_ends_of_many(machines: list[str], sentence: str) -> None:
    assert tried_with_words(machines).startswith(sentence)


def test_what_an_installer_would_refuse_is_judged_with_what_machines_said(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": TABLE, "groups/base.ks": BASE})
    before = fleet.loader.catalogue
    fleet.write({"groups/base.ks": "# answer: template on\n" + BASE + "network --bootproto={{ proto }}\n"})
    said = LastWords([contact("web-1", "52:54:00:00:00:01", proto="carrier-pigeon")])
    assert refusals(before, fleet.loader.catalogue, NO_SOURCES) == []
    (found,) = refusals(before, fleet.loader.catalogue, NO_SOURCES, words=said)
    assert "web-1" in str(found)


def test_a_machine_that_was_selected_by_what_it_said_loses_its_answer(fleet: Fleet) -> None:
    fleet.write({"inventory.csv": TABLE, "groups/dell.ks": GROUP, "groups/other.ks": "lang C\n"})
    before = fleet.loader.catalogue
    fleet.remove("groups/dell.ks")
    said = LastWords([contact("web-1", "52:54:00:00:00:01", product="R750", disks__0="sda")])
    assert machines_losing_answers(before, fleet.loader.catalogue, lambda of=None: said) == 1
    assert machines_losing_answers(before, fleet.loader.catalogue) == 0


ROWS = "id,mac,product,role\nweb-1,52:54:00:00:00:01,{product},{role}\nweb-2,52:54:00:00:00:02,,\n"
ROLE = "# answer: match role=web\nlang C\n"


@pytest.mark.parametrize(
    ("groups", "was", "is_now", "losing", "is_read"),
    [
        ({"groups/web.ks": ROLE}, ("", "web"), ("R640", "web"), 0, False),
        ({"groups/web.ks": ROLE}, ("", "web"), ("", "db"), 1, False),
        # What the machine said is why it has an answer still.
        ({"groups/web.ks": ROLE, "groups/dell.ks": GROUP}, ("", "web"), ("", "db"), 0, True),
        # The row has a value of its own.
        ({"groups/dell.ks": GROUP}, ("R640", "web"), ("R640", "db"), 0, False),
        ({"groups/dell.ks": GROUP}, ("", "web"), ("R640", "web"), 1, True),
        ({"groups/dell.ks": GROUP}, ("R640", "web"), ("", "web"), 0, True),
        ({"web-1.ks": "# answer: match product=R750\nlang C\n"}, ("", "web"), ("R640", "web"), 0, False),
    ],
)
def test_last_words_are_read_where_they_can_decide_whose_answer_a_changed_row_is(
    fleet: Fleet, groups: dict[str, str], was: tuple[str, str], is_now: tuple[str, str], losing: int, *, is_read: bool
) -> None:
    def table(row: tuple[str, str]) -> str:
        return ROWS.format(product=row[0], role=row[1])

    fleet.write({"inventory.csv": table(was), **groups})
    before, asked = fleet.loader.catalogue, []

    def words(of: Set[str] | None = None) -> LastWords:
        asked.append(of)
        return LastWords([contact("web-1", "52:54:00:00:00:01", product="R750", disks__0="sda")])

    fleet.write({"inventory.csv": table(is_now)})
    found = machines_losing_answers(before, fleet.loader.catalogue, words)
    of_the_row = {"web1", "525400000001"}
    assert (found, asked) == (losing, [of_the_row] if is_read else [])
