"""Sites with a node each: documents by etc/apply-to-sites, and secrets that one of them has (docs/sites.md)."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.service import PROGRAM, Service, environment, run, write_tree
from tests.support.waiting import PROGRAM_SECONDS

CHECKOUT = Path(__file__).parents[2]
TOKEN = "sites-of-these-tests-0123456789"


@pytest.fixture
def unreachable() -> Iterator[str]:
    """The URL of a site whose line is down."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        yield f"http://127.0.0.1:{nobody.getsockname()[1]}"


def site(serving: Callable[..., Service], home: Path, name: str, **settings: object) -> tuple[Service, str]:
    """A node with SQLite, and the URL of its admin API."""
    service = serving(
        None,
        SERVICE_STORE="sqlite",
        SERVICE_DB_PATH=home / f"{name}.db",
        SERVICE_ADMIN_ADDR="127.0.0.1:0",
        SERVICE_ADMIN_TOKEN=TOKEN,
        **settings,
    )
    assert service.admin is not None
    return service, f"http://127.0.0.1:{service.admin[1]}"


def apply_to(
    sites: list[str] | None, home: Path, end: str = "\n", **settings: object
) -> subprocess.CompletedProcess[str]:
    """Run etc/apply-to-sites on the documents below a directory, as a pipeline does. ``end`` is that of the last line
    of the file of sites; None where there is no file."""
    if sites is not None:
        (home / "sites.txt").write_text("# sites.txt\n\n" + "\n".join(sites) + end)
    (home / "bin").mkdir(exist_ok=True)
    program = home / "bin/answerd"
    program.write_text("#!/bin/sh\nexec " + shlex.join(PROGRAM) + ' "$@"\n')
    program.chmod(0o755)
    path = f"{home / 'bin'}:{os.environ['PATH']}"
    defaults = {"SERVICE_ADMIN_TOKEN": TOKEN, "TRIES": 2, "PAUSE": 0, "PATH": path, "PYTHONPATH": CHECKOUT}
    environ = environment(**defaults | settings)
    script = [str(CHECKOUT / "etc/apply-to-sites"), str(home / "sites.txt"), str(home / "documents"), "a note"]
    return subprocess.run(
        script, env=environ, capture_output=True, text=True, check=False, cwd=home, timeout=PROGRAM_SECONDS
    )


def test_a_site_whose_line_is_down_is_tried_again_and_holds_up_no_other(
    serving: Callable[..., Service], tmp_path: Path, unreachable: str
) -> None:
    write_tree(tmp_path / "documents", {"default.ks": "lang C\n"})
    (first, first_url), (second, second_url) = site(serving, tmp_path, "a"), site(serving, tmp_path, "b")
    done = apply_to([first_url, unreachable, second_url], tmp_path)
    assert done.returncode == 1
    assert [first.get("/ks").text, second.get("/ks").text] == ["lang C\n"] * 2
    assert done.stderr.count("cannot be reached") == 2
    assert re.findall(r"^(\S+): NOT applied$", done.stderr, re.MULTILINE) == [unreachable]
    again = apply_to([first_url, second_url], tmp_path)
    assert (again.returncode, again.stdout.count("0 new, 0 changed, 1 unchanged")) == (0, 2)


def test_a_site_that_refuses_the_documents_is_named_and_not_tried_again(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    write_tree(tmp_path / "documents", {"n1.ks": "# answer: extends nobody\nlang C\n"})
    _, url = site(serving, tmp_path, "a")
    done = apply_to([url], tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("refused:") == 1
    assert f"{url}: NOT applied" in done.stderr


def test_the_last_site_counts_without_a_line_end_and_a_file_that_is_not_there_is_an_error(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    write_tree(tmp_path / "documents", {"default.ks": "lang C\n"})
    assert apply_to(None, tmp_path).returncode == 2
    (first, first_url), (last, last_url) = site(serving, tmp_path, "a"), site(serving, tmp_path, "b")
    assert apply_to([first_url, last_url], tmp_path, end="").returncode == 0
    assert [first.get("/ks").text, last.get("/ks").text] == ["lang C\n"] * 2


def test_a_refused_token_is_not_tried_again(serving: Callable[..., Service], tmp_path: Path) -> None:
    write_tree(tmp_path / "documents", {"default.ks": "lang C\n"})
    _, url = site(serving, tmp_path, "a")
    done = apply_to([url], tmp_path, SERVICE_ADMIN_TOKEN="another-token-0123456789")
    assert (done.returncode, done.stderr.count("answered 401")) == (1, 1)


def test_a_site_without_a_secret_refuses_the_documents_that_need_it(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    write_tree(tmp_path / "documents", {"default.ks": "rootpw {{ secret.root }}\n"})
    (tmp_path / "secrets").mkdir(mode=0o700)
    service, url = site(serving, tmp_path, "a", SERVICE_SECRETS_DIR=tmp_path / "secrets")
    refused = apply_to([url], tmp_path)
    assert (refused.returncode, "the secret 'root' is missing" in refused.stderr) == (1, True)
    assert service.get("/ks").status == 404
    assert apply_to([url], tmp_path, STRICT=0).returncode == 0
    assert service.get("/ks").status == 500


def test_a_machine_of_another_site_gets_no_password_of_this_one(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    documents = {
        "inventory.csv": "id,mac,site\npc-a,52:54:00:00:00:0a,a\npc-b,52:54:00:00:00:0b,b\n",
        "groups/all.ks": "# answer: match site=*\nlang C\n",
        "groups/site-a.ks": "# answer: overlay 10\n# answer: match site=a\nrootpw {{ secret.a-root }}\n",
        "groups/site-b.ks": "# answer: overlay 10\n# answer: match site=b\nrootpw {{ secret.b-root }}\n",
    }
    write_tree(tmp_path / "documents", documents)
    secrets = tmp_path / "secrets"
    write_tree(secrets, {"a-root": "password-of-a\n"})
    (secrets / "a-root").chmod(0o600)
    secrets.chmod(0o700)
    settings: dict[str, Any] = {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": tmp_path / "a.db"}
    assert run("import", str(tmp_path / "documents"), **settings).returncode == 0
    service, _ = site(serving, tmp_path, "a", SERVICE_SECRETS_DIR=secrets)
    own = service.get("/ks?mac=52:54:00:00:00:0a")
    assert (own.status, own.text) == (200, "lang C\nrootpw password-of-a\n")
    other = service.get("/ks?mac=52:54:00:00:00:0b")
    assert other.status == 500
    assert "b-root" in other.text
    assert "password-of-a" not in other.text
