"""The Debian package in a system of its own: installed, used, upgraded, removed and purged; what it must keep stays.

Run by scripts/test-packages, as root, where debootstrap is. No systemd runs in there: what the package says to
systemd is judged by systemd-analyze, and the service is started as its user by hand.

Rules: docs/packages.md#debian-and-ubuntu.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

import answerd
from tests.packages import CHECKOUT, built
from tests.packages.chroot import System, needs_chroot
from tests.support import service as running
from tests.support.waiting import BUILD_SECONDS

MAC = "98-fa-9b-50-d8-10"
DOCUMENTATION = "usr/share/doc/answerd"

pytestmark = needs_chroot


def with_version(package: Path, version: str, where: Path) -> Path:
    """The same package under another version."""
    subprocess.run(["dpkg-deb", "--raw-extract", package, where / "root"], check=True, timeout=BUILD_SECONDS)
    control = where / "root/DEBIAN/control"
    control.write_text(re.sub(r"^Version: .*$", f"Version: {version}", control.read_text(), flags=re.MULTILINE))
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "-Znone", "-b", where / "root", where / "new.deb"],
        check=True,
        timeout=BUILD_SECONDS,
    )
    return where / "new.deb"


def test_the_package_is_the_same_bytes_each_time(package: Path, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        (again,) = built("build-deb", tmp_path).glob("*.deb")
        assert again.read_bytes() == package.read_bytes()
    finally:
        os.umask(before)


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        ("/srv/answers", "root:answerd 2750"),
        ("/etc/answerd", "root:answerd 750"),
        ("/etc/answerd/secrets", "root:answerd 2750"),
        ("/etc/answerd.env", "root:answerd 640"),
        ("/var/lib/answerd", "answerd:answerd 700"),
        ("/var/log/answerd", "answerd:answerd 750"),
        ("/usr/bin/answerd", "root:root 755"),
    ],
    ids=lambda value: value if value.startswith("/") else "",
)
def test_the_file_belongs_to(installed: System, path: str, owner: str) -> None:
    assert installed.owner(path) == owner


def test_the_program_is_of_this_version_and_accepts_the_settings(installed: System) -> None:
    assert installed.run("answerd", "--version").strip() == f"answerd {answerd.__version__}"
    settings = installed.run("env", "SERVICE_ENV_FILE=/etc/answerd.env", "answerd", "config", user="answerd")
    shown = dict(line.split()[:2] for line in settings.splitlines())
    assert shown["SERVICE_DB_PATH"] == "/var/lib/answerd/answers.db"
    assert "warning" not in settings


def test_the_package_brings_examples_documentation_and_licences(installed: System) -> None:
    documentation = installed.root / DOCUMENTATION
    assert (documentation / "docs/running.md").is_file()
    assert (documentation / "examples/answers/README.md").is_file()
    assert (installed.root / "usr/share/man/man1/answerd.1.gz").is_file()
    assert (installed.root / "usr/share/bash-completion/completions/answerd").is_file()
    assert "gevent" in (documentation / "licences.txt").read_text()
    assert (documentation / "copyright").read_text().startswith("Format: ")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_accepts_the_unit(installed: System) -> None:
    units = Path("usr/lib/systemd/system")  # no systemd is in there: the units that any unit needs come from here
    for target in ("sysinit", "basic", "shutdown", "network-online", "network", "sockets", "multi-user"):
        shutil.copyfile("/" / units / f"{target}.target", installed.root / units / f"{target}.target")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", f"--root={installed.root}", "answerd.service"],
        capture_output=True,
        text=True,
        check=False,
        timeout=BUILD_SECONDS,
    )
    assert [line for line in done.stderr.splitlines() if "answerd" in line] == []


def test_the_service_answers_as_its_user(installed: System, monkeypatch: pytest.MonkeyPatch) -> None:
    for example in (CHECKOUT / "examples/answers").rglob("*"):
        if example.is_file():
            target = installed.root / "srv/answers" / example.relative_to(CHECKOUT / "examples/answers")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(example, target)
    monkeypatch.setattr(running, "PROGRAM", installed.command("/usr/bin/answerd", user="answerd"))
    with running.Service(SERVICE_ENV_FILE="/etc/answerd.env", PATH="/usr/sbin:/usr/bin:/sbin:/bin") as service:
        assert service.get("/ready").status in (200, 404)
        answer = service.get(f"/proxmox?mac={MAC}")
    assert answer.status == 200
    assert "root-password" in answer.text


def test_a_database_that_root_imports_into_is_the_services(installed: System) -> None:
    settings = ("env", "SERVICE_ENV_FILE=/etc/answerd.env", "SERVICE_STORE=sqlite")
    installed.run(*settings, "answerd", "import", f"/{DOCUMENTATION}/examples/answers")
    assert installed.owner("/var/lib/answerd/answers.db") == "answerd:answerd 600"
    shown = installed.run(*settings, "answerd", "render", MAC, "--format", "toml", user="answerd")
    assert "root-password" in shown


def test_an_inventory_that_root_adds_to_is_readable_by_the_service(installed: System) -> None:
    described = '<node class="system"><serial>7ABC199</serial></node>\n'
    (installed.root / "root/host.xml").write_text(described)
    settings = ("env", "SERVICE_ENV_FILE=/etc/answerd.env")
    installed.run(*settings, "answerd", "inventory", "add", "--to", "added", "/root/host.xml")
    assert installed.owner("/srv/answers/inventory") == "root:answerd 2750"
    assert "7ABC199" in installed.run(*settings, "answerd", "inventory", user="answerd")


FORGED = "/var/lib/answerd/evil.service\\nanswerd.socket\\n"
FORGE = f"""
for folder in /var/lib/answerd /var/log/answerd; do
    cd $folder
    printf '[Service]\\nExecStart=/bin/true\\n[Install]\\nWantedBy=multi-user.target\\n' >evil.service
    printf '{FORGED}' >.enabled
    for name in enabled answerd.enabled answers.db answers.db-wal installs.db captures; do
        ln -sfn /etc/shadow $name
    done
    ln -s /root root
    ln -s /etc etc
