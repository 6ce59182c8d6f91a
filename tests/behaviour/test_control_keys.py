"""Control keys in every family: what they mean, and what is a problem (docs/merging.md#control-keys)."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
import yaml

from answerd.errors import NotClaimed
from tests.support.fleet import Fleet

GROUP = {
    "toml": (
        'extends = "base"\nmembers = ["M-1", "m2"]\nunset = ["gone"]\ntemplate = true\nx = "own"\n'
        '[match]\nrack = ["1", "2*"]\n'
    ),
    "yaml": "extends: base\nmembers: [M-1, m2]\nunset: [gone]\ntemplate: true\nx: own\nmatch: {rack: ['1', 2*]}\n",
    "yml": "extends: base\nmembers:\n- M-1\n- m2\nunset:\n- gone\nx: own\nmatch:\n  rack:\n  - '1'\n  - 2*\n",
    "json": (
        '{"extends": "base", "members": ["M-1", "m2"], "unset": ["gone"], "x": "own", "match": {"rack": ["1", "2*"]}}'
    ),
    "ign": (
        '{"match": {"RACK": ["1", "2*"]}, "x": "own", "unset": ["gone"], "members": ["M-1", "m2"], "extends": "base"}'
    ),
    "ks": '# answer: extends base\n# answer: member M-1, m2\n// answer: match rack=1 rack="2*"\nx own\n',
    "ipxe": "#answer: extends base\n# answer: member M-1\n# answer: member m2\n# answer: match rack=1 Rack=2*\nx own\n",
    "xml": (
        '<r><answer-meta extends="base"><member>M-1</member><member>m2</member>'
        '<match rack="1"/><unset>gone</unset></answer-meta><x>own</x></r>'
    ),
}
BASE = {
    "toml": 'gone = 1\nbase = "base"\n',
    "yaml": "gone: 1\nbase: base\n",
    "yml": "gone: 1\nbase: base\n",
    "json": '{"gone": 1, "base": "base"}',
    "ign": '{"gone": 1, "base": "base"}',
    "ks": "base base\n",
    "ipxe": "base base\n",
    "xml": "<r><gone>1</gone><base>base</base></r>",
}
CONTROL_WORDS = ("extends", "members", "member", "match", "rack", "unset", "gone", "template", "answer")


@pytest.mark.parametrize("extension", GROUP)
def test_control_keys_steer_and_never_reach_the_machine(fleet: Fleet, extension: str) -> None:
    fleet.write({f"groups/g.{extension}": GROUP[extension], f"groups/base.{extension}": BASE[extension]})
    assert fleet.problems() == []
    for machine in ("m1", "M2"):
        text = fleet.text(f"/?h={machine}&rack=1")
        assert "own" in text
        assert "base" in text
        assert not [word for word in CONTROL_WORDS if word in text]
    for query in ("h=m1", "rack=1", "h=m1&rack=3"):
        with pytest.raises(NotClaimed):
            fleet.ask(f"/?{query}")
    if extension != "xml":
        assert fleet.text("/?h=m1&rack=21")


WRONG: dict[str, tuple[str, str, str]] = {
    "extends that is a list": ("n1.toml", 'extends = ["a"]\n', "extends"),
    "extends that is a number": ("n1.toml", "extends = 1\n", "extends"),
    "extends that is empty": ("n1.toml", 'extends = ""\n', "extends"),
    "extends that breaks the line": ("n1.toml", 'extends = "a\\nb"\n', "extends"),
    "members in a machine": ("n1.toml", 'members = ["a"]\n', "members has no meaning in a machine"),
    "members in a default": ("default.toml", 'members = ["a"]\n', "members has no meaning in a default"),
    "match in a default": ("default.toml", 'match = {a = "1"}\n', "match has no meaning in a default"),
    "match in a text default": ("default.ks", "# answer: match a=1\nx\n", "match has no meaning in a default"),
    "member in a text machine": ("n1.ks", "# answer: member a\nx\n", "members has no meaning in a machine"),
    "members that is a text": ("groups/g.toml", 'members = "a"\n', "members must be a list"),
    "members with a number in TOML": ("groups/g.toml", "members = [1]\n", "a number"),
    "members with a number in JSON": ("groups/g.json", '{"members": [1]}', "a number"),
    "members with a fraction in JSON": ("groups/g.json", '{"members": [1.0]}', "a number"),
    "members with null in JSON": ("groups/g.json", '{"members": [null]}', "nothing"),
    "members with a truth": ("groups/g.toml", "members = [true]\n", "true"),
    "members with a list": ("groups/g.toml", "members = [[]]\n", "a list"),
    "empty members": ("groups/g.toml", "members = []\n", "members is empty"),
    "empty members in YAML": ("groups/g.yaml", "members: []\n", "members is empty"),
    "members that are nothing in YAML": ("groups/g.yaml", "members:\nx: 1\n", "members must be a list"),
    "members of punctuation": ("groups/g.toml", 'members = ["--"]\n', "no letter or digit"),
    "an empty match": ("groups/g.toml", "[match]\n", "match is empty"),
    "a match that is a list": ("groups/g.toml", 'match = ["a"]\n', "match must be a map"),
    "a match with a number in TOML": ("groups/g.toml", "match.a = 1\n", "a number"),
    "a match with a number in JSON": ("groups/g.json", '{"match": {"a": 1}}', "a number"),
    "a match with a map": ("groups/g.toml", 'match.a.b = "1"\n', "a map"),
    "an empty pattern": ("groups/g.toml", 'match.a = ""\n', "empty pattern"),
    "a blank pattern": ("groups/g.toml", 'match.a = " "\n', "empty pattern"),
    "an empty label": ("groups/g.toml", 'match."" = "x"\n', "empty label"),
    "a pattern of punctuation": ("groups/g.toml", 'match.serial = "-:-"\n', "punctuation"),
    "a pattern of punctuation in a list": ("groups/g.toml", 'match.uuid = ["x", "--"]\n', "punctuation"),
    "an empty list of patterns": ("groups/g.toml", "match.a = []\n", "no pattern"),
    "unset that is a text": ("n1.toml", 'unset = "a"\n', "unset must be a list"),
    "unset with a number": ("n1.toml", "unset = [1]\n", "unset"),
    "unset that ends in a dot": ("n1.toml", 'unset = ["a."]\n', "no dotted path"),
    "unset with two dots": ("n1.toml", 'unset = ["a..b"]\n', "no dotted path"),
    "unset that is empty": ("n1.toml", 'unset = [""]\n', "no dotted path"),
    "unset with an open quote": ("n1.toml", "unset = ['a.\"b']\n", "no dotted path"),
    "unset in text": ("n1.ks", "# answer: unset a\nx\n", "unset"),
    "template that is a text": ("n1.toml", 'template = "false"\n', "template must be true or false"),
    "template that is a number": ("n1.json", '{"template": 0}', "template must be true or false"),
    "an unknown verb": ("n1.ks", "# answer: extend base\nx\n", "unknown directive after 'answer:'"),
    "a verb in capitals": ("n1.ks", "# answer: Extends base\nx\n", "unknown directive after 'answer:'"),
    "match without a pattern in text": ("groups/g.ks", "# answer: match serial\nx\n", "label=pattern"),
    "an empty match in text": ("groups/g.ks", "# answer: match\nx\n", "empty"),
    "an empty member in text": ("groups/g.ks", "# answer: member\nx\n", "empty"),
    "a quote that is never closed in text": ("groups/g.ks", '# answer: match a="b\nx\n', "quotation"),
    "members in an XML machine": ("n1.xml", "<r><answer-meta><member>a</member></answer-meta></r>", "member"),
    "match in an XML default": ("default.xml", '<r><answer-meta><match a="1"/></answer-meta></r>', "match"),
    "an empty match in XML": ("groups/g.xml", "<r><answer-meta><match/></answer-meta></r>", "match"),
    "an unknown element in XML": ("groups/g.xml", "<r><answer-meta><membre>a</membre></answer-meta></r>", "'member'"),
    "a template of another word in XML": ("n1.xml", '<r><answer-meta template="off"/></r>', "template"),
    "a pattern of punctuation in XML": (
        "groups/g.xml",
        '<r><answer-meta><match mac="--"/></answer-meta></r>',
        "punctuation",
    ),
    "members in a YAML machine": ("n1.yaml", "members: [a]\n", "members has no meaning in a machine"),
    "a match with a map in YAML": ("groups/g.yaml", "match: {a: {b: c}}\n", "match"),
    "a match with nothing in YAML": ("groups/g.yaml", "match: {a: }\n", "match"),
}


@pytest.mark.parametrize(("name", "text", "words"), WRONG.values(), ids=WRONG.keys())
def test_a_control_key_that_cannot_be_meant_is_a_problem(fleet: Fleet, name: str, text: str, words: str) -> None:
    problems = fleet.write({name: text}).problems()
    assert len(problems) == 1, problems
    assert words in problems[0]
    identifier, _, extension = name.rpartition("/")[2].partition(".")
    assert f"({extension}): " in problems[0]
    assert identifier == "default" or f'"{identifier}"' in problems[0]
    assert "\n" not in problems[0]


def test_yaml_numbers_count_by_their_text(fleet: Fleet) -> None:
    fleet.write(
        {
            "groups/g.yaml": "members: [0123456, 1.10, 52:54:00:12:34:56]\nx: 1\n",
            "groups/h.yaml": "match: {asset: 0042, tag: [1_0, 2001-01-01]}\nx: 2\n",
        }
    )
    assert fleet.problems() == []
    for member in ("0123456", "110", "525400123456"):
        assert yaml.safe_load(fleet.text(f"/?h={member}")) == {"x": 1}
    assert yaml.safe_load(fleet.text("/?asset=0042&tag=2001-01-01")) == {"x": 2}
    for query in ("asset=42&tag=10", "asset=34&tag=10"):
        with pytest.raises(NotClaimed):
            fleet.ask(f"/?{query}")


def test_control_keys_below_the_top_are_content(fleet: Fleet) -> None:
    fleet.write({"default.toml": '[a]\nextends = "ghost"\nmembers = 1\nmatch = 2\nunset = 3\ntemplate = 4\n'})
    assert fleet.problems() == []
    assert "ghost" in fleet.text("/")


@pytest.mark.parametrize(
    ("documents", "answer"),
    [
        ({"default.ks": "# answers: 7\n## answer: x\n#-answer: y\nx # answer: z\n"}, None),
        ({"default.ks": "//comment\n# Answer: extends x\n"}, None),
        ({"default.ks": "\t# answer: template off\nx\n"}, "x\n"),
        ({"default.ks": "#   answer:template off\r\nx\r\n"}, "x\r\n"),
    ],
)
def test_only_directives_are_taken_out_of_text(fleet: Fleet, documents: Mapping[str, str], answer: str | None) -> None:
    fleet.write(documents)
    assert fleet.problems() == []
    assert fleet.text("/") == (documents["default.ks"] if answer is None else answer)


def test_an_unset_path_of_quoted_keys_in_json(fleet: Fleet) -> None:
    fleet.write(
        {
            "groups/g.json": '{"a": {"b.c": {"d": 1, "e": 2}}, "f": [1]}',
            "n1.json": '{"extends": "g", "unset": ["a.\\"b.c\\".d", "f"]}',
        }
    )
    assert json.loads(fleet.text("/?h=n1")) == {"a": {"b.c": {"e": 2}}}


@pytest.mark.parametrize(
    "meta", ["<answer-meta/>", "<answer-meta></answer-meta>", "<answer-meta xmlns=''> </answer-meta>"]
)
def test_an_empty_answer_meta_never_reaches_a_machine(fleet: Fleet, meta: str) -> None:
    fleet.write({"n1.xml": f"<r>{meta}<a>1</a></r>\n"})
    assert fleet.problems() == []
    assert fleet.text("/xml?h=n1") == "<r>\n  <a>1</a>\n</r>\n"
