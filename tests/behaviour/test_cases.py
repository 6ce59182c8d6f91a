"""Every case of tests/cases/ holds in every store."""

from __future__ import annotations

import pytest

from tests.support.cases import Case, all_cases, holds_in
from tests.support.fleet import Fleet

pytestmark = pytest.mark.long

CASES = all_cases()


@pytest.mark.each_store
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_case_holds(fleet: Fleet, case: Case) -> None:
    holds_in(fleet, case)
