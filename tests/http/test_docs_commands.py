"""The commands of the documentation are run here, but for those of programs that a test cannot start.

A command is a line of a ``sh``, ``console`` or ``bat`` block of README.md, docs/, examples/ or CONTRIBUTING.md, with
the lines that a backslash joins to it. Those of one page run in order, in a home of their own, as the page's reader has
it. Paths and addresses of the pages are replaced by those of the home; ``serve`` is replaced by ``config``, which exits
with 1 where the service would not start. The README's walk-through is run by test_readme.py.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from answerd.documents import Key
from answerd.formats.family import Once
from answerd.identity import Kind
from answerd.installs.states import Asked, Gate, ReportKind, Rules
from answerd.store.sqlite import SqliteStore
from answerd.store.states import open_state_file
from tests.support.commands import run_forked
from tests.support.installs import Reported
from tests.support.pages import FENCE
from tests.support.service import Service, environment, write_tree
from tests.support.states import StateWriter
from tests.support.writes import put

CHECKOUT = Path(__file__).parents[2]
FILES = ["README.md", "CONTRIBUTING.md", "SECURITY.md",
         *(str(p.relative_to(CHECKOUT)) for p in sorted(CHECKOUT.glob("docs/**/*.md"))),
         *(str(p.relative_to(CHECKOUT)) for p in sorted(CHECKOUT.glob("examples/**/*.md")))]  # fmt: skip
WALKED = ("README.md", "docs/first-machine.md")
"""Pages whose commands tests/http/test_readme.py runs, with what they print."""

TOKEN = "a-token-of-the-documentation-0123456789"
MAC = "98:fa:9b:50:d8:10"
PROGRAMS = ("cat", "cp", "curl", "mkdir", "openssl")
META = "2026-08-24T084337Z-192.0.2.7-1"
CAPTURE = {
    "time": "2026-08-24T08:43:37Z",
    "peer": "192.0.2.7",
    "request": "GET /proxmox?mac=98:fa:9b:50:d8:10 HTTP/1.1",
    "headers": [],
    "body_bytes": 0,
    "outcome": "404 no document claims mac=98:fa:9b:50:d8:10",
}
LSHW = """\
<list><node id="host" class="system"><serial>7ABC124</serial>
<node id="network" class="network"><serial>98:fa:9b:50:d8:12</serial></node></node></list>
"""

NOT_HERE = (
    "openssl req ", "openssl x509 ", "curl --cert ", "curl --fail --retry 60", "mkdir -p /srv/tftp", "cp /mnt/",
    "cp wimboot", "cp ubuntu-", "cp /usr/lib/ipxe", "SERVICE_STORE=postgres SERVICE_DB_URL=... answerd ",
    "answerd apply --dry-run --prune --to https://site-", "answerd installs --state failed --from",
    "answerd installs --state silent --from",
)  # fmt: skip
"""What commands begin with that need a medium, a database, a proxy or services on other machines."""


def commands(page: str) -> list[str]:
    """The commands of a page, in order; comments away."""
    text = (CHECKOUT / page).read_text("utf-8")
    found = []
    for block in (fenced["text"] for fenced in FENCE.finditer(text) if fenced["language"] in RUN):
        if block.startswith("# /etc/answerd.env"):  # a file, not commands: tests/unit/test_docs_settings.py reads it
            assert re.fullmatch(r"(?:(?:#.*|(?:export )?SERVICE_\w+ *= *\S+)?\n)*", block), block
            continue
        for line in re.sub(r"\\\n\s*", "", block).splitlines():
            command = re.sub(r"(?:^|\s+)# .*$", "", line).strip()
            if command:
                found.append(command)
    return found


RUN = ("sh", "console", "bat")
"""Languages of the blocks that hold commands."""

PAGES = {page: commands(page) for page in FILES if page not in WALKED}


_SETTINGS = re.compile(r'(?:[A-Z_]+=(?:"[^"]*"|\$\([^)]*\)|\S)*\s*)*')


def is_run(command: str) -> bool:
    """Whether a command is one of answerd's own, of the shell or of `PROGRAMS`, and needs nothing else."""
    program = _SETTINGS.sub("", command, count=1).partition(" ")[0]
    return program in ("", "export", "answerd", "api", "api()", *PROGRAMS) and not command.startswith(NOT_HERE)


