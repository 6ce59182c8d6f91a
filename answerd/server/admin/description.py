"""The OpenAPI 3.1 description of the admin API: ``openapi.yaml`` beside this file, served as JSON.

``tests/http/test_openapi.py`` compares it with the program and with the tables that it repeats.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from importlib import resources
from typing import Any

import bottle
import yaml

from answerd import __version__
from answerd.server.admin.responses import JSON, note_outcome
from answerd.server.admin.routes import Route
from answerd.server.http.responses import PLAIN_TEXT
from answerd.server.probes import HEALTH, READY, Readiness, probe
from answerd.server.statuses import OK


def description() -> dict[str, Any]:
    """Return the whole document, with this program's version. Takes some 20 ms."""
    text = resources.files(__package__).joinpath("openapi.yaml").read_text("utf-8")
    value: dict[str, Any] = yaml.load(text, yaml.CSafeLoader)
    del value["x-shared"]
    value["info"]["version"] = __version__
    return value


class DescriptionHandlers:
    """Handlers of ``/health``, ``/ready`` and ``/openapi.json``."""

    def __init__(self, readiness: Readiness) -> None:
        self._readiness = readiness
        self._description = json.dumps(description(), ensure_ascii=False).encode()

    def routes(self) -> Iterable[Route]:
        """Return the requests that this group answers."""
        yield Route("GET", HEALTH, partial(self.probe, HEALTH))
        yield Route("GET", READY, partial(self.probe, READY))
        yield Route("GET", "/openapi.json", self.openapi)

    def probe(self, path: str) -> bottle.HTTPResponse:
        """Return that the process is there, or that it has a set."""
        status, body, outcome = probe(path, self._readiness)
        note_outcome(outcome)
        return bottle.HTTPResponse(body, status, {"Content-Type": PLAIN_TEXT})

    def openapi(self) -> bottle.HTTPResponse:
        """Return the description."""
        note_outcome("description")
        return bottle.HTTPResponse(self._description, OK, {"Content-Type": JSON})
