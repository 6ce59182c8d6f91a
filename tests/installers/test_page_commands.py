"""The commands of docs/installers/ and of docs/tutorial.md are run, but for those that need an installing machine."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.installers.conftest import SYSTEM_PATH, Unpack, file_of, program
from tests.support.installer_pages import DASHES, PAGES, documents, tutorial_files
from tests.support.service import Service, environment, run, write_tree
from tests.support.waiting import PROGRAM_SECONDS

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(?:sh|bat)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ANY_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)

TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
CLEAN_SYSTEM = ("apt install ", "scripts/build-deb", "journalctl ")
"""What lines of the tutorial begin with that need systemd, or install packages: tests/packages runs those."""


def lines(text: str) -> list[str]:
    """The lines of the blocks of a page that are for a shell."""
    return [line for block in BLOCK.findall(text) for line in block.splitlines() if line]


def inline(text: str) -> list[str]:
    """The commands of answerd within the sentences of a page."""
    spans = re.findall(r"`([^`\n]+)`", ANY_BLOCK.sub("", text))
    return [span for span in spans if span.startswith("answerd ")]


@pytest.mark.quick
@pytest.mark.parametrize("page", [page for page in PAGES if inline(PAGES[page])])
def test_the_commands_of_answerd_on_a_page(page: str, tmp_path: Path) -> None:
    write_tree(tmp_path / "answers", documents(PAGES[page]))
    settings: dict[str, Any] = {
        "SERVICE_ANSWERS_DIR": tmp_path / "answers",
        "SERVICE_STATE_PATH": tmp_path / "state.db",
    }
    for command in inline(PAGES[page]):
        words = [word.strip("'") for word in re.findall(r"'[^']*'|\S+", command)][1:]
        given = b""
        if words[0] == "validate-answer":
            given = run("render", DASHES, "--format", words[-1], **settings).stdout
        done = run(*words, stdin=given, **settings)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        assert done.stdout, command


@pytest.mark.quick
def test_xmllint_and_cloud_inits_schema_accept_what_is_served(unpacked: Unpack, tmp_path: Path) -> None:
    xmllint = program("xmllint", "libxml2-utils")
    for page, extension in (("autoyast", "autoyast"), ("cloud-init", "ubuntu")):
        answers = tmp_path / page
        write_tree(answers, documents(PAGES[page]))
        settings: dict[str, Any] = {"SERVICE_ANSWERS_DIR": answers, "SERVICE_STATE_PATH": tmp_path / f"{page}.db"}
        (tmp_path / f"{page}.answer").write_bytes(run("render", DASHES, "--format", extension, **settings).stdout)
    subprocess.run([xmllint, "--noout", tmp_path / "autoyast.answer"], check=True, timeout=PROGRAM_SECONDS)
    tree = unpacked("cloud-init") / "usr/lib/python3/dist-packages"
    schema = [
        "/usr/bin/python3",
        "-m",
        "cloudinit.cmd.main",
        "schema",
        "--config-file",
        f"{tmp_path}/cloud-init.answer",
    ]
    environ = {"PATH": SYSTEM_PATH, "PYTHONPATH": str(tree)}
    done = subprocess.run(schema, env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_lines_of_the_tutorial(unpacked: Unpack, tmp_path: Path) -> None:
    """In order, below a directory in place of the root; without those that need a clean system or systemd."""
    program("openssl", "openssl")
    dnsmasq = program("dnsmasq", "dnsmasq-base")
    file_of("/usr/lib/ipxe/undionly.kpxe", "ipxe")
    package = "debian-installer-12-netboot-amd64"
    tree = unpacked(package)
    for folder in ("etc/dnsmasq.d", "etc/answerd/secrets", "srv/answers", "var/www/html", "bin"):
        (tmp_path / folder).mkdir(parents=True)
    settings = {"SERVICE_ANSWERS_DIR": "srv/answers", "SERVICE_SECRETS_DIR": "etc/answerd/secrets"}
    settings["SERVICE_STATE_PATH"] = "state.db"
    settings_file = "".join(f"{name}={tmp_path / path}\n" for name, path in settings.items())
    (tmp_path / "etc/answerd.env").write_text(settings_file)
    (tmp_path / "bin/answerd").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m answerd "$@"\n')
    (tmp_path / "bin/answerd").chmod(0o755)
    write_tree(tmp_path / "srv/answers", tutorial_files("tutorial"))
    script = ["set -eux", "umask 077", "openssl passwd -6 secret > /etc/answerd/secrets/root-password-hash"]
    for line in lines(TUTORIAL):
        if line.startswith(CLEAN_SYSTEM):
            continue
        if line.startswith("answerd wait"):  # all are done: it waits for nothing
            script.append("answerd disarm " + " ".join(f"node-{number:02}" for number in range(1, 11)))
        script.append(line.replace("&& systemctl restart dnsmasq", "").replace("dnsmasq --test", f"{dnsmasq} --test"))
    text = re.sub(r"(?<![\w.])/(etc|srv|var/www)/", rf"{tmp_path}/\1/", "\n".join(script))
    text = text.replace("/usr/lib/debian-installer/", f"{tree}/usr/lib/debian-installer/")
    environ = environment() | {"PATH": f"{tmp_path / 'bin'}:{SYSTEM_PATH}", "PYTHONPATH": str(ROOT)}
    with Service(SERVICE_ENV_FILE=tmp_path / "etc/answerd.env"):  # the package starts it
        done = subprocess.run(
            ["bash"],
            input=text,
            env=environ,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=PROGRAM_SECONDS,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "d-i netcfg/get_hostname string node-09\n" in done.stdout
    assert (tmp_path / "var/www/html/debian-12/linux").exists()
    assert (tmp_path / "srv/tftp/undionly.kpxe").exists()
    assert "node-03 armed\n" in done.stdout