TO_RUN = {page: list(filter(is_run, found)) for page, found in PAGES.items()}


class Home:
    """Where the reader of a page types, with the files that the page assumes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.replaced: dict[str, str] = {}
        self.environ = environment(HOME=root, LC_ALL="C.UTF-8", PYTHONPATH=CHECKOUT)
        program = root / "bin" / "answerd"
        write_tree(root, {"bin/answerd": f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m answerd "$@"\n'})
        program.chmod(0o755)
        for name in PROGRAMS:  # no installer's validator, which would take seconds: they have tests of their own
            if found := shutil.which(name):
                (root / "bin" / name).symlink_to(found)
        self.environ["PATH"] = str(program.parent)
        (root / "examples").symlink_to(CHECKOUT / "examples")

    def place(self, path: str) -> Path:
        """Replace a path of the pages by one of the home, and return it; its directory exists."""
        own = self.root / path.strip("/").replace("~/", "")
        own.parent.mkdir(parents=True, exist_ok=True)
        self.replaced[path] = str(own)
        return own

    def examples(self, path: str = "/srv/answers") -> Path:
        """Have the examples there, and settings that name them."""
        answers = self.place(path)
        shutil.copytree(CHECKOUT / "examples/answers", answers)
        self.environ["SERVICE_ANSWERS_DIR"] = str(answers)
        return answers

    def as_here(self, command: str) -> str:
        """The command with the paths and addresses of the home."""
        for text in sorted(self.replaced, key=len, reverse=True):
            command = command.replace(text, self.replaced[text])
        return re.sub(r"\banswerd( serve)?$", "answerd config", command)

    def run(self, command: str) -> tuple[int, str]:
        """Run one command; its exit status and all that it prints."""
        parts = [shlex.split(part) for part in command.split(" | ")]
        settings = [dict(word.split("=", 1) for word in words if re.match(r"SERVICE_\w+=", word)) for words in parts]
        plain = [words[len(given) :] for words, given in zip(parts, settings, strict=True)]
        unquoted = re.sub(r"'[^']*'", "", command)
        if all(words[:1] == ["answerd"] for words in plain) and not re.search(r"[<>&;$*~]", unquoted):
            piped, printed, status = b"", b"", 0
            for words, given in zip(plain, settings, strict=True):
                done = run_forked(tuple(words[1:]), piped, self.environ | given)
                piped, printed, status = done.stdout, printed + done.stderr, status or done.returncode
            return status, (piped + printed).decode(errors="replace")
        done = subprocess.run(
            ["/bin/bash", "-c", command], cwd=self.root, env=self.environ, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=60, check=False,
        )  # fmt: skip
        return done.returncode, (done.stdout + done.stderr).decode(errors="replace")


def plain(home: Home) -> None:
    """A page that needs the examples at most."""
    home.examples()


def configuration(home: Home) -> None:
    plain(home)
    for path in ("/etc/answerd.env", "/var/lib/answerd/answers.db", "/etc/answerd.token"):
        home.place(path).write_text("")
    home.place("/etc/answerd.token").write_text(TOKEN)
    home.place("/etc/answerd.env").write_text(f"SERVICE_ANSWERS_DIR={home.environ.pop('SERVICE_ANSWERS_DIR')}\n")


def history(home: Home) -> None:
    """A database with a group that was changed often."""
    store = SqliteStore(home.place("/srv/answers.db"))
    for number in range(18):
        put(store, Key(Kind.GROUP, "rack-a", "toml"), f"x = {number}\n")
    home.place("/etc/answerd/tokens")
    home.environ |= {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": str(home.place("/srv/answers.db"))}


def inventory(home: Home) -> None:
    lab = CHECKOUT / "examples/lab/answers"
    write_tree(home.root, {"Downloads/machines.csv": (lab / "inventory.csv").read_bytes(), "web-01.xml": LSHW})
    home.environ["SERVICE_ANSWERS_DIR"] = str(lab)


def explained(home: Home) -> None:
    base = "members = ['52:54:00:12:34:56']\n[global]\nkeyboard = 'de'\n"
    own = "# the machine of the page\n\n[global]\ncountry = 'at'\n"
    for answers in (home.place("/srv/answers.new"), home.root / "answers"):
        write_tree(answers, {"groups/base.toml": base, "52-54-00-12-34-56.toml": own})
    home.environ["SERVICE_ANSWERS_DIR"] = str(home.root / "answers")


def nodes(home: Home) -> None:
    home.replaced |= {"TOKEN=...": f"TOKEN={TOKEN}", "/tmp/unused": str(home.root / "unused")}
    (home.root / "unused").mkdir()
    home.place("/var/lib/answerd/states.db")
    home.place("/var/lib/answerd/replica.db")
    SqliteStore(home.place("/srv/answers.db"))


def matchbox(home: Home) -> None:
    write_tree(
        home.place("/var/lib/matchbox"),
        {
            "groups/node1.json": f'{{"id": "node1", "profile": "worker", "selector": {{"mac": "{MAC}"}}}}',
            "profiles/worker.json": '{"id": "worker", "ignition_id": "worker.ign"}',
            "ignition/worker.ign": '{"ignition": {"version": "3.4.0"}}\n',
        },
    )


def troubleshooting(home: Home) -> None:
    answers = home.examples("~/answers")
    shutil.copytree(answers, home.place("/srv/answers"))
    write_tree(home.root / "captures", {f"{META}.meta": json.dumps(CAPTURE), f"{META}.body": b""})
    home.environ["SERVICE_CAPTURE_DIR"] = str(home.root / "captures")
    home.replaced["/var/lib/answerd/captures"] = str(home.root / "captures")
    home.replaced |= {"98:fa:9b:50:d8:11": MAC, "answers.example.com:8000": "127.0.0.1:8000"}


def tutorial(home: Home, page: str = "tutorial", group: str = "debian") -> None:
    text = (CHECKOUT / f"docs/{page}.md").read_text("utf-8")
    files = re.findall(r"`/srv/answers/([\w./-]+)`:\n\n```\w+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    write_tree(home.place("/srv/answers"), dict(files))
    (home.place("/etc/answerd/secrets") / "").mkdir()
    secrets = home.place("/etc/answerd/secrets")
    for name in re.findall(r"secret\.([\w-]+)", text):
        write_tree(secrets, {name: "$6$x$y\n"})
        (secrets / name).chmod(0o600)
    secrets.chmod(0o700)
    states = home.place("/var/lib/answerd/installs.db")
    table = dict(files)["inventory.csv"].splitlines()[1:]
    machines = [line.partition(",")[0] for line in table]
    store = StateWriter(open_state_file(str(states), Rules())[0])
    for name in machines:
        store.write(name, Asked(group, Gate.LOADER, Once.ON, 1.0))
        store.write(name, Reported(ReportKind.INSTALLED, 1, 2.0))
    home.place("/etc/dnsmasq.d/answerd.conf")
    settings = {
        "SERVICE_ANSWERS_DIR": home.place("/srv/answers"),
        "SERVICE_SECRETS_DIR": home.place("/etc/answerd/secrets"),
        "SERVICE_STATE_PATH": states,
        "SERVICE_URL": "http://192.0.2.10:8000",
    }
    home.place("/etc/answerd.env").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    home.environ["SERVICE_ENV_FILE"] = str(home.place("/etc/answerd.env"))


SCENES: dict[str, Callable[[Home], None]] = {
    "docs/admin-api.md": nodes,
    "docs/configuration.md": configuration,
    "docs/console.md": configuration,
    "docs/boot-config.md": plain,
    "docs/explain.md": explained,
    "docs/gitops.md": history,
    "docs/inventory.md": inventory,
    "docs/many-nodes.md": nodes,
    "docs/migrating.md": matchbox,
    "docs/captures.md": troubleshooting,
    "docs/troubleshooting.md": troubleshooting,
    "docs/validators.md": plain,
    "docs/tutorial.md": tutorial,
    "docs/thirty-ubuntu.md": lambda home: tutorial(home, "thirty-ubuntu", "ubuntu"),
    "docs/sixty-windows.md": lambda home: tutorial(home, "sixty-windows", "windows"),
    "docs/overlays.md": lambda _home: None,
    "examples/lab/README.md": lambda _home: None,
    "examples/hospital/README.md": lambda _home: None,
}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The service that the pages ask: documents and a table in a database, and the admin API."""
    scratch = tmp_path_factory.mktemp("asked")
    store = SqliteStore(scratch / "answers.db")
    put(store, Key(Kind.INVENTORY, "default", "csv"), "id,mac,role\nweb-01,98:fa:9b:50:d8:10,web\n")
    with Service(
        SERVICE_STORE="sqlite",
        SERVICE_DB_PATH=scratch / "answers.db",
        SERVICE_ADMIN_ADDR="127.0.0.1:0",
        SERVICE_ADMIN_TOKEN=TOKEN,
    ) as service:
        yield service


