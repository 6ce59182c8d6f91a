"""The pages: from a request to HTML. They show the results of the functions of `Backend`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from answerd import captures
from answerd.answers.catalogue import Catalogue
from answerd.answers.row_claims import claims_of
from answerd.captures import CaptureError
from answerd.console.adopting import cells_of, with_machine
from answerd.console.answers import Resolver
from answerd.console.backend import Backend, NotSaved
from answerd.console.documents import DocumentPages
from answerd.console.listing import inventories_of
from answerd.console.machines import SILENT, SORTS, UNKNOWN, InstallStates, MachinesPage, MachineTable, View
from answerd.console.page_request import PageReply, PageRequest, redirect
from answerd.console.rendering import page
from answerd.documents import Key
from answerd.errors import AnswerError
from answerd.facts import Facts, Request, facts_of
from answerd.formats import FORMATS
from answerd.identity import identity_of
from answerd.installs.states import State
from answerd.inventory import DEFAULT_NAME, file_of

REQUESTS_SHOWN = 30
PROBLEMS_SHOWN = 1_000
CAPTURES_SEARCHED = 1_000
CAPTURES_SHOWN = 20
VERBS = ("arm", "disarm", "forget")
STATES = (*(state.value for state in State), SILENT, UNKNOWN)
"""The states by which the table of machines can be filtered, in the order of the tiles."""


class Pages(DocumentPages):
    """Every page but those of documents, which `DocumentPages` has."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._table = MachineTable()
        self.tables.append(self._table)

    def now(self, asked: PageRequest) -> PageReply:
        """Return the first page: states, problems, and the requests of this moment."""
        values = self._overview() | self._requests()
        return _html(asked, "now", version=self._backend.version, store=self._backend.store, **values)

    def overview(self, asked: PageRequest) -> PageReply:
        """Return the tiles and problems of the first page, again."""
        return _html(asked, "overview", **self._overview())

    def requests(self, asked: PageRequest) -> PageReply:
        """Return the last requests, again."""
        return _html(asked, "requests", **self._requests())

    def machines(self, asked: PageRequest) -> PageReply:
        """Return the table of machines that the address describes."""
        view = View(
            asked.get("q"),
            asked.get("state"),
            asked.get("group"),
            asked.get("format"),
            asked.get("sort") if asked.get("sort") in SORTS else "name",
            asked.get("desc") == "1",
            int(asked.get("page")) if asked.get("page").isdecimal() and len(asked.get("page")) < 8 else 1,  # noqa: PLR2004
        )
        shown = self._shown(view)
        return _html(
            asked,
            "machines",
            view=view,
            shown=shown,
            states=STATES if self._backend.installs else (),
            formats=tuple(FORMATS),
            has_states=self._backend.installs is not None,
        )

    def change_states(self, asked: PageRequest) -> PageReply:
        """Arm, disarm or forget the machines of a form, and go back to the page it is on."""
        installs, verb = self._backend.installs, asked.field("do")
        if installs is None or verb not in VERBS:
            return _failed(asked, 400, "That cannot be done here.")
        try:
            who = asked.session.who if asked.session else ""
            installs.change(verb, asked.form.get("machine", ()), who, asked.peer)
        except NotSaved as error:
            return _failed(asked, 409, error.reason)
        back = asked.field("back")
        return redirect(back if back.startswith("/console/machine") else "/console/machines")

    def machine(self, asked: PageRequest) -> PageReply:
        """Return everything about one machine."""
        name, catalogue = asked.get("id"), self._backend.catalogue()
        if not name:
            return redirect("/console/machines")
        facts, show_secrets = facts_of([name]), asked.get("secrets") == "1"
        answering = Resolver(catalogue, self._backend.sources, show_secrets=show_secrets)
        record = self._backend.installs.record(name) if self._backend.installs else None
        row = _row_of(catalogue, facts)
        identities = {identity_of(name), *facts.identities, *(row.identities if row is not None else ())}
        return _html(
            asked,
            "machine",
            name=name,
            identities=sorted(identities),
            row=row,
            documents=list(_documents_of(catalogue, name, row)),
            record=record,
            has_states=self._backend.installs is not None,
            events=record.get("events", ()) if record else (),
            answers=[(answer, answering.steps(facts, answer.format)) for answer in answering.in_each_format(facts)],
            steps=answering.steps(facts),
            captured=list(islice(self._captured_of(name), CAPTURES_SHOWN)),
            show_secrets=show_secrets,
        )

    def form_to_try(self, asked: PageRequest) -> PageReply:
        """Return the form; with its result where the URL describes a request or names a capture."""
        given = {name: asked.get(name) for name in ("path", "query", "headers", "body")}
        if asked.get("replay"):
            capture = self._capture(asked.get("replay"))
            if capture is None:
                return _failed(asked, 404, "That recorded request is not there any more.")
            request = capture.request
            given = {
                "path": request.path,
                "query": request.query,
                "headers": "\n".join(f"{name}: {value}" for name, value in request.headers),
                "body": request.body.decode("utf-8", "replace"),
            }
        return self._try(asked, given, is_asked=any(given.values()), show_secrets=asked.get("secrets") == "1")

    def tried(self, asked: PageRequest) -> PageReply:
        """Return the answer to the request that a form describes."""
        given = {name: asked.field(name) for name in ("path", "query", "headers", "body")}
        return self._try(asked, given, is_asked=True, show_secrets=asked.field("secrets") == "1")

    def check(self, asked: PageRequest) -> PageReply:
        """Return every problem that a check finds."""
        return _html(asked, "check", problems=self._backend.check())

    def settings(self, asked: PageRequest) -> PageReply:
        """Return the settings, secrets masked."""
        return _html(asked, "settings", settings=self._backend.settings, warnings=self._backend.warnings)

    def adopt(self, asked: PageRequest) -> PageReply:
        """Return the facts of a machine that nothing claims, and the ways to adopt it."""
        installs, name = self._backend.installs, asked.get("id")
        visitor = installs.unknown(name) if installs is not None else None
        if visitor is None:
            return _failed(asked, 404, "No machine of that name has asked without being claimed.")
        catalogue = self._backend.catalogue()
        inventories = [raw.key.identifier for raw in inventories_of(catalogue)] or [DEFAULT_NAME]
        path = "".join(cells_of(visitor["facts"]).get("path", "")).strip("/").partition("/")[0].lower()
        return _html(
            asked,
            "adopt",
            name=name,
            visitor=visitor,
            facts=[(label, ", ".join(values)) for label, values in visitor["facts"].items()],
            inventories=[(inventory, file_of(inventory)) for inventory in inventories],
            row=with_machine("", "", cells_of(visitor["facts"])),
            format=path if path in FORMATS else "toml",
            writable=self._backend.editing is not None,
        )

    def _overview(self) -> dict[str, object]:
        catalogue, states = self._backend.catalogue(), self._states()

        def counted() -> tuple[int, dict[str, int]]:
            self._table.update(catalogue)
            return self._table.count(states), self._table.counts(states) if states is not None else {}

        machines, counts = catalogue.elsewhere(counted)
        return {
            "states": [(word, counts[word]) for word in STATES if counts.get(word)],
            "machines": machines,
            "documents": catalogue.size,
            "problems": list(self._backend.problems())[:PROBLEMS_SHOWN],
        }

    def _requests(self) -> dict[str, object]:
        feed = self._backend.feed
        return {"lines": feed.last(REQUESTS_SHOWN) if feed else (), "rate": feed.rate() if feed else ()}

    def _states(self) -> InstallStates | None:
        return self._backend.installs.now() if self._backend.installs is not None else None

    def _shown(self, view: View) -> MachinesPage:
        """Return a page of the table. In a thread: there may be a million machines."""
        catalogue, states = self._backend.catalogue(), self._states()

        def show() -> MachinesPage:
            self._table.update(catalogue)
            return self._table.shown(view, states)

        return catalogue.elsewhere(show)

    def _try(self, asked: PageRequest, given: dict[str, str], *, is_asked: bool, show_secrets: bool) -> PageReply:
        answering = Resolver(self._backend.catalogue(), self._backend.sources, show_secrets=show_secrets)
        facts = Facts(_request_of(given)) if is_asked else None
        return _html(
            asked,
            "try",
            answer=answering.resolved(facts) if facts else None,
            steps=answering.steps(facts) if facts else (),
            show_secrets=show_secrets,
            **given,
        )

    def _captured_of(self, name: str) -> Iterator[_Captured]:
        """Recorded requests that carry the identity of a machine, the latest first."""
        directory, wanted = self._backend.captures, identity_of(name)
        if directory is None:
            return
        for meta, capture in islice(captures.newest_first(directory), CAPTURES_SEARCHED):
            try:
                if not isinstance(capture, CaptureError) and wanted in Facts(capture.request).identities:
                    yield _Captured(meta, capture.time, capture.request_line, capture.outcome)
            except CaptureError:
                continue

    def _capture(self, name: str) -> captures.Capture | None:
        directory = self._backend.captures
        if directory is None or "/" in name or name.startswith("."):
            return None
        try:
            return captures.read(directory / name)
        except CaptureError:
            return None


