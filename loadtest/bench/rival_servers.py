"""The servers of the rivals: where each is looked for, and how it is started on a free port of 127.0.0.1. Must not know
what they are asked.

What is not a part of Debian is below one directory, `RIVALS`; loadtest/rivals/ has a page for each.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from loadtest.bench.processes import SERVICE_CORE, Process
from loadtest.bench.rival_documents import (
    write_answers,
    write_autopve,
    write_cobbler,
    write_matchbox,
    write_pxe_pilot,
    write_table,
)
from loadtest.bench.servers import Server, free_port, wait_for_port
from loadtest.fleet import Machine

CHECKOUT = Path(__file__).parents[2]
RIVALS = Path(os.environ.get("RIVALS") or CHECKOUT / ".venv-rivals")
"""Packages, programs and sources of the rivals (loadtest/rivals/README.md)."""

PYTHON = RIVALS / "bin" / "python"
"""The interpreter that has the packages of those that are made here, and of Proxmox' example server."""

_BACKLOG = "4096"

_AUTOPVE_START = f"""\
import os, runpy, sys
os.environ["NICEGUI_STORAGE_PATH"] = "data"
sys.path.insert(0, os.path.dirname(sys.argv[1]))
from nicegui import ui
run, port = ui.run, int(sys.argv[2])
ui.run = lambda *args, **named: run(*args, **named, host="127.0.0.1", port=port, backlog={_BACKLOG})
sys.argv = sys.argv[1:2]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Starts autopve on a port of ours and on 127.0.0.1: its own are fixed."""

_WIKI_START = f"""\
import runpy, sys
from aiohttp import web
run = web.run_app
web.run_app = lambda app, **_: run(app, host="127.0.0.1", port=int(sys.argv[2]), backlog={_BACKLOG})
runpy.run_path(sys.argv[1], run_name="__main__")
"""
"""Starts Proxmox' example server on a port of ours and on 127.0.0.1: its own are fixed."""

_APACHE = """\
ServerRoot {run}
ServerName 127.0.0.1
Listen 127.0.0.1:{port}
ListenBacklog {backlog}
PidFile {run}/pid
DefaultRuntimeDir {run}
ErrorLog {run}/errors
User www-data
Group www-data
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule wsgi_module {modules}/mod_wsgi.so
MaxSpareThreads 150
MaxRequestWorkers 150
WSGIPythonPath {packages}
WSGIScriptAliasMatch ^/cblr/svc/([^/]*) {packages}/var/www/cobbler/svc/services.py
<Directory />
Require all granted
</Directory>
"""
"""Debian's defaults, and what Cobbler's own configuration says of its service. No process ends between two rounds."""

_APACHE_MODULES = Path("/usr/lib/apache2/modules")
_COBBLER_PLACES = {"etc": "/etc/cobbler", "lib": "/var/lib/cobbler", "log": "/var/log/cobbler"}
"""Cobbler's paths are fixed: the directories of the benchmark are mounted over them, for its processes alone."""

_COBBLER_START = """\
{mounts}
{daemon} -F & daemon=$!
apache2 -f {apache} -D FOREGROUND & apache=$!
trap 'kill $daemon $apache' TERM
wait || true
wait
"""


@dataclass(frozen=True)
class Rival:
    """A rival. ``start`` runs it for some machines, with its files in an empty directory; ``missing`` returns what it
    lacks on this machine, empty where it can run."""

    name: str
    start: Callable[[Path, Sequence[Machine]], AbstractContextManager[Server]]
    missing: Callable[[], str]


def is_installed(module: str, python: Path | None = None) -> bool:
    """Return whether an environment exists and has a module; without ``python`` the one of `PYTHON`."""
    python = python or PYTHON
    if not python.exists():
        return False
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0


@contextmanager
def running(
    command: Sequence[str | Path],
    port: int,
    directory: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Server]:
    """Run a rival on the service's core until the end of the block; yields when it listens."""
    here = ["env", "-C", str(directory)] if directory else []
    started = time.monotonic()
    with Process([*here, *map(str, command)], SERVICE_CORE, environment=os.environ | (environment or {})) as process:
        wait_for_port(process, port)
        yield Server(process, port, started)


# --- services that people write themselves ---------------------------------------------------------------------------


def _fastapi(data: Path, machines: Sequence[Machine]) -> AbstractContextManager[Server]:
    app = ["-m", "uvicorn", "loadtest.rivals.fastapi_app:app", "--no-access-log", "--log-level", "warning"]
    port = free_port()
    return _templating([*app, "--backlog", _BACKLOG, "--port", str(port)], port, data, machines)


def _flask(data: Path, machines: Sequence[Machine]) -> AbstractContextManager[Server]:
    app = ["-m", "gunicorn", "--worker-class", "gevent", "--workers", "1", "--log-level", "warning"]
    port = free_port()
    bound = ["--backlog", _BACKLOG, "loadtest.rivals.flask_app:app", "--bind", f"127.0.0.1:{port}"]
    return _templating([*app, *bound], port, data, machines)


def _templating(
    arguments: Sequence[str], port: int, data: Path, machines: Sequence[Machine]
) -> AbstractContextManager[Server]:
    write_table(data, machines)
    environment = {"RIVAL_DATA": str(data), "PYTHONPATH": str(CHECKOUT)}
    return running([PYTHON, *arguments], port, environment=environment)


