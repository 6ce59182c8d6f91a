"""A claim by a broken document is a 500, never the next best claim; everybody else is served.

Rules: docs/selection.md#broken-documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from answerd.errors import BrokenDocument
from answerd.store import CannotBeStored
from answerd.store.database import DatabaseStore
from answerd.store.files import FileStore
from tests.support.fleet import Fleet
from tests.support.service import write_tree

MEMBER = 'members = ["aa:bb:cc:dd:ee:01"]\n'
ASKED = "/pve?mac=aa:bb:cc:dd:ee:01"

BROKEN: dict[str, tuple[Mapping[str, str], list[str]]] = {
    "a machine that does not parse": ({"aabbccddee01.toml": "x = = 1\n"}, ['machine "aabbccddee01" (toml)', "line 1"]),
    "a machine with a match that is none": ({"aabbccddee01.toml": "match = 7\n"}, ["match"]),
    "a machine with a bad placeholder": ({"aabbccddee01.toml": 'a = "{{ a b }}"\n'}, ["no placeholder", "column 6"]),
    "a machine with an unknown filter": ({"aabbccddee01.toml": 'a = "{{ a | b }}"\n'}, ["unknown filter"]),
    "a machine with members": ({"aabbccddee01.toml": 'members = ["a"]\n'}, ["members has no meaning"]),
    "a machine that extends nothing": ({"aabbccddee01.toml": 'extends = "ghost"\n'}, ["ghost"]),
    "a machine that extends by number": ({"aabbccddee01.toml": "extends = 7\n"}, ["extends"]),
    "a machine that extends itself": ({"aabbccddee01.toml": 'extends = "aabbccddee01"\n'}, ["unknown group"]),
    "a group that extends nothing": ({"groups/g.toml": MEMBER + 'extends = "ghost"\n'}, ['group "g" (toml)', "ghost"]),
    "a group that extends itself": ({"groups/g.toml": MEMBER + 'extends = "g"\n'}, ["cycle", "g -> g"]),
    "a cycle of two": (
        {"groups/g.toml": MEMBER + 'extends = "h"\n', "groups/h.toml": 'extends = "g"\n'},
        ["cycle", "g -> h -> g"],
    ),
    "a machine above a cycle": (
        {
            "aabbccddee01.toml": 'extends = "top"\n',
            "groups/top.toml": 'extends = "h"\n',
            "groups/g.toml": 'extends = "h"\n',
            "groups/h.toml": 'extends = "g"\n',
        },
        ["cycle", "g -> h -> g"],
    ),
    "a broken group below a sound one": (
        {"groups/g.toml": MEMBER + 'extends = "base"\n', "groups/base.toml": "unset = 7\n"},
        ['group "base" (toml)', "unset"],
    ),
    "a group below that does not parse": (
        {"aabbccddee01.toml": 'extends = "base"\n', "groups/base.toml": "x = = 1\n"},
        ['group "base" (toml)', "does not parse"],
    ),
    "a group that is missing below a chain": (
        {"groups/g.toml": MEMBER + 'extends = "base"\n', "groups/base.toml": 'extends = "lost"\n'},
        ['group "base" (toml)', '"lost"'],
    ),
    "a group with a bad placeholder": ({"groups/g.toml": MEMBER + 'a = "{{"\n'}, ["does not close"]),
    "a default that extends nothing": ({"default.toml": 'extends = "ghost"\n'}, ["ghost"]),
}


@pytest.mark.parametrize(("documents", "words"), BROKEN.values(), ids=BROKEN.keys())
def test_who_is_claimed_by_it_gets_the_reason(fleet: Fleet, documents: Mapping[str, str], words: list[str]) -> None:
    sound = {} if "default.toml" in documents else {"default.toml": "d = 1\n"}
    fleet.write({**sound, **documents})
    with pytest.raises(BrokenDocument) as caught:
        fleet.ask(ASKED)
    for word in words:
        assert word in caught.value.reason
    assert "\n" not in caught.value.reason


@pytest.mark.parametrize(("documents", "words"), BROKEN.values(), ids=BROKEN.keys())
def test_it_is_a_problem_of_the_set(fleet: Fleet, documents: Mapping[str, str], words: list[str]) -> None:
    problems = fleet.write(documents).problems()
    assert problems
    assert problems == sorted(set(problems))
    assert all(any(word in problem for problem in problems) for word in words)


def test_a_machine_that_does_not_parse_is_not_passed_over_for_another_of_its_identities(fleet: Fleet) -> None:
    fleet.write({"node1.toml": "x = 1\n", "node2.toml": "x = = 1\n"})
    assert fleet.text("/?h=node1") == "x = 1\n"
    with pytest.raises(BrokenDocument, match="node2"):
        fleet.ask("/?h=node1&h=node2")


def test_a_machine_whose_match_does_not_hold_does_no_harm_however_broken_otherwise(fleet: Fleet) -> None:
    fleet.write({"node1.toml": 'a = "{{ a b }}"\nmatch.rack = "1"\n', "default.toml": "d = 1\n"})
    assert fleet.text("/?h=node1") == "d = 1\n"
    with pytest.raises(BrokenDocument):
        fleet.ask("/?h=node1&rack=1")


@pytest.mark.each_store
def test_two_spellings_of_one_machine_are_a_500_in_that_format_alone(fleet: Fleet) -> None:
    documents = {"node-1.toml": "x = 1\n", "NODE1.toml": "x = 2\n", "node1.ks": "lang\n", "default.toml": "d = 1\n"}
    fleet.write(documents)
    if not isinstance(fleet.store, FileStore):  # a database has one document of that name, the last that was written
        assert len(fleet.loader.catalogue.documents) == len(documents) - 1
        assert (fleet.text("/pve?h=node1"), fleet.problems()) == ("x = 2\n", [])
        return
    with pytest.raises(BrokenDocument, match=r"node-1.*NODE1|NODE1.*node-1"):
        fleet.ask("/pve?h=node1")
    assert fleet.text("/ks?h=node1") == "lang\n"
    assert fleet.text("/pve?h=node2") == "d = 1\n"
    assert len(fleet.problems()) == 1


TWICE = {
    "a machine": {"node.toml": "x = 1\n", "node/x.toml": "x = 1\n"},
    "a default": {"default.toml": "x = 1\n", "default/x.toml": "x = 1\n"},
    "a group that claims": dict.fromkeys(("groups/g.toml", "groups/g/x.toml"), 'members = ["node"]\n'),
    "a group that is extended": {"node.toml": 'extends = "g"\n', "groups/g.toml": "", "groups/g/x.toml": ""},
    "an overlay": {"node.toml": "x = 1\n"}
    | dict.fromkeys(("groups/o.toml", "groups/o/x.toml"), 'overlay = 1\nmembers = ["node"]\n'),
}


@pytest.mark.parametrize("files", TWICE.values(), ids=TWICE.keys())
def test_two_files_for_one_document_are_a_500_to_whom_it_answers(tmp_path: Path, files: dict[str, str]) -> None:
    write_tree(tmp_path / "answers", files)
    with pytest.raises(BrokenDocument, match="2 documents for one key"):
        Fleet(FileStore(tmp_path / "answers")).ask("/pve?h=node")


# --- groups that cannot be read --------------------------------------------------------------------------------------

UNREADABLE = {
    "does not parse": "x = = 1\n",
    "members of the wrong type": "members = 7\n",
    "members that hold a number": "members = [7]\n",
    "members that are empty": "members = []\n",
    "a match of the wrong type": 'match = "x"\n',
    "an empty match": "[match]\n",
    "a pattern of punctuation": '[match]\nserial = "--"\n',
    "an empty pattern": '[match]\nserial = ""\n',
    "an empty list of patterns": "[match]\nserial = []\n",
    "a pattern that is a number": "[match]\nserial = 7\n",
}
AROUND = {
    "groups/base.toml": "y = 2\n",
    "groups/named.toml": 'z = 3\nmembers = ["named"]\n',
    "groups/sel.toml": 'marker = "sel"\n[match]\nserial = "*"\n',
    "lone.toml": "lone = 1\n",
    "extending.toml": 'extends = "base"\n',
    "default.toml": "d = 1\n",
    "default.ks": "lang\n",
}


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_group_that_was_never_readable_might_claim_anything(fleet: Fleet, text: str) -> None:
    fleet.write({**AROUND, "groups/dark.toml": text})
    assert fleet.text("/pve?h=extending") == "y = 2\n"
    assert fleet.text("/pve?h=named") == "z = 3\n"
    assert fleet.text("/ks") == "lang\n"
    for target in ("/pve?serial=1", "/pve?h=lone", "/pve", "/", "/?h=lone"):
        with pytest.raises(BrokenDocument, match=r'group "dark" \(toml\)'):
            fleet.ask(target)


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_group_that_was_readable_keeps_the_claims_of_then(fleet: Fleet, text: str) -> None:
    fleet.write({**AROUND, "groups/dark.toml": 'members = ["old"]\nx = 1\n'})
    assert fleet.text("/pve?h=old") == "x = 1\n"
    fleet.write({"groups/dark.toml": text})
    with pytest.raises(BrokenDocument, match="dark"):
        fleet.ask("/pve?h=old")
    assert fleet.text("/pve?h=lone") == "lone = 1\n"
    assert fleet.text("/pve?h=nobody") == "d = 1\n"
    assert "sel" in fleet.text("/pve?serial=1")
    assert fleet.text("/pve?h=extending") == "y = 2\n"


def test_the_claims_outlive_several_bad_versions_and_end_with_a_good_one(fleet: Fleet) -> None:
    fleet.write({"groups/dark.toml": '[match]\nserial = "old*"\n', "default.toml": "d = 1\n"})
    for text in ("x = = 1\n", "members = 7\n", "match = 7\n"):
        fleet.write({"groups/dark.toml": text})
        with pytest.raises(BrokenDocument, match="dark"):
            fleet.ask("/pve?serial=old1")
        assert fleet.text("/pve?serial=new1") == "d = 1\n"
    fleet.write({"groups/dark.toml": 'x = 1\n[match]\nserial = "new*"\n'})
    assert fleet.text("/pve?serial=new1") == "x = 1\n"
    assert fleet.text("/pve?serial=old1") == "d = 1\n"
    assert fleet.problems() == []


def test_the_claims_end_with_the_group(fleet: Fleet) -> None:
    fleet.write({"groups/dark.toml": 'members = ["old"]\n', "default.toml": "d = 1\n"})
    fleet.write({"groups/dark.toml": "x = = 1\n"})
    fleet.remove("groups/dark.toml")
    assert fleet.text("/pve?h=old") == "d = 1\n"


def test_a_group_that_claimed_nothing_claims_nothing_when_it_breaks(fleet: Fleet) -> None:
    fleet.write({"groups/base.toml": "x = 1\n", "default.toml": "d = 1\n", "n1.toml": 'extends = "base"\n'})
    fleet.write({"groups/base.toml": "x = = 1\n"})
    assert fleet.text("/pve") == "d = 1\n"
    with pytest.raises(BrokenDocument, match="base"):
        fleet.ask("/pve?h=n1")


def test_a_group_that_becomes_readable_frees_everybody(fleet: Fleet) -> None:
    fleet.write({**AROUND, "groups/dark.toml": "x = = 1\n"})
    fleet.write({"groups/dark.toml": 'members = ["m"]\nx = 1\n'})
    assert fleet.text("/pve?h=m") == "x = 1\n"
    assert fleet.text("/pve") == "d = 1\n"


def test_a_group_with_a_problem_that_leaves_its_claims_readable_stops_only_whom_it_claims(fleet: Fleet) -> None:
    for fault in ('extends = "ghost"\n', "unset = 7\n", "template = 7\n", 'a = "{{ b c }}"\n'):
        fleet.write({**AROUND, "groups/dark.toml": f'members = ["m"]\n{fault}'})
        with pytest.raises(BrokenDocument, match="dark"):
            fleet.ask("/pve?h=m")
        assert fleet.text("/pve?h=lone") == "lone = 1\n"
        assert fleet.text("/pve") == "d = 1\n"


def test_a_ghosts_members_still_beat_a_match(fleet: Fleet) -> None:
    fleet.write({"groups/dark.toml": 'members = ["m"]\n', "groups/sel.toml": 'x = 1\nmatch.serial = "*"\n'})
    fleet.write({"groups/dark.toml": "x = = 1\n"})
    with pytest.raises(BrokenDocument, match="dark"):
        fleet.ask("/pve?h=m&serial=1")
    assert fleet.text("/pve?h=n&serial=1") == "x = 1\n"


def test_a_text_group_with_a_match_that_is_none_is_unreadable(fleet: Fleet) -> None:
    fleet.write({"groups/dark.ks": "# answer: match serial\n", "default.ks": "lang\n", "default.toml": "d = 1\n"})
    with pytest.raises(BrokenDocument, match="dark"):
        fleet.ask("/ks")
    assert fleet.text("/pve") == "d = 1\n"


MISSPELLED = {
    "a verb": ("ks", "# answer: membres A\nlang\n", "did you mean 'member'?"),
    "a verb like no other": ("ipxe", "// answer: xyz\n#!ipxe\n", "there are extends, member, match"),
    "a verb beside one that claims": ("cfg", "# answer: member B\n# answer: mach rack=1\n", "did you mean 'match'?"),
    "an element": ("xml", "<r><answer-meta><mebmer>A</mebmer></answer-meta></r>", "did you mean 'member'?"),
    "an attribute": ("xml", '<r><answer-meta member="A"/></r>', "there are extends, once, overlay, template"),
}


@pytest.mark.parametrize(("extension", "text", "words"), MISSPELLED.values(), ids=MISSPELLED.keys())
def test_a_group_with_a_misspelled_directive_might_claim_anything(
    fleet: Fleet, extension: str, text: str, words: str
) -> None:
    fleet.write({f"default.{extension}": "<r>default</r>", f"groups/g.{extension}": text, "default.toml": "d = 1\n"})
    for target in (f"/{extension}?mac=A", f"/{extension}?h=B", f"/{extension}"):
        with pytest.raises(BrokenDocument) as caught:
            fleet.ask(target)
        assert 'group "g"' in caught.value.reason
        assert words in caught.value.reason
    assert fleet.text("/pve") == "d = 1\n"
    assert len(fleet.problems()) == 1


@pytest.mark.parametrize(("extension", "text", "words"), MISSPELLED.values(), ids=MISSPELLED.keys())
def test_a_group_in_which_a_directive_is_misspelled_later_keeps_its_claims(
    fleet: Fleet, extension: str, text: str, words: str
) -> None:
    xml = '<r><answer-meta><match rack="9"/></answer-meta></r>'
    before = xml if extension == "xml" else "# answer: match rack=9\n"
    fleet.write({f"default.{extension}": "<r>default</r>", f"groups/g.{extension}": before})
    fleet.write({f"groups/g.{extension}": text})
    assert fleet.text(f"/{extension}?mac=A") == "<r>default</r>"
    with pytest.raises(BrokenDocument, match="answer"):
        fleet.ask(f"/{extension}?rack=9")
    assert words in fleet.problems()[0]


def test_a_misspelled_directive_in_a_machine_is_a_problem_of_that_machine_alone(fleet: Fleet) -> None:
    fleet.write({"n1.ks": "# answer: match rack=1\n# answer: extend base\nlang\n", "default.ks": "default\n"})
    assert fleet.text("/ks?h=n1&rack=2") == "default\n"
    with pytest.raises(BrokenDocument, match="did you mean 'extends'"):
        fleet.ask("/ks?h=n1&rack=1")


# --- a group that moves ---


def move(root: Path, old: str, new: str, text: str) -> None:
    """Move a group's file, with another text, between two looks of the store."""
    (root / new).parent.mkdir(exist_ok=True)
    (root / old).unlink()
    (root / new).write_text(text)


