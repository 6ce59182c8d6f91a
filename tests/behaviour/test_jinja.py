"""Documents that Jinja fills, in every store: docs/templates.md#jinja."""

from __future__ import annotations

import pytest

from answerd.answers.answer_secrets import known_values, redacted_answer
from answerd.answers.compose import prepared_answer
from answerd.answers.explain import explained, origins, source_of
from answerd.answers.near_misses import with_hints
from answerd.answers.redaction import hiding
from answerd.answers.sources import Sources, Values
from answerd.answers.why import reasoning
from answerd.errors import CannotFill
from answerd.facts import Facts, Request
from tests.support.fleet import Fleet

BASE = """#version=RHEL9
# answer: match role=*
lang {{ lang | default("en_US") }}
"""
ROLE = """# answer: template jinja
# answer: extends base
network --hostname={{ hostname }}

{% for mac in values("mac") %}
network --device={{ mac | colons }}
{% endfor %}
{% if role == "gpu" %}
repo --name=cuda
{% endif %}
rootpw {{ secret["root"] }}
"""
PARTS = "/ks/web-01", "role=gpu&hostname=web-01&mac=52:54:00:00:00:01&mac=52-54-00-00-00-02"
TARGET = "?".join(PARTS)


@pytest.fixture
def set_of(fleet: Fleet) -> Fleet:
    fleet.write({"groups/base.ks": BASE, "web-01.ks": ROLE})
    fleet.sources = Sources(secret=lambda name, identifiers: "QZXJ VKQZ\nJVKXQZ")
    return fleet


def test_layers_are_filled_each_by_itself(set_of: Fleet) -> None:
    assert set_of.text(TARGET).splitlines() == [
        "#version=RHEL9",
        "lang en_US",
        "network --hostname=web-01",
        "",
        "network --device=52:54:00:00:00:01",
        "network --device=52:54:00:00:00:02",
        "repo --name=cuda",
        "rootpw QZXJ VKQZ",
        "JVKXQZ",
    ]


def test_a_variable_of_one_layer_is_none_of_another(fleet: Fleet) -> None:
    fleet.write(
        {
            "groups/base.ks": "# answer: template jinja\n{% set a = 1 %}\n",
            "m.ks": "# answer: template jinja\n# answer: extends base\n{{ a }}\n",
        }
    )
    with pytest.raises(CannotFill, match="'a'"):
        fleet.text("/ks/m")


def test_a_layer_that_does_not_end_its_line_is_ended_where_another_follows(fleet: Fleet) -> None:
    fleet.write(
        {
            "groups/base.ks": "# answer: template jinja\n{% if a is defined %}lang en{% endif %}",
            "m.ks": "# answer: template jinja\n# answer: extends base\nurl {{ segment }}",
        }
    )
    assert fleet.text("/ks/m?a=1") == "lang en\nurl ks"
    assert fleet.text("/ks/m") == "url ks"


def test_control_comments_are_read_before_the_text_is_filled(fleet: Fleet) -> None:
    fleet.write({"groups/g.ks": "# answer: template jinja\n{% if false %}\n# answer: match role=gpu\n{% endif %}\nx\n"})
    assert fleet.text("/ks?role=gpu") == "x\n"


def test_an_explanation_names_the_document_and_the_line_of_each_line(set_of: Fleet) -> None:
    answer = set_of.ask(TARGET)
    found = {origin.answer_line: str(origin.place) for origin in origins(answer)}
    group, machine = (source_of(layer) for layer in answer.selection.layers)
    assert found == {
        1: f"{group}:1",
        2: f"{group}:3",
        3: f"{machine}:3",
        4: f"{machine}:4",
        5: f"{machine}:6",
        6: f"{machine}:6",
        7: f"{machine}:9",
        8: f"{machine}:11",
        9: f"{machine}:11",
    }
    assert explained(answer).count("\n") == 9


def test_the_row_that_filled_a_line_is_named(fleet: Fleet) -> None:
    fleet.write(
        {
            "inventory/default.csv": "id,mac,disks\nweb-01,52:54:00:00:00:01,sda sdb\n",
            "groups/off.ks": "# answer: template off\n{{ disks }}\n",
            "groups/on.ks": "# answer: extends off\nd {{ Disks }}\nd {{ serial }}\n",
            "web-01.ks": DISKS,
        }
    )
    answer = fleet.ask("/ks?mac=52:54:00:00:00:01&serial=S1")
    rows = [bool(origin.row) for origin in origins(answer, fleet.loader.catalogue.inventory)]
    assert [*zip(answer.body.decode().splitlines(), rows, strict=True)] == [
        ("{{ disks }}", False),
        ("d sda sdb", True),
        ("d S1", False),
        ("d sda sdb", True),
        ("sda,sdb,.", True),
        ("x a", False),
        ("y", False),
    ]