def _wiki(data: Path, machines: Sequence[Machine]) -> AbstractContextManager[Server]:
    write_answers(data, machines)
    port = free_port()
    files = {"DEFAULT_ANSWER_FILE_PATH": str(data / "default.toml"), "ANSWER_FILE_DIR": str(data / "answers")}
    return running([PYTHON, "-c", _WIKI_START, _wiki_program(), str(port)], port, environment=files)


def _wiki_program() -> Path:
    return RIVALS / "sources" / "proxmox-autoinstall-server" / "server.py"


def _lacks_module(module: str) -> Callable[[], str]:
    return lambda: "" if is_installed(module) else f"{PYTHON} with {module}"


def _lacks_wiki() -> str:
    return _lacks_module("aiohttp")() or _lacks_file(_wiki_program())


def _lacks_file(path: Path) -> str:
    return "" if path.is_file() else str(path)


# --- programs --------------------------------------------------------------------------------------------------------


def _matchbox(data: Path, machines: Sequence[Machine]) -> AbstractContextManager[Server]:
    write_matchbox(data, machines)
    port = free_port()
    arguments = [f"-address=127.0.0.1:{port}", f"-data-path={data}", "-assets-path=", "-log-level=warning"]
    return running([_program("matchbox"), *arguments], port)


def _pxe_pilot(data: Path, machines: Sequence[Machine]) -> AbstractContextManager[Server]:
    port = free_port()
    write_pxe_pilot(data, machines, port)
    return running([_program("pxe-pilot"), "server", "-c", data / "pxe-pilot.yml"], port)


def _program(name: str) -> Path:
    return RIVALS / "bin" / name


def _autopve(data: Path, machines: Sequence[Machine]) -> AbstractContextManager[Server]:
    write_autopve(data / "data", machines)
    port = free_port()
    command: list[str | Path] = [_environment("autopve"), "-B", "-c", _AUTOPVE_START, _autopve_program(), str(port)]
    return running(command, port, data)


def _autopve_program() -> Path:
    return RIVALS / "sources" / "autopve" / "main.py"


def _lacks_autopve() -> str:
    python = _environment("autopve")
    return _lacks_file(_autopve_program()) or ("" if is_installed("nicegui", python) else f"{python} with nicegui")


def _environment(name: str) -> Path:
    """Return the interpreter of a rival that has an environment of its own."""
    return RIVALS / name / "bin" / "python"


# --- Cobbler ---------------------------------------------------------------------------------------------------------


def _cobbler(data: Path, machines: Sequence[Machine]) -> AbstractContextManager[Server]:
    """Run Cobbler's daemon and Apache with Cobbler's service, both in a mount namespace of their own."""
    packages = _cobbler_packages()
    port, run, configuration = free_port(), data / "run", data / "apache.conf"
    run.mkdir()
    write_cobbler(data, packages, machines, free_port())
    configuration.write_text(
        _APACHE.format(run=run, port=port, backlog=_BACKLOG, modules=_APACHE_MODULES, packages=packages), "utf-8"
    )
    mounts = [shlex.join(["mount", "--bind", str(data / name), over]) for name, over in _COBBLER_PLACES.items()]
    script = _COBBLER_START.format(
        mounts="\n".join(mounts), daemon=_environment("cobbler").parent / "cobblerd", apache=configuration
    )
    return running(["unshare", "--mount", "sh", "-ec", script], port)


def _cobbler_packages() -> Path:
    """Return where the package of Cobbler was installed, with its files below etc and var."""
    found = sorted((RIVALS / "cobbler" / "lib").glob("python3*/site-packages/cobbler/__init__.py"))
    return found[0].parents[1] if found else RIVALS / "cobbler"


def _lacks_cobbler() -> str:
    needed = [_cobbler_packages() / "var" / "www" / "cobbler" / "svc" / "services.py", _APACHE_MODULES / "mod_wsgi.so"]
    lacking = [str(path) for path in (*needed, *map(Path, _COBBLER_PLACES.values())) if not path.exists()]
    lacking += [name for name in ("apache2", "unshare") if shutil.which(name) is None]
    return ", ".join([*lacking, *(["root, who alone may mount"] if os.geteuid() else [])])


FASTAPI = Rival("FastAPI + uvicorn", _fastapi, _lacks_module("uvicorn"))
FLASK = Rival("Flask + gunicorn (gevent)", _flask, _lacks_module("gunicorn"))
WIKI = Rival("Proxmox' example server (aiohttp)", _wiki, _lacks_wiki)
AUTOPVE = Rival("autopve", _autopve, _lacks_autopve)
MATCHBOX = Rival("matchbox", _matchbox, lambda: _lacks_file(_program("matchbox")))
COBBLER = Rival("Cobbler", _cobbler, _lacks_cobbler)
PXE_PILOT = Rival("pxe-pilot", _pxe_pilot, lambda: _lacks_file(_program("pxe-pilot")))
ALL = (FASTAPI, FLASK, WIKI, AUTOPVE, MATCHBOX, COBBLER, PXE_PILOT)
