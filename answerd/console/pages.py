"""The small pages: search, a request that is tried, problems, settings."""

from __future__ import annotations

from answerd import captures
from answerd.captures import CaptureError
from answerd.console.answers import Resolver
from answerd.console.backend import Backend
from answerd.console.document_list import DocumentsFound, DocumentsView
from answerd.console.machines import waiting
from answerd.console.page_request import PageReply, PageRequest, message_page, number_in, redirect
from answerd.console.places import shown_causes
from answerd.console.rendering import machine_link, page
from answerd.console.table import MachinesFound, MachinesView, Tables
from answerd.facts import Facts, Request
from answerd.long_work import run_long
from answerd.server.threads import in_thread
from answerd.store.nodes import differences_of

PROBLEMS_SHOWN = 1_000
SEARCH_SHOWN = 20


class Pages:
    """The pages that are one function each."""

    def __init__(self, backend: Backend, tables: Tables) -> None:
        self._backend = backend
        self._tables = tables

    def search(self, request: PageRequest) -> PageReply:
        """Return the machines and documents in which a text is found; where it is one machine, go to its page."""
        text, table, states = request.get("q"), self._tables.current(), self._backend.states()
        if table is None:
            return waiting(request, "Search", "", self._backend.catalogue().size)
        if not text:
            return redirect("/console/machines")

        def look() -> tuple[MachinesFound, DocumentsFound]:
            return table.machines(MachinesView(text), states), table.documents.page(DocumentsView(text))

        machines, documents = run_long(look)
        named = [one for one in documents.documents if one.kind != "machine"]
        if machines.found == 1 and not named:
            return redirect(machine_link(machines.machines[0].name))
        return _html(request, "search", text=text, machines=machines, documents=named, most=SEARCH_SHOWN)

    def form_to_try(self, request: PageRequest) -> PageReply:
        """Return the form; with its result where the URL describes a request or names a capture."""
        given = {name: request.get(name) for name in ("path", "query", "headers", "body")}
        if request.get("replay"):
            capture = self._capture(request.get("replay"))
            if capture is None:
                return message_page(request, 404, "That recorded request is not there any more.")
            recorded = capture.request
            given = {
                "path": recorded.path,
                "query": recorded.query,
                "headers": "\n".join(f"{name}: {value}" for name, value in recorded.headers),
                "body": recorded.body.decode("utf-8", "replace"),
            }
        show_secrets = request.get("secrets") == "1" and request.sees_secrets
        return self._try(request, given, 1, is_asked=any(given.values()), show_secrets=show_secrets)

    def tried(self, request: PageRequest) -> PageReply:
        """Return the answer to the request that a form describes."""
        given = {name: request.field(name) for name in ("path", "query", "headers", "body")}
        show_secrets = request.field("secrets") == "1" and request.sees_secrets
        page_number = number_in(request.field("page")) or 1
        return self._try(request, given, page_number, is_asked=True, show_secrets=show_secrets)

    def check(self, request: PageRequest) -> PageReply:
        """Return every problem that the last check found, and how far the present one is."""
        checked, catalogue = self._backend.check(0.0), self._backend.catalogue()
        problems, notes = run_long(
            lambda: (
                shown_causes(catalogue, (checked.problems or ())[:PROBLEMS_SHOWN]),
                shown_causes(catalogue, checked.notes[:PROBLEMS_SHOWN]),
            )
        )
        return _html(
            request,
            "check",
            faults=self._backend.faults(),
            checked=checked,
            documents=catalogue.size,
            problems=problems,
            notes=notes,
        )

    def settings(self, request: PageRequest) -> PageReply:
        """Return the nodes that share the database, and the settings, secrets masked."""
        nodes = in_thread(self._backend.nodes)
        return _html(
            request,
            "settings",
            settings=self._backend.settings,
            warnings=self._backend.warnings,
            nodes=[node.as_json() for node in nodes],
            differences=differences_of(nodes),
        )

    def _try(
        self, request: PageRequest, given: dict[str, str], page_number: int, *, is_asked: bool, show_secrets: bool
    ) -> PageReply:
        answering = Resolver(self._backend.catalogue(), self._backend.sources, show_secrets=show_secrets)
        facts = Facts(_request_of(given)) if is_asked else None
        return _html(
            request,
            "try",
            answer=answering.resolved(facts, page_number) if facts else None,
            steps=answering.steps(facts) if facts else (),
            show_secrets=show_secrets,
            **given,
        )

    def _capture(self, name: str) -> captures.Capture | None:
        directory = self._backend.captures
        if directory is None or "/" in name or name.startswith("."):
            return None
        try:
            return captures.read(directory / name)
        except CaptureError:
            return None


def _request_of(given: dict[str, str]) -> Request:
    """Return the request that a form describes. Lines that are not headers are left out."""
    native = {name: text.encode("utf-8", "surrogateescape").decode("latin-1") for name, text in given.items()}
    headers = [
        (name.strip().lower(), value.strip())
        for name, colon, value in (line.partition(":") for line in native["headers"].splitlines())
        if colon and name.strip()
    ]
    path, _, query = native["path"].strip().partition("?")
    together = "&".join(part for part in (query, native["query"].strip().removeprefix("?")) if part)
    return Request(path or "/", together, headers, given["body"].encode("utf-8", "surrogateescape"))


def _html(request: PageRequest, template: str, **values: object) -> PageReply:
    return PageReply(page(template, request=request, **values))
