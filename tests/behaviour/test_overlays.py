"""Overlays: documents that are laid over answers which others make (docs/overlays.md), in every store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from answerd.answers import compose
from answerd.answers.catalogue import Catalogue
from answerd.answers.claims import winners
from answerd.answers.compose import warm_up
from answerd.answers.operator_names import machines_of_group
from answerd.answers.resolve import resolve
from answerd.answers.why import reasoning
from answerd.documents import Document, RawDocument
from answerd.errors import BrokenDocument, NotClaimed
from answerd.facts import Facts, Request, facts_of
from answerd.installs.records import InstallMemory
from answerd.installs.states import Rules
from answerd.store.files import FileStore
from tests.support.fleet import Fleet, key_of
from tests.support.service import write_tree
from tests.support.thorough import examples

BASE = "match: {dept: '*'}\na: base\nb: base\nc: base\nlist: [base]\n"
DEPT = "overlay: 10\nmatch: {dept: er}\nb: dept\nc: dept\n"
MODEL = "overlay: 20\nmatch: {model: m1}\nc: model\n"
LAYERED = {"groups/base.yaml": BASE, "groups/er.yaml": DEPT, "groups/m1.yaml": MODEL}


def values(fleet: Fleet, target: str) -> object:
    return yaml.safe_load(fleet.text(target))


def test_every_overlay_that_holds_is_laid_over_the_group_by_its_number(fleet: Fleet) -> None:
    fleet.write(LAYERED)
    answer = fleet.ask("/yaml?dept=er&model=m1")
    assert yaml.safe_load(answer.body) == {"a": "base", "b": "dept", "c": "model", "list": ["base"]}
    assert answer.composition == "format=yaml group=base overlay=er,m1"
    assert values(fleet, "/yaml?dept=er") == {"a": "base", "b": "dept", "c": "dept", "list": ["base"]}
    assert values(fleet, "/yaml?dept=x&model=m1") == {"a": "base", "b": "base", "c": "model", "list": ["base"]}
    assert fleet.ask("/yaml?dept=x").composition == "format=yaml group=base"


def test_the_machine_document_is_the_top(fleet: Fleet) -> None:
    fleet.write(LAYERED | {"pc-1.yaml": "extends: base\nc: own\n", "pc-2.yaml": "c: own\n"})
    assert values(fleet, "/yaml?id=pc-1&dept=er") == {"a": "base", "b": "dept", "c": "own", "list": ["base"]}
    assert fleet.ask("/yaml?id=pc-1&dept=er").composition == "format=yaml machine=pc-1 group=base overlay=er"
    assert values(fleet, "/yaml?id=pc-2&model=m1") == {"c": "own"}
    assert fleet.ask("/yaml?id=pc-2&model=m1").composition == "format=yaml machine=pc-2 overlay=m1"


def test_unset_append_and_once_work_as_in_any_layer(fleet: Fleet) -> None:
    overlay = "overlay: 5\nmatch: {dept: er}\nunset: [a]\nappend: [list]\nlist: [more]\n"
    fleet.write(LAYERED | {"groups/er.yaml": overlay})
    assert values(fleet, "/yaml?dept=er") == {"b": "base", "c": "base", "list": ["base", "more"]}


@pytest.mark.parametrize("extension", ["toml", "yaml", "json", "unattend", "ks"])
def test_every_family_has_the_key(fleet: Fleet, extension: str) -> None:
    texts = {
        "toml": ('match = {dept = "*"}\na = 1\n', 'overlay = 7\nmatch = {dept = "er"}\na = 2\n'),
        "yaml": ("match: {dept: '*'}\na: 1\n", "overlay: 7\nmatch: {dept: er}\na: 2\n"),
        "json": ('{"match": {"dept": "*"}, "a": 1}', '{"overlay": 7, "match": {"dept": "er"}, "a": 2}'),
        "unattend": (
            '<r><answer-meta><match dept="*"/></answer-meta><a>1</a></r>',
            '<r><answer-meta overlay="7"><match dept="er"/></answer-meta><a>2</a></r>',
        ),
        "ks": ("# answer: match dept=*\na 1\n", "# answer: overlay 7\n# answer: match dept=er\na 2\n"),
    }
    base, overlay = texts[extension]
    fleet.write({f"groups/base.{extension}": base, f"groups/o.{extension}": overlay})
    assert fleet.problems() == []
    answer = fleet.ask("/?dept=er")
    assert answer.composition.endswith("group=base overlay=o")
    assert "2" in answer.body.decode()
    assert "overlay" not in answer.body.decode()


WRONG = {
    "toml": ('overlay = NUMBER\nmatch = {dept = "*"}\n', ['"7"', "0", "1000", "-1", "true", "7.0", "[7]"]),
    "yaml": ("overlay: NUMBER\nmatch: {dept: '*'}\n", ["'7'", "0", "x", "7.0", "true", "[7]", "07000"]),
    "json": ('{"overlay": NUMBER, "match": {"dept": "*"}}', ['"7"', "0", "7.0", "1e1", "null"]),
    "xml": ('<r><answer-meta overlay="NUMBER"><match dept="*"/></answer-meta></r>', ["", "x", "0", "1000"]),
    "ks": ("# answer: overlay NUMBER\n# answer: match dept=*\n", ["", "x", "0", "1000", "1 2"]),
}


@pytest.mark.parametrize(
    ("extension", "text"),
    [(extension, text.replace("NUMBER", number)) for extension, (text, numbers) in WRONG.items() for number in numbers],
)
def test_a_number_that_is_none_is_a_problem_and_what_it_may_apply_to_is_refused(
    fleet: Fleet, extension: str, text: str
) -> None:
    fleet.write({f"groups/o.{extension}": text, f"default.{extension}": "" if extension != "xml" else "<r/>"})
    assert any("overlay must be a number from 1 to 999" in problem for problem in fleet.problems())
    with pytest.raises(BrokenDocument):
        fleet.ask("/?dept=er")


def test_it_makes_no_answer_by_itself(fleet: Fleet) -> None:
    fleet.write({"groups/er.yaml": DEPT, "groups/m1.yaml": MODEL})
    with pytest.raises(NotClaimed, match=r"overlays hold, but are only laid over .*: er \(yaml\), m1 \(yaml\)"):
        fleet.ask("/yaml?dept=er&model=m1")


def test_nothing_extends_it_and_it_extends_nothing(fleet: Fleet) -> None:
    fleet.write(
        LAYERED
        | {
            "groups/er.yaml": "extends: base\n" + DEPT,
            "pc-1.yaml": "extends: m1\nx: 1\n",
            "groups/g.yaml": "extends: M1\nmembers: [pc-2]\n",
        }
    )
    why = 'extends group "m1" (yaml), which is an overlay: it is laid over answers, nothing extends it'
    assert fleet.problems() == [
        'group "er" (yaml): an overlay extends nothing, and this one extends "base"',
        f'group "g" (yaml): {why}',
        f'machine "pc-1" (yaml): {why}',
    ]
    for target in ("/yaml?id=pc-1", "/yaml?id=pc-2", "/yaml?dept=er"):
        with pytest.raises(BrokenDocument):
            fleet.ask(target)
    assert values(fleet, "/yaml?dept=x&model=m1") == {"a": "base", "b": "base", "c": "model", "list": ["base"]}
    fleet.write({"groups/m1.yaml": MODEL.replace("overlay: 20\n", "")})  # now it may be extended
    assert [problem for problem in fleet.problems() if "which is an overlay" in problem] == []


def test_a_broken_placeholder_breaks_what_it_is_laid_over_and_nothing_else(fleet: Fleet) -> None:
    fleet.write(LAYERED | {"groups/er.yaml": DEPT + "bad: '{{ a b }}'\n"})
    with pytest.raises(BrokenDocument, match="er"):
        fleet.ask("/yaml?dept=er")
    assert fleet.ask("/yaml?dept=x").composition == "format=yaml group=base"


def test_one_that_breaks_keeps_what_it_applied_to(fleet: Fleet) -> None:
    fleet.write(LAYERED)
    fleet.write({"groups/er.yaml": "a: [\n"})
    with pytest.raises(BrokenDocument, match="er"):
        fleet.ask("/yaml?dept=er")
    assert fleet.ask("/yaml?dept=x&model=m1").composition == "format=yaml group=base overlay=m1"


@pytest.mark.parametrize("target", ["/yaml?id=pc-1", "/yaml?id=pc-2"])
def test_one_that_was_never_readable_might_apply_to_anything_of_its_format(fleet: Fleet, target: str) -> None:
    base = {
        "groups/base.yaml": "members: [pc-2]\na: 1\n",
        "pc-1.yaml": "extends: base\n",
        "groups/o.yaml": "overlay: 3\nmatch: 7\n",
    }
    fleet.write(base | {"pc-1.ks": "x\n"})
    with pytest.raises(BrokenDocument, match="might claim this request"):
        fleet.ask(target)
    assert fleet.text("/ks?id=pc-1") == "x\n"


UNPARSABLE = {
    "toml": ("overlay = 3\nmembers = [\n", "members = [\n"),
    "toml, quoted": ('"overlay" = 3\nx = = 1\n', "over-lay = 3\nx = = 1\n"),
    "yaml": ("overlay: 3\nx: [\n", "x: [overlay\n"),
    "yaml, quoted": ("'overlay': 3\nx: [\n", "my-overlay: 3\nx: [\n"),
    "yaml, after a mistake": ("x: {a: 1\noverlay: 3\n", "x: {a: 1\n"),
    "yml": ("{overlay: 3, x: [}\n", "{x: [}\n"),
    "json": ('{"overlay": 3, "x": }\n', '{"x": }\n'),
    "ign": ('{"overlay": 3\n', '{"overlays": 3\n'),
    "xml": ('<r><answer-meta overlay="3"/>', "<r><overlay>3</overlay>"),
    "unattend": ("<r><answer-meta\n  overlay = '3'/>", '<r><answer-meta template="off"/>'),
    "ks": ("# answer: overlay 3\n\0", "# answer: template off\n# overlay 3\n\0"),
    "ipxe": ("#!ipxe\n//answer:  overlay  3\n# answer: mach a=b\n", "#!ipxe\n# answer: overlays 3\n"),
}
"""For a format, a group that was never readable and spells ``overlay``, and one that does not."""


def base_of(extension: str) -> dict[str, str]:
    """A machine that extends a group, one that a group names, and a default, in a format."""
    texts: dict[str, tuple[str, str, str]] = {
        "toml": ('extends = "base"\n', 'members = ["pc-2"]\na = 1\n', "a = 2\n"),
        "yaml": ("extends: base\n", "members: [pc-2]\na: 1\n", "a: 2\n"),
        "yml": ("extends: base\n", "members: [pc-2]\na: 1\n", "a: 2\n"),
        "json": ('{"extends": "base"}', '{"members": ["pc-2"], "a": 1}', '{"a": 2}'),
        "ign": ('{"answer": {"extends": "base"}}', '{"answer": {"members": ["pc-2"]}, "a": 1}', '{"a": 2}'),
        "xml": (
            '<r><answer-meta extends="base"/></r>',
            "<r><answer-meta><member>pc-2</member></answer-meta></r>",
            "<r/>",
        ),
        "ks": ("# answer: extends base\n", "# answer: member pc-2\nlang\n", "lang\n"),
    }
    texts["unattend"], texts["ipxe"], texts["ign"] = texts["xml"], texts["ks"], texts["json"]
    machine, group, default = texts[extension]
    return {f"pc-1.{extension}": machine, f"groups/base.{extension}": group, f"default.{extension}": default}


@pytest.mark.parametrize("case", UNPARSABLE)
def test_a_text_that_does_not_parse_may_be_an_overlay_where_it_spells_the_key(tmp_path: Path, case: str) -> None:
    extension = case.partition(",")[0]
    spelled, other = UNPARSABLE[case]
    files = base_of(extension) | {"other.cfg": "x\n"}
    for number, text in enumerate((spelled, other)):
        directory = tmp_path / str(number)
        write_tree(directory, files | {f"groups/dark.{extension}": text})
        fleet = Fleet(FileStore(directory))  # from its start
        assert any("dark" in problem for problem in fleet.problems())
        for machine in ("pc-1", "pc-2"):
            if text is spelled:
                with pytest.raises(BrokenDocument, match='group "dark"'):
                    fleet.ask(f"/{extension}?id={machine}")
            else:
                assert fleet.ask(f"/{extension}?id={machine}").selection.group is not None
        with pytest.raises(BrokenDocument, match='group "dark"'):
            fleet.ask(f"/{extension}?id=nobody")
        assert fleet.text("/cfg?id=other") == "x\n"


def test_it_is_the_same_at_the_start_as_while_the_service_runs(fleet: Fleet) -> None:
    files = base_of("yaml") | {"groups/dark.yaml": "overlay: 3\nmembers: [pc-1, pc-2]\nx: [\n"}
    fleet.write(files)
    restarted = Fleet(fleet.store)
    restarted.loader.catalogue = Catalogue().changed([*fleet.loader.catalogue.documents])
    for one in (fleet, restarted):
        for machine in ("pc-1", "pc-2"):
            with pytest.raises(BrokenDocument, match='group "dark"'):
                one.ask(f"/yaml?id={machine}")
    fleet.write({"groups/dark.yaml": "overlay: 3\nmembers: [pc-1, pc-2]\nx: 1\n"})
    assert values(fleet, "/yaml?id=pc-1") == {"a": 1, "x": 1}


@pytest.mark.parametrize(
    "content",
    [b"overlay: 3\nmatch: {a: '*'}\nnote: gr\xfcn\n", b"overlay: 3\n" + b"#" * 1_048_577],
    ids=["not UTF-8", "too large"],
)
def test_a_group_of_which_no_text_is_known_may_be_an_overlay(tmp_path: Path, content: bytes) -> None:
    write_tree(tmp_path, base_of("yaml") | {"groups/dark.yaml": content})
    fleet = Fleet(FileStore(tmp_path))
    for machine in ("pc-1", "pc-2", "nobody"):
        with pytest.raises(BrokenDocument, match='group "dark"'):
            fleet.ask(f"/yaml?id={machine}")


def test_one_that_claims_nothing_is_a_problem_and_no_reason_says_that_it_applies(fleet: Fleet) -> None:
    fleet.write({"pc-1.yaml": "a: 1\n", "groups/house.yaml": "overlay: 10\nb: 1\n"})
    for more in (
        {},
        {"groups/other.yaml": "overlay: 20\nmembers: [pc-9]\n"},
        {"groups/base.yaml": "match: {id: p*}\n"},
    ):
        fleet.write(more)
        (problem,) = fleet.check().problems
        assert problem.startswith('group "house" (yaml): ')
        assert "never applies" in problem
        lines = reasoning(fleet.loader.catalogue, Facts(Request("/yaml", "id=pc-1"))).lines()
        (line,) = [line for line in lines if '"house"' in line]
        assert line.endswith("does not apply: it has neither members nor match")
        assert "b" not in yaml.safe_load(fleet.text("/yaml?id=pc-1"))
    fleet.write({"groups/house.yaml": "overlay: 10\nmembers: [pc-1]\nb: 1\n"})
    assert fleet.check().problems == ()
    assert values(fleet, "/yaml?id=pc-1") == {"a": 1, "b": 1}


def test_why_tells_of_a_broken_overlay_what_its_last_version_claimed(fleet: Fleet) -> None:
    fleet.write({"pc-1.yaml": "a: 1\n", "groups/o.yaml": "overlay: 10\nmembers: [pc-2]\n"})
    fleet.write({"groups/o.yaml": "overlay: 10\nmembers: [\n"})
    lines = reasoning(fleet.loader.catalogue, Facts(Request("/yaml", "id=pc-1"))).lines()
    (line,) = [line for line in lines if '"o"' in line and "apply" in line]
    assert " 10. " in line
    assert "its members are none of these identities" in line


def test_a_row_decides_which_apply(fleet: Fleet) -> None:
    rows = "id,mac,dept,model\npc-01,52:54:00:00:00:01,er,m1\npc-02,52:54:00:00:00:02,icu,m1\n"
    fleet.write(LAYERED | {"inventory.csv": rows})
    assert fleet.ask("/yaml?mac=525400000001").composition == "format=yaml group=base overlay=er,m1"
    assert fleet.ask("/yaml?mac=525400000002").composition == "format=yaml group=base overlay=m1"
    report = fleet.check()
    assert (report.problems, report.notes, report.rendered) == ((), (), 2)


def test_a_side_file_has_only_those_that_name_it(fleet: Fleet) -> None:
    fleet.write(
        LAYERED
        | {
            "groups/net.yaml": "match: {file: network-config}\nversion: 2\n",
            "groups/o.yaml": "overlay: 3\nmatch: {file: network-config, dept: er}\nversion: 3\n",
        }
    )
    assert values(fleet, "/ubuntu/network-config?dept=er") == {"version": 3}
    assert values(fleet, "/ubuntu/network-config?dept=x") == {"version": 2}
    assert fleet.text("/ubuntu/vendor-data?dept=er") == ""


def test_why_says_of_each_overlay_whether_it_applies(fleet: Fleet) -> None:
    fleet.write(
        LAYERED
        | {
            "groups/o.ks": "# answer: overlay 1\n# answer: match dept=er\n",
            "groups/p.yaml": "overlay: 2\nmembers: [pc-9]\nz: 1\n",
        }
    )
    lines = reasoning(fleet.loader.catalogue, Facts(Request("/yaml", "dept=er&model=x"))).lines()
    text = "\n".join(lines)
    assert '10. group "er" (yaml)' in text
    said = [line.split("  ", 1)[1].strip() for line in lines if "overlay" in line or ". group" in line]
    assert any(line.startswith("10. ") and line.endswith(": applies") for line in said)
    assert any(line.startswith("20. ") and line.endswith("does not apply: its match does not hold") for line in said)
    assert any(
        line.startswith("1. ") and line.endswith("does not apply: its format is not one of yaml") for line in said
    )
    assert any(line.startswith("2. ") and line.endswith("its members are none of these identities") for line in said)


# --- how answers are made of them ------------------------------------------------------------------------------------


def written(extension: str, extends: str, overlay: int | None, pairs: dict[str, int]) -> str:
    """A group for members of the rack, or an overlay for them."""
    if extension == "ks":
        head = [f"# answer: extends {extends}"] if extends else []
        head += [f"# answer: overlay {overlay}"] if overlay else []
        return "\n".join([*head, "# answer: member pc-1", *(f"{key} {value}" for key, value in pairs.items()), ""])
    if extension == "xml":
        own = (f' extends="{extends}"' if extends else "") + (f' overlay="{overlay}"' if overlay else "")
        inside = "".join(f"<{key}>{value}</{key}>" for key, value in pairs.items())
        return f"<r><answer-meta{own}><member>pc-1</member></answer-meta>{inside}</r>"
    fields: dict[str, object] = {"extends": extends} if extends else {}
    fields |= {"overlay": overlay} if overlay else {}
    fields |= {"members": ["pc-1"], **pairs}
    if extension == "toml":
        return "".join(f"{key} = {json.dumps(value)}\n" for key, value in fields.items())
    return json.dumps(fields) if extension == "json" else yaml.safe_dump(fields, sort_keys=False)


MEMBER = {
    "ks": "# answer: member pc-1\n",
    "xml": "<member>pc-1</member>",
    "toml": 'members = ["pc-1"]\n',
    "json": '"members": ["pc-1"], ',
    "yaml": "members:\n- pc-1\n",
}
"""How `written` says that it is for pc-1."""

PAIRS = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 9), min_size=1)


@pytest.mark.parametrize("extension", ["toml", "yaml", "json", "xml", "ks"])
@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck), deadline=None)
@given(
    base=PAIRS, overlays=st.lists(st.tuples(st.integers(1, 999), PAIRS), max_size=4), own=PAIRS, has_own=st.booleans()
)
def test_overlays_make_the_answer_of_a_chain_of_groups(
    extension: str, base: dict[str, int], overlays: list[tuple[int, dict[str, int]]], own: dict[str, int], has_own: bool
) -> None:
    """Base, overlays and machine give the text that groups which extend one another in that order give."""

    def answer(documents: dict[str, str]) -> bytes:
        texts = [RawDocument(key_of(f"{name}.{extension}"), text) for name, text in documents.items()]
        return resolve(Catalogue().changed(texts), Facts(Request("", "id=pc-1"))).body

    machine = {"pc-1": written(extension, "", None, own).replace("# answer: member pc-1\n", "")} if has_own else {}
    machine = {name: _without_members(text) for name, text in machine.items()}
    layered = {"groups/base": written(extension, "", None, base)} | machine
    ordered = sorted((number, f"o{at}", pairs) for at, (number, pairs) in enumerate(overlays))
    layered |= {f"groups/{name}": written(extension, "", number, pairs) for number, name, pairs in ordered}
    chain = {"groups/base": _without_members(written(extension, "", None, base))}
    below = "base"
    for _, name, pairs in ordered:
        chain[f"groups/{name}"] = _without_members(written(extension, below, None, pairs))
        below = name
    top = written(extension, below, None, own if has_own else {})
    if not has_own:  # the highest group claims
        chain[f"groups/{below}"] = written(
            extension, _before(ordered, below), None, ordered[-1][2] if ordered else base
        )
    assert answer(layered) == answer(chain | ({"pc-1": _without_members(top)} if has_own else {}))


def _before(ordered: list[tuple[int, str, dict[str, int]]], name: str) -> str:
    names = ["", "base", *(of for _, of, _ in ordered)]
    return names[names.index(name) - 1]


def _without_members(text: str) -> str:
    for member in MEMBER.values():
        text = text.replace(member, "")
    return text


def test_answers_are_prepared_once_for_each_stack_that_occurs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty overlays and many machines: as many merges as stacks, before and while they ask."""
    texts = {"groups/base.ks": "# answer: match dept=*\nbase\n"}
    texts |= {f"groups/d{at}.ks": f"# answer: overlay 10\n# answer: match dept=d{at}\nd{at}\n" for at in range(10)}
    texts |= {f"groups/m{at}.ks": f"# answer: overlay 20\n# answer: match model=m{at}\nm{at}\n" for at in range(10)}
    machines = [(f"pc-{at:04}", at % 10, at % 3) for at in range(600)]
    rows = "id,dept,model\n" + "".join(f"{name},d{dept},m{model}\n" for name, dept, model in machines)
    catalogue = Catalogue().changed(
        [RawDocument(key_of(name), text) for name, text in (texts | {"inventory.csv": rows}).items()]
    )
    made: list[tuple[Document, ...]] = []
    real = compose._prepare

    def noted(layers: tuple[Document, ...]) -> object:
        made.append(layers)
        return real(layers)

    monkeypatch.setattr(compose, "_prepare", noted)
    warm_up(catalogue)
    for _ in range(2):
        for name, dept, model in machines:
            assert resolve(catalogue, facts_of((name,))).body.decode() == f"base\nd{dept}\nm{model}\n"
    assert len(made) <= 30 + len(texts)
    assert len({id(top) for layers in made for top in layers[-1:]}) <= len(texts)