@dataclass(frozen=True, slots=True)
class _Captured:
    name: str
    time: str
    request_line: str
    outcome: str


@dataclass(frozen=True, slots=True)
class _RowShown:
    """A machine's row. ``place`` is the reason where it is not known which row the machine has."""

    place: str
    cells: Sequence[tuple[str, str]] = ()
    identities: Sequence[str] = ()
    documents: Sequence[Key] = ()


def _documents_of(catalogue: Catalogue, name: str, row: _RowShown | None) -> Iterator[tuple[str, str, str, str]]:
    """Kind, identifier, format and name of the documents that claim a machine by its name or its row."""
    identity = identity_of(name)
    how_found = {document.key: "" for document in catalogue.machines.get(identity, ())}
    for claim in catalogue.members.get(identity, ()):
        how_found.setdefault(claim.document.key, ", as a member")
    for key in row.documents if row is not None else ():
        how_found.setdefault(key, ", by its row")
    for key, how in how_found.items():
        yield key.kind.value, key.identifier, key.format, f"{key}{how}"


def _row_of(catalogue: Catalogue, facts: Facts) -> _RowShown | None:
    """Return a machine's row in an inventory; None where it has none."""
    if catalogue.inventory is None:
        return None
    try:
        row = catalogue.inventory.facts(facts).row
        if row is None:
            return None
        claims = claims_of(catalogue, row)
        keys = [document.key for document in (*claims.machines, *claims.groups)]
    except AnswerError as error:
        return _RowShown(error.reason)
    place = catalogue.inventory.place(row)
    return _RowShown(place, [*row.by_column().items()], [*row.identities()], keys)


def _request_of(given: dict[str, str]) -> Request:
    """The request that a form describes. Lines that are not headers are left out."""
    native = {name: text.encode("utf-8", "surrogateescape").decode("latin-1") for name, text in given.items()}
    headers = [
        (name.strip().lower(), value.strip())
        for name, colon, value in (line.partition(":") for line in native["headers"].splitlines())
        if colon and name.strip()
    ]
    path, _, query = native["path"].strip().partition("?")
    together = "&".join(part for part in (query, native["query"].strip().removeprefix("?")) if part)
    return Request(path or "/", together, headers, given["body"].encode("utf-8", "surrogateescape"))


def _html(asked: PageRequest, template: str, **values: object) -> PageReply:
    return PageReply(page(template, asked=asked, **values))


def _failed(asked: PageRequest, status: int, message: str) -> PageReply:
    return PageReply(page("message", asked=asked, title="Not done", message=message), status)