MOVES = [("groups/a.toml", "groups/a/new.toml"), ("groups/a.toml", "groups/A.toml"), ("groups/a.toml", "Groups/a.toml")]


@pytest.mark.parametrize(("old", "new"), MOVES)
@pytest.mark.parametrize("claims", ['members = ["old"]\n', 'match.h = "old"\n'])
def test_a_group_that_moves_and_breaks_at_once_keeps_its_claims(
    tmp_path: Path, old: str, new: str, claims: str
) -> None:
    store = FileStore(tmp_path / "answers")
    fleet = Fleet(store)
    fleet.write({"groups/a.toml": f"{claims}x = 1\n", "groups/b.toml": 'match.h = "b"\ny = 1\n'})
    fleet.write({"default.toml": "d = 1\n"})
    move(store.directory, old, new, "x = = 1\n")
    fleet.poll()
    for _ in range(2):
        with pytest.raises(BrokenDocument, match="line 1"):
            fleet.ask("/pve?h=old")
        assert fleet.text("/pve?h=other") == "d = 1\n"
        assert fleet.text("/pve?h=b") == "y = 1\n"
        (store.directory / new).write_text("still = = broken\n")
        fleet.poll()
    (store.directory / new).write_text('members = ["now"]\nx = 2\n')
    fleet.poll()
    assert fleet.text("/pve?h=old") == "d = 1\n"
    assert fleet.text("/pve?h=now") == "x = 2\n"


