"""docs/ knows what the program knows: every format, word, key, filter and status, and no other.

Settings, limits and commands have tests of their own, and so have validators and the README.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from answerd.documents import Document, Key, RawDocument
from answerd.formats import ALIASES, FORMATS, WELL_KNOWN_NAMES
from answerd.formats.control import CONTROL_KEYS
from answerd.formats.filters import ARGUMENTS, FILTERS, OF_VALUES
from answerd.formats.template import Placeholder, TemplateReader
from answerd.identity import IDENTIFIER_LENGTH, Kind
from answerd.server.statuses import ADMIN_STATUSES, ANSWER_STATUSES
from tests.support.lookups import Said
from tests.support.pages import CHECKOUT, DOCS, page, rows, words
from tests.support.waiting import PROGRAM_SECONDS


def test_every_format_stands_in_the_table_with_its_family_and_type() -> None:
    table = [(words(row[0]), row[1], words(row[3])) for row in rows(page("formats"), 4) if words(row[3])]
    assert [
        (extension, family, content_type) for extensions, family, (content_type,) in table for extension in extensions
    ] == [(entry.extension, entry.family.name, entry.content_type) for entry in FORMATS.values()]


def test_every_word_of_a_path_stands_in_the_table_with_its_extensions() -> None:
    text = page("formats").partition("## Which format a request asks for")[2].partition("\n## ")[0]
    table = {word: words(extensions) for row, extensions in rows(text, 2) for word in words(row)}
    assert table == ALIASES
    names = {word: words(extensions) for row, _, extensions in rows(text, 3) for word in words(row)}
    assert names == WELL_KNOWN_NAMES


def test_every_control_key_stands_in_the_table_with_the_documents_it_is_for() -> None:
    kinds_of_keys = {words(key)[0]: kinds for key, kinds, _ in rows(page("merging"), 3) if words(key)}
    assert set(kinds_of_keys) == set(CONTROL_KEYS)
    for key, kinds in CONTROL_KEYS.items():
        named = {kind for kind in Kind if "all kinds" in kinds_of_keys[key] or f"{kind}s" in kinds_of_keys[key]}
        assert named == kinds


def test_every_filter_is_in_a_table_and_does_what_is_shown() -> None:
    seen = set()
    value = ""
    for name, _, result in rows(page("templates"), 3):
        if result.startswith("of "):
            (value,) = words(result)
        elif value:
            reader = TemplateReader()
            template = reader(f"{{{{ x | {words(name)[0]} }}}}", has_types=True)
            assert not isinstance(template, str), (name, reader.problems)
            (placeholder,) = template.parts
            assert isinstance(placeholder, Placeholder)
            assert ", ".join(placeholder.values(Said({"x": [value]}))) == ", ".join(words(result)), name
            seen.add(words(name)[0].partition("(")[0])
    assert seen == {*FILTERS, *ARGUMENTS, *OF_VALUES}


@pytest.mark.parametrize(
    ("name", "columns", "statuses"), [("http", 3, ANSWER_STATUSES), ("admin-api", 2, ADMIN_STATUSES)]
)
def test_every_status_stands_in_the_table(name: str, columns: int, statuses: frozenset[int]) -> None:
    text = page(name).partition("\n## Statuses\n")[2].partition("\n## ")[0]
    found = [row[0] for row in rows(text, columns)]
    assert {int(status) for row in found for status in row.split(", ") if status.isdigit()} == statuses


def test_every_status_but_200_has_its_place_in_the_order() -> None:
    text = page("http").partition("\n## Order of statuses\n")[2].partition("\n## ")[0]
    assert set(map(int, re.findall(r"\b[45]\d\d\b", text))) == ANSWER_STATUSES - {200}


def test_the_length_of_an_identifier_is_stated() -> None:
    assert f"1 to {IDENTIFIER_LENGTH} characters" in page("formats")


def test_nothing_is_to_be_installed_from_an_index_that_does_not_have_it() -> None:
    texts = {path: path.read_text("utf-8") for path in (*CHECKOUT.glob("answerd/**/*.py"), *DOCS.glob("**/*.md"))}
    wrong = re.compile(r"pip[ x]install [\"']?answerd\b(?!.* @ )(?!-)")
    assert [str(path) for path, text in texts.items() if wrong.search(text)] == []


FOREIGN = {
    "a.ks": "#!/bin/sh\ndocker ps --format '{{.ID}}'\n",
    "a.preseed": "d-i a string {{ x == y }}\n",
    "a.ipxe": "#!ipxe\nkernel {{.Kernel}}\n",
    "header.yaml": "#cloud-config\n# remark\n\nfoo: '{{ x | y }}'\nbar:\n- 1\n",
    "stream.yaml": "---\nfoo: '{{.A}}'\n---\nbar: '{{.B}}'\n...\n",
    "block.yaml": "\na: |\n  {{.A}}",
    "a.json": '\n{"a": {"b": "{{user `x`}}"}}',
    "a.xml": '<?xml version="1.0"?>\n<p:profile xmlns:p="urn:x">\n<a>{{.A}}</a>\n</p:profile>\n',
    "flow.yaml": "# remark\n{a: '{{.A}}', b: {c: d}}\n",
    "indented.yml": "---\n  {\n  a: '{{.A}}'\n  }\n",
    "a.yml": "foo: {a: '{{.A}}'}\n",
    "a.toml": "# remark\na = '{{.A}}'\n[b]\nc = 1\n",
    "a.ign": '{"ignition": {"version": "3.4.0"}, "a": "{{.A}}"}\n',
    **{f"a.{extension}": "<a>{{.A}}</a>\n" for extension in ("autoyast", "unattend")},
    **{f"a.{extension}": "{{.A}}\n" for extension in ("seed", "cfg", "pxelinux", "grub", "erb", "jsonnet")},
}
"""Files with braces of another language, for the commands that switch templates off."""


@pytest.mark.skipif(shutil.which("sed") is None, reason="needs GNU sed")
def test_the_commands_that_switch_templates_off_in_a_directory_do(tmp_path: Path) -> None:
    assert {name.rpartition(".")[2] for name in FOREIGN} == {*FORMATS}
    for name, text in FOREIGN.items():
        tmp_path.joinpath(name).write_text(text, "utf-8")
    script = page("templates").partition("## Switched off")[2].partition("```sh\n")[2].partition("```")[0]
    subprocess.run(["sh", "-e", "-c", script], cwd=tmp_path, check=True, timeout=PROGRAM_SECONDS)
    for name, text in FOREIGN.items():
        document = Document(
            RawDocument(Key(Kind.MACHINE, "n1", name.rpartition(".")[2]), tmp_path.joinpath(name).read_text("utf-8"))
        )
        assert document.problems == (), name
        served = document.family.prepare(document.tree).static
        assert served is not None, name
        assert served.count(b"{{") == text.count("{{"), name
