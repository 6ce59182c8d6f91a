"""What other programs say of an answer is shown as they say it, with the answer's own secrets hidden."""

from __future__ import annotations

import html
import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from answerd.answers.secret_names import SECRET
from answerd.validators import TOOL_OF_FORMAT, Tools, Verdict, validate
from tests.support.thorough import examples

Quote = Callable[[str], str]

KICKSTART = """lang en_US.UTF-8
keybord us
part / --size=1 --nobase
network --bootproto=bootp --wrong
rootpw {0}
user --name=admin --password={1} --nogroup
%pots
%end
%post
useradd -p {0} admin
%end
"""
PRESEED = """d-i passwd/root-password password {0}
d-i passwd/user-password-again password {1}
d-i mirror/country strng manual
"""
TOML = """[global]
keyboard = "xx"
root-password = {0}
contry = "de"
[post-installation-webhook]
url = {2}
api-token = {1}
"""
YAML = """#cloud-config
hostnam: web
chpasswd:
  users: [{{name: root, password: {0}}}]
users:
- name: admin
  plain_text_passwd: {1}
  lock_pass: 1
"""
JSON = """{{"ignition": {{"version": "3.3.0", "tim": 1}},
"passwd": {{"users": [{{"name": "admin", "passwordHash": {0}, "psk": {1}}}]}}}}
"""
XML = """<unattend xmlns="urn:schemas-microsoft-com:unattend"><settings pass="oobe"><component name="x">
<AdministratorPassword><Value>{0}</Value></AdministratorPassword>
<Nme>web</Nme><Password>{1}</Password></component></settings></unattend>
"""

ANSWERS: dict[str, tuple[str, Quote, tuple[str, ...]]] = {
    "ks": (KICKSTART, shlex.quote, ("keybord", "--nobase", "--wrong", "pots")),
    "preseed": (PRESEED, str, ("mirror/country strng manual",)),
    "toml": (TOML, json.dumps, ('contry = "de"',)),
    "yaml": (YAML, json.dumps, ("hostnam: web", "lock_pass: 1")),
    "ign": (JSON, json.dumps, ()),
    "unattend": (XML, html.escape, ("<Nme>web</Nme>",)),
}
"""Of a format: an answer with faults, how a secret is written in it, and words of it that messages keep."""

SECRETS = st.from_regex(r"[A-Za-z][A-Za-z0-9_.!%&>$@/\\-]{8,14}[A-Za-z0-9]", fullmatch=True)


@pytest.fixture(scope="module")
def repeating(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    """Programs that refuse every answer and quote all of it."""
    folder = tmp_path_factory.mktemp("programs")
    for name in set(TOOL_OF_FORMAT.values()):
        program = folder / name
        begin = "answer.x:1:" if name == "xmllint" else "error:"  # else it is not taken for a line about the answer
        program.write_text(
            f'#!/bin/sh\nfor file; do [ -f "$file" ] && break; done\nsed "s/^/{begin} /" "$file" >&2\nexit 1\n'
        )
        program.chmod(0o755)
    tools = Tools.find(f"{folder}:/usr/bin:/bin")
    return Tools({name: str(Path(folder, name)) for name in TOOL_OF_FORMAT.values()}, tools.search_path)


def messages(verdict: Verdict) -> str:
    return "\n".join([*map(str, (*verdict.findings, *verdict.warnings)), *verdict.notes])


@pytest.mark.parametrize("extension", ANSWERS)
@given(secrets=st.lists(SECRETS, min_size=3, max_size=3, unique=True))
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_message_shows_a_secret_of_the_answer(repeating: Tools, extension: str, secrets: list[str]) -> None:
    form, quote, kept = ANSWERS[extension]
    text = form.format(*map(quote, secrets))
    known = secrets[2:] if "{2}" in form else []
    said = messages(validate(text, extension, tools=repeating, secrets=lambda: known))
    for secret in secrets:
        assert secret not in said
        assert quote(secret) not in said
    assert [words for words in kept if words not in said] == []


@pytest.mark.parametrize("extension", ANSWERS)
def test_nothing_is_hidden_in_messages_about_an_answer_without_secrets(repeating: Tools, extension: str) -> None:
    form, quote, _ = ANSWERS[extension]
    text = form.format(*[quote("no")] * 3)
    said = messages(validate(text, extension, tools=repeating))
    assert SECRET not in said
    assert "…" not in said
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    assert [line for line in lines if line.removeprefix("%end") not in said] == []


def test_the_words_of_pykickstart_are_shown() -> None:
    pytest.importorskip("pykickstart")
    said = messages(validate(KICKSTART.format("Zqxjkv1234", "Zqxjkv5678"), "ks", tools=Tools.none()))
    assert "Unknown command: keybord" in said
    assert "--nobase" in said
    assert "%pots" in said
    assert "--nogroup" in said
