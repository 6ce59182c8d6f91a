"""A dictionary made of many behaves as one, also while it is edited."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.installs.sharded import ShardedDict

EDITS = st.lists(st.tuples(st.text(max_size=2), st.none() | st.integers()), max_size=60)


MOST_IN_FIRST = 5
"""Of a few entries, some are in the first dictionary and some in others."""


@settings(deadline=None, max_examples=100)
@given(EDITS, st.sets(st.text(max_size=2)))
def test_it_is_a_dictionary(edits: list[tuple[str, int | None]], asked: set[str]) -> None:
    real: ShardedDict[int] = ShardedDict(MOST_IN_FIRST)
    model: dict[str, int] = {}
    for key, value in edits:
        if value is None:
            assert real.pop(key) == model.pop(key, None)
        else:
            real[key] = model[key] = value
    assert dict(real) == model
    assert len(real) == len(model)
    assert sorted(real.values()) == sorted(model.values())
    assert real.intersection(asked) == model.keys() & asked
    assert [real.get(key, 0) for key in asked] == [model.get(key, 0) for key in asked]
    assert [key in real for key in asked] == [key in model for key in asked]


def test_it_can_be_edited_while_it_is_walked() -> None:
    real: ShardedDict[int] = ShardedDict(MOST_IN_FIRST)
    for number in range(1_000):
        real[f"{number}"] = number
    seen = []
    for key in real:
        seen.append(key)
        real.pop(key)
        real[f"{key} again"] = 0
    assert {key for key in seen if " " not in key} == {f"{number}" for number in range(1_000)}
