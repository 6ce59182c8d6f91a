"""``answerd diff``: whose answers differ between two sets, how, and that no secret is shown unless it is asked for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from answerd.answers import diff as diff_module
from answerd.answers.affected import Affected
from answerd.answers.catalogue import Catalogue
from answerd.answers.diff import Comparison, Difference, compare
from answerd.answers.last_words import NO_WORDS, LastWords
from answerd.answers.line_diff import unified
from answerd.answers.redaction import CHANGED, redacted_pair
from answerd.answers.secret_names import SECRET
from answerd.documents import RawDocument
from tests.support.fleet import key_of
from tests.support.thorough import examples

Files = dict[str, str]


def catalogue(files: Files) -> Catalogue:
    return Catalogue().changed([RawDocument(key_of(name), text, name) for name, text in files.items()])


def differences(before: Files, after: Files) -> Comparison:
    return compare(catalogue(before), catalogue(after))


def only(before: Files, after: Files) -> Difference:
    found = differences(before, after).differences
    assert len(found) == 1, [difference.name for difference in found]
    return found[0]


GROUP = 'match = {never = "x"}\n[net]\nsource = "dhcp"\n'


def test_a_group_changes_the_answers_of_the_machines_that_stand_on_it() -> None:
    before = {"groups/g.toml": GROUP, "m1.toml": 'extends = "g"\na = 1\n', "m2.toml": "a = 1\n"}
    after = before | {"groups/g.toml": GROUP.replace("dhcp", "static")}
    found = differences(before, after)
    assert [(difference.name, difference.change) for difference in found.differences] == [("m1 (toml)", "changed")]
    assert found.compared == 2
    assert [line for line in found.differences[0].unified() if line[0] in "+-"] == [
        '-source = "dhcp"',
        '+source = "static"',
    ]


def test_a_change_that_no_answer_shows_is_none() -> None:
    before = {"groups/g.toml": GROUP, "m1.toml": 'extends = "g"\n[net]\nsource = "x"\n'}
    after = before | {"groups/g.toml": "# a comment\n" + GROUP.replace("dhcp", "static")}
    assert differences(before, after).differences == ()


@pytest.mark.parametrize(
    ("before", "after", "name", "change"),
    [
        pytest.param({}, {"m1.toml": "a = 1\n"}, "m1 (toml)", "new", id="a machine that is new"),
        pytest.param({"m1.toml": "a = 1\n"}, {}, "m1 (toml)", "gone", id="a machine that is gone"),
        pytest.param({"default.ks": "a\n"}, {"default.ks": "b\n"}, "default (ks)", "changed", id="a default"),
        pytest.param(
            {"groups/g.ks": "# answer: member M-1\na\n"},
            {"groups/g.ks": "# answer: member M-1\nb\n"},
            "m1 (ks)",
            "changed",
            id="a member of a group",
        ),
        pytest.param(
            {"groups/g.ks": "# answer: member M-1\na\n"},
            {"groups/g.ks": "# answer: member M-1\na\n", "M-1.ks": "b\n"},
            "m1 (ks)",
            "changed",
            id="a member that gets a document of its own",
        ),
        pytest.param({"m1.toml": "a = 1\n"}, {"m1.toml": "a = \n"}, "m1 (toml)", "changed", id="one that breaks"),
    ],
)
def test_what_counts_as_different(before: Files, after: Files, name: str, change: str) -> None:
    difference = only(before, after)
    assert (difference.name.replace("M-1", "m1"), difference.change) == (name, change)


def test_an_answer_that_cannot_be_made_any_more_says_why() -> None:
    difference = only({"m1.toml": "a = 1\n"}, {"m1.toml": 'extends = "gone"\na = 1\n'})
    assert difference.after
    assert "gone" in difference.after.reason
    assert any(line.startswith("+(no answer: ") and "gone" in line for line in difference.unified())


@pytest.mark.parametrize(
    ("extension", "text", "shown"),
    [
        pytest.param(
            "toml", 'a = "{{ mac | bare | upper }}-{{ machine }}"\n', 'a = "{{ mac | bare | upper }}-m1"', id="toml"
        ),
        pytest.param("yaml", 'a: "{{ serial }}"\n', 'a: "{{ serial }}"', id="yaml"),
        pytest.param("ks", "host {{ serial }} {{ x | default('y') }}\n", "host {{ serial }} y", id="text"),
        pytest.param("xml", "<a>{{ serial }}</a>", "<a>{{ serial }}</a>", id="xml"),
        pytest.param("ign", '{"a": "{{ serial }}"}', '  "a": "{{ serial }}"', id="json"),
    ],
)
def test_what_only_a_request_could_fill_stays_visible(extension: str, text: str, shown: str) -> None:
    difference = only({}, {f"m1.{extension}": text})
    assert f"+{shown}" in difference.unified()


def test_groups_that_select_are_noted_where_they_differ() -> None:
    before = {"groups/g.toml": GROUP, "groups/same.toml": GROUP}
    after = before | {"groups/g.toml": GROUP.replace("dhcp", "static"), "groups/odd.toml": "a = \n"}
    assert differences(before, after).notes == (
        'group "g" (toml) differs and selects by match: machines in no table may be claimed too',
        'group "odd" (toml) cannot be read: does not parse: line 1, column 5: Invalid value',
    )


# --- secrets ---------------------------------------------------------------------------------------------------------

HASH = "$6$rounds=5000$abcdefgh$" + "x" * 86
KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n-----END OPENSSH PRIVATE KEY-----"

HELD = [
    pytest.param("toml", '[global]\nroot-password = "hunter2!"\n', "hunter2!", id="proxmox root-password"),
    pytest.param("toml", f'[global]\nroot-password-hashed = "{HASH}"\n', HASH, id="proxmox hash"),
    pytest.param("toml", 'a = {api_key = "hunter2!"}\n', "hunter2!", id="an inline table"),
    pytest.param("toml", 'token = """\nhunter2!\nmore of it"""\n', "more of it", id="a text of several lines"),
    pytest.param("toml", 'tokens = [\n  "hunter2!",\n]\n', "hunter2!", id="a list"),
    pytest.param("toml", "pin-token = 123456\n", "123456", id="a number"),
    pytest.param("toml", 'x = "https://user:hunter2!@mirror.example.com/"\n', "hunter2!", id="a URL"),
    pytest.param("yaml", "identity:\n  password: hunter2!\n", "hunter2!", id="autoinstall"),
    pytest.param("yaml", "users:\n- passwd: 'it''s it'\n  name: a\n", "it''s it", id="a quoted yaml text"),
    pytest.param("yaml", "chpasswd:\n  list: |\n    root:hunter2!\n    me:other3!\n", "other3!", id="a block scalar"),
    pytest.param("yaml", "chpasswd: {list: ['root:hunter2!']}\n", "hunter2!", id="a flow list"),
    pytest.param("yaml", "a:\n  password: hunter\n    two\n  b: 1\n", "two", id="a plain text of two lines"),
    pytest.param(
        "yaml", f"write_files:\n- content: |\n    {KEY.replace(chr(10), chr(10) + '    ')}\n", "b3Blbn", id="a key"
    ),
    pytest.param("yaml", "late-commands:\n- curl -H 'x' --token hunter2! http://x\n", "hunter2!", id="a command"),
    pytest.param("ign", '{"passwd": {"users": [{"passwordHash": "hunter2!"}]}}', "hunter2!", id="ignition"),
    pytest.param("ign", '{"token": "a\\"b\\u00e9cdef"}', 'a\\"b\\u00e9cdef', id="a text with escapes"),
    pytest.param(
        "unattend",
        "<u><Password><Value>hunter2!</Value><PlainText>true</PlainText></Password></u>",
        "hunter2!",
        id="xml",
    ),
    pytest.param("autoyast", "<p><user_password>a&amp;b4cd</user_password></p>", "a&amp;b4cd", id="an entity"),
    pytest.param("xml", '<p secret="hunter2!"/>', "hunter2!", id="an attribute"),
    pytest.param("ks", "rootpw --plaintext hunter2!\n", "hunter2!", id="rootpw"),
    pytest.param("ks", f"rootpw --iscrypted {HASH}\n", HASH, id="rootpw with a hash"),
    pytest.param("ks", "user --name=a --password=hunter2! --plaintext\n", "hunter2!", id="user"),
    pytest.param("ks", 'user --name=a --password "hunter 2!"\n', "hunter 2!", id="a quoted option"),
    pytest.param("ks", "part / --encrypted --passphrase=hunter2!\n", "hunter2!", id="passphrase"),
    pytest.param("ks", "bootloader --iscrypted --password=grub.pbkdf2.sha512.10000.AB\n", "10000.AB", id="grub"),
    pytest.param("preseed", "d-i passwd/root-password password hunter2!\n", "hunter2!", id="preseed"),
    pytest.param(
        "preseed", "d-i passwd/root-password-again password hunter2! x\n", "hunter2! x", id="preseed, two words"
    ),
    pytest.param("preseed", f"d-i passwd/user-password-crypted password {HASH}\n", HASH, id="preseed with a hash"),
    pytest.param("ipxe", "#!ipxe\nset iscsi-password hunter2!\n", "hunter2!", id="ipxe"),
    pytest.param("ipxe", "#!ipxe\nchain http://x/?token=hunter2!\n", "hunter2!", id="a query"),
]


@pytest.mark.parametrize(("extension", "text", "secret"), HELD)
def test_a_secret_that_changes_is_a_difference_still(extension: str, text: str, secret: str) -> None:
    other = text.replace(secret, secret[:-1] + "Z")
    before, after = redacted_pair(text, other, extension)
    assert before != after
    assert CHANGED in after
    assert secret[:-1] + "Z" not in after


def test_a_difference_shows_secrets_only_when_asked() -> None:
    difference = only({"m1.ks": "rootpw --plaintext one!\n"}, {"m1.ks": "rootpw --plaintext two!\n"})
    assert [line for line in difference.unified() if line[0] in "+-"] == [
        f"-rootpw --plaintext {SECRET}",
        f"+rootpw --plaintext {CHANGED}",
    ]
    assert "+rootpw --plaintext two!" in difference.unified(show_secrets=True)


def test_a_secret_below_an_element_that_is_added_has_not_changed() -> None:
    difference = only(
        {"m1.xml": "<a>\n  <password>one!</password>\n</a>"},
        {"m1.xml": "<a>\n  <x/>\n  <password>one!</password>\n</a>"},
    )
    assert [line for line in difference.unified() if line[0] in "+-"] == ["+  <x/>"]


def test_secrets_that_change_places_are_a_difference() -> None:
    before, after = "a --password=one!\na --password=two!\n", "a --password=two!\na --password=one!\n"
    assert only({"m1.ks": before}, {"m1.ks": after}).unified() == [
        "(secrets have changed places, or white space at the end)"
    ]


def test_a_machine_whose_own_secret_is_in_the_changed_lines_is_a_change_of_its_own() -> None:
    before = {"groups/g.toml": GROUP, **{f"m{number}.toml": 'extends = "g"\n' for number in range(4)}}
    before["m2.toml"] += 'password = "its hunter2!"\n'
    after = before | {"groups/g.toml": GROUP + 'note = "its hunter2!"\nmore = "hunter2!"\n'}
    changes = differences(before, after).changes()
    assert [[difference.identifier for difference in change.differences] for change in changes] == [
        ["m0", "m1", "m3"],
        ["m2"],
    ]
    assert '+note = "its hunter2!"' in changes[0].lines
    assert f'+note = "{CHANGED}"' in changes[1].lines


def test_of_machines_with_the_same_change_secrets_are_hidden_in_the_first_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """In each of 5,000 machines of a group it would take half a minute."""
    hidden = []

    def counted(before: str, after: str, *others: Any) -> tuple[str, str]:
        hidden.append(before)
        return redacted_pair(before, after, *others)

    monkeypatch.setattr(diff_module, "redacted_pair", counted)
    machines = {f"m{number}.toml": f'extends = "g"\nname = "host-{number}"\n' for number in range(20)}
    before = machines | {"groups/g.toml": GROUP + f'[root]\npassword = "{HASH}"\n'}
    after = before | {"groups/g.toml": before["groups/g.toml"].replace("dhcp", "static")}
    found = differences(before, after).as_json()
    assert [len(change["names"]) for change in found["changes"]] == [20]
    assert len(hidden) == 1


def test_a_changed_once_is_noted_because_no_answer_shows_it() -> None:
    before = {"m1.toml": "a = 1\n", "groups/g.ks": "# answer: once\n", "m2.xml": '<a><answer-meta once="armed"/></a>'}
    after = {"m1.toml": "once = true\na = 1\n", "groups/g.ks": "# answer: once\n#\n", "m2.xml": "<a/>"}
    notes = differences(before, after).notes
    assert [note for note in notes if "once" in note] == [
        'machine "m1" (toml): once was off and would be on; the answers do not show it',
        'machine "m2" (xml): once was armed and would be off; the answers do not show it',
    ]


def test_a_group_that_names_the_state_is_compared_as_for_an_armed_machine() -> None:
    files = {"groups/g.ks": "# answer: match state=armed rack=r1\na\n", "inventory.csv": "id,rack\nweb-01,r1\n"}
    after = files | {"groups/g.ks": "# answer: match state=armed rack=r1\nb\n"}
    first, second = (
        Catalogue(has_states=True).changed([RawDocument(key_of(name), text, name) for name, text in texts.items()])
        for texts in (files, after)
    )
    assert [difference.name for difference in compare(first, second).differences] == ["web-01 (ks)"]


# --- sets that share what has not changed -----------------------------------------------------------------------------


@given(*[st.lists(st.sampled_from("abcde"), max_size=9)] * 2, st.sampled_from([0, 300]))
def test_a_diff_leads_from_one_text_to_the_other(before: list[str], after: list[str], alike: int) -> None:
    same = [f"line {at}" for at in range(alike)]  # so many that only anchors are compared
    before, after = same + before + same, same + after + same
    left, made = iter(before), []
    at = 0
    for line in unified(before, after):
        if line[0] == "@":
            start = int(line.split()[1].partition(",")[0][1:]) - (1 if not line.split()[1].endswith(",0") else 0)
            while at < start:
                made.append(next(left))
                at += 1
        elif line[0] == "+":
            made.append(line[1:])
        else:
            assert next(left) == line[1:]
            at += 1
            if line[0] == " ":
                made.append(line[1:])
    assert [*made, *left] == after


class Everything(Affected):
    """All answers are compared."""

    def __init__(self, before: Catalogue, after: Catalogue, words: LastWords = NO_WORDS) -> None:
        self.identities = None


ROWS = ("n1,d1", "n2,d2", "n3,d1", "01-525400aa0001,d2", '"n 4",d1')


@st.composite
def some_files(draw: st.DrawFn) -> Files:
    """Machines, groups that extend one another, claim by members or select rows, defaults and a table."""
    files: Files = {}
    some = st.sampled_from
    for extension, extends in (("ks", "# answer: extends {}\n"), ("cfg", "# answer: extends {}\n")):
        for name in draw(st.lists(some(["groups/a", "groups/b", "groups/c", "n1", "n2", "default"]), max_size=5)):
            text = draw(some(["one\n", "two\n", "{{ id | default('x') }}\n", "{{ broken\n{{ }}\n"]))
            text += extends.format(draw(some("abc"))) if draw(st.booleans()) else ""
            if name.startswith("groups/"):
                verbs = ["", "# answer: member n1, n5\n", "# answer: match dept=d1\n", "# answer: match dept=* id=n*\n"]
                text += draw(some([*verbs, "# answer: match state=armed\n", "# answer: nonsense\n"]))
                text += draw(some(["", "", "# answer: match dept=d2\n", "# answer: overlay 5\n"]))
            files[f"{name}.{extension}"] = text
    if draw(st.booleans()):
        rows = draw(st.lists(some(ROWS), unique=True))
        files["inventory.csv"] = "id,dept\n" + "\n".join([*rows, ""])
    return files


def brute_force(before: Catalogue, after: Catalogue, patch: pytest.MonkeyPatch) -> Comparison:
    with patch.context() as patched:
        patched.setattr(diff_module, "Affected", Everything)
        return compare(before, after)


@settings(max_examples=examples(300), suppress_health_check=list(HealthCheck), deadline=None)
@given(files=some_files(), others=some_files(), kept=st.integers(0, 2**12 - 1), has_states=st.booleans())
def test_only_what_can_differ_is_compared_and_nothing_is_overlooked(
    monkeypatch: pytest.MonkeyPatch, files: Files, others: Files, kept: int, has_states: bool
) -> None:
    names = sorted(files.keys() | others.keys())
    later = {name: (files if kept >> at & 1 and name in files else others).get(name) for at, name in enumerate(names)}
    first = Catalogue(has_states=has_states).changed(
        [RawDocument(key_of(name), text, name) for name, text in files.items()]
    )
    removed = [raw for raw in rows_and_documents(first) if later.get(raw.source) != raw.text]
    new = {name: text for name, text in later.items() if text is not None and text != files.get(name)}
    second = first.changed([RawDocument(key_of(name), text, name) for name, text in new.items()], removed)
    assert compare(first, second) == brute_force(first, second, monkeypatch)
    anew = Catalogue(has_states=has_states).changed(
        [RawDocument(key_of(name), text, name) for name, text in later.items() if text is not None]
    )
    assert compare(first, anew) == brute_force(first, anew, monkeypatch)


def test_a_changed_group_touches_what_stands_on_it_and_nothing_else() -> None:
    files = {
        "groups/a.ks": "# answer: member n1\na\n",
        "groups/b.ks": "# answer: extends a\n# answer: match dept=d1\nb\n",
        "groups/c.ks": "# answer: member n5\nc\n",
        "n2.ks": "# answer: extends b\n",
        "n3.ks": "# answer: extends c\n",
        "inventory.csv": "id,dept\nn6,d1\nn7,d2\n",
    }
    before = catalogue(files)
    assert Affected(before, catalogue({**files, "groups/a.ks": "# answer: member n1\nother\n"})).identities == {
        "n1", "n2", "n6",
    }  # fmt: skip
    by_state = catalogue({**files, "groups/a.ks": "# answer: match state=armed\na\n"})
    assert Affected(before, by_state).identities is None  # it may select machines that nothing names


def rows_and_documents(catalogue: Catalogue) -> list[RawDocument]:
    tables = catalogue.inventory.tables if catalogue.inventory is not None else ()
    return [*catalogue.documents, *tables]
