"""Drawn secrets at drawn places of documents in every family, layered and filled: no output of the program has four
characters of one."""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest

from answerd.server.roles import Role, new_token
from tests.http.test_events import Stream
from tests.support.console import Browser
from tests.support.replies import exchange, request_bytes
from tests.support.service import Service, run, write_tree
from tests.support.waiting import wait_until

LETTERS = "QXZJqxzj7"
"""Letters and a digit that the documents have nothing of."""
LENGTH = 14

SHAPES: dict[str, tuple[str, ...]] = {
    "ks": (
        "rootpw @",
        "user --name=deploy --password=@ --plaintext",
        "part / --encrypted --passphrase=@ --fstype=ext4",
        "%post\necho 'root:@' | chpasswd\ncurl -su 'deploy:@' https://h.lab/f\n%end",
        "%post\ncat > /root/.netrc <<END\nmachine h.lab login deploy password @\nEND\n%end",
        "%post\nDB_PASSWORD='@'\nexport API_TOKEN=@\n%end",
        "repo --name=a --baseurl=http://deploy:@@h.lab/r",
    ),
    "preseed": (
        "d-i passwd/root-password password @",
        "d-i netcfg/wireless_wpa string @",
        "d-i mirror/http/proxy string http://deploy:@@h.lab:3128",
        "d-i preseed/late_command string in-target sh -c 'echo root:@ | chpasswd'",
    ),
    "yaml": (
        "users:\n- {name: deploy, plain_text_passwd: '@', lock_passwd: false}",
        "chpasswd:\n  list: |\n    root:@\n    deploy:@",
        "runcmd:\n- [useradd, -m, -p, '@', deploy]\n- 'mysql -uroot -p@ -e x'\n- [curl, -H, 'Authorization: Bearer @']",
        "write_files:\n- path: /etc/a.env\n  content: |\n    HOST=h.lab\n    DB_PASSWORD=@",
        "autoinstall:\n  storage:\n    config:\n    - {type: dm_crypt, id: c, volume: v, key: '@'}",
        "ssh_keys:\n  rsa_private: |\n    -----BEGIN RSA PRIVATE KEY-----\n    @\n    -----END RSA PRIVATE KEY-----",
    ),
    "ign": (
        '"passwd": {"users": [{"name": "core", "passwordHash": "@"}]}',
        '"storage": {"files": [{"path": "/etc/a", "contents": {"source": "data:,PASSWORD%3D@%0A"}}]}',
        '"storage": {"luks": [{"name": "d", "device": "/dev/vda", "keyFile": {"source": "data:,@"}}]}',
        '"systemd": {"units": [{"name": "a.service", "contents": "[Service]\\nEnvironment=\\"TOKEN=@\\"\\n"}]}',
    ),
    "autoyast": (
        "<users><user><username>deploy</username><user_password>@</user_password></user></users>",
        "<suse_register><reg_code>@</reg_code></suse_register>",
        "<partitioning><drive><crypt_key>@</crypt_key></drive></partitioning>",
        "<scripts><post-scripts><script><source>SUSEConnect -r @</source></script></post-scripts></scripts>",
    ),
    "toml": (
        "[global]\nroot-password = '@'",
        '[post-installation-webhook]\nurl = "https://h.lab/x?token=@&a=1"',
    ),
    "ipxe": ("set password @", "kernel http://h.lab/vmlinuz ds=nocloud tailscale.token=@ quiet", "set net0/key @"),
}  # fmt: skip
"""Parts of documents by format, with the places of secrets."""


def of_json(control: str) -> str:
    key, _, value = control.partition(" ")
    return f'"{key}": "{value}", ' if control else ""


