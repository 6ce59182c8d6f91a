"""Commands of the program, each in a process of its own, without the start of an interpreter for each.

A process that has imported the program waits for requests, and forks a child for each: the command has its own process,
descriptors, directory and environment, and runs in a tenth of the time. Settings that an interpreter reads at its start
get an interpreter of their own. ``serve`` is forked by a second process, in which gevent has patched the standard
library.

Run as ``python -m tests.support.commands DESCRIPTOR [serve]``: a socket over which requests come.
"""

from __future__ import annotations

import array
import atexit
import gc
import io
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

CHECKOUT = Path(__file__).parents[2]
PATIENCE = 180.0  # seconds until a command that does not end is killed
LONGEST_REQUEST = 100_000  # bytes
READ_AT_START = ("PYTHON", "LC_", "LANG", "TZ", "LD_", "MALLOC")
"""What the names of variables begin with that an interpreter or its libraries read when they start."""
ENCODING = "PYTHONIOENCODING"
STARTED_WITH = dict(os.environ)
"""The environment of the processes that fork, whatever a test changes later."""
LIMITS = (resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE)
"""Of the caller, which a command inherits."""


class _Forking:
    """A process that forks. One for each process that runs tests, started when it is first needed."""

    def __init__(self, *options: str) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._channel: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def request(self, arguments: tuple[str, ...], environ: Mapping[str, str], files: list[int]) -> None:
        """Have a command run on these descriptors: standard input, output and error, and where its status goes."""
        with self._lock:
            if self._channel is None:
                self._channel = self._start()
            limits = {number: resource.getrlimit(number) for number in LIMITS}
            request = json.dumps([arguments, os.getcwd(), dict(environ), limits]).encode()
            assert len(request) < LONGEST_REQUEST
            self._channel.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))])

    def _start(self) -> socket.socket:
        """Start the process; it ends when this one does, because the channel then does."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __spec__.name, str(theirs.fileno()), *self._options],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd=CHECKOUT,
                env=STARTED_WITH,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        return ours


_forking = _Forking()
_forking_services = _Forking("serve")


def _forking_for(arguments: tuple[str, ...]) -> _Forking:
    return _forking_services if arguments[:1] in ((), ("serve",)) else _forking


def run_forked(
    arguments: tuple[str, ...], stdin: bytes, environ: Mapping[str, str]
) -> subprocess.CompletedProcess[bytes]:
    """Run one command to its end. Raise `subprocess.TimeoutExpired` after `PATIENCE` seconds."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        reading, writing = os.pipe()
        with open(reading, "rb") as status:
            try:
                files = [given.fileno(), out.fileno(), err.fileno(), writing]
                _forking_for(arguments).request(arguments, environ, files)
            finally:
                os.close(writing)
            ended = _status(status, arguments)
        return subprocess.CompletedProcess(arguments, ended, _content(out), _content(err))


