"""A FastAPI service that renders a template: ``uvicorn loadtest.rivals.fastapi_app:app``."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse

from loadtest.rivals.machines import answer

app = FastAPI()


@app.api_route("/{path:path}", methods=["GET", "POST"], response_class=PlainTextResponse)
async def answered(path: str, request: Request) -> PlainTextResponse:  # noqa: ARG001
    """Answer any path."""
    text = answer(request.query_params.get("mac"), await request.body())
    return PlainTextResponse(text) if text is not None else PlainTextResponse("unknown machine\n", 404)
