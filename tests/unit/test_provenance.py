"""Where each value of an answer came from, against a recomputation that shares nothing with it.

Layers are written here by small writers that note, for every value, the line they write it on. Laying these notes over
one another as docs/merging.md says must give what `origins` says, whatever the layers are.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.answers.catalogue import Catalogue
from answerd.answers.explain import Origin, Placing, explained, explanation, needing, origins
from answerd.answers.resolve import Answer, resolve
from answerd.documents import RawDocument
from answerd.facts import Facts, Request
from answerd.formats.positions import json_lines, toml_lines, value_spans, written_spans
from tests.support.fleet import key_of
from tests.support.thorough import examples

KEYS = ("a", "b", "c-d", "e.f")
Draw = Callable[[st.SearchStrategy[Any]], Any]
Noted = Any
"""A map of keys to the same, a list of lines, or one line: what a writer notes of a layer."""


def catalogue_of(files: dict[str, str]) -> Catalogue:
    return Catalogue().changed([RawDocument(key_of(name), text, name) for name, text in files.items()])


def answer_to(files: dict[str, str], identifier: str, extension: str, query: str = "") -> Answer:
    facts = Facts(Request(query=query, identities=[identifier]))
    return resolve(catalogue_of(files), facts, (extension,))


def places(answer: Answer) -> dict[str, str]:
    return {origin.key: str(origin.place) for origin in origins(answer)}


# --- writers ---------------------------------------------------------------------------------------------------------

scalars = st.one_of(
    st.integers(0, 99),
    st.sampled_from(["x", "two words", "# no comment", "[x]", 'quote " here', "long\nof\nlines\n", "tail\n[a]\nb = 1"]),
    st.booleans(),
)
trees = st.recursive(
    st.one_of(scalars, st.lists(scalars, max_size=3)),
    lambda below: st.dictionaries(st.sampled_from(KEYS), below, min_size=1, max_size=3),
    max_leaves=7,
)
layers_of_values = st.dictionaries(st.sampled_from(KEYS), trees, min_size=1, max_size=4)
unset_paths = st.lists(st.lists(st.sampled_from(KEYS), min_size=1, max_size=2).map(tuple), max_size=2)


class Sheet:
    """Lines that are being written. ``put`` returns the number of the line it begins."""

    def __init__(self) -> None:
        self.rows: list[str] = []

    def put(self, text: str) -> int:
        number = len(self.rows) + 1
        self.rows += text.split("\n")
        return number

    @property
    def text(self) -> str:
        return "\n".join(self.rows) + "\n"


def dotted(path: tuple[str, ...]) -> str:
    return ".".join(f'"{key}"' if "." in key else key for key in path)


class TomlWriter(Sheet):
    """Tables as headers, dotted keys or inline, strings on one line or several, arrays too, comments in between."""

    def __init__(self, draw: Draw) -> None:
        super().__init__()
        self.draw = draw

    def document(self, control: dict[str, Any], values: dict[str, Any]) -> Noted:
        for key, value in control.items():
            self.put(f"{key} = {self.inline(value)}")
        return self.table((), values)

    def table(self, path: tuple[str, ...], values: dict[str, Any]) -> Noted:
        noted: dict[str, Noted] = {}
        sections = []
        for key, value in values.items():
            if self.draw(st.booleans()):
                self.put(self.draw(st.sampled_from(["", "# note", "# [a]", '# """'])))
            if not isinstance(value, dict):
                noted[key] = self.statement(dotted((key,)), value)
            elif self.draw(st.booleans()):
                sections.append((key, value))
            elif self.draw(st.booleans()):
                line = self.put(f"{dotted((key,))} = {self.inline(value)}")
                noted[key] = all_on(line, value)
            else:
                noted[key] = self.with_dots((key,), value)
        for key, value in sections:
            self.put(f"[{dotted((*path, key))}]{self.draw(st.sampled_from(['', ' # header']))}")
            noted[key] = self.table((*path, key), value)
        return noted

    def with_dots(self, path: tuple[str, ...], values: dict[str, Any]) -> Noted:
        return {
            key: self.with_dots((*path, key), value)
            if isinstance(value, dict)
            else self.statement(dotted((*path, key)), value)
            for key, value in values.items()
        }

    def statement(self, name: str, value: Any) -> Noted:
        if isinstance(value, list) and value and self.draw(st.booleans()):
            first = self.put(f"{name} = [ # opens ]")
            lines = []
            for item in value:
                if self.draw(st.booleans()):
                    self.put("  # of the next ]")
                lines.append(self.put(f"  {json.dumps(item)}, # one"))
            self.put("]")
            assert first
            return lines
        if isinstance(value, str) and self.draw(st.booleans()):
            escaped = value.replace('"', '\\"')
            return self.put(f'{name} = """\n{escaped}"""')
        line = self.put(f"{name} = {json.dumps(value)}{self.draw(st.sampled_from(['', '  # said']))}")
        return all_on(line, value)

    def inline(self, value: Any) -> str:
        if not isinstance(value, dict):
            return json.dumps(value)
        return "{" + ", ".join(f"{dotted((key,))} = {self.inline(below)}" for key, below in value.items()) + "}"


