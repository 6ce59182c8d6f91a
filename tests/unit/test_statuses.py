"""All statuses are in one table, and no reason for an error is without one."""

from __future__ import annotations

from answerd.errors import AnswerError
from answerd.server.answer_statuses import OF_ERRORS
from answerd.server.statuses import ADMIN_STATUSES, ANSWER_STATUSES, STATUSES

CODES = {status.code for status in STATUSES}


def below(error: type[AnswerError]) -> set[type[AnswerError]]:
    return {found for one in error.__subclasses__() for found in {one} | below(one)}


def test_every_reason_for_not_answering_has_a_status_of_the_endpoint() -> None:
    assert set(OF_ERRORS) == below(AnswerError)
    assert set(OF_ERRORS.values()) < ANSWER_STATUSES


def test_each_status_has_one_row() -> None:
    assert len(CODES) == len(STATUSES)
    assert CODES == ANSWER_STATUSES | ADMIN_STATUSES
