"""Dry runs: they take no lock, no more time than they have, and little memory, and say what a change does."""

from __future__ import annotations

import json
import math
import random
from contextlib import nullcontext
from pathlib import Path
from time import monotonic

import gevent
import pytest

from answerd import write_guard
from answerd.answers import compose
from answerd.answers.catalogue import Catalogue
from answerd.answers.diff import compare
from answerd.console import editing as console_editing
from answerd.console.consequences import Consequences
from answerd.console.editing import Editing, NotSaved, RowEdit, digest_of
from answerd.console.jobs import Ended
from answerd.documents import _NOT_KEPT, Key, RawDocument
from answerd.identity import Kind
from answerd.inventory.row import NEW_INVENTORY
from answerd.server.admin import changes as admin_changes
from answerd.server.roles import Role, new_token
from answerd.store import Author, CannotBeStored, StoreError
from answerd.write_guard import ChangeSet, Times, WriteRefused
from tests.support.admin import Admin
from tests.support.waiting import PATIENCE

NODE = Key(Kind.MACHINE, "node1", "toml")


@pytest.fixture
def admin(in_memory: Path) -> Admin:
    return Admin(in_memory / "answers.db")


def applied(admin: Admin, *puts: RawDocument, deletes: tuple[Key, ...] = (), prune: bool = False) -> object:
    """What a dry run says of a change; then the change is made, which has to say the same."""
    changes = ChangeSet(puts, deletes, prune)
    tried, made = admin.guard.tried(changes), admin.guard.apply(changes)
    said, is_so = (
        {
            "new": {raw.key: raw.text for raw in one.written.new},
            "changed": {raw.key: raw.text for raw in one.written.changed},
            "unchanged": {*one.written.unchanged},
            "removed": {*one.written.removed},
            "problems": one.problems,
            "before": one.problems_before,
            "documents": {raw.key: raw.text for raw in one.after.raws()},
        }
        for one in (tried, made)
    )
    assert said == is_so
    return said


def test_a_dry_run_says_what_the_change_then_does(admin: Admin) -> None:
    rng = random.Random(3)
    names = ["n1", "N-1", "n2", "00:11:22:33:44:55", "001122334455", ""]
    for _ in range(60):
        puts: dict[object, RawDocument] = {}
        for _ in range(rng.randrange(4)):
            kind = rng.choice([Kind.MACHINE, Kind.GROUP, Kind.DEFAULT, Kind.INVENTORY])
            name = "" if kind is Kind.DEFAULT else rng.choice(names[:-1])
            extension = "csv" if kind is Kind.INVENTORY else rng.choice(["toml", "ks"])
            key = Key(kind, name.replace(":", "-") if kind is Kind.INVENTORY else name, extension)
            row = rng.randrange(1_000_000)
            text = f"id\nrow-{row}\n" if extension == "csv" else f"x = {rng.randrange(3)}\n"
            puts[key.name] = RawDocument(key, text)
        stored = sorted(raw.key for raw in admin.follower.current().raws())
        deletes = {key.name: key for key in rng.sample(stored, min(len(stored), rng.randrange(2)))}
        left = tuple(key for name, key in deletes.items() if name not in puts)
        applied(admin, *puts.values(), deletes=left, prune=rng.random() < 0.2)


def test_a_dry_run_needs_no_lock_and_delays_no_write(admin: Admin) -> None:
    change = ChangeSet((RawDocument(NODE, "x = 1\n"),))
    with admin.store.writing():
        assert len(admin.guard.tried(change).written.new) == 1


def test_a_document_that_no_store_takes_is_refused_in_a_dry_run_too(admin: Admin) -> None:
    key = Key(Kind.MACHINE, "node1", "ks")
    with pytest.raises(CannotBeStored):
        admin.guard.tried(ChangeSet((RawDocument(key, "a" * 2_000_000),)))


def test_a_dry_run_ends_with_its_time(admin: Admin) -> None:
    change = ChangeSet(tuple(RawDocument(Key(Kind.MACHINE, f"n{at}", "toml"), "x = 1\n") for at in range(5)))
    with pytest.raises(StoreError, match="SERVICE_ADMIN_TIMEOUT_SECS"):
        admin.guard.tried(change, times=Times(monotonic()))
    assert admin.guard.tried(change, times=Times(monotonic() + 600)).written.new


