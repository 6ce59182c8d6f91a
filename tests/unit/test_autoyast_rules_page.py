"""The documents of docs/autoyast-rules.md answer the files that AutoYaST asks for, and nothing else."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from answerd.errors import NotClaimed
from answerd.store.files import FileStore
from tests.support.fleet import Fleet
from tests.support.installer_pages import MAC, tutorial_files
from tests.support.service import write_tree

FILES = tutorial_files("autoyast-rules")
NAMESPACE = "{http://www.suse.com/1.0/yast2ns}"


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    write_tree(tmp_path / "answers", FILES)
    made = Fleet(FileStore(tmp_path / "answers"))
    made.poll()
    return made


def test_the_rules_name_profiles_that_are_there_or_are_said_to_be_missing(fleet: Fleet) -> None:
    assert fleet.problems() == []
    rules = ElementTree.fromstring(fleet.text("/autoyast/rules/rules.xml"))
    profiles = [found.text for found in rules.iter(f"{NAMESPACE}profile")]
    assert profiles == ["large.xml", "small.xml"]
    for target in ("/autoyast/large.xml", "/autoyast/rules/large.xml"):
        assert "room" in fleet.text(target)
    with pytest.raises(NotClaimed):
        fleet.ask("/autoyast/rules/small.xml")


def test_a_class_of_the_profile_is_answered_below_the_url(fleet: Fleet) -> None:
    profile = ElementTree.fromstring(fleet.text("/autoyast/large.xml"))
    name = profile.findtext(f".//{NAMESPACE}class_name")
    file = profile.findtext(f".//{NAMESPACE}configuration")
    assert "vim" in fleet.text(f"/autoyast/classes/{name}/{file}")
    assert "answer-meta" not in fleet.text(f"/autoyast/classes/{name}/{file}")
    for target in ("/autoyast/classes/hall/software.xml", f"/autoyast/{MAC}", "/autoyast/C0A8010B"):
        with pytest.raises(NotClaimed):
            fleet.ask(target)
