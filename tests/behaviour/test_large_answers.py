"""An answer has at most 8 MB, from every store, however it comes about."""

from __future__ import annotations

import pytest

from answerd.answers.compose import prepared_answer
from answerd.errors import AnswerTooLarge
from answerd.formats.meter import LARGEST_ANSWER
from tests.support.fleet import Fleet
from tests.support.lookups import Said

LINE = "x" * 1_023 + "\n"


def test_an_answer_of_8_megabytes_is_served(fleet: Fleet) -> None:
    fleet.write({"default.ks": LINE * 8 * 1_024})

    assert len(fleet.ask("/ks").body) == LARGEST_ANSWER


@pytest.mark.parametrize(
    "documents",
    [
        pytest.param({"default.ks": LINE * 8 * 1_024 + "x"}, id="as written"),
        pytest.param(
            {"groups/base.ks": LINE * 5 * 1_024, "default.ks": "# answer: extends base\n" + LINE * 4 * 1_024},
            id="as merged",
        ),
        pytest.param({"default.ks": LINE * 8 * 1_024 + "{{ id }}"}, id="as filled"),
    ],
)
def test_a_larger_one_is_an_error_that_says_so(fleet: Fleet, documents: dict[str, str]) -> None:
    fleet.write(documents)

    with pytest.raises(AnswerTooLarge, match=f"more than {LARGEST_ANSWER} bytes"):
        fleet.ask("/ks?id=1")


@pytest.mark.patches
def test_a_value_that_is_repeated_is_not_made_more_often_than_an_answer_holds(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("answerd.formats.family.LARGEST_ANSWER", 10_000)
    fleet.write({"default.ks": "{{ id }}{{ own }}\n" * 200})
    made: list[str] = []
    value = "v" * 1_000

    def lookup(label: str) -> str:
        made.append(label)
        return value

    [defaults] = fleet.loader.catalogue.defaults.values()
    with pytest.raises(AnswerTooLarge):
        prepared_answer(defaults).fill(Said(lookup))
    assert len(made) == 11