class YamlWriter(Sheet):
    """Block and flow style, block scalars, comments."""

    def __init__(self, draw: Draw) -> None:
        super().__init__()
        self.draw = draw

    def document(self, control: dict[str, Any], values: dict[str, Any]) -> Noted:
        self.put("#cloud-config")
        for key, value in control.items():
            self.put(f"{key}: {json.dumps(value)}")
        return self.map(values, "")

    def map(self, values: dict[str, Any], margin: str) -> Noted:
        noted: dict[str, Noted] = {}
        for key, value in values.items():
            if self.draw(st.booleans()):
                self.put(f"{margin}# note")
            flow = self.draw(st.booleans())
            if isinstance(value, dict) and not flow:
                self.put(f"{margin}{key}:")
                noted[key] = self.map(value, f"{margin}  ")
            elif isinstance(value, list) and value and not flow:
                self.put(f"{margin}{key}:")
                noted[key] = [self.put(f"{margin}  - {json.dumps(item)}") for item in value]
            elif isinstance(value, str) and "\n" in value and not flow:
                body = "\n".join(f"{margin}  {row}" for row in value.removesuffix("\n").split("\n"))
                noted[key] = self.put(f"{margin}{key}: |\n{body}")
            else:
                noted[key] = all_on(self.put(f"{margin}{key}: {json.dumps(value)}"), value)
        return noted


class JsonWriter(Sheet):
    """Values on lines of their own or in a row, as it comes."""

    def __init__(self, draw: Draw) -> None:
        super().__init__()
        self.draw = draw
        self.rows = [""]

    def document(self, control: dict[str, Any], values: dict[str, Any]) -> Noted:
        noted = self.value({**control, **values})
        return {key: origin for key, origin in noted.items() if key in values}

    def value(self, value: Any) -> Noted:
        if isinstance(value, dict) and value:
            noted = {}
            for position, (key, below) in enumerate(value.items()):
                self.sign("," if position else "{")
                self.sign(json.dumps(key))
                self.sign(":")
                noted[key] = self.value(below)
            self.sign("}")
            return noted
        if isinstance(value, list) and value:
            lines = []
            for position, below in enumerate(value):
                self.sign("," if position else "[")
                lines.append(self.value(below))
            self.sign("]")
            return lines
        self.sign("")
        self.rows[-1] += json.dumps(value)
        return len(self.rows)

    def sign(self, sign: str) -> None:
        self.rows[-1] += sign
        if self.draw(st.booleans()):
            self.rows.append("  ")


def all_on(line: int, value: Any) -> Noted:
    """The notes of a value that is on one line."""
    if isinstance(value, dict):
        return {key: all_on(line, below) for key, below in value.items()}
    return [line for _ in value] if isinstance(value, list) and value else line


WRITERS: dict[str, Any] = {"toml": TomlWriter, "yaml": YamlWriter, "ign": JsonWriter}


# --- the recomputation -----------------------------------------------------------------------------------------------


def signed(noted: Noted, name: str) -> Noted:
    """The notes with their document's name before each line."""
    if isinstance(noted, dict):
        return {key: signed(below, name) for key, below in noted.items()}
    return [signed(item, name) for item in noted] if isinstance(noted, list) else f"{name}:{noted}"


