"""Machines that are one digit off: which are found, and how many of them a verdict names.

Rules: docs/console.md#the-verdict.
"""

from __future__ import annotations

import json

import pytest

from answerd.answers.catalogue import Catalogue
from answerd.answers.one_digit_off import rows_near_to_asker
from answerd.answers.unclaimed import facts_said
from answerd.console.near import NearMachine, near_askers
from answerd.console.places import Places
from answerd.console.verdict import MOST_NAMED, Seen, verdict
from answerd.documents import Key, RawDocument
from answerd.identity import Kind, identity_of
from answerd.installs.contacts import Contact, Held
from answerd.installs.shown import UnknownMachine

ROWS = "id,mac,serial\nweb-1,52:54:00:ab:cd:ef,\nweb-2,,7ABC-124\nweb-3,,S-12\n"
SITE = Catalogue().changed(
    [
        RawDocument(
            Key(Kind.INVENTORY, "default", "csv"),
            "id,mac,serial\nweb-1,52:54:00:ab:cd:ef,\nweb-2,,7ABC-124\nweb-3,,S-12\n",
        ),
        RawDocument(Key(Kind.GROUP, "rack", "ks"), "# answer: member 7ABC-129\nlang C\n"),
    ]
)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"mac": ["52-54-00-AB-CD-EE"]}, [("52:54:00:ab:cd:ee", "52:54:00:ab:cd:ef", "web-1")]),
        ({"serial": ["7abc 125"]}, [("7abc 125", "7ABC-124", "web-2")]),
        ({"serial": ["7ABC-142"]}, [("7ABC-142", "7ABC-124", "web-2")]),
        ({"serial": ["7ABC-12"]}, [("7ABC-12", "7ABC-124", "web-2")]),
        ({"serial": ["7ABC-124"]}, []),
        ({"serial": ["7ABC-129"]}, []),  # a member: nothing is mistyped
        ({"serial": ["S-13"]}, []),  # too short
        ({"serial": ["7ABC-333"]}, []),
        ({"serial": ["0123456789"]}, []),
        ({"asset": ["7ABC-125"]}, []),
    ],
)
def test_rows_that_are_one_digit_off_what_a_machine_said(
    said: dict[str, list[str]], expected: list[tuple[str, str, str]]
) -> None:
    found = rows_near_to_asker(SITE, facts_said(said, "", ()))
    assert [(own, other, row.name) for own, other, row in found] == expected


def asked(serial: str, at: float = 7.0) -> Contact:
    labels = json.dumps({"serial": [serial]})
    return Contact(serial, at, (identity_of(serial),), "/ks", 500, "why", held=Held.NOT, labels=labels)


def test_machines_that_ask_and_are_one_digit_off_a_row() -> None:
    sighting = UnknownMachine("7ABC-224", 1.0, 2.0, 1, json.dumps({"serial": ["7ABC-224"]}))
    contacts = [asked("7ABC-125"), asked("7ABC-129"), asked("7ABC-333")]  # 129 is a member, so nothing is mistyped
    found = near_askers(SITE, ["web2", "7abc124"], [sighting], contacts)
    assert [(one.own, one.other, one.at) for one in found] == [
        ("7ABC-124", "7ABC-224", 2.0),
        ("7ABC-124", "7ABC-125", 7.0),
    ]


@pytest.mark.parametrize("count", [1, MOST_NAMED, MOST_NAMED + 4])
@pytest.mark.parametrize("is_visitor", [True, False])
def test_of_many_that_are_one_digit_off_the_first_are_named_and_the_others_counted(
    count: int, *, is_visitor: bool
) -> None:
    near = [NearMachine("A-12345", f"B-1234{at}", f"row-{at}", f"/edit/{at}", 1.0) for at in range(count)]
    visitor = {"answered_by_default": False, "asked": 1, "last": "2026-11-28T00:00:00Z", "machine": "A-12345"}
    found = verdict(
        Seen("A-12345", None, visitor if is_visitor else None, None, near=near, row_address="/row"), Places(SITE)
    )
    text = "".join(piece.text for piece in found.pieces)
    assert sum(one.other in text for one in near) == min(count, MOST_NAMED)
    assert ("; 4 more are one digit off" in text) is (count > MOST_NAMED)
    ways = [way.words for way in found.ways if way.words.startswith("Correct")]
    assert len(ways) == (min(count, MOST_NAMED) if is_visitor else 1)
