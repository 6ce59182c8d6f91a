"""A client that openapi-python-client generates from the admin API's description reads and writes documents."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from answerd.server.admin.observe import description
from answerd.server.roles import Role, new_token
from tests.support.service import Service

TOKEN = "generated-client-token-0123456789"
GENERATOR = Path(sys.executable).with_name("openapi-python-client")
PACKAGE = "answerd_generated_client"
NAMED = {name: new_token(name, role) for name, role in (("pipeline", Role.ADMIN), ("watcher", Role.READ))}
"""Tokens with names, and the line of each in the file of tokens."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The generated client, connected to the real program."""
    if not GENERATOR.exists():
        pytest.skip("openapi-python-client is not installed")
    place = tmp_path_factory.mktemp("client")
    (place / "openapi.json").write_text(json.dumps(description()))
    (place / "config.yml").write_text("post_hooks: []\n")  # it would start ruff
    arguments = ["--path", "openapi.json", "--output-path", PACKAGE, "--config", "config.yml", "--meta", "none"]
    subprocess.run([GENERATOR, "generate", *arguments], cwd=place, check=True, capture_output=True, timeout=120)
    sys.path.insert(0, str(place))
    (place / "tokens").write_text("".join(f"{line}\n" for _, line in NAMED.values()))
    (place / "tokens").chmod(0o600)
    settings = {
        "SERVICE_DB_PATH": place / "a.db",
        "SERVICE_ADMIN_ADDR": "127.0.0.1:0",
        "SERVICE_ADMIN_TOKEN": TOKEN,
        "SERVICE_TOKENS_FILE": place / "tokens",
    }
    try:
        module = importlib.import_module(PACKAGE)
        with Service(SERVICE_STORE="sqlite", **settings) as service:
            assert service.admin
            yield module.AuthenticatedClient(base_url=f"http://127.0.0.1:{service.admin[1]}", token=TOKEN)
    finally:
        sys.path.remove(str(place))
        for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
            del sys.modules[name]


def operation(group: str, name: str) -> Any:
    """The module of one operation."""
    return importlib.import_module(f"{PACKAGE}.api.{group}.{name}")


def model(name: str) -> Any:
    """A class of the description's schemas."""
    return getattr(importlib.import_module(f"{PACKAGE}.models"), name)


def with_token(client: Any, name: str) -> Any:
    """The client with the token of this name."""
    base_url = str(client.get_httpx_client().base_url)
    return importlib.import_module(PACKAGE).AuthenticatedClient(base_url=base_url, token=NAMED[name][0])


def file_of(text: bytes) -> Any:
    return importlib.import_module(f"{PACKAGE}.types").File(payload=BytesIO(text))


DOCUMENT = b'# as it was written\n[global]\nfqdn = "web-01.example.com"\n'


def test_every_operation_of_the_description_is_generated(client: Any) -> None:
    operations = [
        (operation["tags"][0], operation["operationId"])
        for path in description()["paths"].values()
        for method, operation in path.items()
        if method in ("get", "put", "post", "delete")
    ]
    missing = []
    for tag, name in operations:
        module = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
        try:
            operation(tag, module)
        except ModuleNotFoundError:
            missing.append(name)
    assert missing == []


def test_a_document_is_stored_read_and_removed(client: Any) -> None:
    stored = operation("documents", "put_machine").sync(identifier="web-01", client=client, body=file_of(DOCUMENT))
    assert (stored.status, stored.problems) == ("stored", [])
    read = operation("documents", "get_machine").sync(identifier="web-01", client=client)
    assert read.payload.read() == DOCUMENT
    assert operation("documents", "list_machines").sync(client=client).machine == ["web-01"]
    answer = operation("answers", "resolve_machine").sync(identifier="web-01", client=client)
    assert answer.payload.read() == DOCUMENT
    deleted = operation("documents", "delete_machine").sync(identifier="web-01", client=client)
    assert deleted.status == "deleted"


GROUP = {"kind": "group", "identifier": "base", "text": "x = 1\n"}
NODE = {"kind": "machine", "identifier": "node-1", "text": 'extends = "base"\n'}


def change(*puts: dict[str, str], **more: Any) -> Any:
    return model("Change").from_dict({"put": [*puts], **more})


def test_a_change_of_many_documents_is_tried_made_and_taken_back(client: Any) -> None:
    apply = operation("documents", "apply").sync_detailed
    pipeline = with_token(client, "pipeline")

    tried = apply(client=pipeline, body=change(GROUP, NODE, dry_run=True)).parsed
    assert (tried.status.value, tried.new, tried.problems) == ("dry run", 2, [])
    assert operation("documents", "list_groups").sync(client=client).group == []
    made = apply(client=pipeline, body=change(GROUP, NODE), x_change_note="first")
    assert (made.parsed.status.value, made.parsed.new, made.parsed.removed) == ("applied", 2, 0)

    refused = apply(client=pipeline, body=change(NODE, prune=True))
    assert (refused.status_code, refused.parsed.problems) == (
        409,
        ['machine "node-1" (toml): extends unknown group "base"'],
    )
    late = apply(client=pipeline, body=change(GROUP), if_match='"another"')
    assert late.status_code == 412
    again = apply(client=pipeline, body=change({**GROUP, "text": "x = 2\n"}), if_match=made.headers["ETag"])
    assert again.parsed.changed == 1

    [newest, first] = operation("history", "list_history").sync(client=client, group="base").history
    assert (newest.before, newest.after, newest.who.name) == ("x = 1\n", "x = 2\n", "pipeline")
    assert (first.before, first.note) == (None, "first")
    restored = operation("history", "restore_revision").sync(revision=first.revision, client=pipeline)
    assert (restored.status, restored.problems) == ("restored", [])
    read = operation("documents", "get_group").sync(identifier="base", client=client)
    assert read.payload.read() == b"x = 1\n"
    [latest, *_] = operation("history", "list_history").sync(client=client, limit=1).history
    assert (latest.who.name, latest.note) == ("pipeline", f"restore of revision {first.revision}")
