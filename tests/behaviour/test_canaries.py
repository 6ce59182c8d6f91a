"""A secret in a document never shows in a sentence about the document, wherever the secret is and whatever is broken.

Reasons go to installers' consoles, to clients and to the log; problems to the admin API. Each case holds a canary in
the place of a value, and all sentences are searched for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from answerd.answers.catalogue import Catalogue
from answerd.answers.near_misses import with_hints
from answerd.answers.problems import load_problems
from answerd.answers.resolve import resolve
from answerd.answers.why import reasoning
from answerd.check import check
from answerd.documents import Key, RawDocument
from answerd.errors import AnswerError
from answerd.facts import Facts, Request
from answerd.formats import FORMATS
from answerd.identity import Kind
from answerd.validators import Tools, validate
from tests.support.service import Service

pytestmark = pytest.mark.long

CANARY = "S3cretCanary"
BASE = {"toml": 'a = "x"\n', "yaml": "a: x\n", "json": '{"a": "x"}', "xml": "<r><a>x</a></r>\n", "text": "a x\n"}
"""What a document of each family is laid over where it extends ``base``."""

META = "<r><answer-meta{}</answer-meta><a/></r>"
BROKEN: dict[str, tuple[str, str]] = {
    # TOML
    "a value without quotes": ("toml", f"password = {CANARY}\n"),
    "a quote that is not closed": ("toml", f'password = "{CANARY}\nx = 1\n'),
    "a quote too many": ("toml", f'password = "a"{CANARY}"\n'),
    "an escape that is none": ("toml", f'password = "\\{CANARY}"\n'),
    "a control character in a value": ("toml", f'password = "\x01{CANARY}"\n'),
    "a value that looks like a table": ("toml", f"[x]\n[{CANARY}]\n[{CANARY}]\n"),
    "a value that looks like a key": ("toml", f"{CANARY} = 1\n{CANARY} = 2\n"),
    "a value that looks like an inline key": ("toml", f"a = {{{CANARY} = 1, {CANARY} = 2}}\n"),
    "a value that looks like a namespace": ("toml", f"a = {{b = 1}}\n[a.{CANARY}]\nx = 1\n"),
    "an array that is not closed": ("toml", f'a = ["{CANARY}"\nb = 1\n'),
    "a number out of range": ("toml", f'a = "{CANARY}"\nb = {"9" * 5_000}\n'),
    "a date out of range": ("toml", f'a = "{CANARY}"\nb = 2024-13-45\n'),
    "extends that is a text of words": ("toml", f'extends = "{CANARY} x"\n'),
    "extends with a control character": ("toml", f'extends = "{CANARY}\\u0007"\n'),
    "extends that is a list": ("toml", f'extends = ["{CANARY}"]\n'),
    "members that are a text": ("toml", f'members = "{CANARY}"\n'),
    "members with a map": ("toml", f'members = [{{a = "{CANARY}"}}]\n'),
    "match that is a text": ("toml", f'match = "{CANARY}"\n'),
    "match that fails": ("toml", f'match = {{serial = "{CANARY}"}}\nx = 1\n'),
    "match with several patterns": ("toml", f'match = {{serial = ["{CANARY}*", "{CANARY}?"]}}\nx = 1\n'),
    "match with a number beside": ("toml", f'match = {{serial = ["{CANARY}", 7]}}\n'),
    "unset that is no path": ("toml", f'unset = ["{CANARY}.."]\n'),
    "unset that is a text": ("toml", f'unset = "{CANARY}"\n'),
    "template that is a text": ("toml", f'template = "{CANARY}"\n'),
    "a placeholder of a password": ("toml", f'a = "{{{{ pass {CANARY} }}}}"\n'),
    "braces in a password": ("toml", f'a = "x{{{{{CANARY}"\n'),
    "an unknown filter after default": ("toml", f"a = \"{{{{ mac | default('{CANARY}') | nonsense }}}}\"\n"),
    "default with a mistake": ("toml", f"a = \"{{{{ mac | defualt('{CANARY}') }}}}\"\n"),
    "a filter that is the secret": ("toml", f'a = "{{{{ mac | {CANARY} }}}}"\n'),
    "a literal that is no MAC address": ("toml", f"a = \"{{{{ '{CANARY}' | bare }}}}\"\n"),
    "default that is no MAC address": ("toml", f"a = \"{{{{ nic | default('{CANARY}') | bare }}}}\"\n"),
    # YAML
    "a value that is an alias": ("yaml", f"password: *{CANARY}\n"),
    "a value that is an alias of itself": ("yaml", f"password: &{CANARY} [*{CANARY}]\n"),
    "a value that is a tag": ("yaml", f"password: !{CANARY}!x y\n"),
    "a value with a colon": ("yaml", f"password: a: {CANARY}\n"),
    "a value that begins with a sign": ("yaml", f"password: @{CANARY}\nb: `{CANARY}`\n"),
    "a value that begins with a percent sign": ("yaml", f"%{CANARY} x\n---\na: 1\n"),
    "a quote that YAML closes early": ("yaml", f"password: 'a'{CANARY}'\n"),
    "an escape that YAML does not have": ("yaml", f'password: "\\{CANARY}"\n'),
    "a list that is not closed in YAML": ("yaml", f"password: [{CANARY}\nb: 1\n"),
    "a value that is a key twice": ("yaml", f"{CANARY}: 1\n{CANARY}: 2\n"),
    "a value on a line of its own": ("yaml", f"password:\n  a: 1\n {CANARY}\n"),
    "a control character in YAML": ("yaml", f"password: {CANARY}\x07\n"),
    "two documents": ("yaml", f"members: [x]\npassword: {CANARY}\n---\n{CANARY}\n"),
    "a merge of a text": ("yaml", f"<<: {CANARY}\n"),
    "a placeholder without quotes": ("yaml", f"password: {{{{ {CANARY} x }}}}\n"),
    "a match that is a list in YAML": ("yaml", f"match: [{CANARY}]\n"),
    "autoinstall of the wrong type": ("yaml", f"#cloud-config\nautoinstall:\n  version: {CANARY}\n"),
    "autoinstall with a wrong choice": ("yaml", f"#cloud-config\nautoinstall: {{version: 1, updates: {CANARY}}}\n"),
    # JSON
    "a text that is not closed": ("json", f'{{"password": "{CANARY}}}'),
    "a bare word": ("json", f'{{"password": {CANARY}}}'),
    "a key of JSON twice": ("json", f'{{"{CANARY}": 1, "{CANARY}": 2}}'),
    "an escape that JSON does not have": ("json", f'{{"password": "\\{CANARY}"}}'),
    "a lone surrogate": ("json", f'{{"password": "{CANARY}\\ud800"}}'),
    "members that are a map": ("json", f'{{"members": {{"{CANARY}": "{CANARY}"}}}}'),
    "an Ignition version that is none": ("json", f'{{"ignition": {{"version": "{CANARY}"}}}}'),
    "an Ignition source of no scheme": (
        "json",
        f'{{"ignition": {{"version": "3.4.0"}}, "storage": {{"files": [{{"path": "{CANARY}", '
        f'"contents": {{"source": "{CANARY}:x"}}}}]}}}}',
    ),
    # XML
    "an entity in a password": ("xml", f"<r><password>a&{CANARY};b</password></r>"),
    "a tag in a password": ("xml", f"<r><password>a<{CANARY}>b</password></r>"),
    "an attribute that is not closed": ("xml", f'<r><user password="{CANARY}></user></r>'),
    "an attribute twice": ("xml", f'<r><user p="{CANARY}" p="{CANARY}"/></r>'),
    "an entity declared": ("xml", f'<!DOCTYPE r [<!ENTITY {CANARY} "{CANARY}">]><r/>'),
    "another encoding": ("xml", f'<?xml version="1.0" encoding="{CANARY}"?><r/>'),
    "text in answer-meta": ("xml", META.format(f">{CANARY}")),
    "an attribute of answer-meta": ("xml", META.format(f' template="{CANARY}">')),
    "an unset of XML that is no path": ("xml", META.format(f"><unset>/{CANARY}//</unset>")),
    "a member of XML that is a list": ("xml", META.format(f"><member>{CANARY}<x/></member>")),
    "siblings that pair with several": (
        "xml",
        f'<r><answer-meta extends="two"/><u name="{CANARY}"/></r>',
    ),
    # Text
    "an unknown directive": ("ks", f"# answer: {CANARY}\nlang en\n"),
    "a directive with a password": ("ks", f"# answer: rootpw {CANARY}\nlang en\n"),
    "a criterion without a sign": ("ks", f"# answer: match {CANARY}\nlang en\n"),
    "a criterion with an open quote": ("ks", f"# answer: match serial='{CANARY}\nlang en\n"),
    "a criterion that fails": ("ks", f"# answer: match serial={CANARY}\nlang en\n"),
    "two groups": ("ks", f"# answer: extends {CANARY} {CANARY}\nlang en\n"),
    "another switch": ("ks", f"# answer: template {CANARY}\nlang en\n"),
    "an unset in text": ("ks", f"# answer: unset {CANARY}\nlang en\n"),
    "a Go template": ("ks", f"%post\ndocker ps --format '{{{{.{CANARY}}}}}'\n%end\n"),
    "a filter of text": ("ks", f'rootpw {{{{ mac | default("{CANARY}") | nonsense }}}}\n'),
    "an argument too many": ("ks", f"rootpw secret {CANARY}\n"),
    "an unknown option": ("ks", f"rootpw --iscrypt={CANARY} x\n"),
    "a kickstart quote": ("ks", f"rootpw '{CANARY}\n"),
    "a preseed without a type": ("preseed", f"d-i passwd/root-password {CANARY}\n"),
    "a preseed without an owner": ("preseed", f"root-password {CANARY} x y\n"),
    "a preseed of two words": ("preseed", f"password {CANARY}\n"),
    "a preseed boolean": ("preseed", f"d-i passwd/root-login boolean {CANARY}\n"),
    "an iPXE script without its line": ("ipxe", f"set password {CANARY}\n"),
}
TWO = '<r><u name="S3cretCanary" id="1"/><u name="S3cretCanary" id="2"/></r>'


def key_of(kind: Kind, extension: str) -> Key:
    return Key(kind, "" if kind is Kind.DEFAULT else "m1234", extension)


def everything_said(kind: Kind, extension: str, text: str) -> Iterator[str]:
    """Each sentence about a set of one document: problems, reasons, findings, notes, reasoning."""
    family = FORMATS[extension].family.name
    documents = [RawDocument(key_of(kind, extension), text)]
    documents.append(RawDocument(Key(Kind.GROUP, "base", extension), BASE[family]))
    if family == "xml":
        documents.append(RawDocument(Key(Kind.GROUP, "two", extension), TWO))
    catalogue = Catalogue().changed(documents)
    yield from load_problems(catalogue)
    report = check(catalogue, Tools.none())
    yield from (*report.problems, *report.notes)
    for target in ("mac=m1234", "mac=m1234&serial=7&nic=1"):
        facts = Facts(Request(f"/{extension}", target))
        yield from reasoning(catalogue, facts).lines()
        try:
            answer = resolve(catalogue, facts, (extension,))
        except AnswerError as error:
            yield error.reason
            yield with_hints(error, facts)
        else:
            verdict = validate(answer.body.decode(), extension, tools=Tools.none())
            yield from map(str, (*verdict.findings, *verdict.warnings, *verdict.notes))


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize(("extension", "text"), BROKEN.values(), ids=BROKEN)
def test_a_broken_document_never_shows_its_secret(kind: Kind, extension: str, text: str) -> None:
    assert CANARY in text
    said = list(everything_said(kind, extension, text))
    assert [sentence for sentence in said if CANARY.lower() in sentence.lower()] == []


def test_each_case_is_really_broken() -> None:
    """Else its canary would have no occasion to show."""
    silent = [
        name
        for name, (extension, text) in BROKEN.items()
        if len([said for kind in Kind for said in everything_said(kind, extension, text) if "m1234" in said]) == 0
    ]
    assert silent == []


def test_neither_the_answer_nor_the_log_shows_it(serving: Callable[..., Service]) -> None:
    files = {f"m{number}.{extension}": text for number, (extension, text) in enumerate(BROKEN.values(), 1000)}
    service = serving(files)
    for number, (extension, _) in enumerate(BROKEN.values(), 1000):
        reply = service.get(f"/{extension}?mac=m{number}")
        assert reply.status == 200 or CANARY.lower() not in reply.text.lower()
    service.stop()
    assert [line for line in service.log if CANARY.lower() in line.lower()] == []
    assert len(service.log) > len(BROKEN)


# --- sentences are short, whatever the documents hold ---------------------------------------------------------------

LONGEST = 4_000


def said_of(documents: list[tuple[Kind, str, str, str]]) -> list[str]:
    catalogue = Catalogue().changed(
        RawDocument(Key(kind, name, extension), text) for kind, name, extension, text in documents
    )
    said = load_problems(catalogue)
    try:
        resolve(catalogue, Facts(Request("/", "x=m1234")))
    except AnswerError as error:
        said.append(error.reason)
    return said


def test_a_long_cycle_is_named_by_its_first_groups_and_their_number() -> None:
    count = 2_000
    groups = [(Kind.GROUP, f"g{n:04}", "toml", f'extends = "g{(n + 1) % count:04}"\n') for n in range(count)]
    machine = (Kind.MACHINE, "m1234", "toml", 'extends = "g0000"\n')
    (problem, reason) = said_of([*groups, machine])
    assert "extends more groups" in reason  # which is found first, by a walk that ends there
    assert problem.startswith('group "g0000" (toml): is in a cycle of extends: g0000 -> g0001 -> ')
    assert problem.endswith(" more -> g0000")
    assert len(problem) < 700


def test_a_short_cycle_is_listed_whole() -> None:
    groups = [(Kind.GROUP, f"group-{n}", "toml", f'extends = "group-{(n + 1) % 20}"\n') for n in range(20)]
    (problem, *_) = said_of(groups)
    assert all(f"group-{n} " in problem for n in range(20))


MANY = {
    "directives": ("ks", "# answer: nonsense\n" * 26_000),
    "placeholders": ("ks", "{{ a b }}\n" * 26_000),
    "placeholders of one value": ("json", '{"a": "' + "{{ a b }}" * 20_000 + '"}'),
    "members": ("toml", "members = [" + "1, " * 20_000 + "]\n"),
    "attributes of answer-meta": ("xml", "<r><answer-meta " + " ".join(f'a{n}=""' for n in range(5_000)) + "/></r>"),
    "a long label": ("ks", "# answer: match " + "x" * 100_000 + "=--\n"),
    "a long key": ("toml", "x" * 100_000 + " = \n"),
    "a long fact": ("ks", "{{ " + "x" * 100_000 + " }}\n"),
    "a long element": ("xml", "<r><answer-meta><" + "x" * 100_000 + "/></answer-meta></r>"),
}


@pytest.mark.parametrize(("extension", "text"), MANY.values(), ids=MANY)
def test_what_is_wrong_by_the_thousand_is_told_in_short(extension: str, text: str) -> None:
    for kind in Kind:
        said = said_of([(kind, "" if kind is Kind.DEFAULT else "m1234", extension, text)])
        assert 0 < len(said) <= 12
        assert max(map(len, said)) < 800
        assert sum(map(len, said)) < LONGEST


def test_of_many_faults_the_number_is_told() -> None:
    said = said_of([(Kind.MACHINE, "m1234", "ks", "# answer: nonsense\n" * 10_000)])
    assert 'machine "m1234" (ks): and 9,990 more problems like these' in said


def test_of_many_findings_the_number_is_told() -> None:
    verdict = validate("[global]\n" + "".join(f"key{n} = 1\n" for n in range(5_000)), "toml", tools=Tools.none())
    assert len(verdict.findings) == 21
    assert "more findings" in verdict.findings[-1].message


def test_many_documents_of_one_name_are_listed_in_short() -> None:
    names = {"-".join("m1234"[:n]) + "m1234"[n:] for n in range(5)} | {f"m.{'-' * n}1234" for n in range(100)}
    said = said_of([(Kind.MACHINE, name, "toml", "a = 1\n") for name in names])
    assert "documents for one identity" in said[0]
    assert max(map(len, said)) < 800
