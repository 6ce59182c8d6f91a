"""All statuses are in one table: the server writes none as a number, and no reason for an error is without one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from answerd.errors import AnswerError
from answerd.server.statuses import ADMIN_STATUSES, ANSWER_STATUSES, OF_ERRORS, STATUSES

SERVER = Path(__file__).parents[2] / "answerd" / "server"
CODES = {status.code for status in STATUSES}


def numbers_in_calls(source: str) -> Iterator[int]:
    """Yield the numbers that are arguments, or values of a table, returned or compared with."""
    for node in ast.walk(ast.parse(source)):
        values: list[ast.expr] = []
        if isinstance(node, ast.Call):
            values = [*node.args, *(keyword.value for keyword in node.keywords)]
        elif isinstance(node, ast.Dict):
            values = node.values
        elif isinstance(node, ast.Compare):
            values = node.comparators
        elif isinstance(node, ast.Return) and node.value is not None:
            values = [node.value]
        yield from (value.value for value in values if isinstance(value, ast.Constant) and type(value.value) is int)


def test_a_status_that_is_written_as_a_number_is_found() -> None:
    source = "refuse(404, 'x')\nf(status=503)\nOF = {E: 500}\nif x == 401:\n    pass\ndef f():\n    return 405\nA = 400"
    assert sorted(numbers_in_calls(source)) == [401, 404, 405, 500, 503]


@pytest.mark.parametrize("path", sorted(SERVER.rglob("*.py")), ids=lambda path: path.name)
def test_no_status_is_written_as_a_number(path: Path) -> None:
    if path.name != "statuses.py":
        assert [number for number in numbers_in_calls(path.read_text("utf-8")) if number in CODES] == []


def below(error: type[AnswerError]) -> set[type[AnswerError]]:
    return {found for one in error.__subclasses__() for found in {one} | below(one)}


def test_every_reason_for_not_answering_has_a_status_of_the_endpoint() -> None:
    assert set(OF_ERRORS) == below(AnswerError)
    assert set(OF_ERRORS.values()) < ANSWER_STATUSES


def test_each_status_has_one_row() -> None:
    assert len(CODES) == len(STATUSES)
    assert CODES == ANSWER_STATUSES | ADMIN_STATUSES
