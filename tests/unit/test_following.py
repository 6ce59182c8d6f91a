"""A set of answers that follows changes is the set that is made anew: its answers, its problems, its prepared answers.

Rules: docs/selection.md#which-documents-answer.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from answerd.answers.catalogue import Catalogue
from answerd.answers.compose import warm_up
from answerd.answers.problems import ProblemIndex, load_problems
from answerd.answers.resolve import resolve
from answerd.documents import Key, RawDocument
from answerd.errors import AnswerError
from answerd.facts import Facts, Request
from answerd.identity import Kind
from tests.support.thorough import examples

TOML = [
    'x = "1"\n',
    'extends = "a"\nx = "2"\n',
    'extends = "b"\nx = "3"\n',
    'members = ["m1"]\nx = "4"\n',
    'members = ["m2"]\nmatch.serial = "s*"\nx = "5"\n',
    'match.serial = "s1"\nx = "6"\n',
    'match = {serial = "*", product = "p"}\nx = "7"\n',
    'overlay = 5\nmatch.serial = "s*"\ny = "8"\n',
    "overlay = 7\n",
    "members = [",
    "match = {}\n",
    "members = 7\n",
    'x = "{{ serial }}"\n',
    'x = "{{ nonsense nonsense }}"\n',
]
KS = ["a\n", "# answer: extends a\nb\n", "# answer: member m2\nc\n", "# answer: no-such-verb\n", "{{ serial }}\n"]
TABLES = ["id,serial\nm1,s1\n", "id,serial\nm2,s1\nm3,t\n", "id,serial,product\nm1,s1,q\nM-2,t,p\nm 3,,\n"]
TEXTS = {"toml": TOML, "ks": KS, "csv": TABLES}
KEYS = [
    *(Key(Kind.GROUP, name, extension) for name in ("a", "b", "B") for extension in ("toml", "ks")),
    *(Key(Kind.MACHINE, name, extension) for name in ("m1", "m2", "M-1", "proxmox") for extension in ("toml", "ks")),
    Key(Kind.DEFAULT, "", "toml"),
    Key(Kind.INVENTORY, "default", "csv"),
    Key(Kind.INVENTORY, "lab", "csv"),
]
CHANGE = st.sampled_from(KEYS).flatmap(
    lambda key: st.tuples(st.just(key), st.none() | st.sampled_from(TEXTS[key.format]))
)
CHANGES = st.lists(CHANGE, min_size=1, max_size=3, unique_by=lambda change: change[0])

REQUESTS = [
    *(
        Request(path, f"mac={mac}&serial={serial}&product=p")
        for path in ("/", "/pve", "/ks")
        for mac in ("m1", "m2", "m3")
        for serial in ("s1", "t")
    ),
    *(Request("/ks", f"a={name}") for name in ("m1", "s1", "m3")),
    *(Request(body=b'{"b": "%s"}' % name) for name in (b"m1", b"s1", b"m3")),
]


def answers(catalogue: Catalogue) -> list[str]:
    """What the set answers to some requests."""
    said = []
    for request in REQUESTS:
        try:
            answer = resolve(catalogue, Facts(request))
            said.append(f"{answer.composition} {answer.body.decode()}")
        except AnswerError as error:
            said.append(f"{type(error).__name__} {error.reason}")
    return said


def is_readable(key: Key, text: str) -> bool:
    return bool(Catalogue().changed([RawDocument(key, text)]).documents.popitem()[1].content.readable)


class Following(RuleBasedStateMachine):
    """A set that is changed, and the sets of each of its moments."""

    def __init__(self) -> None:
        super().__init__()
        self.stored: dict[Key, RawDocument] = {}
        self.catalogue = Catalogue()
        self.index = ProblemIndex.of(self.catalogue)
        self.kept: list[tuple[Catalogue, list[str]]] = []

    @rule(changes=CHANGES, reports=st.booleans(), warms=st.booleans())
    def change(self, changes: list[tuple[Key, str | None]], reports: bool, warms: bool) -> None:
        before = self.catalogue
        # What a group that was readable keeps claiming is the one thing that depends on what was before.
        groups = [(key, text) for key, text in changes if key.kind is Kind.GROUP]
        broken = {key.name for key, text in groups if text and not is_readable(key, text)}
        self._put([(key, None) for key, _ in groups if key.name in broken], reports=reports)
        self.catalogue = replace(self.catalogue, gone={})
        self._put(changes, reports=reports)
        if warms:
            warm_up(self.catalogue, before)

    def _put(self, changes: list[tuple[Key, str | None]], *, reports: bool) -> None:
        removed = [self.stored.pop(key) for key, _ in changes if key in self.stored]
        added = [RawDocument(key, text) for key, text in changes if text is not None]
        self.stored.update({raw.key: raw for raw in added})
        self.catalogue = self.catalogue.changed(added, removed)
        self.index = self.index.after(self.catalogue, *([added, removed] if reports else []))

    @invariant()
    def it_is_the_set_that_is_made_anew(self) -> None:
        anew = Catalogue().changed(reversed(self.stored.values()))
        said = answers(self.catalogue)
        assert said == answers(anew)
        assert self.index.listed() == load_problems(self.catalogue) == load_problems(anew)
        self.kept.append((self.catalogue, said))

    def teardown(self) -> None:
        for catalogue, said in self.kept:
            assert answers(catalogue) == said, "a set that was given up answers otherwise"


TestFollowing = Following.TestCase
TestFollowing.settings = settings(max_examples=examples(120), stateful_step_count=8)
