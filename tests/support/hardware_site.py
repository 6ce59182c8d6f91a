"""The site's service in process: the answer set, the states and the orders of operators, without network or files."""

from __future__ import annotations

import re
import shlex
from urllib.parse import urlencode

from answerd.answers.catalogue import Catalogue
from answerd.answers.operator_names import machine_named, ordered_machine
from answerd.answers.resolve import resolve
from answerd.answers.sources import Sources
from answerd.documents import RawDocument
from answerd.errors import BrokenDocument, CannotFill, GateClosed
from answerd.facts import Facts, Request
from answerd.installs.states import Order, ReportKind
from tests.support.fleet import key_of
from tests.support.hardware_world import Reply
from tests.support.installs import RememberedInstalls

DOCUMENTS = {
    "groups/rack.ipxe": "#!ipxe\n# answer: match file=ipxe\n# answer: once\nINSTALL {{ report }}\n",
    "groups/wait.ipxe": "#!ipxe\n# answer: match file=wait.ipxe\n# answer: once armed\nINSTALL {{ report }}\n",
    "groups/rack.ks": "# answer: match file=ks\n# answer: once\nINSTALL {{ report }}\n",
}
_MATCH = re.compile(r"# answer: match .*\n")
_URL = re.compile(r"INSTALL (\S+)")
_SENTENCE = re.compile(r'"answerd arm ([^"]+)"')
_SCREEN = re.compile(r"echo (?:.*: )?answerd arm (.+)")


def reply_of(text: str, *, is_given: bool) -> Reply:
    """What a machine gets, read from its screen."""
    found = _URL.search(text)
    if is_given and found is not None:
        return Reply(True, found[1], (), "given")
    order = _SENTENCE.search(text) or _SCREEN.search(text)
    return Reply(False, "", tuple(shlex.split(order[1])) if order is not None else (), text)


def table_text(rows: list[dict[str, str]]) -> str:
    """The table as a file."""
    return "id,mac,serial,uuid\n" + "".join(f"{row['id']},{row['mac']},{row['serial']},{row['uuid']}\n" for row in rows)


def member_documents(rows: list[dict[str, str]]) -> dict[str, str]:
    """The groups with what is in a table as their members."""
    entries = [one for row in rows for one in (row["id"], *row["mac"].split(), row["serial"], row["uuid"]) if one]
    members = "".join(f"# answer: member {entry}\n" for entry in dict.fromkeys(entries))
    return {
        f"groups/named-{name[7:]}": _MATCH.sub(members, text)
        for name, text in DOCUMENTS.items()
        if entries and "wait" not in name
    }


class InProcess:
    """The service without a network. ``by_members``: what is in a table is the members of groups."""

    def __init__(self, *, by_members: bool = False) -> None:
        self.by_members = by_members
        self.installs = RememberedInstalls(clock=1_800_000_000.0)
        raw = [RawDocument(key_of(name), text) for name, text in DOCUMENTS.items()]
        self.catalogue = Catalogue(has_states=True).changed(raw)
        self.installs.catalogue = lambda: self.catalogue
        self.sources = Sources(gates=self.installs.gates)
        self.raw: list[RawDocument] = []

    def ask(self, path: str, said: dict[str, list[str]]) -> Reply:
        """A request of a machine."""
        query = urlencode([(label, value) for label, values in said.items() for value in values])
        try:
            answer = resolve(self.catalogue, Facts(Request(path, query, (("host", "s"),))), sources=self.sources)
        except GateClosed as error:
            return reply_of(error.reason, is_given=False)
        except (BrokenDocument, CannotFill) as error:
            return Reply(False, text=error.reason, is_fault=True)
        return reply_of(answer.body.decode(), is_given=answer.refusal is None)

    def report(self, url: str, word: str) -> bool:
        """A report is always acknowledged."""
        self.installs.report(url, ReportKind(word))
        return True

    def order(self, verb: str, names: tuple[str, ...]) -> set[str] | None:
        """What the command does."""
        memory = self.installs.memory
        named: set[str] = set()
        found = [machine for name in names if (machine := machine_named(self.catalogue, memory, name)) is not None]
        for machine in found:
            ordered = ordered_machine(self.catalogue, memory, machine, Order(verb))
            event = memory.ordered(Order(verb), ordered.label, ordered.names, self.installs.clock, "")
            self.installs.clock += 0.001
            self.installs.written.append(event)
            memory.apply(event)
            named |= {text[1:] for text in ordered.names.values()}
        return named if len(found) == len(names) else None

    def table(self, rows: list[dict[str, str]]) -> None:
        """Put a table in force."""
        files = member_documents(rows) if self.by_members else {"inventory.csv": table_text(rows)}
        raw = [RawDocument(key_of(name), text) for name, text in files.items()]
        self.catalogue = self.catalogue.changed(raw, self.raw)
        self.raw = raw

    def passes(self, seconds: float) -> None:
        """Time passes."""
        self.installs.clock += seconds

    def restart(self) -> None:
        """What is written is all that is known then."""
        before, events = self.installs.memory, self.installs.written
        self.installs.memory = type(before)(before.rules)
        for event in events:
            self.installs.memory.apply(event)
