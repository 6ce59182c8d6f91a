"""The status of each reason why there is no answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from answerd.errors import (
    AnswerError,
    AnswerTooLarge,
    BrokenDocument,
    CannotFill,
    EmptyAnswer,
    GateClosed,
    NotClaimed,
    NothingLoaded,
    StatesUnknown,
    UnreadableClaim,
)
from answerd.server.statuses import INTERNAL_ERROR, NOT_FOUND, SERVICE_UNAVAILABLE

OF_ERRORS: Final[Mapping[type[AnswerError], int]] = {
    NothingLoaded: SERVICE_UNAVAILABLE,
    NotClaimed: NOT_FOUND,
    GateClosed: NOT_FOUND,
    StatesUnknown: SERVICE_UNAVAILABLE,
    BrokenDocument: INTERNAL_ERROR,
    UnreadableClaim: INTERNAL_ERROR,
    CannotFill: INTERNAL_ERROR,
    EmptyAnswer: INTERNAL_ERROR,
    AnswerTooLarge: INTERNAL_ERROR,
}