def laid_over(lower: Noted, upper: Noted) -> Noted:
    """docs/merging.md: maps merge key by key, any other value is replaced whole."""
    if not (isinstance(lower, dict) and isinstance(upper, dict)):
        return upper
    together = {key: laid_over(below, upper[key]) if key in upper else below for key, below in lower.items()}
    return {**together, **{key: below for key, below in upper.items() if key not in lower}}


def taken_away(noted: Noted, path: tuple[str, ...]) -> Noted:
    if not isinstance(noted, dict) or path[0] not in noted:
        return noted
    if len(path) == 1:
        return {key: below for key, below in noted.items() if key != path[0]}
    return {**noted, path[0]: taken_away(noted[path[0]], path[1:])}


def flat(noted: Noted, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], str]:
    """The places by path. A map that ``unset`` emptied is left out: it has no value to have a place."""
    if isinstance(noted, str):
        return {path: noted}
    below = noted.items() if isinstance(noted, dict) else enumerate(noted)
    return {at: place for key, item in below for at, place in flat(item, (*path, str(key))).items()}


@st.composite
def stacks(draw: Any, extension: str) -> tuple[dict[str, str], dict[tuple[str, ...], str]]:
    """Two or three documents laid over one another, and where each value of the answer comes from."""
    names = ["groups/base", "groups/rack", "m1"][-draw(st.integers(2, 3)) :]
    files: dict[str, str] = {}
    expected: Noted = {}
    below = None
    for name in names:
        writer = WRITERS[extension](draw)
        paths: list[tuple[str, ...]] = draw(unset_paths) if below else []
        control: dict[str, Any] = {"extends": below} if below else {"match": {"never": "x"}}
        if paths:
            control["unset"] = [dotted(path) for path in paths]
        noted = writer.document(control, draw(layers_of_values))
        files[f"{name}.{extension}"] = writer.text
        for path in paths:
            expected = taken_away(expected, path)
        expected = laid_over(expected, signed(noted, f"{name}.{extension}"))
        below = name.rpartition("/")[2]
    return files, flat(expected)


READERS: dict[str, Callable[[str], Any]] = {"toml": tomllib.loads, "yaml": yaml.safe_load, "ign": json.loads}


def value_at(origin: Origin, said: Any) -> Any:
    """The value of a path in an answer that a reader has read."""
    for key in origin.path:
        said = said[int(key)] if isinstance(said, list) else said[key]
    return said


def traced(answer: Answer) -> dict[tuple[str, ...], str]:
    """The places by path, without the maps that ``unset`` emptied."""
    said = READERS[answer.format.extension](answer.body.decode())
    return {origin.path: str(origin.place) for origin in origins(answer) if value_at(origin, said) != {}}


@pytest.mark.parametrize("extension", WRITERS)
def test_every_value_comes_from_where_it_was_written(extension: str) -> None:
    @settings(max_examples=examples(120))
    @given(stacks(extension))
    def agree(stack: tuple[dict[str, str], dict[tuple[str, ...], str]]) -> None:
        files, expected = stack
        assert traced(answer_to(files, "m1", extension)) == expected

    agree()


@pytest.mark.parametrize("extension", WRITERS)
def test_the_line_of_the_answer_is_where_its_value_stands(extension: str) -> None:
    @settings(max_examples=examples(60))
    @given(st.data(), st.dictionaries(st.sampled_from(KEYS), st.integers(10**6, 10**9), min_size=1))
    def stands(data: st.DataObject, values: dict[str, int]) -> None:
        writer = WRITERS[extension](data.draw)
        writer.document({"match": {"never": "x"}}, {"a": 1234567, "low": {"er": 7654321}})
        top = WRITERS[extension](data.draw)
        top.document({"extends": "base"}, values)
        answer = answer_to({f"groups/base.{extension}": writer.text, f"m1.{extension}": top.text}, "m1", extension)
        said = READERS[extension](answer.body.decode())
        lines = answer.body.decode().split("\n")
        found = origins(answer)
        assert found
        for origin in found:
            assert origin.answer_line is not None
            assert str(value_at(origin, said)) in lines[origin.answer_line - 1]

    stands()


# --- text ------------------------------------------------------------------------------------------------------------

