"""A Flask service that renders a template: ``gunicorn --worker-class gevent loadtest.rivals.flask_app:app``."""

from __future__ import annotations

from flask import Flask, Response, request

from loadtest.rivals.machines import answer

app = Flask(__name__)


@app.route("/<path:path>", methods=["GET", "POST"])
def answered(path: str) -> Response:  # noqa: ARG001
    """Answer any path."""
    text = answer(request.args.get("mac"), request.get_data())
    if text is None:
        return Response("unknown machine\n", 404, mimetype="text/plain")
    return Response(text, mimetype="text/plain")
