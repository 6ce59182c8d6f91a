"""Agama's profiles: what `agama config validate` refuses is found, and other JSON is left alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from answerd.validators import Tools, Verdict, validate

PRODUCT = {"product": {"id": "SLES"}}


def judged(**sections: Any) -> Verdict:
    return validate(json.dumps(sections, indent=1), "json", tools=Tools.none())


def storage(**lists: Any) -> Verdict:
    return judged(**PRODUCT, storage=lists)


TAKEN = {
    "a product": judged(**PRODUCT),
    "a user": judged(user={"fullName": "A", "userName": "a", "password": "$6$x$y", "hashedPassword": True}),
    "keys as a list or one": judged(root={"sshPublicKeys": ["a"], "sshPublicKey": "b"}),
    "patterns of each form": judged(**PRODUCT, software={"patterns": {"add": ["a"]}, "packages": ["b"]}),
    "drives": storage(
        drives=[
            {"search": "/dev/sda", "partitions": [{"search": "*", "delete": True}, {"generate": "default"}]},
            {"search": {"condition": {"size": {"greater": "10 GiB"}}, "max": 1}, "filesystem": {"path": "/a"}},
            {"partitions": [{"size": ["1 GiB", "current"], "filesystem": {"type": {"btrfs": {"snapshots": False}}}}]},
        ]
    ),
    "LVM": storage(volumeGroups=[{"name": "a", "physicalVolumes": [{"generate": ["b"]}], "logicalVolumes": []}]),
}
REFUSED: dict[str, tuple[Verdict, str, str]] = {
    "a misspelled section": (judged(prodct={"id": "SLES"}), "prodct", "did you mean 'product'?"),
    "a misspelled key": (judged(root={"hashedPasword": True, "password": "a"}), "root.hashedPasword", "did you mean"),
    "a key of no section": (judged(**PRODUCT, root={"password": "a"}, colour=1), "colour", "not a key"),
    "a number for a password": (judged(root={"password": 5}), "root.password", "in quotes"),
    "a product without id": (judged(product={"mode": "standard"}), "product.id", "is missing"),
    "a user without name": (judged(user={"fullName": "A", "password": "b"}), "user.userName", "is missing"),
    "a size of no unit": (
        storage(drives=[{"partitions": [{"size": "ten"}]}]),
        "storage.drives.0.partitions.0.size",
        "such as '10 GiB'",
    ),
    "a filesystem beside partitions": (
        storage(drives=[{"partitions": [], "filesystem": {"path": "/"}}]),
        "storage.drives.0",
        "beside partitions",
    ),
    "an encryption without password": (
        storage(drives=[{"encryption": {"luks2": {}}}]),
        "storage.drives.0.encryption.luks2.password",
        "is missing",
    ),
    "a method that there is not": (
        judged(**PRODUCT, network={"connections": [{"id": "a", "method4": "dhcp"}]}),
        "network.connections.0.method4",
        "'auto', 'manual'",
    ),
    "a script without body": (judged(**PRODUCT, scripts={"pre": [{"name": "a"}]}), "scripts.pre.0", "needs 'body'"),
}


@pytest.mark.parametrize("verdict", TAKEN.values(), ids=TAKEN)
def test_what_is_taken_has_no_remark(verdict: Verdict) -> None:
    assert (verdict.findings, verdict.warnings) == ((), ())
    assert "Agama rules" in verdict.judged_by


@pytest.mark.parametrize(("verdict", "path", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_named_with_its_place(verdict: Verdict, path: str, sentence: str) -> None:
    [finding] = verdict.findings
    assert finding.path == path
    assert sentence in finding.message
    assert finding.line is not None


@pytest.mark.parametrize("document", [{"user": {"name": "a"}}, {"network": {"ip": "b"}, "id": 5}, {"files": ["a"]}, {}])
def test_other_json_is_judged_as_json_only(document: dict[str, Any]) -> None:
    verdict = judged(**document)
    assert verdict.valid
    assert verdict.judged_by == ("JSON syntax",)
