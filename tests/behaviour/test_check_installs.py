"""What `check` says of documents whose machines do not report, install again, or stop: docs/check.md#oversights."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest

from answerd.answers.resolve import resolve
from answerd.check import check
from answerd.errors import AnswerError
from answerd.facts import facts_of
from answerd.validators import Tools
from tests.support.fleet import Fleet
from tests.support.installs import RememberedInstalls

TABLE = {"inventory.csv": "id,mac,role\npc-01,00:00:5e:00:53:01,web\npc-02,00:00:5e:00:53:02,db\n"}
ONCE = "# answer: once\n"
BOOT = "kernel vmlinuz\nboot\n"
LOADER = f"#!ipxe\n# answer: match role=*\n{BOOT}"
REPORT = "url {{ report }}/installed\n"
AGAIN = "where they boot from the network each time, they install again; write once, or once off"
STOPPED = "once installed, they boot the installer, which is refused its answer"
SILENT = "nothing will say when an install is done"

SETS: dict[str, tuple[Mapping[str, str], list[str]]] = {
    "no once": (
        {"groups/a.ipxe": LOADER, "groups/a.ks": "# answer: match role=*\n" + REPORT},
        [f'group "a" (ks): has {{{{ report }}}}, but no document of its machines has once: {AGAIN}'],
    ),
    "no once for one of two": (
        {
            "groups/a.ipxe": "#!ipxe\n# answer: match role=web\n# answer: once\n",
            "groups/a.ks": "# answer: match role=*\n" + REPORT,
        },
        ['group "a" (ks): has {{ report }}, but no document of 1 of its 2 machines, such as pc-02, has once: ' + AGAIN],
    ),
    "no once above a group with the report": (
        {"groups/a.ks": REPORT, "pc-01.ks": "# answer: extends a\nx\n"},
        [f'group "a" (ks): has {{{{ report }}}}, but no document of its machines has once: {AGAIN}'],
    ),
    "once off": ({"groups/a.ks": "# answer: match role=*\n# answer: once off\n" + REPORT}, []),
    "once of the loader": ({"groups/a.ipxe": LOADER + ONCE, "groups/a.ks": "# answer: match role=*\n" + REPORT}, []),
    "once of a default's loader": (
        {"default.ipxe": "#!ipxe\n" + ONCE, "groups/a.ks": "# answer: match role=*\n" + REPORT},
        [],
    ),
    "once of a loader that only a request selects": (
        {
            "groups/a.ipxe": "#!ipxe\n# answer: match product=*\n" + ONCE,
            "groups/a.ks": "# answer: match role=*\n" + REPORT,
        },
        [],
    ),
    "a loader that a state selects": (
        {
            "groups/a.ipxe": LOADER,
            "groups/done.ipxe": "#!ipxe\n# answer: match role=* state=installed\nexit 1\n",
            "groups/a.ks": "# answer: match role=*\n" + REPORT,
        },
        [],
    ),
    "once of the answer alone": (
        {"groups/a.ipxe": LOADER, "groups/a.ks": "# answer: match role=*\n# answer: once\n" + REPORT},
        [f'group "a" (ipxe): no once, and the installer\'s answer of its machines has it: {STOPPED}'],
    ),
    "once of the answer, with a default's loader": (
        {"default.ipxe": f"#!ipxe\n{BOOT}", "groups/a.ks": "# answer: match role=db\n# answer: once\n" + REPORT},
        [f"default (ipxe): no once, and the installer's answer of its machines has it: {STOPPED}"],
    ),
    "once of the answer, with defaults that boot from the disk": (
        {
            "default.ipxe": "#!ipxe\nexit\n",
            "default.pxelinux": "DEFAULT local\nLABEL local\n LOCALBOOT 0\nLABEL install\n KERNEL vmlinuz\n",
            "default.grub": "exit 1\n",
            "groups/a.ks": "# answer: match role=db\n# answer: once\n" + REPORT,
        },
        [],
    ),
    "once of the answer, with an equivalent of a loader": (
        {
            "groups/a.cfg": "# answer: match role=*\n# answer: once loader\n",
            "groups/a.ks": "# answer: match role=*\n# answer: once\n" + REPORT,
        },
        [],
    ),
    "once of the answer, and a loader that a state selects": (
        {
            "groups/a.ipxe": LOADER,
            "groups/done.ipxe": "#!ipxe\n# answer: match role=* state=installed\nexit 1\n",
            "groups/a.ks": "# answer: match role=*\n# answer: once\n" + REPORT,
        },
        [],
    ),
    "once of the answer, and no loader here": (
        {"groups/a.ks": "# answer: match role=*\n# answer: once\n" + REPORT},
        [],
    ),
    "the report in a document of the row's other name": (
        {"groups/a.ipxe": LOADER + ONCE, "groups/a.json": '{"x": "{{ report }}"}'}
        | {f"{mac}.json": '{"extends": "a"}' for mac in ("00-00-5e-00-53-01", "00-00-5e-00-53-02")},
        [],
    ),
    "the report in a default": ({"groups/a.ipxe": LOADER + ONCE, "default.preseed": f"# {{{{ id }}}}\n{REPORT}"}, []),
    "the report in a default of a format that a group answers": (
        {
            "groups/a.ipxe": LOADER + ONCE,
            "default.preseed": REPORT,
            "groups/a.preseed": "# answer: match role=*\n# no\n",
        },
        [f'group "a" (ipxe): once, but no answer of its machines has {{{{ report }}}}: {SILENT}'],
    ),
    "the report in a group that only a request selects": (
        {"groups/a.ipxe": LOADER + ONCE, "groups/a.preseed": "# answer: match product=*\n" + REPORT},
        [],
    ),
}


@pytest.mark.parametrize(("documents", "notes"), SETS.values(), ids=SETS.keys())
def test_an_install_that_repeats_or_stops_is_noted(
    fleet: Fleet, documents: Mapping[str, str], notes: list[str]
) -> None:
    lab = fleet.remembering(RememberedInstalls(url="http://answers.example.com"))
    lab.write({**TABLE, **documents})
    assert _about_installs(lab) == notes


def _about_installs(lab: Fleet) -> list[str]:
    notes = check(lab.loader.catalogue, Tools.none(), sources=lab.sources).notes
    return [note for note in notes if note.endswith((AGAIN, STOPPED, SILENT))]


FORMATS = ("ks", "preseed")


@pytest.mark.parametrize("seed", range(30))
def test_a_row_is_named_as_silent_where_none_of_its_answers_has_the_report(fleet: Fleet, seed: int) -> None:
    draw = Random(seed)
    documents = {"groups/loader.ipxe": "#!ipxe\n# answer: match role=web\n# answer: once\n"}
    for extension in FORMATS:
        for name, first in (
            ("groups/m", "# answer: match role=web\n"),
            ("groups/n", "# answer: member 00:00:5e:00:53:01\n"),
            ("default", ""),
            ("pc-01", ""),
            ("00-00-5e-00-53-02", "# answer: extends m\n"),
        ):
            needs_group = "extends m" in first and f"groups/m.{extension}" not in documents
            twice = name == "pc-01" and f"00-00-5e-00-53-01.{extension}" in documents
            if draw.random() < 0.4 and not needs_group and not twice:
                documents[f"{name}.{extension}"] = first + "# line {{ id | default('') }}\n" + draw.choice((REPORT, ""))
    rows = ["pc-01,00:00:5e:00:53:01,web", "pc-02,00:00:5e:00:53:02,web"]
    lab = fleet.remembering(RememberedInstalls(url="http://answers.example.com"))
    lab.write(documents | {"inventory.csv": "\n".join(["id,mac,role", *rows, ""])})
    catalogue = lab.loader.catalogue
    silent = []
    for row in rows:
        name, mac, _ = row.split(",")
        bodies = []
        for extension in FORMATS:
            try:
                bodies.append(resolve(catalogue, facts_of((name, mac)), (extension,), sources=lab.sources).body)
            except AnswerError:
                continue
        if not any(b"/report/" in body for body in bodies):
            silent.append(name)
    who = {0: [], 1: [f"1 of its 2 machines, such as {''.join(silent[:1])},"], 2: ["its machines"]}[len(silent)]
    assert [note for note in _about_installs(lab) if note.endswith(SILENT)] == [
        f'group "loader" (ipxe): once, but no answer of {one} has {{{{ report }}}}: {SILENT}' for one in who
    ]
