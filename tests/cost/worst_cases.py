"""The worst documents and requests of a size: what an author of documents, or a client, could send to cost the most.

One table, `CASES`: a name and a function from a size to a `Case`. The size is about that of its largest document or of
its request, in bytes. ``test_growth.py`` compares the cost at one size and at four times it; ``scripts/torture cost``
sends them at full size to the running program.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from answerd.documents import Key, RawDocument
from answerd.facts import Request
from answerd.identity import Kind

MACHINE = "m0000"
"""The machine that every case asks for."""


class Written(NamedTuple):
    """One document of a case."""

    kind: Kind
    identifier: str
    extension: str
    text: str

    @property
    def raw(self) -> RawDocument:
        return RawDocument(Key(self.kind, self.identifier, self.extension), self.text)


@dataclass(frozen=True)
class Case:
    """Documents in the order in which they may be written, and the request that meets them."""

    documents: tuple[Written, ...] = ()
    request: Request = field(default_factory=lambda: Request(query=f"mac={MACHINE}"))


def machine(extension: str, text: str) -> Case:
    """A machine's document by itself."""
    return Case((Written(Kind.MACHINE, MACHINE, extension, text),))


def group(extension: str, text: str) -> Case:
    """A group's document by itself."""
    return Case((Written(Kind.GROUP, "g", extension, text),))


def stack(extension: str, lower: str, upper: str) -> Case:
    """A machine's document over a group's, which it names."""
    return Case((Written(Kind.GROUP, "g", extension, lower), Written(Kind.MACHINE, MACHINE, extension, upper)))


def asked(request: Request, *documents: Written) -> Case:
    """A request, with a default for who is not claimed."""
    return Case((*documents, Written(Kind.DEFAULT, "", "ks", "lang en\n")), request)


