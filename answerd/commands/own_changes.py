"""Changes that a command makes in a database by itself: who is their author, what guards them, and what is said of a
change that is refused or leaves machines without an answer."""

from __future__ import annotations

import getpass
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from answerd.commands import FAILED, CommandError
from answerd.commands.documents import last_words
from answerd.commands.terminal import counted, say
from answerd.store import Author, Store

if TYPE_CHECKING:
    from answerd.write_guard import WriteGuard


def losing(machines: int, verb: str = "would lose") -> str:
    """Return the sentence that says how many machines lose their answer."""
    return f"{counted(machines, 'machine')} {verb} their answer: nothing is left to them but a default, if there is one"


def refusal(reason: str, problems: Iterable[str]) -> CommandError:
    """Print the problems that a change would cause, and return the error that says that it is refused."""
    for problem in problems:
        say(f"problem: {problem}")
    return CommandError(f"refused: {reason}", FAILED)


def local_guard(store: Store) -> WriteGuard:
    """Return a guard of a database for this command."""
    from answerd.store.loader import Loader  # noqa: PLC0415
    from answerd.write_guard import OwnSet, WriteGuard  # noqa: PLC0415

    loader = Loader(store, has_states=True)
    return WriteGuard(store, OwnSet(loader), words=partial(last_words, store), log=say)


def user_name() -> str | None:
    """Return the name of the user who runs the command, for the history."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may have no name for its user
        return None


def own_author(note: str | None) -> Author:
    """Return the author of changes that a command makes itself."""
    return Author(None, user_name(), note)
