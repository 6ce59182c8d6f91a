"""Why a request gets no answer: one family of errors, each with a sentence for the person at the console.

The core raises these; the server maps them to statuses in one table. Nothing here knows HTTP.
"""

from __future__ import annotations

from typing import Final

MOST_PROBLEMS: Final = 10
"""Problems of one document that are listed; further problems are only counted."""


class AnswerError(Exception):
    """No answer, and why. ``reason`` is one plain line, fit for an installer's console."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NothingLoaded(AnswerError):
    """No answer set was ever loaded, so the answer to the request is not known."""


class NotClaimed(AnswerError):
    """Nothing claims the request and no default may answer it."""


class GateClosed(AnswerError):
    """The machine may not install now (docs/install-once.md)."""


class StatesUnknown(AnswerError):
    """The states of installs cannot be read, so it is not known whether the machine may install."""


class BrokenDocument(AnswerError):
    """A document that would be part of the answer is broken, so there is none."""


class UnreadableClaim(BrokenDocument):
    """A group that was never readable might claim the request, so its answer is not known."""


class CannotFill(AnswerError):
    """A placeholder cannot be filled from this request: the fact is missing or unusable.

    ``general`` is the reason in words that are the same for every machine, for a list of many.
    """

    def __init__(self, reason: str, label: str, *, missing: bool, general: str = "") -> None:
        super().__init__(reason)
        self.label = label
        self.missing = missing
        self.general = general or reason


class EmptyAnswer(AnswerError):
    """The answer is nothing but white space, which several installers would take for success."""


class AnswerTooLarge(AnswerError):
    """The answer is larger than any installer's, and the service keeps it in memory until the client has read it."""