text_lines = st.lists(
    st.sampled_from(["lang en", "", "  indented", "# remark", "# answer: match a=b", "//answer: template off", "#!x"]),
    max_size=6,
)


@st.composite
def texts(draw: Any) -> tuple[dict[str, str], list[str]]:
    """Layers of lines, and the place of each line of the answer."""
    files: dict[str, str] = {}
    bodies: list[list[str]] = []
    interpreter: list[str] = []
    for name, extends in (("groups/base", None), ("groups/rack", "base"), ("m1", "rack")):
        rows = ([f"# answer: extends {extends}"] if extends else []) + draw(text_lines)
        rows = [row for row in rows if extends is None or "match" not in row] + [f"last of {name}"]
        end = draw(st.sampled_from(["\n", "\r\n"]))
        files[f"{name}.ks"] = end.join(rows) + draw(st.sampled_from(["", end]))
        served = [(number, row) for number, row in enumerate(rows, 1) if "answer:" not in row]
        if served[0][1].startswith("#!"):
            interpreter = [f"{name}.ks:{served.pop(0)[0]}"]
        bodies.append([f"{name}.ks:{number}" for number, _ in served])
    return files, interpreter + [place for body in bodies for place in body]


@settings(max_examples=examples(150))
@given(texts())
def test_every_line_of_a_text_comes_from_where_it_was_written(text: tuple[dict[str, str], list[str]]) -> None:
    files, expected = text
    answer = answer_to(files, "m1", "ks")
    assert [str(origin.place) for origin in origins(answer)] == expected
    assert [origin.answer_line for origin in origins(answer)] == list(range(1, len(expected) + 1))
    rows = answer.body.decode().removesuffix("\n").split("\n")
    for row, place in zip(rows, expected, strict=True):
        name, _, number = place.partition(":")
        assert files[name].split("\n")[int(number) - 1].rstrip("\r") == row.rstrip("\r")


def test_places_are_aligned_beside_the_lines() -> None:
    files = {
        "groups/base.ks": "# answer: match a=b\n\nlang en\n",
        "m1.ks": "# answer: extends base\nuser {{ machine }}\n",
    }
    assert explained(answer_to(files, "m1", "ks")) == (
        "groups/base.ks:2 | \ngroups/base.ks:3 | lang en\nm1.ks:2          | user m1\n"
    )


# --- XML -------------------------------------------------------------------------------------------------------------

LOWER_XML = """<profile xmlns:config="c">
  <general>
    <mode>
      <confirm config:type="boolean">false</confirm>
    </mode>
  </general>
  <users><user><name>a</name></user>
    <user><name>b</name></user></users>
</profile>
"""
UPPER_XML = """<profile>
  <answer-meta extends="base"><unset>users</unset></answer-meta>
  <general><mode>
    <confirm>true</confirm>
    <final/></mode></general>
</profile>
"""


def test_attributes_and_texts_of_one_element_may_come_from_two_documents() -> None:
    answer = answer_to({"groups/base.autoyast": LOWER_XML, "m1.autoyast": UPPER_XML}, "m1", "autoyast")
    assert places(answer) == {
        "profile.general.mode.confirm.@config:type": "groups/base.autoyast:4",
        "profile.general.mode.confirm": "m1.autoyast:4",
        "profile.general.mode.final": "m1.autoyast:5",
    }


def test_an_element_of_two_documents_names_both_beside_its_line() -> None:
    upper = UPPER_XML.replace("base", "base-of-all")
    answer = answer_to({"groups/base-of-all.autoyast": LOWER_XML, "m1.autoyast": upper}, "m1", "autoyast")
    lines = explained(answer).splitlines()
    (line,) = [line for line in lines if "<confirm" in line]
    assert line.startswith("@config:type: groups/base-of-all.autoyast:4, confirm: m1.autoyast:4")
    assert {line.index(" | ") for line in lines if "<confirm" not in line} == {60}  # it alone is wider


def test_repeated_siblings_are_told_apart_by_their_place() -> None:
    answer = answer_to({"m1.autoyast": LOWER_XML}, "m1", "autoyast")
    found = places(answer)
    assert found["profile.users.user[1].name"] == "m1.autoyast:7"
    assert found["profile.users.user[2].name"] == "m1.autoyast:8"


