"""Placeholders: their grammar, filters, literals and faults (docs/templates.md)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerd.errors import CannotFill
from answerd.formats.template import Template, TemplateReader
from tests.support.lookups import Said

FACTS = {
    "serial": "Ab-1",
    "mac": "98:FA:9B:50:D8:10",
    "cisco": "98fa.9B50.d810",
    "dmi.system.serial": "S",
    "$schema.version": "1.0",
    "net:0-x": "n",
    "@id": "at",
    "grösse": "xl",
    "reporter": "ann",
    "report_to": "ann@lab",
    "secretary": "bo",
    "bell": "a\x07b",
    "nel": "a\x85b",
}


def read(text: str, *, open_is_text: bool = False) -> tuple[str | Template, TemplateReader]:
    reader = TemplateReader()
    return reader(text, open_is_text=open_is_text), reader


def filled(text: str) -> str:
    template, reader = read(text)
    assert reader.problems == []
    return template if isinstance(template, str) else template.fill(Said(FACTS.get))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("no braces", "no braces"),
        ("{{ serial }}", "Ab-1"),
        ("{{serial}}", "Ab-1"),
        ("{{\tserial\t}}", "Ab-1"),
        ("a{{serial}}b{{ serial }}c", "aAb-1bAb-1c"),
        ("{{ SERIAL }}", "Ab-1"),
        ("{{ dmi.system.serial }}", "S"),
        ("{{ $schema.version }}", "1.0"),
        ("{{ net:0-x }}", "n"),
        ("{{ @id }}", "at"),
        ("{{ Größe }}", "xl"),
        ("{{ serial|lower }}", "ab-1"),
        ("{{ serial | upper }}", "AB-1"),
        ("{{ mac | bare }}", "98fa9b50d810"),
        ("{{ mac | dashes }}", "98-fa-9b-50-d8-10"),
        ("{{ mac|colons }}", "98:fa:9b:50:d8:10"),
        ("{{ cisco | colons }}", "98:fa:9b:50:d8:10"),
        ("{{ mac | bare | upper }}", "98FA9B50D810"),
        ("{{ mac | slug }}", "98-fa-9b-50-d8-10"),
        ('{{ "VMware-42 1d  56" | slug }}', "vmware-42-1d-56"),
        ("{{ ' --$(reboot) \"x\" ;É_ß-- ' | slug }}", "reboot-x"),
        ('{{ "%s" | slug }}' % ("a" * 70), "a" * 63),
        ('{{ "%s" | slug }}' % ("a" * 62 + " b"), "a" * 62),
        ('{{ "%s" | slug }}' % ("-" * 70 + "a"), "a"),
        ('{{ rack | slug | default("No Rack") }}', "No Rack"),
        ('{{ rack | default("No Rack") | slug }}', "no-rack"),
        ("{{ mac | bare | colons | dashes }}", "98-fa-9b-50-d8-10"),
        ('{{ rack | default("none") }}', "none"),
        ("{{ rack | default('it\"s') }}", 'it"s'),
        ('{{ rack | default("") }}', ""),
        ('{{ serial | default("none") }}', "Ab-1"),
        ('{{ rack | upper | default("none") }}', "none"),
        ('{{ rack | default("none") | upper }}', "NONE"),
        ('{{ rack | bare | default("none") }}', "none"),
        ('{{ rack | default("a") | default("b") }}', "a"),
        ('{{ rack | default ( "a b" ) }}', "a b"),
        ("{{ rack | default(serial) }}", "Ab-1"),
        ("{{ rack | default( Serial ) | slug }}", "ab-1"),
        ("{{ rack | default(reporter) }}", "ann"),
        ("{{ rack | default(report_to) }}", "ann@lab"),
        ("{{ rack | default(secretary) }}", "bo"),
        ("{{ rack | default(nothing) | default(serial) }}", "Ab-1"),
        ('{{ rack | default(nothing) | default("none") }}', "none"),
        ('{{ serial | default(rack) | default("none") }}', "Ab-1"),
        ("{{ '}}' | default(rack) }}", "}}"),
        ("{{ serial | truncate(3) }}", "Ab-"),
        ("{{ serial | truncate(15) }}", "Ab-1"),
        ('{{ "é b" | urlencode }}', "%C3%A9%20b"),
        ('{{ "a/b~" | urlencode | base64 }}', "YSUyRmJ+"),
        ('{{ "{{" }}', "{{"),
        ("{{ '{{' }} x }}", "{{ x }}"),
        ('{{ "it\'s" }}', "it's"),
        ('{{ "}}" }}', "}}"),
        ('{{ "text" | upper }}', "TEXT"),
        ('{{ "98fa9b50d810" | colons }}', "98:fa:9b:50:d8:10"),
        ('{{ "a\tb" }}', "a\tb"),
        ('{{ "{{" }}{{ serial }}}}', "{{Ab-1}}"),
        ("}} { {", "}} { {"),
    ],
)
def test_what_a_placeholder_becomes(text: str, answer: str) -> None:
    assert filled(text) == answer


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{{ rack }}", "'rack'"),
        ("{{ rack | upper }}", "'rack'"),
        ("{{ bell }}", "control character"),
        ("{{ nel | upper }}", "control character"),
        ("{{ serial | bare }}", "not a MAC address"),
        ("{{ serial | colons | default('x') }}", "not a MAC address"),
        ("{{ rack | default('x') | dashes }}", "not a MAC address"),
        ("{{ rack | default('--') | slug }}", "no ASCII letter or digit"),
    ],
)
def test_what_cannot_be_filled_is_named(text: str, words: str) -> None:
    template, reader = read(text)
    assert reader.problems == []
    assert isinstance(template, Template)
    with pytest.raises(CannotFill, match=words) as caught:
        template.fill(Said(FACTS.get))
    assert caught.value.missing == (words == "'rack'")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{{ serial | swordfish1 }}", "has an unknown filter; the filters are bare, base64, "),
        ("{{ serial | bear }}", "has an unknown filter 'bear'; did you mean 'bare'?"),
        ("{{ serial | trunkate(8) }}", "has an unknown filter 'trunkate'; did you mean 'truncate'?"),
        ("{{ '--' | slug }}", "no ASCII letter or digit"),
        ("{{ serial | default }}", "default takes one text"),
        ("{{ serial | Upper }}", "has an unknown filter 'Upper'; did you mean 'upper'?"),
        ("{{.ID}}", "is no placeholder"),
        ("{{ -a }}", "is no placeholder"),
        ("{{ a b }}", "is no placeholder"),
        ("{{ }}", "is no placeholder"),
        ("{{}}", "is no placeholder"),
        ("{{ a | }}", "is no placeholder"),
        ("{{ a | default() }}", "is no placeholder"),
        ("{{ a | default(1) }}", "not in quotes"),
        ("{{ a | default(b-) | }}", "is no placeholder"),
        ("{{ a | default(secret.b) }}", "takes a secret"),
        ("{{ a | default(report) }}", "the URL of reports"),
        ("{{ a | default(Report) }}", "the URL of reports"),
        ("{{ a | split(b) }}", "not in quotes"),
        ("{{ a | replace('b', c) }}", "not in quotes"),
        ("{{ a | truncate(0) }}", "number of characters"),
        ("{{ a | truncate('8') }}", "number of characters"),
        ("{{ a | truncate(b) }}", "number of characters"),
        ("{{{ a }}}", "is no placeholder"),
        ("{{ 'a\" }}", "is no placeholder"),
        ("{{% raw %}}", "is no placeholder"),
        ("{{ a\x0b }}", "is no placeholder"),
        ("{{ a {{ serial }}", "is no placeholder"),
        ('{{ "zz" | bare }}', "not a MAC address"),
        ('{{ "a"' + ' | replace("a", "aaaaaaaaaa")' * 4 + " }}", "more than 1,024 characters"),
    ],
)
@pytest.mark.parametrize("open_is_text", [True, False], ids=["text", "structured"])
def test_anything_else_between_braces_is_a_problem_everywhere(text: str, words: str, open_is_text: bool) -> None:
    _, reader = read(f"before {text} after", open_is_text=open_is_text)
    assert len(reader.problems) == 1
    assert words in reader.problems[0]


@pytest.mark.parametrize(
    ("literal", "word", "size"),
    [("k" * 1_500, "base64", 2_000), ("\N{PERSONAL COMPUTER}" * 100, "urlencode", 1_200)],
    ids=["base64", "urlencode"],
)
def test_a_long_literal_may_be_encoded(literal: str, word: str, size: int) -> None:
    assert len(filled(f'{{{{ "{literal}" | {word} }}}}')) == size


def test_a_fault_says_how_to_write_it_literally() -> None:
    _, reader = read("docker ps --format '{{.ID}}'")
    assert '{{ "{{" }}' in reader.problems[0]
    assert ".ID" not in reader.problems[0]


def test_placeholders_after_open_braces_are_still_filled() -> None:
    template, _ = read("echo {{a,b}\nserial {{ serial }}", open_is_text=True)
    assert isinstance(template, Template)
    assert template.fill(Said(FACTS.get)) == "echo {{a,b}\nserial Ab-1"


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    for open_is_text in (True, False):
        template, reader = read(text, open_is_text=open_is_text)
        if "{{" not in text:
            assert (template, reader.found, reader.problems) == (text, False, [])


@given(st.text(alphabet="{}|ab \"'()\n.", max_size=60))
def test_what_is_no_problem_is_text_or_a_template(text: str) -> None:
    template, reader = read(text, open_is_text=True)
    if not reader.found and not reader.problems:
        assert template == text
