"""What open pages of the console cost the answers: a service that ten browsers follow against one that none does."""

from __future__ import annotations

import re
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlencode

from loadtest.bench import shapes
from loadtest.bench.figures import Bar, Effort, Figure
from loadtest.bench.load import Contestant, alternate, ask
from loadtest.bench.loading import settle
from loadtest.bench.servers import ADMIN_TOKEN, CannotStart, answerd, free_port
from loadtest.bench.stores import stored
from loadtest.bench.throughput import contest, ratio
from loadtest.fleet import templated_fleet

BROWSERS = 10
MACHINES = 1_000
WITH_BROWSERS = Bar(at_least=0.97)

_COOKIE = re.compile(rb"^set-cookie: ([^;\r]+)", re.IGNORECASE | re.MULTILINE)
_READ_SIZE = 262_144


def console(effort: Effort) -> list[Figure]:
    """Measure answers while browsers have the first page of the console open, with its stream of events."""
    with stored(templated_fleet(MACHINES)) as answers, ExitStack() as running:
        contestants: list[Contestant] = []
        for label in ("no console open", f"{BROWSERS} consoles open"):
            port = free_port()
            settings = {"SERVICE_CONSOLE_ADDR": f"127.0.0.1:{port}", "SERVICE_ADMIN_TOKEN": ADMIN_TOKEN}
            server = running.enter_context(answerd({**answers.settings, **settings}))
            if contestants:
                running.enter_context(_browsers(port))
            settle(server)
            contestants.append(Contestant(label, server, shapes.TEMPLATED_POST, MACHINES))
        turns = alternate(contestants, effort.rounds, effort.seconds)
    (without, plain), (with_browsers, followed) = turns.items()
    figures = [figure for label, rounds in turns.items() for figure in contest(label, rounds)]
    return [*figures, *ratio(with_browsers, followed, without, plain, WITH_BROWSERS)]


@contextmanager
def _browsers(port: int) -> Iterator[None]:
    """Keep streams of events open, and read what comes."""
    origin = f"http://127.0.0.1:{port}"
    form = urlencode({"token": ADMIN_TOKEN})
    login = (
        f"POST /console/login HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: {origin}\r\nContent-Length: {len(form)}\r\n"
        f"Content-Type: application/x-www-form-urlencoded\r\n\r\n{form}"
    )
    cookie = _COOKIE.search(ask(port, login.encode()))
    if cookie is None:
        raise CannotStart("the console gave no session")
    stream = b"GET /events HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nCookie: %b\r\n\r\n" % (port, cookie[1])
    with ExitStack() as opened:
        open_streams = []
        for _ in range(BROWSERS):
            connection = opened.enter_context(socket.create_connection(("127.0.0.1", port)))
            connection.sendall(stream)
            if b" 200 " not in connection.recv(_READ_SIZE).partition(b"\r\n")[0]:
                raise CannotStart("the console gave no stream of events")
            open_streams.append(connection)
        ended = threading.Event()

        def read() -> None:
            while not ended.is_set():
                for connection in select.select(open_streams, [], [], 0.1)[0]:
                    if not connection.recv(_READ_SIZE):
                        open_streams.remove(connection)

        reader = threading.Thread(target=read)
        reader.start()
        try:
            yield
            if len(open_streams) < BROWSERS:
                raise RuntimeError(f"{BROWSERS - len(open_streams)} streams of the console ended early")
        finally:
            ended.set()
            reader.join()