# --- the rest --------------------------------------------------------------------------------------------------------

BASE = '[global]\ncountry = "at"\nkeyboard = "de"\n\n[net]\nsource = "dhcp"\n'
TOP = 'extends = "base"\nunset = ["net.source"]\n\n[global]\ncountry = "de"\nfqdn = "{{ host }}.example.com"\n'


def test_a_map_that_unset_emptied_comes_from_the_document_that_has_it() -> None:
    answer = answer_to({"groups/base.toml": BASE, "m1.toml": TOP}, "m1", "toml", "host=a")
    assert places(answer)["net"] == "groups/base.toml"


def test_programs_get_the_layers_the_values_and_the_answer() -> None:
    answer = answer_to({"groups/base.toml": BASE, "m1.toml": TOP}, "m1", "toml", "host=a")
    found = explanation(answer)
    assert (found["composition"], found["format"]) == ("format=toml machine=m1 group=base", "toml")
    assert found["layers"] == [
        {"kind": "group", "identifier": "base", "source": "groups/base.toml"},
        {"kind": "machine", "identifier": "m1", "source": "m1.toml"},
    ]
    [keyboard] = [value for value in found["values"] if value["key"] == "global.keyboard"]
    assert (keyboard["path"], keyboard["source"], keyboard["line"]) == (["global", "keyboard"], "groups/base.toml", 3)
    assert found["answer"] == answer.body.decode()
    assert found["answer"].split("\n")[keyboard["answer_line"] - 1] == 'keyboard = "de"'


def test_a_document_of_a_database_is_named_by_its_key() -> None:
    raws = [RawDocument(key_of("groups/base.toml"), BASE), RawDocument(key_of("m1.toml"), TOP)]
    answer = resolve(Catalogue().changed(raws), Facts(Request(query="host=a", identities=["m1"])), ("toml",))
    assert places(answer)["global.country"] == "machine m1 (toml):5"
    assert places(answer)["global.keyboard"] == "group base (toml):3"


def test_a_placeholder_that_nothing_fills_is_found() -> None:
    catalogue = catalogue_of({"groups/base.toml": BASE, "m1.toml": TOP})
    layers = tuple(catalogue.documents.values())
    assert [str(place) for place in needing(layers, "host")] == ["m1.toml:6"]
    assert needing(layers, "hos") == ()


def test_a_file_that_was_made_up_for_cloud_init_comes_from_no_document() -> None:
    facts = Facts(Request(path="/ubuntu/meta-data", query="mac=m1"))
    answer = resolve(catalogue_of({"m1.yaml": "a: 1\n"}), facts)
    assert origins(answer) == ()
    assert explained(answer) == answer.body.decode()


def test_an_alias_comes_from_the_line_of_its_anchor() -> None:
    files = {"groups/b.yaml": "match: {a: b}\nx: &one\n  y: 1\n", "m1.yaml": "extends: b\nz: &two {q: 1}\nw: *two\n"}
    assert places(answer_to(files, "m1", "yaml")) == {
        "x.y": "groups/b.yaml:3",
        "z.q": "m1.yaml:2",
        "w.q": "m1.yaml:2",
    }


@pytest.mark.parametrize(
    ("key", "line", "expected"),
    [
        pytest.param("global.country", None, "wrong (m1.toml:5)", id="a key of the upper layer"),
        pytest.param("global.keyboard", None, "wrong (groups/base.toml:3)", id="a key of the lower layer"),
        pytest.param("global", None, "wrong (m1.toml:5)", id="a table: its first value"),
        pytest.param(
            "global.mailto", None, "wrong (in none of its layers: groups/base.toml, m1.toml)", id="a key nobody has"
        ),
        pytest.param("global.root-password", None, "wrong (m1.toml:7)", id="a key by its newer name"),
        pytest.param("", 3, "wrong (groups/base.toml:3)", id="a line of the answer"),
        pytest.param("", None, "wrong", id="the whole answer"),
    ],
)
def test_a_finding_names_the_document_and_line(key: str, line: int | None, expected: str) -> None:
    top = f'{TOP}root_password = "a"\n'
    answer = answer_to({"groups/base.toml": BASE, "m1.toml": top}, "m1", "toml", "host=a")
    assert Placing(answer, origins(answer)).placed("wrong", key, line) == expected


