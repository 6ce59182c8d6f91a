"""The reason of a 404 names the nearest miss: on the console, in the log, on every store."""

from __future__ import annotations

import json

import pytest

from answerd.answers.near_misses import MOST_CHARACTERS, with_hints
from answerd.answers.resolve import resolve
from answerd.errors import AnswerError, BrokenDocument, CannotFill, NotClaimed
from answerd.facts import Facts, Request
from tests.support.fleet import Fleet

MAC = "52:54:00:ab:cd:ef"
BARE = "525400abcdef"
TOML = "a = 1\n"


def refusal(fleet: Fleet, target: str) -> str:
    with pytest.raises(NotClaimed) as caught:
        fleet.ask(target)
    return caught.value.reason


@pytest.mark.parametrize(
    ("files", "target", "expected"),
    [
        pytest.param(
            {f"{BARE}.preseed": "d-i a/b string c\n"},
            f"/proxmox?mac={MAC}",
            f'machine "{BARE}" (preseed) does not claim it: its format is not one of toml',
            id="the machine in another format",
        ),
        pytest.param(
            {f"{BARE}.toml": 'a = 1\n[match]\nserial = ["7ABC*", "8*"]\n'},
            f"/proxmox?mac={MAC}&serial=X1",
            f'machine "{BARE}" (toml) does not claim it: its match does not hold for serial, '
            "and the request's serial is 'X1'",
            id="the machine narrowed by a criterion that fails",
        ),
        pytest.param(
            {f"{BARE}.ks": "# answer: match serial=7ABC*\nlang en\n"},
            f"/ks?mac={MAC}",
            f'machine "{BARE}" (ks) does not claim it: its match does not hold for serial, '
            "and the request has no serial",
            id="the machine narrowed by a fact that is missing",
        ),
        pytest.param(
            {f"{BARE}.toml": 'a = 1\nmatch = {product = "R6*", serial = "7*"}\n'},
            f"/proxmox?mac={MAC}&product=R640&serial=X1",
            "its match does not hold for serial, ",
            id="of several criteria the one that fails",
        ),
        pytest.param(
            {"groups/rack-a.toml": f'members = ["{MAC}"]\n'},
            f"/debian/preseed?mac={MAC}",
            f'group "rack-a" (toml) has {BARE} as a member, but does not claim it: '
            "its format is not one of preseed, seed",
            id="a group's member in another format",
        ),
        pytest.param(
            {"groups/rack-a.toml": f'members = ["{MAC}"]\nmatch = {{product = "R6*"}}\n'},
            f"/proxmox?mac={MAC}&product=R740",
            f'group "rack-a" (toml) has {BARE} as a member, but does not claim it: '
            "its match does not hold for product, and the request's product is 'R740'",
            id="a group's member narrowed",
        ),
        pytest.param(
            {"default.toml": TOML},
            f"/ks?mac={MAC}",
            "there is a default, but its format is not one of ks: toml",
            id="a default in another format",
        ),
        pytest.param(
            {f"{BARE}.ks": "lang en\n", "sn1.preseed": "d-i a/b string c\n"},
            f"/proxmox?mac={MAC}&serial=sn1",
            f'machine "{BARE}" (ks) does not claim it: its format is not one of toml (1 more like it)',
            id="of several the first, and how many more",
        ),
    ],
)
def test_the_reason_names_the_nearest_miss(fleet: Fleet, files: dict[str, str], target: str, expected: str) -> None:
    fleet.write(files)
    reason = refusal(fleet, target)
    assert reason.startswith(f"no document claims mac={MAC}, and there is no default in ")
    assert expected in reason


