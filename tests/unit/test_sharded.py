"""A dictionary made of many behaves as one, also while it is edited."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.installs.sharded import SHARDS, ShardedDict, free_in_steps

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


def test_no_part_of_it_holds_much_of_it() -> None:
    real: ShardedDict[int] = ShardedDict(MOST_IN_FIRST)
    for number in range(64_000):
        real[f"00163e{number:06x}"] = number
    assert max(map(len, real.tables())) < 3 * 64_000 / SHARDS
    assert sum(map(len, real.parts())) == 64_000


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


def test_what_is_given_up_is_freed_in_steps_and_stays_whole_for_those_who_use_it() -> None:
    real: ShardedDict[int] = ShardedDict(MOST_IN_FIRST)
    for number in range(3_000):
        real[f"{number}"] = number
    pieces = real.tables()
    pauses: list[int] = []
    free_in_steps([*pieces], lambda: pauses.append(len(real)))
    assert len(pauses) >= SHARDS
    assert set(pauses) == {3_000}


def test_a_list_and_a_large_table_that_are_given_up_go_in_steps() -> None:
    read = [object() for _ in range(5_000)]
    lengths: list[int] = []
    free_in_steps([read], lambda: lengths.append(len(read)))
    assert lengths == [4_000, 3_000, 2_000, 1_000, 0]
    pauses: list[None] = []
    free_in_steps([dict.fromkeys(map(str, range(5_000)))], lambda: pauses.append(None))
    assert len(pauses) == 2 * len(lengths)
