"""The external programs: found, fed, believed or not, killed, cleaned up after.

Most cases use small shell scripts under a program's name on a PATH of their own, because the traps (an exit status of 0
for errors, a hang) cannot be had from the real ones at will. The real ones get one good and one bad answer each, where
they are installed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import select
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from answerd.validators import Tools, Verdict, validate
from answerd.validators.tools import PROGRAMS, PROXMOX_CONSENT
from tests.support.waiting import wait_until

PROXMOX = """\
[global]
keyboard = "fr"
country = "fr"
fqdn = "n1.example.com"
mailto = "ops@example.com"
timezone = "Europe/Paris"
root-password-hashed = "$6$x$y"
[network]
source = "from-dhcp"
[disk-setup]
filesystem = "ext4"
disk-list = ["sda"]
"""
GOOD = {
    "proxmox-auto-install-assistant": ("toml", PROXMOX),
    "ksvalidator": ("ks", "lang en_US.UTF-8\n"),
    "cloud-init": ("yaml", "#cloud-config\nhostname: n1\n"),
    "debconf-set-selections": ("preseed", "d-i passwd/root-login boolean false\n"),
    "ignition-validate": ("ign", '{"ignition": {"version": "3.2.0"}}'),
    "xmllint": ("xml", "<profile/>\n"),
}
"""Program to an answer that the built-in rules take. Ignition 3.2: a program of a distribution may be years old."""

CONSENT = f"echo '{PROXMOX_CONSENT}'"

Install = Callable[[str, str], Tools]


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Puts a shell script on a PATH of its own, under a program's name."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def put(name: str, script: str) -> Tools:
        program = folder / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        isolation = Tools.find(str(folder)).isolation
        return Tools({name: str(program)}, f"{folder}:/usr/bin:/bin", timeout=20, isolation=isolation)

    return put


def ask(tools: Tools, name: str) -> Verdict:
    extension, text = GOOD[name]
    return validate(text, extension, tools=tools)


# fmt: off
SAID: list[tuple[str, str, str, int, int]] = [
    ("consent", "proxmox-auto-install-assistant", CONSENT, 0, 0),
    ("errors with status 0", "proxmox-auto-install-assistant", "echo 'Error: keyboard' >&2", 1, 0),
    ("nothing with status 0", "proxmox-auto-install-assistant", "exit 0", 1, 0),
    ("errors with status 1", "proxmox-auto-install-assistant", "echo bad; exit 1", 1, 0),
    ("consent on stderr is none", "proxmox-auto-install-assistant", f"{CONSENT} >&2", 1, 0),
    ("consent with status 1 is doubtful", "proxmox-auto-install-assistant", f"{CONSENT}; exit 1", 0, 1),
    ("a warning beside consent", "proxmox-auto-install-assistant", f"echo 'Warning: old' >&2; {CONSENT}", 0, 1),
    ("silence", "ksvalidator", "printf '\\nChecking kickstart file x\\n\\n'", 0, 0),
    ("256 errors are status 0", "ksvalidator",
     "printf 'The following problem occurred on line 3 of the kickstart file:\\n\\nUnknown command: x\\n' >&2", 1, 0),
    ("an error with its status", "ksvalidator", "echo 'Unknown command: x'; exit 1", 1, 0),
    ("a status alone", "ksvalidator", "exit 3", 1, 0),
    ("a deprecation", "ksvalidator", "echo 'File uses a deprecated option or command.'; exit 1", 0, 1),
    ("consent", "cloud-init", "echo 'Valid cloud-config: x'", 0, 0),
    ("errors", "cloud-init", "printf 'Error:\\nCloud config schema errors: a: no\\n' >&2; exit 1", 1, 0),
    ("errors and a deprecation", "cloud-init",
     "printf 'Error:\\nCloud config schema errors: a: no\\n\\nCloud config schema deprecations: b\\n' >&2; exit 1",
     1, 1),
    ("errors and no deprecation", "cloud-init",
     "echo 'Cloud config schema deprecations: '; printf 'Error:\\nCloud config schema errors: a: no\\n' >&2; exit 1",
     1, 0),
    ("a deprecation", "cloud-init", "echo 'Cloud config schema deprecations: users'; echo 'Valid schema x'", 0, 1),
    ("consent", "debconf-set-selections", "exit 0", 0, 0),
    ("an unknown type", "debconf-set-selections", "echo 'warning: Unknown type x, skipping line 1' >&2", 0, 1),
    ("an error", "debconf-set-selections", "echo \"error: parse error on line 2: 'x'\" >&2; exit 1", 1, 0),
    ("consent", "ignition-validate", "exit 0", 0, 0),
    ("a warning", "ignition-validate", "echo 'warning at $.storage: unused key' >&2", 0, 1),
    ("an error", "ignition-validate", "echo 'error at $.storage.files.0.path: missing' >&2; exit 1", 1, 0),
    ("consent", "xmllint", "exit 0", 0, 0),
    ("an error with the text and a caret", "xmllint",
     "printf '%s:2: parser error : no\\n<a>\\n  ^\\n' \"$3\" >&2; exit 1", 1, 0),
]
# fmt: on


@pytest.mark.parametrize(
    ("name", "script", "findings", "warnings"),
    [case[1:] for case in SAID],
    ids=[f"{case[1]} - {case[0]}" for case in SAID],
)
def test_a_program_is_believed_for_what_it_says(
    install: Install, name: str, script: str, findings: int, warnings: int
) -> None:
    verdict = ask(install(name, script), name)
    assert (len(verdict.findings), len(verdict.warnings)) == (findings, warnings)
    assert verdict.valid is not bool(findings)
    assert name in verdict.judged_by
    assert all(remark.message.startswith(name) for remark in (*verdict.findings, *verdict.warnings))


def test_a_line_number_that_a_program_names_is_kept(install: Install) -> None:
    verdict = ask(install("xmllint", 'echo "$3:7: parser error" >&2; exit 1'), "xmllint")
    assert [finding.line for finding in verdict.findings] == [7]


def test_consent_never_overrides_a_built_in_finding(install: Install) -> None:
    tools = install("proxmox-auto-install-assistant", CONSENT)
    verdict = validate(PROXMOX + "nonsense = 1\n", "toml", tools=tools)
    assert [finding.path for finding in verdict.findings] == ["disk-setup.nonsense"]
    assert not verdict.valid


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_missing_program_is_a_note(name: str, tmp_path: Path) -> None:
    verdict = ask(Tools.find(str(tmp_path)), name)
    assert verdict.valid
    assert [note for note in verdict.notes if name in note]


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_without_tools_a_missing_one_is_not_mentioned(name: str) -> None:
    assert ask(Tools.none(), name).notes == ()


def test_programs_are_found_on_path(install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install("xmllint", "echo 'found me' >&2; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    extension, text = GOOD["xmllint"]
    assert "found me" in validate(text, extension).findings[0].message


NOT_ASKED = [
    ("TOML that is no answer", "proxmox-auto-install-assistant", "toml", "a = 1\n"),
    ("YAML without the header", "cloud-init", "yaml", "a: 1\n"),
    ("YAML below a template line", "cloud-init", "yaml", "## template: jinja\n#cloud-config\na: 1\n"),
    ("JSON without ignition", "ignition-validate", "json", "{}"),
    ("XML with an external entity", "xmllint", "xml", '<!DOCTYPE a [<!ENTITY x SYSTEM "x">]><a>&x;</a>'),
    ("XML with an external subset", "xmllint", "xml", '<!DOCTYPE a SYSTEM "x"><a/>'),
]


@pytest.mark.parametrize(
    ("name", "extension", "text"), [case[1:] for case in NOT_ASKED], ids=[case[0] for case in NOT_ASKED]
)
def test_what_is_not_for_a_program_is_not_handed_to_it(install: Install, name: str, extension: str, text: str) -> None:
    verdict = validate(text, extension, tools=install(name, "echo asked; exit 1"))
    assert not [finding for finding in verdict.findings if "asked" in finding.message]
    assert name not in verdict.judged_by


def test_an_ignition_validate_that_is_too_old_is_a_note(install: Install) -> None:
    verdict = ask(
        install("ignition-validate", "echo 'Failed to parse: unsupported config version' >&2; exit 1"),
        "ignition-validate",
    )
    assert verdict.valid
    assert [note for note in verdict.notes if "too old" in note]
    assert "ignition-validate" not in verdict.judged_by


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_what_a_program_quotes_of_the_answer_is_hidden(install: Install, name: str) -> None:
    extension, text = GOOD[name]
    secret = "S3cret-canary"
    text = text.replace("$6$x$y", secret).replace("en_US.UTF-8", secret).replace("n1", secret)
    text = text.replace("<profile/>", f"<profile>{secret}</profile>").replace("boolean false", f"string {secret}")
    text = text.replace('"3.2.0"}', f'"3.2.0"}}, "passwd": {{"users": [{{"name": "{secret}"}}]}}')
    assert secret in text
    said = f"error: Unknown value '{secret}', {{'key': '{secret}'}} of en_US.UTF-8 in line 3"
    tools = install(name, f'echo "{said}"; echo "{said}" >&2; exit 1')
    verdict = validate(text, extension, tools=tools, secrets=lambda: [secret])
    remarks = " ".join(map(str, (*verdict.findings, *verdict.warnings, *verdict.notes)))
    assert secret not in remarks
    assert "Unknown value '(secret)', {'key': '(secret)'} of en_US.UTF-8 in line 3" in remarks


def test_ksvalidator_gets_a_copy_without_includes(install: Install, tmp_path: Path) -> None:
    tools = install("ksvalidator", f'cat "$1" > {tmp_path}/got')
    validate("lang C\n%include /etc/passwd\n%ksappend http://127.0.0.1/\n%pre\n  %include x\n%end\n", "ks", tools=tools)
    assert (tmp_path / "got").read_text() == "lang C\n\n\n%pre\n\n%end\n"


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("lang en_US\n", "-v RHEL10"),
        ("#version=RHEL9\nlang en_US\n", "-v RHEL9"),
        ("lang en_US\ninstall\nauth --enableshadow\n", "-v RHEL8"),
    ],
    ids=["the newest syntax", "the stated syntax", "the syntax that takes it"],
)
def test_ksvalidator_judges_by_the_same_syntax(install: Install, tmp_path: Path, text: str, arguments: str) -> None:
    tools = install("ksvalidator", f'shift; echo "$*" > {tmp_path}/got')
    validate(text, "ks", tools=tools)
    assert (tmp_path / "got").read_text().strip() == arguments


@pytest.mark.parametrize("status", [0, 1])
def test_the_copy_is_private_and_removed(install: Install, tmp_path: Path, status: int) -> None:
    script = (
        f'stat -c "%a %a" "$1" > {tmp_path}/mode; stat -c %a "${{1%/*}}" >> {tmp_path}/mode; '
        f'echo "$1" > {tmp_path}/path; cmp "$1" {tmp_path}/expected || exit 9; exit {status}'
    )
    extension, text = GOOD["ignition-validate"]
    (tmp_path / "expected").write_text(text)
    verdict = validate(text, extension, tools=install("ignition-validate", script))
    assert (tmp_path / "mode").read_text().split() == ["600", "600", "700"]
    assert verdict.valid is (status == 0)
    copy = Path((tmp_path / "path").read_text().strip())
    assert not copy.exists()
    assert not copy.parent.exists()


@contextlib.contextmanager
def standard_input(typed: bytes) -> Iterator[None]:
    """This process's own standard input for a while; pytest leaves it empty, which would prove nothing."""
    reader, writer = os.pipe()
    os.write(writer, typed)
    os.close(writer)
    kept = os.dup(0)
    os.dup2(reader, 0)
    os.close(reader)
    try:
        yield
    finally:
        os.dup2(kept, 0)
        os.close(kept)


