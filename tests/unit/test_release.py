"""How releases are built, as far as no build is needed; scripts/test-packages builds them."""

from __future__ import annotations

import io
import json
import os
import re
import tarfile
from pathlib import Path

import pytest

from answerd.config import SETTINGS
from release import deb, hashes, sbom, source, wheel
from release.requirements import DEVELOPMENT_EXTRAS, service_extras

CHECKOUT = Path(__file__).parents[2]
WHEN = 1_700_000_000


def archive(path: Path, names: list[str], mode: int, when: int) -> Path:
    """A source archive with these files."""
    with tarfile.open(path, "w:gz") as made:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size, member.mode, member.mtime, member.uname = len(name), mode, when, "builder"
            made.addfile(member, io.BytesIO(name.encode()))
    return path


def test_an_archive_is_the_same_whatever_order_mode_and_time_it_was_packed_with(tmp_path: Path) -> None:
    first = archive(tmp_path / "one", ["a/b", "a/c"], 0o600, 1)
    other = archive(tmp_path / "other", ["a/c", "a/b"], 0o664, 2)
    for path in (first, other):
        wheel.normalise_archive(path, WHEN)
    assert first.read_bytes() == other.read_bytes()
    with tarfile.open(first) as opened:
        assert [(member.name, member.mode, member.mtime) for member in opened] == [
            ("a/b", 0o644, WHEN),
            ("a/c", 0o644, WHEN),
        ]


def test_a_copy_of_the_source_has_fixed_modes_and_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(WHEN))
    monkeypatch.setattr(source, "tracked_files", lambda checkout: ["scripts/test", "LICENSE"])
    before = os.umask(0o077)
    try:
        source.copy_source(tmp_path)
    finally:
        os.umask(before)
    made = {path.name: path.stat() for path in tmp_path.rglob("*") if path.is_file()}
    assert {name: (stat.st_mode & 0o777, int(stat.st_mtime)) for name, stat in made.items()} == {
        "test": (0o755, WHEN),
        "LICENSE": (0o644, WHEN),
    }


@pytest.mark.parametrize("given", ["", "yesterday", "-1", "१२"])
def test_a_time_that_is_no_number_is_refused(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", given)
    with pytest.raises(SystemExit, match="SOURCE_DATE_EPOCH"):
        source.source_time()


def test_the_bill_of_materials_has_a_licence_for_every_package() -> None:
    bill = sbom.bill_of_materials()
    assert bill["bomFormat"] == "CycloneDX"
    stated = {part["name"]: part["licenses"][0]["license"]["name"] for part in bill["components"]}
    assert {name for name, licence in stated.items() if licence == "unknown"} == set()
    assert {"gevent", "pykickstart", "zope-interface"} <= set(stated)
    assert "pytest" not in stated


def test_the_bill_of_materials_is_the_same_twice() -> None:
    assert json.dumps(sbom.bill_of_materials()) == json.dumps(sbom.bill_of_materials())


def test_an_extra_is_either_a_feature_or_for_development() -> None:
    assert "validators" in service_extras()
    assert not set(service_extras()) & DEVELOPMENT_EXTRAS


def test_the_hashes_are_written_sorted_and_each_once() -> None:
    text = hashes.written({("b", "1"): ["2" * 64, "1" * 64, "2" * 64], ("a", "2"): ["0" * 64]})
    assert re.findall(r"^(\w)==|sha256:(\d)", text, re.MULTILINE) == [
        ("a", ""),
        ("", "0"),
        ("b", ""),
        ("", "1"),
        ("", "2"),
    ]


@pytest.mark.parametrize("name", sorted(deb.SETTINGS))
def test_the_packaged_environment_file_gives_the_setting(name: str) -> None:
    sample = (CHECKOUT / "etc/answerd.env").read_text("utf-8")
    given = dict(re.findall(r"^(SERVICE_\w+)=(.*)$", deb.packaged_settings(sample), re.MULTILINE))
    known = name in {setting.name for setting in SETTINGS}
    assert given.get(name) == (deb.SETTINGS[name] if known else None)


def test_the_packaged_unit_runs_the_packaged_program() -> None:
    unit = deb.packaged_unit((CHECKOUT / "etc/answerd.service").read_text("utf-8"))
    assert re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE) == ["/usr/bin/answerd serve"]
    assert "/opt/" not in unit
    assert unit.startswith("# Settings: /etc/answerd.env\n\n[Unit]\n")


def test_a_release_candidate_sorts_before_its_release() -> None:
    assert deb.debian_version("1.2.0-rc1") == "1.2.0~rc1"


def test_a_template_with_an_unknown_name_is_an_error() -> None:
    with pytest.raises(KeyError):
        deb.filled("@nothing@", {})
