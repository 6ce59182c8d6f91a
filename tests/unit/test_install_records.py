"""Which records a request is of: the same ones, in the same order, however they are found."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from answerd.answers.gates import _records
from answerd.facts import Facts, Request
from answerd.identity import identity_of
from answerd.installs.memory import InstallMemory, Remembered
from answerd.installs.states import Record

NAMES = [f"sn{number}0000" for number in range(6)]


@given(
    st.lists(st.lists(st.sampled_from(NAMES), max_size=4, unique=True), max_size=4),
    st.lists(st.sampled_from(NAMES), max_size=5, unique=True),
    st.sampled_from([None, "host0", "host1", "host9"]),
)
def test_records_come_in_the_order_of_the_request(
    collected: list[list[str]], sent: list[str], name: str | None
) -> None:
    memory = InstallMemory(
        Remembered(Record(f"host{number}"), dict.fromkeys(identities, "text"))
        for number, identities in enumerate(collected)
    )
    request = Request(query="&".join(f"serial={text}" for text in sent))
    wanted = [identity_of(name)] if name is not None else []
    for identity in map(identity_of, sent):
        wanted += [f"host{number}" for number, identities in enumerate(collected) if identity in identities]
    known = [record for record in dict.fromkeys(wanted) if record in memory.by_name]
    assert [found.record.name for found in _records(memory, Facts(request), name)] == known
