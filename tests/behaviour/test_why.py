"""``render --why``: every claim that was considered, and why it won or lost.

Rules: docs/selection.md#which-documents-answer.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from answerd.answers.assumed import assumed_gates
from answerd.answers.catalogue import Catalogue
from answerd.answers.resolve import resolve
from answerd.answers.sources import Sources
from answerd.answers.why import Reasoning, reasoning
from answerd.documents import RawDocument
from answerd.errors import AnswerError
from answerd.facts import Facts, Request
from tests.support.fleet import Fleet, key_of
from tests.support.service import run, write_tree
from tests.support.thorough import examples

MAC = "52:54:00:ab:cd:ef"
BARE = "525400abcdef"
TOML = "a = 1\n"


def why(fleet: Fleet, target: str = "/") -> Reasoning:
    path, _, query = target.partition("?")
    return reasoning(fleet.loader.catalogue, Facts(Request(path, query)))


def steps_under(fleet: Fleet, heading: str, target: str = "/") -> list[str]:
    """The sentences and details under one heading."""
    steps = [step for step in why(fleet, target).steps if step.heading == heading]
    return [line for step in steps for line in (step.sentence, *step.details)]


def test_facts_and_identities_are_those_of_the_request(fleet: Fleet) -> None:
    found = steps_under(fleet, "facts", f"/x?mac={MAC}&Serial=7")
    assert sorted(found) == ["file = x", f"mac = {MAC}", "path = x", "segment = x", "serial = 7"]
    assert f"{BARE}, sent as {MAC}" in steps_under(fleet, "identities", f"/x?mac={MAC}")


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/a/PVE/b", "toml: the path segment 'pve' asks for that"),
        ("/debian?x=1", "preseed, seed: the path segment 'debian' asks for that"),
        ("/x", "no segment of the path asks for a format"),
    ],
)
def test_the_segment_that_asks_for_a_format_is_named(fleet: Fleet, target: str, expected: str) -> None:
    assert steps_under(fleet, "formats", target)[0].endswith(expected)


def test_the_machine_with_more_criteria_wins_and_each_criterion_is_told(fleet: Fleet) -> None:
    fleet.write({"m1.toml": TOML, "m2.toml": 'a = 1\n[match]\nserial = "7*"\n'})
    lines = "\n".join(steps_under(fleet, "machine", "/pve?x=m1&y=m2&serial=7A"))
    assert 'machine "m2" (toml)' in lines
    assert "is the best claim\nserial holds: the request's serial is '7A'" in lines
    assert 'loses to machine "m2" (toml): it has fewer criteria' in lines


@pytest.mark.parametrize(
    ("files", "target", "expected"),
    [
        pytest.param({"m1.ks": "a\n"}, "/pve?x=m1", "its format is not one of toml", id="another format"),
        pytest.param(
            {"m1.toml": 'match = {serial = "7*"}\n'},
            "/pve?x=m1",
            "its match does not hold",
            id="a criterion that fails",
        ),
        pytest.param(
            {"m1.toml": TOML, "m2.toml": TOML}, "/pve?x=m1&y=m2", "its name comes later", id="a tie by identifier"
        ),
        pytest.param(
            {"m1.preseed": "a b string c\n", "m1.seed": "a b string c\n"},
            "/debian?x=m1",
            "its format comes later",
            id="a tie by format",
        ),
        pytest.param({"m1.toml": "a = \n"}, "/pve?x=m1", "it is broken", id="a machine that does not parse"),
        pytest.param({"m2.toml": TOML}, "/pve?x=m1", "no machine document has one of these", id="nobody of that name"),
    ],
)
def test_why_a_machine_does_not_answer(fleet: Fleet, files: dict[str, str], target: str, expected: str) -> None:
    fleet.write(files)
    assert expected in "\n".join(steps_under(fleet, "machine", target))


def test_a_claim_through_members_beats_any_claim_by_match(fleet: Fleet) -> None:
    fleet.write(
        {
            "groups/named.toml": f'a = 1\nmembers = ["{MAC}"]\n',
            "groups/picked.toml": 'b = 1\nmatch = {x = "1", y = "2"}\n',
        }
    )
    target = f"/pve?mac={MAC}&x=1&y=2"
    assert "is the only claim" in steps_under(fleet, "group by members", target)[0]
    assert steps_under(fleet, "group by match", target) == [
        "not looked at: a claim through members beats any claim by match alone"
    ]


def test_groups_that_select_are_told_with_each_criterion(fleet: Fleet) -> None:
    fleet.write(
        {
            "groups/one.toml": 'a = 1\nmatch = {vendor = "Dell*"}\n',
            "groups/two.toml": 'a = 2\nmatch = {vendor = "Dell*", model = ["R6*", "R7*"]}\n',
            "groups/three.toml": 'a = 3\nmatch = {vendor = "HP"}\n',
        }
    )
    lines = "\n".join(steps_under(fleet, "group by match", "/pve?vendor=Dell+Inc.&model=R740"))
    assert 'loses to group "two" (toml): it has fewer criteria' in lines
    assert "model holds: the request's model is 'R740'" in lines
    assert "vendor fails: the request's vendor is 'Dell Inc.'" in lines


def test_of_groups_that_do_not_hold_50_are_told_and_the_others_counted(fleet: Fleet) -> None:
    fleet.write({f"groups/g{number}.toml": 'a = 1\nmatch = {vendor = "HP"}\n' for number in range(50)})
    fleet.write({"default.toml": "a = 1\n"})
    assert "more do not hold" not in "\n".join(steps_under(fleet, "group by match", "/pve?vendor=Dell"))
    fleet.write({"groups/one-more.toml": 'a = 1\nmatch = {vendor = "HP"}\n'})
    lines = steps_under(fleet, "group by match", "/pve?vendor=Dell")
    assert "1 more do not hold" in lines
    assert len([line for line in lines if line.startswith('group "')]) == 50


def test_a_machine_that_extends_a_group_looks_at_no_other(fleet: Fleet) -> None:
    fleet.write(
        {
            "groups/base.toml": 'b = 1\nmatch = {never = "x"}\n',
            "groups/other.toml": f'members = ["{MAC}"]\n',
            f"{BARE}.toml": 'extends = "base"\nunset = ["b"]\na = 1\n',
        }
    )
    target = f"/pve?mac={MAC}"
    assert steps_under(fleet, "group", target) == ['the machine itself extends "base": no other group is looked at']
    assert steps_under(fleet, "group by members", target) == []
    layers = steps_under(fleet, "layers", target)
    assert layers[0].startswith('1. group "base" (toml)')
    assert layers[1].startswith(f'2. machine "{BARE}" (toml)')
    assert layers[2] == "takes away what lies below it at b"


def test_an_unreadable_group_is_named_as_what_might_claim_the_request(fleet: Fleet) -> None:
    fleet.write({"groups/odd.toml": "a = \n", "default.toml": TOML})
    found = why(fleet, "/pve?x=m1")
    assert isinstance(found.outcome, AnswerError)
    assert "might claim this request" in steps_under(fleet, "unreadable", "/pve?x=m1")[0]
    assert steps_under(fleet, "answer", "/pve?x=m1")[0].startswith('none: group "odd" (toml) might claim')


def test_a_side_file_of_cloud_init_is_told_in_two_rounds(fleet: Fleet) -> None:
    fleet.write({"m1.yaml": "a: 1\n"})
    lines = steps_under(fleet, "machine", "/ubuntu/meta-data?x=m1")
    assert "its match does not name 'file'" in lines[0]
    assert "is the only claim" in lines[1]
    assert steps_under(fleet, "answer", "/ubuntu/meta-data?x=m1") == ["format=yaml machine=m1 nocloud=meta-data"]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (
            "52:54:00:ab:cd:ee",
            ['525400abcdee is none, but 525400abcdef is nearly the same: a member of group "lab" (ks)'],
        ),
        (
            "52:54:00:ab:dc:ef",
            ['525400abdcef is none, but 525400abcdef is nearly the same: a member of group "lab" (ks)'],
        ),
        (
            "52-54-00-11-22-30",
            [
                '525400112230 is none, but 525400112233 is nearly the same: machine "525400112233" (toml)',
                "525400112230 is none, but 525400112234 is nearly the same: inventory.csv:2",
            ],
        ),
        (
            "52:54:00:77:88:99",
            ['525400778899 is none, but 52540077889 is nearly the same: machine "52540077889" (toml)'],
        ),
        ("52:54:00:ab:00:00", []),
        (MAC, []),
        ("&serial=7ABC-124", ["7abc124 is none, but 7abc123 is nearly the same: inventory.csv:3"]),
        ("&serial=SN-12", []),  # too short: many are near
        ("&serial=7ABC123", []),
    ],
)
@pytest.mark.parametrize("has_default", [False, True])
def test_a_mac_address_that_is_nearly_a_known_one_is_named(
    fleet: Fleet, asked: str, expected: list[str], *, has_default: bool
) -> None:
    files = {
        "groups/lab.ks": f"# answer: member {MAC}\nlang C\n",
        "525400112233.toml": TOML,
        "52540077889.toml": TOML,
        "inventory.csv": "mac,serial,role\n52:54:00:11:22:34,,db\n,7abc123,web\n52:54:00:99:00:00,SN-13,db\n",
    }
    fleet.write(files | ({"default.ks": "lang C\n"} if has_default else {}))
    assert steps_under(fleet, "similar", f"/ks?mac={asked}") == expected


@pytest.mark.parametrize("has_default", [False, True])
def test_a_uuid_in_the_other_byte_order_is_named(fleet: Fleet, *, has_default: bool) -> None:
    files = {"4c4c4544-0051-3010-8053-b4c04f4a3132.ks": "lang D\n"}
    fleet.write(files | ({"default.ks": "lang C\n"} if has_default else {}))
    sent = "44454c4c-5100-1030-8053-b4c04f4a3132"
    assert steps_under(fleet, "similar", f"/ks?uuid={sent}") == [
        'machine "4c4c4544-0051-3010-8053-b4c04f4a3132" (ks) has the UUID that the request sends with its bytes in '
        f"another order: write it as {sent}"
    ]
    assert steps_under(fleet, "similar", "/ks?uuid=4c4c4544-0051-3010-8053-b4c04f4a3132") == []


def test_the_state_of_an_install_is_said_to_be_assumed() -> None:
    raw = [RawDocument(key_of("default.ks"), "# answer: once\nlang C\n")]
    catalogue = Catalogue(has_states=True).changed(raw)
    sources = Sources(gates=assumed_gates("http://answers.example.com"))
    steps = reasoning(catalogue, Facts(Request("/ks", "serial=S1")), sources=sources).steps
    (install,) = [step for step in steps if step.heading == "install"]
    assert install.details[1] == "state armed, which is assumed, because no machine asks: open"


def test_a_placeholder_that_cannot_be_filled_is_told_with_its_place(fleet: Fleet) -> None:
    fleet.write({"m1.toml": 'a = 1\nb = "{{ serial }}"\n'})
    assert steps_under(fleet, "placeholder", "/pve?x=m1")[0].endswith(":2 needs the fact 'serial'")


def test_an_empty_cell_that_a_placeholder_needs_is_told_first(fleet: Fleet) -> None:
    fleet.write(
        {
            "inventory.columns": '[columns]\n"Boot Disk" = "disk"\n',
            "inventory.csv": "id,Boot Disk\nm1,\nm2,sda\n",
            "groups/g.toml": 'match = {id = "*"}\na = "{{ disk }}{{ size }}"\n',
        }
    )
    row, place = steps_under(fleet, "placeholder", "/pve?x=m1")
    assert row == "inventory.csv:2 has no value for 'disk': fill in its column 'Boot Disk'"
    assert place.endswith(":2 needs the fact 'disk'")
    [place] = steps_under(fleet, "placeholder", "/pve?x=m2")  # no column at all
    assert place.endswith(":2 needs the fact 'size'")


def test_the_lines_for_a_console_name_each_heading_once(fleet: Fleet) -> None:
    fleet.write({"m1.toml": TOML})
    lines = why(fleet, "/pve?x=m1&y=2").lines()
    assert sum(line.startswith("facts ") for line in lines) == 1
    assert lines[-1].split() == ["answer", "format=toml", "machine=m1"]


# --- it never tells another story than what happens ------------------------------------------------------------------

values = st.sampled_from(["1", "2"])
criteria = st.dictionaries(st.sampled_from(["x", "y"]), values, max_size=2)


@st.composite
def sets(draw: st.DrawFn) -> dict[str, str]:
    files = {}
    for name in draw(
        st.lists(st.sampled_from(["m1", "m2", "default", "groups/a", "groups/b", "groups/c"]), unique=True)
    ):
        rows = [f'at = "{name}"']
        match = draw(criteria)
        if match and name != "default":
            rows.append("match = {" + ", ".join(f'{label} = "{value}"' for label, value in match.items()) + "}")
        if name.startswith("groups") and draw(st.booleans()):
            rows.append(f'members = ["{draw(st.sampled_from(["m1", "m3"]))}"]')
        if draw(st.integers(0, 4)) == 0:
            rows.append('extends = "a"')
        files[f"{name}.{draw(st.sampled_from(['toml', 'toml', 'ks']))}"] = "\n".join(rows) + "\n"
    return files


@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.too_slow])
@given(sets(), st.lists(st.sampled_from(["m=m1", "n=m2", "o=m3", "x=1", "x=2", "y=1", "y=2"]), unique=True))
def test_the_best_claims_that_it_tells_are_those_that_answer(files: dict[str, str], query: list[str]) -> None:
    catalogue = Catalogue().changed([RawDocument(key_of(name), text, name) for name, text in files.items()])
    facts = Facts(Request("/", "&".join(query)))
    found = reasoning(catalogue, facts)
    if isinstance(found.outcome, AnswerError):
        with pytest.raises(type(found.outcome)) as caught:
            resolve(catalogue, facts)
        assert found.outcome.reason == caught.value.reason
        return
    answer = resolve(catalogue, facts)
    assert found.outcome.body == answer.body
    best = [
        step.sentence.partition(": ")[0] for step in found.steps if step.sentence.endswith(("best claim", "only claim"))
    ]
    selection = answer.selection
    if selection.machine:
        assert best[0].startswith(str(selection.machine.key))
    elif selection.group and not selection.default:
        assert best[-1].startswith(str(selection.group.key))
    else:
        assert best == []


def test_why_tells_which_of_autoyasts_probes_a_default_does_not_answer(tmp_path: Path) -> None:
    write_tree(tmp_path, {"default.autoyast": "<p>default</p>"})
    done = run("render", "--query", "path=/autoyast/C0A8", "--why", SERVICE_ANSWERS_DIR=tmp_path)
    assert done.returncode == 1
    assert "is no answer to C0A8" in done.stderr.decode()
