"""The stores that a service and its commands may have, each with the documents of a directory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support import postgres
from tests.support.service import run, write_tree

DATABASES = ["sqlite", *(["postgres"] if postgres.binaries() is not None else [])]
STORES = ["files", *DATABASES]


def stored(store: str, directory: Path, files: Mapping[str, str | bytes]) -> dict[str, Any]:
    """Put some documents into a store; return the settings of a service that has them and keeps states. What it needs
    is in a directory."""
    answers = directory / "answers"
    write_tree(answers, files)
    settings: dict[str, Any] = {"SERVICE_STORE": store}
    if store == "files":
        return {**settings, "SERVICE_ANSWERS_DIR": answers, "SERVICE_STATE_PATH": directory / "state.db"}
    if store == "sqlite":
        settings["SERVICE_DB_PATH"] = directory / "answers.db"
    else:
        settings |= {"SERVICE_DB_URL": postgres.empty_store().url, "SERVICE_REPLICA_PATH": directory / "replica.db"}
    done = run("import", str(answers), **settings)
    assert done.returncode == 0, done.stderr
    return settings
