"""A machine that nothing claims leaves the list of unknown machines once it is adopted, and not before."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from answerd.answers.catalogue import Catalogue
from answerd.answers.unclaimed import facts_as_json, still_unclaimed
from answerd.documents import RawDocument
from answerd.facts import Facts, Request
from answerd.installs.shown import UnknownMachine
from tests.support.fleet import key_of

MAC = "98:fa:9b:50:d8:10"
BODY = json.dumps({"dmi": {"system": {"serial": "7ABC123"}}, "network_interfaces": [{"mac": MAC.upper()}]}).encode()

BY_QUERY = Facts(Request("/ks", f"mac={MAC}&serial=7ABC123", (), b"", "192.0.2.7"))
BY_BODY = Facts(Request("/proxmox", "", (), BODY, "192.0.2.7"))


def unknown(facts: Facts, machine: str = "7ABC123", *, is_large: bool = False) -> UnknownMachine:
    """What is kept of a machine that said this."""
    return UnknownMachine(machine, 1, 2, 1, "{}" if is_large else facts_as_json(facts))


@pytest.mark.parametrize(
    ("kept", "documents", "is_claimed"),
    [
        (unknown(BY_QUERY), {}, False),
        (unknown(BY_QUERY), {"7ABC123.ks": "lang C\n"}, True),
        (unknown(BY_QUERY), {"98-fa-9b-50-d8-10.ks": "lang C\n"}, True),
        (unknown(BY_QUERY), {"7ABC123.toml": "x = 1\n"}, False),  # it asks for ks
        (unknown(BY_QUERY), {"groups/g.ks": "# answer: match serial=7abc*\n"}, True),
        (unknown(BY_QUERY), {"groups/g.ks": "# answer: match serial=8abc*\n"}, False),
        (unknown(BY_QUERY), {"groups/g.ks": "# answer: match peer=192.0.2.*\n"}, True),
        (unknown(BY_QUERY), {"default.ks": "lang C\n"}, False),
        (unknown(BY_QUERY), {"default.ks": "lang C\n", "7ABC123.toml": "x = 1\n"}, True),
        (unknown(BY_QUERY), {"default.ks": "lang C\n", "groups/g.ipxe": "# answer: member 7ABC123\n"}, True),
        (unknown(BY_QUERY), {"default.ks": "lang C\n", "groups/g.toml": 'match.serial = "7*"\n'}, True),
        (unknown(BY_QUERY), {"default.ks": "lang C\n", "groups/g.ipxe": "# answer: match serial=*\n"}, False),
        (unknown(BY_QUERY), {"inventory.csv": f"id,mac\nweb-01,{MAC}\n"}, True),
        (unknown(BY_QUERY), {"7ABC123.ks": "# answer: extends nothing\n"}, False),
        (unknown(BY_BODY), {"7ABC123.toml": "x = 1\n"}, True),
        (unknown(BY_BODY), {"groups/g.toml": 'members = ["98:fa:9b:50:d8:10"]\n'}, True),
        (unknown(BY_BODY), {"groups/g.toml": 'match = {"dmi.system.serial" = "7ABC*"}\n'}, True),
        (unknown(BY_BODY), {"7ABC123.ks": "lang C\n"}, False),
        (unknown(BY_BODY, is_large=True), {"7ABC123.ks": "lang C\n"}, True),
    ],
)
def test_it_leaves_the_list_when_a_document_or_a_row_is_its_own(
    kept: UnknownMachine, documents: Mapping[str, str], is_claimed: bool
) -> None:
    other = unknown(Facts(Request("/ks", "mac=98:fa:9b:00:00:01")), "98:fa:9b:00:00:01")
    catalogue = Catalogue().changed([RawDocument(key_of(name), text) for name, text in documents.items()])
    found = [machine.machine for machine in still_unclaimed(catalogue, [kept, other])]
    assert (kept.machine not in found) is is_claimed
    assert other.machine in found


def test_what_a_default_answers_is_marked() -> None:
    texts = {"default.ks": "lang C\n"}
    catalogue = Catalogue().changed([RawDocument(key_of(name), text) for name, text in texts.items()])
    found = still_unclaimed(catalogue, [unknown(BY_QUERY), unknown(BY_BODY, "other")])
    assert [(machine.machine, machine.by_default) for machine in found] == [("7ABC123", True), ("other", False)]


def test_a_value_that_is_named_like_a_secret_is_not_kept() -> None:
    kept = json.loads(facts_as_json(Facts(Request("/ks", f"mac={MAC}&root_password=swordfish", (), b"", "192.0.2.7"))))
    assert (kept["root_password"], kept["mac"]) == (["(secret)"], [MAC])
