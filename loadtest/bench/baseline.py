"""The baseline of the comparison: a constant answer from gevent's own server, bare and through Bottle. Run as a program
of its own.

Usage:
  baseline (bare | bottle)

The port that it listens on is its first line on standard output.
"""

from gevent import monkey

monkey.patch_all()

import gc  # noqa: E402
import signal  # noqa: E402
import sys  # noqa: E402
from collections.abc import Callable, Iterable  # noqa: E402
from typing import Any  # noqa: E402

import gevent  # noqa: E402
from gevent.event import Event  # noqa: E402
from gevent.pywsgi import WSGIServer  # noqa: E402

HELLO = b"hello, this is an answer\n"
HEADERS = [
    ("Content-Type", "text/plain; charset=utf-8"),
    ("Content-Length", str(len(HELLO))),
    ("Connection", "close"),  # pywsgi closes without a word, which wrk counts as a fault
]


def bare(_environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer with a constant, as the smallest WSGI application."""
    start_response("200 OK", HEADERS)
    return [HELLO]


def bottle_app() -> Callable[..., Any]:
    """Return an application that does the same through Bottle."""
    import bottle  # noqa: PLC0415 - only one of the two is to carry it

    app = bottle.Bottle()

    def hello(path: str) -> bytes:  # noqa: ARG001
        bottle.response.content_type = "text/plain; charset=utf-8"
        bottle.response.set_header("Connection", "close")
        return HELLO

    app.route("/<path:path>", ["GET", "POST"], hello)
    wsgi: Callable[..., Any] = app
    return wsgi


def main() -> int:
    """Serve until SIGTERM."""
    application = bottle_app() if sys.argv[1:] == ["bottle"] else bare
    server = WSGIServer(("127.0.0.1", 0), application, log=None, error_log=None, backlog=4096)
    server.start()
    gc.collect()
    gc.freeze()
    ended = Event()
    gevent.signal_handler(signal.SIGTERM, ended.set)
    print(server.server_port, flush=True)
    ended.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
