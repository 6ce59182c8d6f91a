"""Texts that Jinja fills: what they may use, what they may not, and what is said of them (docs/templates.md#jinja)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import jinja2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.answers.compose import prepared_answer
from answerd.documents import Document, Key, RawDocument
from answerd.errors import AnswerTooLarge, CannotFill
from answerd.formats import filters, jinja, jinja_words
from answerd.identity import Kind
from answerd.long_work import give_way_by
from tests.support.lookups import Said
from tests.support.pages import page, rows
from tests.support.thorough import examples

FACTS: dict[str, Sequence[str]] = {
    "role": ["gpu"],
    "mac": ["52:54:00:00:00:01", "52-54-00-00-00-02"],
    "disks": ["sda sdb"],
    "cpus": ["8"],
    "dhcp": ["no"],
    "dmi.system.serial": ["S1"],
    "addr": ["10.0.0.5/24"],
    "loop": ["a label"],
    "empty": [""],
    "machine": ["web-01"],
    "group": ["rhel"],
    "state": ["new"],
    "report": ["http://h/report/1"],
    "secret.root": ["hunter2 hunter2"],
}


def document(text: str, extension: str = "ks") -> Document:
    raw = RawDocument(Key(Kind.GROUP, "g", extension), f"# answer: template jinja\n{text}")
    return Document(raw, has_states=True)


def filled(text: str, facts: Mapping[str, Sequence[str]] = FACTS) -> str:
    made = document(text)
    assert made.problems == ()
    return prepared_answer((made,), may_be_blank=True).fill(Said(facts)).decode()


def refusal(text: str, facts: Mapping[str, Sequence[str]] = FACTS) -> str:
    with pytest.raises(CannotFill) as caught:
        filled(text, facts)
    return caught.value.reason


# --- what they make ---------------------------------------------------------------------------------------------------

MADE = {
    "a label": ("{{ role }}", "gpu"),
    "a label in other letter case": ("{{ Role }}", "gpu"),
    "a label whose name has dots": ('{{ facts["dmi.system.serial"] }}', "S1"),
    "a label whose name is one of Jinja's": ('{{ facts["loop"] }}', "a label"),
    "the labels of the service": (
        "{{ machine }} {{ group }} {{ state }} {{ report }}",
        "web-01 rhel new http://h/report/1",
    ),
    "a secret": ('{{ secret["root"] }}', "hunter2 hunter2"),
    "a secret, with a dot": ("{{ secret.root }}", "hunter2 hunter2"),
    "all values of a label": (
        '{% for m in values("mac") %}{{ loop.index }}={{ m | colons }};{% endfor %}',
        "1=52:54:00:00:00:01;2=52:54:00:00:00:02;",
    ),
    "no values of a label": ('{% for m in values("nic") %}{{ m }}{% else %}none{% endfor %}', "none"),
    "a text that is cut": ('{% for d in disks | split(" ") %}{{ d }}{{ "," if not loop.last }}{% endfor %}', "sda,sdb"),
    "a condition": ('{% if role == "gpu" %}yes{% elif role %}no{% endif %}', "yes"),
    "a condition on a cell": ("{% if dhcp | bool %}dhcp{% else %}static{% endif %}", "static"),
    "a label that is not there, tested": ("{% if rack is defined %}{{ rack }}{% else %}no rack{% endif %}", "no rack"),
    "a label that is not there, with a default": ('{{ rack | slug | default("r1") }}', "r1"),
    "a default that is another label": ("{{ rack | default(role) }}", "gpu"),
    "a default for an empty text": ('{{ empty | default("x", true) }}', "x"),
    "a calculation": ("{{ (cpus | number) * 2 + 1 }} {{ 7 // 2 }} {{ 2 ** 10 }}", "17 3 1024"),
    "a variable": ("{% set n = 2 %}{{ n * 3 }}", "6"),
    "a block that is a variable": ("{% set x | upper %}a{{ role }}{% endset %}{{ x }}", "AGPU"),
    "a variable that a loop changes": (
        "{% set n = namespace(sum=0) %}{% for i in range(4) %}{% set n.sum = n.sum + i %}{% endfor %}{{ n.sum }}",
        "6",
    ),
    "a macro": (
        '{% macro part(d, size=1) %}part {{ d }} {{ size }};{% endmacro %}{{ part("a") }}{{ part("b", size=2) }}',
        "part a 1;part b 2;",
    ),
    "texts put together": ('{{ "a" ~ 1 ~ role }} {{ "a" + "b" }} {{ "-" * 3 }}', "a1gpu ab ---"),
    "a list": (
        '{% set l = ["a", "b"] + ["c"] %}{{ l | join("-") }} {{ l[1] }} {{ l[1:] | last }} {{ l | length }}',
        "a-b-c b c 3",
    ),
    "a map": ('{% for k, v in {"a": 1, "b": 2}.items() %}{{ k }}{{ v }}{% endfor %}', "a1b2"),
    "methods of a text": (
        '{{ "a,b".split(",") | join("+") }} {{ role.upper() }} {{ role.startswith("g") }}',
        "a+b GPU true",
    ),
    "a format": ('{{ "%02d" % 3 }} {{ "%s-%s" | format("a", "b") }}', "03 a-b"),
    "tests": (
        '{{ "sda" in disks }} {{ 4 is even }} {{ role in ["gpu", "web"] }} {{ role is string }}',
        "true true true true",
    ),
    "filters of Jinja": (
        '{{ [3, 1, 2] | sort | join }} {{ ["a", "a"] | unique | join }} {{ " x " | trim }} {{ [1, 2] | sum }}',
        "123 a x 3",
    ),
    "a filter of each item": ('{{ ["a", "b"] | upper | join }} {{ ["a"] | map("upper") | join }}', "AB A"),
    "items that a test selects": (
        '{{ [1, 5, 9] | select("gt", 4) | join(" ") }} {{ [1, 2] | reject("odd") | join }}',
        "5 9 2",
    ),
    "our filters before Jinja's": (
        '{{ "abcdef" | truncate(3) }} {{ role | first }} {{ role | list | length }}',
        "abc gpu 1",
    ),
    "addresses": ("{{ addr | host }} {{ addr | netmask }}", "10.0.0.5 255.255.255.0"),
    "values that take turns": ('{% for i in range(3) %}{{ loop.cycle("a", "b") }}{% endfor %}', "aba"),
    "arguments that are a list": ('{{ "%s-%s" | format(*["a", "b"]) }}', "a-b"),
    "arguments that are a map": (
        "{% macro part(d, size=1) %}part {{ d }} {{ size }}{% endmacro %}{{ part(*['a'], **{'size': 2}) }}",
        "part a 2",
    ),
    "a text that is raw": ("{% raw %}{{ x }} {% y %}{% endraw %}", "{{ x }} {% y %}"),
    "what shells write": ("${#x} {# no comment #} ${x} $(y)", "${#x} {# no comment #} ${x} $(y)"),
    "lines of tags leave no line": ("a\n  {% if true %}\n  b\n  {% endif %}\nc\n", "a\n  b\nc\n"),
    "no newline at the end": ("{{ role }}", "gpu"),
    "line ends of Windows": ("a\r\n{{ role }}\r\n", "a\r\ngpu\r\n"),
}


@pytest.mark.parametrize(("text", "made"), MADE.values(), ids=MADE)
def test_a_text_makes(text: str, made: str) -> None:
    assert filled(text) == made


def test_a_text_without_tags_is_served_as_it_is() -> None:
    made = prepared_answer((document("lang {en}\n%packages\n"),))
    assert made.static == b"lang {en}\n%packages\n"


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "text\n",
                "{{ role }}",
                "{{ role | upper }}",
                "  {% if role == 'gpu' %}\n",
                "{% else %}\n",
                "{% endif %}\n",
                "{% for d in items %}\n",
                "{% endfor %}\n",
                "{% for d in items %}\n{{ loop.index0 }}",  # refused outside of a loop, also where it is not run
                "{% set x = 3 %}",
                "{{ x + 1 }}",
                "{{ d ~ '!' }}",
                "\n",
                "{% for i in range(3) -%}\n",
                "{{ items[0] }}",
                "{{ items | length }}",
                "{{ items | join('-') }}",
                "${#x}",
            ]
        ),
        max_size=12,
    ).map("".join)
)
def test_a_text_makes_what_jinja_itself_makes_of_it(text: str) -> None:
    facts = {"role": ["gpu"]}
    text = "{% set items = ['a', 'b'] %}" + text
    theirs = jinja2.Environment(
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        comment_start_string="\0{#",
        comment_end_string="#}\0",
    )
    try:
        expected = theirs.from_string(text).render(role="gpu")
    except jinja2.TemplateError:
        return
    assert filled(text, facts) == expected


# --- what is wrong with them ------------------------------------------------------------------------------------------

FAULTS = {
    "a tag that is not closed": ("a\n{{ role", 3, "no Jinja"),
    "an unknown tag": ("{% frobnicate %}", 2, "frobnicate"),
    "a loop without an end": ("\n\n{% for x in y %}", 4, "endfor"),
    "an unknown filter": ("{{ mac | bere }}", 2, "did you mean 'bare'"),
    "an unknown filter that no request reaches": ("{% if false %}{{ mac | bere }}{% endif %}", 2, "no filter"),
    "an unknown test": ("{% if mac is definde %}{% endif %}", 2, "did you mean 'defined'"),
    "a statement that is not there": ("{% include 'x' %}", 2, "include"),
    "an import": ("{% from 'x' import y %}", 2, "fromimport"),
    "a block": ("{% block a %}{% endblock %}", 2, "block"),
    "a call": ("{% macro m() %}{% endmacro %}{% call m() %}{% endcall %}", 2, "call"),
    "a recursive loop": ("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", 2, "recursive"),
    "a macro that calls itself": ("{% macro m() %}\n{{ m() }}{% endmacro %}", 3, "before its end"),
    "macros that call each other": (
        "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}",
        2,
        "'b'",
    ),
    "a variable named as a name of the service": ("{% set secret = 1 %}", 2, "secret is a name"),
    "a loop over a name of the service": ("{% for report in [1] %}{% endfor %}", 2, "report is a name"),
    "secrets as a whole": ("{% for s in secret %}{% endfor %}", 2, 'secret["name"]'),
    "a loop's own name outside of one": ("{{ loop.index }}", 2, "no meaning"),
    "the text itself": ("{{ self }}", 2, "no meaning"),
    "a hidden name of a namespace": ("{% set n = namespace() %}{% set n._x = 1 %}", 2, "begins with _"),
    "an expression that is too deep": ("{{ " + "(" * 5_000 + " }}", 1, "too deep"),
    "an expression of too many parts": ("{{ " + " + ".join("1" * 50) + " }}", 2, "levels"),
    "statements that are too deep": ("{% if 1 %}" * 13 + "{% endif %}" * 13, 2, "statements"),
    "an integer that Python does not read": ("\n{{ " + "9" * 5_000 + " }}", 3, "256 bits"),
    "a large integer": ("\n{{ 0x" + "f" * 65 + " }}", 3, "256 bits"),
    "a fraction that is infinite": ("\n{{ 1e999 }}", 3, "256 bits"),
    "a fraction in the digits of another script": ("{{ 1 }}\n{{ ٣.٥ }}", 3, "digits 0 to 9"),  # noqa: RUF001
    "half of a surrogate pair": (r'{{ "\ud83d" }}', 2, "surrogate"),
    "an argument of a function, twice": ("{{ range(a=1, a=2) }}", 2, "name of another"),
    "an argument of a filter, twice": ("{{ 1 | format(a=1, a=2) }}", 2, "name of another"),
    "a parameter of a macro, twice": ("{% macro m(a, a) %}{% endmacro %}", 2, "name of another"),
    "too many tags": ("{{ a }}" * 1_001, 1, "1,000 tags"),
    "too long a text": ("{{ a }}" + "x" * 70_000, 1, "65,536 characters"),
}


@pytest.mark.parametrize(("text", "line", "words"), FAULTS.values(), ids=FAULTS)
def test_what_a_text_may_not_have_is_a_problem_with_its_line(text: str, line: int, words: str) -> None:
    (problem,) = document(text).problems
    assert words in problem
    if line > 1:
        assert problem.startswith(f"line {line}: ")


def test_the_line_of_a_fault_is_that_of_the_document() -> None:
    raw = RawDocument(
        Key(Kind.GROUP, "g", "ipxe"), "#!ipxe\n# answer: template jinja\na\n# answer: match a=b\n{{ x | y }}\n"
    )
    (problem,) = Document(raw).problems
    assert problem.startswith("line 5: ")


def test_jinja_is_for_the_text_family_alone() -> None:
    for extension, text in (
        ("toml", 'template = "jinja"\n'),
        ("yaml", "template: jinja\n"),
        ("json", '{"template": "jinja"}'),
    ):
        (problem,) = Document(RawDocument(Key(Kind.GROUP, "g", extension), text)).problems
        assert "text family" in problem
    script = "#!/bin/sh\n# answer: template jinja\necho {{ role }}\n"
    (problem,) = Document(RawDocument(Key(Kind.GROUP, "g", "yaml"), script)).problems
    assert "'off' or 'on' in user-data" in problem


REFUSED = {
    "a name that is not there": ("\na\n{{ rack }}", "line 4 of group \"g\" (ks): the request has no fact 'rack'"),
    "a name that is not there in a condition": ("{% if rack %}{% endif %}", "no fact 'rack'"),
    "a name that is not there, compared": ("{% if rack == 'x' %}{% endif %}", "no fact 'rack'"),
    "a label with dots as a name": ("{{ dmi.system.serial }}", 'facts["dmi.system"]'),
    "a filter of what it cannot use": (
        "\n{{ role | bare }}",
        'line 3 of group "g" (ks) has a value that is not a MAC address',
    ),
    "a letter for each turn": ("{% for d in disks %}{% endfor %}", "cut it"),
    "a list as a text": ("{{ [1, 2] }}", "join its items"),
    "a map as a text": ("{{ {} }}", "a map where a text belongs"),
    "none as a text": ("{{ none }}", "none"),
    "a text and a number": ("{{ cpus + 1 }}", "| int"),
    "a division by zero": ("{{ 1 / 0 }}", "by zero"),
    "what a filter does not take": ("{{ role | round }}", "does not take"),
    "a secret with a strange name": ("{{ secret['../x'] }}", "names no secret"),
    "an item that is not there": ("{{ [1][3] }}", "which has none"),
    "a name in what is no namespace": ("\n{% set cpus.x = 1 %}", 'group "g" (ks) sets a name'),
    "a negative power": ("{{ 2 ** -1 }}", "negative"),
    "a root of a negative number": ("{{ (-8) ** 0.5 }}", "root"),
    "a loop that takes turns with nothing": ("{% for i in [1] %}{{ loop.cycle() }}{% endfor %}", "does not take"),
}


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_filled_is_an_error_that_says_why(text: str, words: str) -> None:
    assert words in refusal(text)


def test_a_value_that_cannot_be_looked_up_names_the_line() -> None:
    def first(label: str) -> str:
        raise CannotFill("the secret 'root' is missing here", label, missing=False, general="it is missing")

    made = document("\n{% if true %}\n{{ secret.root }}\n{% endif %}\n")
    with pytest.raises(CannotFill) as caught:
        prepared_answer((made,), may_be_blank=True).fill(Said(first))
    error = caught.value
    assert error.reason == "line 4 of group \"g\" (ks): the secret 'root' is missing here"
    assert error.general == 'line 4 of group "g" (ks): it is missing'
    assert (error.label, error.missing) == ("secret.root", False)


def test_no_error_quotes_a_value() -> None:
    for text in (
        "{{ x | int(base=2) + 'a' }}",
        "{{ x | float / 0 }}",
        "{{ x | number }}",
        "{{ x.y }}",
        "{{ nope[x] }}",
        "{{ facts[x] }}",
        "{{ facts[x].y }}",
        "{{ facts[x | lower] | upper }}",
        "{% if facts[x] == 'a' %}{% endif %}",
        "{{ namespace(a=1)[x] }}",
        "{{ x[5000] }}",
        "{{ [x][x] }}",
        "{{ {'a': 1}[x] }}",
        "{{ x | format(1) }}",
        "{% for a in x %}{% endfor %}",
        "{{ x() }}",
        "{{ x | bare }}",
        "{{ x | host }}",
        "{{ -x }}",
        "{{ x < 1 }}",
        "{{ x in 5 }}",
        "{{ x % 5 }}",
    ):
        reason = refusal(text, {"x": ["pass%word"]})
        assert "pass" not in reason, text


def test_a_text_that_is_shown_names_no_fact_whose_name_is_worked_out() -> None:
    made = document(
        "{{ facts[x] }} {{ facts['y'] }} {{ facts[x ~ 'z'] | default('none') }} {{ secret['of-' ~ rack] }}\n"
    )
    (slot,) = prepared_answer((made,), may_be_blank=True).slots
    shown = slot.as_written(Said({"x": ["hunter2"], "rack": ["r1"]}))
    assert shown == "{{ facts[…] }} {{ y }} none {{ secret.of-r1 }}\n"


@pytest.mark.parametrize("value", ["a\nb", "a\0b", "a\x1bb", "a\ud800b"])
def test_a_value_that_no_answer_may_take_is_refused(value: str) -> None:
    for text in ("{{ x }}", "{{ x | slug }}", "{{ values('x') | join }}", "{{ facts['x'] }}"):
        assert "'x'" in refusal(text, {"x": [value]})


# --- what they may not reach, and what they may not take ------------------------------------------------------------

ESCAPES = [
    "{{ ''.__class__ }}",
    "{{ ''['__class__'] }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ [].__doc__ }}",
    "{{ facts.__class__ }}",
    "{{ secret.__class__ }}",
    "{{ values.__globals__ }}",
    "{{ range.__self__ }}",
    "{{ namespace.__init__ }}",
    "{{ namespace(a=1)._Namespace__attrs }}",
    "{{ namespace(a=1)['__class__'] }}",
    "{% for x in [1] %}{{ loop._iterable }}{% endfor %}",
    "{% for x in [1] %}{{ loop.__class__ }}{% endfor %}",
    "{% for x in [1] %}{{ loop.changed([1]) }}{% endfor %}",
    "{% for x in [1] %}{{ loop.cycle.__func__ }}{% endfor %}",
    "{% macro m() %}{% endmacro %}{{ m._func }}",
    "{% macro m() %}{% endmacro %}{{ m.__call__ }}",
    "{% macro m() %}{{ varargs.__class__ }}{% endmacro %}{{ m(1) }}",
    "{{ role.format }}",
    "{{ '{0.__class__}'.format(1) }}",
    "{{ '{a}'.format_map({'a': 1}) }}",
    "{{ '%s' % values }}",
    "{{ '%r' % 'a' }}",
    "{{ '%a' % 'a' }}",
    "{{ '%c' % 65 }}",
    "{{ role.encode() }}",
    "{{ role.translate({}) }}",
    "{{ (1).real }}",
    "{{ (1.5).hex() }}",
    "{{ [1].append }}",
    "{{ {'a': 1}.pop('a') }}",
    "{{ {'a': 1}.update({}) }}",
    "{{ {}.fromkeys }}",
    "{{ lipsum }}",
    "{{ cycler }}",
    "{{ dict(a=1) }}",
    "{{ joiner() }}",
    "{{ context }}",
    "{{ environment }}",
    "{{ resolve('x') }}",
    "{{ undefined }}",
    "{{ missing }}",
    "{{ filling }}",
    "{{ 'x' | map('__class__') | list }}",
    "{{ ['x'] | map(' own') | join }}",
    "{{ ['x'] | map(attribute='__class__') | list }}",
    "{{ ['report'] | select(' own') | list | join }}",
    "{{ rack.__class__ }}",
    "{{ (rack | default(values)).__self__ }}",
    "{{ values(values) }}",
    "{{ values(['mac']) }}",
    "{{ values('mac').__class__ }}",
    "{{ secret['secret.root'] }}",
    "{{ facts[facts] }}",
    "{{ facts['secret.root'].upper.__self__ }}",
    "{% macro m(f) %}{{ f(f) }}{% endmacro %}{{ m(m) }}",
    "{{ ''.join.__class__ }}",
]


@pytest.mark.parametrize("text", ESCAPES)
def test_a_text_reaches_nothing_but_what_it_may_use(text: str) -> None:
    made = document(text)
    if made.problems:
        return
    with pytest.raises(CannotFill) as caught:
        prepared_answer((made,), may_be_blank=True).fill(Said(FACTS))
    assert "hunter2" not in caught.value.reason
    assert not re.search(r"0x|<\w+ |object at|built-in", caught.value.reason)


GROWS = "{% set l = ['x'] %}{% set n = namespace(l=['x'], s='x', t=('x',)) %}"
LONG = "{% set s = 'x' * 500000 %}"
TOO_MUCH = {
    "a long range": "{{ range(10 ** 9) | length }}",
    "a long range, twice": "{% for a in range(60000) %}{% for b in range(60000) %}{% endfor %}{% endfor %}",
    "a loop in a macro": "{% macro m() %}{% for a in range(60000) %}{% endfor %}{% endmacro %}{{ m() }}{{ m() }}",
    "a macro in a loop": "{% macro m() %}{% endmacro %}{% for a in range(99999) %}{{ m() }}{{ m() }}{% endfor %}",
    "a condition of a loop": "{% for a in range(60000) if a < 0 %}{% endfor %}{% for a in range(60000) %}{% endfor %}",
    "a text, many times": "{{ 'x' * 10 ** 9 }}",
    "a text, many times, the other way round": "{{ 10 ** 9 * 'x' }}",
    "a text that doubles": GROWS + "{% for i in range(60) %}{% set n.s = n.s + n.s %}{% endfor %}",
    "a text that doubles, put together": GROWS + "{% for i in range(60) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
    "a text that doubles, in a block": "{% set x %}xx{% endset %}" + "{% set x %}{{ x }}{{ x }}{% endset %}" * 40,
    "a text that doubles, in a macro": "{% macro m(x) %}{{ x }}{{ x }}{% endmacro %}{{ "
    + "m(" * 25
    + "'xx'"
    + ")" * 25
    + " }}",
    "a text that doubles, replaced": GROWS
    + "{% for i in range(60) %}{% set n.s = n.s | replace('x', 'xx') %}{% endfor %}",
    "a text that doubles, by a method": GROWS
    + "{% for i in range(60) %}{% set n.s = n.s.replace('x', 'xx') %}{% endfor %}",
    "a text that doubles, formatted": GROWS + "{% for i in range(60) %}{% set n.s = '%s%s' % (n.s, n.s) %}{% endfor %}",
    "a text that doubles, joined": GROWS + "{% for i in range(60) %}{% set n.s = [n.s, n.s] | join %}{% endfor %}",
    "a text that doubles, joined by a method": GROWS
    + "{% for i in range(60) %}{% set n.s = n.s.join(['a', n.s]) %}{% endfor %}",
    "a text that grows by base64": GROWS + "{% for i in range(90) %}{% set n.s = n.s | base64 %}{% endfor %}",
    "a list that doubles": GROWS + "{% for i in range(60) %}{% set n.l = n.l + n.l %}{% endfor %}",
    "a tuple that doubles": GROWS + "{% for i in range(60) %}{% set n.t = n.t + n.t %}{% endfor %}",
    "a list, many times": "{{ ([1] * 10 ** 9) | length }}",
    "a list with one more item in each turn": GROWS
    + "{% for i in range(60000) %}{% set n.l = n.l + [i] %}{% endfor %}",
    "parts of a long text": "{% set s = 'x' * 500000 %}{% for i in range(60000) %}{% set t = s[1:] %}{% endfor %}",
    "a long text, looked through": LONG + "{% for i in range(60000) %}{% if 'y' in s %}{% endif %}{% endfor %}",
    "a long list, looked through": "{% for i in range(60000) %}{% if -1 in range(60000) %}{% endif %}{% endfor %}",
    "a long text, written": "{% set s = 'x' * 500000 %}{% for i in range(60000) %}{{ s }}{% endfor %}",
    "a long body of a loop": "{% for i in range(60000) %}" + "x" * 50_000 + "{% endfor %}",
    "a long body of a macro": "{% macro m() %}"
    + "x" * 50_000
    + "{% endmacro %}{% for i in range(60000) %}{{ m() }}{% endfor %}",
    "many lists": GROWS + "{% for i in range(60000) %}{% set n.l = [n.l] + [" + "[]," * 500 + "] %}{% endfor %}",
    "many arguments": "{% macro m() %}{{ varargs is defined }}{% endmacro %}"
    "{% for i in range(60000) %}{% set x = m(*range(60000)) %}{% endfor %}",
    "a wide format": "{{ '%999999999d' % 1 }}",
    "a wide format, by a filter": "{{ '%999999999d' | format(1) }}",
    "a format of a width that is given": "{{ '%*d' % (999999999, 1) }}",
    "a precise format": "{{ '%.999999999f' % 1 }}",
    "many wide formats": "{{ ('%999d' * 100000) % ((1,) * 100000) }}",
    "the test of a format": "{% if '%999999999d' is odd %}{% endif %}",
    "a division of a format": "{% if '%999999999d' is divisibleby(1) %}{% endif %}",
    "a power": "{{ 9 ** 9 ** 9 }}",
    "a power of a large number": "{{ 99999 ** 250 }}",
    "a number that doubles": GROWS + "{% set n.x = 2 %}{% for i in range(90) %}{% set n.x = n.x * n.x %}{% endfor %}",
    "a number of many digits": "{{ ('9' * 100000) | int }}",
    "a wide indent": "{{ 'x' | indent(10 ** 9, true) }}",
    "a wide line": "{{ 'x' | center(10 ** 9) }}",
    "an indent of many lines": "{{ ('\\n' * 500000) | indent(999) }}",
    "a split into too many": "{{ ('a,' * 100000) | split(',') | length }}",
    "lists of lists, compared": "{% set l = [1] %}" + "{% set l = [l, l] %}" * 30 + "{% set m = l[0] %}{{ l == m }}",
    "lists of lists, found": "{% set l = [1] %}" + "{% set l = [l, l] %}" * 30 + "{{ l in [l[0]] }}",
    "lists of lists, as a text": "{% set l = [1] %}" + "{% set l = [l, l] %}" * 30 + "{{ l }}",
    "lists of lists, joined": "{% set l = [1] %}" + "{% set l = [l, l] %}" * 30 + "{{ l | join }}",
    "lists of lists, sorted": "{% set l = [1] %}" + "{% set l = [l, l] %}" * 30 + "{{ [l, l] | sort }}",
    "tuples of tuples, as a key": "{% set l = (1,) %}" + "{% set l = (l, l) %}" * 30 + "{{ {l: 1} }}",
    "tuples of tuples, looked up": "{% set l = (1,) %}" + "{% set l = (l, l) %}" * 30 + "{{ {}[l] }}",
    "tuples of tuples, looked up by a method": "{% set l = (1,) %}" + "{% set l = (l, l) %}" * 30 + "{{ {}.get(l) }}",
    "tuples of tuples, each once": "{% set l = (1,) %}" + "{% set l = (l, l) %}" * 30 + "{{ [l] | unique }}",
    "a loop's own text": "{% for i in [1] %}{{ loop }}{% endfor %}",
}


@pytest.mark.parametrize("text", TOO_MUCH.values(), ids=TOO_MUCH)
def test_a_text_that_takes_too_much_ends_with_an_error(text: str) -> None:
    made = document(text)
    assert made.problems == ()
    with pytest.raises((CannotFill, AnswerTooLarge)):
        prepared_answer((made,), may_be_blank=True).fill(Said(FACTS))


def test_a_loop_has_as_many_turns_as_it_may() -> None:
    loop = f"{{% for i in range({jinja_words.MOST_TURNS // 2}) %}}{{% endfor %}}"
    assert filled(loop * 2) == ""
    assert "turns" in refusal(loop * 2 + "{% for i in [1] %}{% endfor %}")


@pytest.mark.parametrize(
    "text",
    [
        "{% for i in range(60000) %}{% endfor %}",
        "{% for i in range(300) %}{% for j in range(300) %}{{ i }}{% endfor %}{% endfor %}",
        "{% macro m() %}{% for i in range(30000) %}{% endfor %}{% endmacro %}{{ m() }}{{ m() }}{{ m() }}",
        "{% for i in range(60000) if false %}{% endfor %}",
        "{{ range(60000) | map('string') | join }}",
        "{% set s = 'x' * 60000 %}{% for i in range(100) %}{% set t = s | lower %}{% endfor %}",
    ],
)
def test_a_long_filling_gives_way_to_others(text: str) -> None:
    paused: list[None] = []
    give_way_by(lambda: paused.append(None))
    try:
        filled(text)
    finally:
        give_way_by(lambda: None)
    assert len(paused) >= 4


def test_a_text_is_not_filled_anew_for_each_label_without_a_value() -> None:
    labels = [f"a{at}" for at in range(200)]
    (slot,) = prepared_answer((document("".join(f"{{{{ {label} }}}}\n" for label in labels)),)).slots
    asked: list[str] = []
    assert slot.as_written(Said(asked.append)).split("\n")[:-1] == [f"{{{{ {label} }}}}" for label in labels]
    assert len(asked) <= 2 * len(labels)


def test_a_text_with_much_outside_of_loops_is_filled_in_a_thread() -> None:
    short, long = (prepared_answer((document("{{ role | upper | lower }}\n" * lines),)) for lines in (20, 999))
    assert not any(slot.is_long for slot in short.slots)
    assert all(slot.is_long for slot in long.slots)


# --- documentation --------------------------------------------------------------------------------------------------


def test_the_documentation_has_every_filter_test_and_method() -> None:
    text = page("templates")
    known = {name for cells in rows(text, 2) for name in re.findall(r"`(\w+)`", cells[1])}
    own = {*filters.FILTERS, *filters.OF_VALUES, *filters.ARGUMENTS}
    words = set(jinja_words.OF_JINJA) - {"d"}
    tests = {
        name for name in jinja_words.TESTS if name.isalpha() and name not in ("equalto", "lessthan", "greaterthan")
    }
    methods = {name for methods in jinja_words.METHODS.values() for name in methods}
    assert words | tests | methods <= known
    assert own == set(jinja_words.OF_PLACEHOLDERS)
    assert not own & words, "the name of a filter of Jinja is taken"
    assert set(jinja.OWN_LABELS) <= set(re.findall(r"`(\w+)`", text))
