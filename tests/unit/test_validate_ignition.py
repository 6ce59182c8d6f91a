"""Ignition 3: what ignition-validate refuses is found, and what it takes is not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from answerd.validators import Tools, Verdict, validate

SUM = f"sha512-{'0a' * 64}"


def judged(version: str, **sections: Any) -> Verdict:
    text = json.dumps({"ignition": {"version": version}} | sections, indent=1)
    return validate(text, "ign", tools=Tools.none())


def storage(version: str = "3.3.0", **lists: Any) -> Verdict:
    return judged(version, storage=lists)


def contents(source: str) -> Verdict:
    return storage(files=[{"path": "/a", "contents": {"source": source}}])


def unit(**keys: Any) -> Verdict:
    return judged("3.3.0", systemd={"units": [{"name": "a.service"} | keys]})


DISK = "/dev/sda"

# fmt: off
TAKEN = {
    "a plain data URL": contents("data:,a%20b-(c);/?:@&=+$"),
    "a data URL of base64": contents("data:text/plain;charset=utf-8;base64,YQ=="),
    "a hash of each kind": storage(files=[
        {"path": f"/{digest[:6]}", "contents": {"source": "https://a/", "verification": {"hash": digest}}}
        for digest in (SUM, f"sha256-{'0a' * 32}")]),
    "partitions one after another": storage(disks=[{"device": DISK, "partitions": [
        {"number": 1, "startMiB": 1, "sizeMiB": 10}, {"label": "b", "startMiB": 11, "sizeMiB": 0}]}]),
    "a filesystem without format": storage(filesystems=[{"device": DISK}]),
    "a filesystem of each format": storage(filesystems=[{"device": f"{DISK}{n}", "format": name, "path": f"/{n}"}
                                                        for n, name in enumerate(("ext4", "xfs", "vfat", "btrfs"))]),
    "nulls": storage(files=[{"path": "/a", "mode": None, "overwrite": None, "user": {"id": None, "name": "a"}}]),
    "a unit of several lines": unit(contents="# a\n[Unit]\n; b\nWants=c \\\n  d e\n\n[Install]\nWantedBy=f\n"),
    "an option twice": storage(filesystems=[{"device": DISK, "format": "xfs", "path": "/a", "options": ["-d", "-d"]}]),
    "a verification of nothing": storage(files=[{"path": "/a", "contents": {"verification": {}}}]),
    "LUKS where there is one": storage("3.2.0", luks=[{"name": "a", "device": DISK}]),
}
REFUSED: dict[str, tuple[Verdict, str, str]] = {
    "a device that is no path": (storage(filesystems=[{"device": "sda1", "format": "ext4"}]),
                                 "storage.filesystems.0.device", "such as /dev/sda"),
    "a path that is not simple": (storage(files=[{"path": "/a/../b"}]), "storage.files.0.path", "without '..'"),
    "a format of Windows": (storage(filesystems=[{"device": DISK, "format": "ntfs"}]),
                            "storage.filesystems.0.format", "'ext4', 'btrfs'"),
    "a path without format": (storage(filesystems=[{"device": DISK, "path": "/a"}]),
                              "storage.filesystems.0", "'format'"),
    "a long label": (storage(filesystems=[{"device": DISK, "format": "xfs", "label": "a" * 13}]),
                     "storage.filesystems.0.label", "12 characters with xfs"),
    "a disk twice": (storage(disks=[{"device": DISK}, {"device": DISK}]), "storage.disks.1.device", "already used"),
    "partitions in each other": (storage(disks=[{"device": DISK, "partitions": [
        {"number": 2, "startMiB": 5, "sizeMiB": 10}, {"number": 1, "startMiB": 1, "sizeMiB": 10}]}]),
        "storage.disks.0.partitions.0.startMiB", "within partitions.1"),
    "a partition's number twice": (storage(disks=[{"device": DISK, "partitions": [{"number": 1}, {"number": 1}]}]),
                                   "storage.disks.0.partitions.1.number", "already used"),
    "a partition of no name": (storage(disks=[{"device": DISK, "partitions": [{"sizeMiB": 5}]}]),
                               "storage.disks.0.partitions.0", "a number from 1 or a label"),
    "a RAID level": (storage(raid=[{"name": "a", "level": "raid7", "devices": [DISK]}]), "storage.raid.0.level",
                     "another word"),
    "a short hash": (storage(files=[{"path": "/a", "contents": {"source": "https://a/", "verification":
                                                                {"hash": "sha512-abc"}}}]),
                     "storage.files.0.contents.verification.hash", "128 hexadecimal"),
    "a sum of nothing": (storage(files=[{"path": "/a", "contents": {"verification": {"hash": SUM}}}]),
                         "storage.files.0.contents.verification.hash", "needs a source"),
    "a percent sign alone": (contents("data:,100% sure"), "storage.files.0.contents.source", "%25"),
    "a blank in data": (contents("data:,a b"), "storage.files.0.contents.source", "%20"),
    "data that are not base64": (contents("data:;base64,@@@"), "storage.files.0.contents.source", "not base64"),
    "data without a comma": (contents("data:abc"), "storage.files.0.contents.source", "comma"),
    "an owner by id and name": (storage(files=[{"path": "/a", "user": {"id": 1, "name": "b"}}]),
                                "storage.files.0.user", "both id and name"),
    "a user twice": (judged("3.3.0", passwd={"users": [{"name": "core"}, {"name": "core"}]}), "passwd.users.1.name",
                     "already used, in passwd.users.0"),
    "a file that is a link too": (storage(files=[{"path": "/a"}], links=[{"path": "/a", "target": "/b"}]),
                                  "storage.links.0.path", "already used, in storage.files.0"),
    "a drop-in twice": (unit(dropins=[{"name": "x.conf"}, {"name": "x.conf"}]), "systemd.units.0.dropins.1.name",
                        "already used, in systemd.units.0.dropins.0"),
    "a device formatted twice": (storage(filesystems=[{"device": DISK, "format": "xfs", "path": "/a"},
                                                      {"device": DISK, "format": "xfs", "path": "/b"}]),
                                 "storage.filesystems.1.device", "already used, in storage.filesystems.0"),
    "a mount point twice": (storage(filesystems=[{"device": DISK, "format": "xfs", "path": "/a"},
                                                 {"device": "/dev/b", "format": "xfs", "path": "/a"}]),
                            "storage.filesystems.1.path", "already used, in storage.filesystems.0"),
    "a RAID's device twice": (storage(raid=[{"name": "a", "level": "raid1", "devices": [DISK, DISK]}]),
                              "storage.raid.0.devices.1", "already used, in storage.raid.0.devices.0"),
    "a user's group twice": (judged("3.3.0", passwd={"users": [{"name": "a", "groups": ["b", "c", "b"]}]}),
                             "passwd.users.0.groups.2", "already used, in passwd.users.0.groups.0"),
    "a user's key twice": (judged("3.3.0", passwd={"users": [{"name": "a", "sshAuthorizedKeys": ["b", "b"]}]}),
                           "passwd.users.0.sshAuthorizedKeys.1", "already used"),
    "a kernel argument twice": (judged("3.3.0", kernelArguments={"shouldExist": ["a", "a"]}),
                                "kernelArguments.shouldExist.1", "already used"),
    "a kernel argument that is wanted and not": (judged("3.3.0", kernelArguments={"shouldExist": ["a"],
                                                                                 "shouldNotExist": ["a"]}),
                                                 "kernelArguments.shouldNotExist.0",
                                                 "already used, in kernelArguments.shouldExist.0"),
    "a header twice": (storage(files=[{"path": "/a", "contents": {"source": "https://a/", "httpHeaders": [
        {"name": "b", "value": "c"}, {"name": "b", "value": "d"}]}}]),
        "storage.files.0.contents.httpHeaders.1.name", "already used"),
    "a word in place of a list": (judged("3.3.0", passwd={"users": [{"name": "a", "sshAuthorizedKeys": "b"}]}),
                                  "passwd.users.0.sshAuthorizedKeys", "a list of strings"),
    "Butane's spelling": (judged("3.3.0", passwd={"users": [{"name": "a", "ssh_authorized_keys": ["b"]}]}),
                          "passwd.users.0.ssh_authorized_keys", "did you mean 'sshAuthorizedKeys'?"),
    "a drop-in without its end": (unit(dropins=[{"name": "x"}]), "systemd.units.0.dropins.0.name", "'.conf'"),
    "a unit's section left open": (unit(contents="[Unit\na=b"), "systemd.units.0.contents", "line 1 of the unit"),
    "a unit's line of no option": (unit(contents="[Unit]\nWants"), "systemd.units.0.contents", "line 2 of the unit"),
    "LUKS before there was one": (storage("3.1.0", luks=[{"name": "a", "device": DISK}]), "storage.luks",
                                  "of specification 3.2.0"),
    "kernel arguments before there were any": (judged("3.2.0", kernelArguments={"shouldExist": ["a"]}),
                                               "kernelArguments", "of specification 3.3.0"),
}
# fmt: on


@pytest.mark.parametrize("verdict", TAKEN.values(), ids=TAKEN)
def test_what_is_taken_has_no_remark(verdict: Verdict) -> None:
    assert (verdict.findings, verdict.warnings) == ((), ())


@pytest.mark.parametrize(("verdict", "path", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_named_with_its_place(verdict: Verdict, path: str, sentence: str) -> None:
    [finding] = verdict.findings
    assert finding.path == path
    assert sentence in finding.message
    assert (finding.line or 0) > 1


def test_a_word_of_butane_is_named_as_one() -> None:
    verdict = storage(files=[{"path": "/a", "contents": {"inline": "b"}}])
    assert any("a word of Butane" in finding.message for finding in verdict.findings)


def test_a_key_that_is_like_none_is_a_warning() -> None:
    verdict = storage(files=[{"path": "/a", "colour": "red"}])
    assert [warning.path for warning in verdict.warnings] == ["storage.files.0.colour"]
    assert verdict.valid
