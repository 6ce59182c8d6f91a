"""The mapping whose copies share: each is right whatever becomes of the others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from answerd.answers.copy_on_write import CopyOnWriteMap

STEPS = st.lists(
    st.tuples(st.sampled_from(["set", "delete", "copy"]), st.integers(0, 30), st.integers(0, 9)), max_size=60
)


def filled(count: int) -> CopyOnWriteMap[int, str]:
    made: CopyOnWriteMap[int, str] = CopyOnWriteMap()
    for number in range(count):
        made[number] = "first"
    return made


@given(st.integers(0, 20), STEPS)
def test_it_is_a_mapping_and_so_are_the_copies_before(count: int, steps: list[tuple[str, int, int]]) -> None:
    current, expected = filled(count), dict.fromkeys(range(count), "first")
    before = []
    for what, key, value in steps:
        if what == "copy":
            before.append((current, expected))
            current, expected = current.copy(), dict(expected)
        elif what == "set":
            current[key] = expected[key] = str(value)
        elif key in expected:
            del current[key], expected[key]
    for made, wanted in [*before, (current, expected)]:
        assert dict(made.items()) == wanted
        assert sorted(made.values()) == sorted(wanted.values())
        assert len(made) == len(wanted)
        assert made.intersection(range(32)) == wanted.keys() & range(32)


def test_a_walk_sees_what_was_there_when_the_next_copies_are_put_together() -> None:
    current = filled(3_000).copy()
    for number in range(1_500):
        del current[number]
    for number in range(5_000, 6_500):
        current[number] = "second"
    seen = []
    for count, (key, value) in enumerate(current.items()):
        if count == 10:
            following = current.copy().copy()
            following[2_000] = "third"
        seen.append((key, value))
    assert dict(seen) == dict.fromkeys(range(1_500, 3_000), "first") | dict.fromkeys(range(5_000, 6_500), "second")
    assert following[2_000] == "third"
    assert following.intersection([0, 1_499, 2_000, 5_000, 7_000]) == {2_000, 5_000}


def test_keys_that_another_has_not() -> None:
    current = filled(100).copy()
    following = current.copy()
    del following[3]
    following[200] = "new"
    assert set(current.keys_not_in(following)) == {3}
    assert set(following.keys_not_in(current)) == {200}