def test_the_answers_that_requests_can_make_of_overlays_are_kept_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compose, "_MOST_STACKS", 20)
    texts = {f"groups/o{at}.ks": f"# answer: overlay {at + 1}\n# answer: match x{at}=1\no{at}\n" for at in range(6)}
    texts |= {"default.ks": "base\n", "groups/top.ks": "# answer: overlay 99\n# answer: match y=1\ntop\n"}
    catalogue = Catalogue().changed([RawDocument(key_of(name), text) for name, text in texts.items()])
    for number in range(64):
        resolve(catalogue, Facts(Request("/ks", "y=1" + "".join(f"&x{at}=1" for at in range(6) if number >> at & 1))))
    kept = [document.stacks for document in catalogue.documents.values() if document.stacks]
    assert max(len(stacks.prepared) for stacks in kept) == 20
    assert max(len(stacks.merged) for stacks in kept) <= 32


def test_the_documents_of_a_row_and_the_machines_of_a_group_know_them(fleet: Fleet) -> None:
    rows = "id,dept,model\npc-01,er,m1\npc-02,icu,m1\n"
    catalogue = fleet.write(LAYERED | {"inventory.csv": rows}).loader.catalogue
    assert catalogue.inventory is not None
    answering = [
        [document.key.identifier for document in winners(catalogue, row)] for row in catalogue.inventory.rows()
    ]
    assert answering == [["base", "er", "m1"], ["base", "m1"]]
    assert machines_of_group(catalogue, InstallMemory(Rules()), "er") == ["pc-01"]
    assert machines_of_group(catalogue, InstallMemory(Rules()), "m1") == ["pc-01", "pc-02"]


