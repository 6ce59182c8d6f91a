"""Fixtures that every folder of tests shares: an answer set in each store, asked in process or as the real program."""

from __future__ import annotations

import gc
import os
import random
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("tests.support")

from tests.support import thorough  # noqa: E402
from tests.support.disks import mounted  # noqa: E402
from tests.support.fleet import STORES, Fleet  # noqa: E402
from tests.support.service import Service, write_tree  # noqa: E402

pytest_plugins = ["tests.support.deadline"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--thorough",
        action="store_true",
        help="every example and combination (tests/support/thorough.py), the console in every width, scheme and store",
    )
    parser.addoption(
        "--every-installer",
        action="store_true",
        help="of tests/installers also what takes minutes or downloads packages; scripts/test-installers gives it",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Fork services instead of starting an interpreter for each, and choose how property tests draw their examples.

    These have no deadline and may be slow: both would measure the machine. Continuous integration draws the same
    examples each time, so that a change is judged by what it changes; by hand each run draws others, and keeps those
    that failed.
    """
    if config.getoption("--thorough"):
        os.environ[thorough.VARIABLE] = "1"
    os.environ.setdefault(thorough.DRAW, str(random.randrange(1_000_000)))
    if _is_all_by_hand(config):
        os.environ[thorough.SHORT] = "1"
    Service.forked = True
    # A shell that starts a run in the background has it ignore Ctrl-C, and so would all programs that tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    setattr(os, "fsync", _do_not_wait)  # noqa: B010 - as mypy would have it
    untimed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=thorough.examples(100))
    settings.register_profile("by hand", untimed, derandomize=False)
    settings.register_profile("ci", untimed, derandomize=True, database=None, print_blob=True)
    settings.load_profile("ci" if os.environ.get("CI") else "by hand")


def _is_all_by_hand(config: pytest.Config) -> bool:
    """Whether somebody runs all tests: not the files, folders or names that a command names, where one expects each."""
    asked = config.args_source is not pytest.Config.ArgsSource.TESTPATHS or config.option.keyword
    return not (asked or os.environ.get("CI") or thorough.is_thorough() or hasattr(config, "workerinput"))


def _do_not_wait(descriptor: int) -> None:
    """In place of `os.fsync` in the processes that run tests: several thousand of them would wait for the disk.

    What is on the disk after a power failure no test sees. Processes that tests start wait as they always do.
    """


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    """Say how to draw the same cases again (`thorough.drawn`)."""
    if exitstatus != pytest.ExitCode.OK:
        terminalreporter.write_line(f"{thorough.DRAW}={os.environ[thorough.DRAW]} draws the same cases")


FOLDER = Path(__file__).parent

SLOW_FIRST = ("load", "cost", "http", "console", "installers")
"""Folders whose tests take long. Their files begin first, so that no process is left alone with a long file at the
end."""


def pytest_collection() -> None:
    """Collect no garbage while tests are collected, which leaves hardly any."""
    gc.disable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the folders whose files take long."""
    if not thorough.is_thorough():
        items[:] = filter(is_of_its_store, items)
    items[:] = [item for item in items if not (takes_long(item) and thorough.is_left_out(item.nodeid))]
    items.sort(key=lambda item: not is_in_slow_folder(item))


def is_in_slow_folder(item: pytest.Item) -> bool:
    """Return whether a test is in one of `SLOW_FIRST`."""
    return item.path.relative_to(FOLDER).parts[0] in SLOW_FIRST


def takes_long(item: pytest.Item) -> bool:
    """Return whether a run of all tests by hand may leave out a test."""
    return is_in_slow_folder(item) or item.get_closest_marker("long") is not None


def is_of_its_store(item: pytest.Item) -> bool:
    """Return whether a test has the store that it is run with where not every store is tried: one store decides as the
    others do, so each rule is tried with one of them, and each store with a third of all rules."""
    if not isinstance(item, pytest.Function) or not hasattr(item, "callspec") or item.get_closest_marker("each_store"):
        return True
    store = item.callspec.params.get("fleet")
    if store not in STORES:
        return True
    case = item.callspec.id.split("-")
    case.remove(store)
    stores = sorted(STORES)
    return bool(store == stores[crc32(f"{item.originalname} {case}".encode()) % len(stores)])


def pytest_collection_finish() -> None:
    """Leave what stays until the end of the run to no collection of garbage: eleven thousand tests and their tables."""
    gc.enable()
    gc.collect()
    gc.freeze()


IN_MEMORY = Path("/dev/shm")
ENOUGH = 1_000_000_000
"""Bytes that have to be free there."""


@pytest.fixture
def in_memory(request: pytest.FixtureRequest) -> Iterator[Path]:
    """An empty directory for a database, in memory where there is room: SQLite waits for the disk at each write.

    Not for documents in files: below /dev no link is followed.
    """
    if not os.access(IN_MEMORY, os.W_OK | os.X_OK) or shutil.disk_usage(IN_MEMORY).free < ENOUGH:
        yield request.getfixturevalue("tmp_path")
        return
    with tempfile.TemporaryDirectory(prefix="answerd-tests-", dir=IN_MEMORY) as made:
        yield Path(made)


@pytest.fixture(params=sorted(STORES))
def fleet(request: pytest.FixtureRequest) -> Iterator[Fleet]:
    """An empty answer set in a store; with ``--thorough`` in each (`is_of_its_store`)."""
    home = request.getfixturevalue("tmp_path" if request.param == "files" else "in_memory")
    fleet = Fleet(STORES[request.param](home))
    yield fleet
    fleet.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MB."""
    with mounted(tmp_path / "small") as place:
        yield place


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Starts the real program on a directory of documents, as ``serving({name: text}, SERVICE_…=value)``."""
    running: list[Service] = []

    def start(files: Mapping[str, str | bytes] | None = None, **settings: object) -> Service:
        answers = tmp_path / "answers"
        answers.mkdir(exist_ok=True)
        write_tree(answers, files or {})
        service = Service(**{"SERVICE_ANSWERS_DIR": answers, **settings})
        running.append(service)
        return service

    yield start
    for service in running:
        service.process.terminate()
    _ending.extend(running)
    wait_for_end(MOST_ENDING)


_ending: list[Service] = []
"""Services of tests that are over. Each needs a tenth of a second to end, in which the next test can run."""

MOST_ENDING = 4


def wait_for_end(but: int = 0) -> None:
    """Wait until all services of tests that are over have ended, ``but`` so many that were the last."""
    while len(_ending) > but:
        with _ending.pop(0):
            pass


def pytest_sessionfinish() -> None:
    """Leave no process behind."""
    wait_for_end()
