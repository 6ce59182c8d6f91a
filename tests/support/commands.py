"""Commands of the program, each in a process of its own, without the start of an interpreter for each.

A process that has imported the program waits for requests, and forks a child for each: the command has its own process,
descriptors, directory and environment, and runs in a tenth of the time. ``serve``, and settings that an interpreter
reads at its start, get an interpreter of their own.

Run as ``python -m tests.support.commands DESCRIPTOR`` by `run`: a socket over which requests come.
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
PATIENCE = 60.0  # seconds until a command that does not end is killed
LONGEST_REQUEST = 100_000  # bytes
READ_AT_START = ("PYTHON", "LC_", "LANG", "TZ", "LD_", "MALLOC")
"""What the names of variables begin with that an interpreter or its libraries read when they start."""
ENCODING = "PYTHONIOENCODING"
LIMITS = (resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE)
"""Of the caller, which a command inherits."""


class _Forking:
    """The process that forks. One for each process that runs tests, started when it is first needed."""

    def __init__(self) -> None:
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
                [sys.executable, "-m", __spec__.name, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd=CHECKOUT,
                pass_fds=[theirs.fileno()],
            )
        return ours


_forking = _Forking()


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
                _forking.request(arguments, environ, [given.fileno(), out.fileno(), err.fileno(), writing])
            finally:
                os.close(writing)
            ended = _status(status, arguments)
        return subprocess.CompletedProcess(arguments, ended, _content(out), _content(err))


def starts_alike(environ: Mapping[str, str]) -> bool:
    """Return whether an interpreter with this environment would start as the one here did."""
    names = {name for name in (*environ, *os.environ) if name.startswith(READ_AT_START) and name != ENCODING}
    return all(environ.get(name) == os.environ.get(name) for name in names)


def _status(status: BinaryIO, arguments: tuple[str, ...]) -> int:
    pid = int(status.readline())
    if not select.select([status], [], [], PATIENCE)[0]:
        os.kill(pid, signal.SIGKILL)
        raise subprocess.TimeoutExpired(arguments, PATIENCE)
    return int(status.read())


def _content(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read()


def main(descriptor: int) -> None:
    """Fork for each request until the channel ends."""
    from answerd.cli import main as command_line  # noqa: PLC0415 - only this process imports the program
    from answerd.commands import NAMES, command  # noqa: PLC0415

    for name in NAMES:
        if name != "serve":
            command(name)
    assert "gevent" not in sys.modules
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(fileno=descriptor) as channel:
        while True:
            request, files, _, _ = socket.recv_fds(channel, LONGEST_REQUEST, 4)
            if not request:
                return
            if os.fork() == 0:
                channel.close()
                _wait_for_command(json.loads(request), files, command_line)
            for file in files:
                os.close(file)


def _wait_for_command(request: Any, files: list[int], command_line: Any) -> None:
    """Fork once more; tell the child's process id, and how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    *streams, status = files
    pid = os.fork()
    if pid == 0:
        os.close(status)
        _run(request, streams, command_line)
    os.write(status, b"%d\n" % pid)
    _, ended = os.waitpid(pid, 0)
    os.write(status, b"%d" % os.waitstatus_to_exitcode(ended))
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
            os.dup2(streams[number], number)
            os.close(streams[number])
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
    main(int(sys.argv[1]))