def test_why_names_an_overlay_that_cannot_be_read_once(fleet: Fleet) -> None:
    fleet.write({"pc-1.yaml": "a: 1\n", "groups/o.yaml": "overlay: 3\nmatch: 7\n", "groups/p.yaml": "a: [\n"})
    fleet.write({"pc-2.yaml": "extends: base\n", "groups/base.yaml": "b: 1\n"})
    for name, unreadable in (("pc-1", ["o", "p"]), ("pc-2", ["o"])):
        steps = reasoning(fleet.loader.catalogue, Facts(Request("/yaml", f"id={name}"))).steps
        named = [step.sentence.split('"')[1] for step in steps if step.heading == "unreadable"]
        assert named == unreadable


def test_a_group_has_the_machines_of_the_groups_that_extend_it(fleet: Fleet) -> None:
    fleet.write(
        {
            "groups/base.ks": "lang en\n",
            "groups/rack.ks": "# answer: extends base\n# answer: member pc-01\n",
            "groups/x.ks": "# answer: extends rack\n# answer: match os=x\n",
            "groups/other.ks": "# answer: member pc-09\n",
            "pc-02.ks": "# answer: extends rack\n",
            "inventory.csv": "id,mac,os\npc-03,52:54:00:00:00:03,x\npc-04,52:54:00:00:00:04,y\n",
        }
    )
    catalogue = fleet.loader.catalogue
    machines = ["pc-01", "pc-02", "pc-03"]
    assert machines_of_group(catalogue, InstallMemory(Rules()), "base") == machines
    assert machines_of_group(catalogue, InstallMemory(Rules()), "rack") == machines
    assert machines_of_group(catalogue, InstallMemory(Rules()), "other") == ["pc-09"]
