"""The files of secrets: which one counts, when a change does, what is refused (docs/secrets.md)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from answerd.errors import CannotFill
from answerd.store.secret_writes import SecretRefused, write_secret
from answerd.store.secrets import LARGEST_SECRET, SecretFiles, unreadable_to_others
from tests.support.unprivileged import as_nobody, reachable


def filled(root: Path, files: Mapping[str, str | bytes]) -> SecretFiles:
    root.mkdir(mode=0o700, exist_ok=True)
    for place, content in files.items():
        write(root / place, content)
    return SecretFiles(str(root))


def write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(0o600)


def reason(secrets: SecretFiles, name: str, *identifiers: str) -> str:
    with pytest.raises(CannotFill) as failed:
        secrets.secret(name, identifiers)
    assert not failed.value.missing
    assert name in failed.value.reason
    return failed.value.reason


CONTENTS: dict[str, tuple[str | bytes, str]] = {
    "one line end dropped": ("a\n", "a"),
    "a DOS line end too": ("a\r\n", "a"),
    "only one": ("a\n\n", "a\n"),
    "none to drop": ("a", "a"),
    "blanks kept": (" a \n", " a "),
    "line ends and tabs inside": ("a\n\tb\r\nc\n", "a\n\tb\r\nc"),
    "not ASCII": ("ä€😀\n".encode(), "ä€😀"),
    "no byte order mark": (b"\xef\xbb\xbfa", "a"),
    "as large as it may be": ("a" * LARGEST_SECRET, "a" * LARGEST_SECRET),
}


@pytest.mark.parametrize(("content", "text"), CONTENTS.values(), ids=CONTENTS.keys())
def test_a_secret_is_the_content_of_its_file(tmp_path: Path, content: str | bytes, text: str) -> None:
    assert filled(tmp_path / "s", {"x": content}).secret("x", []) == text


UNUSABLE: dict[str, tuple[bytes, str]] = {
    "too large": (b"a" * (LARGEST_SECRET + 1), "larger than 65,536 bytes"),
    "not UTF-8": (b"abc\xff", "not UTF-8 at offset 3"),
    "empty": (b"", "cannot be read: it is empty (x)"),
    "nothing but a line end": (b"\n", "cannot be read: it is empty (x)"),
}


@pytest.mark.parametrize(("content", "why"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_a_secret_that_cannot_be_used_is_refused(tmp_path: Path, content: bytes, why: str) -> None:
    secrets = filled(tmp_path / "s", {"x": content})
    assert why in reason(secrets, "x")
    assert secrets.problems() == []


def test_a_secret_that_is_written_may_be_as_large_as_one_that_is_read(tmp_path: Path) -> None:
    secrets = filled(tmp_path / "s", {})
    text = "a" * LARGEST_SECRET
    assert write_secret(secrets, "", "x", text) == "x"
    assert (tmp_path / "s/x").read_text() == text
    with pytest.raises(SecretRefused, match="65,536 bytes"):
        write_secret(secrets, "", "y", text + "a")
    assert not (tmp_path / "s/y").exists()


def test_the_first_identifier_that_has_it_counts_then_the_secret_of_all(tmp_path: Path) -> None:
    secrets = filled(
        tmp_path / "s",
        {"x": "all", "98-FA-9B-50-D8-10/x": "by mac", "web-01/x": "by id", "web-01/y": "only id", "web-02/x": ""},
    )
    assert secrets.secret("x", []) == "all"
    assert secrets.secret("x", ["98fa9b50d810", "web-01"]) == "by mac"
    assert secrets.secret("x", ["WEB_01"]) == "by id"
    assert secrets.secret("y", ["98:fa:9b:50:d8:10", "web-01"]) == "only id"
    assert "it is empty (web-02/x)" in reason(secrets, "x", "web-02")
    assert secrets.secret("x", ["web-03"]) == "all"
    assert "has no web-03/y and no y" in reason(secrets, "y", "web-03")
    assert "is missing" in reason(secrets, "X")
    assert "is missing" in reason(secrets, "web-01")


def test_the_reason_for_a_list_of_machines_names_the_directory_and_no_machine(tmp_path: Path) -> None:
    secrets = filled(tmp_path / "s", {"x": "all"})

    def general(*identifiers: str) -> str:
        with pytest.raises(CannotFill) as failed:
            secrets.secret("y", identifiers)
        return failed.value.general

    assert general("web-03") == general("web-04", "db") == general()
    assert str(tmp_path / "s") in general()


def test_two_directories_of_one_identity_are_a_problem(tmp_path: Path) -> None:
    secrets = filled(tmp_path / "s", {"x": "all", "web-01/x": "a", "WEB01/y": "b", "web-02/x": "c"})
    assert secrets.problems() == ["secrets: 2 directories for one identity: WEB01/ and web-01/"]
    assert "2 directories for one identity" in reason(secrets, "x", "web-01")
    assert secrets.secret("x", ["web-02"]) == "c"
    assert secrets.secret("x", []) == "all"


def test_names_that_are_none_are_ignored(tmp_path: Path) -> None:
    secrets = filled(tmp_path / "s", {"a.b": "1", ".x": "2", "x~": "3", "..data/y": "4", "web/z/deep": "5", "ä": "6"})
    for name in ("a.b", ".x", "x~", "y", "deep"):
        assert "is missing" in reason(secrets, name, "web")
    assert secrets.problems() == []


def test_nothing_is_reached_by_a_name(tmp_path: Path) -> None:
    write(tmp_path / "outside", "out")
    secrets = filled(tmp_path / "s", {"x": "in"})
    for name in ("../outside", "/etc/passwd", ""):
        with pytest.raises(CannotFill):
            secrets.secret(name, ["..", "../..", "/"])


def test_without_a_directory_everything_is_missing() -> None:
    secrets = SecretFiles(None)
    assert "SERVICE_SECRETS_DIR is not set" in reason(secrets, "x")
    assert (secrets.problems(), secrets.warnings(), secrets.poll()) == ([], [], False)


def test_a_directory_that_is_not_there_is_a_warning_until_it_is(tmp_path: Path) -> None:
    secrets = SecretFiles(str(tmp_path / "s"))
    (warning,) = secrets.warnings()
    assert "cannot be read (No such file or directory): every secret is missing" in warning
    assert "cannot be read" in reason(secrets, "x")
    write(tmp_path / "s" / "x", "a")
    assert secrets.poll()
    assert secrets.secret("x", []) == "a"
    assert secrets.warnings() == []


def test_a_change_counts_when_two_looks_agree(tmp_path: Path) -> None:
    secrets = filled(tmp_path / "s", {"x": "old"})
    version = secrets.version
    write(tmp_path / "s" / "x", "half")
    write(tmp_path / "s" / "y", "new")
    assert not secrets.poll()
    assert secrets.secret("x", []) == "old"
    write(tmp_path / "s" / "x", "a whole one")
    secrets.poll()
    assert secrets.secret("x", []) == "old"
    assert secrets.secret("y", []) == "new"
    secrets.poll()
    assert secrets.secret("x", []) == "a whole one"
    assert secrets.version > version


def test_what_is_gone_for_one_look_stays(tmp_path: Path) -> None:
    secrets = filled(tmp_path / "s", {"x": "all", "web-01/x": "own"})
    os.rename(tmp_path / "s" / "web-01", tmp_path / "away")
    secrets.poll()
    assert secrets.secret("x", ["web-01"]) == "own"
    os.rename(tmp_path / "away", tmp_path / "s" / "web-01")
    secrets.poll()
    assert secrets.secret("x", ["web-01"]) == "own"
    shutil.rmtree(tmp_path / "s" / "web-01")
    secrets.poll()
    secrets.poll()
    assert secrets.secret("x", ["web-01"]) == "all"


def test_a_directory_that_goes_away_leaves_the_secrets_in_force(tmp_path: Path) -> None:
    secrets = filled(tmp_path / "s", {"x": "a"})
    os.rename(tmp_path / "s", tmp_path / "away")
    assert secrets.poll()
    assert secrets.secret("x", []) == "a"
    assert "the secrets in force stay" in secrets.warnings()[0]
    assert not secrets.poll()
    (tmp_path / "s").mkdir(mode=0o700)  # what an unmounted directory leaves
    secrets.poll()
    secrets.poll()
    assert secrets.secret("x", []) == "a"
    write(tmp_path / "s" / "y", "b")
    secrets.poll()
    secrets.poll()
    assert "is missing" in reason(secrets, "x")
    assert secrets.secret("y", []) == "b"


def test_a_file_written_again_at_once_is_read_again(tmp_path: Path) -> None:
    secrets = filled(tmp_path / "s", {"x": "aaa"})
    path = tmp_path / "s" / "x"
    status = path.stat()
    path.write_bytes(b"bbb")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    secrets.poll()
    secrets.poll()
    assert secrets.secret("x", []) == "bbb"


def test_links_as_kubernetes_makes_them(tmp_path: Path) -> None:
    """https://kubernetes.io/docs/concepts/configuration/secret: a swap of ``..data`` changes all files at once."""
    root = tmp_path / "s"
    for version, text in (("..2026_1", "one"), ("..2026_2", "two")):
        write_version = root / version / "web-01"
        write_version.mkdir(parents=True)
        (root / version / "x").write_text(text)
        (write_version / "x").write_text(f"own {text}")
    (root / "..data").symlink_to("..2026_1")
    (root / "x").symlink_to("..data/x")
    (root / "web-01").symlink_to("..data/web-01")
    secrets = SecretFiles(str(root))
    assert (secrets.secret("x", []), secrets.secret("x", ["web-01"])) == ("one", "own one")
    assert secrets.problems() == []
    (root / "..new").symlink_to("..2026_2")
    os.replace(root / "..new", root / "..data")
    secrets.poll()
    secrets.poll()
    assert (secrets.secret("x", []), secrets.secret("x", ["web-01"])) == ("two", "own two")