def test_claims_are_kept_over_looks_that_find_no_such_group(fleet: Fleet) -> None:
    fleet.write({"groups/a.toml": 'members = ["old"]\n', "default.toml": "d = 1\n"})
    fleet.remove("groups/a.toml")
    assert fleet.text("/pve?h=old") == "d = 1\n"
    fleet.write({"groups/a.toml": "x = = 1\n"})
    assert fleet.text("/pve?h=other") == "d = 1\n"
    with pytest.raises(BrokenDocument, match='"a"'):
        fleet.ask("/pve?h=old")
    fleet.write({"groups/c.toml": "x = = 1\n"})
    with pytest.raises(BrokenDocument, match='"c"'):
        fleet.ask("/pve?h=other")


def test_a_group_of_another_format_does_not_inherit_claims(fleet: Fleet) -> None:
    fleet.write({"groups/a.toml": 'members = ["old"]\n', "default.ks": "default\n"})
    fleet.remove("groups/a.toml")
    fleet.write({"groups/a.ks": "# answer: membres old\n"})
    with pytest.raises(BrokenDocument, match='"a"'):
        fleet.ask("/ks?h=other")


@pytest.mark.each_store
@pytest.mark.parametrize("more", [0, 1], ids=["as large as allowed", "a byte larger"])
@pytest.mark.parametrize("fill", ["#", "é"])
def test_a_document_has_at_most_1_mb(fleet: Fleet, more: int, fill: str) -> None:
    size = len(fill.encode())
    rest = 1_048_576 - len("lang en\n")
    text = "lang en\n" + fill * (rest // size) + " " * (rest % size + more)
    fleet.write({"default.ks": "lang de\n"})
    if more and isinstance(fleet.store, DatabaseStore):
        with pytest.raises(CannotBeStored, match=r'machine "web-1" .* is larger than 1,048,576 bytes'):
            fleet.write({"web-1.ks": text})
        return
    fleet.write({"web-1.ks": text})
    if not more:
        assert fleet.text("/ks/web-1").startswith("lang en")
        return
    with pytest.raises(BrokenDocument, match=r'machine "web-1" .* is larger than 1,048,576 bytes'):
        fleet.ask("/ks/web-1")
    assert fleet.text("/ks/web-2") == "lang de\n"
    assert len(fleet.problems()) == 1
