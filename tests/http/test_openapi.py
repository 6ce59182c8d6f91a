"""The program keeps what its OpenAPI description promises: schemathesis asks, with every check of its own on."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from answerd import __version__
from answerd.config import Config
from answerd.formats import FORMATS
from answerd.identity import IDENTIFIER_LENGTH
from answerd.installs.states import Rules
from answerd.server.admin.app import make_admin_app
from answerd.server.admin.observe import description
from answerd.server.admin.requests import DEFAULT_FORMAT, DOCUMENT_LIMIT
from answerd.server.live_states import LiveStates, StatesAtFork
from answerd.server.request_log import RequestLog
from answerd.server.roles import AdminTokens
from answerd.store.sqlite import SqliteFile
from answerd.store.states import StateFile
from tests.support.admin import Admin
from tests.support.service import Service
from tests.support.thorough import is_thorough

TOKEN = "openapi-admin-token-0123456789"
SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")
BYTES = "application/octet-stream"
"""What documents are to generated clients, which would otherwise parse them by their type."""

EXAMPLES = 20 if is_thorough() else 2
"""Requests generated for each operation, beside those of the coverage phase."""

# A document that fits the schema may still be no TOML, an identifier may be made of punctuation alone, and a condition
# is there to fail: those answers to a request that the schema allows are promised too.
CONFIGURATION = """
hooks = "openapi_hooks"

[auth.openapi.token]
bearer = "{token}"

[[operations]]
include-path = "/events"
request-timeout = 0.5

[checks.positive_data_acceptance]
expected-statuses = ["2xx", "304", "400", "401", "404", "409", "412"]

[checks.negative_data_rejection]
expected-statuses = ["400", "401", "404", "405", "409", "412", "413"]
"""


def test_the_description_repeats_tables_of_the_program_as_they_are() -> None:
    described = description()
    parameters, schemas = described["components"]["parameters"], described["components"]["schemas"]
    types = sorted({syntax.content_type.partition(";")[0] for syntax in FORMATS.values()})

    assert described["info"]["version"] == __version__
    assert parameters["format"]["schema"] == {"type": "string", "enum": [*FORMATS], "default": DEFAULT_FORMAT}
    assert parameters["identifier"]["schema"]["maxLength"] == IDENTIFIER_LENGTH
    assert sorted(described["paths"]["/default"]["get"]["responses"]["200"]["content"]) == sorted([*types, BYTES])
    assert described["paths"]["/default"]["put"]["requestBody"]["content"]["text/plain"]["schema"] == {
        "type": "string",
        "maxLength": DOCUMENT_LIMIT,
    }
    assert next(iter(described["paths"]["/default"]["put"]["requestBody"]["content"])) == BYTES
    assert schemas["Error"]["required"] == ["error"]


def test_every_route_is_described_and_every_description_has_a_route(tmp_path: Path) -> None:
    admin = Admin(tmp_path / "answers.db")
    shared = StatesAtFork(StateFile(SqliteFile(tmp_path / "answers.db"), Rules()), Config(store="sqlite"))
    installs = LiveStates(shared, RequestLog("stderr", "off"))
    app = make_admin_app(admin.writes, AdminTokens(["x"], ()), admin.block, admin.log.append, installs=installs)
    routes = {f"{route.method} {template}" for route in app.routes for template in templates_of(route.rule)}

    assert routes == operations()


def operations() -> set[str]:
    """The operations of the description: ``GET /check``."""
    return {
        f"{method.upper()} {path}"
        for path, described in description()["paths"].items()
        for method in described
        if method != "parameters"
    }


def templates_of(rule: str) -> list[str]:
    """The paths of a rule of Bottle's router, as OpenAPI writes them."""
    found = [rule]
    for choice in re.findall(r"<\w+:re:([\w|]+)>", rule):
        found = [re.sub(r"<\w+:re:[\w|]+>", word, path, count=1) for path in found for word in choice.split("|")]
    found = [path.replace("<name>", "{identifier}").replace("<install>", "{install}") for path in found]
    return [path.replace("<revision>", "{revision}").replace("<row>", "{row}") for path in found]


def test_no_request_brings_a_response_that_is_not_described(serving: Callable[..., Service], tmp_path: Path) -> None:
    service = serving(
        SERVICE_STORE="sqlite",
        SERVICE_DB_PATH=tmp_path / "answers.db",
        SERVICE_ADMIN_ADDR="127.0.0.1:0",
        SERVICE_ADMIN_TOKEN=TOKEN,
        # Each request comes from an address of its own, or wrong tokens would block them all.
        SERVICE_TRUSTED_PROXIES="127.0.0.0/8",
    )
    authorization = f"Bearer {TOKEN}"
    for target, body in {
        "/groups/base": "x = 1\n",
        "/machines/node1": 'extends = "base"\n',
        "/default": "x = 1\n",
    }.items():
        assert service.ask_admin("PUT", target, body.encode(), Authorization=authorization).status == 200
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION.replace("{token}", TOKEN))
    served = service.ask_admin("GET", "/openapi.json", Authorization=authorization)
    (tmp_path / "openapi.json").write_bytes(served.body)
    (tmp_path / "openapi_hooks.py").write_text((Path(__file__).with_name("openapi_hooks.py")).read_text())
    assert service.admin
    host, port = service.admin

    done = subprocess.run(
        [
            *(SCHEMATHESIS, "run", "openapi.json", "--url", f"http://{host}:{port}", "--checks", "all", "--seed", "4"),
            *("--max-examples", str(EXAMPLES), "--continue-on-failure", "--no-shrink"),
            *("--phases", "examples,coverage,fuzzing"),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "ADMIN_TOKEN": TOKEN},
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    asked = {*(tmp_path / "asked.txt").read_text().splitlines()}
    assert {line.rpartition(" ")[0] for line in asked} == operations()
    assert "GET /events 200" in asked
    assert not [line for line in service.log if "failed: " in line or "unexpectedly" in line]