def test_links_and_files_that_are_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "s"
    secrets = filled(root, {"x": "a"})
    (root / "kernel").symlink_to("/proc/version")
    (root / "nowhere").symlink_to("gone")
    (root / "circle").symlink_to("circle")
    os.mkfifo(root / "pipe", 0o600)
    for _ in range(2):
        secrets.poll()
    assert "/proc" in reason(secrets, "kernel")
    assert "leads nowhere" in reason(secrets, "nowhere")
    assert "cannot be read" in reason(secrets, "circle")
    assert "not a regular file" in reason(secrets, "pipe")


def test_what_others_can_read_is_a_warning(tmp_path: Path) -> None:
    secrets = filled(tmp_path / "s", {"x": "a", "web-01/x": "b"})
    assert secrets.warnings() == []
    (tmp_path / "s" / "x").chmod(0o644)
    secrets.poll()
    assert secrets.warnings() == []  # nobody else enters the directory
    (tmp_path / "s").chmod(0o711)
    (tmp_path / "s" / "web-01").chmod(0o755)
    assert secrets.poll()
    directories, files = secrets.warnings()
    assert str(tmp_path / "s" / "web-01") in directories
    assert str(tmp_path / "s" / "x") in files
    assert "web-01" not in files
    (tmp_path / "s").chmod(0o755)
    secrets.poll()
    assert f"{tmp_path / 's'}, " in secrets.warnings()[0]


