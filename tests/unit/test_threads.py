"""Long work beside the loop: one piece at a time, and none for a client that does not wait any more."""

from __future__ import annotations

import time

import gevent
import gevent.socket
import pytest
from gevent.event import Event
from gevent.monkey import get_original

from answerd.server.threads import LongWork, TooLate, waiting_client
from tests.support.clients import PatientClient
from tests.support.waiting import PATIENCE

_Lock = get_original("_thread", "allocate_lock")


@pytest.fixture
def long_work() -> LongWork:
    return LongWork()


def test_work_that_waits_beyond_its_clients_deadline_is_dropped(long_work: LongWork) -> None:
    held = _Lock()
    held.acquire()
    busy = gevent.spawn(long_work, held.acquire)
    gevent.sleep(0)
    ran: list[str] = []

    def late() -> None:
        waiting_client.set(PatientClient(respond_by=time.monotonic() + 0.05))
        with pytest.raises(TooLate):
            long_work(lambda: ran.append("late"))

    def patient() -> None:
        long_work(lambda: ran.append("patient"))

    waiting = gevent.spawn(late), gevent.spawn(patient)
    waiting[0].join(PATIENCE)
    assert waiting[0].successful()
    assert ran == []
    held.release()
    waiting[1].join(PATIENCE)
    busy.join(PATIENCE)
    assert ran == ["patient"]


def test_a_piece_that_fails_leaves_the_turn_to_the_next(long_work: LongWork) -> None:
    def fail() -> None:
        raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        long_work(fail)
    assert long_work(lambda: 7) == 7


def test_the_loop_goes_on_meanwhile(long_work: LongWork) -> None:
    held, turned = _Lock(), Event()
    held.acquire()
    busy = gevent.spawn(long_work, held.acquire)
    gevent.spawn(turned.set)
    assert turned.wait(PATIENCE)
    held.release()
    busy.join(PATIENCE)
    assert busy.successful()


def test_work_on_the_loop_that_gives_way_lets_a_socket_be_read(long_work: LongWork) -> None:
    ours, theirs = gevent.socket.socketpair()
    reader = gevent.spawn(ours.recv, 1)
    gevent.sleep(0)  # it waits
    theirs.sendall(b"x")
    steps = 0
    while not reader.ready() and steps < 1_000:
        long_work.give_way()
        steps += 1
    assert reader.ready()
    assert steps <= 5
    ours.close()
    theirs.close()
