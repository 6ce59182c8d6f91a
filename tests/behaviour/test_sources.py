"""Placeholders that the service fills: secrets, report URLs, states (docs/templates.md#placeholders)."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from answerd.answers.diff import compare
from answerd.answers.resolve import resolve
from answerd.answers.sources import Sources
from answerd.errors import BrokenDocument, CannotFill
from answerd.facts import Facts, Request
from tests.support.fleet import Fleet


@dataclass(frozen=True)
class KnownCertificate:
    """A certificate that clients know, or not."""

    fingerprint: str
    is_known: bool = True

    def is_trusted(self) -> bool:
        return self.is_known


ASKED: list[tuple[str, list[str]]] = []


def secret(name: str, identifiers: Sequence[str]) -> str:
    ASKED.append((name, list(identifiers)))
    if name == "missing":
        raise CannotFill("the secret 'missing' is missing", "secret.missing", missing=False)
    return {"lines": "a\n\tb\r\nc", "bell": "a\x07b", "Case": "upper"}.get(name, f"<{name}>")


SOURCES = Sources(
    secret=secret,
    report=lambda selection, facts: f"http://a/report/{len(selection.layers)}/{facts.first('host')}",
    state=lambda _selection, facts: facts.first("host") and "installing",
    certificate=lambda: KnownCertificate("AB:CD"),
)


def answered(fleet: Fleet, target: str, body: bytes = b"") -> str:
    path, _, query = target.partition("?")
    ASKED.clear()
    return resolve(fleet.loader.catalogue, Facts(Request(path, query, body=body)), sources=SOURCES).body.decode()


def test_a_secret_is_asked_for_by_its_exact_name_with_the_machine(fleet: Fleet) -> None:
    fleet.write({"M-1.ks": "{{ secret.Root_pw-1 }} {{ SECRET.Case | lower }}\n", "default.ks": "{{ secret.x }}\n"})
    assert answered(fleet, "/ks/m1") == "<Root_pw-1> upper\n"
    assert ASKED == [("Root_pw-1", ["M-1"]), ("Case", ["M-1"])]
    assert answered(fleet, "/ks") == "<x>\n"
    assert ASKED == [("x", [])]


def test_the_fingerprint_is_that_of_the_services_certificate(fleet: Fleet) -> None:
    fleet.write({"default.ks": "{{ service.fingerprint }} {{ service.fingerprint | replace(':', '') | lower }}\n"})
    assert answered(fleet, "/ks?service.fingerprint=own") == "AB:CD abcd\n"
    with pytest.raises(CannotFill, match="SERVICE_TLS_CERT"):
        resolve(fleet.loader.catalogue, Facts(Request("/ks")))


def test_no_request_says_what_the_service_says(fleet: Fleet) -> None:
    fleet.write({"default.json": '{"a": "{{ secret.x }}", "s": "{{ state | default(\'none\') }}"}'})
    body = json.dumps({"secret.x": "own", "secret": {"x": "own"}, "state": "own", "report": "own"}).encode()
    assert json.loads(answered(fleet, "/json?secret.x=own&state=own&SECRET.X=own", body)) == {"a": "<x>", "s": "none"}
    facts = Facts(Request("/json", "secret.x=own&state=own&report=own", body=body))
    for label in ("secret.x", "state", "report", "machine", "group"):
        assert (facts.first(label), list(facts.values(label))) == (None, [])
    assert facts.labels.keys().isdisjoint({"secret.x", "state", "report"})


def test_a_missing_secret_is_missing_whatever_its_default(fleet: Fleet) -> None:
    fleet.write({"default.ks": "{{ secret.missing | default('x') }}\n"})
    with pytest.raises(CannotFill, match="the secret 'missing' is missing"):
        answered(fleet, "/ks")


def test_without_a_place_for_secrets_the_setting_is_named(fleet: Fleet) -> None:
    fleet.write({"default.ks": "{{ secret.x }}\n"})
    assert fleet.problems() == []
    with pytest.raises(CannotFill, match="SERVICE_SECRETS_DIR") as failed:
        fleet.ask("/ks")
    assert not failed.value.missing
    assert any("SERVICE_SECRETS_DIR" in problem for problem in fleet.check().problems)


READ: dict[str, Callable[[str], Any]] = {"toml": tomllib.loads, "json": json.loads, "yaml": yaml.safe_load}
LINES = "a\n\tb\r\nc"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("default.toml", 'a = "{{ secret.lines }}"\n'),
        ("default.json", '{"a": "{{ secret.lines }}"}'),
        ("default.yaml", "a: '{{ secret.lines }}'\n"),
        ("default.xml", '<r b="{{ secret.lines }}"><a>{{ secret.lines }}</a></r>'),
    ],
)
def test_line_ends_and_tabs_of_a_secret_are_part_of_a_value(fleet: Fleet, name: str, text: str) -> None:
    fleet.write({name: text})
    answer = answered(fleet, "/")
    if name.endswith("xml"):
        root = ElementTree.fromstring(answer)
        assert (root.get("b"), root.findtext("a")) == (LINES, LINES)
    else:
        assert READ[name.rpartition(".")[2]](answer) == {"a": LINES}


def test_text_takes_a_secret_as_it_is_and_no_other_control_character(fleet: Fleet) -> None:
    fleet.write({"default.ks": "<{{ secret.lines }}>\n", "default.cfg": "{{ secret.bell }}\n"})
    assert answered(fleet, "/ks") == f"<{LINES}>\n"
    with pytest.raises(CannotFill, match="control character") as failed:
        answered(fleet, "/cfg")
    assert "a\x07" not in failed.value.reason


@pytest.mark.parametrize("label", ["secret.", "secret.a.b", "secret.a:b", "secret.ä", "secret.a@b"])
def test_what_can_be_no_secret_is_a_problem_of_its_document(fleet: Fleet, label: str) -> None:
    fleet.write({"default.ks": f"{{{{ {label} }}}}\n"})
    assert any("names no secret" in problem for problem in fleet.problems())


def test_a_word_that_only_begins_like_a_secret_is_a_label(fleet: Fleet) -> None:
    fleet.write({"default.ks": "{{ secret }} {{ secrets.x }}\n"})
    assert answered(fleet, "/ks?secret=a&secrets.x=b") == "a b\n"


def test_report_needs_a_place_for_states(fleet: Fleet) -> None:
    fleet.write({"default.ks": "x {{ Report }}\n", "n1.toml": 'template = false\nx = "{{ report }}"\n'})
    (problem,) = fleet.problems()
    assert "{{ report }} needs a place for the states" in problem
    with pytest.raises(BrokenDocument):
        fleet.ask("/ks")


def test_a_difference_shows_what_the_service_fills_in_as_it_is_written(fleet: Fleet) -> None:
    before = fleet.write({"n1.ks": "{{ secret.a }} {{ state }}\n"}).loader.catalogue
    after = fleet.write({"n1.ks": "{{ secret.b | upper }} {{ state }}\n"}).loader.catalogue
    (difference,) = compare(before, after).differences
    assert difference.before
    assert difference.after
    assert difference.before.text == "{{ secret.a }} {{ state }}\n"
    assert difference.after.text == "{{ secret.b | upper }} {{ state }}\n"
