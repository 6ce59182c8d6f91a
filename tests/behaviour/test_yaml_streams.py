"""YAML texts of several documents (Talos), in every store."""

from __future__ import annotations

import pytest
import yaml

from answerd.errors import BrokenDocument
from tests.support.fleet import Fleet

TALOS = """# of one machine
machine:
  network: {hostname: '{{ machine }}'}
---
apiVersion: v1alpha1
kind: HostnameConfig
hostname: '{{ serial | slug }}'
"""


def test_their_placeholders_are_filled(fleet: Fleet) -> None:
    fleet.write({"n1.yaml": TALOS})
    answer = fleet.text("/yaml?h=n1&serial=VMware-1%20%222")
    assert answer == TALOS.replace("'{{ machine }}'", '"n1"').replace("'{{ serial | slug }}'", '"vmware-1-2"')
    assert len(list(yaml.safe_load_all(answer))) == 2
    assert any("serial" in note for note in fleet.check().notes)


@pytest.mark.parametrize("key", ["extends: g", "members: [n1]", "match: {a: b}", "unset: [a]", "template: false"])
@pytest.mark.parametrize("name", ["n1.yaml", "default.yaml", "groups/n1.yaml"])
def test_a_control_key_in_one_of_them_is_a_parse_error(fleet: Fleet, key: str, name: str) -> None:
    for text in (f"a: 1\n---\n{key}\n", f"{key}\n---\na: 1\n"):
        [problem] = fleet.write({name: text}).problems()
        assert "does not parse" in problem
        assert "several YAML documents" in problem
    with pytest.raises(BrokenDocument, match="several YAML documents"):
        fleet.ask("/yaml?h=n1")


def test_nothing_is_laid_over_or_under_them(fleet: Fleet) -> None:
    fleet.write({"groups/g.yaml": "a: 1\n---\nb: 1\n", "n1.yaml": "extends: g\nc: 1\n"})
    fleet.write({"groups/h.yaml": "members: [n2]\na: 1\n", "n2.yaml": "b: 1\n---\nc: 1\n"})
    for name in ("n1", "n2"):
        with pytest.raises(BrokenDocument, match=f"{name}.*cannot be laid over.*several YAML documents"):
            fleet.ask(f"/yaml?h={name}")
    assert len(fleet.check().problems) == 2