def again(unit: str, size: int, before: str = "", after: str = "") -> str:
    """A text of about ``size`` characters that repeats ``unit``."""
    return before + unit * max(1, (size - len(before) - len(after)) // len(unit)) + after


def counted(unit: str, size: int, before: str = "", after: str = "") -> str:
    """A text of about ``size`` characters that repeats ``unit`` with a number in place of ``#``."""
    return before + "".join(unit.replace("#", f"{at:05}") for at in range(max(1, size // (len(unit) + 4)))) + after


TEXT: dict[str, Callable[[int], Case]] = {
    "text: braces on one line": lambda n: machine("ks", again("{{", n)),
    "text: a faulty placeholder after the other": lambda n: machine("ks", counted("{{!#}}", n)),
    "text: placeholders that stop within": lambda n: machine("ks", again("{{ a| ", n)),
    "text: quotes that do not end": lambda n: machine("ks", again('{{ a|default("', n)),
    "text: words in single braces": lambda n: machine("ks", again("{mac}\n", 4 * n)),
    "text: a long label": lambda n: machine("ks", again("a.", n, before="{{ ", after="a }}")),
    "text: many placeholders": lambda n: machine("ks", again("{{mac}}", n)),
    "text: many labels": lambda n: machine("ks", counted('{{a#|default("")}}', n)),
    "text: filters in a row": lambda n: machine("ks", again("|lower", n, before="{{mac", after="}}")),
    "text: member lines": lambda n: group("ks", counted("#answer:member m#\n", n)),
    "text: match lines": lambda n: group("ks", counted("#answer:match a#=b\n", n)),
    "text: one match line": lambda n: group("ks", counted("a=b# ", n, before="#answer:match ")),
    "text: stars in a pattern": lambda n: group("ks", again("*a", n, before="#answer:match a=")),
    "text: patterns with stars": lambda n: group("ks", counted("a=*a*a*# ", n, before="#answer:match ")),
    "text: bad directives": lambda n: machine("ks", again("#answer:x\n", n)),
    "text: a long comment": lambda n: machine("ks", again("# a\n", n)),
    "text: layers": lambda n: stack("ks", again("a\n", n), again("b\n", n, before="# answer: extends g\n")),
}

JINJA = "# answer: template jinja\n"
TEXT |= {
    "jinja: many tags": lambda n: machine("ks", again("{{ mac | lower }}\n", n, before=JINJA)),
    "jinja: many labels": lambda n: machine("ks", counted('{{ a# | default("") }}\n', n, before=JINJA)),
    "jinja: many conditions": lambda n: machine("ks", again("{% if mac %}\nx\n{% endif %}\n", n, before=JINJA)),
    "jinja: a long text": lambda n: machine("ks", again("a line\n", n, before=JINJA + "{{ mac }}\n")),
    "jinja: braces on one line": lambda n: machine("ks", again("{", n, before=JINJA + "{{ mac }}\n")),
    "jinja: control comments before an interpreter": lambda n: machine(
        "ks", again("#answer:template jinja\n", 8 * n, after="#!ipxe\n{{ mac }}\n")
    ),
    "jinja: control comments between lines": lambda n: machine(
        "ks", again("#answer:template jinja\nx\n", 8 * n, after="{{ mac }}\n")
    ),
    "jinja: a list": lambda n: machine("ks", again("1,", n, before=JINJA + "{{ [", after="] | length }}")),
    "jinja: parts of a text": lambda n: machine("ks", again(" ~ mac", n, before=JINJA + "{{ mac", after=" }}")),
    "jinja: a loop of many turns": lambda n: machine(
        "ks", JINJA + f"{{% for i in range({n // 4}) %}}{{{{ i }}}}\n{{% endfor %}}"
    ),
    "jinja: a macro that is called": lambda n: machine(
        "ks", again("{{ m(1) }}\n", n, before=JINJA + "{% macro m(x) %}{{ x }}{% endmacro %}")
    ),
}

TOML: dict[str, Callable[[int], Case]] = {
    "toml: keys": lambda n: machine("toml", counted("k#=1\n", n)),
    "toml: dotted keys": lambda n: machine("toml", counted("a.b.c.d.e.f.g.k#=1\n", n)),
    "toml: a dotted key": lambda n: machine("toml", again("a.", n, after="a=1\n")),
    "toml: a dotted key with blanks": lambda n: machine("toml", again(" a .", n, before="[", after=" a ]\n")),
    "toml: dotted texts on a line": lambda n: machine(
        "toml", again('"' + "a." * 900 + '",', n, before="a=[", after="]\n")
    ),
    "toml: blanks before dots": lambda n: machine("toml", again(" ", n - 2_000, before="# a", after="." * 2_000)),
    "toml: headers": lambda n: machine("toml", counted("[t#]\n", n)),
    "toml: tables in an array": lambda n: machine("toml", again("[[a]]\n", n)),
    "toml: inline tables": lambda n: machine(
        "toml", counted("{a=#},", n, before="a=[", after="]\n").replace("=0", "=1")
    ),
    "toml: an array on many lines": lambda n: machine("toml", again("[1],\n", n, before="a=[\n", after="]\n")),
    "toml: quotes in a long string": lambda n: machine("toml", again('""x\n', n, before='a="""', after='"""\n')),
    "toml: a long number": lambda n: machine("toml", again("9", n, before="a=0x", after="\n")),
    "toml: numbers": lambda n: machine("toml", again("1,", n, before="a=[", after="]\n")),
    "toml: a long key over many tables": lambda n: machine(
        "toml", again("{},", n // 2, before=f'"{"k" * (n // 2)}"=[', after="]\n") + "# {{\n" + 'x="{{mac}}"\n'
    ),
    "toml: escapes": lambda n: machine("toml", again("\\u00e9", n, before='a="{{mac}}', after='"\n')),
    "text: filters that grow a value": lambda n: machine(
        "ks", again("{{mac" + '|replace("0","00")|replace("00","0000")' * 15 + "|slug}}\n", n)
    ),
    "toml: append to arrays": lambda n: stack(
        "toml",
        counted("k#=[1]\n", n),
        counted('"k#",', n // 2, before='extends="g"\nappend=[', after="]\n") + counted("k#=[2]\n", n // 2),
    ),
    "toml: unset what is there": lambda n: stack(
        "toml", counted("k#=1\n", n), counted('"k#",', n, before='extends="g"\nunset=[', after="]\n")
    ),
    "toml: unset within tables": lambda n: stack(
        "toml", counted("[k#]\na=1\n", n), counted('"k#.a",', n, before='extends="g"\nunset=[', after="]\n")
    ),
    "toml: keys over keys": lambda n: stack("toml", counted("k#=1\n", n), counted("k#=2\n", n, before='extends="g"\n')),
    "toml: members": lambda n: group("toml", counted('"m#",', n, before="members=[", after="]\n")),
    "toml: patterns": lambda n: group("toml", counted('"*a*a*#",', n, before="[match]\nserial=[", after="]\n")),
    "toml: criteria": lambda n: group("toml", counted('k#="a"\n', n, before="[match]\n")),
    "toml: secrets on one line": lambda n: machine("toml", counted('"secret#",', n, before="passwords=[", after="]\n")),
}

YAML: dict[str, Callable[[int], Case]] = {
    "yaml: keys": lambda n: machine("yaml", counted("k#: 1\n", n)),
    "yaml: a list": lambda n: machine("yaml", again("- a\n", n)),
    "yaml: a list in brackets": lambda n: machine("yaml", again("a,", n, before="[", after="]\n")),
    "yaml: brackets that do not end": lambda n: machine("yaml", again("[", n)),
    "yaml: anchors": lambda n: machine("yaml", counted("- &a# x\n", n)),
    "yaml: aliases": lambda n: machine("yaml", again("- *a\n", n, before="- &a x\n")),
    "yaml: aliases of aliases": lambda n: machine(
        "yaml", counted("a#: &b# {<<: *b, k#: 1}\n", min(n, 4_000), "b: &b {}\n")
    ),
    "yaml: a merge of many": lambda n: machine(
        "yaml", again("*b,", n, before="b: &b {x: 1}\nc:\n  <<: [", after="]\n")
    ),
    "yaml: tag directives": lambda n: machine("yaml", counted("%TAG !a#! x\n", n, after="--- a\n")),
    "yaml: a text on many lines": lambda n: machine("yaml", again("b\n  ", n, before="a: ")),
    "yaml: a block": lambda n: machine("yaml", again("  {{mac}}\n", n, before="a: |\n")),
    "yaml: escapes": lambda n: machine("yaml", again("\\u0041", n, before='a: "', after='"\n')),
    "yaml: lists for keys": lambda n: machine("yaml", counted("? [a#]\n: 1\n", n)),
    "yaml: a key twice": lambda n: machine("yaml", counted("k#: 1\n", n, after="k00000: 1\n")),
    "yaml: unset what is there": lambda n: stack(
        "yaml", counted("k#: 1\n", n), counted("k#,", n, before="extends: g\nunset: [", after="]\n")
    ),
    "yaml: documents over documents": lambda n: stack(
        "yaml",
        counted("---\nkind: a\napiVersion: v\nname: a#\n", 8 * n),
        counted("---\nkind: a\napiVersion: v\nname: a#\n", 8 * n, before="extends: g\n"),
    ),
    "yaml: keys over keys": lambda n: stack(
        "yaml", counted("k#: 1\n", n), counted("k#: 2\n", n, before="extends: g\n")
    ),
}

JSON: dict[str, Callable[[int], Case]] = {
    "json: keys": lambda n: machine("json", counted('"k#":1,', n, before="{", after='"z":"{{mac}}"}')),
    "json: a key twice": lambda n: machine("json", counted('"k#":1,', n, before="{", after='"k00000":1}')),
    "json: numbers": lambda n: machine("json", again("1,", n, before='["{{mac}}",', after="1]")),
    "json: brackets that do not end": lambda n: machine("json", again("[", n)),
    "json: placeholders": lambda n: machine("json", again('"{{mac}}",', n, before="[", after="1]")),
    "json: unset what is there": lambda n: stack(
        "json",
        counted('"k#":1,', n, before="{", after='"z":1}'),
        counted('"k#",', n, before='{"extends":"g","unset":[', after='"y"]}'),
    ),
    "json: keys over keys": lambda n: stack(
        "json",
        counted('"k#":1,', n, before="{", after='"z":1}'),
        counted('"k#":2,', n, before='{"extends":"g",', after='"z":1}'),
    ),
}

META = '<r><answer-meta extends="g"/>'

XML: dict[str, Callable[[int], Case]] = {
    "xml: siblings": lambda n: machine("xml", again("<a/>", n, before='<r m="{{mac}}">', after="</r>")),
    "xml: tags that do not end": lambda n: machine("xml", again("<a>", n)),
    "xml: attributes": lambda n: machine("xml", counted(' a#="1"', n, before='<r m="{{mac}}"', after="/>")),
    "xml: namespaces": lambda n: machine("xml", counted(' xmlns:a#="u"', n, before='<r m="{{mac}}"', after="/>")),
    "xml: prefixes that mean something else below": lambda n: stack(
        "xml",
        counted(' xmlns:p#="l"', 4 * n, "<r", "/>"),
        counted(' xmlns:p#="u#" p#:a="1"', 4 * n, "<r", '><answer-meta extends="g"/></r>'),
    ),
    "xml: declared attributes": lambda n: machine(
        "xml", counted(' a# CDATA ""', n, "<!DOCTYPE r [<!ATTLIST r", ">]><r/>")
    ),
    "xml: instructions before the root": lambda n: machine("xml", again("<?a?>", n, after='<r m="{{mac}}"/>')),
    "xml: comments before the root": lambda n: machine("xml", again("<!--a-->", n, after='<r m="{{mac}}"/>')),
    "xml: text and elements": lambda n: machine("xml", again("x<a/>", n, before='<r m="{{mac}}">', after="</r>")),
    "xml: an entity that is not there": lambda n: machine("xml", again("<a/>\n", n, before="<r>", after="&b;</r>")),
    "xml: ids over ids": lambda n: stack(
        "xml", counted('<a id="#"/>', n, "<r>", "</r>"), counted('<a id="#" k="1"/>', n, META, "</r>")
    ),
    "xml: ids that pair with many": lambda n: stack(
        "xml", counted('<a id="x" name="n#"/>', n, "<r>", "</r>"), counted('<a id="x"/><a id="y"/>', n, META, "</r>")
    ),
    "xml: names over names": lambda n: stack(
        "xml", counted("<n#/>", n, "<r>", "</r>"), counted("<n#>1</n#>", n, META, "</r>")
    ),
    "xml: below a long id": lambda n: stack(
        "xml",
        counted("<b#><c/></b#>", n // 2, f'<r><a id="{"i" * (n // 2)}">', "</a></r>"),
        counted("<b#><c>1</c></b#>", n // 2, f'{META}<a id="{"i" * (n // 2)}">', "</a></r>"),
    ),
    "xml: a list over a list": lambda n: stack(
        "xml", again("<a>1</a>", n, "<r>", "</r>"), again("<a>2</a>", n, META, "</r>")
    ),
    "xml: interleaved lists": lambda n: stack(
        "xml", counted("<a/><n#/>", n, "<r>", "</r>"), counted("<a>1</a><m#/>", n, META, "</r>")
    ),
    "xml: unset what is there": lambda n: stack(
        "xml",
        counted("<k#/>", n, "<r>", "</r>"),
        counted("<unset>k#</unset>", n, '<r><answer-meta extends="g">', "</answer-meta></r>"),
    ),
    "xml: unset by ids": lambda n: stack(
        "xml",
        counted('<a id="#"><b/></a>', n, "<r>", "</r>"),
        counted("<unset>a[@id='#']/b</unset>", n, '<r><answer-meta extends="g">', "</answer-meta></r>"),
    ),
    "xml: unset below many": lambda n: stack(
        "xml",
        again("<a><c/></a>", n, "<r>", "</r>"),
        counted("<unset>a/b#</unset>", n, '<r><answer-meta extends="g">', "</answer-meta></r>"),
    ),
    "xml: members": lambda n: group("xml", counted("<member>m#</member>", n, "<r><answer-meta>", "</answer-meta></r>")),
    "xml: criteria": lambda n: group("xml", counted('<match a="#"/>', n, "<r><answer-meta>", "</answer-meta></r>")),
}


def chain(count: int, *, closed: bool = False) -> Case:
    """A machine over so many groups in a row; ``closed``: the last extends the first."""
    after = [f"g{at + 1:05}" for at in range(count - 1)] + (["g00000"] if closed else [])
    groups = [
        Written(
            Kind.GROUP, f"g{at:05}", "toml", f'extends = "{after[at]}"\nk{at} = 1\n' if at < len(after) else "z = 1\n"
        )
        for at in range(count)
    ]
    return Case((*reversed(groups), Written(Kind.MACHINE, MACHINE, "toml", 'extends = "g00000"\n')))


def groups(count: int, text: str) -> Case:
    """So many groups, with a number in place of ``#`` in their texts."""
    return Case(tuple(Written(Kind.GROUP, f"g{at:05}", "toml", text.replace("#", f"{at:05}")) for at in range(count)))


SETS: dict[str, Callable[[int], Case]] = {
    "set: a chain of groups": lambda n: chain(n // 30),
    "set: a cycle of groups": lambda n: chain(n // 30, closed=True),
    "set: machines over a cycle": lambda n: Case(
        (
            *chain(n // 60, closed=True).documents,
            *(Written(Kind.MACHINE, f"x{at}", "toml", f'extends="g{at:05}"\n') for at in range(n // 60)),
        )
    ),
    "set: groups with one member": lambda n: groups(n // 30, 'members = ["m0000"]\nk# = 1\n'),
    "set: groups with one pattern": lambda n: groups(n // 30, 'match = { mac = "m0000" }\nk# = 1\n'),
    "set: groups with a label each": lambda n: groups(n // 30, 'match = { l# = "m0000" }\nk# = 1\n'),
    "set: names of one identity": lambda n: Case(
        tuple(Written(Kind.MACHINE, "-" * at + MACHINE, "toml", "a = 1\n") for at in range(min(190, n // 30)))
    ),
}


def json_body(value: object) -> Request:
    """A request with a JSON body."""
    return Request(body=json.dumps(value, separators=(",", ":")).encode())


def form(unit: str, n: int) -> Request:
    return Request(query=counted(unit, n).rstrip("&"))


REQUESTS: dict[str, Callable[[int], Case]] = {
    "request: a path of segments": lambda n: asked(Request(path="/" + counted("s#/", n))),
    "request: query labels": lambda n: asked(form("k#=v#&", n)),
    "request: headers": lambda n: asked(
        Request(
            headers=[
                ("x-rhn-provisioning-mac-0", f"eth{at} 52:54:00:00:{at // 256:02x}:{at % 256:02x}")
                for at in range(n // 60)
            ]
        )
    ),
    "request: a JSON list": lambda n: asked(json_body([f"v{at:05}" for at in range(n // 9)])),
    "request: JSON keys": lambda n: asked(json_body({f"k{at:05}": f"v{at:05}" for at in range(n // 18)})),
    "request: deep JSON": lambda n: asked(Request(body=again('{"a":', n).encode())),
    "request: long JSON keys": lambda n: asked(
        Request(body=(f'{{"{"k" * (n // 2)}":[' + "1," * (n // 4) + "1]}").encode())
    ),
    "request: values for a selector": lambda n: asked(
        json_body({"serial": [f"7a0ab{at:05}b" for at in range(n // 14)]}),
        *(Written(Kind.GROUP, f"g{at}", "ks", f"# answer: match serial=*7ab{at:03}*\n") for at in range(50)),
    ),
    "request: MAC addresses": lambda n: asked(Request(body=again("98:fa:9b:50:d8:10 ", n).encode())),
    "request: a form": lambda n: asked(Request(body=counted("k#=v#&", n).encode())),
    "request: a long User-Agent": lambda n: asked(
        Request(headers=[("user-agent", again("a", n))]),
        Written(Kind.GROUP, "g", "ks", "# answer: match user_agent=*a*a*a*b*\n"),
    ),
}

ALL_VALUES = json.dumps({"mac": MACHINE, "a": [f"v{at:05}" for at in range(1_000)]}).encode()
ADDRESSES = json.dumps({"mac": MACHINE, "a": [f"10.{at // 250}.{at % 250}.1/24" for at in range(1_000)]}).encode()
LONG_VALUE = json.dumps({"mac": MACHINE, "a": "v" * 1_024}).encode()


def filled(extension: str, text: str, body: bytes = ALL_VALUES) -> Case:
    """A machine's document, and a request with a thousand values for its placeholders."""
    return Case((Written(Kind.MACHINE, MACHINE, extension, text),), Request(body=body))


FILLED: dict[str, Callable[[int], Case]] = {
    "filled: one join again and again": lambda n: filled("ks", again("{{a|join(',')|slug}}\n", n)),
    "filled: many filters of all values": lambda n: filled(
        "ks", counted("{{a" + "|lower" * 29 + "|join('#')|slug}}\n", n)
    ),
    "filled: values that grow": lambda n: filled(
        "json", json.dumps({f"k{at}": "{{ a | replace('v', '" + "x" * 500 + "') | list }}" for at in range(n // 550)})
    ),
    "filled: one value in a long text": lambda n: filled("yaml", again(" {{ a }}\n", n, "a: >-\n"), LONG_VALUE),
    "filled: filters of a long value": lambda n: filled("ks", again("{{a" + "|lower" * 32 + "}}\n", n), LONG_VALUE),
}
"""Documents of placeholders, over many or long values."""

CASES = TEXT | TOML | YAML | JSON | XML | FILLED | SETS | REQUESTS
"""Every case by its name."""