def test_a_comparison_ends_with_its_time_among_rows_that_nothing_claims(admin: Admin) -> None:
    table = RawDocument(Key(Kind.INVENTORY, "default", "csv"), "id\n" + "".join(f"row-{at}\n" for at in range(50)))
    tried = admin.guard.tried(ChangeSet((table,)))
    asked: list[int] = []

    def end(_done: int, _total: int) -> None:
        asked.append(1)
        if len(asked) == 5:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        compare(tried.before, tried.after, end, most=1_000)


def test_a_dry_run_of_more_rows_than_it_may_have_is_refused(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_guard, "MOST_ROWS_TRIED", 5)
    tables = [RawDocument(Key(Kind.INVENTORY, name, "csv"), f"id\n{name}-1\n{name}-2\n") for name in ("a", "b")]
    assert admin.guard.tried(ChangeSet((tables[0],))).written.new
    with pytest.raises(WriteRefused, match="at most 5 "):
        admin.guard.tried(ChangeSet(tuple(tables)))


# --- previews of the console ---


def ended(editing: Editing, found: Consequences) -> Consequences:
    """The preview when it has come to its end."""
    now: Consequences | None = found
    with gevent.Timeout(PATIENCE):
        while now is not None and now.is_pending:
            gevent.sleep(0.001)
            now = editing.previewed(found.name)
    assert now is not None
    return now


def test_a_preview_waits_for_the_dry_run_before_it(admin: Admin) -> None:
    editing = Editing(admin.writes, PATIENCE)
    with admin.writes.dry_run(math.inf):
        found = editing.preview(NODE, "x = 1\n")
        assert found.is_pending
    assert [effect.sentence for effect in ended(editing, found).effects] == [
        "1 machine gets an answer, and has none now"
    ]


def test_a_preview_ends_with_its_time(admin: Admin) -> None:
    editing = Editing(admin.writes, 0.0)
    assert "SERVICE_ADMIN_TIMEOUT_SECS" in ended(editing, editing.preview(NODE, "x = 1\n")).refused
    with admin.writes.dry_run(math.inf):
        assert "the dry runs before this one" in ended(editing, editing.preview(NODE, "x = 1\n")).refused


ROW = RowEdit("", "", digest_of(NEW_INVENTORY.strip().split(",")), ["n1", *[""] * NEW_INVENTORY.count(",")])


@pytest.mark.parametrize("way", ["a document", "a row"])
@pytest.mark.parametrize("fault", ["its time", "other dry runs", "a rule that fails", "given up"])
def test_what_could_not_be_judged_is_not_saved_unless_that_is_wanted(
    admin: Admin, monkeypatch: pytest.MonkeyPatch, way: str, fault: str
) -> None:
    editing = Editing(admin.writes, PATIENCE if fault in {"a rule that fails", "given up"} else 0.0)
    table = Key(Kind.INVENTORY, "default", "csv")

    def save(strict: bool) -> object:
        if way == "a row":
            return editing.edit_row(table, ROW, Author(), strict=strict)
        return editing.save(NODE, "x = 1\n", "", Author(), strict=strict)

    def fail(*_: object, **__: object) -> None:
        raise Ended if fault == "given up" else RuntimeError("no rule")

    if editing.seconds:
        monkeypatch.setattr(console_editing, "refusals", fail)
    with (
        admin.writes.dry_run(math.inf) if fault == "other dry runs" else nullcontext(),
        pytest.raises(NotSaved) as said,
    ):
        save(strict=True)
    assert "could not be judged" in said.value.reason
    assert "untick" in said.value.reason
    assert [problem.partition(":")[0] for problem in said.value.problems] == ["the answers could not be compared"]
    assert admin.store.version().revision == 0
    assert save(strict=False)
    assert admin.store.version().revision == 1


def test_a_write_that_would_be_refused_is_not_offered_unjudged(admin: Admin) -> None:
    editing = Editing(admin.writes, PATIENCE)
    with pytest.raises(NotSaved) as asked:
        editing.save(NODE, "x = \n", "", Author(), strict=True)
    with pytest.raises(NotSaved) as made:
        editing.save(NODE, "x = \n", "", Author())
    assert (asked.value.reason, [*asked.value.problems]) == (made.value.reason, [*made.value.problems])


# --- memory -----------------------------------------------------------------------------------------------------------


def trees_of(catalogue: Catalogue) -> list[Key]:
    """The documents whose trees are there."""
    return [document.key for document in catalogue.documents.values() if document._tree is not _NOT_KEPT]