@pytest.mark.parametrize(
    ("path", "whole", "known"),
    [
        pytest.param("/proxmox/SN/12/7", "SN/12/7", 'a member of group "rack-a" (toml)', id="a member"),
        pytest.param("/ks/x/AB/12", "AB/12", 'machine "AB-12" (ks)', id="a machine, after another segment"),
    ],
)
def test_a_name_whose_slashes_are_those_of_the_path_is_near(fleet: Fleet, path: str, whole: str, known: str) -> None:
    fleet.write({"groups/rack-a.toml": 'members = ["SN/12/7"]\na = 1\n', "AB-12.ks": "lang en\n"})
    assert f'{known} is named like "{whole}" of the path: write / within a name as %2F' in refusal(fleet, path)
    prefix = path.removesuffix(whole)
    assert fleet.text(prefix + whole.replace("/", "%2F"))


@pytest.mark.parametrize(
    ("files", "known"),
    [
        ({"4c4c4544-0051-3010-8053-b4c04f4a3132.ipxe": "#!ipxe\n"}, 'machine "4c4c4544-0051-3010-8053-b4c04f4a3132"'),
        ({"4C4C454400513010-8053b4c04f4a3132.ks": "lang C\n"}, 'machine "4C4C454400513010-8053b4c04f4a3132" (ks)'),
        ({"groups/g.ks": "# answer: member 4c4c4544-0051-3010-8053-b4c04f4a3132\n"}, 'a member of group "g" (ks)'),
        ({"inventory.csv": "uuid\n4c4c4544-0051-3010-8053-b4c04f4a3132\n"}, "inventory.csv:2"),
    ],
)
def test_a_uuid_in_the_other_byte_order_is_near_and_no_identity(
    fleet: Fleet, files: dict[str, str], known: str
) -> None:
    fleet.write(files)
    sent = "44454c4c-5100-1030-8053-b4c04f4a3132"
    reason = refusal(fleet, f"/ipxe?uuid={sent}&x=44454c4c&y={'a' * 32}")
    assert known in reason
    assert f"has the UUID that the request sends with its bytes in another order: write it as {sent}" in reason
    for other in ("44454c4c-0051-3010-8053-b4c04f4a3132", "44454c4c-5100-1030-5380-b4c04f4a3132"):
        assert "another order" not in refusal(fleet, f"/ipxe?uuid={other}")


def test_nothing_near_is_told_as_nothing(fleet: Fleet) -> None:
    fleet.write({"525400000001.toml": TOML})
    assert refusal(fleet, f"/proxmox?mac={MAC}") == f"no document claims mac={MAC}, and there is no default in toml"


def test_a_machine_named_like_an_alias_is_no_near_miss(fleet: Fleet) -> None:
    fleet.write({"proxmox.ks": "lang en\n"})
    assert 'machine "proxmox"' not in refusal(fleet, "/toml?x=proxmox")


def test_the_identities_that_were_looked_for_are_listed_up_to_four(fleet: Fleet) -> None:
    reason = refusal(fleet, f"/proxmox?mac={MAC}&a=one&b=two&c=three&d=four&e=five")
    assert "identities seen: 525400abcdef, one, two, three and 2 more" in reason


def test_of_a_body_with_thousands_of_names_the_first_are_looked_for(fleet: Fleet) -> None:
    fleet.write({"name0999.ks": "lang en\n", "name1000.ks": "lang en\n"})

    def reason(first: int) -> str:
        body = json.dumps([f"name{number:04}" for number in range(first, first + 3_000)]).encode()
        with pytest.raises(NotClaimed) as caught:
            resolve(fleet.loader.catalogue, Facts(Request("/proxmox", body=body)))
        return caught.value.reason

    assert 'machine "name0999" (ks) does not claim it' in reason(0)
    assert "more like it" not in reason(0)
    assert reason(0).endswith("identities seen: name0000, name0001, name0002, name0003 and 2,996 more")


def test_the_reason_stays_short_whatever_a_client_sends(fleet: Fleet) -> None:
    fleet.write({f"{'n' * 190}.ks": "lang en\n", f"{BARE}.toml": f'match = {{serial = "{"7" * 5000}"}}\n'})
    long = "x" * 6000
    for target in (f"/proxmox?mac={MAC}&serial={long}", f"/proxmox?name={'n' * 190}&{long}={long}"):
        assert len(refusal(fleet, target)) < 2 * MOST_CHARACTERS + 200


