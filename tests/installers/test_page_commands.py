"""Every command of the pages: run here, run by a test that is named, or named with the reason why it is not run.

The pages are docs/installers/, docs/boot-config.md and docs/tutorial.md.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.installers.conftest import SYSTEM_PATH, Unpack, file_of, program
from tests.support.installer_pages import DASHES, PAGES, documents
from tests.support.service import Service, environment, run, write_tree
from tests.unit.test_tutorial import FILES, TEXT

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(?:sh|bat)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ANY_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)

TEXTS = {f"installers/{name}": text for name, text in PAGES.items()} | {
    "boot-config": (ROOT / "docs" / "boot-config.md").read_text("utf-8"),
    "tutorial": TEXT,
}

PROGRAMS = [
    "agama",
    "answerd",
    "apt",
    "cloud-init",
    "curl",
    "dhcpd",
    "dnsmasq",
    "ftp",
    "ignition-validate",
    "journalctl",
    "kea-dhcp4",
    "openssl",
    "proxmox-auto-install-assistant",
    "qemu",
    "systemctl",
    "talosctl",
    "xmllint",
]

HERE = "run here"

RUN_BY = {
    "boot-config: dnsmasq --test -C FILE": "test_dialects.py",
    "boot-config: dhcpd -t -cf FILE": "test_dialects.py",
    "boot-config: kea-dhcp4 -t FILE": "test_dialects.py",
    "boot-config: answerd boot-config dnsmasq --url http://192.0.2.10:8000": "test_dialects.py",
    "boot-config: answerd boot-config": "test_dialects.py",
    "installers/ignition: ignition-validate FILE": "test_fetchers.py",
    "installers/cloud-init: cloud-init schema --config-file FILE": HERE,
    "installers/cloud-init: curl http://192.0.2.10:8000/ubuntu/52-54-00-12-34-56/user-data": "test_reporters.py",
    "installers/autoyast: xmllint --noout FILE": HERE,
    "tutorial: openssl passwd -6": HERE,
    "tutorial: openssl passwd -6 > /etc/answerd/secrets/root-password-hash": HERE,
}
"""Commands and the file of tests/installers that runs them. Those of `answerd` are all run here."""

ON_THE_MACHINE = "it looks at the machine that is being installed"
NOT_PACKAGED = "Debian does not package it"
CLEAN_SYSTEM = "tests/packages runs it in a clean system"
SYSTEMD = "there is no systemd in a test; what it would read is tried"

NOT_RUN = {
    "installers/agama: journalctl -u agama-auto -u agama": ON_THE_MACHINE,
    "installers/agama: agama profile validate FILE": NOT_PACKAGED,
    "installers/cloud-init: qemu -smbios type=1,serial='…'": "an option that belongs to a longer line",
    "installers/cloud-init: cloud-init status --long": ON_THE_MACHINE,
    "installers/ignition: journalctl -t ignition": ON_THE_MACHINE,
    "installers/openbsd: ftp -o - http://192.0.2.10/install.conf": ON_THE_MACHINE,
    "installers/talos: talosctl gen config": NOT_PACKAGED,
    "installers/talos: talosctl validate --config FILE --mode metal": NOT_PACKAGED,
    "tutorial: apt install git python3-venv dnsmasq nginx-light ipxe debian-installer-12-netboot-amd64": CLEAN_SYSTEM,
    "tutorial: scripts/build-deb": CLEAN_SYSTEM,
    "tutorial: apt install ./dist/answerd_*.deb": CLEAN_SYSTEM,
    "tutorial: journalctl -fu answerd": SYSTEMD,
    "tutorial: journalctl -u dnsmasq": SYSTEMD,
}
"""Commands that no test runs, and why. Whole blocks: `NOT_RUN_PAGES`."""

NOT_RUN_PAGES = {
    "installers/windows": "WinPE is not free; test_report_lines.py runs the lines of the document",
    "installers/proxmox": NOT_PACKAGED,
    "installers/openbsd": "its ftp and its shell are not in Debian; test_report_lines.py runs what it fetches",
}


def lines(text: str) -> list[str]:
    """The lines of the blocks of a page that are for a shell."""
    return [line for block in BLOCK.findall(text) for line in block.splitlines() if line]


def inline(text: str) -> list[str]:
    """The commands within the sentences of a page."""
    spans = re.findall(r"`([^`\n]+)`", ANY_BLOCK.sub("", text))
    return [span for span in spans if " " in span and span.split()[0] in PROGRAMS]


@pytest.mark.quick
def test_every_command_is_run_or_says_why_not() -> None:
    found = {f"{page}: {command}" for page, text in TEXTS.items() for command in inline(text)}
    for page, text in TEXTS.items():
        if page not in NOT_RUN_PAGES:
            found |= {f"{page}: {command}" for command in lines(text)}
    known = set(RUN_BY) | set(NOT_RUN)
    own = {line for line in found if line.partition(": ")[2].startswith("answerd ")}
    of_tutorial = {f"tutorial: {line}" for line in lines(TEXT)}
    assert found - known - own - of_tutorial == set()
    assert known - found == set(), "no page has this command any more"
    files = {path.name for path in Path(__file__).parent.glob("test_*.py")} | {HERE}
    assert set(RUN_BY.values()) <= files


@pytest.mark.quick
@pytest.mark.parametrize("page", [page for page in PAGES if inline(PAGES[page])])
def test_the_commands_of_answerd_on_a_page(page: str, tmp_path: Path) -> None:
    write_tree(tmp_path / "answers", documents(PAGES[page]))
    settings: dict[str, Any] = {
        "SERVICE_ANSWERS_DIR": tmp_path / "answers",
        "SERVICE_STATE_PATH": tmp_path / "state.db",
    }
    tried = [command for command in inline(PAGES[page]) if command.startswith("answerd ")]
    for command in tried:
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
    subprocess.run([xmllint, "--noout", tmp_path / "autoyast.answer"], check=True)
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
    write_tree(tmp_path / "srv/answers", FILES)
    script = ["set -eux", "umask 077", "openssl passwd -6 secret > /etc/answerd/secrets/root-password-hash"]
    for line in lines(TEXT):
        if f"tutorial: {line}" in NOT_RUN:
            continue
        if line.startswith("answerd wait"):  # all are done: it waits for nothing
            script.append("answerd disarm " + " ".join(f"node-{number:02}" for number in range(1, 11)))
        script.append(line.replace("&& systemctl restart dnsmasq", "").replace("dnsmasq --test", f"{dnsmasq} --test"))
    text = re.sub(r"(?<![\w.])/(etc|srv|var/www)/", rf"{tmp_path}/\1/", "\n".join(script))
    text = text.replace("/usr/lib/debian-installer/", f"{tree}/usr/lib/debian-installer/")
    environ = environment() | {"PATH": f"{tmp_path / 'bin'}:{SYSTEM_PATH}", "PYTHONPATH": str(ROOT)}
    with Service(SERVICE_ENV_FILE=tmp_path / "etc/answerd.env"):  # the package starts it
        done = subprocess.run(
            ["bash"], input=text, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "d-i netcfg/get_hostname string node-09\n" in done.stdout
    assert (tmp_path / "var/www/html/debian-12/linux").exists()
    assert (tmp_path / "srv/tftp/undionly.kpxe").exists()
    assert "node-03 armed\n" in done.stdout