class ForkedProcess:
    """A command that runs beside the test, as much like a `subprocess.Popen` as tests need. Its standard error is a
    pipe, the other streams are nothing."""

    def __init__(self, arguments: tuple[str, ...], environ: Mapping[str, str]) -> None:
        self._lock = threading.Lock()
        reading, writing = os.pipe()
        logged, log = os.pipe()
        self._status = open(reading, "rb")  # noqa: SIM115 - until it has ended
        self.stderr = open(logged, encoding="utf-8", errors="replace")  # noqa: SIM115 - as long as the test reads
        with open(os.devnull, "r+b", buffering=0) as nothing:
            try:
                files = [nothing.fileno(), nothing.fileno(), log, writing]
                _forking_for(arguments).request(arguments, environ, files)
            finally:
                os.close(log)
                os.close(writing)
        self.arguments = arguments
        self.pid = int(self._status.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return how it ended; None while it runs."""
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        """Return how it ended. Raise `subprocess.TimeoutExpired`."""
        ended = self._look(timeout)
        if ended is None:
            raise subprocess.TimeoutExpired(self.arguments, timeout or 0)
        return ended

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                pass

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def _look(self, seconds: float | None) -> int | None:
        with self._lock:
            if self.returncode is None and select.select([self._status], [], [], seconds)[0]:
                self.returncode = int(self._status.read())
                self._status.close()
            return self.returncode


def starts_alike(environ: Mapping[str, str]) -> bool:
    """Return whether an interpreter with this environment would start as those that fork did."""
    names = {name for name in (*environ, *STARTED_WITH) if name.startswith(READ_AT_START) and name != ENCODING}
    return os.geteuid() == os.getuid() and all(environ.get(name) == STARTED_WITH.get(name) for name in names)


def _status(status: BinaryIO, arguments: tuple[str, ...]) -> int:
    pid = int(status.readline())
    if not select.select([status], [], [], PATIENCE)[0]:
        os.kill(pid, signal.SIGKILL)
        raise subprocess.TimeoutExpired(arguments, PATIENCE)
    return int(status.read())


def _content(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read()


close, dup2, fork, waitpid, write = os.close, os.dup2, os.fork, os.waitpid, os.write
set_signal, Socket = signal.signal, socket.socket
"""As they are before gevent patches them: the process that forks has no loop, so that none is inherited."""


def main(descriptor: int, serves: bool) -> None:
    """Fork for each request. When the channel ends, end with all that runs still."""
    channel = Socket(fileno=descriptor)
    command_line = _imported(serves)
    gc.freeze()
    set_signal(signal.SIGCHLD, signal.SIG_IGN)
    with channel:
        while True:
            request, files, _, _ = socket.recv_fds(channel, LONGEST_REQUEST, 4)
            if not request:  # commands that still run are those of a test that was ended (tests/support/deadline.py)
                os.killpg(0, signal.SIGKILL)
            if fork() == 0:
                channel.close()
                _wait_for_command(json.loads(request), files, command_line)
            for file in files:
                close(file)
            assert not serves or not _has_loop()


def _imported(serves: bool) -> Any:
    """Import what the commands need, or what ``serve`` does, in the order in which the program does it."""
    from answerd.cli import main as command_line  # noqa: PLC0415 - only this process imports the program
    from answerd.commands import NAMES, command  # noqa: PLC0415

    if serves:
        from gevent import monkey  # noqa: PLC0415

        command("serve")
        monkey.patch_all()
        import answerd.console.app  # noqa: PLC0415
        import answerd.server.main  # noqa: PLC0415, F401

        return command_line
    for name in NAMES:
        if name != "serve":
            command(name)
    assert "gevent" not in sys.modules
    return command_line


def _has_loop() -> bool:
    from gevent._hub_local import get_hub_if_exists  # noqa: PLC0415

    return get_hub_if_exists() is not None


def _wait_for_command(request: Any, files: list[int], command_line: Any) -> None:
    """Fork once more; tell the child's process id, and how it ended."""
    set_signal(signal.SIGCHLD, signal.SIG_DFL)
    *streams, status = files
    pid = fork()
    if pid == 0:
        close(status)
        _run(request, streams, command_line)
    for stream in streams:
        close(stream)
    write(status, b"%d\n" % pid)
    _, ended = waitpid(pid, 0)
    write(status, b"%d" % os.waitstatus_to_exitcode(ended))
    os._exit(0)


def _run(request: Any, streams: list[int], command_line: Any) -> None:
    """Be the program from now on."""
    status = 1
    try:
        arguments, directory, environ, limits = request
        for number, limit in limits.items():
            resource.setrlimit(int(number), limit)
        os.chdir(directory)
        os.environ.clear()
        os.environ.update(environ)
        encoding, _, errors = environ.get(ENCODING, "").partition(":")
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            dup2(streams[number], number)
            close(streams[number])
            usual = getattr(sys, name)
            wrapped = io.TextIOWrapper(
                open(number, "rb" if number == 0 else "wb"),  # noqa: SIM115 - until the end
                encoding or usual.encoding,
                "backslashreplace" if name == "stderr" else errors or ("strict" if encoding else usual.errors),
                line_buffering=name == "stderr",
            )
            setattr(sys, name, wrapped)
            setattr(sys, f"__{name}__", wrapped)
        sys.argv = ["answerd", *arguments]
        status = command_line()
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # as an interpreter does
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    main(int(sys.argv[1]), serves="serve" in sys.argv[2:])