AROUND: dict[str, Callable[[str, str], str]] = {
    "ks": lambda part, control: f"{control and f'# answer: {control}'}\nlang en_US\n{part}\n",
    "preseed": lambda part, control: f"{control and f'# answer: {control}'}\nd-i a/b string c\n{part}\n",
    "yaml": lambda part, control: f"#cloud-config\n{control and control.replace(' ', ': ')}\n{part}\n",
    "ign": lambda part, control: f'{{{of_json(control)}"ignition": {{"version": "3.4.0"}}, {part}}}',
    "autoyast": lambda part, control: (
        '<profile xmlns="http://www.suse.com/1.0/yast2ns">'
        + (control and f'<answer-meta {control.replace(" ", "=" + chr(34))}"/>')
        + f"{part}</profile>\n"
    ),
    "toml": lambda part, control: (control and control.replace(" ", ' = "') + '"\n') + f"{part}\n",
    "ipxe": lambda part, control: f"#!ipxe\n{control and f'# answer: {control}'}\n{part}\nboot\n",
}  # fmt: skip
"""A whole document around a part, with a control key in its first lines."""


class Drawn:
    """Documents with drawn secrets."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.secrets: list[str] = []
        self.filed = self.secret()
        self.cell = self.secret()

    def secret(self) -> str:
        drawn = "".join(self.random.choice(LETTERS) for _ in range(LENGTH - 2))
        self.secrets.append(f"Z{drawn}q")
        return self.secrets[-1]

    def part(self, extension: str) -> str:
        chosen = self.random.choice(SHAPES[extension])
        return re.sub("@(?!h.lab)", lambda _: self.filled(), chosen)

    def filled(self) -> str:
        return self.random.choice([self.secret(), self.secret(), "{{ secret.filed }}", "{{ root_password }}"])

    def documents(self) -> dict[str, str]:
        made = {}
        for extension, around in AROUND.items():
            made[f"groups/base-{extension}.{extension}"] = around(self.part(extension), "")
            made[f"web-01.{extension}"] = around(self.part(extension), f"extends base-{extension}")
        return made

    @property
    def table(self) -> str:
        return f"id,mac,root_password\nweb-01,52:54:00:aa:00:01,{self.cell}\n"

    def told_in(self, text: str) -> list[str]:
        """The secrets of which a text has four characters."""
        # Random letters, and milliseconds such as .777Z, which have four of a secret once in some thousand pages.
        text = re.sub(r'name="(?:csrf|once|given)" value="[^"]*"|name="csp-nonce" content="[^"]*"|[.]\d+Z', "", text)
        spellings = (text, unescape(text), unquote(text))
        parts = {secret[at : at + 4]: secret for secret in self.secrets for at in range(len(secret) - 3)}
        return sorted({secret for part, secret in parts.items() if any(part in spelled for spelled in spellings)})


@pytest.fixture(params=range(3))
def drawn(request: pytest.FixtureRequest) -> Drawn:
    return Drawn(request.param)


def answers_of(directory: Path, drawn: Drawn) -> dict[str, Any]:
    write_tree(directory / "answers", {**drawn.documents(), "inventory.csv": drawn.table})
    write_tree(directory / "other", {**drawn.documents(), "inventory.csv": drawn.table})
    (directory / "secrets").mkdir(mode=0o700)
    (directory / "secrets" / "filed").write_text(drawn.filed)
    return {"SERVICE_ANSWERS_DIR": directory / "answers", "SERVICE_SECRETS_DIR": directory / "secrets"}


def test_no_command_shows_a_drawn_secret(tmp_path: Path, drawn: Drawn) -> None:
    settings = answers_of(tmp_path, drawn)
    said = [done_text(run(*words, **settings)) for words in (("check",), ("diff", str(tmp_path / "other")))]
    for extension in SHAPES:
        exact = run("render", "web-01", "--format", extension, "--why", **settings)
        assert exact.returncode == 0, exact.stderr
        assert drawn.told_in(exact.stdout.decode()), "the answer has them"
        said.append(exact.stderr.decode())
        for how in ("--explain", "--explain=json"):
            said.append(done_text(run("render", "web-01", "--format", extension, how, **settings)))
            assert "(secret)" in said[-1]
    for text in said:
        assert drawn.told_in(text) == [], text
        assert "Traceback" not in text


def done_text(done: subprocess.CompletedProcess[bytes]) -> str:
    return (done.stdout + done.stderr).decode()


def targets() -> Iterator[str]:
    for extension in SHAPES:
        yield f"/machines/web-01?format={extension}"
        yield f"/groups/base-{extension}?format={extension}"
        yield f"/resolve/web-01?format={extension}"
        yield f"/resolve/web-01?format={extension}&explain=1"
    yield from (
        "/check",
        "/history",
        "/installs",
        "/installs/web-01",
        "/inventory/default",
        "/inventory/default/web-01",
    )
    yield from ("/requests", "/nodes", "/machines", "/metrics")


def pages() -> Iterator[str]:
    for extension in SHAPES:
        yield f"document?kind=machine&name=web-01&format={extension}"
        yield f"history?kind=machine&name=web-01&format={extension}"
    yield from ("machine?id=web-01", "inventory?name=default", "check", "requests", "documents", "history", "machines")


def as_change(name: str, text: str) -> dict[str, str]:
    folder, _, file = name.rpartition("/")
    stem, _, extension = file.rpartition(".")
    return {"kind": "group" if folder else "machine", "identifier": stem, "format": extension, "text": text}


def test_no_answer_page_or_log_of_the_service_shows_a_drawn_secret(
    serving: Callable[..., Service], tmp_path: Path, drawn: Drawn
) -> None:
    settings = answers_of(tmp_path, drawn)
    read, line = new_token("planner", Role.PLAN)
    admin, admin_line = new_token("keeper", Role.ADMIN)
    tokens = tmp_path / "tokens"
    tokens.write_text(f"{line}\n{admin_line}\n")
    tokens.chmod(0o600)
    service = serving(
        SERVICE_STORE="sqlite",
        SERVICE_DB_PATH=tmp_path / "answers.db",
        SERVICE_SECRETS_DIR=settings["SERVICE_SECRETS_DIR"],
        SERVICE_ADMIN_ADDR="127.0.0.1:0",
        SERVICE_CONSOLE_ADDR="127.0.0.1:0",
        SERVICE_TOKENS_FILE=tokens,
    )

    def ask(token: str, method: str, target: str, body: str = "") -> str:
        assert service.admin
        headers = {"Authorization": f"Bearer {token}"}
        return exchange(service.admin, request_bytes(method, target, headers, body.encode())).text

    ask(admin, "PUT", "/inventory/default", drawn.table)
    for documents in (drawn.documents(), drawn.documents()):
        for name, text in sorted(documents.items()):
            folder, _, file = name.rpartition("/")
            stem, _, extension = file.rpartition(".")
            said = ask(admin, "PUT", f"/{folder or 'machines'}/{stem}?format={extension}", text)
            assert drawn.told_in(said) == [], said
    changed = [as_change(name, text) for name, text in drawn.documents().items()]
    dry_run = ask(read, "POST", "/apply", json.dumps({"put": changed, "dry_run": True}))
    broken = ask(admin, "PUT", "/groups/base-yaml?format=yaml", f"users: [{{passwd: {drawn.secret()}\n")
    stream = Stream(service, token=read)
    for extension in SHAPES:
        assert drawn.told_in(service.get(f"/{quote(extension)}/web-01?h=web-01").text), "the answer has them"
    events = [event for _, event in zip(SHAPES, stream.events(), strict=False)]
    stream.socket.close()
    host, _, port = service.wait_for_log("console listening on ").rpartition(" ")[2].rpartition(":")
    browser = Browser(service, (host, int(port)))
    browser.log_in(read)
    shown = {target: ask(read, "GET", target) for target in targets()}
    shown |= {page: browser.get(f"/console/{page}").text for page in pages()}
    shown |= {"dry run": dry_run, "broken": broken, "events": json.dumps(events)}
    for target, text in shown.items():
        assert drawn.told_in(text) == [], target
    assert sum("(secret)" in text for text in shown.values()) >= len(SHAPES)
    assert json.loads(shown["/history"])
    assert json.loads(dry_run)["answers"]
    assert json.loads(broken)["error"]
    assert [name for name, _ in events] == ["request"] * len(SHAPES)
    wait_until(lambda: sum("web-01" in line for line in service.log) >= len(SHAPES))
    service.stop()
    assert drawn.told_in("\n".join(service.log)) == []
