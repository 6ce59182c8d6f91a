"""Strict changes: an answer that its installer would refuse is not put in force (docs/admin-api.md#strict)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from answerd.answers.catalogue import Catalogue
from answerd.answers.sources import NO_SOURCES
from answerd.check.refusals import MOST_REFUSALS, refusals
from answerd.documents import Key, RawDocument
from answerd.identity import Kind
from answerd.server.roles import Role, new_token
from tests.support.admin import Admin
from tests.support.replies import Reply

GOOD = "#cloud-config\npackages: [vim]\n"
BAD = "#cloud-config\npackages: vim\n"


@pytest.fixture
def admin(in_memory: Path) -> Admin:
    return Admin(in_memory / "answers.db")


def stored(admin: Admin) -> dict[str, str]:
    return {
        f"{document.key.identifier}.{document.key.format}": document.body.decode() for document in admin.store.all()
    }


def put(admin: Admin, name: str, text: str, strict: str = "1") -> Reply:
    return admin.ask("PUT", f"/machines/{name}?format=yaml&strict={strict}", text)


def apply(admin: Admin, *puts: tuple[str, str, str], **fields: Any) -> Reply:
    documents = [
        {"kind": kind, "identifier": name, "format": "csv" if kind == "inventory" else "yaml", "text": text}
        for kind, name, text in puts
    ]
    return admin.ask("POST", "/apply", json.dumps({"put": documents, "strict": True, **fields}))


def test_a_document_whose_answer_is_refused_is_not_stored(admin: Admin) -> None:
    reply = put(admin, "n1", BAD)
    assert reply.status == 409
    [problem] = reply.json["problems"]
    assert problem.startswith('machine "n1" (yaml): packages: must be a list')
    assert problem.endswith("(machine n1 (yaml):2)")
    assert problem in reply.json["error"]
    assert stored(admin) == {}


def test_without_strict_it_is_stored(admin: Admin) -> None:
    assert put(admin, "n1", BAD, strict="0").status == 200
    assert stored(admin) == {"n1.yaml": BAD}


def test_a_good_document_is_stored(admin: Admin) -> None:
    assert put(admin, "n1", GOOD).status == 200
    assert stored(admin) == {"n1.yaml": GOOD}


@pytest.mark.parametrize("given", ["", "2", "true"])
def test_another_word_for_strict_is_refused(admin: Admin, given: str) -> None:
    assert put(admin, "n1", GOOD, strict=given).status == 400
    assert stored(admin) == {}


def test_answers_that_a_change_does_not_touch_are_not_judged(admin: Admin) -> None:
    put(admin, "n1", BAD, strict="0")
    assert put(admin, "n2", GOOD).status == 200


def test_a_group_is_judged_by_the_answers_of_its_machines(admin: Admin) -> None:
    reply = admin.ask("PUT", "/groups/base?format=yaml&strict=1", f"{BAD}members: [m001, m002, m003]\n")
    assert reply.status == 409
    [problem] = reply.json["problems"]
    assert problem.startswith('group "base" (yaml) for member "m001" and 2 more: packages: must be a list')


def test_a_change_of_many_documents_is_judged_as_a_whole(admin: Admin) -> None:
    assert apply(admin, ("machine", "n1", GOOD), ("machine", "n2", BAD)).status == 409
    assert stored(admin) == {}
    assert apply(admin, ("machine", "n1", GOOD)).status == 200
    assert apply(admin, ("machine", "n2", BAD), strict=False).status == 200
    assert apply(admin, ("machine", "n2", GOOD)).json["status"] == "applied"


def test_a_dry_run_is_strict_too(admin: Admin) -> None:
    assert apply(admin, ("machine", "n2", BAD), dry_run=True).status == 409
    assert apply(admin, ("machine", "n2", GOOD), dry_run=True).json["status"] == "dry run"
    assert stored(admin) == {}


def test_a_removed_document_is_judged_by_what_answers_then(admin: Admin) -> None:
    group = f"{BAD}members: [n1]\n"
    own = "#cloud-config\nunset: [packages]\nhostname: a\n"
    assert apply(admin, ("group", "base", group), ("machine", "n1", own)).status == 200
    gone = [{"kind": "machine", "identifier": "n1", "format": "yaml"}]
    reply = apply(admin, delete=gone)
    assert reply.status == 409
    assert "packages" in reply.json["problems"][0]


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_a_row_is_judged(admin: Admin, method: str) -> None:
    group = '#cloud-config\nmatch: {role: web}\ntimezone: "{{ zone }}"\n'
    apply(admin, ("inventory", "default", "id,role,zone\nn1,web,UTC\n"), ("group", "web", group))
    row = {"id": "n1", "role": "web", "zone": "Berlin"}
    reply = admin.ask(method, "/inventory/default/n1?strict=1", json.dumps(row))
    assert reply.status == 409
    assert "time zone" in reply.json["problems"][0]
    assert admin.get("/inventory/default/n1").json["zone"] == "UTC"
    assert admin.ask(method, "/inventory/default/n1?strict=2", json.dumps(row)).status == 400
    row["zone"] = "Europe/Berlin"
    assert admin.ask(method, "/inventory/default/n1?strict=1", json.dumps(row)).status == 200


def test_a_secret_that_is_missing_is_refused_and_a_fact_of_a_request_is_not(admin: Admin) -> None:
    assert put(admin, "n1", '#cloud-config\nhostname: "{{ secret.name }}"\n').status == 409
    assert put(admin, "n1", '#cloud-config\nhostname: "{{ serial }}"\n').status == 200


def test_the_causes_are_counted_up_to_a_number() -> None:
    texts = [f"#cloud-config\nkey{number}: 1\n" for number in range(MOST_REFUSALS + 10)]
    raws = [RawDocument(Key(Kind.MACHINE, f"n{at:03}", "yaml"), text) for at, text in enumerate(texts)]
    after = Catalogue().changed(raws)
    assert len(refusals(Catalogue(), after, NO_SOURCES)) == MOST_REFUSALS
    assert refusals(after, after, NO_SOURCES) == []


def test_a_strict_write_needs_the_role_of_the_write(in_memory: Path) -> None:
    made = {role: new_token(role, role) for role in (Role.READ, Role.PLAN, Role.INVENTORY)}
    tokens = {role: token for role, (token, _) in made.items()}
    admin = Admin(in_memory / "answers.db", [named for _, named in made.values()])
    for role, token in tokens.items():
        assert admin.put("/machines/n1?format=yaml&strict=1", GOOD, token=token).status == 403, role
    admin.put("/inventory/default", "id,role\nn1,web\n")
    row = json.dumps({"id": "n1", "role": "db"})
    assert admin.put("/inventory/default/n1?strict=1", row, token=tokens[Role.INVENTORY]).status == 200
    dry = json.dumps({"put": [], "strict": True, "dry_run": True})
    assert admin.ask("POST", "/apply", dry, token=tokens[Role.PLAN]).status == 200
    assert admin.ask("POST", "/apply", dry.replace("dry_run", "prune"), token=tokens[Role.PLAN]).status == 403
