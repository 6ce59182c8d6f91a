"""Unknown machines become rows of an inventory (docs/inventory.md#adopting-machines)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple

import bottle

from answerd.adoption import MOST_ADOPTED, Adoption, Plan, WrongAdoption, adopted_note, plan_as_json, planned
from answerd.answers.diff import compare
from answerd.answers.operator_names import machines_with_state
from answerd.answers.secret_names import redacted_cells, redacted_row
from answerd.answers.unclaimed import still_unclaimed
from answerd.documents import Key
from answerd.etags import Conditions, etag
from answerd.identity import Kind, identifier_fault
from answerd.inventory import DEFAULT_NAME, FORMAT
from answerd.server.admin import requests
from answerd.server.admin.changes import DIFF_CHARACTERS, refuse_late
from answerd.server.admin.documents import text_of
from answerd.server.admin.requests import MASKED, InvalidRequest, Route, json_response, note_outcome
from answerd.server.document_writes import DocumentWrites
from answerd.server.live_states import LiveStates
from answerd.server.statuses import OK
from answerd.server.threads import in_thread
from answerd.short_texts import brief
from answerd.store import Author
from answerd.write_guard import ChangeSet, ConditionFailed, Times

_FIELDS = {
    "to": str,
    "name": str,
    "set": dict,
    "said": list,
    "only": list,
    "count": int,
    "free": bool,
    "dry_run": bool,
}
_MOST_FILTERS = 100
_HIGHEST_COUNT = 999_999


class Made(NamedTuple):
    """An adoption that was made or tried. ``tag`` is that of the inventory: with a dry run as it is, empty where there
    is none. ``notes`` of one that was tried are about the answers that would change."""

    plan: Plan
    tag: str
    problems: Iterable[str]
    notes: Iterable[str] = ()


class AdoptionHandlers:
    def __init__(self, adoptions: Adoptions) -> None:
        self._adoptions = adoptions

    def routes(self) -> Iterable[Route]:
        yield Route("POST", "/adopt", self.adopt, what="an adoption")

    def adopt(self) -> bottle.HTTPResponse:
        """Make rows of unknown machines, or return which they would be in a dry run."""
        fields = _fields(requests.body())
        name = fields.get("to", DEFAULT_NAME)
        if fault := identifier_fault(Kind.INVENTORY, name):
            raise InvalidRequest(f'"to": {fault}')
        key, asked = Key(Kind.INVENTORY, name, FORMAT), _asked(fields)
        author, conditions, times = requests.author(), requests.conditions(), requests.times()
        writes, is_dry_run = self._adoptions.writes, fields.get("dry_run", False)
        if is_dry_run:
            with writes.dry_run(times.begin_by):
                made = in_thread(self._adoptions.tried, key, asked, conditions, times)
        else:
            made = writes.make(times, self._adoptions.made, key, asked, author, conditions)
        status = "dry run" if is_dry_run else "adopted"
        note_outcome(f"{status}: {len(made.plan.adopted)} machines")
        report = plan_as_json(made.plan)
        sees_secrets = requests.sees_secrets()
        if not sees_secrets:
            labels = writes.follower.catalogue.columns
            for row in report["rows"]:
                row["row"] = redacted_row(row["row"], labels)
        headers = {} if sees_secrets else {**MASKED}
        if made.tag:
            headers["ETag"] = made.tag
        notes = {"notes": [*made.notes]} if is_dry_run else {}
        return json_response(OK, {"status": status, **report, "problems": [*made.problems], **notes}, headers)


# --- adoptions, as the console makes them too ---


class Adoptions:
    """Adoptions of machines. Each function waits for the disk: it is called in a thread."""

    def __init__(self, writes: DocumentWrites, installs: LiveStates) -> None:
        self.writes = writes
        self._installs = installs

    def tried(self, key: Key, asked: Adoption, conditions: Conditions, times: Times) -> Made:
        """Return what an adoption would be. Raises as `planned` does, and as the write guard."""
        plan, tag = self.planned(key, asked, conditions)
        if not plan.adopted:
            return Made(plan, tag, ())
        applied = self.writes.guard.tried(ChangeSet((plan.document(key),)), times=times)
        in_time = partial(refuse_late, times=times)
        words = applied.words().and_of(plan.contacts())
        found = compare(applied.before, applied.after, in_time, most=DIFF_CHARACTERS, words=words)
        return Made(plan, tag, applied.problems, found.notes)

    def made(
        self, key: Key, asked: Adoption, author: Author, conditions: Conditions, times: Times, seen: str | None = None
    ) -> Made:
        """Adopt machines. ``seen`` is the `digest_of_plan` that somebody saw before: it has to be the same still.
        Raises as `planned` does, and as the write guard."""
        plan, tag = self.planned(key, asked, conditions)
        if seen is not None and seen != digest_of_plan(plan, tag, self.writes.follower.catalogue.columns):
            raise ConditionFailed("what these machines would become has changed since it was shown: look at it again")
        if not plan.adopted:
            return Made(plan, tag, ())
        by = Author(author.peer, author.name, author.note or adopted_note(len(plan.adopted)))
        still = Conditions(if_match=tag) if tag else Conditions(if_none_match="*")
        written = self.writes.guard.put(key, plan.text, by, still, times)
        return Made(plan, written.etag, written.problems)

    def planned(self, key: Key, asked: Adoption, conditions: Conditions) -> tuple[Plan, str]:
        """Return what would be done, and the tag of the inventory as it is. Raises `InvalidRequest`,
        `ConditionFailed`."""
        stored = self.writes.store.find(key)
        tag = etag(stored.revision, stored.token) if stored is not None else ""
        if fault := conditions.fault(tag or None):
            raise ConditionFailed(fault)
        text = text_of(stored.key, stored.body) if stored is not None else None
        catalogue, memory = self.writes.follower.catalogue, self._installs.current()
        machines = still_unclaimed(catalogue, self._installs.store.unknown())
        names = [machine.name for machine in machines_with_state(catalogue, memory)]
        try:
            return planned(catalogue, key, text, machines, asked, names), tag
        except WrongAdoption as error:
            raise InvalidRequest(str(error)) from None


def digest_of_plan(plan: Plan, tag: str, labels: Mapping[str, str]) -> str:
    """Return what tells whether an adoption is the one that was shown: by the tag of the inventory, and the rows
    without their secrets, which nobody is to try by it."""
    columns = plan.table.layout.columns
    rows = [[one.machine.machine, one.line, redacted_cells(columns, one.cells, labels)] for one in plan.adopted]
    return sha256(json.dumps([tag, rows]).encode()).hexdigest()[:16]


def _fields(body: bytes) -> dict[str, Any]:
    """Return the fields of a request. Raises `InvalidRequest`."""
    try:
        fields = json.loads(body or b"{}", object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise InvalidRequest('the body is no JSON object, {"name": "cn{n:04}", "set": {"role": "gpu"}}') from None
    if not isinstance(fields, dict):
        raise InvalidRequest('the body is no JSON object, {"name": "cn{n:04}", "set": {"role": "gpu"}}')
    for name, value in fields.items():
        if name not in _FIELDS:
            raise InvalidRequest(f"the body has an unknown field {brief(name)}: there are {', '.join(_FIELDS)}")
        if type(value) is not _FIELDS[name]:
            raise InvalidRequest(f'"{name}" is no {_WORDS[_FIELDS[name]]}')
    return fields


_WORDS = {str: "text", dict: "object of texts", list: "list of texts", int: "number", bool: "true or false"}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _asked(fields: dict[str, Any]) -> Adoption:
    """Return what a request asks for. Raises `InvalidRequest`."""
    values, said, count = fields.get("set", {}), fields.get("said", []), fields.get("count")
    only = fields.get("only")
    for name, texts in (("set", values.values()), ("said", said), ("only", only or ())):
        if not all(isinstance(text, str) for text in texts):
            raise InvalidRequest(f'"{name}" is no {_WORDS[_FIELDS[name]]}')
    if len(said) > _MOST_FILTERS:
        raise InvalidRequest(f'"said" has more than {_MOST_FILTERS} filters')
    if only is not None and len(only) > MOST_ADOPTED:
        raise InvalidRequest(f'"only" has more than {MOST_ADOPTED:,} machines')
    if count is not None and not 1 <= count <= _HIGHEST_COUNT:
        raise InvalidRequest('"count" is no whole number above zero')
    for column, text in values.items():
        if fault := requests.cell_fault(column, text):
            raise InvalidRequest(fault)
    chosen = None if only is None else frozenset(only)
    return Adoption(fields.get("name"), values, tuple(said), count, fields.get("free", False), chosen)