def let_ask(home: Home, service: Service) -> None:
    """Replace the addresses of the pages by those of the service, and write the files that are sent to it."""
    assert service.address
    assert service.admin
    home.replaced |= {
        "127.0.0.1:8001": f"{service.admin[0]}:{service.admin[1]}",
        "127.0.0.1:8000": f"{service.address[0]}:{service.address[1]}",
        "answers.example.com:8000": f"{service.address[0]}:{service.address[1]}",
        "curl -sSN": "curl -sSN --max-time 0.5",  # events have no end
    }
    home.environ["SERVICE_ADMIN_TOKEN"] = TOKEN
    write_tree(home.root, {"rack-a.toml": "x = 1\n", "node.ks": "lang C\n"})


def asks(command: str) -> bool:
    return command.startswith(("api ", "curl "))


API = next(command for command in PAGES["docs/admin-api.md"] if command.startswith("api()"))


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("page", [page for page, found in TO_RUN.items() if any(map(asks, found))])
def test_every_request_of_a_page_is_answered(page: str, tmp_path: Path, asked: Service) -> None:
    home = Home(tmp_path)
    let_ask(home, asked)
    for command in filter(asks, TO_RUN[page]):
        status, printed = home.run(home.as_here(f"{API}\n{command}"))
        assert status == (28 if "/events" in command else 0), (command, printed)
        assert '"error"' not in printed, (command, printed)


