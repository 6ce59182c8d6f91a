"""Documents that break and are mended while the service runs: whom they concern gets a 500 that names one of them,
everybody else the answer of before, and each problem is told once. In every store, and after a restart."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from answerd.answers.catalogue import Catalogue
from answerd.answers.resolve import Answer
from answerd.documents import Document, RawDocument
from answerd.errors import AnswerError, BrokenDocument
from answerd.server.answer_set import Preparation
from tests.support.fleet import STORES, Fleet, key_of
from tests.support.thorough import examples

pytestmark = pytest.mark.long

SOUND = {
    "m1.yaml": "a: 1\n",
    "m2.yaml": "extends: base\na: 2\n",
    "m3.yaml": "match: {role: web}\na: 3\n",
    "default.yaml": "extends: base\nd: 1\n",
    "groups/base.yaml": "base: 1\n",
    "groups/rack.yaml": "members: [m4, m5]\nextends: base\nr: 1\n",
    "groups/sel.yaml": "match: {role: web}\ns: 1\n",
    "groups/over.yaml": "overlay: 10\nmembers: [m1, m4]\no: 1\n",
    "groups/wide.yaml": "overlay: 20\nmatch: {role: '*'}\nw: 1\n",
    "m1.ks": "# answer: extends base\nlang {{ role }}\n",
    "default.ks": "lang en\n",
    "groups/base.ks": "keyboard us\n",
    "groups/over.ks": "# answer: overlay 5\n# answer: member m1, m4\nreboot\n",
    "m1.toml": "a = 1\n",
    "groups/over.toml": 'overlay = 7\nmembers = ["m1", "m2"]\nb = 1\n',
    "default.toml": "d = 1\n",
    "m1.json": '{"a": 1}',
    "groups/over.json": '{"overlay": 7, "members": ["m1", "m2"], "b": 1}',
    "m1.xml": "<r><a>1</a></r>",
    "groups/over.xml": '<r><answer-meta overlay="7"><member>m1</member></answer-meta><b>1</b></r>',
    "inventory.csv": "id,role\nm1,web\nm6,db\n",
}
FAULTS = {
    "yaml": ("x: [\n", "unset: 7\n", "bad: '{{ a b }}'\n", "members: 7\n", "overlay: many\n", "match: 7\n"),
    "ks": ("# answer: membres m9\n", "# answer: overlay many\n", "{{ a b }}\n", "# answer: match x\n"),
    "toml": ("x = = 1\n", "unset = 7\n", 'bad = "{{ a b }}"\n', "match = 7\n"),
    "json": ("x", "}", '{"a": 1}'),
    "xml": ("<", "</r>", "&"),
    "csv": ('m7,"web\n', "m8,\0\n"),
}
"""What a text is broken by, behind it."""

TARGETS = [
    f"/{extension}?id={machine}{more}"
    for extension in ("yaml", "ks", "pve", "json", "xml")
    for machine, more in (("m1", ""), ("m2", ""), ("m3", ""), ("m4", ""), ("m6", ""), ("m9", ""), ("m9", "&role=web"))
]


def asked(fleet: Fleet, target: str) -> Answer | AnswerError:
    try:
        return fleet.ask(target)
    except AnswerError as error:
        return error


def file_of(document: Document) -> str:
    key = document.key
    return f"{'groups/' if document.is_group else ''}{key.identifier or 'default'}.{key.format}"


def name_of(file: str) -> str:
    """How a sentence names a document."""
    stem = file.rpartition("/")[2].partition(".")[0]
    return stem if stem in ("default", "inventory") else f'"{stem}"'


def outcome(answer: Answer | AnswerError) -> bytes | str:
    return answer.body if isinstance(answer, Answer) else type(answer).__name__


def judge(fleet: Fleet, sound: dict[str, Answer | AnswerError], broken: set[str]) -> None:
    """Every request is answered as before, or refused with the name of a broken document; where one of them was a layer
    of the answer, it is refused."""
    for target, before in sound.items():
        now = asked(fleet, target)
        layers = {file_of(layer) for layer in before.selection.layers} if isinstance(before, Answer) else set()
        if layers & broken or isinstance(now, BrokenDocument):
            assert isinstance(now, BrokenDocument), (target, broken)
            assert any(name_of(file) in now.reason for file in broken), (target, now.reason, broken)
        else:
            assert outcome(now) == outcome(before), (target, broken)


class Reported:
    """The problems that the log has told, and what is prepared ahead."""

    def __init__(self) -> None:
        self.preparation = Preparation()
        self.problems: set[str] = set()

    def look(self, fleet: Fleet) -> None:
        """Do what follows each load, twice: the second time there is nothing to do."""
        for line in self.preparation.update(fleet.loader.catalogue, checks=True):
            what, _, sentence = line.partition(": ")
            assert what in ("problem", "no longer a problem"), line
            assert (sentence in self.problems) is (what == "no longer a problem"), line
            self.problems ^= {sentence}
        assert self.problems == set(fleet.problems())
        assert self.preparation.catalogue is fleet.loader.catalogue
        assert self.preparation.update(fleet.loader.catalogue, checks=True) == []


def fault_of(file: str, number: int) -> str:
    faults = FAULTS[file.rpartition(".")[2]]
    return faults[number % len(faults)]


def is_stored(store: str, text: str) -> bool:
    return store == "files" or "\0" not in text  # a database takes no NUL


Step = tuple[str, int | None]
"""A file, and by which of its faults it is broken; None: it is mended."""

steps = st.lists(st.tuples(st.sampled_from(sorted(SOUND)), st.none() | st.integers(0, 5)), min_size=1, max_size=8)


@pytest.mark.parametrize("store", sorted(STORES))
def test_whatever_breaks_and_is_mended_concerns_whom_it_answers_and_is_told_once(store: str) -> None:
    @given(steps)
    @settings(max_examples=examples(60 if store == "files" else 25), suppress_health_check=list(HealthCheck))
    def play(steps: list[Step]) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            fleet = Fleet(STORES[store](Path(scratch))).write(SOUND)
            sound = {target: asked(fleet, target) for target in TARGETS}
            assert not any(isinstance(one, BrokenDocument) for one in sound.values())
            told, broken, texts = Reported(), set[str](), dict(SOUND)
            told.look(fleet)
            for file, number in steps:
                text = SOUND[file] + ("" if number is None else fault_of(file, number))
                if not is_stored(store, text):
                    continue
                fleet.write({file: text})
                broken = broken - {file} if number is None else broken | {file}
                told.look(fleet)
                judge(fleet, sound, broken)
                texts[file] = text
                restarted = Fleet(fleet.store)  # with the same documents, and nothing that is remembered of them
                raws = [RawDocument(key_of(name), text) for name, text in texts.items()]
                restarted.loader.catalogue = Catalogue().changed(raws)
                judge(restarted, sound, broken)
                Reported().look(restarted)
            fleet.write({file: SOUND[file] for file in broken})
            told.look(fleet)
            assert told.problems == set()
            judge(fleet, sound, set())
            fleet.close()

    play()
