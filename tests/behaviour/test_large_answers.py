"""An answer has at most 8 MB, from every store, however it comes about."""

from __future__ import annotations

import pytest

from answerd.answers.compose import prepared_answer
from answerd.errors import AnswerTooLarge
from answerd.formats.filters import LARGEST_ANSWER
from tests.support.fleet import Fleet
from tests.support.lookups import Said

LINE = "x" * 1_023 + "\n"


LAYERS = {
    f"groups/g{number}.ks": (f"# answer: extends g{number - 1}\n" if number else "") + LINE * 1_023
    for number in range(8)
}
"""Eight groups, each over the one before it, of 8 lines less than 8 MB."""


def test_an_answer_of_8_megabytes_is_served(fleet: Fleet) -> None:
    fleet.write(LAYERS | {"default.ks": "# answer: extends g7\n" + LINE * 8})

    assert len(fleet.ask("/ks").body) == LARGEST_ANSWER


@pytest.mark.parametrize(
    "documents",
    [
        pytest.param(LAYERS | {"default.ks": "# answer: extends g7\n" + LINE * 8 + "x"}, id="as merged"),
        pytest.param(LAYERS | {"default.ks": "# answer: extends g7\n" + LINE * 8 + "{{ id }}"}, id="as filled"),
        pytest.param({"default.ks": "{{ text }}\n" * 9_000}, id="as filled many times"),
        pytest.param({"default.toml": 'a = "' + "{{ text }}" * 9_000 + '"\n'}, id="as filled in one value"),
    ],
)
def test_a_larger_one_is_an_error_that_says_so(fleet: Fleet, documents: dict[str, str]) -> None:
    fleet.write(documents)
    word = "toml" if "default.toml" in documents else "ks"

    with pytest.raises(
        AnswerTooLarge, match=rf"the answer of default \({word}\).* has more than {LARGEST_ANSWER} bytes"
    ):
        fleet.ask(f"/{word}?id=1&text={'x' * 1_000}")


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
