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

from answerd.server.admin.description import description
from tests.support.service import Service

TOKEN = "generated-client-token-0123456789"
GENERATOR = Path(sys.executable).with_name("openapi-python-client")
PACKAGE = "answerd_generated_client"


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
    settings = {"SERVICE_DB_PATH": place / "a.db", "SERVICE_ADMIN_ADDR": "127.0.0.1:0", "SERVICE_ADMIN_TOKEN": TOKEN}
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


def file_of(text: bytes) -> Any:
    return importlib.import_module(f"{PACKAGE}.types").File(payload=BytesIO(text))


DOCUMENT = b'# as it was written\n[global]\nfqdn = "web-01.example.com"\n'


def test_every_operation_of_the_description_is_generated(client: Any) -> None:
    operations = [
        (one["tags"][0], one["operationId"])
        for path in description()["paths"].values()
        for method, one in path.items()
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


def test_a_refused_document_is_an_error_with_its_reason(client: Any) -> None:
    error = operation("documents", "put_group").sync(identifier="lab", client=client, body=file_of(b"x = = 1\n"))
    assert "line 1" in error.error
    missing = operation("documents", "get_default").sync(client=client)
    assert missing.error.startswith("there is no default (toml)")


def test_an_inventory_is_stored_and_read(client: Any) -> None:
    table = b"id,mac\nweb-01,52:54:00:12:34:56\n"
    stored = operation("inventory", "put_inventory").sync(identifier="lab", client=client, body=file_of(table))
    assert stored.status == "stored"
    assert operation("inventory", "get_inventory").sync(identifier="lab", client=client).payload.read() == table
    row = operation("inventory", "get_row").sync(identifier="lab", row="web-01", client=client)
    assert row.to_dict() == {"id": "web-01", "mac": "52:54:00:12:34:56"}
