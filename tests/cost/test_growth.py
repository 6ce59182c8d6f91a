"""Work grows with the size of its input, at most times a logarithm: each step of each worst case, at one size and at
four times of it.

Measured in processor time of this thread, one size right after the other, again where a step seems to grow too fast, so
that it holds on a busy machine. A step that is linear takes 4 times as long, one that compares all with all 16 times.
"""

from __future__ import annotations

import functools
import gc
import re
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from answerd.answers.catalogue import Catalogue
from answerd.answers.compose import prepared_answer
from answerd.answers.diff import Difference, Side
from answerd.answers.explain import explained, explanation
from answerd.answers.lint import of_documents
from answerd.answers.near_misses import with_hints
from answerd.answers.problems import ProblemIndex
from answerd.answers.resolve import Answer, resolve
from answerd.answers.select import SelectionRequest, select
from answerd.answers.sources import Values
from answerd.documents import Document, RawDocument, read_content
from answerd.errors import AnswerError
from answerd.facts import Facts
from answerd.server.shown_targets import shown_target
from tests.cost.worst_cases import CASES, Case
from tests.support.thorough import drawn

Result = TypeVar("Result")

SIZE = 3_072
"""Bytes of the smaller size."""

TIMES = 4
BAR = 8.0
"""Times as long: as far from 4, of a linear step, as from 16."""

WORTH_MEASURING = 0.003
"""Seconds that a step has to take at the larger size for its growth to be told."""

MOST_LOOKS = 8
"""Times that a case is measured before a step is believed to grow too fast."""

Times = dict[str, float]


class Watch:
    """Takes the processor time of steps, with nothing kept from before."""

    def __init__(self) -> None:
        self.times: Times = {}

    def __call__(self, step: str, work: Callable[[], Result]) -> Result:
        forget()
        began = time.thread_time()
        try:
            return work()
        finally:
            self.times[step] = time.thread_time() - began


def forget() -> None:
    """Empty every cache of the package and of the modules it uses: what is kept of one run must not help the next."""
    re.purge()
    for cache in caches():
        cache.cache_clear()


@functools.cache
def caches() -> list[functools._lru_cache_wrapper[Any]]:
    return [
        cache
        for name, module in list(sys.modules.items())
        if name.startswith("answerd.")
        for kept in vars(module).values()
        if isinstance(cache := getattr(kept, "cache", kept), functools._lru_cache_wrapper)
    ]


def measured(case: Case) -> Times:
    """The time of each step that a case can come to."""
    watch = Watch()
    gc.collect()
    gc.disable()
    try:
        measure(case, watch)
    except AnswerError:
        pass  # it is refused: what comes after that is not reached by anybody
    finally:
        gc.enable()
    return watch.times


def measure(case: Case, watch: Watch) -> None:
    raws = [written.raw for written in case.documents]
    documents = [Document(raw) for raw in raws]
    watch("parse", lambda: [read_content(document.key.kind, document.family, document.text) for document in documents])
    catalogue = watch("file", lambda: Catalogue().changed(raws))
    index = watch("problems", lambda: ProblemIndex.of(catalogue))
    watch("list problems", index.listed)
    watch("oversights", lambda: of_documents(catalogue))
    watch("take away", lambda: catalogue.changed([], raws))
    *others, last = raws
    before = Catalogue().changed(others)
    index_before = ProblemIndex.of(before)
    watch("judge a write", lambda: judge(index_before, before, last))

    facts = Facts(case.request)
    watch("facts", lambda: (facts.identities, facts.labels, facts.described))
    try:
        selection = watch("select", lambda: select(catalogue, SelectionRequest(facts, facts.extensions)))
    except AnswerError as error:
        refusal = error
        watch("tell why not", lambda: with_hints(refusal, facts))
        raise
    for layer in selection.layers:
        _ = layer.tree
    prepared = watch("merge and prepare", lambda: prepared_answer(selection.layers))
    watch("fill", lambda: prepared.fill(Values(selection, facts)))

    answer = resolve(catalogue, facts)
    watch("explain", lambda: explanation(answer))
    watch("comment", lambda: explained(answer))
    watch("compare", difference_within(answer).unified)


def judge(index: ProblemIndex, catalogue: Catalogue, last: RawDocument) -> object:
    """What the write guard does with a document, once it is parsed."""
    after = index.after(catalogue.changed([last]), [last])
    return after.sentences() - index.sentences(), after.listed()


def difference_within(answer: Answer) -> Difference:
    """An answer beside one in which every other line is another."""
    text = answer.body.decode()
    changed = "\n".join(f"{line}x" if at % 2 else line for at, line in enumerate(text.split("\n")))
    return Difference("m", "m", answer.format.extension, Side(text), Side(changed))


@pytest.mark.parametrize("name", drawn(CASES))
def test_no_step_grows_faster_than_what_it_is_given(name: str) -> None:
    growth: Times = {}
    for _ in range(MOST_LOOKS):
        small, large = measured(CASES[name](SIZE)), measured(CASES[name](SIZE * TIMES))
        for step in small.keys() & large:
            ratio = large[step] / small[step] if large[step] > WORTH_MEASURING else 0.0
            growth[step] = min(ratio, growth.get(step, ratio))
        too_fast = {step: f"{ratio:.1f} times as long" for step, ratio in growth.items() if ratio > BAR}
        if not too_fast:
            return
    pytest.fail(f"for {TIMES} times the size: {too_fast}")


@pytest.mark.parametrize("unit", ["://", "%3a//", "@&", "&token", "report/"])
def test_to_show_a_target_takes_time_in_proportion_to_it(unit: str) -> None:
    smaller, larger = (f"/x?a=@{unit * (size // len(unit))}" for size in (SIZE * 4, SIZE * 4 * TIMES))
    for _ in range(MOST_LOOKS):
        watch = Watch()
        for step, target in (("smaller", smaller), ("larger", larger)):
            watch(step, functools.partial(shown_target, target))
        if watch.times["larger"] < max(BAR * watch.times["smaller"], WORTH_MEASURING):
            return
    pytest.fail(f"{watch.times}")