done
"""
"""What the service's user may leave behind."""

NOT_LOOKED_AT = ("var/lib/dpkg", "var/lib/answerd", "var/log", "var/cache", "usr/lib/answerd", "proc", "dev", "tmp")
"""What dpkg and the service's user write."""


@pytest.mark.parametrize("step", ["upgrade", "remove", "install", "purge"])
def test_no_step_of_the_package_believes_or_follows_what_the_services_user_left(
    step: str, installed: System, package: Path, tmp_path: Path
) -> None:
    """systemctl is a stand-in, and /run/systemd/system is there: the scripts do all that they do beside systemd."""
    stand_in = installed.root / "usr/sbin/systemctl"  # before others on the PATH of maintainer scripts
    stand_in.write_text('#!/bin/sh\nprintf "%s\\n" "$*" >>/root/systemctl\n')
    stand_in.chmod(0o755)
    (installed.root / "run/systemd/system").mkdir(parents=True, exist_ok=True)
    newer = with_version(package, f"{answerd.__version__}+1", tmp_path)
    try:
        installed.install(package)
        # Its own files and folders come and go, and so does the folder of documents where it is empty.
        own = {"srv/answers", *(line[1:] for line in installed.run("dpkg", "--listfiles", "answerd").splitlines())}
        installed.run("sh", "-euc", FORGE, user="answerd")
        if step == "install":
            installed.run("dpkg", "--remove", "answerd")
        said = installed.root / "root/systemctl"
        said.write_text("")
        before = seen(installed)
        if step in ("upgrade", "install"):
            installed.install(newer)
        else:
            installed.run("dpkg", f"--{step}", "answerd")
        after = seen(installed)
        changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        assert {name for name in changed - own if "answerd" not in name and name != "root/systemctl"} == set()
        enabled = {line for line in said.read_text().splitlines() if line.startswith("enable ")}
        units = {f"enable --quiet answerd.{kind}" for kind in ("service", "socket")}
        assert enabled == (units if step == "install" else set())
    finally:
        installed.run("rm", "-rf", "/var/lib/answerd", "/var/log/answerd", "/run/systemd", "/usr/sbin/systemctl")
        installed.install(package)


def seen(installed: System) -> dict[str, tuple[int, int, int, str]]:
    """Every file with its owner, its mode, and its target or the hash of its content."""
    found = {}
    for folder, folders, names in os.walk(installed.root):
        here = Path(folder).relative_to(installed.root)
        folders[:] = [name for name in folders if str(here / name) not in NOT_LOOKED_AT]
        for path in (Path(folder, name) for name in (*folders, *names)):
            status = path.lstat()
            content = ""
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                content = hashlib.sha256(path.read_bytes()).hexdigest()
            name = str(path.relative_to(installed.root))
            found[name] = (status.st_uid, status.st_gid, status.st_mode, content)
    return found


def test_what_the_administrator_wrote_survives_upgrade_removal_and_purge(
    installed: System, package: Path, tmp_path: Path
) -> None:
    kept = {
        "srv/answers/default.toml": "[global]\n",
        "etc/answerd/secrets/root-password": "secret\n",
        "var/lib/answerd/answers.db": "database\n",
    }
    for name, text in kept.items():
        (installed.root / name).write_text(text)
    settings = installed.root / "etc/answerd.env"
    settings.write_text(settings.read_text() + "SERVICE_WORKERS=2\n")
    installed.run("chmod", "0600", "/etc/answerd.env")

    installed.install(with_version(package, f"{answerd.__version__}+1", tmp_path))
    assert installed.run("dpkg-query", "-W", "-f", "${Version}", "answerd") == f"{answerd.__version__}+1"
    assert settings.read_text().endswith("SERVICE_WORKERS=2\n")
    assert installed.owner("/etc/answerd.env") == "root:answerd 600"

    installed.run("dpkg", "--remove", "answerd")
    assert not (installed.root / "usr/lib/answerd").exists()
    assert settings.exists()
    said = installed.run("dpkg", "--purge", "answerd")
    assert "/srv/answers is kept" in said
    assert not settings.exists()
    assert {name: (installed.root / name).read_text() for name in kept} == kept

    page = (CHECKOUT / "docs/packages.md").read_text("utf-8")
    (removal,) = re.findall(r"`(rm -r /srv/answers [^`]+)`", page)
    installed.run(*removal.split())
    assert [name for name in kept if (installed.root / name).exists()] == []
