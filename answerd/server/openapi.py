"""The OpenAPI 3.1 description of the admin API, written once: served at ``GET /openapi.json`` and kept in ``docs/``.

Knows what can be asked and answered. Must not know how; ``tests/http/test_openapi.py`` holds the program to it.
"""

from __future__ import annotations

from typing import Any

from answerd import __version__
from answerd.formats import FORMATS
from answerd.identity import IDENTIFIER_LENGTH

DOCUMENT_LIMIT = 262_144
"""Bytes a document may have (docs/admin-api.md)."""

Part = dict[str, Any]

_TEXT_TYPES = sorted({one.content_type.partition(";")[0] for one in FORMATS.values()})
_WRONG_TOKEN = ("401", "429")
_NAMES = {"machines": "a machine document", "groups": "a group document"}


def description() -> Part:
    """The whole document, ready for JSON."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "answerd admin API",
            "version": __version__,
            "description": "Reads, writes and tries the documents that unattended installations are answered from. "
            "A write that would break the answer set is refused and leaves no trace.",
        },
        "security": [{"token": []}],
        "paths": _paths(),
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": _schemas(),
            "parameters": _parameters(),
            "headers": _headers(),
            "responses": _responses(),
        },
    }


def _paths() -> Part:
    paths: Part = {
        "/health": {
            "get": _operation("health", "Whether the service runs; no token", {"200": _plain("OK")}, security=[])
        },
        "/openapi.json": {"get": _operation("describe", "This description", {"200": _json({"type": "object"}, "it")})},
        "/check": {
            "get": _operation(
                "check", "Every problem of the answer set, as `answerd check` finds them", {"200": _json_of("Problems")}
            )
        },
        "/resolve": {
            "get": _operation(
                "resolve",
                "The answer to a request with these facts; `path` acts as the URL would, and `explain=1` (no fact) "
                "gives the document and line that each key or line came from, as JSON",
                _rendered(),
                parameters=[_FACTS],
            )
        },
        "/resolve/{identifier}": {
            "parameters": [_reference("parameters", "identifier")],
            "get": _operation(
                "resolveMachine",
                "The answer for one identity; a query string overrides it",
                {**_rendered(), **_refused("400")},
            ),
        },
        "/default": _document("Default", "the default document of a format"),
    }
    for collection, kind in (("machines", "machine"), ("groups", "group")):
        paths[f"/{collection}"] = {
            "get": _operation(
                f"list{collection.title()}",
                f"The identifiers of all {kind} documents, sorted, each once per format",
                {"200": _json_of(collection.title())},
            )
        }
        paths[f"/{collection}/{{identifier}}"] = {
            "parameters": [_reference("parameters", "identifier")],
            **_document(kind.title(), _NAMES[collection]),
        }
    return paths


def _document(name: str, what: str) -> Part:
    """The three operations on one document."""
    tag = {"ETag": _reference("headers", "ETag")}
    form = _reference("parameters", "format")
    if_match, if_none_match = _reference("parameters", "ifMatch"), _reference("parameters", "ifNoneMatch")
    found = {"description": "the document as it was written", "headers": tag, "content": _texts()}
    return {
        "get": _operation(
            f"get{name}",
            f"Read {what}",
            {
                "200": found,
                "304": {"description": "`If-None-Match` names the current ETag", "headers": tag},
                **_refused("400", "404", "412"),
            },
            parameters=[form, if_match, if_none_match],
        ),
        "put": _operation(
            f"put{name}",
            f"Store {what}; one of the same identity and format is replaced and keeps its spelling",
            {
                "200": {**_json_of("Stored"), "headers": tag},
                **_refused("400", "409", "412", "413"),
            },
            parameters=[form, if_match, if_none_match],
            body=True,
        ),
        "delete": _operation(
            f"delete{name}",
            f"Remove {what}",
            {"200": _json_of("Deleted"), **_refused("400", "404", "409", "412")},
            parameters=[form, if_match, if_none_match],
        ),
    }


def _operation(
    identifier: str,
    summary: str,
    responses: Part,
    *,
    parameters: list[Part] | None = None,
    security: list[Part] | None = None,
    body: bool = False,
) -> Part:
    operation: Part = {"operationId": identifier, "summary": summary}
    if security is not None:
        operation["security"] = security
    else:
        responses = {**responses, **_refused(*_WRONG_TOKEN, "413", "500")}
    if parameters:
        operation["parameters"] = parameters
    if body:
        text = {"schema": {"type": "string", "maxLength": DOCUMENT_LIMIT}}
        operation["requestBody"] = {
            "description": f"The document in UTF-8, at most {DOCUMENT_LIMIT} bytes; stored exactly as it is sent",
            "required": True,
            "content": {"text/plain": text},
        }
    operation["responses"] = dict(sorted(responses.items()))
    return operation


def _rendered() -> Part:
    source = {"X-Answer-Source": _reference("headers", "X-Answer-Source")}
    answer = {"description": "the answer", "headers": source, "content": _texts()}
    return {"200": answer, **_refused("404", "409")}


def _texts() -> Part:
    return {content_type: {"schema": {}} for content_type in _TEXT_TYPES}


def _plain(text: str) -> Part:
    return {"description": text, "content": {"text/plain": {"schema": {"type": "string", "const": f"{text}\n"}}}}


def _json(schema: Part, what: str) -> Part:
    return {"description": what, "content": {"application/json": {"schema": schema}}}


def _json_of(schema: str) -> Part:
    return _json(_reference("schemas", schema), schema.lower())


def _refused(*statuses: str) -> Part:
    return {status: _reference("responses", status) for status in statuses}


def _reference(section: str, name: str) -> Part:
    return {"$ref": f"#/components/{section}/{name}"}


def _object(**properties: Part) -> Part:
    return {"type": "object", "required": list(properties), "properties": properties, "additionalProperties": False}


def _schemas() -> Part:
    line = {"type": "string", "pattern": r"^[^\r\n]+$"}
    lines = {"type": "array", "items": line, "description": "sorted; each names kind, identifier and format"}
    identifiers = {"type": "array", "items": {"type": "string"}}
    return {
        "Machines": _object(machine=identifiers),
        "Groups": _object(group=identifiers),
        "Problems": _object(problems=lines),
        "Stored": _object(status={"const": "stored"}, problems=lines),
        "Deleted": _object(status={"const": "deleted"}, problems=lines),
        "Error": _object(error=line),
        "Refusal": {
            **_object(error=line, problems=lines),
            "description": "`problems` is exactly what the write would have broken; absent where nothing was written",
            "required": ["error"],
        },
    }


_FACTS: Part = {
    "name": "facts",
    "in": "query",
    "description": "Any label and its value, such as `mac=52:54:00:11:22:33` or `path=/rhel/ks`",
    "style": "form",
    "explode": True,
    "schema": {"type": "object", "additionalProperties": {"type": "string"}},
}


def _parameters() -> Part:
    extensions = list(FORMATS)
    return {
        "identifier": {
            "name": "identifier",
            "in": "path",
            "required": True,
            "description": "An identifier, or another spelling of it. `groups`, `default`, `inventory`: no machine",
            "schema": {
                "type": "string",
                "minLength": 1,
                "maxLength": IDENTIFIER_LENGTH,
                "pattern": "^[A-Za-z0-9_:-][A-Za-z0-9._:-]*$",
            },
        },
        "format": {
            "name": "format",
            "in": "query",
            "description": "The document's extension, in any letter case",
            "schema": {"type": "string", "enum": extensions, "default": extensions[0]},
        },
        "ifMatch": {
            "name": "If-Match",
            "in": "header",
            "description": "Only if this is the document's current ETag; `*`: only if there is one",
            "schema": {"type": "string"},
        },
        "ifNoneMatch": {
            "name": "If-None-Match",
            "in": "header",
            "description": "Only if this is not the document's current ETag; `*`: only if there is none",
            "schema": {"type": "string"},
        },
    }


def _headers() -> Part:
    return {
        "ETag": {
            "description": "Changes with every write of the document",
            "required": True,
            "schema": {"type": "string", "pattern": '^"[0-9]+"$'},
        },
        "X-Answer-Source": {
            "description": "How the answer came about: `format=toml machine=98fa9b50d810 group=rack-a`",
            "required": True,
            "schema": {"type": "string", "pattern": "^format="},
        },
    }


_REASONS = {
    "400": "what was sent cannot be meant: a malformed document, an invalid identifier, an unknown format",
    "401": "the token is missing or wrong",
    "404": "there is no such document, or nothing claims the request",
    "409": "the write would break the answer set and was rolled back; or an answer cannot be rendered",
    "412": "`If-Match` or `If-None-Match` does not hold",
    "413": f"the body has more than {DOCUMENT_LIMIT} bytes",
    "429": "this address is blocked after five wrong tokens",
    "500": "the store could not be read or written",
}


def _responses() -> Part:
    extra: dict[str, Part] = {
        "401": {"WWW-Authenticate": {"required": True, "schema": {"const": "Bearer"}}},
        "429": {"Retry-After": {"required": True, "schema": {"type": "integer", "minimum": 1, "maximum": 900}}},
    }
    return {
        status: {
            **_json(_reference("schemas", "Refusal" if status == "409" else "Error"), reason),
            **({"headers": extra[status]} if status in extra else {}),
        }
        for status, reason in _REASONS.items()
    }