def test_a_write_and_a_dry_run_drop_the_tree_of_each_document_that_they_judged(admin: Admin) -> None:
    kinds = (Kind.MACHINE, Kind.GROUP)
    change = ChangeSet(tuple(RawDocument(Key(kind, f"n{at}", "toml"), "x = 1\n") for kind in kinds for at in range(9)))
    assert trees_of(admin.guard.tried(change).after) == []
    assert trees_of(admin.guard.apply(change).after) == []


def test_a_comparison_has_the_trees_of_one_stack_at_a_time_and_keeps_no_answer(
    admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    def text(number: int) -> str:
        return f'extends = "g{number % 3}"\n' + "".join(f"x{at} = {number}\n" for at in range(50))

    groups = [RawDocument(Key(Kind.GROUP, f"g{at}", "toml"), f"y = {at}\n" * 1) for at in range(3)]
    machines = [RawDocument(Key(Kind.MACHINE, f"n{at}", "toml"), text(at)) for at in range(30)]
    tried = admin.guard.tried(ChangeSet((*groups, *machines)))
    most: list[int] = []
    monkeypatch.setattr(compose, "MOST_LOOKED_AT", 1_000)
    found = compare(
        tried.before, tried.after, lambda _done, _total: most.append(len(trees_of(tried.after))), most=1_000_000
    )

    assert len(most) == len(found.differences) == 30
    assert max(most) <= len(groups)
    assert trees_of(tried.after) == []
    assert [document for document in tried.after.documents.values() if document.prepared or document.stacks] == []
    assert {side.text for one in found.differences for side in (one.before, one.after) if side} == {""}


def test_a_stack_that_is_too_large_is_named_and_not_made(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = admin.guard.tried(ChangeSet((RawDocument(NODE, "x = 1\n" + "# long\n" * 100),)))
    monkeypatch.setattr(compose, "MOST_LOOKED_AT", 100)
    found = compare(tried.before, tried.after, most=1_000_000)
    assert [note.partition(":")[0] for note in found.notes] == ["1 answers were not made"]


def test_diffs_that_are_too_long_are_left_out_and_counted(admin: Admin) -> None:
    texts = {f"n{at}": "".join(f"x{line} = {at}\n" for line in range(10)) for at in range(4)}
    change = ChangeSet(tuple(RawDocument(Key(Kind.MACHINE, name, "toml"), text) for name, text in texts.items()))
    tried = admin.guard.tried(change)
    whole, short = (compare(tried.before, tried.after, most=most) for most in (100_000, 1_000))

    assert [bool(one.lines) for one in whole.changes()] == [True] * 4
    assert [bool(one.lines) for one in short.changes()] == [True, False, False, False]
    assert [one.counts for one in short.changes()] == [one.counts for one in whole.changes()]
    assert [note for note in short.notes if note.startswith("of 3 changes")]
    assert compare(tried.before, tried.after).changes() == [
        type(one)(full.differences, one.lines, one.counts)
        for one, full in zip(whole.changes(), compare(tried.before, tried.after).changes(), strict=True)
    ]


@pytest.mark.parametrize("filling", ['"put":[%s]', '"put":[{"kind":%s}]', '"delete":[%s]'])
def test_a_body_of_more_values_than_a_change_has_is_refused(
    admin: Admin, monkeypatch: pytest.MonkeyPatch, filling: str
) -> None:
    monkeypatch.setattr(admin_changes, "_MOST_PIECES", 100)
    body = "{" + filling % ("[" + ",".join(["[]"] * 200) + "]") + "}"
    reply = admin.ask("POST", "/apply", body)
    assert (reply.status, "documents: make it in parts" in reply.error) == (400, True)


def test_signs_within_a_text_are_no_values(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin_changes, "_MOST_PIECES", 20)
    text = 'x = ["\\"", ' + "[{,}]," * 50
    document = {"kind": "machine", "identifier": "n", "format": "ks", "text": text}
    reply = admin.ask("POST", "/apply", json.dumps({"put": [document], "dry_run": True}))
    assert reply.status == 200


def test_the_role_plan_sends_a_smaller_change_than_admin(in_memory: Path) -> None:
    token, named = new_token("planner", Role.PLAN)
    admin = Admin(in_memory / "planned.db", [named])
    body = b" " * (admin_changes.DRY_RUN_LIMIT + 1)
    assert [admin.ask("POST", "/apply", body, token=token).status, admin.ask("POST", "/apply", body).status] == [
        413,
        400,
    ]
