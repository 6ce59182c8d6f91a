"""Forms that were sent: each is carried out once, and is shown again at an address until it was carried out.

Rules: docs/console.md#forms. A form that changes something is answered by a redirect to what it changed. Every other
one, and one that was refused or was sent when its session had ended, is kept, and answered by a redirect to an address
that shows it: that page can be reloaded and come back to, and asks for nothing to be sent again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

from gevent.event import AsyncResult

from answerd.console.editing import NotSaved
from answerd.console.jobs import Kept
from answerd.console.page_request import PageReply, PageRequest, Refusal, redirect
from answerd.console.rendering import link

SHOWN = "/console/form"
"""The address of a form that was sent."""

MOST_FORMS = 1_000
MOST_BYTES = 67_108_864
"""Bytes of all forms that are kept: 64 MB, many texts of the largest size. The browser has them too."""

MOST_DONE = 1_000
"""Forms that were carried out, of which a second press of the button gets the reply of the first."""

NOT_KEPT = "What was sent is not kept here any more. Go back to the page with the form: your text is there."

_OF_A_PAGE = ("csrf", "once")
"""The fields of a form that say nothing but which page it is from."""


class FormPage(NamedTuple):
    """What is done with the forms of one address. ``shows`` makes a page of one and changes nothing. ``writes`` carries
    one out and returns a redirect, or raises `NotSaved`; it gets those whose ``do`` is one of ``verbs``."""

    shows: Callable[[PageRequest], PageReply]
    writes: Callable[[PageRequest], PageReply]
    verbs: frozenset[str]


@dataclass(frozen=True, slots=True)
class SentForm:
    """A form that was sent to a path by the bearer of a token, and why it was not carried out."""

    path: str
    form: Mapping[str, Sequence[str]]
    who: str
    refusal: Refusal | None = None


class SentForms:
    """The forms that were sent. Used by the loop only."""

    def __init__(self) -> None:
        self._kept: Kept[SentForm] = Kept(MOST_FORMS, MOST_BYTES)
        self._done: OrderedDict[str, AsyncResult[PageReply]] = OrderedDict()

    def shown_later(self, request: PageRequest, refusal: Refusal | None = None) -> PageReply:
        """Keep a form; return the redirect to the address that shows it."""
        form = fields_of(request)
        size = sum(len(value) for values in form.values() for value in values)
        name = self._kept.keep(SentForm(request.path, form, request.who, refusal), size)
        return redirect(link(SHOWN, of=name))

    def find(self, name: str, who: str) -> SentForm | None:
        """Return a form that the bearer of this token sent; None where it is not kept any more."""
        found = self._kept.get(name)
        return found if found is not None and found.who == who else None

    def carried_out(self, request: PageRequest, write: Callable[[PageRequest], PageReply]) -> PageReply:
        """Carry a form out; return its reply, and that of the first where the same form of the same page comes once
        more, or at the same time. Raises `NotSaved`."""
        if not request.field("once"):
            return write(request)
        name = sha256("\0".join(_told(request)).encode("utf-8", "replace")).hexdigest()
        known = self._done.get(name)
        if known is not None:
            first = known.get()
            if first is not None:
                return first
        result: AsyncResult[PageReply] = AsyncResult()
        self._done[name] = result
        while len(self._done) > MOST_DONE:
            self._done.popitem(last=False)
        try:
            reply = write(request)
        except BaseException as error:
            self._done.pop(name, None)
            result.set_exception(error if isinstance(error, Exception) else NotSaved("the service is being stopped"))
            raise
        result.set(reply)
        return reply


def fields_of(request: PageRequest) -> dict[str, Sequence[str]]:
    """Return the fields of a form without those of its page, and the texts of its files."""
    form = {name: values for name, values in request.form.items() if name not in _OF_A_PAGE}
    return form | {name: (content.decode("utf-8", "replace"),) for name, content in request.files.items() if content}


def _told(request: PageRequest) -> Iterator[str]:
    """Yield what tells a form from every other: who sends it, where to, and all that it has."""
    yield request.session.identifier if request.session is not None else ""
    yield request.path
    for name, values in sorted(request.form.items()):
        yield name
        yield str(len(values))
        yield from values
