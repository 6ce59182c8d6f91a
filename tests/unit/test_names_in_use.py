"""A request finds the documents, members and rows that are there, after any changes."""

from __future__ import annotations

import random

import pytest

from answerd.answers.catalogue import Catalogue
from answerd.answers.resolve import resolve
from answerd.documents import RawDocument
from answerd.errors import AnswerError, NotClaimed
from answerd.facts import Facts, Request
from tests.support.fleet import key_of

MACHINES = [f"web-{number:02}" for number in range(8)]


def texts(choose: random.Random) -> dict[str, str]:
    """The files of a set: documents of machines, a group with members, two inventories, each there or not."""
    some = [name for name in MACHINES if choose.random() < 0.5]
    files = {f"{name}.ks": f"# own {choose.randrange(3)}\n" for name in some}
    members = "".join(f"# answer: member {name}\n" for name in MACHINES if choose.random() < 0.4)
    if members:
        files["groups/rack.ks"] = f"{members}# rack\n"
    for file, names in (("inventory.csv", MACHINES[:4]), ("inventory/lab.csv", MACHINES[4:])):
        rows = [f"{name},SN-{name}-{choose.randrange(3)}" for name in names if choose.random() < 0.6]
        if choose.random() < 0.7:
            files[file] = "\n".join(["id,serial", *rows, ""])
    return files


def raws(files: dict[str, str]) -> dict[str, RawDocument]:
    """The documents of a set."""
    return {name: RawDocument(key_of(name), text, name) for name, text in files.items()}


def answers(catalogue: Catalogue) -> list[str]:
    """What every name gets, in a request that says it in each way."""
    found = []
    for name in [*MACHINES, *(f"SN-{name}-{number}" for name in MACHINES for number in range(3))]:
        for request in (Request("/ks", f"a={name}"), Request(body=f'{{"b": "{name}"}}'.encode())):
            try:
                found.append(resolve(catalogue, Facts(request)).body.decode())
            except AnswerError as error:
                found.append(error.reason)
    return found


def test_after_any_changes_the_same_names_are_found_as_in_a_new_set() -> None:
    choose = random.Random(7)
    catalogue, held = Catalogue(), dict[str, RawDocument]()
    for _ in range(25):
        wanted = raws(texts(choose))
        kept = {name: raw for name, raw in held.items() if name in wanted and wanted[name].text == raw.text}
        added = [raw for name, raw in wanted.items() if name not in kept]
        removed = [raw for name, raw in held.items() if name not in kept]
        catalogue, held = catalogue.changed(added, removed), {**wanted, **kept}
        assert answers(catalogue) == answers(Catalogue().changed(held.values()))


LATER = {
    "a document": ("web-99.ks", "lang C\n"),
    "a member": ("groups/late.ks", "# answer: member web-99\nlang C\n"),
    "a row": ("inventory/late.csv", "id,serial\nweb-99,SN99\n"),
}


@pytest.mark.parametrize("later", LATER.values(), ids=LATER)
def test_a_name_that_comes_later_is_found(later: tuple[str, str]) -> None:
    first = {
        "web-02.ks": "",
        "inventory.csv": "id,serial\nweb-01,SN1\n",
        "groups/row.ks": "# answer: match serial=SN99\nlang C\n",
    }
    before = Catalogue().changed(raws(first).values())
    after = before.changed(raws(dict([later])).values())
    assert resolve(after, Facts(Request("/ks", "a=web-99"))).body == b"lang C\n"
    with pytest.raises(NotClaimed):
        resolve(before, Facts(Request("/ks", "a=web-99")))