def test_a_program_gets_a_bare_environment_and_no_input(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTPS_PROXY", "ALL_PROXY", "SERVICE_ADMIN_TOKEN", "PYTHONPATH"):
        monkeypatch.setenv(name, "http://127.0.0.1:1/")
    script = f"/usr/bin/env > {tmp_path}/environment; if read line; then echo 'there was input'; exit 1; fi"
    tools = install("ignition-validate", script)
    with standard_input(b"typed by somebody\n"):
        verdict = ask(tools, "ignition-validate")
    assert verdict.valid
    names = {line.partition("=")[0] for line in (tmp_path / "environment").read_text().splitlines()}
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {"PATH", "HOME", "TMPDIR", "LC_ALL", "XML_CATALOG_FILES"}


def test_a_program_that_hangs_is_killed_with_its_children_and_reported(install: Install, tmp_path: Path) -> None:
    """The pipe has an end once nobody holds its other side: neither the script nor the child it left behind."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        script = f'exec 3> {pipe}; echo "$1" >&3; sleep 600 & sleep 600'
        tools = install("ignition-validate", script)
        verdict = ask(dataclasses.replace(tools, timeout=1), "ignition-validate")
        said = b""
        while chunk := (os.read(reader, 4096) if select.select([reader], [], [], 10)[0] else b"still held"):
            assert chunk != b"still held"
            said += chunk
    finally:
        os.close(reader)
    assert verdict.valid, "a hang says nothing about the answer"
    assert "ignition-validate" not in verdict.judged_by
    assert [warning for warning in verdict.warnings if "1 s and was killed" in warning.message]
    assert not Path(said.decode().strip()).parent.exists()


def test_a_program_has_no_network(install: Install, tmp_path: Path) -> None:
    """A socket that listens on loopback, and a program that knocks: its loopback is another one."""
    tools = install("ignition-validate", "")
    if not tools.isolation:
        pytest.skip("this system lets nobody have a network namespace")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        knock = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 5)"
        tools = install("ignition-validate", f'{sys.executable} -c "{knock}" || echo unreachable > {tmp_path}/said')
        assert ask(tools, "ignition-validate").judged
        with pytest.raises(BlockingIOError):
            server.accept()
    assert (tmp_path / "said").read_text() == "unreachable\n"


def test_a_program_that_cannot_be_started_is_reported(tmp_path: Path) -> None:
    program = tmp_path / "xmllint"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    verdict = ask(Tools.find(str(tmp_path)), "xmllint")
    assert verdict.valid
    assert "could not be run" in verdict.warnings[0].message


def test_a_program_that_says_too_much_is_cut_short(install: Install) -> None:
    verdict = ask(
        install("ignition-validate", "yes 'error at everything' | head -c 1000000 >&2; exit 1"), "ignition-validate"
    )
    assert 1 <= len(verdict.findings) < 30


def test_a_locked_debconf_database_is_not_the_answers_fault(install: Install) -> None:
    verdict = ask(install("debconf-set-selections", "exit 1"), "debconf-set-selections")  # as 1.5.82 does, silently
    assert verdict.valid
    assert "debconf-set-selections" not in verdict.judged_by
    assert verdict.notes


# The real programs.

REAL_PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
REAL_BAD = {
    "proxmox-auto-install-assistant": ("toml", PROXMOX.replace('"fr"', '"xx"')),
    "ksvalidator": ("ks", "lang en_US.UTF-8\nnonsense\n"),
    "cloud-init": ("yaml", "#cloud-config\nusers: 3\n"),
    "debconf-set-selections": ("preseed", "d-i passwd/root-login\n"),
    "ignition-validate": ("ign", '{"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "a"}]}}'),
}
"""xmllint is missing: what it could refuse, it is never handed."""


FROM = {
    "proxmox-auto-install-assistant": "only Proxmox's own repository has it",
    "ksvalidator": "pip install pykickstart",
    "cloud-init": "apt install cloud-init",
    "debconf-set-selections": "apt install debconf",
    "ignition-validate": "apt install ignition",
    "xmllint": "apt install libxml2-utils",
}


def real(name: str) -> Tools:
    found = Tools.find(REAL_PATH)
    if name not in found.paths:
        pytest.skip(f"{name} is not installed: {FROM[name]}")
    return found


@pytest.mark.parametrize("name", sorted(GOOD))
def test_the_real_program_takes_a_good_answer(name: str) -> None:
    if name == "debconf-set-selections":  # says nothing while apt, say, has locked the database
        wait_until(lambda: ask(real(name), name).valid)
    verdict = ask(real(name), name)
    assert (verdict.findings, verdict.warnings) == ((), ())
    assert name in verdict.judged_by


@pytest.mark.parametrize("name", sorted(REAL_BAD))
def test_the_real_program_refuses_a_bad_answer(name: str) -> None:
    extension, text = REAL_BAD[name]
    verdict = validate(text, extension, tools=real(name))
    assert [finding for finding in verdict.findings if finding.message.startswith(name)]


def test_the_real_debconf_warns_of_an_unknown_type() -> None:
    verdict = validate("d-i a/b strng x\n", "seed", tools=real("debconf-set-selections"))
    assert verdict.valid
    assert [warning for warning in verdict.warnings if warning.message.startswith("debconf-set-selections")]


def test_the_real_cloud_init_takes_an_autoinstall() -> None:
    verdict = validate("#cloud-config\nautoinstall:\n  version: 1\n  user-data: {}\n", "yaml", tools=real("cloud-init"))
    assert verdict.valid
    assert "cloud-init" in verdict.judged_by


def test_a_script_of_an_environment_in_a_path_with_a_blank_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "a clone" / "bin"
    place.mkdir(parents=True)
    (place / "python").symlink_to(sys.executable)
    (place / "ksvalidator").write_text(f"#!{place}/python\nprint('asked')\n")
    (place / "ksvalidator").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(place / "python"))
    verdict = ask(Tools.find(f"{place}{os.pathsep}{REAL_PATH}"), "ksvalidator")
    assert [finding.message for finding in (*verdict.findings, *verdict.warnings)] == ["ksvalidator: asked"]