def test_what_only_the_commands_user_can_read_in_a_directory_of_another_group_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = filled(tmp_path / "s", {"x": "a", "y": "b", "web-01/x": "c"})
    assert unreadable_to_others(secrets) == ""  # a directory of the user's own
    monkeypatch.setattr(os, "getgroups", list)
    monkeypatch.setattr(os, "getegid", lambda: os.stat(tmp_path).st_gid + 1)
    (tmp_path / "s" / "y").chmod(0o640)
    warning = unreadable_to_others(secrets)
    assert "can read web-01/, web-01/x, x, the service cannot" in warning
    assert "chmod g+r" in warning
    (tmp_path / "s" / "web-01").chmod(0o750)
    assert "can read web-01/x, x, the service" in unreadable_to_others(secrets)


def test_what_cannot_be_opened_is_no_missing_secret(tmp_path: Path) -> None:
    root = tmp_path / "s"
    filled(root, {"x": "all", "y": "all", "web-01/x": "own", "web-02/x": "own"})
    reachable(tmp_path)
    closed = [root / "x", root / "web-01" / "x", root / "web-02"]
    for path in closed:
        path.chmod(0)
    with as_nobody():
        secrets = SecretFiles(str(root))
    for path in closed:
        path.chmod(0o700)
    assert secrets.warnings() == [  # before a machine asks
        "secrets: what cannot be read: web-01/x (Permission denied), web-02/ (Permission denied), x (Permission denied)"
    ]
    assert "Permission denied" in reason(secrets, "x")
    assert secrets.secret("y", []) == "all"
    assert "Permission denied (web-01/x)" in reason(secrets, "x", "web-01")
    assert "Permission denied (web-02/)" in reason(secrets, "y", "web-02")


def test_a_link_of_a_machine_that_leads_nowhere_is_not_replaced_by_the_secret_of_all(tmp_path: Path) -> None:
    root = tmp_path / "s"
    filled(root, {"x": "of all", "web-01/y": "own"})
    (root / "web-01" / "x").symlink_to("gone")
    (root / "web-02").symlink_to("gone")
    secrets = SecretFiles(str(root))
    assert reason(secrets, "x", "web-01") == "the secret 'x' cannot be read: it is a link that leads nowhere (web-01/x)"
    assert reason(secrets, "x", "web-02") == "the secret 'x' cannot be read: it is a link that leads nowhere (web-02/)"
    assert secrets.secret("x", ["web-03"]) == "of all"
    assert secrets.problems() == []
