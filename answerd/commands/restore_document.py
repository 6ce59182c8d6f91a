"""``answerd restore-document``: restore a document to its state after a change."""

from __future__ import annotations

import sys

from answerd.commands import FAILED, WRONG_USAGE, Arguments, CommandError, Help
from answerd.commands.apply import directly, own_author
from answerd.commands.history import database, name_of, parse_document_name
from answerd.commands.terminal import printable_line
from answerd.store import HistoryFilter

HELP = Help(
    summary="Restore a document to its state after a change.",
    usage=("restore-document --revision N [--note TEXT] KEY",),
    details="""
        Puts back the text that a document had after the change of this revision (`answerd history` lists them), or
        removes it where that change removed it. What would break the set is refused. KEY is a document's name as for
        `answerd history`.
        """,
    options=(
        ("--revision N", "The revision to go back to."),
        ("--note TEXT", "A line about the change for the history."),
    ),
    examples=(
        ("answerd history groups/rack-a.toml", "Find the revision."),
        ("answerd restore-document groups/rack-a.toml --revision 17", "Go back to it."),
    ),
    exits=((0, "it is restored"), (1, "it is refused, or there is no such revision"), (2, "the command line is wrong")),
)


def run(arguments: Arguments) -> int:
    """Restore a document. Exit status 1 where that is refused."""
    from answerd.server.etags import UNCONDITIONAL  # noqa: PLC0415 - with gevent, which few commands need
    from answerd.server.live_set import LiveAnswerSet, WriteCounter  # noqa: PLC0415
    from answerd.server.write_guard import WriteGuard, WriteRefused, restore_document  # noqa: PLC0415
    from answerd.store.loader import Loader  # noqa: PLC0415

    number = arguments["--revision"]
    if not (number.isascii() and number.isdigit()):
        raise CommandError("--revision is a number", WRONG_USAGE)
    kind, identifier, extension = parse_document_name(arguments["KEY"])
    store = database()
    found = store.history(HistoryFilter(kind, identifier, extension, revision=int(number)))
    if not found:
        raise CommandError(f"revision {int(number)} is no change of {arguments['KEY']}: answerd history lists them")
    guard = WriteGuard(store, LiveAnswerSet(Loader(store, has_states=True), WriteCounter(), run=directly), run=directly)
    try:
        stored = restore_document(guard, found[0], own_author(arguments["--note"]), UNCONDITIONAL)
    except WriteRefused as refused:
        for problem in refused.problems:
            print(printable_line(f"problem: {problem}"), file=sys.stderr)
        raise CommandError(f"refused: {refused.reason}", FAILED) from None
    print(printable_line(f"{name_of(stored.key)} is what it was in revision {int(number)}"))
    return 0
