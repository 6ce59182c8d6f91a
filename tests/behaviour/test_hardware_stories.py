"""A machine is its hardware: stories that random walks found, each as short as it can be told."""

from __future__ import annotations

import pytest

from answerd.identity import identity_of
from answerd.installs.fold import MOST_STARTS
from answerd.installs.states import State
from tests.support.hardware_site import InProcess
from tests.support.hardware_world import Reply

SERIAL_A, SERIAL_B = "SER-A", "SER-B"
UUID_B = "00000002-1111-4222-8333-000000000002"
A1, A2, B1, B2 = (f"00:25:90:00:{board}:{port}" for board in ("0a", "0b") for port in ("01", "02"))


@pytest.fixture
def site() -> InProcess:
    """A service in process, without a table."""
    return InProcess()


def asks(site: InProcess, *macs: str, serial: str = "", uuid: str = "", path: str = "/ipxe") -> Reply:
    site.passes(0.01)
    said = {"mac": [*macs], "serial": [serial], "uuid": [uuid]}
    return site.ask(path, {label: values for label, values in said.items() if values and values[0]})


def orders(site: InProcess, verb: str, *names: str) -> None:
    site.passes(0.01)
    assert site.order(verb, names) is not None


def reports(site: InProcess, given: Reply, word: str = "installed") -> None:
    site.passes(0.01)
    assert given.is_given
    assert site.report(given.url, word)


def test_a_report_of_a_failure_opens_no_board_to_which_the_card_went(site: InProcess) -> None:
    asks(site, A2, serial=SERIAL_A)
    reports(site, asks(site, B1, B2, uuid=UUID_B))
    orders(site, "arm", SERIAL_A)
    of_a = asks(site, A1, serial=SERIAL_A)
    assert not asks(site, B1, B2, A1, uuid=UUID_B).is_given  # the card A1 is in B now
    reports(site, of_a, "failed")
    assert not asks(site, B1, B2, A1, uuid=UUID_B).is_given


def test_a_refusal_prints_what_an_order_to_the_machine_would_leave_out(site: InProcess) -> None:
    site.table([{"id": "web-01", "mac": A1, "serial": "", "uuid": ""}])
    asks(site, A2, serial=SERIAL_A)
    asks(site, A1, A2)
    orders(site, "disarm", SERIAL_A)
    refused = asks(site, A2, serial=SERIAL_A)
    assert refused.order == (SERIAL_A, A2)
    orders(site, "arm", *refused.order)
    assert asks(site, A2, serial=SERIAL_A).is_given


def test_a_refusal_prints_the_closed_card_that_the_board_came_with_before(site: InProcess) -> None:
    orders(site, "disarm", B1)
    asks(site, B1, uuid=UUID_B)
    refused = asks(site, B2, serial=SERIAL_B, uuid=UUID_B)
    assert refused.order == (SERIAL_B, UUID_B, B1)
    orders(site, "arm", *refused.order)
    assert asks(site, B2, serial=SERIAL_B, uuid=UUID_B).is_given
    assert asks(site, B1).is_given


def test_a_report_closes_what_two_orders_had_opened_before_it_was_given(site: InProcess) -> None:
    orders(site, "arm", A1)
    asks(site, A1, serial=SERIAL_A)
    orders(site, "arm", A2)
    reports(site, asks(site, A1, A2, serial=SERIAL_A))
    assert not asks(site, A1, A2, serial=SERIAL_A).is_given


def test_a_late_report_closes_nothing_of_a_machine_that_was_ordered_since(site: InProcess) -> None:
    """The order does not name the second card, which only the board connects with the first."""
    asks(site, A2, serial=SERIAL_A)
    late = asks(site, A1, serial=SERIAL_A)
    orders(site, "arm", A1)
    reports(site, late)
    assert asks(site, A1, serial=SERIAL_A).is_given
    assert asks(site, A2, serial=SERIAL_A).is_given


def test_an_order_about_a_card_ends_where_it_moves_into_an_installed_board(site: InProcess) -> None:
    reports(site, asks(site, A1, serial=SERIAL_A))
    asks(site, B1, serial=SERIAL_B)
    orders(site, "arm", SERIAL_B)
    refused = asks(site, B1, serial=SERIAL_A)  # the card B1 is in A now
    assert not refused.is_given
    assert not asks(site, B1).is_given
    assert asks(site, B2, serial=SERIAL_B).is_given


def test_a_card_in_an_installed_board_is_installed_since_the_board_is(site: InProcess) -> None:
    orders(site, "arm", B1)
    site.passes(3600)
    reports(site, asks(site, A1, serial=SERIAL_A))
    site.passes(3600)
    assert not asks(site, A1, B1, serial=SERIAL_A).is_given
    board, card = (site.installs.memory.by_identity[identity_of(name)].record for name in (SERIAL_A, B1))
    assert card.state is State.INSTALLED
    assert card.since == board.since


def test_an_attempt_that_a_card_takes_along_is_another_giving_there(site: InProcess) -> None:
    orders(site, "arm", A1)
    asks(site, A1, serial=SERIAL_A)
    of_b = asks(site, A1, B1, uuid=UUID_B, serial=SERIAL_B)  # the card A1 is in B now
    orders(site, "forget", SERIAL_A)
    reports(site, of_b)
    assert not asks(site, A1, B1, uuid=UUID_B, serial=SERIAL_B).is_given
    assert asks(site, A2, serial=SERIAL_A).is_given


def test_a_report_closes_what_a_card_brought_into_an_attempt_after_it_was_given(site: InProcess) -> None:
    orders(site, "arm", B2)
    of_a = asks(site, A1, A2)
    asks(site, A1, A2, B2)  # the card B2 is in A now
    reports(site, of_a)
    assert not asks(site, A1, A2, B2).is_given


def test_a_card_that_is_in_ever_new_boards_takes_no_more_room_than_a_bound(site: InProcess) -> None:
    for number in range(MOST_STARTS + 50):
        assert asks(site, A1, serial=f"SERIAL-{number}").is_given
    assert len(site.installs.memory.fold(identity_of(A1)).starts) == MOST_STARTS
    reports(site, asks(site, A1, serial="SERIAL-1"))
    assert not asks(site, A1, serial="SERIAL-1").is_given


def test_a_machine_that_says_less_is_refused_by_the_name_that_lists_have(site: InProcess) -> None:
    asks(site, A1, serial=SERIAL_A)
    orders(site, "disarm", SERIAL_A)
    assert f"{A1} ({SERIAL_A}) is installed" in asks(site, A1).text


def test_a_forgotten_machine_is_known_by_its_serial_again_where_it_comes_with_another_card(site: InProcess) -> None:
    asks(site, A1, serial=SERIAL_A)
    orders(site, "forget", SERIAL_A)
    site.passes(0.01)
    assert site.order("arm", (SERIAL_A,)) is None
    asks(site, A2, serial=SERIAL_A)
    assert site.order("arm", (SERIAL_A,)) is not None