@pytest.mark.parametrize("page", [page for page, found in TO_RUN.items() if found])
def test_every_command_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path)
    monkeypatch.chdir(tmp_path)
    if page in SCENES:
        SCENES[page](home)
    for command in TO_RUN[page]:
        if asks(command) or command == API:
            continue
        if command.startswith("export "):
            home.environ |= dict(word.split("=", 1) for word in shlex.split(home.as_here(command))[1:])
            continue
        status, printed = home.run(home.as_here(command))
        assert status == 0, (command, printed)


def test_every_page_with_commands_has_a_scene_and_no_scene_is_left_over() -> None:
    assert {page for page, found in TO_RUN.items() if found and not all(map(asks, found))} == set(SCENES)


def test_what_the_page_about_origins_shows_is_printed(tmp_path: Path) -> None:
    home = Home(tmp_path)
    explained(home)
    shown = (
        (CHECKOUT / "docs/explain.md").read_text("utf-8").partition("--explain\n```\n\n```\n")[2].partition("```")[0]
    )
    status, printed = home.run(TO_RUN["docs/explain.md"][0])
    assert (status, [line for line in printed.splitlines() if line in shown]) == (0, shown.splitlines()), printed


UNITS = ("answerd", "answerd.service", "answerd.socket", "dnsmasq")
VERBS = ("daemon-reload", "disable", "enable", "reload", "restart", "start", "stop")


@pytest.mark.parametrize("page", PAGES)
def test_a_command_that_is_not_run_names_what_exists(page: str) -> None:
    """The files of this checkout, the scripts and their options, the units of systemd."""
    for line in PAGES[page]:
        for name in re.findall(r"(?<![\w./])(?:scripts|etc|examples|tests|docs)/[\w./-]*\w", line):
            assert (CHECKOUT / name).exists(), line
        for script, given in re.findall(r"(?<![\w./])(scripts/[\w-]+)([^|;&]*)", line):
            text = (CHECKOUT / script).read_text("utf-8")
            for module in re.findall(r" -m ([\w.]+)", text):
                text += "".join(path.read_text("utf-8") for path in CHECKOUT.glob(f"{module.replace('.', '/')}/*.py"))
            assert [option for option in re.findall(r"(?<= )--[\w-]+", given) if option not in text] == [], line
        for words in re.findall(r"(?<![\w./])systemctl ([^|;&]*)", line):
            verb, *units = [word for word in words.split() if not word.startswith("-")]
            assert verb in VERBS, line
            assert set(units) <= set(UNITS), line
