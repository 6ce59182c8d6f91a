"""The pages: from a request to HTML. They show the results of the functions of `Backend`."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from answerd import captures
from answerd.captures import CaptureError
from answerd.console.answers import Resolver
from answerd.console.backend import NotSaved
from answerd.console.documents import DocumentPages, waiting
from answerd.console.machines import SILENT, SORTS, UNKNOWN, View
from answerd.console.page_request import PageReply, PageRequest, number_in, redirect
from answerd.console.rendering import page
from answerd.facts import Facts, Request
from answerd.formats import FORMATS
from answerd.installs.states import State
from answerd.long_work import run_long
from answerd.server.roles import MAY
from answerd.server.threads import in_thread
from answerd.store.secrets import SecretRefused, names_of, why_not_writable, write_secret

REQUESTS_SHOWN = 30
PROBLEMS_SHOWN = 1_000
OLD_SECONDS = 5.0
"""The age of the set from which on it is shown: a database that answers is read every half second."""
VERBS = ("arm", "disarm", "forget")
STATES = (*(state.value for state in State), SILENT, UNKNOWN)
"""The states by which the table of machines can be filtered, in the order of the tiles."""


class Pages(DocumentPages):
    """Every page but those of documents, which `DocumentPages` has."""

    def now(self, request: PageRequest) -> PageReply:
        """Return the first page: states, problems, and the requests of this moment."""
        values = self._overview() | self._requests()
        return _html(request, "now", version=self._backend.version, store=self._backend.store, **values)

    def overview(self, request: PageRequest) -> PageReply:
        """Return the tiles and problems of the first page, again."""
        return _html(request, "overview", **self._overview())

    def requests(self, request: PageRequest) -> PageReply:
        """Return the last requests, again."""
        return _html(request, "requests", **self._requests())

    def machines(self, request: PageRequest) -> PageReply:
        """Return the table of machines that the address describes."""
        view = View(
            request.get("q"),
            request.get("state"),
            request.get("group"),
            request.get("format"),
            request.get("sort") if request.get("sort") in SORTS else "name",
            request.get("desc") == "1",
            number_in(request.get("page")) or 1,
        )
        shown = self._shown(view)
        if shown is None:
            return waiting(request, "Machines", "/console/machines", self._backend.catalogue())
        return _html(
            request,
            "machines",
            view=view,
            shown=shown,
            states=STATES if self._backend.installs else (),
            formats=tuple(FORMATS),
            has_states=self._backend.installs is not None,
        )

    def change_states(self, request: PageRequest) -> PageReply:
        """Arm, disarm or forget the machines of a form, and go back to the page it is on."""
        installs, verb = self._backend.installs, request.field("do")
        if installs is None or verb not in VERBS:
            return _failed(request, 400, "That cannot be done here.")
        try:
            who = request.session.who if request.session else ""
            installs.change(verb, request.form.get("machine", ()), who, request.peer)
        except NotSaved as error:
            return _failed(request, 409, error.reason)
        back = request.field("back")
        return redirect(back if back.startswith("/console/machine") else "/console/machines")

    def form_to_try(self, request: PageRequest) -> PageReply:
        """Return the form; with its result where the URL describes a request or names a capture."""
        given = {name: request.get(name) for name in ("path", "query", "headers", "body")}
        if request.get("replay"):
            capture = self._capture(request.get("replay"))
            if capture is None:
                return _failed(request, 404, "That recorded request is not there any more.")
            recorded = capture.request
            given = {
                "path": recorded.path,
                "query": recorded.query,
                "headers": "\n".join(f"{name}: {value}" for name, value in recorded.headers),
                "body": recorded.body.decode("utf-8", "replace"),
            }
        show_secrets = request.get("secrets") == "1" and request.sees_secrets
        return self._try(request, given, is_asked=any(given.values()), show_secrets=show_secrets)

    def tried(self, request: PageRequest) -> PageReply:
        """Return the answer to the request that a form describes."""
        given = {name: request.field(name) for name in ("path", "query", "headers", "body")}
        show_secrets = request.field("secrets") == "1" and request.sees_secrets
        return self._try(request, given, is_asked=True, show_secrets=show_secrets)

    def check(self, request: PageRequest) -> PageReply:
        """Return every problem that the last check found, and how far the present one is."""
        return _html(request, "check", checked=self._backend.check(), documents=self._backend.catalogue().size)

    def settings(self, request: PageRequest) -> PageReply:
        """Return the nodes that share the database, and the settings, secrets masked."""
        return _html(
            request,
            "settings",
            settings=self._backend.settings,
            warnings=self._backend.warnings,
            nodes=[node.as_json() for node in in_thread(self._backend.nodes)],
        )

    def access(self, request: PageRequest) -> PageReply:
        """Return who has a token, what the roles may do, and the names of the secrets."""
        return self._access(request)

    def set_secret(self, request: PageRequest) -> PageReply:
        """Write a secret; it is shown to nobody."""
        machine, name = request.field("machine").strip(), request.field("secret").strip()
        value = request.field("value").replace("\r\n", "\n")
        try:
            place = in_thread(write_secret, self._backend.secrets, machine, name, value)
        except SecretRefused as error:
            return self._access(request, message=f"Not written: {error}", failed=True, status=400)
        who = request.session.who if request.session else ""
        self._backend.log(f"console: {who}, {request.peer}, wrote the secret {place}")
        return self._access(request, message=f"The secret {place} is written. It is in force within a second.")

    def _access(self, request: PageRequest, *, message: str = "", failed: bool = False, status: int = 200) -> PageReply:
        secrets = self._backend.secrets
        values = {"tokens": self._backend.access(), "may": MAY, "secrets": names_of(secrets), "message": message}
        why_not = in_thread(why_not_writable, secrets)
        return PageReply(page("access", request=request, why_not=why_not, failed=failed, **values), status)

    def history(self, request: PageRequest) -> PageReply:
        """Return the accepted writes of all documents, the latest first."""
        before, editing = number_in(request.get("before")), self._backend.editing
        try:
            changes = editing.changes(before) if editing is not None else ()
        except NotSaved as error:
            return _failed(request, 503, error.reason)
        return _html(request, "history", changes=changes, writable=editing is not None)

    def _overview(self) -> dict[str, object]:
        catalogue, states = self._backend.catalogue(), self._states()

        def counted() -> tuple[int | None, Mapping[str, int]]:
            self._table.update(catalogue)
            if self._table.catalogue is None:  # it is being made: the records are known
                return None, states.counts() if states is not None else {}
            return self._table.count(states), self._table.counts(states) if states is not None else {}

        machines, counts = run_long(counted)
        return {
            "states": [(word, counts[word]) for word in STATES if counts.get(word)],
            "machines": machines,
            "documents": catalogue.size,
            "problems": list(self._backend.problems())[:PROBLEMS_SHOWN],
            "age": _age(self._backend.age()),
        }

    def _requests(self) -> dict[str, object]:
        feed = self._backend.feed
        return {"lines": feed.last(REQUESTS_SHOWN) if feed else (), "rate": feed.rate() if feed else ()}

    def _try(self, request: PageRequest, given: dict[str, str], *, is_asked: bool, show_secrets: bool) -> PageReply:
        answering = Resolver(self._backend.catalogue(), self._backend.sources, show_secrets=show_secrets)
        facts = Facts(_request_of(given)) if is_asked else None
        return _html(
            request,
            "try",
            answer=answering.resolved(facts) if facts else None,
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


def _age(seconds: float) -> str:
    """Return the age of a set in words; empty where it is as good as new."""
    if seconds < OLD_SECONDS:
        return ""
    return f"last read {seconds:,.0f} seconds ago" if isfinite(seconds) else "never read"


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


def _failed(request: PageRequest, status: int, message: str) -> PageReply:
    return PageReply(page("message", request=request, title="Not done", message=message), status)
