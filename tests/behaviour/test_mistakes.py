"""Twenty mistakes of people who were new to it, each with the sentence that helps (docs/check.md), in every store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from answerd.answers.sources import Sources
from answerd.check import check
from answerd.validators import Tools
from tests.support.fleet import Fleet
from tests.support.installs import RememberedInstalls

NAMESPACES = 'xmlns="urn:schemas-microsoft-com:unattend" xmlns:wcm="http://schemas.microsoft.com/WMIConfig/2002/State"'
TABLE = "id,dept,model\npc-01,er,m1\npc-02,icu,m1\npc-03,er,m2\n"
AUTOINSTALL = "#cloud-config\nautoinstall:\n  version: 1\n"


def unattend(inside: str, namespaces: str = NAMESPACES) -> str:
    return f"<unattend {namespaces}>{inside}</unattend>"


def shell_setup(inside: str, name: str = "specialize") -> str:
    which = 'name="Microsoft-Windows-Shell-Setup" processorArchitecture="amd64" publicKeyToken="31bf3856ad364e35"'
    component = f'<component {which} language="neutral" versionScope="nonSxS">{inside}</component>'
    return unattend(f'<settings pass="{name}">{component}</settings>')


class Mistake(NamedTuple):
    documents: Mapping[str, str]
    sentence: str
    is_problem: bool = True


MISTAKES = {
    "two groups claim one machine equally": Mistake(
        {
            "inventory.csv": TABLE,
            "groups/er.ks": "# answer: match dept=er\nlang a\n",
            "groups/m1.ks": "# answer: match model=m1\nlang b\n",
            "groups/icu.ks": "# answer: match dept=icu\nlang b\n",
        },
        'group "er" (ks) and group "m1" (ks) claim one machine equally: pc-01: its name decides for er. '
        "Give one of them one more criterion, name the machines in its members, or make it an overlay",
    ),
    "two groups have one machine as a member": Mistake(
        {"groups/a.ks": "# answer: member pc-1, pc-2\nlang a\n", "groups/b.ks": "# answer: member PC-2, pc-1\n"},
        'group "a" (ks) and group "b" (ks) claim 2 machines equally, the first is pc-1',
    ),
    "two overlays of one number set one value": Mistake(
        {
            "inventory.csv": TABLE,
            "groups/base.toml": 'match.dept = "*"\nx = 1\n',
            "groups/er.toml": 'overlay = 5\nmatch.dept = "er"\nnet.x = 2\n',
            "groups/m1.toml": 'overlay = 5\nmatch.model = "m1"\nnet.x = 3\n',
        },
        'group "er" (toml) and group "m1" (toml): both are overlay 5 and set net.x for pc-01: the names decide',
        is_problem=False,
    ),
    "a misspelled department behind a loader": Mistake(
        {
            "inventory.csv": TABLE,
            "groups/loader.ipxe": "#!ipxe\n# answer: match model=*\nchain x\n",
            "groups/er.ks": "# answer: match dept=er\nlang a\n",
            "groups/icu.ks": "# answer: match dept=iuc\nlang a\n",
        },
        "inventory.csv:3: nothing but a loader claims this row",
        is_problem=False,
    ),
    "a fact that is missing beside a report": Mistake(
        {"groups/g.ks": "# answer: member pc-31\n# answer: once\nhost {{ id }} {{ report }}\n"},
        "only a request has the fact 'id'",
        is_problem=False,
    ),
    "a placeholder in single braces": Mistake(
        {"inventory.csv": TABLE, "groups/g.ks": "# answer: match dept=*\nhost { id }\n"},
        'group "g" (ks): line 2 has { id } in single braces, which the machine gets as it is written: write {{ id }}',
        is_problem=False,
    ),
    "a placeholder in single braces, without a table": Mistake(
        {"groups/g.cfg": "# answer: match site=*\nhost { id }\nat { site }\n"},
        'group "g" (cfg): line 3 has { site } in single braces, which the machine gets as it is written: '
        "write {{ site }}",
        is_problem=False,
    ),
    "a name in single braces, without a table": Mistake(
        {"pc-01.cfg": "host { id }\n"}, 'machine "pc-01" (cfg): line 1 has { id } in single braces', is_problem=False
    ),
    "a match for a column that no table has": Mistake(
        {"inventory.csv": TABLE, "groups/g.ks": "# answer: match dpet=er\nlang a\n"},
        "group \"g\" (ks): selects by match, so it was not tried: no table has a column dpet; did you mean 'dept'?",
        is_problem=False,
    ),
    "a match for a value that no row has": Mistake(
        {"inventory.csv": TABLE, "groups/g.ks": "# answer: match dept=iuc model=m1\nlang a\n"},
        "not tried: no row has its value of dept",
        is_problem=False,
    ),
    "a directive without its colon": Mistake(
        {"groups/g.ks": "# answer match dept=er\nlang a\n"},
        "group \"g\" (ks): line 1 is a comment and steers nothing: write '# answer: match …'",
        is_problem=False,
    ),
    "a directive in a format that has keys": Mistake(
        {"groups/g.yaml": "# answer: match dept=er\na: 1\n"},
        'group "g" (yaml): line 1 is a comment and steers nothing: in this format match is a key',
        is_problem=False,
    ),
    "a machine's address with a letter O": Mistake({"98-FA-9B-5O-D8-10.toml": "x = 1\n"}, "write 0 or 1"),
    "a group that does not exist": Mistake({"pc-1.toml": 'extends = "bsae"\n'}, 'extends unknown group "bsae"'),
    "an overlay that something extends": Mistake(
        {"groups/o.toml": 'overlay = 1\nmatch.x = "1"\n', "pc-1.toml": 'extends = "o"\n'}, "which is an overlay"
    ),
    "an overlay above 999": Mistake({"groups/o.toml": "overlay = 1000\n"}, "overlay must be a number from 1 to 999"),
    "a misspelled key at the top": Mistake(
        {"groups/g.yaml": "member: [pc-1]\na: 1\n"}, "did you mean members?", is_problem=False
    ),
    "a misspelled placeholder": Mistake({"pc-1.toml": 'x = "{{ seriall }}"\n'}, "did you mean 'serial'?"),
    "autoinstal at the top of a cloud-config": Mistake(
        {"pc-1.yaml": "#cloud-config\nautoinstal:\n  version: 1\n"}, "autoinstall"
    ),
    "autoinstal without #cloud-config": Mistake({"pc-1.yaml": "autoinstal: {}\n"}, "did you mean 'autoinstall'?"),
    "no #cloud-config": Mistake({"pc-1.yaml": "autoinstall:\n  version: 1\n"}, "#cloud-config"),
    "a pass of unattend that does not exist": Mistake(
        {"pc-1.unattend": shell_setup("<ComputerName>a</ComputerName>", "specialise")}, "did you mean 'specialize'?"
    ),
    "an unattend without its namespace": Mistake(
        {"pc-1.unattend": unattend('<settings pass="specialize"/>', "")}, "xmlns"
    ),
    "an unattend that does not declare wcm": Mistake(
        {"pc-1.unattend": unattend('<settings pass="specialize" wcm:action="add"/>', NAMESPACES.partition(" ")[0])},
        'unbound prefix: write xmlns:wcm="http://schemas.microsoft.com/WMIConfig/2002/State" into the root element',
    ),
    "a computer name of more than 15 characters": Mistake(
        {"pc-1.unattend": shell_setup("<ComputerName>pc-0123456789abcdef</ComputerName>")}, "15"
    ),
    "an Olson time zone in Windows": Mistake(
        {"pc-1.unattend": shell_setup("<TimeZone>Europe/Berlin</TimeZone>")}, "this is a name of the Olson database"
    ),
    "a time zone that does not exist": Mistake(
        {"pc-1.yaml": AUTOINSTALL + "  timezone: Europe/Berln\n"}, "did you mean 'Europe/Berlin'?"
    ),
    "a layout that does not exist": Mistake(
        {"pc-1.yaml": AUTOINSTALL + "  storage: {layout: {name: dirct}}\n"}, "did you mean 'direct'?"
    ),
    "a plain password": Mistake(
        {"pc-1.yaml": AUTOINSTALL + "  identity: {hostname: a, username: b, password: Tiger-77}\n"}, "password"
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_each_mistake_has_the_sentence_that_helps(fleet: Fleet, mistake: Mistake) -> None:
    lab = fleet.remembering(RememberedInstalls(url="http://answers.example.com"))
    lab.write(mistake.documents)
    report = check(lab.loader.catalogue, Tools.none(), sources=lab.sources)
    where = report.problems if mistake.is_problem else report.notes
    assert [sentence for sentence in where if mistake.sentence in sentence], (report.problems, report.notes)


def test_rows_that_only_a_default_or_a_loader_claims_are_problems_of_a_strict_check(fleet: Fleet) -> None:
    fleet.write(MISTAKES["a misspelled department behind a loader"].documents)
    said = "inventory.csv:3: nothing but a loader claims this row"
    assert said in check(fleet.loader.catalogue, Tools.none(), strict=True).problems
    fleet.write({"default.ks": "lang a\n", "groups/loader.ipxe": "#!ipxe\n# answer: match model=m2\nchain x\n"})
    said = "inventory.csv:3: nothing but a default claims this row"
    assert said in check(fleet.loader.catalogue, Tools.none()).notes
    assert said in check(fleet.loader.catalogue, Tools.none(), strict=True).problems


SOUND = {
    "a machine that asks twice": {
        "groups/a.ks": "# answer: member pc-1\n# answer: match file=ks\nlang a\n",
        "groups/b.ks": "# answer: member pc-1\n# answer: match file=second\nlang b\n",
    },
    "one more criterion": {
        "inventory.csv": TABLE,
        "groups/a.ks": "# answer: match dept=*\nlang a\n",
        "groups/b.ks": "# answer: match dept=er model=m1\nlang b\n",
    },
    "overlays of two numbers": {
        "inventory.csv": TABLE,
        "groups/base.toml": 'match.dept = "*"\nx = 1\n',
        "groups/er.toml": 'overlay = 5\nmatch.dept = "er"\nx = 2\n',
        "groups/m1.toml": 'overlay = 6\nmatch.model = "m1"\nx = 3\n',
    },
    "overlays of one number that set other values": {
        "inventory.csv": TABLE,
        "groups/base.toml": 'match.dept = "*"\nx = 1\n',
        "groups/er.toml": 'overlay = 5\nmatch.dept = "er"\nappend = ["l"]\nl = ["a"]\ny = 1\n',
        "groups/m1.toml": 'overlay = 5\nmatch.model = "m1"\nappend = ["l"]\nl = ["b"]\ny = 1\n',
    },
    "a machine that names its group": {
        "inventory.csv": TABLE.replace("pc-02,icu,m1\n", ""),
        "groups/er.ks": "# answer: match dept=er\nlang a\n",
        "groups/m1.ks": "# answer: match model=m1\nlang b\n",
        "pc-01.ks": "# answer: extends er\n",
    },
    "names that are numbered": {
        "inventory.csv": TABLE,
        "groups/a.ks": "# answer: member pc-01, pc-02, pc-03, pc-04\nlang a\n",
    },
    "documents of machines that are numbered": {
        "inventory.csv": TABLE,
        "pc-01.ks": "lang a\n",
        "pc-04.ks": "lang a\n",
    },
    "a match for what a request has": {
        "inventory.csv": TABLE,
        "groups/a.ks": "# answer: match product=x1\nlang a\n",
        "groups/b.cfg": "# answer: match dept=e* model=m3\nlang a\n",
    },
    "a match for the column of a table that cannot be read": {
        "inventory.csv": "id,dept\npc-01;er\npc-02;er\n",
        "groups/a.ks": "# answer: match dept=er\nlang a\n",
    },
    "braces of a script": {
        "inventory.csv": TABLE,
        "groups/a.ks": "# answer: match dept=*\n%pre\necho ${id} {print $1} {other} {{ id }}\n%end\n",
        "groups/b.ipxe": "#!ipxe\n# answer: match dept=*\n# the answer is a match\necho ${serial} ${net0/mac}\n",
    },
}


@pytest.mark.parametrize("documents", SOUND.values(), ids=SOUND.keys())
def test_what_is_meant_is_left_alone(fleet: Fleet, documents: Mapping[str, str]) -> None:
    report = check(fleet.write(documents).loader.catalogue, Tools.none(), sources=Sources())
    sentences = [*report.problems, *report.notes]
    words = ("equally", "both are overlay", "single braces", "differs in", "steers nothing", "did you mean", "no table")
    assert [sentence for sentence in sentences if any(word in sentence for word in words)] == []
