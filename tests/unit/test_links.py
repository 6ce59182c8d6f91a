"""Links that lead out of a directory: what a pipeline takes from others is read only when that is asked for
(docs/cli.md#apply). The service follows them (docs/formats.md)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from answerd.store.file_io import LEADS_OUT, read_file
from answerd.store.files import FileStore
from answerd.store.sqlite import SqliteStore
from tests.support.shell import Done, Shell

CANARY = "swordfish-7391"


def absolute(root: Path, outside: Path) -> None:
    (root / "aa-bb-cc-dd-ee-01.ks").symlink_to(outside / "secret.ks")


def relative(root: Path, _outside: Path) -> None:
    (root / "aa-bb-cc-dd-ee-01.ks").symlink_to("../outside/secret.ks")


def over_another(root: Path, outside: Path) -> None:
    (root / ".hop").symlink_to(outside)
    (root / "aa-bb-cc-dd-ee-01.ks").symlink_to(".hop/secret.ks")


def up_from_below(root: Path, _outside: Path) -> None:
    (root / "sub").mkdir()
    (root / "aa-bb-cc-dd-ee-01.ks").symlink_to("sub/../../outside/secret.ks")


def through_the_process(root: Path, outside: Path) -> None:
    (root / "aa-bb-cc-dd-ee-01.ks").symlink_to(f"/proc/self/root{outside}/secret.ks")


def machine_directory(root: Path, outside: Path) -> None:
    (root / "aa-bb-cc-dd-ee-01").symlink_to(outside)


def groups(root: Path, outside: Path) -> None:
    (root / "groups").symlink_to(outside)


def directory_of_a_group(root: Path, outside: Path) -> None:
    (root / "groups").mkdir()
    (root / "groups" / "rack").symlink_to(outside)


def in_a_directory_of_a_machine(root: Path, outside: Path) -> None:
    (root / "aa-bb-cc-dd-ee-01").mkdir()
    (root / "aa-bb-cc-dd-ee-01" / "aa-bb-cc-dd-ee-01.ks").symlink_to(outside / "secret.ks")


def whole_directory_beside(root: Path, _outside: Path) -> None:
    """A directory whose name begins like that of the root."""
    beside = root.with_name(f"{root.name}2")
    beside.mkdir()
    (beside / "secret.ks").write_text(CANARY)
    (root / "aa-bb-cc-dd-ee-01.ks").symlink_to(beside / "secret.ks")


OUT: list[Callable[[Path, Path], None]] = [
    absolute,
    relative,
    over_another,
    up_from_below,
    through_the_process,
    machine_directory,
    groups,
    directory_of_a_group,
    in_a_directory_of_a_machine,
    whole_directory_beside,
]


def within(root: Path) -> None:
    """Links that stay in the directory, as Kubernetes makes them and by absolute paths."""
    (root / "..v1").mkdir()
    (root / "..v1" / "aa-bb-cc-dd-ee-02.ks").write_text("lang de\n")
    (root / "..data").symlink_to("..v1")
    (root / "aa-bb-cc-dd-ee-02.ks").symlink_to("..data/aa-bb-cc-dd-ee-02.ks")
    (root / "aa-bb-cc-dd-ee-03.ks").symlink_to(root / "aa-bb-cc-dd-ee-02.ks")
    (root / "aa-bb-cc-dd-ee-04").symlink_to(root / "..v1")


@pytest.fixture
def places(shell: Shell) -> tuple[Path, Path]:
    root, outside = shell.place / "root", shell.place / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "aa-bb-cc-dd-ee-09.ks").write_text("lang fr\n")
    (outside / "secret.ks").write_text(f"lang {CANARY}\n")
    shell.set(SERVICE_STORE="sqlite", SERVICE_DB_PATH=shell.place / "answers.db")
    SqliteStore(shell.place / "answers.db").version()
    return root, outside


def stored(shell: Shell) -> str:
    return "".join(one.body.decode() for one in SqliteStore(shell.place / "answers.db").all())


def shown(done: Done) -> str:
    return "\n".join((*done.out, *done.err))


COMMANDS = (["apply", "--dry-run", "root"], ["apply", "--yes", "root"], ["import", "root"])


@pytest.mark.parametrize("link", OUT, ids=lambda link: link.__name__)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
def test_what_a_link_leads_out_to_is_taken_only_when_that_is_asked_for(
    shell: Shell, places: tuple[Path, Path], command: list[str], link: Callable[[Path, Path], None]
) -> None:
    link(*places)
    refused = shell(*command)
    assert refused.status == 1
    assert "it is a link" in shown(refused)
    assert CANARY not in shown(refused) + stored(shell)
    if link is through_the_process:
        return
    followed = shell(command[0], "--follow-links", *command[1:])
    assert followed.status == 0, followed.err
    if "--dry-run" not in command:
        assert CANARY in stored(shell)
    else:  # a group that claims nobody is no part of an answer
        assert ('new      group "' if link in (groups, directory_of_a_group) else CANARY) in shown(followed)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
def test_links_within_the_directory_are_followed(shell: Shell, places: tuple[Path, Path], command: list[str]) -> None:
    within(places[0])
    done = shell(*command)
    assert done.status == 0, done.err
    if "--dry-run" not in command:
        assert stored(shell).count("lang de\n") == 3


def test_the_root_itself_may_be_a_link(shell: Shell, places: tuple[Path, Path]) -> None:
    within(places[0])
    places[0].rename(shell.place / "elsewhere")
    places[0].symlink_to("elsewhere")
    (places[0] / "aa-bb-cc-dd-ee-03.ks").unlink()
    (places[0] / "aa-bb-cc-dd-ee-04").unlink()
    assert shell("import", "root").status == 0


@pytest.mark.parametrize("link", [absolute, relative, over_another, in_a_directory_of_a_machine])
@pytest.mark.parametrize("source", ["mac-files", "rescriptum"])
def test_migrate_reads_no_file_elsewhere(
    shell: Shell, places: tuple[Path, Path], source: str, link: Callable[[Path, Path], None]
) -> None:
    link(*places)
    done = shell("migrate", source, "root", "made")
    assert done.status == 1
    assert "--follow-links" in done.err[-1]
    assert not (shell.place / "made").exists()
    assert shell("migrate", "--follow-links", source, "root", "made").status == 0
    texts = [path.read_text() for path in (shell.place / "made").rglob("*") if path.is_file()]
    assert any(CANARY in text for text in texts)


COLLECTIONS = {
    "matchbox": ("profiles/a.json", ["groups/x", "profiles/x"]),
    "cobbler": ("profiles/a.json", ["systems/x"]),
    "autopve": ("storage-general.json", []),
}


@pytest.mark.parametrize("source", COLLECTIONS)
def test_migrate_reads_no_collection_elsewhere(shell: Shell, places: tuple[Path, Path], source: str) -> None:
    root, outside = places
    name, beside = COLLECTIONS[source]
    for place in [name, *beside]:
        (root / place).parent.mkdir(exist_ok=True, parents=True)
    (outside / "stored.json").write_text(f'{{"id": "a", "name": "{CANARY}"}}')
    (root / name).symlink_to(outside / "stored.json")
    done = shell("migrate", source, "root", "made")
    assert done.status == 1
    assert "--follow-links" in done.err[-1]
    assert CANARY not in shown(done)


def test_the_service_and_check_follow_links(shell: Shell, places: tuple[Path, Path]) -> None:
    absolute(*places)
    changes = FileStore(places[0]).changes()
    assert changes is not None
    assert any(CANARY in raw.text for raw in changes.added)
    assert shell("check", "root").status == 0


@pytest.mark.parametrize("place", ["secret.ks", "through/secret.ks"])
def test_a_link_that_is_put_there_after_the_look_is_not_read(places: tuple[Path, Path], place: str) -> None:
    """What is read is judged when it is open: a path may lead elsewhere by then."""
    root, outside = places
    (root / "secret.ks").symlink_to(outside / "secret.ks")
    (root / "through").symlink_to(outside)
    assert read_file(f"{root}/{place}", 1_000, str(root)) == (LEADS_OUT, None)
    (root / "secret.ks").unlink()
    os.rename(root / "aa-bb-cc-dd-ee-09.ks", root / "secret.ks")
    assert read_file(f"{root}/secret.ks", 1_000, str(root))[1] == b"lang fr\n"
