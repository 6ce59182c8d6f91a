"""The pages of the history: changes searched and unfolded, and one taken back after a look at what that does.

Rules: docs/console.md#history.
"""

from __future__ import annotations

import re
from collections.abc import Set

from answerd.console.backend import Backend
from answerd.console.changes import CHANGES_LISTED, ChangesWanted
from answerd.console.editing import NotSaved
from answerd.console.page_request import PageReply, PageRequest, message_page, number_in, redirect
from answerd.console.rendering import link, page

HERE = "/console/history"
NAMES_SHOWN = 20
"""Documents of one change that are named in the list."""

MOST_NAMED = 500
"""Documents that are named before a change is taken back."""

_DAY = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")
_BACK = {"added": "is removed", "changed": "gets its text from before", "removed": "is there again"}


def changes_address(name: str) -> str:
    """Return the address of the changes of a machine's row and its documents."""
    return link(HERE, document=name)


class HistoryPages:
    """The pages of the history."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def show(self, request: PageRequest) -> PageReply:
        """Return the accepted writes of all documents, the latest first."""
        editing, opened = self._backend.editing, number_in(request.get("open"))
        day = request.get("day")
        fault = "" if not day or _DAY.fullmatch(day) else "a day is written 2026-11-27"
        document, before = request.get("document"), number_in(request.get("before"))
        rows = self._changes_of_row(document, before) if document else frozenset()
        wanted = ChangesWanted("" if fault else day, request.get("who"), document, before, rows)
        changes = editing.changes(wanted) if editing is not None else ()
        figures, is_counted = editing.touched() if editing is not None else ({}, True)
        body = page(
            "history",
            request=request,
            wanted=wanted,
            fault=fault,
            changes=changes[:CHANGES_LISTED],
            has_older=len(changes) > CHANGES_LISTED,
            figures=figures,
            is_counted=is_counted,
            opened=opened,
            unfolded=editing.unfolded(opened) if editing is not None and opened is not None else (),
            named=NAMES_SHOWN,
            taken=number_in(request.get("taken")),
            back=number_in(request.get("back")),
            writable=editing is not None,
        )
        return PageReply(body)

    def _changes_of_row(self, name: str, before: int | None) -> Set[int]:
        editing, installs = self._backend.editing, self._backend.installs
        if editing is None or installs is None:
            return frozenset()
        return editing.changes_of_row(installs.names_of(name), before)

    def back(self, request: PageRequest) -> PageReply:
        """Return what taking back a change would do; nothing is changed."""
        return self._back(request, number_in(request.get("revision")))

    def sent(self, request: PageRequest) -> PageReply:
        """Return the same for a form that was sent, or why the change was not taken back."""
        return self._back(request, number_in(request.field("revision")))

    def _back(self, request: PageRequest, revision: int | None) -> PageReply:
        editing, refusal = self._backend.editing, request.refusal
        if editing is None or revision is None:
            return message_page(request, 404, "There is no such change.")
        try:
            made = editing.made_with(revision)
            consequences = editing.preview_back(revision)
        except NotSaved as error:
            return message_page(request, error.status, error.reason)
        message = ""
        if refusal is not None:
            message = refusal.reason if refusal.is_resumed else f"Not taken back: {refusal.reason}"
        body = page(
            "back",
            request=request,
            made=made,
            words=_BACK,
            named=MOST_NAMED,
            consequences=consequences,
            message=message,
            problems=refusal.problems if refusal is not None else (),
        )
        return PageReply(body)

    def change(self, request: PageRequest) -> PageReply:
        """Take back a change."""
        editing, revision = self._backend.editing, number_in(request.field("revision"))
        if editing is None or revision is None:
            raise NotSaved("there is no such change", status=404)
        return redirect(link(HERE, taken=revision, back=editing.take_back(revision, request.author)))
