"""What is to be said first of a machine: its last contact, what it got and why, and the way that mends it.

Rules: docs/console.md#the-verdict. A verdict is one sentence. What failed in the last contact comes before the state,
which a request that got an error does not change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from answerd.answers.near_misses import IDENTITIES_SEEN
from answerd.console.near import NearMachine
from answerd.console.places import Places
from answerd.console.rendering import Piece, counted, link, machine_link
from answerd.installs.contacts import OPENED_BY_ARM
from answerd.installs.states import State

MOST_NAMED = 3
"""Machines that are named as one digit off; the others are counted."""

ERRORS_FROM = 400
"""The first status of an error."""


class Way(NamedTuple):
    """What mends it, as a link."""

    words: str
    address: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The sentence, in pieces. ``tone`` is ``bad``, ``busy``, ``good`` or ``quiet``. ``order``: the order that lets the
    machine go on, empty where none does."""

    tone: str
    pieces: Sequence[Piece]
    ways: Sequence[Way] = ()
    order: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of a machine, as JSON where `answerd.console.backend` returns that.

    ``now`` is what its last request would get now: a composition, or the reason why nothing; None where that was not
    tried. ``needs`` are the places that need a fact which it lacks, as sentences. ``near`` are machines that are one
    digit off: of a machine that never asked those that ask without a row, of one that asks without a row the rows of
    which none asked.
    ``row_address`` leads to its row, to the fields of it where they may be changed; empty where it has none.
    ``is_claimed``: something would answer it. ``changes_address`` leads to the changes of its row and its documents;
    empty where no history is kept. ``faults`` are the warnings of the log that are not over.
    """

    name: str
    record: Mapping[str, Any] | None
    visitor: Mapping[str, Any] | None
    contact: Mapping[str, Any] | None
    asked_for: str = ""
    now: str | None = None
    has_answer_now: bool = False
    needs: Sequence[str] = ()
    near: Sequence[NearMachine] = ()
    row_address: str = ""
    is_claimed: bool = False
    changes_address: str = ""
    faults: Sequence[str] = ()


def verdict(seen: Seen, places: Places) -> Verdict:
    """Return what is to be said first of a machine."""
    if seen.visitor is not None:
        return _of_visitor(seen, seen.visitor)
    record, contact = seen.record, seen.contact
    state = record["state"] if record is not None else State.NEW
    if contact is not None and (record is None or contact["at"] >= (record["since"] or "")):
        if contact["refused"] or contact["waits"]:
            if state in OPENED_BY_ARM:
                return _of_held(seen, contact, state, places)
        elif contact["status"] >= ERRORS_FROM:
            return _of_error(seen, contact, places)
    if record is None or state == State.NEW:
        return _of_new(seen, contact, places)
    return _of_record(seen, record, contact, places)


def _of_visitor(seen: Seen, visitor: Mapping[str, Any]) -> Verdict:
    what = "Only the default answers it" if visitor["answered_by_default"] else "Nothing claims it"
    asked = "once" if visitor["asked"] == 1 else counted(visitor["asked"], "time")
    pieces = [Piece(f"{what}: it asked {asked}, last "), Piece("", "", visitor["last"])]
    pieces += [Piece(f", for {seen.asked_for}")] if seen.asked_for else []
    adopt = Way("Adopt it", link("/console/adopt", id=visitor["machine"]))
    return Verdict("bad", [*pieces, *_near_rows(seen), Piece(".")], [*_ways_to_near_rows(seen), adopt])


def _of_error(seen: Seen, contact: Mapping[str, Any], places: Places) -> Verdict:
    (why,) = places.linked([contact["got"]])
    asked = f" for {contact['asked']} and got {contact['status']}: "
    pieces = [Piece("It asked "), Piece("", "", contact["at"]), Piece(asked), *why]
    if seen.has_answer_now:
        return Verdict("busy", [*pieces, Piece(f"; asked again now, it would get {seen.now}.")])
    if seen.now is not None and not _is_the_same(seen.now, contact["got"]):
        (why,) = places.linked([seen.now])
        pieces += [Piece("; asked again now: "), *why]
    for need in places.linked(seen.needs[:1]):
        pieces += [Piece("; "), *need]
        why = need
    ways = [*_ways_to_near_rows(seen), *_ways_to(why)]
    if seen.changes_address:
        ways.append(Way("What changed", seen.changes_address))
    return Verdict("bad", [*pieces, *_near_rows(seen)], ways)


def _is_the_same(now: str, got: str) -> bool:
    """Return whether a machine would get the reason that it got, which may be cut off. The identities at its end
    differ: the request that is tried anew has no address, and its machine's name."""
    return now.startswith(got) or now.partition(IDENTITIES_SEEN)[0] == got.partition(IDENTITIES_SEEN)[0]


def _of_held(seen: Seen, contact: Mapping[str, Any], state: str, places: Places) -> Verdict:
    (got,) = places.linked([contact["got"]])
    words = "It is installed. It asked again " if state == State.INSTALLED else "It asked "
    what = "was refused: " if contact["refused"] else "got "
    pieces = [Piece(words), Piece("", "", contact["at"]), Piece(f" for {contact['asked']} and {what}"), *got]
    if not contact["refused"]:
        waits = "" if state == State.INSTALLED else ": it waits for an operator"
        pieces.append(Piece(f", which is for machines that are {state}{waits}"))
    tone = {State.INSTALLED: "good", State.NEW: "busy"}.get(State(state), "bad")
    return Verdict(tone, [*pieces, *_near_rows(seen)], _ways_to_near_rows(seen), order="arm")