TOML_SCALARS = (
    *("1", "true", "1979-05-27T07:32:00Z", '""', "''", '"a]"', "'}'", '"\\"#"', "''''''", '""""""'),
    *('"""\na ""]\n"""', "'''\nx\n''}\ny'''", '"""a\\\n  b""""', "'''it''s''''", '"""\\"""x"""'),
)
TOML_VALUES = st.recursive(
    st.sampled_from(TOML_SCALARS),
    lambda below: st.one_of(
        st.lists(below, max_size=3).map(lambda found: "[" + ", # ]\n".join(found) + "]"),
        st.lists(below, max_size=3).map(
            lambda found: f"{{{', '.join(f'k{at} = {value}' for at, value in enumerate(found))}}}"
        ),
    ),
    max_leaves=6,
)


def texts_in(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """The texts in a tree, by their paths."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict | list):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield from texts_in(below, (*path, str(key)))


@given(st.lists(TOML_VALUES, max_size=4))
def test_every_text_of_a_toml_document_is_found_where_it_is_written(values: list[str]) -> None:
    source = "[t]\n" + "".join(f"k{at} = {value} # '\n" for at, value in enumerate(values))
    assert {span.path: span.text for span in value_spans("toml", source)}.items() >= dict(
        texts_in(tomllib.loads(source))
    ).items()
    lines = toml_lines(source)
    for at in range(len(values)):
        assert source.split("\n")[lines["t", f"k{at}"] - 1].startswith(f"k{at} = ")


def test_toml_lines_have_each_table_key_and_element() -> None:
    text = '# x\n[a."b.c"]\nd = [ # y\n  1,\n  { e = 2 },\n]\n[[f]]\n[[f]]\n[f.g]'
    assert toml_lines(text) == {
        ("a", "b.c"): 2,
        ("a", "b.c", "d"): 3,
        ("a", "b.c", "d", "0"): 4,
        ("a", "b.c", "d", "1"): 5,
        ("a", "b.c", "d", "1", "e"): 5,
        ("f", "0"): 7,
        ("f", "1"): 8,
        ("f", "1", "g"): 9,
    }


def test_json_lines_know_keys_from_texts() -> None:
    assert json_lines('{"a":\n ["b", "c"\n, {"d": "e:"}],\n "f": ":"}')["a", "2", "d"] == 3


@pytest.mark.parametrize(
    ("family", "source", "hidden"),
    [
        ("json", '{"a": "x\\n\\u00e9 SECRET y"}', '{"a": "x\\n\\u00e9 ****** y"}'),
        ("toml", 'a = "x\\t\\U000000e9 SECRET y"', 'a = "x\\t\\U000000e9 ****** y"'),
        ("toml", "a = '''x\r\nSECRET y'''", "a = '''x\r\n****** y'''"),
        ("yaml", 'a: "x\\x41 SECRET\\\n  y"', 'a: "x\\x41 ******\\\n  y"'),
        ("yaml", "a: 'it''s SECRET y'", "a: 'it''s ****** y'"),
        ("yaml", "a: x\n  SECRET y", "a: x\n  ****** y"),
        ("yaml", "a: |\n  x\n  SECRET y\n", "a: |\n  x\n  ****** y\n"),
        ("xml", "<a>x &amp;\r\nSECRET y</a>", "<a>x &amp;\r\n****** y</a>"),
        ("xml", '<a b="&#65; SECRET y"/>', '<a b="&#65; ****** y"/>'),
    ],
)
def test_a_part_of_a_value_is_found_where_it_is_written(family: str, source: str, hidden: str) -> None:
    (value,) = value_spans(family, source)
    at = value.text.index("SECRET")
    ((start, end),) = written_spans(source, value, [(at, at + len("SECRET"))])
    assert source[:start] + "*" * (end - start) + source[end:] == hidden


def test_a_value_that_another_one_replaces_below_a_merge_key_is_found_too() -> None:
    found = value_spans("yaml", "a: {<<: {password: x1}, password: x2}\n")
    assert [(value.path, value.text) for value in found] == [(("a", "<<", "password"), "x1"), (("a", "password"), "x2")]
