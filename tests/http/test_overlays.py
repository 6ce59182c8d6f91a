"""Overlays in the running program: answers, log, headers and command line. Rules: docs/overlays.md."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from answerd.documents import RawDocument
from answerd.store.sqlite import SqliteStore
from tests.support.fleet import key_of
from tests.support.service import Service

TOKEN = "a-token-of-the-overlay-tests"
DOCUMENTS = {
    "groups/base.ks": "# answer: match dept=*\nbase {{ id }}\n",
    "groups/er.ks": "# answer: overlay 10\n# answer: match dept=er\ndepartment\n",
    "groups/m1.ks": "# answer: overlay 20\n# answer: match model=m1\nmodel\n",
    "inventory.csv": "id,mac,dept,model\npc-01,98:fa:9b:50:d8:10,er,m1\npc-02,98:fa:9b:50:d8:11,icu,m1\n",
}


def test_a_change_of_an_overlay_is_in_force_and_named_everywhere(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    with SqliteStore(tmp_path / "answers.db").writing() as transaction:
        transaction.write([RawDocument(key_of(name), text) for name, text in DOCUMENTS.items()])
        transaction.commit()
    service = serving(
        None,
        SERVICE_STORE="sqlite",
        SERVICE_DB_PATH=tmp_path / "answers.db",
        SERVICE_ADMIN_ADDR="127.0.0.1:0",
        SERVICE_ADMIN_TOKEN=TOKEN,
    )
    bearer = f"Bearer {TOKEN}"
    asked = b"GET /ks?mac=98-fa-9b-50-d8-10 HTTP/1.0\r\n\r\n"
    assert service.send(asked).body == b"base pc-01\ndepartment\nmodel\n"
    service.wait_for_log("format=text group=base overlay=er,m1 for pc-01")
    resolved = service.ask_admin("GET", "/resolve/pc-02", Authorization=bearer)
    assert (resolved.status, resolved.text) == (200, "base pc-02\nmodel\n")
    assert resolved.headers["x-answer-source"] == "format=text group=base overlay=m1"
    changed = "# answer: overlay 30\n# answer: match dept=er\ndepartment\n"
    put = [{"kind": "group", "identifier": "er", "format": "ks", "text": changed}]
    dry = service.ask_admin("POST", "/apply", json.dumps({"put": put, "dry_run": True}).encode(), Authorization=bearer)
    assert [difference["name"] for difference in json.loads(dry.body)["answers"]["differences"]] == ["pc-01 (ks)"]
    assert service.ask_admin("PUT", "/groups/er?format=ks", changed.encode(), Authorization=bearer).status == 200
    assert service.send(asked).body == b"base pc-01\nmodel\ndepartment\n"
    refused = service.ask_admin("PUT", "/machines/pc-01?format=ks", b"# answer: extends m1\n", Authorization=bearer)
    assert refused.status == 409
    assert b"which is an overlay" in refused.body