def _of_new(seen: Seen, contact: Mapping[str, Any] | None, places: Places) -> Verdict:
    if contact is not None:
        (got,) = places.linked([contact["got"]])
        pieces = [Piece("It asked "), Piece("", "", contact["at"]), Piece(f" for {contact['asked']} and got "), *got]
        return Verdict("quiet", [*pieces, Piece(".")])
    if seen.faults:  # a machine that gets 503 for them leaves no trace
        return Verdict("bad", [Piece(f"Whether it has asked is not known: {'; '.join(seen.faults)}")])
    pieces = [Piece("It has never asked, as far as is known here"), *_nearness(seen)]
    if not seen.is_claimed:
        pieces.append(Piece("; nothing would answer it by its name alone"))
    return Verdict("bad" if seen.near else "quiet", [*pieces, Piece(".")], _ways_to_row(seen))


def _nearness(seen: Seen) -> Iterator[Piece]:
    """Yield which machines that are one digit off did ask, as the middle of a sentence."""
    for near in seen.near[:MOST_NAMED]:
        yield Piece(f"; {near.own} was never seen, but one digit off, ")
        yield from (Piece(near.other, near.address), Piece(" asked "), Piece("", "", near.at))
    yield from _more(seen)


def _more(seen: Seen) -> Iterator[Piece]:
    if len(seen.near) > MOST_NAMED:
        yield Piece(f"; {len(seen.near) - MOST_NAMED} more are one digit off")


def _near_rows(seen: Seen) -> Iterator[Piece]:
    """Yield which rows, of which no machine asked, are one digit off, as the end of a sentence."""
    for near in seen.near[:MOST_NAMED]:
        yield from (Piece(f"; {near.own} is one digit off: "), Piece(near.name, machine_link(near.name)))
        yield Piece(f", which never asked, has {near.other}")
    yield from _more(seen)


def _ways_to_near_rows(seen: Seen) -> list[Way]:
    return [Way(f"Correct the row of {near.name}", near.address) for near in seen.near[:MOST_NAMED] if near.address]


def _ways_to_row(seen: Seen) -> list[Way]:
    return [Way("Correct the row", seen.row_address)] if seen.near and seen.row_address else []


def _of_record(seen: Seen, record: Mapping[str, Any], contact: Mapping[str, Any] | None, places: Places) -> Verdict:
    """Return the verdict on a machine that has a state, and that got what it asked for since."""
    state, since = record["state"], Piece("", "", record["since"])
    message = record["message"]
    if state == State.CONFLICT:
        parts = " and ".join(f"{part['identity']} is {part['state']}" for part in record["conflict"] or ())
        return Verdict("bad", [Piece(f"Its identities contradict each other: {parts}, so it is refused.")], order="arm")
    if state in (State.FAILED, State.EXHAUSTED):
        words = "It failed " if state == State.FAILED else "Its starts are used up since "
        why = f": {message}" if message else ", and did not say why"
        pieces = [Piece(words), since, Piece(why), *_last(record, contact, places)]
        return Verdict("bad", pieces, [*_log_of(record)], "arm")
    if record["silent"]:
        heard = Piece("", "", record["heard"] or record["since"])
        step = f": the last that it did is {record['last_step']}" if record["last_step"] else ""
        return Verdict("bad", [Piece("It is silent since "), heard, Piece(f" and should have reported by now{step}.")])
    if state == State.INSTALLING:
        percent = f", {record['percent']} %" if record["percent"] is not None else ""
        pieces = [Piece("It is installing since "), since, Piece(percent + (f", {message}" if message else ""))]
        return Verdict("busy", [*pieces, *_last(record, contact, places)])
    if state == State.COPIED:
        return Verdict(
            "busy", [Piece("It goes on from its disk since "), since, Piece(", and reports when it is done.")]
        )
    if state == State.ARMED:
        pieces = [Piece("It was armed "), since, Piece(" and may install")]
        if contact is None or contact["at"] < record["since"]:
            pieces += [Piece(", and has not asked since"), *_nearness(seen), Piece(".")]
            return Verdict("bad" if seen.near else "busy", pieces, _ways_to_row(seen))
        return Verdict("busy", [*pieces, *_last(record, contact, places)])
    pieces = [Piece("It is installed since "), since]
    return Verdict("good", [*pieces, *_last(record, contact, places)], order="arm")


def _last(record: Mapping[str, Any], contact: Mapping[str, Any] | None, places: Places) -> Iterator[Piece]:
    """Yield what the machine got last, as the end of a sentence."""
    given = next((event for event in record["events"] if event["event"] == "given"), None)
    if contact is not None and (given is None or contact["at"] > given["at"]):
        (got,) = places.linked([contact["got"]])
        yield from (Piece("; it last asked "), Piece("", "", contact["at"]), Piece(f" for {contact['asked']} and got "))
        yield from got
    elif given is not None:
        (got,) = places.linked([given["detail"]])
        yield from (Piece("; it last got "), *got, Piece(" "), Piece("", "", given["at"]))
    yield Piece(".")


def _log_of(record: Mapping[str, Any]) -> Iterator[Way]:
    if any(event["body"] for event in record["events"] if event["event"] in ("failed", "exhausted")):
        yield Way("Its log", "#failure")


def _ways_to(pieces: Sequence[Piece]) -> list[Way]:
    """Return the way to the place that a sentence names, the first with a line before the first without."""
    found = [piece for piece in pieces if piece.address]
    exact = [piece for piece in found if "line=" in piece.address]
    for piece in (exact or found)[:1]:
        _, _, line = piece.address.partition("line=")
        number = line.partition("#")[0].partition("&")[0]
        words = piece.text if not number or piece.text.endswith(f":{number}") else f"{piece.text}, line {number}"
        return [Way(f"Open {words}", piece.address)]
    return []