DISKS = """# answer: template jinja
# answer: extends on
d {{ disks }}
{% for disk in disks | split(" ") %}{{ disk }},{% endfor %}.
{% for disk in ["a"] %}
x {{ disk }}
{% endfor %}
y
"""


def test_what_a_name_is_missing_for_is_said_with_its_line(set_of: Fleet) -> None:
    with pytest.raises(CannotFill) as caught:
        set_of.text("/ks/web-01?mac=52:54:00:00:00:01&role=web")
    assert caught.value.label == "hostname"
    told = reasoning(set_of.loader.catalogue, Facts(Request("/ks/web-01", "role=web")), sources=set_of.sources)
    assert any("web-01.ks:3" in str(step) or "(ks):3" in str(step) for step in told.steps)


def test_what_is_shown_has_no_secret_also_through_filters_and_slices(set_of: Fleet) -> None:
    set_of.write({"web-01.ks": ROLE + SECRETS})
    facts = Facts(Request(*PARTS))
    answer = set_of.ask(TARGET)
    shown = redacted_answer(set_of.loader.catalogue, answer, facts, set_of.sources)
    assert "QZXJ" in answer.body.decode()
    for part in ("QZXJ", "VKQZ", "JVKX", "UVpYS", "qzxj", "XQZ"):
        assert part in answer.body.decode() or part == "UVpYS"
        assert part not in shown
    assert shown.count("\n") == answer.body.decode().count("\n")
    assert "network --device=52:54:00:00:00:02" in shown


SECRETS = """
a {{ secret.root | base64 }}
b {{ secret.root[:4] }} {{ secret.root | lower | replace(" ", "-") | truncate(9) }}
{% for line in secret.root | lines %}
c{{ loop.index }} {{ line | reverse }}{{ line[3:] }}
{% endfor %}
{% set name = "ro" ~ "ot" %}
d {{ secret[name].split(" ") | first }}
"""


def test_what_a_validator_says_of_an_answer_has_no_part_of_a_secret_that_a_text_cut_out(set_of: Fleet) -> None:
    set_of.write({"web-01.ks": ROLE + SECRETS})
    facts = Facts(Request(*PARTS))
    answer = set_of.ask(TARGET)
    hide = hiding(answer.body.decode(), "ks", known_values(set_of.loader.catalogue, answer, facts, set_of.sources))
    for part in ("QZXJ", "UVpYSiBWS1FaCkpWS1hRWg==", "qzxj-vkqz"):
        assert part not in hide(f"line 9: unknown command {part} here")


def test_a_difference_shows_a_name_without_a_value_as_its_placeholder(set_of: Fleet) -> None:
    selection = set_of.ask(TARGET).selection
    lookup = Values(selection, Facts(Request("/ks/web-01", "role=web")), set_of.sources)
    (slot,) = [slot for slot in prepared_answer(selection.layers).slots if slot.is_program]
    assert slot.as_written(lookup).splitlines() == [
        "network --hostname={{ hostname }}",
        "",
        "rootpw QZXJ VKQZ",
        "JVKXQZ",
    ]


def test_no_text_names_a_fact_whose_name_is_worked_out_of_a_secret(set_of: Fleet) -> None:
    set_of.write({"web-01.ks": "# answer: template jinja\na {{ facts[secret.root | lines | last] }}\n"})
    with pytest.raises(CannotFill) as caught:
        set_of.ask(TARGET)
    assert caught.value.missing
    told = with_hints(caught.value, Facts(Request(*PARTS)))
    assert "line 2 of machine 'web-01' (ks)" in told.replace('"', "'")
    assert "jvkxqz" not in told.lower()


def test_a_label_that_nothing_sends_is_an_oversight_unless_it_is_tested(fleet: Fleet) -> None:
    fleet.write(
        {
            "groups/g.ks": "# answer: template jinja\n# answer: match role=*\n{{ role }}{{ hostnmae }}"
            '{% if rakc is defined %}{{ rakc }}{% endif %}{{ sit | default("x") }}{{ facts["lable"] }}\n',
        }
    )
    report = fleet.check()
    notes = "\n".join([*report.problems, *report.notes])
    assert "hostnmae" in notes
    assert "lable" in notes
    assert "rakc" not in notes
    assert "sit" not in notes.replace("site", "")


def test_a_text_that_cannot_be_read_by_jinja_is_a_problem_with_its_line(fleet: Fleet) -> None:
    fleet.write({"m.ks": "# answer: template jinja\nlang en\n{% if x %}\n"})
    (problem,) = fleet.problems()
    assert "m" in problem
    assert "line 4" in problem or "line 3" in problem