def test_control_characters_of_a_client_do_not_reach_the_reason(fleet: Fleet) -> None:
    fleet.write({f"{BARE}.toml": 'match = {serial = "7*"}\n'})
    assert refusal(fleet, f"/proxmox?mac={MAC}&serial=%1b%5B31m%0ax").isprintable()


def test_the_same_near_miss_whatever_the_order_of_documents(fleet: Fleet) -> None:
    fleet.write({"bb.ks": "lang en\n", "aa.ks": "lang en\n"})
    assert 'machine "bb" (ks) does not claim it' in refusal(fleet, "/proxmox?x=bb&y=aa")
    assert 'machine "aa" (ks) does not claim it' in refusal(fleet, "/proxmox?x=aa&y=bb")


def test_nothing_is_parsed_to_answer_a_request_that_something_claims(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("the near miss was looked for")

    monkeypatch.setattr("answerd.answers.near_misses.nearest_miss", never)
    fleet.write({"m1.yaml": "a: 1\n"})
    assert fleet.text("/ubuntu/user-data?mac=m1") == "a: 1\n"
    assert fleet.text("/ubuntu/vendor-data?mac=m1") == ""


# --- the reason of a 500 ----------------------------------------------------------------------------------------------


def facts(query: str, path: str = "/proxmox") -> Facts:
    return Facts(Request(path=path, query=query))


@pytest.mark.parametrize(
    ("query", "label", "near"),
    [
        pytest.param("system.serial=1", "serial", "it has system.serial", id="the leaf of a path"),
        pytest.param("hostname=a", "host.name", "it has hostname", id="a similar spelling"),
        pytest.param("serial=1", "dmi.system.serial", "it has serial", id="the path of a leaf"),
    ],
)
def test_a_missing_fact_is_told_with_those_that_resemble_it(query: str, label: str, near: str) -> None:
    error = CannotFill(f"the request has no fact {label!r}, which the answer needs", label, missing=True)
    assert near in with_hints(error, facts(query))


def test_a_missing_fact_that_nothing_resembles_is_told_alone() -> None:
    error = CannotFill("the request has no fact 'serial'", "serial", missing=True)
    assert with_hints(error, facts("mac=1")) == "the request has no fact 'serial'; asked for toml by mac=1"


@pytest.mark.parametrize("error", [BrokenDocument("it is broken"), NotClaimed("nobody")], ids=["500", "404"])
def test_who_asked_is_told_once(error: AnswerError) -> None:
    shown = with_hints(error, facts(f"mac={MAC}"))
    assert shown.count(MAC) == (0 if isinstance(error, NotClaimed) else 1)
    assert shown.startswith(error.reason)


def test_a_group_that_cannot_be_read_any_more_is_told_by_what_it_claimed(fleet: Fleet) -> None:
    fleet.write({"groups/rack-a.toml": f'members = ["{MAC}"]\nmatch = {{product = "R6*"}}\n'})
    assert "hold for product," in refusal(fleet, f"/proxmox?mac={MAC}&product=R740")
    fleet.write({"groups/rack-a.toml": "x = = 1\n"})
    assert "its match does not hold for product, and the request's product is 'R740'" in refusal(
        fleet, f"/proxmox?mac={MAC}&product=R740"
    )


def test_mac_addresses_come_first_among_the_identities_that_are_seen(fleet: Fleet) -> None:
    body = {
        "a": "first-of-all",
        "dmi": {"serial": "7ABC123", "sku": "SKU-1234"},
        "nics": [{"mac": "98:FA:9B:50:D8:10"}],
    }
    with pytest.raises(NotClaimed) as refused:
        fleet.ask("/pve/answer?host=web-01", json=body)
    seen = refused.value.reason.partition("identities seen: ")[2].split(", ")
    assert seen[:3] == ["98fa9b50d810", "answer", "web01"]
